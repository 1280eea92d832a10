// The lowered form of kernels computes the same as the structured form, in any order of a block's threads, as long as
// they have their barriers.
#include "tests/passes/lowered_interpreter.h"

#include "samite/ir/parse.h"
#include "samite/ir/print.h"
#include "samite/ir/verify.h"
#include "samite/jit/pipeline.h"
#include "samite/passes/analysis/unsynchronised.h"
#include "samite/passes/threads/lower_threads.h"
#include "samite/passes/tiles/lower_tiles.h"
#include "tests/passes/tile_interpreter.h"
#include "tests/passes/without_wait.h"

#include <gmock/gmock.h>

namespace samite::test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Arrays = std::vector<tiles::TileArray>;

// Each block has a part of the arrays of its own.
const std::string parameters =
    "(@x: array<f32, 2>, @y: array<f32, 2>, @h: array<const f16, 2>, @i: array<i32, 2>, @z: array<f64, 3>, @n: i32)";

ir::Kernel structured(const std::string &body, int threads = 64) {
  ir::Kernel kernel = ir::parse_kernel("kernel @k" + parameters + " blocks 1 of " + std::to_string(threads) +
                                       " { %0: i32 = thread_index 0 " + body + " }");
  ir::verify(kernel, ir::Form::structured, "the test");
  return kernel;
}
ir::Kernel planned_alone(const ir::Kernel &kernel) {
  const passes::Architecture &gpu = passes::gpu_architecture(90);
  ir::Kernel plan = jit::plan(passes::lower_threads(passes::lower_tiles(kernel, gpu)), {gpu, apart});
  ir::verify(plan, ir::Form::lowered, "plan");
  return plan;
}

tiles::TileArray array(ScalarType type, const std::vector<std::int64_t> &extents) {
  tiles::TileArray made{type, extents, {}};
  std::int64_t count = 1;
  for (const std::int64_t extent : extents) count *= extent;
  for (std::int64_t k = 0; k < count; ++k) {
    const std::int64_t number = (k * 37 + 11) % 101;
    made.elements.push_back(is_floating(type) ? tiles::Element{static_cast<double>(number) / 64 - 0.75, 0, 0}
                                              : tiles::Element{0, 0, number});
  }
  return made;
}
Arrays arguments() {
  Arrays all{array(ScalarType::Float32, {80, 96}), array(ScalarType::Float32, {80, 96}),
             array(ScalarType::Float16, {64, 96}), array(ScalarType::Int32, {24, 96}),
             array(ScalarType::Float64, {2, 32, 64})};
  all.push_back({ScalarType::Int32, {}, {{0, 0, 3}}});
  return all;
}

std::string difference_of_arrays(const Arrays &got, const Arrays &expected) {
  for (std::size_t a = 0; a < got.size(); ++a)
    for (std::size_t k = 0; k < got[a].elements.size(); ++k) {
      const tiles::Element is = got[a].elements[k], should = expected[a].elements[k];
      if (is.integer != should.integer ||
          !(std::fabs(is.value - should.value) <= 1e-12 * (1 + std::fabs(should.value))))
        return "parameter " + std::to_string(a) + ", element " + std::to_string(k) + ": " + std::to_string(is.value) +
               " or " + std::to_string(is.integer) + ", expected " + std::to_string(should.value) + " or " +
               std::to_string(should.integer);
    }
  return "";
}

const ThreadOrder orders[] = {{ThreadOrder::Kind::FirstToLast},
                              {ThreadOrder::Kind::LastToFirst},
                              {ThreadOrder::Kind::Alternating},
                              {ThreadOrder::Kind::Random, 1},
                              {ThreadOrder::Kind::Random, 2}};

// The error in one of the orders; empty if there is none.
std::string wrong(const ir::Kernel &plan, const Arrays &expected) {
  for (const ThreadOrder &order : orders) {
    try {
      const std::string text = difference_of_arrays(run_lowered(plan, {2}, arguments(), order).arguments, expected);
      if (!text.empty()) return text;
    } catch (const std::runtime_error &error) {
      return error.what();
    }
  }
  return "";
}

struct Case {
  const char *name;
  std::string body;
  int threads = 64;
  int taken_for_needed = 0;  // the waits that `unsynchronised` takes for needed, and which are not
};
void PrintTo(const Case &each, std::ostream *out) { *out << each.name; }

const std::string square =
    "%1: tile<f64, 12, 12> = load @z[%0, 0, 0] "
    "%2: tile<f64, 12, 12> = transpose(1, 0) %1 "
    "%3: tile<i32, 12, 12> = coordinate 0 %4: tile<i32, 12, 12> = coordinate 1 "
    "%5: tile<bool, 12, 12> = eq %3, %4 %6: tile<f64, 12, 12> = cast %5 "
    "%7: tile<f64, 12, 12> = matmul %1, %2, %6 %8: tile<f64, 12, 12> = cholesky %7 ";
const std::string at = "%20: i32 = mul %0, 16 ";

const Case cases[] = {
    {"loops", at + "%1: tile<f32, 8, 24> = load @x[%20, 1] %2: tile<f32, 24, 8> = transpose(1, 0) %1 "
                   "%3: tile<f32, 24, 8> = mul %2, %2 %4: tile<f32, 8, 24> = transpose(1, 0) %3 "
                   "store @y[%20, 0] = %4"},
    {"window", at + "%1: tile<f32, 10, 10> = load @x[%20, 0] %2: tile<f32, 10, 10> = exp %1 "
                    "%3: tile<f32, 4, 6> = window %2, 3, 2 store @y[%20, 0] = %3"},
    {"reduce to rows", at + "%1: tile<f32, 12, 40> = load @x[%20, 0] %2: tile<f32, 12, 40> = mul %1, %1 "
                            "%3: tile<f32, 12, 1> = reduce_add %2 %4: tile<f32, 12, 40> = broadcast %3 "
                            "%5: tile<f32, 12, 40> = add %1, %4 store @y[%20, 0] = %5"},
    {"reduce a product to rows",
     at + "%1: tile<f32, 8, 8> = load @x[%20, 0] %2: tile<f32, 8, 8> = load @x[0, %20] "
          "%3: tile<f32, 8, 8> = matmul %1, %2, 0.5:tile<f32, 8, 8> %4: tile<f32, 8, 1> = reduce_max %3 "
          "%5: tile<f32, 8, 16> = broadcast %4 store @y[%20, 0] = %5",
     32},
    {"reduce a product to columns",
     at + "%1: tile<f32, 8, 8> = load @x[%20, 0] %2: tile<f32, 8, 8> = load @x[0, %20] "
          "%3: tile<f32, 8, 8> = matmul %1, %2, 0.5:tile<f32, 8, 8> %4: tile<f32, 1, 8> = reduce_max %3 "
          "%5: tile<f32, 16, 8> = broadcast %4 store @y[%20, 0] = %5",
     32},
    {"reduce all", at + "%1: tile<f32, 12, 40> = load @x[%20, 0] %2: tile<f32, 12, 40> = mul %1, %1 "
                        "%3: f32 = reduce_max %2 %4: tile<f32, 4, 4> = broadcast %3 store @y[%20, 0] = %4"},
    {"reduce with scratch",
     at + "%1: tile<f32, 16, 80> = load @x[%20, 0] %2: tile<f32, 80, 16> = transpose(1, 0) %1 "
          "%3: f32 = reduce_add %2 store @y[%20, 0] = %3",
     128},
    {"position", at + "%1: tile<f32, 12, 40> = load @x[%20, 0] %2: tile<i32, 1, 40> = reduce_argmax %1 "
                      "store @i[%0, 0] = %2"},
    {"spread rows", at + "%1: tile<f32, 16, 96> = load @x[%20, 0] %2: tile<f32, 16, 1> = reduce_add %1 "
                         "%3: tile<f32, 16, 96> = broadcast %2 %4: tile<f32, 16, 96> = mul %1, %3 "
                         "store @y[%20, 0] = %4"},
    {"spread over one row",
     "%1: tile<f32, 1, 96> = load @x[%0, 0] %2: f32 = reduce_add %1 "
     "%3: tile<f32, 1, 96> = mul %1, %1 %4: tile<f32, 1, 96> = broadcast %2 "
     "%5: tile<f32, 1, 96> = add %3, %4 store @y[%0, 0] = %5",
     32},
    {"a value of each thread in a loop",
     at + "for %1: i32 in 0 .. @n step 1 carry (%9 -> %10: f32 = 0.0 then %11) { %21: i32 = add %20, %1 "
          "%2: tile<f32, 4, 64> = load @x[%21, %1] %3: f32 = reduce_add %2 %4: tile<f32, 4, 64> = broadcast %3 "
          "%5: tile<f32, 4, 64> = sub %2, %4 %6: tile<f32, 4, 64> = mul %5, %5 %11: f32 = add %9, %3 "
          "store @y[%20, 0] = %6 } %22: tile<f32, 1, 96> = broadcast %10 store @y[%20, 0] = %22"},
    {"a value of each thread in a loop that stores nothing",
     at + "for %1: i32 in 0 .. @n step 1 carry (%9 -> %10: f32 = 0.0 then %11) { %21: i32 = add %20, %1 "
          "%2: tile<f32, 4, 64> = load @x[%21, %1] %3: f32 = reduce_add %2 %11: f32 = add %9, %3 } "
          "%22: tile<f32, 1, 96> = broadcast %10 store @y[%20, 0] = %22"},
    {"a value of each thread before memory of others",
     at + "%1: tile<f32, 4, 64> = load @x[%20, 0] %2: f32 = reduce_add %1 %3: tile<f32, 8, 24> = broadcast %2 "
          "%30: tile<i32, 8, 24> = coordinate 1 %4: tile<f32, 8, 24> = cast %30 %5: tile<f32, 8, 24> = add %3, %4 "
          "%6: tile<f32, 24, 8> = transpose(1, 0) %5 store @y[%20, 0] = %6"},
    {"a value of each thread in a branch",
     at + "%1: tile<f32, 4, 64> = load @x[%20, 0] %2: bool = eq %0, 0 "
          "if %2 -> (%3: f32 = %4 | 0.5) { %4: f32 = reduce_min %1 } else {} "
          "%5: tile<f32, 4, 64> = broadcast %3 %6: tile<f32, 4, 64> = mul %1, %5 %7: f32 = reduce_add %6 "
          "%8: tile<f32, 8, 24> = broadcast %7 %9: tile<f32, 24, 8> = transpose(1, 0) %8 store @y[%20, 0] = %9",
     128},
    {"what each thread makes of a value",
     at + "%1: tile<f32, 4, 64> = load @x[%20, 0] %2: tile<f32, 1, 1> = reduce_add %1 "
          "%3: tile<f32, 1, 1> = mul %2, 0.25:tile<f32, 1, 1> %4: tile<f32, 4, 64> = broadcast %3 "
          "%5: tile<f32, 4, 64> = sub %1, %4 %6: tile<f32, 4, 64> = mul %5, %5 %7: tile<f32, 1, 1> = reduce_add %6 "
          "%8: tile<f32, 1, 1> = mul %7, %3 for %21: i32 in 0 .. @n step 1 "
          "carry (%9 -> %10: tile<f32, 1, 1> = %8 then %11) { %12: tile<f32, 4, 64> = load @x[%21, 0] "
          "%13: tile<f32, 1, 1> = reduce_max %12 %11: tile<f32, 1, 1> = add %9, %13 } "
          "%14: tile<f32, 8, 24> = broadcast %10 %15: tile<f32, 24, 8> = transpose(1, 0) %14 "
          "store @y[%20, 0] = %15",
     128},
    {"scan along rows", at + "%1: tile<f32, 4, 90> = load @x[%20, 0] %2: tile<f32, 4, 90> = scan_add 1, %1 "
                             "store @y[%20, 0] = %2"},
    {"scan by several warps",
     "%1: tile<f32, 1, 90> = load @x[%0, 0] %2: tile<f32, 1, 90> = scan_add exclusive 1, %1 "
     "store @y[%0, 0] = %2",
     128},
    {"scan along columns", at + "%1: tile<f32, 8, 64> = load @x[%20, 0] "
                                "%2: tile<f32, 8, 64> = scan_max backwards 0, %1 store @y[%20, 0] = %2"},
    {"linear scan", at + "%1: tile<f32, 4, 40> = load @x[%20, 0] %2: tile<f32, 4, 40> = load @x[%20, 9] "
                         "%3: tile<f32, 4, 40> = scan_linear 1, %1, %2 store @y[%20, 0] = %3"},
    {"product in registers", at + "%1: tile<f32, 16, 24> = load @x[%20, 0] %2: tile<f32, 24, 32> = load @x[0, %20] "
                                  "%3: tile<f32, 16, 32> = matmul %1, %2, 0.5:tile<f32, 16, 32> "
                                  "%4: tile<f32, 16, 32> = mul %3, %3 store @y[%20, 0] = %4"},
    {"product of f16", at + "%1: tile<f16, 16, 24> = load @h[%20, 0] %2: tile<f16, 24, 32> = load @h[0, %20] "
                            "%3: tile<f32, 16, 32> = matmul %1, %2, 0.5:tile<f32, 16, 32> "
                            "%4: f32 = reduce_max %3 %5: tile<f32, 16, 32> = broadcast %4 "
                            "%6: tile<f32, 16, 32> = add %3, %5 store @y[%20, 0] = %6"},
    {"products in batches",
     "%1: tile<f64, 1, 12, 8> = load @z[%0, 0, 0] %2: tile<f64, 3, 4, 8> = reshape %1 "
     "%3: tile<f64, 3, 8, 4> = transpose(0, 2, 1) %2 "
     "%4: tile<f64, 3, 4, 4> = matmul %2, %3, 0.0:tile<f64, 3, 4, 4> "
     "%5: tile<f64, 12, 4> = reshape %4 store @z[%0, 20, 3] = %5"},
    {"a batch of one product",
     "%1: tile<f64, 8, 16> = load @z[%0, 0, 0] %2: tile<f64, 1, 8, 16> = reshape %1 "
     "%3: tile<f64, 1, 8, 8> = matmul %2, transposed %2, 0.0:tile<f64, 1, 8, 8> "
     "%4: tile<f64, 8, 8> = reshape %3 store @z[%0, 20, 3] = %4"},
    {"cholesky", square + "store @z[%0, 3, 7] = %8"},
    {"solve", square + "%9: tile<f64, 12, 5> = load @z[%0, 3, 20] "
                       "%10: tile<f64, 12, 5> = triangular_solve %8, %9 store @z[%0, 3, 7] = %10"},
    {"solve for many",
     square + "%9: tile<f64, 12, 40> = load @z[%0, 3, 20] "
              "%10: tile<f64, 12, 40> = triangular_solve transposed %8, %9 "
              "store @z[%0, 3, 7] = %10",
     32},
    {"sort and take", at + "%1: tile<f32, 4, 21> = load @x[%20, 0] %2: tile<i32, 4, 21> = sort_order %1 "
                           "%3: tile<f32, 4, 21> = take %1, %2 store @y[%20, 0] = %3"},
    {"put", at + "%1: tile<f32, 4, 21> = load @x[%20, 0] %2: tile<i32, 4, 21> = load @i[0, %20] "
                 "%3: tile<f32, 4, 64> = put_add %1, %2 store @y[%20, 0] = %3"},
    {"fourier",
     "%1: tile<f64, 4, 24> = load @z[%0, 0, 0] %2: tile<f64, 4, 12, 2> = reshape %1 "
     "%3: tile<f64, 4, 12, 2> = fourier %2 %4: tile<f64, 4, 24> = reshape %3 store @z[%0, 0, 0] = %4"},
    {"in place", at + "%1: tile<f32, 8, 24> = load @x[%20, 1] %2: tile<f32, 8, 24> = add %1, %1 "
                      "store @x[%20, 1] = %2 %3: tile<f32, 8, 24> = load @x[%20, 3] store @y[%20, 0] = %3"},
    {"one element that is overwritten", at + "%1: f32 = load @x[%20, 7] %2: tile<f32, 4, 24> = broadcast %1 "
                                             "%3: tile<f32, 4, 24> = mul %2, %2 store @x[%20, 0] = %3"},
    {"one thread for all", at + "store @x[%20, 0] = 2.5 %1: f32 = load @x[%20, 0] accumulate @x[%20, 0] += %1 "
                                "%2: f32 = exchange @x[%20, 0] %3: f32 = add %1, %2 "
                                "%4: tile<f32, 1, 96> = broadcast %3 store @y[%20, 0] = %4"},
    {"tiles that a loop keeps",
     at + "local $0: tile<f32, 8, 8>[@n] for %1: i32 in 0 .. @n step 1 { "
          "%2: tile<f32, 8, 8> = load @x[%20, %1] %3: tile<f32, 8, 8> = mul %2, %2 "
          "local_store $0[%1] = %3 } for %4: i32 in 0 .. @n step 1 { "
          "%5: tile<f32, 8, 8> = local_load $0[%4] "
          "%6: tile<f32, 8, 8> = transpose(1, 0) %5 %7: i32 = mul %4, 8 "
          "store @y[%20, %7] = %6 }",
     64, 1},
    {"a carried tile", at + "for %1: i32 in 0 .. @n step 1 "
                            "carry (%2 -> %6: tile<f32, 8, 8> = 1.0:tile<f32, 8, 8> then %5) { "
                            "%3: tile<f32, 8, 8> = transpose(1, 0) %2 %4: tile<f32, 8, 8> = load @x[%20, %1] "
                            "%5: tile<f32, 8, 8> = add %3, %4 } store @y[%20, 0] = %6"},
    {"a branch", at + "%1: tile<f32, 8, 8> = load @x[%20, 0] %2: bool = eq %0, 0 "
                      "if %2 -> (%3: tile<f32, 8, 8> = %4 | %1) { %4: tile<f32, 8, 8> = transpose(1, 0) %1 } else {} "
                      "store @y[%20, 0] = %3"},
    {"loads ahead", at + "for %1: i32 in 0 .. @n step 1 stages 2 "
                         "carry (%2 -> %6: tile<f32, 16, 32> = 0.0:tile<f32, 16, 32> then %5) { %7: i32 = mul %1, 16 "
                         "%3: tile<f16, 16, 16> = load @h[%20, %7] %4: tile<f16, 16, 32> = load @h[%7, 0] "
                         "%5: tile<f32, 16, 32> = matmul %3, %4, %2 } store @y[%20, 0] = %6"},
    {"loads ahead three times", at + "for %1: i32 in 0 .. 5 step 1 stages 4 "
                                     "carry (%2 -> %6: tile<f32, 16, 32> = 0.0:tile<f32, 16, 32> then %5) { "
                                     "%7: i32 = mul %1, 8 %3: tile<f32, 16, 8> = load @x[%20, %7] "
                                     "%4: tile<f32, 8, 32> = load @x[%7, 0] "
                                     "%8: tile<f32, 16, 8> = mul %3, %3 %9: tile<f32, 8, 16> = transpose(1, 0) %8 "
                                     "%5: tile<f32, 16, 32> = matmul transposed %9, %4, %2 } store @y[%20, 0] = %6"},
    {"casts of what is loaded ahead",
     at + "for %1: i32 in 0 .. @n step 1 stages 3 "
          "carry (%2 -> %6: tile<f32, 16, 32> = 0.0:tile<f32, 16, 32> then %5) { %7: i32 = mul %1, 16 "
          "%3: tile<f32, 16, 16> = load @x[%20, %7] %8: tile<f16, 16, 16> = cast %3 "
          "%4: tile<f16, 16, 32> = load @h[%7, 0] "
          "%5: tile<f32, 16, 32> = matmul %8, %4, %2 } store @y[%20, 0] = %6"},
};

class LoweredKernels : public testing::TestWithParam<Case> {};

TEST_P(LoweredKernels, EachOrderAgreesWithTheStructuredForm) {
  const ir::Kernel kernel = structured(GetParam().body, GetParam().threads);
  const ir::Kernel plan = planned_alone(kernel);
  EXPECT_EQ(wrong(plan, tiles::run_structured(kernel, {2}, arguments())), "") << to_string(plan);
  EXPECT_THAT(passes::unsynchronised(plan, shares_nothing).missing, IsEmpty());
}

// Exactly the errors without a barrier, or a wait for copies, are those that `unsynchronised` finds.
TEST_P(LoweredKernels, SomeOrderShowsWhatIsNotWaitedFor) {
  const ir::Kernel kernel = structured(GetParam().body, GetParam().threads);
  const ir::Kernel plan = planned_alone(kernel);
  const Arrays expected = tiles::run_structured(kernel, {2}, arguments());
  int shown = 0, taken_for_needed = 0;
  for (std::size_t all = 0; const auto broken = without_wait(plan, all); ++all) {
    const std::string what = wrong(*broken, expected);
    const std::vector<std::string> found = passes::unsynchronised(*broken, shares_nothing).missing;
    EXPECT_TRUE(what.empty() || !found.empty()) << "wait " << all << ": " << what << "\n" << to_string(plan);
    shown += !what.empty();
    taken_for_needed += what.empty() && !found.empty();
  }
  EXPECT_GT(shown, 0) << to_string(plan);
  EXPECT_EQ(taken_for_needed, GetParam().taken_for_needed) << to_string(plan);
}

INSTANTIATE_TEST_SUITE_P(Each, LoweredKernels, testing::ValuesIn(cases), [](const auto &info) {
  std::string name;
  for (const char letter : std::string_view(info.param.name))
    if (letter != ' ') name += letter;
  return name;
});

const std::string scan =
    "%1: tile<f32, 4, 90> = load @x[0, 0] %2: tile<f32, 4, 90> = scan_add 1, %1 store @y[0, 0] = %2";

// The error of a plan in the first of the orders.
std::string thrown(const ir::Kernel &plan) {
  try {
    run_lowered(plan, {1}, arguments(), orders[0]);
  } catch (const std::runtime_error &error) {
    return error.what();
  }
  return "";
}

// The kernel with some of its allocations changed; those of its innermost blocks do not matter here.
ir::Kernel with_allocations(ir::Kernel kernel, const std::function<void(ir::Allocate &)> &change) {
  const std::function<ir::Block(const ir::Block &)> changed = [&](const ir::Block &block) {
    ir::Block made;
    for (const ir::Stmt &stmt : block)
      if (const auto *loop = stmt.as<ir::For>()) {
        ir::For copy = *loop;
        copy.body = changed(loop->body);
        made.emplace_back(std::move(copy), stmt.where());
      } else if (const auto *allocate = stmt.as<ir::Allocate>()) {
        ir::Allocate copy = *allocate;
        change(copy);
        made.emplace_back(copy, stmt.where());
      } else {
        made.push_back(stmt);
      }
    return made;
  };
  kernel.body = changed(kernel.body);
  return kernel;
}

TEST(LoweredInterpreter, ACopyThatNothingWaitsForDoesNotArrive) {
  const ir::Kernel plan = planned_alone(structured(scan));
  EXPECT_EQ(thrown(plan), "");
  EXPECT_THAT(thrown(without_wait(plan, 0).value()), HasSubstr("nothing is at element"));
}

TEST(LoweredInterpreter, TilesThatShareBytesOverwriteEachOther) {
  ir::Kernel plan =
      planned_alone(structured("%1: tile<f32, 4, 90> = load @x[0, 0] %2: tile<f32, 4, 90> = scan_add 1, %1 "
                               "%3: tile<f32, 90, 4> = transpose(1, 0) %1 %4: tile<f32, 90, 4> = transpose(1, 0) %1 "
                               "store @y[0, 0] = %2 store @x[0, 0] = %3"));
  plan = with_allocations(plan, [](ir::Allocate &allocate) { allocate.offset = 0; });
  EXPECT_THAT(thrown(plan), HasSubstr("a call writes to the memory of what it reads"));
}

TEST(LoweredInterpreter, RegistersAreTheirThreads) {
  ir::Kernel plan = planned_alone(structured(cases[0].body));
  plan = with_allocations(plan, [](ir::Allocate &allocate) {
    if (allocate.array != 0) return;
    allocate.space = ir::MemorySpace::registers;
    allocate.layout = ir::FragmentLayout{ir::FragmentLayout::Unit::singles, 8, 24, 2, 1};
  });
  EXPECT_THAT(thrown(plan), HasSubstr("is another thread's"));
}

// If one thread has stored already and the others have not read, they diverge.
TEST(LoweredInterpreter, ThreadsThatWaitElsewhereNeverMeet) {
  const ir::Kernel kernel = ir::parse_kernel("kernel @k" + parameters + R"( blocks 1 of 64 {
    %0: i32 = launch_begin 0
    %1: i32 = launch_end 0
    for.block %2: i32 in %0 .. %1 step 1 {
      %3: i32 = load @i[0, 0]
      for.thread %4: i32 in 0 .. 1 step 1 {
        store @i[0, 0] = 0
      }
      %5: bool = eq %3, 0
      if %5 { barrier } else {}
    }
  })");
  ir::verify(kernel, ir::Form::lowered, "the test");
  EXPECT_THAT(thrown(kernel), HasSubstr("wait for others, which have ended or wait elsewhere"));
}

TEST(LoweredInterpreter, OneThreadSpeaksForAll) {
  const ir::Kernel plan =
      planned_alone(structured("print \"block \", %0 %1: bool = lt %0, 1 check %1, \"late: \", %0"));
  EXPECT_THAT(run_lowered(plan, {2}, arguments()).said, testing::ElementsAre("block 0", "block 1", "late: 1"));
}

}  // namespace
}  // namespace samite::test
