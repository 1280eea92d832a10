#include "samite/driver/entry_points.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

namespace samite::driver {
namespace {

TEST(EntryPoints, AreAskedForByNameAndPinnedVersion) {
  std::map<std::string, int> asked;

  fill_entry_points([&](const char *symbol, int version) -> void * {
    asked[symbol] = version;
    return nullptr;
  });

  EXPECT_EQ(asked.size(), static_cast<std::size_t>(entry_count));
  EXPECT_EQ(asked.at("cuInit"), 2000);
  EXPECT_EQ(asked.at("cuEventDestroy"), 4000) << "a version ago it had another interface";
  EXPECT_EQ(asked.at("cuTensorMapEncodeTiled"), 12000);
}

TEST(EntryPoints, MissingOnesAreReported) {
  static int place = 0;
  const EntryPoints table = fill_entry_points(
      [&](const char *symbol, int) -> void * { return std::string(symbol) == "cuStreamQuery" ? nullptr : &place; });
  std::set<Entry> missing;

  for_each_missing(table, [&](Entry entry) { missing.insert(entry); });

  EXPECT_EQ(missing, std::set<Entry>{Entry::StreamQuery});
}

TEST(EntryPoints, OldestUsableDriverHasEveryRequiredFunction) {
  for (int row = 0; row < entry_count; ++row) {
    const EntryInfo &entry = info(static_cast<Entry>(row));
    if (entry.required())
      EXPECT_LE(entry.version, oldest_usable_version()) << entry.symbol;
    else
      EXPECT_GT(entry.version, oldest_usable_version()) << entry.symbol << " could be required";
  }
  EXPECT_EQ(oldest_usable_version(), 12000);
}

}  // namespace
}  // namespace samite::driver
