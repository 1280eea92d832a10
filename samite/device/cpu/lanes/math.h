// The C library's functions on vectors: one call of libmvec for each register that the vector fills, or a lane loop if
// the machine has no libmvec. exp of f32 is the library's own (device/cpu/math.h).
#pragma once

#include "samite/device/cpu/digamma.h"
#include "samite/device/cpu/lanes/types.h"
#include "samite/device/cpu/libmvec.h"

namespace samite::SAMITE_LANES_NAMESPACE {

#define SAMITE_HALVES_1(function) \
  {                               \
    V r;                          \
    r.lo = function(x.lo);        \
    r.hi = function(x.hi);        \
    return r;                     \
  }
#define SAMITE_HALVES_2(function) \
  {                               \
    V r;                          \
    r.lo = function(x.lo, y.lo);  \
    r.hi = function(x.hi, y.hi);  \
    return r;                     \
  }

#define SAMITE_LOOP_1(function)                                 \
  {                                                             \
    V r;                                                        \
    for (int k = 0; k < lane_count; ++k) r[k] = function(x[k]); \
    return r;                                                   \
  }
#if !SAMITE_LIBMVEC
#define SAMITE_LOOP_2(function)                                       \
  {                                                                   \
    V r;                                                              \
    for (int k = 0; k < lane_count; ++k) r[k] = function(x[k], y[k]); \
    return r;                                                         \
  }
#define SAMITE_F32_1(name) SAMITE_LOOP_1(__builtin_##name##f)
#define SAMITE_F32_2(name) SAMITE_LOOP_2(__builtin_##name##f)
#define SAMITE_F64_1(name) SAMITE_LOOP_1(__builtin_##name)
#define SAMITE_F64_2(name) SAMITE_LOOP_2(__builtin_##name)
#else

#if 4 * SAMITE_LANES > SAMITE_VECTOR_BYTES  // lanes of narrower types: a call for each register
#if SAMITE_VECTOR_BYTES == 64
#define SAMITE_OF_F32(signature, name) _ZGVeN16##signature##_##name##f
#define SAMITE_OF_F64(signature, name) _ZGVeN8##signature##_##name
#elif SAMITE_VECTOR_BYTES == 32
#define SAMITE_OF_F32(signature, name) _ZGVdN8##signature##_##name##f
#define SAMITE_OF_F64(signature, name) _ZGVdN4##signature##_##name
#else
#define SAMITE_OF_F32(signature, name) _ZGVbN4##signature##_##name##f
#define SAMITE_OF_F64(signature, name) _ZGVbN2##signature##_##name
#endif
#define SAMITE_PIECES_1(T, function)                                                    \
  {                                                                                     \
    typedef T P __attribute__((ext_vector_type(SAMITE_VECTOR_BYTES / sizeof(T))));      \
    P pieces[sizeof(x) / sizeof(P)];                                                    \
    __builtin_memcpy(pieces, &x, sizeof(x));                                            \
    _Pragma("clang loop unroll(full)") for (P &piece : pieces) piece = function(piece); \
    __builtin_memcpy(&x, pieces, sizeof(x));                                            \
    return x;                                                                           \
  }
#define SAMITE_PIECES_2(T, function)                                                               \
  {                                                                                                \
    typedef T P __attribute__((ext_vector_type(SAMITE_VECTOR_BYTES / sizeof(T))));                 \
    P pieces[sizeof(x) / sizeof(P)], others[sizeof(x) / sizeof(P)];                                \
    __builtin_memcpy(pieces, &x, sizeof(x));                                                       \
    __builtin_memcpy(others, &y, sizeof(y));                                                       \
    _Pragma("clang loop unroll(full)") for (u64 k = 0; k < sizeof(x) / sizeof(P); ++k) pieces[k] = \
        function(pieces[k], others[k]);                                                            \
    __builtin_memcpy(&x, pieces, sizeof(x));                                                       \
    return x;                                                                                      \
  }
#define SAMITE_F32_1(name) SAMITE_PIECES_1(f32, SAMITE_OF_F32(v, name))
#define SAMITE_F32_2(name) SAMITE_PIECES_2(f32, SAMITE_OF_F32(vv, name))
#define SAMITE_F64_1(name) SAMITE_PIECES_1(f64, SAMITE_OF_F64(v, name))
#define SAMITE_F64_2(name) SAMITE_PIECES_2(f64, SAMITE_OF_F64(vv, name))
#elif SAMITE_LANES == 16
#define SAMITE_F32_1(name)         \
  {                                \
    return _ZGVeN16v_##name##f(x); \
  }
#define SAMITE_F32_2(name)             \
  {                                    \
    return _ZGVeN16vv_##name##f(x, y); \
  }
#define SAMITE_F64_1(name) SAMITE_HALVES_1(_ZGVeN8v_##name)
#define SAMITE_F64_2(name) SAMITE_HALVES_2(_ZGVeN8vv_##name)
#elif SAMITE_LANES == 8
#define SAMITE_F32_1(name)        \
  {                               \
    return _ZGVdN8v_##name##f(x); \
  }
#define SAMITE_F32_2(name)            \
  {                                   \
    return _ZGVdN8vv_##name##f(x, y); \
  }
#if SAMITE_VECTOR_BYTES == 64
#define SAMITE_F64_1(name)     \
  {                            \
    return _ZGVeN8v_##name(x); \
  }
#define SAMITE_F64_2(name)         \
  {                                \
    return _ZGVeN8vv_##name(x, y); \
  }
#else
#define SAMITE_F64_1(name) SAMITE_HALVES_1(_ZGVdN4v_##name)
#define SAMITE_F64_2(name) SAMITE_HALVES_2(_ZGVdN4vv_##name)
#endif
#elif SAMITE_LANES == 4
#define SAMITE_F32_1(name)        \
  {                               \
    return _ZGVbN4v_##name##f(x); \
  }
#define SAMITE_F32_2(name)            \
  {                                   \
    return _ZGVbN4vv_##name##f(x, y); \
  }
#if SAMITE_VECTOR_BYTES >= 32
#define SAMITE_F64_1(name)     \
  {                            \
    return _ZGVdN4v_##name(x); \
  }
#define SAMITE_F64_2(name)         \
  {                                \
    return _ZGVdN4vv_##name(x, y); \
  }
#else
#define SAMITE_F64_1(name) SAMITE_HALVES_1(_ZGVbN2v_##name)
#define SAMITE_F64_2(name) SAMITE_HALVES_2(_ZGVbN2vv_##name)
#endif
#else
#define SAMITE_F32_1(name)                                                   \
  {                                                                          \
    return _ZGVbN4v_##name##f(__builtin_shufflevector(x, x, 0, 1, 0, 1)).lo; \
  }
#define SAMITE_F32_2(name)                                                                                           \
  {                                                                                                                  \
    return _ZGVbN4vv_##name##f(__builtin_shufflevector(x, x, 0, 1, 0, 1), __builtin_shufflevector(y, y, 0, 1, 0, 1)) \
        .lo;                                                                                                         \
  }
#define SAMITE_F64_1(name)     \
  {                            \
    return _ZGVbN2v_##name(x); \
  }
#define SAMITE_F64_2(name)         \
  {                                \
    return _ZGVbN2vv_##name(x, y); \
  }
#endif
#endif

#define SAMITE_VECTOR_F32_1(name)   \
  SAMITE_INLINE F32 name(F32 x) {   \
    [[maybe_unused]] typedef F32 V; \
    SAMITE_F32_1(name)              \
  }
#define SAMITE_VECTOR_F64_1(name)   \
  SAMITE_INLINE F64 name(F64 x) {   \
    [[maybe_unused]] typedef F64 V; \
    SAMITE_F64_1(name)              \
  }
#define SAMITE_VECTOR_1(name) SAMITE_VECTOR_F32_1(name) SAMITE_VECTOR_F64_1(name)
#define SAMITE_VECTOR_2(name)            \
  SAMITE_INLINE F32 name(F32 x, F32 y) { \
    [[maybe_unused]] typedef F32 V;      \
    SAMITE_F32_2(name)                   \
  }                                      \
  SAMITE_INLINE F64 name(F64 x, F64 y) { \
    [[maybe_unused]] typedef F64 V;      \
    SAMITE_F64_2(name)                   \
  }
SAMITE_LIBRARY_FUNCTIONS_BUT_POWERS(SAMITE_VECTOR_1, SAMITE_VECTOR_2)
#ifdef __FMA__
SAMITE_INLINE F32 exp(F32 x) { return exp_of_vector<I32>(x); }
SAMITE_INLINE F32 exp2(F32 x) { return exp2_of_vector<I32>(x); }
#else
SAMITE_VECTOR_F32_1(exp)
SAMITE_VECTOR_F32_1(exp2)
#endif
SAMITE_VECTOR_F64_1(exp)
SAMITE_VECTOR_F64_1(exp2)
SAMITE_INLINE F32 fast_exp2(F32 x) { return exp2(x); }
SAMITE_INLINE F64 fast_exp2(F64 x) { return exp2(x); }

SAMITE_INLINE F32 fmod(F32 x, F32 y) { return __builtin_elementwise_fmod(x, y); }
SAMITE_INLINE F64 fmod(F64 x, F64 y) { return __builtin_elementwise_fmod(x, y); }

// No library has these for vectors.
#define SAMITE_VECTOR_BY_LANES(name) \
  SAMITE_INLINE F32 name(F32 x) {    \
    typedef F32 V;                   \
    SAMITE_LOOP_1(samite::name)      \
  }                                  \
  SAMITE_INLINE F64 name(F64 x) {    \
    typedef F64 V;                   \
    SAMITE_LOOP_1(samite::name)      \
  }
SAMITE_VECTOR_BY_LANES(lgamma)
SAMITE_VECTOR_BY_LANES(digamma)
#undef SAMITE_VECTOR_BY_LANES

#undef SAMITE_HALVES_1
#undef SAMITE_HALVES_2
#undef SAMITE_LOOP_1
#undef SAMITE_LOOP_2
#undef SAMITE_PIECES_1
#undef SAMITE_PIECES_2
#undef SAMITE_OF_F32
#undef SAMITE_OF_F64
#undef SAMITE_F32_1
#undef SAMITE_F32_2
#undef SAMITE_F64_1
#undef SAMITE_F64_2
#undef SAMITE_VECTOR_1
#undef SAMITE_VECTOR_F32_1
#undef SAMITE_VECTOR_F64_1
#undef SAMITE_VECTOR_2

}  // namespace samite::SAMITE_LANES_NAMESPACE
