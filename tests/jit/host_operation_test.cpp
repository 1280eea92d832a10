#include "samite/runtime/host_operation.h"

#include "samite/samite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

namespace samite::test {
namespace {

using testing::ElementsAre;
using Kind = HostOperation::Kind;

std::vector<HostOperation> seen;

// This thread is in a mode in which operations are seen but not run.
struct HostOperations : testing::Test {
  static void in_a_mode(const std::function<void()> &work) {
    seen.clear();
    Tape().record([&] {
      set_host_operation_handler([](const HostOperation &operation) { seen.push_back(operation.kept()); });
      work();
      set_host_operation_handler(nullptr);
    });
  }

  static Buffer<float> with(std::initializer_list<float> values) {
    return Buffer<float>(Device::cpu(), {static_cast<std::int64_t>(values.size())}, values, Gradient::tracked);
  }
  static std::vector<Kind> kinds() {
    std::vector<Kind> kinds;
    for (const HostOperation &operation : seen) kinds.push_back(operation.kind);
    return kinds;
  }
};

TEST_F(HostOperations, AreHandedOverOneByOne) {
  Buffer<float> a = with({1, 2, 3}), b = with({4, 5, 6});
  PinnedArray<float> pinned(Device::cpu(), {3});
  in_a_mode([&] {
    a.copy_from(b);
    a.fill(7);
    a.copy_from({7, 8, 9});
    a.set({1}, 7);
    a.zero_gradient();
    b.clone();
    b.to(Device::cpu());
    a.copy_from(pinned, Stream::standard(Device::cpu()));
  });
  EXPECT_THAT(kinds(), ElementsAre(Kind::copy, Kind::fill, Kind::write, Kind::write, Kind::fill, Kind::copy, Kind::copy,
                                   Kind::write));
  EXPECT_THAT(a.to_vector(), ElementsAre(1, 2, 3)) << "nothing is done";
  EXPECT_EQ(seen[4].target.data(), a.gradient().data());
  EXPECT_EQ(seen[7].pinned, &pinned);

  in_a_mode([&] {
    a.at(1);
    a.to_vector();
    a.copy_to(pinned, Stream::standard(Device::cpu()));
  });
  EXPECT_THAT(kinds(), ElementsAre(Kind::read, Kind::read, Kind::read));
}

TEST_F(HostOperations, ThatAreKeptMayRunLaterAndAgain) {
  Buffer<float> a = with({1, 2, 3}), b = with({4, 5, 6});
  in_a_mode([&] {
    {
      std::vector<float> gone{7, 8};
      a.slice(0, 2, 0, -1).copy_from(gone);
      gone = {0, 0};
    }
    a.set({0}, 10);
    b.copy_from(a);
  });
  const std::uint64_t version = a.version();
  for (int i = 0; i < 2; ++i)
    for (const HostOperation &operation : seen) run(operation);
  EXPECT_THAT(a.to_vector(), ElementsAre(10, 8, 7));
  EXPECT_THAT(b.to_vector(), ElementsAre(10, 8, 7));
  EXPECT_EQ(a.version(), version + 4) << "each write is marked";
}

TEST_F(HostOperations, OfOtherThreadsAndOfTheHandlerItselfRun) {
  Buffer<float> a = with({1, 2, 3});
  in_a_mode([&] {
    std::thread([&] { a.fill(4); }).join();
    const PlainHostOperations plain;
    a.set({0}, 5);
  });
  EXPECT_TRUE(seen.empty());
  EXPECT_THAT(a.to_vector(), ElementsAre(5, 4, 4));
}

}  // namespace
}  // namespace samite::test
