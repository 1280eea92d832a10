#include "samite/jit/tape.h"

#include "samite/autodiff/activity.h"
#include "samite/base/error.h"
#include "samite/base/thread_mode.h"
#include "samite/jit/at_once.h"
#include "samite/jit/variant_key.h"
#include "samite/runtime/shared_elements.h"

#include <algorithm>
#include <ostream>

namespace samite {
namespace {

thread_local Tape *recording_tape = nullptr;

// Ends the recording, also where the user's function throws.
struct Recording {
  explicit Recording(Tape *tape) {
    recording_tape = tape;
    begin(ThreadMode::records_tape);
  }
  ~Recording() {
    recording_tape = nullptr;
    end(ThreadMode::records_tape);
  }
};

std::string label(const AnyBuffer &buffer) {
  return buffer.name().empty() ? buffer.to_string() : "'" + buffer.name() + "'";
}

std::string launched_at(SourceLocation where) { return where.known() ? " (" + where.to_string() + ")" : ""; }

}  // namespace

Tape *Tape::recording() { return recording_tape; }

void Tape::record(const std::function<void()> &work, SourceLocation where) {
  if (recording_tape)
    throw UserError(where, "this thread records a tape already; end that record(…) before another begins");
  Recording scope(this);
  work();
}

void Tape::append(const std::shared_ptr<jit::KernelDefinition> &definition, const LaunchExtents &extents,
                  const LaunchOptions &options, std::span<const jit::Argument> arguments,
                  const std::function<void()> &run) {
  const std::size_t size = entries_.size();
  std::vector<KnownVersion> known;
  for (const jit::Argument &argument : arguments) {
    if (!argument.buffer) continue;
    const Storage *storage = argument.buffer->storage().get();
    const auto before = known_versions_.find(storage);
    known.emplace_back(storage, before != known_versions_.end() ? std::optional(before->second) : std::nullopt);
  }
  try {
    put_down(definition, extents, options, arguments);
    run();
  } catch (...) {
    take_back(size, known);
    throw;
  }
}

// What it has written all the same is then written by nobody on the tape.
void Tape::take_back(std::size_t size, std::span<const KnownVersion> known) {
  while (entries_.size() > size) entries_.pop_back();
  for (const auto &[storage, version] : known) {
    if (version)
      known_versions_[storage] = *version;
    else
      known_versions_.erase(storage);
    if (auto writes = writes_.find(storage); writes != writes_.end())
      std::erase_if(writes->second, [&](const auto &write) { return write.first >= size; });
    if (auto needed = needed_.find(storage); needed != needed_.end())
      std::erase_if(needed->second, [&](const auto &need) { return need.first >= size; });
  }
  kept_bytes_ = 0;
  for (const Entry &entry : entries_)
    for (const jit::OwnedArgument &argument : entry.arguments)
      if (argument.values.valid())
        kept_bytes_ += argument.values.count() * static_cast<std::int64_t>(size_of(argument.values.type()));
}

void Tape::put_down(const std::shared_ptr<jit::KernelDefinition> &definition, const LaunchExtents &extents,
                    const LaunchOptions &options, std::span<const jit::Argument> arguments) {
  Entry entry{definition, extents, options, {}, {}, {}, {}, {}, extents.where()};
  entry.options.direction = Direction::adjoint;
  entry.options.check_finite = entry.options.check_finite || options_.check_finite;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const AnyBuffer *buffer = arguments[i].buffer;
    entry.arguments.push_back(buffer ? jit::OwnedArgument{*buffer, 0} : jit::OwnedArgument{{}, arguments[i].scalar});
    entry.versions.push_back(buffer ? buffer->version() : 0);
    if (!buffer || !buffer->tracks_gradient()) continue;
    auto known = known_versions_.find(buffer->storage().get());
    if (known != known_versions_.end() && known->second != buffer->version())
      entry.foreign_write = jit::describe(definition->parameters(), i) + ", " + label(*buffer);
  }
  if (options_.keep_values) {
    find_values_read(entry);
    keep_what_is_overwritten(entry);
  }
  // The launch that follows marks each argument that it writes once.
  for (const jit::Argument &argument : arguments)
    if (argument.buffer) known_versions_[argument.buffer->storage().get()] = argument.buffer->version();
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (definition->written() >> i & 1) {
      ++known_versions_[arguments[i].buffer->storage().get()];
      writes_[arguments[i].buffer->storage().get()].emplace_back(entries_.size(), *arguments[i].buffer);
    }
  for (std::uint32_t i : entry.values_read)
    if (!entry.arguments[i].values.valid())
      needed_[entry.arguments[i].buffer.storage().get()].push_back({entries_.size(), i});
  entries_.push_back(std::move(entry));
}

// Of launches that gradients pass. A kernel whose adjoint is refused is refused when the tape goes back, not here.
void Tape::find_values_read(Entry &entry) const {
  if (!gradients_flow(entry)) return;
  try {
    const jit::VariantKey key =
        jit::variant_key(*entry.definition, entry.extents, entry.options, jit::views(entry.arguments));
    entry.values_read = entry.definition->adjoint(key.active, key.may_alias, key.memory_limit).values_read;
  } catch (const UserError &) {
    entry.values_read.clear();
  }
}

// `entry` is about to run: copies what it overwrites of what an adjoint needs, its own included.
void Tape::keep_what_is_overwritten(Entry &entry) {
  for (std::size_t i = 0; i < entry.arguments.size(); ++i) {
    if (!(entry.definition->written() >> i & 1)) continue;
    const AnyBuffer &written = entry.arguments[i].buffer;
    for (std::uint32_t read : entry.values_read)
      if (share_elements(entry.arguments[read].buffer, written)) keep(entry, entries_.size(), read);
    auto found = needed_.find(written.storage().get());
    if (found == needed_.end()) continue;
    std::erase_if(found->second, [&](const auto &needed) {
      const auto &[number, argument] = needed;
      if (!share_elements(entries_[number].arguments[argument].buffer, written)) return false;
      keep(entries_[number], number, argument);
      return true;
    });
  }
}

// How often elements of `buffer` may have been written since it had this version, just before launch `number`: by each
// write to its storage, but for those of launches on the tape that touch other elements alone.
std::uint64_t Tape::writes_since(const AnyBuffer &buffer, std::uint64_t version, std::size_t number) const {
  std::uint64_t writes = buffer.version() - version;
  auto found = writes == 0 ? writes_.end() : writes_.find(buffer.storage().get());
  if (found == writes_.end()) return writes;
  const auto &all = found->second;
  auto from = std::ranges::lower_bound(all, number, {}, [](const auto &write) { return write.first; });
  for (; from != all.end() && writes > 0; ++from) writes -= !share_elements(from->second, buffer);
  return writes;
}

void Tape::keep(Entry &entry, std::size_t number, std::uint32_t argument) {
  jit::OwnedArgument &owned = entry.arguments[argument];
  // Changed already, by something that is not on the tape: `backward` says so.
  if (owned.values.valid() || writes_since(owned.buffer, entry.versions[argument], number) != 0) return;
  owned.values = owned.buffer.clone();
  kept_bytes_ += owned.buffer.count() * static_cast<std::int64_t>(size_of(owned.buffer.type()));
}

bool Tape::gradients_flow(const Entry &entry) const {
  bool written = false, any = false;
  for (std::size_t i = 0; i < entry.arguments.size(); ++i) {
    const AnyBuffer &buffer = entry.arguments[i].buffer;
    if (!buffer.valid() || !buffer.tracks_gradient()) continue;
    any = true;
    written = written || (entry.definition->written() >> i & 1);
  }
  return any && written;
}

void Tape::check_values(const Entry &entry, std::size_t number) const {
  for (std::uint32_t i : entry.adjoint->variant().values_read) {
    const AnyBuffer &buffer = entry.arguments[i].buffer;
    if (entry.arguments[i].values.valid()) continue;
    const std::uint64_t writes = writes_since(buffer, entry.versions[i], number);
    if (writes == 0) continue;
    throw UserError(entry.definition->where(),
                    "backward: the adjoint of launch " + std::to_string(number) + " on the tape" +
                        launched_at(entry.where) + ", kernel '" + entry.definition->name() + "', needs the values of " +
                        jit::describe(entry.definition->parameters(), i) + ", " + label(buffer) +
                        ", as the launch read them, but they were overwritten " + std::to_string(writes) +
                        " times since; write later results to another buffer");
  }
  for (std::uint32_t i : entry.adjoint->variant().values_after) {
    const AnyBuffer &buffer = entry.arguments[i].buffer;
    std::uint64_t after = entry.versions[i];
    for (std::size_t j = 0; j < entry.arguments.size(); ++j)
      after += (entry.definition->written() >> j & 1) && entry.arguments[j].buffer.storage() == buffer.storage();
    if (writes_since(buffer, after, number + 1) == 0) continue;
    throw UserError(entry.definition->where(),
                    "backward: the adjoint of launch " + std::to_string(number) + " on the tape" +
                        launched_at(entry.where) + ", kernel '" + entry.definition->name() +
                        "', reads what the launch has left in " + jit::describe(entry.definition->parameters(), i) +
                        ", " + label(buffer) +
                        ", but that was overwritten since; give each launch a buffer of its own");
  }
}

// Follows values that depend on a tracked array through arrays that track nothing: none may come back to one that does.
void Tape::check_nothing_is_lost() const {
  std::unordered_map<const Storage *, std::size_t> lost;  // and the launch that wrote it
  for (std::size_t number = 0; number < entries_.size(); ++number) {
    const Entry &entry = entries_[number];
    std::uint64_t tracked = 0, dependent = 0;
    for (std::size_t i = 0; i < entry.arguments.size(); ++i) {
      const AnyBuffer &buffer = entry.arguments[i].buffer;
      if (!buffer.valid() || !is_floating(buffer.type())) continue;
      const std::uint64_t bit = std::uint64_t{1} << i;
      if (buffer.tracks_gradient()) tracked |= bit;
      if (buffer.tracks_gradient() || lost.contains(buffer.storage().get())) dependent |= bit;
    }
    const autodiff::Activity &to_tracked = entry.definition->activity(tracked);
    for (std::size_t i = 0; i < entry.arguments.size(); ++i)
      if (((dependent & ~tracked) >> i & 1) && to_tracked.read_for_output[i])
        throw UserError(entry.definition->where(),
                        "backward: a gradient would be lost in " + jit::describe(entry.definition->parameters(), i) +
                            ", " + label(entry.arguments[i].buffer) + ", of launch " + std::to_string(number) +
                            launched_at(entry.where) + ", kernel '" + entry.definition->name() + "': launch " +
                            std::to_string(lost[entry.arguments[i].buffer.storage().get()]) +
                            " computed it from tracked arrays, but it tracks no gradient itself; construct it with "
                            "Gradient::tracked");
    const autodiff::Activity &from_dependent = entry.definition->activity(dependent);
    for (std::size_t i = 0; i < entry.arguments.size(); ++i)
      if (from_dependent.loses[i]) lost.emplace(entry.arguments[i].buffer.storage().get(), number);
  }
}

// Of different kernels, and of different variants of one, the adjoints are compiled at the same time.
void Tape::compile_adjoints() const {
  struct Wanted {
    jit::KernelDefinition *definition;
    jit::VariantKey key;
    bool operator==(const Wanted &) const = default;
  };
  std::vector<Wanted> wanted;
  for (std::size_t i = entries_.size(); i-- > 0;) {
    const Entry &entry = entries_[i];
    if (entry.adjoint || !gradients_flow(entry)) continue;
    const std::vector<jit::Argument> arguments = jit::views(entry.arguments);
    Wanted one{entry.definition.get(), jit::variant_key(*entry.definition, entry.extents, entry.options, arguments)};
    const auto &derived = one.definition->derived(one.key.active, one.key.may_alias, one.key.memory_limit);
    jit::add_adjoint_facts(one.key, *entry.definition, derived, entry.extents, arguments);
    if (std::find(wanted.begin(), wanted.end(), one) == wanted.end()) wanted.push_back(one);
  }
  std::vector<std::function<void()>> compiles;
  for (const Wanted &one : wanted) compiles.emplace_back([&one] { one.definition->variant(one.key); });
  jit::at_once(compiles);
}

// All that may be refused or run out of memory, before the first gradient changes.
void Tape::prepare_adjoints() {
  if (ended_halfway_)
    throw UserError(
        "backward: an earlier backward() of this tape ended with an error after some of its adjoints had run, so that "
        "the gradients hold a part of it; call zero_gradients() first");
  check_nothing_is_lost();
  compile_adjoints();
  for (std::size_t i = entries_.size(); i-- > 0;) {
    Entry &entry = entries_[i];
    if (!gradients_flow(entry)) continue;
    if (!entry.foreign_write.empty())
      throw UserError(
          entry.definition->where(),
          "backward: " + entry.foreign_write +
              " was written between two launches of the tape by something "
              "that is not on it, so its gradient belongs to no launch; write it with a kernel on the tape, or "
              "before the first launch that uses it");
    if (!entry.adjoint) entry.adjoint.emplace(entry.definition, entry.extents, entry.options, entry.arguments);
    check_values(entry, i);
  }
}

void Tape::run_adjoints() {
  ended_halfway_ = true;
  for (std::size_t i = entries_.size(); i-- > 0;) {
    Entry &entry = entries_[i];
    if (!gradients_flow(entry)) continue;
    check_values(entry, i);                   // again, since an adjoint that the user gives may write
    entry.adjoint->launch(SourceLocation{});  // what calls this tells the line
  }
  ended_halfway_ = false;
}

void Tape::backward(const AnyBuffer &objective, SourceLocation where) {
  if (!objective.valid() || objective.count() != 1)
    throw UserError(where, "backward from an array needs one element; " +
                               (objective.valid() ? objective.to_string() : std::string("an empty buffer")) +
                               " is given: pass a cotangent for each element instead");
  AnyBuffer one(objective.device(), objective.type(), objective.extents(), Gradient::untracked, where);
  if (objective.type() == ScalarType::Float16)
    Buffer<half>(one).fill(1, where);
  else if (objective.type() == ScalarType::BFloat16)
    Buffer<bfloat16>(one).fill(1, where);
  else if (objective.type() == ScalarType::Float32)
    Buffer<float>(one).fill(1, where);
  else if (objective.type() == ScalarType::Float64)
    Buffer<double>(one).fill(1, where);
  backward(std::vector<Cotangent>{{objective, one}}, where);
}

void Tape::backward(const std::vector<Cotangent> &cotangents, SourceLocation where) {
  for (const Cotangent &cotangent : cotangents) {
    if (!cotangent.buffer.valid() || !cotangent.buffer.tracks_gradient())
      throw UserError(where,
                      "backward from " +
                          (cotangent.buffer.valid() ? cotangent.buffer.to_string() : std::string("an empty buffer")) +
                          ", which tracks no gradient; construct it with Gradient::tracked");
    bool on_tape = known_versions_.contains(cotangent.buffer.storage().get());
    if (!on_tape)
      throw UserError(where, "backward from " + cotangent.buffer.to_string() +
                                 ", which no launch on the tape uses; record the launch that computes it");
  }
  at_call("backward()", where, [&] {
    prepare_adjoints();
    for (const Cotangent &cotangent : cotangents) cotangent.buffer.gradient(where).copy_from(cotangent.value, where);
    run_adjoints();
  });
}

void Tape::zero_gradients(SourceLocation where) {
  for (Entry &entry : entries_)
    for (jit::OwnedArgument &argument : entry.arguments)
      if (argument.buffer.valid() && argument.buffer.tracks_gradient()) argument.buffer.zero_gradient(where);
  ended_halfway_ = false;
}

void Tape::clear() {
  entries_.clear();
  known_versions_.clear();
  needed_.clear();
  writes_.clear();
  kept_bytes_ = 0;
  ended_halfway_ = false;
}

std::string Tape::to_string() const {
  std::string text = "Tape of " + std::to_string(entries_.size()) + " launches";
  for (std::size_t i = 0; i < entries_.size(); ++i)
    text +=
        "\n  " + std::to_string(i) + ": " + entries_[i].definition->name() + " over " + entries_[i].extents.to_string();
  return text;
}

std::ostream &operator<<(std::ostream &stream, const Tape &tape) { return stream << tape.to_string(); }

}  // namespace samite
