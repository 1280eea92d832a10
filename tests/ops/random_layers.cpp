// Random launches of norms, cross entropy and rotary embedding, computed in double.
#include "samite/ops/cross_entropy.h"
#include "samite/ops/group_norm.h"
#include "samite/ops/rms_norm.h"
#include "samite/ops/rotary.h"
#include "tests/ops/random_drawing.h"

#include <fmt/format.h>

namespace samite::test::operations {
namespace {

ScalarType drawn_type(Drawing &draw) {
  return draw.one_of({ScalarType::Float16, ScalarType::BFloat16, ScalarType::Float32, ScalarType::Float64});
}

std::vector<double> zeros_of(std::int64_t count) { return std::vector<double>(static_cast<std::size_t>(count), 0); }

std::vector<double> plus(std::vector<double> values, double added) {
  for (double &value : values) value += added;
  return values;
}

// The gradients of a norm: of x, the weight and the bias, and how far they may be off.
struct NormGradients {
  std::vector<double> x, weight, bias, near_x, near_weight, near_bias;
};

}  // namespace

Operation rms_norm(Drawing &draw) {
  Building b;
  const ScalarType type = drawn_type(draw), wide = type_of_sums(type);
  const std::int64_t columns = draw.length(), rows = columns > 1000 ? 2 : draw.extent(200);
  const bool adjoint = draw.one_in(2), weighted = draw.one_in(2);
  const auto style =
      draw.one_of({Style::usual, Style::constant, Style::far, Style::tiny, adjoint ? Style::usual : Style::with_nan});
  const double epsilon = held(wide, draw.one_of({1e-6, 1e-3})), digits = epsilon_of(wide);
  const auto n = static_cast<double>(columns), per_sum = n / 8 + 32;
  b.made.text = fmt::format("rms_norm{} of {} {} by {}, {}{}", adjoint ? "_adjoint" : "", cpp_name(type), rows, columns,
                            style_names[int(style)], weighted ? ", weighted" : "");
  const std::size_t x = b.reads("x", type, {rows, columns}, draw.values(type, rows * columns, style));
  const std::size_t weight =
      weighted ? b.reads("weight", wide, {columns}, draw.values(wide, columns, Style::usual)) : 0;
  const auto weight_at = [&](std::int64_t j) { return weighted ? b.of(weight)[static_cast<std::size_t>(j)] : 1.0; };
  std::vector<double> inverses;
  for (std::int64_t i = 0; i < rows; ++i) {
    double sum = 0;
    for (std::int64_t j = 0; j < columns; ++j) sum += std::pow(row(b.of(x), i, columns)[j], 2);
    inverses.push_back(1 / std::sqrt(sum / n + epsilon));
  }
  const auto differentiate = [&](const std::vector<double> &cotangents) {
    NormGradients made{{}, zeros_of(columns), {}, {}, zeros_of(columns), {}};
    for (std::int64_t i = 0; i < rows; ++i) {
      const Row own = row(b.of(x), i, columns), g = row(cotangents, i, columns);
      const double inverse = inverses[static_cast<std::size_t>(i)];
      double along = 0, size = 0;
      for (std::int64_t j = 0; j < columns; ++j) {
        const double term = g[j] * weight_at(j) * own[j] * inverse / n;
        along += term, size += std::abs(term);
      }
      for (std::int64_t j = 0; j < columns; ++j) {
        const auto at = static_cast<std::size_t>(j);
        const double normal = own[j] * inverse, inner = g[j] * weight_at(j);
        made.x.push_back((inner - normal * along) * inverse);
        made.near_x.push_back(4 * digits * per_sum * inverse * (std::abs(inner) + std::abs(normal) * size));
        made.weight[at] += g[j] * normal;
        made.near_weight[at] += digits * (per_sum + double(rows)) * std::abs(g[j] * normal);
      }
    }
    return made;
  };
  if (adjoint) {
    const std::size_t g = b.reads("y_gradient", type, {rows, columns}, draw.values(type, rows * columns, Style::usual));
    const std::size_t of_x = b.writes("x_gradient", type, {rows, columns});
    const std::size_t of_weight = weighted ? b.writes("weight_gradient", wide, {columns}, 1) : 0;
    NormGradients made = differentiate(b.of(g));
    b.expect(of_x, std::move(made.x), std::move(made.near_x));
    if (weighted) b.expect(of_weight, plus(made.weight, 1), plus(made.near_weight, digits));  // it is added to
    b.made.calls = [=](const ops::PlanDevice &device) {
      std::vector<std::size_t> operands{x, g, of_x};
      if (weighted) operands = {x, weight, g, of_x, of_weight};
      return std::vector<Call>{
          {ops::rms_norm_adjoint_launch(type, weighted, rows, columns, device), operands, epsilon}};
    };
    return std::move(b.made);
  }
  const std::size_t y = b.writes("y", type, {rows, columns});
  if (style == Style::usual) {
    const std::vector<double> cotangent = draw.values(type, rows * columns, Style::usual);
    NormGradients made = differentiate(cotangent);
    b.reverse(y, cotangent);
    b.gradient(x, std::move(made.x), std::move(made.near_x));
    if (weighted) b.gradient(weight, std::move(made.weight), std::move(made.near_weight), rows);
  }
  std::vector<double> values, tolerances;
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j) {
      values.push_back(row(b.of(x), i, columns)[j] * inverses[static_cast<std::size_t>(i)] * weight_at(j));
      tolerances.push_back(digits * per_sum * std::abs(values.back()));
    }
  b.expect(y, std::move(values), std::move(tolerances));
  b.made.calls = [=](const ops::PlanDevice &device) {
    std::vector<std::size_t> operands{x, y};
    if (weighted) operands = {x, weight, y};
    return std::vector<Call>{{ops::rms_norm_launch(type, weighted, rows, columns, device), operands, epsilon}};
  };
  return std::move(b.made);
}

// The losses of rows; then, in the order of a run, their gradient for the share of a mean, or for each loss.
Operation cross_entropy(Drawing &draw) {
  Building b;
  const ScalarType type = drawn_type(draw), wide = type_of_sums(type);
  const std::int64_t classes = std::max<std::int64_t>(draw.length(), 1), rows = classes > 1000 ? 2 : draw.extent(40);
  const auto style = draw.one_of({Style::usual, Style::far, Style::constant, Style::tiny});
  const double smoothing = held(wide, draw.one_of({0.0, 0.1, 1.0})), digits = epsilon_of(wide);
  const std::int32_t ignored = draw.one_of({-100, 0});
  const auto reduction = draw.one_of({ops::Reduction::none, ops::Reduction::sum, ops::Reduction::mean});
  const auto n = static_cast<double>(classes);
  b.made.text = fmt::format("cross_entropy of {} {} by {}, {}, smoothing {}, ignored {}, reduction {}", cpp_name(type),
                            rows, classes, style_names[int(style)], smoothing, ignored, int(reduction));
  std::vector<double> chosen;
  double counted = 0;
  for (std::int64_t i = 0; i < rows; ++i) {
    chosen.push_back(draw.one_in(4) ? ignored : draw.below(static_cast<int>(classes)));
    if (draw.one_in(20)) chosen.back() = draw.one_of({-1.0, n, -200.0});  // no class
    counted += chosen.back() == ignored ? 0 : 1;
  }
  const std::size_t x = b.reads("logits", type, {rows, classes}, draw.values(type, rows * classes, style)),
                    targets = b.reads("targets", ScalarType::Int32, {rows}, chosen),
                    losses = b.writes("losses", wide, {rows}), row_sums = b.writes("row_sums", wide, {rows}),
                    loss = b.writes("loss", wide, {1}),
                    g = b.reads("loss_gradient", wide, {reduction == ops::Reduction::none ? rows : 1},
                                draw.values(wide, reduction == ops::Reduction::none ? rows : 1, Style::usual)),
                    share = b.writes("share", wide, {1}), of_x = b.writes("logits_gradient", type, {rows, classes});
  std::vector<double> values, near, sums, near_sums, gradient, near_gradient, of_rows, slopes, near_slopes;
  const std::vector<double> cotangent = draw.values(wide, rows, Style::usual);
  double total = 0, near_total = 0;
  for (std::int64_t i = 0; i < rows; ++i) {
    const Row own = row(b.of(x), i, classes);
    const double target = chosen[static_cast<std::size_t>(i)];
    const bool none = !(target >= 0 && target < n), counts = target != ignored;
    double largest = own[0], sum = 0, all = 0, magnitude = 0;
    for (std::int64_t j = 0; j < classes; ++j) largest = std::max(largest, own[j]);
    for (std::int64_t j = 0; j < classes; ++j)
      sum += std::exp(own[j] - largest), all += own[j], magnitude += std::abs(own[j]) / n;
    sums.push_back(largest + std::log(sum));
    near_sums.push_back(digits * (2 * std::abs(largest) + n / 4 + 32));
    const double plain = largest - (none ? 0 : own[static_cast<std::int64_t>(target)]) + std::log(sum);
    const double row_loss = none ? std::nan("") : (1 - smoothing) * plain + smoothing * (sums.back() - all / n);
    values.push_back(counts ? row_loss : 0);
    near.push_back(digits *
                   (n / 4 + 32 + 4 * std::abs(plain) + smoothing * (4 * std::abs(largest) + magnitude * (n / 4 + 32))));
    total += values.back(), near_total += near.back() + digits * double(rows) * std::abs(values.back());
    const double given = reduction == ops::Reduction::none  ? b.of(g)[static_cast<std::size_t>(i)]
                         : reduction == ops::Reduction::sum ? b.of(g)[0]
                                                            : b.of(g)[0] / counted;
    for (std::int64_t j = 0; j < classes; ++j) {
      const double power = std::exp(own[j] - sums.back());
      const double slope = power - smoothing / n - (double(j) == target ? 1 - smoothing : 0);
      const double of_slope = digits * (4 + power * (n / 4 + 64 + 4 * std::abs(largest) + 4 * std::abs(own[j])));
      gradient.push_back(!counts ? 0 : none ? std::nan("") : slope * given);
      near_gradient.push_back(of_slope * std::abs(given));
      slopes.push_back(!counts ? 0 : slope * cotangent[static_cast<std::size_t>(i)]);
      near_slopes.push_back((of_slope + epsilon_of(type)) * std::abs(cotangent[static_cast<std::size_t>(i)]));
    }
  }
  if (style == Style::usual && std::ranges::none_of(values, [](double value) { return std::isnan(value); })) {
    b.reverse(losses, cotangent);
    b.reverse(row_sums, zeros_of(rows));
    b.gradient(x, std::move(slopes), std::move(near_slopes));
  }
  b.expect(losses, std::move(values), std::move(near));
  b.expect(row_sums, std::move(sums), std::move(near_sums));
  b.expect(of_x, std::move(gradient), std::move(near_gradient));
  const bool mean = reduction == ops::Reduction::mean;
  if (reduction != ops::Reduction::none)
    b.expect(loss, {mean ? total / counted : total}, {mean ? near_total / std::max(counted, 1.0) : near_total});
  b.made.calls = [=](const ops::PlanDevice &device) {
    const auto forward = ops::cross_entropy_launches(type, ScalarType::Int32, reduction, rows, classes, device);
    const auto adjoint = ops::cross_entropy_adjoint_launches(type, ScalarType::Int32, reduction, rows, classes, device);
    std::vector<Call> calls{{forward.rows, {x, targets, losses, row_sums}, smoothing, {ignored}}};
    if (forward.reduction) calls.push_back({*forward.reduction, {losses, targets, loss}, {}, {ignored}});
    if (adjoint.share) calls.push_back({*adjoint.share, {targets, g, share}, {}, {ignored}});
    calls.push_back({adjoint.rows, {x, targets, row_sums, mean ? share : g, of_x}, smoothing, {ignored}});
    return calls;
  };
  return std::move(b.made);
}

Operation rotary(Drawing &draw) {
  Building b;
  const ScalarType type = drawn_type(draw), wide = type_of_sums(type);
  const std::int64_t batches = 1 + draw.below(2), heads = 1 + draw.below(3), rows = draw.extent(70),
                     pairs = draw.extent(130);
  const bool backwards = draw.one_in(2), add = draw.one_in(3);
  const double digits = epsilon_of(wide), sign = backwards ? -1 : 1;
  b.made.text = fmt::format("rotary of {} {} by {} by {}, {} pairs{}{}", cpp_name(type), batches, heads, rows, pairs,
                            backwards ? ", backwards" : "", add ? ", added" : "");
  b.made.adds = add;
  const std::int64_t count = batches * heads * rows * pairs;
  const std::vector<std::int64_t> extents{batches, heads, rows, pairs};
  const auto read = [&](const char *name) {
    return b.reads(name, type, extents, draw.values(type, count, Style::usual));
  };
  const auto table = [&](const char *name) {
    return b.reads(name, wide, {rows, pairs}, draw.values(wide, rows * pairs, Style::usual));
  };
  const std::size_t first = read("first"), second = read("second"), cosines = table("cosines"), sines = table("sines"),
                    y = b.writes("first_turned", type, extents, 2), z = b.writes("second_turned", type, extents, 3);
  const auto turned = [&](const std::vector<double> &a, const std::vector<double> &other, double signed_sine,
                          double before) {
    std::vector<double> values, near;
    for (std::int64_t i = 0; i < count; ++i) {
      const auto at = static_cast<std::size_t>(i), in_table = static_cast<std::size_t>(i % (rows * pairs));
      const double p = a[at] * b.of(cosines)[in_table], q = signed_sine * other[at] * b.of(sines)[in_table];
      values.push_back(p + q + before);
      near.push_back(4 * digits * (std::abs(p) + std::abs(q) + before));
    }
    return std::pair{std::move(values), std::move(near)};
  };
  const auto [values, near] = turned(b.of(first), b.of(second), -sign, add ? 2 : 0);
  const auto [second_values, second_near] = turned(b.of(second), b.of(first), sign, add ? 3 : 0);
  b.expect(y, values, near);
  b.expect(z, second_values, second_near);
  if (!add) {
    const std::vector<double> of_y = draw.values(type, count, Style::usual),
                              of_z = draw.values(type, count, Style::usual);
    const auto loosened = [&](std::vector<double> magnitudes) {
      return plus(std::move(magnitudes), 4 * epsilon_of(type));
    };
    const auto [of_first, near_first] = turned(of_y, of_z, sign, 0);
    const auto [of_second, near_second] = turned(of_z, of_y, -sign, 0);
    b.reverse(y, of_y);
    b.reverse(z, of_z);
    b.gradient(first, of_first, loosened(near_first));
    b.gradient(second, of_second, loosened(near_second));
    std::vector<double> of_cosines = zeros_of(rows * pairs), of_sines = of_cosines, near_tables = of_cosines;
    for (std::int64_t i = 0; i < count; ++i) {
      const auto at = static_cast<std::size_t>(i), in_table = static_cast<std::size_t>(i % (rows * pairs));
      const double p = b.of(first)[at], q = b.of(second)[at];
      of_cosines[in_table] += of_y[at] * p + of_z[at] * q;
      of_sines[in_table] += sign * (of_z[at] * p - of_y[at] * q);
      near_tables[in_table] += 16 * digits;
    }
    b.gradient(cosines, std::move(of_cosines), near_tables, 2 * batches * heads);
    b.gradient(sines, std::move(of_sines), std::move(near_tables), 2 * batches * heads);
  }
  b.made.calls = [=](const ops::PlanDevice &device) {
    const ops::RotaryShape shape{batches, heads, rows, 2 * pairs};
    return std::vector<Call>{
        {ops::rotary_launch(type, shape, backwards, add, device), {first, second, cosines, sines, y, z}, {}}};
  };
  return std::move(b.made);
}

// As layer norm of rows of whole groups, with weights of channels.
Operation group_norm(Drawing &draw) {
  Building b;
  const ScalarType type = drawn_type(draw), wide = type_of_sums(type);
  const std::int64_t batches = 1 + draw.below(2), groups = 1 + draw.below(3),
                     channels = draw.one_of<std::int64_t>({1, 2, 3, 4, 6, 8}), places = draw.extent(130);
  const std::int64_t all_channels = groups * channels, count = batches * all_channels * places;
  const bool adjoint = draw.one_in(2);
  const auto style = draw.one_of({Style::usual, Style::constant, Style::far, Style::tiny});
  const double epsilon = held(wide, draw.one_of({1e-5, 1e-3})), digits = epsilon_of(wide);
  const std::int64_t size = channels * places;
  const auto n = static_cast<double>(size), per_sum = n / 8 + 32;
  b.made.text = fmt::format("group_norm{} of {} {} by {} by {} by {}, {}", adjoint ? "_adjoint" : "", cpp_name(type),
                            batches, groups, channels, places, style_names[int(style)]);
  const std::vector<std::int64_t> extents{batches, all_channels, places};
  const std::size_t x = b.reads("x", type, extents, draw.values(type, count, style)),
                    weight = b.reads("weight", wide, {all_channels}, draw.values(wide, all_channels, Style::usual));
  std::vector<Normalised> each;
  for (std::int64_t i = 0; i < batches * groups; ++i) each.emplace_back(row(b.of(x), i, size), epsilon);
  const auto channel = [&](std::int64_t i, std::int64_t j) {
    return static_cast<std::size_t>(i % groups * channels + j / places);
  };
  const auto differentiate = [&](const std::vector<double> &cotangents) {
    NormGradients made{{}, zeros_of(all_channels), zeros_of(all_channels),
                       {}, zeros_of(all_channels), zeros_of(all_channels)};
    for (std::int64_t i = 0; i < batches * groups; ++i) {
      const Normalised &own = each[static_cast<std::size_t>(i)];
      const Row g = row(cotangents, i, size);
      double mean = 0, along = 0, magnitude = 0;
      const auto inner = [&](std::int64_t j) { return g[j] * b.of(weight)[channel(i, j)]; };
      for (std::int64_t j = 0; j < size; ++j) {
        const double normal = own.values[static_cast<std::size_t>(j)];
        mean += inner(j) / n, along += inner(j) * normal / n;
        magnitude += std::abs(inner(j)) * (1 + std::abs(normal)) / n;
      }
      for (std::int64_t j = 0; j < size; ++j) {
        const double normal = own.values[static_cast<std::size_t>(j)];
        made.x.push_back((inner(j) - mean - normal * along) * own.inverse);
        made.near_x.push_back(4 * digits * per_sum * own.inverse *
                              (std::abs(inner(j)) + magnitude * (1 + std::abs(normal)) * (1 + own.error)));
        const std::size_t c = channel(i, j);
        made.weight[c] += g[j] * normal, made.bias[c] += g[j];
        made.near_weight[c] += std::abs(g[j]) * digits * per_sum * 2 * (own.error + std::abs(normal) + 1);
        made.near_bias[c] += std::abs(g[j]) * digits * per_sum;
      }
    }
    return made;
  };
  if (adjoint) {
    const std::size_t g = b.reads("y_gradient", type, extents, draw.values(type, count, Style::usual)),
                      of_x = b.writes("x_gradient", type, extents),
                      of_weight = b.writes("weight_gradient", wide, {all_channels}, 1),
                      of_bias = b.writes("bias_gradient", wide, {all_channels}, 2);
    NormGradients made = differentiate(b.of(g));
    b.expect(of_x, std::move(made.x), std::move(made.near_x));
    b.expect(of_weight, plus(made.weight, 1), plus(made.near_weight, digits));  // they are added to
    b.expect(of_bias, plus(made.bias, 2), plus(made.near_bias, 2 * digits));
    b.made.calls = [=](const ops::PlanDevice &device) {
      return std::vector<Call>{{ops::group_norm_adjoint_launch(type, {batches, groups, channels, places}, device),
                                {x, weight, g, of_x, of_weight, of_bias},
                                epsilon}};
    };
    return std::move(b.made);
  }
  const std::size_t bias = b.reads("bias", wide, {all_channels}, draw.values(wide, all_channels, Style::far)),
                    y = b.writes("y", type, extents);
  if (style == Style::usual && size > 1) {
    const std::vector<double> cotangent = draw.values(type, count, Style::usual);
    NormGradients made = differentiate(cotangent);
    b.reverse(y, cotangent);
    // The derived adjoint goes over x three times, and adds to the gradient in x's type each time.
    for (double &near : made.near_x) near *= 1 + 3 * epsilon_of(type) / (4 * digits * per_sum);
    b.gradient(x, std::move(made.x), std::move(made.near_x));
    b.gradient(weight, std::move(made.weight), std::move(made.near_weight), batches * places);
    b.gradient(bias, std::move(made.bias), std::move(made.near_bias), batches * places);
  }
  std::vector<double> values, near;
  for (std::int64_t i = 0; i < batches * groups; ++i) {
    const Normalised &own = each[static_cast<std::size_t>(i)];
    for (std::int64_t j = 0; j < size; ++j) {
      const double w = b.of(weight)[channel(i, j)], added = b.of(bias)[channel(i, j)];
      const double scaled = own.values[static_cast<std::size_t>(j)] * w;
      values.push_back(scaled + added);
      near.push_back(digits * (2 * per_sum * (std::abs(w) * own.error + std::abs(scaled)) + 2 * std::abs(added)) +
                     std::abs(w) * 4 * least_of(wide) * own.inverse);
    }
  }
  b.expect(y, std::move(values), std::move(near));
  b.made.calls = [=](const ops::PlanDevice &device) {
    return std::vector<Call>{
        {ops::group_norm_launch(type, {batches, groups, channels, places}, device), {x, weight, bias, y}, epsilon}};
  };
  return std::move(b.made);
}

}  // namespace samite::test::operations
