#include "samite/codegen/cpu_lanes.h"

#include "samite/ir/visit.h"

namespace samite::codegen {

int cpu_lanes(const ir::Kernel &kernel, int vector_bytes) {
  std::size_t single = 0, twice = 0;
  ir::for_each_statement(kernel.body, [&](const ir::Stmt &stmt) {
    const ir::Let *let = stmt.as<ir::Let>();
    if (!let) return;
    const bool floating = is_floating(let->value.type), is_double = let->value.type == ScalarType::Float64;
    single += floating && !is_double;
    twice += is_double;
  });
  return twice > single ? vector_bytes / 8 : vector_bytes / 4;
}

}  // namespace samite::codegen
