#include "samite/runtime/pinned_array.h"

#include "samite/base/error.h"
#include "samite/driver/capture.h"
#include "samite/runtime/buffer.h"
#include "samite/runtime/cuda_memory.h"
#include "tests/runtime/cuda_setting.h"
#include "tests/runtime/message_of.h"

#include <algorithm>
#include <numeric>

namespace samite {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class Pinned : public test::CudaTest {};
SAMITE_CUDA_SUITE(Pinned);

TEST_P(Pinned, ArraysAreCopiedInTheOrderOfAStream) {
  for (const Device on : {device(), Device::cpu()}) {
    Stream stream{on};
    PinnedArray<float> there{on, {2, 3}}, back{on, {2, 3}};
    EXPECT_THAT(there.values(), ElementsAre(0, 0, 0, 0, 0, 0));
    std::iota(there.values().begin(), there.values().end(), 1.0f);
    Buffer<float> buffer{on, {2, 3}};
    const std::uint64_t before = buffer.version();

    buffer.copy_from(there, stream);
    buffer.copy_to(back, stream);

    EXPECT_THAT(back.values(), ElementsAre(1, 2, 3, 4, 5, 6)) << on;
    EXPECT_THAT(buffer.to_vector(), ElementsAre(1, 2, 3, 4, 5, 6)) << on;
    EXPECT_GT(buffer.version(), before) << "a tape sees the write";
  }
}

TEST_P(Pinned, ArraysGoRoundOnTheStandardStream) {
  const std::size_t n = 1 << 20;
  PinnedArray<std::int32_t> host{device(), {static_cast<std::int64_t>(n)}};
  std::iota(host.values().begin(), host.values().end(), 0);
  std::vector<std::int32_t> expected(host.values().begin(), host.values().end());
  Buffer<std::int32_t> buffer{device(), {static_cast<std::int64_t>(n)}};

  buffer.copy_from(host, Stream::standard(device()));
  std::ranges::fill(host.values(), 0);
  buffer.copy_to(host, Stream::standard(device()));

  EXPECT_TRUE(std::ranges::equal(host.values(), expected));
}

TEST_P(Pinned, BuffersAndArraysMayGoWhileACopyRuns) {
  Stream stream{device()};
  {
    PinnedArray<float> array{device(), {1 << 20}};
    Buffer<float> buffer{device(), {1 << 20}};
    buffer.copy_from(array, stream);
    buffer.copy_to(array, stream);
  }
  stream.synchronize();
}

TEST_P(Pinned, AnArrayIsFreedWhenItsCopiesHaveCompleted) {
  if (!fake()) GTEST_SKIP() << "the fake tells the order of the calls";
  Stream stream{device()};
  Buffer<float> buffer{device(), {4}};
  std::optional<PinnedArray<float>> array{std::in_place, device(), Extents{4}};
  const PinnedArray<float> same = *array;
  buffer.copy_from(*array, stream);
  fake()->forget_calls();
  array.reset();
  EXPECT_EQ(fake()->count("cuMemFreeHost"), 0) << "another handle has it";
  array.emplace(same);
  buffer.copy_to(*array, stream);
  {
    const PinnedArray<float> other{device(), {4}};
    buffer.copy_from(other, stream);
    fake()->forget_calls();
  }
  const std::vector<std::string> calls = fake()->calls();
  const auto waited = std::ranges::find(calls, "cuEventSynchronize"), freed = std::ranges::find(calls, "cuMemFreeHost");
  ASSERT_NE(freed, calls.end());
  EXPECT_LT(waited, freed);
}

TEST_P(Pinned, ArraysOfAnythingElseAreRefused) {
  Stream stream{device()};
  Buffer<float> buffer{device(), {4}};
  auto refusal = [&](const Buffer<float> &to, const AnyPinnedArray &from, const Stream &on) {
    return message_of<UserError>([&] { Buffer<float>(to).copy_from(from, on); });
  };
  EXPECT_THAT(refusal(buffer, PinnedArray<double>(device(), {4}), stream),
              AllOf(HasSubstr("pinned_array_test.cpp"), HasSubstr("PinnedArray<f64>(4) of cuda:0"),
                    HasSubstr("same type and extents")));
  EXPECT_THAT(refusal(buffer, PinnedArray<float>(device(), {5}), stream), HasSubstr("PinnedArray<f32>(5)"));
  EXPECT_THAT(refusal(buffer, PinnedArray<float>(Device::cpu(), {4}), stream), HasSubstr("of one device"));
  EXPECT_THAT(refusal(buffer, PinnedArray<float>(device(), {4}), Stream(Device::cpu())), HasSubstr("of one device"));
  EXPECT_THAT(refusal(buffer.slice(0, 0, 4, 2), PinnedArray<float>(device(), {2}), stream), HasSubstr("clone()"));
  EXPECT_THAT(refusal(buffer.slice(0, 0, 1).broadcast({4}), PinnedArray<float>(device(), {4}), stream),
              HasSubstr("read-only"));
  EXPECT_THAT(refusal({}, PinnedArray<float>(device(), {4}), stream), HasSubstr("the buffer is empty"));
}

TEST_P(Pinned, CopiesAreNotCaptured) {
  Stream stream{device()};
  Buffer<float> buffer{device(), {4}};
  PinnedArray<float> array{device(), {4}};
  EXPECT_THAT(
      message_of<UserError>([&] { driver::capture(stream.cuda()->stream(), [&] { buffer.copy_to(array, stream); }); }),
      AllOf(HasSubstr("cannot be captured"), HasSubstr("before or after the graph is launched")));
}

TEST_P(Pinned, MoreThanTheHostCanPinIsAnErrorWithFigures) {
  if (!fake()) GTEST_SKIP() << "how much a host can pin is not known";
  fake()->fail(driver::Entry::MemHostAlloc, driver::Result::out_of_memory);
  EXPECT_THAT(message_of<DeviceError>([] { PinnedArray<double>(device(), {1000}); }),
              AllOf(HasSubstr("out of memory on the host"), HasSubstr("8000 bytes"), HasSubstr("ulimit -l")));
}

TEST_P(Pinned, ArraysMayHaveNoElements) {
  PinnedArray<float> array{device(), {0}};
  Buffer<float> buffer{device(), {0}};
  buffer.copy_from(array, Stream::standard(device()));
  EXPECT_TRUE(array.values().empty());
}

}  // namespace
}  // namespace samite
