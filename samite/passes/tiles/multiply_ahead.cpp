#include "samite/passes/tiles/multiply_ahead.h"

#include "samite/ir/loop_products.h"
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

// The statements of a loop's one product.
struct Product {
  const TileCall *call = nullptr;
  std::array<const TileLoad *, 2> loads{};  // of its factors
  std::array<const Allocate *, 2> buffers{};
  std::array<std::array<std::int64_t, 2>, 2> steps{};
};

// Whether passes have added nothing to the iterations of a loop with this one product.
bool only_multiplies(const For &loop, const Product &product) {
  return std::ranges::all_of(loop.body, [&](const Stmt &stmt) {
    const auto *let = stmt.as<Let>();
    const auto *allocate = stmt.as<Allocate>();
    return (let && info(let->value.op).pure && let->value.op != Op::LocalLoad) ||
           (allocate && std::ranges::find(product.buffers, allocate) != product.buffers.end()) || stmt.as<TileLoad>() ||
           stmt.as<TileCall>() == product.call;
  });
}

class ProductsAhead {
 public:
  ProductsAhead(const Kernel &kernel, const Architecture &architecture)
      : architecture_(architecture), forms_(kernel), registers_(layouts_in_registers(kernel)) {}

  // The product of a loop that may become a call.
  std::optional<Product> product(const For &loop) const {
    constexpr int fewest_stages =
        3;  // with two, a step's copies would start only when the previous step begins: too late
    const LoopProducts &products = loop.products;
    if (loop.ahead == 0 || loop.stages < fewest_stages || products.declared.size() != 1 || products.and_more)
      return std::nullopt;
    Product found;
    found.call = product_calls(loop)[0];
    if (!has_sums(*found.call)) return std::nullopt;
    for (std::size_t i = 0; i < 2; ++i) {
      const LoopProduct::Factor &factor = products.declared[0].factors[i];
      const TileMemory &operand = found.call->operands[i];
      found.loads[i] = factor.window && !factor.terms ? load_of(loop, *factor.window) : nullptr;
      found.buffers[i] = buffer_of(loop, factor.tile);
      if (!found.loads[i] || found.loads[i]->result.type != operand.type || !found.buffers[i] ||
          operand.type.shape().rank() != 2)
        return std::nullopt;
      const auto step = window_step(found.loads[i]->indices, operand.type, loop, forms_);
      if (!step) return std::nullopt;
      found.steps[i] = *step;
    }
    return only_multiplies(loop, found) ? std::optional(found) : std::nullopt;
  }

 private:
  // The allocation of a tile that the loop prefetches.
  static const Allocate *buffer_of(const For &loop, LocalArrayId tile) {
    for (const Stmt &stmt : loop.body)
      if (const auto *own = stmt.as<Allocate>(); own && own->array == tile && own->stages == loop.stages) return own;
    return nullptr;
  }

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

void write(const Product &product, const For &loop, Builder &build) {
  const TileCall &call = *product.call;
  MainLoop made{call.attribute, call.result, {}, *call.sums};
  made.count = count_iterations(loop, build);
  made.why_by_threads = call.why_no_loop;
  CopiesForIndex first(build, loop, loop.begin);
  for (const Stmt &stmt : loop.body)
    if (const auto *let = stmt.as<Let>()) first.copy(*let);
  for (std::size_t i = 0; i < 2; ++i) {
    const TileMemory &factor = call.operands[i];
    Allocate ring = *product.buffers[i];
    ring.array = build.new_local_array();
    made.factors[i] = {.ring = {ring.array, factor.type},
                       .array = product.loads[i]->array,
                       .indices = first(product.loads[i]->indices),
                       .rows = product.steps[i][0],
                       .columns = product.steps[i][1]};
    build.append({ring, build.where()});
  }
  build.append({std::move(made), build.where()});
}

}  // namespace

Kernel multiply_ahead(Kernel lowered, const Architecture &architecture) {
  bool by_groups = has_product_loops(lowered);
  for_each_statement(lowered.body, [&](const Stmt &stmt) { by_groups = by_groups || stmt.as<BringWindows>(); });
  const ProductsAhead products(lowered, architecture);
  Builder build(lowered.local_count);
  for (LocalArrayId i = 0; i < lowered.local_array_count; ++i) build.new_local_array();
  lowered.body = rewrite(lowered.body, [&](const Stmt &stmt, Block &made) {
    const auto *loop = stmt.as<For>();
    if (!loop || loop->products.declared.empty() || !window_products(*loop).empty()) return made.push_back(stmt);
    const auto product = by_groups ? std::nullopt : products.product(*loop);
    if (!product) {
      For same = *loop;
      same.products = {};
      return made.push_back({std::move(same), stmt.where()});
    }
    build.at(stmt.where());
    Block outer = build.open();
    write(*product, *loop, build);
    for (Stmt &own : build.close(std::move(outer))) made.push_back(std::move(own));
  });
  lowered.local_count = build.local_count();
  lowered.local_array_count = build.local_array_count();
  return lowered;
}

}  // namespace samite::passes
