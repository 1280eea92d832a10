#include "samite/passes/sm90/product_loops.h"

#include "samite/ir/loop_products.h"
#include "samite/ir/tile_rules.h"
#include "samite/ir/visit.h"
#include "samite/passes/analysis/loop_iterations.h"
#include "samite/passes/analysis/window_steps.h"
#include "samite/passes/simplify/rewrite.h"
#include "samite/passes/sm90/group_sums.h"
#include "samite/passes/sm90/stage_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <variant>

namespace samite::passes {
namespace {

using namespace ir;

constexpr std::int64_t unit_bytes = 16, most_box_rows = 256;
// Arguments, followed by tensor maps, must stay below the 4 KiB of a kernel's parameters.
constexpr std::int64_t most_argument_bytes = 3072;

std::int64_t element_bytes(const Type &type) { return static_cast<std::int64_t>(size_of(type.element())); }

// How warp groups compute a declared product, or the reason that they cannot.
struct Match {
  std::string why_not;
  bool steps = false;      // an iteration does more, in addition to the product of its two windows
  bool has_first = false;  // the block has the first factor: only the second one has windows
  const TileCall *product = nullptr;
  bool from_zero = false;
  std::array<const TileLoad *, 2> loads{};
  std::array<std::array<std::int64_t, 2>, 2> steps_of{};
  std::optional<Value> terms;  // the limit of an iteration's terms
  std::optional<FragmentLayout> sums;
  // The copy of each factor's array that is read instead, if any, with the reason; and whether it is swapped.
  std::array<std::optional<std::uint32_t>, 2> copies{};
  std::array<std::string, 2> why_copies{};
  std::array<bool, 2> swapped{};

  // The product of the windows in their layouts.
  Type factor(std::size_t i) const {
    const Type type = product->operands[i].type;
    return swapped[i] ? Type(type.element(), TileShape{type.shape()[1], type.shape()[0]}) : type;
  }
  std::int32_t attribute() const {
    return product->attribute ^ (swapped[0] ? transposed_a : 0) ^ (swapped[1] ? transposed_b : 0);
  }
  std::vector<Value> indices(std::size_t factor) const {
    std::vector<Value> indices = loads[factor]->indices;
    if (swapped[factor]) std::swap(indices[indices.size() - 2], indices.back());
    return indices;
  }
  // The windows of a factor from that of the first iteration on, without a ring.
  Transfer transfer(std::size_t i) const {
    return {.ring = {0, factor(i)},
            .array = copies[i].value_or(loads[i]->array),
            .indices = indices(i),
            .rows = steps_of[i][0],
            .columns = steps_of[i][1],
            .why_copy = why_copies[i]};
  }
};

class GroupProducts {
 public:
  GroupProducts(const Kernel &kernel, const Architecture &architecture, const FactsOfArrays &arrays, bool may_step)
      : kernel_(kernel), architecture_(architecture), arrays_(arrays), may_step_(may_step), forms_(kernel) {
    for_each_statement(kernel.body, [&](const Stmt &stmt) {
      if (const auto array = array_written(stmt)) written_.insert(*array);
    });
    for (const Parameter &parameter : kernel.parameters) argument_bytes_ += 8 + 16 * std::int64_t{parameter.rank};
  }

  Match match(const For &loop) const {
    Match found;
    found.why_not = why_not(loop, found);
    return found;
  }

  // For a pipelined loop whose products all multiply windows of both factors, or all the block's own factor with
  // windows: a match for each product. Empty if one of them does not match.
  std::vector<Match> match_each(const For &loop) const {
    std::vector<Match> products;
    if (!may_step_ || loop.stages == 1 || !loop.step.is_constant()) return products;
    const std::vector<const TileCall *> calls = product_calls(loop);
    for (std::size_t n = 0; n < loop.products.declared.size(); ++n) {
      const LoopProduct &declared = loop.products.declared[n];
      Match found;
      found.product = calls[n], found.from_zero = declared.from_zero;
      found.steps = true;
      for (std::size_t i = 0; i < 2; ++i) found.loads[i] = window_of(loop, declared.factors[i], calls[n]->operands[i]);
      found.has_first = !found.loads[0];
      if (!products.empty() && products[0].has_first != found.has_first) return {};
      if (!(found.has_first ? multiplies_windows(loop, declared, found)
                            : multiplies_two_windows(loop, declared, found)))
        return {};
      products.push_back(std::move(found));
    }
    return fit_registers(products) ? products : std::vector<Match>();
  }

  // An iteration's loads besides its factors.
  std::vector<StepValues> values_beside(const For &loop, const std::vector<Match> &products) const {
    std::vector<StepValues> values;
    for (const Stmt &stmt : loop.body) {
      const auto *load = stmt.as<TileLoad>();
      const bool factor = std::ranges::any_of(
          products, [&](const Match &match) { return std::ranges::find(match.loads, load) != match.loads.end(); });
      if (!load || factor) continue;
      if (auto own = values_of(loop, *load)) values.push_back(*own);
    }
    return values;
  }

 private:
  // Whether a thread has room for the sums of all products, or of one product at a time if they share a window of the
  // first factor.
  static bool fit_registers(const std::vector<Match> &products) {
    constexpr std::int64_t most = 160;  // of 255
    std::int64_t registers = 0;
    std::set<LocalArrayId> first;
    for (const Match &match : products)
      if (!match.has_first && first.insert(match.product->operands[0].array).second)
        registers += match.sums->registers();
    return first.size() < 2 || registers <= most;
  }

  // The load of a factor that is an unmodified window, or null.
  static const TileLoad *window_of(const For &loop, const LoopProduct::Factor &factor, const TileMemory &operand) {
    const TileLoad *load = factor.window && !factor.terms ? load_of(loop, *factor.window) : nullptr;
    return load && load->result.type == operand.type ? load : nullptr;
  }

  // Whether an iteration loads a tile that is only loaded by element, as a window that a bulk copy can load.
  std::optional<StepValues> values_of(const For &loop, const TileLoad &load) const {
    constexpr std::int64_t most_extent = 256, most_bytes = 4096;  // a few for each row: stages are mainly for factors
    const Type type = load.result.type;
    const ArrayFacts facts = facts_of(arrays_, load.array);
    if (type.element() != ScalarType::Float32 || type.shape().rank() != 2 || written_.contains(load.array) ||
        !facts.unaliased || !why_no_map(facts, "it").empty() || !known_at_begin(loop, load.indices))
      return std::nullopt;
    int loads = 0;
    for_each_statement(loop.body, [&](const Stmt &stmt) {
      const auto *let = stmt.as<Let>();
      loads += let && let->value.op == Op::LocalLoad && let->value.array == load.result.array;
    });
    if (touches(loop.body, load.result.array) != 1 + loads) return std::nullopt;
    for (const Value &index : load.indices)
      if (index.type().element() != ScalarType::Int32) return std::nullopt;
    // A copy begins at a multiple of 16 bytes in a row, and has a multiple of them; a stage begins at a multiple of
    // 128.
    const std::int64_t unit = unit_bytes / element_bytes(type), rows = type.shape()[0], columns = type.shape()[1];
    const bool whole = columns % unit == 0 && forms_.divisor(load.indices.back()) % unit == 0;
    if (!whole && columns != 1) return std::nullopt;
    StepValues values{&load, rows, whole ? columns : unit, !whole};
    while (rows * values.columns * element_bytes(type) % panel_bytes != 0) values.columns *= 2;
    const std::int64_t bytes = rows * values.columns * element_bytes(type);
    if (rows > most_extent || values.columns > most_extent || bytes > most_bytes) return std::nullopt;
    return values;
  }

  // Whether an iteration loads both factors, the second only for this product, the first possibly for others of this
  // kind.
  bool multiplies_two_windows(const For &loop, const LoopProduct &declared, Match &found) const {
    const LoopProduct::Factor &first = declared.factors[0], &second = declared.factors[1];
    return found.loads[1] && first.tile != second.tile && !first.shared && !second.shared &&
           products_of(loop, 1, second.tile) == 1 && why_no_sums(found).empty() &&
           why_no_windows(loop, 0, found).empty() && why_no_windows(loop, 1, found).empty() &&
           known_at_begin(loop, found.loads[0]->indices) && known_at_begin(loop, found.loads[1]->indices) &&
           argument_bytes_ <= most_argument_bytes;
  }

  // Whether each iteration loads the second factor only for products, and nothing else uses the first one, which comes
  // from outside of the loop or is computed in it. Several products of a window share its ring.
  bool multiplies_windows(const For &loop, const LoopProduct &declared, Match &found) const {
    const TileCall &product = *found.product;
    const LocalArrayId first = product.operands[0].array;
    if (!found.loads[1] || declared.factors[1].shared || size_of(product.operands[0].type.element()) != 2 ||
        product.operands[0].type.shape().rank() != 2)
      return false;
    bool may_be_factor = std::ranges::none_of(loop.body, [&](const Stmt &stmt) {
      const auto *load = stmt.as<TileLoad>();
      return load && load->result.array == first;
    });
    for_each_statement(kernel_.body, [&](const Stmt &stmt) {
      const auto *allocate = stmt.as<Allocate>();
      const auto *call = stmt.as<TileCall>();
      if (allocate && allocate->array == first) may_be_factor = may_be_factor && allocate->space == MemorySpace::shared;
      for (std::size_t i = 0; call && i < call->operands.size(); ++i)
        if (call->operands[i].array == first)
          may_be_factor = may_be_factor && i == 0 && call->op == Op::MatMul &&
                          call->operands[0].type == product.operands[0].type && is_in(loop.body, *call);
      if (const TileMemory *result = result_of(stmt); result && result->array == first)
        may_be_factor = may_be_factor && stmt.as<TileLoad>() && result->type == product.operands[0].type;
      // The loops inside have been rewritten.
      for_each_tile(stmt, [&](const TileMemory &tile, TileAccess access) {
        may_be_factor = may_be_factor && !(tile.array == first && !call && access != TileAccess::result);
      });
    });
    if (!may_be_factor) return false;
    const TileShape shape = product.operands[0].type.shape();
    if (shape[0] % piece_of(FragmentLayout::Unit::group_matrices).rows != 0 || shape[0] > most_box_rows ||
        shape[1] * element_bytes(product.operands[0].type) % panel_bytes != 0)
      return false;
    return why_no_sums(found).empty() && why_no_windows(loop, 1, found).empty() &&
           argument_bytes_ <= most_argument_bytes;
  }
  static bool is_in(const Block &block, const TileCall &call) {
    return std::ranges::any_of(block, [&](const Stmt &stmt) { return stmt.as<TileCall>() == &call; });
  }

  std::string why_not(const For &loop, Match &found) const {
    if (const std::string other = find(loop, found); !other.empty()) return other;
    if (const std::string other = why_no_sums(found); !other.empty()) return other;
    for (std::size_t i = 0; i < 2; ++i)
      if (const std::string other = why_no_windows(loop, i, found); !other.empty()) return other;
    if (argument_bytes_ > most_argument_bytes) return "the kernel has too many arguments for tensor maps beside them";
    return "";
  }

  // The reason that warp groups cannot hold the sums, or their layout.
  std::string why_no_sums(Match &found) const {
    const TileCall &product = *found.product;
    const Type a = product.operands[0].type, b = product.operands[1].type, sums = product.result.type;
    const auto unit = std::ranges::find_if(architecture_.of_groups, [&](const Multiplication &row) {
      const bool one_type = b.element() == a.element() || (is_float8(a.element()) && is_float8(b.element()));
      return row.factor == a.element() && row.sum == sums.element() && one_type &&
             (!row.tf32 || (product.attribute & tf32_factors));
    });
    if (unit == architecture_.of_groups.end())
      return fmt::format("groups of warps do not multiply {} to {} here", name(a.element()), name(sums.element()));
    for (const Type &type : {a, b, sums})
      if (type.shape().rank() != 2) return fmt::format("a tile of type {} has not two dimensions", name(type));
    if (unit->terms_together) {
      found.swapped = {(product.attribute & transposed_a) != 0, !(product.attribute & transposed_b)};
      if (found.swapped[1]) {
        found.sums = turned_group_sums(a, sums, product.attribute, kernel_.block_threads, architecture_);
        found.swapped[1] = !found.sums;
      }
      for (std::size_t i = 0; i < 2; ++i)
        if (found.swapped[i] && !facts_of(arrays_, found.loads[i]->array).swapped_copy)
          return fmt::format("factors of {} must lie with the terms of each sum one after another: a, and b transposed",
                             name(a.element()));
    }
    if (found.sums) return "";
    const Type first = found.factor(0);
    found.sums = group_sums(first, sums, found.attribute(), kernel_.block_threads, architecture_);
    if (found.sums) return "";
    const std::int64_t terms = first.shape()[found.attribute() & transposed_a ? 0 : 1] * element_bytes(first);
    if (terms % 32 != 0)
      return fmt::format("a step has {} bytes of each row's terms; multiples of 32 are needed", terms);
    const std::string beside = widths_beside(sums.shape()[1]);
    return fmt::format(
        "{} threads cannot share sums of {} by groups of 128, of whole 64 rows (or all of fewer, in eights) and 8 to "
        "64 columns in eights, 80, 96, 112, 128, 160, 192, 224 or 256 each{}",
        kernel_.block_threads, sums.shape().to_string(),
        beside.empty() ? "" : fmt::format("; with {} columns in place of {} they might", beside, sums.shape()[1]));
  }

  // Finds the statements of the loop's one product, or the reason that it has none.
  std::string find(const For &loop, Match &found) const {
    constexpr const char *more = "an iteration of its loop does more than load its factors and multiply them";
    if (loop.products.declared.empty() || !loop.step.is_constant()) return more;
    const LoopProduct &declared = loop.products.declared[0];
    found.product = product_calls(loop)[0], found.from_zero = declared.from_zero;
    found.steps = loop.products.and_more;
    if (declared.factors[0].terms || declared.factors[1].terms) {
      if (!found.steps) found.terms = limit_of_terms(loop, declared, *found.product);
      found.steps = !found.terms;
    }
    if (found.steps && !may_step_) return more;
    for (std::size_t i = 0; i < 2; ++i) {
      const LoopProduct::Factor &factor = declared.factors[i];
      found.loads[i] = factor.window && (found.terms || !factor.terms) ? load_of(loop, *factor.window) : nullptr;
      if (!found.loads[i]) return "a factor is not loaded in each iteration as it is";
      if (found.loads[i]->result.type != found.product->operands[i].type)
        return "a factor is another shape of what is loaded";
    }
    for (std::size_t i = 0; i < 2; ++i)
      if (found.steps && (declared.factors[i].shared || products_of(loop, i, declared.factors[i].tile) != 1))
        return "a factor is used for more than one product";
    return "";
  }

  // The number of a loop's products with this tile as one of their factors.
  static std::ptrdiff_t products_of(const For &loop, std::size_t factor, LocalArrayId tile) {
    return std::ranges::count_if(loop.products.declared,
                                 [&](const LoopProduct &own) { return own.factors[factor].tile == tile; });
  }

  // The limit of the terms of both masked factors, if it decreases by all terms of the windows in each iteration.
  std::optional<Value> limit_of_terms(const For &loop, const LoopProduct &declared, const TileCall &product) const {
    const std::optional<Value> limit = declared.factors[0].terms;
    if (!limit || declared.factors[1].terms != limit || declared.factors[0].shared || declared.factors[1].shared)
      return std::nullopt;
    const std::int64_t inner = matmul_extents(product.operands[0].type, product.result.type, product.attribute).inner;
    const auto slope = forms_.slope(*limit, loop);
    return slope && *slope * loop.step.as_int() == -inner ? limit : std::nullopt;
  }

  // The number of statements that access an array of the block.
  static int touches(const Block &block, LocalArrayId array) {
    int count = 0;
    for_each_statement(block, [&](const Stmt &stmt) {
      if (!stmt.as<BringWindows>())
        for_each_tile(stmt, [&](const TileMemory &tile, TileAccess) { count += tile.array == array; });
      if (const auto *let = stmt.as<Let>()) count += let->value.op == Op::LocalLoad && let->value.array == array;
      if (const auto *store = stmt.as<LocalStore>()) count += store->array == array;
    });
    return count;
  }

  // The reason that bulk copies cannot read the array itself.
  static std::string why_no_map(const ArrayFacts &facts, const std::string &array) {
    if (!facts.unit_stride) return "elements of the rows of " + array + " do not lie one after another";
    if (!facts.aligned_rows) return "rows of " + array + " do not all begin at multiples of 16 bytes";
    if (!facts.has_tensor_map) return "strides or extents of " + array + " are not such as bulk copies take";
    return "";
  }

  std::string why_no_windows(const For &loop, std::size_t factor, Match &found) const {
    const TileLoad &load = *found.loads[factor];
    std::array<std::int64_t, 2> &step = found.steps_of[factor];
    const std::string array = "'" + kernel_.parameters[load.array].name + "'";
    if (written_.contains(load.array)) return "the kernel writes to " + array + ", which bulk copies do not see";
    const ArrayFacts facts = facts_of(arrays_, load.array);
    if (!facts.unaliased) return array + " may share memory with an array that the kernel writes to";
    if (found.swapped[factor]) {
      found.copies[factor] = facts.swapped_copy;
      found.why_copies[factor] = "the terms of a sum do not lie one after another in " + array +
                                 ", so that it is copied first, with its last two dimensions exchanged";
    } else if (const std::string why = why_no_map(facts, array); !why.empty()) {
      if (!facts.padded_copy) return why;
      found.copies[factor] = facts.padded_copy;
      found.why_copies[factor] = why + ", so that it is copied first";
    }
    const auto own = window_step(load.indices, load.result.type, loop, forms_);
    constexpr std::int64_t far = std::int64_t{1} << 30;
    if (!own || std::abs((*own)[0]) > far || std::abs((*own)[1]) > far)
      return "windows of " + array + " do not lie at one distance from each other";
    step = *own;
    if (found.swapped[factor]) std::swap(step[0], step[1]);
    const std::vector<Value> indices = found.indices(factor);
    const TileShape window = found.factor(factor).shape();
    for (const Value &index : indices)
      if (index.type().element() != ScalarType::Int32) return array + " is so large that its indices have 64 bits";
    // A copy with another alignment in a row is an illegal instruction on an H200.
    const std::int64_t bytes = element_bytes(load.result.type);
    const std::int64_t divisor = std::min(forms_.divisor(indices.back()), unit_bytes);
    if (divisor * bytes % unit_bytes != 0 || step[1] * bytes % unit_bytes != 0)
      return "windows of " + array + " do not all begin at multiples of 16 bytes in its rows";
    if (window[1] * element_bytes(load.result.type) % panel_bytes != 0)
      return fmt::format("rows of windows of {} have {} bytes; multiples of 128 are needed", array,
                         window[1] * element_bytes(load.result.type));
    if (window[0] > most_box_rows || window[0] % 8 != 0)
      return fmt::format("windows of {} have {} rows; multiples of 8 up to {} are needed", array, window[0],
                         most_box_rows);
    return "";
  }

  const Kernel &kernel_;
  const Architecture &architecture_;
  const FactsOfArrays &arrays_;
  const bool may_step_;
  const IndexForms forms_;
  std::set<std::uint32_t> written_;
  std::int64_t argument_bytes_ = 0;
};

// A ring for the windows of a factor.
TileMemory make_ring(const Type &type, int stages, Builder &build) {
  Allocate buffers{build.new_local_array(), type.element(), Value::constant(ScalarType::Int32, type.count()),
                   MemorySpace::shared};
  buffers.layout = PanelLayout{type.shape()[0], type.shape()[1]};
  buffers.stages = stages;
  build.append({buffers, build.where()});
  return {buffers.array, type};
}

TileMemory make_barriers(int stages, Builder &build) {
  const TileMemory barriers{build.new_local_array(), Type(ScalarType::UInt64, TileShape{2 * std::int64_t{stages}})};
  build.append({Allocate{barriers.array, ScalarType::UInt64, Value::constant(ScalarType::Int32, barriers.type.count()),
                         MemorySpace::shared},
                build.where()});
  return barriers;
}

// A main loop with its rings, which begins with the windows of this iteration.
MainLoop main_loop(const Match &match, int stages, Builder &build) {
  MainLoop made{match.attribute(), match.product->result, {match.transfer(0), match.transfer(1)}, *match.sums};
  for (Transfer &factor : made.factors) factor.ring = make_ring(factor.ring.type, stages, build);
  made.barriers = make_barriers(stages, build);
  return made;
}

void write_loop(const Match &match, const For &loop, int stages, Builder &build) {
  MainLoop made = main_loop(match, stages, build);
  made.count = count_iterations(loop, build);
  CopiesForIndex first(build, loop, loop.begin);
  for (const Stmt &stmt : loop.body)
    if (const auto *let = stmt.as<Let>()) first.copy(*let);
  for (Transfer &factor : made.factors) factor.indices = first(factor.indices);
  if (match.terms) made.terms = first(*match.terms);
  const auto product = std::ranges::find(loop.body, match.product, &Stmt::as<TileCall>);
  build.append({std::move(made), product->where()});
}

// Keeps the loop, with one product of windows in each iteration for each of these products. Those of the same window
// use one ring, one after another.
class StepWriter {
 public:
  StepWriter(int stages, Builder &build) : stages_(stages), build_(build) {}

  void add(const Match &match) {
    if (!match.has_first) {
      made_.emplace(match.product, main_loop(match, stages_, build_));
      for (const TileMemory &factor : match.product->operands) brought_.emplace(factor.array, nullptr);
      return;
    }
    WindowProduct product{match.attribute(), match.product->result, match.product->operands[0], match.transfer(1), {},
                          *match.sums};
    product.second.rows = product.second.columns = 0;
    WindowProduct *&last = brought_[match.product->operands[1].array];
    if (last) {
      last->keeps_window = product.has_window = true;
      product.second.ring.array = last->second.ring.array;
      product.barriers = last->barriers;
    } else {
      product.second.ring = make_ring(product.second.ring.type, stages_, build_);
      product.barriers = make_barriers(stages_, build_);
    }
    last = &std::get<WindowProduct>(made_.emplace(match.product, std::move(product)).first->second);
  }

  void write(const std::vector<StepValues> &values, const For &loop) {
    For made = loop;
    made.body.clear(), made.products = products_by_groups(loop);
    for (const Stmt &stmt : loop.body) {
      const auto *allocate = stmt.as<Allocate>();
      const auto *load = stmt.as<TileLoad>();
      const bool of_factor =
          (allocate && brought_.contains(allocate->array)) || (load && brought_.contains(load->result.array));
      if (const auto product = made_.find(stmt.as<TileCall>()); product != made_.end())
        made.body.push_back(std::visit([&](const auto &own) { return Stmt(own, stmt.where()); }, product->second));
      else if (!of_factor)
        made.body.push_back(stmt);
    }
    if (values.empty()) return build_.append({std::move(made), build_.where()});
    std::vector<StepValues> own;  // loaded in the new loop
    for (const Stmt &stmt : made.body)
      for (const StepValues &each : values)
        if (const auto *load = stmt.as<TileLoad>(); load && load->result.array == each.load->result.array)
          own.push_back({load, each.rows, each.columns, each.within});
    write_stages({}, own, made, stages_, build_);
  }

 private:
  // The declaration with rings as windows; nothing if a product is a main loop without a count.
  LoopProducts products_by_groups(const For &loop) const {
    LoopProducts products = loop.products;
    const std::vector<const TileCall *> calls = product_calls(loop);
    for (std::size_t i = 0; i < calls.size(); ++i) {
      const auto known = made_.find(calls[i]);
      const auto *product = known == made_.end() ? nullptr : std::get_if<WindowProduct>(&known->second);
      if (!product) return {};
      const LocalArrayId ring = product->second.ring.array;
      products.declared[i].factors = {LoopProduct::Factor{product->first.array},
                                      LoopProduct::Factor{.tile = ring, .window = ring}};
    }
    return products;
  }

  const int stages_;
  Builder &build_;
  std::map<const TileCall *, std::variant<MainLoop, WindowProduct>> made_;
  std::map<LocalArrayId, WindowProduct *> brought_;  // the last product of each
};

// The same for windows of both factors, if several products share one, or other tiles come with them.
void write_stages_of(const std::vector<Match> &products, const std::vector<StepValues> &values, const For &loop,
                     int stages, Builder &build) {
  std::vector<StepProduct> steps;
  for (const Match &match : products)
    steps.push_back({match.product,
                     match.from_zero,
                     match.attribute(),
                     *match.sums,
                     match.loads,
                     {match.transfer(0), match.transfer(1)}});
  write_stages(steps, values, loop, stages, build);
}

bool has_products(const Block &block) {
  bool found = false;
  for_each_statement(block, [&](const Stmt &stmt) {
    const auto *call = stmt.as<TileCall>();
    found = found || (call && call->op == Op::MatMul);
  });
  return found;
}

class Maker {
 public:
  Maker(const Kernel &kernel, const Architecture &architecture, const FactsOfArrays &arrays,
        const MainLoopChoices &choices)
      : products_(kernel, architecture, arrays, choices.steps), choices_(choices), build_(kernel.local_count) {
    for (LocalArrayId i = 0; i < kernel.local_array_count; ++i) build_.new_local_array();
  }

  Kernel make(Kernel kernel) {
    kernel.body = with_reason(kernel.body, in_no_loop);
    kernel.body = rewrite(kernel.body, [&](const Stmt &stmt, Block &made) {
      const auto *loop = stmt.as<For>();
      if (!loop || loop->kind != LoopKind::Serial || !has_products(loop->body)) return made.push_back(stmt);
      const std::string why_not = write(*loop, stmt.where());
      for (Stmt &own : std::exchange(made_, {})) made.push_back(std::move(own));
      if (why_not.empty()) return;
      For same = *loop;
      same.body = with_reason(loop->body, why_not);
      made.emplace_back(std::move(same), stmt.where());
    });
    kernel.local_count = build_.local_count();
    kernel.local_array_count = build_.local_array_count();
    return kernel;
  }

 private:
  // The reason that the loop is unchanged; else the new one is in `made_`.
  std::string write(const For &loop, SourceLocation where) {
    Match match = products_.match(loop);
    std::vector<Match> steps;
    const bool matches = match.why_not.empty();
    if (!matches || (match.steps && loop.products.declared.size() > 1)) steps = products_.match_each(loop);
    // Other products of the loop that cannot be realised stay next to this one.
    if (matches && match.steps && steps.empty()) steps = {match};
    if (!match.why_not.empty() && steps.empty()) return match.why_not;
    if (!choices_.refused.empty()) return choices_.refused;
    const int stages = loop.stages > 1 ? loop.stages : choices_.stages_of_others;
    if (stages < 2) return "its loop is not pipelined";
    build_.at(where);
    Block outer = build_.open();
    write(match, steps, loop, stages);
    made_ = build_.close(std::move(outer));
    return "";
  }
  void write(const Match &match, const std::vector<Match> &steps, const For &loop, int stages) {
    if (steps.empty()) return write_loop(match, loop, stages, build_);
    const std::vector<StepValues> values = products_.values_beside(loop, steps);
    if (!steps[0].has_first && (steps.size() > 1 || !values.empty()))
      return write_stages_of(steps, values, loop, stages, build_);
    StepWriter writer(stages, build_);
    for (const Match &step : steps) writer.add(step);
    writer.write(values, loop);
  }

  const GroupProducts products_;
  const MainLoopChoices choices_;
  Builder build_;
  Block made_;
};

}  // namespace

Kernel product_loops(Kernel lowered, const Architecture &architecture, const FactsOfArrays &arrays,
                     const MainLoopChoices &choices) {
  if (!is_tile_kernel(lowered) || !architecture.has_warp_groups()) return lowered;
  if (lowered.sums_in_shared) {
    const char *reason = "sums are asked for in shared memory";
    lowered.body = rewrite(lowered.body, [&](const Stmt &stmt) { return with_reason({stmt}, reason).front(); });
    return lowered;
  }
  return Maker(lowered, architecture, arrays, choices).make(lowered);
}

}  // namespace samite::passes
