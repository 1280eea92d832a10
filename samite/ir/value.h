// An atom: the possible operand of an operation or a statement. A constant of tile type is a tile with equal elements.
//
// The IR is in A-normal form: an operand is a constant, a scalar parameter of the kernel or a local, never a nested
// expression. Each intermediate result therefore has a number, a type and a source line, to which the adjoint, the
// analyses and the emitter attach their facts.
#pragma once

#include "samite/ir/type.h"

#include <cstdint>

namespace samite::ir {

// The number of a local. Dense from 0 in each kernel, so that vectors can hold facts about locals.
using LocalId = std::uint32_t;

// The number of a local array. Dense from 0 in each kernel.
using LocalArrayId = std::uint32_t;

// The name of a labelled block.
using LabelId = std::uint32_t;

class Value {
 public:
  enum class Kind : std::uint8_t { Constant, Parameter, Local };

  static Value constant(Type type, double value);        // floating types
  static Value constant(Type type, std::int64_t value);  // any type; converted as in C++
  static Value constant(Type type, int value) { return constant(type, std::int64_t{value}); }
  static Value boolean(bool value) { return {Kind::Constant, ScalarType::Bool, value ? 1u : 0u}; }
  static Value zero(Type type) { return constant(type, std::int64_t{0}); }
  static Value from_bits(Type type, std::uint64_t bits) { return {Kind::Constant, type, bits}; }
  static Value parameter(Type type, std::uint32_t index) { return {Kind::Parameter, type, index}; }
  static Value local(Type type, LocalId id) { return {Kind::Local, type, id}; }

  Kind kind() const { return kind_; }
  Type type() const { return type_; }
  bool is_constant() const { return kind_ == Kind::Constant; }
  bool is_local() const { return kind_ == Kind::Local; }
  LocalId id() const { return static_cast<LocalId>(payload_); }                           // of a local
  std::uint32_t parameter_index() const { return static_cast<std::uint32_t>(payload_); }  // of a parameter

  // For a constant. Floating constants are stored as the bits of a double, integers as two's complement.
  std::uint64_t bits() const { return payload_; }
  double as_double() const;
  std::int64_t as_int() const;
  bool is_constant(double value) const { return is_constant() && as_double() == value; }

  friend bool operator==(const Value &, const Value &) = default;

 private:
  Value(Kind kind, Type type, std::uint64_t payload) : payload_(payload), kind_(kind), type_(type) {}

  std::uint64_t payload_;
  Kind kind_;
  Type type_;
};

}  // namespace samite::ir
