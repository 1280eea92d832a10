#include "samite/driver/library.h"

#include "tests/driver/small_kernels.h"
#include "tests/runtime/message_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <optional>

namespace samite::driver {
namespace {

using fake::FakeDriver;
using testing::AllOf;
using testing::HasSubstr;

std::vector<std::byte> bytes_of(const std::string &text) {
  std::vector<std::byte> bytes(text.size() + 1);
  std::memcpy(bytes.data(), text.c_str(), bytes.size());
  return bytes;
}

TEST(Library, IsUnloadedAfterItsLastKernel) {
  FakeDriver fake;
  std::optional<Kernel> kernel = test::load(fake, Context::primary(fake.driver(), 0), test::add_code());

  EXPECT_EQ(fake.count("cuLibraryUnload"), 0);
  kernel.reset();
  EXPECT_EQ(fake.count("cuLibraryUnload"), 1);
}

TEST(Library, WithoutTheKernelAskedFor) {
  FakeDriver fake;
  const Library library = Library::load(Context::primary(fake.driver(), 0), fake.image({test::add_code()}));

  EXPECT_THAT(
      message_of<DriverError>([&] { library.kernel("subtract"); }),
      AllOf(HasSubstr("cuLibraryGetKernel"), HasSubstr("name=\"subtract\""), HasSubstr("CUDA_ERROR_NOT_FOUND")));
}

TEST(Library, ForAnotherArchitecture) {
  FakeDriver fake;
  const Context context = Context::primary(fake.driver(), 0);

  const std::string message = message_of<DriverError>([&] { Library::load(context, bytes_of("\177ELF of sm_80")); });

  EXPECT_THAT(message, AllOf(HasSubstr("cuda:0, of compute capability 9.0"), HasSubstr("CUDA_ERROR_NO_BINARY_FOR_GPU"),
                             HasSubstr("compile it for the device")));
}

TEST(Library, OfPtxThatTheDriverRefusesHasItsWords) {
  FakeDriver fake;
  const Context context = Context::primary(fake.driver(), 0);

  const std::string message = message_of<DriverError>([&] { Library::load(context, bytes_of(".version 9.9")); });

  EXPECT_THAT(message, AllOf(HasSubstr("CUDA_ERROR_INVALID_PTX"), HasSubstr("ptxas fatal: the fake compiles no PTX")));
}

TEST(Library, ThatIsDamaged) {
  FakeDriver fake;
  const Context context = Context::primary(fake.driver(), 0);

  EXPECT_THAT(message_of<DriverError>([&] { Library::load(context, bytes_of("nonsense")); }),
              AllOf(HasSubstr("image of 9 bytes"), HasSubstr("CUDA_ERROR_INVALID_IMAGE")));
}

TEST(Kernel, HasAttributesAndAName) {
  FakeDriver fake;
  const Kernel kernel = test::load(fake, Context::primary(fake.driver(), 0), {.name = "tiles", .shared_bytes = 512});

  EXPECT_STREQ(kernel.name(), "tiles");
  EXPECT_EQ(kernel.attribute(FunctionAttribute::shared_bytes), 512);
}

TEST(Kernel, IsAllowedSharedMemoryUpToTheDevicesLimit) {
  FakeDriver fake;
  const Kernel kernel = test::load(fake, Context::primary(fake.driver(), 0), {.name = "tiles", .shared_bytes = 1024});

  kernel.allow_shared_memory(226 * 1024);
  EXPECT_EQ(kernel.attribute(FunctionAttribute::max_dynamic_shared_bytes), 226 * 1024);

  EXPECT_THAT(message_of<UserError>([&] { kernel.allow_shared_memory(227 * 1024); }),
              AllOf(HasSubstr("kernel \"tiles\""), HasSubstr("233472 bytes"), HasSubstr("1024 of its own"),
                    HasSubstr("may have 232448")));
}

// A few bytes below the limit of every kernel, and a few more of the kernel's own.
TEST(Kernel, IsLaunchedWithMoreThan48KiBInAll) {
  FakeDriver fake;
  const Context context = Context::primary(fake.driver(), 0);
  const Kernel kernel = test::load(fake, context, {.name = "scan", .shared_bytes = 1024});
  for (const unsigned bytes : {1u, 47u * 1024, 47u * 1024 + 1, 48u * 1024, 48u * 1024 + 1, 226u * 1024}) {
    const PreparedLaunch launch(Stream::create(context), kernel, {.shared_bytes = bytes}, SourceLocation{});
    EXPECT_NO_THROW(launch.run(nullptr)) << bytes;
  }
}

TEST(Kernel, AsksTheDriverForSharedMemoryOnce) {
  FakeDriver fake;
  const Context context = Context::primary(fake.driver(), 0);
  const Kernel kernel = test::load(fake, context, {.name = "scan", .shared_bytes = 1024}), copy = kernel;
  kernel.allow_shared_memory(1024);
  EXPECT_EQ(fake.count("cuKernelSetAttribute"), 0);

  fake.fail(Entry::KernelSetAttribute, Result::out_of_memory);
  EXPECT_THROW(kernel.allow_shared_memory(100 * 1024), DriverError);
  for (const unsigned bytes : {100u * 1024, 1u, 226u * 1024, 64u * 1024}) {
    kernel.allow_shared_memory(bytes);
    copy.allow_shared_memory(bytes);
  }

  EXPECT_EQ(fake.count("cuKernelGetAttribute"), 1);
  EXPECT_EQ(fake.count("cuKernelSetAttribute"), 2);  // the one that failed, and another
  EXPECT_THROW(copy.allow_shared_memory(227 * 1024), UserError);
}

}  // namespace
}  // namespace samite::driver
