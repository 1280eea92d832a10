#include "samite/codegen/tile_calls.h"

#include "samite/base/error.h"
#include "samite/ir/tile_rules.h"
#include "samite/passes/tiles/spread_tiles.h"

#include <algorithm>

namespace samite::codegen {

using namespace ir;

namespace {

std::string_view step_name(Op op) {
  switch (op) {
    case Op::ReduceAdd: return "StepAdd";
    case Op::ReduceMul: return "StepMul";
    case Op::ReduceMin:
    case Op::ReduceArgMin: return "StepMin";
    case Op::ReduceMax:
    case Op::ReduceArgMax: return "StepMax";
    default: throw InternalError("an operation that is no reduction");
  }
}

// The four extents, and a bit mask of the reduced ones.
std::string reduction(const Type &from, const Type &to) {
  const TileShape shape = from.shape(), reduced = to.shape();
  std::string extents;
  int along = 0;
  for (int d = 0; d < maximum_tile_rank; ++d) {
    const int own = d - (maximum_tile_rank - shape.rank());
    extents += fmt::format("{}, ", own < 0 ? 1 : shape[own]);
    if (own >= 0 && (!to.is_tile() || reduced[own] != shape[own])) along |= 1 << d;
  }
  return fmt::format("{}{}", extents, along);
}

std::string_view scan_step_name(Op op) {
  switch (op) {
    case Op::ScanAdd: return "ScanAdd";
    case Op::ScanMul: return "ScanMul";
    case Op::ScanMin: return "ScanMin";
    case Op::ScanMax: return "ScanMax";
    case Op::ScanLinear: return "ScanLinear";
    default: throw InternalError("an operation that is no scan");
  }
}

// The step, the numbers of elements before, along and after the dimension, and the direction.
std::string scan(const TileCall &call) {
  const ScanExtents e = scan_extents(call.result.type, call.attribute & scan_dimension);
  return fmt::format("{}, {}, {}, {}, {}, {}", scan_step_name(call.op), e.outer, e.extent, e.inner,
                     (call.attribute & scan_backwards) != 0, (call.attribute & scan_exclusive) != 0);
}

// The rows and columns of a matrix, and the batch.
std::string matrices(const Type &type) {
  const TileShape shape = type.shape();
  const int rank = shape.rank();
  return fmt::format("{}, {}, {}", shape[rank - 2], shape[rank - 1], rank == 3 ? shape[0] : 1);
}

// The number of rows and their length.
std::string rows(const Type &type) {
  const std::int64_t length = type.shape()[type.shape().rank() - 1];
  return fmt::format("{}, {}", type.count() / length, length);
}

// Without the number of threads, which may follow.
std::string order_function(const TileCall &call) {
  const std::string of = rows(call.operands[0].type);
  if (sorts_by_counting({call.op, call.result.type, {}, 0, call.attribute}))
    return fmt::format("tile_counted_order<{}, {}", of, sort_bits(call.attribute));
  return fmt::format("tile_sort_order<{}, {}", of, (call.attribute & sort_descending) != 0);
}

}  // namespace

std::string barrier_text(const Kernel &kernel, int threads) {
  if (threads == 0) return "__syncthreads();";
  return kernel.roles.teams != 0 ? fmt::format("sync_team<{}>(team);", threads)
                                 : fmt::format("sync_threads_at<1, {}>();", threads);
}

void TileCalls::call(const TileCall &call) {
  std::string arguments = array_name(call.result.array);
  for (const TileMemory &operand : call.operands) arguments += ", " + array_name(operand.array);
  const Type from = call.operands[0].type;
  const auto write = [&](const std::string &function) { emission_.out.line("{}({});", function, arguments); };
  const auto write_heavy = [&](const std::string &function) { write(heavy(call, function)); };
  switch (info(call.op).typing) {
    case Typing::Cast:
      write(fmt::format("tile_cast<{}, {}, {}>", places_.rows_type(call.result), rows(call.result.type),
                        emission_.kernel.block_threads));
      break;
    case Typing::Reduce:
      if (const FragmentLayout *layout = places_.fragments_of(call.operands[0].array);
          layout && passes::reduces_all(call) && places_.fragments_of(call.result.array)) {
        write(fmt::format("tile_reduce_everywhere<{}, Sums{}>", step_name(call.op), call.operands[0].array));
        break;
      } else if (layout && places_.fragments_of(call.result.array)) {
        write(fmt::format("tile_reduce_rows<{}, Sums{}>", step_name(call.op), call.operands[0].array));
        break;
      } else if (layout && passes::reduces_columns(call)) {
        const Kernel &kernel = emission_.kernel;
        arguments +=
            fmt::format(", [] {{ {} }}", barrier_text(kernel, kernel.roles.producers == 0 ? 0 : kernel.block_threads));
        write(fmt::format("tile_reduce_columns<{}, Sums{}>", step_name(call.op), call.operands[0].array));
        break;
      } else if (layout && layout->unit != FragmentLayout::Unit::rows) {
        write(fmt::format("tile_reduce_sums<{}, Sums{}>", step_name(call.op), call.operands[0].array));
        break;
      } else if (layout) {
        write(fmt::format("tile_reduce_spread<{}, Sums{}, {}>", step_name(call.op), call.operands[0].array,
                          passes::reduces_all(call)));
        break;
      }
      write(fmt::format("tile_reduce<{}, {}{}>", step_name(call.op), reduction(from, call.result.type), threads_));
      break;
    case Typing::Position:
      write(fmt::format("tile_position<{}, {}{}>", step_name(call.op), reduction(from, call.result.type), threads_));
      break;
    case Typing::Scan: write(fmt::format("tile_scan<{}{}>", scan(call), threads_)); break;
    case Typing::MatMul: {
      const MatMulExtents e = matmul_extents(from, call.result.type, call.attribute);
      const bool a_transposed = (call.attribute & transposed_a) != 0,
                 b_transposed = (call.attribute & transposed_b) != 0;
      if (call.sums) {
        const bool in_registers = places_.fragments_of(call.result.array) != nullptr;
        write_heavy(fmt::format("{}<{}, {}, {}, {}, {}, {}>",
                                in_registers ? "tile_multiply_add" : "tile_multiply_add_in_memory",
                                fragments_type(*call.sums), e.inner, a_transposed, b_transposed,
                                places_.rows_type(call.operands[0]), places_.rows_type(call.operands[1])));
        break;
      }
      write_heavy(fmt::format("tile_matmul<{}, {}, {}, {}, {}, {}{}>", e.rows, e.columns, e.inner, e.batch,
                              a_transposed, b_transposed, threads_));
      break;
    }
    case Typing::Cholesky: write_heavy(fmt::format("tile_cholesky<{}{}>", matrices(call.result.type), threads_)); break;
    case Typing::Solve:
      write_heavy(fmt::format("tile_triangular_solve<{}, {}, {}{}>", matrices(call.result.type),
                              (call.attribute & solve_upper) != 0, (call.attribute & solve_transposed) != 0, threads_));
      break;
    case Typing::Order: write_heavy(order_function(call) + threads_ + ">"); break;
    case Typing::Put:
      write_heavy(fmt::format("{}<{}, {}{}>", call.attribute & put_in_order ? "tile_put_add_in_order" : "tile_put_add",
                              rows(call.result.type), from.shape()[from.shape().rank() - 1], threads_));
      break;
    case Typing::Fourier: {
      const std::int64_t length = from.shape()[from.shape().rank() - 2];
      write_heavy(fmt::format("tile_fourier<{}, {}, {}, {}{}>", length, from.count() / (2 * length),
                              (call.attribute & fourier_conjugate) != 0, (call.attribute & fourier_scaled) != 0,
                              threads_));
      break;
    }
    default: throw InternalError("a call of an operation that is done element by element");
  }
}

}  // namespace samite::codegen
