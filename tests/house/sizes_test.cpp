// No source of the library is longer than 600 lines, no function longer than 80, and no class has more than 15 members.
// tests/house/sizes.txt lists today's exceptions, which may only shrink.
#include "sizes.h"
#include "text_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

namespace samite::house {
namespace {

namespace fs = std::filesystem;
using testing::IsEmpty;

const fs::path house_root = SAMITE_SOURCE_DIR;

// All except the device code, which is hand-written for one loop.
Sizes sizes_of_library() {
  Sizes all;
  for (const fs::directory_entry &entry : fs::recursive_directory_iterator(house_root / "samite")) {
    const std::string path = fs::relative(entry.path(), house_root).string();
    const bool is_source = entry.path().extension() == ".cpp" || entry.path().extension() == ".h";
    if (!is_source || path.starts_with("samite/device/")) continue;
    all.merge(sizes_of(path, text_of(entry.path())));
  }
  return all;
}

TEST(Sizes, OfAFile) {
  const Sizes sizes = sizes_of("a.cpp", R"(namespace a {
// struct Comment { int x; };
struct Pair : Base<int, float> {
  int first = 1, second;
  std::map<int, std::function<void(int)>> third{};
  static int none;
  int function() const { return first; }
  using Type = int;
};
enum class Kind { one, two };
constexpr int table[] = {1, 2};
void Pair::longer(int x,
                  int y) {
  const auto lambda = [&](int z) {
    return z + '{';
  };
  if (x) {
    lambda(y);
  }
}
}  // namespace a
)");
  EXPECT_EQ(sizes, (Sizes{{"lines of a.cpp", 21},
                          {"members of Pair in a.cpp", 3},
                          {"lines of function in a.cpp", 1},
                          {"lines of Pair::longer in a.cpp", 9}}));
}

TEST(Sizes, StayBelowTheirLimits) {
  const Sizes allowed = read_sizes(text_of(house_root / "tests/house/sizes.txt")), sizes = sizes_of_library();
  std::vector<std::string> too_large;
  for (const auto &[what, size] : sizes) {
    const auto exception = allowed.find(what);
    const int most = exception == allowed.end() ? limit_of(what) : exception->second;
    if (size > most) too_large.push_back(std::to_string(size) + " " + what + ", of at most " + std::to_string(most));
  }
  EXPECT_THAT(too_large, IsEmpty()) << "divide it by what its parts are about";
}

TEST(Sizes, ListNoExceptionThatIsNoneAnyMore) {
  const Sizes allowed = read_sizes(text_of(house_root / "tests/house/sizes.txt")), sizes = sizes_of_library();
  std::vector<std::string> gone;
  for (const auto &[what, most] : allowed) {
    const auto found = sizes.find(what);
    if (found == sizes.end() || found->second <= limit_of(what)) gone.push_back(what);
  }
  EXPECT_THAT(gone, IsEmpty()) << "remove them from tests/house/sizes.txt";
}

}  // namespace
}  // namespace samite::house
