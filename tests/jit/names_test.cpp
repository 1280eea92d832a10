// Names of kernels, pipelines, parameters and Funcs that are invalid.
#include "samite/ir/kernel.h"
#include "samite/samite.h"
#include "tests/runtime/message_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace samite {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

void nothing(Array<float, 1>) {}

const char *const null = nullptr;

template <class Make>
void expect_refused(Make make) {
  EXPECT_THAT(message_of<UserError>(make), AllOf(HasSubstr("names_test.cpp"), HasSubstr("a null pointer is given")));
}

TEST(Names, ThatAreNullAreRefusedWithTheLine) {
  expect_refused([] { Kernel{null, nothing}; });
  expect_refused([] { Kernel{"named", {null}, nothing}; });
  expect_refused([] { TileKernel{null, nothing}; });
  expect_refused([] { TileKernel{"named", {null}, nothing, {.threads = 64}}; });
  expect_refused([] { Pipeline{null, nothing}; });
  expect_refused([] { Pipeline{"named", {null}, nothing}; });
  expect_refused([] { Pipeline{"named", [](Array<float, 1>) { Func{null}; }}; });
  expect_refused([] { Pipeline{"named", [](Array<float, 1>) { Var{null}; }}; });
}

TEST(Names, ThatAreEmptyAreRefusedWithTheLine) {
  const auto refused = [](auto make) {
    EXPECT_THAT(message_of<UserError>(make), AllOf(HasSubstr("names_test.cpp"), HasSubstr("not an identifier")));
  };
  refused([] { Kernel{"", nothing}; });
  refused([] { Kernel{std::string(), nothing}; });
  refused([] { Kernel{"named", {""}, nothing}; });
  refused([] { TileKernel{"", nothing}; });
  refused([] { Pipeline{"", nothing}; });
}

TEST(Names, OfParametersMayBeAnyStrings) {
  const std::initializer_list<std::string> listed = {"y"};
  const std::vector<std::string> of_vector = {"z"};
  EXPECT_EQ((Kernel{"listed", listed, nothing}.ir().parameters[0].name), "y");
  EXPECT_EQ((Kernel{"of_vector", of_vector, nothing}.ir().parameters[0].name), "z");
  EXPECT_EQ((Kernel{"strings", {std::string("x")}, nothing}.ir().parameters[0].name), "x");
}

}  // namespace
}  // namespace samite
