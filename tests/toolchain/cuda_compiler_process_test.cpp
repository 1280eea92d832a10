// The CUDA compiler as seen from one process after another.
#include "samite/base/atomic_file.h"
#include "samite/toolchain/object_cache.h"
#include "tests/toolchain/child_process.h"
#include "tests/toolchain/cuda_sample.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

namespace samite {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

class CudaCompilerProcess : public test::CudaCompilerTest {
 protected:
  std::string run(std::vector<std::string> arguments) {
    test::ChildProcess child("compile_cuda_sample", std::move(arguments));
    EXPECT_EQ(child.wait(), 0) << child.output();
    return child.output();
  }
  void change_each_entry(const std::function<void(std::string &)> &change) {
    for (const auto &entry : fs::directory_iterator(folder_.path() / "cache" / "objects")) {
      std::string bytes = read_file(entry.path() / "content");
      change(bytes);
      write_file(entry.path() / "content", bytes);
    }
  }
};

TEST_F(CudaCompilerProcess, ANewProcessTakesTheImageFromTheCacheWithoutTheCompiler) {
  EXPECT_THAT(run({"1."}), HasSubstr("from_cache 0\nlibrary_open 1\ncompiles 1\n"));
  EXPECT_THAT(run({"1."}), HasSubstr("from_cache 1\nlibrary_open 0\ncompiles 0\n"));
  EXPECT_THAT(run({"1.", "sm_90a"}), HasSubstr("from_cache 0\nlibrary_open 1\ncompiles 1\n"));
}

TEST_F(CudaCompilerProcess, ADamagedImageIsCompiledAgain) {
  run({"1."});
  change_each_entry([](std::string &bytes) { bytes[bytes.size() / 2] ^= 0x10; });
  const std::string output = run({"1."});
  EXPECT_THAT(output, HasSubstr("from_cache 0\nlibrary_open 1\ncompiles 1\n"));
  EXPECT_THAT(output, HasSubstr("damaged"));
  EXPECT_THAT(run({"1."}), HasSubstr("from_cache 1\n"));
}

// As an older Samite may have written it: whole, but of another form.
TEST_F(CudaCompilerProcess, AnEntryThatIsNoImageIsReplaced) {
  run({"1."});
  ObjectCache cache(folder_.path() / "cache", 1 << 20);
  for (const char *content : {"", "no number", "12", "99\nshort", "18446744073709551615\nlog"}) {
    for (const auto &entry : fs::directory_iterator(folder_.path() / "cache" / "objects")) {
      const Hash128 key = hash_from_hex(entry.path().filename().string()).value();
      cache.remove(key);
      cache.publish(key, content);
    }
    EXPECT_THAT(run({"1."}), HasSubstr("from_cache 0\nlibrary_open 1\ncompiles 1\n")) << content;
    EXPECT_THAT(run({"1."}), HasSubstr("from_cache 1\n")) << content;
  }
}

TEST_F(CudaCompilerProcess, SeveralAtOnceShareOneCache) {
  std::vector<std::unique_ptr<test::ChildProcess>> children;
  for (int i = 0; i < 4; ++i)
    children.push_back(std::make_unique<test::ChildProcess>("compile_cuda_sample",
                                                            std::vector<std::string>{std::to_string(i / 2) + "."}));
  for (const auto &child : children) {
    EXPECT_EQ(child->wait(), 0) << child->output();
    EXPECT_THAT(child->output(), Not(HasSubstr("warning")));
  }
  EXPECT_THAT(run({"1."}), HasSubstr("from_cache 1\n"));
}

}  // namespace
}  // namespace samite
