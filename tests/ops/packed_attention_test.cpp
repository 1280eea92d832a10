// Attention of sequences of any lengths that lie one after another, and its adjoint, against double for each sequence.
#include "samite/ops/packed_attention.h"
#include "tests/ops/attention_in_double.h"
#include "tests/tiles/reference.h"

#include <gmock/gmock.h>

namespace samite::test {
namespace {

using testing::HasSubstr;

// Rows of q and of k of each sequence; `gap` rows in no sequence follow the last one.
struct PackedShape {
  std::vector<std::int64_t> rows, terms;
  std::int64_t heads = 2, key_heads = 1, size = 8, gap = 0;

  std::int64_t all_rows() const { return total(rows) + gap; }
  std::int64_t all_terms() const { return total(terms) + gap; }
  static std::int64_t total(const std::vector<std::int64_t> &lengths) {
    std::int64_t sum = 0;
    for (const std::int64_t length : lengths) sum += length;
    return sum;
  }
};

using Values = std::vector<double>;

Buffer<std::int32_t> offsets_of(const std::vector<std::int64_t> &lengths) {
  std::vector<std::int32_t> offsets{0};
  for (const std::int64_t length : lengths) offsets.push_back(offsets.back() + static_cast<std::int32_t>(length));
  return {device(), {static_cast<std::int64_t>(offsets.size())}, offsets};
}

// Rows [begin, begin + count) of (rows, heads, size), as (heads, rows, size), and back.
Values heads_first(const Values &x, std::int64_t begin, std::int64_t count, std::int64_t heads, std::int64_t size) {
  Values made;
  for (std::int64_t h = 0; h < heads; ++h)
    for (std::int64_t i = 0; i < count; ++i)
      for (std::int64_t d = 0; d < size; ++d)
        made.push_back(x[static_cast<std::size_t>(((begin + i) * heads + h) * size + d)]);
  return made;
}
void put_back(Values &x, const Values &part, std::int64_t begin, std::int64_t count, std::int64_t heads,
              std::int64_t size) {
  std::size_t next = 0;
  for (std::int64_t h = 0; h < heads; ++h)
    for (std::int64_t i = 0; i < count; ++i)
      for (std::int64_t d = 0; d < size; ++d)
        x[static_cast<std::size_t>(((begin + i) * heads + h) * size + d)] = part[next++];
}

struct PackedInDouble {
  Values out, row_sums, of_q, of_k, of_v;

  PackedInDouble(const PackedShape &s, double scale, const AttentionInDouble::Masks &masks, const Values &q,
                 const Values &k, const Values &v, const Values &cotangent)
      : out(q.size(), 77.0),
        row_sums(static_cast<std::size_t>(s.heads * s.all_rows()), 77.0),
        of_q(q.size()),
        of_k(k.size()),
        of_v(v.size()) {
    std::int64_t row = 0, term = 0;
    for (std::size_t i = 0; i < s.rows.size(); ++i) {
      const std::int64_t rows = s.rows[i], terms = s.terms[i];
      const AttentionInDouble one(
          {1, s.heads, s.key_heads, rows, terms, s.size}, scale, masks, heads_first(q, row, rows, s.heads, s.size),
          heads_first(k, term, terms, s.key_heads, s.size), heads_first(v, term, terms, s.key_heads, s.size),
          heads_first(cotangent, row, rows, s.heads, s.size));
      put_back(out, one.out, row, rows, s.heads, s.size);
      put_back(of_q, one.of_q, row, rows, s.heads, s.size);
      put_back(of_k, one.of_k, term, terms, s.key_heads, s.size);
      put_back(of_v, one.of_v, term, terms, s.key_heads, s.size);
      for (std::int64_t h = 0; h < s.heads; ++h)
        for (std::int64_t r = 0; r < rows; ++r)
          row_sums[static_cast<std::size_t>(h * s.all_rows() + row + r)] =
              one.row_sums[static_cast<std::size_t>(h * rows + r)];
      row += rows, term += terms;
    }
  }
};

// NaN in rows of no sequence: nothing may depend on them.
Values with_nan_behind(Values x, std::int64_t gap, std::int64_t row) {
  std::fill(x.end() - gap * row, x.end(), not_written);
  return x;
}

template <class T>
struct PackedArrays {
  using S = std::conditional_t<sizeof(T) == 8, double, float>;
  PackedShape shape;
  Values q_values, k_values, v_values, cotangents;
  Buffer<T> q, k, v, out, cotangent;
  Buffer<S> row_sums;
  Buffer<std::int32_t> q_offsets, k_offsets;

  explicit PackedArrays(const PackedShape &s)
      : shape(s),
        q_values(numbers(s.all_rows() * s.heads * s.size, 1)),
        k_values(numbers(s.all_terms() * s.key_heads * s.size, 2)),
        v_values(numbers(s.all_terms() * s.key_heads * s.size, 3)),
        cotangents(numbers(s.all_rows() * s.heads * s.size, 4)),
        q(buffer<T>({s.all_rows(), s.heads, s.size}, with_nan_behind(q_values, s.gap, s.heads * s.size),
                    Gradient::tracked)),
        k(buffer<T>({s.all_terms(), s.key_heads, s.size}, with_nan_behind(k_values, s.gap, s.key_heads * s.size),
                    Gradient::tracked)),
        v(buffer<T>({s.all_terms(), s.key_heads, s.size}, with_nan_behind(v_values, s.gap, s.key_heads * s.size),
                    Gradient::tracked)),
        out(q.extents().count() == 0 ? poisoned<T>(q.extents(), Gradient::tracked)
                                     : buffer<T>(q.extents(), Values(q_values.size(), 77.0), Gradient::tracked)),
        cotangent(buffer<T>(q.extents(), with_nan_behind(cotangents, s.gap, s.heads * s.size))),
        row_sums(buffer<S>({s.heads, s.all_rows()}, Values(static_cast<std::size_t>(s.heads * s.all_rows()), 77.0))),
        q_offsets(offsets_of(s.rows)),
        k_offsets(offsets_of(s.terms)) {}
};

template <class T>
void check_packed(const PackedShape &shape, ops::PackedAttentionOptions options, const AttentionInDouble::Masks &masks,
                  double tolerance) {
  options.scale = 0.3;
  const PackedArrays<T> a(shape);
  const PackedInDouble expected(shape, 0.3, masks, a.q_values, a.k_values, a.v_values, a.cotangents);
  a.k.gradient().fill(T(1));
  Tape tape;
  tape.record([&] { ops::packed_attention(a.q, a.k, a.v, a.q_offsets, a.k_offsets, a.out, a.row_sums, options); });
  EXPECT_THAT(tape.to_string(), HasSubstr("0: packed_attention"));
  expect_near(a.out, expected.out, tolerance);
  expect_near(a.row_sums, expected.row_sums, tolerance);
  const auto zeros = [](const Buffer<T> &like) {
    return buffer<T>(like.extents(), Values(static_cast<std::size_t>(like.count())));
  };
  const auto dq = zeros(a.q), dk = zeros(a.k), dv = zeros(a.v);
  ops::packed_attention_adjoint({a.q, a.k, a.v, a.q_offsets, a.k_offsets, a.out, a.row_sums}, a.cotangent, dq, dk, dv,
                                options);
  expect_near(dq, expected.of_q, 4 * tolerance);
  expect_near(dk, expected.of_k, 4 * tolerance);
  expect_near(dv, expected.of_v, 4 * tolerance);
  tape.backward({{a.out, a.cotangent}});
  Values added = expected.of_k;
  for (double &element : added) element += 1;
  expect_near(a.q.gradient(), expected.of_q, 4 * tolerance);
  expect_near(a.k.gradient(), added, 4 * tolerance);
  expect_near(a.v.gradient(), expected.of_v, 4 * tolerance);
}

TEST(PackedAttention, OfSequencesOfAnyLengths) {
  check_packed<double>({.rows = {5, 0, 1, 70, 33}, .terms = {9, 4, 1, 37, 64}}, {}, {}, 1e-12);
  check_packed<double>({.rows = {3}, .terms = {4}, .heads = 1, .size = 5}, {}, {}, 1e-12);
}

// A sequence without keys sees nothing.
TEST(PackedAttention, RowsThatSeeNothingAreZero) {
  check_packed<double>({.rows = {2, 3, 4}, .terms = {3, 0, 2}}, {}, {}, 1e-12);
}

TEST(PackedAttention, NothingDependsOnRowsOfNoSequence) {
  check_packed<double>({.rows = {5, 20}, .terms = {9, 40}, .gap = 7}, {}, {}, 1e-12);
  check_packed<double>({.rows = {5, 20}, .terms = {5, 20}, .gap = 7}, {.causal = true}, {.behind = 0}, 1e-12);
}

TEST(PackedAttention, CausalWithWindowsAndSharedHeads) {
  const PackedShape alike{.rows = {40, 1, 90}, .terms = {40, 1, 90}, .heads = 4, .key_heads = 2};
  check_packed<double>(alike, {.causal = true}, {.behind = 0}, 1e-12);
  check_packed<double>(alike, {.causal = true, .window = 5}, {.before = 4, .behind = 0}, 1e-12);
  check_packed<double>(alike, {.window = 3}, {.before = 2, .behind = 2}, 1e-12);
}

// If a sequence has more rows of q than of k, the first ones see nothing.
TEST(PackedAttention, CausalFromTheEnd) {
  check_packed<double>({.rows = {1, 40, 7}, .terms = {30, 20, 7}}, {.causal = true, .from_the_end = true},
                       {.behind = 0, .from_the_end = true}, 1e-12);
}

TEST(PackedAttention, OtherTypes) {
  const PackedShape shape{.rows = {17, 30}, .terms = {20, 41}, .size = 16};
  check_packed<float>(shape, {}, {}, 1e-5);
  check_packed<half>(shape, {}, {}, 4e-3);
  check_packed<bfloat16>(shape, {}, {}, 4e-2);
}

TEST(PackedAttention, TheGradientOfRowSumsCounts) {
  const PackedArrays<double> a({.rows = {3, 5}, .terms = {4, 6}});
  const auto sums = poisoned<double>({2, 8}, Gradient::tracked);
  const auto objective = [&] {
    ops::packed_attention(a.q, a.k, a.v, a.q_offsets, a.k_offsets, a.out, sums, {.scale = 0.3});
    double sum = 0;
    for (const double value : sums.to_vector()) sum += value;
    return sum;
  };
  Tape tape;
  tape.record([&] { objective(); });
  tape.backward({{sums, buffer<double>({2, 8}, Values(16, 1.0))}});
  for (const std::int64_t place : {0, 21, 63}) {
    auto q = a.q.to_vector();
    const double before = q[static_cast<std::size_t>(place)], step = 1e-5;
    double values[2];
    for (const int side : {0, 1}) {
      q[static_cast<std::size_t>(place)] = before + (side ? step : -step);
      const Buffer<double> moved(device(), a.q.extents(), q);
      ops::packed_attention(moved, a.k, a.v, a.q_offsets, a.k_offsets, a.out, sums, {.scale = 0.3});
      values[side] = 0;
      for (const double value : sums.to_vector()) values[side] += value;
    }
    EXPECT_NEAR(a.q.gradient().to_vector()[static_cast<std::size_t>(place)], (values[1] - values[0]) / (2 * step),
                1e-8);
  }
}

TEST(PackedAttention, NamesWhatDoesNotFit) {
  const PackedArrays<float> a({.rows = {3, 5}, .terms = {4, 6}});
  const Buffer<float> odd(device(), {10, 3, 8}), flat(device(), {8, 16});
  const auto run = [&](const AnyBuffer &q, const AnyBuffer &k, const AnyBuffer &q_offsets, const AnyBuffer &out,
                       const ops::PackedAttentionOptions &options = {}) {
    return message_of<UserError>(
        [&] { ops::packed_attention(q, k, k, q_offsets, a.k_offsets, out, a.row_sums, options); });
  };
  EXPECT_THAT(run(flat, a.k, a.q_offsets, a.out), HasSubstr("expected q of (rows, heads, size)"));
  EXPECT_THAT(run(a.q, odd, a.q_offsets, a.out), HasSubstr("expected k of float with extents (10, 2, 8)"));
  EXPECT_THAT(run(a.q, a.k, a.q_offsets.slice(0, 0, 2), a.out),
              HasSubstr("expected k_offsets of int32_t with extents (2)"));
  EXPECT_THAT(run(a.q, a.k, a.q_offsets.slice(0, 0, 1), a.out), HasSubstr("expected q_offsets, where each sequence"));
  EXPECT_THAT(run(a.q, a.k, a.q_offsets, flat), HasSubstr("expected out of float with extents (8, 2, 8)"));
  EXPECT_THAT(run(a.q, a.k, a.q_offsets, a.out, {.window = 0}), HasSubstr("expected a window of at least one row"));
  EXPECT_THAT(run(a.q, a.k, a.q_offsets, a.q), HasSubstr("shares memory with"));
  const Buffer<std::int32_t> falling(device(), {3}, {0, 9, 8});
  if (device().kind() == DeviceKind::cpu)  // on CUDA in debug mode only
    EXPECT_THAT(run(a.q, a.k, falling, a.out), HasSubstr("q_offsets: group 0 is of the rows from 0 to before 9 of 8"));
  EXPECT_THAT(message_of<UserError>([&] {
                ops::packed_attention_adjoint({a.q, a.k, a.v, a.q_offsets, a.k_offsets, a.out, a.row_sums}, a.cotangent,
                                              a.q.clone(), a.k, a.k);
              }),
              HasSubstr("those of k and v share theirs"));
}

}  // namespace
}  // namespace samite::test
