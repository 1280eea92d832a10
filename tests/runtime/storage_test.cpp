#include "samite/runtime/storage.h"

#include "samite/base/error.h"
#include "tests/runtime/message_of.h"

#include <algorithm>
#include <thread>
#include <vector>

namespace samite {
namespace {

using testing::HasSubstr;

std::uintptr_t address(const Storage &storage) { return reinterpret_cast<std::uintptr_t>(storage.data()); }

TEST(Storage, StartsAsAlignedZeros) {
  struct Case {
    std::size_t bytes, alignment;
  };
  for (auto [bytes, alignment] : {Case{1, 64}, Case{65535, 64}, Case{65536, 4096}, Case{(2u << 20) - 1, 4096},
                                  Case{2u << 20, 2u << 20}, Case{(5u << 20) + 3, 2u << 20}}) {
    Storage storage(Device::cpu(), bytes);

    EXPECT_EQ(address(storage) % alignment, 0u) << bytes;
    EXPECT_TRUE(std::all_of(storage.data(), storage.data() + bytes, [](std::byte b) { return b == std::byte{0}; }));
    std::fill_n(storage.data(), bytes, std::byte{1});
  }
}

TEST(Storage, MayHaveNoBytes) {
  Storage storage(Device::cpu(), 0);
  EXPECT_EQ(storage.bytes(), 0u);
  EXPECT_NE(storage.data(), nullptr);
}

TEST(Storage, VersionCountsWritesFromAllThreads) {
  Storage storage(Device::cpu(), 4);
  auto write_often = [&] {
    for (int i = 0; i < 1000; ++i) storage.mark_written();
  };
  EXPECT_EQ(storage.version(), 0u);

  std::thread other(write_often);
  write_often();
  other.join();

  EXPECT_EQ(storage.version(), 2000u);
}

TEST(Storage, MakesOneGradientHoweverManyThreadsAsk) {
  Storage storage(Device::cpu(), 40);
  EXPECT_EQ(storage.gradient(), nullptr);

  std::vector<std::byte *> seen(8);
  std::vector<std::thread> threads;
  for (auto &mine : seen)
    threads.emplace_back([&] {
      storage.track_gradient();
      mine = storage.gradient_data();
    });
  for (auto &thread : threads) thread.join();

  for (std::byte *gradient : seen) EXPECT_EQ(gradient, storage.gradient()->data());
  EXPECT_EQ(storage.gradient()->bytes(), 40u);
}

TEST(Storage, SaysHowManyBytesTheDeviceCouldNotGive) {
  std::size_t bytes = std::size_t{1} << 60;  // more than any processor can address
  std::string message = message_of<DeviceError>([&] { Storage(Device::cpu(), bytes); });

  EXPECT_THAT(message, HasSubstr("1152921504606846976 bytes on cpu"));
  EXPECT_THAT(message, HasSubstr("Cannot allocate memory"));
  EXPECT_THROW(Storage(Device::cpu(), ~std::size_t{0}), DeviceError);
}

}  // namespace
}  // namespace samite
