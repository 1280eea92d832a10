// Moves and swaps of traced values, local arrays and structs of them: as those of scalars in C++, in straight line, in
// branches and in loops.
//
// Random sequences of operations on objects in a vector run as a kernel on traced values and as plain C++ on numbers,
// for each pattern of taken branches.

#include "samite/jit/gradient_check.h"
#include "samite/samite.h"
#include "tests/runtime/test_device.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace samite {
namespace {

const Device moves_device = test::device();

// The common interface of traced objects and their counterparts on the host.
struct OnHost {
  using Number = std::int32_t;
  using Numbers = std::array<std::int32_t, 3>;
  std::int32_t instance;

  template <class F>
  void branch(int bit, const F &body) const {
    if ((instance >> bit) % 2 == 1) body();
  }
  template <class F>
  static void loop(int count, const F &body) {
    for (int k = 0; k < count; ++k) body();
  }
};
struct InKernel {
  using Number = Int;
  using Numbers = LocalArray<std::int32_t, 3>;
  Int instance;

  template <class F>
  void branch(int bit, const F &body) const {
    if_((instance >> bit) % 2 == 1, body);
  }
  template <class F>
  static void loop(int count, const F &body) {
    for ([[maybe_unused]] Int k : range(count)) body();
  }
};

template <class Flow>
struct Body {
  typename Flow::Numbers places;
  Vector<typename Flow::Number, 2> direction;
};

// Each kind of object has three numbers.
struct Scalars {
  template <class Flow>
  using Object = typename Flow::Number;
  template <class O>
  static auto &number(O &object, int) {
    return object;
  }
};
struct Vectors {
  template <class Flow>
  using Object = Vector<typename Flow::Number, 3>;
  template <class O>
  static auto &number(O &object, int k) {
    return object[k];
  }
};
struct LocalArrays {
  template <class Flow>
  using Object = typename Flow::Numbers;
  template <class O>
  static decltype(auto) number(O &object, int k) {
    return object[static_cast<std::size_t>(k)];
  }
};
struct Structs {
  template <class Flow>
  using Object = Body<Flow>;
};

template <class Kind>
struct Program {
  unsigned seed;

  template <class Flow>
  std::vector<typename Flow::Number> operator()(const Flow &flow, const typename Flow::Number &first) const {
    using Number = typename Flow::Number;
    using Object = typename Kind::template Object<Flow>;
    std::mt19937 random(seed);
    auto draw = [&](std::size_t n) { return static_cast<int>(random() % n); };

    std::vector<Object> objects(4);
    objects.reserve(8);  // objects constructed in a branch or loop end there
    for (int i = 0; i < 4; ++i)
      for (int k = 0; k < 3; ++k) set(objects[static_cast<std::size_t>(i)], k, Number(first + (10 * i + k)));
    // Which objects a step is about is drawn once, whether its code runs once, several times or never.
    auto step = [&] {
      const auto i = static_cast<std::size_t>(draw(4)), j = static_cast<std::size_t>(draw(4));
      const int kind = draw(8), way = draw(3), bit = draw(4), inner = draw(4);
      auto work = [&] {
        switch (kind) {
          case 0: std::swap(objects[i], objects[j]); break;
          case 1: std::rotate(objects.begin(), objects.begin() + static_cast<int>(i), objects.end()); break;
          case 2: std::reverse(objects.begin(), objects.end()); break;
          case 3: {
            Object kept = std::move(objects[i]);
            objects[i] = objects[j];
            objects[j] = std::move(kept);
            break;
          }
          case 4: {
            Object copy = objects[j];
            objects.insert(objects.begin() + static_cast<int>(i), copy);
            objects.erase(objects.begin() + static_cast<int>(j));
            break;
          }
          case 5: {
            Object &self = objects[i];
            objects[i] = std::move(self);
            add(objects[i], objects[j]);
            break;
          }
          default: {
            // The value that was moved is changed before and after the object that it came from is assigned to.
            Object kept = std::move(objects[i]);
            auto change = [&] {
              add(kept, kept);
              objects[i] = kept;
              add(kept, objects[i]);
            };
            if (kind == 6)
              flow.branch(inner, change);
            else
              flow.loop(2, change);
            objects[i] = kept;
            add(objects[i], objects[j]);
          }
        }
      };
      if (way == 0) work();
      if (way == 1) flow.branch(bit, work);
      if (way == 2) flow.loop(3, work);
    };
    for (int n = 0; n < 8; ++n) step();

    std::vector<Number> numbers;
    for (Object &object : objects)
      for (int k = 0; k < 3; ++k) numbers.push_back(get(object, k));
    return numbers;
  }

 private:
  template <class O, class N>
  static void set(O &object, int k, const N &number) {
    if constexpr (std::same_as<Kind, Structs>) {
      if (k == 0)
        object.direction[1] = number;
      else
        object.places[static_cast<std::size_t>(k)] = number;
    } else {
      Kind::number(object, k) = number;
    }
  }
  template <class O>
  static auto get(O &object, int k) {
    using Number = std::remove_cvref_t<decltype(first_number(object))>;
    if constexpr (std::same_as<Kind, Structs>)
      return k == 0 ? Number(object.direction[1]) : Number(object.places[static_cast<std::size_t>(k)]);
    else
      return Number(Kind::number(object, k));
  }
  template <class O>
  static auto first_number(O &object) {
    if constexpr (requires { object.direction; })
      return object.direction[1];
    else if constexpr (std::same_as<O, LocalArray<std::int32_t, 3>>)
      return Int(object[0]);
    else if constexpr (requires { object[0]; })
      return object[0];
    else
      return object;
  }
  template <class O>
  static void add(O &to, O &what) {
    for (int k = 0; k < 3; ++k) set(to, k, (get(to, k) + get(what, 2 - k) + 1) % 1009);
  }
};

template <class Kind>
class Moves : public testing::Test {};
using Kinds = testing::Types<Scalars, Vectors, LocalArrays, Structs>;
TYPED_TEST_SUITE(Moves, Kinds);

TYPED_TEST(Moves, AreThoseOfScalars) {
  for (unsigned seed = 1; seed <= 6; ++seed) {
    const Program<TypeParam> program{seed};
    Kernel kernel{"moves", [&](Array<std::int32_t, 2> out) {
                    Int i = thread_index();
                    const std::vector<Int> numbers = program(InKernel{i}, i);
                    for (std::size_t k = 0; k < numbers.size(); ++k) out(i, k) = numbers[k];
                  }};
    Buffer<std::int32_t> out{moves_device, {16, 12}};
    kernel.launch({16}, out);
    std::vector<std::int32_t> expected;
    for (std::int32_t i = 0; i < 16; ++i)
      for (std::int32_t number : program(OnHost{i}, i)) expected.push_back(number);
    EXPECT_EQ(out.to_vector(), expected) << "seed " << seed;
  }
}

// x0 * 2 + x1 * x1, with x0 and x1 swapped as many times as the instance's number.
TEST(Moves, OfLocalArraysHaveGradients) {
  Kernel kernel{"swapped", [](Array<double, 1> y, Array<const double, 2> x) {
                  Int i = thread_index();
                  LocalArray<double, 1> a{x(i, 0)}, b{x(i, 1)};
                  for ([[maybe_unused]] Int k : range(i)) std::swap(a, b);
                  y(i) = a(0) * 2 + b(0) * b(0);
                }};
  Buffer<double> y{moves_device, {3}, Gradient::tracked};
  Buffer<double> x{moves_device, {3, 2}, {1, 2, 3, 4, 5, 6}, Gradient::tracked};
  auto [forward, adjoint] = kernel.record_with_adjoint({3}, y, x);
  forward.launch();
  EXPECT_EQ(y.to_vector(), (std::vector<double>{2 + 4, 8 + 9, 10 + 36}));
  y.gradient().fill(1);
  adjoint.launch();
  EXPECT_EQ(x.gradient().to_vector(), (std::vector<double>{2, 4, 6, 2, 2, 12}));
  EXPECT_TRUE(gradcheck(kernel, {3}, y, x).passed);
}

TEST(Moves, OfElementsExchangeWhatIsInTheArrays) {
  Kernel kernel{"exchange", [](Array<std::int32_t, 1> a, Array<Vec2i, 1> b) {
                  auto first = a(0), second = a(1);
                  std::swap(first, second);
                  swap(a(2), a(3));
                  auto one = b(0), other = b(1);
                  std::swap(one, other);
                  swap(b(2), b(3));
                }};
  Buffer<std::int32_t> a{moves_device, {4}, {1, 2, 3, 4}}, b{moves_device, {4, 2}, {1, 2, 3, 4, 5, 6, 7, 8}};
  kernel.launch({1}, a, b);
  EXPECT_EQ(a.to_vector(), (std::vector<std::int32_t>{2, 1, 4, 3}));
  EXPECT_EQ(b.to_vector(), (std::vector<std::int32_t>{3, 4, 1, 2, 7, 8, 5, 6}));
}

TEST(Moves, OfATileToItselfKeepIt) {
  TileKernel kernel{"itself", [](Array<float, 1> a) {
                      Tile<float> tile = tile::load(a, {0}, {4});
                      std::swap(tile, tile);
                      tile::store(a, {0}, tile + tile);
                    }};
  Buffer<float> a{moves_device, {4}, {1, 2, 3, 4}};
  kernel.launch({1}, a);
  EXPECT_EQ(a.to_vector(), (std::vector<float>{2, 4, 6, 8}));
}

}  // namespace
}  // namespace samite
