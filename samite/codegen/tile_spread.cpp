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
#include <ranges>

namespace samite::codegen {

using namespace ir;

namespace {

// How what a loop's body computes of its index goes with the index.
class Courses {
 public:
  Courses(const passes::IndexForms &forms, const For &loop, std::int64_t count, std::int64_t columns)
      : forms_(forms), loop_(loop), index_(passes::Symbol::local(loop.index)), count_(count), columns_(columns) {
    for_each_statement(loop.body, [&](const Stmt &stmt) {
      for_each_definition(stmt, [&](LocalId local, Type) { inside_.insert(local); });
    });
    const auto known = [&](const Value &value) { return is_known(value); };
    for (const Stmt &stmt : loop.body)
      if (auto *let = stmt.as<Let>();
          let && info(let->value.op).pure && std::ranges::all_of(let->value.operands, known))
        definitions_[let->local] = &let->value;
  }

  // A place of a tile's element in an array: least at the tile's first element, greatest at its last.
  bool is_place(const Value &value) const {
    return is_integer(value.type()) && is_known(value) && goes_up(forms_.moving(value, loop_));
  }

  // Whether such a place, or several of them, are inside of something.
  bool is_bound(const Value &value) const {
    if (outside(value)) return true;
    const auto known = definitions_.find(value.id());
    if (known == definitions_.end() || known->second->operands.size() != 2) return false;
    const Value &a = known->second->operands[0], &b = known->second->operands[1];
    switch (known->second->op) {
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
    return growth(indices.back(), count) == 1 &&
           std::all_of(indices.begin(), indices.end() - 1, [&](const Value &v) { return growth(v, count) == 0; });
  }

  // The statements that compute these places and bounds, in order.
  std::vector<const Stmt *> statements(std::set<LocalId> needed) const {
    std::vector<const Stmt *> found;
    for (const Stmt &stmt : std::views::reverse(loop_.body)) {
      const Let *let = stmt.as<Let>();
      if (!let || !needed.contains(let->local)) continue;
      found.insert(found.begin(), &stmt);
      for (const Value &operand : let->value.operands)
        if (operand.is_local()) needed.insert(operand.id());
    }
    return found;
  }

  // How a place moves from one of a thread's elements to another.
  enum class Course { Stays, WithRow, WithColumn, Otherwise };
  Course course(const Value &value) const {
    const Affine moving = forms_.moving(value, loop_), index = index_;
    if (moving == Affine(0)) return Course::Stays;
    if (moving == remainder(index, columns_) || (moving == index && columns_ == count_)) return Course::WithColumn;
    return moving == quotient(index, columns_) ? Course::WithRow : Course::Otherwise;
  }

 private:
  using Affine = passes::Affine;
  using Kind = passes::AffineTerm::Kind;

  bool outside(const Value &value) const { return !value.is_local() || !inside_.contains(value.id()); }

  bool is_known(const Value &value) const {
    return outside(value) || value.id() == loop_.index || definitions_.contains(value.id());
  }

  // What the index is divided by, where the form is that quotient; else nothing.
  std::optional<std::int64_t> divided(const Affine &form) const {
    if (form == Affine(index_)) return 1;
    if (form.terms().size() != 1 || form.terms()[0].kind != Kind::Quotient) return std::nullopt;
    const std::int64_t by = form.terms()[0].by;
    return form == quotient(index_, by) ? std::optional(by) : std::nullopt;
  }

  bool goes_up(const Affine &form) const {
    return form.known() && std::ranges::all_of(form.terms(), [&](const passes::AffineTerm &term) {
             return term.coefficient > 0 && goes_up(term);
           });
  }
  bool goes_up(const passes::AffineTerm &term) const {
    if (term.kind != Kind::Remainder) return divided(one_of(term)).has_value();
    const auto by = divided((*term.operands)[0]);
    return by && count_ % (*by * term.by) == 0;
  }

  // By how much a place grows from each of so many elements to the next, where these begin at a multiple of that.
  std::optional<std::int64_t> growth(const Value &value, std::int64_t count) const {
    std::int64_t sum = 0;
    const Affine moving = forms_.moving(value, loop_);
    if (!moving.known()) return std::nullopt;
    for (const passes::AffineTerm &term : moving.terms()) {
      const auto by = term.kind == Kind::Remainder ? divided((*term.operands)[0]) : divided(one_of(term));
      const bool whole = term.kind != Kind::Remainder || term.by % count == 0;
      if (!by || (*by == 1 ? !whole : *by % count != 0)) return std::nullopt;
      if (*by == 1) sum += term.coefficient;
    }
    return sum;
  }
  static Affine one_of(passes::AffineTerm term) {
    term.coefficient = 1;
    return term;
  }

  const passes::IndexForms &forms_;
  const For &loop_;
  const passes::Symbol index_;
  std::int64_t count_, columns_;
  std::set<LocalId> inside_;
  std::map<LocalId, const Operation *> definitions_;  // of what is computed of the index, and nothing else inside
};

}  // namespace

// Of arrays that the loop touches in no other way: then nothing tells when it does.
//
// Most are touched along their own rows and columns. Then a thread's elements are as far from its first as the layout
// says, and so is their place: one address for all, rather than one for each.
void KernelEmitter::find_together(const For &loop, const FragmentLayout &layout) {
  const Courses courses(index_forms_, loop, layout.rows * layout.columns, layout.columns);
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
  std::set<LocalId> needed = together_.bounds;
  const auto need = [&](const std::vector<Value> &indices) {
    for (const Value &index : indices)
      if (index.is_local()) needed.insert(index.id());
  };
  for (const auto &[load, own] : together_.loads) need(load->operands);
  for (const auto &[store, own] : together_.stores) need(store->indices);
  together_.places = courses.statements(std::move(needed));
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
