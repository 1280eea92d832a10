// Each kind of mistake in the order of threads with roles is found: planned kernels are changed in one place at a time,
// everywhere that the kind of change applies.
#include "samite/passes/analysis/role_order.h"

#include "samite/ir/parse.h"
#include "samite/jit/pipeline.h"
#include "samite/passes/simplify/rewrite.h"
#include "tests/passes/product_steps_kernel.h"
#include "tests/passes/stage_steps_kernel.h"

#include <gmock/gmock.h>

#include <functional>

namespace samite::passes::role_order_test {
namespace {

using test::product_loops::good;
using test::product_loops::lowered;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const SharesMemory &apart() {
  static const FactsOfArrays facts(8, good);
  static const SharesMemory shares = shares_memory(facts);
  return shares;
}

ir::Kernel planned(const std::string &text, bool in_rounds = false) {
  return jit::plan(lowered(text), {gpu_architecture(90), FactsOfArrays(8, good), {.in_rounds = in_rounds}});
}

// Two groups that alternate between two products; three products, the first two of which overlap.
const ir::Kernel &alternating() {
  static const ir::Kernel kernel = planned(test::product_steps::kernel_text(test::product_steps::steps));
  return kernel;
}
const ir::Kernel &overlapping() {
  static const ir::Kernel kernel = planned(test::product_steps::kernel_text(test::product_steps::with_both));
  return kernel;
}
const ir::Kernel &in_stages() {
  static const ir::Kernel kernel = planned(test::stage_steps::kernel_text({.rows = 128, .columns = 64, .inner = 64}));
  return kernel;
}
const ir::Kernel &one_loop() {
  static const ir::Kernel kernel = planned(test::product_loops::kernel_text({.rows = 64, .columns = 256, .inner = 64}));
  return kernel;
}
// Each team has the numbers of its rows in memory of its own. `around` begins a statement around the main loop.
ir::Kernel teams_with(const std::string &around) {
  std::string text =
      "kernel @k(@a: array<const f16, 2>, @b: array<const f16, 2>, @x: array<const f32, 2>, @c: array<f32, 2>, @n: i32)"
      " blocks 2 of 128 { %0: i32 = thread_index 0 %1: i32 = thread_index 1 %2: i32 = mul %0, 128 %3: i32 = mul %1, 128"
      " for %4: i32 in 0 .. @n step 1 stages 6 carry (%5 -> %6: tile<f32, 128, 128> = 0.0:tile<f32, 128, 128> then %10)"
      " { %7: i32 = mul %4, 64 %8: tile<f16, 128, 64> = load @a[%2, %7] %9: tile<f16, 128, 64> = load @b[%3, %7]"
      " %10: tile<f32, 128, 128> = matmul %8, transposed %9, %5 } %11: tile<f32, 128, 1> = load @x[%2, 0]"
      " %12: tile<f32, 128, 128> = broadcast %11 %13: tile<f32, 128, 128> = mul %6, %12 store @c[%2, %3] = %13 }";
  text.insert(text.find("for %4"), around);
  if (!around.empty()) text.insert(text.rfind("}"), "} ");
  return planned(text, /*in_rounds=*/true);
}
const ir::Kernel &in_teams() {
  static const ir::Kernel kernel = teams_with("");
  return kernel;
}

std::vector<const ir::Kernel *> kernels() {
  return {&alternating(), &overlapping(), &in_stages(), &one_loop(), &in_teams()};
}

std::vector<std::string> unordered(const ir::Kernel &kernel) { return unordered_roles(kernel, apart()); }

TEST(RoleOrder, PlansAreInOrder) {
  for (const ir::Kernel *kernel : kernels()) {
    EXPECT_NE(kernel->roles.producers, 0);
    EXPECT_THAT(unordered(*kernel), IsEmpty()) << ir::to_string(*kernel);
  }
  EXPECT_EQ(in_teams().roles.teams, 2);
  EXPECT_THAT(ir::to_string(alternating()), HasSubstr("in_turns"));
  EXPECT_THAT(ir::to_string(overlapping()), HasSubstr("runs_into"));
}

// Statements instead of one, if a change applies to it.
using Change = std::function<std::optional<ir::Block>(const ir::Stmt &)>;

// The kernels with the change in one place of the code of a role; changes without effect are omitted.
std::vector<ir::Kernel> changed(const ir::Kernel &kernel, const Change &change,
                                ir::Block ir::Roles::*of_role = nullptr) {
  std::vector<ir::Kernel> found;
  for (int place = 0;; ++place) {
    int at = 0;
    ir::Kernel made = kernel;
    ir::Block &block = of_role ? made.roles.*of_role : made.body;
    block = rewrite(block, [&](const ir::Stmt &stmt, ir::Block &append) {
      auto own = change(stmt);
      if (own && at++ == place)
        append.insert(append.end(), own->begin(), own->end());
      else
        append.push_back(stmt);
    });
    if (at <= place) return found;
    found.push_back(std::move(made));
  }
}

// Expects each such change to be found, and at least one.
void expect_found(const std::vector<const ir::Kernel *> &of, const Change &change,
                  ir::Block ir::Roles::*of_role = nullptr) {
  std::size_t count = 0;
  for (const ir::Kernel *kernel : of)
    for (const ir::Kernel &made : changed(*kernel, change, of_role)) {
      ++count;
      EXPECT_FALSE(unordered(made).empty()) << ir::to_string(made);
    }
  EXPECT_GT(count, 0u);
}

template <class Kind, class Alter>
Change altered(const Alter &alter) {
  return [alter](const ir::Stmt &stmt) -> std::optional<ir::Block> {
    const Kind *own = stmt.as<Kind>();
    if (!own) return std::nullopt;
    Kind copy = *own;
    if (!alter(copy)) return std::nullopt;
    return ir::Block{{std::move(copy), stmt.where()}};
  };
}
template <class Kind>
Change removed() {
  return [](const ir::Stmt &stmt) { return stmt.as<Kind>() ? std::optional(ir::Block{}) : std::nullopt; };
}
template <class Kind>
Change repeated() {
  return [](const ir::Stmt &stmt) { return stmt.as<Kind>() ? std::optional(ir::Block{stmt, stmt}) : std::nullopt; };
}
Change flipped(bool ir::WindowProduct::*flag) {
  return altered<ir::WindowProduct>([flag](ir::WindowProduct &product) {
    product.*flag = !(product.*flag);
    return true;
  });
}

constexpr auto producing = &ir::Roles::producing;

TEST(RoleOrder, AReleaseTooEarlyIsFound) {
  expect_found({&alternating(), &overlapping()}, flipped(&ir::WindowProduct::keeps_window));
  expect_found({&in_stages()}, removed<ir::ReleaseWindows>());
  expect_found({&in_stages()}, repeated<ir::ReleaseWindows>());
  // Before each of the statements that read the stage.
  const ir::ReleaseWindows *release = nullptr;
  ir::for_each_statement(in_stages().body, [&](const ir::Stmt &stmt) {
    if (const auto *own = stmt.as<ir::ReleaseWindows>()) release = own;
  });
  ASSERT_TRUE(release);
  const ir::Kernel without = changed(in_stages(), removed<ir::ReleaseWindows>()).at(0);
  expect_found({&without}, [&](const ir::Stmt &stmt) -> std::optional<ir::Block> {
    if (!stmt.as<ir::StageProduct>()) return std::nullopt;
    return ir::Block{{*release, stmt.where()}, stmt};
  });
}

TEST(RoleOrder, AWaitForAnotherPhaseIsFound) {
  expect_found({&alternating(), &overlapping()}, flipped(&ir::WindowProduct::has_window));
  expect_found({&in_stages()}, removed<ir::BringWindows>());
  expect_found({&in_stages()}, repeated<ir::BringWindows>());
  for (const auto role : {producing, static_cast<ir::Block ir::Roles::*>(nullptr)}) {
    expect_found({&one_loop(), &in_teams()}, altered<ir::MainLoop>([](ir::MainLoop &loop) {
                   loop.count = ir::Value::constant(ScalarType::Int32, std::int64_t{3});
                   return true;
                 }),
                 role);
    expect_found({&one_loop()}, repeated<ir::MainLoop>(), role);
    expect_found({&alternating(), &overlapping()}, removed<ir::WindowProduct>(), role);
    expect_found({&in_stages()}, removed<ir::BringWindows>(), role);
  }
  // One more iteration of either role.
  for (const auto role : {producing, static_cast<ir::Block ir::Roles::*>(nullptr)})
    expect_found({&alternating(), &in_stages()}, altered<ir::For>([](ir::For &loop) {
                   if (loop.kind != ir::LoopKind::Serial) return false;
                   loop.begin = ir::Value::constant(loop.type, std::int64_t{-1});
                   return true;
                 }),
                 role);
}

TEST(RoleOrder, OtherWindowsAreFound) {
  expect_found({&one_loop(), &in_teams()}, altered<ir::MainLoop>([](ir::MainLoop &loop) {
                 std::swap(loop.factors[0].indices, loop.factors[1].indices);
                 return true;
               }),
               producing);
  expect_found({&alternating()}, altered<ir::WindowProduct>([](ir::WindowProduct &product) {
                 product.second.array ^= 3;
                 return true;
               }),
               producing);
  expect_found({&in_stages()}, altered<ir::BringWindows>([](ir::BringWindows &bring) {
                 std::swap(bring.windows[0], bring.windows[1]);
                 return true;
               }),
               producing);
  expect_found(kernels(), altered<ir::Let>([](ir::Let &let) {
                 if (let.value.op != ir::Op::Mul) return false;
                 let.value.op = ir::Op::Add;
                 return true;
               }),
               producing);
}

TEST(RoleOrder, ATurnGivenTwiceIsFound) {
  expect_found({&alternating()}, flipped(&ir::WindowProduct::gives_turn));
  expect_found({&alternating()}, flipped(&ir::WindowProduct::takes_turn));
  expect_found({&alternating()}, altered<ir::For>([](ir::For &loop) {
                 if (!loop.products.in_turns) return false;
                 loop.products.in_turns = false;
                 return true;
               }));
  // A barrier of all groups, at the place where one of them waits for its turn.
  expect_found({&alternating()}, [](const ir::Stmt &stmt) -> std::optional<ir::Block> {
    if (!stmt.as<ir::WindowProduct>()) return std::nullopt;
    return ir::Block{stmt, {ir::Barrier{256}, stmt.where()}};
  });
  ir::Kernel one_group = alternating();
  one_group.block_threads = 128;
  EXPECT_THAT(unordered(one_group), Contains(HasSubstr("one warp group takes turns")));
}

TEST(RoleOrder, ATeamThatHandsOverTwiceIsFound) {
  const ir::Kernel in_loop = teams_with("for %22: i32 in 0 .. 2 step 1 { "),
                   in_branch = teams_with("%21: bool = lt %0, 2 if %21 { ");
  for (const ir::Kernel *kernel : {&in_loop, &in_branch}) {
    EXPECT_EQ(kernel->roles.teams, 2);
    EXPECT_FALSE(kernel->roles.equal_turns);
    EXPECT_THAT(unordered(*kernel), IsEmpty());
    ir::Kernel equal = *kernel;
    equal.roles.equal_turns = true;
    EXPECT_THAT(unordered(equal), Contains(HasSubstr("does not tell the next one")));
  }
  EXPECT_TRUE(in_teams().roles.equal_turns);
  expect_found({&in_loop}, altered<ir::MainLoop>([](ir::MainLoop &loop) {
                 loop.hands_over_in.clear();
                 return true;
               }));
}

TEST(RoleOrder, SumsInFlightAreNotUsed) {
  expect_found({&overlapping()}, altered<ir::WindowProduct>([](ir::WindowProduct &product) {
                 if (product.runs_into) return false;
                 product.runs_into = product.result.array;
                 return true;
               }));
  // Another statement between both, and another product than the next.
  expect_found({&overlapping()}, [](const ir::Stmt &stmt) -> std::optional<ir::Block> {
    const auto *product = stmt.as<ir::WindowProduct>();
    if (!product || !product->runs_into) return std::nullopt;
    return ir::Block{stmt, {ir::CommitCopies{}, stmt.where()}};
  });
  expect_found({&overlapping()}, altered<ir::WindowProduct>([](ir::WindowProduct &product) {
                 if (!product.runs_into) return false;
                 product.result.array = *product.runs_into;
                 return true;
               }));
}

TEST(RoleOrder, ABarrierOfTooFewThreadsIsFound) {
  ir::Kernel plain = one_loop();
  plain.roles = {};
  plain.body = rewrite(plain.body, [](const ir::Stmt &stmt) -> ir::Stmt {
    return stmt.as<ir::MainLoop>() ? ir::Stmt(ir::Barrier{}, stmt.where()) : stmt;
  });
  EXPECT_THAT(unordered(plain), IsEmpty());
  ir::Kernel with_barrier = one_loop();
  with_barrier.body.emplace_back(ir::Barrier{one_loop().block_threads}, SourceLocation{});
  EXPECT_THAT(unordered(with_barrier), IsEmpty());
  for (const int threads : {32, 64, 384})
    expect_found({&with_barrier, &plain}, altered<ir::Barrier>([threads](ir::Barrier &barrier) {
                   barrier.threads = threads;
                   return true;
                 }));
  // Threads that copy run it, too, if it counts all of the block.
  expect_found({&with_barrier}, altered<ir::Barrier>([](ir::Barrier &barrier) {
                 barrier.threads = 0;
                 return true;
               }));
  ir::Kernel producers_wait = one_loop();
  producers_wait.roles.producing.emplace_back(ir::Barrier{}, SourceLocation{});
  EXPECT_THAT(unordered(producers_wait), Contains(HasSubstr("producers run a statement of consumers")));
}

TEST(RoleOrder, MemoryThatOthersWriteIsFound) {
  // The offset of any other array, or that of the ring itself.
  for (const ir::Kernel *kernel : {&in_teams(), &in_stages()})
    expect_found({kernel}, altered<ir::Allocate>([](ir::Allocate &own) {
                   if (own.space != ir::MemorySpace::shared || own.stages == 1 || own.buffer) return false;
                   own.offset = *own.offset + 1024 * 48;
                   return true;
                 }));
  expect_found({&in_teams()}, altered<ir::Allocate>([](ir::Allocate &own) {
                 if (own.team_bytes == 0) return false;
                 own.team_bytes = 0;
                 return true;
               }));
}

}  // namespace
}  // namespace samite::passes::role_order_test
