// Statements of CUDA's threads: memory accesses, copies and barriers, and reports of instances.
#include "samite/base/error.h"
#include "samite/codegen/message_site.h"
#include "samite/codegen/spelling.h"
#include "samite/codegen/threads_emitter.h"
#include "samite/ir/load_ahead.h"
#include "samite/ir/visit.h"

#include <unordered_map>

namespace samite::codegen {

using namespace ir;

void ThreadsEmitter::block(const Block &block) {
  open_scope(block);
  std::unordered_map<LocalId, const Operation *> ahead;  // copied by the block's next stores
  for (const Stmt &stmt : block) {
    const Let *let = stmt.as<Let>();
    const LocalStore *store = stmt.as<LocalStore>();
    if (let && elements_ahead(let->value)) {
      ahead.emplace(let->local, &let->value);
    } else if (store && store->value.is_local() && ahead.contains(store->value.id())) {
      const Operation &load = *ahead.at(store->value.id());
      out_.location(stmt.where());
      out_.line("copy_neighbours_ahead<{}>(&{}, &p{}.data[{}]);", elements_ahead(load),
                element_loops_.element(store->array, store->index), load.array,
                access_.offset(load.array, load.operands));
    } else {
      statement(stmt);
    }
  }
}

std::string ThreadsEmitter::condition(const Value &value) {
  return element_loops_.condition(value).value_or(scalar(value));
}

void ThreadsEmitter::store(const Store &store, SourceLocation where) {
  const ThreadElement to = access_.element(store.array, store.indices, where);
  if (!element_loops_.grouped_store(store, to.lvalue))
    out_.line("{}{} = {};", to.guard(), to.lvalue, scalar(store.value));
}

void ThreadsEmitter::accumulate(const Accumulate &accumulate, SourceLocation where) {
  const std::string value = scalar(accumulate.value);
  if (const Sum *sum = sums_.of(accumulate)) {
    out_.line("{0} = sum_of({0}, {1});", sum->name, value);
    out_.line("{}_used = true;", sum->name);
    return;
  }
  if (const Row *row = rows_.find(accumulate)) return warp_loops_.add(*row, accumulate, where);
  const ThreadElement to = access_.element(accumulate.array, accumulate.indices, where);
  if (element_loops_.grouped_addition(accumulate, to.lvalue)) return;
  if (accumulate.atomic)
    out_.line("{}atomic_add<{}>(&{}, {});", to.guard(), memory_name(accumulate.value.type()), to.lvalue, value);
  else
    out_.line("{}{} += {};", to.guard(), to.lvalue, value);
}

void ThreadsEmitter::of_threads(const Stmt &stmt) {
  if (const auto *load = stmt.as<LoadPack>()) return load_pack(*load);
  if (const auto *store = stmt.as<StorePack>()) return store_pack(*store);
  if (const auto *stream = stmt.as<LoadStream>()) return tile_calls_.load_stream(*stream, stmt.where());
  if (const auto *bring = stmt.as<BringWindows>()) return tile_calls_.bring_windows(*bring);
  if (const auto *release = stmt.as<ReleaseWindows>()) return tile_calls_.release_windows(*release);
  if (const auto *fetch = stmt.as<Prefetch>()) return tile_calls_.prefetch(*fetch);
  if (const auto *own = stmt.as<Barrier>()) return barrier(*own);
  if (stmt.as<CommitCopies>()) return out_.line("end_group_of_copies();");
  if (const auto *wait = stmt.as<WaitForCopies>()) return out_.line("wait_for_copies<{}>();", wait->groups);
  throw InternalError("the emitter does not know a statement of the lowered form");
}

void ThreadsEmitter::barrier(const Barrier &barrier) {
  // Like bulk copies, products of warp groups read the threads' writes through the async proxy.
  if (shows_to_products_) out_.line("fence_for_copies();");
  out_.line("{}", barrier_text(kernel_, barrier.threads));
}

namespace {

std::string_view pack_text(LoadPack::How how) {
  switch (how) {
    case LoadPack::How::plain: return "load_pack";
    case LoadPack::How::constant: return "load_constant_pack";
    case LoadPack::How::row: return "load_row_pack";
    case LoadPack::How::take: return "take_pack";
  }
  return "";
}

std::string_view pack_text(StorePack::How how) {
  switch (how) {
    case StorePack::How::store: return "store_pack";
    case StorePack::How::streaming: return "store_pack_streaming";
    case StorePack::How::add: return "add_pack";
    case StorePack::How::atomic_add: return "atomic_add_pack";
  }
  return "";
}

}  // namespace

void ThreadsEmitter::load_pack(const LoadPack &load) {
  const std::string pack = fresh("g");
  out_.line("const auto {} = {}<{}>(&p{}.data[{}]);", pack, pack_text(load.how), load.locals.size(), load.array,
            access_.offset(load.array, load.indices));
  for (std::size_t i = 0; i < load.locals.size(); ++i)
    if (emission_.used(load.locals[i]))
      out_.line("const {} {} = {}.at[{}];", scalar_name(load.type), name(load.locals[i]), pack, i);
}

void ThreadsEmitter::store_pack(const StorePack &store) {
  const auto element = memory_name(store.values[0].type());
  std::string values;
  for (const Value &value : store.values)
    values += fmt::format("{}{}({})", values.empty() ? "" : ", ", element, scalar(value));
  out_.line("{}(&p{}.data[{}], Pack<{}, {}>{{{{{}}}}});", pack_text(store.how), store.array,
            access_.offset(store.array, store.indices), element, store.values.size(), values);
}

// The thread passes the values to the host, which has the texts.
void ThreadsEmitter::say(const Message &message, const std::vector<Value> &instance, MessageSite site) {
  const bool is_check = site.is_check;
  std::string words;
  for (const Value &index : instance) words += fmt::format("u64(i64({})), ", scalar(index));
  for (const Value &value : message.values) words += fmt::format("message_value({}), ", scalar(value));
  const std::size_t number = emission_.message(with_message(std::move(site), message));
  out_.line("const u64 words[] = {{{}0}};", words);
  out_.line("send(channel, {}, {}, {}, words);", number, is_check, instance.size() + message.values.size());
}

void ThreadsEmitter::print(const Print &print, SourceLocation where) {
  out_.open("{{");
  say(print.message, {}, {.where = where, .is_check = false});
  out_.close();
}

void ThreadsEmitter::check(const Check &check, SourceLocation where) {
  out_.open("if (__builtin_expect(!{}, 0)) {{", scalar(check.condition));
  say(check.message, check.instance, {.where = where, .is_check = true, .is_race = check.race});
  out_.close();
}

}  // namespace samite::codegen
