// A tape: recorded launches and copies, whose adjoints run in reverse order.
//
//   Tape tape;
//   tape.record([&] { forward.launch(); loss.launch({n}, total, u, target); });
//   tape.backward(total);               // d total / d everything that tracks gradients
//   … read gradients, update …
//   tape.zero_gradients();
//
// While `record` runs, all operations of this thread on buffers are recorded: launches, ordinary or recorded, in any
// direction; copies, within a device and between two; and writes of the host. An adjoint or tangent launch is recorded
// as a launch of the derivative's kernel, so that gradients of gradients are correct. Values that the host writes are
// constants; it may read values, but results that it computes from them are constants again.
//
//   `backward` runs the adjoints of all operations in reverse order. It may be called more than once; the adjoints are
//   compiled at the first call, concurrently. One rule defines the resulting gradients:
//     - it adds to those of arrays that the tape only reads;
//     - it sets those of arrays that the tape writes, to the derivative with respect to their contents before the tape.
//       That is zero for overwritten elements, but not for those that were only added to or updated.
//   So it starts with the given cotangents, summed where they overlap, and with zeros in all other gradients that the
//   tape has written, whatever their values were. If it fails after some adjoints have run, the gradients hold a part
//   of the sum, and further calls are refused until zero_gradients() is called.
//
// A gradient is correct or refused. If an adjoint needs values that a later operation of the tape, or the launch
// itself, overwrites, the tape copies them first (unless TapeOptions disable it). Elements that are overwritten outside
// of the tape are refused. Elements that track gradients must not be written between operations of the tape except by
// them, and arrays between inputs and outputs must track gradients, too. UserError from `backward` names the array.
//
// Ready-made operations (ops/) are one entry each. Attention, softmax and layer norm have adjoints of their own there,
// which take less memory and time than derived ones (jit/operation.h).
//
// Functions of the host and of other libraries are recorded by record_function, see jit/tape_function.h.
//
// One thread uses a tape at a time; each thread may record one, and not during the capture of a graph.
#pragma once

#include "samite/jit/operation.h"
#include "samite/jit/tape_function.h"
#include "samite/runtime/buffer.h"
#include "samite/runtime/write_log.h"

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

namespace samite {

struct HostOperation;
namespace jit {
struct TapeAccess;
}

struct TapeOptions {
  bool keep_values = true;    // copy values before a launch overwrites them; else `backward` refuses by name
  bool check_finite = false;  // `backward` names the first cause of an infinite or NaN gradient, as in LaunchOptions
};

class Tape {
 public:
  Tape() = default;
  explicit Tape(const TapeOptions &options) : options_(options) {}

  // A buffer that the tape uses, and d(objective) / d(buffer): same type and extents, on any device.
  struct Cotangent {
    AnyBuffer buffer, value;
  };

  // Appends the operations of `work` to the tape. UserError if this thread is already recording, or captures a graph.
  void record(const std::function<void()> &work, SourceLocation where = std::source_location::current());

  // Runs `forward` and puts it on the tape, with `backward` as its adjoint; inside of record() or outside. UserError
  // for empty, broadcast or overlapping arrays, no outputs, more than 64 arrays, inside of another tape's record() or
  // of a Hessian-vector product, and if the function writes to another array on the tape.
  void record_function(const std::vector<AnyBuffer> &outputs, const std::vector<AnyBuffer> &inputs,
                       const std::function<void()> &forward,
                       const std::function<void(const FunctionGradients &)> &backward,
                       const FunctionOptions &options = {}, SourceLocation where = std::source_location::current());

  // A function that backward() calls as soon as the gradients of these arrays are final: no further adjoint of the
  // tape changes them. On CUDA the adjoints are then queued in the standard stream.
  struct WhenFinal {
    std::vector<AnyBuffer> arrays;
    std::function<void()> call;
  };

  // From an array of one element, with a cotangent of 1. Functions for gradients that become final at the same time are
  // called in the order of `when_final`.
  void backward(const AnyBuffer &objective, SourceLocation where = std::source_location::current());
  void backward(const AnyBuffer &objective, const std::vector<WhenFinal> &when_final,
                SourceLocation where = std::source_location::current());
  void backward(const std::vector<Cotangent> &cotangents, SourceLocation where = std::source_location::current());

  // Sets the gradients of all arrays on the tape to zero.
  void zero_gradients(SourceLocation where = std::source_location::current());

  // Removes all operations.
  void clear();

  std::size_t size() const { return entries_.size(); }
  std::int64_t kept_bytes() const { return kept_bytes_; }  // in copies of overwritten arrays
  std::string to_string() const;                           // one launch or copy a line

 private:
  friend struct jit::TapeAccess;

  enum class Kind {
    launch,
    copy,       // of argument 1 to argument 0
    overwrite,  // of argument 0 with constants
    operation   // with an adjoint of its own
  };
  // The given adjoint of an entry that is an operation.
  struct GivenAdjoint {
    jit::Operation operation;
    std::vector<std::uint32_t> results_read;       // the arguments whose values after the operation it reads
    std::vector<jit::AdjointLaunch> planned = {};  // made at the first backward()
    std::vector<Launch> launches = {};             // and recorded there
  };
  struct Entry {
    Kind kind = Kind::launch;
    std::shared_ptr<jit::KernelDefinition> definition = {};  // for a copy, once its adjoint is recorded
    Extents extents = {};
    LaunchOptions options = {};
    std::vector<jit::OwnedArgument> arguments = {};
    std::uint64_t written = 0;                    // arguments, as bits
    SourceLocation where = {};                    // of the launch
    std::vector<std::uint64_t> before = {};       // versions of each buffer, before the launch
    std::vector<std::uint64_t> after = {};        // and after it
    std::vector<std::uint32_t> values_read = {};  // the buffers whose elements the adjoint reads, as they were before
    std::optional<Launch> adjoint = {};           // recorded at the first backward()
    // Replaces argument 0 in the adjoint of a copy between two devices, or between overlapping elements.
    AnyBuffer handed_over = {};
    bool overwrites_storage = false;  // with a copy or constants
    std::string foreign_write = {};   // the reason if gradients cannot pass this launch
    std::optional<GivenAdjoint> given = {};

    bool writes(std::size_t argument) const { return (written >> argument & 1) != 0; }
    // The version of an argument that the adjoint reads: an operation writes only results, which are read as it left
    // them.
    std::uint64_t version_read(std::size_t argument) const {
      return given && writes(argument) ? after[argument] : before[argument];
    }
  };
  struct Versions {
    std::uint64_t first, last;
  };
  // The tape's knowledge of one storage.
  struct Known {
    std::shared_ptr<Storage> storage;
    std::shared_ptr<const WriteLog> log;  // watched while this is held
    std::uint64_t version = 0;            // after the last operation of the tape that used it
    bool written_by_others = false;       // since the first use
    std::uint64_t overwritten = 0;        // version when it was last overwritten as a whole, by a copy or constants
    std::vector<Versions> own;            // versions from the tape's operations, in order
    // Elements that the tape used, with the version at their first use.
    std::map<ElementRegion, std::uint64_t> used;
    // Elements whose current values adjoints need: the entries' arguments.
    std::vector<std::pair<std::size_t, std::uint32_t>> needed;

    bool made(std::uint64_t version) const;
  };
  // The entry's additions to the tape after it has run, allocated before it runs.
  struct Room {
    std::vector<std::map<ElementRegion, std::uint64_t>> used;  // of each argument
    std::set<const Storage *> accumulators;
  };
  struct Seed;

  Known &known(const AnyBuffer &buffer);
  // Calls a function of the host. UserError if it writes to an array that the tape knows and that is not in `written`.
  void run_watched(const std::string &name, const std::set<const Storage *> &written, SourceLocation where,
                   const std::function<void()> &run) const;
  void run_backward(const Entry &entry) const;
  void append(const std::shared_ptr<jit::KernelDefinition> &definition, const LaunchExtents &extents,
              const LaunchOptions &options, std::span<const jit::Argument> arguments, const std::function<void()> &run);
  void append(const HostOperation &operation);
  void append(const jit::Operation &operation, SourceLocation where, const std::function<void(bool derived)> &run);
  void append(const TapeFunction &function, SourceLocation where);
  bool reads_changing_results(const jit::Operation &operation) const;
  void put_down(Entry entry, const std::function<void()> &run);
  Room make_room(Entry &entry);
  void find_foreign_write(Entry &entry);
  // Whether the buffer's elements were written outside of the tape since the tape first used them.
  bool written_by_others(const AnyBuffer &buffer) const;
  void find_values_read(Entry &entry) const;
  void keep_what_changes(Entry &entry);
  void keep_overwritten(const AnyBuffer &written);
  // Returns whether it made a copy.
  bool keep(Entry &entry, std::uint32_t argument);
  bool written_since(const AnyBuffer &buffer, std::uint64_t version) const;
  bool is_accumulator(const AnyBuffer &buffer) const { return accumulators_.contains(buffer.storage().get()); }

  // Whether its adjoint must run.
  static bool gradients_flow(const Entry &entry);
  // "launch 2 (solver.cpp:41), kernel 'square'", and "argument 1 ('x'), 'state'".
  static std::string name_of(const Entry &entry, std::size_t number);
  static std::string name_of_argument(const Entry &entry, std::size_t argument);
  static SourceLocation where_of(const Entry &entry);
  void check_values(const Entry &entry, std::size_t number) const;
  using Lost = std::unordered_map<const Storage *, std::size_t>;  // by the entry that wrote it
  void check_nothing_is_lost() const;
  void lose_in_operation(const Entry &entry, std::size_t number, Lost &lost) const;
  [[noreturn]] void refuse_lost(const Entry &entry, std::size_t number, std::size_t argument, const Lost &lost) const;
  static void prepare_copy(Entry &entry);
  static void prepare_operation(Entry &entry);
  static LaunchOptions launch_options(const Entry &entry);
  static std::vector<Launch> adjoint_launches(const Entry &entry);
  static std::vector<jit::OwnedArgument> adjoint_arguments(const Entry &entry);
  void compile_adjoints() const;
  void prepare_adjoints();
  // Each array that the tape writes and that tracks a gradient, once.
  std::vector<AnyBuffer> written_arrays() const;
  static std::vector<Seed> seeds(const std::vector<Cotangent> &cotangents, const std::vector<AnyBuffer> &written,
                                 SourceLocation where);
  void run_adjoint(Entry &entry, std::size_t number);
  void check_cotangent(const Cotangent &cotangent, SourceLocation where) const;
  // A cotangent without a value means 1.
  void go_back(const std::vector<Cotangent> &cotangents, const std::vector<WhenFinal> &when_final,
               SourceLocation where);
  std::size_t last_adjoint_of(const std::vector<AnyBuffer> &arrays) const;

  jit::MovedFrom moved_;
  TapeOptions options_;
  std::vector<Entry> entries_;
  std::unordered_map<const Storage *, Known> known_;
  std::set<const Storage *> accumulators_;  // gradients of arrays on the tape, which `backward` adds to
  std::int64_t kept_bytes_ = 0;
  bool ended_halfway_ = false;  // backward() failed: gradients hold a part of the sum
};

std::ostream &operator<<(std::ostream &stream, const Tape &tape);

}  // namespace samite
