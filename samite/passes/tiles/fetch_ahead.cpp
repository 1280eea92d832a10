#include "samite/passes/tiles/fetch_ahead.h"

#include "samite/ir/visit.h"
#include "samite/passes/analysis/first_iteration.h"
#include "samite/passes/analysis/launch_loops.h"
#include "samite/passes/analysis/plan_refused.h"
#include "samite/passes/tiles/spread_tiles.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace samite::passes {
namespace {

using namespace ir;

constexpr std::int64_t farthest = std::int64_t{1} << 30;  // indices may have 32 bits
constexpr std::int64_t least_launch = 8;                  // in distances
constexpr std::int64_t bytes_ahead = 4 << 20, least_bytes_of_row = 512, least_bytes_of_block = 4096, bytes_of_unit = 16;

// A window that each block loads once, from its own place.
struct Window {
  const Stmt *loaded_by;
  std::uint32_t array;
  Type type;
  std::vector<Affine> origin;
  std::vector<std::int64_t> steps;  // of each index, between consecutive blocks
  std::vector<Value> indices;       // of its first element, which a loop's body may compute

  std::int64_t columns() const { return type.shape()[type.shape().rank() - 1]; }
  std::int64_t rows() const { return type.count() / columns(); }
  std::int64_t bytes() const { return type.count() * static_cast<std::int64_t>(size_of(type.element())); }
  bool same_elements(const Window &other) const {
    return array == other.array && type == other.type && origin == other.origin;
  }
};

// Whether the threads of a block cooperate between their loads and their stores.
bool computes_together(const Kernel &kernel) {
  bool found = false;
  for_each_statement(kernel.body,
                     [&](const Stmt &stmt) { found = found || (result_of(stmt) && !stmt.as<TileLoad>()); });
  return found;
}

// Bytes of the elements that loops over tiles store to arrays.
std::int64_t stored_by(const Block &block) {
  std::int64_t bytes = 0;
  for (const Stmt &stmt : block) {
    const auto *loop = stmt.as<For>();
    if (!loop || loop->kind != LoopKind::Thread || !loop->end.is_constant()) continue;
    for_each_statement(loop->body, [&](const Stmt &inner) {
      if (const auto *store = inner.as<Store>())
        bytes += loop->end.as_int() * static_cast<std::int64_t>(size_of(store->value.type().element()));
    });
  }
  return bytes;
}

class Fetcher {
 public:
  Fetcher(const Kernel &kernel, const FactsOfArrays &arrays)
      : arrays_(arrays),
        forms_(kernel),
        asked_(kernel.plan.blocks_ahead),
        threads_(kernel.block_threads),
        build_(kernel.local_count) {
    const std::vector<const For *> loops = launch_loops(kernel.body, kernel.launch_rank);
    if (loops.empty()) return;
    blocks_of_launch_ = loops.back();
    for (const Stmt &stmt : blocks_of_launch_->body) look_at(stmt);
    std::int64_t bytes = 0;
    for (const Window &window : windows_) bytes += window.bytes();
    if (asked_)
      ahead_ = windows_.empty() ? 0 : *asked_;
    else if (bytes >= least_bytes_of_block && 4 * stored_by(blocks_of_launch_->body) >= bytes)
      ahead_ = std::max<std::int64_t>(bytes_ahead / bytes, 1);
  }

  // In blocks; 0: no prefetch.
  std::int64_t distance() const { return ahead_; }

  Block with_fetches(const Block &block) {
    Block made;
    for (const Stmt &stmt : block) {
      const auto *loop = stmt.as<For>();
      if (loop && loop->kind == LoopKind::Block) {
        For copy = *loop;
        copy.body = loop == blocks_of_launch_ ? fetching(loop->body) : with_fetches(loop->body);
        made.emplace_back(std::move(copy), stmt.where());
      } else {
        made.push_back(stmt);
      }
    }
    return made;
  }
  LocalId local_count() const { return build_.local_count(); }

 private:
  void look_at(const Stmt &stmt) {
    if (const auto *load = stmt.as<TileLoad>(); load && load->in_units && !load->stream)
      add({&stmt, load->array, load->result.type, {}, {}, load->indices}, nullptr);
    const auto *loop = stmt.as<For>();
    if (!loop || loop->kind != LoopKind::Thread || !loop->end.is_constant()) return;
    const FirstIteration first_iteration(forms_, *loop);
    for_each_statement(loop->body, [&](const Stmt &inner) {
      const auto *let = inner.as<Let>();
      if (!let || let->value.op != Op::Load || let->value.attribute != 0) return;
      const Operation &load = let->value;
      const auto bytes = static_cast<std::int64_t>(size_of(load.type.element()));
      const auto type = window_type(load, *loop);
      if (type && facts_of(arrays_, load.array).rows_in_units() &&
          first_iteration.divisor(load.operands.back()) * bytes % bytes_of_unit == 0)
        add({&stmt, load.array, *type, {}, {}, load.operands}, loop);
    });
  }

  // The window of a loop's load, if it covers a tile's elements row by row.
  std::optional<Type> window_type(const Operation &load, const For &loop) const {
    const std::int64_t count = loop.end.as_int();
    const Affine index = Symbol::local(loop.index), along = forms_.moving(load.operands.back(), loop);
    std::int64_t columns = 0;
    if (along == index)
      columns = count;
    else if (along.known() && along.terms().size() == 1 && along.terms()[0].kind == AffineTerm::Kind::Remainder)
      columns = along.terms()[0].by;
    if (columns <= 0 || count % columns != 0 || (columns != count && !(along == remainder(index, columns))))
      return std::nullopt;
    const Affine row = quotient(index, columns);
    bool in_rows = columns == count;
    for (std::size_t d = 0; d + 1 < load.operands.size(); ++d) {
      const Affine moving = forms_.moving(load.operands[d], loop);
      const bool last = d + 2 == load.operands.size();
      if (last && moving == row)
        in_rows = true;
      else if (!(moving == Affine(0)))
        return std::nullopt;
    }
    if (!in_rows) return std::nullopt;
    const bool is_vector = load.operands.size() == 1;
    return Type(load.type.element(), is_vector ? TileShape{columns} : TileShape{count / columns, columns});
  }

  void add(Window window, const For *loop) {
    const std::int64_t bytes_of_row = window.bytes() / window.rows();
    if (bytes_of_row < least_bytes_of_row || bytes_of_row % bytes_of_unit != 0 || window.rows() > threads_ ||
        window.type.shape().rank() > 2)
      return;
    bool moves = false;
    for (const Value &index : window.indices) {
      const auto step = forms_.slope(index, *blocks_of_launch_);
      const Affine form = forms_(index).form;
      if (!step || !form.known()) return;
      window.steps.push_back(*step);
      window.origin.push_back(loop ? form.substitute(Symbol::local(loop->index), 0) : form);
      moves = moves || *step != 0;
    }
    if (moves && std::ranges::none_of(windows_, [&](const Window &other) { return other.same_elements(window); }))
      windows_.push_back(std::move(window));
  }

  Block fetching(const Block &block) {
    Block made;
    for (const Stmt &stmt : block) {
      made.push_back(stmt);
      for (const Window &window : windows_) {
        if (&window.loaded_by->kind() != &stmt.kind()) continue;
        build_.at(stmt.where());
        Block outer = build_.open();
        fetch(window);
        for (Stmt &added : build_.close(std::move(outer))) made.push_back(std::move(added));
      }
    }
    return made;
  }

  void fetch(const Window &window) {
    const For &launch = *blocks_of_launch_;
    const Value later =
        build_(Op::Add, {Value::local(launch.type, launch.index), Value::constant(launch.type, ahead_)});
    If branch{is_worthwhile(later), {}, {}, {}};
    Block outer = build_.open();
    Prefetch fetch{window.array, window.type, {}};
    const auto *loop = window.loaded_by->as<For>();
    const auto first_iteration = loop ? std::optional<FirstIteration>(std::in_place, forms_, *loop) : std::nullopt;
    for (std::size_t i = 0; i < window.indices.size(); ++i) {
      const auto first = first_iteration ? first_iteration->computed(window.indices[i], build_) : window.indices[i];
      const std::int64_t distance = ahead_ * window.steps[i];
      if (!first || std::abs(distance) > farthest) break;
      fetch.indices.push_back(build_(Op::Add, {*first, Value::constant(first->type().element(), distance)}));
    }
    const bool known = fetch.indices.size() == window.indices.size();
    if (known) build_.append({std::move(fetch), build_.where()});
    branch.then_block = build_.close(std::move(outer));
    if (known) build_.append({std::move(branch), build_.where()});
  }

  // Whether there is such a block, in a launch that is long enough.
  Value is_worthwhile(const Value &later) {
    const For &launch = *blocks_of_launch_;
    if (asked_) return build_(Op::Less, {later, launch.end});
    const Value of_launch = build_(Op::Sub, {launch.end, launch.begin});
    const Value is_long = build_(Op::Greater, {of_launch, Value::constant(launch.type, least_launch * ahead_)});
    return build_(Op::And, {build_(Op::Less, {later, launch.end}), is_long});
  }

  const FactsOfArrays &arrays_;
  const IndexForms forms_;
  const TilePlan::Field asked_;
  const For *blocks_of_launch_ = nullptr;  // consecutively numbered ones
  std::int64_t threads_, ahead_ = 0;       // of these blocks
  std::vector<Window> windows_;
  Builder build_;
};

}  // namespace

Kernel fetch_ahead(Kernel planned, const Architecture &architecture, const FactsOfArrays &arrays) {
  const bool asked = planned.plan.blocks_ahead.value_or(0) != 0;
  const auto refuse_unless = [&](bool holds, const char *reason) {
    if (holds || !asked) return holds;
    TilePlan nearest = planned.plan;
    nearest.blocks_ahead = 0;
    throw PlanRefused(planned, fmt::format("blocks_ahead {}", *planned.plan.blocks_ahead), reason, nearest);
  };
  if (!is_tile_kernel(planned) || planned.plan.blocks_ahead == 0) return planned;
  if (!refuse_unless(architecture.fetches_rows, "the GPU has no instruction that prefetches rows")) return planned;
  if (!refuse_unless(planned.plan.strip_columns.value_or(0) == 0, "its blocks are in strips, not row by row"))
    return planned;
  if (!asked && (has_products(planned) || !computes_together(planned))) return planned;
  Fetcher fetcher(planned, arrays);
  if (!refuse_unless(fetcher.distance() != 0,
                     "a block loads no window, of rows of at least 512 bytes in units of 16, that lies a constant "
                     "distance from that of the next block"))
    return planned;
  Block body = fetcher.with_fetches(planned.body);
  planned.body = std::move(body);
  planned.local_count = fetcher.local_count();
  planned.plan.blocks_ahead = static_cast<int>(fetcher.distance());
  return planned;
}

}  // namespace samite::passes
