#include "samite/distributed.h"
#include "samite/samite.h"

#include "tests/distributed/ranks.h"

#include <gmock/gmock.h>

namespace samite::test::graphs {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

const auto &add_number() {
  static const Kernel kernel{
      "add_number", {"y", "x", "number"}, [](Array<double, 1> y, Array<const double, 1> x, const Double &number) {
        Int i = thread_index();
        y(i) = x(i) * x(i) + number;
      }};
  return kernel;
}

// The collectives of a graph run at each of its launches, between its kernels, with the arguments that these then have.
TEST(GraphsOfCollectives, RunAtEachLaunch) {
  EXPECT_THAT(errors_of_ranks(3,
                              [](const Communicator &ranks) {
                                const Device device = ranks.device();
                                const Buffer<double> x{device, {1}, {1.0 + ranks.rank()}}, y{device, {1}},
                                    sum{device, {1}}, all{device, {3}};
                                Graph graph = capture(ranks.stream(), [&] {
                                  add_number().launch({1}, y, x, 0.0);
                                  all_reduce(ranks, sum, y);
                                  all_gather(ranks, all, y);
                                  all_reduce(ranks, y, ReduceOp::max);
                                  Buffer<double>(x).copy_from(sum);
                                });
                                EXPECT_EQ(sum.at(0), 0) << "nothing runs during the capture";
                                graph.launch();
                                EXPECT_EQ(sum.at(0), 14);
                                EXPECT_EQ(y.at(0), 9);
                                EXPECT_THAT(all.to_vector(), ElementsAre(1, 4, 9));
                                graph.launch();
                                EXPECT_EQ(sum.at(0), 3 * 14 * 14);
                                graph.set(0, add_number().record({1}, y, x, 1.0));
                                Buffer<double>(x).fill(2);
                                graph.launch();
                                EXPECT_EQ(sum.at(0), 15);
                                EXPECT_THAT(graph.to_string(),
                                            AllOf(HasSubstr("Call of all_reduce"), HasSubstr("Call of all_gather")));
                              }),
              Each(""));
}

// d/dx of the sum over ranks of y², with y = x² + 1, forward and backward in one graph.
TEST(GraphsOfCollectives, GoBack) {
  EXPECT_THAT(errors_of_ranks(2,
                              [](const Communicator &ranks) {
                                const Device device = ranks.device();
                                const auto tracked = [&] { return Buffer<double>{device, {1}, Gradient::tracked}; };
                                Buffer<double> x = tracked(), sum = tracked(), y = tracked(), z = tracked();
                                Tape tape;
                                const auto forward = [&] {
                                  add_number().launch({1}, y, x, 1.0);
                                  all_reduce(ranks, sum, y);
                                  add_number().launch({1}, z, sum, 0.0);
                                };
                                tape.record(forward);
                                Graph graph = capture(ranks.stream(), [&] {
                                  forward();
                                  x.zero_gradient();
                                  tape.backward(z);
                                });
                                for (const double start : {1.0, 2.0}) {
                                  x.fill(start + ranks.rank());
                                  graph.launch();
                                  // Both ranks have z, and so the objective counts it twice.
                                  const double total = 2 + start * start + (start + 1) * (start + 1);
                                  EXPECT_EQ(z.at(0), total * total);
                                  EXPECT_EQ(x.gradient().at(0), 2 * 2 * total * 2 * (start + ranks.rank()));
                                }
                              }),
              Each(""));
}

TEST(GraphsOfCollectives, RefuseWhatWaits) {
  const Communicator ranks = Communicator::of_threads(1)[0];
  const auto message = [&](const auto &work) {
    try {
      capture(ranks.stream(), work);
    } catch (const UserError &error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(message([&] { ranks.barrier(); }), HasSubstr("barrier waits for other ranks now"));
  EXPECT_THAT(message([&] { ranks.synchronize(); }), HasSubstr("graphs_test.cpp"));
}

}  // namespace
}  // namespace samite::test::graphs
