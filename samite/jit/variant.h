// One compiled form of a kernel.
//
// A kernel has only the variants that its launches need: a variant is compiled when the first launch or record needs
// it. The key holds the facts that its code may rely on.
#pragma once

#include "samite/codegen/argument_layout.h"
#include "samite/codegen/emit.h"
#include "samite/codegen/failure.h"
#include "samite/codegen/workspace.h"
#include "samite/ir/kernel.h"
#include "samite/jit/array_copies.h"
#include "samite/jit/cuda_code.h"
#include "samite/jit/options.h"
#include "samite/passes/adjoint/cast_copies.h"
#include "samite/passes/threads/check_races.h"
#include "samite/passes/tiles/split_sums.h"
#include "samite/toolchain/cuda_compiler.h"
#include "samite/toolchain/host_compiler.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace samite::jit {

// Sets of parameters are bits.
inline constexpr std::size_t maximum_parameters = 64;

struct VariantKey {
  // For an adjoint; a tangent has `active`, too.
  struct Derivative {
    bool may_alias = false;                         // gradient arrays may share elements
    std::optional<std::int64_t> memory_limit = {};  // LaunchOptions::memory_limit
    std::uint64_t active = 0;                       // the parameters that track gradients
    bool gather = false;                            // passes/adjoint/gather.h
    bool wide_windows = false;                      // gather: passes/adjoint/wide_windows.h

    friend bool operator==(const Derivative &, const Derivative &) = default;
  };
  // Sets of array parameters.
  struct Arrays {
    std::uint64_t overlapping = 0;  // races: they share memory with another one
    std::uint64_t unit_stride = 0;  // the last dimension is contiguous
    std::uint64_t wide_index = 0;   // elements are 2^31 or more apart
    std::uint64_t summed = 0;       // each worker may sum them (in an adjoint, their gradients) privately
    std::uint64_t unaliased = 0;    // share no memory with another one that is written
    std::uint64_t aligned = 0;      // CUDA: rows begin at multiples of 16 bytes
    std::uint64_t whole_rows = 0;   // CUDA, tile kernels: rows take a multiple of 16 bytes
    std::uint64_t tensor_maps = 0;  // CUDA, tile kernels: they can have a tensor map
    // CUDA, tile kernels: arrays that cannot have a tensor map, and those whose layout may not suit products, if a copy
    // fixes that and pays (passes/tiles/factor_copies.h).
    std::uint64_t worth_padding = 0, worth_swapping = 0;

    friend bool operator==(const Arrays &, const Arrays &) = default;
  };
  // CUDA: facts that follow from the extents of a launch and from its options.
  struct Shape {
    bool programmatic = false;     // LaunchOptions::programmatic
    bool grid_stride = false;      // the launch exceeds a grid with a thread for each instance
    bool grid_axes = false;        // scheduled kernels: codegen/emit.h
    int neighbours = 1;            // instances per thread that leave enough threads for the device
    bool outgrows_caches = false;  // passes/threads/march.h
    bool in_rounds = false;        // tile kernels with loops of products: passes/sm90/form_teams.h
    std::uint64_t paired = 0;      // tile kernels with loops of products: passes/sm90/form_clusters.h
    // Forward, tile kernels with loops of products: the split-K parts for clusters (passes/sm90/share_steps.h), and the
    // parts if clusters are impossible (passes/tiles/split_sums.h).
    int step_parts = 1, sum_parts = 1;

    friend bool operator==(const Shape &, const Shape &) = default;
  };

  Direction direction = Direction::forward;
  bool debug = false;
  bool races = false;                // debug: look for races between instances
  int cuda = 0;                      // the device's compute capability, 90 for 9.0; 0: the CPU
  bool deterministic = false;        // the same bits on every run
  std::int64_t workspace_bytes = 0;  // CUDA: LaunchOptions::workspace_bytes
  Derivative derivative = {};
  Arrays arrays = {};
  Shape shape = {};
  TilePlan plan = {};  // CUDA, tile kernels, forward, not in debug mode: what the launch and its kernel ask for

  // On a GPU an atomic addition costs more than repeating a neighbour's reads.
  passes::Gathering gathering() const {
    return derivative.wide_windows      ? passes::Gathering::wide
           : deterministic || cuda != 0 ? passes::Gathering::even_if_slower
                                        : passes::Gathering::if_not_slower;
  }

  friend bool operator==(const VariantKey &, const VariantKey &) = default;
};

// Milliseconds of each step in the making of a variant.
struct StepTimes {
  double derive = 0, lower = 0, emit = 0, compile = 0;
  double total() const { return derive + lower + emit + compile; }
};

using Entry = void(const void *arguments, const long long *begin, const long long *end, codegen::Failure *failure,
                   codegen::Workspace *workspace);

// The parameters of an adjoint or a tangent, by number.
struct DerivativeParameters {
  std::vector<std::uint32_t> gradient_of;  // by gradient parameter, its primal
  // For an adjoint: primal arrays whose elements it reads, those that it reads as left by the forward launch, and those
  // that the user's adjoints write.
  std::vector<std::uint32_t> values_read, values_after, written;
};

// The emitted C++, and the tables that its failures and messages refer to.
struct VariantText {
  std::string source;
  std::vector<SourceLocation> lines;           // codegen::EmittedSource::lines
  std::vector<std::string> files;              // indexed by a failure's file
  std::vector<SourceLocation> sites;           // indexed by a failure's array if it has no file
  std::vector<codegen::MessageSite> messages;  // its prints and checks
};

struct HostCode {
  std::shared_ptr<const HostImage> image;  // null if there is nothing to run
  Entry *entry = nullptr;
  std::vector<codegen::EmittedObject> objects;  // objects that the image is linked with
  int lanes = 1;
  CompileReport compile;
};

struct GpuCode {
  std::shared_ptr<const CudaCode> code;  // null if there is nothing to run
  codegen::CudaForm form;
  bool uses_channel = false;
  int block_threads = 0;               // of a tile kernel
  int step_parts = 1;                  // split-K by clusters, in this many parts; then no split sums are needed
  passes::TileMemoryPlan tile_memory;  // of each block
  std::vector<codegen::TileLoadSite> tile_loads;
  std::vector<passes::TensorMapNeeded> tensor_maps;  // made by the launch
  std::vector<passes::WayOfProduct> products;        // the method of each, if there are several
  TilePlan plan;                                     // as asked for and chosen
  CudaCompileReport compile;
};

// The launch's own arrays, whose parameters follow the kernel's in this order.
struct LaunchArrays {
  std::vector<passes::CotangentCopy> copies;  // written by `Variant::first`
  std::vector<passes::PartialSums> sums;      // the same for split sums: `first` has one dimension more
  std::vector<ArrayCopy> factor_copies;       // the library's own kernels write them before `first`
  bool makes_copies = false;                  // this is the part of a launch that makes these copies
};

// How instances run.
struct Execution {
  double cost = 1;  // estimated operations of an instance
  // Adds atomically in an observable order, but must be deterministic: one thread runs everything.
  bool one_thread = false;
  bool uses_workspace = false;
};

// The cost of making a variant.
struct MakingReport {
  StepTimes times;
  int trials = 0;                       // of plans, before the one that is emitted (jit/steps.h)
  std::size_t peak_compiler_bytes = 0;  // as in ReportedVariant
};

struct Variant {
  VariantKey key;
  std::string name;                       // the kernel's
  std::vector<ir::Parameter> parameters;  // the kernel's own, then the gradients
  DerivativeParameters derivative;
  std::vector<std::uint32_t> summed;  // parameters that each worker sums privately (jit/private_sums.h)
  codegen::ArgumentLayout layout;
  LaunchArrays arrays;
  passes::RaceChecks races;  // after the parameters in `layout`; debug mode only
  VariantText text;
  HostCode host;  // CPU
  GpuCode gpu;    // CUDA
  Execution execution;
  // Parts of a launch over the same instances, with the same arguments, before and after this one: the copies, the
  // further products and the zeros of a gathered adjoint, one after another. May be null.
  std::shared_ptr<const Variant> first, afterwards;
  MakingReport report;

  int parts() const { return arrays.sums.empty() ? gpu.step_parts : key.shape.sum_parts; }
};

}  // namespace samite::jit
