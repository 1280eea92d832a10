// Copies of tiles from device memory to a block's shared memory, and loops that prefetch them.
#include "samite/base/error.h"
#include "samite/codegen/kernel_emitter.h"
#include "samite/codegen/spelling.h"
#include "samite/ir/visit.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace samite::codegen {

using namespace ir;

namespace {

// By how much `value` grows where the loop's index grows by 1, if that is the same everywhere. Sums and products that
// wrap around count as those that don't: an array's elements lie below.
std::optional<std::int64_t> growth(const Value &value, const For &loop, std::size_t statements) {
  if (!value.is_local()) return 0;
  if (value.id() == loop.index) return 1;
  const auto let_of_value = [&]() -> const Let * {
    for (std::size_t i = 0; i < statements; ++i)
      if (auto *let = loop.body[i].as<Let>(); let && let->local == value.id()) return let;
    return nullptr;
  };
  const Let *let = let_of_value();
  if (!let) return 0;
  std::vector<std::int64_t> of_operands;
  for (const Value &operand : let->value.operands) {
    const auto own = growth(operand, loop, statements);
    if (!own) return std::nullopt;
    of_operands.push_back(*own);
  }
  if (std::ranges::all_of(of_operands, [](std::int64_t own) { return own == 0; })) return 0;
  if (class_of(let->value.type.element()) != ScalarClass::Signed) return std::nullopt;
  const auto constant_factor = [&](std::size_t i) { return let->value.operands[i].is_constant(); };
  switch (let->value.op) {
    case Op::Copy:
    case Op::Cast: return of_operands[0];
    case Op::Neg: return -of_operands[0];
    case Op::Add: return of_operands[0] + of_operands[1];
    case Op::Sub: return of_operands[0] - of_operands[1];
    case Op::Mul:
      if (constant_factor(0)) return let->value.operands[0].as_int() * of_operands[1];
      if (constant_factor(1)) return let->value.operands[1].as_int() * of_operands[0];
      return std::nullopt;
    default: return std::nullopt;
  }
}

// A power of two, at most 16, that an integer is always a multiple of, also where it has wrapped around: as far as the
// last few operations that make it tell.
std::int64_t divisor(const Value &value, const Kernel &kernel, int operations = 6) {
  constexpr std::int64_t most = 16;
  if (value.is_constant()) return std::gcd(value.as_int(), most);
  const Operation *made = nullptr;
  for_each_statement(kernel.body, [&](const Stmt &stmt) {
    if (auto *let = stmt.as<Let>(); let && let->local == value.id()) made = &let->value;
  });
  if (!made || operations == 0) return 1;
  const auto of = [&](std::size_t i) { return divisor(made->operands[i], kernel, operations - 1); };
  switch (made->op) {
    case Op::Copy:
    case Op::Neg: return of(0);
    case Op::Cast: return class_of(made->operands[0].type().element()) == ScalarClass::Signed ? of(0) : 1;
    case Op::Add:
    case Op::Sub: return std::gcd(of(0), of(1));
    case Op::Mul: return std::min(of(0) * of(1), most);
    default: return 1;
  }
}

}  // namespace

// The last two dimensions of the array are the window's, or the last one; of the others it has one element.
std::string KernelEmitter::tile_window(const TileCall &call) {
  const TileShape shape = call.result.type.shape();
  const std::size_t rank = call.indices.size(), last = rank - 1;
  const bool rows = shape.rank() == 2;
  const std::string array = fmt::format("p{}", call.array);
  std::string data = array + ".data", inside;
  for (std::size_t d = 0; d < rank - static_cast<std::size_t>(shape.rank()); ++d) {
    const std::string index = scalar(call.indices[d]);
    data += fmt::format(" + i64({}) * {}.stride[{}]", index, array, d);
    inside +=
        fmt::format("{0}i64({1}) >= 0 && i64({1}) < {2}.extent[{3}]", inside.empty() ? "" : " && ", index, array, d);
  }
  const std::string extent = rows ? fmt::format("{}.extent[{}]", array, last - 1) : "1";
  return fmt::format("tile_window({}, {}, {}, {}, {}.extent[{}], {}, {})", data,
                     rows ? scalar(call.indices[last - 1]) : "0", scalar(call.indices[last]),
                     inside.empty() ? extent : fmt::format("{} ? {} : 0", inside, extent), array, last,
                     rows ? fmt::format("{}.stride[{}]", array, last - 1) : "0",
                     facts(call.array).unit_stride ? "1" : fmt::format("{}.stride[{}]", array, last));
}

// Whether every window of this load that a launch may have, and each of its rows, begins at a multiple of 16 bytes.
bool KernelEmitter::loads_in_units(const TileCall &call) const {
  const auto bytes = static_cast<std::int64_t>(size_of(call.result.type));
  return facts(call.array).rows_in_units() && divisor(call.indices.back(), kernel_) * bytes % 16 == 0;
}

// The template arguments of `tile_load` and of `TileLoads`.
std::string KernelEmitter::load_arguments(const TileCall &call) const {
  const TileShape shape = call.result.type.shape();
  return fmt::format("{}, {}, {}, {}, {}", rows_type(call.result), shape.rank() == 2 ? shape[0] : 1,
                     shape[shape.rank() - 1], kernel_.block_threads, loads_in_units(call));
}

void KernelEmitter::tile_load(const TileCall &call, SourceLocation where) {
  const bool spread = fragments_of(call.result.array) != nullptr;
  const std::string how = spread ? fmt::format("tile_load_spread<Sums{}, {}>", call.result.array, constant(call.array))
                                 : fmt::format("tile_load<{}>", load_arguments(call));
  out_.line("{}({}, {});", how, array_name(call.result.array), tile_window(call));
  note_load(call, where);
}

void KernelEmitter::note_load(const TileCall &call, SourceLocation where) {
  const TileShape shape = call.result.type.shape();
  const auto row_bytes = shape[shape.rank() - 1] * static_cast<std::int64_t>(size_of(call.result.type));
  tile_loads_.push_back({call.array, facts(call.array).rows_in_units() && row_bytes % 16 == 0, where});
}

// Declares the index that the loop has in one of its turns, the first of which is 0.
void KernelEmitter::index_of_turn(const For &loop, const std::string &turn) {
  out_.line("[[maybe_unused]] const {0} {1} = {0}(i64({2}) + i64({3}) * {4});", scalar_name(loop.type),
            name(loop.index), scalar(loop.begin), turn, scalar(loop.step));
}

// Before the loop: an object for each of its loads, where the windows of each lie at one distance from each other.
// None if one's don't.
std::map<const TileCall *, std::string> KernelEmitter::begin_loads(const For &loop, std::size_t statements) {
  std::map<const TileCall *, std::array<std::int64_t, 2>> steps;  // by so many rows and columns
  for (std::size_t i = 0; i < statements; ++i) {
    auto *call = loop.body[i].as<TileCall>();
    if (!call) continue;
    const std::size_t rank = call->indices.size(), of_window = call->result.type.shape().rank() == 2 ? 2 : 1;
    std::array<std::int64_t, 2> &own = steps[call];
    for (std::size_t d = 0; d < rank; ++d) {
      const auto step = growth(call->indices[d], loop, statements);
      if (!step || (*step != 0 && d < rank - of_window)) return {};
      if (d >= rank - of_window) own[d + 2 - rank] = *step * loop.step.as_int();
    }
  }
  std::map<const TileCall *, std::string> names;
  for (std::size_t i = 0; i < statements; ++i) {
    auto *call = loop.body[i].as<TileCall>();
    if (!call) continue;
    const std::string own = names.emplace(call, fresh("loads")).first->second;
    out_.open("auto {} = [&] {{", own);
    out_.line("[[maybe_unused]] const {0} {1} = {0}({2});", scalar_name(loop.type), name(loop.index),
              scalar(loop.begin));
    for (std::size_t k = 0; k < i; ++k)
      if (loop.body[k].as<Let>()) statement(loop.body[k]);
    out_.line("return tile_loads<{}>({}, {}, {});", load_arguments(*call), tile_window(*call), steps[call][0],
              steps[call][1]);
    out_.close("}();");
  }
  return names;
}

// Each iteration waits for its buffer, starts the copies for iteration i + stages - 1, then computes. The wait ends in
// a barrier: behind it no thread reads what the iteration before it has read. The first stages - 1 turns start copies
// and do nothing else, so that the code that starts them is there once.
void KernelEmitter::staged_loop(const For &loop) {
  const int stages = loop.stages, lead = stages - 1;
  const std::string buffer = fresh("stage"), turn = fresh("turn"), turns = fresh("turns"), inside = fresh("inside");
  for (std::size_t i = 0; i < loop.ahead; ++i)
    if (auto *call = loop.body[i].as<TileCall>()) note_load(*call, loop.body[i].where());
  declare_carried(loop.carried, false);
  out_.line("const i32 {} = turns_of_loop<{}>({}, {});", turns, scalar(loop.step), scalar(loop.begin),
            scalar(loop.end));
  const std::map<const TileCall *, std::string> loads = begin_loads(loop, loop.ahead);
  out_.line("i32 {} = {};", inside, loads.empty() ? "0" : turns);
  if (!loads.empty())
    for (std::size_t i = 0; i < loop.ahead; ++i)
      if (auto *call = loop.body[i].as<TileCall>())
        out_.line("{0} = least({0}, {1}.inside());", inside, loads.at(call));
  out_.line("i32 {} = 0;", buffer);
  out_.line("#pragma unroll 1");
  out_.open("for (i32 {0} = 0; {0} < {1} + {2}; ++{0}) {{", turn, turns, lead);
  out_.open("if ({} >= {}) {{", turn, lead);
  out_.line("wait_for_copies<{}>();", stages - 2);
  out_.line("__syncthreads();");
  out_.close();
  stage_ = buffer;
  if (!loads.empty()) {
    out_.open("if ({} < {}) {{", turn, inside);
    for (std::size_t i = 0; i < loop.ahead; ++i) {
      if (loop.body[i].as<Allocate>()) statement(loop.body[i]);
      if (auto *call = loop.body[i].as<TileCall>())
        out_.line("{}.next({});", loads.at(call), array_name(call->result.array));
    }
    out_.close();
  }
  out_.open("if ({0} >= {1} && {0} < {2}) {{", turn, inside, turns);
  index_of_turn(loop, turn);
  for (std::size_t i = 0; i < loop.ahead; ++i) {
    if (auto *call = loop.body[i].as<TileCall>())
      out_.line("tile_load<{}>({}, {});", load_arguments(*call), array_name(call->result.array), tile_window(*call));
    else
      statement(loop.body[i]);
  }
  out_.close();
  out_.line("end_group_of_copies();");
  out_.line("{0} = {0} + 1 == {1} ? 0 : {0} + 1;", buffer, stages);
  out_.open("if ({} >= {}) {{", turn, lead);
  index_of_turn(loop, fmt::format("({} - {})", turn, lead));
  Block rest;
  for (std::size_t i = 0; i < loop.body.size(); ++i)
    if (i >= loop.ahead || !loop.body[i].as<TileCall>()) rest.push_back(loop.body[i]);
  block(rest);
  advance_carried(loop.carried, false);
  out_.close();
  out_.close();
  stage_.clear();
  out_.line("wait_for_copies<0>();");
  out_.line("__syncthreads();");
  name_results(loop.carried, false);
}

}  // namespace samite::codegen
