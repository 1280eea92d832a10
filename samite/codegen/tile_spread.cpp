// Loops over tiles that the threads' registers hold, several elements of a row together.
//
// Such a loop is there twice. Where the first and the last element of the tile are inside of all arrays that the loop
// touches, every element is: then nothing is asked for each of them, and what lies together in an array too is loaded
// and stored together. Else each is asked for, and as many branches as there are elements take compilers long: such a
// loop over a product's sums is not written out, and they go around in their registers. Where only rows are loaded,
// changed and stored, arrays whose rows are not whole units deserve better.
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

  // So many elements from a multiple of that on lie together in an array.
  bool lie_together(const std::vector<Value> &indices, std::int64_t count) const {
    if (columns_ % count != 0 || !std::ranges::all_of(indices, [&](const Value &v) { return is_place(v); }))
      return false;
    return counts_up(indices.back(), count) &&
           std::none_of(indices.begin(), indices.end() - 1, [&](const Value &v) { return counts_up(v, count); });
  }

  // How a place moves from one of a thread's elements to another.
  enum class Course { Stays, WithRow, WithColumn, Otherwise };
  Course course(const Value &value) const {
    if (outside(value)) return Course::Stays;
    const std::int64_t rows = count_ / columns_;
    if (is_index(value)) return rows == 1 ? Course::WithColumn : Course::Otherwise;
    const Operation *operation = definitions_.at(value.id());
    if (!operation || operation->operands.empty()) return Course::Otherwise;
    const Value &a = operation->operands[0];
    switch (operation->op) {
      case Op::Cast: return whole_number(operation->type) && whole_number(a.type()) ? course(a) : Course::Otherwise;
      case Op::Add:
        return outside(a)                        ? course(operation->operands[1])
               : outside(operation->operands[1]) ? course(a)
                                                 : Course::Otherwise;
      case Op::Div: return is_index(a) && divisor(*operation) == columns_ ? Course::WithRow : Course::Otherwise;
      case Op::Rem: return is_index(a) && divisor(*operation) == columns_ ? Course::WithColumn : Course::Otherwise;
      default: return Course::Otherwise;
    }
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

  // Of a place: whether it is another one for each of so many elements.
  bool counts_up(const Value &value, std::int64_t count) const {
    if (is_index(value)) return true;
    if (outside(value)) return false;
    const Operation &operation = *definitions_.at(value.id());
    if (operation.op == Op::Div) return divisor(operation) % count != 0;
    if (operation.op == Op::Rem) return counts_up(operation.operands[0], count);
    return std::ranges::any_of(operation.operands, [&](const Value &v) { return counts_up(v, count); });
  }

  const For &loop_;
  std::int64_t count_, columns_;
  std::map<LocalId, const Operation *> definitions_;
};

}  // namespace

// Of arrays that the loop touches in no other way: then nothing tells when it does.
//
// Most are touched along their own rows and columns. Then a thread's elements are as far from its first as the layout
// says, and so is their place: one address for all, rather than one for each.
void KernelEmitter::find_together(const For &loop, const FragmentLayout &layout) {
  const Courses courses(loop, layout.rows * layout.columns, layout.columns);
  const std::int64_t count = layout.together();
  std::map<std::uint32_t, int> read, written;
  for_each_statement(loop.body, [&](const Stmt &stmt) {
    if (auto array = array_read(stmt)) ++read[*array];
    if (auto array = array_written(stmt)) ++written[*array];
  });
  auto accesses_of = [&](std::uint32_t array, const std::vector<Value> &indices, std::string_view prefix) {
    Accesses own{fresh(prefix), ""};
    for (std::size_t d = 0; d < indices.size(); ++d) {
      const Courses::Course course = courses.course(indices[d]);
      const bool last = d + 1 == indices.size();
      if (course == Courses::Course::Otherwise || last != (course == Courses::Course::WithColumn)) {
        own.row_stride.reset();
        return own;
      }
      if (course == Courses::Course::WithRow)
        *own.row_stride += fmt::format("{}p{}.stride[{}]", own.row_stride->empty() ? "" : " + ", array, d);
    }
    return own;
  };
  auto accesses = [&](const Block &block) {
    for (const Stmt &stmt : block) {
      if (auto *store = stmt.as<Store>()) {
        const bool alone = !read[store->array] && written[store->array] == 1 && facts(store->array).unit_stride;
        if (alone && courses.lie_together(store->indices, count))
          together_.stores.emplace_back(store, accesses_of(store->array, store->indices, "stored"));
      } else if (auto *let = stmt.as<Let>(); let && let->value.op == Op::Load) {
        const bool alone = !written[let->value.array] && facts(let->value.array).unit_stride;
        if (alone && courses.lie_together(let->value.operands, count))
          together_.loads.emplace_back(&let->value, accesses_of(let->value.array, let->value.operands, "loaded"));
      }
    }
  };
  accesses(loop.body);
  for (const Stmt &stmt : loop.body) {
    auto *branch = stmt.as<If>();
    if (!branch || !branch->condition.is_local() || !courses.is_bound(branch->condition)) continue;
    together_.bounds.insert(branch->condition.id());
    accesses(branch->then_block);
  }
  for (const Stmt &stmt : loop.body)
    if (auto *let = stmt.as<Let>()) {
      const Value value = Value::local(let->value.type, let->local);
      if (courses.is_place(value) || courses.is_bound(value)) together_.places.push_back(&stmt);
    }
}

// Asks at the tile's first and last element whether the loop needs no bounds, and its arrays have whole units.
void KernelEmitter::ask_corners(const For &loop, const FragmentLayout &layout, const std::string &whole) {
  out_.line("bool {} = true;", whole);
  out_.line("#pragma unroll");
  out_.open("for (i32 corner = 0; corner < 2; ++corner) {{");
  out_.line("[[maybe_unused]] const {} {} = corner == 0 ? 0 : {};", scalar_name(loop.type), name(loop.index),
            layout.rows * layout.columns - 1);
  for (const Stmt *stmt : together_.places) let(*stmt->as<Let>(), stmt->where());
  for (LocalId bound : together_.bounds) out_.line("{0} = {0} && {1};", whole, name(bound));
  auto aligned = [&](std::uint32_t array, const std::vector<Value> &indices) {
    out_.line("{0} = {0} && (corner != 0 || whole_units<{2}>(&{1}));", whole, access(array, indices, {}).element,
              layout.together());
    for (std::size_t d = 0; layout.rows > 1 && d + 1 < indices.size(); ++d)
      out_.line("{0} = {0} && p{1}.stride[{2}] % {3} == 0;", whole, array, d, layout.together());
  };
  for (const auto &[load, own] : together_.loads) aligned(load->array, load->operands);
  for (const auto &[store, own] : together_.stores) aligned(store->array, store->indices);
  out_.close();
}

void KernelEmitter::find_first_of_thread(const For &loop, LocalArrayId tile) {
  const auto declare = [&](const Accesses &own, ScalarType type, std::uint32_t array) {
    if (own.row_stride)
      out_.line("[[maybe_unused]] {}{} *{}_at = nullptr;", written_[array] ? "" : "const ", memory_name(type),
                own.name);
  };
  for (const auto &[load, own] : together_.loads) declare(own, load->type.element(), load->array);
  for (const auto &[store, own] : together_.stores) declare(own, store->value.type().element(), store->array);
  out_.open("if constexpr (everywhere) {{");
  out_.line("constexpr i32 r = 0;");
  index_of_element(loop, tile);
  fragment_loop_ = {loop.index, tile, fragments_of(tile)->columns};
  for (const Stmt *stmt : together_.places) let(*stmt->as<Let>(), stmt->where());
  fragment_loop_.reset();
  const auto find = [&](const Accesses &own, std::uint32_t array, const std::vector<Value> &indices) {
    if (own.row_stride) out_.line("{}_at = &{};", own.name, access(array, indices, {}).element);
  };
  for (const auto &[load, own] : together_.loads) find(own, load->array, load->operands);
  for (const auto &[store, own] : together_.stores) find(own, store->array, store->indices);
  out_.close();
}

std::string KernelEmitter::place_of(const Accesses &own, const std::string &element) const {
  if (!own.row_stride) return "&" + element;
  const std::string sums = fmt::format("Sums{}", fragment_loop_->sums);
  const std::string rows =
      own.row_stride->empty() ? "" : fmt::format("i64({0}::row(r) - {0}::row(0)) * ({1}) + ", sums, *own.row_stride);
  return fmt::format("everywhere ? {0}_at + ({1}{2}::column(r) - {2}::column(0)) : &{3}", own.name, rows, sums,
                     element);
}

void KernelEmitter::loop_of_pieces(const For &loop, const std::set<LocalArrayId> &tiles) {
  const LocalArrayId tile = *tiles.begin();
  const FragmentLayout &layout = *fragments_of(tile);
  const std::int64_t count = layout.together();
  const bool rows = layout.unit == FragmentLayout::Unit::rows;
  if (!options_.debug && layout.registers() > 2) find_together(loop, layout);
  const bool twice = !together_.bounds.empty() || !together_.loads.empty() || !together_.stores.empty();
  together_.rotates = twice && !rows && layout.registers() > count;
  const std::string whole = fresh("whole"), run = fresh("run");
  if (twice) {
    ask_corners(loop, layout, whole);
    out_.open("const auto {} = [&](auto all) {{", run);
    out_.line("constexpr bool everywhere = decltype(all)::value;");
    find_first_of_thread(loop, tile);
  }
  if (together_.rotates)
    out_.line("#pragma unroll (everywhere ? Sums{}::registers : 1)", tile);
  else
    out_.line("#pragma unroll");
  out_.open("for (i32 first = 0; first < Sums{}::registers; first += {}) {{", tile, count);
  // Else the compiler has the addresses of many elements in registers.
  if (twice && !together_.rotates) out_.line("if constexpr (!everywhere) sync_warp();");
  for (const auto &[load, own] : together_.loads)
    out_.line("LoadTogether<{}, {}, {}, everywhere> {};", memory_name(load->type), count, constant(load->array),
              own.name);
  for (const auto &[store, own] : together_.stores)
    out_.line("StoreTogether<{}, {}, everywhere> {};", memory_name(store->value.type()), count, own.name);
  out_.line("#pragma unroll");
  out_.open("for (i32 r = first; r < first + {}; ++r) {{", count);
  elements_of_thread(loop, tile);
  out_.close();
  if (together_.rotates)
    for (const LocalArrayId own : tiles)
      out_.line("if constexpr (!everywhere) rotate<{}>({});", count, array_name(own));
  out_.close();
  if (twice) {
    out_.close("};");
    out_.line("if ({0}) {1}(Whether<true>{{}}); else {1}(Whether<false>{{}});", whole, run);
  }
  together_ = {};
}

}  // namespace samite::codegen
