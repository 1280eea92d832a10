// Each call of NVRTC fails once, with each of its results.
#include "samite/base/error.h"
#include "samite/toolchain/cuda_compiler.h"
#include "samite/toolchain/nvrtc.h"
#include "samite/toolchain/object_cache.h"
#include "tests/base/temporary_folder.h"
#include "tests/faults/fault_sweep.h"
#include "tests/toolchain/environment.h"

#include <dlfcn.h>
#include <fmt/format.h>

namespace samite::test {
namespace {

// The controls of a fake that the process has opened.
class Fake {
 public:
  explicit Fake(const std::string &path) : handle_(dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD)) {
    if (handle_ == nullptr) throw InternalError("the fake is not open: " + path);
  }
  Fake(const Fake &) = delete;
  Fake &operator=(const Fake &) = delete;
  ~Fake() { dlclose(handle_); }

  void fail(int number, int result) const { function<void(int, int)>("samite_fake_fail")(number, result); }
  std::vector<std::string> calls() const {
    std::vector<std::string> calls;
    const auto call = function<const char *(int)>("samite_fake_call");
    for (int number = 1; call(number) != nullptr; ++number) calls.emplace_back(call(number));
    return calls;
  }
  int alive() const { return function<int()>("samite_fake_alive")(); }

 private:
  template <class Function>
  Function *function(const char *name) const {
    return reinterpret_cast<Function *>(dlsym(handle_, name));
  }

  void *handle_;
};

// A text that was never compiled before.
CudaSource kernel() {
  static int number = 0;
  return {.name = "k", .text = fmt::format("// {}\nextern \"C\" __global__ void samite_k() {{}}\n", ++number)};
}

class EachCompilerCall : public testing::Test {
 protected:
  // `compile` compiles something new at each call, and the same again if `again` is true.
  void sweep(const Fake &fake, std::span<const int> results, const std::function<CompiledCuda(bool again)> &compile) {
    fake.fail(0, 0);
    compile(false);
    const std::size_t count = fake.calls().size();
    ASSERT_GT(count, 0u);
    for (std::size_t i = 0; i < count; ++i)
      for (const int result : results) fail_one(fake, static_cast<int>(i) + 1, result, compile);
  }

  std::shared_ptr<ObjectCache> cache() const { return object_cache(); }

 private:
  void fail_one(const Fake &fake, int number, int result, const std::function<CompiledCuda(bool again)> &compile) {
    cache()->clear();
    fake.fail(number, result);
    std::string message;
    try {
      compile(false);
    } catch (const Error &error) {
      message = error.what();
    }
    const std::vector<std::string> calls = fake.calls();
    fake.fail(0, 0);
    ASSERT_GE(calls.size(), static_cast<std::size_t>(number));
    const std::string &failed = calls[static_cast<std::size_t>(number) - 1];
    SCOPED_TRACE(fmt::format("call {}, {}, has result {}: {}", number, failed, result, message));
    const bool destroys = failed.find("Destroy") != failed.npos;
    // A text that does not compile is the library's own mistake, and reported as such.
    const bool is_compilation = failed == "nvrtcCompileProgram" && result == 6;
    EXPECT_EQ(message.empty(), destroys);
    if (!destroys && !is_compilation) {
      EXPECT_NE(message.find(failed), message.npos);
    }
    EXPECT_EQ(fake.alive(), 0);

    const CompiledCuda second = compile(true);
    if (!destroys) {
      EXPECT_FALSE(second.report.from_cache || second.report.from_memory) << "an image was published";
    }
    EXPECT_NE(second.image->cubin().find(".text.samite_k"), std::string::npos);
    FaultCount::instance().add(failed);
  }

  TemporaryFolder folder_;
  EnvironmentVariable folder_setting_{"SAMITE_CACHE_DIR", folder_.path() / "cache"},
      limit_{"SAMITE_CACHE_LIMIT_MB", "100"};
};

constexpr int nvrtc_results[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17};

TEST_F(EachCompilerCall, OfAKernel) {
  CudaSource source;
  const Fake fake(nvrtc().path);
  sweep(fake, nvrtc_results, [&](bool again) {
    if (!again) source = kernel();
    return compile_cuda(source, "", "sm_90a");
  });
}

}  // namespace
}  // namespace samite::test
