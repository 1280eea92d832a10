// Turns each loop of products whose threads prefetch the factors into one call, for tensor cores driven by single
// warps.
//
// Written out by pipeline_loops, an iteration waits for its buffers, starts copies, loads its factors, and multiplies.
// A warp's tensor cores idle until the last of these, and one other warp does not keep them busy meanwhile: products of
// f64 reach 0.9 of an H200's rate this way. In one call, each of these statements is interleaved with products of the
// previous iteration (device/tile/cuda_multiply_ahead.h).
//
// Such a loop has at least three stages, and declares one product and nothing more (`ir::LoopProducts`): of windows of
// f64 a constant distance apart, which it adds to sums in registers. A thread's registers must have room for the sums,
// and for twice the factors of one tensor core step of a warp. Loops of other types stay unchanged: on an H200 they
// take 0.8 to 1.4 times as long this way, and the best tile's product as long. A kernel with main loops for warp groups
// stays unchanged, too (passes/sm90/product_loops.h).
//
// It is the last pass that realises main loops: remaining loops lose their declaration, and pipeline_loops writes them
// out. A pure function of a lowered kernel.
#pragma once

#include "samite/ir/kernel.h"
#include "samite/passes/analysis/architecture.h"

namespace samite::passes {

ir::Kernel multiply_ahead(ir::Kernel lowered, const Architecture &architecture);

}  // namespace samite::passes
