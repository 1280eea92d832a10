#include "tests/schedule/program_interpreter.h"

#include "samite/ir/load_ahead.h"
#include "samite/ir/print.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>
#include <map>

namespace samite::test {
namespace {

using namespace ir;

// The last writer of an element, and its readers, since the threads last met.
struct Touch {
  std::int64_t writer = none, reader = none;
  std::int64_t written = -1, read = -1;                  // the epoch
  bool several_threads = false, several_blocks = false;  // have read it
  std::int64_t again = none;                             // who stored the same value once more, and may read it
  static constexpr std::int64_t none = -1;
};

struct Array {
  InterpretedArray *memory;
  std::vector<Touch> touched;
};

// A copy on its way to an element of shared memory, by a thread.
struct OnItsWay {
  LocalArrayId array;
  std::size_t at;
  std::int64_t value, thread;
  int group;
};

struct Local {
  MemorySpace space;
  ScalarType type;
  bool in_threads;
  std::int64_t size;
  std::vector<std::int64_t> values;
  std::vector<char> known;
  std::vector<Touch> touched;
  // For a buffer: its memory, and its place in that.
  LocalArrayId memory = 0;
  std::size_t first = 0;
};

std::int64_t wrapped(std::int64_t value, ScalarType type) {
  switch (type) {
    case ScalarType::Bool: return value != 0;
    case ScalarType::UInt8: return static_cast<std::uint8_t>(value);
    case ScalarType::Int32: return static_cast<std::int32_t>(value);
    default: return value;
  }
}

std::int64_t computed(const Operation &operation, const std::function<std::int64_t(std::size_t)> &of) {
  const auto result = [&]() -> std::int64_t {
    switch (operation.op) {
      case Op::Copy:
      case Op::Cast: return of(0);
      case Op::Select: return of(0) ? of(1) : of(2);
      case Op::Neg: return -of(0);
      case Op::Abs: return std::abs(of(0));
      case Op::Add: return of(0) + of(1);
      case Op::Sub: return of(0) - of(1);
      case Op::Mul: return of(0) * of(1);
      case Op::Div: return of(1) == 0 ? 0 : of(0) / of(1);
      case Op::Rem: return of(1) == 0 ? of(0) : of(0) % of(1);
      case Op::Min: return std::min(of(0), of(1));
      case Op::Max: return std::max(of(0), of(1));
      case Op::And: return of(0) & of(1);
      case Op::Or: return of(0) | of(1);
      case Op::Xor: return of(0) ^ of(1);
      case Op::Not: return operation.type.element() == ScalarType::Bool ? !of(0) : ~of(0);
      case Op::ShiftLeft: return of(0) << of(1);
      case Op::ShiftRight: return of(0) >> of(1);
      case Op::Equal: return of(0) == of(1);
      case Op::NotEqual: return of(0) != of(1);
      case Op::Less: return of(0) < of(1);
      case Op::LessEqual: return of(0) <= of(1);
      case Op::Greater: return of(0) > of(1);
      case Op::GreaterEqual: return of(0) >= of(1);
      default: throw ProgramFailure(fmt::format("the interpreter has no '{}'", info(operation.op).name));
    }
  };
  return wrapped(result(), operation.type.element());
}

std::string message_text(const Message &message, const std::function<std::int64_t(const Value &)> &value) {
  std::string text;
  for (std::size_t i = 0; i < message.texts.size(); ++i) {
    text += message.texts[i];
    if (i < message.values.size()) text += std::to_string(value(message.values[i]));
  }
  return text;
}

class Run {
 public:
  Run(const schedules::Program &program, std::vector<InterpretedArray> &arguments, bool gpu, StoreCounts *counts)
      : program_(program), arguments_(arguments), gpu_(gpu), counts_(counts) {}

  void run() { steps(program_.steps); }

 private:
  // The host.

  std::int64_t host(const Value &value) const {
    if (value.is_constant()) return value.as_int();
    if (value.kind() == Value::Kind::Parameter) return arguments_[value.parameter_index()].values[0];
    const auto found = host_.find(value.id());
    if (found == host_.end()) throw ProgramFailure(fmt::format("the host reads %{}, which has no value", value.id()));
    return found->second;
  }
  void steps(const schedules::Steps &all) {
    for (const schedules::Step &step : all) {
      if (const Let *let = std::get_if<Let>(&step.kind)) {
        host_[let->local] = let->value.op == Op::Extent
                                ? arguments_[let->value.array].extents[static_cast<std::size_t>(let->value.attribute)]
                                : computed(let->value, [&](std::size_t i) { return host(let->value.operands[i]); });
      } else if (const auto *temporary = std::get_if<schedules::Temporary>(&step.kind)) {
        InterpretedArray array;
        std::int64_t count = 1;
        for (const Value &extent : temporary->extents) {
          array.extents.push_back(host(extent));
          if (array.extents.back() < 0) throw ProgramFailure("a temporary of a negative extent");
          count *= array.extents.back();
          if (count > 400'000) throw ProgramTooLong();
        }
        array.values.resize(static_cast<std::size_t>(count));
        array.known.resize(static_cast<std::size_t>(count));
        temporaries_[temporary->number] = std::move(array);
      } else if (const auto *loop = std::get_if<schedules::HostLoop>(&step.kind)) {
        for (std::int64_t i = host(loop->begin); i < host(loop->end); ++i) {
          host_[loop->index] = i;
          steps(loop->body);
        }
      } else if (const auto *branch = std::get_if<schedules::HostBranch>(&step.kind)) {
        steps(host(branch->condition) ? branch->then_steps : branch->else_steps);
      } else if (const auto *requirement = std::get_if<schedules::Requirement>(&step.kind)) {
        if (host(requirement->condition)) continue;
        throw RequirementFailure(message_text(requirement->message, [&](const Value &of) { return host(of); }));
      } else {
        launch(std::get<schedules::KernelLaunch>(step.kind));
      }
    }
  }

  void launch(const schedules::KernelLaunch &launch) {
    kernel_ = &launch.kernel;
    kept_.clear();
    for (const schedules::KernelLaunch::Kept &kept : launch.kept) kept_.emplace(kept.array, kept.func);
    arrays_.clear();
    scalars_.assign(kernel_->parameters.size(), 0);
    arrays_.resize(kernel_->parameters.size());
    for (std::size_t p = 0; p < launch.arguments.size(); ++p) {
      const schedules::KernelArgument &argument = launch.arguments[p];
      InterpretedArray *memory = nullptr;
      if (const auto *own = std::get_if<schedules::ParameterArgument>(&argument))
        memory = &arguments_[own->parameter];
      else if (const auto *temporary = std::get_if<schedules::TemporaryArgument>(&argument))
        memory = &temporaries_.at(temporary->number);
      else
        scalars_[p] = host(std::get<schedules::HostArgument>(argument).value);
      if (memory && kernel_->parameters[p].rank == 0) scalars_[p] = memory->values[0];
      if (memory && kernel_->parameters[p].rank != 0) arrays_[p] = {memory, std::vector<Touch>(memory->values.size())};
    }
    std::vector<std::int64_t> extents;
    std::int64_t blocks = 1;
    for (const Value &extent : launch.extents) {
      extents.push_back(host(extent));
      blocks *= std::max<std::int64_t>(extents.back(), 0);
    }
    if (extents.size() != static_cast<std::size_t>(kernel_->launch_rank))
      throw ProgramFailure("a launch has not its kernel's rank");
    locals_.assign(kernel_->local_count, 0);
    ahead_.assign(kernel_->local_count, false);
    local_arrays_.assign(kernel_->local_array_count, {});
    for (block_ = 0; block_ < blocks; ++block_) {
      std::int64_t rest = block_;
      index_.assign(extents.size(), 0);
      for (std::size_t d = extents.size(); d-- > 0;) {
        index_[d] = rest % extents[d];
        rest /= extents[d];
      }
      ++epoch_;
      block(kernel_->body);
      if (!on_their_way_.empty()) throw ProgramFailure("a block ends with copies on their way");
    }
  }

  // The kernel.

  [[noreturn]] void fail(const Stmt &stmt, const std::string &what) const {
    throw ProgramFailure(fmt::format("kernel '{}', block {}, thread {}: {}\n  in {}", kernel_->name,
                                     fmt::join(index_, ", "), thread_, what, ir::to_string(stmt, kernel_->parameters)));
  }

  std::int64_t value(const Value &value) const {
    if (value.is_constant() && is_floating(value.type().element())) {
      // Infinity represents the least and the greatest of nothing.
      using Limits = std::numeric_limits<std::int64_t>;
      if (std::isinf(value.as_double())) return value.as_double() > 0 ? Limits::max() : Limits::min();
      return static_cast<std::int64_t>(value.as_double());
    }
    if (value.is_constant()) return value.as_int();
    if (value.kind() == Value::Kind::Parameter) return scalars_[value.parameter_index()];
    return locals_[value.id()];
  }

  void block(const Block &block) {
    for (const Stmt &stmt : block) statement(stmt);
  }

  void statement(const Stmt &stmt) {
    if (++work_ > 3'000'000) throw ProgramTooLong();
    if (const Let *let = stmt.as<Let>(); let && elements_ahead(let->value)) {
      if (elements_ahead(let->value) != 1) fail(stmt, "several elements ahead before loads are packed");
      locals_[let->local] = let_value(stmt, let->value);
      ahead_[let->local] = true;
    } else if (let) {
      locals_[let->local] = wrapped(let_value(stmt, let->value), let->value.type.element());
    } else if (const Store *store = stmt.as<Store>()) {
      Array &array = arrays_[store->array];
      const std::size_t at = element(stmt, array, store->indices);
      if (counts_) ++(*counts_)[kernel_->parameters[store->array].name];
      // A value that is computed twice may be stored twice.
      if (!array.memory->known[at] || array.memory->values[at] != value(store->value) ||
          array.touched[at].writer == Touch::none)
        write(stmt, array.touched[at], instance());
      else
        array.touched[at].again = instance();
      array.memory->values[at] = value(store->value);
      array.memory->known[at] = 1;
      ++array.memory->updates;
    } else if (const Accumulate *sum = stmt.as<Accumulate>()) {
      Array &array = arrays_[sum->array];
      const std::size_t at = element(stmt, array, sum->indices);
      if (gpu_ && thread_ < 0 && kernel_->block_threads > 1) fail(stmt, "each thread of the block adds");
      if (!array.memory->known[at]) fail(stmt, "adds to what has no value");
      if (!sum->atomic) {
        read(stmt, array.touched[at], instance());
        write(stmt, array.touched[at], instance());
      }
      array.memory->values[at] += value(sum->value);
      ++array.memory->updates;
    } else if (const Allocate *allocate = stmt.as<Allocate>()) {
      if (allocate->buffer) return open_buffer(stmt, *allocate);
      const std::int64_t size = value(allocate->size) * allocate->stages;
      if (size < 0 || size > 4'000'000) throw ProgramTooLong();
      const std::int64_t copies = allocate->space == MemorySpace::thread ? std::max(kernel_->block_threads, 1) : 1;
      const auto all = static_cast<std::size_t>(size * copies);
      local_arrays_[allocate->array] = {
          allocate->space,        allocate->type.element(), thread_ >= 0,    size, std::vector<std::int64_t>(all),
          std::vector<char>(all), std::vector<Touch>(all),  allocate->array, 0};
    } else if (const LocalStore *store = stmt.as<LocalStore>()) {
      const std::size_t at = local_element(stmt, local_arrays_[store->array], value(store->index));
      if (counts_ && kept_.contains(store->array)) ++(*counts_)[kept_.at(store->array)];
      Local &array = local_arrays_[local_arrays_[store->array].memory];
      if (store->value.is_local() && ahead_[store->value.id()]) return start_copy(stmt, *store, array, at);
      const bool again = array.known[at] && array.values[at] == value(store->value);
      if (!array.in_threads && array.space != MemorySpace::thread &&
          !(again && array.touched[at].writer != Touch::none))
        write(stmt, array.touched[at], instance());
      array.values[at] = value(store->value);
      array.known[at] = 1;
    } else if (stmt.as<Barrier>()) {
      if (thread_ >= 0) fail(stmt, "a barrier inside of a loop over threads");
      ++epoch_;
    } else if (stmt.as<CommitCopies>()) {
      ++group_;
    } else if (const auto *wait = stmt.as<WaitForCopies>()) {
      wait_for_copies(stmt, wait->groups);
    } else if (const Check *check = stmt.as<Check>()) {
      if (value(check->condition)) return;
      throw RequirementFailure(message_text(check->message, [&](const Value &of) { return value(of); }));
    } else if (const If *branch = stmt.as<If>()) {
      const bool taken = value(branch->condition) != 0;
      block(taken ? branch->then_block : branch->else_block);
      for (const BranchResult &result : branch->results)
        locals_[result.local] = value(taken ? result.then_value : result.else_value);
    } else if (const For *loop = stmt.as<For>()) {
      this->loop(stmt, *loop);
    } else {
      fail(stmt, "the interpreter has no such statement");
    }
  }

  void open_buffer(const Stmt &stmt, const Allocate &allocate) {
    const Local &all = local_arrays_[allocate.buffer->of];
    const std::int64_t size = value(allocate.size), number = value(allocate.buffer->number);
    if (number < 0 || (number + 1) * size > all.size) fail(stmt, fmt::format("there is no buffer {}", number));
    Local buffer{all.space, all.type, all.in_threads, size, {}, {}, {}, allocate.buffer->of, 0};
    buffer.first = static_cast<std::size_t>(number * size);
    local_arrays_[allocate.array] = std::move(buffer);
  }

  // As late as it may be: the element has no value until the copy has been waited for.
  void start_copy(const Stmt &stmt, const LocalStore &store, Local &array, std::size_t at) {
    if (thread_ < 0) fail(stmt, "a copy of no thread");
    write(stmt, array.touched[at], instance());
    array.known[at] = 0;
    for (const OnItsWay &other : on_their_way_)
      if (other.array == local_arrays_[store.array].memory && other.at == at) fail(stmt, "two copies to one element");
    on_their_way_.push_back({local_arrays_[store.array].memory, at, value(store.value), thread_, group_});
  }
  void wait_for_copies(const Stmt &stmt, int groups) {
    if (thread_ >= 0) fail(stmt, "a wait inside of a loop over threads");
    std::erase_if(on_their_way_, [&](const OnItsWay &copy) {
      if (copy.group >= group_ - groups) return false;
      Local &array = local_arrays_[copy.array];
      array.values[copy.at] = copy.value;
      array.known[copy.at] = 1;
      // Others see it after the next barrier.
      array.touched[copy.at].writer = block_ * 4096 + copy.thread + 1;
      array.touched[copy.at].written = epoch_;
      return true;
    });
  }

  void loop(const Stmt &stmt, const For &loop) {
    if (!loop.carried.empty()) fail(stmt, "a loop carries values");
    const bool threads = loop.kind == LoopKind::Thread;
    if (threads && thread_ >= 0) fail(stmt, "a loop over threads inside of another one");
    if (threads && !gpu_) ++epoch_;
    const std::int64_t begin = value(loop.begin), end = value(loop.end), step = value(loop.step);
    for (std::int64_t i = begin; i < end; i += step) {
      if (threads) thread_ = gpu_ ? (i - begin) % std::max(kernel_->block_threads, 1) : i - begin;
      locals_[loop.index] = i;
      block(loop.body);
      if (threads) thread_ = -1;
    }
    if (threads && !gpu_) ++epoch_;
  }

  std::int64_t let_value(const Stmt &stmt, const Operation &operation) {
    switch (operation.op) {
      case Op::ThreadIndex: return index_[static_cast<std::size_t>(operation.attribute)];
      case Op::Extent: return arrays_[operation.array].memory->extents[static_cast<std::size_t>(operation.attribute)];
      case Op::Load: {
        Array &array = arrays_[operation.array];
        const std::size_t at = element(stmt, array, operation.operands);
        if (!array.memory->known[at]) fail(stmt, "loads what has no value");
        read(stmt, array.touched[at], instance());
        return array.memory->values[at];
      }
      case Op::AtomicMin:
      case Op::AtomicMax: {
        Array &array = arrays_[operation.array];
        const std::size_t at = element(stmt, array, {operation.operands.begin(), operation.operands.end() - 1});
        if (!array.memory->known[at]) fail(stmt, "an atomic step of what has no value");
        std::int64_t &element = array.memory->values[at];
        const std::int64_t before = element, other = value(operation.operands.back());
        element = operation.op == Op::AtomicMin ? std::min(before, other) : std::max(before, other);
        return before;
      }
      case Op::LocalLoad: {
        const std::size_t at = local_element(stmt, local_arrays_[operation.array], value(operation.operands[0]));
        Local &array = local_arrays_[local_arrays_[operation.array].memory];
        if (!array.known[at]) fail(stmt, "loads what has no value");
        if (!array.in_threads && array.space != MemorySpace::thread)
          read(stmt, array.touched[at], instance(), array.space);
        return array.values[at];
      }
      default: return computed(operation, [&](std::size_t i) { return value(operation.operands[i]); });
    }
  }

  std::size_t element(const Stmt &stmt, const Array &array, const std::vector<Value> &indices) const {
    std::int64_t at = 0;
    std::vector<std::int64_t> place;
    for (const Value &index : indices) place.push_back(value(index));
    if (!array.memory || place.size() != array.memory->extents.size()) fail(stmt, "indices of another rank");
    for (std::size_t d = 0; d < place.size(); ++d) {
      if (place[d] < 0 || place[d] >= array.memory->extents[d])
        fail(stmt,
             fmt::format("[{}] is outside of [{}]", fmt::join(place, ", "), fmt::join(array.memory->extents, ", ")));
      at = at * array.memory->extents[d] + place[d];
    }
    return static_cast<std::size_t>(at);
  }
  std::size_t local_element(const Stmt &stmt, const Local &array, std::int64_t at) const {
    if (at < 0 || at >= array.size) fail(stmt, fmt::format("{} is outside of {} elements", at, array.size));
    if (array.space == MemorySpace::thread) {
      if (thread_ < 0) fail(stmt, "memory of threads is touched outside of their loops");
      at += thread_ * array.size;
    }
    return array.first + static_cast<std::size_t>(at);
  }

  // Blocks have different numbers, and so have their threads; the block as a whole is its thread -1.
  std::int64_t instance() const { return block_ * 4096 + thread_ + 1; }
  // Threads of a block wait at its barriers, blocks never do.
  bool meets(std::int64_t other, std::int64_t epoch, std::int64_t self) const {
    if (other == Touch::none || other == self) return false;
    return other / 4096 != self / 4096 || epoch == epoch_;
  }
  void write(const Stmt &stmt, Touch &touch, std::int64_t self) {
    if (meets(touch.writer, touch.written, self)) fail(stmt, "another instance has stored to this element");
    if (touch.several_blocks || meets(touch.reader, touch.read, self) ||
        (touch.several_threads && touch.read == epoch_))
      fail(stmt, "another instance has read this element");
    if (gpu_ && thread_ < 0 && kernel_->block_threads > 1 && touch.reader == self && touch.read == epoch_)
      fail(stmt, "each thread of the block reads this element and stores to it");
    touch.writer = self;
    touch.written = epoch_;
    touch.again = Touch::none;
  }
  void read(const Stmt &stmt, Touch &touch, std::int64_t self, MemorySpace space = MemorySpace::shared) {
    if (gpu_ && space == MemorySpace::instance) {
      // Each thread has its own.
      if (touch.writer != Touch::none && touch.writer != self && touch.writer % 4096 != 0)
        fail(stmt, "reads what another thread keeps for itself");
      return;
    }
    if (meets(touch.writer, touch.written, self) && touch.again != self)
      fail(stmt, "another instance has stored to this element");
    if (touch.read != epoch_) touch.several_threads = false;
    if (touch.reader != Touch::none && touch.reader / 4096 != self / 4096) touch.several_blocks = true;
    if (touch.read == epoch_ && touch.reader != self) touch.several_threads = true;
    touch.reader = self;
    touch.read = epoch_;
  }

  const schedules::Program &program_;
  std::vector<InterpretedArray> &arguments_;
  const bool gpu_;
  StoreCounts *const counts_;
  std::map<LocalArrayId, std::string> kept_;  // the kernel's own memory: its Func
  std::map<LocalId, std::int64_t> host_;
  std::map<std::uint32_t, InterpretedArray> temporaries_;
  const Kernel *kernel_ = nullptr;
  std::vector<Array> arrays_;
  std::vector<std::int64_t> scalars_, locals_, index_;
  std::vector<Local> local_arrays_;
  std::vector<bool> ahead_;  // by local: it is loaded ahead
  std::vector<OnItsWay> on_their_way_;
  int group_ = 0;  // of copies, of all threads
  std::int64_t block_ = 0, thread_ = -1, epoch_ = 0, work_ = 0;
};

}  // namespace

void run_program(const schedules::Program &program, std::vector<InterpretedArray> &arguments, bool gpu,
                 StoreCounts *counts) {
  Run(program, arguments, gpu, counts).run();
}

}  // namespace samite::test
