// Which types of a kernel meet: the promotion table.
//
// Two operands of different types meet in the one of the two that the other promotes to. Where neither does, the
// program does not compile and an explicit cast is needed. No promotion loses range; to a floating type of 32 bits and
// more, and from 8-bit integers to the 16-bit ones, integers promote although a few digits may be lost from 2^24 on.
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
