// A tape: launches in the order in which they ran, to be gone back over for gradients.
//
//   Tape tape;
//   tape.record([&] { forward.launch(); loss.launch({n}, total, u, target); });
//   tape.backward(total);               // d total / d everything that tracks gradients
//   … read gradients, update …
//   tape.zero_gradients();
//
// While `record` runs, each forward launch of this thread, ordinary or recorded, is put down with its arguments.
// `backward` runs their adjoints in reverse order. It may be called more than once; the adjoints are compiled at the
// first, different ones at the same time. Gradients are added to what is there. The gradient of a value ends where the
// value was written: `backward` leaves zeros in the gradients of outputs, and the cotangents that it was given are used
// up. Where it ends with an error after some adjoints have run, the gradients hold a part of it, and it is refused
// until zero_gradients() is called.
//
// A gradient is right or refused. Where an adjoint needs the values of an array that a later launch of the tape, or the
// launch itself, overwrites, the tape copies them before that happens (unless told not to: TapeOptions). What the host
// overwrites since is refused. An array that tracks gradients must not be written between launches of the tape by
// anything but them, and an array in between inputs and outputs must track gradients, too. UserError from `backward`
// names the array.
//
// One thread uses a tape at a time; each thread may record one.
#pragma once

#include "samite/jit/launch.h"
#include "samite/runtime/buffer.h"

#include <functional>
#include <optional>
#include <unordered_map>

namespace samite {

struct TapeOptions {
  bool keep_values = true;    // copy what adjoints need before a launch overwrites it; else `backward` refuses by name
  bool check_finite = false;  // `backward` names what first made a gradient infinite or NaN, as LaunchOptions say
};

class Tape {
 public:
  Tape() = default;
  explicit Tape(const TapeOptions &options) : options_(options) {}

  // A buffer that the tape wrote, and d(objective) / d(buffer): same type and extents.
  struct Cotangent {
    AnyBuffer buffer, value;
  };

  // Puts down the launches that `work` makes, after those already there. UserError where this thread records already.
  void record(const std::function<void()> &work, SourceLocation where = std::source_location::current());

  // From an array of one element: its gradient is set to 1.
  void backward(const AnyBuffer &objective, SourceLocation where = std::source_location::current());
  void backward(const std::vector<Cotangent> &cotangents, SourceLocation where = std::source_location::current());

  // Sets the gradients of all arrays on the tape to zero.
  void zero_gradients(SourceLocation where = std::source_location::current());

  // Forgets all launches.
  void clear();

  std::size_t size() const { return entries_.size(); }
  std::int64_t kept_bytes() const { return kept_bytes_; }  // in copies of overwritten arrays
  std::string to_string() const;                           // one launch a line

  // For the library: the tape that this thread records, or null; one more launch, which `run` runs. Where that throws,
  // the launch is not on the tape.
  static Tape *recording();
  void append(const std::shared_ptr<jit::KernelDefinition> &definition, const LaunchExtents &extents,
              const LaunchOptions &options, std::span<const jit::Argument> arguments, const std::function<void()> &run);

 private:
  struct Entry {
    std::shared_ptr<jit::KernelDefinition> definition;
    Extents extents;
    LaunchOptions options;
    std::vector<jit::OwnedArgument> arguments;
    std::vector<std::uint64_t> versions;     // of each buffer, before the launch
    std::vector<std::uint32_t> values_read;  // the buffers whose elements the adjoint reads
    std::optional<Launch> adjoint;           // recorded at the first backward()
    std::string foreign_write;               // why gradients cannot pass this launch, if they cannot
    SourceLocation where;                    // of the launch
  };

  void put_down(const std::shared_ptr<jit::KernelDefinition> &definition, const LaunchExtents &extents,
                const LaunchOptions &options, std::span<const jit::Argument> arguments);
  using KnownVersion = std::pair<const Storage *, std::optional<std::uint64_t>>;
  void take_back(std::size_t size, std::span<const KnownVersion> known);
  bool gradients_flow(const Entry &entry) const;
  void check_values(const Entry &entry, std::size_t number) const;
  void check_nothing_is_lost() const;
  void find_values_read(Entry &entry) const;
  void keep_what_is_overwritten(Entry &entry);
  void keep(Entry &entry, std::size_t number, std::uint32_t argument);
  std::uint64_t writes_since(const AnyBuffer &buffer, std::uint64_t version, std::size_t number) const;
  void compile_adjoints() const;
  void prepare_adjoints();
  void run_adjoints();

  TapeOptions options_;
  std::vector<Entry> entries_;
  // Elements that adjoints need as they are now: which entries' arguments, by storage.
  std::unordered_map<const Storage *, std::vector<std::pair<std::size_t, std::uint32_t>>> needed_;
  std::int64_t kept_bytes_ = 0;
  bool ended_halfway_ = false;                                         // the last backward(): gradients hold some of it
  std::unordered_map<const Storage *, std::uint64_t> known_versions_;  // after the last launch on the tape
  // What launches on the tape write: their numbers, in order, and the arrays.
  std::unordered_map<const Storage *, std::vector<std::pair<std::size_t, AnyBuffer>>> writes_;
};

std::ostream &operator<<(std::ostream &stream, const Tape &tape);

}  // namespace samite
