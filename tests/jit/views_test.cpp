// Kernels on views of buffers, forward and adjoint: strided, reversed, transposed, broadcast, indexed.
#include "samite/samite.h"
#include "tests/jit/on_device.h"
#include "tests/runtime/message_of.h"

#include <gmock/gmock.h>

#include <numeric>

namespace samite::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using on_device::device;

auto squares() {
  return Kernel{"squares", {"out", "in"}, [](Array<double, 2> out, Array<const double, 2> in) {
                  auto [i, j] = thread_index<2>();
                  out(i, j) = in(i, j) * in(i, j);
                }};
}

std::vector<double> counted(std::size_t n) {
  std::vector<double> values(n);
  std::iota(values.begin(), values.end(), 1);
  return values;
}

// Launches `squares` from one view to another, and back; every element must match indexing on the host.
void expect_squares(const Buffer<double> &out, const Buffer<double> &in) {
  squares().launch(out.extents(), out, in);
  for (std::int64_t i = 0; i < out.extent(0); ++i)
    for (std::int64_t j = 0; j < out.extent(1); ++j) EXPECT_EQ(out.at(i, j), in.at(i, j) * in.at(i, j));
  out.gradient().fill(1);
  squares().launch(out.extents(), {.direction = Direction::adjoint}, out, in);
  for (std::int64_t i = 0; i < out.extent(0); ++i)
    for (std::int64_t j = 0; j < out.extent(1); ++j) EXPECT_EQ(out.gradient().at(i, j), 0);
}

TEST(Views, StridedAndReversedSlices) {
  Buffer<double> in(device, {6, 40}, counted(240), Gradient::tracked), out(device, {3, 80}, Gradient::tracked);
  Buffer<double> from = in.slice(0, 5, -1, -2).slice(1, 1, 40, 3), to = out.slice(1, 78, -1, -6).slice(1, 0, 13);
  expect_squares(to, from);
  for (std::int64_t i = 0; i < 6; ++i)
    for (std::int64_t j = 0; j < 40; ++j)
      EXPECT_EQ(in.gradient().at(i, j), i % 2 == 1 && j % 3 == 1 ? 2 * in.at(i, j) : 0) << i << ", " << j;
  EXPECT_EQ(out.at(0, 1), 0) << "what lies between is not touched";
}

TEST(Views, Transposed) {
  Buffer<double> in(device, {7, 20}, counted(140), Gradient::tracked), out(device, {20, 7}, Gradient::tracked);
  expect_squares(out, in.transpose());
  expect_squares(out.transpose(), in);
  EXPECT_EQ(in.gradient().at(3, 11), 4 * in.at(3, 11)) << "of both launches";
}

TEST(Views, BroadcastAlongEachDimension) {
  Buffer<double> row(device, {1, 33}, counted(33), Gradient::tracked),
      column(device, {9, 1}, counted(9), Gradient::tracked);
  Buffer<double> out(device, {9, 33}, Gradient::tracked);
  expect_squares(out, row.broadcast({9, 33}));
  expect_squares(out, column.broadcast({9, 33}));
  EXPECT_EQ(row.gradient().at(0, 32), 9 * 2 * 33.) << "no addition is lost where instances share an element";
  EXPECT_EQ(column.gradient().at(8, 0), 33 * 2 * 9.);
}

TEST(Views, BroadcastOverManyThreads) {
  constexpr std::int64_t n = 1 << 20;
  Kernel scale{"scale", [](Array<double, 1> out, Array<const double, 1> factor, Array<const double, 1> in) {
                 Int i = thread_index();
                 out(i) = factor(i) * in(i);
               }};
  Buffer<double> factor(device, {1}, {3}, Gradient::tracked), in(device, {n}), out(device, {n}, Gradient::tracked);
  in.fill(1);
  out.gradient().fill(1);
  scale.launch({n}, {.direction = Direction::adjoint}, out, factor.broadcast({n}), in);
  EXPECT_EQ(factor.gradient().at(0), static_cast<double>(n));
}

TEST(Views, TwoThatInterleaveInOneBuffer) {
  Buffer<double> both(device, {2, 6}, counted(12), Gradient::tracked);
  Buffer<double> even = both.slice(1, 0, 6, 2), odd = both.slice(1, 1, 6, 2);
  Kernel product{"product", [](Array<double, 2> out, Array<const double, 2> a, Array<const double, 2> b) {
                   auto [i, j] = thread_index<2>();
                   out(i, j) = a(i, j) * b(i, j);
                 }};
  Buffer<double> out(device, {2, 3}, Gradient::tracked);
  product.launch({2, 3}, out, even, odd);
  EXPECT_THAT(out.to_vector(), ElementsAre(2, 12, 30, 56, 90, 132));
  out.gradient().fill(1);
  product.launch({2, 3}, {.direction = Direction::adjoint}, out, even, odd);
  EXPECT_THAT(both.gradient().to_vector(), ElementsAre(2, 1, 4, 3, 6, 5, 8, 7, 10, 9, 12, 11));
}

TEST(Views, AtomicAdditionsIntoATransposedOne) {
  Kernel count{"count", [](Array<std::int32_t, 2> counts) {
                 Int i = thread_index();
                 atomic_add(counts(i % 2, i % 3), 1);
               }};
  Buffer<std::int32_t> counts(device, {3, 2});
  count.launch({600}, counts.transpose());
  EXPECT_THAT(counts.to_vector(), ElementsAre(100, 100, 100, 100, 100, 100));
}

TEST(Views, IndexedForwardAndAdjoint) {
  Kernel pick{"pick", [](Array<double, 1> out, Array<const double, 1> in, Array<const std::int32_t, 1> order) {
                Int i = thread_index();
                out(i) = indexed(in, order)(i) * 10;
              }};
  Buffer<double> in(device, {5}, {1, 2, 3, 4, 5}, Gradient::tracked), out(device, {4}, Gradient::tracked);
  Buffer<std::int32_t> order(device, {4}, {4, 0, 4, 2});
  pick.launch({4}, out, in, order);
  EXPECT_THAT(out.to_vector(), ElementsAre(50, 10, 50, 30));
  out.gradient().copy_from({1, 2, 3, 4});
  pick.launch({4}, {.direction = Direction::adjoint}, out, in, order);
  EXPECT_THAT(in.gradient().to_vector(), ElementsAre(20, 0, 40, 0, 40));
}

TEST(Views, IndexedStores) {
  Kernel place{"place", [](Array<double, 2> out, Array<const double, 2> in, Array<const std::int64_t, 1> rows) {
                 auto [i, j] = thread_index<2>();
                 indexed(out, rows)(i, j) = in(i, j);
               }};
  Buffer<double> in(device, {2, 2}, {1, 2, 3, 4}, Gradient::tracked), out(device, {3, 2}, Gradient::tracked);
  Buffer<std::int64_t> rows(device, {2}, {2, 0});
  place.launch({2, 2}, out, in, rows);
  EXPECT_THAT(out.to_vector(), ElementsAre(3, 4, 0, 0, 1, 2));
  out.gradient().copy_from({1, 2, 3, 4, 5, 6});
  place.launch({2, 2}, {.direction = Direction::adjoint}, out, in, rows);
  EXPECT_THAT(in.gradient().to_vector(), ElementsAre(5, 6, 1, 2));
}

TEST(Views, AStoreIntoABroadcastViewIsRefused) {
  Buffer<double> one(device, {1, 3}), in(device, {2, 3});
  std::string message = message_of<UserError>([&] { squares().launch({2, 3}, one.broadcast({2, 3}), in); });
  EXPECT_THAT(message, HasSubstr("argument 0 ('out') expects a buffer of f64 with rank 2"));
  EXPECT_THAT(message,
              HasSubstr("a broadcast view whose indices share elements, is given, and the kernel writes to it: "
                        "clone() it first"));
}

TEST(Views, BorrowedMemoryIsLaunchedOnInPlace) {
  SAMITE_ON_THE_CPU();
  const std::vector<double> in{1, 2, 3};
  std::vector<double> out(3);
  squares().launch({1, 3}, borrow(Device::cpu(), out.data(), {1, 3}), borrow(Device::cpu(), in.data(), {1, 3}));
  EXPECT_THAT(out, ElementsAre(1, 4, 9));
}

TEST(Views, AStoreIntoBorrowedMemoryThatIsReadOnlyIsRefused) {
  const std::vector<double> in{1, 2, 3};
  const Buffer<double> buffer = borrow(Device::cpu(), in.data(), {1, 3});
  std::string message = message_of<UserError>([&] { squares().launch({1, 3}, buffer, buffer); });
  EXPECT_THAT(message, HasSubstr("argument 0 ('out') expects a buffer of f64 with rank 2"));
  EXPECT_THAT(message, HasSubstr("borrowed memory that is read-only, is given, and the kernel writes to it: "
                                 "borrow it for writing, or give a clone()"));
}

}  // namespace
}  // namespace samite::test
