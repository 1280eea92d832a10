// Operations on whole tiles, as calls of the functions in samite/device/tile/.
#include "samite/base/error.h"
#include "samite/codegen/kernel_emitter.h"
#include "samite/codegen/spelling.h"
#include "samite/ir/tile_rules.h"
#include "samite/passes/spread_tiles.h"

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

// The extents, as four, and which of them are reduced, as bits.
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

// The step, what lies before, along and after the dimension, and how it is gone along.
std::string scan(const TileCall &call) {
  const ScanExtents e = scan_extents(call.result.type, call.attribute & scan_dimension);
  return fmt::format("{}, {}, {}, {}, {}, {}", scan_step_name(call.op), e.outer, e.extent, e.inner,
                     (call.attribute & scan_backwards) != 0, (call.attribute & scan_exclusive) != 0);
}

// The rows and columns of a matrix, and how many there are.
std::string matrices(const Type &type) {
  const TileShape shape = type.shape();
  const int rank = shape.rank();
  return fmt::format("{}, {}, {}", shape[rank - 2], shape[rank - 1], rank == 3 ? shape[0] : 1);
}

// How many rows there are, and how long they are.
std::string rows(const Type &type) {
  const std::int64_t length = type.shape()[type.shape().rank() - 1];
  return fmt::format("{}, {}", type.count() / length, length);
}

}  // namespace

void KernelEmitter::tile_call(const TileCall &call, SourceLocation where) {
  internal_check(!in_lanes(), "a call on tiles inside of a thread loop");
  if (call.op == Op::Load) return tile_load(call, where);
  std::string arguments = array_name(call.result.array);
  for (const TileMemory &operand : call.operands) arguments += ", " + array_name(operand.array);
  const Type from = call.operands[0].type;
  switch (info(call.op).typing) {
    case Typing::Reduce:
      if (placement_.registers.contains(call.operands[0].array)) {
        out_.line("tile_reduce_spread<{}, Sums{}, {}>({});", step_name(call.op), call.operands[0].array,
                  passes::reduces_all(call), arguments);
        break;
      }
      out_.line("tile_reduce<{}, {}>({});", step_name(call.op), reduction(from, call.result.type), arguments);
      break;
    case Typing::Position:
      out_.line("tile_position<{}, {}>({});", step_name(call.op), reduction(from, call.result.type), arguments);
      break;
    case Typing::MatMul: {
      const MatMulExtents e = matmul_extents(from, call.result.type, call.attribute);
      const auto fragments = target_.explicit_lanes() ? std::nullopt : passes::fragments(call, kernel_.block_threads);
      if (fragments) {
        out_.line(
            "{}<{}, {}, {}, {}, {}, {}>({});",
            placement_.registers.contains(call.result.array) ? "tile_multiply_add" : "tile_multiply_add_in_memory",
            fragments_type(*fragments), e.inner, (call.attribute & transposed_a) != 0,
            (call.attribute & transposed_b) != 0, rows_type(call.operands[0]), rows_type(call.operands[1]), arguments);
        break;
      }
      out_.line("tile_matmul<{}, {}, {}, {}, {}, {}>({});", e.rows, e.columns, e.inner, e.batch,
                (call.attribute & transposed_a) != 0, (call.attribute & transposed_b) != 0, arguments);
      break;
    }
    case Typing::Scan: out_.line("tile_scan<{}>({});", scan(call), arguments); break;
    case Typing::Cholesky: out_.line("tile_cholesky<{}>({});", matrices(call.result.type), arguments); break;
    case Typing::Solve:
      out_.line("tile_triangular_solve<{}, {}, {}>({});", matrices(call.result.type),
                (call.attribute & solve_upper) != 0, (call.attribute & solve_transposed) != 0, arguments);
      break;
    case Typing::Order:
      out_.line("tile_sort_order<{}, {}>({});", rows(from), (call.attribute & sort_descending) != 0, arguments);
      break;
    case Typing::Put:
      out_.line("tile_put_add<{}, {}>({});", rows(call.result.type), from.shape()[from.shape().rank() - 1], arguments);
      break;
    case Typing::Fourier: {
      const std::int64_t length = from.shape()[from.shape().rank() - 2];
      out_.line("tile_fourier<{}, {}, {}, {}>({});", length, from.count() / (2 * length),
                (call.attribute & fourier_conjugate) != 0, (call.attribute & fourier_scaled) != 0, arguments);
      break;
    }
    default: throw InternalError("a call of an operation that is done element by element");
  }
  if (!target_.explicit_lanes() && waited_for_ != &call) out_.line("__syncthreads();");
}

}  // namespace samite::codegen
