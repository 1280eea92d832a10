// The vectors of one lane count: a vector has a value of each instance that runs in step. This header is compiled once
// for each lane count that kernels of this machine use, in a namespace of its own.
//
// SAMITE_LANES is 2, 4, 8, 16, 32 or 64; SAMITE_VECTOR_BYTES is the width of the machine's registers. A vector may be
// wider than a register (16 lanes of f64 on AVX-512): the compiler splits it.
#pragma once

#include "samite/device/cpu/scalar.h"

#ifndef SAMITE_LANES
#define SAMITE_LANES 16
#define SAMITE_VECTOR_BYTES 64
#define SAMITE_LANES_NAMESPACE lanes16
#endif

namespace samite::SAMITE_LANES_NAMESPACE {

constexpr int lane_count = SAMITE_LANES;

template <class T>
using Vector = T __attribute__((ext_vector_type(SAMITE_LANES)));

using I8 = Vector<i8>;
using I16 = Vector<i16>;
using I32 = Vector<i32>;
using I64 = Vector<i64>;
using U8 = Vector<u8>;
using U16 = Vector<u16>;
using U32 = Vector<u32>;
using U64 = Vector<u64>;
using F32 = Vector<f32>;
using F64 = Vector<f64>;
using Mask = Vector<bool>;  // a bit for each lane: the bool of vectors, and which lanes are active

#if SAMITE_LANES == 64
#define SAMITE_EACH_LANE                                                                                              \
  0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30,   \
      31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, \
      59, 60, 61, 62, 63
#elif SAMITE_LANES == 32
#define SAMITE_EACH_LANE \
  0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
#elif SAMITE_LANES == 16
#define SAMITE_EACH_LANE 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
#elif SAMITE_LANES == 8
#define SAMITE_EACH_LANE 0, 1, 2, 3, 4, 5, 6, 7
#elif SAMITE_LANES == 4
#define SAMITE_EACH_LANE 0, 1, 2, 3
#else
#define SAMITE_EACH_LANE 0, 1
#endif

// The lane's own number: a Linear value is its first lane's plus this.
constexpr U8 lane_u8 = {SAMITE_EACH_LANE};
constexpr I32 lane_i32 = {SAMITE_EACH_LANE};
constexpr I64 lane_i64 = {SAMITE_EACH_LANE};
constexpr U64 lane_u64 = {SAMITE_EACH_LANE};

}  // namespace samite::SAMITE_LANES_NAMESPACE
