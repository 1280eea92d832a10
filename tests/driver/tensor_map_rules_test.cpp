#include "samite/driver/tensor_map_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <random>

namespace samite::driver {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

// A matrix of 256 rows of 512 values, in boxes of 64 x 64.
TiledTensor matrix_of_bf16() {
  TiledTensor t;
  t.type = TensorType::bf16;
  t.rank = 2;
  t.address = 0x7f0000000100;
  t.extents = {512, 256};
  t.strides = {1024};
  t.box = {64, 64};
  t.swizzle = Swizzle::bytes_128;
  return t;
}

// Eight bytes of channels, interleaved: NC/16HWC16 in the driver's words.
TiledTensor interleaved() {
  TiledTensor t;
  t.type = TensorType::f16;
  t.rank = 3;
  t.address = 0x7f0000000100;
  t.extents = {16, 32, 32};
  t.strides = {512, 16384};
  t.box = {16, 8, 8};
  t.interleave = Interleave::bytes_32;
  t.swizzle = Swizzle::bytes_32;
  return t;
}

TiledTensor packed(TensorType type) {
  TiledTensor t = matrix_of_bf16();
  t.type = type;
  t.extents = {1024, 256};
  t.box = {128, 64};
  return t;
}

// A batch of 8 images of 64 x 56 pixels with 128 channels.
Im2colTensor images() {
  Im2colTensor t;
  t.type = TensorType::f16;
  t.rank = 4;
  t.address = 0x7f0000000100;
  t.extents = {128, 64, 56, 8};
  t.strides = {256, 256 * 64, 256 * 64 * 56};
  t.lower_corner = {-1, -1};
  t.upper_corner = {-1, -1};
  t.channels = 64;
  t.pixels = 128;
  t.swizzle = Swizzle::bytes_128;
  return t;
}

Im2colWideTensor rows() {
  Im2colWideTensor t;
  static_cast<TensorLayout &>(t) = images();
  t.lower_width = -1;
  t.upper_width = -1;
  t.channels = 64;
  t.pixels = 128;
  return t;
}

TEST(TensorMapRules, HoldForGoodDescriptions) {
  EXPECT_THAT(broken_rule(matrix_of_bf16()), IsEmpty());
  EXPECT_THAT(broken_rule(interleaved()), IsEmpty());
  EXPECT_THAT(broken_rule(images()), IsEmpty());
  EXPECT_THAT(broken_rule(rows()), IsEmpty());
}

TEST(TensorMapRules, KnowTheSizeOfEveryElementType) {
  EXPECT_EQ(element_bits(TensorType::u8), 8);
  EXPECT_EQ(element_bits(TensorType::tf32), 32);
  EXPECT_EQ(element_bits(TensorType::f64), 64);
  EXPECT_EQ(element_bits(TensorType::u4x16_align8), 4);
  EXPECT_EQ(element_bits(TensorType::u6x16_align16), 6);
  EXPECT_EQ(name_of(TensorType::bf16), "bf16");
}

TEST(TensorMapRules, EveryElementTypeHasAGoodDescription) {
  for (int value = 0; value <= static_cast<int>(TensorType::u6x16_align16); ++value) {
    TiledTensor t = packed(static_cast<TensorType>(value));
    t.swizzle = Swizzle::none;
    EXPECT_THAT(broken_rule(t), IsEmpty()) << name_of(t.type);
  }
}

TEST(TensorMapRules, Rank) {
  TiledTensor t = matrix_of_bf16();
  t.rank = 0;
  EXPECT_EQ(broken_rule(t), "rank is 0: it must be 1 to 5");
  t.rank = 6;
  EXPECT_EQ(broken_rule(t), "rank is 6: it must be 1 to 5");
  t.rank = 1;
  EXPECT_THAT(broken_rule(t), IsEmpty());

  Im2colTensor flat = images();
  flat.rank = 2;
  EXPECT_EQ(broken_rule(flat), "rank is 2: it must be 3 to 5");
}

TEST(TensorMapRules, RankOfInterleavedLayouts) {
  TiledTensor t = interleaved();
  t.rank = 2;
  EXPECT_EQ(broken_rule(t), "rank is 2: with interleave bytes_32 it must be 3 to 5");
}

TEST(TensorMapRules, AddressIsAlignedTo16) {
  TiledTensor t = matrix_of_bf16();
  t.address += 8;
  EXPECT_EQ(broken_rule(t), "address is 0x7f0000000108: it must be a multiple of 16 bytes");
}

TEST(TensorMapRules, AddressIsAlignedTo32WhereTheLayoutNeedsIt) {
  TiledTensor t = interleaved();
  t.address += 16;
  EXPECT_EQ(broken_rule(t),
            "address is 0x7f0000000110: it must be a multiple of 32 bytes, because interleave is bytes_32");

  for (const TensorType type : {TensorType::u4x16_align16, TensorType::u6x16_align16}) {
    t = packed(type);
    t.address += 16;
    EXPECT_THAT(broken_rule(t), AllOf(HasSubstr("multiple of 32 bytes, because the element type is"),
                                      HasSubstr(std::string(name_of(type)))));
  }
  t = packed(TensorType::u4x16_align8);
  t.address += 16;
  EXPECT_THAT(broken_rule(t), IsEmpty());
}

TEST(TensorMapRules, ExtentsAreOneTo2To32) {
  TiledTensor t = matrix_of_bf16();
  t.extents[1] = 0;
  EXPECT_EQ(broken_rule(t), "extents[1] is 0: it must be 1 to 4294967296 (2^32)");
  t.extents[1] = (std::uint64_t{1} << 32) + 1;
  EXPECT_EQ(broken_rule(t), "extents[1] is 4294967297: it must be 1 to 4294967296 (2^32)");
  t.extents[1] = std::uint64_t{1} << 32;
  EXPECT_THAT(broken_rule(t), IsEmpty());
}

TEST(TensorMapRules, ExtentsOfImagesAreOneTo2To32) {
  Im2colTensor columns = images();
  columns.extents[3] = std::uint64_t{1} << 32;
  EXPECT_THAT(broken_rule(columns), IsEmpty());
  columns.extents[3] += 1;
  EXPECT_EQ(broken_rule(columns), "extents[3] is 4294967297: it must be 1 to 4294967296 (2^32)");
  Im2colWideTensor wide = rows();
  wide.extents[2] = 0;
  EXPECT_EQ(broken_rule(wide), "extents[2] is 0: it must be 1 to 4294967296 (2^32)");
}

TEST(TensorMapRules, InnerExtentOfPackedTypes) {
  TiledTensor t = packed(TensorType::u6x16_align16);
  t.extents[0] = 192;
  EXPECT_EQ(broken_rule(t), "extents[0] is 192: for the element type u6x16_align16 it must be a multiple of 128");
  t = packed(TensorType::u4x16_align16);
  t.extents[0] = 64;
  EXPECT_EQ(broken_rule(t), "extents[0] is 64: for the element type u4x16_align16 it must be a multiple of 128");
  t = packed(TensorType::u4x16_align8);
  t.extents[0] = 129;
  EXPECT_EQ(broken_rule(t), "extents[0] is 129: for the element type u4x16_align8 it must be a multiple of 2");
}

TEST(TensorMapRules, StridesAreMultiplesOf16) {
  TiledTensor t = matrix_of_bf16();
  t.strides[0] = 1000;
  EXPECT_EQ(broken_rule(t), "strides[0] is 1000 bytes: it must be a multiple of 16");
}

TEST(TensorMapRules, StridesAreMultiplesOf32WhereTheLayoutNeedsIt) {
  TiledTensor t = interleaved();
  t.strides[1] = 16400;
  EXPECT_EQ(broken_rule(t), "strides[1] is 16400 bytes: it must be a multiple of 32, because interleave is bytes_32");
  t = packed(TensorType::u4x16_align16);
  t.strides[0] = 528;
  EXPECT_THAT(broken_rule(t), HasSubstr("multiple of 32, because the element type is u4x16_align16"));
}

TEST(TensorMapRules, StridesAreLessThan2To40) {
  TiledTensor t = matrix_of_bf16();
  t.strides[0] = std::uint64_t{1} << 40;
  EXPECT_EQ(broken_rule(t), "strides[0] is 1099511627776 bytes: it must be less than 1099511627776 (2^40)");
  t.strides[0] -= 16;
  EXPECT_THAT(broken_rule(t), IsEmpty());
}

TEST(TensorMapRules, StrideBeyondTheRankIsNotRead) {
  TiledTensor t = matrix_of_bf16();
  t.strides[1] = 3;
  t.extents[2] = 0;
  t.box[2] = 9999;
  EXPECT_THAT(broken_rule(t), IsEmpty());
}

TEST(TensorMapRules, BoxIsOneTo256) {
  TiledTensor t = matrix_of_bf16();
  t.box[1] = 0;
  EXPECT_EQ(broken_rule(t), "box[1] is 0: it must be 1 to 256");
  t.box[1] = 257;
  EXPECT_EQ(broken_rule(t), "box[1] is 257: it must be 1 to 256");
  t.box[1] = 256;
  EXPECT_THAT(broken_rule(t), IsEmpty());
}

TEST(TensorMapRules, InnerBoxIsWhole16Bytes) {
  for (TiledTensor t : {matrix_of_bf16(), interleaved()}) {
    t.box[0] = 20;
    t.type = TensorType::bf16;
    EXPECT_EQ(broken_rule(t), "box[0] is 20, 320 bits of bf16: it must be a multiple of 16 bytes");
  }
  TiledTensor t = packed(TensorType::u4x16_align8);
  t.box[0] = 48;
  EXPECT_THAT(broken_rule(t), HasSubstr("box[0] is 48, 192 bits of u4x16_align8"));
}

TEST(TensorMapRules, InnerBoxOfPackedTypesIs128) {
  TiledTensor t = packed(TensorType::u6x16_align16);
  t.box[0] = 64;
  EXPECT_EQ(broken_rule(t), "box[0] is 64: for the element type u6x16_align16 it must be 128");
}

TEST(TensorMapRules, InnerBoxFitsTheSwizzle) {
  TiledTensor t = matrix_of_bf16();
  t.box[0] = 128;
  EXPECT_EQ(broken_rule(t), "box[0] is 128, 256 bytes of bf16: with swizzle bytes_128 it must be at most 128 bytes");
  t.swizzle = Swizzle::bytes_64;
  t.box[0] = 64;
  EXPECT_EQ(broken_rule(t), "box[0] is 64, 128 bytes of bf16: with swizzle bytes_64 it must be at most 64 bytes");
  t.swizzle = Swizzle::bytes_32;
  EXPECT_THAT(broken_rule(t), HasSubstr("with swizzle bytes_32 it must be at most 32 bytes"));
  t.swizzle = Swizzle::bytes_128_atom_64;
  EXPECT_THAT(broken_rule(t), IsEmpty());
  t.swizzle = Swizzle::none;
  t.box[0] = 256;
  EXPECT_THAT(broken_rule(t), IsEmpty());
}

TEST(TensorMapRules, ElementStridesAreOneToEight) {
  TiledTensor t = matrix_of_bf16();
  t.element_strides[1] = 0;
  EXPECT_EQ(broken_rule(t), "element_strides[1] is 0: it must be 1 to 8");
  t.element_strides[1] = 9;
  EXPECT_EQ(broken_rule(t), "element_strides[1] is 9: it must be 1 to 8");
}

// The documentation says that it is ignored, but the driver refuses it.
TEST(TensorMapRules, ElementStrideOfTheInnermostIsOneToEightToo) {
  for (TiledTensor t : {matrix_of_bf16(), interleaved()}) {
    t.element_strides[0] = 8;
    EXPECT_THAT(broken_rule(t), IsEmpty());
    t.element_strides[0] = 9;
    EXPECT_EQ(broken_rule(t), "element_strides[0] is 9: it must be 1 to 8");
  }
}

// A three-dimensional tensor, with room for a large box.
TiledTensor volume() {
  TiledTensor t = matrix_of_bf16();
  t.swizzle = Swizzle::none;
  t.rank = 3;
  t.extents = {512, 256, 256};
  t.strides = {1024, 1024 * 256};
  return t;
}

// 228 KiB, measured on a GPU of compute capability 9.0.
TEST(TensorMapRules, BoxFitsTheSharedMemory) {
  TiledTensor t = volume();
  t.box = {8, 256, 57};
  EXPECT_THAT(broken_rule(t), IsEmpty());
  t.box[2] = 58;
  EXPECT_EQ(broken_rule(t),
            "a copy brings 237568 bytes: it must fit the 233472 bytes of shared memory that a multiprocessor has");
  EXPECT_THAT(broken_rule(t, 256 << 10), IsEmpty());
}

TEST(TensorMapRules, BoxOfEverySecondElementFitsTheSharedMemoryByHalves) {
  TiledTensor t = volume();
  t.element_strides[2] = 2;
  t.box = {8, 256, 114};
  EXPECT_THAT(broken_rule(t), IsEmpty());
  t.box[2] = 116;
  EXPECT_EQ(broken_rule(t),
            "a copy brings 237568 bytes: it must fit the 233472 bytes of shared memory that a multiprocessor has");
}

TEST(TensorMapRules, InterleaveOf32NeedsItsSwizzle) {
  TiledTensor t = interleaved();
  t.swizzle = Swizzle::bytes_64;
  EXPECT_EQ(broken_rule(t), "swizzle is bytes_64: with interleave bytes_32 it must be bytes_32");
}

TEST(TensorMapRules, InterleaveIsNotForPackedTypesOf6Bits) {
  TiledTensor t = packed(TensorType::u6x16_align16);
  t.rank = 3;
  t.extents[2] = t.box[2] = 1;
  t.strides[1] = 1024;
  t.interleave = Interleave::bytes_16;
  EXPECT_EQ(broken_rule(t), "interleave is bytes_16: for the element type u6x16_align16 it must be none");
}

TEST(TensorMapRules, SwizzlesOfPackedTypes) {
  TiledTensor t = packed(TensorType::u6x16_align16);
  t.swizzle = Swizzle::bytes_64;
  EXPECT_EQ(broken_rule(t),
            "swizzle is bytes_64: for the element type u6x16_align16 it must be one of none, bytes_128, "
            "bytes_128_atom_32, bytes_128_atom_64");
  t.swizzle = Swizzle::bytes_128_atom_64;
  EXPECT_THAT(broken_rule(t), IsEmpty());
  t.type = TensorType::u4x16_align16;
  EXPECT_EQ(broken_rule(t),
            "swizzle is bytes_128_atom_64: for the element type u4x16_align16 it must be one of none, "
            "bytes_128, bytes_128_atom_32");
}

TEST(TensorMapRules, NanIsForFloatingTypes) {
  TiledTensor t = matrix_of_bf16();
  t.out_of_bounds = OutOfBounds::nan;
  EXPECT_THAT(broken_rule(t), IsEmpty());
  t.type = TensorType::u16;
  EXPECT_EQ(broken_rule(t), "out_of_bounds is nan: the element type u16 has no NaN, so it must be zero");
  t = packed(TensorType::u4x16_align8);
  t.out_of_bounds = OutOfBounds::nan;
  EXPECT_THAT(broken_rule(t), HasSubstr("u4x16_align8 has no NaN"));
}

TEST(TensorMapRules, CornersHaveFewerBitsTheMoreThereAre) {
  Im2colTensor t = images();
  t.lower_corner[1] = -129;
  EXPECT_EQ(broken_rule(t), "lower_corner[1] is -129: for rank 4 it must be -128 to 127");
  t = images();
  t.upper_corner[0] = 128;
  EXPECT_EQ(broken_rule(t), "upper_corner[0] is 128: for rank 4 it must be -128 to 127");

  t = images();
  t.rank = 5;
  t.extents = {128, 64, 56, 32, 8};
  t.strides[3] = t.strides[2] * 32;
  t.lower_corner = {0, 0, 16};
  EXPECT_EQ(broken_rule(t), "lower_corner[2] is 16: for rank 5 it must be -16 to 15");

  t = images();
  t.rank = 3;
  t.lower_corner = {-32769, 0};
  EXPECT_EQ(broken_rule(t), "lower_corner[0] is -32769: for rank 3 it must be -32768 to 32767");
}

TEST(TensorMapRules, BoundingBoxesAreOneTo2To31) {
  Im2colTensor t = images();
  t.extents[2] = 4;
  t.lower_corner[1] = 1;
  t.upper_corner[1] = -3;
  EXPECT_EQ(
      broken_rule(t),
      "the bounding box is empty along dimension 2: extent 4 + upper corner -3 - lower corner 1 is 0, and must be "
      "1 to 2147483647 (2^31 - 1)");
  t.upper_corner[1] = -2;
  EXPECT_THAT(broken_rule(t), IsEmpty());

  t = images();
  t.extents[1] = (std::uint64_t{1} << 31) + 7;
  t.lower_corner[0] = 3;
  t.upper_corner[0] = -4;
  EXPECT_THAT(broken_rule(t), HasSubstr("the bounding box is too large along dimension 1: extent 2147483655 + upper"));
  t.upper_corner[0] = -5;
  EXPECT_THAT(broken_rule(t), IsEmpty());
}

// Interleaved, the width is the first dimension.
TEST(TensorMapRules, BoundingBoxesOfInterleavedImages) {
  Im2colTensor t = images();
  t.interleave = Interleave::bytes_16;
  t.swizzle = Swizzle::none;
  t.lower_corner = {0, 0};
  t.upper_corner = {-5, 0};
  EXPECT_THAT(broken_rule(t), IsEmpty());
  t.extents[1] = 4;
  EXPECT_THAT(broken_rule(t), IsEmpty());
  t.extents[0] = 4;
  EXPECT_THAT(broken_rule(t), HasSubstr("the bounding box is empty along dimension 0: extent 4"));
}

TEST(TensorMapRules, ChannelsAndPixels) {
  Im2colTensor t = images();
  t.channels = 257;
  EXPECT_EQ(broken_rule(t), "channels is 257: it must be 1 to 256");
  t.channels = 4;
  EXPECT_EQ(broken_rule(t), "channels is 4, 64 bits of f16: it must be a multiple of 16 bytes");
  t = images();
  t.pixels = 1025;
  EXPECT_EQ(broken_rule(t), "pixels is 1025: it must be 1 to 1024");
  t = images();
  t.channels = 128;
  EXPECT_EQ(broken_rule(t), "channels is 128, 256 bytes of f16: with swizzle bytes_128 it must be at most 128 bytes");
  t.type = TensorType::u4x16_align16;
  t.channels = 64;
  EXPECT_EQ(broken_rule(t), "channels is 64: for the element type u4x16_align16 it must be 128");
}

TEST(TensorMapRules, WidthCorners) {
  Im2colWideTensor t = rows();
  t.lower_width = -32769;
  EXPECT_EQ(broken_rule(t), "lower_width is -32769: it must be -32768 to 32767");
  t = rows();
  t.upper_width = 32768;
  EXPECT_EQ(broken_rule(t), "upper_width is 32768: it must be -32768 to 32767");
  t.upper_width = -65;
  EXPECT_THAT(broken_rule(t), HasSubstr("bounding box is empty along dimension 1"));
}

TEST(TensorMapRules, SwizzleAlongTheWidth) {
  Im2colWideTensor t = rows();
  t.swizzle = Swizzle::none;
  EXPECT_EQ(broken_rule(t),
            "swizzle is none: for im2col along the width it must be one of bytes_64, bytes_128, "
            "bytes_128_atom_32");
}

TEST(TensorMapRules, PixelsAlongTheWidthOfAFixedModeAreIgnored) {
  Im2colWideTensor t = rows();
  t.pixels = 5000;
  EXPECT_EQ(broken_rule(t), "pixels is 5000: it must be 1 to 1024");
  t.mode = Im2colWideMode::w128;
  EXPECT_THAT(broken_rule(t), IsEmpty());
}

TEST(TensorMapRules, NewerTypesAndSwizzlesNeedANewerDriver) {
  EXPECT_FALSE(is_of_blackwell(matrix_of_bf16()));
  EXPECT_TRUE(is_of_blackwell(packed(TensorType::u4x16_align8)));
  TiledTensor t = matrix_of_bf16();
  t.swizzle = Swizzle::bytes_128_atom_32;
  EXPECT_TRUE(is_of_blackwell(t));
}

// Mostly valid, often at an edge of the valid range; every third one has up to two arbitrary arguments.
class RandomTensors {
 public:
  TiledTensor next() {
    TiledTensor t;
    t.type = static_cast<TensorType>(below(16));
    t.interleave = static_cast<Interleave>(below(3) == 0 ? below(3) : 0);
    t.swizzle = t.interleave == Interleave::bytes_32 ? Swizzle::bytes_32 : static_cast<Swizzle>(below(7));
    t.rank = t.interleave == Interleave::none ? 1 + below(5) : 3 + below(3);
    t.address = 0x7f0000000000 + 32 * below(1000);
    t.out_of_bounds = below(8) == 0 ? OutOfBounds::nan : OutOfBounds::zero;
    for (unsigned d = 0; d < max_tensor_rank; ++d) {
      t.extents[d] = pick({1, 2, 64, 1000, 4096, std::uint64_t{1} << 32});
      t.box[d] = static_cast<std::uint32_t>(pick({1, 2, 3, 7, 16, 64}));
      t.element_strides[d] = below(3) == 0 ? 1 + below(8) : 1;
      if (d > 0) t.strides[d - 1] = pick({0, 32, 64, 4096, 1 << 20, (std::uint64_t{1} << 40) - 32});
    }
    t.extents[0] = 128 * (1 + below(100));
    t.box[0] = is_packed(t.type) ? 128 : 128 / static_cast<unsigned>(element_bits(t.type)) << below(4);
    if (below(16) == 0) t.box[1] = 256;
    if (below(3) == 0)
      for (unsigned changes = 1 + below(2); changes > 0; --changes) change(t);
    return t;
  }

 private:
  unsigned below(unsigned end) { return static_cast<unsigned>(random_() % end); }
  std::uint64_t pick(std::initializer_list<std::uint64_t> values) {
    return values.begin()[below(static_cast<unsigned>(values.size()))];
  }

  void change(TiledTensor &t) {
    constexpr std::uint64_t one = 1;
    const unsigned d = below(max_tensor_rank);
    switch (below(10)) {
      case 0: t.rank = below(8); break;
      case 1: t.address += pick({1, 8, 16}); break;
      case 2: t.extents[d] = pick({0, 1, 127, 129, (one << 32) - 1, (one << 32) + 1, ~one, one << 63}); break;
      case 3: t.strides[d % 4] = pick({1, 8, 16, 48, one << 40, (one << 40) + 32, ~one, one << 63}); break;
      case 4:
        t.box[d] = static_cast<std::uint32_t>(pick({0, 1, 4, 8, 20, 255, 256, 257, 384, one << 31, (one << 32) - 1}));
        break;
      case 5: t.element_strides[d] = static_cast<std::uint32_t>(pick({0, 8, 9, 16, one << 31, (one << 32) - 1})); break;
      case 6: t.interleave = static_cast<Interleave>(below(3)); break;
      case 7: t.swizzle = static_cast<Swizzle>(below(7)); break;
      case 8: t.out_of_bounds = OutOfBounds::nan; break;
      default: t.type = static_cast<TensorType>(below(16));
    }
  }

  std::mt19937_64 random_{20};
};

TEST(TensorMapRules, HoldWhereAQuickLookFindsNothing) {
  RandomTensors tensors;
  int good = 0, broken = 0, undecided = 0;
  for (int i = 0; i < 300'000; ++i) {
    const TiledTensor t = tensors.next();
    const std::uint64_t shared_bytes = i % 2 == 0 ? shared_bytes_of_hopper : 4096;
    const std::string text = broken_rule(t, shared_bytes);
    const bool may_break = may_break_rule(t, shared_bytes);
    ASSERT_TRUE(may_break || text.empty()) << text;
    ++(text.empty() ? good : broken);
    if (!may_break || !text.empty()) continue;
    // The quick check may be undecided only if the box is too large as a whole.
    ++undecided;
    std::uint64_t bits = static_cast<std::uint64_t>(element_bits(t.type));
    for (unsigned d = 0; d < t.rank; ++d) bits *= t.box[d];
    ASSERT_GT(bits, shared_bytes * 8);
  }
  EXPECT_GT(good, 50'000);
  EXPECT_GT(broken, 50'000);
  EXPECT_GT(undecided, 100);
}

TEST(TensorMapRules, DecideWhereTheBoxFitsByItsElementStrides) {
  TiledTensor t = matrix_of_bf16();
  t.rank = 3;
  t.extents[2] = 256;
  t.strides[1] = 1024 * 256;
  t.box = {64, 64, 64};
  EXPECT_TRUE(may_break_rule(t));
  EXPECT_THAT(broken_rule(t), HasSubstr("a copy brings"));
  t.element_strides[2] = 8;
  EXPECT_TRUE(may_break_rule(t));
  EXPECT_THAT(broken_rule(t), IsEmpty());
}

}  // namespace
}  // namespace samite::driver
