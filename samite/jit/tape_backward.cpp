// Runs a tape's operations backwards.
#include "samite/autodiff/activity.h"
#include "samite/base/error.h"
#include "samite/base/trace.h"
#include "samite/jit/at_once.h"
#include "samite/jit/copy_kernel.h"
#include "samite/jit/graph_capture.h"
#include "samite/jit/tape.h"
#include "samite/jit/variant_key.h"
#include "samite/runtime/shared_elements.h"

#include <algorithm>
#include <map>
#include <set>

namespace samite {
namespace {

std::string label(const AnyBuffer &buffer) {
  return buffer.name().empty() ? buffer.to_string() : "'" + buffer.name() + "'";
}

std::string launched_at(SourceLocation where) { return where.known() ? " (" + where.to_string() + ")" : ""; }

void fill_with_one(const AnyBuffer &buffer, SourceLocation where) {
  if (buffer.type() == ScalarType::Float16)
    Buffer<half>(buffer).fill(1, where);
  else if (buffer.type() == ScalarType::BFloat16)
    Buffer<bfloat16>(buffer).fill(1, where);
  else if (buffer.type() == ScalarType::Float32)
    Buffer<float>(buffer).fill(1, where);
  else if (buffer.type() == ScalarType::Float64)
    Buffer<double>(buffer).fill(1, where);
}

// Whether all elements of `part` are certainly elements of `whole`.
bool contains(const AnyBuffer &whole, const AnyBuffer &part) {
  if (whole.storage() != part.storage()) return false;
  if (region_of(whole) == region_of(part)) return true;
  const auto [begin, end] = whole.memory_range();
  const auto [part_begin, part_end] = part.memory_range();
  return whole.is_contiguous() && begin <= part_begin && part_end <= end;
}

}  // namespace

std::string Tape::name_of(const Entry &entry, std::size_t number) {
  const std::string place = std::to_string(number) + launched_at(entry.where);
  if (entry.given) return "operation " + place + ", '" + entry.given->operation.name + "'";
  return entry.kind == Kind::launch ? "launch " + place + ", kernel '" + entry.definition->name() + "'"
                                    : "copy " + place;
}

std::string Tape::name_of_argument(const Entry &entry, std::size_t argument) {
  const auto role = [&]() -> std::string {
    if (entry.given) return "'" + std::string(entry.given->operation.arrays[argument].name) + "'";
    return entry.kind == Kind::launch ? jit::describe(entry.definition->parameters(), argument) : "the source";
  };
  return role() + ", " + label(entry.arguments[argument].buffer);
}

SourceLocation Tape::where_of(const Entry &entry) {
  return entry.kind == Kind::launch ? entry.definition->where() : entry.where;
}

bool Tape::gradients_flow(const Entry &entry) {
  bool written = false, read = false;
  for (std::size_t i = 0; i < entry.arguments.size(); ++i) {
    const AnyBuffer &buffer = entry.arguments[i].buffer;
    if (!buffer.valid() || !buffer.tracks_gradient()) continue;
    written = written || entry.writes(i);
    read = read || !entry.writes(i);
  }
  return written && (read || entry.kind == Kind::launch);
}

void Tape::check_values(const Entry &entry, std::size_t number) const {
  const auto refuse = [&](const std::string &what, std::uint32_t argument, const std::string &why) {
    const std::string name = entry.given ? "operation " + std::to_string(number) + " on the tape" +
                                               launched_at(entry.where) + ", '" + entry.given->operation.name + "'"
                                         : "launch " + std::to_string(number) + " on the tape" +
                                               launched_at(entry.where) + ", kernel '" + entry.definition->name() + "'";
    throw UserError(where_of(entry), "backward: the adjoint of " + name + ", " + what + " " +
                                         name_of_argument(entry, argument) + ", " + why);
  };
  for (std::uint32_t i : entry.given ? entry.values_read : entry.adjoint->variant().derivative.values_read) {
    const AnyBuffer &buffer = entry.arguments[i].buffer;
    if (entry.arguments[i].values.valid()) continue;
    if (written_since(buffer, entry.before[i]))
      refuse("needs the values of", i,
             "as the launch read them, but elements of it were overwritten since; write later results to another "
             "buffer");
    if (is_accumulator(buffer))
      refuse("needs the values of", i,
             "which is the gradient of an array on the tape, so that backward changes it; let the tape keep values, "
             "or launch the kernel's adjoint() with an array of its own");
  }
  for (std::uint32_t i : entry.given ? entry.given->results_read : entry.adjoint->variant().derivative.values_after)
    if (!entry.arguments[i].values.valid() && written_since(entry.arguments[i].buffer, entry.after[i]))
      refuse("reads what the launch has left in", i,
             "but that was overwritten since; give each launch a buffer of its own");
}

void Tape::refuse_lost(const Entry &entry, std::size_t number, std::size_t argument, const Lost &lost) const {
  const AnyBuffer &buffer = entry.arguments[argument].buffer;
  const std::size_t writer = lost.at(buffer.storage().get());
  const Entry &wrote = entries_[writer];
  const char *what = wrote.given ? "operation " : wrote.kind == Kind::launch ? "launch " : "copy ";
  throw UserError(where_of(entry),
                  "backward: a gradient would be lost in " + name_of_argument(entry, argument) + ", of " +
                      name_of(entry, number) + ": " + what + std::to_string(writer) + launched_at(wrote.where) +
                      " computed it from tracked arrays, but it tracks no gradient itself; " +
                      (is_accumulator(buffer) ? "it is the gradient of an array: call track_gradient() on that "
                                                "gradient before the tape is recorded"
                                              : "construct it with Gradient::tracked"));
}

// Every result depends on every array that is read.
void Tape::lose_in_operation(const Entry &entry, std::size_t number, Lost &lost) const {
  bool depends = false, has_gradient = false;
  for (std::size_t i = 0; i < entry.arguments.size(); ++i)
    has_gradient = has_gradient || (entry.writes(i) && entry.arguments[i].buffer.tracks_gradient());
  for (std::size_t i = 0; i < entry.arguments.size(); ++i) {
    const AnyBuffer &buffer = entry.arguments[i].buffer;
    if (entry.writes(i)) continue;
    const bool is_lost = lost.contains(buffer.storage().get());
    if (is_lost && !buffer.tracks_gradient() && has_gradient) refuse_lost(entry, number, i, lost);
    depends = depends || is_lost || buffer.tracks_gradient();
  }
  for (std::size_t i = 0; i < entry.arguments.size(); ++i) {
    const AnyBuffer &buffer = entry.arguments[i].buffer;
    if (depends && entry.writes(i) && !buffer.tracks_gradient()) lost.emplace(buffer.storage().get(), number);
  }
}

// Follows values that depend on a tracked array through untracked arrays: none may flow back into a tracked one.
void Tape::check_nothing_is_lost() const {
  Lost lost;
  const auto is_lost = [&](const AnyBuffer &buffer) { return lost.contains(buffer.storage().get()); };
  for (std::size_t number = 0; number < entries_.size(); ++number) {
    const Entry &entry = entries_[number];
    if (entry.given) {
      lose_in_operation(entry, number, lost);
      continue;
    }
    if (entry.kind != Kind::launch) {
      const AnyBuffer &target = entry.arguments[0].buffer;
      const bool copies = entry.kind == Kind::copy;
      if (copies && target.tracks_gradient() && !entry.arguments[1].buffer.tracks_gradient() &&
          is_lost(entry.arguments[1].buffer))
        refuse_lost(entry, number, 1, lost);
      if (target.tracks_gradient()) continue;
      if (copies && (entry.arguments[1].buffer.tracks_gradient() || is_lost(entry.arguments[1].buffer)))
        lost.emplace(target.storage().get(), number);
      else if (entry.overwrites_storage)
        lost.erase(target.storage().get());
      continue;
    }
    std::uint64_t tracked = 0, dependent = 0;
    for (std::size_t i = 0; i < entry.arguments.size(); ++i) {
      const AnyBuffer &buffer = entry.arguments[i].buffer;
      if (!buffer.valid() || !is_floating(buffer.type())) continue;
      const std::uint64_t bit = std::uint64_t{1} << i;
      if (buffer.tracks_gradient()) tracked |= bit;
      if (buffer.tracks_gradient() || is_lost(buffer)) dependent |= bit;
    }
    const autodiff::Activity &to_tracked = entry.definition->activity(tracked);
    for (std::size_t i = 0; i < entry.arguments.size(); ++i)
      if (((dependent & ~tracked) >> i & 1) && to_tracked.read_for_output[i]) refuse_lost(entry, number, i, lost);
    const autodiff::Activity &from_dependent = entry.definition->activity(dependent);
    for (std::size_t i = 0; i < entry.arguments.size(); ++i)
      if (from_dependent.loses[i]) lost.emplace(entry.arguments[i].buffer.storage().get(), number);
  }
}

// A copy's adjoint is that of a kernel that copies, on the source's device. If the target is on another device, or
// shares elements with the source, the target's gradient is first copied to an array of the tape.
void Tape::prepare_copy(Entry &entry) {
  if (entry.definition) return;
  const AnyBuffer &target = entry.arguments[0].buffer, &source = entry.arguments[1].buffer;
  if (target.device() != source.device() || share_elements(target, source))
    entry.handed_over = AnyBuffer(source.device(), target.type(), target.extents(), Gradient::tracked, entry.where);
  entry.definition = jit::copy_kernel(source.device(), target.type(), target.rank());
}

void Tape::prepare_operation(Entry &entry) {
  GivenAdjoint &given = *entry.given;
  if (!given.planned.empty() || given.operation.backward) return;
  std::vector<AnyBuffer> values;
  for (const jit::OwnedArgument &argument : entry.arguments)
    values.push_back(argument.values.valid() ? argument.values : argument.buffer);
  given.planned = given.operation.adjoint(values);
}

std::vector<jit::OwnedArgument> Tape::adjoint_arguments(const Entry &entry) {
  std::vector<jit::OwnedArgument> arguments = entry.arguments;
  if (entry.handed_over.valid()) arguments[0].buffer = entry.handed_over;
  return arguments;
}

// Its own kernels run forward.
LaunchOptions Tape::launch_options(const Entry &entry) { return {.stream = entry.options.stream}; }

std::vector<Launch> Tape::adjoint_launches(const Entry &entry) {
  std::vector<Launch> launches;
  for (const jit::AdjointLaunch &one : entry.given->planned)
    launches.emplace_back(one.kernel, one.extents, launch_options(entry), one.arguments);
  return launches;
}

// Compiles the adjoints of different kernels and variants concurrently.
void Tape::compile_adjoints() const {
  struct Wanted {
    jit::KernelDefinition *definition;
    jit::VariantKey key;
    bool operator==(const Wanted &) const = default;
  };
  std::vector<Wanted> wanted;
  const auto want = [&](const Wanted &one) {
    if (std::find(wanted.begin(), wanted.end(), one) == wanted.end()) wanted.push_back(one);
  };
  for (std::size_t i = entries_.size(); i-- > 0;) {
    const Entry &entry = entries_[i];
    if (entry.adjoint || !gradients_flow(entry)) continue;
    if (entry.given) {
      if (entry.given->launches.empty())
        for (const jit::AdjointLaunch &one : entry.given->planned)
          want({one.kernel.get(),
                jit::variant_key(*one.kernel, one.extents, launch_options(entry), jit::views(one.arguments))});
      continue;
    }
    const std::vector<jit::OwnedArgument> owned = adjoint_arguments(entry);
    const std::vector<jit::Argument> arguments = jit::views(owned);
    Wanted one{entry.definition.get(), jit::variant_key(*entry.definition, entry.extents, entry.options, arguments)};
    const auto &derived = one.definition->derived(one.key.derivative.active, one.key.derivative.may_alias,
                                                  one.key.derivative.memory_limit);
    jit::add_adjoint_facts(one.key, *entry.definition, derived, entry.extents, arguments);
    want(one);
  }
  std::vector<std::function<void()>> compiles;
  for (const Wanted &one : wanted) compiles.emplace_back([&one] { one.definition->variant(one.key); });
  jit::at_once(compiles);
}

// Everything that may be refused or run out of memory, before the first gradient changes.
void Tape::prepare_adjoints() {
  if (ended_halfway_)
    throw UserError(
        "backward: an earlier backward() of this tape ended with an error after some of its adjoints had run, so that "
        "the gradients hold a part of it; call zero_gradients() first");
  check_nothing_is_lost();
  for (Entry &entry : entries_) {
    if (entry.kind == Kind::copy && gradients_flow(entry)) prepare_copy(entry);
    if (entry.given && gradients_flow(entry)) prepare_operation(entry);
  }
  compile_adjoints();
  for (std::size_t i = entries_.size(); i-- > 0;) {
    Entry &entry = entries_[i];
    if (!gradients_flow(entry)) continue;
    if (!entry.foreign_write.empty())
      throw UserError(
          where_of(entry),
          "backward: " + entry.foreign_write +
              " was written between two launches of the tape by something "
              "that is not on it, so its gradient belongs to no launch; write it with a kernel or a copy on "
              "the tape, or before the first launch that uses it");
    if (entry.given) {
      if (entry.given->launches.empty()) entry.given->launches = adjoint_launches(entry);
    } else if (!entry.adjoint) {
      entry.adjoint.emplace(entry.definition, entry.extents, entry.options, adjoint_arguments(entry));
    }
    check_values(entry, i);
  }
}

void Tape::run_adjoint(Entry &entry, std::size_t number) {
  if (gradients_flow(entry)) check_values(entry, number);  // again, since a user's adjoint may write
  const SourceLocation unknown{};                          // the callers add the line
  if (entry.given) {
    if (entry.given->operation.backward && gradients_flow(entry)) run_backward(entry);
    for (Launch &launch : entry.given->launches) launch.launch(unknown);
    for (std::size_t i = 0; i < entry.arguments.size(); ++i)
      if (entry.writes(i) && entry.arguments[i].buffer.tracks_gradient())
        entry.arguments[i].buffer.zero_gradient(unknown);
    return;
  }
  if (entry.kind != Kind::launch) {
    AnyBuffer &target = entry.arguments[0].buffer;
    if (!target.tracks_gradient()) return;
    if (entry.handed_over.valid()) entry.handed_over.gradient().copy_from(target.gradient(), unknown);
    if (entry.handed_over.valid() || !gradients_flow(entry)) target.zero_gradient(unknown);
  }
  if (gradients_flow(entry)) entry.adjoint->launch(unknown);
}

std::vector<AnyBuffer> Tape::written_arrays() const {
  std::set<std::pair<const Storage *, ElementRegion>> seen;
  std::vector<AnyBuffer> arrays;
  for (const Entry &entry : entries_)
    for (std::size_t i = 0; i < entry.arguments.size(); ++i) {
      const AnyBuffer &buffer = entry.arguments[i].buffer;
      if (entry.writes(i) && buffer.tracks_gradient() && seen.emplace(buffer.storage().get(), region_of(buffer)).second)
        arrays.push_back(buffer);
    }
  return arrays;
}

// A cotangent to be added to a gradient: it becomes the gradient if that is otherwise unset, or a copy's adjoint adds
// it.
struct Tape::Seed {
  AnyBuffer buffer, value;  // no value: 1
  AnyBuffer copy = {};      // whose gradient is added
  std::optional<Launch> add = {};

  void apply(SourceLocation where) {
    AnyBuffer gradient = add ? copy.gradient(where) : buffer.gradient(where);
    if (value.valid())
      gradient.copy_from(value, where);
    else
      fill_with_one(gradient, where);
    if (add) add->launch(SourceLocation{});
  }
};

// Called before the gradients of `written` are set to zero, which may contain these values.
std::vector<Tape::Seed> Tape::seeds(const std::vector<Cotangent> &cotangents, const std::vector<AnyBuffer> &written,
                                    SourceLocation where) {
  std::vector<Seed> seeds;
  const auto changes = [&](const AnyBuffer &value) {
    const auto changes_with = [&](const AnyBuffer &buffer) { return share_elements(buffer.gradient(), value); };
    return std::ranges::any_of(written, changes_with) ||
           std::ranges::any_of(cotangents, [&](const Cotangent &one) { return changes_with(one.buffer); });
  };
  for (const auto &[buffer, value] : cotangents) {
    Seed seed{buffer, value};
    if (value.valid() && changes(value))
      seed.value = value.clone(value.tracks_gradient() ? Gradient::tracked : Gradient::untracked, where);
    const bool is_zero = !buffer.is_broadcast() && std::ranges::any_of(written, [&](const AnyBuffer &one) {
      return contains(one, buffer);
    }) && std::ranges::none_of(seeds, [&](const Seed &one) { return share_elements(one.buffer, buffer); });
    if (!is_zero) {
      seed.copy = AnyBuffer(buffer.device(), buffer.type(), buffer.extents(), Gradient::tracked, where);
      seed.add.emplace(jit::copy_kernel(buffer.device(), buffer.type(), buffer.rank()), buffer.extents(),
                       LaunchOptions{.direction = Direction::adjoint},
                       std::vector<jit::OwnedArgument>{{seed.copy, 0}, {buffer, 0}});
    }
    seeds.push_back(std::move(seed));
  }
  return seeds;
}

void Tape::backward(const AnyBuffer &objective, SourceLocation where) { backward(objective, {}, where); }

void Tape::backward(const AnyBuffer &objective, const std::vector<WhenFinal> &when_final, SourceLocation where) {
  moved_.check("Tape", where);
  if (!objective.valid() || objective.count() != 1)
    throw UserError(where, "backward from an array needs one element; " +
                               (objective.valid() ? objective.to_string() : std::string("an empty buffer")) +
                               " is given: pass a cotangent for each element instead");
  check_cotangent({objective, {}}, where);
  go_back({{objective, {}}}, when_final, where);
}

void Tape::backward(const std::vector<Cotangent> &cotangents, SourceLocation where) {
  moved_.check("Tape", where);
  for (const Cotangent &cotangent : cotangents) {
    check_cotangent(cotangent, where);
    const AnyBuffer &buffer = cotangent.buffer, &value = cotangent.value;
    if (!value.valid() || value.type() != buffer.type() || value.extents() != buffer.extents())
      throw UserError(where, "backward from " + buffer.to_string() +
                                 ": a cotangent of the same type and extents is expected, " +
                                 (value.valid() ? value.to_string() : std::string("an empty buffer")) + " is given");
  }
  go_back(cotangents, {}, where);
}

void Tape::check_cotangent(const Cotangent &cotangent, SourceLocation where) const {
  const AnyBuffer &buffer = cotangent.buffer;
  if (!buffer.valid() || !buffer.tracks_gradient())
    throw UserError(where, "backward from " + (buffer.valid() ? buffer.to_string() : std::string("an empty buffer")) +
                               ", which tracks no gradient; construct it with Gradient::tracked");
  if (!known_.contains(buffer.storage().get()))
    throw UserError(where, "backward from " + buffer.to_string() +
                               ", which no launch on the tape uses; record the launch that computes it");
  if (written_by_others(buffer))
    throw UserError(where, "backward from " + buffer.to_string() +
                               ", which was written after the tape used it by something that is not on it; write it "
                               "while the tape records, or go back before it is written");
}

// The first entry that uses elements of these arrays: its adjoint is the last to run. size() if there is none.
std::size_t Tape::last_adjoint_of(const std::vector<AnyBuffer> &arrays) const {
  const auto uses = [&](const Entry &entry) {
    return std::ranges::any_of(entry.arguments, [&](const jit::OwnedArgument &argument) {
      return argument.buffer.valid() && std::ranges::any_of(arrays, [&](const AnyBuffer &array) {
               return argument.buffer.storage() == array.storage() && share_elements(argument.buffer, array);
             });
    });
  };
  return static_cast<std::size_t>(std::ranges::find_if(entries_, uses) - entries_.begin());
}

void Tape::go_back(const std::vector<Cotangent> &cotangents, const std::vector<WhenFinal> &when_final,
                   SourceLocation where) {
  if (jit::GraphCapture::current() && kept_bytes_ > 0)
    throw UserError(where,
                    "backward of a tape that has kept copies of " + std::to_string(kept_bytes_) +
                        " bytes of overwritten values cannot be captured: each launch of the graph would use the same "
                        "copies; give each launch on the tape buffers of its own");
  const TraceSpan traced("tape", "tape backward");
  at_call("backward()", where, [&] {
    prepare_adjoints();
    std::vector<AnyBuffer> written = written_arrays();
    std::vector<Seed> seeds = this->seeds(cotangents, written, where);
    ended_halfway_ = true;
    for (AnyBuffer &array : written)
      if (std::ranges::none_of(seeds, [&](const Seed &seed) { return !seed.add && contains(seed.buffer, array); }))
        array.zero_gradient(where);
    for (Seed &seed : seeds) seed.apply(where);
    std::multimap<std::size_t, const WhenFinal *> calls;  // by the last adjoint
    for (const WhenFinal &one : when_final) calls.emplace(last_adjoint_of(one.arrays), &one);
    const auto call_after = [&](std::size_t adjoint) {
      for (auto [call, end] = calls.equal_range(adjoint); call != end; ++call) call->second->call();
    };
    call_after(entries_.size());
    for (std::size_t i = entries_.size(); i-- > 0; call_after(i)) run_adjoint(entries_[i], i);
    ended_halfway_ = false;
  });
}

void Tape::zero_gradients(SourceLocation where) {
  moved_.check("Tape", where);
  for (Entry &entry : entries_)
    for (jit::OwnedArgument &argument : entry.arguments)
      if (argument.buffer.valid() && argument.buffer.tracks_gradient()) argument.buffer.zero_gradient(where);
  ended_halfway_ = false;
}

}  // namespace samite
