#include "samite/runtime/extents.h"

#include "samite/base/error.h"
#include "tests/runtime/message_of.h"

#include <vector>

namespace samite {
namespace {

using testing::HasSubstr;

TEST(Extents, HoldUpToFourDimensions) {
  Extents extents{2, 3, 4, 5};

  EXPECT_EQ(extents.rank(), 4);
  EXPECT_EQ(extents[0], 2);
  EXPECT_EQ(extents[3], 5);
  EXPECT_EQ(extents.count(), 120);
  EXPECT_EQ(extents.to_string(), "(2, 3, 4, 5)");
}

TEST(Extents, AreIntegersOfAnyType) {
  const std::vector<float> values(3);
  const unsigned char rows = 2;
  EXPECT_EQ((Extents{values.size(), rows, std::int64_t{5}}), (Extents{3, 2, 5}));
  EXPECT_THAT(message_of<UserError>([] { Extents{~std::uint64_t{0}}; }), HasSubstr("may not be negative"));
}

TEST(Extents, CompareByRankAndValues) {
  EXPECT_EQ((Extents{2, 3}), (Extents{2, 3}));
  EXPECT_NE((Extents{2, 3}), (Extents{3, 2}));
  EXPECT_NE((Extents{2}), (Extents{2, 0}));
}

TEST(Extents, MayBeZero) {
  EXPECT_EQ((Extents{4, 0}).count(), 0);
  EXPECT_EQ(Extents().count(), 0);
  EXPECT_EQ(Extents().rank(), 0);
}

TEST(Extents, RefuseAFifthDimension) {
  std::string message = message_of<UserError>([] { Extents{1, 2, 3, 4, 5}; });

  EXPECT_THAT(message, HasSubstr("at most 4 dimensions, 5 given: (1, 2, 3, 4, 5)"));
  EXPECT_THAT(message, HasSubstr("extents_test.cpp:"));
}

TEST(Extents, RefuseNoDimension) {
  std::vector<std::int64_t> none;
  EXPECT_THAT(message_of<UserError>([&] { Extents{std::span<const std::int64_t>(none)}; }),
              HasSubstr("at least one dimension"));
}

TEST(Extents, RefuseANegativeExtent) {
  EXPECT_THAT(message_of<UserError>([] { Extents{4, -1}; }), HasSubstr("dimension 1 of (4, -1) is -1"));
}

TEST(Extents, RefuseACountBeyond64Bits) {
  std::int64_t half = std::int64_t{1} << 32;
  EXPECT_THAT(message_of<UserError>([&] { Extents{half, half}; }),
              HasSubstr("(4294967296, 4294967296) hold more elements than 64 bits can count"));
}

}  // namespace
}  // namespace samite
