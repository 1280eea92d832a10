// Programs that use the driver's handles.
#include "samite/driver/capture.h"
#include "samite/driver/copy.h"
#include "samite/driver/device_info.h"
#include "samite/driver/device_memory.h"
#include "samite/driver/event.h"
#include "samite/driver/graph_executable.h"
#include "samite/driver/pinned_memory.h"
#include "samite/driver/tensor_map_cache.h"
#include "tests/driver/small_kernels.h"
#include "tests/faults/fault_sweep.h"

#include <gmock/gmock.h>

#include <array>
#include <numeric>

namespace samite::driver {
namespace {

using fake::FakeDriver;
using samite::test::Scenario;
using samite::test::Steps;

// Waits for the stream before earlier declared objects are destroyed.
struct Waiting {
  const Stream &stream;

  explicit Waiting(const Stream &of) : stream(of) {}
  Waiting(const Waiting &) = delete;
  Waiting &operator=(const Waiting &) = delete;
  ~Waiting() { stream.context().try_call<Entry::StreamSynchronize>(stream.raw()); }
};

// A number on the device.
struct Number {
  Stream stream;
  DeviceMemory memory;

  Number(const Stream &stream, const MemoryPool &pool)
      : stream(stream), memory(DeviceMemory::allocate(stream, pool, sizeof(int))) {
    fill_words(stream, memory.address(), 0, 1);
  }
  int value() const {
    int value = 0;
    copy_to_host(stream, &value, memory.address(), sizeof value);
    stream.synchronize();
    return value;
  }
};

const Scenario devices_and_memory{
    "devices and memory", [](FakeDriver &fake, const Steps &) {
      const auto driver = fake.driver();
      EXPECT_EQ(list_devices(*driver).size(), 2u);
      const Context context = Context::primary(driver, 0), peer = Context::primary(driver, 1);
      context.enable_peer_access(peer);
      const Stream stream = Stream::create(context, -1), other = Stream::create(context);
      const MemoryPool pool = MemoryPool::create(context, 1 << 20);
      pool.keep(1 << 16);
      pool.allow_access_from(peer);
      DeviceMemory memory = DeviceMemory::allocate(stream, pool, 256);
      const DeviceMemory copy = DeviceMemory::allocate(stream, pool, 256);
      EXPECT_EQ(pool.usage().used, 512u);

      const Event start = Event::create(context, Timing::on), end = Event::create(context, Timing::on);
      start.record(stream);
      const PinnedMemory pinned = PinnedMemory::allocate(context, 256);
      const Waiting waiting(stream);
      auto *values = static_cast<unsigned char *>(pinned.data());
      std::iota(values, values + 256, static_cast<unsigned char>(0));
      copy_to_device(stream, memory.address(), values, 256);
      copy_on_device(stream, copy.address(), memory.address(), 256);
      fill_bytes(stream, memory.address(), 7, 128);
      end.record(stream);
      other.wait(end);
      memory.free_in(other);
      std::array<unsigned char, 256> back{};
      copy_to_host(stream, back.data(), copy.address(), 256);
      end.synchronize();
      EXPECT_TRUE(end.reached());
      EXPECT_GT(end.milliseconds_since(start), 0);
      EXPECT_TRUE(stream.finished());
      stream.synchronize();
      EXPECT_EQ(back[200], 200);

      const Stream far = Stream::create(peer);
      const DeviceMemory there = DeviceMemory::allocate(far, MemoryPool::standard(peer), 256);
      copy_between_devices(stream, peer, there.address(), context, copy.address(), 256);
      stream.synchronize();
      far.synchronize();
      copy_to_host(far, back.data(), there.address(), 256);
      far.synchronize();
      EXPECT_EQ(back[100], 100);
      EXPECT_EQ(Stream::borrow(context, other.raw()), other);
      context.synchronize();
      pool.trim();
    }};

const Scenario launches{"launches",
                        [](FakeDriver &fake, const Steps &) {
                          const Context context = Context::primary(fake.driver(), 0);
                          const Stream stream = Stream::create(context);
                          const Number sum(stream, MemoryPool::standard(context));
                          const Kernel add = test::load(fake, context, test::add_code());
                          EXPECT_EQ(add.attribute(FunctionAttribute::registers), 32);
                          CUdeviceptr target = sum.memory.address();
                          int amount = 1;
                          void *parameters[] = {&target, &amount};
                          launch(stream, add, {}, parameters);
                          launch(stream, add, {.grid = {8, 1, 1}, .cluster = {{4, 1, 1}}, .priority = -1}, parameters);
                          launch(stream, add, {.shared_bytes = 100 << 10, .programmatic = true}, parameters);
                          launch(stream, add, {.cooperative = true}, parameters);
                          EXPECT_EQ(sum.value(), 4);
                          const LaunchShape large{.grid = {16, 1, 1}, .cluster = {{16, 1, 1}}};
                          try {
                            launch(stream, add, large, parameters);
                            ADD_FAILURE() << "there is no room for the cluster";
                          } catch (const UserError &) {
                            EXPECT_EQ(sum.value(), 4);
                          }
                        },
                        {.largest_cluster = 8}};

const Scenario graphs{"graphs", [](FakeDriver &fake, const Steps &) {
                        const Context context = Context::primary(fake.driver(), 0);
                        const Stream stream = Stream::create(context);
                        const Number sum(stream, MemoryPool::standard(context));
                        const Kernel add = test::load(fake, context, test::add_code());
                        const PreparedLaunch launch(
                            stream, add, {.grid = {2, 1, 1}, .cluster = {{2, 1, 1}}, .priority = -1}, {"user.cpp", 5});
                        CUdeviceptr target = sum.memory.address();
                        int amount = 1;
                        void *parameters[] = {&target, &amount};

                        Graph inner = Graph::create(context), outer = Graph::create(context);
                        inner.add(launch, parameters);
                        const GraphNode first = outer.add(launch, parameters);
                        const GraphNode child = outer.add(inner, {{first}});
                        Graph::Conditional taken = outer.add_if(outer.add_condition(1), {{outer.add_empty({{child}})}});
                        amount = 10;
                        const GraphNode inside = taken.body.add(launch, parameters);
                        EXPECT_EQ(outer.nodes().size(), 4u);
                        GraphExecutable executable = GraphExecutable::instantiate(outer);
                        executable.upload(stream);
                        executable.launch(stream);
                        EXPECT_EQ(sum.value(), 12);

                        amount = 100;
                        executable.set(first, launch, parameters);
                        executable.launch(stream);
                        EXPECT_EQ(sum.value(), 123);
                        executable.enable(first, false);
                        executable.launch(stream);
                        EXPECT_EQ(sum.value(), 134);
                        amount = 1000;
                        taken.body.set(inside, launch, parameters);
                        executable.update(outer);
                        executable.launch(stream);
                        EXPECT_EQ(sum.value(), 1136);
                      }};

const Scenario captures{"captures", [](FakeDriver &fake, const Steps &) {
                          const Context context = Context::primary(fake.driver(), 0);
                          const Stream stream = Stream::create(context), side = Stream::create(context);
                          const Number sum(stream, MemoryPool::standard(context));
                          stream.synchronize();
                          const Event fork = Event::create(context), join = Event::create(context);
                          std::optional<Kernel> add = test::load(fake, context, test::add_code());
                          Graph graph = capture(stream, [&] {
                            fill_words(stream, sum.memory.address(), 5, 1);
                            test::add(stream, *add, sum.memory.address(), 2);
                            fork.record(stream);
                            side.wait(fork);
                            test::add(side, *add, sum.memory.address(), 3);
                            join.record(side);
                            stream.wait(join);
                          });
                          const Graph::Conditional body = graph.add_if(graph.add_condition(1), graph.nodes());
                          Graph into = body.body;
                          capture_into(into, stream, [&] {
                            test::add(stream, *add, sum.memory.address(), 10);
                            EXPECT_TRUE(last_captured(stream));
                          });
                          add.reset();
                          EXPECT_EQ(sum.value(), 0);
                          GraphExecutable::instantiate(graph).launch(stream);
                          EXPECT_EQ(sum.value(), 20);
                        }};

const Scenario tensor_maps{"tensor maps",
                           [](FakeDriver &fake, const Steps &) {
                             const Context context = Context::primary(fake.driver(), 0);
                             TiledTensor matrix;
                             matrix.type = TensorType::f32;
                             matrix.rank = 2;
                             matrix.address = 0x1000;
                             matrix.extents = {64, 64};
                             matrix.strides = {256};
                             matrix.box = {32, 8};
                             TensorMap map = TensorMap::encode(context, matrix);
                             map.replace_address(context, 0x2000);
                             EXPECT_EQ(map.bits().words[0], 0x2000u);
                             TensorMapCache cache(context);
                             EXPECT_EQ(cache.encode(matrix).words[0], 0x1000u);
                             EXPECT_EQ(cache.encode(matrix).words[0], 0x1000u);

                             Im2colTensor image;
                             image.type = TensorType::f16;
                             image.rank = 4;
                             image.address = 0x1000;
                             image.extents = {64, 32, 32, 8};
                             image.strides = {128, 128 * 32, 128 * 32 * 32};
                             image.channels = 64;
                             image.pixels = 32;
                             EXPECT_EQ(TensorMap::encode(context, image).bits().words[1], 4u);
                             Im2colWideTensor wide;
                             static_cast<TensorLayout &>(wide) = image;
                             wide.swizzle = Swizzle::bytes_128;
                             wide.channels = 64;
                             wide.pixels = 32;
                             EXPECT_EQ(TensorMap::encode(context, wide).bits().words[1], 4u);
                           },
                           {.compute_capability = 100}};

}  // namespace
}  // namespace samite::driver

namespace samite::test {

std::vector<Scenario> handle_scenarios() {
  return {driver::devices_and_memory, driver::launches, driver::graphs, driver::captures, driver::tensor_maps};
}

}  // namespace samite::test
