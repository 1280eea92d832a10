// Launches that are certain to leave an array are refused before they run; others are not.
#include "samite/jit/out_of_bounds.h"
#include "samite/samite.h"
#include "tests/jit/on_device.h"
#include "tests/runtime/message_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace samite {
namespace {

using test::on_device::device;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST(OutOfBounds, AnArrayThatIsShorterThanAnotherIsRefused) {
  Kernel scale{"scale", {"y", "x"}, [](Array<float, 1> y, Array<const float, 1> x) {
                 Int i = thread_index();
                 y(i) = 2 * x(i);
               }};
  Buffer<float> y{device, {5}}, x{device, {3}}, longer{device, {7}};
  EXPECT_THAT(message_of<UserError>([&] { scale.launch({5}, y, x); }),
              AllOf(HasSubstr("argument 1 ('x') has extent 3 in dimension 0"), HasSubstr("a launch over (5) reads it"),
                    HasSubstr("at indices 0 to 4"), HasSubstr("out_of_bounds_test.cpp:"), HasSubstr("launched at")));
  EXPECT_THAT(message_of<UserError>([&] { scale.record({6}, y, longer); }),
              AllOf(HasSubstr("argument 0 ('y') has extent 5"), HasSubstr("writes to it at indices 0 to 5")));
  scale.launch({3}, y, x);
  scale.launch({0}, y, x);
}

TEST(OutOfBounds, NeighboursBeyondTheEndsAreRefused) {
  Kernel difference{"difference", {"y", "x"}, [](Array<float, 1> y, Array<const float, 1> x) {
                      Int i = thread_index();
                      y(i) = x(i + 1) - x(i - 1);
                    }};
  Buffer<float> y{device, {4}}, x{device, {5}};
  EXPECT_THAT(message_of<UserError>([&] { difference.launch({4}, y, x); }), HasSubstr("at indices -1 to 2"));
  EXPECT_THROW(difference.launch({1}, y, x), UserError);
}

TEST(OutOfBounds, LoopsWhoseBoundsAreTheSameForAllCount) {
  Kernel sum{"sum", {"y", "x", "w"}, [](Array<float, 1> y, Array<const float, 2> x, Array<const float, 1> w) {
               Int i = thread_index();
               for (Int k : range(w.extent(0))) y(i) += x(i, k) * w(k);
             }};
  Buffer<float> y{device, {2}}, x{device, {2, 3}}, w{device, {4}};
  sum.launch({2}, y, x, w.slice(0, 0, 3));
  EXPECT_THAT(message_of<UserError>([&] { sum.launch({2}, y, x, w); }),
              AllOf(HasSubstr("argument 1 ('x') has extent 3 in dimension 1"), HasSubstr("at indices 0 to 3")));
  const Buffer<float> none = w.slice(0, 0, 0);
  sum.launch({3}, y, x, none);
  EXPECT_THROW(sum.launch({3}, y, x, w.slice(0, 0, 1)), UserError);
}

TEST(OutOfBounds, WhatMayNotHappenIsNotRefused) {
  Kernel guarded{"guarded", {"y", "x"}, [](Array<float, 1> y, Array<const float, 1> x) {
                   Int i = thread_index();
                   if_(i < x.extent(0), [&] { y(i) = x(i); });
                 }};
  Kernel returned{"returned", {"y", "x"}, [](Array<float, 1> y, Array<const float, 1> x) {
                    Int i = thread_index();
                    if_(i >= x.extent(0), [] { return_(); });
                    y(i) = x(i);
                  }};
  Kernel clamped{"clamped", {"y", "x"}, [](Array<float, 1> y, Array<const float, 1> x) {
                   Int i = thread_index();
                   y(i) = x(min(i, x.extent(0) - 1));
                 }};
  Kernel looped{"looped", {"y", "x"}, [](Array<float, 1> y, Array<const float, 1> x) {
                  Int i = thread_index();
                  while_([&] { return i < x.extent(0); },
                         [&] {
                           y(i) = x(i);
                           i += x.extent(0);
                         });
                }};
  Buffer<float> y{device, {4}}, x{device, {2}, {1, 2}};
  for (const auto *kernel : {&guarded, &returned, &clamped, &looped}) kernel->launch({4}, y, x);
  EXPECT_THAT(y.to_vector(), ElementsAre(1, 2, 2, 2));
}

// 65536 * 65536 is 0 in 32 bits.
TEST(OutOfBounds, AnIndexThatWrapsAroundIsNotRefused) {
  Kernel wraps{"wraps", {"y"}, [](Array<float, 1> y) {
                 Int i = thread_index();
                 y(i * 65536 * 65536 + 1) = 1;
               }};
  Kernel widened{"widened", {"y"}, [](Array<float, 1> y) {
                   Int i = thread_index();
                   y(cast<Int64>(i * 65536 * 65536) + 1) = 1;
                 }};
  Kernel far{"far", {"y"}, [](Array<float, 1> y) {
               Int i = thread_index();
               y(i * 65536) = 1;
             }};
  Buffer<float> y{device, {2}};
  wraps.launch({2}, y);
  widened.launch({2}, y);
  EXPECT_THAT(y.to_vector(), ElementsAre(0, 1));
  EXPECT_THROW(far.launch({2}, y), UserError);
}

TEST(OutOfBounds, ARecordedLaunchIsCheckedWhenItIsEdited) {
  Kernel shift{"shift", {"y", "x"}, [](Array<float, 1> y, Array<const float, 1> x) {
                 Int i = thread_index();
                 y(i) = x(i + 1);
               }};
  Buffer<float> y{device, {3}}, x{device, {4}, {1, 2, 3, 4}}, shorter{device, {2}};
  Launch launch = shift.record({3}, y, x);
  EXPECT_THROW(launch.set("x", shorter), UserError);
  EXPECT_THAT(message_of<UserError>([&] { launch.set_dim({4}); }), HasSubstr("at indices 1 to 4"));
  launch.launch();
  EXPECT_THAT(y.to_vector(), ElementsAre(2, 3, 4)) << "as it was";
  launch.set_dim({1});
  launch.set("x", shorter);
  launch.launch();
  EXPECT_THAT(y.to_vector(), ElementsAre(0, 3, 4));
}

TEST(OutOfBounds, AnIndexThatAScalarArgumentShiftsIsRefused) {
  Kernel shifted{"shifted", {"y", "x", "by"}, [](Array<float, 1> y, Array<const float, 1> x, Int by) {
                   Int i = thread_index();
                   y(i) = x(i + by);
                 }};
  Buffer<float> y{device, {3}}, x{device, {5}, {1, 2, 3, 4, 5}};
  shifted.launch({3}, y, x, 2);
  EXPECT_THAT(y.to_vector(), ElementsAre(3, 4, 5));
  EXPECT_THAT(message_of<UserError>([&] { shifted.launch({3}, y, x, 3); }),
              AllOf(HasSubstr("argument 1 ('x') has extent 5 in dimension 0"), HasSubstr("at indices 3 to 5"),
                    HasSubstr("out_of_bounds_test.cpp:")));
  EXPECT_THAT(message_of<UserError>([&] { shifted.launch({3}, y, x, -1); }), HasSubstr("at indices -1 to 1"));
  EXPECT_THROW(shifted.record({3}, y, x, 3), UserError);
  Kernel same{"same", {"y", "n"}, [](Array<float, 1> y, Int n) { y(thread_index() + n - n) = 1; }};
  same.launch({3}, y, 1 << 20);
  EXPECT_THAT(y.to_vector(), ElementsAre(1, 1, 1));
}

TEST(OutOfBounds, ScalarArgumentsOfEveryWidthAreReadAsTheyAre) {
  const auto check = [](auto zero) {
    using T = decltype(zero);
    Kernel shifted{"shifted", {"x", "by"}, [](Array<float, 1> x, Traced<T> by) { x(thread_index() + by) = 1; }};
    Buffer<float> x{device, {5}};
    shifted.launch({3}, x, T(2));
    EXPECT_THAT(x.to_vector(), ElementsAre(0, 0, 1, 1, 1));
    EXPECT_THAT(message_of<UserError>([&] { shifted.launch({3}, x, T(4)); }), HasSubstr("at indices 4 to 6"));
    if constexpr (std::is_signed_v<T>)
      EXPECT_THAT(message_of<UserError>([&] { shifted.launch({3}, x, T(-2)); }), HasSubstr("at indices -2 to 0"));
  };
  check(std::int32_t{}), check(std::int64_t{});
}

// An edited scalar is checked during the edit, so that launch() checks nothing.
TEST(OutOfBounds, AScalarOfARecordedLaunchIsCheckedWhenItIsEdited) {
  Kernel shifted{
      "shifted", {"y", "x", "by", "count"}, [](Array<float, 1> y, Array<const float, 1> x, Int by, Int count) {
        Int i = thread_index();
        y(i) = 0;
        for (Int k : range(count)) y(i) += x(i + k + by);
      }};
  Buffer<float> y{device, {2}, Gradient::tracked}, x{device, {4}, {1, 2, 3, 4}, Gradient::tracked};
  Launch launch = shifted.record({2}, y, x, 0, 2);
  EXPECT_THAT(message_of<UserError>([&] { launch.set("by", 2); }),
              AllOf(HasSubstr("at indices 2 to 4"), HasSubstr("set at")));
  EXPECT_THROW(launch.set("count", 4), UserError);
  launch.launch();
  EXPECT_THAT(y.to_vector(), ElementsAre(3, 5)) << "as it was";
  launch.set("by", 1);
  launch.launch();
  EXPECT_THAT(y.to_vector(), ElementsAre(5, 7));
  launch.set("count", 0);
  launch.set("by", 100);
  Launch adjoint = shifted.record({2}, {.direction = Direction::adjoint}, y, x, 0, 2);
  EXPECT_THROW(adjoint.set("by", 2), UserError);
  adjoint.set("by", 1);
}

TEST(OutOfBounds, AnAdjointIsAskedForWhatItTouches) {
  Kernel add{"add", {"y", "x", "shift"}, [](Array<float, 1> y, Array<const float, 1> x, Array<const float, 1> shift) {
               Int i = thread_index();
               y(i) = x(i) + shift(i);
             }};
  Buffer<float> y{device, {3}, Gradient::tracked}, x{device, {3}, Gradient::tracked}, shift{device, {1}};
  y.gradient().fill(1);
  add.launch({3}, {.direction = Direction::adjoint}, y, x, shift);
  EXPECT_THAT(x.gradient().to_vector(), ElementsAre(1, 1, 1)) << "the adjoint reads no element of `shift`";
  EXPECT_THROW(add.launch({4}, {.direction = Direction::adjoint}, y, x, shift), UserError);
}

TEST(OutOfBounds, DebugModeNamesTheInstanceInstead) {
  Kernel copy{
      "copy", {"y", "x"}, [](Array<float, 1> y, Array<const float, 1> x) { y(thread_index()) = x(thread_index()); }};
  Buffer<float> y{device, {3}}, x{device, {2}};
  EXPECT_THAT(message_of<UserError>([&] { copy.launch({3}, {.debug = true}, y, x); }), Not(HasSubstr("at indices")));
}

// An index as a sum of multiples: of both thread indices, a loop's index, three extents and a scalar argument.
struct Sum {
  std::int64_t constant = 0, i = 0, j = 0, k = 0, n = 0, m = 0, extent = 0;  // n and m are extents of other arrays
  std::int64_t scalar = 0;

  std::int64_t at(std::int64_t i_, std::int64_t j_, std::int64_t k_, std::int64_t n_, std::int64_t m_,
                  std::int64_t extent_, std::int64_t scalar_) const {
    return constant + i * i_ + j * j_ + k * k_ + n * n_ + m * m_ + extent * extent_ + scalar * scalar_;
  }
};

struct RandomAccess {
  enum class Place { plain, in_branch, after_return, in_loop } place;
  Sum index;
  bool in_64_bits, writes;
  Sum begin, end;  // of the loop, in n and m
  std::int64_t step;

  explicit RandomAccess(std::mt19937 &random) {
    const auto number = [&](int from, int to) { return std::uniform_int_distribution<std::int64_t>(from, to)(random); };
    place = static_cast<Place>(number(0, 3));
    index = {number(-2, 3),
             number(-2, 2),
             number(-1, 2),
             place == Place::in_loop ? number(-2, 2) : 0,
             number(-1, 1),
             number(-1, 1),
             number(0, 3) == 0 ? number(-1, 1) : 0,
             number(0, 1) == 0 ? number(-2, 2) : 0};
    in_64_bits = number(0, 1);
    writes = number(0, 1);
    begin = {.constant = number(-2, 2), .n = number(0, 1)};
    end = {.constant = number(-2, 5), .m = number(0, 1), .scalar = number(0, 2) == 0 ? 1 : 0};
    step = number(0, 1) ? number(1, 3) : number(-3, -1);
  }

  template <class Integer>
  void capture_as(Array<float, 1> y, Int i, Int j, Int n, Int m, Int scalar) const {
    const auto value = [&](const Sum &sum, const Integer &k) {
      const auto times = [](std::int64_t factor, const auto &of) {
        return static_cast<typename Integer::value_type>(factor) * cast<Integer>(of);
      };
      return Integer(static_cast<typename Integer::value_type>(sum.constant)) + times(sum.i, i) + times(sum.j, j) +
             times(sum.k, k) + times(sum.n, n) + times(sum.m, m) + times(sum.extent, y.extent(0)) +
             times(sum.scalar, scalar);
    };
    const auto access = [&](const Integer &k) {
      if (writes)
        y(value(index, k)) = 1;
      else
        y(0) += y(value(index, k));
    };
    const Integer zero = 0;
    switch (place) {
      case Place::plain: return access(zero);
      case Place::in_branch: return if_(i > 100, [&] { access(zero); });
      case Place::after_return: if_(i > -1, [] { return_(); }); return access(zero);
      case Place::in_loop:
        for (Integer k : range(value(begin, zero), value(end, zero), static_cast<int>(step))) access(k);
    }
  }
  void capture(Array<float, 1> y, Array<const float, 1> n, Array<const float, 1> m, Int scalar) const {
    auto [i, j] = thread_index<2>();
    if (in_64_bits)
      capture_as<Int64>(y, i, j, n.extent(0), m.extent(0), scalar);
    else
      capture_as<Int>(y, i, j, n.extent(0), m.extent(0), scalar);
  }

  // Loops in larger steps are rewritten to count their iterations, and consequences of their bounds are lost; so is
  // whether a 32-bit number was negative before it was widened.
  bool is_exact() const { return (place != Place::in_loop || step * step == 1) && !in_64_bits; }

  // Whether it happens for certain, and leaves an array of `extent` elements.
  bool leaves(std::int64_t rows, std::int64_t columns, std::int64_t n, std::int64_t m, std::int64_t extent,
              std::int64_t scalar) const {
    if (place == Place::in_branch || place == Place::after_return) return false;
    std::vector<std::int64_t> ks{0};
    if (place == Place::in_loop) {
      ks.clear();
      const std::int64_t first = begin.at(0, 0, 0, n, m, 0, scalar), last = end.at(0, 0, 0, n, m, 0, scalar);
      for (std::int64_t k = first; step > 0 ? k < last : k > last; k += step) ks.push_back(k);
    }
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < columns; ++j)
        for (const std::int64_t k : ks) {
          const std::int64_t at = index.at(i, j, k, n, m, extent, scalar);
          if (at < 0 || at >= extent) return true;
        }
    return false;
  }
};

// Each answer against all indices of all instances, one by one.
TEST(OutOfBounds, IsRefusedExactlyWhereSomeInstanceLeaves) {
  std::mt19937 random(7);
  int refused = 0, accepted = 0;
  for (int round = 0; round < 400; ++round) {
    const RandomAccess access(random);
    const Kernel kernel{"random",
                        {"y", "n", "m", "s"},
                        [&](Array<float, 1> y, Array<const float, 1> n, Array<const float, 1> m, Int s) {
                          access.capture(y, n, m, s);
                        }};
    for (int launch = 0; launch < 8; ++launch) {
      const auto number = [&](int from, int to) {
        return std::uniform_int_distribution<std::int64_t>(from, to)(random);
      };
      const std::int64_t rows = number(0, 4), columns = number(1, 4), n = number(0, 4), m = number(0, 4),
                         scalar = number(-3, 3);
      Buffer<float> y{Device::cpu(), {number(1, 12)}}, of_n{Device::cpu(), {n}}, of_m{Device::cpu(), {m}};
      const jit::Argument arguments[] = {
          {&y, 0}, {&of_n, 0}, {&of_m, 0}, {nullptr, static_cast<std::uint32_t>(scalar)}};
      const bool leaves = access.leaves(rows, columns, n, m, y.extent(0), scalar);
      bool is_refused = false;
      try {
        jit::check_bounds(*kernel.definition(), Extents{rows, columns}, arguments);
      } catch (const UserError &) {
        is_refused = true;
      }
      ++(is_refused ? refused : accepted);
      if (access.is_exact() || is_refused) EXPECT_EQ(is_refused, leaves) << "round " << round << "\n" << kernel.ir();
    }
  }
  EXPECT_GT(refused, 300);
  EXPECT_GT(accepted, 300);
}

}  // namespace
}  // namespace samite
