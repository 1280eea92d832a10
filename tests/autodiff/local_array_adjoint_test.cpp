// Gradients through local arrays, compared with finite differences.
#include "tests/autodiff/differentiate.h"
#include "tests/runtime/message_of.h"

#include <gtest/gtest.h>

namespace samite::test {
namespace {

using testing::HasSubstr;

template <class F>
double error_of(const F &function, std::int64_t n = 6, unsigned seed = 1) {
  Kernel kernel{"local", function};
  return gradient_error(kernel, n, random_values(static_cast<std::size_t>(n), -1, 1, seed),
                        static_cast<std::size_t>(n));
}

using Out = Array<double, 1>;
using In = Array<const double, 1>;

TEST(LocalArrayAdjoint, OfElementsStoredAndLoaded) {
  EXPECT_LT(error_of([](Out out, In in) {
              Int i = thread_index();
              LocalArray<double, 3> a;
              a(0) = in(i);
              a(1) = a(0) * a(0);
              a(i % 3) = sin(a(1)) * a(0);
              out(i) = a(0) + 2 * a(1) * a(2) + a((i + 1) % 3);
            }),
            1e-7);
}

TEST(LocalArrayAdjoint, OfAnArrayFilledInOneLoopAndReadInAnother) {
  auto function = [](Out out, In in) {
    Int i = thread_index();
    LocalArray<double, 8> a;
    for (Int k : range(6)) a(k) = in(k)*in(i);
    Double sum = 0;
    for (Int k : range(5)) sum += a(k) * a(k + 1);
    out(i) = sum;
  };
  EXPECT_LT(error_of(function), 1e-7);
  auto adjoint = adjoint_of<Out, In>({"out", "in"}, function, {true, true});
  EXPECT_EQ(count(to_string(adjoint.kernel), "local $"), 2) << "the array and its gradients";
}

TEST(LocalArrayAdjoint, OfARecurrence) {
  EXPECT_LT(error_of([](Out out, In in) {
              Int i = thread_index();
              LocalArray<double, 8> a;
              a(0) = in(i);
              for (Int k : range(1, 7)) a(k) = sin(a(k - 1)) * in(k % 6) + a(k - 1) * a((k + 5) % 7);
              out(i) = a(6) * a(3);
            }),
            1e-7);
}

TEST(LocalArrayAdjoint, OfElementsOverwrittenInALoop) {
  EXPECT_LT(error_of([](Out out, In in) {
              Int i = thread_index();
              LocalArray<double, 2> a{in(i), 0.5};
              for (Int k : range(i + 2)) {
                a(k % 2) = a(0) * a(1) + in(k % 6);
                a(0) *= a(1);
              }
              out(i) = a(0) + a(1) * a(1);
            }),
            1e-7);
}

// More elements than the loops write, so that writes are logged one by one.
TEST(LocalArrayAdjoint, OfStatesAdvancedInNestedLoops) {
  EXPECT_LT(error_of([](Out out, In in) {
              Int i = thread_index();
              LocalArray<double, 40> chain;
              for (Int k : range(6)) chain(k) = in(k);
              for (Int step : range(3)) {
                chain(0) = in(i) * 0.5;
                for (Int k : range(1, 5 + step % 2))
                  chain(k) = chain(k) + 0.1 * (chain(k - 1) * chain(k + 1) - chain(k) * chain(k));
              }
              Double sum = 0;
              for (Int k : range(6)) sum += chain(k) * chain(k);
              out(i) = sum;
            }),
            1e-7);
}

TEST(LocalArrayAdjoint, OfStoresUnderConditions) {
  EXPECT_LT(error_of([](Out out, In in) {
              Int i = thread_index();
              LocalArray<double, 30> a;
              for (Int k : range(6)) a(k) = in(k);
              for (Int k : range(5)) {
                if_((k + i) % 2 == 0,
                    [&] {
                      a(k) = a(k) * a(k + 1);
                      if_(k == 2, [&] { a(k + 1) = sin(a(k)) * a(i); });
                    },
                    [&] { a(k + 1) *= a(k) + 2; });
              }
              if_(
                  i > 2, [&] { a(0) = a(1) * a(2); },
                  [&] {
                    for (Int k : range(4)) a(0) = a(0) * a(k + 1) + a(k);
                  });
              out(i) = a(0) * a(1) + a(3) * a(4) + a(5);
            }),
            1e-7);
}

TEST(LocalArrayAdjoint, OfAWhileLoopThatAdvancesAnArray) {
  EXPECT_LT(error_of([](Out out, In in) {
              Int i = thread_index(), left = i % 4 + 1;
              LocalArray<double, 20> a;
              a(0) = in(i), a(1) = in((i + 1) % 6);
              while_([&] { return left > 0; },
                     [&] {
                       a(left) = a(0) * a(1) + a(left - 1);
                       a(0) = cos(a(left)) * a(1);
                       left -= 1;
                     });
              out(i) = a(0) * a(1) + a(2);
            }),
            1e-7);
}

TEST(LocalArrayAdjoint, OfACopyAndOfAnArrayDeclaredInALoop) {
  EXPECT_LT(error_of([](Out out, In in) {
              Int i = thread_index();
              LocalArray<double, 4> a{in(i), in(0), 1, 2};
              Double sum = 0;
              for (Int k : range(3)) {
                LocalArray<double, 4> b = a;
                b(k) *= b(k + 1);
                for (Int j : range(3)) b(j + 1) += 0.5 * b(j) * b(j);
                sum += b(3) * b(k);
                a(k) = b(k + 1);
              }
              out(i) = sum * a(0);
            }),
            1e-7);
}

TEST(LocalArrayAdjoint, OfAnIndexThatIsItselfInALocalArray) {
  EXPECT_LT(error_of([](Out out, In in) {
              Int i = thread_index();
              LocalArray<std::int32_t, 12> next;
              LocalArray<double, 12> a;
              for (Int k : range(6)) {
                next(k) = (k * 5 + i) % 6;
                a(k) = in(k);
              }
              Int at = i;
              Double product = 1;
              for (Int k : range(4)) {
                at = next(at);
                next(at) = (at + k) % 6;
                product *= a(at);
                a(at) = product + a((at + 1) % 6);
              }
              out(i) = product * a(2);
            }),
            1e-7);
}

TEST(LocalArrayAdjoint, KeepsNoMoreThanWhatSmallArraysHold) {
  auto adjoint = adjoint_of<Out, In>({"out", "in"},
                                     [](Out out, In in) {
                                       Int i = thread_index();
                                       LocalArray<double, 64> a;
                                       for (Int k : range(64)) a(k) = in(k);
                                       for (Int k : range(63)) a(k + 1) += 3 * a(k);
                                       out(i) = a(63);
                                     },
                                     {true, true});
  // Linear: nothing of the array's elements is needed.
  EXPECT_EQ(count(to_string(adjoint.kernel), "local $"), 1) << "the gradients";
}

TEST(LocalArrayAdjointRefuses, AConditionThatWrites) {
  int line = 0;
  std::string message = message_of<UserError>([&] {
    adjoint_of<Out, In>({"out", "in"},
                        [&](Out out, In in) {
                          Int i = thread_index();
                          LocalArray<double, 2> a{in(i), 1};
                          while_(
                              [&] {
                                line = __LINE__ + 1;
                                a(0) = a(0) * 0.5;
                                return a(0) > 0.1;
                              },
                              [&] { a(1) += a(0); });
                          out(i) = a(1);
                        },
                        {true, true});
  });
  EXPECT_THAT(message, HasSubstr("local_array_adjoint_test.cpp:" + std::to_string(line)));
  EXPECT_THAT(message, HasSubstr("the condition of a while_"));
  EXPECT_THAT(message, HasSubstr("writing in the loop's body"));
}

}  // namespace
}  // namespace samite::test
