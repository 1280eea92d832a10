// Values that are made once for each key, by many threads concurrently.
#include "samite/jit/memo.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

namespace samite::jit {
namespace {

TEST(Memo, EachKeyIsMadeOnce) {
  constexpr int keys = 64, threads = 8;
  Memo<int, std::vector<int>> memo;
  std::array<std::atomic<int>, keys> makings{};
  std::atomic<int> wrong{0};
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t)
    all.emplace_back([&, t] {
      for (int i = 0; i < 20 * keys; ++i) {
        const int key = (i * (2 * t + 1) + t) % keys;
        const std::vector<int> &value = memo.get(key, [&] {
          ++makings[static_cast<std::size_t>(key)];
          return std::vector<int>(100, key);
        });
        wrong += value.size() != 100 || value.front() != key || value.back() != key;
        wrong += memo.made().empty();
      }
    });
  for (std::thread &each : all) each.join();
  EXPECT_EQ(wrong, 0);
  for (const std::atomic<int> &making : makings) EXPECT_EQ(making, 1);
  EXPECT_EQ(memo.made().size(), static_cast<std::size_t>(keys));
}

TEST(Memo, WhatThrowsIsTriedAgain) {
  Memo<int, int> memo;
  EXPECT_THROW(memo.get(1, []() -> int { throw std::runtime_error("no"); }), std::runtime_error);
  EXPECT_TRUE(memo.made().empty());
  EXPECT_EQ(memo.get(1, [] { return 7; }), 7);
  EXPECT_EQ(memo.get(1, [] { return 8; }), 7);
}

TEST(Memo, ReferencesStayAndTheOrderIsThatOfTheFirstCalls) {
  Memo<int, int> memo;
  const int &first = memo.get(5, [] { return 50; });
  for (int key = 4; key >= 0; --key) memo.get(key, [&] { return 10 * key; });
  EXPECT_EQ(&memo.get(5, [] { return 0; }), &first);
  EXPECT_EQ(memo.made(), (std::vector<int>{50, 40, 30, 20, 10, 0}));
}

}  // namespace
}  // namespace samite::jit
