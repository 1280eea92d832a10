// Main loops whose factors are loaded by bulk copies, as one call each, and single products of such loops.
#include "samite/base/error.h"
#include "samite/codegen/tile_calls.h"
#include "samite/ir/tile_rules.h"
#include "samite/ir/visit.h"

#include <algorithm>
#include <map>

namespace samite::codegen {

using namespace ir;

namespace {

// The kind of factors of wgmma, named as in samite/device/cuda/sm90_wgmma.h.
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

std::int64_t stages_of(const TileMemory &barriers) { return barriers.type.count() / 2; }

// The sums, the kind of factors, the terms and the stages, as template arguments.
std::string product_text(const auto &product, const Type &a, const Type &b, const TileMemory &barriers) {
  const MatMulExtents e = matmul_extents(a, product.result.type, product.attribute);
  return fmt::format("{}, {}, {}, {}", fragments_type(product.sums), kind_of(a.element(), b.element()), e.inner,
                     stages_of(barriers));
}
std::string product_text(const WindowProduct &product) {
  return product_text(product, product.first.type, product.second.ring.type, product.barriers);
}

bool transposes(std::int32_t attribute, std::int32_t factor) { return (attribute & factor) != 0; }

// A thread's position in the ring with these barriers.
std::string ring_position(LocalArrayId barriers) { return fmt::format("ring_position_{}", barriers); }

std::string ring_type(std::int64_t stages) { return fmt::format("RingPosition<{}>", stages); }

}  // namespace

std::string TileCalls::is_last_of_index(const MainLoop &main) const {
  std::string last;
  for_each_statement(emission_.kernel.body, [&](const Stmt &stmt) {
    const auto *loop = stmt.as<For>();
    if (!loop || std::ranges::find(main.hands_over_in, loop->index) == main.hands_over_in.end()) return;
    last += fmt::format("{}{} - {} <= {}", last.empty() ? "" : " && ", scalar_text(loop->end),
                        scalar_text(Value::local(loop->type, loop->index)), scalar_text(loop->step));
  });
  return last.empty() ? "true" : last;
}

void TileCalls::begin_index_of_team() { emission_.out.line("turns.begin(blocks - block <= gridDim.x);"); }
void TileCalls::end_index_of_team() { emission_.out.line("turns.end({});", team_ring_); }

std::string TileCalls::kind_of_loop(const MainLoop &loop) const {
  const auto &[a, b] = loop.factors;
  const bool shares_a = a.parts != 1, shares_b = b.parts != 1;
  return fmt::format("{}, {}, {}, {}", product_text(loop, a.ring.type, b.ring.type, *loop.barriers),
                     transposes(loop.attribute, transposed_a), transposes(loop.attribute, transposed_b),
                     !shares_a && !shares_b ? "Alone"
                                            : fmt::format("Cluster<{}, {}, {}>", emission_.kernel.grid.cluster_blocks,
                                                          shares_a, shares_b));
}

std::string TileCalls::bulk_windows(const passes::TensorMapNeeded &needed, const std::vector<Value> &indices) const {
  const auto map = std::ranges::find(maps_, needed) - maps_.begin();
  std::string first;
  for (const Value &index : indices) first += (first.empty() ? "" : ", ") + scalar_text(index);
  return fmt::format("BulkWindows<{}>{{&maps.at[{}], {{{}}}}}", indices.size(), map, first);
}
std::string TileCalls::bulk_windows(const Transfer &factor) const {
  return bulk_windows(passes::tensor_map_of(factor), factor.indices);
}

void TileCalls::main_loop(const MainLoop &loop, SourceLocation where) {
  if (!loop.by_bulk_copies()) return multiply_ahead(loop, where);
  const bool in_registers = places_.fragments_of(loop.result.array) != nullptr;
  const bool copies = loop.role == ThreadRole::producers, products = loop.role == ThreadRole::consumers;
  const LocalArrayId barriers = loop.barriers->array;
  const std::string count = loop.count ? scalar_text(*loop.count) : "1";
  const int parts = emission_.kernel.grid.step_parts;
  const std::string part = parts == 0 ? "" : fmt::format("part_{}", barriers);
  if (parts != 0) emission_.out.line("const PartOfSteps {} = part_of_steps<{}>({});", part, parts, count);
  std::string steps, arguments = copies ? "" : array_name(loop.result.array) + ", ";
  for (const Transfer &factor : loop.factors) arguments += array_name(factor.ring.array) + ", ";
  arguments += array_name(barriers);
  if (copies || products) arguments += ", " + ring_position(barriers);
  for (const Transfer &factor : loop.factors) {
    if (products) break;
    const std::string windows = bulk_windows(factor);
    arguments += parts == 0
                     ? ", " + windows
                     : fmt::format(", windows_from<{}, {}>({}, {}.first)", factor.rows, factor.columns, windows, part);
    steps += fmt::format(", {}, {}", factor.rows, factor.columns);
  }
  const std::string_view function = copies         ? "tile_produce"
                                    : products     ? "tile_consume"
                                    : in_registers ? "tile_product_loop"
                                                   : "tile_product_loop_in_memory";
  arguments += ", " + (parts == 0 ? count : part + ".count");
  if (loop.terms) arguments += fmt::format(", TermsBelow{{{}}}", scalar_text(*loop.terms));
  if (products && emission_.kernel.roles.teams != 0)
    arguments += fmt::format(", AllTerms{{}}, TeamTurn<decltype(turns), {}>{{turns, {}, {}}}",
                             ring_type(stages_of(*loop.barriers)), ring_position(barriers), is_last_of_index(loop));
  emission_.out.line("{}<{}{}>({});", function, kind_of_loop(loop), steps, arguments);
  if (parts == 0 || copies) return;
  internal_check(loop.sums_through.has_value(), "sums of parts without memory");
  emission_.out.line("if (!add_sums_of_parts<{}, {}>({}, {})) return;", parts, emission_.kernel.block_threads,
                     array_name(loop.result.array), array_name(*loop.sums_through));
}

void TileCalls::window_product(const WindowProduct &product) {
  const bool transposed = transposes(product.attribute, transposed_b);
  const LocalArrayId barriers = product.barriers.array;
  const std::string ring =
      fmt::format("{}, {}, {}", array_name(product.second.ring.array), array_name(barriers), ring_position(barriers));
  const std::string text = product_text(product);
  if (product.role == ThreadRole::producers)
    return emission_.out.line("tile_produce_factor<{}, {}>({}, {});", text, transposed, ring,
                              bulk_windows(product.second));
  // Otherwise they would be set up during this product, for which the assembler would wait.
  if (product.runs_into) emission_.out.line("changed_by_products({});", array_name(*product.runs_into));
  emission_.out.line("tile_begin_factor<{}, {}, {}, {}>({}, {}, {}{}{});", text,
                     transposes(product.attribute, transposed_a), transposed, !product.has_window,
                     array_name(product.result.array), array_name(product.first.array), ring,
                     product.takes_turn ? ", TakesTurn{turns}" : "", product.gives_turn ? ", GivesTurn{turns}" : "");
  running_.push_back(&product);
  if (product.runs_into) return;
  for (std::size_t i = 0; i < running_.size(); ++i) {
    const WindowProduct &own = *running_[i];
    emission_.out.line("tile_end_factor<{}, {}>({}, {}, {});", running_.size() - 1 - i, !own.keeps_window,
                       array_name(own.result.array), array_name(own.barriers.array), ring_position(own.barriers.array));
  }
  running_.clear();
}

void TileCalls::stage_product(const StageProduct &product) {
  const auto &[a, b] = product.factors;
  emission_.out.line("tile_multiply_stage<{}, {}, {}, {}>({}, {}, {}, {});",
                     product_text(product, a.type, b.type, product.barriers),
                     transposes(product.attribute, transposed_a), transposes(product.attribute, transposed_b),
                     !product.sets, array_name(product.result.array), array_name(a.array), array_name(b.array),
                     ring_position(product.barriers.array));
}

void TileCalls::bring_windows(const BringWindows &bring) {
  const std::string position = ring_position(bring.barriers.array);
  SourceWriter &out = emission_.out;
  if (bring.role == ThreadRole::producers) {
    std::string windows;
    for (const BringWindows::Window &each : bring.windows) {
      const std::string window = bulk_windows(passes::tensor_map_of(each), each.indices),
                        ring = array_name(each.ring.array);
      windows += each.values ? fmt::format(", values_to<{}>({}_ring, {})", each.ring.type.count(), ring, window)
                             : fmt::format(", factor_to<{}>({}, {})", places_.rows_type(each.ring), ring, window);
    }
    return out.line("tile_bring<{}>({}, {}{});", emission_.kernel.block_threads, array_name(bring.barriers.array),
                    position, windows);
  }
  out.line("tile_wait_for_stage({}, {});", array_name(bring.barriers.array), position);
  for (const BringWindows::Window &each : bring.windows)
    if (each.values)
      out.line("const {0} *const {1} = {1}_ring + {2}.stage * {3};", memory_name(each.ring.type),
               array_name(each.ring.array), position, each.ring.type.count());
}
void TileCalls::release_windows(const ReleaseWindows &release) {
  emission_.out.line("tile_release_stage({}, {});", array_name(release.barriers), ring_position(release.barriers));
}

void TileCalls::make_rings() {
  std::map<LocalArrayId, std::int64_t> rings;  // the stages, by their barriers
  std::map<LocalArrayId, const Allocate *> memory;
  for_each_statement(emission_.kernel.body, [&](const Stmt &stmt) {
    for_each_tile(stmt, [&](const TileMemory &tile, TileAccess access) {
      if (access == TileAccess::barriers) rings.emplace(tile.array, stages_of(tile));
    });
    if (const auto *allocate = stmt.as<Allocate>()) memory[allocate->array] = allocate;
  });
  internal_check(!rings.empty(), "roles without a loop of products");
  const int blocks = std::max(emission_.kernel.grid.cluster_blocks, 1), teams = emission_.kernel.roles.teams;
  for (const auto &[barriers, stages] : rings) {
    emission_.out.line("{}tile_make_barriers<{}, {}>(reinterpret_cast<u64 *>(shared + {}));",
                       teams == 0 ? "" : "if (team == 0) ", stages, emission_.kernel.block_threads / 32 * blocks,
                       memory.at(barriers)->offset.value());
    emission_.out.line("{} {};", ring_type(stages), ring_position(barriers));
    if (teams == 0) continue;
    emission_.out.line("{}<{}, {}> turns{{{{reinterpret_cast<u64 *>(shared + {}), team}}}};",
                       emission_.kernel.roles.equal_turns ? "EqualTurns" : "TeamTurns", teams,
                       emission_.kernel.block_threads / 32,
                       memory.at(barriers)->offset.value() + passes::bytes_of_barriers(stages));
    emission_.out.line("if (team == 0 && flat_thread() == 0) turns.make();");
    team_ring_ = ring_position(barriers);
  }
  emission_.out.line("{}();", blocks == 1 ? "__syncthreads" : "sync_cluster");
}

}  // namespace samite::codegen
