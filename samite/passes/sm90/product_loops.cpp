#include "samite/passes/sm90/product_loops.h"

#include "samite/ir/tile_rules.h"
#include "samite/ir/visit.h"
#include "samite/passes/analysis/loop_iterations.h"
#include "samite/passes/analysis/window_steps.h"
#include "samite/passes/simplify/rewrite.h"
#include "samite/passes/sm90/group_sums.h"
#include "samite/passes/sm90/stage_steps.h"
#include "samite/passes/tiles/masked_copies.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>

namespace samite::passes {
namespace {

using namespace ir;

constexpr std::int64_t unit_bytes = 16, most_box_rows = 256;
// Arguments, followed by tensor maps, must stay below the 4 KiB of a kernel's parameters.
constexpr std::int64_t most_argument_bytes = 3072;

std::int64_t element_bytes(const Type &type) { return static_cast<std::int64_t>(size_of(type.element())); }

// A main loop, or the reason that a loop is none.
struct Match {
  std::string why_not;
  bool steps = false;      // an iteration does more, besides the product of its own two windows
  bool has_first = false;  // the block has the first factor: only the second one has windows
  const TileCall *product = nullptr;
  std::array<const TileCall *, 2> loads{};
  std::array<std::array<std::int64_t, 2>, 2> steps_of{};
  std::optional<Value> terms;  // the limit of an iteration's terms
  std::optional<FragmentLayout> sums;
  // The copy of each factor's array that is read instead, if any; and whether it is swapped.
  std::array<std::optional<std::uint32_t>, 2> copies{};
  std::array<bool, 2> swapped{};
  std::vector<std::string> copied;  // as in WayOfProduct

  // The product of the windows in their layouts.
  TileCall call() const {
    TileCall call = *product;
    for (std::size_t i = 0; i < 2; ++i) {
      if (!swapped[i]) continue;
      const Type type = call.operands[i].type;
      call.operands[i].type = Type(type.element(), TileShape{type.shape()[1], type.shape()[0]});
      call.attribute ^= i == 0 ? transposed_a : transposed_b;
    }
    return call;
  }
  std::vector<Value> indices(std::size_t factor) const {
    std::vector<Value> indices = loads[factor]->indices;
    if (swapped[factor]) std::swap(indices[indices.size() - 2], indices.back());
    return indices;
  }
};

class Matcher {
 public:
  Matcher(const Kernel &kernel, const Architecture &architecture, const FactsOfArrays &arrays, bool may_step)
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

  // For a pipelined loop whose iterations multiply the block's own factor with windows, or one window with several: a
  // match for each product. Empty if one of them does not match.
  std::vector<Match> match_each(const For &loop) const {
    std::vector<Match> products;
    if (!may_step_ || loop.stages == 1 || loop.kind != LoopKind::Serial || !loop.step.is_constant()) return products;
    for (const Stmt &stmt : loop.body) {
      const auto *call = stmt.as<TileCall>();
      if (!call || call->op != Op::MatMul || call->is_product_loop()) continue;
      Match found;
      found.product = call;
      found.steps = true;
      found.has_first = !load_in(loop, call->operands[0]);
      if (!products.empty() && !go_together(products[0], found)) return {};
      if (!(found.has_first ? multiplies_windows(loop, found) : shares_first_window(loop, found))) return {};
      products.push_back(std::move(found));
    }
    return products;
  }

  // An iteration's loads besides its factors.
  std::vector<StepValues> values_beside(const For &loop, const std::vector<Match> &products) const {
    std::vector<StepValues> values;
    for (const Stmt &stmt : loop.body) {
      const auto *load = stmt.as<TileCall>();
      const bool factor = std::ranges::any_of(
          products, [&](const Match &match) { return std::ranges::find(match.loads, load) != match.loads.end(); });
      if (!load || load->op != Op::Load || factor) continue;
      if (auto own = values_of(loop, *load)) values.push_back(*own);
    }
    return values;
  }

 private:
  static bool go_together(const Match &one, const Match &other) {
    return one.has_first == other.has_first &&
           (one.has_first || one.product->operands[0].array == other.product->operands[0].array);
  }

  // The load of a factor into its own memory, if an iteration has one.
  static const TileCall *load_in(const For &loop, const TileMemory &factor) {
    const TileCall *load = nullptr;
    bool own = false;
    for (const Stmt &stmt : loop.body) {
      const auto *allocate = stmt.as<Allocate>();
      const auto *call = stmt.as<TileCall>();
      own = own || (allocate && allocate->array == factor.array && allocate->space == MemorySpace::shared);
      if (call && call->op == Op::Load && call->result.array == factor.array && call->result.type == factor.type)
        load = call;
    }
    return own ? load : nullptr;
  }

  // Whether an iteration loads a tile that is only loaded by element, as a window that a bulk copy can load.
  std::optional<StepValues> values_of(const For &loop, const TileCall &load) const {
    constexpr std::int64_t most_extent = 256, most_bytes = 4096;  // a few for each row: stages are mainly for factors
    const Type type = load.result.type;
    const ArrayFacts facts = facts_of(arrays_, load.array);
    if (type.element() != ScalarType::Float32 || type.shape().rank() != 2 || !load_in(loop, load.result) ||
        written_.contains(load.array) || !facts.unaliased || !why_no_map(facts, "it").empty() ||
        !known_at_begin(loop, load.indices))
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
  bool shares_first_window(const For &loop, Match &found) const {
    const TileMemory &first = found.product->operands[0], &second = found.product->operands[1];
    const auto products = std::ranges::count_if(loop.body, [&](const Stmt &stmt) {
      const auto *call = stmt.as<TileCall>();
      return call && call->op == Op::MatMul && call->operands[0].array == first.array &&
             call->operands[0].type == first.type;
    });
    found.loads = {load_in(loop, first), load_in(loop, second)};
    return found.loads[1] && first.array != second.array && touches(loop.body, first.array) == 1 + products &&
           touches(loop.body, second.array) == 2 && why_no_sums(found).empty() &&
           why_no_windows(loop, 0, found).empty() && why_no_windows(loop, 1, found).empty() &&
           known_at_begin(loop, found.loads[0]->indices) && known_at_begin(loop, found.loads[1]->indices) &&
           argument_bytes_ <= most_argument_bytes;
  }

  // Whether each iteration loads the second factor only for this product, and no other product uses the first one,
  // which comes from outside of the loop or is computed in it.
  bool multiplies_windows(const For &loop, Match &found) const {
    const TileCall &product = *found.product;
    const LocalArrayId first = product.operands[0].array, second = product.operands[1].array;
    if (first == second || size_of(product.operands[0].type.element()) != 2 ||
        product.operands[0].type.shape().rank() != 2)
      return false;
    // Several products of a window share its ring.
    const auto products = std::ranges::count_if(loop.body, [&](const Stmt &stmt) {
      const auto *call = stmt.as<TileCall>();
      return call && call->op == Op::MatMul && call->operands[1].array == second && call->operands[0].array != second &&
             call->operands[1].type == product.operands[1].type;
    });
    if (touches(loop.body, second) != 1 + products) return false;
    found.loads[1] = load_in(loop, product.operands[1]);
    bool may_be_factor = std::ranges::none_of(loop.body, [&](const Stmt &stmt) {
      const auto *call = stmt.as<TileCall>();
      return call && call->op == Op::Load && call->result.array == first;
    });
    for_each_statement(kernel_.body, [&](const Stmt &stmt) {
      const auto *allocate = stmt.as<Allocate>();
      const auto *call = stmt.as<TileCall>();
      if (allocate && allocate->array == first) may_be_factor = may_be_factor && allocate->space == MemorySpace::shared;
      for (std::size_t i = 0; call && i < call->operands.size(); ++i)
        if (call->operands[i].array == first)
          may_be_factor = may_be_factor && i == 0 && call->op == Op::MatMul && !call->is_product_loop() &&
                          call->operands[0].type == product.operands[0].type && is_in(loop.body, *call);
      if (call && call->result.array == first)
        may_be_factor = may_be_factor && call->op == Op::Load && call->result.type == product.operands[0].type;
    });
    if (!found.loads[1] || !may_be_factor) return false;
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
    const TileCall read = found.call();
    found.sums = group_sums(read.operands[0].type, sums, read.attribute, kernel_.block_threads, architecture_);
    if (found.sums) return "";
    const TileShape factor = read.operands[0].type.shape();
    const std::int64_t terms = factor[read.attribute & transposed_a ? 0 : 1] * element_bytes(read.operands[0].type);
    if (terms % 32 != 0)
      return fmt::format("a step has {} bytes of each row's terms; multiples of 32 are needed", terms);
    const std::string beside = widths_beside(sums.shape()[1]);
    return fmt::format(
        "{} threads cannot share sums of {} by groups of 128, of whole 64 rows (or all of fewer, in eights) and 8 to "
        "64 columns in eights, 80, 96, 112, 128, 160, 192, 224 or 256 each{}",
        kernel_.block_threads, sums.shape().to_string(),
        beside.empty() ? "" : fmt::format("; with {} columns in place of {} they might", beside, sums.shape()[1]));
  }

  // Examines the statements of an iteration.
  std::string find(const For &loop, Match &found) const {
    constexpr const char *more = "an iteration of its loop does more than load its factors and multiply them";
    if (loop.kind != LoopKind::Serial || !loop.step.is_constant()) return more;
    std::map<LocalArrayId, const TileCall *> loads;
    std::map<LocalArrayId, MaskedCopy> masked;
    std::set<LocalArrayId> own;
    bool does_more = !loop.carried.empty();
    for (const Stmt &stmt : loop.body) {
      const auto *let = stmt.as<Let>();
      const auto *call = stmt.as<TileCall>();
      const auto *elements = stmt.as<For>();
      if (const auto *allocate = stmt.as<Allocate>(); allocate && allocate->space == MemorySpace::shared)
        own.insert(allocate->array);
      else if (call && call->op == Op::Load && loads.emplace(call->result.array, call).second)
        continue;
      else if (call && call->op == Op::MatMul && !call->is_product_loop() && !found.product)
        found.product = call;
      else if (const auto copies = elements ? masked_copies(*elements, loads) : std::vector<MaskedCopy>();
               !copies.empty())
        for (const MaskedCopy &copy : copies) does_more = !masked.emplace(copy.to, copy).second || does_more;
      else if (!let || !info(let->value.op).pure || let->value.op == Op::LocalLoad)
        does_more = true;
    }
    if (!found.product) return more;
    found.steps =
        does_more || own.contains(found.product->result.array) || loads.size() != 2 || own.size() != 2 + masked.size();
    if (!found.steps && !masked.empty()) {
      found.terms = limit_of_terms(loop, *found.product, masked, own);
      found.steps = !found.terms;
    }
    if (found.steps && !may_step_) return more;
    std::set<LocalArrayId> factors;
    for (std::size_t i = 0; i < 2; ++i) {
      const LocalArrayId own_factor = found.product->operands[i].array;
      const LocalArrayId factor = found.terms ? masked.at(own_factor).from : own_factor;
      const auto known = loads.find(factor);
      if (known == loads.end()) return "a factor is not loaded in each iteration as it is";
      if (known->second->result.type != found.product->operands[i].type)
        return "a factor is another shape of what is loaded";
      found.loads[i] = known->second;
      factors.insert(factor);
    }
    if (!found.steps) return factors.size() == loads.size() ? "" : more;
    for (const LocalArrayId factor : factors)
      if (!own.contains(factor) || touches(loop.body, factor) != 2) return "a factor is used for more than one product";
    return factors.size() == 2 ? "" : "both factors are one tile";
  }

  // If an iteration multiplies masked copies of two tiles: the limit of their terms, if it decreases by all terms of
  // the tiles in each iteration.
  std::optional<Value> limit_of_terms(const For &loop, const TileCall &product,
                                      const std::map<LocalArrayId, MaskedCopy> &masked,
                                      const std::set<LocalArrayId> &own) const {
    if (masked.size() != 2) return std::nullopt;
    std::optional<Value> limit;
    for (std::size_t i = 0; i < 2; ++i) {
      const auto copy = masked.find(product.operands[i].array);
      const bool transposed = product.attribute & (i == 0 ? transposed_a : transposed_b);
      if (copy == masked.end() || copy->second.dimension != static_cast<int>(transposed ? i : 1 - i) ||
          !own.contains(copy->second.to) || !own.contains(copy->second.from) ||
          touches(loop.body, copy->second.to) != 2 || touches(loop.body, copy->second.from) != 2 ||
          (limit && *limit != copy->second.limit))
        return std::nullopt;
      limit = copy->second.limit;
    }
    const std::int64_t inner = matmul_extents(product.operands[0].type, product.result.type, product.attribute).inner;
    const auto slope = forms_.slope(*limit, loop);
    return slope && *slope * loop.step.as_int() == -inner ? limit : std::nullopt;
  }

  // The number of statements that access an array of the block.
  static int touches(const Block &block, LocalArrayId array) {
    int count = 0;
    for_each_statement(block, [&](const Stmt &stmt) {
      if (const auto *call = stmt.as<TileCall>()) {
        count += call->result.array == array;
        for (const TileMemory &operand : call->operands) count += operand.array == array;
      }
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
    const TileCall &load = *found.loads[factor];
    std::array<std::int64_t, 2> &step = found.steps_of[factor];
    const std::string array = "'" + kernel_.parameters[load.array].name + "'";
    if (written_.contains(load.array)) return "the kernel writes to " + array + ", which bulk copies do not see";
    const ArrayFacts facts = facts_of(arrays_, load.array);
    if (!facts.unaliased) return array + " may share memory with an array that the kernel writes to";
    if (found.swapped[factor]) {
      found.copies[factor] = facts.swapped_copy;
      found.copied.push_back("the terms of a sum do not lie one after another in " + array +
                             ", so that it is copied first, with its last two dimensions exchanged");
    } else if (const std::string why = why_no_map(facts, array); !why.empty()) {
      if (!facts.padded_copy) return why;
      found.copies[factor] = facts.padded_copy;
      found.copied.push_back(why + ", so that it is copied first");
    }
    const auto own = window_step(load.indices, load.result.type, loop, forms_);
    constexpr std::int64_t far = std::int64_t{1} << 30;
    if (!own || std::abs((*own)[0]) > far || std::abs((*own)[1]) > far)
      return "windows of " + array + " do not lie at one distance from each other";
    step = *own;
    if (found.swapped[factor]) std::swap(step[0], step[1]);
    const std::vector<Value> indices = found.indices(factor);
    const TileShape window = found.call().operands[factor].type.shape();
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

// A call whose windows are those of the first iteration, without rings.
TileCall call_without_buffers(const Match &match) {
  TileCall call = match.call();
  call.sums = match.sums;
  for (std::size_t i = match.has_first ? 1 : 0; i < 2; ++i) {
    const std::uint32_t array = match.copies[i].value_or(match.loads[i]->array);
    call.windows.push_back({array, match.indices(i), match.steps_of[i][0], match.steps_of[i][1]});
  }
  return call;
}

// The call with rings.
TileCall call_with_buffers(const Match &match, int stages, Builder &build) {
  const SourceLocation where = build.where();
  TileCall call = call_without_buffers(match);
  for (std::size_t i = call.first_brought(); i < 2; ++i) {
    const Type type = call.operands[i].type;
    Allocate buffers{build.new_local_array(), type.element(), Value::constant(ScalarType::Int32, type.count()),
                     MemorySpace::shared};
    buffers.layout = PanelLayout{type.shape()[0], type.shape()[1]};
    buffers.stages = stages;
    call.operands[i].array = buffers.array;
    build.append({buffers, where});
  }
  const Type barriers(ScalarType::UInt64, TileShape{2 * std::int64_t{stages}});
  call.operands.push_back({build.new_local_array(), barriers});
  build.append({Allocate{call.operands[2].array, ScalarType::UInt64,
                         Value::constant(ScalarType::Int32, barriers.count()), MemorySpace::shared},
                where});
  return call;
}

void write_loop(const Match &match, const For &loop, int stages, Builder &build) {
  TileCall call = call_with_buffers(match, stages, build);
  call.count = count_iterations(loop, build);
  CopiesForIndex first(build, loop, loop.begin);
  for (const Stmt &stmt : loop.body)
    if (const auto *let = stmt.as<Let>()) first.copy(*let);
  for (LoopWindows &windows : call.windows) windows.indices = first(windows.indices);
  if (match.terms) call.terms = first(*match.terms);
  build.append({std::move(call), build.where()});
}

// Keeps the loop, with a call of one step in each iteration for each of these products. Products of the same window use
// one ring, one after another.
void write_steps(const std::vector<Match> &products, const std::vector<StepValues> &values, const For &loop, int stages,
                 Builder &build) {
  std::map<const TileCall *, TileCall> calls;
  std::map<LocalArrayId, TileCall *> brought;  // the last product of each
  for (const Match &match : products) {
    const auto before = brought.find(match.product->operands[1].array);
    const bool again = match.has_first && before != brought.end();
    TileCall call = again ? call_without_buffers(match) : call_with_buffers(match, stages, build);
    call.count = Value::constant(ScalarType::Int32, 1);
    if (again) {
      TileCall &last = *before->second;
      last.keeps_window = call.has_window = true;
      call.operands[1].array = last.operands[1].array;
      call.operands.push_back(last.operands[2]);
    }
    TileCall *made = &calls.emplace(match.product, std::move(call)).first->second;
    for (std::size_t i = made->first_brought(); i < 2; ++i)
      brought.insert_or_assign(match.product->operands[i].array, made);
  }
  For made = loop;
  made.body.clear();
  for (const Stmt &stmt : loop.body) {
    const auto *allocate = stmt.as<Allocate>();
    const auto *own = stmt.as<TileCall>();
    const bool of_factor = (allocate && brought.contains(allocate->array)) ||
                           (own && own->op == Op::Load && brought.contains(own->result.array));
    if (const auto call = calls.find(own); call != calls.end())
      made.body.emplace_back(call->second, stmt.where());
    else if (!of_factor)
      made.body.push_back(stmt);
  }
  if (values.empty()) return build.append({std::move(made), build.where()});
  std::vector<StepValues> own;  // whose loads are in the new loop
  for (const Stmt &stmt : made.body)
    for (const StepValues &each : values)
      if (const auto *load = stmt.as<TileCall>();
          load && load->op == Op::Load && load->result.array == each.load->result.array)
        own.push_back({load, each.rows, each.columns, each.within});
  write_stages({}, own, made, stages, build);
}

// The same for windows of both factors, if several products share one, or other tiles come with them.
void write_stages_of(const std::vector<Match> &products, const std::vector<StepValues> &values, const For &loop,
                     int stages, Builder &build) {
  std::vector<StepProduct> steps;
  for (const Match &match : products) {
    const TileCall call = call_without_buffers(match);
    TileCall own = call;
    own.windows.clear();
    steps.push_back({match.product, std::move(own), match.loads, {call.windows[0], call.windows[1]}});
  }
  write_stages(steps, values, loop, stages, build);
}

// Calls `see` with each product, and its enclosing loop, which may be null.
void for_each_product(const Block &block, const For *around,
                      const std::function<void(const Stmt &product, const For *loop)> &see) {
  for (const Stmt &stmt : block) {
    if (const auto *call = stmt.as<TileCall>(); call && call->op == Op::MatMul) see(stmt, around);
    if (const auto *branch = stmt.as<If>()) {
      for_each_product(branch->then_block, around, see);
      for_each_product(branch->else_block, around, see);
    } else if (const auto *loop = stmt.as<For>()) {
      for_each_product(loop->body, loop->kind == LoopKind::Serial ? loop : around, see);
    } else if (const auto *loop = stmt.as<While>()) {
      for_each_product(loop->body, nullptr, see);
    }
  }
}

}  // namespace

Kernel product_loops(Kernel lowered, const Architecture &architecture, const FactsOfArrays &arrays,
                     int stages_of_others, bool steps) {
  if (!is_tile_kernel(lowered) || architecture.of_groups.empty() || lowered.sums_in_shared) return lowered;
  const Matcher matcher(lowered, architecture, arrays, steps);
  Builder build(lowered.local_count);
  for (LocalArrayId i = 0; i < lowered.local_array_count; ++i) build.new_local_array();
  lowered.body = rewrite(lowered.body, [&](const Stmt &stmt, Block &made) {
    const auto *loop = stmt.as<For>();
    const int stages = !loop ? 0 : loop->stages > 1 ? loop->stages : stages_of_others;
    Match match;
    match.why_not = "it is not pipelined";
    if (stages > 1) match = matcher.match(*loop);
    std::vector<Match> steps;
    if (match.why_not.empty() && match.steps)
      steps = {match};
    else if (!match.why_not.empty() && loop)
      steps = matcher.match_each(*loop);
    if (!match.why_not.empty() && steps.empty()) return made.push_back(stmt);
    build.at(stmt.where());
    Block outer = build.open();
    const bool both = !steps.empty() && !steps[0].has_first;
    const auto values = steps.empty() ? std::vector<StepValues>() : matcher.values_beside(*loop, steps);
    if (steps.empty())
      write_loop(match, *loop, stages, build);
    else if (both && (steps.size() > 1 || !values.empty()))
      write_stages_of(steps, values, *loop, stages, build);
    else
      write_steps(steps, values, *loop, stages, build);
    for (Stmt &own : build.close(std::move(outer))) made.push_back(std::move(own));
  });
  lowered.local_count = build.local_count();
  lowered.local_array_count = build.local_array_count();
  return lowered;
}

bool has_product_steps(const Kernel &kernel) {
  bool has = false;
  for_each_statement(kernel.body, [&](const Stmt &stmt) {
    const auto *loop = stmt.as<For>();
    if (!loop || loop->kind != LoopKind::Serial) return;
    for (const Stmt &own : loop->body)
      if (const auto *call = own.as<TileCall>(); call && call->is_product_loop())
        has = has || (call->count->is_constant() && call->count->as_int() == 1);
  });
  return has;
}

bool has_product_loops(const Kernel &kernel) {
  bool has = false;
  for_each_statement(kernel.body, [&](const Stmt &stmt) {
    const auto *call = stmt.as<TileCall>();
    has = has || (call && call->is_product_loop());
  });
  return has;
}

std::vector<WayOfProduct> ways_of_products(const Kernel &lowered, const Architecture &architecture,
                                           const FactsOfArrays &arrays, bool steps) {
  std::vector<WayOfProduct> ways;
  if (!is_tile_kernel(lowered) || architecture.of_groups.empty()) return ways;
  const Matcher matcher(lowered, architecture, arrays, steps);
  for_each_product(lowered.body, nullptr, [&](const Stmt &product, const For *loop) {
    Match match;
    match.why_not = !loop ? "it is in no loop" : "sums are asked for in shared memory";
    if (loop && !lowered.sums_in_shared) {
      match = matcher.match(*loop);
      if (!match.why_not.empty())
        for (Match &own : matcher.match_each(*loop))
          if (own.product == product.as<TileCall>()) match = std::move(own);
    }
    if (!match.why_not.empty()) match.copied.clear();
    ways.push_back({product.where(), std::move(match.why_not), std::move(match.copied)});
  });
  return ways;
}

TensorMapNeeded tensor_map_of(const TileCall &product_loop, std::size_t brought) {
  const Type type = product_loop.operands[product_loop.first_brought() + brought].type;
  const LoopWindows &windows = product_loop.windows[brought];
  return {windows.array, type.element(), static_cast<int>(windows.indices.size()), type.shape()[0] / windows.parts,
          panel_bytes / element_bytes(type)};
}

TensorMapNeeded tensor_map_of(const BringWindows::Window &window) {
  const Type type = window.ring.type;
  return {window.array,
          type.element(),
          static_cast<int>(window.indices.size()),
          type.shape()[0],
          window.values ? type.shape()[1] : panel_bytes / element_bytes(type),
          window.values};
}

std::vector<TensorMapNeeded> tensor_maps(const Kernel &planned) {
  std::vector<TensorMapNeeded> maps;
  const auto add = [&](const TensorMapNeeded &map) {
    if (std::ranges::find(maps, map) == maps.end()) maps.push_back(map);
  };
  for_each_statement(planned.body, [&](const Stmt &stmt) {
    const auto *call = stmt.as<TileCall>();
    for (std::size_t i = 0; call && call->is_product_loop() && i < call->windows.size(); ++i)
      add(tensor_map_of(*call, i));
    if (const auto *bring = stmt.as<BringWindows>())
      for (const BringWindows::Window &window : bring->windows) add(tensor_map_of(window));
  });
  return maps;
}

}  // namespace samite::passes
