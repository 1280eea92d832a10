// A kernel whose function describes a block of threads, launched over many blocks: see lang/tile.h.
#pragma once

#include "samite/jit/kernel.h"
#include "samite/lang/tile_algebra.h"
#include "samite/lang/tile_fourier.h"
#include "samite/lang/tile_functions.h"
#include "samite/lang/tile_matrices.h"
#include "samite/lang/tile_memory.h"
#include "samite/lang/tile_operations.h"
#include "samite/lang/tile_print.h"
#include "samite/lang/tile_random.h"
#include "samite/lang/tile_reduce.h"
#include "samite/lang/tile_refused.h"
#include "samite/lang/tile_scan.h"
#include "samite/lang/tile_shape.h"
#include "samite/lang/tile_sort.h"
#include "samite/lang/tile_threads.h"

namespace samite {

// The number of blocks that cover `whole` with one `tile` each: each extent's quotient, rounded up.
//
//   kernel.launch(blocks_over({rows, columns}, {64, 64}), …)
//
// UserError with `where` if the two differ in rank, or if a tile's extent is 0.
Extents blocks_over(const Extents &whole, const Extents &tile, SourceLocation where = std::source_location::current());

// Options of a TileKernel.
struct TileOptions {
  int threads = 256;  // threads of a block on CUDA: a multiple of 32, at most 1024
  // On CUDA sums of products are in registers between statements, if possible (docs/tiles.md); with this option they
  // are in shared memory, like other tiles. It matters for kernels that run out of registers.
  bool sums_in_shared_memory = false;
  // How forward launches on CUDA do the work; the library decides about fields that are unset. UserError, when such a
  // launch is prepared, for a plan that does not hold: with the reason, and the nearest plan that does.
  TilePlan plan = {};
};

namespace jit {
// The last argument, which is not a function.
template <>
struct SignatureOf<TileOptions> {};

// UserError for an invalid number of threads, or an invalid plan.
void check_options(const TileOptions &options, const std::string &kernel, SourceLocation where);
std::shared_ptr<KernelDefinition> define_kernel(std::string name, std::vector<ir::Parameter> parameters,
                                                FunctionRef<void(std::uint32_t serial)> function,
                                                const TileOptions &options, SourceLocation where);
}  // namespace jit

// Launched, recorded, put on tapes and differentiated like any Kernel; a launch's extents count blocks.
template <class Signature>
class TileKernel;  // the type of a member is written out: TileKernel<void(Array<float, 2>, Array<const float, 2>)>

template <class... Ps>
class TileKernel<void(Ps...)> : public Kernel<void(Ps...)> {
 public:
  // Empty: assign a kernel before any other use.
  TileKernel() = default;
  template <class F>
  TileKernel(Name name, const F &function, TileOptions options = {},
             SourceLocation where = std::source_location::current())
      : TileKernel(std::move(name), {}, function, options, where) {}
  template <class F>
  TileKernel(Name name, const Names &parameter_names, const F &function, TileOptions options = {},
             SourceLocation where = std::source_location::current())
      : Kernel<void(Ps...)>(defined(std::move(name).text(), parameter_names.texts(), function, options, where)) {}

 private:
  template <class F>
  static std::shared_ptr<jit::KernelDefinition> defined(std::string name, const std::vector<std::string> &names,
                                                        const F &function, const TileOptions &options,
                                                        SourceLocation where) {
    jit::check_options(options, name, where);
    auto parameters = lang::named({lang::described<Ps>()...}, names, name, where);
    return jit::define_kernel(
        std::move(name), std::move(parameters),
        [&](std::uint32_t serial) { lang::call_with_parameters<Ps...>(serial, function, where); }, options, where);
  }
};

template <class F>
class TileKernel<jit::NoKernelFunction<F>> : Kernel<jit::NoKernelFunction<F>> {
  using Kernel<jit::NoKernelFunction<F>>::Kernel;
};
template <class... Ps>
class TileKernel<jit::NoKernelParameter<Ps...>> : Kernel<jit::NoKernelParameter<Ps...>> {
  using Kernel<jit::NoKernelParameter<Ps...>>::Kernel;
};

template <>
class TileKernel<jit::NoKernelName> : Kernel<jit::NoKernelName> {
  using Kernel<jit::NoKernelName>::Kernel;
};

template <class F, class Signature = typename jit::KernelSignature<F>::type>
TileKernel(Name, F) -> TileKernel<Signature>;
template <class F>
  requires requires { typename jit::SignatureOf<F>::type; }
TileKernel(F) -> TileKernel<jit::NoKernelName>;
template <class F, class Signature = typename jit::KernelSignature<F>::type>
TileKernel(Name, F, TileOptions) -> TileKernel<Signature>;
template <class F, class Signature = typename jit::KernelSignature<F>::type>
TileKernel(Name, Names, F) -> TileKernel<Signature>;
template <class F, class Signature = typename jit::KernelSignature<F>::type>
TileKernel(Name, Names, F, TileOptions) -> TileKernel<Signature>;

}  // namespace samite
