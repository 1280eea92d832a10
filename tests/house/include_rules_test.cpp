// The checker finds violations, and the tree has none.
#include "include_rules.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <stdexcept>

namespace samite::house {
namespace {

namespace fs = std::filesystem;

std::string read(const fs::path &path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

const ModuleTable &table() {
  static const ModuleTable table = read_module_table(read(fs::path(SAMITE_SOURCE_DIR) / "docs/architecture.md"));
  return table;
}

using Strings = std::vector<std::string>;

TEST(IncludeRules, TableIsClosedTransitively) {
  EXPECT_EQ(table().at("base"), (std::set<std::string>{"base"}));
  EXPECT_EQ(table().at("autodiff"), (std::set<std::string>{"autodiff", "schedule", "passes", "ir", "device", "base"}));
  EXPECT_EQ(table().at("runtime"), (std::set<std::string>{"runtime", "driver", "base"}));
  EXPECT_EQ(table().at("jit").size(), 13u);
}

TEST(IncludeRules, TableWithUnknownModuleIsRefused) {
  const char *text = "## Modules\n| module | what | may include |\n|---|---|---|\n| `lang/` | front | ir |\n";
  EXPECT_THROW(read_module_table(text), std::runtime_error);
}

TEST(IncludeRules, ModuleMayIncludeWhatItsRowReaches) {
  EXPECT_EQ(
      check_file(table(), "samite/lang/a.cpp", "#include \"samite/lang/b.h\"\n#include \"samite/base/error.h\"\n"),
      Strings{});
}

TEST(IncludeRules, ModuleMayNotIncludeAnother) {
  EXPECT_EQ(check_file(table(), "samite/ir/a.cpp", "// first line\n  #  include \"samite/lang/kernel.h\"\n"),
            Strings{"samite/ir/a.cpp:2: ir/ may not include samite/lang/kernel.h"});
  EXPECT_EQ(check_file(table(), "samite/ir/a.cpp", "#include <samite/passes/simplify/simplify.h>\n"),
            Strings{"samite/ir/a.cpp:1: ir/ may not include samite/passes/simplify/simplify.h"});
}

TEST(IncludeRules, ModuleMayNotIncludeTheUmbrella) {
  EXPECT_EQ(check_file(table(), "samite/jit/a.cpp", "#include \"samite/samite.h\"\n"),
            Strings{"samite/jit/a.cpp:1: jit/ may not include samite/samite.h, which is for users"});
}

TEST(IncludeRules, UnknownModuleIsRefused) {
  EXPECT_EQ(check_file(table(), "samite/utils/a.h", "#pragma once\n"),
            Strings{"samite/utils/a.h:1: the folder samite/utils/ has no row in docs/architecture.md"});
}

TEST(IncludeRules, CudaDriverIsForTheTestThatComparesWithIt) {
  EXPECT_EQ(check_file(table(), "tests/driver/cuda_header/a.cpp", "#include <cuda.h>\n"), Strings{});
  EXPECT_EQ(check_file(table(), "samite/driver/a.h", "#pragma once\n#include <cuda.h>\n"),
            Strings{"samite/driver/a.h:2: only tests/driver/cuda_header/ may include cuda.h: samite/driver/ declares "
                    "what it needs"});
  EXPECT_EQ(check_file(table(), "samite/jit/a.cpp", "#include <cudaTypedefs.h>\n").size(), 1u);
  EXPECT_EQ(check_file(table(), "tests/jit/a.cpp", "#include <cuda.h>\n").size(), 1u);
}

TEST(IncludeRules, CompilerIsForThePlugIn) {
  EXPECT_EQ(check_file(table(), "samite/toolchain/clang_plugin/a.cpp", "#include <llvm/IR/Module.h>\n"), Strings{});
  EXPECT_EQ(check_file(table(), "samite/toolchain/a.cpp", "#include \"clang/AST/AST.h\"\n"),
            Strings{"samite/toolchain/a.cpp:1: only toolchain/clang_plugin/ may include clang/AST/AST.h"});
}

TEST(IncludeRules, DeviceIsFreestanding) {
  EXPECT_EQ(check_file(table(), "samite/device/cpu/a.h", "#pragma once\n#include \"samite/device/cpu/b.h\"\n"),
            Strings{});
  EXPECT_EQ(check_file(table(), "samite/device/cpu/a.h", "#pragma once\n#include <cmath>\n").size(), 1u);
  EXPECT_EQ(check_file(table(), "samite/device/cpu/a.h", "#pragma once\n#include <cuda_fp16.h>\n").size(), 1u);
  EXPECT_EQ(check_file(table(), "samite/device/cpu/a.h", "#pragma once\n#include \"samite/base/hash.h\"\n").size(), 1u);
}

TEST(IncludeRules, HeaderNeedsPragmaOnce) {
  EXPECT_EQ(check_file(table(), "samite/base/a.h", "#ifndef A\n#define A\n#endif\n"),
            Strings{"samite/base/a.h:1: a header needs #pragma once"});
  EXPECT_EQ(check_file(table(), "samite/base/a.cpp", "\n"), Strings{});
}

TEST(House, EveryIncludeFollowsTheTable) {
  int files = 0;
  for (const char *folder : {"samite", "tests", "examples", "bench", "python"}) {
    const fs::path root = fs::path(SAMITE_SOURCE_DIR) / folder;
    if (!fs::exists(root)) continue;
    for (const fs::directory_entry &entry : fs::recursive_directory_iterator(root)) {
      const fs::path &path = entry.path();
      if (path.extension() != ".h" && path.extension() != ".cpp") continue;
      ++files;
      for (const std::string &problem : check_file(table(), fs::relative(path, SAMITE_SOURCE_DIR), read(path)))
        ADD_FAILURE() << problem;
    }
  }
  EXPECT_GT(files, 10) << "the tree was not found";
}

}  // namespace
}  // namespace samite::house
