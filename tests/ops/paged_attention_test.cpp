// Attention to keys and values in pages, whole and split over the keys, against double for each sequence.
#include "samite/ops/paged_attention.h"
#include "tests/ops/attention_in_double.h"
#include "tests/tiles/reference.h"

#include <gmock/gmock.h>

namespace samite::test {
namespace {

using testing::HasSubstr;

struct PagedShape {
  std::vector<std::int64_t> lengths;
  std::int64_t heads = 4, key_heads = 2, rows = 1, size = 8, page_rows = 4, most_pages = 6;
};

// The pages of a sequence are scattered over the store, and pages of no sequence are NaN.
template <class T>
struct Paged {
  using S = std::conditional_t<sizeof(T) == 8, double, float>;
  PagedShape shape;
  std::int64_t sequences, pages;
  std::vector<double> q_values, k_values, v_values;
  std::vector<std::int32_t> table, lengths;
  Buffer<T> q, k, v, out;
  Buffer<S> row_sums;

  explicit Paged(const PagedShape &s)
      : shape(s),
        sequences(static_cast<std::int64_t>(s.lengths.size())),
        pages(sequences * s.most_pages + 3),
        q_values(numbers(sequences * s.heads * s.rows * s.size, 1)),
        k_values(static_cast<std::size_t>(pages * s.key_heads * s.page_rows * s.size), not_written),
        v_values(k_values) {
    const std::vector<double> some = numbers(static_cast<std::int64_t>(k_values.size()) * 2, 2);
    for (std::int64_t b = 0; b < sequences; ++b) {
      const std::int64_t length = s.lengths[static_cast<std::size_t>(b)];
      lengths.push_back(static_cast<std::int32_t>(length));
      for (std::int64_t p = 0; p < s.most_pages; ++p) {
        const bool used = p * s.page_rows < length;
        table.push_back(used ? static_cast<std::int32_t>((b * s.most_pages + p) * 5 % pages) : -1);
      }
      for (std::int64_t j = 0; j < length; ++j)
        for (std::int64_t h = 0; h < s.key_heads; ++h)
          for (std::int64_t d = 0; d < s.size; ++d) {
            const std::size_t at = place(b, h, j, d);
            k_values[at] = some[2 * at], v_values[at] = some[2 * at + 1];
          }
    }
    q = buffer<T>({sequences, s.heads, s.rows, s.size}, q_values);
    k = buffer<T>({pages, s.key_heads, s.page_rows, s.size}, k_values);
    v = buffer<T>({pages, s.key_heads, s.page_rows, s.size}, v_values);
    out = poisoned<T>(q.extents());
    row_sums = poisoned<S>({sequences, s.heads, s.rows});
  }

  std::size_t place(std::int64_t b, std::int64_t h, std::int64_t j, std::int64_t d) const {
    const std::int64_t page = table[static_cast<std::size_t>(b * shape.most_pages + j / shape.page_rows)];
    return static_cast<std::size_t>(
        ((page * shape.key_heads + h) * shape.page_rows + j % shape.page_rows) * shape.size + d);
  }
  void run(const ops::PagedAttentionOptions &options) const {
    const Buffer<std::int32_t> pages_of(device(), {sequences, shape.most_pages}, table),
        many(device(), {sequences}, lengths);
    ops::paged_attention(q, k, v, pages_of, many, out, row_sums, options);
  }
  void check(std::int64_t before, double tolerance) const {
    std::vector<double> expected, sums;
    for (std::int64_t b = 0; b < sequences; ++b) {
      const std::int64_t length = lengths[static_cast<std::size_t>(b)];
      std::vector<double> keys, values;
      for (std::int64_t h = 0; h < shape.key_heads; ++h)
        for (std::int64_t j = 0; j < length; ++j)
          for (std::int64_t d = 0; d < shape.size; ++d)
            keys.push_back(k_values[place(b, h, j, d)]), values.push_back(v_values[place(b, h, j, d)]);
      const std::int64_t each = shape.heads * shape.rows * shape.size;
      const std::vector<double> own(q_values.begin() + b * each, q_values.begin() + (b + 1) * each);
      const AttentionInDouble one({1, shape.heads, shape.key_heads, shape.rows, length, shape.size}, 0.3,
                                  {.before = before, .behind = 0, .from_the_end = true}, own, keys, values, own);
      expected.insert(expected.end(), one.out.begin(), one.out.end());
      sums.insert(sums.end(), one.row_sums.begin(), one.row_sums.end());
    }
    expect_near(out, expected, tolerance);
    expect_near(row_sums, sums, tolerance);
  }
};

template <class T>
void check_paged(const PagedShape &shape, double tolerance, std::optional<std::int64_t> window = {}) {
  const Paged<T> paged(shape);
  for (const int parts : {1, 3}) {
    SCOPED_TRACE(parts);
    paged.run({.scale = 0.3, .window = window, .parts = parts});
    paged.check(window.value_or(1 << 30) - (window ? 1 : 0), tolerance);
  }
}

TEST(PagedAttention, OfOneNewRowOfEachSequence) {
  check_paged<double>({.lengths = {1, 24, 13, 4}}, 1e-12);
  check_paged<double>({.lengths = {70}, .heads = 3, .key_heads = 3, .size = 5, .page_rows = 80, .most_pages = 1},
                      1e-12);
}

// One sequence is empty, and one shorter than its rows of q.
TEST(PagedAttention, OfSeveralNewRows) { check_paged<double>({.lengths = {3, 0, 2, 20}, .rows = 3}, 1e-12); }

TEST(PagedAttention, InAWindow) { check_paged<double>({.lengths = {24, 5, 1}, .rows = 2}, 1e-12, 6); }

TEST(PagedAttention, OtherTypes) {
  const PagedShape shape{.lengths = {33, 17}, .size = 16, .page_rows = 16, .most_pages = 3};
  check_paged<float>(shape, 1e-5);
  check_paged<half>(shape, 4e-3);
  check_paged<bfloat16>(shape, 4e-2);
}

// A length beyond the table counts as the table's rows.
TEST(PagedAttention, LengthsEndWithTheTable) {
  Paged<double> paged({.lengths = {24}});
  paged.lengths[0] = 1000;
  paged.run({.scale = 0.3});
  paged.lengths[0] = 24;
  paged.check(1 << 30, 1e-12);
}

TEST(PagedAttention, NamesWhatDoesNotFit) {
  const Paged<float> paged({.lengths = {4, 5}});
  const Buffer<std::int32_t> table(device(), {2, 6}), lengths(device(), {2}), short_table(device(), {1, 6});
  const auto run = [&](const AnyBuffer &q, const AnyBuffer &k, const AnyBuffer &of_pages, const AnyBuffer &many,
                       const ops::PagedAttentionOptions &options = {}) {
    return message_of<UserError>(
        [&] { ops::paged_attention(q, k, paged.v, of_pages, many, paged.out, paged.row_sums, options); });
  };
  EXPECT_THAT(run(lengths, paged.k, table, lengths), HasSubstr("expected q of (sequences, heads, rows, size)"));
  EXPECT_THAT(run(paged.q, paged.k, lengths, lengths), HasSubstr("expected a page_table of (sequences, pages"));
  EXPECT_THAT(run(paged.q, paged.k, short_table, lengths),
              HasSubstr("expected a page_table of int32_t with extents (2, 6)"));
  EXPECT_THAT(run(paged.q, paged.k, table, short_table), HasSubstr("expected lengths of int32_t with extents (2)"));
  EXPECT_THAT(run(paged.q, paged.k, table, lengths, {.window = 0}), HasSubstr("expected a window of at least one row"));
  EXPECT_THAT(run(paged.q, paged.k, table, lengths, {.parts = 0}), HasSubstr("expected at least one part"));
  const Buffer<float> many_rows(device(), {2, 4, 40, 8}), of_many(device(), {2, 4, 40});
  EXPECT_THAT(
      message_of<UserError>(
          [&] { ops::paged_attention(many_rows, paged.k, paged.v, table, lengths, many_rows.clone(), of_many); }),
      HasSubstr("expected up to 64 rows of q for each head of the pages, of all heads that share it; 80 given"));
  const Buffer<float> tracked(device(), paged.q.extents(), Gradient::tracked);
  Tape tape;
  EXPECT_THAT(message_of<UserError>([&] {
                tape.record([&] {
                  ops::paged_attention(tracked, paged.k, paged.v, table, lengths, paged.out, paged.row_sums);
                });
              }),
              HasSubstr("there is no gradient of attention to pages"));
}

}  // namespace
}  // namespace samite::test
