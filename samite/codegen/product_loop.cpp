// Loops of products whose factors come by bulk copies, as one call each.
#include "samite/base/error.h"
#include "samite/codegen/tile_calls.h"
#include "samite/ir/tile_rules.h"
#include "samite/ir/visit.h"

#include <algorithm>
#include <map>

namespace samite::codegen {

using namespace ir;

namespace {

// How groups of warps take factors, as samite/device/cuda/sm90_wgmma.h calls it.
std::string_view kind_of(ScalarType a, ScalarType b) {
  if (a == ScalarType::Float8E4M3 && b == ScalarType::Float8E5M2) return "WgmmaE4M3E5M2";
  if (a == ScalarType::Float8E5M2 && b == ScalarType::Float8E4M3) return "WgmmaE5M2E4M3";
  switch (a) {
    case ScalarType::Float16: return "WgmmaF16";
    case ScalarType::BFloat16: return "WgmmaBF16";
    case ScalarType::Float32: return "WgmmaTF32";
    case ScalarType::Float8E4M3: return "WgmmaE4M3";
    case ScalarType::Float8E5M2: return "WgmmaE5M2";
    case ScalarType::Int8: return "WgmmaI8";
    case ScalarType::UInt8: return "WgmmaU8";
    default: throw InternalError("factors that groups of warps do not multiply");
  }
}

}  // namespace

std::string TileCalls::kind_of_loop(const TileCall &call) const {
  const MatMulExtents e = matmul_extents(call.operands[0].type, call.result.type, call.attribute);
  const std::int64_t stages = call.operands[2].type.count() / 2;
  const bool shares_a = call.windows[0].parts != 1, shares_b = call.windows[1].parts != 1;
  return fmt::format("{}, {}, {}, {}, {}, {}, {}", fragments_type(*call.sums),
                     kind_of(call.operands[0].type.element(), call.operands[1].type.element()), e.inner, stages,
                     (call.attribute & transposed_a) != 0, (call.attribute & transposed_b) != 0,
                     !shares_a && !shares_b
                         ? "Alone"
                         : fmt::format("Cluster<{}, {}, {}>", emission_.kernel.cluster_blocks, shares_a, shares_b));
}

void TileCalls::product_loop(const TileCall &call) {
  const bool in_registers = places_.fragments_of(call.result.array) != nullptr;
  const bool copies = call.part == TileCall::Part::copies, products = call.part == TileCall::Part::products;
  std::string steps, arguments = copies ? "" : array_name(call.result.array);
  for (const TileMemory &operand : call.operands)
    arguments += (arguments.empty() ? "" : ", ") + array_name(operand.array);
  if (copies || products) arguments += ", ring_position";
  for (std::size_t i = 0; i < call.windows.size() && !products; ++i) {
    const LoopWindows &windows = call.windows[i];
    const auto map = std::ranges::find(maps_, passes::tensor_map_of(call, i)) - maps_.begin();
    std::string first;
    for (const Value &index : windows.indices) first += (first.empty() ? "" : ", ") + scalar_text(index);
    arguments += fmt::format(", BulkWindows<{}>{{&maps.at[{}], {{{}}}}}", windows.indices.size(), map, first);
    steps += fmt::format(", {}, {}", windows.rows, windows.columns);
  }
  const std::string_view function = copies         ? "tile_produce"
                                    : products     ? "tile_consume"
                                    : in_registers ? "tile_product_loop"
                                                   : "tile_product_loop_in_memory";
  emission_.out.line("{}<{}{}>({}, {});", function, kind_of_loop(call), steps, arguments, scalar_text(*call.count));
}

void TileCalls::make_rings() {
  const TileCall *loop = nullptr;
  std::map<LocalArrayId, const Allocate *> memory;
  for_each_statement(emission_.kernel.body, [&](const Stmt &stmt) {
    if (const auto *call = stmt.as<TileCall>(); call && call->is_product_loop()) loop = call;
    if (const auto *allocate = stmt.as<Allocate>()) memory[allocate->array] = allocate;
  });
  internal_check(loop != nullptr, "roles without a loop of products");
  std::string arguments;
  for (const TileMemory &operand : loop->operands)
    arguments += fmt::format("{}reinterpret_cast<{} *>(shared + {})", arguments.empty() ? "" : ", ",
                             memory_name(operand.type), memory.at(operand.array)->offset.value());
  emission_.out.line("tile_make_rings<{}>({});", kind_of_loop(*loop), arguments);
  emission_.out.line("RingPosition<{}> ring_position;", loop->operands[2].type.count() / 2);
}

}  // namespace samite::codegen
