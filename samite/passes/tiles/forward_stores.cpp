#include "samite/passes/tiles/forward_stores.h"

#include "samite/ir/tile_rules.h"
#include "samite/ir/visit.h"
#include "samite/passes/analysis/accesses.h"
#include "samite/passes/analysis/index_forms.h"
#include "samite/passes/simplify/builder.h"
#include "samite/passes/simplify/simplify.h"
#include "samite/passes/tiles/within_array.h"

#include <algorithm>
#include <vector>

namespace samite::passes {
namespace {

using namespace ir;

// By parameter: arrays in which no two blocks access the same element, except by additions. All arrays, for a kernel
// that does not read its index, because all of its blocks store the same values.
std::vector<bool> arrays_of_a_block(const Kernel &kernel, const IndexForms &forms) {
  std::vector<Accesses> accesses(kernel.parameters.size());
  std::vector<bool> own(kernel.parameters.size(), true);
  bool has_index = false;
  for_each_statement(kernel.body, [&](const Stmt &stmt) {
    const auto *let = stmt.as<Let>();
    has_index = has_index || (let && let->value.op == Op::ThreadIndex);
    const auto add = [&](std::uint32_t array, const std::vector<Value> &indices, const Type &type) {
      if (is_gather(indices))
        own[array] = false;
      else
        accesses[array].add(indices, type, forms);
    };
    if (let && let->value.op == Op::Load)
      add(let->value.array, let->value.operands, let->value.type);
    else if (const auto *store = stmt.as<Store>())
      add(store->array, store->indices, store->value.type());
    else if (const auto *accumulate = stmt.as<Accumulate>())
      add(accumulate->array, accumulate->indices, accumulate->value.type());
    else
      for (const auto touched : {array_read(stmt), array_written(stmt)})
        if (touched) own[*touched] = false;  // by an atomic operation
  });
  for (std::size_t array = 0; array < own.size(); ++array)
    own[array] = own[array] && (!has_index || accesses[array].one_to_one(kernel.launch_rank));
  return own;
}

// Arrays to which each block stores the same tile, once and unconditionally: a block that loads after its own store
// gets that tile, whichever block has stored last. By parameter.
std::vector<bool> arrays_of_one_value(const Kernel &kernel) {
  std::vector<int> writes(kernel.parameters.size());
  for_each_statement(kernel.body, [&](const Stmt &stmt) {
    if (const auto array = array_written(stmt)) ++writes[*array];
  });
  std::vector<bool> same(kernel.local_count), found(kernel.parameters.size());
  const auto is_same = [&](const Value &value) { return !value.is_local() || same[value.id()]; };
  for (const Stmt &stmt : kernel.body) {
    if (const auto *let = stmt.as<Let>()) {
      const Operation &operation = let->value;
      const bool is_load = operation.op == Op::Load && writes[operation.array] == 0;
      const bool of_block =
          operation.op == Op::ThreadIndex || operation.op == Op::LaunchBegin || operation.op == Op::LaunchEnd;
      same[let->local] = (is_load || (info(operation.op).pure && operation.op != Op::LocalLoad && !of_block)) &&
                         std::ranges::all_of(operation.operands, is_same);
    } else if (const auto *store = stmt.as<Store>(); store && writes[store->array] == 1) {
      found[store->array] = is_same(store->value) && std::ranges::all_of(store->indices, is_same);
    }
  }
  return found;
}

class Forwarder {
 public:
  explicit Forwarder(const Kernel &kernel)
      : forms_(kernel), own_(arrays_of_a_block(kernel, forms_)), build_(kernel.local_count) {
    const std::vector<bool> same = arrays_of_one_value(kernel);
    for (std::size_t array = 0; array < same.size(); ++array) own_[array] = own_[array] || same[array];
    for (LocalArrayId i = 0; i < kernel.local_array_count; ++i) build_.new_local_array();
  }

  Block of(const Block &block) {
    const std::vector<Stored> before = stored_;
    Block outer = build_.open();
    for (const Stmt &stmt : block) {
      build_.at(stmt.where());
      of(stmt);
    }
    stored_ = before;  // a branch or a loop may not have run
    return build_.close(std::move(outer));
  }

  bool any() const { return any_; }
  LocalId local_count() const { return build_.local_count(); }

 private:
  struct Stored {
    std::uint32_t array;
    std::vector<Value> place;
    Value value;
  };

  void of(const Stmt &stmt) {
    if (const auto *let = stmt.as<Let>(); let && let->value.op == Op::Load && !is_gather(let->value.operands))
      if (const auto found = std::ranges::find_if(stored_, [&](const Stored &s) { return is_of(s, let->value); });
          found != stored_.end()) {
        any_ = true;
        build_.append({Let{let->local, {Op::Copy, let->value.type, {loaded(*found, let->value.type)}}}, stmt.where()});
        return;
      }
    visit(
        stmt,
        [&](const If &branch) {
          If rebuilt{branch.condition, of(branch.then_block), {}, branch.results};
          rebuilt.else_block = of(branch.else_block);
          build_.append({std::move(rebuilt), stmt.where()});
        },
        [&](const For &loop) {
          forget_written(loop.body);
          build_.append({For{loop.index, loop.type, loop.begin, loop.end, loop.step, of(loop.body), loop.carried,
                             loop.kind, loop.stages},
                         stmt.where()});
        },
        [&](const While &loop) {
          forget_written(loop.condition_block), forget_written(loop.body);
          While rebuilt{of(loop.condition_block), loop.condition, {}, loop.carried};
          rebuilt.body = of(loop.body);
          build_.append({std::move(rebuilt), stmt.where()});
        },
        [&](const auto &) { build_.append(stmt); });
    forget_written({stmt});
    if (const auto *store = stmt.as<Store>(); store && own_[store->array])
      stored_.push_back({store->array, store->indices, store->value});
  }

  void forget_written(const Block &block) {
    for_each_statement(block, [&](const Stmt &stmt) {
      const auto *store = stmt.as<Store>();
      if (store && own_[store->array])
        std::erase_if(stored_, [&](const Stored &s) { return may_meet(s, *store); });
      else if (const auto written = array_written(stmt))
        std::erase_if(stored_, [&](const Stored &s) { return s.array == *written; });
    });
  }

  static bool is_of(const Stored &stored, const Operation &load) {
    return stored.array == load.array && stored.place == load.operands && same_elements(stored.value.type(), load.type);
  }
  // Leading extents of 1 distinguish the types of tiles, but not their contents.
  static bool same_elements(const Type &a, const Type &b) {
    if (!a.is_tile() || !b.is_tile()) return a == b;
    const auto extents = [](const Type &type) {
      const TileShape shape = type.shape();
      std::vector<std::int64_t> extents(shape.begin(), shape.end());
      extents.erase(extents.begin(), std::ranges::find_if(extents, [](std::int64_t e) { return e != 1; }));
      return extents;
    };
    return a.element() == b.element() && extents(a) == extents(b);
  }
  bool may_meet(const Stored &stored, const Store &store) const {
    if (stored.array != store.array) return false;
    for (std::size_t d = 0; d < stored.place.size(); ++d) {
      const Affine a = forms_(stored.place[d]).form, b = forms_(store.indices[d]).form;
      if (!a.known() || !b.known()) continue;
      const Affine behind = b - a;
      if (!behind.is_constant()) continue;
      if (behind.constant() >= extent(stored.value.type(), stored.place.size(), d) ||
          -behind.constant() >= extent(store.value.type(), stored.place.size(), d))
        return false;
    }
    return true;
  }
  // The extent along dimension d of an array with `rank` dimensions.
  static std::int64_t extent(const Type &type, std::size_t rank, std::size_t d) {
    if (!type.is_tile()) return 1;
    const auto own = static_cast<std::size_t>(type.shape().rank());
    return d + own < rank ? 1 : type.shape()[static_cast<int>(d + own - rank)];
  }

  Value loaded(const Stored &stored, const Type &type) {
    if (!type.is_tile()) return stored.value;
    std::vector<Value> extents;
    for (std::size_t d = 0; d < stored.place.size(); ++d)
      extents.push_back(
          build_.operation({Op::Extent, stored.place[d].type(), {}, stored.array, static_cast<std::int32_t>(d)}));
    const Value inside = within_array(build_, stored.value, stored.place, extents);
    return inside.type() == type ? inside : build_.operation({Op::Reshape, type, {inside}});
  }

  const IndexForms forms_;
  std::vector<bool> own_;
  std::vector<Stored> stored_;  // by this block or an enclosing one, and not overwritten since
  Builder build_;
  bool any_ = false;
};

}  // namespace

Kernel forward_stores(Kernel structured) {
  if (!is_tile_kernel(structured)) return structured;
  Forwarder forwarder(structured);
  Block body = forwarder.of(structured.body);
  if (!forwarder.any()) return structured;
  structured.body = std::move(body);
  structured.local_count = forwarder.local_count();
  return simplify(structured);
}

}  // namespace samite::passes
