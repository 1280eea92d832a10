// Products of groups of terms, against sums in double of each group.
#include "samite/ops/grouped_terms.h"
#include "tests/tiles/reference.h"

#include <gmock/gmock.h>

namespace samite::test {
namespace {

using testing::HasSubstr;
using Offsets = std::vector<std::int32_t>;

ops::PlannedLaunch planned(ScalarType factor, ScalarType result, tile::Transposes transposed,
                           const ops::GroupedTermsShape &shape) {
  return ops::grouped_terms_launch({factor, result, transposed, tile::Precision::full, true}, shape,
                                   ops::plan_device(device()));
}

// Terms in no group, and in other groups, are NaN, and must not reach a sum.
template <class T, class C>
void check_groups_of_terms(const Offsets &offsets, std::int64_t terms, tile::Transposes transposed = {}) {
  SCOPED_TRACE(testing::PrintToString(offsets));
  const std::int64_t rows = 70, columns = 33, groups = static_cast<std::int64_t>(offsets.size()) - 1;
  Matrix a(rows, terms, 1), b(terms, columns, 2);
  const Matrix expected(groups * rows, columns, [&](std::int64_t i, std::int64_t j) {
    const auto group = static_cast<std::size_t>(i / rows);
    double sum = 0;
    for (std::int64_t k = offsets[group]; k < offsets[group + 1]; ++k) sum += a(i % rows, k) * b(k, j);
    return sum;
  });
  const auto in_no_group = [&](std::int64_t k) { return k < offsets.front() || k >= offsets.back(); };
  const double none = std::numeric_limits<double>::quiet_NaN();
  const auto given = [&](const Matrix &x, bool terms_in_rows) {
    return Matrix(x.rows, x.columns,
                  [&](std::int64_t i, std::int64_t j) { return in_no_group(terms_in_rows ? i : j) ? none : x(i, j); });
  };
  auto left = buffer<T>(a.extents(), given(a, false).values), right = buffer<T>(b.extents(), given(b, true).values);
  if (transposed.a) left = left.transpose().clone();
  if (transposed.b) right = right.transpose().clone();
  const Buffer<std::int32_t> bounds(device(), {groups + 1}, offsets);
  const auto c = poisoned<C>({groups, rows, columns});
  ops::detail::launch_planned(planned(scalar_type_of<T>, scalar_type_of<C>, transposed, {groups, rows, columns, terms}),
                              {{&left}, {&right}, {&bounds}, {&c}}, {});
  expect_near(c, expected.values, sizeof(C) == 2 ? 0.02 * double(terms) : 1e-5 * double(terms + 1));
}

TEST(GroupedTerms, GroupsOfAnyWidth) {
  check_groups_of_terms<float, float>({0, 0, 1, 130, 131, 259}, 259);
  check_groups_of_terms<double, double>({3, 64, 128}, 140);
  check_groups_of_terms<double, double>({0, 0}, 5);
  check_groups_of_terms<float, float>({0, 0, 0}, 0);
}

TEST(GroupedTerms, TypesAndTransposed) {
  for (const tile::Transposes transposed : {tile::Transposes{}, {true, false}, {false, true}, {true, true}}) {
    check_groups_of_terms<half, half>({0, 40, 205}, 210, transposed);
    check_groups_of_terms<bfloat16, float>({1, 129, 257, 300}, 310, transposed);
    check_groups_of_terms<double, double>({0, 65, 66}, 66, transposed);
  }
}

TEST(GroupedTerms, NamesWhatDoesNotFit) {
  const auto left = buffer<double>({2, 4}, numbers(8, 1)), right = buffer<double>({4, 3}, numbers(12, 2));
  const Buffer<std::int32_t> bounds(device(), {3}, Offsets{0, 3, 2});
  const auto c = poisoned<double>({2, 2, 3});
  EXPECT_THAT(message_of<UserError>([&] {
                ops::detail::launch_planned(planned(ScalarType::Float64, ScalarType::Float64, {}, {2, 2, 3, 4}),
                                            {{&left}, {&right}, {&bounds}, {&c}}, {});
                Stream::standard(device()).synchronize();
              }),
              HasSubstr("group 1 is of the rows from 3 to before 2 of 4"));
  EXPECT_THAT(message_of<UserError>([] { planned(ScalarType::Int8, ScalarType::Int32, {}, {1, 2, 2, 2}); }),
              HasSubstr("factors of int8_t with results of int32_t given"));
}

}  // namespace
}  // namespace samite::test
