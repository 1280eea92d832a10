#include "samite/passes/adjoint/cast_copies.h"

#include "samite/ir/tile_rules.h"
#include "samite/passes/simplify/builder.h"
#include "samite/passes/simplify/rename.h"
#include "samite/passes/simplify/simplify.h"

#include <fmt/core.h>

#include <functional>
#include <map>
#include <set>

namespace samite::passes {
namespace {

using namespace ir;

// Casts, in loops, of gradients that the adjoint takes. A gradient that is read once does not justify a copy.
class RepeatedCasts {
 public:
  explicit RepeatedCasts(const GatheredAdjoint &gathered) {
    for (const Stmt &stmt : gathered.clear.body)
      if (const Store *store = stmt.as<Store>()) taken_.insert(store->array);
    find(gathered.gather.body, false);
  }

  struct Cast {
    LocalId load, cast;
    std::uint32_t array;
    ScalarType type;
  };
  std::vector<Cast> all;

 private:
  void find(const Block &block, bool in_loop) {
    for (const Stmt &stmt : block) {
      if (const auto *loop = stmt.as<For>()) find(loop->body, true);
      const Let *let = stmt.as<Let>();
      if (!let || !in_loop) continue;
      const Operation &operation = let->value;
      if (operation.op == Op::Load && operation.type.is_tile() && taken_.contains(operation.array) &&
          !is_gather(operation.operands)) {
        loads_.emplace(let->local, operation.array);
      } else if (operation.op == Op::Cast && is_narrowing(operation)) {
        const Value &value = operation.operands[0];
        const auto load = value.is_local() ? loads_.find(value.id()) : loads_.end();
        if (load != loads_.end()) all.push_back({load->first, let->local, load->second, operation.type.element()});
      }
    }
  }
  static bool is_narrowing(const Operation &cast) {
    const Type &from = cast.operands[0].type();
    return is_floating(cast.type) && is_floating(from) && size_of(cast.type.element()) == copied_bytes &&
           size_of(from.element()) > copied_bytes;
  }

  std::set<std::uint32_t> taken_;
  std::map<LocalId, std::uint32_t> loads_;
};

class CastCopier {
 public:
  explicit CastCopier(const GatheredAdjoint &gathered) : gathered_(gathered) {}

  CastCopies run(const std::vector<RepeatedCasts::Cast> &casts) {
    for (const RepeatedCasts::Cast &cast : casts) {
      const std::uint32_t parameter = copy_of(cast.array, cast.type);
      auto &narrow = narrow_[cast.load];
      const auto [known, is_new] = narrow.emplace(parameter, gathered_.gather.local_count + locals_);
      if (is_new) ++locals_;
      instead_of_.emplace(cast.cast, known->second);
    }
    return {copy_kernel(), gather_kernel(), std::move(copies_)};
  }

 private:
  std::uint32_t copy_of(std::uint32_t array, ScalarType type) {
    for (const CotangentCopy &copy : copies_)
      if (copy.array == array && parameters_[copy.parameter].type == type) return copy.parameter;
    Parameter copy;
    copy.name = fmt::format("{}_as_{}", parameters_[array].name, name(type));
    copy.type = type;
    copy.rank = parameters_[array].rank;
    const auto place = static_cast<std::uint32_t>(parameters_.size());
    parameters_.push_back(std::move(copy));
    copies_.push_back({place, array, type});
    return place;
  }

  Kernel with_copies(const Kernel &kernel) const {
    Kernel made = kernel;
    made.parameters = parameters_;
    return made;
  }

  Kernel copy_kernel() const {
    Kernel kernel = with_copies(gathered_.clear);
    kernel.name = gathered_.gather.name + "_copy";
    Builder build(kernel.local_count);
    for (const Stmt &stmt : gathered_.clear.body) {
      const Store *store = stmt.as<Store>();
      build.at(stmt.where());
      if (!store) build.append(stmt);
      for (const CotangentCopy &copy : copies_) {
        if (!store || store->array != copy.array) continue;
        const Value taken = build.operation({Op::Load, store->value.type(), store->indices, store->array});
        const Value cast = build.cast(taken.type().of(parameters_[copy.parameter].type), taken);
        build.append({Store{copy.parameter, store->indices, cast}, stmt.where()});
      }
    }
    kernel.local_count = build.local_count();
    kernel.body = build.take();
    return simplify(kernel);
  }

  Kernel gather_kernel() const {
    Kernel kernel = with_copies(gathered_.gather);
    const auto as_now = [&](LocalId local) {
      const auto known = instead_of_.find(local);
      return known == instead_of_.end() ? local : known->second;
    };
    Renaming renaming{
        [&](const Value &value) { return value.is_local() ? Value::local(value.type(), as_now(value.id())) : value; },
        std::identity{}, std::identity{}};
    renaming.statement = [&](const Stmt &before, Stmt same) -> Block {
      const Let *let = before.as<Let>();
      if (!let) return {std::move(same)};
      if (instead_of_.contains(let->local)) return {};
      Block statements{std::move(same)};
      if (const auto narrow = narrow_.find(let->local); narrow != narrow_.end())
        for (const auto &[parameter, local] : narrow->second) {
          Let load = *let;
          load.local = local;
          load.value.array = parameter;
          load.value.type = load.value.type.of(parameters_[parameter].type);
          statements.emplace_back(std::move(load), before.where());
        }
      return statements;
    };
    kernel.body = renamed(kernel.body, renaming);
    kernel.local_count += locals_;
    return simplify(kernel);
  }

  const GatheredAdjoint &gathered_;
  std::vector<Parameter> parameters_ = gathered_.gather.parameters;
  std::vector<CotangentCopy> copies_;
  LocalId locals_ = 0;                                          // new ones
  std::map<LocalId, std::map<std::uint32_t, LocalId>> narrow_;  // by load and copy: the load of the copy
  std::map<LocalId, LocalId> instead_of_;                       // by cast: the load that replaces it
};

}  // namespace

std::optional<CastCopies> copy_casts(const GatheredAdjoint &gathered) {
  const RepeatedCasts casts(gathered);
  if (casts.all.empty()) return std::nullopt;
  return CastCopier(gathered).run(casts.all);
}

}  // namespace samite::passes
