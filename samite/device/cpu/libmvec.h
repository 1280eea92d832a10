// The vector functions of the C library (libmvec of glibc 2.35 and newer), with errors of at most 4 units in the last
// place. The letter in a name is the instruction set (b: SSE, d: AVX2, e: AVX-512), N the number of lanes.
#pragma once

#include "samite/device/cpu/math.h"

#if defined(__x86_64__) && defined(__linux__)
#define SAMITE_LIBMVEC 1

namespace samite {

using F32x4 = f32 __attribute__((ext_vector_type(4)));
using F32x8 = f32 __attribute__((ext_vector_type(8)));
using F32x16 = f32 __attribute__((ext_vector_type(16)));
using F64x2 = f64 __attribute__((ext_vector_type(2)));
using F64x4 = f64 __attribute__((ext_vector_type(4)));
using F64x8 = f64 __attribute__((ext_vector_type(8)));

extern "C" {
#define SAMITE_LIBMVEC_1(name)                                     \
  F32x4 _ZGVbN4v_##name##f(F32x4) __attribute__((const, nothrow)); \
  F64x2 _ZGVbN2v_##name(F64x2) __attribute__((const, nothrow));
#define SAMITE_LIBMVEC_2(name)                                             \
  F32x4 _ZGVbN4vv_##name##f(F32x4, F32x4) __attribute__((const, nothrow)); \
  F64x2 _ZGVbN2vv_##name(F64x2, F64x2) __attribute__((const, nothrow));
SAMITE_LIBRARY_FUNCTIONS(SAMITE_LIBMVEC_1, SAMITE_LIBMVEC_2)
#undef SAMITE_LIBMVEC_1
#undef SAMITE_LIBMVEC_2

#ifdef __AVX2__
#define SAMITE_LIBMVEC_1(name)                                     \
  F32x8 _ZGVdN8v_##name##f(F32x8) __attribute__((const, nothrow)); \
  F64x4 _ZGVdN4v_##name(F64x4) __attribute__((const, nothrow));
#define SAMITE_LIBMVEC_2(name)                                             \
  F32x8 _ZGVdN8vv_##name##f(F32x8, F32x8) __attribute__((const, nothrow)); \
  F64x4 _ZGVdN4vv_##name(F64x4, F64x4) __attribute__((const, nothrow));
SAMITE_LIBRARY_FUNCTIONS(SAMITE_LIBMVEC_1, SAMITE_LIBMVEC_2)
#undef SAMITE_LIBMVEC_1
#undef SAMITE_LIBMVEC_2
#endif

#ifdef __AVX512F__
#define SAMITE_LIBMVEC_1(name)                                        \
  F32x16 _ZGVeN16v_##name##f(F32x16) __attribute__((const, nothrow)); \
  F64x8 _ZGVeN8v_##name(F64x8) __attribute__((const, nothrow));
#define SAMITE_LIBMVEC_2(name)                                                 \
  F32x16 _ZGVeN16vv_##name##f(F32x16, F32x16) __attribute__((const, nothrow)); \
  F64x8 _ZGVeN8vv_##name(F64x8, F64x8) __attribute__((const, nothrow));
SAMITE_LIBRARY_FUNCTIONS(SAMITE_LIBMVEC_1, SAMITE_LIBMVEC_2)
#undef SAMITE_LIBMVEC_1
#undef SAMITE_LIBMVEC_2
#endif
}

}  // namespace samite

#else
#define SAMITE_LIBMVEC 0
#endif
