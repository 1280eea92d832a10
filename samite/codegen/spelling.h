// The C++ spelling of types, constants and operations. The names are those of the prelude (samite/device/), the same
// for scalars and vectors and for every target.
#pragma once

#include "samite/ir/stmt.h"

#include <string>
#include <string_view>

namespace samite::codegen {

// The type of a value: 16-bit floating types are f32 in values.
std::string_view scalar_name(ScalarType type);  // "f32"; "bool"
std::string_view vector_name(ScalarType type);  // "F32"; "Mask"
// The type of an element of an array, or of an argument.
std::string_view memory_name(ScalarType type);  // "f16"

// Whether values are wider than elements in memory, so that each result must be rounded.
inline bool is_small_float(ScalarType type) { return is_floating(type) && size_of(type) <= 2; }

// The constant as an expression of exactly its type: `2.0f`, `i8(3)`.
std::string literal(const ir::Value &constant);

struct Spelling {
  enum class Form : std::uint8_t {
    Infix,       // a + b
    Prefix,      // -a
    Comparison,  // a < b, a mask of integers if a and b are vectors
    Function,    // sin(a)
    Shift,       // a << b, with b modulo the width
    Atomic,      // AtomicMin::apply(&a, b), and in lanes atomic_each<AtomicMin>(…)
    Special,     // spelled by the emitter: casts, memory, indices, and operations that depend on their operands
  };
  Form form;
  std::string_view text;
};

Spelling spelling(ir::Op op);

}  // namespace samite::codegen
