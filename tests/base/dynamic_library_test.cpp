#include "samite/base/dynamic_library.h"

#include "samite/base/error.h"
#include "tests/runtime/message_of.h"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>

namespace samite {
namespace {

TEST(DynamicLibrary, AFunctionOfAnOpenedLibraryCanBeCalled) {
  const DynamicLibrary math("libm.so.6");
  EXPECT_EQ(math.function<double(double)>("cos")(0.5), std::cos(0.5));
}

TEST(DynamicLibrary, AMissingLibraryIsNamedInTheLoadersWords) {
  const std::string message = message_of<DeviceError>([] { DynamicLibrary("libdoes-not-exist.so.1"); });
  EXPECT_NE(message.find("dlopen(\"libdoes-not-exist.so.1\")"), std::string::npos) << message;
  EXPECT_NE(message.find("cannot open shared object file"), std::string::npos) << message;
}

TEST(DynamicLibrary, AMissingSymbolIsNamedWithItsLibrary) {
  const DynamicLibrary math("libm.so.6");
  EXPECT_EQ(math.find_symbol("no_such_function"), nullptr);
  const std::string message = message_of<DeviceError>([&] { math.symbol("no_such_function"); });
  EXPECT_NE(message.find("libm.so.6"), std::string::npos) << message;
  EXPECT_NE(message.find("no_such_function"), std::string::npos) << message;
}

TEST(DynamicLibrary, MovingHandsTheLibraryOver) {
  DynamicLibrary first("libm.so.6");
  const DynamicLibrary second = std::move(first);
  EXPECT_NE(second.find_symbol("sin"), nullptr);
}

}  // namespace
}  // namespace samite
