#include "samite/passes/analysis/grouped_elements.h"

#include "samite/ir/visit.h"
#include "samite/passes/analysis/first_iteration.h"

#include <algorithm>
#include <map>
#include <ranges>

namespace samite::passes {
namespace {

using namespace ir;

// The dependence of values in a loop's body on its index.
class Courses {
 public:
  Courses(const IndexForms &forms, const For &loop, std::int64_t count, std::int64_t columns)
      : forms_(forms), loop_(loop), index_(Symbol::local(loop.index)), count_(count), columns_(columns) {
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

  bool outside(const Value &value) const { return !value.is_local() || !inside_.contains(value.id()); }

  // Whether it bounds one or several such places.
  bool is_bound(const Value &value) const {
    return all_compare(value, [&](Op op, const Value &a, const Value &b) {
      return (op == Op::GreaterEqual || op == Op::Less) && is_place(a) && outside(b);
    });
  }

  // Whether it compares sums of multiples of the row and the column: if it holds at the tile's corners, it holds
  // everywhere.
  bool is_bound_of_corners(const Value &value) const {
    return all_compare(value, [&](Op op, const Value &a, const Value &b) {
      const bool orders = op == Op::GreaterEqual || op == Op::Greater || op == Op::LessEqual || op == Op::Less;
      return orders && goes_with_rows_and_columns(a) && goes_with_rows_and_columns(b);
    });
  }

  // Whether a condition is the same for each aligned group of this many elements. `divisor` is that of a value at the
  // tile's first element, `is_multiple` is called for values outside of the loop.
  template <class Divisor, class Multiple>
  bool is_same_for(const Value &condition, std::int64_t count, const Divisor &divisor,
                   const Multiple &is_multiple) const {
    if (columns_ % count != 0) return false;
    return all_compare(condition, [&](Op op, const Value &a, const Value &b) {
      if ((op != Op::GreaterEqual && op != Op::Less) || !is_place(a) || !outside(b)) return false;
      const Course along = course(a);
      if (along == Course::Stays || along == Course::WithRow) return true;
      return along == Course::WithColumn && divisor(a) % count == 0 && is_multiple(b);
    });
  }

  // Whether each aligned group of this many elements is contiguous in an array.
  bool lie_together(const std::vector<Value> &indices, std::int64_t count) const {
    if (columns_ % count != 0 || !std::ranges::all_of(indices, [&](const Value &v) { return is_place(v); }))
      return false;
    return growth(indices.back(), count) == 1 &&
           std::all_of(indices.begin(), indices.end() - 1, [&](const Value &v) { return growth(v, count) == 0; });
  }

  // The movement of a place from one of a thread's elements to another.
  enum class Course { Stays, WithRow, WithColumn, Otherwise };
  Course course(const Value &value) const {
    const Affine moving = forms_.moving(value, loop_), index = index_;
    if (moving == Affine(0)) return Course::Stays;
    if (moving == remainder(index, columns_) || (moving == index && columns_ == count_)) return Course::WithColumn;
    return moving == quotient(index, columns_) ? Course::WithRow : Course::Otherwise;
  }

 private:
  using Kind = AffineTerm::Kind;

  // Whether a condition is a conjunction of such comparisons.
  template <class Compares>
  bool all_compare(const Value &condition, const Compares &compares) const {
    if (outside(condition)) return true;
    const auto known = definitions_.find(condition.id());
    if (known == definitions_.end() || known->second->operands.size() != 2) return false;
    const Value &a = known->second->operands[0], &b = known->second->operands[1];
    if (known->second->op == Op::And) return all_compare(a, compares) && all_compare(b, compares);
    return compares(known->second->op, a, b);
  }

  bool is_known(const Value &value) const {
    return outside(value) || value.id() == loop_.index || definitions_.contains(value.id());
  }

  // The index's divisor, if the form is that quotient; else empty.
  std::optional<std::int64_t> divided(const Affine &form) const {
    if (form == Affine(index_)) return 1;
    if (form.terms().size() != 1 || form.terms()[0].kind != Kind::Quotient) return std::nullopt;
    const std::int64_t by = form.terms()[0].by;
    return form == quotient(index_, by) ? std::optional(by) : std::nullopt;
  }

  bool goes_up(const Affine &form) const {
    return form.known() && std::ranges::all_of(form.terms(), [&](const AffineTerm &term) {
             return term.coefficient > 0 && goes_up(term);
           });
  }
  bool goes_up(const AffineTerm &term) const {
    if (term.kind != Kind::Remainder) return divided(one_of(term)).has_value();
    const auto by = divided((*term.operands)[0]);
    return by && count_ % (*by * term.by) == 0;
  }

  bool goes_with_rows_and_columns(const Value &value) const {
    if (!is_integer(value.type()) || !is_known(value)) return false;
    const Affine form = forms_.moving(value, loop_), index = index_;
    return form.known() && std::ranges::all_of(form.terms(), [&](const AffineTerm &term) {
             if (term.kind == Kind::Remainder) return term.by == columns_ && (*term.operands)[0] == index;
             return divided(one_of(term)) == columns_;
           });
  }

  // The increment of a place within each aligned group of this many elements.
  std::optional<std::int64_t> growth(const Value &value, std::int64_t count) const {
    std::int64_t sum = 0;
    const Affine moving = forms_.moving(value, loop_);
    if (!moving.known()) return std::nullopt;
    for (const AffineTerm &term : moving.terms()) {
      const auto by = term.kind == Kind::Remainder ? divided((*term.operands)[0]) : divided(one_of(term));
      const bool whole = term.kind != Kind::Remainder || term.by % count == 0;
      if (!by || (*by == 1 ? !whole : *by % count != 0)) return std::nullopt;
      if (*by == 1) sum += term.coefficient;
    }
    return sum;
  }
  static Affine one_of(AffineTerm term) {
    term.coefficient = 1;
    return term;
  }

  const IndexForms &forms_;
  const For &loop_;
  const Symbol index_;
  std::int64_t count_, columns_;
  std::set<LocalId> inside_;
  std::map<LocalId, const Operation *> definitions_;  // of values computed only from the index inside the loop
};

// The statements of a loop that compute the places of its grouped accesses, and its bounds, in order.
std::vector<const Stmt *> statements_for_places(const GroupedElements &grouped, const For &loop) {
  std::set<LocalId> needed = grouped.bounds;
  const auto need = [&](const std::vector<Value> &indices) {
    for (const Value &index : indices)
      if (index.is_local()) needed.insert(index.id());
  };
  for (const auto &load : grouped.loads) need(load.access->operands);
  for (const auto &store : grouped.stores) need(store.access->indices);
  for (const auto &addition : grouped.additions) need(addition.access->indices);
  std::vector<const Stmt *> found;
  for (const Stmt &stmt : std::views::reverse(loop.body)) {
    const Let *let = stmt.as<Let>();
    if (!let || !needed.contains(let->local)) continue;
    found.insert(found.begin(), &stmt);
    need(let->value.operands);
  }
  return found;
}

// Whether each thread has all of its elements, with this many adjacent fragments.
bool is_whole(const FragmentLayout &layout, int pieces = 1) {
  const FragmentPiece piece = piece_of(layout.unit);
  return layout.rows % (piece.rows * layout.down) == 0 &&
         layout.columns % (pieces * piece.columns * layout.across) == 0;
}

// Whether the hardware adds this many neighbours at once, each atomically.
bool is_added_together(ScalarType type, std::int64_t count) {
  const bool halves = is_floating(type) && size_of(type) == 2;
  return (type == ScalarType::Float32 || halves) && (count == 2 || count == 4);
}

// A loop over a product's sums is emitted once if a thread has at most this many packs, each of which is a branch.
constexpr std::int64_t most_packs = 16;

// The operand that a loop's statement rounds from f32 to 16 bits.
std::optional<Value> before_rounding(const Value &value, const Block &body) {
  const ScalarType type = value.type().element();
  if (!value.is_local() || !is_floating(type) || size_of(type) != 2) return std::nullopt;
  for (const Stmt &stmt : body) {
    const auto *let = stmt.as<Let>();
    if (!let || let->local != value.id() || let->value.op != Op::Cast) continue;
    const Value &from = let->value.operands[0];
    if (from.type() == Type(ScalarType::Float32)) return from;
  }
  return std::nullopt;
}

bool goes_in_quads(const FragmentLayout &layout, ScalarType type) {
  const FragmentPiece piece = piece_of(layout.unit);
  return piece.columns == 8 && piece.registers == 4 && size_of(type) == 2 && is_floating(type) && is_whole(layout, 4);
}

// The rank of each array with such accesses.
std::map<std::uint32_t, std::size_t> ranks_of(const GroupedElements &found) {
  std::map<std::uint32_t, std::size_t> ranks;
  for (const auto &own : found.loads) ranks[own.access->array] = own.access->operands.size();
  for (const auto &own : found.stores) ranks[own.access->array] = own.access->indices.size();
  for (const auto &own : found.additions) ranks[own.access->array] = own.access->indices.size();
  return ranks;
}

// Whether each group is inside its bounds as a whole, or outside.
bool goes_in_packs(const GroupedElements &found, const IndexForms &forms, const Courses &courses,
                   const FirstIteration &first_iteration, std::int64_t count, const FactsOfArrays &arrays) {
  const auto in_units = [](const auto &all) {
    return std::ranges::all_of(all, [](const auto &own) { return own.in_units && !own.in_quads; });
  };
  // Non-atomic additions wait for others.
  const bool at_once = std::ranges::all_of(found.additions, [](const auto &own) { return own.access->atomic; });
  if (count == 1 || found.bounds.empty() || found.all_corners || !at_once || !in_units(found.loads) ||
      !in_units(found.stores) || !in_units(found.additions))
    return false;
  const std::map<std::uint32_t, std::size_t> ranks = ranks_of(found);
  const auto is_multiple = [&](const Value &value) {
    if (value.is_constant()) return value.as_int() % count == 0;
    const IndexForm known = forms(value);
    if (known.divisor % count == 0) return true;
    // Low bits suffice: divisibility by a power of two is preserved by wrapping.
    constexpr int enough_bits = 8;
    if (known.bits < enough_bits) return false;
    return std::ranges::any_of(ranks, [&](const auto &known_rank) {
      const auto [array, rank] = known_rank;
      const Affine row_length = Symbol::extent(array, static_cast<std::int32_t>(rank) - 1);
      return facts_of(arrays, array).row_divisor % count == 0 && known.low_form() == row_length;
    });
  };
  return std::ranges::all_of(found.bounds, [&](LocalId bound) {
    return courses.is_same_for(
        Value::local(ScalarType::Bool, bound), count,
        [&](const Value &value) { return first_iteration.divisor(value); }, is_multiple);
  });
}

// Finds which of a loop's accesses a thread makes for several elements at once.
class Grouping {
 public:
  Grouping(const IndexForms &forms, const For &loop, const FragmentLayout &layout, const FactsOfArrays &arrays)
      : forms_(forms),
        loop_(loop),
        layout_(layout),
        arrays_(arrays),
        courses_(forms, loop, layout.rows * layout.columns, layout.columns),
        first_iteration_(forms, loop),
        count_(layout.together()) {
    for_each_statement(loop.body, [&](const Stmt &stmt) {
      if (auto array = array_read(stmt)) ++read_[*array];
      if (auto array = array_written(stmt)) ++written_[*array];
    });
  }

  GroupedElements find() {
    add_accesses(loop_.body, {});
    const bool has_accesses = !found_.empty();
    const bool has_bounds = add_bounds();
    found_.places = statements_for_places(found_, loop_);
    const bool in_fragments = layout_.unit != FragmentLayout::Unit::rows, any = has_accesses || has_bounds;
    found_.in_packs = any && (!in_fragments || layout_.registers() <= most_packs * count_) &&
                      goes_in_packs(found_, forms_, courses_, first_iteration_, count_, arrays_);
    found_.once = found_.in_packs && in_fragments;
    found_.rotates = any && in_fragments && layout_.registers() > count_ && !found_.once;
    return std::move(found_);
  }

 private:
  // The dimensions along which a place moves with the tile's rows; empty if it moves otherwise.
  std::optional<std::vector<std::size_t>> rows(const std::vector<Value> &indices) const {
    std::vector<std::size_t> dimensions;
    for (std::size_t d = 0; d < indices.size(); ++d) {
      const Courses::Course course = courses_.course(indices[d]);
      const bool last = d + 1 == indices.size();
      if (course == Courses::Course::Otherwise || last != (course == Courses::Course::WithColumn)) return std::nullopt;
      if (course == Courses::Course::WithRow) dimensions.push_back(d);
    }
    return dimensions;
  }

  bool in_units(std::uint32_t array, const std::vector<Value> &indices, ScalarType type, bool in_quads) const {
    constexpr std::int64_t unit_bytes = 16, of_quads = 8;
    const auto bytes = static_cast<std::int64_t>(size_of(type));
    const std::int64_t together = std::min((in_quads ? of_quads : count_) * bytes, unit_bytes);
    return facts_of(arrays_, array).rows_in_units() && first_iteration_.divisor(indices.back()) * bytes % together == 0;
  }

  // Whether the loop accesses the array only once, to write to it.
  bool written_alone(std::uint32_t array) const {
    const auto written = written_.find(array);
    return !read_.contains(array) && written != written_.end() && written->second == 1 &&
           facts_of(arrays_, array).unit_stride;
  }

  void add_store(const Store &store) {
    if (!written_alone(store.array) || !courses_.lie_together(store.indices, count_)) return;
    auto along = rows(store.indices);
    const ScalarType type = store.value.type().element();
    const bool in_quads = along && goes_in_quads(layout_, type);
    found_.stores.push_back({&store, std::move(along), in_quads, before_rounding(store.value, loop_.body),
                             in_units(store.array, store.indices, type, in_quads)});
  }

  void add_addition(const Accumulate &addition) {
    const ScalarType type = addition.value.type().element();
    if (!(addition.atomic ? is_added_together(type, count_) : is_whole(layout_))) return;
    if (!written_alone(addition.array) || !courses_.lie_together(addition.indices, count_)) return;
    auto along = rows(addition.indices);
    if (!along || (layout_.rows > 1 && along->empty())) return;
    const bool in_quads = !addition.atomic && goes_in_quads(layout_, type);
    found_.additions.push_back(
        {&addition, std::move(along), in_quads, {}, in_units(addition.array, addition.indices, type, in_quads)});
  }

  void add_load(const Let &let, std::optional<LocalId> bound) {
    const Operation &load = let.value;
    if (written_.contains(load.array) || !facts_of(arrays_, load.array).unit_stride ||
        !courses_.lie_together(load.operands, count_))
      return;
    found_.loads.push_back({&load,
                            rows(load.operands),
                            false,
                            {},
                            in_units(load.array, load.operands, load.type.element(), false),
                            bound,
                            let.local});
  }

  void add_accesses(const Block &block, std::optional<LocalId> bound) {
    for (const Stmt &stmt : block) {
      if (const auto *store = stmt.as<Store>())
        add_store(*store);
      else if (const auto *addition = stmt.as<Accumulate>())
        add_addition(*addition);
      else if (const auto *let = stmt.as<Let>(); let && let->value.op == Op::Load)
        add_load(*let, bound);
    }
  }

  // Adds the bounds in selections and branches, and the accesses of the branches. Returns whether there are such
  // branches.
  bool add_bounds() {
    bool branches = false;
    for (const Stmt &stmt : loop_.body) {
      const auto *let = stmt.as<Let>();
      if (let && let->value.op == Op::Select && !courses_.outside(let->value.operands[0])) {
        const Value &condition = let->value.operands[0];
        const bool bound = courses_.is_bound(condition), of_corners = !bound && courses_.is_bound_of_corners(condition);
        if (bound || of_corners) found_.bounds.insert(condition.id());
        found_.all_corners = found_.all_corners || of_corners;
      }
      const auto *branch = stmt.as<If>();
      if (!branch || !branch->condition.is_local() || !courses_.is_bound(branch->condition)) continue;
      found_.bounds.insert(branch->condition.id());
      branches = true;
      add_accesses(branch->then_block, branch->condition.id());
    }
    return branches;
  }

  const IndexForms &forms_;
  const For &loop_;
  const FragmentLayout &layout_;
  const FactsOfArrays &arrays_;
  const Courses courses_;
  const FirstIteration first_iteration_;
  const std::int64_t count_;
  std::map<std::uint32_t, int> read_, written_;  // how often, by array
  GroupedElements found_;
};

}  // namespace

GroupedElements grouped_elements(const IndexForms &forms, const For &loop, const FragmentLayout &layout,
                                 const FactsOfArrays &arrays) {
  if (layout.registers() <= 2) return {};  // a thread has too few elements
  return Grouping(forms, loop, layout, arrays).find();
}

GroupedElements planned_groups(const For &loop) {
  const ElementPlan &plan = loop.elements;
  GroupedElements found;
  const auto add = [](auto &all, const auto *access, const ElementPlan::Group &group) {
    all.push_back({access, group.along_rows, group.in_quads, group.unrounded, group.in_units, group.bound, group.load});
  };
  for (const ElementPlan::Group &group : plan.groups)
    for_each_statement(loop.body, [&](const Stmt &stmt) {
      using Kind = ElementPlan::Group::Kind;
      const auto *let = stmt.as<Let>();
      const auto *store = stmt.as<Store>();
      const auto *addition = stmt.as<Accumulate>();
      if (group.kind == Kind::load && let && let->local == group.load) add(found.loads, &let->value, group);
      if (group.kind == Kind::store && store && store->array == group.array) add(found.stores, store, group);
      if (group.kind == Kind::add && addition && addition->array == group.array) add(found.additions, addition, group);
    });
  found.bounds.insert(plan.bounds.begin(), plan.bounds.end());
  found.all_corners = plan.corners == 4;
  found.in_packs = plan.in_packs;
  found.once = !found.empty() && plan.corners == 0;
  found.rotates = plan.rotates != 0;
  found.places = statements_for_places(found, loop);
  return found;
}

}  // namespace samite::passes
