// Control flow on traced values.
//
//   for (Int i : range(n)) { … }                     // i = 0 … n - 1
//   for (Int i : range(begin, end, -2)) { … }        // counts down, `end` excluded; the step is a C++ integer
//   for (Int k : range(n, pipelined(3))) { … }       // tiles are loaded two iterations ahead
//   for (Int k : range(4, unrolled())) { … }         // captured four times, with constants
//   if_(x < 0, [&] { x = -x; });
//   if_(inside, [&] { … }, [&] { … });
//   while_([&] { return error > tolerance; }, [&] { … });
//   Float y = select(x > 0, x, 0);                   // both sides are computed
//   if_(error < tolerance, [&] { break_(); });       // leaves the innermost traced loop
//   if_(mass == 0, [&] { continue_(); });            // starts its next iteration
//   if_(i >= n, [&] { return_(); });                 // ends this instance of the kernel
//
// A function that returns early needs `returning`, because capture inlines it: `return_` then ends only that function.
//
//   Float safe_sqrt(Float x) {
//     return returning<Float>([&](auto return_) {
//       if_(x < 0, [&] { return_(0); });
//       return sqrt(x);
//     });
//   }
//
// The capture runs each body once; the kernel runs what was captured as often as the condition says. A local declared
// outside and assigned inside carries its value from iteration to iteration and out of the branch or loop. A native
// `break` or `return` out of a loop over a range is refused: it would leave the capture of the body, not the loop.
#pragma once

#include "samite/base/function_ref.h"
#include "samite/lang/array.h"

#include <initializer_list>
#include <utility>

namespace samite {
namespace lang {

// A `for` that is being captured.
class LoopCapture {
 public:
  LoopCapture(ScalarType type, ir::Value begin, ir::Value end, std::int64_t step, int stages, SourceLocation where);
  ir::Value open();  // opens the body; returns the index
  void close();      // closes the body and appends the loop

 private:
  ir::Value begin_, end_, step_;
  ScalarType type_;
  int stages_;
  SourceLocation where_;
  ir::LocalId index_ = 0;
  std::size_t depth_ = 0;  // of the body
};

template <Scalar T>
class Range {
 public:
  struct Sentinel {};
  class Iterator {
   public:
    explicit Iterator(Range &range) : range_(&range) {}
    bool operator!=(Sentinel) const { return !done_; }
    Traced<T> operator*() const { return Traced<T>::copy(range_->loop_.open(), range_->where_); }
    Iterator &operator++() {
      range_->loop_.close();
      done_ = true;
      return *this;
    }

   private:
    Range *range_;
    bool done_ = false;
  };

  Range(const Operand<T> &begin, const Operand<T> &end, std::int64_t step, int stages, SourceLocation where)
      : loop_(scalar_type_of<T>, begin.value(), end.value(), step, stages, where), where_(where) {}
  Iterator begin() { return Iterator(*this); }
  Sentinel end() { return {}; }

 private:
  LoopCapture loop_;
  SourceLocation where_;
};

// Loops over plain integers count in Int.
template <class... A>
using range_type =
    std::conditional_t<(... || (std::same_as<value_type_of<A>, std::int64_t>)), std::int64_t, std::int32_t>;
template <class... A>
concept RangeBounds = (... && std::convertible_to<const A &, Operand<range_type<A...>>>);
// Numbers that a range cannot have as bounds.
template <class A>
concept UncountedNumber = Number<A> && !std::convertible_to<const A &, Operand<range_type<A>>>;
struct cast_the_bounds;
struct the_step_is_a_cpp_integer;

template <class A, class B>
struct Selected : Meeting<A, B> {};
template <Scalar A, Scalar B>
struct Selected<A, B>
    : std::conditional<std::same_as<A, bool> == std::same_as<B, bool>, std::common_type_t<A, B>, void> {};
// The common type of two numbers; of two literals, C++'s common type.
template <class A, class B>
using selected_type = typename Selected<std::remove_cvref_t<A>, std::remove_cvref_t<B>>::type;

void branch(ir::Value condition, FunctionRef<void()> then, const FunctionRef<void()> *otherwise, SourceLocation where);
Int record_thread_index(int dimension, int rank, SourceLocation where);

// A function of `returning` that is being captured.
class FunctionCapture {
 public:
  explicit FunctionCapture(SourceLocation where);
  void close();
  ir::LabelId label() const { return label_; }

 private:
  SourceLocation where_;
  std::size_t depth_;
  ir::LabelId label_;
};
void leave_function(ir::LabelId label, SourceLocation where);
// UserError if the function with this label has ended: its Return must not be used afterwards.
void require_function(ir::LabelId label, SourceLocation where);

void loop_while(FunctionRef<ir::Value()> condition, FunctionRef<void()> body, SourceLocation where);

}  // namespace lang

// Bounds are Int, Int64 or integers that promote to Int; other bounds are refused.
template <class... A>
  requires(... || lang::UncountedNumber<A>)
lang::cast_the_bounds range(const A &...) = delete;  // bounds are integers: write range(cast<Int>(x))
template <class Begin, class End, lang::TracedValue Step>
lang::the_step_is_a_cpp_integer range(const Begin &, const End &, const Step &) = delete;  // not traced: use while_

template <class End>
  requires lang::RangeBounds<End>
auto range(const End &end, SourceLocation where = std::source_location::current()) {
  using T = lang::range_type<End>;
  return lang::Range<T>(Operand<T>(0, where), Operand<T>(end, where), 1, 1, where);
}
template <class Begin, class End>
  requires lang::RangeBounds<Begin, End>
auto range(const Begin &begin, const End &end, SourceLocation where = std::source_location::current()) {
  using T = lang::range_type<Begin, End>;
  return lang::Range<T>(Operand<T>(begin, where), Operand<T>(end, where), 1, 1, where);
}
// `step` is not zero; if it is negative, the range counts down from `begin` while above `end`.
template <class Begin, class End>
  requires lang::RangeBounds<Begin, End>
auto range(const Begin &begin, const End &end, int step, SourceLocation where = std::source_location::current()) {
  using T = lang::range_type<Begin, End>;
  return lang::Range<T>(Operand<T>(begin, where), Operand<T>(end, where), step, 1, where);
}

// For loops of tile kernels: prefetches what an iteration loads, so that the loads of `stages` iterations are in flight
// at once. Each tile that is loaded ahead takes that many times its memory on CUDA; on the CPU nothing changes. Loads
// that depend on anything but the loop's index are not prefetched, nor are any in a loop that writes to an array.
struct Pipelined {
  int stages;
};
// UserError unless there are 1 to 16.
Pipelined pipelined(int stages, SourceLocation where = std::source_location::current());

template <class End>
  requires lang::RangeBounds<End>
auto range(const End &end, Pipelined pipeline, SourceLocation where = std::source_location::current()) {
  using T = lang::range_type<End>;
  return lang::Range<T>(Operand<T>(0, where), Operand<T>(end, where), 1, pipeline.stages, where);
}
template <class Begin, class End>
  requires lang::RangeBounds<Begin, End>
auto range(const Begin &begin, const End &end, Pipelined pipeline,
           SourceLocation where = std::source_location::current()) {
  using T = lang::range_type<Begin, End>;
  return lang::Range<T>(Operand<T>(begin, where), Operand<T>(end, where), 1, pipeline.stages, where);
}

template <class Begin, class End>
  requires lang::RangeBounds<Begin, End>
auto range(const Begin &begin, const End &end, int step, Pipelined pipeline,
           SourceLocation where = std::source_location::current()) {
  using T = lang::range_type<Begin, End>;
  return lang::Range<T>(Operand<T>(begin, where), Operand<T>(end, where), step, pipeline.stages, where);
}

// A loop whose body is captured once for each iteration, with the index as a constant. Its bounds are integers of C++.
// break_ and continue_ in it act on the loop around it.
//
//   for (Int k : range(4, unrolled())) sum += x(4 * i + k) * weight(k);
struct Unrolled {};
inline Unrolled unrolled() { return {}; }

namespace lang {

class UnrolledRange {
 public:
  struct Sentinel {};
  class Iterator {
   public:
    Iterator(const UnrolledRange &range, std::int64_t at) : range_(&range), at_(at) {}
    bool operator!=(Sentinel) const { return range_->step_ > 0 ? at_ < range_->end_ : at_ > range_->end_; }
    Traced<std::int32_t> operator*() const {
      return Traced<std::int32_t>::copy(ir::Value::constant(ScalarType::Int32, at_), range_->where_);
    }
    Iterator &operator++() {
      at_ += range_->step_;
      return *this;
    }

   private:
    const UnrolledRange *range_;
    std::int64_t at_;
  };

  // UserError if the step is zero or there are too many iterations.
  UnrolledRange(std::int64_t begin, std::int64_t end, std::int64_t step, SourceLocation where);
  Iterator begin() const { return {*this, begin_}; }
  Sentinel end() const { return {}; }

 private:
  std::int64_t begin_, end_, step_;
  SourceLocation where_;
};

template <class... A>
constexpr void refuse_traced_bounds() {
  static_assert((std::integral<A> && ...),
                "an unrolled range has integers of C++ as bounds, as its iterations are captured one by one; leave "
                "unrolled() out where they are traced");
}

}  // namespace lang

template <class End>
auto range(const End &end, Unrolled, SourceLocation where = std::source_location::current()) {
  lang::refuse_traced_bounds<End>();
  return lang::UnrolledRange(0, end, 1, where);
}
template <class Begin, class End>
auto range(const Begin &begin, const End &end, Unrolled, SourceLocation where = std::source_location::current()) {
  lang::refuse_traced_bounds<Begin, End>();
  return lang::UnrolledRange(begin, end, 1, where);
}
template <class Begin, class End>
auto range(const Begin &begin, const End &end, int step, Unrolled,
           SourceLocation where = std::source_location::current()) {
  lang::refuse_traced_bounds<Begin, End>();
  return lang::UnrolledRange(begin, end, step, where);
}

template <std::invocable Then>
void if_(const Operand<bool> &condition, Then &&then) {
  lang::branch(condition.value(), then, nullptr, condition.where());
}
template <std::invocable Then, std::invocable Else>
void if_(const Operand<bool> &condition, Then &&then, Else &&otherwise) {
  const FunctionRef<void()> other = otherwise;
  lang::branch(condition.value(), then, &other, condition.where());
}

// `condition` is captured once and evaluated before each iteration.
template <std::invocable Condition, std::invocable Body>
  requires std::convertible_to<std::invoke_result_t<Condition>, Operand<bool>>
void while_(Condition &&condition, Body &&body, SourceLocation where = std::source_location::current()) {
  lang::loop_while([&] { return Operand<bool>(condition(), where).value(); }, body, where);
}

// Jumps: an instance that comes here skips what follows in program order. break_ and continue_ act on the innermost
// traced loop, and are an error outside of loops; inside a function of `returning`, loops outside of it do not count.
// return_ ends the instance, also when called in a plain C++ function, which is part of the kernel. None of them may
// leave the condition of a while_.
void break_(SourceLocation where = std::source_location::current());
void continue_(SourceLocation where = std::source_location::current());
void return_(SourceLocation where = std::source_location::current());

// Ends a function of `returning` early: `return_(value)`, or `return_()` if T is void. It also leaves the loops and
// functions in between.
template <class T>
class Return {
 public:
  Return(T &result, ir::LabelId function) : result_(&result), function_(function) {}
  void operator()(const T &value, SourceLocation where = std::source_location::current()) const {
    lang::require_function(function_, where);
    *result_ = value;
    lang::leave_function(function_, where);
  }

 private:
  T *result_;
  ir::LabelId function_;
};
template <>
class Return<void> {
 public:
  explicit Return(ir::LabelId function) : function_(function) {}
  void operator()(SourceLocation where = std::source_location::current()) const {
    lang::leave_function(function_, where);
  }

 private:
  ir::LabelId function_;
};

// Calls `function`, which takes a Return<T>, and returns its result: early through the Return, or at the end by a C++
// `return`, reached only if nothing returned earlier. T is a traced value or a struct of such, and is
// default-constructible.
template <class T = void, std::invocable<Return<T> &> F>
T returning(F &&function, SourceLocation where = std::source_location::current()) {
  if constexpr (std::is_void_v<T>) {
    lang::FunctionCapture capture(where);
    Return<void> return_(capture.label());
    function(return_);
    capture.close();
  } else {
    static_assert(!std::is_void_v<std::invoke_result_t<F, Return<T> &>>,
                  "returning<T>: the function has to end with `return value;`, for the instances that come so far");
    T result = [&] {
      if constexpr (std::constructible_from<T, SourceLocation> && !std::is_aggregate_v<T>)
        return T(where);
      else
        return T{};
    }();
    lang::FunctionCapture capture(where);
    Return<T> return_(result, capture.label());
    result = function(return_);
    capture.close();
    return result;
  }
}

// a if `condition` holds, else b. Two literals get their common C++ type: 1.0 and 0.0 give a Double.
template <lang::Number A, lang::Number B>
auto select(const Operand<bool> &condition, const A &a, const B &b) {
  using T = lang::selected_type<A, B>;
  static_assert(!std::is_void_v<T>, "select: the two values have types that do not meet; cast one of them");
  if constexpr (!std::is_void_v<T>)
    return Traced<T>::adopt(lang::record(
        ir::Op::Select, scalar_type_of<T>,
        {condition.value(), Operand<T>(a, condition.where()).value(), Operand<T>(b, condition.where()).value()},
        condition.where()));
}

// The index of this instance: one number for each dimension of the launch, the last one fastest. A kernel uses one
// rank throughout, and is launched over as many dimensions.
template <int Rank>
  requires(Rank >= 1 && Rank <= 4)
std::array<Int, Rank> thread_index(SourceLocation where = std::source_location::current()) {
  return [&]<std::size_t... D>(std::index_sequence<D...>) {
    return std::array<Int, Rank>{lang::record_thread_index(static_cast<int>(D), Rank, where)...};
  }(std::make_index_sequence<Rank>{});
}
Int thread_index(SourceLocation where = std::source_location::current());

// Converts as C++ does: towards zero from floating to integer (undefined if the value does not fit), modulo 2^n between
// integers, rounding to nearest between floating types.
template <class To, lang::TracedValue From>
  requires requires { typename To::value_type; }
To cast(const From &value, SourceLocation where = std::source_location::current()) {
  using T = lang::value_type_of<From>;
  return To::adopt(lang::record_cast(scalar_type_of<typename To::value_type>, Operand<T>(value, where).value(), where));
}

namespace lang {
struct cast_to_a_traced_type {};
}  // namespace lang
template <Scalar To, lang::TracedValue From>
lang::cast_to_a_traced_type cast(const From &) = delete;  // to a type of the kernel: write cast<Float>(x), cast<Int>(x)

}  // namespace samite
