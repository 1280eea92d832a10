// The adapter on a real GPU; skipped without one. These tests check the fake's assumptions about the driver.
#include "samite/driver/capture.h"
#include "samite/driver/copy.h"
#include "samite/driver/device_info.h"
#include "samite/driver/device_memory.h"
#include "samite/driver/event.h"
#include "samite/driver/graph_executable.h"
#include "samite/driver/pinned_memory.h"
#include "samite/driver/tensor_map_cache.h"
#include "tests/runtime/message_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

namespace samite::driver {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// add(int *target, int amount), and astray(), which writes to an invalid address. Compiled by the driver, so that the
// test needs no toolkit.
constexpr const char *ptx = R"(.version 7.0
.target sm_70
.address_size 64
.visible .entry add(.param .u64 target, .param .u32 amount) {
  .reg .b64 %rd<3>;
  .reg .b32 %r<4>;
  ld.param.u64 %rd1, [target];
  ld.param.u32 %r1, [amount];
  cvta.to.global.u64 %rd2, %rd1;
  ld.global.u32 %r2, [%rd2];
  add.s32 %r3, %r2, %r1;
  st.global.u32 [%rd2], %r3;
  ret;
}
.visible .entry astray() {
  .reg .b64 %rd<2>;
  .reg .b32 %r<2>;
  mov.u64 %rd1, 8;
  mov.u32 %r1, 1;
  st.global.u32 [%rd1], %r1;
  ret;
}
)";

std::vector<std::byte> image() {
  std::vector<std::byte> bytes(std::strlen(ptx) + 1);
  std::memcpy(bytes.data(), ptx, bytes.size());
  return bytes;
}

struct Gpu : testing::Test {
  std::shared_ptr<const Driver> driver;

  void SetUp() override {
    try {
      driver = Driver::system();
    } catch (const DeviceError &error) {
      GTEST_SKIP() << error.what();
    }
  }
};

// Common fixtures of the tests.
struct Setting {
  Context context;
  Stream stream = Stream::create(context);
  Library library = Library::load(context, image());
  Kernel kernel = library.kernel("add");
  MemoryPool pool = MemoryPool::create(context);
  DeviceMemory sum = DeviceMemory::allocate(stream, pool, 4);

  explicit Setting(const std::shared_ptr<const Driver> &driver, int device = 0)
      : context(Context::primary(driver, device)) {
    fill_words(stream, sum.address(), 0, 1);
  }

  PreparedLaunch prepared(const LaunchShape &shape = {}) const { return {stream, kernel, shape, {"user.cpp", 12}}; }
  void add(const PreparedLaunch &launch, int amount) const {
    CUdeviceptr target = sum.address();
    void *parameters[] = {&target, &amount};
    launch.run(parameters);
  }
  GraphNode add_node(Graph &graph, int amount, std::span<const GraphNode> after = {}) const {
    CUdeviceptr target = sum.address();
    void *parameters[] = {&target, &amount};
    return graph.add(prepared(), parameters, after);
  }
  int result() const {
    int value = -1;
    copy_to_host(stream, &value, sum.address(), 4);
    stream.synchronize();
    return value;
  }
};

TEST_F(Gpu, DevicesTellOfThemselves) {
  for (const DeviceInfo &device : list_devices(*driver)) {
    EXPECT_FALSE(device.name.empty());
    EXPECT_GT(device.memory_bytes, 0u);
    EXPECT_EQ(device.uuid.size(), 40u);
    std::printf("%s, driver %s\n", device.to_string().c_str(), version_text(driver->version()).c_str());
  }
}

TEST_F(Gpu, CopiesThereAndBack) {
  const Setting s(driver);
  const std::size_t bytes = 1 << 20;
  const PinnedMemory pinned = PinnedMemory::allocate(s.context, bytes);
  const DeviceMemory a = DeviceMemory::allocate(s.stream, s.pool, bytes),
                     b = DeviceMemory::allocate(s.stream, s.pool, bytes);
  std::vector<unsigned char> given(bytes);
  std::iota(given.begin(), given.end(), 0);
  const Event start = Event::create(s.context, Timing::on), end = Event::create(s.context, Timing::on);

  start.record(s.stream);
  copy_to_device(s.stream, a.address(), given.data(), bytes);
  copy_on_device(s.stream, b.address(), a.address(), bytes);
  copy_to_host(s.stream, pinned.data(), b.address(), bytes);
  end.record(s.stream);
  end.synchronize();

  EXPECT_EQ(std::memcmp(pinned.data(), given.data(), bytes), 0);
  EXPECT_GT(end.milliseconds_since(start), 0.0f);
  EXPECT_GE(s.pool.usage().used, 2 * bytes);
}

TEST_F(Gpu, LaunchesFromAThreadWithoutAContext) {
  const Setting s(driver);
  const PreparedLaunch launch = s.prepared();

  std::thread([&] { s.add(launch, 42); }).join();

  EXPECT_EQ(s.result(), 42);
}

TEST_F(Gpu, LaunchesOnTheDefaultStream) {
  const Setting s(driver);
  const Stream standard = Stream::borrow(s.context, nullptr);
  s.stream.synchronize();

  CUdeviceptr target = s.sum.address();
  int amount = 3;
  void *parameters[] = {&target, &amount};
  launch(standard, s.kernel, {}, parameters);
  standard.synchronize();

  EXPECT_EQ(s.result(), 3);
}

TEST_F(Gpu, TakesLaunchAttributes) {
  const Setting s(driver);
  LaunchShape shape{.programmatic = s.context.limits().compute_capability >= 90, .cooperative = true};
  s.add(s.prepared(shape), 1);
  shape = {.shared_bytes = s.context.limits().shared_bytes_opt_in, .priority = 0};
  s.add(s.prepared(shape), 1);
  if (s.context.limits().clusters) s.add(s.prepared({.grid = {16, 1, 1}, .cluster = {{16, 1, 1}}}), 0);

  EXPECT_EQ(s.result(), 2);
}

TEST_F(Gpu, LeavesTheCallersContextCurrent) {
  const Setting s(driver);
  CUcontext before = nullptr, after = nullptr;
  driver->call<Entry::CtxGetCurrent>(&before);
  s.context.synchronize();
  driver->call<Entry::CtxGetCurrent>(&after);

  EXPECT_EQ(before, after);
}

TEST_F(Gpu, RunsGraphsAndEditsThem) {
  const Setting s(driver);
  Graph graph = Graph::create(s.context);
  const GraphNode first = s.add_node(graph, 1);
  const GraphNode second = s.add_node(graph, 10, {{first}});
  GraphExecutable executable = GraphExecutable::instantiate(graph);
  executable.launch(s.stream);
  EXPECT_EQ(s.result(), 11);

  CUdeviceptr target = s.sum.address();
  int amount = 100;
  void *parameters[] = {&target, &amount};
  executable.set(second, s.prepared(), parameters);
  executable.launch(s.stream);
  EXPECT_EQ(s.result(), 112);

  executable.enable(second, false);
  executable.launch(s.stream);
  EXPECT_EQ(s.result(), 113);

  Graph other = Graph::create(s.context);
  s.add_node(other, 5);
  EXPECT_THAT(message_of<UserError>([&] { executable.update(other); }), HasSubstr("Instantiate"));
}

TEST_F(Gpu, CapturesWork) {
  const Setting s(driver);
  const Stream side = Stream::create(s.context);
  const Event fork = Event::create(s.context), join = Event::create(s.context);
  s.stream.synchronize();

  const Graph graph = capture(s.stream, [&] {
    fill_words(s.stream, s.sum.address(), 5, 1);
    fork.record(s.stream);
    side.wait(fork);
    const PreparedLaunch on_side(side, s.library.kernel("add"), {}, {});
    s.add(on_side, 2);
    join.record(side);
    s.stream.wait(join);
  });
  GraphExecutable::instantiate(graph).launch(s.stream);

  EXPECT_EQ(s.result(), 7);
}

TEST_F(Gpu, RefusesToWaitInACapture) {
  const Setting s(driver);

  const std::string message = message_of<DriverError>([&] { capture(s.stream, [&] { s.stream.synchronize(); }); });

  EXPECT_THAT(message, AllOf(HasSubstr("cuStreamSynchronize"), HasSubstr("being captured into a graph")));
  EXPECT_NO_THROW(s.stream.synchronize());
}

TEST_F(Gpu, RunsConditionsInGraphs) {
  if (!driver->has<Entry::GraphAddNode>()) GTEST_SKIP() << "the driver is older than 12.3";
  const Setting s(driver);
  Graph graph = Graph::create(s.context);
  Graph::Conditional taken = graph.add_if(graph.add_condition(1));
  capture_into(taken.body, s.stream, [&] { s.add(s.prepared(), 1); });
  Graph::Conditional skipped = graph.add_if(graph.add_condition(0), {{taken.node}});
  s.add_node(skipped.body, 100);

  const GraphExecutable executable = GraphExecutable::instantiate(graph);
  executable.launch(s.stream);
  executable.launch(s.stream);

  EXPECT_EQ(s.result(), 2);
}

TEST_F(Gpu, RunsOutOfMemoryWithFigures) {
  const Setting s(driver);
  const std::size_t total = device_info(*driver, 0).memory_bytes;

  EXPECT_THAT(message_of<DriverError>([&] { DeviceMemory::allocate(s.stream, s.pool, 2 * total); }),
              AllOf(HasSubstr("out of memory on cuda:0"), HasSubstr("too small for this")));
  EXPECT_EQ(s.result(), 0) << "the context is as it was";
}

TEST_F(Gpu, RefusesImagesThatAreNone) {
  const Context context = Context::primary(driver, 0);
  const std::vector<std::byte> nonsense(64, std::byte{'x'});
  EXPECT_THROW(Library::load(context, nonsense), DriverError);

  std::string broken = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k() { nonsense; }\n";
  std::vector<std::byte> bytes(broken.size() + 1);
  std::memcpy(bytes.data(), broken.c_str(), bytes.size());
  EXPECT_THAT(message_of<DriverError>([&] { Library::load(context, bytes); }), HasSubstr("nonsense"));
}

TEST_F(Gpu, EncodesTensorMapsFromAThreadWithoutAContext) {
  if (!device_info(*driver, 0).tensor_maps) GTEST_SKIP() << "the device has no tensor maps";
  const Context context = Context::primary(driver, 0);
  TiledTensor t;
  t.type = TensorType::bf16;
  t.rank = 2;
  t.address = 0x7f0000000000;
  t.extents = {512, 256};
  t.strides = {1024};
  t.box = {64, 64};
  t.swizzle = Swizzle::bytes_128;
  TensorMapCache cache(context);
  TensorMapBits first{}, again{};

  std::thread([&] { first = cache.encode(t); }).join();
  again = cache.encode(t);
  TensorMap moved = TensorMap::encode(context, t);
  t.address += 4096;
  const TensorMap direct = TensorMap::encode(context, t);
  moved.replace_address(context, t.address);

  EXPECT_EQ(std::memcmp(&first, &again, sizeof first), 0);
  EXPECT_EQ(std::memcmp(&moved.bits(), &direct.bits(), sizeof first), 0);
}

TEST_F(Gpu, ReachesAPeersMemory) {
  if (device_count(*driver) < 2) GTEST_SKIP() << "there is one device";
  const Setting here(driver, 0), there(driver, 1);
  fill_words(here.stream, here.sum.address(), 9, 1);
  here.stream.synchronize();
  there.stream.synchronize();

  copy_between_devices(here.stream, there.context, there.sum.address(), here.context, here.sum.address(), 4);
  here.stream.synchronize();
  EXPECT_EQ(there.result(), 9);

  here.pool.allow_access_from(there.context);
  CUdeviceptr target = here.sum.address();
  int amount = 1;
  void *parameters[] = {&target, &amount};
  launch(there.stream, there.kernel, {}, parameters);
  there.stream.synchronize();
  EXPECT_EQ(here.result(), 10);
}

// The fault ends the process's use of the device, so this test runs in a process of its own.
TEST_F(Gpu, BlamesAFaultOnTheLaunch) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        const Setting s(Driver::system());
        launch(s.stream, s.library.kernel("astray"), {}, nullptr, {"user.cpp", 77});
        try {
          s.result();
        } catch (const DriverError &error) {
          std::fprintf(stderr, "%s", error.what());
          std::_Exit(error.code() == Result::illegal_address ? 3 : 4);
        }
        std::_Exit(0);
      },
      testing::ExitedWithCode(3), "asynchronous work on cuda:0 failed.*kernel .astray. at user.cpp:77");
}

}  // namespace
}  // namespace samite::driver
