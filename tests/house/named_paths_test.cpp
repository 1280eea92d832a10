// The finder finds a path that does not exist, and no document names one.
#include "named_paths.h"
#include "text_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace samite::house {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

const fs::path root = SAMITE_SOURCE_DIR;

std::vector<fs::path> documents() {
  std::vector<fs::path> paths{"README.md", "CONTRIBUTING.md", "CHANGELOG.md", "tests/fuzz/README.md",
                              "bench/README.md"};
  for (const char *folder : {"docs", "examples"})
    for (const fs::directory_entry &entry : fs::recursive_directory_iterator(root / folder))
      if (entry.path().extension() == ".md") paths.push_back(fs::relative(entry.path(), root));
  return paths;
}

TEST(NamedPaths, AreThereInEveryDocument) {
  std::size_t named = 0;
  for (const fs::path &document : documents()) {
    const std::string text = text_of(root / document);
    EXPECT_THAT(missing_paths(root, document, text), IsEmpty());
    named += named_paths(text).size();
  }
  EXPECT_GT(named, 150u);
}

TEST(NamedPaths, ThatAreNotThereAreFound) {
  const char *text =
      "`samite/ir/expr.h` holds nodes; `ir/expr.h` too.\n"
      "Included as `\"samite/ir/expr.h\"`, see [the table](../samite/ir/expr.h) in `tests/castle/`.\n"
      "```sh\n"
      "scripts/install-everything  # the list is scripts/packages.txt\n"
      "```\n";
  EXPECT_THAT(
      missing_paths(root, "docs/planted.md", text),
      ElementsAre("docs/planted.md:1: samite/ir/expr.h is not there", "docs/planted.md:1: ir/expr.h is not there",
                  "docs/planted.md:2: samite/ir/expr.h is not there", "docs/planted.md:2: tests/castle/ is not there",
                  "docs/planted.md:2: ../samite/ir/expr.h is not there",
                  "docs/planted.md:4: scripts/install-everything is not there"));
}

TEST(NamedPaths, MayLeaveOutTheLibrarysFolderAndTheDocuments) {
  const char *text = "`samite/ir/stmt.h`, `ir/stmt.h`, `corpus/`, [`ir/stmt.h`](../../samite/ir/stmt.h)";
  EXPECT_THAT(named_paths(text), ElementsAre(NamedPath{"samite/ir/stmt.h", 1, false}, NamedPath{"ir/stmt.h", 1, false},
                                             NamedPath{"corpus/", 1, false}, NamedPath{"ir/stmt.h", 1, false},
                                             NamedPath{"../../samite/ir/stmt.h", 1, true}));
  EXPECT_THAT(missing_paths(root, "tests/fuzz/planted.md", text), IsEmpty());
  EXPECT_THAT(missing_paths(root, "tests/planted.md", "`corpus/`"),
              ElementsAre("tests/planted.md:1: corpus/ is not there"));
}

// A link is followed from the document, as a browser does.
TEST(NamedPaths, OfALinkAreRelativeToTheDocument) {
  EXPECT_THAT(missing_paths(root, "docs/planted.md", "[`ir/stmt.h`](samite/ir/stmt.h)"),
              ElementsAre("docs/planted.md:1: samite/ir/stmt.h is not there"));
}

TEST(NamedPaths, AreNotPlaceholdersOptionsAddressesOrCode) {
  EXPECT_THAT(named_paths("`tests/<module>/<what>_test.cpp`, `build/release/examples/fluid`, `~/.cache/samite`, "
                          "`$XDG_CACHE_HOME/samite`, `/usr/lib`, `-merge=a/b`, `+ - * /`, `a /= b`, `// expect: this`, "
                          "`returning([&](auto return_) { … })`, [site](https://example.org/a/b), [here](#errors)\n"
                          "```cpp\n"
                          "#include \"samite/nothing/at_all.h\"\n"
                          "```\n"),
              IsEmpty());
}

}  // namespace
}  // namespace samite::house
