// Instances side by side: everything that differs between a thread's instances is written once for each, statement by
// statement, as lanes that run in step; elements that lie next to each other are one load or store.
#include "samite/codegen/side_by_side.h"

#include "samite/base/error.h"
#include "samite/codegen/kernel_emitter.h"
#include "samite/codegen/spelling.h"
#include "samite/ir/visit.h"

#include <algorithm>
#include <utility>

namespace samite::codegen {

using namespace ir;

namespace {

constexpr std::size_t largest_body = 128, largest_alone = 8, most = 8, most_in_loops = 4;

// With fewer, a multiprocessor has not enough to do while it waits.
constexpr int threads_for_multiprocessor = 192, warp_size = 32;

std::int64_t floor_to(std::int64_t value, std::int64_t multiple) {
  return value - ((value % multiple) + multiple) % multiple;
}

// A few operations that only compute and load. Each instance then asks for itself: a load that waits for nothing but
// its condition is under way while earlier ones are, which it would not be behind a branch that all of them take
// together.
bool each_may_ask(const If &branch) {
  for (const Block *side : {&branch.then_block, &branch.else_block}) {
    if (side->size() > largest_alone) return false;
    for (const Stmt &stmt : *side) {
      const Let *let = stmt.as<Let>();
      const If *inner = stmt.as<If>();
      if (inner ? !each_may_ask(*inner) : !let || (!info(let->value.op).pure && let->value.op != Op::Load))
        return false;
    }
  }
  return true;
}

}  // namespace

void KernelEmitter::copy_definitions(const Stmt &stmt) {
  for_each_statement({stmt}, [&](const Stmt &inner) {
    for_each_definition(inner, [&](LocalId local, ScalarType) { copied_[local] = true; });
  });
}

void KernelEmitter::each_copy(const Stmt &stmt) {
  copy_definitions(stmt);
  for_each_copy([&] { statement(stmt); });
}

bool KernelEmitter::same_for_copies(const std::vector<Value> &values) const {
  return std::ranges::none_of(values, [&](const Value &value) { return value.is_local() && copied_[value.id()]; });
}

void KernelEmitter::several(const Block &block) {
  const auto packs = packs_;
  const auto coming = coming_packs_;
  for (const Stmt &stmt : block) {
    const Let *let = stmt.as<Let>();
    if (!let || let->value.op != Op::Load || !emission_.constant(let->value.array)) continue;
    if (auto at = row(let->value.array, let->value.operands); at && aligned(*at))
      coming_packs_.insert(at->key(let->value.array, at->from_it));
  }
  for (const Stmt &stmt : block) several(stmt);
  packs_ = packs;
  coming_packs_ = coming;
}

void KernelEmitter::several(const Stmt &stmt) {
  out_.location(stmt.where());
  if (const Let *let = stmt.as<Let>()) {
    const bool repeatable = info(let->value.op).pure || let->value.op == Op::Load;
    if (repeatable && same_for_copies(let->value.operands)) {
      copied_[let->local] = false;
      return statement(stmt);
    }
    if (let->value.op == Op::Load && load_pack(*let)) return;
    if (let->value.op == Op::Exchange && take_pack(*let)) return;
  } else if (const If *branch = stmt.as<If>()) {
    if (same_for_copies({branch->condition}) || !each_may_ask(*branch)) return several(*branch);
  } else if (const For *loop = stmt.as<For>(); loop && same_for_copies({loop->begin, loop->end, loop->step})) {
    return several(*loop);
  } else if (const Accumulate *add = stmt.as<Accumulate>(); add && rows_for(*add)) {
    return add_row(*rows_for(*add), *add, stmt.where());
  } else if (store_pack(stmt)) {
    return;
  }
  each_copy(stmt);
}

// Where all instances go the same way, they stay together.
void KernelEmitter::several(const If &branch) {
  const bool together = same_for_copies({branch.condition});
  for (const BranchResult &result : branch.results) copied_[result.local] = true;
  for_each_copy([&] {
    for (const BranchResult &result : branch.results)
      if (used(result.local)) out_.line("{} {};", scalar_name(result.type), name(result.local));
  });
  auto side = [&](const Block &statements, Value BranchResult::*value) {
    several(statements);
    for_each_copy([&] {
      for (const BranchResult &result : branch.results)
        if (used(result.local)) out_.line("{} = {};", name(result.local), scalar(result.*value));
    });
  };
  std::string all;
  if (together)
    all = scalar(branch.condition);
  else
    for_each_copy([&] { all += fmt::format("{}{}", all.empty() ? "" : " && ", scalar(branch.condition)); });
  out_.open("if ({}) {{", all);
  side(branch.then_block, &BranchResult::then_value);
  out_.close();
  out_.open("else {{");
  if (together) {
    side(branch.else_block, &BranchResult::else_value);
  } else {
    for (const Stmt &stmt : branch.then_block) copy_definitions(stmt);
    for (const Stmt &stmt : branch.else_block) copy_definitions(stmt);
    auto alone = [&](const Block &statements, Value BranchResult::*value) {
      block(statements);
      for (const BranchResult &result : branch.results)
        if (used(result.local)) out_.line("{} = {};", name(result.local), scalar(result.*value));
    };
    for_each_copy([&] {
      out_.open("if ({}) {{", scalar(branch.condition));
      alone(branch.then_block, &BranchResult::then_value);
      out_.close();
      out_.open("else {{");
      alone(branch.else_block, &BranchResult::else_value);
      out_.close();
    });
  }
  out_.close();
}

// All of them go round together, so that what is loaded for one iteration serves them all.
void KernelEmitter::several(const For &loop) {
  for (const Carried &carried : loop.carried) copied_[carried.inner] = copied_[carried.result] = true;
  if (loop_of_warp(loop)) return;
  for_each_copy([&] { declare_carried(loop.carried, false); });
  const std::string index = name(loop.index);
  keep_small(loop);
  out_.open("for ({} {} = {}; {}; {} += {}) {{", scalar_name(loop.type), index, scalar(loop.begin),
            continues(loop, Shape::Uniform), index, scalar(loop.step));
  several(loop.body);
  for_each_copy([&] { advance_carried(loop.carried, false); });
  out_.close();
  for_each_copy([&] { name_results(loop.carried, false); });
}

std::string KernelEmitter::Row::key(std::uint32_t array, std::int64_t element) const {
  return fmt::format("{} {} {}", array, element, offset);
}

// Where the instances' elements are next to each other, in a row that the launcher says is aligned.
std::optional<KernelEmitter::Row> KernelEmitter::row(std::uint32_t array, std::span<const Value> indices) const {
  if (!facts(array).rows_in_units() || options_.debug) return std::nullopt;
  for (const Value &index : indices.first(indices.size() - 1))
    if (index.is_local() && copied_[index.id()]) return std::nullopt;
  // The instance's index and a constant.
  constexpr std::int64_t farthest = 1 << 16;
  if (!first_index_.is_local()) return std::nullopt;
  const passes::IndexForm at = index_forms_(indices.back());
  const passes::Symbol own = passes::Symbol::local(first_index_.id());
  const std::int64_t from_it = at.form.constant();
  if (!at.form.is_symbol_and_constant(own) || from_it < -farthest || from_it > farthest) return std::nullopt;
  if (at.narrow_or_unsigned || !index_forms_.tells_apart(own, at.narrowest)) return std::nullopt;
  std::vector<Value> first(indices.begin(), indices.end());
  first.back() = first_index_;
  return Row{memory_.thread_offset(array, first), from_it};
}

// What has been loaded of a constant array from `element` on, counted from the first instance's index; loads it now.
std::string KernelEmitter::pack(std::uint32_t array, const Row &row, std::int64_t element) {
  auto [found, is_new] = packs_.try_emplace(row.key(array, element));
  if (is_new) {
    found->second = fresh("g");
    out_.line("const auto {} = load_constant_pack<{}>(&p{}.data[{} + {}]);", found->second, copies_, array, row.offset,
              element);
  }
  return found->second;
}

// An element of one instance, where a pack that has been loaded holds it; else nothing.
std::string KernelEmitter::from_pack(const Operation &load) {
  if (!side_by_side_ || copy_ < 0 || !emission_.constant(load.array)) return "";
  const int copy = std::exchange(copy_, -1);  // rows are named from the first instance's index
  const auto at = row(load.array, load.operands);
  copy_ = copy;
  if (!at) return "";
  const std::int64_t element = at->from_it + copy_, first = floor_to(element, copies_);
  const auto found = packs_.find(at->key(load.array, first));
  return found == packs_.end() ? "" : fmt::format("{}.at[{}]", found->second, element - first);
}

bool KernelEmitter::load_pack(const Let &let) {
  const std::uint32_t array = let.value.array;
  const auto at = row(array, let.value.operands);
  if (!at) return false;
  if (!emission_.constant(array)) {
    if (!aligned(*at)) return false;
    const std::string loaded = fresh("g");
    out_.line("const auto {} = load_pack<{}>(&p{}.data[{} + {}]);", loaded, copies_, array, at->offset, at->from_it);
    copied_[let.local] = true;
    for_each_copy(
        [&] { out_.line("const {} {} = {}.at[{}];", scalar_name(let.value.type), name(let.local), loaded, copy_); });
    return true;
  }
  copied_[let.local] = true;
  for (int copy = 0; copy < copies_; ++copy) {
    const std::int64_t element = at->from_it + copy, first = floor_to(element, copies_);
    const std::string key = at->key(array, first);
    const bool in_pack = packs_.contains(key) || coming_packs_.contains(key);
    const std::string text = in_pack ? fmt::format("{}.at[{}]", pack(array, *at, first), element - first)
                                     : fmt::format("load_constant(&p{}.data[{} + {}])", array, at->offset, element);
    copy_ = copy;
    out_.line("const {} {} = {};", scalar_name(let.value.type), name(let.local), text);
    copy_ = -1;
  }
  return true;
}

// An exchange of elements that no other instance touches.
bool KernelEmitter::take_pack(const Let &let) {
  const auto at = row(let.value.array, let.value.operands);
  if (let.value.attribute != 1 || !at || !aligned(*at)) return false;
  const std::string loaded = fresh("g");
  out_.line("const auto {} = take_pack<{}>(&p{}.data[{} + {}]);", loaded, copies_, let.value.array, at->offset,
            at->from_it);
  copied_[let.local] = true;
  for_each_copy(
      [&] { out_.line("const {} {} = {}.at[{}];", scalar_name(let.value.type), name(let.local), loaded, copy_); });
  return true;
}

bool KernelEmitter::store_pack(const Stmt &stmt) {
  const Store *store = stmt.as<Store>();
  const Accumulate *add = stmt.as<Accumulate>();
  if (!store && !add) return false;
  // The machine adds to several f32 at once.
  if (add && add->atomic && (add->value.type() != ScalarType::Float32 || sums_.of(*add))) return false;
  const std::uint32_t array = store ? store->array : add->array;
  const auto at = row(array, store ? store->indices : add->indices);
  if (!at || !aligned(*at)) return false;
  const Value &value = store ? store->value : add->value;
  const std::string_view element = memory_name(value.type());
  std::string values;
  for_each_copy([&] { values += fmt::format("{}{}({})", values.empty() ? "" : ", ", element, scalar(value)); });
  out_.line("{}(&p{}.data[{} + {}], Pack<{}, {}>{{{{{}}}}});",
            store         ? options_.cuda.march > 1 && !emission_.reads(array) ? "store_pack_streaming" : "store_pack"
            : add->atomic ? "atomic_add_pack"
                          : "add_pack",
            array, at->offset, at->from_it, element, copies_, values);
  return true;
}

namespace {

// Whether neighbours share what some loop loads or adds, and all go through each loop alike.
bool shares_in_loops(const Kernel &lowered) {
  const passes::Uniformity uniformity = passes::uniformity(lowered);
  bool shares = false, alike = true;
  for_each_statement(lowered.body, [&](const Stmt &stmt) {
    const For *loop = stmt.as<For>();
    if (!loop || loop->kind != LoopKind::Serial) return;
    alike = alike && !uniformity.divergent(*loop);
    for_each_statement(loop->body, [&](const Stmt &inner) {
      const Let *let = inner.as<Let>();
      if (!let || let->value.op != Op::Load) return;
      shares = shares || std::ranges::all_of(let->value.operands, [&](const Value &index) {
                 return uniformity.of(index) == passes::Shape::Uniform;
               });
    });
  });
  return shares && alike;
}

}  // namespace

int worthwhile_instances_per_thread(const Kernel &lowered) {
  std::size_t statements = 0, widest = 0;
  bool fits = true, loops = false;
  LocalId index = 0;
  for_each_statement(lowered.body, [&](const Stmt &stmt) {
    ++statements;
    if (const For *loop = stmt.as<For>()) {
      if (loop->kind == LoopKind::Serial) loops = true;
      if (loop->kind == LoopKind::Thread) index = loop->index;
    }
    fits = fits && !stmt.as<While>() && !stmt.as<Allocate>() && !stmt.as<Print>() && !stmt.as<Check>();
  });
  if (!fits || statements > largest_body || (loops && !shares_in_loops(lowered))) return 1;
  auto streams = [&](std::span<const Value> indices, ScalarType type) {
    if (indices.back().is_local() && indices.back().id() == index) widest = std::max(widest, size_of(type));
  };
  for_each_statement(lowered.body, [&](const Stmt &stmt) {
    if (const Let *let = stmt.as<Let>()) {
      if (let->value.op == Op::Load || let->value.op == Op::Exchange) streams(let->value.operands, let->value.type);
    } else if (const Store *store = stmt.as<Store>()) {
      streams(store->indices, store->value.type());
    } else if (const Accumulate *add = stmt.as<Accumulate>()) {
      streams(add->indices, add->value.type());
    }
  });
  if (widest == 0) return 1;
  return static_cast<int>(std::min<std::size_t>(16 / widest, loops ? most_in_loops : most));
}

int instances_per_thread(int worthwhile, std::span<const std::int64_t> extents, int multiprocessors) {
  double threads = 1;
  for (const std::int64_t extent : extents) threads *= static_cast<double>(extent);
  int instances = worthwhile;
  while (instances > 1 && (threads / instances < double{threads_for_multiprocessor} * multiprocessors ||
                           extents.back() < std::int64_t{instances} * warp_size))
    instances /= 2;
  return instances;
}

}  // namespace samite::codegen
