#include "samite/jit/tape.h"

#include "samite/base/error.h"
#include "samite/base/thread_mode.h"
#include "samite/base/trace.h"
#include "samite/jit/graph_capture.h"
#include "samite/jit/host_operations.h"
#include "samite/jit/tangent_launches.h"
#include "samite/jit/tape_access.h"
#include "samite/jit/variant_key.h"
#include "samite/runtime/host_operation.h"
#include "samite/runtime/shared_elements.h"

#include <algorithm>
#include <ostream>

namespace samite {
namespace {

thread_local Tape *recording_tape = nullptr;

// Ends the recording, even if the user's function throws.
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

// Work of the thread in the meantime is not recorded.
class Unrecorded {
 public:
  Unrecorded() : tape_(std::exchange(recording_tape, nullptr)) { end(ThreadMode::records_tape); }
  Unrecorded(const Unrecorded &) = delete;
  Unrecorded &operator=(const Unrecorded &) = delete;
  ~Unrecorded() {
    recording_tape = tape_;
    begin(ThreadMode::records_tape);
  }

 private:
  Tape *tape_;
};

std::int64_t bytes_of(const AnyBuffer &buffer) {
  return buffer.count() * static_cast<std::int64_t>(size_of(buffer.type()));
}

bool is_whole_storage(const AnyBuffer &buffer) {
  return buffer.is_contiguous() && static_cast<std::size_t>(bytes_of(buffer)) == buffer.storage()->bytes();
}

}  // namespace

Tape *jit::TapeAccess::recording() { return recording_tape; }

void jit::TapeAccess::append(Tape &tape, const std::shared_ptr<KernelDefinition> &definition,
                             const LaunchExtents &extents, const LaunchOptions &options,
                             std::span<const Argument> arguments, const std::function<void()> &run) {
  tape.append(definition, extents, options, arguments, run);
}
void jit::TapeAccess::append(Tape &tape, const HostOperation &operation) { tape.append(operation); }
void jit::TapeAccess::append(Tape &tape, const Operation &operation, SourceLocation where,
                             const std::function<void(bool derived)> &run) {
  tape.append(operation, where, run);
}

void jit::TapeAccess::append(Tape &tape, const TapeFunction &function, SourceLocation where) {
  tape.append(function, where);
}

void Tape::record(const std::function<void()> &work, SourceLocation where) {
  moved_.check("Tape", where);
  if (recording_tape)
    throw UserError(where, "this thread records a tape already; end that record(…) before another begins");
  if (jit::GraphCapture::current())
    throw UserError(where,
                    "launches in a capture are not put on a tape: record the tape before the capture, and capture its "
                    "backward() or recorded adjoint launches");
  jit::handle_host_operations();
  Recording scope(this);
  const TraceSpan traced("tape", "tape record");
  work();
}

void Tape::append(const std::shared_ptr<jit::KernelDefinition> &definition, const LaunchExtents &extents,
                  const LaunchOptions &options, std::span<const jit::Argument> arguments,
                  const std::function<void()> &run) {
  moved_.check("Tape", extents.where());
  Entry entry;
  entry.definition = definition;
  entry.extents = extents;
  entry.options = options;
  entry.written = definition->written();
  entry.where = extents.where();
  entry.options.direction = Direction::adjoint;
  entry.options.check_finite = entry.options.check_finite || options_.check_finite;
  for (const jit::Argument &argument : arguments)
    entry.arguments.push_back(argument.buffer ? jit::OwnedArgument{*argument.buffer, 0}
                                              : jit::OwnedArgument{{}, argument.scalar});
  put_down(std::move(entry), run);
}

void Tape::append(const HostOperation &operation) {
  const AnyBuffer &target = operation.target, &source = operation.source;
  const auto concerns_tape = [&](const AnyBuffer &buffer) {
    return buffer.tracks_gradient() || known_.contains(buffer.storage().get());
  };
  const bool reads = operation.kind == HostOperation::Kind::read;
  const bool copies = operation.kind == HostOperation::Kind::copy && is_floating(target.type());
  if (reads || target.count() == 0 || !(concerns_tape(target) || (copies && concerns_tape(source))))
    return run(operation);
  Entry entry;
  entry.kind = copies ? Kind::copy : Kind::overwrite;
  entry.extents = target.extents();
  entry.arguments = {{target, 0}};
  entry.written = 1;
  entry.where = operation.where;
  entry.overwrites_storage = is_whole_storage(target);
  entry.options.direction = Direction::adjoint;
  if (copies) entry.arguments.push_back({source, 0});
  put_down(std::move(entry), [&] { samite::run(operation); });
}

// Results that `backward` would change before the adjoint reads them: gradients of arrays on the tape.
bool Tape::reads_changing_results(const jit::Operation &operation) const {
  return std::ranges::any_of(operation.arrays, [&](const jit::Operation::Array &result) {
    const auto is_gradient_of = [&](const jit::Operation::Array &array) {
      return array.buffer.storage()->gradient_pointer() == result.buffer.storage().get();
    };
    return result.written && result.needed &&
           (is_accumulator(result.buffer) || std::ranges::any_of(operation.arrays, is_gradient_of));
  });
}

void Tape::append(const jit::Operation &operation, SourceLocation where, const std::function<void(bool derived)> &run) {
  moved_.check("Tape", where);
  if (reads_changing_results(operation)) {
    if (operation.backward)
      throw UserError(where, "'" + operation.name +
                                 "' writes to the gradient of an array on the tape and reads it in its backward, where "
                                 "it has changed; write to an array that is no gradient");
    return run(true);
  }
  Entry entry;
  entry.kind = Kind::operation;
  entry.where = where;
  entry.options.stream = operation.stream;
  entry.given.emplace(GivenAdjoint{operation, {}});
  for (std::uint32_t i = 0; i < operation.arrays.size(); ++i) {
    const jit::Operation::Array &array = operation.arrays[i];
    entry.arguments.push_back({array.buffer, 0});
    if (array.written) entry.written |= std::uint64_t{1} << i;
    if (array.needed) (array.written ? entry.given->results_read : entry.values_read).push_back(i);
  }
  put_down(std::move(entry), [&] {
    const Unrecorded launches;
    run(false);
  });
}

void without_gradients(const std::function<void()> &work, SourceLocation where) {
  if (jit::TangentLaunches::current())
    throw UserError(where,
                    "without_gradients: a Hessian-vector product is being computed, whose tangents it would leave as "
                    "they are; compute the constants before");
  if (!recording_tape) return work();
  const Unrecorded launches;
  work();
}

Tape::Known &Tape::known(const AnyBuffer &buffer) {
  const std::shared_ptr<Storage> &storage = buffer.storage();
  if (const auto found = known_.find(storage.get()); found != known_.end()) return found->second;
  // Completed before it is inserted: any of these allocations may fail.
  Known known;
  known.storage = storage;
  known.log = {&storage->watch(), [storage](const WriteLog *) { storage->unwatch(); }};
  known.version = storage->version();
  return known_.emplace(storage.get(), std::move(known)).first->second;
}

// Writes of an operation that throws count as writes from outside of the tape. After it has run nothing may throw: it
// would have written without being on the tape. So all allocations come before.
void Tape::put_down(Entry entry, const std::function<void()> &run) {
  for (const jit::OwnedArgument &argument : entry.arguments) {
    if (argument.buffer.valid()) known(argument.buffer);
    entry.before.push_back(argument.buffer.version());
  }
  find_foreign_write(entry);
  if (options_.keep_values) {
    find_values_read(entry);
    keep_what_changes(entry);
  }
  Room room = make_room(entry);
  {
    const PlainHostOperations as_they_are;
    run();
  }
  const std::size_t number = entries_.size();
  accumulators_.merge(room.accumulators);
  for (std::size_t i = 0; i < entry.arguments.size(); ++i) {
    const AnyBuffer &buffer = entry.arguments[i].buffer;
    entry.after.push_back(buffer.version());
    if (!buffer.valid()) continue;
    Known &known = known_.at(buffer.storage().get());
    // For several views of one storage, the first does this for all.
    const std::uint64_t first = std::max(entry.before[i], known.own.empty() ? 0 : known.own.back().last) + 1;
    if (first <= buffer.version()) known.own.push_back({first, buffer.version()});
    known.version = buffer.version();
    known.used.merge(room.used[i]);
    if (entry.overwrites_storage && i == 0) known.overwritten = known.version;
  }
  for (std::uint32_t i : entry.values_read) {
    if (entry.arguments[i].values.valid())
      kept_bytes_ += bytes_of(entry.arguments[i].buffer);
    else
      known_.at(entry.arguments[i].buffer.storage().get()).needed.emplace_back(number, i);
  }
  if (entry.given)
    for (const std::uint32_t i : entry.given->results_read)
      known_.at(entry.arguments[i].buffer.storage().get()).needed.emplace_back(number, i);
  entries_.push_back(std::move(entry));
}

Tape::Room Tape::make_room(Entry &entry) {
  const auto make_room_in = [](auto &vector, std::size_t count) {
    if (vector.capacity() - vector.size() < count) vector.reserve(std::max(2 * vector.size(), vector.size() + count));
  };
  make_room_in(entries_, 1);
  const std::size_t count = entry.arguments.size();
  entry.after.reserve(count);
  Room room;
  room.used.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    const AnyBuffer &buffer = entry.arguments[i].buffer;
    if (!buffer.valid()) continue;
    Known &known = known_.at(buffer.storage().get());
    make_room_in(known.own, count);
    make_room_in(known.needed, entry.values_read.size() + (entry.given ? entry.given->results_read.size() : 0));
    room.used[i].emplace(region_of(buffer), entry.before[i]);
    if (const Storage *gradient = buffer.storage()->gradient_pointer()) room.accumulators.insert(gradient);
  }
  return room;
}

bool Tape::Known::made(std::uint64_t version) const {
  const auto it = std::ranges::lower_bound(own, version, {}, &Versions::last);
  return it != own.end() && it->first <= version;
}

bool Tape::written_by_others(const AnyBuffer &buffer) const {
  const Known &known = known_.at(buffer.storage().get());
  if (!known.written_by_others && known.version == buffer.version()) return false;
  const ElementRegion region = region_of(buffer);
  for (const std::uint64_t version : known.log->writes(region, known.overwritten)) {
    if (known.made(version)) continue;
    for (const auto &[used, first] : known.used)
      if (first < version && share_elements(used, region) &&
          std::ranges::binary_search(known.log->writes(used, version - 1), version))
        return true;
  }
  return false;
}

void Tape::find_foreign_write(Entry &entry) {
  for (std::size_t i = 0; i < entry.arguments.size(); ++i) {
    const AnyBuffer &buffer = entry.arguments[i].buffer;
    if (!buffer.valid()) continue;
    Known &known = known_.at(buffer.storage().get());
    known.written_by_others = known.written_by_others || known.version != buffer.version();
    const bool is_overwritten = entry.given ? entry.writes(i) : entry.kind != Kind::launch && i == 0;
    if (buffer.tracks_gradient() && !is_overwritten && written_by_others(buffer))
      entry.foreign_write = name_of_argument(entry, i);
  }
}

// For launches that gradients pass. If an adjoint is refused, that happens in `backward`, not here.
void Tape::find_values_read(Entry &entry) const {
  if (entry.kind != Kind::launch || !gradients_flow(entry)) return;
  try {
    const jit::VariantKey key =
        jit::variant_key(*entry.definition, entry.extents, entry.options, jit::views(entry.arguments));
    entry.values_read =
        entry.definition->adjoint(key.derivative.active, key.derivative.may_alias, key.derivative.memory_limit)
            .values_read;
  } catch (const UserError &) {
    entry.values_read.clear();
  }
}

// Called before `entry` runs: copies values that the entry overwrites and adjoints need, its own included, and
// gradients that `backward` adds to while the entry is on the tape.
void Tape::keep_what_changes(Entry &entry) {
  for (std::size_t i = 0; i < entry.arguments.size(); ++i) {
    const AnyBuffer &buffer = entry.arguments[i].buffer;
    if (!buffer.valid()) continue;
    if (const Storage *gradient = buffer.storage()->gradient_pointer()) {
      const Extents bytes{static_cast<std::int64_t>(gradient->bytes())};  // all: cotangents may be for any element
      for (std::uint32_t read : entry.values_read)
        if (entry.arguments[read].buffer.storage().get() == gradient) keep(entry, read);
      if (known_.contains(gradient)) keep_overwritten(AnyBuffer(buffer.storage()->gradient(), ScalarType::Int8, bytes));
    }
    if (!entry.writes(i)) continue;
    for (std::uint32_t read : entry.values_read)
      if (share_elements(entry.arguments[read].buffer, buffer)) keep(entry, read);
    keep_overwritten(buffer);
  }
  for (std::uint32_t read : entry.values_read)
    if (is_accumulator(entry.arguments[read].buffer)) keep(entry, read);
}

void Tape::keep_overwritten(const AnyBuffer &written) {
  std::erase_if(known_.at(written.storage().get()).needed, [&](const auto &needed) {
    const auto &[number, argument] = needed;
    Entry &entry = entries_[number];
    if (!share_elements(entry.arguments[argument].buffer, written)) return false;
    if (keep(entry, argument)) kept_bytes_ += bytes_of(entry.arguments[argument].buffer);
    return true;
  });
}

bool Tape::keep(Entry &entry, std::uint32_t argument) {
  jit::OwnedArgument &owned = entry.arguments[argument];
  // Already changed outside of the tape: `backward` reports it.
  if (owned.values.valid() || written_since(owned.buffer, entry.version_read(argument))) return false;
  const PlainHostOperations as_they_are;
  owned.values = owned.buffer.clone();
  // A launch that backward() has recorded reads the array itself.
  entry.adjoint.reset();
  if (entry.given) entry.given->planned.clear(), entry.given->launches.clear();
  return true;
}

bool Tape::written_since(const AnyBuffer &buffer, std::uint64_t version) const {
  if (buffer.version() == version) return false;
  const Known &known = known_.at(buffer.storage().get());
  return !known.log->writes(region_of(buffer), version).empty();
}

void Tape::clear() {
  entries_.clear();
  known_.clear();
  accumulators_.clear();
  kept_bytes_ = 0;
  ended_halfway_ = false;
  moved_ = {};
}

std::string Tape::to_string() const {
  std::string text = "Tape of " + std::to_string(entries_.size()) + " launches";
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const Entry &entry = entries_[i];
    const std::string what = entry.given                  ? entry.given->operation.name
                             : entry.kind == Kind::launch ? entry.definition->name()
                             : entry.kind == Kind::copy   ? "copy"
                                                          : "values of the host";
    text += "\n  " + std::to_string(i) + ": " + what + " over " + entry.extents.to_string();
  }
  return text;
}

std::ostream &operator<<(std::ostream &stream, const Tape &tape) { return stream << tape.to_string(); }

}  // namespace samite
