// The promotion table: which types of a kernel combine.
//
// Two operands of different types combine in the one of the two types to which the other promotes. If neither promotes,
// the program does not compile and needs an explicit cast. No promotion loses range. Integers promote to floating types
// of 32 bits and more, and 8-bit integers to 16-bit floating types, although they may lose a few digits from 2^24 on.
#pragma once

#include "samite/base/scalar_type.h"

#include <initializer_list>

namespace samite {
namespace lang {

struct Promotion {
  ScalarType from;
  std::initializer_list<ScalarType> to;
};

inline constexpr Promotion promotions[] = {
    {ScalarType::Int8,
     {ScalarType::Int16, ScalarType::Int32, ScalarType::Int64, ScalarType::Float16, ScalarType::BFloat16,
      ScalarType::Float32, ScalarType::Float64}},
    {ScalarType::Int16, {ScalarType::Int32, ScalarType::Int64, ScalarType::Float32, ScalarType::Float64}},
    {ScalarType::Int32, {ScalarType::Int64, ScalarType::Float32, ScalarType::Float64}},
    {ScalarType::Int64, {ScalarType::Float64}},
    {ScalarType::UInt8,
     {ScalarType::UInt16, ScalarType::UInt32, ScalarType::UInt64, ScalarType::Int16, ScalarType::Int32,
      ScalarType::Int64, ScalarType::Float16, ScalarType::BFloat16, ScalarType::Float32, ScalarType::Float64}},
    {ScalarType::UInt16,
     {ScalarType::UInt32, ScalarType::UInt64, ScalarType::Int32, ScalarType::Int64, ScalarType::Float32,
      ScalarType::Float64}},
    {ScalarType::UInt32, {ScalarType::UInt64, ScalarType::Int64, ScalarType::Float32, ScalarType::Float64}},
    {ScalarType::UInt64, {ScalarType::Float64}},
    {ScalarType::Float8E4M3, {ScalarType::Float16, ScalarType::BFloat16, ScalarType::Float32, ScalarType::Float64}},
    {ScalarType::Float8E5M2, {ScalarType::Float16, ScalarType::BFloat16, ScalarType::Float32, ScalarType::Float64}},
    {ScalarType::Float16, {ScalarType::Float32, ScalarType::Float64}},
    {ScalarType::BFloat16, {ScalarType::Float32, ScalarType::Float64}},
    {ScalarType::Float32, {ScalarType::Float64}},
};

constexpr bool promotes(ScalarType from, ScalarType to) {
  for (const Promotion &row : promotions)
    if (row.from == from)
      for (ScalarType type : row.to)
        if (type == to) return true;
  return false;
}

}  // namespace lang

// The table, for two different types.
template <class From, class To>
concept PromotesTo = Scalar<From> && Scalar<To> && lang::promotes(scalar_type_of<From>, scalar_type_of<To>);

}  // namespace samite
