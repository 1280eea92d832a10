// The last piece of a split if the extent is not a multiple of the factor: results are those of the whole under each
// tail, on the CPU and on a GPU, and impossible tails are refused.
#include "samite/samite.h"
#include "samite/schedule/lower.h"
#include "tests/lang/captured_pipeline.h"
#include "tests/runtime/message_of.h"
#include "tests/schedule/program_interpreter.h"

#include <gmock/gmock.h>

namespace samite::test::tails {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const Var y{"y"}, x{"x"}, xo{"xo"}, xi{"xi"}, xa{"xa"}, xb{"xb"}, fused{"fused"};
constexpr std::int64_t piece = 8;

using Ints = std::vector<std::int64_t>;

InterpretedArray array_of(Ints values) {
  const auto count = static_cast<std::int64_t>(values.size());
  return {{count}, std::move(values), std::vector<char>(static_cast<std::size_t>(count), 1)};
}

// The result of a pipeline of `out` and `in` in an array of `count` elements.
Ints result(const ir::CapturedPipeline &captured, bool gpu, std::int64_t count, const Ints &in) {
  InterpretedArray out = array_of(Ints(static_cast<std::size_t>(count)));
  out.known.assign(static_cast<std::size_t>(count), 0);
  std::vector<InterpretedArray> arguments{std::move(out), array_of(in)};
  run_program(schedules::lower(captured, {.gpu = gpu}), arguments, gpu);
  EXPECT_THAT(arguments[0].known, testing::Each(1));
  return arguments[0].values;
}

Ints squares(std::int64_t count) {
  Ints values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(i * i);
  return values;
}

std::vector<std::int32_t> as_32_bits(const Ints &values) { return {values.begin(), values.end()}; }

// How many elements are computed, and how many the input has for that.
struct Sizes {
  std::int64_t out, in;
};

// Runs it in the interpreter, as for the CPU and as for a GPU, and compiled. `expected` has the number of an element,
// and the sizes.
template <class F, class G>
void expect_each_way(const std::string &what, const F &function, const std::vector<Sizes> &all_sizes,
                     const G &expected) {
  const ir::CapturedPipeline captured = captured_pipeline(function);
  const Pipeline<void(Array<std::int32_t, 1>, Array<const std::int32_t, 1>)> pipeline{"p", {"out", "in"}, function};
  for (const Sizes &sizes : all_sizes) {
    const Ints in = squares(sizes.in);
    Ints right;
    for (std::int64_t i = 0; i < sizes.out; ++i) right.push_back(expected(i, sizes));
    for (const bool gpu : {false, true})
      EXPECT_EQ(result(captured, gpu, sizes.out, in), right) << what << ", " << sizes.out << ' ' << gpu;
    const Buffer<std::int32_t> out{Device::cpu(), {sizes.out}}, from{Device::cpu(), {sizes.in}, as_32_bits(in)};
    pipeline.launch(out, from);
    EXPECT_EQ(out.to_vector(), as_32_bits(right)) << what << ", " << sizes.out << ", compiled";
  }
}

struct NamedTail {
  Tail tail;
  const char *name;
};
const NamedTail all[] = {{Tail::guard, "guard"},
                         {Tail::shift_inwards, "shift_inwards"},
                         {Tail::round_up, "round_up"},
                         {Tail::predicate, "predicate"},
                         {Tail::predicate_loads, "predicate_loads"},
                         {Tail::predicate_stores, "predicate_stores"},
                         {Tail::shift_inwards_and_blend, "shift_inwards_and_blend"}};

bool needs_a_multiple(Tail tail) { return tail == Tail::round_up || tail == Tail::predicate_loads; }
bool loads_beyond(Tail tail) { return tail == Tail::round_up || tail == Tail::predicate_stores; }

TEST(Tails, OfVectorsAndThreads) {
  for (const auto &[tail, name] : all) {
    std::vector<Sizes> sizes;
    for (const std::int64_t count : {1, 5, 8, 19, 40})
      if (!needs_a_multiple(tail) || count % piece == 0)
        sizes.push_back({count, (loads_beyond(tail) ? (count + piece - 1) / piece * piece : count) + 1});
    const auto function = [&, with = tail](Array<std::int32_t, 1> out, Array<const std::int32_t, 1> in) {
      Func<std::int32_t> f{"f", out};
      f(x) = in(x) + in(x + 1);
      schedule_cpu([&] { f.split(x, xo, xi, piece, with).parallel(xo).vectorize(xi); });
      schedule_cuda([&] { f.split(x, xo, xi, piece, with).gpu_blocks(xo).gpu_threads(xi); });
    };
    expect_each_way(name, function, sizes, [](std::int64_t i, Sizes) { return i * i + (i + 1) * (i + 1); });
  }
}

// For Funcs computed before the loops and inside them.
TEST(Tails, OfAFuncBetweenOthers) {
  for (const auto &[tail, name] : all)
    for (const bool inside : {false, true}) {
      std::vector<Sizes> sizes;
      for (const std::int64_t count : {3, 16, 21})
        sizes.push_back({count, count + (loads_beyond(tail) ? 2 * piece + 1 : 1)});
      const auto function = [&, with = tail](Array<std::int32_t, 1> out, Array<const std::int32_t, 1> in) {
        Func<std::int32_t> first{"first"}, second{"second"}, f{"f", out};
        first(x) = in(x) + 1;
        second(x) = 2 * first(x);
        f(x) = second(x) + second(x + 1);
        schedule_cpu([&] {
          f.split(x, xo, xi, 12);
          first.compute_root();
          if (inside)
            second.compute_at(f, xo).split(x, xa, xb, piece, with).vectorize(xb);
          else
            second.compute_root().split(x, xa, xb, piece, with).vectorize(xb);
        });
        schedule_cuda([&] {
          f.split(x, xo, xi, 12).gpu_blocks(xo).gpu_threads(xi);
          first.compute_root();
          if (inside)
            second.compute_at(f, xo).store_in(Memory::shared).split(x, xa, xb, piece, with).gpu_threads(xb);
          else
            second.compute_root().split(x, xa, xb, piece, with).gpu_blocks(xa).gpu_threads(xb);
        });
      };
      expect_each_way(std::string(name) + (inside ? ", inside" : ""), function, sizes,
                      [](std::int64_t i, Sizes) { return 2 * (i * i + 1) + 2 * ((i + 1) * (i + 1) + 1); });
    }
}

// An element is added to once, also in a piece that is shifted.
TEST(Tails, OfUpdatesThatReadWhatTheyStore) {
  for (const Tail tail : {Tail::guard, Tail::predicate, Tail::predicate_stores, Tail::shift_inwards_and_blend}) {
    std::vector<Sizes> sizes;
    for (const std::int64_t count : {1, 5, 8, 19}) sizes.push_back({count, (count + piece - 1) / piece * piece});
    const auto function = [&](Array<std::int32_t, 1> out, Array<const std::int32_t, 1> in) {
      Func<std::int32_t> f{"f", out};
      f(x) = 100;
      f(x) += in(x);
      f(x) = 3 * f(x) - in(x);
      schedule_cpu([&] {
        f.vectorize(x, piece);
        f.update(0).split(x, xo, xi, piece, tail).parallel(xo).vectorize(xi);
        f.update(1).split(x, xo, xi, piece, tail).parallel(xo).unroll(xi);
      });
      schedule_cuda([&] {
        f.split(x, xo, xi, piece).gpu_blocks(xo).gpu_threads(xi);
        f.update(0).split(x, xo, xi, piece, tail).gpu_blocks(xo).gpu_threads(xi);
        f.update(1).split(x, xo, xi, piece, tail).gpu_blocks(xo).gpu_threads(xi);
      });
    };
    expect_each_way("tail " + std::to_string(static_cast<int>(tail)), function, sizes,
                    [](std::int64_t i, Sizes) { return 3 * (100 + i * i) - i * i; });
  }
}

// Iterations of a reduction come once, and in order.
TEST(Tails, OfReductions) {
  for (const Tail tail : {Tail::guard, Tail::predicate, Tail::shift_inwards_and_blend}) {
    const auto function = [&](Array<std::int32_t, 1> out, Array<const std::int32_t, 1> in) {
      Func<std::int32_t> last{"last"}, f{"f", out};
      Reduction k{"k", 0, in.extent(0)};
      last() = 1;
      last() = (3 * last() + in(k)) % 1000;
      f(x) = last() + x;
      const auto directives = [&] { last.compute_root().update().split(k, xo, xi, piece, tail).unroll(xi); };
      schedule_cpu(directives);
      schedule_cuda(directives);
    };
    expect_each_way("tail " + std::to_string(static_cast<int>(tail)), function, {{3, 5}, {3, 16}, {3, 21}},
                    [](std::int64_t i, Sizes sizes) {
                      std::int64_t last = 1;
                      for (std::int64_t k = 0; k < sizes.in; ++k) last = (3 * last + k * k) % 1000;
                      return last + i;
                    });
  }
}

// If each value is computed from values that the update does not change, or that an earlier iteration has stored, an
// element that is computed twice is the same.
TEST(Tails, ShiftedInUpdates) {
  const auto function = [](Array<std::int32_t, 2> out) {
    Func<std::int32_t> f{"f", out};
    Reduction k{"k", 1, 3};
    f(y, x) = 10 * y + x;
    f(k, x) = 2 * f(k - 1, x) + k;  // of an earlier iteration
    f(0, x) = f(4, x) + f(3, x);    // of rows that stay
    f(4, x) = 7 * x;                // of nothing
    schedule_cpu([&] {
      f.update(0).split(x, xo, xi, piece, Tail::shift_inwards).reorder(xi, k, xo).vectorize(xi);
      f.update(1).split(x, xo, xi, piece, Tail::shift_inwards).parallel(xo).vectorize(xi);
      f.update(2).split(x, xo, xi, piece, Tail::shift_inwards).vectorize(xi);
    });
  };
  const Pipeline<void(Array<std::int32_t, 2>)> pipeline{"p", {"out"}, function};
  for (const std::int64_t columns : {3, 8, 13, 29}) {
    const Buffer<std::int32_t> out{Device::cpu(), {5, columns}};
    pipeline.launch(out);
    const std::vector<std::int32_t> found = out.to_vector();
    for (int i = 0; i < columns; ++i) {
      const int row1 = 2 * i + 1, row2 = 2 * row1 + 2, row3 = 2 * row2 + 3;
      const int right[] = {40 + i + row3, row1, row2, row3, 7 * i};
      for (int row = 0; row < 5; ++row)
        EXPECT_EQ(found[static_cast<std::size_t>(row * columns + i)], right[row]) << columns << ' ' << row << ' ' << i;
    }
  }
  const auto of_reduction = [](Array<std::int32_t, 1> out, Array<const std::int32_t, 1> in) {
    Func<std::int32_t> f{"f", out};
    Reduction k{"k", 1, in.extent(0)};
    f(x) = 1;
    f(k) = f(k - 1) + in(k - 1);
    const auto directives = [&] { f.update().split(k, xo, xi, piece, Tail::shift_inwards); };
    schedule_cpu(directives);
    schedule_cuda(directives);
  };
  expect_each_way("a reduction", of_reduction, {{20, 19}}, [](std::int64_t i, Sizes) {
    std::int64_t sum = 1;
    for (std::int64_t k = 0; k < i; ++k) sum += k * k;
    return sum;
  });
}

class RefusedTails : public testing::Test {
 protected:
  template <class F>
  static std::string refused(const F &function) {
    return message_of<UserError>([&] { schedules::lower(captured_pipeline(function), {}); });
  }
};

TEST_F(RefusedTails, ShiftedWhereALaterIterationIsRead) {
  EXPECT_THAT(refused([](Array<std::int32_t, 2> out) {
                Func<std::int32_t> f{"f", out};
                Reduction k{"k", 0, 3};
                f(y, x) = 10 * y + x;
                f(k, x) = 2 * f(k + 1, x);
                schedule_cpu([&] { f.update().split(x, xo, xi, piece, Tail::shift_inwards); });
              }),
              AllOf(HasSubstr("an update of 'f' is split with a tail shifted inwards, which would update some elements "
                              "twice"),
                    HasSubstr("or Tail::shift_inwards_and_blend, which stores those once")));
}

TEST_F(RefusedTails, ShiftedWhereThreadsStoreSeveralTimes) {
  const auto function = [](bool in_order, bool once) {
    return [in_order, once](Array<std::int32_t, 1> out, Array<const std::int32_t, 1> in) {
      Func<std::int32_t> f{"f", out};
      Reduction k{"k", 0, 3};
      f(x) = 0;
      f(x) = in(k) + x;
      schedule_cpu([&] {
        f.update().split(x, xo, xi, piece, Tail::shift_inwards);
        if (!in_order) f.update().gpu_threads(xi);
        if (once) f.update().allow_race_conditions();
      });
    };
  };
  EXPECT_THAT(refused(function(false, false)),
              HasSubstr("a tail shifted inwards, which would update some elements twice"));
  EXPECT_NO_THROW(schedules::lower(captured_pipeline(function(true, false)), {}));
  EXPECT_NO_THROW(schedules::lower(captured_pipeline(function(false, true)), {}));
}

TEST_F(RefusedTails, MaskedLoadsOfAReduction) {
  EXPECT_THAT(refused([](Array<std::int32_t, 1> out) {
                Func<std::int32_t> f{"f", out};
                Reduction k{"k", 0, 30};
                f(x) += k;
                schedule_cpu([&] { f.update().split(k, xo, xi, piece, Tail::predicate_loads); });
              }),
              HasSubstr("loop 'k' of 'f' is split with Tail::predicate_loads, which stores beyond its end, and it goes "
                        "through the Reduction variable 'k', which has nothing there; use Tail::predicate, which does "
                        "neither"));
}

TEST_F(RefusedTails, MaskedStoresOfPiecesAndOfFusedLoops) {
  EXPECT_THAT(refused([](Array<std::int32_t, 1> out) {
                Func<std::int32_t> f{"f", out};
                f(x) = x;
                schedule_cpu([&] { f.split(x, xo, xi, piece).split(xi, xa, xb, 3, Tail::predicate_stores); });
              }),
              HasSubstr("loop 'xi' of 'f' is split with Tail::predicate_stores, which loads beyond its end, and it is "
                        "a piece of another loop, whose next piece is there"));
  EXPECT_THAT(refused([](Array<std::int32_t, 2> out) {
                Func<std::int32_t> f{"f", out};
                f(y, x) = x;
                schedule_cpu([&] { f.fuse(y, x, fused).split(fused, xa, xb, 3, Tail::predicate_stores); });
              }),
              HasSubstr("and it is made of two loops, whose next elements are there"));
}

TEST_F(RefusedTails, MaskedLoadsBesideARoundedSplit) {
  EXPECT_THAT(refused([](Array<std::int32_t, 1> out) {
                Func<std::int32_t> f{"f", out};
                f(x) = x;
                f(x) += 1;
                schedule_cpu([&] {
                  f.split(x, xo, xi, piece, Tail::round_up);
                  f.update().split(x, xo, xi, piece, Tail::predicate_loads);
                });
              }),
              HasSubstr("which stores beyond its end, and another split rounds the dimension up and loads for all of "
                        "it"));
}

// Elements loaded beyond the extent must exist.
TEST_F(RefusedTails, MaskedStoresOfAnInputThatIsTooShort) {
  const Pipeline p{"p", {"out", "in"}, [](Array<float, 1> out, Array<const float, 1> in) {
                     Func f{"f", out};
                     f(x) = in(x);
                     schedule_cpu([&] { f.vectorize(x, piece, Tail::predicate_stores); });
                   }};
  const auto floats = [](std::int64_t count) { return Buffer<float>(Device::cpu(), {count}); };
  p.launch(floats(19), floats(24));
  EXPECT_THAT(message_of<UserError>([&] { p.launch(floats(19), floats(23)); }),
              AllOf(HasSubstr("'f' reads 'in' at indices from 0 to 23 along its dimension 0, which has 23 elements"),
                    HasSubstr("what is computed was made larger by the Tail::predicate_stores of 'f' along 'x'")));
}

TEST_F(RefusedTails, AnOutputThatIsNotRoundedUp) {
  const Pipeline p{"p", {"out"}, [](Array<float, 1> out) {
                     Func f{"f", out};
                     f(x) = cast<Float>(x);
                     schedule_cpu([&] { f.vectorize(x, piece, Tail::predicate_loads); });
                   }};
  EXPECT_THAT(message_of<UserError>([&] { p.launch(Buffer<float>(Device::cpu(), {19})); }),
              HasSubstr("the schedule of 'f' rounds 'x' up to a multiple of 8; array 'out' has 19 there"));
}

}  // namespace
}  // namespace samite::test::tails
