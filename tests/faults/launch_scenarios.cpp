// Programs that use the library as its users do.
#include "samite/jit/cuda_launch.h"
#include "samite/jit/definition.h"
#include "samite/jit/launch_access.h"
#include "tests/faults/setting.h"

#include <gmock/gmock.h>

namespace samite::test {
namespace {

using driver::fake::FakeDriver;

const Device device = Device::cuda(0), other_device = Device::cuda(1);

// Compared without matchers, which leak if memory is short.
std::vector<float> vector(std::initializer_list<float> values) { return values; }
std::vector<float> vector(std::span<const float> values) { return {values.begin(), values.end()}; }

void launch_and_copy_back(FakeDriver &fake, const Steps &step) {
  step([&] { start(fake); });
  const auto scale = scale_kernel(fake);
  auto in = step([] { return Buffer<float>{device, {3}, {1, 2, 3}}; });
  auto out = step([] { return Buffer<float>{device, {3}}; });
  step([&] { scale.launch({3}, out, in, 2.0f); });
  EXPECT_EQ(step([&] { return out.to_vector(); }), vector({2, 4, 6}));
  step([&] { in.fill(7); });
  step([&] { scale.launch({3}, out, in, 1.0f); });
  EXPECT_EQ(step([&] { return out.at(2); }), 7);
}

void views_and_copies(FakeDriver &fake, const Steps &) {
  start(fake);
  Buffer<float> line{device, {6}, {1, 2, 3, 4, 5, 6}};
  EXPECT_EQ(line.slice(0, 5, -1, -2).to_vector(), vector({6, 4, 2}));
  line.slice(0, 0, 3).copy_from(line.slice(0, 1, 4));
  EXPECT_EQ(line.to_vector(), vector({2, 3, 4, 4, 5, 6}));
  line.slice(0, 0, 6, 2).copy_from({7, 8, 9});
  line.set({1}, 10);
  EXPECT_EQ(line.clone().to_vector(), vector({7, 10, 8, 4, 9, 6}));
  line.slice(0, 1, 6, 2).fill(0);
  line.slice(0, 0, 2).fill(1);
  Buffer<double> wide{device, {2}};
  wide.fill(0.1);
  EXPECT_EQ(wide.at(1), 0.1);
  Buffer<float> far = line.to(other_device);
  far.slice(0, 0, 6, 2).copy_from(line.slice(0, 1, 6, 2));
  EXPECT_EQ(far.to_vector(), vector({1, 1, 0, 0, 0, 0}));
}

void streams_and_pinned_memory(FakeDriver &fake, const Steps &step) {
  step([&] { start(fake); });
  EXPECT_GE(Device::list().size(), 1u);  // a driver that does not answer has no devices
  EXPECT_EQ(step([] { return device.name(); }), "Fake GPU");
  step([] { device.enable_peer_access(other_device); });
  const auto scale = scale_kernel(fake);
  const Stream stream = step([] { return Stream{device, -1}; }), second = step([] { return Stream{device}; });
  const auto pinned = step([] { return PinnedArray<float>{device, {3}}; });
  std::ranges::fill(step([&] { return pinned.values(); }), 5.0f);
  auto in = step([] { return Buffer<float>{device, {3}}; }), out = step([] { return Buffer<float>{device, {3}}; });
  Event begin, end;
  step([&] { begin.record(stream); });
  step([&] { in.copy_from(pinned, stream); });
  step([&] { scale.launch({3}, {.stream = stream}, out, in, 2.0f); });
  step([&] { end.record(stream); });
  step([&] { second.wait(end); });
  step([&] { scale.launch({3}, {.stream = second}, in, out, 3.0f); });
  step([&] { out.copy_to(pinned, stream); });
  EXPECT_EQ(step([&] { return vector(pinned.values()); }), vector({10, 10, 10}));
  EXPECT_EQ(step([&] { return in.to_vector(); }), vector({30, 30, 30}));
  step([&] { end.synchronize(); });
  EXPECT_TRUE(step([&] { return end.reached(); }));
  EXPECT_GT(step([&] { return end.milliseconds_since(begin); }), 0);
  EXPECT_TRUE(step([&] { return stream.finished(); }));
  step([&] {
    Buffer<float> short_lived{device, {3}};
    short_lived.copy_to(pinned, second);
    scale.launch({3}, {.stream = second}, short_lived, in, 1.0f);
  });
  step([&] { in.copy_from({1, 2, 3}); });
  step([&] { scale.launch({3}, {.stream = second}, out, in, 1.0f); });
  EXPECT_EQ(step([&] { return out.to_vector(); }), vector({1, 2, 3}));
  step([&] { second.synchronize(); });
  step([] { device.synchronize(); });
  step([] { device.release_unused_memory(); });
  EXPECT_EQ(step([&] { return Stream::borrow(device, second.native()); }), second);
}

void recorded_launches_that_are_edited(FakeDriver &fake, const Steps &step) {
  step([&] { start(fake); });
  const auto scale = scale_kernel(fake);
  const Stream stream = step([] { return Stream{device}; });
  auto in = step([] { return Buffer<float>{device, {6}, {1, 2, 3, 4, 5, 6}}; });
  auto out = step([] { return Buffer<float>{device, {3}}; }), other = step([] { return Buffer<float>{device, {3}}; });
  auto launch = step([&] { return scale.record({3}, {.cuda = {.cluster = 2, .priority = -1}}, out, in, 2.0f); });
  step([&] { launch.launch(); });
  step([&] { launch.set("factor", 3.0f); });
  step([&] { launch.set("out", other); });
  step([&] { launch.set("in", in.slice(0, 0, 6, 2)); });  // another variant
  step([&] { launch.set_dim(0, 2); });
  step([&] { launch.launch(stream); });
  EXPECT_EQ(step([&] { return out.to_vector(); }), vector({2, 4, 6}));
  EXPECT_EQ(step([&] { return other.to_vector(); }), vector({3, 9, 0}));
}

// An edit that fails leaves the launch unchanged.
void a_launch_is_edited_or_not(FakeDriver &fake, const Steps &step) {
  step([&] { start(fake); });
  const auto scale = scale_kernel(fake);
  auto in = step([] { return Buffer<float>{device, {6}, {1, 2, 3, 4, 5, 6}}; });
  auto out = step([] { return Buffer<float>{device, {3}}; });
  auto launch = step([&] { return scale.record({3}, out, in, 2.0f); });
  step([&] { launch.launch(); });
  bool edited = false;
  try {
    launch.set("in", in.slice(0, 0, 6, 2));
    edited = true;
  } catch (const Error &) {
    step([&] { launch.launch(); });
    EXPECT_EQ(step([&] { return out.to_vector(); }), vector({2, 4, 6}));
    throw;
  }
  step([&] { launch.launch(); });
  EXPECT_TRUE(edited);
  EXPECT_EQ(step([&] { return out.to_vector(); }), vector({2, 6, 10}));
}

struct ScaleAdjointArguments {
  ScaleArguments primal;
  ArrayArgument<float> out_gradient, in_gradient;
};

void understand_scale_adjoint(FakeDriver &fake) {
  const auto gather = [](const ScaleAdjointArguments &a, const LaunchBox &box) {
    for (std::int64_t i = 0; i < box.end[0]; ++i) a.in_gradient.data[i] += a.primal.factor * a.out_gradient.data[i];
  };
  const auto clear = [](const ScaleAdjointArguments &a, const LaunchBox &box) {
    std::fill_n(a.out_gradient.data, box.end[0], 0.0f);
  };
  fake.understand(kernel_code<ScaleAdjointArguments>("scale_adjoint", [=](const auto &a, const LaunchBox &box) {
    gather(a, box);
    clear(a, box);
  }));
}

void graphs_that_are_edited(FakeDriver &fake, const Steps &step) {
  step([&] { start(fake); });
  const auto scale = scale_kernel(fake);
  const Stream stream = step([] { return Stream{device}; }), elsewhere = step([] { return Stream{device}; });
  auto a = step([] { return Buffer<float>{device, {2}, {1, 2}}; });
  auto b = step([] { return Buffer<float>{device, {2}}; }), c = step([] { return Buffer<float>{device, {2}}; });
  auto first = step([&] { return scale.record({2}, {.stream = stream, .cuda = {.cluster = 2}}, b, a, 2.0f); });
  auto second = step([&] { return scale.record({2}, {.stream = stream}, c, b, 5.0f); });
  auto graph = step([&] {
    return capture(stream, [&] {
      first.launch();
      second.launch();
    });
  });
  step([&] { graph.launch(); });
  EXPECT_EQ(step([&] { return c.to_vector(); }), vector({10, 20}));
  step([&] { second.set("factor", 7.0f); });
  step([&] { graph.set(1, second); });
  step([&] { graph.launch(elsewhere); });
  EXPECT_EQ(step([&] { return c.to_vector(); }), vector({14, 28}));
  step([&] { graph.enable(0, false); });
  step([&] { b.copy_from({0, 1}); });
  step([&] { graph.launch(); });
  EXPECT_EQ(step([&] { return c.to_vector(); }), vector({0, 7}));
}

struct CopyArguments {
  ArrayArgument<float> out, in;
};
struct SquareArguments {
  ArrayArgument<float> out, in, out_gradient, in_gradient;
};

// A graph of a launch of two kernels: an adjoint that is gathered. A failing edit leaves it unchanged.
void a_graph_is_edited_or_not(FakeDriver &fake, const Steps &step) {
  step([&] { start(fake); });
  const Kernel sums{"sums", {"next", "now"}, [](Array<float, 1> next, Array<const float, 1> now) {
                      Int i = thread_index();
                      next(i) = now(i) + now(max(i - 1, 0));
                    }};
  fake.understand(kernel_code<SquareArguments>("sums_adjoint", [](const auto &a, const LaunchBox &box) {
    for (std::int64_t i = 0; i < box.end[0]; ++i) a.in_gradient.data[i] += 3 * a.out_gradient.data[i];
  }));
  fake.understand(kernel_code<SquareArguments>("sums_adjoint_clear", [](const auto &a, const LaunchBox &box) {
    std::fill_n(a.out_gradient.data, box.end[0], 0.0f);
  }));
  const Stream stream = step([] { return Stream{device}; });
  const auto array = [&] { return step([] { return Buffer<float>{device, {2}, {1, 1}, Gradient::tracked}; }); };
  auto next = array(), now = array(), other_next = array(), other_now = array();
  const auto record = [&](const Buffer<float> &of_next, const Buffer<float> &of_now) {
    return step([&] { return sums.record({2}, {.direction = Direction::adjoint, .stream = stream}, of_next, of_now); });
  };
  auto launch = record(next, now), other = record(other_next, other_now);
  EXPECT_EQ(jit::LaunchAccess::cuda(launch)->kernel_count(), 2);
  auto graph = step([&] { return capture(stream, [&] { launch.launch(); }); });

  // The results of a launch for gradients of one in `next`, in both pairs of arrays.
  const auto expect = [&](float now_gradient, float next_gradient, float other_now_gradient,
                          float other_next_gradient) {
    for (const Buffer<float> &of_next : {next, other_next}) step([&] { of_next.gradient().fill(1); });
    for (const Buffer<float> &of_now : {now, other_now}) step([&] { of_now.gradient().fill(0); });
    step([&] { graph.launch(); });
    EXPECT_EQ(step([&] { return now.gradient().at(1); }), now_gradient);
    EXPECT_EQ(step([&] { return next.gradient().at(1); }), next_gradient);
    EXPECT_EQ(step([&] { return other_now.gradient().at(1); }), other_now_gradient);
    EXPECT_EQ(step([&] { return other_next.gradient().at(1); }), other_next_gradient);
  };
  const auto edit = [&](const std::function<void()> &change, const std::function<void()> &expect_unchanged) {
    try {
      change();
    } catch (const driver::DriverError &error) {
      if (driver::kind_of(error.code()) != driver::ResultKind::call) throw;
      expect_unchanged();
      change();
    }
  };
  expect(3, 0, 0, 1);
  edit([&] { graph.set(0, other); }, [&] { expect(3, 0, 0, 1); });
  expect(0, 1, 3, 0);
  edit([&] { graph.enable(0, false); }, [&] { expect(0, 1, 3, 0); });
  expect(0, 1, 0, 1);
}

// Kernels that are compiled once in the process.
void launches_on_the_cpu(FakeDriver &, const Steps &step) {
  constexpr std::int64_t count = 1 << 16;
  static std::vector<std::shared_ptr<const jit::Variant>> compiled;
  const auto cpu = Device::cpu();
  const Kernel powers{
      "powers", {"y", "total", "x"}, [](Array<double, 1> y, Array<double, 1> total, Array<const double, 1> x) {
        Int i = thread_index();
        Double power = x(i);
        for ([[maybe_unused]] Int k : range(3)) power = power * power;
        y(i) = power;
        atomic_add(total(0), x(i));
      }};
  auto x = step([&] { return Buffer<double>{cpu, {count}, Gradient::tracked}; });
  auto y = step([&] { return Buffer<double>{cpu, {count}, Gradient::tracked}; });
  auto total = step([&] { return Buffer<double>{cpu, {1}, Gradient::tracked}; });
  step([&] { x.fill(1); });
  step([&] { total.fill(0); });
  Tape tape;
  tape.record([&] { powers.launch({count}, y, total, x); });
  EXPECT_EQ(total.at(0), count);
  EXPECT_EQ(y.at(count - 1), 1);
  auto seed = step([&] { return Buffer<double>{cpu, {count}}; });
  step([&] { seed.fill(1); });
  tape.backward({{y, seed}});
  EXPECT_EQ(x.gradient().at(7), 8);
  auto recorded = powers.record({count}, y, total, x);
  auto graph = capture(Stream::standard(cpu), [&] { recorded.launch(); });
  graph.launch();
  EXPECT_EQ(total.at(0), 2 * count);
  for (const auto &variant : powers.variants())
    if (std::ranges::none_of(compiled, [&](const auto &one) { return one->host.image == variant->host.image; }))
      compiled.push_back(variant);
}

struct AddArguments {
  ArrayArgument<std::int32_t> sum;
  std::int32_t amount;
};
struct BelowArguments {
  ArrayArgument<bool> flag;
  ArrayArgument<const std::int32_t> sum;
  std::int32_t limit;
};

Kernel<void(Array<std::int32_t, 1>, Int)> add_kernel(FakeDriver &fake) {
  fake.understand(
      kernel_code<AddArguments>("add", [](const AddArguments &a, const LaunchBox &) { a.sum.data[0] += a.amount; }));
  return {"add", {"sum", "amount"}, [](Array<std::int32_t, 1> sum, Int amount) {
            Int i = thread_index();
            sum(i) += amount;
          }};
}

void graphs_with_conditions(FakeDriver &fake, const Steps &step) {
  step([&] { start(fake); });
  const auto add = add_kernel(fake);
  fake.understand(kernel_code<BelowArguments>(
      "below", [](const BelowArguments &a, const LaunchBox &) { a.flag.data[0] = a.sum.data[0] < a.limit; }));
  const Kernel below{
      "below", {"flag", "sum", "limit"}, [](Array<bool, 1> flag, Array<const std::int32_t, 1> sum, Int limit) {
        Int i = thread_index();
        flag(i) = sum(i) < limit;
      }};
  const Stream stream = step([] { return Stream{device}; });
  auto sum = step([] { return Buffer<std::int32_t>{device, {1}}; });
  auto again = step([] { return Buffer<bool>{device, {1}}; });
  auto more = step([&] { return add.record({1}, {.stream = stream}, sum, 3); });
  auto test = step([&] { return below.record({1}, {.stream = stream}, again, sum, 10); });
  auto graph = step([&] {
    return capture(stream, [&] {
      test.launch();
      capture_while(again, [&] {
        more.launch();
        test.launch();
      });
      capture_if(again, [&] { more.launch(); });
      more.launch();
    });
  });
  EXPECT_EQ(step([&] { return sum.at(0); }), 0);
  step([&] { graph.launch(); });
  EXPECT_EQ(step([&] { return sum.at(0); }), 15);
  step([&] { more.set("amount", 5); });
  step([&] { graph.set(1, more); });
  step([&] { graph.enable(4, false); });
  step([&] { sum.fill(0); });
  step([&] { graph.launch(); });
  EXPECT_EQ(step([&] { return sum.at(0); }), 10);
}

void a_tape_that_goes_back(FakeDriver &fake, const Steps &step) {
  step([&] { start(fake); });
  const auto scale = scale_kernel(fake);
  understand_scale_adjoint(fake);
  fake.understand(kernel_code<CopyArguments>("square", [](const CopyArguments &a, const LaunchBox &box) {
    for (std::int64_t i = 0; i < box.end[0]; ++i) a.out.data[i] = a.in.data[i] * a.in.data[i];
  }));
  const auto gather = [](const SquareArguments &a, const LaunchBox &box) {
    for (std::int64_t i = 0; i < box.end[0]; ++i) a.in_gradient.data[i] += 2 * a.in.data[i] * a.out_gradient.data[i];
  };
  const auto clear = [](const SquareArguments &a, const LaunchBox &box) {
    std::fill_n(a.out_gradient.data, box.end[0], 0.0f);
  };
  fake.understand(kernel_code<SquareArguments>("square_adjoint", [=](const auto &a, const LaunchBox &box) {
    gather(a, box);
    clear(a, box);
  }));
  const Kernel square{"square", {"out", "in"}, [](Array<float, 1> out, Array<const float, 1> in) {
                        Int i = thread_index();
                        out(i) = in(i)*in(i);
                      }};
  auto x = step([] { return Buffer<float>{device, {2}, {1, 2}, Gradient::tracked}; });
  auto y = step([] { return Buffer<float>{device, {2}, Gradient::tracked}; });
  auto seed = step([] { return Buffer<float>(device, {2}, {1, 10}); });
  Tape tape;
  step([&] { tape.record([&] { square.launch({2}, y, x); }); });
  auto overwrite = step([&] { return scale.record({2}, x, y, 3.0f); });
  step([&] { tape.record([&] { overwrite.launch(); }); });  // overwrites values that the first one's adjoint needs
  EXPECT_EQ(tape.size(), 2u);
  EXPECT_EQ(tape.kept_bytes(), 8);
  step([&] {
    try {
      tape.backward({{x, seed}});
    } catch (const UserError &error) {  // after a first time that ended halfway
      EXPECT_THAT(error.what(), testing::HasSubstr("call zero_gradients() first"));
      tape.zero_gradients();
      tape.backward({{x, seed}});
    }
  });
  EXPECT_EQ(step([&] { return x.gradient().to_vector(); }), vector({6, 120}));
  step([&] { tape.zero_gradients(); });
  EXPECT_EQ(step([&] { return x.gradient().to_vector(); }), vector({0, 0}));
}

void a_launch_that_speaks(FakeDriver &fake, const Steps &step) {
  step([&] { start(fake); });
  fake.understand(kernel_code<CopyArguments>(
      "speaks", [](const CopyArguments &a, const LaunchBox &box) { std::copy_n(a.in.data, box.end[0], a.out.data); }));
  const Kernel speaks{"speaks", {"out", "in"}, [](Array<float, 1> out, Array<const float, 1> in) {
                        Int i = thread_index();
                        print("element ", i);
                        out(i) = in(i);
                      }};
  auto in = step([] { return Buffer<float>{device, {2}, {1, 2}}; });
  auto out = step([] { return Buffer<float>{device, {2}}; });
  step([&] { speaks.launch({2}, out, in); });
  step([&] { speaks.launch({2}, {.debug = true}, out, in); });
  auto recorded = step([&] { return speaks.record({2}, out, in); });
  step([&] { recorded.launch(); });
  EXPECT_EQ(step([&] { return out.to_vector(); }), vector({1, 2}));
  step([] { device.synchronize(); });
}

}  // namespace

std::vector<Scenario> launch_scenarios() {
  constexpr bool steps = true, lines = true;
  return {{"launch and copy back", launch_and_copy_back, {}, steps, lines},
          {"views and copies", views_and_copies},
          {"streams and pinned memory", streams_and_pinned_memory, {}, steps, lines},
          {"recorded launches that are edited", recorded_launches_that_are_edited, {}, steps, lines},
          {"a launch is edited or not", a_launch_is_edited_or_not, {}, !steps, lines},
          {"graphs that are edited", graphs_that_are_edited, {}, steps, lines},
          {"a graph is edited or not", a_graph_is_edited_or_not, {}, steps, lines},
          {"graphs with conditions", graphs_with_conditions, {}, steps, lines},
          {"a tape that goes back", a_tape_that_goes_back, {}, steps},
          {"a launch that speaks", a_launch_that_speaks, {}, steps}};
}

// Their calls do not reach the driver.
Scenario cpu_scenario() { return {"launches on the cpu", launches_on_the_cpu}; }

}  // namespace samite::test
