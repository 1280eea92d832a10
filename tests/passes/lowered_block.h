// Lowered tile kernels from text, for tests of the passes that place tiles and order threads.
#pragma once

#include "samite/ir/parse.h"
#include "samite/ir/print.h"
#include "samite/ir/verify.h"
#include "samite/ir/visit.h"
#include "samite/passes/analysis/architecture.h"
#include "samite/passes/threads/lower_threads.h"
#include "samite/passes/tiles/lower_tiles.h"

#include <map>
#include <string>
#include <vector>

namespace samite::test {

// A structured kernel of 64 threads with arrays x, y (f32) and h (f16) of two dimensions and a number n, lowered.
inline ir::Kernel lowered_block(const std::string &body, int threads = 64) {
  ir::Kernel kernel =
      ir::parse_kernel("kernel @k(@x: array<f32, 2>, @y: array<f32, 2>, @h: array<f16, 2>, @n: i32) blocks 1 of " +
                       std::to_string(threads) + " { %0: i32 = thread_index 0 " + body + " }");
  ir::verify(kernel, ir::Form::structured, "the test");
  return passes::lower_threads(passes::lower_tiles(std::move(kernel), passes::gpu_architecture(90)));
}

// A product of f16 by a loop of three stages.
inline const std::string pipelined_product =
    "for %1: i32 in 0 .. @n step 1 stages 3 carry (%2 -> %6: tile<f32, 64, 64> = 0.0:tile<f32, 64, 64> then %5) { "
    "%7: i32 = mul %1, 16 %3: tile<f16, 64, 16> = load @h[0, %7] %4: tile<f16, 16, 64> = load @h[%7, 0] "
    "%5: tile<f32, 64, 64> = matmul %3, %4, %2 } store @x[0, 0] = %6";

// A kernel's allocations for its blocks, in program order.
inline std::vector<ir::Allocate> allocations(const ir::Kernel &kernel) {
  std::vector<ir::Allocate> found;
  ir::for_each_statement(kernel.body, [&](const ir::Stmt &stmt) {
    if (auto *allocate = stmt.as<ir::Allocate>()) found.push_back(*allocate);
  });
  return found;
}

// The space and the layout of each allocation, one per line: "shared f16[1024] rows(16, 2, swizzled)".
inline std::string memory(const ir::Kernel &kernel) {
  std::string text;
  for (const ir::Allocate &own : allocations(kernel)) {
    const char *space = own.space == ir::MemorySpace::registers ? "registers"
                        : own.space == ir::MemorySpace::shared  ? "shared"
                        : own.space == ir::MemorySpace::device  ? "device"
                                                                : "instance";
    text += std::string(space) + " " + std::string(name(own.type.element())) + "[" +
            (own.size.is_constant() ? std::to_string(own.size.as_int()) : "?") + "] " + to_string(own.layout) +
            (own.stages > 1 ? " stages " + std::to_string(own.stages) : "") + "\n";
  }
  return text;
}

template <class Kind>
std::vector<Kind> all(const ir::Kernel &kernel) {
  std::vector<Kind> found;
  ir::for_each_statement(kernel.body, [&](const ir::Stmt &stmt) {
    if (auto *kind = stmt.as<Kind>()) found.push_back(*kind);
  });
  return found;
}

}  // namespace samite::test
