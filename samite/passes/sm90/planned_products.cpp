#include "samite/passes/sm90/planned_products.h"

#include "samite/ir/visit.h"
#include "samite/passes/simplify/rewrite.h"
#include "samite/passes/sm90/group_sums.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace samite::passes {

using namespace ir;

namespace {

std::int64_t bytes_of_element(const Type &type) { return static_cast<std::int64_t>(size_of(type.element())); }

}  // namespace

bool has_product_steps(const Kernel &kernel) {
  bool has = false;
  for_each_statement(kernel.body, [&](const Stmt &stmt) {
    const auto *loop = stmt.as<MainLoop>();
    has = has || (loop ? loop->is_step() : multiplies_by_groups(stmt));
  });
  return has;
}

bool has_product_loops(const Kernel &kernel) {
  bool has = false;
  for_each_statement(kernel.body, [&](const Stmt &stmt) { has = has || multiplies_by_groups(stmt); });
  return has;
}

std::vector<WayOfProduct> ways_of_products(const Kernel &planned) {
  std::vector<WayOfProduct> ways;
  std::map<LocalArrayId, std::string> copied;  // the reasons, by the rings
  for_each_statement(planned.body, [&](const Stmt &stmt) {
    const auto *call = stmt.as<TileCall>();
    const auto *by_threads = stmt.as<MainLoop>();
    if (const auto *bring = stmt.as<BringWindows>()) {
      for (const BringWindows::Window &window : bring->windows) copied[window.ring.array] = window.why_copy;
    } else if (call && !call->why_no_loop.empty()) {
      ways.push_back({stmt.where(), call->why_no_loop});
    } else if (by_threads && !by_threads->why_by_threads.empty()) {
      ways.push_back({stmt.where(), by_threads->why_by_threads});
    } else if (multiplies_by_groups(stmt)) {
      WayOfProduct way{stmt.where(), ""};
      const auto add = [&](const std::string &why) {
        if (!why.empty()) way.copied.push_back(why);
      };
      visit(
          stmt,
          [&](const MainLoop &loop) {
            for (const Transfer &factor : loop.factors) add(factor.why_copy);
          },
          [&](const WindowProduct &product) { add(product.second.why_copy); },
          [&](const StageProduct &product) {
            for (const TileMemory &factor : product.factors) add(copied[factor.array]);
          },
          [](const auto &) {});
      ways.push_back(std::move(way));
    }
  });
  return ways;
}

std::string why_no_producers(const Kernel &planned, const Architecture &architecture) {
  if (!architecture.has_warp_groups())
    return fmt::format("compute capability {}.{} has no warp groups", architecture.capability / 10,
                       architecture.capability % 10);
  const std::vector<WayOfProduct> ways = ways_of_products(planned);
  if (ways.empty()) return "the kernel has no product";
  for (const WayOfProduct &way : ways)
    if (!way.why_not.empty())
      return fmt::format("the product at {} is not by warp groups from bulk copies, since {}", way.where.to_string(),
                         way.why_not);
  return "the block has no producer warps (passes/sm90/assign_roles.h has the conditions)";
}

Block with_reason(const Block &block, const std::string &reason) {
  Block made;
  for (const Stmt &stmt : block) {
    const auto *call = stmt.as<TileCall>();
    const auto *loop = stmt.as<For>();
    if (call && call->op == Op::MatMul) {
      TileCall own = *call;
      own.why_no_loop = reason;
      made.emplace_back(std::move(own), stmt.where());
    } else if (stmt.as<If>() || (loop && loop->kind != LoopKind::Serial)) {
      made.push_back(with_blocks(stmt, [&](const Block &inner) { return with_reason(inner, reason); }));
    } else if (const auto *unknown = stmt.as<While>()) {
      While own = *unknown;
      own.body = with_reason(unknown->body, in_no_loop);
      made.emplace_back(std::move(own), stmt.where());
    } else {
      made.push_back(stmt);
    }
  }
  return made;
}

TensorMapNeeded tensor_map_of(const Transfer &factor) {
  const Type type = factor.ring.type;
  return {factor.array, type.element(), static_cast<int>(factor.indices.size()), type.shape()[0] / factor.parts,
          panel_bytes / bytes_of_element(type)};
}

TensorMapNeeded tensor_map_of(const BringWindows::Window &window) {
  const Type type = window.ring.type;
  return {window.array,
          type.element(),
          static_cast<int>(window.indices.size()),
          type.shape()[0],
          window.values ? type.shape()[1] : panel_bytes / bytes_of_element(type),
          window.values};
}

std::vector<TensorMapNeeded> tensor_maps(const Kernel &planned) {
  std::vector<TensorMapNeeded> maps;
  const auto add = [&](const TensorMapNeeded &map) {
    if (std::ranges::find(maps, map) == maps.end()) maps.push_back(map);
  };
  for_each_statement(planned.body, [&](const Stmt &stmt) {
    if (const auto *loop = stmt.as<MainLoop>(); loop && loop->by_bulk_copies())
      for (const Transfer &factor : loop->factors) add(tensor_map_of(factor));
    if (const auto *product = stmt.as<WindowProduct>()) add(tensor_map_of(product->second));
    if (const auto *bring = stmt.as<BringWindows>())
      for (const BringWindows::Window &window : bring->windows) add(tensor_map_of(window));
  });
  return maps;
}

}  // namespace samite::passes
