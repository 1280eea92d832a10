// Pipelines on tapes, between kernels.
#include "samite/samite.h"
#include "tests/runtime/message_of.h"

#include <gmock/gmock.h>

#include <cmath>

namespace samite::test::pipeline_tapes {
namespace {

using testing::AllOf;
using testing::DoubleNear;
using testing::HasSubstr;
using testing::Pointwise;

using Numbers = std::vector<double>;
constexpr std::int64_t n = 9;

const Var x{"x"};

// A product of neighbours, and each element's share of a mean.
const auto &smooth() {
  static const Pipeline pipeline{"smooth",
                                 {"out", "in", "weight"},
                                 [](Array<double, 1> out, Array<const double, 1> in, Array<const double, 1> weight) {
                                   Func<double> edges = repeat_edge(in), result{"result", out};
                                   result(x) = weight(x) * edges(x - 1) * edges(x + 1) + sin(edges(x));
                                 }};
  return pipeline;
}
const Kernel square{"square", {"y", "x"}, [](Array<double, 1> y, Array<const double, 1> x) {
                      Int i = thread_index();
                      y(i) = x(i) * x(i);
                    }};
const Kernel total{"total", {"sum", "x"}, [](Array<double, 1> sum, Array<const double, 1> x) {
                     atomic_add(sum(0), x(thread_index()));
                   }};

Buffer<double> numbers(double phase) {
  Numbers values;
  for (int i = 0; i < n; ++i) values.push_back(std::sin(phase + 1.7 * i));
  return {Device::cpu(), {n}, values, Gradient::tracked};
}
Buffer<double> tracked(std::int64_t count = n) { return {Device::cpu(), {count}, Gradient::tracked}; }

// An objective of two arrays.
using Objective =
    std::function<void(const Buffer<double> &sum, const Buffer<double> &in, const Buffer<double> &weight)>;

double value_of(const Objective &objective, const Buffer<double> &in, const Buffer<double> &weight) {
  const Buffer<double> sum(Device::cpu(), {1});
  objective(sum, in, weight);
  return sum.at(0);
}

Numbers differences(const Objective &objective, Buffer<double> in, Buffer<double> weight, bool by_weight) {
  Buffer<double> &moved = by_weight ? weight : in;
  Numbers slopes;
  for (std::int64_t i = 0; i < n; ++i) {
    const double before = moved.at(i), h = 1e-5;
    moved.set({i}, before + h);
    const double above = value_of(objective, in, weight);
    moved.set({i}, before - h);
    slopes.push_back((above - value_of(objective, in, weight)) / (2 * h));
    moved.set({i}, before);
  }
  return slopes;
}

void expect_gradients(const Objective &objective) {
  const Buffer<double> in = numbers(0.3), weight = numbers(2.1), sum = tracked(1);
  Tape tape;
  tape.record([&] { objective(sum, in, weight); });
  tape.backward(sum);
  EXPECT_THAT(in.gradient().to_vector(), Pointwise(DoubleNear(1e-7), differences(objective, in, weight, false)));
  EXPECT_THAT(weight.gradient().to_vector(), Pointwise(DoubleNear(1e-7), differences(objective, in, weight, true)));
}

TEST(PipelinesOnTapes, BetweenKernels) {
  expect_gradients([](const auto &sum, const auto &in, const auto &weight) {
    const Buffer<double> a = tracked(), b = tracked(), c = tracked();
    square.launch({n}, a, in);
    smooth().launch(b, a, weight);
    smooth().launch(c, b, weight);
    total.launch({n}, sum, c);
  });
}

TEST(PipelinesOnTapes, OfRecordedLaunches) {
  expect_gradients([](const auto &sum, const auto &in, const auto &weight) {
    const Buffer<double> a = tracked(), b = tracked();
    PipelineLaunch first = smooth().record(a, in, weight);
    first.launch();
    first.set("out", b), first.set("in", a);
    first.launch();
    total.launch({n}, sum, b);
  });
}

// The tape keeps values that a later launch overwrites.
TEST(PipelinesOnTapes, InBuffersUsedInTurn) {
  expect_gradients([](const auto &sum, const auto &in, const auto &weight) {
    Buffer<double> now = tracked(), next = tracked();
    now.copy_from(in);
    for (int step = 0; step < 4; ++step) {
      smooth().launch(next, now, weight);
      std::swap(now, next);
    }
    total.launch({n}, sum, now);
  });
}

// An adjoint adds to gradients: it fills arrays that it reads, and the gradient of their previous values would be lost.
TEST(PipelinesOnTapes, RefuseSecondDerivatives) {
  const Buffer<double> in = numbers(0), weight = numbers(1), out = tracked();
  Tape inner, tape;
  inner.record([&] { smooth().launch(out, in, weight); });
  in.gradient().track_gradient(), weight.gradient().track_gradient(), out.gradient().track_gradient();
  EXPECT_THAT(message_of<UserError>([&] { tape.record([&] { inner.backward({{out, numbers(2)}}); }); }),
              AllOf(HasSubstr("'smooth_adjoint' fills and reads"), HasSubstr("which a tape does not differentiate")));
}

TEST(PipelinesOnTapes, InGraphs) {
  const Buffer<double> in = numbers(0.3), weight = numbers(2.1), a = tracked(), sum = tracked(1);
  Tape tape;
  const auto forward = [&] {
    smooth().launch(a, in, weight);
    total.launch({n}, sum, a);
  };
  tape.record(forward);
  tape.backward(sum);
  const Numbers expected = in.gradient().to_vector();
  Graph graph = capture(Stream::standard(Device::cpu()), [&] {
    Buffer<double>(in).zero_gradient(), Buffer<double>(weight).zero_gradient();
    tape.backward(sum);
  });
  for (int i = 0; i < 2; ++i) {
    graph.launch();
    EXPECT_EQ(in.gradient().to_vector(), expected);
  }
}

TEST(PipelinesOnTapes, WithoutAnAdjointAreRefusedByBackward) {
  const Pipeline cast_twice{"cast_twice", {"out", "in"}, [](Array<double, 1> out, Array<const double, 1> in) {
                              Func<double> result{"result", out};
                              result(x) = cast<Double>(cast<Int>(in(x)));
                            }};
  const Buffer<double> in = numbers(0), out = tracked(), sum = tracked(1);
  Tape tape;
  tape.record([&] {
    cast_twice.launch(out, in);
    total.launch({n}, sum, out);
  });
  EXPECT_THAT(message_of<UserError>([&] { tape.backward(sum); }),
              AllOf(HasSubstr("cast_twice"), HasSubstr("pipeline_tapes_test.cpp")));
}

}  // namespace
}  // namespace samite::test::pipeline_tapes
