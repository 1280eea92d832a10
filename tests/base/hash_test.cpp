#include "samite/base/hash.h"

#include <gtest/gtest.h>

namespace samite {
namespace {

TEST(Hash, EqualPartsHaveEqualHashes) { EXPECT_EQ(hash_of({"source", "flags"}), hash_of({"source", "flags"})); }

TEST(Hash, PartsAreToldApartByTheirLengths) {
  EXPECT_NE(hash_of({"ab", "c"}), hash_of({"a", "bc"}));
  EXPECT_NE(hash_of({"a", ""}), hash_of({"a"}));
}

// The cache outlives programs, so a hash may depend on nothing but its input.
TEST(Hash, IsTheSameInEveryProcess) {
  EXPECT_EQ(hash_of({}).hex(), "99aa06d3014798d86001c324468d497f") << "XXH3-128 of nothing, from its specification";
}

TEST(Hash, AddingInStepsIsAddingAtOnce) {
  Hasher hasher;
  hasher.add("source").add("flags");
  EXPECT_EQ(hasher.result(), hash_of({"source", "flags"}));
}

TEST(Hash, HexHasThirtyTwoDigitsAndReadsBack) {
  const Hash128 value{0x0123456789abcdefULL, 0x00000000000000ffULL};
  EXPECT_EQ(value.hex(), "0123456789abcdef00000000000000ff");
  EXPECT_EQ(hash_from_hex(value.hex()), value);
}

TEST(Hash, TextThatIsNoHashIsRefused) {
  EXPECT_FALSE(hash_from_hex("0123"));
  EXPECT_FALSE(hash_from_hex("0123456789abcdef00000000000000fg"));
}

}  // namespace
}  // namespace samite
