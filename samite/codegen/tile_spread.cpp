// Loops over tiles that the threads' registers hold in fours of a row.
//
// Such a loop is there twice. Where the first and the last element of the tile are inside of all arrays that the loop
// touches, every element is: then nothing is asked for each of them, and what lies in fours in an array too is loaded
// and stored by fours.
#include "samite/codegen/kernel_emitter.h"
#include "samite/codegen/spelling.h"
#include "samite/ir/visit.h"

#include <algorithm>

namespace samite::codegen {

using namespace ir;

namespace {

// How what a loop's body computes of its index goes with the index.
class Courses {
 public:
  Courses(const For &loop, std::int64_t count, std::int64_t columns) : loop_(loop), count_(count), columns_(columns) {
    for_each_statement(loop.body, [&](const Stmt &stmt) {
      for_each_definition(stmt, [&](LocalId local, ScalarType) { definitions_[local] = nullptr; });
      if (auto *let = stmt.as<Let>()) definitions_[let->local] = &let->value;
    });
  }

  bool outside(const Value &value) const {
    return !value.is_local() || (value.id() != loop_.index && !definitions_.contains(value.id()));
  }

  // A place of a tile's element in an array: least at the tile's first element, greatest at its last.
  bool is_place(const Value &value) const {
    if (outside(value) || is_index(value)) return true;
    const Operation *operation = definitions_.at(value.id());
    if (!operation || operation->operands.empty()) return false;
    const Value &a = operation->operands[0];
    switch (operation->op) {
      case Op::Cast: return whole_number(operation->type) && whole_number(a.type()) && is_place(a);
      case Op::Add:
        return (outside(a) && is_place(operation->operands[1])) || (is_place(a) && outside(operation->operands[1]));
      case Op::Div: return divisor(*operation) != 0 && is_index(a);
      case Op::Rem: return divisor(*operation) != 0 && count_ % (divisor(*operation) * divided(a)) == 0;
      default: return false;
    }
  }

  // Whether such a place, or several of them, are inside of something.
  bool is_bound(const Value &value) const {
    if (outside(value)) return true;
    const Operation *operation = value.id() == loop_.index ? nullptr : definitions_.at(value.id());
    if (!operation || operation->operands.size() != 2) return false;
    const Value &a = operation->operands[0], &b = operation->operands[1];
    switch (operation->op) {
      case Op::And: return is_bound(a) && is_bound(b);
      case Op::GreaterEqual:
      case Op::Less: return is_place(a) && outside(b);
      default: return false;
    }
  }

  // Four elements from a multiple of four on lie together in an array.
  bool lie_together(const std::vector<Value> &indices) const {
    if (columns_ % 4 != 0 || !std::ranges::all_of(indices, [&](const Value &v) { return is_place(v); })) return false;
    return counts_up(indices.back()) &&
           std::none_of(indices.begin(), indices.end() - 1, [&](const Value &v) { return counts_up(v); });
  }

 private:
  static bool whole_number(const Type &type) {
    const ScalarClass c = class_of(type.element());
    return (c == ScalarClass::Signed || c == ScalarClass::Unsigned) && size_of(type.element()) >= 4;
  }
  bool is_index(const Value &value) const { return value.is_local() && value.id() == loop_.index; }

  static std::int64_t divisor(const Operation &operation) {
    return operation.operands[1].is_constant() ? operation.operands[1].as_int() : 0;
  }
  // What the index has been divided by; 0: the value is no such quotient.
  std::int64_t divided(const Value &value) const {
    if (is_index(value)) return 1;
    const auto known = value.is_local() ? definitions_.find(value.id()) : definitions_.end();
    if (known == definitions_.end() || !known->second || known->second->op != Op::Div) return count_ + 1;
    return is_index(known->second->operands[0]) ? divisor(*known->second) : count_ + 1;
  }

  // Of a place: whether it is another one for each of four elements.
  bool counts_up(const Value &value) const {
    if (is_index(value)) return true;
    if (outside(value)) return false;
    const Operation &operation = *definitions_.at(value.id());
    if (operation.op == Op::Div) return divisor(operation) % 4 != 0;
    if (operation.op == Op::Rem) return counts_up(operation.operands[0]);
    return std::ranges::any_of(operation.operands, [&](const Value &v) { return counts_up(v); });
  }

  const For &loop_;
  std::int64_t count_, columns_;
  std::map<LocalId, const Operation *> definitions_;
};

}  // namespace

// Of arrays that the loop touches in no other way: then nothing tells when it does.
void KernelEmitter::find_fours(const For &loop, const passes::Fragments &layout) {
  const Courses courses(loop, layout.rows * layout.columns, layout.columns);
  std::map<std::uint32_t, int> read, written;
  for_each_statement(loop.body, [&](const Stmt &stmt) {
    if (auto array = array_read(stmt)) ++read[*array];
    if (auto array = array_written(stmt)) ++written[*array];
  });
  auto accesses = [&](const Block &block) {
    for (const Stmt &stmt : block) {
      if (auto *store = stmt.as<Store>()) {
        const bool alone = !read[store->array] && written[store->array] == 1 && facts(store->array).unit_stride;
        if (alone && courses.lie_together(store->indices)) fours_.stores[store] = fresh("stored");
      } else if (auto *let = stmt.as<Let>(); let && let->value.op == Op::Load) {
        const bool alone = !written[let->value.array] && facts(let->value.array).unit_stride;
        if (alone && courses.lie_together(let->value.operands)) fours_.loads[&let->value] = fresh("loaded");
      }
    }
  };
  accesses(loop.body);
  for (const Stmt &stmt : loop.body) {
    auto *branch = stmt.as<If>();
    if (!branch || !branch->condition.is_local() || !courses.is_bound(branch->condition)) continue;
    fours_.bounds.insert(branch->condition.id());
    accesses(branch->then_block);
  }
  for (const Stmt &stmt : loop.body)
    if (auto *let = stmt.as<Let>()) {
      const Value value = Value::local(let->value.type, let->local);
      if (courses.is_place(value) || courses.is_bound(value)) fours_.places.push_back(&stmt);
    }
}

// Asks at the tile's first and last element whether the loop needs no bounds, and its arrays have whole units.
void KernelEmitter::ask_corners(const For &loop, const passes::Fragments &layout, const std::string &whole) {
  out_.line("bool {} = true;", whole);
  out_.line("#pragma unroll");
  out_.open("for (i32 corner = 0; corner < 2; ++corner) {{");
  out_.line("[[maybe_unused]] const {} {} = corner == 0 ? 0 : {};", scalar_name(loop.type), name(loop.index),
            layout.rows * layout.columns - 1);
  for (const Stmt *stmt : fours_.places) let(*stmt->as<Let>(), stmt->where());
  for (LocalId bound : fours_.bounds) out_.line("{0} = {0} && {1};", whole, name(bound));
  auto aligned = [&](std::uint32_t array, const std::vector<Value> &indices) {
    out_.line("{0} = {0} && (corner != 0 || whole_units(&{1}));", whole, access(array, indices, {}).element);
    for (std::size_t d = 0; layout.rows > 1 && d + 1 < indices.size(); ++d)
      out_.line("{0} = {0} && p{1}.stride[{2}] % 4 == 0;", whole, array, d);
  };
  for (const auto &[load, name] : fours_.loads) aligned(load->array, load->operands);
  for (const auto &[store, name] : fours_.stores) aligned(store->array, store->indices);
  out_.close();
}

void KernelEmitter::loop_of_rows(const For &loop, LocalArrayId tile) {
  const passes::Fragments &layout = placement_.registers.at(tile);
  if (!options_.debug) find_fours(loop, layout);
  const bool twice = !fours_.bounds.empty() || !fours_.loads.empty() || !fours_.stores.empty();
  const std::string whole = fresh("whole"), run = fresh("run");
  if (twice) {
    ask_corners(loop, layout, whole);
    out_.open("const auto {} = [&](auto all) {{", run);
    out_.line("constexpr bool everywhere = decltype(all)::value;");
  }
  out_.line("#pragma unroll");
  out_.open("for (i32 four = 0; four < Sums{}::registers; four += 4) {{", tile);
  // Else the compiler has the addresses of many elements in registers.
  if (twice) out_.line("if constexpr (!everywhere) sync_warp();");
  for (const auto &[load, name] : fours_.loads)
    out_.line("LoadOfFour<{}, {}, everywhere> {};", memory_name(load->type), constant(load->array), name);
  for (const auto &[store, name] : fours_.stores)
    out_.line("StoreOfFour<{}, everywhere> {};", memory_name(store->value.type()), name);
  out_.line("#pragma unroll");
  out_.open("for (i32 r = four; r < four + 4; ++r) {{");
  elements_of_thread(loop, tile);
  out_.close();
  out_.close();
  if (twice) {
    out_.close("};");
    out_.line("if ({0}) {1}(Whether<true>{{}}); else {1}(Whether<false>{{}});", whole, run);
  }
  fours_ = {};
}

}  // namespace samite::codegen
