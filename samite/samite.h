// Samite: GPU and CPU kernels that come with their own gradients.
//
// This header alone suffices for most programs: traced values and control flow (lang/), devices and buffers (runtime/),
// kernels, launches and tapes (jit/).
#pragma once

#include "samite/base/language_standard.h"

// The language of kernels comes first, innermost headers before others, because a compiler's message about a header
// lists every header on the way to it.
#include "samite/lang/array.h"
#include "samite/lang/control.h"
#include "samite/lang/math.h"

#include "samite/lang/algebra/component.h"
#include "samite/lang/algebra/vector_functions.h"
#include "samite/lang/struct_array.h"
#include "samite/lang/tile_operations.h"

#include "samite/base/error.h"
#include "samite/base/trace.h"
#include "samite/ir/print.h"
#include "samite/jit/add_to_archive.h"
#include "samite/jit/any_kernel.h"
#include "samite/jit/gradient_check.h"
#include "samite/jit/graph.h"
#include "samite/jit/hessian.h"
#include "samite/jit/jacobian.h"
#include "samite/jit/kernel.h"
#include "samite/jit/prepare.h"
#include "samite/jit/print_sink.h"
#include "samite/jit/progress.h"
#include "samite/jit/report.h"
#include "samite/jit/scheduled.h"
#include "samite/jit/tape.h"
#include "samite/jit/tile_kernel.h"
#include "samite/lang/algebra.h"
#include "samite/lang/atomic.h"
#include "samite/lang/custom_adjoint.h"
#include "samite/lang/exterior.h"
#include "samite/lang/func.h"
#include "samite/lang/indexed.h"
#include "samite/lang/inline_reduction.h"
#include "samite/lang/local_array.h"
#include "samite/lang/noise.h"
#include "samite/lang/print.h"
#include "samite/lang/random.h"
#include "samite/runtime/borrow.h"
#include "samite/runtime/device.h"
#include "samite/runtime/event.h"
#include "samite/runtime/pinned_array.h"
#include "samite/runtime/stream.h"
#include "samite/toolchain/open_archive.h"
