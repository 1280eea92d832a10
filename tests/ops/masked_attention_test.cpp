// Attention with fewer heads of k than of q, with windows, biases, slopes and lengths, and its adjoint, against double.
#include "samite/ops/attention.h"
#include "tests/ops/attention_in_double.h"
#include "tests/tiles/reference.h"

#include <gmock/gmock.h>

namespace samite::test {
namespace {

using testing::HasSubstr;
using MaskedShape = AttentionInDouble::Shape;
using MasksInDouble = AttentionInDouble::Masks;

template <class T>
struct MaskedArrays {
  using S = std::conditional_t<sizeof(T) == 8, double, float>;
  std::vector<double> q_values, k_values, v_values, cotangents;
  Buffer<T> q, k, v, out, cotangent;
  Buffer<S> row_sums;

  explicit MaskedArrays(const MaskedShape &s, Gradient gradient = Gradient::untracked)
      : q_values(numbers(s.batches * s.heads * s.rows * s.size, 1)),
        k_values(numbers(s.batches * s.key_heads * s.terms * s.size, 2)),
        v_values(numbers(s.batches * s.key_heads * s.terms * s.size, 3)),
        cotangents(numbers(s.batches * s.heads * s.rows * s.size, 4)),
        q(buffer<T>({s.batches, s.heads, s.rows, s.size}, q_values, gradient)),
        k(buffer<T>({s.batches, s.key_heads, s.terms, s.size}, k_values, gradient)),
        v(buffer<T>({s.batches, s.key_heads, s.terms, s.size}, v_values, gradient)),
        out(poisoned<T>(q.extents(), gradient)),
        cotangent(buffer<T>(q.extents(), cotangents)),
        row_sums(poisoned<S>({s.batches, s.heads, s.rows})) {}

  AttentionInDouble in_double(const MaskedShape &shape, const MasksInDouble &masks, double scale = 0.3) const {
    return {shape, scale, masks, q_values, k_values, v_values, cotangents};
  }
};

// The adjoint called directly, and on a tape, where it adds.
template <class T>
void check_masked(const MaskedShape &shape, ops::AttentionOptions options, const MasksInDouble &masks,
                  double tolerance) {
  SCOPED_TRACE(std::to_string(shape.rows) + " by " + std::to_string(shape.terms));
  options.scale = 0.3;
  const MaskedArrays<T> a(shape, Gradient::tracked);
  const AttentionInDouble expected = a.in_double(shape, masks);
  a.k.gradient().fill(T(1));
  Tape tape;
  tape.record([&] { ops::attention(a.q, a.k, a.v, a.out, a.row_sums, options); });
  EXPECT_THAT(tape.to_string(), HasSubstr("0: attention"));
  expect_near(a.out, expected.out, tolerance);
  expect_near(a.row_sums, expected.row_sums, tolerance);
  const auto dq = poisoned<T>(a.q.extents()), dk = poisoned<T>(a.k.extents()), dv = poisoned<T>(a.k.extents());
  ops::attention_adjoint(a.q, a.k, a.v, a.out, a.row_sums, a.cotangent, dq, dk, dv, options);
  expect_near(dq, expected.of_q, 4 * tolerance);
  expect_near(dk, expected.of_k, 4 * tolerance);
  expect_near(dv, expected.of_v, 4 * tolerance);
  tape.backward({{a.out, a.cotangent}});
  std::vector<double> added = expected.of_k;
  for (double &element : added) element += 1;
  expect_near(a.q.gradient(), expected.of_q, 4 * tolerance);
  expect_near(a.k.gradient(), added, 4 * tolerance);
  expect_near(a.v.gradient(), expected.of_v, 4 * tolerance);
}

TEST(MaskedAttention, OfHeadsThatShareThoseOfK) {
  check_masked<double>({2, 4, 2, 20, 37, 8}, {}, {}, 1e-12);
  check_masked<double>({1, 3, 1, 40, 21, 8}, {.causal = true}, {.behind = 0}, 1e-12);
}

// If there are more rows of q than of k, the first ones see nothing.
TEST(MaskedAttention, CausalFromTheEnd) {
  const ops::AttentionOptions options{.causal = true, .from_the_end = true};
  const MasksInDouble masks{.behind = 0, .from_the_end = true};
  check_masked<double>({1, 2, 2, 20, 75, 8}, options, masks, 1e-12);
  check_masked<double>({1, 4, 2, 75, 20, 8}, options, masks, 1e-12);
  check_masked<double>({1, 2, 2, 1, 33, 8}, options, masks, 1e-12);
}

TEST(MaskedAttention, InWindows) {
  check_masked<double>({1, 2, 1, 90, 90, 8}, {.causal = true, .window = 5}, {.before = 4, .behind = 0}, 1e-12);
  check_masked<double>({1, 1, 1, 90, 30, 8}, {.window = 3}, {.before = 2, .behind = 2}, 1e-12);
}

TEST(MaskedAttention, WithSlopes) {
  const auto slopes = buffer<double>({2}, {0.5, 0.125});
  check_masked<double>({1, 2, 2, 33, 40, 8}, {.slopes = slopes}, {.slopes = {0.5, 0.125}}, 1e-12);
  check_masked<double>({1, 2, 1, 20, 40, 8}, {.causal = true, .from_the_end = true, .slopes = slopes},
                       {.behind = 0, .from_the_end = true, .slopes = {0.5, 0.125}}, 1e-12);
}

TEST(MaskedAttention, WithABias) {
  const std::vector<double> all = numbers(2 * 2 * 20 * 37, 7), of_rows = numbers(20 * 37, 8);
  check_masked<double>({2, 2, 1, 20, 37, 8}, {.bias = buffer<double>({2, 2, 20, 37}, all)}, {.bias = all}, 1e-12);
  std::vector<double> repeated;
  for (int head = 0; head < 4; ++head) repeated.insert(repeated.end(), of_rows.begin(), of_rows.end());
  const AnyBuffer once = buffer<double>({1, 1, 20, 37}, of_rows);
  check_masked<double>({2, 2, 2, 20, 37, 8}, {.bias = once.broadcast({2, 2, 20, 37})}, {.bias = repeated}, 1e-12);
}

// The second batch element has nothing to see, and the last one more than there is.
TEST(MaskedAttention, WithLengths) {
  const auto lengths = buffer<std::int32_t>({3}, {17, 0, 99});
  check_masked<double>({3, 2, 1, 20, 37, 8}, {.lengths = lengths}, {.lengths = {17, 0, 99}}, 1e-12);
  check_masked<double>({3, 2, 1, 4, 37, 8}, {.causal = true, .from_the_end = true, .lengths = lengths},
                       {.behind = 0, .from_the_end = true, .lengths = {17, 0, 99}}, 1e-12);
}

TEST(MaskedAttention, OfSeveralMasksInOtherTypes) {
  const std::vector<double> bias = numbers(2 * 40 * 70, 9);
  const auto lengths = buffer<std::int32_t>({1}, {65});
  const ops::AttentionOptions options{.causal = true,
                                      .from_the_end = true,
                                      .window = 30,
                                      .slopes = buffer<float>({2}, {0.25, 0.5}),
                                      .lengths = lengths};
  const MasksInDouble masks{
      .before = 29, .behind = 0, .from_the_end = true, .bias = bias, .slopes = {0.25, 0.5}, .lengths = {65}};
  ops::AttentionOptions in_float = options, in_half = options, in_bfloat16 = options;
  in_float.bias = buffer<float>({1, 2, 40, 70}, bias);
  in_half.bias = buffer<half>({1, 2, 40, 70}, bias);
  in_bfloat16.bias = buffer<bfloat16>({1, 2, 40, 70}, bias);
  check_masked<float>({1, 2, 1, 40, 70, 16}, in_float, masks, 1e-5);
  check_masked<half>({1, 2, 1, 40, 70, 16}, in_half, masks, 4e-3);
  check_masked<bfloat16>({1, 2, 1, 40, 70, 16}, in_bfloat16, masks, 4e-2);
}

TEST(MaskedAttention, ABiasThatTracksHasAGradient) {
  const MaskedShape shape{1, 2, 1, 9, 12, 4};
  const MaskedArrays<double> a(shape, Gradient::tracked);
  const std::vector<double> values = numbers(2 * 9 * 12, 7);
  const auto bias = buffer<double>({1, 2, 9, 12}, values, Gradient::tracked);
  Tape tape;
  // The first rows of q see nothing.
  tape.record([&] {
    ops::attention(
        a.q, a.k.slice(2, 0, 12), a.v, a.out, a.row_sums,
        {.causal = true, .scale = 0.3, .window = 4, .bias = bias, .lengths = buffer<std::int32_t>({1}, {8})});
  });
  tape.backward({{a.out, a.cotangent}});
  const AttentionInDouble expected = a.in_double(shape, {.before = 3, .behind = 0, .bias = values, .lengths = {8}});
  expect_near(bias.gradient(), expected.of_bias, 1e-12);
  expect_near(a.q.gradient(), expected.of_q, 1e-12);
  expect_near(a.k.gradient(), expected.of_k, 1e-12);
}

// The tape keeps the masks' values.
TEST(MaskedAttention, MasksMayBeOverwrittenBeforeTheTapeRunsBack) {
  const MaskedShape shape{2, 1, 1, 9, 12, 4};
  const MaskedArrays<double> a(shape, Gradient::tracked);
  auto lengths = buffer<std::int32_t>({2}, {5, 8});
  const auto other = buffer<std::int32_t>({2}, {1, 1});
  Tape tape;
  tape.record([&] {
    ops::attention(a.q, a.k, a.v, a.out, a.row_sums, {.scale = 0.3, .lengths = lengths});
    lengths.copy_from(other);
  });
  tape.backward({{a.out, a.cotangent}});
  expect_near(a.v.gradient(), a.in_double(shape, {.lengths = {5, 8}}).of_v, 1e-12);
}

TEST(MaskedAttention, NamesWhatDoesNotFit) {
  const Buffer<float> q(device(), {1, 4, 3, 8}), k(device(), {1, 3, 5, 8}), fits(device(), {1, 2, 5, 8});
  const Buffer<float> sums(device(), {1, 4, 3}), bias(device(), {1, 1, 3, 5}), slopes(device(), {2});
  const Buffer<std::int64_t> wide(device(), {1});
  EXPECT_THAT(message_of<UserError>([&] { ops::attention(q, k, k, q.clone(), sums); }),
              HasSubstr("expected k of float with extents (1, 4, 5, 8)"));
  const auto with = [&](const ops::AttentionOptions &options) {
    return message_of<UserError>([&] { ops::attention(q, fits, fits, q.clone(), sums, options); });
  };
  EXPECT_THAT(with({.bias = bias}), HasSubstr("expected a bias of float with extents (1, 4, 3, 5)"));
  EXPECT_THAT(with({.slopes = slopes}), HasSubstr("expected slopes of float with extents (4)"));
  EXPECT_THAT(with({.lengths = wide}), HasSubstr("expected lengths of int32_t with extents (1)"));
  EXPECT_THAT(with({.window = 0}), HasSubstr("expected a window of at least one row; 0 given"));
}

}  // namespace
}  // namespace samite::test
