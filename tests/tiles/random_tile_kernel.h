// Random tile kernels: a recipe is a list of steps, made from a seed, from which a kernel is captured. Any part of the
// list is a recipe, too, so that one that fails can be cut down.
//
// A step takes results of earlier steps, converts them to the type and extents that it needs, and makes one more tile.
// Numbers stay of moderate size: possibly large ones are divided by a power of two. An in-place step's loaded elements
// are stored at the same place at the end, changed. An own step stores into an array whose elements belong to the
// block, adds to it, or loads from it: all or parts of earlier steps' stores, in loops or not.
#pragma once

#include "samite/lang/trace.h"
#include "samite/samite.h"
#include "tests/tiles/random_tile_language.h"

#include <array>
#include <cmath>
#include <functional>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace samite::test::tiles {

// clang-format off
#define SAMITE_TILE_STEPS(X)                                                                                          \
  X(load) X(view) X(make) X(random) X(unary) X(binary) X(compare) X(cast) X(reshape) X(transpose) X(slice)            \
  X(concatenate) X(insert) X(reduce) X(rows) X(total) X(position) X(scan) X(recur) X(sort) X(take) X(gather)          \
  X(scatter) X(multiply) X(accumulate) X(product_loop) X(solve) X(fourier) X(tree) X(thread) X(in_place) X(own)       \
  X(element) X(shift) X(store) X(add) X(assign) X(loop) X(branch)
// clang-format on

enum class StepKind : std::uint8_t {
#define SAMITE_ENUMERATOR(name) name,
  SAMITE_TILE_STEPS(SAMITE_ENUMERATOR)
#undef SAMITE_ENUMERATOR
};
inline constexpr std::string_view step_names[] = {
#define SAMITE_NAME(name) #name,
    SAMITE_TILE_STEPS(SAMITE_NAME)
#undef SAMITE_NAME
};

struct Step {
  StepKind kind;
  int number;  // in the original recipe
  int depth;   // those after a loop or a branch that are deeper are inside of it
  std::array<unsigned, 4> choice;
};

struct Recipe {
  unsigned seed = 0;
  int threads = 32, blocks = 1;
  bool sums_in_shared = false;
  std::array<int, 4> extents{};
  std::vector<Step> steps;

  std::string to_string() const {
    std::string text = "seed " + std::to_string(seed) + ", " + std::to_string(threads) + " threads, " +
                       std::to_string(blocks) + " blocks, extents";
    for (const int extent : extents) text += " " + std::to_string(extent);
    if (sums_in_shared) text += ", sums in shared memory";
    for (const Step &step : steps) {
      text += "\n  " + std::string(static_cast<std::size_t>(2 * step.depth), ' ') + std::to_string(step.number) + " " +
              std::string(step_names[static_cast<std::size_t>(step.kind)]);
      for (const unsigned choice : step.choice) text += " " + std::to_string(choice);
    }
    return text;
  }
};

inline Recipe random_recipe(unsigned seed) {
  std::mt19937 random(seed * 2654435761u + 1);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  Recipe recipe;
  recipe.seed = seed;
  constexpr int threads[] = {32, 64, 128, 96, 256, 512, 160, 1024};
  recipe.threads = threads[below(8) & below(8)];
  recipe.blocks = 1 + below(3);
  recipe.sums_in_shared = below(6) == 0;
  constexpr int extents[] = {1, 2, 3, 5, 7, 8, 8, 12, 16, 16, 17, 24, 31, 32, 32, 33, 40, 48, 64};
  for (int &extent : recipe.extents) extent = extents[below(19)];
  // Most kinds are equally frequent; those that others depend on are more frequent.
  constexpr int kinds = static_cast<int>(StepKind::branch) + 1;
  const int count = 5 + below(14);
  const bool loads_back = below(4) == 0;
  int depth = 0;
  for (int n = 0; n < count; ++n) {
    Step step{static_cast<StepKind>(below(kinds)), n, depth, {}};
    if (n < 2 || below(8) == 0) step.kind = StepKind::load;
    if (below(6) == 0) step.kind = below(2) ? StepKind::binary : StepKind::unary;
    if (n > 1 && loads_back && below(2) == 0) step.kind = StepKind::own;
    if (depth > 0 && below(4) == 0) step.kind = below(2) ? StepKind::assign : StepKind::accumulate;
    for (unsigned &choice : step.choice) choice = static_cast<unsigned>(random() >> 8);
    const bool nests = step.kind == StepKind::loop || step.kind == StepKind::branch;
    if (nests && depth == 2) step.kind = StepKind::binary;
    recipe.steps.push_back(step);
    if (nests && depth < 2)
      ++depth;
    else if (depth > 0 && below(4) == 0)
      --depth;
  }
  return recipe;
}

// The parameters, in order, and their extents; the first extent of those of rank 3 is the number of blocks.
struct ParameterFacts {
  const char *name;
  ScalarType type;
  std::vector<std::int64_t> extents;
};
enum : std::uint32_t { xf, xd, xh, xb, xi, xq, vf, yf, yd, yh, yb, yi, wf, wd, zf, zd, count_parameter };
inline const std::vector<ParameterFacts> &parameter_facts() {
  using enum ScalarType;
  static const std::vector<ParameterFacts> facts{{"xf", Float32, {29, 27}},
                                                 {"xd", Float64, {29, 27}},
                                                 {"xh", Float16, {29, 32}},
                                                 {"xb", BFloat16, {32, 27}},
                                                 {"xi", Int32, {29, 27}},
                                                 {"xq", Float8E4M3, {29, 48}},
                                                 {"vf", Float32, {71}},
                                                 {"yf", Float32, {0, 37, 33}},
                                                 {"yd", Float64, {0, 37, 33}},
                                                 {"yh", Float16, {0, 37, 32}},
                                                 {"yb", BFloat16, {0, 37, 33}},
                                                 {"yi", Int32, {0, 37, 33}},
                                                 {"wf", Float32, {0, 21, 19}},
                                                 {"wd", Float64, {0, 21, 20}},
                                                 {"zf", Float32, {47}},
                                                 {"zd", Float64, {23, 19}},
                                                 {"n", Int32, {}}};
  return facts;
}

// The captured code of a kernel: that of one block.
class RandomTileBody {
 public:
  RandomTileBody(const Recipe &recipe, const Int &count) : recipe_(recipe), count_(count) {}

  void run() {
    counters_.push_back(block_index());
    std::size_t next = 0;
    steps(next, 0);
    finish();
  }

 private:
  using Extents = std::vector<std::int64_t>;
  using enum ScalarType;
  using Op = ir::Op;

  struct Made {
    ir::Value value;
    int number;
    double bound;  // no element is larger, in a loop's first iteration
  };

  static constexpr SourceLocation where() { return std::source_location::current(); }

  static ir::Value record(Op op, const ir::Type &type, std::vector<ir::Value> operands, std::int32_t attribute = 0) {
    return lang::record_tile({op, type, std::move(operands), 0, attribute}, where());
  }
  static Extents extents_of(const ir::Value &value) {
    const ir::TileShape shape = value.type().shape();
    return {shape.begin(), shape.end()};
  }
  static ir::Type type_of(ScalarType element, const Extents &extents) { return {element, ir::TileShape(extents)}; }
  static ir::Value constant(const ir::Type &type, double number) {
    if (is_floating(type.element())) return ir::Value::constant(type, number);
    return ir::Value::constant(type, static_cast<std::int64_t>(number));
  }
  static bool is_float(const Made &made) { return is_floating(made.value.type().element()); }

  void make(const ir::Value &value, double bound) { made_.push_back({value, number_, bound}); }

  // Scaled down to about 4 at most.
  Made tame(Made made, double limit = 8) const {
    if (made.bound <= limit) return made;
    const ir::Type type = made.value.type();
    if (type.element() == Bool) return made;
    if (!is_floating(type.element())) {
      if (made.bound <= 1000) return made;
      made.value = record(Op::Rem, type, {made.value, constant(type, 17)});
      made.bound = 16;
      return made;
    }
    const double by = std::exp2(std::ceil(std::log2(made.bound / limit)) + 1);
    made.value = record(Op::Mul, type, {made.value, constant(type, 1 / by)});
    made.bound /= by;
    return made;
  }

  Made cast(Made made, ScalarType to) const {
    const ir::Type type = made.value.type();
    if (type.element() == to) return made;
    const bool grows = is_floating(type.element()) && !is_floating(to) && to != Bool;
    if (grows) {
      made.value = record(Op::Mul, type, {made.value, constant(type, 4)});
      made.bound *= 4;
    }
    if (is_floating(to) && !is_floating(type.element())) made = tame(made);
    made.value = record(Op::Cast, type.of(to), {made.value});
    if (type.element() == Bool || to == Bool) made.bound = 1;
    return made;
  }
  // With these extents: repeated, or a part of it, or with a margin of zeros.
  Made shaped(Made made, const Extents &extents) const {
    const ScalarType element = made.value.type().element();
    const ir::Type type = type_of(element, extents);
    if (made.value.type() == type) return made;
    Extents from = extents_of(made.value);
    if (from.size() != extents.size()) {
      Extents other;
      while (from.size() > extents.size()) {
        from[1] *= from[0];
        from.erase(from.begin());
      }
      while (from.size() < extents.size()) from.insert(from.begin(), 1);
      made.value = record(Op::Reshape, type_of(element, from), {made.value});
    }
    if (made.value.type() == type) return made;
    bool repeats = true;
    for (std::size_t d = 0; d < from.size(); ++d) repeats = repeats && (from[d] == extents[d] || from[d] == 1);
    if (repeats) {
      made.value = record(Op::Broadcast, type, {made.value});
      return made;
    }
    std::vector<ir::Value> operands{made.value};
    for (std::size_t d = 0; d < from.size(); ++d) operands.push_back(ir::Value::constant(Int32, 0));
    made.value = record(Op::Window, type, operands);
    return made;
  }
  Made fitted(const Made &made, const ir::Type &type) const {
    const ir::TileShape shape = type.shape();
    return shaped(cast(made, type.element()), {shape.begin(), shape.end()});
  }

  // A choice that stays the same if other steps are left out.
  template <class Fits>
  std::optional<std::size_t> choose(unsigned choice, Fits &&fits) const {
    const int before = std::max(number_, 1);
    const int wanted = choice & 1 ? before - 1 - static_cast<int>((choice >> 1) % 4)
                                  : static_cast<int>((choice >> 1) % static_cast<unsigned>(before));
    std::optional<std::size_t> first, best;
    for (std::size_t i = 0; i < made_.size(); ++i) {
      if (!fits(made_[i])) continue;
      if (!first) first = i;
      if (made_[i].number <= wanted) best = i;
    }
    if (!best) best = first;
    if (best) used_.insert(made_[*best].value.id());
    return best;
  }
  Made any(unsigned choice) {
    if (const auto at = choose(choice, [](const Made &) { return true; })) return made_[*at];
    return loaded(choice, {2, 2});
  }
  Made any_float(unsigned choice) {
    if (const auto at = choose(choice, is_float)) return made_[*at];
    return cast(any(choice), Float32);
  }
  // To compute with: no tile of bool.
  Made any_number(unsigned choice) {
    const Made made = any(choice);
    return made.value.type().element() == Bool ? cast(made, Float32) : made;
  }
  Made any_real(unsigned choice) {
    const Made made = any_float(choice);
    const ScalarType type = made.value.type().element();
    return type == Float32 || type == Float64 ? made : cast(made, choice & 8 ? Float64 : Float32);
  }

  std::int64_t extent(unsigned choice) const { return recipe_.extents[choice % 4]; }
  const Int &counter(unsigned choice) const { return counters_[choice % counters_.size()]; }

  static ScalarType element_type(unsigned choice) {
    constexpr ScalarType types[] = {Float32, Float32, Float32, Float64, Float64, Float16, BFloat16, Int32};
    return types[choice % 8];
  }
  static std::uint32_t array_of(ScalarType type, std::uint32_t of_f32) {
    switch (type) {
      case Float64: return of_f32 + 1;
      case Float16: return of_f32 + 2;
      case BFloat16: return of_f32 + 3;
      case Int32: return of_f32 + 4;
      default: return of_f32;
    }
  }

  ir::Value from_array(std::uint32_t array, const ir::Type &type, std::vector<ir::Value> indices) const {
    return lang::load_tile(array, std::move(indices), type, where());
  }

  // For an array of rank 2: a tile by its number, or from an element on, which may be outside of the array.
  std::vector<ir::Value> origin(unsigned choice, const ir::Type &type) const {
    const Int &k = counter(choice >> 2);
    const unsigned which = (choice >> 4) % 5;
    const auto index = [&](unsigned some, bool at) -> Index {
      switch (some % 4) {
        case 0: return Index(0);
        case 1: return Index(k, where());
        case 2: return at ? Index(Int(k * 3 - 2), where()) : Index(Int(k + 1), where());
        default: return at ? Index(-3) : Index(1);
      }
    };
    const unsigned a = choice >> 8, b = choice >> 10;
    return lang::tile_origin({index(a, which > 2), index(b, which > 2)}, type, 2, which <= 2, where());
  }

  Made loaded(unsigned choice, const Extents &extents) const {
    const ScalarType element = element_type(choice);
    const ir::Type type = type_of(element, extents);
    const bool of_8_bits = choice % 16 == 15;
    if (of_8_bits) {
      const ir::Type eight = type.of(Float8E4M3);
      return {record(Op::Cast, type.of(Float32), {from_array(xq, eight, origin(choice >> 4, eight))}), number_, 1};
    }
    return {from_array(array_of(element, xf), type, origin(choice >> 4, type)), number_, element == Int32 ? 4.0 : 1.0};
  }
  Extents some_extents(unsigned choice) const {
    Extents extents{extent(choice), extent(choice >> 2)};
    if ((choice >> 4) % 5 == 0) extents = {extents[1]};
    return extents;
  }

  // The steps from `next` on at this depth, and inside the blocks that they open.
  void steps(std::size_t &next, int depth) {
    while (next < recipe_.steps.size() && recipe_.steps[next].depth >= depth) {
      const Step &step = recipe_.steps[next++];
      number_ = step.number;
      const std::size_t tiles = made_.size(), counters = counters_.size();
      const auto inside = [&] {
        steps(next, step.depth + 1);
        // A tile that was not used for anything is changed in place.
        number_ = step.number;
        if (made_.size() > tiles && tiles > 0 && !used_.contains(made_.back().value.id()))
          change(made_[step.choice[3] % tiles], made_.back(), step.choice[3]);
        made_.erase(made_.begin() + static_cast<std::ptrdiff_t>(tiles), made_.end());
        counters_.erase(counters_.begin() + static_cast<std::ptrdiff_t>(counters), counters_.end());
      };
      if (step.kind == StepKind::loop)
        loop(step, inside);
      else if (step.kind == StepKind::branch)
        branch(step, inside);
      else
        single(step);
    }
  }

  void loop(const Step &step, const std::function<void()> &inside) {
    const auto [a, b, c, d] = step.choice;
    const auto body = [&](const Int &k) {
      counters_.push_back(k);
      inside();
    };
    const int trips = static_cast<int>(a % 4) + 1, stages = static_cast<int>(c % 4) + 1;
    switch (b % 4) {
      case 0:
        for (Int k : range(trips, pipelined(stages))) body(k);
        break;
      case 1:
        for (Int k : range(count_, pipelined(stages))) body(k);
        break;
      case 2:
        for (Int k : range(trips, 0, -1)) body(k);
        break;
      default:
        for (Int k : range(d % 3, trips)) body(k);
        break;
    }
  }

  void branch(const Step &step, const std::function<void()> &inside) {
    const auto [a, b, c, d] = step.choice;
    const auto condition = [&]() -> Traced<bool> {
      switch (a % 4) {
        case 0: return counter(b) % 2 == static_cast<int>(c % 2);
        case 1: return counter(b) < count_;
        case 2: {
          // Far from points where rounding matters.
          const Made made = cast(any_number(b), Float64);
          const Double sum = Double::adopt(lang::reduce_tile(Op::ReduceMax, Float64, made.value, {}, where()));
          return sum > 0.01;
        }
        default: return counter(b) * 3 % 4 != static_cast<int>(c % 4);
      }
    }();
    if (d % 3 != 0) return if_(condition, inside);
    const std::optional<std::size_t> target = choose(c, is_float);
    if (!target) return if_(condition, inside);
    const Made other = made_[*target];
    if_(condition, inside, [&] {
      const Made half = {record(Op::Mul, other.value.type(), {other.value, constant(other.value.type(), 0.5)}), 0, 0};
      lang::Trace::current(where()).assign(other.value.id(), half.value, where());
    });
  }

  void single(const Step &step) {
    const auto [a, b, c, d] = step.choice;
    // Some steps of any kind, so that the others are unchanged.
    switch ((d >> 18) % 16) {
      case 3: return function(any_real(a), b, c);
      case 11: return places_of(any_real(a), b, c);
      default: break;
    }
    switch (step.kind) {
      case StepKind::load: {
        const Made made = loaded(a, some_extents(b));
        return make(made.value, made.bound);
      }
      case StepKind::view: return view(a, b, c, d);
      case StepKind::make: return coordinate(a, b);
      case StepKind::random: return noise(a, b, c, d);
      case StepKind::unary: return unary(any_number(a), b);
      case StepKind::binary: return binary(any_number(a), any(b), c);
      case StepKind::compare: return compare(a, b, c, d);
      case StepKind::cast: {
        constexpr ScalarType types[] = {Float32, Float64, Float16, BFloat16, Int32, Bool, Float32, Float64};
        const Made made = cast(any(a), types[b % 8]);
        return make(made.value, made.bound);
      }
      case StepKind::reshape: return reshape(any(a), b);
      case StepKind::transpose: return transpose(any(a), b);
      case StepKind::slice: return slice(any(a), b, c);
      case StepKind::concatenate: return concatenate(any(a), any(b), c);
      case StepKind::insert: return insert(any_number(a), b, c, d);
      case StepKind::reduce: return reduce(any_number(a), b, c);
      case StepKind::rows: return rows(any_real(a), b);
      case StepKind::total: return total(any_number(a), any_number(b), c);
      case StepKind::position: return position(any_number(a), b, c);
      case StepKind::scan: return scan(any_number(a), b, c);
      case StepKind::recur: return recur(any_real(a), any_float(b), c);
      case StepKind::sort: return sort(any_number(a), any(b), c);
      case StepKind::take: return take(any(a), b, c);
      case StepKind::gather: return gather(a, b, c);
      case StepKind::scatter: return scatter(any_float(a), b, c);
      case StepKind::multiply: return multiply(a, b, c, d);
      case StepKind::accumulate: return accumulate(a, b, c, d);
      case StepKind::product_loop: return product_loop(a, b, c, d);
      case StepKind::solve: return solve(any_real(a), any_real(b), c, d);
      case StepKind::fourier: return fourier(any_real(a), b, c);
      case StepKind::tree: return tree(any_real(a), b);
      case StepKind::thread: return thread(any_real(a), b);
      case StepKind::in_place: return in_place(a, b, c);
      case StepKind::own: return own(a, b, c, d);
      case StepKind::element: return element(any_number(a), b, c);
      case StepKind::shift: return shift(a, b, c);
      case StepKind::store: return store(any(a), b, c);
      case StepKind::add: return add(any_float(a), b);
      case StepKind::assign: return assign(a, b, c);
      default: return;
    }
  }

  void view(unsigned a, unsigned b, unsigned c, unsigned d) {
    const ScalarType element = element_type(a);
    const ir::Type type = type_of(element, {extent(b), extent(b >> 2)});
    constexpr std::int64_t steps[] = {1, 2, -1, 3, -2, 0};
    const std::vector<int> order = c % 2 ? std::vector<int>{1, 0} : std::vector<int>{};
    const auto first = [&](unsigned choice) {
      return choice % 3 == 0 ? Index(counter(choice >> 2), where()) : Index(static_cast<int>(choice % 25));
    };
    const auto indices = lang::view_origin({first(d), first(d >> 8)}, type, 2, {steps[b / 16 % 5], steps[b / 80 % 6]},
                                           order, true, where());
    make(from_array(array_of(element, xf), type, indices), element == Int32 ? 4 : 1);
  }

  void coordinate(unsigned a, unsigned b) {
    const ir::Type type = type_of(Int32, some_extents(b));
    const auto rank = static_cast<unsigned>(type.shape().rank());
    switch (a % 3) {
      case 0:
        return make(
            lang::record_tile({Op::Coordinate, type, {}, 0, static_cast<std::int32_t>((a >> 2) % rank)}, where()),
            static_cast<double>(type.count()));
      case 1: return make(record(Op::Broadcast, type, {counter(a >> 2).value(where())}), 4);
      default: return make(record(Op::Copy, type.of(Float32), {constant(type.of(Float32), 0.25)}), 0.25);
    }
  }

  void noise(unsigned a, unsigned b, unsigned c, unsigned d) {
    const tile::RandomStream from{Int(counters_[0] * 1000), static_cast<int>(c % 5)};
    const auto rows = extent(b), columns = extent(b >> 2);
    switch (a % 4) {
      case 0: return make(tile::random_uniform<float>({rows, columns}, static_cast<int>(d), from).value(where()), 1);
      case 1: return make(tile::random_uniform<double>({rows, columns}, static_cast<int>(d), from).value(where()), 1);
      case 2: return make(tile::random_normal<float>({rows, columns}, static_cast<int>(d), from).value(where()), 6);
      default: return make(tile::random_normal<double>({columns}, static_cast<int>(d), from).value(where()), 6);
    }
  }
  void unary(Made made, unsigned choice) {
    made = tame(made, 4);
    const ir::Type type = made.value.type();
    const auto x = made.value;
    if (!is_floating(type.element())) {
      constexpr Op ops[] = {Op::Neg, Op::Abs, Op::Not};
      return make(record(ops[choice % 3], type, {x}), made.bound + 1);
    }
    const auto square = [&] { return record(Op::Mul, type, {x, x}); };
    const auto above = [&] { return record(Op::Add, type, {square(), constant(type, 1)}); };
    const double b = made.bound;
    switch (choice % 24) {
      case 0: return make(record(Op::Neg, type, {x}), b);
      case 1: return make(record(Op::Abs, type, {x}), b);
      case 2: return make(record(Op::Sqrt, type, {above()}), b + 1);
      case 3: return make(record(Op::Rsqrt, type, {above()}), 1);
      case 4: return make(record(Op::Cbrt, type, {above()}), b + 1);
      case 5: return make(record(Op::Exp, type, {x}), std::exp(b));
      case 6: return make(record(Op::Exp2, type, {x}), std::exp2(b));
      case 7: return make(record(Op::Expm1, type, {x}), std::exp(b));
      case 8: return make(record(Op::Log, type, {above()}), b + 1);
      case 9: return make(record(Op::Log2, type, {above()}), b + 1);
      case 10: return make(record(Op::Log1p, type, {square()}), b + 1);
      case 11: return make(record(Op::Sin, type, {x}), 1);
      case 12: return make(record(Op::Cos, type, {x}), 1);
      case 13: return make(record(Op::Atan, type, {x}), 2);
      case 14: return make(record(Op::Tanh, type, {x}), 1);
      case 15: return make(record(Op::Asinh, type, {x}), b);
      case 16: return make(record(Op::Sinh, type, {x}), std::exp(b));
      case 17: return make(record(Op::Erf, type, {x}), 1);
      case 18: return make(record(Op::Asin, type, {record(Op::Div, type, {x, above()})}), 1);
      case 19: return make(record(Op::Floor, type, {record(Op::Mul, type, {x, constant(type, 2.7)})}), 3 * b);
      case 20: return make(record(Op::StopGradient, type, {x}), b);
      case 21: return make(record(Op::Acosh, type, {record(Op::Add, type, {above(), constant(type, 0.5)})}), b + 1);
      case 22: return make(record(Op::Log10, type, {above()}), b + 1);
      default: return make(record(Op::Cosh, type, {x}), std::exp(b));
    }
  }

  void binary(Made left, Made right, unsigned choice) {
    left = tame(left);
    right = tame(right);
    // Occasionally a number with a tile; or along one dimension.
    const ir::Type type = left.value.type();
    right = tame(fitted(right, type));
    const auto x = left.value, y = right.value;
    const double a = left.bound, b = right.bound;
    if (!is_floating(type.element())) {
      constexpr Op ops[] = {Op::Add, Op::Sub, Op::Mul, Op::Min, Op::Max, Op::And, Op::Or, Op::Xor, Op::Div, Op::Rem};
      const Op op = ops[choice % 10];
      // Divisors are not zero.
      const auto divisor = op == Op::Div || op == Op::Rem ? record(Op::Or, type, {y, constant(type, 1)}) : y;
      return make(record(op, type, {x, divisor}), std::max(2.0, op == Op::Mul ? a * b : 2 * (a + b)));
    }
    const auto above = [&] { return record(Op::Add, type, {record(Op::Mul, type, {y, y}), constant(type, 1)}); };
    switch (choice % 14) {
      case 0:
      case 1:
      case 2: return make(record(Op::Add, type, {x, y}), a + b);
      case 3:
      case 4: return make(record(Op::Sub, type, {x, y}), a + b);
      case 5:
      case 6:
      case 7: return make(record(Op::Mul, type, {x, y}), a * b);
      case 8: return make(record(Op::Min, type, {x, y}), std::max(a, b));
      case 9: return make(record(Op::Max, type, {x, y}), std::max(a, b));
      case 10: return make(record(Op::Div, type, {x, above()}), a);
      case 11: return make(record(Op::Atan2, type, {x, above()}), 3.2);
      case 12: return make(record(Op::Hypot, type, {x, above()}), a + b * b + 1);
      default: return make(record(Op::CopySign, type, {x, record(Op::Sub, type, {y, constant(type, 0.3)})}), a);
    }
  }

  void compare(unsigned a, unsigned b, unsigned c, unsigned d) {
    const Made left = any_number(a), right = fitted(any_number(b), left.value.type());
    constexpr Op ops[] = {Op::Less, Op::LessEqual, Op::Greater, Op::GreaterEqual, Op::Equal, Op::NotEqual};
    const ir::Type type = left.value.type(), truth = type.of(Bool);
    ir::Value mask = record(ops[c % 6], truth, {left.value, right.value});
    if (c / 6 % 3 == 0)
      if (const auto other = choose(d, [](const Made &made) { return made.value.type().element() == Bool; })) {
        constexpr Op logic[] = {Op::And, Op::Or, Op::Xor};
        mask = record(logic[d % 3], truth, {mask, fitted(made_[*other], truth).value});
      }
    if (c / 18 % 4 == 0) mask = record(Op::Not, truth, {mask});
    if (c / 72 % 3 == 0) return make(mask, 1);
    const Made chosen = any_number(d), other = fitted(any_number(d >> 5), chosen.value.type());
    const Made fits = fitted({mask, 0, 1}, chosen.value.type().of(Bool));
    make(record(Op::Select, chosen.value.type(), {fits.value, chosen.value, other.value}),
         std::max(chosen.bound, other.bound));
  }

  void reshape(const Made &made, unsigned choice) {
    const std::int64_t count = made.value.type().count();
    Extents extents{count};
    // Some divisors.
    const auto take = [&](unsigned some) {
      std::int64_t divisor = 1 + some % 9;
      while (extents[0] % divisor != 0) --divisor;
      extents[0] /= divisor;
      extents.push_back(divisor);
    };
    for (unsigned i = 0; i < choice % 4; ++i) take(choice >> (4 * i + 2));
    if (choice & 0x100000) std::swap(extents.front(), extents.back());
    make(record(Op::Reshape, type_of(made.value.type().element(), extents), {made.value}), made.bound);
  }

  void transpose(const Made &made, unsigned choice) {
    const Extents from = extents_of(made.value);
    std::vector<int> order;
    for (std::size_t d = 0; d < from.size(); ++d)
      order.insert(order.begin() + static_cast<std::ptrdiff_t>((choice >> (3 * d)) % (d + 1)), static_cast<int>(d));
    if (from.size() == 2) order = {1, 0};
    Extents extents;
    std::int32_t attribute = 0;
    for (std::size_t d = 0; d < from.size(); ++d) {
      attribute |= order[d] << (4 * d);
      extents.push_back(from[static_cast<std::size_t>(order[d])]);
    }
    make(record(Op::Transpose, type_of(made.value.type().element(), extents), {made.value}, attribute), made.bound);
  }

  void slice(const Made &made, unsigned choice, unsigned wide) {
    const Extents from = extents_of(made.value);
    Extents extents;
    std::vector<ir::Value> operands{made.value};
    for (std::size_t d = 0; d < from.size(); ++d) {
      const unsigned some = choice >> (5 * d);
      extents.push_back(std::max<std::int64_t>(
          1, from[d] - static_cast<std::int64_t>(some % 4) + static_cast<std::int64_t>((wide >> d) % 3)));
      operands.push_back(some % 3 == 0 ? counter(some >> 2).value(where())
                                       : ir::Value::constant(Int32, static_cast<int>(some % 7) - 2));
    }
    make(record(Op::Window, type_of(made.value.type().element(), extents), operands), made.bound);
  }

  void concatenate(const Made &first, const Made &second, unsigned choice) {
    const Extents extents = extents_of(first.value);
    const auto dimension = choice % extents.size();
    Extents other = extents;
    other[dimension] = 1 + static_cast<std::int64_t>((choice >> 3) % 9);
    const Made fits = shaped(cast(second, first.value.type().element()), other);
    make(lang::concatenate_tiles(first.value, fits.value, static_cast<int>(dimension), where()),
         std::max(first.bound, fits.bound));
  }

  void insert(const Made &made, unsigned b, unsigned c, unsigned d) {
    const Made matrix = shaped(made, {extent(b), extent(b >> 2)});
    const ScalarType type = made.value.type().element();
    const Made from = cast(any_number(c), type);
    const ir::Value number = lang::reduce_tile(Op::ReduceMax, type, from.value, {}, where());
    const auto at = [&](unsigned some) {
      return some % 2 ? Index(counter(some >> 1), where()) : Index(static_cast<int>((some >> 1) % 10));
    };
    make(lang::insert_into_tile(matrix.value, {at(d), at(d >> 8)}, number, where()), std::max(made.bound, from.bound));
  }

  // Which dimensions of the tile, and the extents that are left.
  static Extents without(const Extents &from, unsigned choice) {
    Extents to = from;
    const unsigned some = 1 + choice % ((1u << from.size()) - 1);
    for (std::size_t d = 0; d < from.size(); ++d)
      if (some >> d & 1) to[d] = 1;
    return to;
  }

  void reduce(Made made, unsigned b, unsigned c) {
    constexpr Op ops[] = {Op::ReduceAdd, Op::ReduceAdd, Op::ReduceMin, Op::ReduceMax, Op::ReduceMul};
    const Op op = ops[c % 5];
    made = tame(made);
    const Extents from = extents_of(made.value), to = without(from, b);
    if (op == Op::ReduceMul) made = near_one(made);
    const ir::Type type = type_of(made.value.type().element(), to);
    const double count = static_cast<double>(made.value.type().count()) / static_cast<double>(type.count());
    make(record(op, type, {made.value}), op == Op::ReduceAdd ? count * made.bound : std::max(made.bound, 16.0));
  }
  // Tiles of such elements have products that are not large; some elements may be zero.
  Made near_one(Made made) const {
    const ir::Type type = made.value.type();
    if (!is_floating(type.element())) {
      made.value = record(Op::Rem, type, {made.value, constant(type, 2)});
      made.bound = 1;
      return made;
    }
    const ir::Value small =
        record(Op::Mul, type, {made.value, constant(type, std::exp2(-std::ceil(std::log2(made.bound)) - 5))});
    made.value = record(Op::Add, type, {small, constant(type, 1)});
    made.bound = 1.1;
    return made;
  }

  void total(Made made, const Made &other, unsigned choice) {
    constexpr Op ops[] = {Op::ReduceAdd, Op::ReduceMin, Op::ReduceMax, Op::ReduceAdd};
    const Op op = ops[choice % 4];
    made = tame(made);
    const ScalarType type = made.value.type().element();
    ir::Value number = lang::reduce_tile(op, type, made.value, {}, where());
    double bound = op == Op::ReduceAdd ? made.bound * static_cast<double>(made.value.type().count()) : made.bound;
    if (bound > 4 && is_floating(type)) {
      const double by = std::exp2(std::ceil(std::log2(bound)) - 1);
      number = lang::Trace::current(where()).let({Op::Mul, type, {number, constant(type, 1 / by)}}, where());
      bound = 2;
    }
    const Made fits = tame(cast(other, type));
    make(lang::record_on_tiles(choice / 4 % 2 ? Op::Add : Op::Mul, type, {fits.value, number}, where()),
         std::max(bound * fits.bound, bound + fits.bound));
  }

  void position(const Made &made, unsigned b, unsigned c) {
    const Extents from = extents_of(made.value), to = without(from, b);
    const ir::Type type = type_of(Int32, to);
    make(record(c % 2 ? Op::ReduceArgMin : Op::ReduceArgMax, type, {made.value}),
         static_cast<double>(made.value.type().count()));
  }

  void scan(Made made, unsigned b, unsigned c) {
    made = tame(made);
    tile::ScanOptions options;
    options.combine = static_cast<tile::Combine>(c % 4);
    options.backwards = c / 4 % 2 != 0;
    // The initial value of an exclusive scan of the least and greatest is not usable in further computations.
    const bool exclusive = c / 8 % 2 != 0 && c % 4 < 2;
    const auto rank = static_cast<unsigned>(made.value.type().shape().rank());
    const int dimension = static_cast<int>(b % rank);
    if (options.combine == tile::Combine::product) made = near_one(made);
    const double count = static_cast<double>(made.value.type().shape()[dimension]);
    make(lang::scan_tile(made.value, dimension, options, exclusive, where()),
         options.combine == tile::Combine::sum ? count * made.bound : std::max(made.bound, 16.0));
  }

  void recur(Made a, const Made &b, unsigned choice) {
    a = tame(a, 0.9);
    const Made other = tame(fitted(b, a.value.type()));
    const auto rank = static_cast<unsigned>(a.value.type().shape().rank());
    make(lang::recur_tile(a.value, other.value, static_cast<int>(choice % rank), choice & 16, where()),
         10 * other.bound);
  }

  void sort(const Made &keys, const Made &values, unsigned choice) {
    const ir::Value order = lang::sort_order_of_tile(keys.value, {choice % 2 != 0}, where());
    if (choice / 2 % 3 == 0) return make(lang::take_of_tile(keys.value, order, where()), keys.bound);
    if (choice / 2 % 3 == 1) return make(order, static_cast<double>(keys.value.type().count()));
    const Made fits = shaped(values, extents_of(keys.value));
    make(lang::take_of_tile(fits.value, order, where()), values.bound);
  }

  // Whole numbers from a bit below 0 to a bit beyond `below`.
  ir::Value places(unsigned choice, const Extents &extents, std::int64_t below) {
    const ir::Type type = type_of(Int32, extents);
    const auto integers = choose(choice, [](const Made &made) { return made.value.type().element() == Int32; });
    ir::Value value =
        integers
            ? shaped(made_[*integers], extents).value
            : record(Op::Mul, type, {lang::record_tile({Op::Coordinate, type, {}, 0, 0}, where()), constant(type, 7)});
    value = record(Op::Rem, type, {value, constant(type, static_cast<double>(below + 2))});
    return choice & 64 ? record(Op::Abs, type, {value}) : value;
  }

  void take(const Made &made, unsigned b, unsigned c) {
    Extents extents = extents_of(made.value);
    const std::int64_t below = extents.back();
    if (c % 3 == 0) extents.back() = extent(c >> 2);
    make(lang::take_of_tile(made.value, places(b, extents, below), where()), made.bound);
  }

  void gather(unsigned a, unsigned b, unsigned) {
    const Extents extents = some_extents(b);
    make(from_array(vf, type_of(Float32, extents), {places(a, extents, 71)}), 1);
  }
  void scatter(Made made, unsigned b, unsigned) {
    made = tame(cast(made, Float32));
    lang::add_tile(zf, {places(b, extents_of(made.value), 47)}, made.value, where());
  }

  // One of the types that products have, and the type in which they are added up.
  static std::pair<ScalarType, ScalarType> product_types(unsigned choice) {
    switch (choice % 10) {
      case 0:
      case 1:
      case 2: return {Float32, Float32};
      case 3:
      case 4: return {Float64, Float64};
      case 5: return {Float16, Float32};
      case 6: return {BFloat16, Float32};
      case 7: return {Float16, Float16};
      case 8: return {Int32, Int32};
      default: return {Float8E4M3, Float32};
    }
  }
  struct Product {
    ir::Value value;
    double bound;
  };
  // A and B directly, or transposed; an 8-bit factor is loaded.
  Product product(unsigned a, unsigned b, unsigned c, std::int64_t rows, std::int64_t columns, std::int64_t batch,
                  ScalarType factor, const ir::Value &sum) {
    const bool turned_a = c & 1, turned_b = c & 2, same = (c >> 2) % 8 == 0;
    std::int64_t inner = extent(c >> 5);
    if (same) inner = turned_a == turned_b ? rows : inner;
    const auto matrix = [&](std::int64_t m, std::int64_t n) {
      return batch == 0 ? Extents{m, n} : Extents{batch, m, n};
    };
    const auto factor_of = [&](unsigned choice, const Extents &extents) -> Made {
      if (factor == Float8E4M3) {
        const ir::Type eight = type_of(factor, extents);
        return {from_array(xq, eight, origin(choice, type_of(factor, {extents[extents.size() - 2], extents.back()}))),
                0, 1};
      }
      if (choice % 3 == 0 && factor != Int32 && batch == 0) {
        const ir::Type type = type_of(factor, extents);
        return {from_array(array_of(factor, xf), type, origin(choice >> 4, type)), 0, 1};
      }
      return tame(shaped(cast(any_number(choice), factor), extents), 4);
    };
    const Made left = factor_of(a, turned_a ? matrix(inner, rows) : matrix(rows, inner));
    const Made right = factor_of(b, turned_b ? matrix(columns, inner) : matrix(inner, columns));
    // The factors' 11 digits would dominate all other errors.
    return {lang::multiply_tiles(left.value, right.value, sum, turned_a, turned_b, false, where()),
            left.bound * right.bound * static_cast<double>(inner)};
  }

  void multiply(unsigned a, unsigned b, unsigned c, unsigned d) {
    const auto [factor, sum] = product_types(d);
    const std::int64_t rows = extent(d >> 4), columns = extent(d >> 6);
    const std::int64_t batch = (d >> 8) % 4 == 0 && factor != Float8E4M3 ? 1 + (d >> 10) % 3 : 0;
    const Extents extents = batch == 0 ? Extents{rows, columns} : Extents{batch, rows, columns};
    const ir::Type type = type_of(sum, extents);
    const Product made = product(a, b, c, rows, columns, batch, factor, ir::Value::zero(type));
    make(made.value, made.bound);
  }

  // Added to an existing tile.
  void accumulate(unsigned a, unsigned b, unsigned c, unsigned d) {
    const auto target = choose(d, [](const Made &made) {
      const ScalarType type = made.value.type().element();
      return made.value.type().shape().rank() == 2 && (type == Float32 || type == Float64 || type == Int32);
    });
    if (!target) return multiply(a, b, c, d);
    const Made sum = made_[*target];
    const Extents extents = extents_of(sum.value);
    const ScalarType type = sum.value.type().element();
    constexpr ScalarType of_f32[] = {Float32, Float16, BFloat16, Float32, Float8E4M3, Float32};
    const ScalarType factor = type == Float32 ? of_f32[(d >> 3) % 6] : type;
    const Product made = product(a, b, c, extents[0], extents[1], 0, factor, sum.value);
    lang::Trace::current(where()).assign(sum.value.id(), made.value, where());
    made_[*target].bound += 4 * made.bound;
  }

  // Sums of products of tiles that a loop loads ahead.
  void product_loop(unsigned a, unsigned b, unsigned c, unsigned d) {
    auto [factor, type] = product_types(d);
    if (factor == Float16 && type == Float16) factor = Float8E4M3, type = Float32;
    const std::uint32_t array = factor == Float8E4M3 ? static_cast<std::uint32_t>(xq) : array_of(factor, xf);
    const std::int64_t rows = extent(a), columns = extent(a >> 2), inner = extent(a >> 4);
    const bool turned_a = b & 1, turned_b = b & 2;
    const ir::Type of_a = type_of(factor, turned_a ? Extents{inner, rows} : Extents{rows, inner});
    const ir::Type of_b = type_of(factor, turned_b ? Extents{columns, inner} : Extents{inner, columns});
    const ir::Type of_sum = type_of(type, {rows, columns});
    const ir::Value sum = record(Op::Copy, of_sum, {constant(of_sum, 0)});
    const int trips = static_cast<int>(c % 5), stages = static_cast<int>(c / 8 % 4) + 1;
    const Int &block = counters_[0];
    for (Int k : range(trips, pipelined(stages))) {
      const auto origin = [&](const ir::Type &loaded, bool by_columns, unsigned choice) {
        const Index along(k, where()),
            other = choice % 2 ? Index(block, where()) : Index(static_cast<int>(choice / 2 % 2));
        return by_columns ? lang::tile_origin({other, along}, loaded, 2, true, where())
                          : lang::tile_origin({along, other}, loaded, 2, true, where());
      };
      const ir::Value left = from_array(array, of_a, origin(of_a, !turned_a, c >> 5));
      const ir::Value right = from_array(array, of_b, origin(of_b, turned_b, c >> 7));
      const ir::Value next = lang::multiply_tiles(left, right, sum, turned_a, turned_b, false, where());
      lang::Trace::current(where()).assign(sum.id(), next, where());
    }
    const double most = factor == Int32 ? 16 : 1;
    make(sum, most * static_cast<double>(inner * std::max(trips, 1)));
  }

  // Rows less their greatest element, divided by their sum.
  void rows(Made made, unsigned choice) {
    made = tame(made, 2);
    const ir::Type type = made.value.type();
    Extents to = extents_of(made.value);
    to[choice % to.size()] = 1;
    const ir::Type reduced = type_of(type.element(), to);
    const auto repeated = [&](const ir::Value &x) { return shaped({x, 0, 1}, extents_of(made.value)).value; };
    const ir::Value greatest = record(Op::ReduceMax, reduced, {made.value});
    const ir::Value power = record(Op::Exp, type, {record(Op::Sub, type, {made.value, repeated(greatest)})});
    const ir::Value sum = record(Op::ReduceAdd, reduced, {power});
    make(record(Op::Div, type, {power, repeated(sum)}), 1);
  }

  // One number of an array that is stored to elsewhere.
  void element(const Made &made, unsigned b, unsigned c) {
    const Made fits = tame(made);
    const std::vector<ir::Value> at{
        counters_[0].value(where()), ir::Value::constant(Int32, static_cast<int>(b % 37)),
        b & 64 ? counter(b >> 7).value(where()) : ir::Value::constant(Int32, static_cast<int>((b >> 7) % 33))};
    const auto scalar = [&](Op op, ScalarType type, std::vector<ir::Value> operands, std::uint32_t array = 0) {
      return lang::Trace::current(where()).let({op, type, std::move(operands), array}, where());
    };
    ir::Value number = scalar(Op::Load, Int32, at, yi);
    number = scalar(Op::Rem, Int32, {number, ir::Value::constant(Int32, 5)});
    const ScalarType type = fits.value.type().element();
    if (type != Int32) number = scalar(Op::Cast, type, {number});
    make(lang::record_on_tiles(c % 2 ? Op::Add : Op::Mul, type, {fits.value, number}, where()), 4 * fits.bound + 4);
  }

  // A part of an array that is stored to elsewhere, earlier or later.
  void shift(unsigned a, unsigned b, unsigned c) {
    const ir::Type type = type_of(Int32, {extent(a), extent(a >> 2)});
    const auto from = [&](unsigned row, unsigned column) {
      return std::vector<ir::Value>{counters_[0].value(where()),
                                    ir::Value::constant(Int32, static_cast<int>(row % 12) - 2),
                                    ir::Value::constant(Int32, static_cast<int>(column % 12) - 2)};
    };
    ir::Value loaded = from_array(yi, type, from(b, b >> 5));
    loaded = record(Op::Rem, type, {loaded, constant(type, 9)});
    make(loaded, 9);
    if (c % 2 == 0) lang::store_tile(yi, from(c >> 2, c >> 7), loaded, where());
  }

  // For M Mᵀ + 1, which is positive definite.
  void solve(Made made, const Made &right, unsigned c, unsigned d) {
    const std::int64_t n = std::min<std::int64_t>(extent(c), 17), columns = std::min<std::int64_t>(extent(c >> 2), 17);
    const ScalarType type = made.value.type().element();
    made = tame(shaped(made, {n, n}), 1);
    const ir::Type square = made.value.type(), integers = square.of(Int32);
    const auto index = [&](int dimension) {
      return lang::record_tile({Op::Coordinate, integers, {}, 0, dimension}, where());
    };
    const ir::Value diagonal = record(Op::Equal, square.of(Bool), {index(0), index(1)});
    const ir::Value one = record(Op::Cast, square, {diagonal});
    const ir::Value product = lang::multiply_tiles(made.value, made.value, one, false, true, false, where());
    const ir::Value factor = lang::cholesky_tile(product, where());
    if (d % 3 == 0) return make(factor, 5);
    const Made b = tame(shaped(cast(right, type), {n, columns}));
    ir::Value solution = lang::solve_tile(factor, b.value, {.upper = false, .transposed = d % 2 != 0}, where());
    if (d % 5 == 0) {
      const ir::Value turned = lang::transpose_tile(factor, {1, 0}, where());
      solution = lang::solve_tile(turned, b.value, {.upper = true, .transposed = d % 2 != 0}, where());
    }
    make(solution, 100 * b.bound);
  }

  void fourier(const Made &made, unsigned b, unsigned c) {
    const std::int64_t n = extent(b), rows = std::min<std::int64_t>(extent(b >> 2), 8);
    const Made z = tame(shaped(made, {rows, n, 2}));
    const ir::Value transformed = lang::transform_tile(z.value, c % 2 != 0, where());
    const double bound = 2 * z.bound * static_cast<double>(n);
    if (c / 2 % 2) return make(transformed, bound);
    make(lang::part_of_complex(transformed, static_cast<int>(c / 4 % 2), where()), bound);
  }

  template <Scalar T>
  void tree_of(const Made &made, int dimension) {
    const Tile<T> x = Tile<T>::adopt(made.value);
    const auto mean = [](const Tile<T> &a, const Tile<T> &b) -> Tile<T> { return a * T(0.5) + b * T(0.5); };
    make(tile::reduce(x, {dimension}, mean).value(where()), made.bound);
  }
  void tree(const Made &made, unsigned choice) {
    const auto rank = static_cast<unsigned>(made.value.type().shape().rank());
    const int dimension = static_cast<int>(choice % rank);
    made.value.type().element() == Float32 ? tree_of<float>(made, dimension) : tree_of<double>(made, dimension);
  }

  template <Scalar T>
  void thread_of(const Made &made) {
    const Tile<T> x = Tile<T>::adopt(made.value);
    const auto code = [](const Int &i, const Traced<T> &value) -> Traced<T> {
      Traced<T> sum = value;
      for (Int k : range(i % 3)) sum = sum * T(0.5) + sin(value + samite::cast<Traced<T>>(k));
      if_(value > T(0.11), [&] { sum = sum - value * value * T(0.25); });
      return sum;
    };
    const auto by_rows = [&](const Int &i, const Int &, const Traced<T> &value) { return code(i, value); };
    if (x.rank() == 1)
      make(tile::per_thread(x, code).value(where()), 4 + made.bound);
    else
      make(tile::per_thread(x, by_rows).value(where()), 4 + made.bound);
  }
  void thread(Made made, unsigned choice) {
    made = tame(made, 2);
    if (made.value.type().shape().rank() > 2) made = shaped(made, {extent(choice), extent(choice >> 2)});
    made.value.type().element() == Float32 ? thread_of<float>(made) : thread_of<double>(made);
  }

  void function(Made made, unsigned b, unsigned c) {
    made = tame(made, 4);
    const auto of = [&]<Scalar T>(const Tile<T> &x) {
      return RandomTileFunction<T>(x, made.bound, counter(c >> 12))(b, c);
    };
    const LanguageResult result = made.value.type().element() == Float32 ? of(Tile<float>::adopt(made.value))
                                                                         : of(Tile<double>::adopt(made.value));
    make(result.value, result.bound);
  }

  // Elements under a mask, and at tiles of indices; and atomic steps on places that are the block's own.
  void places_of(Made made, unsigned b, unsigned c) {
    const Extents extents{extent(c), extent(c >> 2)};
    const ir::Type type = type_of(Int32, extents);
    const Tile<std::int32_t> some = Tile<std::int32_t>::adopt(places(c >> 4, extents, 29));
    const Tile<std::int32_t> row =
        Tile<std::int32_t>::adopt(lang::record_tile({Op::Coordinate, type, {}, 0, 0}, where()));
    const Tile<std::int32_t> column =
        Tile<std::int32_t>::adopt(lang::record_tile({Op::Coordinate, type, {}, 0, 1}, where()));
    const Tile<bool> mask = (row + column * 3) % 4 != 1;
    const ir::Value chosen = mask.value(where());
    switch (b % 6) {
      case 0: {
        const auto places = lang::element_places({some, column}, 2, c & 512 ? &chosen : nullptr, nullptr, where());
        return make(from_array(xf, type.of(Float32), places.indices), 1);
      }
      case 1: {
        const Tile<std::int32_t> rows = Tile<std::int32_t>::adopt(places(c >> 4, {extents[0]}, 29));
        const auto places = lang::row_places(rows.value(where()), {Index(c & 512 ? 0 : 1)}, {extents[1]}, 2, where());
        return make(from_array(xd, type.of(Float64), places.indices), 1);
      }
      case 2: {
        const auto from = origin(c >> 9, type);
        const ir::Value loaded = from_array(xd, type.of(Float64), from);
        const ir::Value other = constant(Float64, 0.625);
        return make(lang::with_other(loaded, xd, from, b & 16 ? &chosen : nullptr, other, where()), 1);
      }
      case 3: {
        made = tame(fitted(made, type.of(Float32)), 16);
        const auto to = lang::places_under_mask({counters_[0], Index(2), Index(static_cast<int>(c >> 9) % 5)},
                                                made.value.type(), 3, false, chosen, where());
        return lang::store_tile(yf, to, made.value, where());
      }
      case 4: {
        // In another order than that of the elements.
        made = tame(fitted(made, type.of(Float64)), 16);
        const Tile<std::int32_t> back = static_cast<std::int32_t>(extents[0] - 1) - row;
        const auto to = lang::element_places({counters_[0], back, column + 1}, 3, nullptr, &made.value, where());
        return lang::store_tile(yd, to.indices, made.value, where());
      }
      default: {
        constexpr Op ops[] = {Op::AtomicAdd, Op::AtomicMax, Op::AtomicMin, Op::AtomicExchange, Op::AtomicXor};
        const Tile<std::int32_t> back = static_cast<std::int32_t>(extents[0] - 1) - row;
        const auto at = b & 16 ? lang::element_places({counters_[0], back, column}, 3, nullptr, nullptr, where())
                               : lang::ElementPlaces{{counters_[0].value(where()), ir::Value::constant(Int32, 1),
                                                      ir::Value::constant(Int32, -2)},
                                                     type.shape()};
        const ir::Value before = lang::atomic_on_tiles(ops[(b >> 5) % 5], yi, at, {some.value(where())}, where());
        const ir::Value kept = record(Op::Rem, type, {before, constant(type, 9)});
        // An adjoint that needs it is refused.
        if (c & 1024) return make(kept, 9);
        const auto elsewhere = ir::Value::constant(Int32, 17);
        return lang::store_tile(yi, {counters_[0].value(where()), elsewhere, elsewhere}, kept, where());
      }
    }
  }

  void in_place(unsigned a, unsigned b, unsigned c) {
    const std::uint32_t array = a % 2 ? wd : wf;
    for (const InPlace &other : in_place_)
      if (other.array == array) return;
    if (counters_.size() > 1 || recipe_depth() > 0) return;
    const ir::Type type = type_of(a % 2 ? Float64 : Float32, {extent(b), extent(b >> 2)});
    std::vector<ir::Value> indices{counters_[0].value(where())};
    for (const unsigned some : {c, c >> 4})
      indices.push_back(ir::Value::constant(Int32, some % 3 == 0 ? 0 : static_cast<int>(some % 11) - 2));
    const ir::Value loaded = from_array(array, type, indices);
    in_place_.push_back({array, indices, loaded});
    make(record(Op::Copy, type, {loaded}), 1);
  }
  // Rows are those of a tile that moves in steps of 8, or any few; columns may be any.
  void own(unsigned a, unsigned b, unsigned c, unsigned d) {
    const bool moving = d % 3 != 0;
    const std::uint32_t array = moving ? wd : wf;
    const ScalarType element = moving ? Float64 : Float32;
    constexpr int rows[] = {8, 4, 2, 1};
    const int height = rows[b % 4], from = height == 8 ? 0 : static_cast<int>((b >> 2) % 2) * 4;
    const ir::Type type = type_of(element, {height, 3 + static_cast<std::int64_t>((b >> 4) % 9)});
    const Index row = !moving             ? Index(static_cast<int>((c >> 4) % 14) - 2)
                      : (c >> 3) % 4 == 0 ? Index(static_cast<int>((c >> 5) % 3) * 8 + from)
                                          : Index(Int(counter(c >> 5) * 8 + from), where());
    const std::vector<ir::Value> place{counters_[0].value(where()), row.value(),
                                       ir::Value::constant(Int32, static_cast<int>((c >> 8) % 14) - 3)};
    switch (c % 5) {
      case 0:
      case 1: return lang::store_tile(array, place, tame(fitted(any_number(a), type), 1).value, where());
      case 2:
        if (counters_.size() > 1) break;
        return lang::add_tile(array, place, tame(fitted(any_number(a), type), 1).value, where());
      default: break;
    }
    make(from_array(array, type, place), 8);
  }

  int recipe_depth() const {
    for (const Step &step : recipe_.steps)
      if (step.number == number_) return step.depth;
    return 0;
  }

  // With two dimensions: further ones become rows.
  Made as_matrix(const Made &made) const {
    Extents extents = extents_of(made.value);
    if (extents.size() == 1) extents.insert(extents.begin(), 1);
    while (extents.size() > 2) {
      extents[1] *= extents[0];
      extents.erase(extents.begin());
    }
    return {extents == extents_of(made.value)
                ? made.value
                : record(Op::Reshape, type_of(made.value.type().element(), extents), {made.value}),
            made.number, made.bound};
  }

  void store_at(const Made &made, const Index &row, const Index &column) const {
    Made matrix = as_matrix(made);
    if (matrix.value.type().element() == Bool) matrix = cast(matrix, Int32);
    matrix = tame(matrix, 16);
    const std::uint32_t array = array_of(matrix.value.type().element(), yf);
    lang::store_tile(array, {counters_[0].value(where()), row.value(), column.value()}, matrix.value, where());
  }
  void store(const Made &made, unsigned b, unsigned c) const {
    const Index row = b % 2 ? Index(Int(counter(b >> 1) * 5), where()) : Index(static_cast<int>(b / 2 % 30) - 4);
    store_at(made, row, Index(static_cast<int>(c % 30) - 3));
  }

  void add(Made made, unsigned b) const {
    made = tame(cast(as_matrix(made), Float64));
    lang::add_tile(zd, origin(b, made.value.type()), made.value, where());
  }

  void assign(unsigned a, unsigned b, unsigned c) {
    if (const auto target = choose(a, is_float)) change(made_[*target], any_number(b), c);
  }
  void change(Made &to, Made by, unsigned choice) {
    const ir::Type type = to.value.type();
    if (!is_floating(type.element())) return;
    if (by.value.type().element() == Bool) by = cast(by, type.element());
    const Made value = tame(fitted(by, type), 4);
    const ir::Value share = record(Op::Mul, type, {value.value, constant(type, 0.5)});
    ir::Value next = share;
    if (choice % 3 != 0) next = record(Op::Add, type, {record(Op::Mul, type, {to.value, constant(type, 0.5)}), share});
    lang::Trace::current(where()).assign(to.value.id(), next, where());
    to.bound = std::max(to.bound, 4.0);
  }

  // The block's final values are stored: the latest tiles of each type, and the in-place ones.
  void finish() {
    number_ = 1 << 20;
    int column = 0, stored = 0;
    const auto show = [&](const Made &made) {
      store_at(made, Index(stored * 3 - 1), Index(column));
      ++stored, column += 5;
    };
    for (std::size_t i = made_.size(); i-- > 0 && stored < 6;)
      if (!used_.contains(made_[i].value.id())) show(made_[i]);
    for (std::size_t i = made_.size(); i-- > 0 && stored < 2;) show(made_[i]);
    for (const InPlace &place : in_place_) {
      const ir::Type type = place.loaded.type();
      Made sum = {place.loaded, 0, 2};
      int terms = 0;
      for (std::size_t i = made_.size(); i-- > 0 && terms < 2;) {
        if (made_[i].value.type().element() != type.element()) continue;
        const Made term = tame(fitted(made_[i], type), 2);
        sum.value = record(Op::Add, type, {sum.value, term.value});
        ++terms;
      }
      lang::store_tile(place.array, place.indices, record(Op::Mul, type, {sum.value, constant(type, 0.5)}), where());
    }
  }

  struct InPlace {
    std::uint32_t array;
    std::vector<ir::Value> indices;
    ir::Value loaded;
  };

  const Recipe &recipe_;
  const Int &count_;
  int number_ = 0;
  std::vector<Made> made_;
  mutable std::set<ir::LocalId> used_;
  std::vector<Int> counters_;
  std::vector<InPlace> in_place_;
};

using RandomTileKernel =
    TileKernel<void(Array<const float, 2>, Array<const double, 2>, Array<const half, 2>, Array<const bfloat16, 2>,
                    Array<const std::int32_t, 2>, Array<const f8e4m3, 2>, Array<const float, 1>, Array<float, 3>,
                    Array<double, 3>, Array<half, 3>, Array<bfloat16, 3>, Array<std::int32_t, 3>, Array<float, 3>,
                    Array<double, 3>, Array<float, 1>, Array<double, 2>, Int)>;

// UserError if the library refuses the kernel.
inline RandomTileKernel random_tile_kernel(const Recipe &recipe) {
  const auto body = [&](const auto &...parameters) {
    const Int &count = std::get<sizeof...(parameters) - 1>(std::tie(parameters...));
    RandomTileBody(recipe, count).run();
  };
  return RandomTileKernel("random_tile_kernel", body,
                          {.threads = recipe.threads, .sums_in_shared_memory = recipe.sums_in_shared});
}

}  // namespace samite::test::tiles
