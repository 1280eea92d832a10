#include "samite/codegen/argument_layout.h"

#include "samite/device/cpu/scalar.h"

#include <gtest/gtest.h>

namespace samite::codegen {
namespace {

TEST(ArgumentLayout, IsTheEmittedCodesOwn) {
  struct Arguments {
    Slot<f32> p0;
    Array<f64, 1> p1;
    Slot<bool> p2;
    Array<const u8, 4> p3;
    Slot<i64> p4;
  };
  const ArgumentLayout layout = argument_layout({{"a", ScalarType::Float32},
                                                 {"b", ScalarType::Float64, 1},
                                                 {"c", ScalarType::Bool},
                                                 {"d", ScalarType::UInt8, 4, true},
                                                 {"e", ScalarType::Int64}});
  EXPECT_EQ(layout.bytes, sizeof(Arguments));
  EXPECT_EQ(layout.offsets, (std::vector{offsetof(Arguments, p0), offsetof(Arguments, p1), offsetof(Arguments, p2),
                                         offsetof(Arguments, p3), offsetof(Arguments, p4)}));
  using Array4 = Array<const u8, 4>;
  EXPECT_EQ(ArgumentLayout::data_offset(), offsetof(Array4, data));
  EXPECT_EQ(ArgumentLayout::extent_offset(2), offsetof(Array4, extent) + 2 * sizeof(i64));
  EXPECT_EQ(ArgumentLayout::stride_offset(4, 3), offsetof(Array4, stride) + 3 * sizeof(i64));
}

TEST(ArgumentLayout, NoParametersNoBytes) { EXPECT_EQ(argument_layout({}).bytes, 0u); }

}  // namespace
}  // namespace samite::codegen
