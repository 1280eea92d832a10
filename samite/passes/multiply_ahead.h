// Loops of products whose factors threads copy ahead of time, as one call each, where each warp has tensor cores
// multiply for it.
//
// Written out by pipeline_loops, an iteration waits for its buffers, starts copies, loads what it multiplies, and
// multiplies. A warp's tensor cores do nothing until it comes to the last of these, and another warp's alone are not
// kept busy meanwhile: products of f64 reach 0.9 of an H200's rate so. In one call, each of these statements goes
// between products of the iteration before (device/tile/cuda_multiply_ahead.h).
//
// Such a loop has at least three stages. It loads windows of f64 that lie at one distance from each other, and adds
// their product to sums in registers, and nothing else. A thread's registers must have room for the sums, and twice for
// what a warp multiplies in one step of its tensor cores. Loops of other types are left as they are: on an H200 they
// take 0.8 to 1.4 times as long so, and the best tile's product as long. A kernel with loops of products by groups of
// warps is left as it is too (passes/product_loops.h).
//
// After insert_barriers, before pipeline_loops. A pure function of a lowered kernel.
#pragma once

#include "samite/ir/kernel.h"
#include "samite/passes/architecture.h"

namespace samite::passes {

ir::Kernel multiply_ahead(ir::Kernel lowered, const Architecture &architecture);

}  // namespace samite::passes
