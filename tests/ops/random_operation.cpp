#include "tests/ops/random_operation.h"

#include "samite/ops/attention.h"
#include "samite/ops/grouped_by_type.h"
#include "samite/ops/layer_norm.h"
#include "samite/ops/matmul_by_type.h"
#include "samite/ops/quantise.h"
#include "samite/ops/softmax.h"
#include "tests/ops/random_drawing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace samite::test::operations {
namespace {

Operation softmax(Drawing &draw) {
  Building b;
  const ScalarType type =
      draw.one_of({ScalarType::Float16, ScalarType::BFloat16, ScalarType::Float32, ScalarType::Float64});
  const std::int64_t columns = draw.length(), rows = columns > 1000 ? 2 : draw.extent(40);
  const auto style = static_cast<Style>(draw.below(7));
  const double sums = epsilon_of(type_of_sums(type));
  const auto n = static_cast<double>(columns);
  if (draw.one_in(2)) {
    b.made.text = fmt::format("softmax of {} {} by {}, {}", cpp_name(type), rows, columns, style_names[int(style)]);
    const std::size_t x = b.reads("x", type, {rows, columns}, draw.values(type, rows * columns, style));
    const std::size_t y = b.writes("y", type, {rows, columns});
    std::vector<double> values, tolerances;
    for (std::int64_t i = 0; i < rows; ++i) {
      const Row own = row(b.of(x), i, columns);
      double largest = -std::numeric_limits<double>::infinity(), sum = 0;
      for (std::int64_t j = 0; j < columns; ++j) largest = std::fmax(largest, own[j]);
      for (std::int64_t j = 0; j < columns; ++j) sum += std::exp(own[j] - largest);
      for (std::int64_t j = 0; j < columns; ++j) {
        const double power = std::exp(own[j] - largest);
        values.push_back(power / sum);
        tolerances.push_back(power / sum * sums * (n / 4 + 32 + 2 * std::min(std::abs(own[j] - largest), 1e3)));
      }
    }
    if (style == Style::usual) {
      const std::vector<double> cotangent = draw.values(type, rows * columns, Style::usual);
      std::vector<double> gradient, near;
      for (std::int64_t i = 0; i < rows; ++i) {
        const Row weights = row(values, i, columns), own = row(cotangent, i, columns);
        double sum = 0, magnitude = 0;
        for (std::int64_t j = 0; j < columns; ++j)
          sum += weights[j] * own[j], magnitude += std::abs(weights[j] * own[j]);
        for (std::int64_t j = 0; j < columns; ++j) {
          gradient.push_back(weights[j] * (own[j] - sum));
          near.push_back(weights[j] * (sums * (n / 4 + 32) + epsilon_of(type)) * (magnitude + std::abs(own[j])));
        }
      }
      b.reverse(y, cotangent);
      b.gradient(x, std::move(gradient), std::move(near));
    }
    b.expect(y, std::move(values), std::move(tolerances));
    b.made.calls = [=](const ops::PlanDevice &device) {
      return std::vector<Call>{{ops::softmax_launch(type, rows, columns, device), {x, y}, {}}};
    };
    return std::move(b.made);
  }
  b.made.text = fmt::format("softmax_adjoint of {} {} by {}", cpp_name(type), rows, columns);
  const std::size_t y = b.reads("y", type, {rows, columns}, draw.values(type, rows * columns, Style::usual));
  const std::size_t g = b.reads("y_gradient", type, {rows, columns}, draw.values(type, rows * columns, Style::far));
  const std::size_t x = b.writes("x_gradient", type, {rows, columns});
  std::vector<double> values, tolerances;
  for (std::int64_t i = 0; i < rows; ++i) {
    const Row weights = row(b.of(y), i, columns), cotangent = row(b.of(g), i, columns);
    double sum = 0, magnitude = 0;
    for (std::int64_t j = 0; j < columns; ++j)
      sum += weights[j] * cotangent[j], magnitude += std::abs(weights[j] * cotangent[j]);
    for (std::int64_t j = 0; j < columns; ++j) {
      values.push_back(weights[j] * (cotangent[j] - sum));
      tolerances.push_back(std::abs(weights[j]) * sums * (n / 4 + 32) * (magnitude + std::abs(cotangent[j])));
    }
  }
  b.expect(x, std::move(values), std::move(tolerances));
  b.made.calls = [=](const ops::PlanDevice &device) {
    return std::vector<Call>{{ops::softmax_adjoint_launch(type, rows, columns, device), {y, g, x}, {}}};
  };
  return std::move(b.made);
}

Operation layer_norm(Drawing &draw) {
  Building b;
  const ScalarType type =
      draw.one_of({ScalarType::Float16, ScalarType::BFloat16, ScalarType::Float32, ScalarType::Float64});
  const ScalarType wide = type_of_sums(type);
  const std::int64_t columns = draw.length(), rows = columns > 1000 ? 2 : draw.extent(200);
  const bool adjoint = draw.one_in(2), weighted = adjoint || draw.one_in(2);
  const auto style =
      draw.one_of({Style::usual, Style::constant, Style::far, Style::tiny,
                   adjoint ? Style::usual : Style::with_infinities, adjoint ? Style::far : Style::with_nan});
  const double epsilon = held(wide, draw.one_of({1e-5, 1e-3})), digits = epsilon_of(wide);
  const auto n = static_cast<double>(columns), per_sum = n / 8 + 32;
  b.made.text = fmt::format("layer_norm{} of {} {} by {}, {}{}", adjoint ? "_adjoint" : "", cpp_name(type), rows,
                            columns, style_names[int(style)], weighted ? ", weighted" : "");
  const std::size_t x = b.reads("x", type, {rows, columns}, draw.values(type, rows * columns, style));
  const std::size_t weight =
      weighted ? b.reads("weight", wide, {columns}, draw.values(wide, columns, Style::usual)) : 0;
  std::vector<Normalised> each;
  for (std::int64_t i = 0; i < rows; ++i) each.emplace_back(row(b.of(x), i, columns), epsilon);
  const auto weight_at = [&](std::int64_t j) { return weighted ? b.of(weight)[static_cast<std::size_t>(j)] : 1.0; };
  std::vector<double> values, tolerances;
  std::vector<double> weights(static_cast<std::size_t>(columns), 0), biases = weights, of_weights = weights,
                                                                     of_biases = weights;
  // Gradients for those of y: of x into values, and of the weight and the bias.
  const auto differentiate = [&](const std::vector<double> &cotangents) {
    for (std::int64_t i = 0; i < rows; ++i) {
      const Normalised &own = each[static_cast<std::size_t>(i)];
      const Row cotangent = row(cotangents, i, columns);
      double mean = 0, along = 0, size = 0;
      for (std::int64_t j = 0; j < columns; ++j) {
        const double inner = cotangent[j] * weight_at(j), normal = own.values[static_cast<std::size_t>(j)];
        mean += inner / n, along += inner * normal / n, size += std::abs(inner) * (1 + std::abs(normal)) / n;
      }
      for (std::int64_t j = 0; j < columns; ++j) {
        const auto at = static_cast<std::size_t>(j);
        const double inner = cotangent[j] * weight_at(j), normal = own.values[at];
        values.push_back((inner - mean - normal * along) * own.inverse);
        tolerances.push_back(digits * per_sum * own.inverse *
                             (std::abs(inner) + size * (1 + std::abs(normal)) * (1 + own.error)) * 2);
        weights[at] += cotangent[j] * normal, biases[at] += cotangent[j];
        const double rounding = digits * (static_cast<double>(rows) / 4 + 8);
        of_weights[at] +=
            std::abs(cotangent[j]) * (digits * per_sum * (own.error + std::abs(normal)) + rounding * std::abs(normal));
        of_biases[at] += std::abs(cotangent[j]) * rounding;
      }
    }
  };
  if (!adjoint) {
    const std::size_t bias = weighted ? b.reads("bias", wide, {columns}, draw.values(wide, columns, Style::far)) : 0;
    const std::size_t y = b.writes("y", type, {rows, columns});
    if (style == Style::usual && columns > 1) {
      const std::vector<double> cotangent = draw.values(type, rows * columns, Style::usual);
      differentiate(cotangent);
      b.reverse(y, cotangent);
      b.gradient(x, std::move(values), std::move(tolerances));
      if (weighted) b.gradient(weight, weights, of_weights, rows);
      if (weighted) b.gradient(bias, biases, of_biases, rows);
      values.clear(), tolerances.clear();
    }
    for (const Normalised &own : each)
      for (std::int64_t j = 0; j < columns; ++j) {
        const double scaled = own.values[static_cast<std::size_t>(j)] * weight_at(j);
        const double added = weighted ? b.of(bias)[static_cast<std::size_t>(j)] : 0.0;
        values.push_back(scaled + added);
        const double smallest = 4 * least_of(wide) * own.inverse;  // of the mean, if it is close to zero
        tolerances.push_back(
            digits * (per_sum * (std::abs(weight_at(j)) * own.error + std::abs(scaled)) + 2 * std::abs(added)) +
            std::abs(weight_at(j)) * smallest);
      }
    b.expect(y, std::move(values), std::move(tolerances));
    b.made.calls = [=](const ops::PlanDevice &device) {
      std::vector<std::size_t> operands{x, y};
      if (weighted) operands = {x, weight, bias, y};
      return std::vector<Call>{{ops::layer_norm_launch(type, weighted, rows, columns, device), operands, epsilon}};
    };
    return std::move(b.made);
  }
  const std::size_t g = b.reads("y_gradient", type, {rows, columns}, draw.values(type, rows * columns, Style::usual));
  const std::size_t of_x = b.writes("x_gradient", type, {rows, columns});
  const std::size_t of_weight = b.writes("weight_gradient", wide, {columns}, 1);
  const std::size_t of_bias = b.writes("bias_gradient", wide, {columns}, 2);
  differentiate(b.of(g));
  for (double &weight : weights) weight += 1;  // they are added to
  for (double &bias : biases) bias += 2;
  for (double &near : of_weights) near += digits;
  for (double &near : of_biases) near += 2 * digits;
  b.expect(of_x, std::move(values), std::move(tolerances));
  b.expect(of_weight, std::move(weights), std::move(of_weights));
  b.expect(of_bias, std::move(biases), std::move(of_biases));
  b.made.calls = [=](const ops::PlanDevice &device) {
    return std::vector<Call>{{ops::layer_norm_adjoint_launch(type, rows, columns, device),
                              {x, weight, g, of_x, of_weight, of_bias},
                              epsilon}};
  };
  return std::move(b.made);
}

Operation quantise(Drawing &draw) {
  Building b;
  const ScalarType type = draw.one_of({ScalarType::Float16, ScalarType::BFloat16, ScalarType::Float32});
  const ScalarType small = draw.one_of({ScalarType::Float8E4M3, ScalarType::Float8E5M2});
  const std::int64_t rows = draw.extent(300), columns = draw.extent(300);
  const auto style = draw.one_of({Style::usual, Style::constant, Style::far, Style::tiny, Style::with_nan});
  const int kind = draw.below(6);
  const std::int64_t down = (rows + 127) / 128, across = (columns + 127) / 128;
  const std::vector<std::int64_t> extents[] = {{1, 1},         {rows, 1},       {1, columns},
                                               {rows, across}, {down, columns}, {down, across}};
  const std::vector<std::int64_t> &of_scale = extents[kind];
  b.made.text = fmt::format("quantise {} to {}, {} by {}, scales {} by {}, {}", cpp_name(type), cpp_name(small), rows,
                            columns, of_scale[0], of_scale[1], style_names[int(style)]);
  const std::size_t x = b.reads("x", type, {rows, columns}, draw.values(type, rows * columns, style));
  const std::size_t q = b.writes("q", small, {rows, columns}, 7);
  const std::size_t scale = b.writes("scale", ScalarType::Float32, of_scale, 5);
  const std::optional<ops::ScaleGroups> groups = ops::scale_groups(of_scale, 0, rows, columns);
  if (!groups) return quantise(draw);  // as one with a scale for each element
  const std::size_t largest =
      groups == ops::ScaleGroups{} ? b.writes("largest", ScalarType::Float32, {1, 1}, 0) : std::size_t{0};
  const double most = with_type(small, [](auto type) {
    return static_cast<double>(static_cast<float>(std::numeric_limits<decltype(type)>::max()));
  });
  const auto group = [](ops::ScaleGroup along, std::int64_t at) {
    return along == ops::ScaleGroup::one ? at : along == ops::ScaleGroup::block ? at / 128 : 0;
  };
  std::vector<double> scales(static_cast<std::size_t>(of_scale[0] * of_scale[1]), 0);
  const auto scale_at = [&](std::int64_t i, std::int64_t j) -> double & {
    return scales[static_cast<std::size_t>(group(groups->rows, i) * of_scale[1] + group(groups->columns, j))];
  };
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j)
      scale_at(i, j) = std::fmax(scale_at(i, j), std::abs(row(b.of(x), i, columns)[j]));
  for (double &own : scales) own = own > 0 ? std::max(own / most, double{std::numeric_limits<float>::min()}) : 1;
  std::vector<double> values, tolerances, of_scales;
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j) {
      const double quotient = row(b.of(x), i, columns)[j] / scale_at(i, j);
      values.push_back(quotient);
      tolerances.push_back(epsilon_of(small) * std::abs(quotient) / 2 + least_of(small) / 2);
    }
  for (const double own : scales) of_scales.push_back(1e-6 * own);
  b.expect(q, std::move(values), std::move(tolerances));
  if (rows > 0 && columns > 0) b.expect(scale, std::move(scales), std::move(of_scales));
  b.made.calls = [=](const ops::PlanDevice &) {
    const ops::QuantiseLaunches launches = ops::quantise_launches(type, small, *groups, rows, columns);
    if (!launches.largest) return std::vector<Call>{{launches.quantise, {x, q, scale}, {}}};
    return std::vector<Call>{{*launches.largest, {x, largest}, {}}, {launches.quantise, {x, q, largest, scale}, {}}};
  };
  return std::move(b.made);
}

Operation matmul(Drawing &draw) {
  Building b;
  const auto [factor, result] =
      draw.one_of<std::pair<ScalarType, ScalarType>>({{ScalarType::Float16, ScalarType::Float16},
                                                      {ScalarType::Float16, ScalarType::Float32},
                                                      {ScalarType::BFloat16, ScalarType::BFloat16},
                                                      {ScalarType::BFloat16, ScalarType::Float32},
                                                      {ScalarType::Float32, ScalarType::Float32},
                                                      {ScalarType::Float64, ScalarType::Float64}});
  const std::int64_t rows = draw.extent(130), columns = draw.extent(130), inner = draw.extent(600);
  const tile::Transposes transposed{draw.one_in(2), draw.one_in(2)};
  const bool residual = draw.one_in(3);
  const auto style = draw.one_of({Style::usual, Style::far, Style::tiny, Style::with_infinities, Style::with_nan});
  b.made.text = fmt::format("matmul of {} to {}, {} by {} by {}{}{}{}, {}", cpp_name(factor), cpp_name(result), rows,
                            columns, inner, transposed.a ? ", a transposed" : "", transposed.b ? ", b transposed" : "",
                            residual ? ", residual" : "", style_names[int(style)]);
  const std::size_t a = b.reads("a", factor, transposed.a ? std::vector{inner, rows} : std::vector{rows, inner},
                                draw.values(factor, rows * inner, style));
  const std::size_t right =
      b.reads("b", factor, transposed.b ? std::vector{columns, inner} : std::vector{inner, columns},
              draw.values(factor, columns * inner, Style::usual));
  const std::size_t added =
      residual ? b.reads("residual", result, {rows, columns}, draw.values(result, rows * columns, Style::usual)) : 0;
  const std::size_t c = b.writes("c", result, {rows, columns});
  const double digits = epsilon_of(type_of_sums(factor));
  std::vector<double> values, tolerances;
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j) {
      double sum = 0, magnitude = 0;
      for (std::int64_t k = 0; k < inner; ++k) {
        const double product = b.of(a)[static_cast<std::size_t>(transposed.a ? k * rows + i : i * inner + k)] *
                               b.of(right)[static_cast<std::size_t>(transposed.b ? j * inner + k : k * columns + j)];
        sum += product, magnitude += std::abs(product);
      }
      if (residual) sum += b.of(added)[static_cast<std::size_t>(i * columns + j)];
      values.push_back(sum);
      tolerances.push_back(digits * (static_cast<double>(inner) + 4) * (magnitude + std::abs(sum)) +
                           least_of(ScalarType::Float32) * static_cast<double>(inner));
    }
  if (style == Style::usual) {
    const std::vector<double> cotangent = draw.values(result, rows * columns, Style::usual);
    std::vector<double> of_a(b.of(a).size()), near_a(of_a.size()), of_b(b.of(right).size()), near_b(of_b.size());
    const double per_a = digits * (double(columns) + 4) + epsilon_of(factor),
                 per_b = digits * (double(rows) + 4) + epsilon_of(factor);
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < columns; ++j)
        for (std::int64_t k = 0; k < inner; ++k) {
          const auto at_a = static_cast<std::size_t>(transposed.a ? k * rows + i : i * inner + k);
          const auto at_b = static_cast<std::size_t>(transposed.b ? j * inner + k : k * columns + j);
          // A cotangent of float is rounded to the factors' type.
          const double w = cotangent[static_cast<std::size_t>(i * columns + j)];
          of_a[at_a] += w * b.of(right)[at_b], near_a[at_a] += per_a * std::abs(w * b.of(right)[at_b]);
          of_b[at_b] += w * b.of(a)[at_a], near_b[at_b] += per_b * std::abs(w * b.of(a)[at_a]);
        }
    b.reverse(c, cotangent);
    b.gradient(a, std::move(of_a), std::move(near_a), columns);
    b.gradient(right, std::move(of_b), std::move(near_b), rows);
    if (residual) b.gradient(added, cotangent, std::vector<double>(cotangent.size(), 0));
  }
  b.expect(c, std::move(values), std::move(tolerances));
  b.made.calls = [=, factor = factor, result = result](const ops::PlanDevice &device) {
    std::vector<std::size_t> operands{a, right, c};
    if (residual) operands = {a, right, added, c};
    return std::vector<Call>{{ops::matmul_launch({factor, {.result = result, .residual = residual}, transposed},
                                                 {1, rows, columns, inner}, device),
                              operands,
                              {}}};
  };
  return std::move(b.made);
}

// Rows of 8 bits, each times its scale.
Operation scaled_matmul(Drawing &draw) {
  Building b;
  using enum ops::ScaleGroup;
  const ScalarType of_a = draw.one_of({ScalarType::Float8E4M3, ScalarType::Float8E5M2});
  const ScalarType of_b = of_a == ScalarType::Float8E5M2
                              ? ScalarType::Float8E4M3
                              : draw.one_of({ScalarType::Float8E4M3, ScalarType::Float8E5M2});
  const ScalarType result = draw.one_of({ScalarType::Float32, ScalarType::Float16, ScalarType::BFloat16});
  const std::int64_t rows = draw.extent(130), columns = draw.extent(130), inner = draw.extent(600);
  const auto scales_of_a = draw.one_of<ops::ScaleGroups>({{all, all}, {one, all}, {one, block}, {block, block}});
  const auto scales_of_b = draw.one_of<ops::ScaleGroups>({{all, all}, {all, one}, {block, one}, {block, block}});
  const bool residual = draw.one_in(3);
  const auto count = [](ops::ScaleGroup along, std::int64_t extent) {
    return along == one ? extent : along == block ? (extent + 127) / 128 : 1;
  };
  const auto at = [](ops::ScaleGroup along, std::int64_t index) {
    return along == one ? index : along == block ? index / 128 : 0;
  };
  b.made.text = fmt::format("scaled matmul of {} and {} to {}, {} by {} by {}, scales {}{} and {}{}{}", cpp_name(of_a),
                            cpp_name(of_b), cpp_name(result), rows, columns, inner, int(scales_of_a.rows),
                            int(scales_of_a.columns), int(scales_of_b.rows), int(scales_of_b.columns),
                            residual ? ", residual" : "");
  const auto scales = [&](const char *name, ops::ScaleGroups groups, std::int64_t down, std::int64_t across) {
    const std::int64_t height = count(groups.rows, down), width = count(groups.columns, across);
    std::vector<double> values;
    for (std::int64_t i = 0; i < height * width; ++i) values.push_back(held(ScalarType::Float32, draw.between(0.5, 2)));
    return b.reads(name, ScalarType::Float32, {height, width}, std::move(values));
  };
  const std::size_t a = b.reads("a", of_a, {rows, inner}, draw.values(of_a, rows * inner, Style::usual)),
                    right = b.reads("b", of_b, {inner, columns}, draw.values(of_b, inner * columns, Style::usual)),
                    scale_a = scales("scale_a", scales_of_a, rows, inner),
                    scale_b = scales("scale_b", scales_of_b, inner, columns);
  const std::size_t added =
      residual ? b.reads("residual", result, {rows, columns}, draw.values(result, rows * columns, Style::usual)) : 0;
  const std::size_t c = b.writes("c", result, {rows, columns});
  const double digits = epsilon_of(ScalarType::Float32);
  std::vector<double> values, tolerances;
  const auto in = [&](std::size_t operand, std::int64_t i, std::int64_t j) {
    return b.of(operand)[static_cast<std::size_t>(i * b.made.operands[operand].extents[1] + j)];
  };
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j) {
      double sum = 0, magnitude = 0;
      for (std::int64_t k = 0; k < inner; ++k) {
        const double product = in(a, i, k) * in(scale_a, at(scales_of_a.rows, i), at(scales_of_a.columns, k)) *
                               in(right, k, j) * in(scale_b, at(scales_of_b.rows, k), at(scales_of_b.columns, j));
        sum += product, magnitude += std::abs(product);
      }
      if (residual) sum += in(added, i, j);
      values.push_back(sum);
      tolerances.push_back(digits * (static_cast<double>(inner) + 8) * (magnitude + std::abs(sum)));
    }
  b.expect(c, std::move(values), std::move(tolerances));
  b.made.calls = [=](const ops::PlanDevice &device) {
    std::vector<std::size_t> operands{a, right, scale_a, scale_b, c};
    if (residual) operands = {a, right, scale_a, scale_b, added, c};
    const ops::ScaledMatmulByType kind{of_a, of_b, scales_of_a, scales_of_b, {.result = result, .residual = residual}};
    return std::vector<Call>{{ops::scaled_matmul_launch(kind, {1, rows, columns, inner}, device), operands, {}}};
  };
  return std::move(b.made);
}

// Rows before the first group and after the last one do not change.
Operation grouped_matmul(Drawing &draw) {
  Building b;
  const auto [factor, result] =
      draw.one_of<std::pair<ScalarType, ScalarType>>({{ScalarType::Float16, ScalarType::Float16},
                                                      {ScalarType::BFloat16, ScalarType::Float32},
                                                      {ScalarType::Float32, ScalarType::Float32},
                                                      {ScalarType::Float64, ScalarType::Float64}});
  const std::int64_t rows = draw.extent(130), columns = draw.extent(100), inner = draw.extent(130);
  const std::int64_t groups = 1 + draw.below(4);
  const bool b_transposed = draw.one_in(2), biased = draw.one_in(2);
  std::vector<double> offsets;
  for (std::int64_t g = 0; g <= groups; ++g) offsets.push_back(draw.below(static_cast<int>(rows) + 1));
  std::ranges::sort(offsets);
  b.made.text =
      fmt::format("grouped matmul of {} to {}, {} by {} by {} in {} groups{}{}", cpp_name(factor), cpp_name(result),
                  rows, columns, inner, groups, b_transposed ? ", b transposed" : "", biased ? ", bias" : "");
  const std::size_t a = b.reads("a", factor, {rows, inner}, draw.values(factor, rows * inner, Style::usual));
  const std::size_t right =
      b.reads("b", factor, b_transposed ? std::vector{groups, columns, inner} : std::vector{groups, inner, columns},
              draw.values(factor, groups * inner * columns, Style::usual));
  const std::size_t at = b.reads("offsets", ScalarType::Int32, {groups + 1}, offsets);
  const std::size_t bias =
      biased ? b.reads("bias", result, {groups, columns}, draw.values(result, groups * columns, Style::usual)) : 0;
  const std::size_t c = b.writes("c", result, {rows, columns});
  const double digits = epsilon_of(type_of_sums(factor));
  std::vector<double> values = b.of(c), tolerances(values.size(), 0),
                      cotangent = draw.values(result, rows * columns, Style::usual);
  std::vector<double> of_a(b.of(a).size()), near_a = of_a, of_b(b.of(right).size()), near_b = of_b,
                                            of_bias(static_cast<std::size_t>(biased ? groups * columns : 0)),
                                            near_bias = of_bias;
  const double per_a = digits * (double(columns) + 4) + epsilon_of(factor),
               per_b = digits * (double(rows) + 4) + epsilon_of(factor);
  for (std::int64_t g = 0; g < groups; ++g)
    for (auto i = static_cast<std::int64_t>(offsets[static_cast<std::size_t>(g)]);
         i < static_cast<std::int64_t>(offsets[static_cast<std::size_t>(g) + 1]); ++i)
      for (std::int64_t j = 0; j < columns; ++j) {
        double sum = 0, magnitude = 0;
        const auto at_c = static_cast<std::size_t>(i * columns + j),
                   of_group = static_cast<std::size_t>(g * columns + j);
        const double w = cotangent[at_c];
        for (std::int64_t k = 0; k < inner; ++k) {
          const auto at_a = static_cast<std::size_t>(i * inner + k);
          const auto at_b =
              static_cast<std::size_t>(g * inner * columns + (b_transposed ? j * inner + k : k * columns + j));
          const double product = b.of(a)[at_a] * b.of(right)[at_b];
          sum += product, magnitude += std::abs(product);
          of_a[at_a] += w * b.of(right)[at_b], near_a[at_a] += per_a * std::abs(w * b.of(right)[at_b]);
          of_b[at_b] += w * b.of(a)[at_a], near_b[at_b] += per_b * std::abs(w * b.of(a)[at_a]);
        }
        if (biased) {
          sum += b.of(bias)[of_group];
          of_bias[of_group] += w, near_bias[of_group] += (digits * double(rows) + epsilon_of(result)) * std::abs(w);
        }
        values[at_c] = sum;
        tolerances[at_c] = digits * (static_cast<double>(inner) + 4) * (magnitude + std::abs(sum));
      }
  b.reverse(c, std::move(cotangent));
  b.gradient(a, std::move(of_a), std::move(near_a), columns);
  b.gradient(right, std::move(of_b), std::move(near_b), rows);
  if (biased) b.gradient(bias, std::move(of_bias), std::move(near_bias), rows);
  b.expect(c, std::move(values), std::move(tolerances));
  b.made.calls = [=, factor = factor, result = result](const ops::PlanDevice &device) {
    std::vector<std::size_t> operands{a, right, at, c};
    if (biased) operands = {a, right, at, bias, c};
    const ops::GroupedByType kind{factor, {.result = result, .bias = biased}, b_transposed};
    return std::vector<Call>{{ops::grouped_matmul_launch(kind, {groups, rows, columns, inner}, device), operands, {}}};
  };
  return std::move(b.made);
}

// One head, forward and in reverse; the row sums and out that the adjoint reads are those that are expected.
Operation attention(Drawing &draw) {
  Building b;
  const ScalarType type =
      draw.one_of({ScalarType::Float16, ScalarType::BFloat16, ScalarType::Float32, ScalarType::Float64});
  const ScalarType wide = type_of_sums(type);
  const std::int64_t rows = std::max<std::int64_t>(draw.extent(100), 1),
                     terms = std::max<std::int64_t>(draw.extent(100), 1);
  const std::int64_t size = draw.one_of<std::int64_t>({1, 3, 16, 17, 64, 100});
  const bool causal = draw.one_in(2);
  const double scale = held(wide, draw.one_of({1 / std::sqrt(double(size)), 0.0, -0.5, 1e-38, 2.0}));
  b.made.text = fmt::format("attention of {}, {} by {}, size {}, scale {}{}", cpp_name(type), rows, terms, size, scale,
                            causal ? ", causal" : "");
  const auto heads = [](std::int64_t count, std::int64_t size) { return std::vector<std::int64_t>{1, 1, count, size}; };
  const auto read = [&](const char *name, std::int64_t count) {
    return b.reads(name, type, heads(count, size), draw.values(type, count * size, Style::usual));
  };
  const std::size_t q = read("q", rows), k = read("k", terms), v = read("v", terms), g = read("out_gradient", rows);
  const std::size_t out = b.writes("out", type, heads(rows, size)), row_sums = b.writes("row_sums", wide, {1, 1, rows}),
                    products = b.writes("products", wide, {1, 1, rows}),
                    of_q = b.writes("q_gradient", type, heads(rows, size)),
                    of_k = b.writes("k_gradient", type, heads(terms, size)),
                    of_v = b.writes("v_gradient", type, heads(terms, size));
  const auto at = [&](std::size_t operand, std::int64_t i, std::int64_t d) {
    return b.of(operand)[static_cast<std::size_t>(i * size + d)];
  };
  const auto zeros = [&](std::int64_t count) { return std::vector<double>(static_cast<std::size_t>(count), 0); };
  std::vector<double> outs = zeros(rows * size), sums, dots, dq = outs, dk = zeros(terms * size), dv = dk;
  std::vector<double> e_out = outs, e_q = outs, e_k = dk, e_v = dk;  // how large the terms of each sum are
  for (std::int64_t i = 0; i < rows; ++i) {
    std::vector<double> p = zeros(terms), of_p = p;
    double largest = -std::numeric_limits<double>::infinity(), sum = 0, dot = 0, spread = 1;
    const std::int64_t seen = causal ? std::min(i + 1, terms) : terms;
    for (std::int64_t j = 0; j < seen; ++j) {
      double product = 0, magnitude = 0;
      for (std::int64_t d = 0; d < size; ++d) {
        product += at(q, i, d) * at(k, j, d), magnitude += std::abs(at(q, i, d) * at(k, j, d));
        of_p[static_cast<std::size_t>(j)] += at(g, i, d) * at(v, j, d);
      }
      p[static_cast<std::size_t>(j)] = product * scale;
      largest = std::max(largest, product * scale), spread = std::max(spread, 1 + std::abs(scale) * magnitude);
    }
    for (std::int64_t j = 0; j < seen; ++j)
      sum += p[static_cast<std::size_t>(j)] = std::exp(p[static_cast<std::size_t>(j)] - largest);
    sums.push_back(largest + std::log(sum));
    for (std::int64_t j = 0; j < seen; ++j) p[static_cast<std::size_t>(j)] /= sum;
    for (std::int64_t j = 0; j < seen; ++j) dot += p[static_cast<std::size_t>(j)] * of_p[static_cast<std::size_t>(j)];
    dots.push_back(dot);
    for (std::int64_t j = 0; j < seen; ++j)
      for (std::int64_t d = 0; d < size; ++d) {
        const double weight = p[static_cast<std::size_t>(j)];
        const double ds = weight * (of_p[static_cast<std::size_t>(j)] - dot) * scale;
        const double size_of_ds = weight * (std::sqrt(double(size)) + std::abs(dot)) * std::abs(scale) * spread;
        const auto x = static_cast<std::size_t>(i * size + d), y = static_cast<std::size_t>(j * size + d);
        outs[x] += weight * at(v, j, d), e_out[x] += weight * std::abs(at(v, j, d)) * spread;
        dq[x] += ds * at(k, j, d), e_q[x] += size_of_ds * std::abs(at(k, j, d));
        dk[y] += ds * at(q, i, d), e_k[y] += size_of_ds * std::abs(at(q, i, d));
        dv[y] += weight * at(g, i, d), e_v[y] += weight * std::abs(at(g, i, d)) * spread;
      }
  }
  const double digits = std::max(4 * epsilon_of(type), 32 * epsilon_of(wide));
  const auto scaled = [&](std::vector<double> magnitudes) {
    for (double &magnitude : magnitudes) magnitude = digits * magnitude + 8 * least_of(type);
    return magnitudes;
  };
  std::vector<double> of_sums, of_dots;
  for (const double sum : sums) of_sums.push_back(64 * epsilon_of(wide) * (1 + std::abs(sum) + double(size)));
  for (std::size_t i = 0; i < dots.size(); ++i) of_dots.push_back(digits * double(size) * 2);
  b.reverse(out, b.of(g));
  b.reverse(row_sums, zeros(rows));
  b.gradient(q, dq, scaled(e_q), terms);
  b.gradient(k, dk, scaled(e_k), rows);
  b.gradient(v, dv, scaled(e_v), rows);
  b.expect(out, std::move(outs), scaled(std::move(e_out)));
  b.expect(row_sums, std::move(sums), std::move(of_sums));
  b.expect(products, std::move(dots), std::move(of_dots));
  b.expect(of_q, std::move(dq), scaled(std::move(e_q)));
  b.expect(of_k, std::move(dk), scaled(std::move(e_k)));
  b.expect(of_v, std::move(dv), scaled(std::move(e_v)));
  b.made.calls = [=](const ops::PlanDevice &device) {
    const ops::AttentionShape shape{1, 1, rows, size, terms};
    const auto adjoint = ops::attention_adjoint_launches(type, shape, causal, device, scale);
    return std::vector<Call>{{ops::attention_launch(type, shape, causal, device), {q, k, v, out, row_sums}, scale},
                             {adjoint.row_products, {out, g, products}, {}},
                             {adjoint.of_queries, {q, k, v, row_sums, products, g, of_q}, scale},
                             {adjoint.of_keys, {q, k, v, row_sums, products, g, of_k, of_v}, scale}};
  };
  return std::move(b.made);
}

}  // namespace

double held(ScalarType type, double value) {
  return with_type(type, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::same_as<T, double>)
      return value;
    else
      return static_cast<double>(static_cast<float>(T(static_cast<float>(value))));
  });
}
double epsilon_of(ScalarType type) {
  return with_type(type, [](auto zero) {
    using T = decltype(zero);
    if constexpr (std::same_as<T, double>)
      return std::numeric_limits<double>::epsilon();
    else
      return static_cast<double>(static_cast<float>(std::numeric_limits<T>::epsilon()));
  });
}
double least_of(ScalarType type) {
  return with_type(type, [](auto zero) {
    using T = decltype(zero);
    if constexpr (std::same_as<T, double>)
      return std::numeric_limits<double>::denorm_min();
    else
      return static_cast<double>(static_cast<float>(std::numeric_limits<T>::denorm_min()));
  });
}

Operation random_operation(std::uint32_t seed, std::int64_t most) {
  Drawing draw(seed, most);
  switch (draw.below(13)) {
    case 0: return softmax(draw);
    case 1: return layer_norm(draw);
    case 2: return quantise(draw);
    case 3: return matmul(draw);
    case 4: return scaled_matmul(draw);
    case 5: return grouped_matmul(draw);
    case 6: return rms_norm(draw);
    case 7: return cross_entropy(draw);
    case 8: return rotary(draw);
    case 9: return group_norm(draw);
    case 10: return masked_attention(draw);
    case 11: return convolution(draw);
    default: return attention(draw);
  }
}
Operation random_product_of_units(std::uint32_t seed, std::int64_t most) {
  Drawing draw(seed, most, 16);
  return draw.one_in(3) ? scaled_matmul(draw) : matmul(draw);
}

std::string difference(const Operand &operand, const Expected &expected, const std::vector<double> &actual) {
  for (std::size_t k = 0; k < expected.values.size(); ++k) {
    const double wanted = expected.values[k], got = actual[k];
    const double rounded = held(operand.type, wanted);
    const bool is_right = std::isnan(wanted) ? std::isnan(got)
                          : std::isinf(wanted)
                              ? got == rounded
                              : std::abs(got - wanted) <= expected.tolerances[k] +
                                                              epsilon_of(operand.type) * std::abs(wanted) +
                                                              least_of(operand.type) ||
                                    (std::isinf(rounded) && got == rounded);
    if (!is_right)
      return fmt::format("{}[{}] is {}; {} expected, give or take {}", operand.name, k, got, wanted,
                         expected.tolerances[k]);
  }
  return "";
}

}  // namespace samite::test::operations
