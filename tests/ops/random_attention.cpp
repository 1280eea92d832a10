// Random launches of attention with masks and with heads that share those of k, forward and in reverse; the row sums
// and out that the adjoint reads are those that are expected.
#include "samite/ops/attention.h"
#include "tests/ops/attention_in_double.h"
#include "tests/ops/random_drawing.h"

#include <fmt/format.h>

namespace samite::test::operations {
namespace {

AttentionInDouble::Masks drawn_masks(Drawing &draw, ScalarType type, const AttentionInDouble::Shape &shape,
                                     ops::AttentionMasks &masks) {
  AttentionInDouble::Masks drawn;
  const ScalarType wide = type_of_sums(type);
  masks = {true, draw.one_in(2), draw.one_in(2), draw.one_in(2), draw.one_in(3)};
  if (draw.one_in(2)) drawn.behind = 0;
  if (draw.one_in(2)) drawn.before = draw.below(40);
  drawn.from_the_end = masks.from_the_end;
  if (masks.bias) drawn.bias = draw.values(type, shape.batches * shape.heads * shape.rows * shape.terms, Style::usual);
  if (masks.slopes)
    for (std::int64_t h = 0; h < shape.heads; ++h) drawn.slopes.push_back(held(wide, draw.between(0, 0.5)));
  if (masks.lengths)
    for (std::int64_t b = 0; b < shape.batches; ++b)
      drawn.lengths.push_back(draw.below(static_cast<int>(shape.terms) + 3));
  return drawn;
}

}  // namespace

Operation masked_attention(Drawing &draw) {
  Building b;
  const ScalarType type =
      draw.one_of({ScalarType::Float16, ScalarType::BFloat16, ScalarType::Float32, ScalarType::Float64});
  const ScalarType wide = type_of_sums(type);
  const std::int64_t key_heads = 1 + draw.below(2), shared = 1 + draw.below(3);
  const AttentionInDouble::Shape shape{1 + draw.below(2),
                                       key_heads * shared,
                                       key_heads,
                                       std::max<std::int64_t>(draw.extent(70), 1),
                                       std::max<std::int64_t>(draw.extent(70), 1),
                                       draw.one_of<std::int64_t>({1, 16, 17})};
  const std::int64_t batches = shape.batches, heads = shape.heads, rows = shape.rows, terms = shape.terms,
                     size = shape.size;
  ops::AttentionMasks masks;
  const AttentionInDouble::Masks drawn = drawn_masks(draw, type, shape, masks);
  if (masks.bias && batches * heads * rows * terms > 20000) return masked_attention(draw);
  const double scale = held(wide, draw.one_of({1 / std::sqrt(double(size)), 0.0, -0.5, 1e-38}));
  b.made.text =
      fmt::format("masked attention of {}, {} by {} of {}, {} by {}, size {}, scale {}, before {}, behind {}{}{}{}{}",
                  cpp_name(type), batches, heads, key_heads, rows, terms, size, scale, drawn.before, drawn.behind,
                  masks.from_the_end ? ", from the end" : "", masks.bias ? ", bias" : "",
                  masks.slopes ? ", slopes" : "", masks.lengths ? ", lengths" : "");
  const std::vector<std::int64_t> of_q{batches, heads, rows, size}, of_keys{batches, key_heads, terms, size},
      of_rows{batches, heads, rows};
  const auto read = [&](const char *name, const std::vector<std::int64_t> &extents) {
    return b.reads(name, type, extents,
                   draw.values(type, extents[0] * extents[1] * extents[2] * extents[3], Style::usual));
  };
  const auto or_one = [](const std::vector<double> &values) {
    return values.empty() ? std::vector<double>{0} : values;
  };
  const std::size_t q = read("q", of_q), k = read("k", of_keys), v = read("v", of_keys), g = read("out_gradient", of_q);
  const std::size_t bias = b.reads(
      "bias", type, masks.bias ? std::vector{batches, heads, rows, terms} : std::vector<std::int64_t>{1, 1, 1, 1},
      or_one(drawn.bias));
  const std::size_t slopes = b.reads("slopes", wide, {masks.slopes ? heads : 1}, or_one(drawn.slopes)),
                    lengths =
                        b.reads("lengths", ScalarType::Int32, {masks.lengths ? batches : 1}, or_one(drawn.lengths));
  const std::size_t out = b.writes("out", type, of_q), row_sums = b.writes("row_sums", wide, of_rows),
                    products = b.writes("products", wide, of_rows), dq = b.writes("q_gradient", type, of_q),
                    dk = b.writes("k_gradient", type, of_keys), dv = b.writes("v_gradient", type, of_keys);
  const AttentionInDouble expected(shape, scale, drawn, b.of(q), b.of(k), b.of(v), b.of(g));
  const double digits = std::max(4 * epsilon_of(type), 32 * epsilon_of(wide));
  const auto scaled = [&](std::vector<double> magnitudes) {
    for (double &magnitude : magnitudes) magnitude = digits * magnitude + 8 * least_of(type);
    return magnitudes;
  };
  std::vector<double> of_sums, of_dots(expected.products.size(), digits * double(size) * 2);
  for (const double sum : expected.row_sums)
    of_sums.push_back(std::isinf(sum) ? 0 : 64 * epsilon_of(wide) * (40 + std::abs(sum) + double(size)));
  b.reverse(out, b.of(g));
  b.reverse(row_sums, std::vector<double>(expected.row_sums.size(), 0));
  b.gradient(q, expected.of_q, scaled(expected.near_q), terms);
  b.gradient(k, expected.of_k, scaled(expected.near_k), shared * rows);
  b.gradient(v, expected.of_v, scaled(expected.near_v), shared * rows);
  b.expect(out, expected.out, scaled(expected.near_out));
  b.expect(row_sums, expected.row_sums, std::move(of_sums));
  b.expect(products, expected.products, std::move(of_dots));
  b.expect(dq, expected.of_q, scaled(expected.near_q));
  b.expect(dk, expected.of_k, scaled(expected.near_k));
  b.expect(dv, expected.of_v, scaled(expected.near_v));
  const std::vector<std::int32_t> distances{static_cast<std::int32_t>(drawn.before),
                                            static_cast<std::int32_t>(drawn.behind)};
  b.made.calls = [=](const ops::PlanDevice &device) {
    const ops::AttentionShape of{batches, heads, rows, size, terms, shared};
    const auto adjoint = ops::masked_attention_adjoint_launches(type, of, masks, device, scale);
    return std::vector<Call>{
        {ops::masked_attention_launch(type, of, masks, device),
         {q, k, v, bias, slopes, lengths, out, row_sums},
         scale,
         distances},
        {adjoint.row_products, {out, g, products}, {}},
        {adjoint.of_queries, {q, k, v, bias, slopes, lengths, row_sums, products, g, dq}, scale, distances},
        {adjoint.of_keys, {q, k, v, bias, slopes, lengths, row_sums, products, g, dk, dv}, scale, distances}};
  };
  return std::move(b.made);
}

}  // namespace samite::test::operations
