// The variables of pipelines (lang/func.h).
//
//   Var y{"y"}, x{"x"};
//   f(y, x) = cast<Float>(x) + input(y, x + 1);
//   Reduction k{"k", 0, 64};                       // k = 0 … 63
//   sum(y, x) += a(y, k) * b(k, x);
//   Reduction r{"r", {{-1, 3}, {-1, 3}}};          // r[0], r[1] = -1 … 1, named r0 and r1; the first is outermost
//   auto [dy, dx] = r;
//   r.where(dy * dy + dx * dx <= 1);
//
// A variable is an Int that is never assigned: it stands for all indices at which a Func is needed, or for the points
// of a reduction. A copy is the same variable, and in a pipeline two with one name are the same; a Reduction always has
// its own variables, whatever their names. Outside of a pipeline's function a Var is only a name, for schedules.
//
// UserError if a variable is used for computing outside of a pipeline's function, or a Reduction is made there.
#pragma once

#include "samite/base/name.h"
#include "samite/lang/array.h"

#include <span>
#include <string>
#include <tuple>
#include <vector>

namespace samite {

class Var : public lang::Operators<std::int32_t> {
 public:
  // The name is an identifier.
  Var(const char *name, SourceLocation where = std::source_location::current())
      : Var(Name(name, where).text(), where) {}
  Var(std::string name, SourceLocation where = std::source_location::current());
  Var(const Var &) = default;
  Var(Var &&) = default;
  ~Var() = default;

  template <class A>
  lang::cast_what_is_assigned operator=(const A &) = delete;  // a variable is not assigned: declare an Int
  Var &operator=(const Var &) = delete;                       // a variable is not assigned: declare an Int
  Var &operator=(Var &&) = delete;

  const std::string &name() const { return name_; }
  SourceLocation where() const { return where_; }

  // For the library: the variable as an operand, an i32, and one of a Reduction.
  ir::Value value(SourceLocation where) const;
  static Var of_reduction(std::string name, std::uint32_t serial, ir::LocalId local, SourceLocation where);

 private:
  Var(std::string name, SourceLocation where, std::uint32_t serial, ir::LocalId local)
      : name_(std::move(name)), where_(where), serial_(serial), local_(local) {}

  std::string name_;
  SourceLocation where_;
  std::uint32_t serial_ = 0;  // of the capture, if this is a variable of a Reduction
  ir::LocalId local_ = 0;
};

namespace lang {

// begin, begin + 1, …, begin + extent - 1.
struct Interval {
  Operand<std::int32_t> begin, extent;
};

// A Reduction of any rank.
class ReductionVariables {
 public:
  ReductionVariables(const std::string &name, std::span<const Interval> ranges, SourceLocation where);

  // UserError if there is no such dimension.
  const Var &variable(int dimension, SourceLocation where) const;
  void add_condition(const Operand<bool> &condition) const;
  // The number of the domain; UserError if it belongs to another pipeline.
  std::uint32_t domain(SourceLocation where) const;

 private:
  std::string name_;
  std::uint32_t serial_, domain_;
  std::vector<Var> variables_;
};

}  // namespace lang

// The points of a box, in order. Its extents are integers, traced or plain, that depend on no variable and no Func.
template <int Rank>
class Reduction {
 public:
  Reduction(const std::string &name, const lang::Interval (&ranges)[Rank],
            SourceLocation where = std::source_location::current())
      : variables_(name, ranges, where) {}

  Var operator[](int dimension) const { return variables_.variable(dimension, lang::latest_location()); }
  template <std::size_t dimension>
  Var get() const {
    return (*this)[static_cast<int>(dimension)];
  }

  // Keeps only the points where the condition, and those given before, hold. UserError if a definition has used the
  // Reduction already.
  const Reduction &where(const Operand<bool> &condition) const {
    variables_.add_condition(condition);
    return *this;
  }

  // For the library.
  const lang::ReductionVariables &variables() const { return variables_; }

 private:
  lang::ReductionVariables variables_;
};

// With one dimension: the variable itself.
template <>
class Reduction<1> : public Var {
 public:
  Reduction(const std::string &name, const Operand<std::int32_t> &begin, const Operand<std::int32_t> &extent,
            SourceLocation where = std::source_location::current())
      : Reduction(name, {{begin, extent}}, where) {}
  Reduction(const std::string &name, const lang::Interval (&ranges)[1],
            SourceLocation where = std::source_location::current())
      : Reduction(lang::ReductionVariables(name, ranges, where), where) {}

  Var operator[](int dimension) const { return variables_.variable(dimension, lang::latest_location()); }

  const Reduction &where(const Operand<bool> &condition) const {
    variables_.add_condition(condition);
    return *this;
  }

  const lang::ReductionVariables &variables() const { return variables_; }

 private:
  Reduction(lang::ReductionVariables variables, SourceLocation where)
      : Var(variables.variable(0, where)), variables_(std::move(variables)) {}

  lang::ReductionVariables variables_;
};

Reduction(const std::string &, const Operand<std::int32_t> &, const Operand<std::int32_t> &, SourceLocation = {})
    -> Reduction<1>;

// Refuses ranges of several dimensions without braces, in one line.
template <>
class Reduction<0> {
 public:
  template <class... As>
  Reduction(const std::string &, const As &...) {
    static_assert(
        sizeof...(As) == 0,
        "the range of each dimension has braces of its own: Reduction{\"r\", {{begin, extent}, {begin, extent}}}");
  }
};
template <class A, class B, std::convertible_to<Operand<std::int32_t>> C, class... Ds>
Reduction(const std::string &, const A &, const B &, const C &, const Ds &...) -> Reduction<0>;

namespace lang {
template <>
struct ValueType<Reduction<1>> : ValueType<Var> {};
}  // namespace lang

}  // namespace samite

template <int Rank>
// Structured bindings want it. NOLINTNEXTLINE(bugprone-std-namespace-modification)
struct std::tuple_size<samite::Reduction<Rank>> : std::integral_constant<std::size_t, Rank> {};
template <std::size_t dimension, int Rank>
// Structured bindings want it. NOLINTNEXTLINE(bugprone-std-namespace-modification)
struct std::tuple_element<dimension, samite::Reduction<Rank>> {
  using type = samite::Var;
};
