#include "tests/passes/lowered_interpreter.h"

#include "samite/ir/print.h"
#include "samite/passes/analysis/grouped_elements.h"
#include "tests/passes/lowered_calls.h"

#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>

namespace samite::test {
namespace {

class LoweredInterpreter : private LoweredCalls {
 public:
  LoweredInterpreter(const ir::Kernel &planned, std::vector<std::int64_t> blocks, std::vector<TileArray> arguments,
                     ThreadOrder order)
      : LoweredCalls(planned, std::move(arguments)), kernel_(planned), blocks_(std::move(blocks)), order_(order) {}

  LoweredRun run() {
    launch_.locals.assign(kernel_.local_count, {});
    if (kernel_.roles.producers != 0) {
      producing_ = true;
      launch(kernel_.roles.producing, 0);
      producing_ = false;
      launch_.locals.assign(kernel_.local_count, {});
    }
    launch(kernel_.body, 0);
    if (consumed_ != copies_.size()) throw std::runtime_error("copies that no product waits for");
    for (const auto &[barriers, windows] : brought_)
      if (taken_[barriers] != windows.size()) throw std::runtime_error("windows that nothing takes");
    return {std::move(arguments_), std::move(said_)};
  }

 private:
  // The statements around the loops over the launch, and those loops.
  void launch(const ir::Block &statements, int depth) {
    if (depth == kernel_.launch_rank) return run_block(statements);
    for (const ir::Stmt &stmt : statements) {
      if (const auto *let = stmt.as<ir::Let>()) launch_.locals[let->local] = compute(launch_, let->value);
      const auto *loop = stmt.as<ir::For>();
      if (!loop) continue;
      const std::int64_t end = integer(launch_, loop->end);
      for (std::int64_t i = integer(launch_, loop->begin); i < end; ++i) {
        launch_.locals[loop->index].integer = i;
        launch(loop->body, depth + 1);
      }
    }
  }

  // Runs the producer threads: one of them, for all blocks, before the others.
  void produce(const ir::Block &statements) {
    for (const ir::Stmt &stmt : statements) {
      if (const auto *let = stmt.as<ir::Let>()) {
        launch_.locals[let->local] = compute(launch_, let->value);
      } else if (const auto *branch = stmt.as<ir::If>()) {
        produce(integer(launch_, branch->condition) != 0 ? branch->then_block : branch->else_block);
      } else if (const auto *loop = stmt.as<ir::For>()) {
        const std::int64_t end = integer(launch_, loop->end), step = integer(launch_, loop->step);
        for (std::int64_t i = integer(launch_, loop->begin); step > 0 ? i < end : i > end; i += step) {
          launch_.locals[loop->index].integer = i;
          produce(loop->body);
        }
      } else if (stmt.as<ir::MainLoop>() || stmt.as<ir::WindowProduct>()) {
        copies_.push_back(copies_of(multiplied(launch_, stmt)));
      } else if (const auto *bring = stmt.as<ir::BringWindows>()) {
        brought_[bring->barriers.array].push_back(windows_of(launch_, *bring));
      } else if (!stmt.as<ir::Allocate>()) {
        throw std::logic_error("a statement that threads which start copies do not have");
      }
    }
  }
  struct Copies {
    std::vector<Window> windows;
    std::int64_t count;
    friend bool operator==(const Copies &, const Copies &) = default;
  };
  static Copies copies_of(const Multiplied &multiplied) {
    Copies copies{{}, multiplied.count};
    for (const Multiplied::Windows &windows : multiplied.windows) copies.windows.push_back(windows.first);
    return copies;
  }
  // The windows that a statement multiplies; empty for one that multiplies tiles in memory.
  Multiplied multiplied(const BlockThread &thread, const ir::Stmt &stmt) const {
    Multiplied made{};
    const auto add = [&](const ir::Transfer &factor) {
      made.windows.push_back(
          {factor.ring.type, {factor.array, places(thread, factor.indices)}, factor.rows, factor.columns});
    };
    if (const auto *loop = stmt.as<ir::MainLoop>()) {
      made.attribute = loop->attribute;
      for (const ir::Transfer &factor : loop->factors) add(factor);
      if (loop->count) made.count = integer(thread, *loop->count);
      if (loop->terms) made.terms = integer(thread, *loop->terms);
    } else if (const auto *product = stmt.as<ir::WindowProduct>()) {
      made.attribute = product->attribute;
      made.first = &product->first;
      add(product->second);
    } else if (const auto *product = stmt.as<ir::StageProduct>()) {
      made.attribute = product->attribute;
      made.sets = product->sets;
      const auto present = present_.find({thread.number, product->barriers.array});
      if (present == present_.end()) throw std::runtime_error("a product in a stage that nothing has brought");
      for (const ir::TileMemory &factor : product->factors)
        made.windows.push_back({factor.type, present->second.at(factor.array)});
    }
    return made;
  }

  void run_block(const ir::Block &statements) {
    if (producing_) return produce(statements);
    begin_block();
    block_.resize(static_cast<std::size_t>(threads_));
    for (std::size_t n = 0; n < block_.size(); ++n) {
      BlockThread &thread = block_[n];
      thread.number = static_cast<int>(n);
      thread.locals = launch_.locals;
      thread.tiles.assign(kernel_.local_array_count, {});
      thread.own_arrays.assign(kernel_.local_array_count, {});
      thread.streams.assign(kernel_.local_array_count, {});
      thread.copies.clear();
      thread.loops = 0;
      thread.taken.clear();
      thread.turns.clear();
      thread.groups = 0, thread.allocations = 0, thread.in_elements = false;
    }
    BlockThreads::run(threads_, order_, [&](int n) { return whole(block_[static_cast<std::size_t>(n)], statements); });
    consumed_ += block_[0].loops;
    for (const auto &[barriers, count] : block_[0].taken) taken_[barriers] += count;
  }

  // Names the statement in errors.
  Steps whole(BlockThread &thread, const ir::Block &statements) {
    try {
      co_await run(thread, statements);
    } catch (const std::runtime_error &error) {
      throw std::runtime_error(std::string(error.what()) + ", for thread " + std::to_string(thread.number) +
                               " in: " + (thread.at ? to_string(*thread.at, kernel_.parameters) : ""));
    }
  }

  void begin(BlockThread &thread, const ir::Stmt &stmt) {
    thread.at = &stmt;
    if (++statements_ > most_statements) throw std::runtime_error("too many statements");
  }

  Steps run(BlockThread &thread, const ir::Block &block, std::size_t from = 0) {
    for (std::size_t i = from; i < block.size(); ++i) {
      const ir::Stmt &stmt = block[i];
      begin(thread, stmt);
      if (at_once(thread, stmt)) continue;
      if (const auto *branch = stmt.as<ir::If>()) {
        const bool taken = integer(thread, branch->condition) != 0;
        const ir::Block &side = taken ? branch->then_block : branch->else_block;
        if (!run_at_once(thread, side)) co_await run(thread, side);
        for (const ir::BranchResult &result : branch->results)
          thread.locals[result.local] = value(thread, taken ? result.then_value : result.else_value);
      } else if (const auto *loop = stmt.as<ir::For>()) {
        if (loop->kind == ir::LoopKind::Thread)
          co_await elements(thread, *loop);
        else
          co_await serial(thread, *loop);
      } else if (const auto *loop = stmt.as<ir::While>()) {
        co_await serial(thread, *loop);
      } else if (const auto *call = stmt.as<ir::TileCall>()) {
        co_await this->call(thread, stmt, *call);
      } else if (multiplies(stmt)) {
        Multiplied own = multiplied(thread, stmt);
        check_windows(thread, stmt, copies_of(own));
        co_await product_loop(thread, stmt, std::move(own));
      } else if (stmt.as<ir::Barrier>()) {
        co_await Meeting{Meeting::Of::Block, &stmt};
      } else if (const auto *allocate = stmt.as<ir::Allocate>()) {
        // The threads allocate device memory together.
        co_await Meeting{Meeting::Of::Block, &stmt};
        take(thread, *allocate);
      } else if (const auto *let = stmt.as<ir::Let>()) {
        // Code of one thread for all.
        co_await Meeting{Meeting::Of::Block, &stmt};
        if (thread.number == 0) of_one_thread_ = compute(thread, let->value);
        co_await Meeting{Meeting::Of::Block, &stmt};
        thread.locals[let->local] = of_one_thread_;
      } else {
        throw std::logic_error("a statement that no lowered kernel has");
      }
    }
  }

  // Checks that the copying threads have loaded them, or that an earlier product has kept them.
  void check_windows(BlockThread &thread, const ir::Stmt &stmt, const Copies &copies) {
    const auto *loop = stmt.as<ir::MainLoop>();
    const auto *product = stmt.as<ir::WindowProduct>();
    if (product) {
      Copies &kept = kept_[{thread.number, product->second.ring.array}];
      if (product->has_window && kept != copies) throw std::runtime_error("products of another window than was kept");
      if (product->keeps_window) kept = copies;
    }
    const bool brought = loop ? loop->role == ir::ThreadRole::consumers
                              : product && product->role == ir::ThreadRole::consumers && !product->has_window;
    if (!brought) return;
    const std::size_t own = consumed_ + thread.loops++;
    if (own >= copies_.size() || copies_[own] != copies)
      throw std::runtime_error("products of other windows than are copied");
  }

  // Runs statements that wait for no other thread and contain no others.
  bool at_once(BlockThread &thread, const ir::Stmt &stmt) {
    if (const auto *let = stmt.as<ir::Let>()) {
      if (!thread.in_elements && is_of_one_thread(let->value.op)) return false;
      thread.locals[let->local] = compute(thread, let->value);
    } else if (const auto *store = stmt.as<ir::LocalStore>()) {
      local_store(thread, *store);
    } else if (const auto *store = stmt.as<ir::Store>()) {
      element(thread, store->array, store->indices) = value(thread, store->value);
    } else if (const auto *add = stmt.as<ir::Accumulate>()) {
      Element &sum = element(thread, add->array, add->indices);
      sum = combined(Op::Add, add->value.type(), sum, value(thread, add->value));
    } else if (const auto *allocate = stmt.as<ir::Allocate>()) {
      if (allocate->space == ir::MemorySpace::device) return false;
      if (allocate->of_block())
        take(thread, *allocate);
      else
        thread.own_arrays[allocate->array].assign(
            static_cast<std::size_t>(std::max<std::int64_t>(integer(thread, allocate->size), 0)), std::nullopt);
    } else if (const auto *own = stmt.as<ir::TileLoad>()) {
      load(thread, *own, own->stream ? next_window(thread, *own->stream) : places(thread, own->indices));
    } else if (const auto *bring = stmt.as<ir::BringWindows>()) {
      take_windows(thread, *bring);
    } else if (const auto *release = stmt.as<ir::ReleaseWindows>()) {
      release_windows(thread, release->barriers);
    } else if (stmt.as<ir::Prefetch>()) {
      // No statement depends on it.
    } else if (const auto *stream = stmt.as<ir::LoadStream>()) {
      open(thread, *stream);
    } else if (stmt.as<ir::CommitCopies>()) {
      end_group(thread);
    } else if (const auto *wait = stmt.as<ir::WaitForCopies>()) {
      wait_for_copies(thread, wait->groups);
    } else if (const auto *print = stmt.as<ir::Print>()) {
      said_.push_back(text(thread, print->message));
    } else if (const auto *check = stmt.as<ir::Check>()) {
      if (integer(thread, check->condition) == 0) said_.push_back(text(thread, check->message));
    } else {
      return false;
    }
    return true;
  }
  static bool is_of_one_thread(Op op) { return op == Op::Exchange || ir::info(op).typing == ir::Typing::Atomic; }

  // The same of all of a block, or of none of it.
  bool run_at_once(BlockThread &thread, const ir::Block &block) {
    for (const ir::Stmt &stmt : block)
      if (!stmt.as<ir::Let>() && !stmt.as<ir::LocalStore>() && !stmt.as<ir::Store>() && !stmt.as<ir::Accumulate>())
        return false;
    if (!thread.in_elements) return block.empty();
    for (const ir::Stmt &stmt : block) {
      begin(thread, stmt);
      at_once(thread, stmt);
    }
    return true;
  }

  Steps elements(BlockThread &thread, const ir::For &loop) {
    thread.in_elements = true;
    const std::int64_t count = integer(thread, loop.end);
    const std::vector<std::int64_t> *const own = elements_in_registers(loop, thread.number);
    const bool everywhere = holds_at_corners(thread, loop);
    const std::int64_t turns = own                      ? static_cast<std::int64_t>(own->size())
                               : thread.number >= count ? 0
                                                        : (count - 1 - thread.number) / threads_ + 1;
    for (std::int64_t turn = 0; turn < turns; ++turn) {
      thread.locals[loop.index].integer =
          own ? (*own)[static_cast<std::size_t>(turn)] : thread.number + turn * threads_;
      if (!run_at_once(thread, loop.body)) co_await run(thread, loop.body);
      if (everywhere && !bounds_hold(thread, loop))
        throw std::runtime_error("an element outside of its bounds, which hold at the corners of the tile");
    }
    thread.in_elements = false;
  }

  // Whether the version of a planned loop runs that checks no bounds (ir::ElementPlan::corners).
  bool holds_at_corners(BlockThread &thread, const ir::For &loop) {
    if (loop.elements.corners == 0) return false;
    const ir::FragmentLayout &layout = *tiles_.place(registers_of_.at(&loop).value()).layout;
    const auto [places, added] = places_.try_emplace(&loop);
    if (added) places->second = passes::planned_groups(loop).places;
    for (int corner = 0; corner < 4; ++corner) {
      const bool is_asked = loop.elements.corners == 4 || corner == 0 || corner == 3;
      if (!is_asked) continue;
      thread.locals[loop.index].integer =
          corner / 2 * (layout.rows - 1) * layout.columns + corner % 2 * (layout.columns - 1);
      for (const ir::Stmt *stmt : places->second) {
        const ir::Let &let = *stmt->as<ir::Let>();
        thread.locals[let.local] = compute(thread, let.value);
      }
      if (!bounds_hold(thread, loop)) return false;
    }
    return true;
  }
  static bool bounds_hold(const BlockThread &thread, const ir::For &loop) {
    return std::ranges::all_of(loop.elements.bounds,
                               [&](ir::LocalId bound) { return thread.locals[bound].integer != 0; });
  }

  // A thread's elements of the tiles in registers that the loop goes over; null if there are none.
  const std::vector<std::int64_t> *elements_in_registers(const ir::For &loop, int thread) {
    const auto [known, added] = registers_of_.try_emplace(&loop);
    if (added)
      ir::for_each_statement(loop.body, [&](const ir::Stmt &stmt) {
        const auto *store = stmt.as<ir::LocalStore>();
        const auto *let = stmt.as<ir::Let>();
        if (!store && !(let && let->value.op == Op::LocalLoad)) return;
        const ir::LocalArrayId array = store ? store->array : let->value.array;
        if (!tiles_.in_registers(array)) return;
        if (tiles_.is_in_every_thread(array)) {
          if (store) known->second = array;
          return;
        }
        if (!known->second || !tiles_.place(array).layout->repeats()) known->second = array;
      });
    if (!known->second) return nullptr;
    return &tiles_.elements_of_threads_of(*known->second)[static_cast<std::size_t>(thread)];
  }

  Steps serial(BlockThread &thread, const ir::For &loop) {
    const std::int64_t end = integer(thread, loop.end), step = integer(thread, loop.step);
    begin_carried(thread, loop.carried);
    for (std::int64_t i = integer(thread, loop.begin); step > 0 ? i < end : i > end; i += step) {
      thread.locals[loop.index].integer = i;
      co_await run(thread, loop.body);
      advance_carried(thread, loop.carried);
    }
    end_carried(thread, loop.carried);
  }
  Steps serial(BlockThread &thread, const ir::While &loop) {
    begin_carried(thread, loop.carried);
    for (;;) {
      co_await run(thread, loop.condition_block);
      if (integer(thread, loop.condition) == 0) break;
      co_await run(thread, loop.body);
      advance_carried(thread, loop.carried);
    }
    end_carried(thread, loop.carried);
  }

  void begin_carried(BlockThread &thread, const std::vector<ir::Carried> &carried) {
    std::vector<Element> initial;
    for (const ir::Carried &each : carried) initial.push_back(value(thread, each.initial));
    for (std::size_t i = 0; i < carried.size(); ++i) thread.locals[carried[i].inner] = initial[i];
  }
  void advance_carried(BlockThread &thread, const std::vector<ir::Carried> &carried) {
    // All are read before any is written: one may be another's next.
    std::vector<Element> next;
    for (const ir::Carried &each : carried) next.push_back(value(thread, each.next));
    for (std::size_t i = 0; i < carried.size(); ++i) thread.locals[carried[i].inner] = next[i];
  }
  void end_carried(BlockThread &thread, const std::vector<ir::Carried> &carried) {
    for (const ir::Carried &each : carried) thread.locals[each.result] = thread.locals[each.inner];
  }

  void take(BlockThread &thread, const ir::Allocate &allocate) {
    TileView &view = thread.tiles[allocate.array];
    if (allocate.buffer) {
      view = tiles_.buffer_of(thread.tiles[allocate.buffer->of], integer(thread, allocate.buffer->number));
      return;
    }
    const std::int64_t elements = std::max<std::int64_t>(integer(thread, allocate.size), 0);
    view = tiles_.view(allocate.array, elements, ++thread.allocations, thread.number);
  }

  // By ring.
  using Windows = std::map<ir::LocalArrayId, Window>;
  Windows windows_of(const BlockThread &thread, const ir::BringWindows &bring) const {
    Windows windows;
    for (const auto &each : bring.windows) windows[each.ring.array] = {each.array, places(thread, each.indices)};
    return windows;
  }
  // A thread owns the windows that it takes until it releases them, as the ring's barriers guarantee.
  void take_windows(BlockThread &thread, const ir::BringWindows &bring) {
    const ir::LocalArrayId barriers = bring.barriers.array;
    Windows windows = windows_of(thread, bring);
    if (bring.role == ir::ThreadRole::consumers) {
      const std::vector<Windows> &brought = brought_[barriers];
      const std::size_t own = taken_[barriers] + thread.taken[barriers]++;
      if (own >= brought.size() || brought[own] != windows) throw std::runtime_error("other windows than are copied");
    }
    for (const auto &each : bring.windows) {
      if (!each.values) continue;
      const Window &window = windows.at(each.ring.array);
      const TileValue taken = loaded(window.array, each.ring.type, window.origin);
      thread.own_arrays[each.ring.array].assign(taken.elements.begin(), taken.elements.end());
    }
    present_[{thread.number, barriers}] = std::move(windows);
  }
  void release_windows(BlockThread &thread, ir::LocalArrayId barriers) {
    const auto present = present_.find({thread.number, barriers});
    if (present == present_.end()) throw std::runtime_error("a release of windows that nothing has brought");
    for (const auto &[ring, window] : present->second)
      for (auto &element : thread.own_arrays[ring]) element.reset();
    present_.erase(present);
  }
  void open(BlockThread &thread, const ir::LoadStream &stream) {
    BlockThread::Stream &own = thread.streams[stream.stream];
    own = {places(thread, stream.indices), stream.rows, stream.columns};
    std::vector<std::int64_t> window = own.next;
    std::int64_t inside = 0;
    while (inside < most_windows && is_inside(window, stream)) {
      ++inside;
      advance(window, own);
    }
    thread.locals[stream.inside].integer = inside;
  }
  bool is_inside(const std::vector<std::int64_t> &window, const ir::LoadStream &stream) const {
    const Shape extents = shape_of(stream.to.type);
    const std::vector<std::int64_t> &of_array = arguments_.at(stream.array).extents;
    for (std::size_t d = 0; d < window.size(); ++d) {
      const std::size_t before = window.size() - extents.size();
      const std::int64_t size = d < before ? 1 : extents[d - before];
      if (window[d] < 0 || window[d] + size > of_array[d]) return false;
    }
    return true;
  }
  static void advance(std::vector<std::int64_t> &window, const BlockThread::Stream &stream) {
    window.back() += stream.columns;
    if (window.size() > 1) window[window.size() - 2] += stream.rows;
  }
  static std::vector<std::int64_t> next_window(BlockThread &thread, ir::LocalArrayId stream) {
    BlockThread::Stream &own = thread.streams[stream];
    std::vector<std::int64_t> window = own.next;
    advance(own.next, own);
    return window;
  }

  Element value(const BlockThread &thread, const ir::Value &operand) const {
    if (operand.is_local()) return thread.locals[operand.id()];
    if (!operand.is_constant()) return arguments_.at(operand.parameter_index()).elements[0];
    Element element = constant(operand);
    // For types of 32 bits and less, the sign must be extended.
    if (class_of(operand.type().element()) == ScalarClass::Signed) element.integer = operand.as_int();
    return element;
  }
  std::int64_t integer(const BlockThread &thread, const ir::Value &operand) const {
    return value(thread, operand).integer;
  }
  std::vector<std::int64_t> places(const BlockThread &thread, std::span<const ir::Value> indices) const {
    std::vector<std::int64_t> places;
    for (const ir::Value &index : indices) places.push_back(integer(thread, index));
    return places;
  }

  Element &element(const BlockThread &thread, std::uint32_t parameter, std::span<const ir::Value> indices) {
    TileArray &array = arguments_.at(parameter);
    const auto at = place(array.extents, places(thread, indices));
    if (!at) throw std::runtime_error("an element outside of an array");
    return array.elements[*at];
  }

  const Element &local_element(const BlockThread &thread, ir::LocalArrayId array, std::int64_t index) const {
    if (tiles_.place(array).space == ir::MemorySpace::instance || !thread.own_arrays[array].empty()) {
      const auto &own = thread.own_arrays[array];
      if (index < 0 || index >= static_cast<std::int64_t>(own.size()) || !own[static_cast<std::size_t>(index)])
        throw std::runtime_error("nothing is at element " + std::to_string(index));
      return *own[static_cast<std::size_t>(index)];
    }
    tiles_.check_owner(array, index, thread.number);
    return tiles_.read(array, thread.tiles[array], index);
  }
  void local_store(BlockThread &thread, const ir::LocalStore &store) {
    const std::int64_t index = integer(thread, store.index);
    if (tiles_.place(store.array).space == ir::MemorySpace::instance) {
      thread.own_arrays[store.array].at(static_cast<std::size_t>(index)) = value(thread, store.value);
      return;
    }
    tiles_.check_owner(store.array, index, thread.number);
    tiles_.write(store.array, thread.tiles[store.array], index, value(thread, store.value));
  }

  Element compute(const BlockThread &thread, const ir::Operation &operation) {
    const ScalarType type = operation.type;
    const auto attribute = static_cast<std::size_t>(operation.attribute);
    switch (operation.op) {
      case Op::LaunchBegin: return {};
      case Op::LaunchEnd: return {0, 0, blocks_.at(attribute)};
      case Op::Extent: return {0, 0, arguments_.at(operation.array).extents.at(attribute)};
      case Op::Load: return element(thread, operation.array, operation.operands);
      case Op::Exchange: return std::exchange(element(thread, operation.array, operation.operands), {});
      case Op::LocalLoad: return local_element(thread, operation.array, integer(thread, operation.operands[0]));
      default: break;
    }
    const ir::Typing typing = ir::info(operation.op).typing;
    if (typing == ir::Typing::Atomic) return atomic(thread, operation);
    if (!by_elements(typing)) throw std::logic_error("an operation that no lowered kernel has");
    std::array<Element, 3> operands;
    std::array<const Element *, 3> of{};
    for (std::size_t i = 0; i < of.size(); ++i) {
      const std::size_t known = std::min(i, operation.operands.size() - 1);
      if (known == i) operands[i] = value(thread, operation.operands[i]);
      of[i] = &operands[known];
    }
    return of_elements(operation.op, typing, type, operation.operands[0].type(), of.data());
  }

  Element atomic(const BlockThread &thread, const ir::Operation &operation) {
    Element &place = element(thread, operation.array, ir::element_indices(operation));
    const Element before = place;
    const auto values = ir::element_values(operation);
    const Op op = ir::combination(operation.op);
    const Element first = value(thread, values[0]);
    if (operation.op == Op::AtomicCompareExchange) {
      if (compare(Op::Equal, operation.type, before, first)) place = value(thread, values[1]);
    } else {
      place = op == Op::Copy ? first : combined(op, operation.type, before, first);
    }
    return before;
  }

  std::string text(const BlockThread &thread, const ir::Message &message) const {
    std::string text = message.texts[0];
    for (std::size_t i = 0; i < message.values.size(); ++i) {
      const Element own = value(thread, message.values[i]);
      text += is_floating(message.values[i].type()) ? std::to_string(own.value) : std::to_string(own.integer);
      text += message.texts[i + 1];
    }
    return text;
  }

  static constexpr std::int64_t most_statements = 200'000'000, most_windows = 1 << 20;

  const ir::Kernel &kernel_;
  // For producer threads: their copies for each main loop, and how many of these are done.
  bool producing_ = false;
  std::vector<Copies> copies_;
  std::size_t consumed_ = 0;
  std::map<std::pair<int, ir::LocalArrayId>, Copies> kept_;  // by each thread, of a ring
  // By their barriers: the copied windows, the number that the blocks so far have taken, and each thread's windows.
  std::map<ir::LocalArrayId, std::vector<Windows>> brought_;
  std::map<ir::LocalArrayId, std::size_t> taken_;
  std::map<std::pair<int, ir::LocalArrayId>, Windows> present_;
  std::vector<std::int64_t> blocks_;
  ThreadOrder order_;
  BlockThread launch_;
  std::vector<BlockThread> block_;
  Element of_one_thread_;
  std::unordered_map<const ir::For *, std::optional<ir::LocalArrayId>> registers_of_;
  std::unordered_map<const ir::For *, std::vector<const ir::Stmt *>> places_;  // of planned loops
  std::vector<std::string> said_;
  std::int64_t statements_ = 0;
};

}  // namespace

LoweredRun run_lowered(const ir::Kernel &planned, std::vector<std::int64_t> blocks,
                       std::vector<tiles::TileArray> arguments, ThreadOrder order) {
  return LoweredInterpreter(planned, std::move(blocks), std::move(arguments), order).run();
}

}  // namespace samite::test
