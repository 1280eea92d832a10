// Arrays and Funcs beyond their edges: Funcs that may be called with any indices.
//
//   Func image = repeat_edge(input);                         // the nearest element
//   Func image = constant_exterior(input, 0);
//   Func image = repeat(input);                              // … c a b c a …  of a b c
//   Func image = mirror_image(input);                        // … b a a b c c b …
//   Func image = mirror_interior(input);                     // … c b a b c b a …
//   Func inside = repeat_edge(blur, {{0, h}, {0, w}});       // of a Func: begin and extent of each index
//
// Each is a Func of the same rank, named after the array: input_repeat_edge. Its variables are x; y, x; z, y, x; and so
// on. Only elements inside are loaded; each extent must be at least 1. If the array begins_at other indices, its
// elements lie inside from there on.
#pragma once

#include "samite/lang/func.h"

#include <optional>

namespace samite {
namespace lang {

enum class Exterior : std::uint8_t { repeat_edge, constant, repeat, mirror_image, mirror_interior };

Stage::Handle with_exterior(Exterior exterior, std::uint32_t array, ScalarType type, int rank,
                            std::optional<ir::Value> value, SourceLocation where);
Stage::Handle with_exterior(Exterior exterior, const Stage &func, ScalarType type, std::span<const Interval> ranges,
                            std::optional<ir::Value> value, SourceLocation where);

}  // namespace lang

#define SAMITE_EXTERIOR(name)                                                                                         \
  template <class T, int Rank>                                                                                        \
  Func<std::remove_const_t<T>> name(const Array<T, Rank> &array,                                                      \
                                    SourceLocation where = std::source_location::current()) {                         \
    return Func<std::remove_const_t<T>>(                                                                              \
        lang::with_exterior(lang::Exterior::name, array.index(where), scalar_type_of<T>, Rank, std::nullopt, where)); \
  }                                                                                                                   \
  template <class T, std::size_t Rank>                                                                                \
  Func<T> name(const Func<T> &func, const lang::Interval(&ranges)[Rank],                                              \
               SourceLocation where = std::source_location::current()) {                                              \
    return Func<T>(lang::with_exterior(lang::Exterior::name, func, scalar_type_of<T>, ranges, std::nullopt, where));  \
  }
SAMITE_EXTERIOR(repeat_edge)
SAMITE_EXTERIOR(repeat)
SAMITE_EXTERIOR(mirror_image)
SAMITE_EXTERIOR(mirror_interior)
#undef SAMITE_EXTERIOR

template <class T, int Rank>
Func<std::remove_const_t<T>> constant_exterior(const Array<T, Rank> &array,
                                               const Operand<std::remove_const_t<T>> &value) {
  return Func<std::remove_const_t<T>>(lang::with_exterior(lang::Exterior::constant, array.index(value.where()),
                                                          scalar_type_of<T>, Rank, value.value(), value.where()));
}
template <class T, std::size_t Rank>
Func<T> constant_exterior(const Func<T> &func, const Operand<std::type_identity_t<T>> &value,
                          const lang::Interval (&ranges)[Rank]) {
  return Func<T>(
      lang::with_exterior(lang::Exterior::constant, func, scalar_type_of<T>, ranges, value.value(), value.where()));
}

}  // namespace samite
