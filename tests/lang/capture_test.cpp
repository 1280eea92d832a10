// From a C++ function to a kernel: parameters, names, and refused captures.

#include "samite/base/error.h"
#include "samite/ir/kernel.h"
#include "tests/lang/captured.h"
#include "tests/runtime/message_of.h"

#include <barrier>
#include <optional>
#include <thread>

namespace samite {
namespace {

using test::captured;
using test::recorded;
using ::testing::HasSubstr;

std::string header(const ir::Kernel &kernel) {
  std::string text = to_string(kernel);
  return text.substr(0, text.find(" {"));
}

// The message when a kernel `name` of an array and a number, with these names, is refused.
std::string refusal(const std::string &name, const std::vector<std::string> &names) {
  auto function = [](Array<float, 1>, Float) {};
  return message_of<UserError>(
      [&] { test::CaptureOf<decltype(function)>::run(name, names, function, SourceLocation("kernels.cpp", 7)); });
}

TEST(Capture, ParametersAreDescribedByTheirTypes) {
  ir::Kernel kernel =
      captured([](Array<float, 2>, Array<const double, 4>, Array<bool, 1>, Int, UInt8, Bool, Double) {});
  EXPECT_EQ(header(kernel),
            "kernel @k(@p0: array<f32, 2>, @p1: array<const f64, 4>, @p2: array<bool, 1>, @p3: i32, @p4: u8, "
            "@p5: bool, @p6: f64) threads 1");
  EXPECT_EQ(header(captured([] {})), "kernel @k() threads 1");
}

TEST(Capture, ParametersHaveTheNamesThatAreGiven) {
  auto function = [](Array<float, 1>, Float) {};
  ir::Kernel kernel = test::CaptureOf<decltype(function)>::run("scale", {"out", "factor"}, function, {});
  EXPECT_EQ(header(kernel), "kernel @scale(@out: array<f32, 1>, @factor: f32) threads 1");
}

TEST(Capture, EveryParameterIsNamedOrNone) {
  EXPECT_THAT(refusal("k", {"out"}),
              HasSubstr("kernels.cpp:7: kernel 'k' has 2 parameters, but 1 names are given; name all of them or none"));
}

TEST(Capture, NamesAreIdentifiersAndDistinct) {
  EXPECT_THAT(refusal("two words", {}), HasSubstr("kernels.cpp:7: the kernel name 'two words' is not an identifier"));
  EXPECT_THAT(refusal("", {}), HasSubstr("the kernel name '' is not an identifier"));
  EXPECT_THAT(refusal("2d", {}), HasSubstr("the kernel name '2d' is not an identifier"));
  EXPECT_THAT(refusal("k", {"out", "a b"}), HasSubstr("kernels.cpp:7: kernel 'k': the parameter name 'a b' is not an "
                                                      "identifier"));
  EXPECT_THAT(refusal("k", {"", "b"}), HasSubstr("the parameter name '' is not an identifier"));
  EXPECT_THAT(refusal("k", {"out", "out"}), HasSubstr("kernels.cpp:7: kernel 'k': two parameters are named 'out'"));
}

TEST(Capture, ArgumentsAreLocalsOfTheKernel) {
  EXPECT_EQ(test::difference(
                [](Array<float, 1> out, Float x) {
                  x = x + 1;
                  out(0) = x;
                },
                "%0: f32 = add @p1, 1.0 store @p0[0:i64] = %0"),
            "");
}

Float square_plus(Float x, const Float &y) {
  x *= x;
  return x + y;
}

TEST(Capture, PlainFunctionsAreInlinedAndTakeCopies) {
  EXPECT_EQ(test::difference(
                [](Array<float, 1> out, Float x) {
                  Float y = square_plus(x, x);
                  out(0) = y;
                  out(1) = x;
                },
                "%0: f32 = mul @p1, @p1 %1: f32 = add %0, @p1 store @p0[0:i64] = %1 store @p0[1:i64] = @p1"),
            "");
}

// The capture runs C++: values known on the host act like literals.
TEST(Capture, HostValuesAndNativeControlFlowAreResolved) {
  const int unrolled = 3;
  const bool doubled = true;
  EXPECT_EQ(recorded([=](Float x) {
              for (int i = 0; i < unrolled; ++i) x += i;
              if (doubled) x = x * 2;
              return x;
            }),
            "%0: f32 = add @p0, 0.0; %1: f32 = add %0, 1.0; %2: f32 = add %1, 2.0; %3: f32 = mul %2, 2.0");
}

TEST(Capture, ParametersMayBeTakenByReference) {
  EXPECT_EQ(recorded([](const Array<float, 1> &a, const Float &x, Float &y) {
              y = x;
              a(0) = y;
            }),
            "store @p0[0:i64] = @p1");
}

TEST(Capture, ATracedValueOutsideOfAKernelIsAnError) {
  const unsigned line = __LINE__ + 1;
  std::string message = message_of<UserError>([] { Float x = 1.0f; });
  EXPECT_THAT(message, HasSubstr("capture_test.cpp:" + std::to_string(line) + ": a traced value is used outside"));
  EXPECT_THAT(message, HasSubstr("use float, int, … on the host"));
  EXPECT_THAT(message_of<UserError>([] { thread_index<2>(); }), HasSubstr("outside of a kernel"));
}

TEST(Capture, AValueThatOutlivesItsKernelIsAnError) {
  std::optional<Float> kept;
  std::optional<Array<float, 1>> kept_array;
  captured([&](Array<float, 1> a, Float x) {
    kept.emplace(x);
    kept_array = a;
  });
  EXPECT_THAT(message_of<UserError>([&] { *kept + 1; }), HasSubstr("outside of a kernel"));
  EXPECT_THAT(message_of<UserError>([&] { captured([&](Float y) { return y + *kept; }); }),
              HasSubstr("a traced value of one kernel is used in another kernel; pass it as an argument"));
  EXPECT_THAT(message_of<UserError>([&] { captured([&](Float y) { (*kept_array)(0) = y; }); }),
              HasSubstr("an array of one kernel is used in another kernel; declare it as a parameter"));
  EXPECT_THAT(message_of<UserError>([&] { captured([&] { kept_array->extent(0); }); }),
              HasSubstr("an array of one kernel is used in another kernel"));
}

TEST(Capture, AKernelInsideOfAKernelIsRefusedAndHarmsNothing) {
  std::string message, text = recorded([&](Float x) {
                         message = message_of<UserError>([] { captured([] {}, SourceLocation("inner.cpp", 5)); });
                         return x + 1;
                       });
  EXPECT_THAT(message, HasSubstr("inner.cpp:5: a kernel is being defined inside of another kernel's function; call a "
                                 "plain C++ function instead"));
  EXPECT_EQ(text, "%0: f32 = add @p0, 1.0");
}

TEST(Capture, AnExceptionOfTheUsersFunctionEndsTheCapture) {
  auto throwing = [](Int n) {
    for (Int i : range(n)) throw std::runtime_error("the user's own");
  };
  EXPECT_THROW(captured(throwing), std::runtime_error);
  EXPECT_EQ(recorded([](Float x) { return x + 1; }), "%0: f32 = add @p0, 1.0");
}

TEST(Capture, TheLaunchHasAsManyDimensionsAsTheThreadIndex) {
  EXPECT_EQ(captured([] {}).launch_rank, 1);
  EXPECT_EQ(captured([] { thread_index(); }).launch_rank, 1);
  EXPECT_EQ(captured([] { auto [i] = thread_index<1>(); }).launch_rank, 1);
  EXPECT_EQ(captured([] { auto [k, j, i] = thread_index<3>(); }).launch_rank, 3);
  EXPECT_EQ(recorded([](Array<float, 4> a, Float x) {
              auto [l, k, j, i] = thread_index<4>();
              if_(x > 0, [&] { a(i, j, k, l) = x; });
            }),
            "%0: i32 = thread_index 0; %1: i32 = thread_index 1; %2: i32 = thread_index 2; %3: i32 = thread_index 3; "
            "%4: bool = gt @p1, 0.0; if %4 {;   store @p0[%3, %2, %1, %0] = @p1; }");
}

TEST(Capture, ThreadIndicesOfTwoRanksAreAnErrorThatNamesBothLines) {
  const unsigned line = __LINE__ + 3;
  std::string message = message_of<UserError>([] {
    captured([] {
      thread_index<2>();
      thread_index();
    });
  });
  EXPECT_THAT(message, HasSubstr("capture_test.cpp:" + std::to_string(line + 1) +
                                 ": thread_index<1>() in a kernel whose launch has 2 dimensions ("));
  EXPECT_THAT(message, HasSubstr("capture_test.cpp:" + std::to_string(line) + "); use one rank throughout a kernel"));
}

TEST(Capture, ThreadsCaptureIndependently) {
  std::barrier both(2);
  auto function = [&](Array<float, 1> out, Float x, Int n) {
    for (Int i : range(n)) {
      both.arrive_and_wait();  // each is in the middle of its capture
      if_(x > 0, [&] {
        both.arrive_and_wait();
        out(i) = x;
      });
      x += 1;
    }
    both.arrive_and_wait();
    out(n) = x;
  };
  std::string first, second;
  auto capture_text = [&] { return to_string(captured(function), {.locations = true}); };
  std::thread other([&] { second = capture_text(); });
  first = capture_text();
  other.join();
  EXPECT_EQ(first, second);
}

}  // namespace
}  // namespace samite
