// Ranges near both ends of their types as CUDA's kernels, run on the host: against exact arithmetic.
#include "samite/jit/definition.h"
#include "tests/codegen/cuda_on_host.h"
#include "tests/codegen/range_ends.h"

#include <gtest/gtest.h>

namespace samite::test {
namespace {

using R = RangeEnds;

template <class T>
class CudaRangeEnds : public testing::Test {};
using Types = testing::Types<std::int32_t, std::int64_t>;
TYPED_TEST_SUITE(CudaRangeEnds, Types);

template <class T, class K>
void expect_exact(const K &kernel, const std::vector<std::vector<T>> &cases, long long instances) {
  const CudaOnHost forward(kernel.definition()->forward());
  const CudaOnHost adjoint(kernel.definition()->adjoint(0b11, false).kernel);
  for (const std::vector<T> &bounds : cases) {
    const auto rows = static_cast<long long>(bounds.size()) / 2 / R::step_count,
               columns = static_cast<long long>(R::step_count);
    const auto elements = static_cast<std::size_t>(instances * columns);
    std::vector<double> gradient, out(3 * elements), x(elements, 1.25), seed(3 * elements), found(elements);
    const std::vector<double> expected = R::expected(bounds, 0, 1.25, gradient);
    for (std::size_t i = 2; i < seed.size(); i += 3) seed[i] = 1;
    const std::vector<Argument> arguments{array(out, {instances, columns, 3}), array(x, {instances, columns}),
                                          array(bounds, {rows, columns, 2})};
    forward.run({instances}, arguments);
    std::vector<Argument> with_gradients = arguments;
    with_gradients.push_back(array(seed, {instances, columns, 3}));
    with_gradients.push_back(array(found, {instances, columns}));
    adjoint.run({instances}, with_gradients);
    for (std::size_t i = 0; i < elements; ++i) {
      const std::size_t at = i % gradient.size();
      const auto where = [&] {
        return ::testing::Message() << "range(" << bounds[2 * at] << ", " << bounds[2 * at + 1] << ", "
                                    << R::steps[at % R::step_count] << ")";
      };
      ASSERT_EQ(out[3 * i], expected[3 * at]) << where();
      ASSERT_EQ(out[3 * i + 1], expected[3 * at + 1]) << where();
      ASSERT_NEAR(out[3 * i + 2], expected[3 * at + 2], 1e-9 * (1 + std::abs(expected[3 * at + 2]))) << where();
      ASSERT_NEAR(found[i], gradient[at], 1e-9 * (1 + std::abs(gradient[at]))) << where();
    }
  }
}

TYPED_TEST(CudaRangeEnds, ThreadsWithRangesOfTheirOwn) {
  constexpr int threads = 40;
  std::vector<std::vector<TypeParam>> cases;
  for (unsigned seed = 0; seed < 8; ++seed) cases.push_back(R::bounds<TypeParam>(threads, seed));
  expect_exact(R::of_instances<TypeParam>(), cases, threads);
}

TYPED_TEST(CudaRangeEnds, ThreadsWithTheSameRanges) {
  std::vector<std::vector<TypeParam>> cases;
  for (unsigned seed = 0; seed < 30; ++seed) cases.push_back(R::bounds<TypeParam>(1, seed));
  expect_exact(R::of_launch<TypeParam>(), cases, 33);
}

}  // namespace
}  // namespace samite::test
