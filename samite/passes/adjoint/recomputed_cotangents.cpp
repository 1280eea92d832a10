#include "samite/passes/adjoint/recomputed_cotangents.h"

#include "samite/ir/tile_rules.h"
#include "samite/ir/visit.h"
#include "samite/passes/adjoint/exchanges.h"
#include "samite/passes/adjoint/gather_tiles.h"
#include "samite/passes/simplify/builder.h"
#include "samite/passes/simplify/rename.h"
#include "samite/passes/simplify/simplify.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

namespace samite::passes {
namespace {

using namespace ir;

// Loops whose additions are to be gathered, and the values from before them that they need.
class Splitter {
 public:
  explicit Splitter(const Kernel &adjoint) : adjoint_(adjoint), parameters_(adjoint.parameters) {
    for_each_statement(adjoint.body, [&](const Stmt &stmt) {
      if (const auto array = array_read(stmt)) read_.insert(*array);
      if (const auto array = array_written(stmt)) written_.insert(*array);
    });
    for (std::size_t i = 0; i < adjoint.body.size(); ++i) {
      const auto *let = adjoint.body[i].as<Let>();
      if (let && let->value.type.is_tile()) tiles_.emplace(let->local, &let->value);
      if (let && is_value(let->value) &&
          std::ranges::all_of(let->value.operands, [&](const Value &own) { return can_be_computed_again(own); }))
        definitions_.emplace(let->local, i);
    }
  }

  std::optional<GatheredAdjoint> run(bool wide) {
    std::size_t additions = 0;
    for (std::size_t i = 0; i < adjoint_.body.size(); ++i)
      if (const auto *loop = adjoint_.body[i].as<For>())
        if (const std::size_t own = additions_of(*loop); own > 0) loops_.insert(i), additions += own;
    if (loops_.empty() || !find_needed() || copies_.empty()) return std::nullopt;
    const Kernel products = products_kernel();
    auto gathered = gather_tiles(products, wide);
    if (!gathered || gathered->dealt.size() != additions) return std::nullopt;
    gathered->before = before_kernel();
    for (const Copy &copy : copies_) gathered->copies.push_back(copy.place);
    return gathered;
  }

 private:
  struct Copy {
    CotangentCopy place;
    LocalId value;  // the computed value, and its type
    Type type;
    std::vector<Value> window;
    std::set<LocalId> casts;  // in the loops, to the copy's type; empty: the loops read the value directly
  };

  static bool is_tile(const Value &value) { return value.type().is_tile(); }

  // The additions to gradients of a loop without other effects; 0: it has others.
  std::size_t additions_of(const For &loop) const {
    if (!loop.carried.empty()) return 0;
    std::size_t additions = 0;
    for (const Stmt &stmt : loop.body) {
      const auto *let = stmt.as<Let>();
      const auto *accumulate = stmt.as<Accumulate>();
      // Reads come before or after the additions, and stay in place.
      if (accumulate && adjoint_.parameters[accumulate->array].role == Role::Gradient &&
          !read_.contains(accumulate->array))
        ++additions;
      else if (!let || !is_value(let->value))
        return 0;
    }
    return additions;
  }

  // Has no effects, and no operands that change while the adjoint runs.
  bool is_value(const Operation &operation) const {
    return info(operation.op).pure || (operation.op == Op::Load && !written_.contains(operation.array));
  }
  bool can_be_computed_again(const Value &value) const {
    return !value.is_local() || definitions_.contains(value.id());
  }

  void compute_again(const Value &value) {
    if (!value.is_local()) return;
    const std::size_t place = definitions_.at(value.id());
    if (!again_.insert(place).second) return;
    for (const Value &operand : adjoint_.body[place].as<Let>()->value.operands) compute_again(operand);
  }

  // False if the loops need a value that neither is in an array nor can be stored in one.
  bool find_needed() {
    std::map<LocalId, Type> needed;
    std::set<LocalId> own;
    for (const std::size_t i : loops_) {
      const auto see = [&](const Stmt &stmt) {
        for_each_operand(stmt, [&](const Value &value) {
          if (value.is_local() && !own.contains(value.id())) needed.emplace(value.id(), value.type());
        });
        for_each_definition(stmt, [&](LocalId local, const Type &) { own.insert(local); });
      };
      see(adjoint_.body[i]);
      for (const Stmt &stmt : adjoint_.body[i].as<For>()->body) see(stmt);
    }
    for (const auto &[local, type] : needed) {
      const Value value = Value::local(type, local);
      if (can_be_computed_again(value))
        compute_again(value);
      else if (!is_tile(value) || !copy(value))
        return false;
    }
    return true;
  }

  bool copy(const Value &value) {
    for (const Stmt &stmt : adjoint_.body) {
      const auto *let = stmt.as<Let>();
      if (!let || !is_plain_exchange(let->value) || is_gather(let->value.operands) ||
          let->value.type.shape() != value.type().shape() ||
          !std::ranges::all_of(let->value.operands, [&](const Value &own) { return can_be_computed_again(own); }) ||
          !is_zero_outside(value, let->value))
        continue;
      const auto [type, casts] = as_read(value);
      Parameter parameter;
      parameter.name = fmt::format("{}_{}", parameters_[let->value.array].name, copies_.size() + 1);
      parameter.type = type;
      parameter.rank = parameters_[let->value.array].rank;
      const auto place = static_cast<std::uint32_t>(parameters_.size());
      parameters_.push_back(std::move(parameter));
      copies_.push_back({{place, let->value.array, type}, value.id(), value.type(), let->value.operands, casts});
      for (const Value &index : let->value.operands) compute_again(index);
      return true;
    }
    return false;
  }

  // Whether the value is zero where the window of `taken` is outside of its array, like the taken elements: then
  // storing it there loses nothing.
  bool is_zero_outside(const Value &value, const Operation &taken) const {
    if (value.is_constant()) return value.is_constant(0.0);
    const auto known = value.is_local() ? tiles_.find(value.id()) : tiles_.end();
    if (known == tiles_.end()) return false;
    const Operation &operation = *known->second;
    if (is_plain_exchange(operation)) return operation.array == taken.array && operation.operands == taken.operands;
    const auto of = [&](std::size_t operand) { return is_zero_outside(operation.operands[operand], taken); };
    switch (operation.op) {
      case Op::Copy:
      case Op::Cast:
      case Op::Neg: return is_tile(operation.operands[0]) && of(0);
      case Op::Add:
      case Op::Sub: return of(0) && of(1);
      case Op::Mul: return of(0) || of(1);
      case Op::Div: return of(0);
      case Op::Select: return of(1) && of(2);
      default: return false;
    }
  }

  // The type in which the loops read a value, and the casts to it.
  std::pair<ScalarType, std::set<LocalId>> as_read(const Value &value) const {
    std::set<LocalId> casts;
    std::set<ScalarType> types;
    bool others = false;
    for (const std::size_t i : loops_)
      for (const Stmt &stmt : adjoint_.body[i].as<For>()->body)
        for_each_operand(stmt, [&](const Value &own) {
          if (!(own == value)) return;
          const auto *let = stmt.as<Let>();
          const bool cast = let && let->value.op == Op::Cast && is_floating(let->value.type);
          others = others || !cast;
          if (cast) casts.insert(let->local), types.insert(let->value.type.element());
        });
    const ScalarType whole = value.type().element();
    if (others || types.size() != 1 || size_of(*types.begin()) != copied_bytes || size_of(whole) <= copied_bytes)
      return {whole, {}};
    return {*types.begin(), casts};
  }

  Kernel with_copies(const std::string &suffix) const {
    Kernel kernel = adjoint_;
    kernel.name += suffix;
    kernel.parameters = parameters_;
    kernel.body.clear();
    return kernel;
  }

  Kernel before_kernel() const {
    Kernel kernel = with_copies("_cotangent");
    Builder build(kernel.local_count);
    for (std::size_t i = 0; i < adjoint_.body.size(); ++i)
      if (!loops_.contains(i)) build.append(adjoint_.body[i]);
    for (const Copy &copy : copies_) {
      build.at(adjoint_.body[*loops_.begin()].where());
      const Value value = Value::local(copy.type, copy.value);
      const Value stored = copy.casts.empty() ? value : build.cast(copy.type.of(copy.place.type), value);
      build.append({Store{copy.place.parameter, copy.window, stored}, build.where()});
    }
    kernel.local_count = build.local_count();
    kernel.body = build.take();
    return simplify(kernel);
  }

  Kernel products_kernel() const {
    Kernel kernel = with_copies("");
    Builder build(kernel.local_count);
    for (const std::size_t i : again_) build.append(adjoint_.body[i]);
    std::map<LocalId, Value> instead_of;  // by cast
    for (const Copy &copy : copies_) {
      build.at(adjoint_.body[*loops_.begin()].where());
      Operation load{Op::Load, copy.type.of(copy.place.type), copy.window, copy.place.parameter};
      if (copy.casts.empty()) {
        build.append({Let{copy.value, std::move(load)}, build.where()});
        continue;
      }
      const Value loaded = build.operation(std::move(load));
      for (const LocalId cast : copy.casts) instead_of.emplace(cast, loaded);
    }
    Renaming renaming{[&](const Value &value) {
                        const auto known = value.is_local() ? instead_of.find(value.id()) : instead_of.end();
                        return known == instead_of.end() ? value : known->second;
                      },
                      std::identity{}, std::identity{}};
    renaming.statement = [&](const Stmt &before, Stmt same) -> Block {
      const auto *let = before.as<Let>();
      return let && instead_of.contains(let->local) ? Block{} : Block{std::move(same)};
    };
    Block loops;
    for (const std::size_t i : loops_) loops.push_back(adjoint_.body[i]);
    for (Stmt &stmt : renamed(loops, renaming)) build.append(std::move(stmt));
    kernel.local_count = build.local_count();
    kernel.body = build.take();
    return kernel;
  }

  const Kernel &adjoint_;
  std::vector<Parameter> parameters_;
  std::set<std::uint32_t> read_, written_;
  std::map<LocalId, std::size_t> definitions_;  // of recomputable values: by the outermost statements
  std::map<LocalId, const Operation *> tiles_;  // defined by the outermost statements
  std::set<std::size_t> loops_, again_;         // of these statements
  std::vector<Copy> copies_;
};

}  // namespace

std::optional<GatheredAdjoint> gather_recomputed(const Kernel &adjoint, bool wide) {
  return Splitter(adjoint).run(wide);
}

}  // namespace samite::passes
