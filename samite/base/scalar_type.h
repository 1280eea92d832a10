// The scalar types that kernels compute with and buffers hold.
//
// One table: enumerator, printed name, C++ type, bytes, class. A new type is a new row.
#pragma once

#include "samite/base/float8.h"
#include "samite/base/half.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

namespace samite {

//                     enumerator, printed name, C++ host type, bytes, class
#define SAMITE_SCALAR_TYPES(X)                 \
  X(Bool, "bool", bool, 1, Boolean)            \
  X(Int8, "i8", std::int8_t, 1, Signed)        \
  X(Int16, "i16", std::int16_t, 2, Signed)     \
  X(Int32, "i32", std::int32_t, 4, Signed)     \
  X(Int64, "i64", std::int64_t, 8, Signed)     \
  X(UInt8, "u8", std::uint8_t, 1, Unsigned)    \
  X(UInt16, "u16", std::uint16_t, 2, Unsigned) \
  X(UInt32, "u32", std::uint32_t, 4, Unsigned) \
  X(UInt64, "u64", std::uint64_t, 8, Unsigned) \
  X(Float8E4M3, "f8e4m3", f8e4m3, 1, Floating) \
  X(Float8E5M2, "f8e5m2", f8e5m2, 1, Floating) \
  X(Float16, "f16", half, 2, Floating)         \
  X(BFloat16, "bf16", bfloat16, 2, Floating)   \
  X(Float32, "f32", float, 4, Floating)        \
  X(Float64, "f64", double, 8, Floating)

enum class ScalarType : std::uint8_t {
#define SAMITE_ENUMERATOR(name, text, host, bytes, kind) name,
  SAMITE_SCALAR_TYPES(SAMITE_ENUMERATOR)
#undef SAMITE_ENUMERATOR
};

enum class ScalarClass : std::uint8_t { Boolean, Signed, Unsigned, Floating };

std::string_view name(ScalarType type);      // "f32"
std::string_view cpp_name(ScalarType type);  // "float"
ScalarClass class_of(ScalarType type);
std::optional<ScalarType> scalar_type_from_name(std::string_view name);

// Bytes. Inline, because every launch uses it.
constexpr std::size_t size_of(ScalarType type) {
  constexpr std::uint8_t bytes_of_rows[] = {
#define SAMITE_BYTES(name, text, host, bytes, kind) bytes,
      SAMITE_SCALAR_TYPES(SAMITE_BYTES)
#undef SAMITE_BYTES
  };
  return bytes_of_rows[static_cast<std::size_t>(type)];
}

inline bool is_floating(ScalarType type) { return class_of(type) == ScalarClass::Floating; }
inline bool is_integer(ScalarType type) {
  return class_of(type) == ScalarClass::Signed || class_of(type) == ScalarClass::Unsigned;
}

template <class T>
struct ScalarTypeOf;
#define SAMITE_SPECIALISE(name_, text, host, bytes, kind_)  \
  template <>                                               \
  struct ScalarTypeOf<host> {                               \
    static constexpr ScalarType value = ScalarType::name_;  \
    static constexpr ScalarClass kind = ScalarClass::kind_; \
  };
SAMITE_SCALAR_TYPES(SAMITE_SPECIALISE)
#undef SAMITE_SPECIALISE

// The ScalarType of a C++ element type; a const element type has the type of its values.
template <class T>
inline constexpr ScalarType scalar_type_of = ScalarTypeOf<std::remove_const_t<T>>::value;

// C++ types that a buffer can hold and a kernel can compute with.
template <class T>
concept Scalar = requires { ScalarTypeOf<std::remove_const_t<T>>::value; };

// float, double, and the 8-bit and 16-bit types, which std::floating_point does not include.
template <class T>
concept FloatingScalar = Scalar<T> && ScalarTypeOf<std::remove_const_t<T>>::kind == ScalarClass::Floating;

// The floating types of arithmetic. The 8-bit floating types are for storage only: kernels convert them first.
template <class T>
concept ArithmeticScalar =
    Scalar<T> && !std::is_same_v<std::remove_const_t<T>, bool> && !(FloatingScalar<T> && sizeof(T) == 1);
inline bool is_float8(ScalarType type) { return is_floating(type) && size_of(type) == 1; }

}  // namespace samite
