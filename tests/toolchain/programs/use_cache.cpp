// Looks for the entries that `numbered_content` describes in the cache at argv[1], publishes the missing ones, and
// sometimes prunes, until a file `stop` appears next to the cache. Ends with 1 if an entry has wrong content. argv[2]
// is the seed of the random numbers.
#include "samite/toolchain/object_cache.h"
#include "tests/toolchain/numbered_content.h"

#include <cstdio>
#include <cstdlib>
#include <random>

int main(int, char **argv) {
  using namespace samite;
  const std::filesystem::path folder = argv[1], stop = folder.parent_path() / "stop";
  constexpr std::uint64_t limit = 1'500'000;  // less than all of them take: pruning has something to do
  ObjectCache cache(folder, limit);
  std::minstd_rand random(static_cast<unsigned>(std::atoi(argv[2])));
  unsigned long uses = 0, hits = 0;
  for (; uses < 256 || uses % 16 != 0 || !std::filesystem::exists(stop); ++uses) {
    const unsigned number = random() / 7 % test::numbered_contents;
    if (const auto content = cache.find(test::numbered_key(number))) {
      ++hits;
      if (*content != test::numbered_content(number)) {
        std::printf("wrong content of entry %u\n", number);
        return 1;
      }
    } else {
      cache.publish(test::numbered_key(number), test::numbered_content(number));
    }
    if (random() / 7 % 64 == 0) cache.prune();
  }
  std::printf("uses %lu hits %lu\n", uses, hits);
  return 0;
}
