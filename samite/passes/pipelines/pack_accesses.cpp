#include "samite/passes/pipelines/pack_accesses.h"

#include "samite/ir/load_ahead.h"
#include "samite/ir/visit.h"
#include "samite/passes/analysis/index_forms.h"
#include "samite/passes/simplify/rename.h"
#include "samite/passes/simplify/rewrite.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

namespace samite::passes {
namespace {

using namespace ir;

constexpr std::int64_t widest_access_bytes = 16, fetched_bytes = 256;

// The writes and other uses of arrays.
struct Uses {
  std::vector<bool> written, read;  // by parameter
  std::vector<bool> stored_only;    // written only by stores

  explicit Uses(const Kernel &kernel)
      : written(kernel.parameters.size()), read(kernel.parameters.size()), stored_only(kernel.parameters.size(), true) {
    for_each_statement(kernel.body, [&](const Stmt &stmt) {
      if (const auto array = array_written(stmt)) written[*array] = true;
      if (const auto array = array_written(stmt); array && !stmt.as<Store>()) stored_only[*array] = false;
      if (const auto array = array_read(stmt); array && !stmt.as<Accumulate>()) read[*array] = true;
    });
  }
};

class Packer {
 public:
  Packer(const Kernel &kernel, const FactsOfArrays &arrays)
      : arrays_(arrays), forms_(kernel), uses_(kernel), next_local_(kernel.local_count) {}

  Block packed(const Block &block) {
    Block inner;
    for (const Stmt &stmt : block) inner.push_back(with_packed_blocks(stmt));
    return packed_accesses(packed_copies(inner));
  }

  // Whether a load along the loop can be packed.
  bool goes_along_row(const For &loop) const {
    return std::ranges::any_of(loop.body, [&](const Stmt &stmt) {
      const Let *let = stmt.as<Let>();
      if (!let || !can_load(let->value)) return false;
      const std::vector<Value> &indices = let->value.operands;
      if (forms_.slope(indices.back(), loop) != 1) return false;
      return std::all_of(indices.begin(), indices.end() - 1, [&](const Value &index) {
        return forms_.slope(index, loop) == 0 || forms_.same_in(index, loop);
      });
    });
  }

  LocalId local_count() const { return next_local_; }

 private:
  Stmt with_packed_blocks(const Stmt &stmt) {
    if (const For *loop = stmt.as<For>()) {
      For copy = *loop;
      loops_.push_back(loop);
      copy.body = packed(loop->body);
      loops_.pop_back();
      return {std::move(copy), stmt.where()};
    }
    if (const If *branch = stmt.as<If>()) {
      If copy = *branch;
      copy.then_block = packed(branch->then_block);
      copy.else_block = packed(branch->else_block);
      return {std::move(copy), stmt.where()};
    }
    return stmt;
  }

  bool can_load(const Operation &operation) const {
    if (operation.op != Op::Load || elements_ahead(operation)) return false;
    const ArrayFacts facts = facts_of(arrays_, operation.array);
    return facts.rows_in_units() && facts.unaliased && !uses_.written[operation.array] &&
           size_of(operation.type.element()) <= 8;
  }
  bool can_add(const Accumulate &accumulate) const {
    return accumulate.atomic && facts_of(arrays_, accumulate.array).rows_in_units() && !uses_.read[accumulate.array] &&
           accumulate.value.type() == Type(ScalarType::Float32);
  }

  // The stored elements are not read, under any name.
  bool can_store(std::uint32_t array) const {
    if (!facts_of(arrays_, array).rows_in_units() || uses_.read[array] || !uses_.stored_only[array]) return false;
    for (std::uint32_t other = 0; other < uses_.read.size(); ++other)
      if (uses_.read[other] && !facts_of(arrays_, other).unaliased) return false;
    return true;
  }

  // An access, and its element's offset in the row.
  struct Access {
    std::size_t statement;
    std::int64_t at;
    Value index;
  };
  enum class Kind : std::uint8_t { load, add, store };
  struct Row {
    std::uint32_t array;
    std::vector<Value> before;  // the indices except for the last one
    Affine rest;                // of the last index, without its constant
    Kind kind;
    std::vector<Access> accesses;
    bool again = false;  // an element is accessed twice
  };

  void note(std::vector<Row> &rows, std::uint32_t array, const std::vector<Value> &indices, Kind kind,
            std::size_t statement) const {
    const Affine form = forms_(indices.back()).form;
    if (!form.known()) return;
    const std::vector<Value> before(indices.begin(), indices.end() - 1);
    const Affine rest = form - form.constant();
    auto row = std::ranges::find_if(rows, [&](const Row &row) {
      return row.array == array && row.kind == kind && row.before == before && row.rest == rest;
    });
    if (row == rows.end()) row = rows.insert(rows.end(), {array, before, rest, kind, {}});
    const bool again = std::ranges::any_of(row->accesses, [&](const Access &a) { return a.at == form.constant(); });
    row->again = row->again || again;
    if (!again) row->accesses.push_back({statement, form.constant(), indices.back()});
  }

  // A copy of one element, from a load ahead to the store of its result.
  struct Copied {
    std::size_t load, store;
  };

  // Combines copies of neighbours to neighbours.
  Block packed_copies(const Block &block) {
    std::map<LocalId, std::size_t> loads;
    std::vector<Copied> copies;
    for (std::size_t s = 0; s < block.size(); ++s) {
      const LocalStore *store = block[s].as<LocalStore>();
      if (const Let *let = block[s].as<Let>(); let && elements_ahead(let->value) == 1)
        loads.emplace(let->local, s);
      else if (store && store->value.is_local() && loads.contains(store->value.id()))
        copies.push_back({loads.at(store->value.id()), s});
    }
    std::set<std::size_t> gone;
    std::map<std::size_t, int> counts;  // of loads
    for (std::size_t i = 0; i < copies.size();) {
      int count = 4;
      for (; count > 1; count /= 2)
        if (together(block, std::span(copies).subspan(i), count)) break;
      if (count > 1) counts[copies[i].load] = count;
      for (int k = 1; k < count; ++k) {
        const Copied &copy = copies[i + static_cast<std::size_t>(k)];
        gone.insert(copy.load);
        gone.insert(copy.store);
      }
      i += static_cast<std::size_t>(std::max(count, 1));
    }
    Block made;
    for (std::size_t s = 0; s < block.size(); ++s) {
      if (gone.contains(s)) continue;
      const auto count = counts.find(s);
      if (count == counts.end()) {
        made.push_back(block[s]);
        continue;
      }
      Let let = *block[s].as<Let>();
      let.value = load_ahead(std::move(let.value), count->second);
      made.emplace_back(std::move(let), block[s].where());
    }
    return made;
  }

  bool together(const Block &block, std::span<const Copied> copies, int count) const {
    if (copies.size() < static_cast<std::size_t>(count)) return false;
    const Let &first = *block[copies[0].load].as<Let>();
    const LocalStore &to = *block[copies[0].store].as<LocalStore>();
    if (!may_be_ahead(first.value.type.element(), count) || !facts_of(arrays_, first.value.array).rows_in_units())
      return false;
    const std::vector<Value> &indices = first.value.operands;
    if (forms_.divisor(indices.back()) % count != 0 || forms_.divisor(to.index) % count != 0) return false;
    for (int k = 1; k < count; ++k) {
      const Let &let = *block[copies[static_cast<std::size_t>(k)].load].as<Let>();
      const LocalStore &store = *block[copies[static_cast<std::size_t>(k)].store].as<LocalStore>();
      if (let.value.array != first.value.array || store.array != to.array ||
          !std::equal(indices.begin(), indices.end() - 1, let.value.operands.begin()) ||
          !is_further(let.value.operands.back(), indices.back(), k) || !is_further(store.index, to.index, k))
        return false;
    }
    return true;
  }
  bool is_further(const Value &index, const Value &than, int by) const {
    const Affine distance = forms_(index).form - forms_(than).form;
    return distance.is_constant() && distance.constant() == by;
  }

  // The replacement of a statement; several statements of a pack share one.
  struct Replaced {
    std::map<std::size_t, Block> by;
    std::set<std::size_t> gone;
  };

  Block packed_accesses(const Block &block) {
    std::vector<Row> rows;
    for (std::size_t s = 0; s < block.size(); ++s) {
      if (const Let *let = block[s].as<Let>(); let && can_load(let->value))
        note(rows, let->value.array, let->value.operands, Kind::load, s);
      else if (const Accumulate *add = block[s].as<Accumulate>(); add && can_add(*add))
        note(rows, add->array, add->indices, Kind::add, s);
      else if (const Store *store = block[s].as<Store>(); store && can_store(store->array))
        note(rows, store->array, store->indices, Kind::store, s);
    }
    Replaced replaced;
    for (Row &row : rows)
      if (row.kind != Kind::store || in_any_order(block, row, rows)) pack(block, row, replaced);
    Block made;
    for (std::size_t s = 0; s < block.size(); ++s) {
      if (const auto by = replaced.by.find(s); by != replaced.by.end())
        made.insert(made.end(), by->second.begin(), by->second.end());
      if (!replaced.gone.contains(s)) made.push_back(block[s]);
    }
    return made;
  }

  // Whether no other store of the block is to an element of the row, so that its stores may be reordered.
  bool in_any_order(const Block &block, const Row &row, const std::vector<Row> &rows) const {
    if (row.again) return false;
    std::size_t known = 0, all = 0;
    for (const Row &other : rows) {
      if (other.array != row.array) continue;
      known += other.accesses.size();
      if (&other == &row) continue;
      bool apart = false;
      for (std::size_t d = 0; d < row.before.size(); ++d) {
        const Affine distance = forms_(row.before[d]).form - forms_(other.before[d]).form;
        apart = apart || (distance.is_constant() && distance.constant() != 0);
      }
      if (other.again || !apart) return false;
    }
    // Others are in nested blocks, or at unknown indices.
    for_each_statement(block, [&](const Stmt &stmt) {
      const Store *store = stmt.as<Store>();
      all += store && store->array == row.array;
    });
    return known == all;
  }

  void pack(const Block &block, Row &row, Replaced &replaced) {
    std::ranges::sort(row.accesses, {}, &Access::at);
    const Stmt &any = block[row.accesses[0].statement];
    const ScalarType type = row.kind == Kind::load    ? any.as<Let>()->value.type.element()
                            : row.kind == Kind::store ? any.as<Store>()->value.type().element()
                                                      : ScalarType::Float32;
    if (widest_access_bytes % static_cast<std::int64_t>(size_of(type)) != 0 || type == ScalarType::Bool) return;
    const std::int64_t most = widest_access_bytes / static_cast<std::int64_t>(size_of(type));
    for (std::size_t i = 0; i < row.accesses.size();) {
      std::int64_t count = std::min<std::int64_t>(most, 8);
      for (; count > 1; count /= 2)
        if (together(row.accesses, i, count)) break;
      if (count > 1) {
        const std::span<const Access> accesses = std::span(row.accesses).subspan(i, static_cast<std::size_t>(count));
        row.kind == Kind::load ? pack_loads(block, row, accesses, replaced)
                               : pack_values(block, row, accesses, replaced);
      }
      i += static_cast<std::size_t>(count);
    }
  }

  bool together(const std::vector<Access> &accesses, std::size_t first, std::int64_t count) const {
    if (first + static_cast<std::size_t>(count) > accesses.size()) return false;
    if (forms_.divisor(accesses[first].index) % count != 0) return false;
    for (std::int64_t k = 1; k < count; ++k)
      if (accesses[first + static_cast<std::size_t>(k)].at != accesses[first].at + k) return false;
    return true;
  }

  // Whether an enclosing loop soon loads the following elements of the row, near enough for memory to send both at
  // once.
  bool goes_on_in_row(const Row &row, const Value &index, std::size_t element_bytes) const {
    return std::ranges::any_of(loops_, [&](const For *loop) {
      if (loop->kind != LoopKind::Serial || !loop->step.is_constant()) return false;
      const std::optional<std::int64_t> slope = forms_.slope(index, *loop);
      const std::int64_t bytes = slope.value_or(0) * loop->step.as_int() * static_cast<std::int64_t>(element_bytes);
      return bytes > 0 && bytes < fetched_bytes &&
             std::ranges::all_of(
                 row.before,
                 [&](const Value &before) {
                   return forms_.slope(before, *loop) == 0 || forms_.same_in(before, *loop);
                 });
    });
  }

  // At the first of the loads, where the index of the first element may not be computed yet.
  void pack_loads(const Block &block, const Row &row, std::span<const Access> accesses, Replaced &replaced) {
    const Access &earliest = *std::ranges::min_element(accesses, {}, &Access::statement);
    const SourceLocation where = block[earliest.statement].where();
    const Type type = block[earliest.statement].as<Let>()->value.type;
    const bool whole = static_cast<std::int64_t>(accesses.size() * size_of(type.element())) == widest_access_bytes;
    LoadPack pack{{},
                  type,
                  row.array,
                  row.before,
                  whole && goes_on_in_row(row, earliest.index, size_of(type.element())) ? LoadPack::How::row
                                                                                        : LoadPack::How::constant};
    Block made;
    Value index = earliest.index;
    if (const std::int64_t back = earliest.at - accesses[0].at; back > 0) {
      made.emplace_back(Let{next_local_, {Op::Sub, index.type(), {index, Value::constant(index.type(), back)}}}, where);
      index = Value::local(index.type(), next_local_++);
    }
    pack.indices.push_back(index);
    for (const Access &access : accesses) {
      pack.locals.push_back(block[access.statement].as<Let>()->local);
      replaced.gone.insert(access.statement);
    }
    made.emplace_back(std::move(pack), where);
    replaced.by[earliest.statement] = std::move(made);
  }

  // At the last of the additions or stores, where all values are available.
  void pack_values(const Block &block, const Row &row, std::span<const Access> accesses, Replaced &replaced) const {
    const Access &latest = *std::ranges::max_element(accesses, {}, &Access::statement);
    const bool stores = row.kind == Kind::store;
    StorePack pack{row.array, row.before, {}, stores ? StorePack::How::store : StorePack::How::atomic_add};
    pack.indices.push_back(accesses[0].index);
    for (const Access &access : accesses) {
      const Stmt &stmt = block[access.statement];
      pack.values.push_back(stores ? stmt.as<Store>()->value : stmt.as<Accumulate>()->value);
      replaced.gone.insert(access.statement);
    }
    Block made;
    made.emplace_back(std::move(pack), block[latest.statement].where());
    replaced.by[latest.statement] = std::move(made);
  }

  const FactsOfArrays &arrays_;
  const IndexForms forms_;
  const Uses uses_;
  LocalId next_local_;
  std::vector<const For *> loops_;  // enclosing, the outermost first
};

// Whether all statements only compute: then their order relative to other iterations is irrelevant.
bool only_computes(const Block &block) {
  return std::ranges::all_of(block, [](const Stmt &stmt) {
    if (const Let *let = stmt.as<Let>()) return info(let->value.op).typing != Typing::Atomic;
    return stmt.as<LocalStore>() != nullptr;
  });
}

class Unroller {
 public:
  Unroller(Kernel &kernel, const FactsOfArrays &arrays) : kernel_(kernel), packer_(kernel, arrays) {}

  Block unrolled(const Block &block) {
    return rewrite(block, [&](const Stmt &stmt) -> Stmt {
      const For *loop = stmt.as<For>();
      return loop ? unrolled(*loop, stmt) : stmt;
    });
  }

 private:
  static constexpr std::size_t most_statements = 640;
  static constexpr std::int64_t most_copies = 16;

  Stmt unrolled(const For &loop, const Stmt &stmt) {
    // All of a short loop, so that the loads of several packs are in flight together.
    std::int64_t copies = 4;
    if (loop.end.is_constant() && loop.end.as_int() <= most_copies &&
        loop.body.size() * static_cast<std::size_t>(loop.end.as_int()) <= most_statements)
      copies = loop.end.as_int();
    const bool counted = loop.kind == LoopKind::Serial && loop.begin.is_constant() && loop.end.is_constant() &&
                         loop.step.is_constant() && loop.begin.as_int() == 0 && loop.step.as_int() == 1 &&
                         loop.carried.empty();
    if (!counted || loop.end.as_int() % 4 != 0 || loop.end.as_int() < 4) return stmt;
    if (loop.body.size() * static_cast<std::size_t>(copies) > most_statements || !only_computes(loop.body) ||
        !packer_.goes_along_row(loop))
      return stmt;
    For made = loop;
    made.index = kernel_.local_count++;
    made.end = Value::constant(loop.type, loop.end.as_int() / copies);
    const Value index = Value::local(loop.type, made.index);
    made.body.clear();
    const auto let = [&](Op op, const Value &a, std::int64_t b) {
      const LocalId local = kernel_.local_count++;
      made.body.emplace_back(Let{local, {op, loop.type, {a, Value::constant(loop.type, b)}}}, stmt.where());
      return Value::local(loop.type, local);
    };
    const Value first = let(Op::Mul, index, copies);
    for (std::int64_t k = 0; k < copies; ++k) {
      const Value at = k == 0 ? first : let(Op::Add, first, k);
      std::unordered_map<LocalId, LocalId> names;
      const Block copy =
          renamed(loop.body, {[&](const Value &value) {
                                if (!value.is_local()) return value;
                                if (value.id() == loop.index) return at;
                                const auto found = names.find(value.id());
                                return found == names.end() ? value : Value::local(value.type(), found->second);
                              },
                              [&](LocalId local) { return names[local] = kernel_.local_count++; },
                              [](LocalArrayId array) { return array; }});
      made.body.insert(made.body.end(), copy.begin(), copy.end());
    }
    return {std::move(made), stmt.where()};
  }

  Kernel &kernel_;
  const Packer packer_;
};

}  // namespace

Kernel pack_accesses(Kernel kernel, const FactsOfArrays &arrays) {
  Unroller unroller(kernel, arrays);
  kernel.body = unroller.unrolled(kernel.body);
  Packer packer(kernel, arrays);
  kernel.body = packer.packed(kernel.body);
  kernel.local_count = packer.local_count();
  return kernel;
}

}  // namespace samite::passes
