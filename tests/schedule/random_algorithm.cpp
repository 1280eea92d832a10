#include "tests/schedule/random_algorithm.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <set>

namespace samite::test {

using Kind = Expression::Kind;
using ir::Op;
using enum ScalarType;

const std::vector<std::string> RandomAlgorithm::variables{"x", "y", "z"};

namespace {

// Expressions.

Node make(Expression expression) { return std::make_shared<const Expression>(std::move(expression)); }
Node number(std::int64_t value, ScalarType type = Int32) {
  return make({.kind = Kind::number, .type = type, .number = value, .most = std::abs(value)});
}
Node operation(Op op, ScalarType type, std::vector<Node> operands, std::int64_t most) {
  return make({.kind = Kind::operation, .type = type, .op = op, .operands = std::move(operands), .most = most});
}
Node cast(Node of, ScalarType type) {
  if (of->type == type) return of;
  const std::int64_t most = of->most;
  return operation(Op::Cast, type, {std::move(of)}, most);
}
Node add(const Node &a, const Node &b) { return operation(Op::Add, a->type, {a, b}, a->most + b->most); }
Node plus(const Node &a, std::int64_t b) { return b == 0 ? a : add(a, number(b)); }
Node least(const Node &a, const Node &b) { return operation(Op::Min, a->type, {a, b}, std::max(a->most, b->most)); }
Node greatest(const Node &a, const Node &b) { return operation(Op::Max, a->type, {a, b}, std::max(a->most, b->most)); }
Node clamp(const Node &a, const Node &low, const Node &high) { return least(greatest(a, low), high); }
Node below(const Node &a, const Node &b) { return operation(Op::Less, Bool, {a, b}, 1); }
Node choose(const Node &condition, const Node &a, const Node &b) {
  return operation(Op::Select, a->type, {condition, a, b}, std::max(a->most, b->most));
}
// A value that is no larger.
Node limited(const Node &of, std::int64_t most) {
  if (of->most <= most) return of;
  std::int64_t mask = 1;
  while (2 * mask + 1 <= most && mask < 63) mask = 2 * mask + 1;
  return cast(operation(Op::And, Int32, {cast(of, Int32), number(mask)}, mask), of->type);
}

class Generator {
 public:
  explicit Generator(Chance &chance) : chance_(chance) {}

  RandomAlgorithm make_algorithm() {
    add_inputs();
    const int count = chance_.between(2, 7);
    for (int f = 0; f < count; ++f) add_function(f + 1 == count || (f > 0 && chance_.percent(8)), f + 1 == count);
    for (RandomFunction &function : made_.functions)
      if (!function.is_called && !function.output && !outside_.contains(function.name)) give_output(function);
    return std::move(made_);
  }

 private:
  int extent() {
    static const std::vector<int> sizes{1, 2, 3, 4, 5, 7, 8, 9, 11, 13, 16, 17, 19, 23};
    return chance_.one_of(sizes);
  }

  std::uint32_t add_array(const std::string &name, ScalarType type, int rank, int least, int most) {
    RandomArgument argument;
    std::int64_t count = 1;
    for (int d = 0; d < rank; ++d) {
      argument.extents.push_back(rank == 1 && chance_.percent(30) ? chance_.between(20, 60) : extent());
      count *= argument.extents.back();
    }
    for (; count > 0; --count) argument.values.push_back(chance_.between(least, most));
    made_.parameters.push_back({name, type, rank, true});
    made_.arguments.push_back(std::move(argument));
    return static_cast<std::uint32_t>(made_.parameters.size() - 1);
  }
  void add_inputs() {
    add_array("places", Int32, 1, -30, 60);
    add_array("bytes", UInt8, 1, 0, 255);
    add_array("a", Int32, 2, -9, 9);
    add_array("b", Float32, 1, -9, 9);
    add_array("c", Float32, 2, -9, 9);
    made_.parameters.push_back({"n", Int32});
    made_.arguments.push_back({{}, {chance_.between(0, 9)}});
  }
  static constexpr std::uint32_t places = 0, bytes = 1, scalar = 5;
  // The largest values of the arrays.
  static constexpr std::int64_t most_of[] = {60, 255, 9, 9, 9, 9};

  // The place of an expression.
  struct Around {
    std::size_t function;
    std::vector<int> variables;
    std::vector<RandomReduction> reductions;
  };

  Node variable(int number) { return make({.kind = Kind::variable, .number = number, .most = 300}); }
  Node reduced(const RandomReduction &of) { return make({.kind = Kind::reduced, .number = of.number, .most = 80}); }
  Node extent_of(std::uint32_t array, int dimension) {
    return make({.kind = Kind::extent, .number = array, .attribute = dimension, .most = 60});
  }
  Node element(std::uint32_t array, std::vector<Node> indices) {
    return make({.kind = Kind::element,
                 .type = made_.parameters[array].type,
                 .number = array,
                 .operands = std::move(indices),
                 .most = most_of[array]});
  }
  // Inside of the array, whatever the indices are.
  Node element_inside(std::uint32_t array, std::vector<Node> indices) {
    for (std::size_t d = 0; d < indices.size(); ++d)
      indices[d] = clamp(indices[d], number(0), plus(extent_of(array, static_cast<int>(d)), -1));
    return element(array, std::move(indices));
  }

  Node any_variable(const Around &around) {
    const int count = static_cast<int>(around.variables.size() + around.reductions.size());
    if (count == 0) return number(chance_.between(-3, 3));
    const int at = chance_.below(count);
    if (at < static_cast<int>(around.variables.size())) return variable(around.variables[static_cast<std::size_t>(at)]);
    return reduced(around.reductions[static_cast<std::size_t>(at) - around.variables.size()]);
  }

  // A number somewhere in the range if that is given.
  using Bounds = std::pair<std::int64_t, std::int64_t>;
  Node bounded(const Node &of, std::optional<Bounds> &within) {
    const std::int64_t low = chance_.between(-4, 3), high = low + chance_.between(0, 12);
    within = {low, high};
    return clamp(of, number(low), number(high));
  }

  // An index of a call, and its range if that is constant.
  Node index(const Around &around, std::optional<Bounds> &within) {
    const Node of = any_variable(around);
    if (of->kind == Kind::number) within = {of->number, of->number};
    within.reset();
    if (chance_.percent(12)) return index_that_is_no_form(of, around, within);
    switch (chance_.below(20)) {
      case 0:
        return operation(Op::ShiftRight, Int32, {plus(of, chance_.between(0, 2)), number(chance_.between(1, 2))}, 200);
      case 1: return operation(Op::Div, Int32, {plus(of, chance_.between(-2, 2)), number(chance_.between(2, 4))}, 200);
      case 2: return plus(operation(Op::Mul, Int32, {of, number(2)}, 600), chance_.between(-1, 1));
      case 3: {
        const Node place = cast(element_inside(places, {of}), Int32);
        return bounded(place, within);
      }
      case 4:
        if (!chance_.percent(20)) return of;
        return cast(element_inside(bytes, {of}), Int32);
      case 5: return bounded(plus(of, chance_.between(-3, 3)), within);
      case 6: {
        const int modulus = chance_.between(2, 7);
        within = {1 - modulus, modulus - 1};
        return operation(Op::Rem, Int32, {of, number(modulus)}, modulus);
      }
      case 7: within = {0, 7}; return operation(Op::And, Int32, {of, number(7)}, 7);
      case 8: {
        const std::int64_t constant = chance_.between(-3, 6);
        within = {constant, constant};
        return number(constant);
      }
      case 9: return plus(operation(Op::Neg, Int32, {of}, of->most), chance_.between(0, 9));
      case 10: {
        const Node other = any_variable(around);
        return other->kind == Kind::number ? of : add(of, other);
      }
      case 11: return choose(below(of, number(chance_.between(0, 5))), plus(of, 1), plus(of, -1));
      case 12: return least(of, plus(extent_of(2, 0), -1));
      case 13: {
        const std::int64_t high = chance_.between(0, 12);
        return clamp(plus(of, chance_.between(-2, 2)), number(0),
                     least(make({.kind = Kind::scalar, .number = scalar, .most = 9}), number(high)));
      }
      default: return plus(of, chance_.between(-2, 2));
    }
  }

  // A product, a quotient by a launch argument, an absolute value or a complement.
  Node index_that_is_no_form(const Node &of, const Around &around, std::optional<Bounds> &within) {
    const Node shifted = plus(of, chance_.between(-5, 2)),
               n = make({.kind = Kind::scalar, .number = scalar, .most = 9});
    switch (chance_.below(8)) {
      case 0: return operation(Op::Abs, Int32, {shifted}, shifted->most);
      case 1: return operation(Op::Not, Int32, {of}, of->most + 1);
      case 2: return operation(Op::Div, Int32, {shifted, n}, shifted->most);
      case 3: return operation(Op::Rem, Int32, {shifted, n}, shifted->most);
      case 4: return operation(Op::Div, Int32, {shifted, number(chance_.between(-4, -2))}, shifted->most);
      case 5: {
        const Node factor = chance_.percent(50) ? n : plus(n, -3);
        return operation(Op::Mul, Int32, {of, factor}, 9 * of->most);
      }
      default: {
        const Node other = plus(operation(Op::Neg, Int32, {any_variable(around)}, 300), chance_.between(0, 9));
        const Node product = operation(Op::Mul, Int32, {shifted, chance_.percent(40) ? shifted : other}, 90'000);
        return bounded(product, within);
      }
    }
  }

  Node call(std::size_t function, int value, const Around &around) {
    RandomFunction &called = made_.functions[function];
    std::vector<Node> indices;
    for (std::size_t d = 0; d < called.rank(); ++d) {
      std::optional<Bounds> within;
      // Mostly in the order of the dimensions.
      if (chance_.percent(55) && d < around.variables.size() && around.reductions.empty())
        indices.push_back(plus(variable(around.variables[d]), chance_.between(-2, 2)));
      else
        indices.push_back(index(around, within));
      if (called.output) indices.back() = inside(called, d, indices.back(), true);
      note(called, d, within);
    }
    called.is_called = true;
    return make({.kind = Kind::call,
                 .type = called.types[static_cast<std::size_t>(value)],
                 .number = static_cast<std::int64_t>(function),
                 .attribute = value,
                 .operands = std::move(indices),
                 .most = called.most[static_cast<std::size_t>(value)]});
  }
  void note(RandomFunction &called, std::size_t d, const std::optional<Bounds> &within) {
    auto &known = called.called[d];
    if (!called.is_called)
      known = within;
    else if (known && within)
      known = Bounds{std::min(known->first, within->first), std::max(known->second, within->second)};
    else
      known.reset();
  }
  Node any_call(const Around &around) {
    const int count = static_cast<int>(around.function);
    if (count == 0) return input(around);
    std::size_t function = static_cast<std::size_t>(chance_.percent(60) ? count - 1 : chance_.below(count));
    // Funcs that nothing calls yet come first.
    for (std::size_t f = 0; f < around.function; ++f)
      if (!made_.functions[f].is_called && chance_.percent(70)) function = f;
    return call(function, chance_.below(static_cast<int>(made_.functions[function].types.size())), around);
  }
  Node input(const Around &around) {
    const std::uint32_t array = static_cast<std::uint32_t>(chance_.between(1, 4));
    std::vector<Node> indices;
    for (int d = 0; d < made_.parameters[array].rank; ++d)
      indices.push_back(plus(any_variable(around), chance_.between(-2, 2)));
    return element_inside(array, std::move(indices));
  }

  Node leaf(ScalarType type, const Around &around) {
    switch (chance_.below(8)) {
      case 0: return number(chance_.between(-8, 8), type);
      case 1: return cast(limited(any_variable(around), 15), type);
      case 2: return cast(input(around), type);
      case 3:
        return chance_.percent(30) ? cast(make({.kind = Kind::scalar, .number = scalar, .most = 9}), type)
                                   : cast(input(around), type);
      default: return cast(any_call(around), type);
    }
  }

  Node value(ScalarType type, int depth, const Around &around) {
    if (depth == 0 || chance_.percent(15)) return leaf(type, around);
    const Node a = value(type, depth - 1, around), b = value(type, depth - 1, around);
    switch (chance_.below(9)) {
      case 0: return operation(Op::Sub, type, {a, b}, a->most + b->most);
      case 1: {
        const Node x = limited(a, 31), y = limited(b, 31);
        return operation(Op::Mul, type, {x, y}, x->most * y->most);
      }
      case 2: return least(a, b);
      case 3: return greatest(a, b);
      case 4: return choose(below(a, b), value(type, depth - 1, around), limited(b, 100));
      case 5:
        if (around.reductions.empty() && chance_.percent(40)) return inline_sum(type, around);
        return add(a, b);
      default: return add(a, b);
    }
  }

  static Node masked(const Node &of, std::int64_t mask, ScalarType narrow) {
    return cast(operation(Op::And, Int32, {cast(of, Int32), number(mask)}, mask), narrow);
  }
  // Arithmetic in a narrow type, which has more lanes per vector. All numbers are at most 127.
  Node narrow_value(ScalarType narrow, const Node &of, const Around &around) {
    constexpr std::int64_t mask = 15, most = 127;
    Node value = masked(of, mask, narrow);
    for (int step = chance_.between(3, 8); step > 0; --step) {
      const Node other = masked(leaf(Int32, around), mask, narrow);
      switch (chance_.below(4)) {
        case 0: value = least(value, other); break;
        case 1: value = choose(below(value, other), other, value); break;
        default: value = value->most + other->most <= most ? add(value, other) : greatest(value, other); break;
      }
    }
    return value;
  }

  static constexpr std::int64_t most_value = 1 << 14;

  // sum(r, value), as the front end makes it.
  Node inline_sum(ScalarType type, const Around &around) {
    RandomFunction function;
    function.name = "sum_" + std::to_string(around.function) + "_" + std::to_string(made_.reductions);
    function.variables = around.variables;
    function.types = {type};
    function.inline_reduction = true;
    RandomReduction r = reduction("k", 0, chance_.between(1, 4));
    Around inside = around;
    inside.reductions = {r};
    RandomDefinition first, update;
    for (const int v : around.variables) {
      first.indices.push_back(variable(v));
      update.indices.push_back(variable(v));
    }
    first.values = {number(0, type)};
    const Node of = limited(with_reduced(value(type, 1, inside), r), 200);
    function.most = {of->most * 4 + 4};
    // It is in front of the function that is being made: calls are numbered once all are there.
    pending_.push_back({function, {}});
    RandomFunction &kept = pending_.back().function;
    const Node own = own_call(pending_number(pending_.size() - 1), 0, update.indices, type, kept.most[0]);
    update.values = {add(own, of)};
    update.reductions = {r};
    kept.definitions = {first, update};
    kept.is_called = true;
    kept.called.resize(kept.rank());
    return own;
  }
  static std::int64_t pending_number(std::size_t i) { return 1000 + static_cast<std::int64_t>(i); }

  Node own_call(std::int64_t function, int value, std::vector<Node> indices, ScalarType type, std::int64_t most) {
    return make({.kind = Kind::call,
                 .type = type,
                 .number = function,
                 .attribute = value,
                 .operands = std::move(indices),
                 .most = most});
  }

  RandomReduction reduction(const std::string &name, int begin, int extent) {
    const int number_of = made_.reductions++;
    return {fmt::format("{}{}", name, number_of), number_of, number(begin), number(extent)};
  }

  // A definition is about all of its Reduction.
  Node with_reduced(const Node &of, const RandomReduction &r) {
    return add(of, cast(operation(Op::And, Int32, {reduced(r), number(1)}, 1), of->type));
  }

  void give_output(RandomFunction &function, bool touched = false) {
    if (function.rank() == 0) return;
    function.output = static_cast<std::uint32_t>(made_.parameters.size());
    RandomArgument argument;
    static const std::vector<int> of_one{0, 1, 2, 3, 5, 7, 8, 9, 13, 16, 17, 24, 31, 32, 33, 40, 64, 67},
        of_two{0, 1, 2, 3, 5, 7, 8, 9, 11, 13, 16, 17}, of_three{0, 1, 2, 3, 4, 5, 7};
    const auto &sizes = function.rank() == 1 ? of_one : function.rank() == 2 ? of_two : of_three;
    std::int64_t count = 1;
    for (std::size_t d = 0; d < function.rank(); ++d) {
      int size = chance_.one_of(sizes);
      if (size == 0 && chance_.percent(60)) size = chance_.one_of(sizes);
      if (size == 0 && touched) size = 1;
      argument.extents.push_back(size);
      count *= size;
    }
    argument.values.resize(static_cast<std::size_t>(count));
    for (std::size_t v = 0; v < function.types.size(); ++v) {
      made_.parameters.push_back(
          {fmt::format("out_{}_{}", made_.functions.size(), v), function.types[v], static_cast<int>(function.rank())});
      made_.arguments.push_back(argument);
    }
    for (auto &known : function.called) known.reset();
  }

  void add_function(bool output, bool last) {
    RandomFunction function;
    const int rank = output ? chance_.between(1, 3) : (chance_.percent(6) ? 0 : chance_.between(1, 3));
    std::vector<int> all{0, 1, 2};
    for (int d = 0; d < rank; ++d) {
      // Mostly z, y, x.
      const auto at = chance_.percent(85) ? rank - 1 - d < static_cast<int>(all.size()) ? rank - 1 - d : 0
                                          : chance_.below(static_cast<int>(all.size()));
      function.variables.push_back(all[static_cast<std::size_t>(at)]);
      all.erase(all.begin() + at);
    }
    const int values = chance_.percent(12) ? 2 : 1;
    for (int v = 0; v < values; ++v) function.types.push_back(chance_.percent(50) ? Int32 : Float32);
    function.called.resize(static_cast<std::size_t>(rank));
    pending_.clear();
    const std::size_t number_now = made_.functions.size();
    Around around{number_now, function.variables, {}};
    RandomDefinition first;
    for (const int v : function.variables) first.indices.push_back(variable(v));
    const bool sums = chance_.percent(40);
    // A value that is computed once, and read by others, may be small.
    const bool small = !sums && !output && chance_.percent(30);
    for (int v = 0; v < values; ++v) {
      const ScalarType type = function.types[static_cast<std::size_t>(v)];
      const Node of = sums && chance_.percent(60) ? number(chance_.between(-3, 3), type)
                                                  : value(type, chance_.between(0, 2), around);
      first.values.push_back(limited(of, most_value));
      if (small) {
        const bool bytes = chance_.percent(50);
        const std::int64_t most = bytes ? 127 : 16'383;
        const ScalarType narrow = bytes ? UInt8 : Int16;
        first.values.back() = chance_.percent(40) ? narrow_value(narrow, of, around) : masked(of, most, narrow);
        function.types[static_cast<std::size_t>(v)] = narrow;
      }
      function.most.push_back(first.values.back()->most);
    }
    function.definitions.push_back(first);
    const int updates = sums ? chance_.between(1, 2) : !small && chance_.percent(20) ? 1 : 0;
    if (output) give_output(function, updates > 0 || !last);
    own_ = &function;
    for (int u = 0; u < updates; ++u) add_update(function, around);
    own_ = nullptr;
    function.name = fmt::format("f{}", number_now + pending_.size());
    renumber(function, number_now);
    if (!output && updates > 0) outside_.insert(function.name);
    made_.functions.push_back(std::move(function));
  }

  // Pending parts are inserted before the function; until then its own calls have the number 2000.
  static constexpr std::int64_t own = 2000;
  Node renumbered(const Node &of, std::size_t number_now, std::size_t self) {
    Expression copy = *of;
    for (Node &operand : copy.operands) operand = renumbered(operand, number_now, self);
    if (copy.kind == Kind::call) {
      if (copy.number == own)
        copy.number = static_cast<std::int64_t>(self);
      else if (copy.number >= 1000)
        copy.number = static_cast<std::int64_t>(number_now) + copy.number - 1000;
    }
    return make(copy);
  }
  void renumber(RandomFunction &function, std::size_t number_now, std::size_t self) {
    for (RandomDefinition &definition : function.definitions) {
      for (Node &node : definition.indices) node = renumbered(node, number_now, self);
      for (Node &node : definition.values) node = renumbered(node, number_now, self);
      if (definition.predicate) definition.predicate = renumbered(definition.predicate, number_now, self);
    }
  }
  void renumber(RandomFunction &function, std::size_t number_now) {
    for (Pending &pending : pending_) {
      renumber(pending.function, number_now, 0);
      made_.functions.push_back(std::move(pending.function));
    }
    renumber(function, number_now, number_now + pending_.size());
  }

  Node inside(const RandomFunction &function, std::size_t d, const Node &index, bool always = false) {
    if (!function.output || (index->kind == Kind::variable && !always)) return index;
    return clamp(index, number(0), plus(extent_of(*function.output, static_cast<int>(d)), -1));
  }

  void add_update(RandomFunction &function, const Around &first) {
    RandomDefinition update;
    Around around = first;
    const std::size_t rank = function.rank();
    for (const int v : function.variables) update.indices.push_back(variable(v));
    const int kind = chance_.below(12);
    const bool scan = kind >= 8 && kind < 10 && rank > 0;
    const bool reduces = kind != 10;
    if (reduces && !scan) {
      const int count = chance_.percent(25) ? 2 : 1;
      const std::string name = fmt::format("r{}_", number_of_updates_);
      for (int r = 0; r < count; ++r) {
        RandomReduction made =
            reduction(name, chance_.percent(60) ? 0 : chance_.between(-2, 2), chance_.between(0, count == 2 ? 5 : 9));
        if (chance_.percent(15)) made.extent = make({.kind = Kind::scalar, .number = scalar, .most = 9});
        if (chance_.percent(8)) made.extent = extent_of(2, chance_.below(2));
        around.reductions.push_back(made);
      }
    }
    ++number_of_updates_;
    // Some of its indices are no variables.
    const auto drop = [&](std::size_t d) { std::erase(around.variables, function.variables[d]); };
    std::size_t scanned = 0;
    if (scan) {
      scanned = static_cast<std::size_t>(chance_.below(static_cast<int>(rank)));
      RandomReduction r = reduction("s", 1, chance_.between(1, 20));
      if (function.output)
        r.extent = plus(extent_of(*function.output, static_cast<int>(scanned)), -1);
      else if (chance_.percent(30))
        r.begin = number(chance_.between(-1, 3));
      around.reductions.push_back(r);
      update.indices[scanned] = reduced(r);
      drop(scanned);
    } else {
      for (std::size_t d = 0; d < rank; ++d) {
        if (!chance_.percent(kind < 4 ? 15 : 50)) continue;
        drop(d);
        if (!around.reductions.empty() && chance_.percent(45))
          update.indices[d] = plus(reduced(chance_.one_of(around.reductions)), chance_.below(2));
        else if (chance_.percent(30))
          update.indices[d] = number(chance_.between(-1, 6));
        else
          update.indices[d] = nullptr;  // set below, when the others are known
      }
      for (Node &node : update.indices)
        if (!node) {
          std::optional<Bounds> within;
          if (chance_.percent(50) && !around.reductions.empty())
            node = bounded(cast(element_inside(places, {reduced(around.reductions[0])}), Int32), within);
          else if (around.function > 0 && chance_.percent(30))
            node = bounded(cast(any_call(around), Int32), within);
          else
            node = bounded(any_variable(around), within);
        }
      // Inside of the array that it fills.
      for (std::size_t d = 0; d < rank; ++d) update.indices[d] = inside(function, d, update.indices[d]);
    }
    update.reductions = around.reductions;
    for (auto &known : function.called) known.reset();
    std::vector<std::int64_t> most;
    for (std::size_t v = 0; v < function.types.size(); ++v) {
      const ScalarType type = function.types[v];
      const Node itself = own_call(own, static_cast<int>(v), update.indices, type, function.most[v]);
      Node of = limited(value(type, chance_.between(0, 1), around), 30);
      for (const RandomReduction &r : update.reductions) of = with_reduced(of, r);
      std::int64_t grown = function.most[v] + 100 * of->most;
      Node result;
      if (scan) {
        std::vector<Node> before = update.indices;
        before[scanned] = plus(before[scanned], -1);
        const Node from = own_call(own, static_cast<int>(v), before, type, function.most[v]);
        result = chance_.percent(70) ? add(from, of) : add(choose(below(from, of), from, of), of);
        if (chance_.percent(20)) result = greatest(result, itself);
      } else {
        switch (chance_.below(8)) {
          case 0: result = greatest(itself, of); break;
          case 1: result = least(of, itself); break;
          case 2:
            // An element that may be another one.
            if (rank > 0 && !update.reductions.empty()) {
              std::vector<Node> other = update.indices;
              for (std::size_t d = 0; d < rank; ++d)
                if (other[d]->kind != Kind::variable && chance_.percent(50)) {
                  std::optional<Bounds> within;
                  other[d] =
                      inside(function, d, bounded(plus(reduced(update.reductions[0]), chance_.between(-1, 1)), within));
                }
              result = add(
                  choose(below(of, itself), own_call(own, static_cast<int>(v), other, type, function.most[v]), of), of);
              break;
            }
            [[fallthrough]];
          case 3: result = choose(below(of, itself), of, add(itself, number(1, type))); break;
          case 4: result = of; break;
          case 5:
            result = limited(add(operation(Op::Mul, type, {number(2, type), limited(itself, 31)}, 62), of), 63);
            break;
          default: result = chance_.percent(50) ? add(itself, of) : add(of, itself);
        }
        if (!chance_.percent(90)) result = limited(result, 100);
      }
      update.values.push_back(result);
      most.push_back(std::max(grown, result->most));
    }
    for (std::size_t v = 0; v < most.size(); ++v) function.most[v] = most[v];
    if (!update.reductions.empty() && chance_.percent(25)) {
      const RandomReduction &r = update.reductions[0];
      Node a = reduced(r), b = chance_.percent(50) ? limited(leaf(Int32, around), 40) : number(chance_.between(-1, 5));
      if (update.reductions.size() > 1 && chance_.percent(50)) b = reduced(update.reductions[1]);
      update.predicate = chance_.percent(50) ? below(a, b) : below(b, a);
      if (chance_.percent(20))
        update.predicate = below(cast(element_inside(places, {a}), Int32), number(chance_.between(0, 40)));
    }
    function.definitions.push_back(std::move(update));
  }

  struct Pending {
    RandomFunction function;
    std::vector<Node> indices;
  };

  Chance &chance_;
  RandomAlgorithm made_;
  std::vector<Pending> pending_;
  RandomFunction *own_ = nullptr;
  int number_of_updates_ = 0;
  std::set<std::string> outside_;  // Funcs whose updates may touch any element
};

// Text.

std::string written(const RandomAlgorithm &algorithm, const Expression &of);
std::string written(const RandomAlgorithm &algorithm, const std::vector<Node> &of) {
  std::vector<std::string> texts;
  for (const Node &node : of) texts.push_back(written(algorithm, *node));
  return fmt::format("{}", fmt::join(texts, ", "));
}
std::string written(const RandomAlgorithm &algorithm, const Expression &of) {
  switch (of.kind) {
    case Kind::number: return fmt::format("{}{}", of.number, of.type == Float32 ? ".0f" : "");
    case Kind::variable: return RandomAlgorithm::variables[static_cast<std::size_t>(of.number)];
    case Kind::reduced: {
      for (const RandomFunction &function : algorithm.functions)
        for (const RandomDefinition &definition : function.definitions)
          for (const RandomReduction &r : definition.reductions)
            if (r.number == of.number) return r.name;
      return "?";
    }
    case Kind::scalar: return algorithm.parameters[static_cast<std::size_t>(of.number)].name;
    case Kind::extent:
      return fmt::format("{}.extent({})", algorithm.parameters[static_cast<std::size_t>(of.number)].name, of.attribute);
    case Kind::element:
      return fmt::format("{}({})", algorithm.parameters[static_cast<std::size_t>(of.number)].name,
                         written(algorithm, of.operands));
    case Kind::call: {
      const RandomFunction &called = algorithm.functions[static_cast<std::size_t>(of.number)];
      return fmt::format("{}({}){}", called.name, written(algorithm, of.operands),
                         called.types.size() == 1 ? "" : fmt::format("[{}]", of.attribute));
    }
    case Kind::operation: break;
  }
  const auto infix = [&](const char *op) {
    return fmt::format("({} {} {})", written(algorithm, *of.operands[0]), op, written(algorithm, *of.operands[1]));
  };
  switch (of.op) {
    case Op::Add: return infix("+");
    case Op::Sub: return infix("-");
    case Op::Mul: return infix("*");
    case Op::Div: return infix("/");
    case Op::Rem: return infix("%");
    case Op::And: return infix("&");
    case Op::ShiftRight: return infix(">>");
    case Op::Less: return infix("<");
    case Op::Neg: return "-" + written(algorithm, *of.operands[0]);
    case Op::Not: return "~" + written(algorithm, *of.operands[0]);
    case Op::Cast:
      return fmt::format("cast<{}>({})",
                         of.type == Float32 ? "Float"
                         : of.type == Int32 ? "Int"
                                            : std::string(name(of.type)),
                         written(algorithm, of.operands));
    default: return fmt::format("{}({})", ir::info(of.op).name, written(algorithm, of.operands));
  }
}

}  // namespace

RandomAlgorithm random_algorithm(Chance &chance) { return Generator(chance).make_algorithm(); }

std::string RandomAlgorithm::to_string() const {
  std::string text;
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    text += fmt::format("{}{}: ", parameters[p].read_only ? "const " : "", parameters[p].name);
    if (parameters[p].rank == 0)
      text += fmt::format("Int = {}\n", arguments[p].values[0]);
    else
      text += fmt::format("{} [{}]{}\n", name(parameters[p].type), fmt::join(arguments[p].extents, " x "),
                          parameters[p].read_only && arguments[p].values.size() < 30
                              ? fmt::format(" {}", fmt::join(arguments[p].values, ", "))
                              : "");
  }
  for (const RandomFunction &function : functions) {
    text += fmt::format("Func {}{}\n", function.name,
                        function.output             ? ", fills " + parameters[*function.output].name
                        : function.inline_reduction ? ", an inline reduction"
                                                    : "");
    for (const RandomDefinition &definition : function.definitions) {
      for (const RandomReduction &r : definition.reductions)
        text +=
            fmt::format("  Reduction {} = {} … {} more\n", r.name, written(*this, *r.begin), written(*this, *r.extent));
      if (definition.predicate) text += fmt::format("  where {}\n", written(*this, *definition.predicate));
      text += fmt::format("  {}({}) = {}\n", function.name, written(*this, definition.indices),
                          written(*this, definition.values));
    }
  }
  return text;
}

namespace {

// From expressions to the captured form.
class Capture {
 public:
  explicit Capture(const RandomAlgorithm &algorithm) : algorithm_(algorithm) {}

  ir::CapturedPipeline made() {
    ir::Kernel &kernel = made_.algorithm;
    kernel.name = "random";
    kernel.parameters = algorithm_.parameters;
    made_.parameters = static_cast<std::uint32_t>(kernel.parameters.size());
    for (const std::string &name : RandomAlgorithm::variables)
      made_.variables.push_back({name, kernel.local_count++, {}});
    first_reduced_ = kernel.local_count;
    kernel.local_count += static_cast<ir::LocalId>(algorithm_.reductions);
    for (const RandomFunction &function : algorithm_.functions) {
      arrays_.push_back(static_cast<std::uint32_t>(kernel.parameters.size()));
      made_.funcs.push_back({.name = function.name,
                             .types = function.types,
                             .array = arrays_.back(),
                             .rank = static_cast<int>(function.rank()),
                             .output = function.output,
                             .inline_reduction = function.inline_reduction,
                             .where = {}});
      for (std::size_t v = 0; v < function.types.size(); ++v)
        kernel.parameters.push_back(
            {fmt::format("{}_{}", function.name, v), function.types[v], static_cast<int>(function.rank())});
    }
    for (std::size_t f = 0; f < algorithm_.functions.size(); ++f)
      for (const RandomDefinition &definition : algorithm_.functions[f].definitions) define(f, definition);
    return std::move(made_);
  }

 private:
  void define(std::size_t f, const RandomDefinition &definition) {
    if (!definition.reductions.empty()) {
      ir::ReductionDomain domain;
      for (const RandomReduction &r : definition.reductions)
        domain.ranges.push_back(
            {{r.name, first_reduced_ + static_cast<ir::LocalId>(r.number), {}}, value(*r.begin), value(*r.extent)});
      if (definition.predicate) domain.predicate = value(*definition.predicate);
      made_.domains.push_back(std::move(domain));
    }
    std::vector<ir::Value> indices, values;
    for (const Node &node : definition.indices) indices.push_back(value(*node));
    for (const Node &node : definition.values) values.push_back(value(*node));
    for (std::size_t v = 0; v < values.size(); ++v)
      made_.algorithm.body.emplace_back(ir::Store{arrays_[f] + static_cast<std::uint32_t>(v), indices, values[v]},
                                        SourceLocation());
  }

  ir::Value let(ir::Operation operation) {
    const ir::LocalId local = made_.algorithm.local_count++;
    const ir::Type type = operation.type;
    made_.algorithm.body.emplace_back(ir::Let{local, std::move(operation)}, SourceLocation());
    return ir::Value::local(type, local);
  }
  ir::Value value(const Expression &of) {
    std::vector<ir::Value> operands;
    for (const Node &operand : of.operands) operands.push_back(value(*operand));
    const auto number = static_cast<std::uint32_t>(of.number);
    switch (of.kind) {
      case Kind::number: return ir::Value::constant(of.type, of.number);
      case Kind::variable: return ir::Value::local(Int32, made_.variables[number].local);
      case Kind::reduced: return ir::Value::local(Int32, first_reduced_ + number);
      case Kind::scalar: return ir::Value::parameter(Int32, number);
      case Kind::extent: return let({Op::Extent, Int32, {}, number, of.attribute});
      case Kind::element: return let({Op::Load, of.type, operands, number});
      case Kind::call:
        return let({Op::Load, of.type, operands, arrays_[number] + static_cast<std::uint32_t>(of.attribute)});
      case Kind::operation: break;
    }
    return let({of.op, of.type, operands});
  }

  const RandomAlgorithm &algorithm_;
  ir::CapturedPipeline made_;
  std::vector<std::uint32_t> arrays_;
  ir::LocalId first_reduced_ = 0;
};

std::uint64_t packed(const std::vector<std::int64_t> &point) {
  std::uint64_t key = 1;
  for (const std::int64_t at : point) key = key << 20 | (static_cast<std::uint64_t>(at + (1 << 19)) & 0xfffff);
  return key;
}

}  // namespace

ir::CapturedPipeline RandomAlgorithm::captured() const { return Capture(*this).made(); }

// Meaning.

Meaning::Values Meaning::stage(std::size_t f, std::size_t n, const Point &point) {
  const RandomFunction &function = algorithm_.functions[f];
  const RandomDefinition &definition = function.definitions[n];
  if (n == 0) {
    Elements &known = first_[f];
    const std::uint64_t key = packed(point);
    if (const auto found = known.find(key); found != known.end()) return found->second;
    work();
    const auto before = variables_;
    for (std::size_t d = 0; d < point.size(); ++d)
      variables_[static_cast<std::size_t>(function.variables[d])] = point[d];
    Values values{};
    for (std::size_t v = 0; v < definition.values.size(); ++v) values[v] = of(*definition.values[v]);
    variables_ = before;
    first_[f].emplace(key, values);
    return values;
  }
  Point pure;
  for (std::size_t d = 0; d < point.size(); ++d)
    if (definition.indices[d]->kind == Kind::variable) pure.push_back(point[d]);
  auto &slices = slices_[{f, n}];
  const std::uint64_t key = packed(pure);
  auto found = slices.find(key);
  if (found == slices.end()) {
    Elements made = slice(f, n, point);
    found = slices_[{f, n}].emplace(key, std::move(made)).first;
  }
  const auto element = found->second.find(packed(point));
  if (element != found->second.end()) return element->second;
  return stage(f, n - 1, point);
}

Meaning::Elements Meaning::slice(std::size_t f, std::size_t n, const Point &point) {
  const RandomFunction &function = algorithm_.functions[f];
  const RandomDefinition &definition = function.definitions[n];
  const auto before = variables_;
  for (std::size_t d = 0; d < point.size(); ++d)
    if (definition.indices[d]->kind == Kind::variable)
      variables_[static_cast<std::size_t>(definition.indices[d]->number)] = point[d];
  Elements elements;
  open_.push_back({f, n, &elements});
  const std::function<void(std::size_t)> through = [&](std::size_t r) {
    if (r < definition.reductions.size()) {
      const RandomReduction &reduction = definition.reductions[r];
      const std::int64_t begin = of(*reduction.begin), extent = of(*reduction.extent);
      for (std::int64_t i = begin; i < begin + extent; ++i) {
        reduced_[static_cast<std::size_t>(reduction.number)] = i;
        through(r + 1);
      }
      return;
    }
    work();
    if (definition.predicate && of(*definition.predicate) == 0) return;
    Point at;
    for (const Node &index : definition.indices) at.push_back(of(*index));
    Values values{};
    for (std::size_t v = 0; v < definition.values.size(); ++v) values[v] = of(*definition.values[v]);
    elements[packed(at)] = values;
  };
  through(0);
  open_.pop_back();
  variables_ = before;
  return elements;
}

std::int64_t Meaning::of(const Expression &expression) {
  const auto operand = [&](std::size_t i) { return of(*expression.operands[i]); };
  const auto number = static_cast<std::size_t>(expression.number);
  switch (expression.kind) {
    case Kind::number: return expression.number;
    case Kind::variable: return variables_[number];
    case Kind::reduced: return reduced_[number];
    case Kind::scalar: return algorithm_.arguments[number].values[0];
    case Kind::extent: return algorithm_.arguments[number].extents[static_cast<std::size_t>(expression.attribute)];
    case Kind::element: {
      const RandomArgument &array = algorithm_.arguments[number];
      std::int64_t at = 0;
      for (std::size_t d = 0; d < expression.operands.size(); ++d) at = at * array.extents[d] + operand(d);
      return array.values.at(static_cast<std::size_t>(at));
    }
    case Kind::call: {
      Point point;
      for (std::size_t d = 0; d < expression.operands.size(); ++d) point.push_back(operand(d));
      const auto value = static_cast<std::size_t>(expression.attribute);
      if (!open_.empty() && open_.back().function == number) {
        const Open open = open_.back();
        const auto found = open.elements->find(packed(point));
        if (found != open.elements->end()) return found->second[value];
        return stage(number, open.definition - 1, point)[value];
      }
      return this->value(number, value, point);
    }
    case Kind::operation: break;
  }
  const std::int64_t a = operand(0);
  switch (expression.op) {
    case Op::Cast: return a;
    case Op::Neg: return -a;
    case Op::Not: return ~a;
    case Op::Abs: return std::abs(a);
    case Op::Add: return a + operand(1);
    case Op::Sub: return a - operand(1);
    case Op::Mul: return a * operand(1);
    case Op::Div: return operand(1) == 0 ? 0 : a / operand(1);
    case Op::Rem: return operand(1) == 0 ? a : a % operand(1);
    case Op::And: return a & operand(1);
    case Op::ShiftRight: return a >> operand(1);
    case Op::Min: return std::min(a, operand(1));
    case Op::Max: return std::max(a, operand(1));
    case Op::Less: return a < operand(1);
    case Op::Select: return a ? operand(1) : operand(2);
    default: throw std::runtime_error("an operation that has no meaning here");
  }
}

}  // namespace samite::test
