// Publishes and removes the entries that `numbered_content` describes in the cache at argv[1], until it is killed.
#include "samite/toolchain/object_cache.h"
#include "tests/toolchain/numbered_content.h"

int main(int, char **argv) {
  using namespace samite;
  ObjectCache cache(argv[1], 1 << 30);
  for (unsigned i = 0;; ++i) {
    const unsigned number = i % test::numbered_contents;
    cache.publish(test::numbered_key(number), test::numbered_content(number));
    if (i % 3 == 0) cache.remove(test::numbered_key((number + 5) % test::numbered_contents));
  }
}
