#include "samite/runtime/buffer.h"

#include "tests/runtime/cpu.h"
#include "tests/runtime/message_of.h"

#include <limits>
#include <numeric>

namespace samite {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using test::cpu;

// 0, 1, 2, … in row-major order.
Buffer<int> counting(const Extents &extents) {
  std::vector<int> values(static_cast<std::size_t>(extents.count()));
  std::iota(values.begin(), values.end(), 0);
  return Buffer<int>{cpu, extents, values};
}

TEST(BufferViews, SliceOneDimension) {
  Buffer<int> a = counting({3, 4});
  Buffer<int> column = a.slice(1, 2, 3);

  EXPECT_EQ(column.extents(), (Extents{3, 1}));
  EXPECT_THAT(column.to_vector(), ElementsAre(2, 6, 10));
  EXPECT_FALSE(column.is_contiguous());
  EXPECT_TRUE(a.slice(0, 1, 3).is_contiguous());

  column.fill(-1);
  EXPECT_THAT(a.slice(0, 1, 2).to_vector(), ElementsAre(4, 5, -1, 7));
}

TEST(BufferViews, SliceWithAStep) {
  Buffer<int> a = counting({10});

  EXPECT_THAT(a.slice(0, 1, 10, 3).to_vector(), ElementsAre(1, 4, 7));
  EXPECT_THAT(a.slice(0, 9, -1, -4).to_vector(), ElementsAre(9, 5, 1));
  EXPECT_THAT(a.slice(0, 9, -1, -1).slice(0, 0, 10, 5).to_vector(), ElementsAre(9, 4));
  EXPECT_THAT(a.slice(0, 3, -1, std::numeric_limits<std::int64_t>::min()).to_vector(), ElementsAre(3));
  EXPECT_EQ(a.slice(0, 10, 10).count(), 0);
}

TEST(BufferViews, PermuteDimensions) {
  Buffer<int> a = counting({2, 3, 4});
  Buffer<int> view = a.permute({2, 0, 1});

  EXPECT_EQ(view.extents(), (Extents{4, 2, 3}));
  EXPECT_EQ(view.at(3, 1, 2), a.at(1, 2, 3));
  EXPECT_EQ(a.transpose().extents(), (Extents{4, 3, 2}));
  EXPECT_TRUE(a.transpose().transpose().is_contiguous());
}

TEST(BufferViews, BroadcastRepeatsWithoutMemory) {
  Buffer<int> row{cpu, {3}, {1, 2, 3}};
  Buffer<int> column{cpu, {2, 1}, {1, 2}};

  EXPECT_THAT(row.broadcast({2, 3}).to_vector(), ElementsAre(1, 2, 3, 1, 2, 3));
  EXPECT_THAT(column.broadcast({2, 3}).to_vector(), ElementsAre(1, 1, 1, 2, 2, 2));
  EXPECT_EQ(column.broadcast({2, 3}).stride(1), 0);
  EXPECT_TRUE(row.broadcast({2, 3}).is_broadcast());
  EXPECT_FALSE(row.broadcast({1, 3}).is_broadcast());
}

TEST(BufferViews, ReshapeKeepsTheOrder) {
  Buffer<int> a = counting({2, 6});

  EXPECT_EQ(a.reshape({3, 4}).at(2, 1), 9);
  EXPECT_THAT(a.slice(0, 1, 2).reshape({6}).to_vector(), ElementsAre(6, 7, 8, 9, 10, 11));
}

TEST(BufferViews, LargeStridedCopyAgreesWithIndexing) {
  Buffer<int> a = counting({300, 500});
  std::vector<int> transposed = a.transpose().to_vector();

  for (std::size_t x = 0; x < 500; ++x)
    for (std::size_t y = 0; y < 300; ++y) ASSERT_EQ(transposed[x * 300 + y], static_cast<int>(y * 500 + x));
}

TEST(BufferViewsError, SliceOutside) {
  Buffer<int> a = counting({3, 4});

  std::string beyond = message_of<UserError>([&] { a.slice(1, 2, 5); });
  EXPECT_THAT(beyond, HasSubstr("slice from 2 to 5 with step 1 of dimension 1 does not fit Buffer<i32>(3, 4)"));
  EXPECT_THAT(beyond, HasSubstr("expected 0 <= begin <= end <= 4"));
  EXPECT_THAT(message_of<UserError>([&] { a.slice(0, 3, -1, -1); }), HasSubstr("expected -1 <= end <= begin < 3"));
  EXPECT_THAT(message_of<UserError>([&] { a.slice(0, 0, 2, 0); }), HasSubstr("a step other than 0"));
  EXPECT_THAT(message_of<UserError>([&] { a.slice(2, 0, 1); }), HasSubstr("has 2 dimensions, dimension 2"));
}

TEST(BufferViewsError, PermuteNotAnOrder) {
  Buffer<int> a = counting({3, 4});

  EXPECT_THAT(message_of<UserError>([&] { a.permute({0, 0}); }), HasSubstr("(0, 0) is no order of the 2 dimensions"));
  EXPECT_THAT(message_of<UserError>([&] { a.permute({0}); }), HasSubstr("expected each of 0 to 1 once"));
  EXPECT_THROW(a.permute({0, 2}), UserError);
  EXPECT_THROW(a.permute({0, 1, 2, 3, 4}), UserError);
}

TEST(BufferViewsError, BroadcastThatDoesNotFit) {
  Buffer<int> a = counting({3, 4});

  EXPECT_THAT(message_of<UserError>([&] { a.broadcast({2, 5, 4}); }),
              HasSubstr("dimension 0 has extent 3, which is neither 1 nor the 5 asked for"));
  EXPECT_THAT(message_of<UserError>([&] { a.broadcast({4}); }), HasSubstr("expected at least 2 dimensions, 1 given"));
}

TEST(BufferViewsError, ReshapeThatDoesNotFit) {
  Buffer<int> a = counting({3, 4});

  EXPECT_THAT(message_of<UserError>([&] { a.reshape({5}); }), HasSubstr("expected 12 elements, 5 given"));
  std::string strided = message_of<UserError>([&] { a.transpose().reshape({12}); });
  EXPECT_THAT(strided, HasSubstr("its strides are (1, 4)"));
  EXPECT_THAT(strided, HasSubstr("clone()"));
}

TEST(BufferViewsError, WriteToABroadcast) {
  Buffer<int> view = counting({1, 4}).broadcast({3, 4});

  std::string message = message_of<UserError>([&] { view.fill(1); });
  EXPECT_THAT(message, HasSubstr("broadcast view and read-only"));
  EXPECT_THAT(message, HasSubstr("its 3 indices in dimension 0 share one element"));
  EXPECT_THROW(view.copy_from(view.clone()), UserError);
  EXPECT_THROW(view.copy_from(std::vector<int>(12)), UserError);
  EXPECT_THROW(view.set({0, 0}, 1), UserError);
}

TEST(BufferViews, WithoutElementsAreNoBroadcastViews) {
  Buffer<float> none{Device::cpu(), {6, 0}};
  EXPECT_FALSE(none.is_broadcast());
  none.fill(1);
}

}  // namespace
}  // namespace samite
