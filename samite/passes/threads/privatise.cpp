#include "samite/passes/threads/privatise.h"

#include "samite/ir/tile_rules.h"
#include "samite/ir/visit.h"
#include "samite/passes/analysis/accesses.h"
#include "samite/passes/simplify/builder.h"
#include "samite/passes/simplify/promote.h"
#include "samite/passes/simplify/simplify.h"
#include "samite/passes/tiles/privatise_tiles.h"
#include "samite/passes/tiles/within_array.h"

#include <algorithm>
#include <map>
#include <optional>

namespace samite::passes {
namespace {

using namespace ir;

// At most this many elements with constant indices become a local each; more become a local array.
constexpr std::size_t most_locals = 16;

// A statement's position: the enclosing blocks, outermost first, each with the number of the next statement on the
// path.
struct Step {
  const Block *block;
  std::ptrdiff_t statement;
  bool in_loop;  // the block is a loop's, or nested in one
};
using Path = std::vector<Step>;

struct Access {
  std::vector<Value> indices;
  Type type;  // of an element or a tile
  Path path;
};

// The elements of an array that belong to an instance.
struct OwnElements {
  std::uint32_t array = 0;
  Type type;                                 // of the array's elements, or the block's only tile
  const Block *home = nullptr;               // the block that defines their locals
  std::ptrdiff_t first = 0, last = 0;        // its statements that access them
  bool certain = false;                      // some element is accessed whenever the block runs
  std::vector<Value> place;                  // an index for each dimension, from some access
  std::vector<bool> moves;                   // the dimensions whose index differs between accesses
  std::vector<std::vector<Value>> elements;  // the different indices, if each element is a local

  std::vector<LocalId> locals;  // of `elements`
  LocalArrayId row = 0;         // else
  std::vector<Value> extents;   // of the dimensions
  bool is_row() const { return elements.empty(); }
};

// The type that the statement loads or stores.
Type type_of_element(const Stmt &stmt) {
  if (auto *let = stmt.as<Let>()) return let->value.type;
  if (auto *store = stmt.as<Store>()) return store->value.type();
  return stmt.as<Accumulate>()->value.type();
}

const std::vector<Value> *indices_of(const Stmt &stmt, std::uint32_t &array) {
  if (auto *let = stmt.as<Let>(); let && info(let->value.op).typing == Typing::Load)
    return array = let->value.array, &let->value.operands;
  if (auto *store = stmt.as<Store>()) return array = store->array, &store->indices;
  if (auto *accumulate = stmt.as<Accumulate>()) return array = accumulate->array, &accumulate->indices;
  return nullptr;
}

class Privatiser {
 public:
  Privatiser(const Kernel &kernel, const std::vector<bool> &wanted)
      : kernel_(kernel),
        forms_(kernel),
        accesses_(kernel.parameters.size()),
        definition_(kernel.local_count),
        defined_at_(kernel.local_count),
        own_of_(kernel.parameters.size()),
        build_(kernel.local_count) {
    index(kernel.body, {}, false);
    for (std::uint32_t array = 0; array < wanted.size(); ++array)
      if (wanted[array]) find_own(array);
    for (std::uint32_t array = 0; array < wanted.size(); ++array)
      if (own_of_[array]) homes_[own_of_[array]->home].push_back(array);
  }

  Privatised run() {
    Privatised result{kernel_, {}};
    for (const auto &own : own_of_) result.done.push_back(own.has_value());
    if (homes_.empty()) return result;
    for (LocalArrayId i = 0; i < kernel_.local_array_count; ++i) build_.new_local_array();
    result.kernel.body = rebuild(kernel_.body);
    result.kernel.local_count = build_.local_count();
    result.kernel.local_array_count = build_.local_array_count();
    result.kernel = simplify(promote(result.kernel));
    return result;
  }

 private:
  // Collects the accesses of the kernel, by array, and the definitions of locals.
  void index(const Block &block, const Path &around, bool in_loop) {
    for (std::ptrdiff_t n = 0; n < std::ssize(block); ++n) {
      const Stmt &stmt = block[static_cast<std::size_t>(n)];
      Path path = around;
      path.push_back({&block, n, in_loop});
      if (auto *let = stmt.as<Let>()) definition_[let->local] = let;
      for_each_definition(stmt, [&](LocalId local, Type) { defined_at_[local] = path.back(); });
      std::uint32_t array = 0;
      if (const std::vector<Value> *indices = indices_of(stmt, array); indices && is_gather(*indices))
        shared_.push_back(array);
      else if (indices)
        accesses_[array].push_back({*indices, type_of_element(stmt), path});
      else if (auto touched = array_written(stmt))
        shared_.push_back(*touched);  // by an atomic operation
      if (auto *branch = stmt.as<If>()) {
        index(branch->then_block, path, in_loop), index(branch->else_block, path, in_loop);
      } else if (auto *loop = stmt.as<For>()) {
        mark_inner(loop->carried, &loop->body);
        defined_at_[loop->index] = {&loop->body, -1, true};
        index(loop->body, path, true);
      } else if (auto *loop = stmt.as<While>()) {
        mark_inner(loop->carried, &loop->body);
        index(loop->condition_block, path, true), index(loop->body, path, true);
      } else if (auto *custom = stmt.as<CustomAdjoint>()) {
        leave_alone(*custom);
      }
    }
  }
  // Excludes arrays of custom adjoints, which the adjoint may read or add to.
  void leave_alone(const CustomAdjoint &custom) {
    for (const Block *block : {&custom.primal, &custom.replay, &custom.adjoint})
      for_each_statement(*block, [&](const Stmt &stmt) {
        for (auto touched : {array_read(stmt), array_written(stmt)})
          if (touched) shared_.push_back(*touched);
      });
  }
  void mark_inner(const std::vector<Carried> &carried, const Block *body) {
    for (const Carried &c : carried) defined_at_[c.inner] = {body, -1, true};
  }

  void find_own(std::uint32_t array) {
    const std::vector<Access> &accesses = accesses_[array];
    if (accesses.empty() || std::ranges::find(shared_, array) != shared_.end()) return;
    Accesses met;
    const Type type = accesses[0].type;
    for (const Access &access : accesses) {
      if (access.type != type) return;
      met.add(access.indices, type, forms_);
    }
    if (!met.one_to_one(kernel_.launch_rank)) return;

    // The innermost block around all accesses that is not inside a loop of its own.
    Path home = accesses[0].path;
    for (const Access &access : accesses) {
      std::size_t common = 0;
      while (common < std::min(home.size(), access.path.size()) && home[common].block == access.path[common].block)
        ++common;
      home.resize(common);
    }
    while (home.back().in_loop) home.pop_back();
    const std::size_t depth = home.size() - 1;

    OwnElements own{
        array, type, home.back().block, accesses[0].path[depth].statement, 0, false, accesses[0].indices, {}, {}, {},
        0,     {}};
    for (const Access &access : accesses) {
      own.first = std::min(own.first, access.path[depth].statement);
      own.last = std::max(own.last, access.path[depth].statement);
      own.certain = own.certain || access.path.size() == home.size();
    }
    home.back().statement = own.first;
    for (std::size_t d = 0; d < own.place.size(); ++d)
      own.moves.push_back(!met.fixed(d) || !can_have(own.place[d], home));
    if (type.is_tile() && std::ranges::find(own.moves, true) != own.moves.end()) return;
    find_elements(own, accesses);
    own_of_[array] = std::move(own);
  }

  // The elements as single locals, if the differing indices are constants, and not too many.
  static void find_elements(OwnElements &own, const std::vector<Access> &accesses) {
    for (const Access &access : accesses) {
      std::vector<Value> element = own.place;
      for (std::size_t d = 0; d < element.size(); ++d) {
        if (!own.moves[d]) continue;
        element[d] = access.indices[d];
        if (element[d].is_constant()) continue;
        own.elements.clear();
        return;
      }
      if (std::ranges::find(own.elements, element) == own.elements.end()) own.elements.push_back(element);
    }
    if (own.elements.size() > most_locals) own.elements.clear();
  }

  // Whether a value is available at `home`: defined before, or computable from such values.
  bool can_have(const Value &value, const Path &home) const {
    if (is_there(value, home)) return true;
    const Let *let = definition_[value.id()];
    return let && info(let->value.op).pure &&
           std::ranges::all_of(let->value.operands, [&](const Value &operand) { return can_have(operand, home); });
  }
  bool is_there(const Value &value, const Path &home) const {
    if (!value.is_local()) return true;
    const Step &definition = defined_at_[value.id()];
    return std::ranges::any_of(home, [&](const Step &step) {
      return step.block == definition.block && definition.statement < step.statement;
    });
  }
  Value have(const Value &value) {
    if (is_there(value, here_)) return value;
    Operation operation = definition_[value.id()]->value;
    for (Value &operand : operation.operands) operand = have(operand);
    return build_.operation(std::move(operation));
  }

  Block rebuild(const Block &block) {
    const auto homes = homes_.find(&block);
    Block outer = build_.open();
    for (std::ptrdiff_t n = 0; n < std::ssize(block); ++n) {
      const Stmt &stmt = block[static_cast<std::size_t>(n)];
      here_.push_back({&block, n, false});
      build_.at(stmt.where());
      if (homes != homes_.end())
        for (std::uint32_t array : homes->second)
          if (own_of_[array]->first == n) enter(*own_of_[array]);
      rebuild(stmt);
      build_.at(stmt.where());
      if (homes != homes_.end())
        for (std::uint32_t array : homes->second)
          if (own_of_[array]->last == n) leave(*own_of_[array]);
      here_.pop_back();
    }
    return build_.close(std::move(outer));
  }

  void rebuild(const Stmt &stmt) {
    std::uint32_t array = 0;
    const std::vector<Value> *indices = indices_of(stmt, array);
    if (indices && own_of_[array]) return access(*own_of_[array], *indices, stmt);
    visit(
        stmt,
        [&](const If &branch) {
          If rebuilt{branch.condition, rebuild(branch.then_block), {}, branch.results};
          rebuilt.else_block = rebuild(branch.else_block);
          build_.append({std::move(rebuilt), stmt.where()});
        },
        [&](const For &loop) {
          build_.append({For{loop.index, loop.type, loop.begin, loop.end, loop.step, rebuild(loop.body), loop.carried,
                             loop.kind, loop.stages},
                         stmt.where()});
        },
        [&](const While &loop) {
          While rebuilt{rebuild(loop.condition_block), loop.condition, {}, loop.carried};
          rebuilt.body = rebuild(loop.body);
          build_.append({std::move(rebuilt), stmt.where()});
        },
        [&](const auto &) { build_.append(stmt); });
  }

  // Replaces an access to an instance's own element by one to its local.
  void access(const OwnElements &own, const std::vector<Value> &indices, const Stmt &stmt) {
    const Type type = own.type;
    const LocalId local = own.is_row() ? 0 : local_of(own, indices);
    const Value index = own.is_row() ? row_index(own, indices) : Value::zero(ScalarType::Int32);
    auto get = [&] { return own.is_row() ? build_.local_load(type, own.row, index) : Value::local(type, local); };
    auto set = [&](const Value &value) {
      if (own.is_row())
        build_.local_store(own.row, index, value);
      else
        build_.assign(local, type.is_tile() ? within(own, value) : value);
    };
    if (auto *let = stmt.as<Let>()) {
      build_.append({Let{let->local, {Op::Copy, type, {get()}}}, stmt.where()});
      if (let->value.op == Op::Exchange) set(Value::zero(type));
    } else if (auto *store = stmt.as<Store>())
      set(store->value);
    else if (auto *accumulate = stmt.as<Accumulate>())
      set(build_(Op::Add, {get(), accumulate->value}));
  }

  static LocalId local_of(const OwnElements &own, const std::vector<Value> &indices) {
    std::vector<Value> element = own.place;
    for (std::size_t d = 0; d < element.size(); ++d)
      if (own.moves[d]) element[d] = indices[d];
    const auto found = std::ranges::find(own.elements, element);
    return own.locals[static_cast<std::size_t>(found - own.elements.begin())];
  }

  // Row-major over the dimensions whose index differs.
  Value row_index(const OwnElements &own, const std::vector<Value> &indices) {
    std::optional<Value> index;
    for (std::size_t d = 0; d < indices.size(); ++d) {
      if (!own.moves[d]) continue;
      const Value here = build_.cast(own.extents[d].type(), indices[d]);
      index = index ? build_(Op::Add, {build_(Op::Mul, {*index, own.extents[d]}), here}) : here;
    }
    return *index;
  }

  // The tile as a load would return it: zero beyond the array.
  Value within(const OwnElements &own, const Value &value) {
    return within_array(build_, value, own.place, own.extents);
  }

  void enter(OwnElements &own) {
    const Type type = own.type;
    for (std::size_t d = 0; d < own.place.size(); ++d) {
      if (!own.moves[d]) own.place[d] = have(own.place[d]);
      own.extents.push_back(
          build_.operation({Op::Extent, own.place[d].type(), {}, own.array, static_cast<std::int32_t>(d)}));
    }
    for (auto &element : own.elements) {
      for (std::size_t d = 0; d < element.size(); ++d)
        if (!own.moves[d]) element[d] = own.place[d];
      own.locals.push_back(build_.variable(Value::zero(type)));
    }
    if (own.is_row()) {
      Value size = Value::constant(ScalarType::Int64, 1);
      for (std::size_t d = 0; d < own.extents.size(); ++d)
        if (own.moves[d]) size = build_(Op::Mul, {size, build_.cast(ScalarType::Int64, own.extents[d])});
      own.row = build_.allocate(type, size);
    }
    for_each_element(own, [&](const std::vector<Value> &indices, LocalId local) {
      Value loaded = build_.operation({Op::Load, type, indices, own.array});
      if (own.is_row())
        build_.local_store(own.row, row_index(own, indices), loaded);
      else
        build_.assign(local, loaded);
    });
  }

  void leave(const OwnElements &own) {
    const Type type = own.type;
    for_each_element(own, [&](const std::vector<Value> &indices, LocalId local) {
      Value last = own.is_row() ? build_.local_load(type, own.row, row_index(own, indices)) : Value::local(type, local);
      build_.append({Store{own.array, indices, last}, build_.where()});
    });
  }

  // For each of an instance's own elements inside the array. For a tile, loads and stores are clipped.
  template <class Visit>
  void for_each_element(const OwnElements &own, Visit visit) {
    if (own.type.is_tile()) return visit(own.place, own.locals[0]);
    auto inside = [&](const std::vector<Value> &indices, bool moving, auto then) {
      std::optional<Value> condition;
      for (std::size_t d = 0; d < indices.size(); ++d) {
        if (own.certain && (!moving || !own.moves[d])) continue;
        if (!moving && own.moves[d]) continue;
        const Value index = build_.cast(own.extents[d].type(), indices[d]);
        Value low = build_(Op::GreaterEqual, {index, Value::zero(index.type())});
        Value both = build_(Op::And, {low, build_(Op::Less, {index, own.extents[d]})});
        condition = condition ? build_(Op::And, {*condition, both}) : both;
      }
      if (!condition) return then();
      If guarded{*condition, {}, {}, {}};
      Block outer = build_.open();
      then();
      guarded.then_block = build_.close(std::move(outer));
      build_.append({std::move(guarded), build_.where()});
    };
    if (!own.is_row()) {
      for (std::size_t n = 0; n < own.elements.size(); ++n)
        inside(own.elements[n], true, [&] { visit(own.elements[n], own.locals[n]); });
      return;
    }
    inside(own.place, false, [&] {
      std::vector<Value> indices = own.place;
      auto loops = [&](auto &self, std::size_t d) -> void {
        if (d == indices.size()) return visit(indices, 0);
        if (!own.moves[d]) return self(self, d + 1);
        const Type type = own.extents[d].type();
        For loop{build_.new_local(), type, Value::zero(type), own.extents[d], Value::constant(type, 1), {}, {},
                 LoopKind::Serial};
        indices[d] = Value::local(type, loop.index);
        Block outer = build_.open();
        self(self, d + 1);
        loop.body = build_.close(std::move(outer));
        build_.append({std::move(loop), build_.where()});
      };
      loops(loops, 0);
    });
  }

  const Kernel &kernel_;
  IndexForms forms_;
  std::vector<std::vector<Access>> accesses_;       // by parameter
  std::vector<std::uint32_t> shared_;               // arrays with atomic operations
  std::vector<const Let *> definition_;             // by local
  std::vector<Step> defined_at_;                    // by local
  std::vector<std::optional<OwnElements>> own_of_;  // by parameter
  std::map<const Block *, std::vector<std::uint32_t>> homes_;
  Path here_;
  Builder build_;
};

}  // namespace

Privatised privatise(const Kernel &structured, const std::vector<bool> &arrays) {
  Privatised result = Privatiser(structured, arrays).run();
  if (!is_tile_kernel(structured)) return result;
  std::vector<bool> left = arrays;
  for (std::size_t array = 0; array < left.size(); ++array) left[array] = left[array] && !result.done[array];
  Privatised tiles = privatise_tiles(result.kernel, left);
  for (std::size_t array = 0; array < left.size(); ++array) tiles.done[array] = tiles.done[array] || result.done[array];
  return tiles;
}

}  // namespace samite::passes
