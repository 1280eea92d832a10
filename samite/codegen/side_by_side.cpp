// Instances side by side: everything that differs between a thread's instances is written once for each, statement by
// statement, as lanes that run in step; elements that lie next to each other are one load or store.
#include "samite/codegen/side_by_side.h"

#include "samite/base/error.h"
#include "samite/codegen/kernel_emitter.h"
#include "samite/codegen/spelling.h"
#include "samite/ir/visit.h"

#include <algorithm>

namespace samite::codegen {

using namespace ir;

namespace {

constexpr std::size_t largest_body = 160;

std::int64_t floor_to(std::int64_t value, std::int64_t multiple) {
  return value - ((value % multiple) + multiple) % multiple;
}

}  // namespace

void KernelEmitter::copy_definitions(const Stmt &stmt) {
  for_each_statement({stmt}, [&](const Stmt &inner) {
    for_each_definition(inner, [&](LocalId local, ScalarType) { copied_[local] = true; });
  });
}

void KernelEmitter::each_copy(const Stmt &stmt) {
  copy_definitions(stmt);
  for (copy_ = 0; copy_ < copies_; ++copy_) statement(stmt);
  copy_ = -1;
}

bool KernelEmitter::same_for_copies(const Let &let) const {
  if (!info(let.value.op).pure && let.value.op != Op::Load) return false;
  return std::ranges::none_of(let.value.operands,
                              [&](const Value &value) { return value.is_local() && copied_[value.id()]; });
}

void KernelEmitter::several(const Block &block) {
  const auto packs = packs_;
  const auto coming = coming_packs_;
  for (const Stmt &stmt : block) {
    const Let *let = stmt.as<Let>();
    if (!let || let->value.op != Op::Load || !constant(let->value.array)) continue;
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
    if (same_for_copies(*let)) return statement(stmt);
    if (let->value.op == Op::Load && load_pack(*let)) return;
    if (let->value.op == Op::Exchange && take_pack(*let)) return;
  } else if (const If *branch = stmt.as<If>()) {
    return several(*branch);
  } else if (store_pack(stmt)) {
    return;
  }
  each_copy(stmt);
}

// Where all instances go the same way, they stay together.
void KernelEmitter::several(const If &branch) {
  const bool together = !branch.condition.is_local() || !copied_[branch.condition.id()];
  for (const BranchResult &result : branch.results) copied_[result.local] = true;
  auto for_each_copy = [&](auto write) {
    for (copy_ = 0; copy_ < copies_; ++copy_) write();
    copy_ = -1;
  };
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

std::string KernelEmitter::Row::key(std::uint32_t array, std::int64_t element) const {
  return fmt::format("{} {} {}", array, element, offset);
}

// Where the instances' elements are next to each other, in a row that the launcher says is aligned.
std::optional<KernelEmitter::Row> KernelEmitter::row(std::uint32_t array, std::span<const Value> indices) const {
  if (!facts(array).unit_stride || !facts(array).aligned_rows || options_.debug) return std::nullopt;
  for (const Value &index : indices.first(indices.size() - 1))
    if (index.is_local() && copied_[index.id()]) return std::nullopt;
  // The instance's index and a constant.
  std::int64_t from_it = 0;
  Value at = indices.back();
  while (at.is_local() && at.id() != first_index_) {
    const Operation *sum = sum_of_[at.id()];
    if (!sum || !sum->operands[1].is_constant()) return std::nullopt;
    const std::int64_t constant = sum->operands[1].as_int();
    if (constant < -(1 << 16) || constant > 1 << 16) return std::nullopt;
    from_it += sum->op == Op::Add ? constant : -constant;
    at = sum->operands[0];
  }
  if (!at.is_local()) return std::nullopt;
  std::vector<Value> first(indices.begin(), indices.end());
  first.back() = at;
  return Row{thread_offset(array, first), from_it};
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

bool KernelEmitter::load_pack(const Let &let) {
  const std::uint32_t array = let.value.array;
  const auto at = row(array, let.value.operands);
  if (!at) return false;
  if (!constant(array)) {
    if (!aligned(*at)) return false;
    const std::string loaded = fresh("g");
    out_.line("const auto {} = load_pack<{}>(&p{}.data[{} + {}]);", loaded, copies_, array, at->offset, at->from_it);
    copied_[let.local] = true;
    for (copy_ = 0; copy_ < copies_; ++copy_)
      out_.line("const {} {} = {}.at[{}];", scalar_name(let.value.type), name(let.local), loaded, copy_);
    copy_ = -1;
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
  for (copy_ = 0; copy_ < copies_; ++copy_)
    out_.line("const {} {} = {}.at[{}];", scalar_name(let.value.type), name(let.local), loaded, copy_);
  copy_ = -1;
  return true;
}

bool KernelEmitter::store_pack(const Stmt &stmt) {
  const Store *store = stmt.as<Store>();
  const Accumulate *add = stmt.as<Accumulate>();
  if (!store && (!add || add->atomic)) return false;
  const std::uint32_t array = store ? store->array : add->array;
  const auto at = row(array, store ? store->indices : add->indices);
  if (!at || !aligned(*at)) return false;
  const Value &value = store ? store->value : add->value;
  const std::string_view element = memory_name(value.type());
  std::string values;
  for (copy_ = 0; copy_ < copies_; ++copy_)
    values += fmt::format("{}{}({})", values.empty() ? "" : ", ", element, scalar(value));
  copy_ = -1;
  out_.line("{}(&p{}.data[{} + {}], Pack<{}, {}>{{{{{}}}}});", store ? "store_pack" : "add_pack", array, at->offset,
            at->from_it, element, copies_, values);
  return true;
}

int worthwhile_instances_per_thread(const Kernel &lowered) {
  std::size_t statements = 0, widest = 0;
  bool fits = true;
  LocalId index = 0;
  for_each_statement(lowered.body, [&](const Stmt &stmt) {
    ++statements;
    if (const For *loop = stmt.as<For>()) {
      if (loop->kind == LoopKind::Serial) fits = false;
      if (loop->kind == LoopKind::Thread) index = loop->index;
    }
    fits = fits && !stmt.as<While>() && !stmt.as<Allocate>() && !stmt.as<Print>() && !stmt.as<Check>();
  });
  if (!fits || statements > largest_body) return 1;
  auto streams = [&](const std::vector<Value> &indices, std::size_t count, ScalarType type) {
    const Value &last = indices[count - 1];
    if (last.is_local() && last.id() == index) widest = std::max(widest, size_of(type));
  };
  for_each_statement(lowered.body, [&](const Stmt &stmt) {
    if (const Let *let = stmt.as<Let>()) {
      if (let->value.op == Op::Load || let->value.op == Op::Exchange)
        streams(let->value.operands, let->value.operands.size(), let->value.type);
    } else if (const Store *store = stmt.as<Store>()) {
      streams(store->indices, store->indices.size(), store->value.type());
    } else if (const Accumulate *add = stmt.as<Accumulate>()) {
      streams(add->indices, add->indices.size(), add->value.type());
    }
  });
  return widest == 0 ? 1 : static_cast<int>(std::min<std::size_t>(16 / widest, 8));
}

}  // namespace samite::codegen
