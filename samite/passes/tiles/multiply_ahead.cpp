#include "samite/passes/tiles/multiply_ahead.h"

#include "samite/ir/tile_rules.h"
#include "samite/ir/visit.h"
#include "samite/passes/analysis/loop_iterations.h"
#include "samite/passes/analysis/tile_uses.h"
#include "samite/passes/analysis/window_steps.h"
#include "samite/passes/simplify/rewrite.h"
#include "samite/passes/sm90/product_loops.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

namespace samite::passes {
namespace {

using namespace ir;

// The statements of an iteration.
struct Match {
  std::map<LocalArrayId, const Allocate *> buffers;
  std::array<const TileLoad *, 2> loads{};  // of the product's factors
  const TileCall *product = nullptr;
  std::array<std::array<std::int64_t, 2>, 2> steps{};
};

class Matcher {
 public:
  Matcher(const Kernel &kernel, const Architecture &architecture)
      : architecture_(architecture), forms_(kernel), registers_(layouts_in_registers(kernel)) {}

  std::optional<Match> match(const For &loop) const {
    constexpr int fewest_stages =
        3;  // with two, a step's copies would start only when the previous step begins: too late
    if (loop.ahead == 0 || loop.stages < fewest_stages || !loop.carried.empty()) return std::nullopt;
    Match found;
    std::map<LocalArrayId, const TileLoad *> loads;
    for (const Stmt &stmt : loop.body) {
      const auto *allocate = stmt.as<Allocate>();
      const auto *let = stmt.as<Let>();
      const auto *load = stmt.as<TileLoad>();
      const auto *call = stmt.as<TileCall>();
      if (allocate && allocate->stages == loop.stages)
        found.buffers.emplace(allocate->array, allocate);
      else if (load && !found.product)
        loads.emplace(load->result.array, load);
      else if (call && call->op == Op::MatMul && !found.product)
        found.product = call;
      else if (!let || !info(let->value.op).pure || let->value.op == Op::LocalLoad)
        return std::nullopt;
    }
    if (!found.product || loads.size() != 2 || found.buffers.size() != 2 || !has_sums(*found.product))
      return std::nullopt;
    for (std::size_t i = 0; i < 2; ++i) {
      const TileMemory &factor = found.product->operands[i];
      const auto load = loads.find(factor.array);
      if (load == loads.end() || load->second->result.type != factor.type || !found.buffers.contains(factor.array) ||
          factor.type.shape().rank() != 2)
        return std::nullopt;
      const auto step = window_step(load->second->indices, factor.type, loop, forms_);
      if (!step) return std::nullopt;
      found.loads[i] = load->second;
      found.steps[i] = *step;
      loads.erase(load);  // of two factors
    }
    return found;
  }

 private:
  // In registers, in tensor core fragments, with registers to spare; and whole steps of the tensor cores.
  bool has_sums(const TileCall &product) const {
    constexpr auto unit = FragmentLayout::Unit::matrices;
    const Type factor = product.operands[0].type;
    if (!product.sums || product.sums->unit != unit || factor.element() != ScalarType::Float64) return false;
    const FragmentLayout &sums = *product.sums;
    const auto own = registers_.find(product.result.array);
    if (own == registers_.end() || own->second != sums) return false;
    constexpr std::int64_t terms = 8;
    if (matmul_extents(factor, product.result.type, product.attribute).inner % terms != 0) return false;
    // A thread has 4 elements of 16 rows by 8 terms.
    constexpr std::int64_t lines = 16, elements = 4, of_element = 2, others = 30, most = 255;
    const auto warp = [&](std::int64_t extent, std::int64_t warps) {
      return (extent + lines * warps - 1) / (lines * warps);
    };
    const std::int64_t of_factors = (warp(sums.rows, sums.down) + warp(sums.columns, sums.across)) * elements;
    return (sums.registers() + 2 * of_factors) * of_element + others <=
           std::min(most, architecture_.registers / sums.threads());
  }

  const Architecture &architecture_;
  const IndexForms forms_;
  const std::map<LocalArrayId, FragmentLayout> registers_;
};

void write(const Match &match, const For &loop, Builder &build) {
  const TileCall &product = *match.product;
  MainLoop made{product.attribute, product.result, {}, *product.sums};
  made.count = count_iterations(loop, build);
  made.why_by_threads = product.why_no_loop;
  CopiesForIndex first(build, loop, loop.begin);
  for (const Stmt &stmt : loop.body)
    if (const auto *let = stmt.as<Let>()) first.copy(*let);
  for (std::size_t i = 0; i < 2; ++i) {
    const TileMemory &factor = product.operands[i];
    Allocate ring = *match.buffers.at(factor.array);
    ring.array = build.new_local_array();
    made.factors[i] = {.ring = {ring.array, factor.type},
                       .array = match.loads[i]->array,
                       .indices = first(match.loads[i]->indices),
                       .rows = match.steps[i][0],
                       .columns = match.steps[i][1]};
    build.append({ring, build.where()});
  }
  build.append({std::move(made), build.where()});
}

}  // namespace

Kernel multiply_ahead(Kernel lowered, const Architecture &architecture) {
  bool any = false, by_groups = has_product_loops(lowered);
  for_each_statement(lowered.body, [&](const Stmt &stmt) {
    const auto *loop = stmt.as<For>();
    any = any || (loop && loop->ahead != 0);
    by_groups = by_groups || stmt.as<BringWindows>();
  });
  if (!any || by_groups) return lowered;
  const Matcher matcher(lowered, architecture);
  Builder build(lowered.local_count);
  for (LocalArrayId i = 0; i < lowered.local_array_count; ++i) build.new_local_array();
  lowered.body = rewrite(lowered.body, [&](const Stmt &stmt, Block &made) {
    const auto *loop = stmt.as<For>();
    const auto match = loop ? matcher.match(*loop) : std::nullopt;
    if (!match) return made.push_back(stmt);
    build.at(stmt.where());
    Block outer = build.open();
    write(*match, *loop, build);
    for (Stmt &own : build.close(std::move(outer))) made.push_back(std::move(own));
  });
  lowered.local_count = build.local_count();
  lowered.local_array_count = build.local_array_count();
  return lowered;
}

}  // namespace samite::passes
