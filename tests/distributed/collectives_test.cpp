#include "samite/distributed.h"
#include "samite/jit/options.h"
#include "samite/jit/tape.h"

#include "tests/distributed/collective_cases.h"
#include "tests/distributed/ranks.h"

#include <gmock/gmock.h>

#include <numeric>

namespace samite::test {
namespace {

using testing::AllOf;
using testing::Each;
using testing::HasSubstr;

constexpr int numbers_of_ranks[] = {2, 3, 5};

TEST(Collectives, AndTheirGradientsAreThoseOfOneRankOnTheWholeProblem) {
  for (const int size : numbers_of_ranks)
    for (const CollectiveCase &each : collective_cases())
      EXPECT_THAT(errors_of_ranks(size,
                                  [&](const Communicator &ranks) {
                                    const std::string differences = check_case(each, ranks);
                                    if (!differences.empty()) throw std::runtime_error(differences);
                                  }),
                  Each(""))
          << each.name << " on " << size << " ranks";
}

template <class T>
void expect_reductions_of(int size) {
  const auto errors = errors_of_ranks(size, [&](const Communicator &ranks) {
    constexpr std::int64_t n = 2500;  // several chunks
    const auto value = [](int rank, std::int64_t i) { return static_cast<double>((i * (rank + 3)) % 7); };
    Buffer<T> values{ranks.device(), {n}}, result{ranks.device(), {n}};
    std::vector<T> own;
    for (std::int64_t i = 0; i < n; ++i) own.push_back(static_cast<T>(static_cast<float>(value(ranks.rank(), i))));
    values.copy_from(own);
    for (const ReduceOp reduction : {ReduceOp::sum, ReduceOp::min, ReduceOp::max}) {
      all_reduce(ranks, result, values, reduction);
      const std::vector<T> given = result.to_vector();
      for (std::int64_t i = 0; i < n; ++i) {
        double expected = value(0, i);
        for (int rank = 1; rank < size; ++rank) {
          const double other = value(rank, i);
          expected = reduction == ReduceOp::sum   ? expected + other
                     : reduction == ReduceOp::min ? std::min(expected, other)
                                                  : std::max(expected, other);
        }
        const T rounded = static_cast<T>(static_cast<float>(expected));
        if (static_cast<double>(given[static_cast<std::size_t>(i)]) != static_cast<double>(rounded))
          throw std::runtime_error(std::string(name(reduction)) + " at " + std::to_string(i));
      }
    }
  });
  EXPECT_THAT(errors, Each("")) << name(scalar_type_of<T>);
}

TEST(Collectives, ReduceEveryType) {
  for (const int size : numbers_of_ranks) {
    expect_reductions_of<std::int8_t>(size), expect_reductions_of<std::uint8_t>(size);
    expect_reductions_of<std::int16_t>(size), expect_reductions_of<std::uint16_t>(size);
    expect_reductions_of<std::int32_t>(size), expect_reductions_of<std::uint32_t>(size);
    expect_reductions_of<std::int64_t>(size), expect_reductions_of<std::uint64_t>(size);
    expect_reductions_of<f8e4m3>(size), expect_reductions_of<f8e5m2>(size);
    expect_reductions_of<half>(size), expect_reductions_of<bfloat16>(size);
    expect_reductions_of<float>(size), expect_reductions_of<double>(size);
  }
}

// Each collective on every second element of an array.
template <class T>
void expect_collectives_of_views() {
  for (const CollectiveCase &each : collective_cases())
    EXPECT_THAT(errors_of_ranks(3,
                                [&](const Communicator &ranks) {
                                  const int size = ranks.size();
                                  const auto own = static_cast<std::size_t>(ranks.rank());
                                  ValuesOfRanks all(static_cast<std::size_t>(size));
                                  for (int rank = 0; rank < size; ++rank)
                                    for (std::int64_t i = 0; i < each.values(rank, size); ++i)
                                      all[static_cast<std::size_t>(rank)].push_back(1.0 + 0.5 * ((rank + i) % 3));
                                  const Values expected = each.expected(all)[own];
                                  const auto view = [&](std::size_t count) {
                                    return Buffer<T>{ranks.device(), {2 * count}}.slice(0, 0, 2 * count, 2);
                                  };
                                  Buffer<T> values = view(all[own].size()), result = view(expected.size());
                                  std::vector<T> given;
                                  for (const double value : all[own])
                                    given.push_back(static_cast<T>(static_cast<float>(value)));
                                  values.copy_from(given);
                                  const auto unless_empty = [&](const Buffer<T> &buffer) {
                                    const bool is_needed = each.name.starts_with("all_to_all");
                                    return buffer.count() == 0 && !is_needed ? AnyBuffer() : AnyBuffer(buffer);
                                  };
                                  each.run(ranks, unless_empty(result), unless_empty(values));
                                  const std::vector<T> found = result.to_vector();
                                  for (std::size_t i = 0; i < expected.size(); ++i) {
                                    const T rounded = static_cast<T>(static_cast<float>(expected[i]));
                                    if (static_cast<float>(found[i]) != static_cast<float>(rounded))
                                      throw std::runtime_error("at " + std::to_string(i));
                                  }
                                }),
                Each(""))
        << each.name << " of " << name(scalar_type_of<T>);
}

TEST(Collectives, OfNarrowTypesTakeViews) {
  expect_collectives_of_views<f8e4m3>(), expect_collectives_of_views<f8e5m2>();
  expect_collectives_of_views<half>(), expect_collectives_of_views<bfloat16>();
}

TEST(Collectives, WorkInPlaceAndOnNothing) {
  const auto errors = errors_of_ranks(3, [](const Communicator &ranks) {
    Buffer<float> values{ranks.device(), {4}, std::vector<float>(4, static_cast<float>(ranks.rank()))};
    all_reduce(ranks, values.slice(0, 0, 4, 2));
    if (values.to_vector() !=
        std::vector<float>{3, static_cast<float>(ranks.rank()), 3, static_cast<float>(ranks.rank())})
      throw std::runtime_error("all_reduce in place");
    broadcast(ranks, values, 2);
    if (values.to_vector() != std::vector<float>{3, 2, 3, 2}) throw std::runtime_error("broadcast in place");
    Buffer<float> none{ranks.device(), {0}}, other{ranks.device(), {0}};
    all_reduce(ranks, none), all_gather(ranks, other, none), reduce_scatter(ranks, other, none),
        broadcast(ranks, none, 0);
    ranks.barrier();
  });
  EXPECT_THAT(errors, Each(""));
}

TEST(Collectives, OfSplitRanksStayAmongThem) {
  const auto errors = errors_of_ranks(5, [](const Communicator &ranks) {
    // Even ranks in reverse, odd ones in order.
    const bool odd = ranks.rank() % 2 == 1;
    const Communicator part = ranks.split(odd, odd ? 0 : -ranks.rank());
    const int expected = odd ? ranks.rank() / 2 : 2 - ranks.rank() / 2;
    if (part.rank() != expected || part.size() != (odd ? 2 : 3)) throw std::runtime_error(part.to_string());
    Buffer<std::int32_t> sum{ranks.device(), {1}, {ranks.rank()}};
    all_reduce(part, sum);
    if (sum.at(0) != (odd ? 1 + 3 : 0 + 2 + 4)) throw std::runtime_error("the sum");
  });
  EXPECT_THAT(errors, Each(""));
}

std::vector<std::string> errors_with_timeout(int size, const std::function<void(const Communicator &)> &work) {
  return errors_of_ranks(size, work, {.timeout = std::chrono::milliseconds(200)});
}

TEST(Collectives, NameTheRanksThatAreMissing) {
  const auto errors = errors_with_timeout(3, [](const Communicator &ranks) {
    Buffer<float> values{ranks.device(), {4}};
    if (ranks.rank() != 1) all_reduce(ranks, values);
  });
  EXPECT_EQ(errors[1], "");
  const auto waited = AllOf(HasSubstr("all_reduce (sum) of 4 f32 ("), HasSubstr("collectives_test.cpp:"));
  EXPECT_THAT(errors[0], waited);
  EXPECT_THAT(errors[2], waited);
  EXPECT_THAT(errors[0] + errors[2], HasSubstr("waited 200 ms for rank 1"));
}

TEST(Collectives, NameTheSenderThatIsMissing) {
  const auto errors = errors_with_timeout(2, [](const Communicator &ranks) {
    Buffer<float> values{ranks.device(), {4}};
    if (ranks.rank() == 0) receive(ranks, values, 1);
  });
  EXPECT_THAT(errors[0], AllOf(HasSubstr("receive of 4 f32"), HasSubstr("waited 200 ms for rank 1")));
}

TEST(Collectives, EndWithTheRankThatFails) {
  const auto errors = errors_of_ranks(3, [](const Communicator &ranks) {
    Buffer<float> values{ranks.device(), {4}};
    if (ranks.rank() == 2) throw std::runtime_error("out of luck");
    all_reduce(ranks, values);
  });
  EXPECT_EQ(errors[2], "out of luck");
  for (const int rank : {0, 1})
    EXPECT_THAT(errors[static_cast<std::size_t>(rank)],
                AllOf(HasSubstr("all_reduce"), HasSubstr("the communicator was aborted: rank 2 has failed")));
}

TEST(Collectives, ThatDifferBetweenRanksAreRefusedOnAllOfThem) {
  const auto errors = errors_of_ranks(2, [](const Communicator &ranks) {
    Buffer<float> values{ranks.device(), {4}}, more{ranks.device(), {5}};
    if (ranks.rank() == 0)
      all_reduce(ranks, values);
    else
      all_reduce(ranks, more);
  });
  EXPECT_THAT(errors, Each(AllOf(HasSubstr("all ranks must make the same calls"), HasSubstr("is met by all_reduce"))));
}

TEST(Collectives, ThatDifferInTheirRootOrReductionAreRefusedWithBothLines) {
  const auto errors = errors_of_ranks(2, [](const Communicator &ranks) {
    const Buffer<float> values{ranks.device(), {4}};
    if (ranks.rank() == 0)
      broadcast(ranks, values, 0);
    else
      broadcast(ranks, values, 1);
  });
  EXPECT_THAT(errors[0], AllOf(HasSubstr("broadcast of 4 f32, root 0 ("),
                               HasSubstr("on rank 0 of 2 is met by broadcast of 4 f32, root 1 (")));
  EXPECT_THAT(errors[1], HasSubstr("on rank 1 of 2 is met by broadcast of 4 f32, root 0 ("));
  EXPECT_THAT(errors_of_ranks(2,
                              [](const Communicator &ranks) {
                                const Buffer<float> values{ranks.device(), {4}};
                                all_reduce(ranks, values, ranks.rank() == 0 ? ReduceOp::min : ReduceOp::max);
                              }),
              Each(HasSubstr("all ranks must make the same calls")));
}

std::string error_on_one(const std::function<void(const Communicator &)> &work) { return errors_of_ranks(1, work)[0]; }

TEST(Collectives, RefuseArraysThatDoNotFit) {
  EXPECT_THAT(error_on_one([](const auto &ranks) {
                all_reduce(ranks, Buffer<float>{ranks.device(), {3}}, Buffer<float>{ranks.device(), {4}});
              }),
              AllOf(HasSubstr("collectives_test.cpp:"), HasSubstr("expected 4 elements in the result")));
  EXPECT_THAT(error_on_one([](const auto &ranks) {
                all_reduce(ranks, Buffer<float>{ranks.device(), {4}}, Buffer<double>{ranks.device(), {4}});
              }),
              HasSubstr("expected the same type"));
  EXPECT_THAT(error_on_one([](const auto &ranks) {
                all_reduce(ranks, Buffer<std::int32_t>{ranks.device(), {4}}, ReduceOp::average);
              }),
              HasSubstr("elements of type i32 have no average"));
  EXPECT_THAT(error_on_one([](const auto &ranks) { all_reduce(ranks, AnyBuffer()); }), HasSubstr("an empty buffer"));
  EXPECT_THAT(error_on_one([](const auto &ranks) { broadcast(ranks, Buffer<float>{ranks.device(), {4}}, 1); }),
              HasSubstr("rank 1 is given, and the communicator has ranks 0 to 0"));
  EXPECT_THAT(error_on_one([](const auto &ranks) {
                const Buffer<float> values{ranks.device(), {4}};
                all_reduce(ranks, values.slice(0, 0, 2), values.slice(0, 1, 3));
              }),
              HasSubstr("shares elements"));
  EXPECT_THAT(error_on_one([](const auto &ranks) {
                all_to_all(ranks, Buffer<float>{ranks.device(), {4}}, Buffer<float>{ranks.device(), {4}}, {3}, {4});
              }),
              HasSubstr("3 sent elements are given, and the array has 4"));
  EXPECT_THAT(error_on_one([](const auto &ranks) {
                const Buffer<float> values{ranks.device(), {4}, Gradient::tracked};
                Tape().record([&] { all_reduce(ranks, values); });
              }),
              HasSubstr("give another array for the result"));
  EXPECT_THROW((void)Communicator::of_threads(0), UserError);
}

TEST(Collectives, CountAReplicatedObjectiveOnce) {
  const auto gradient = [](bool on_all) {
    return errors_of_ranks(2, [&](const Communicator &ranks) {
      Buffer<float> values{ranks.device(), {1}, {3}, Gradient::tracked};
      Buffer<float> total{ranks.device(), {1}, Gradient::tracked}, objective{ranks.device(), {1}, Gradient::tracked};
      Tape tape;
      tape.record([&] {
        all_reduce(ranks, total, values);
        replicated(ranks, objective, total);
      });
      if (on_all || ranks.rank() == 0)
        tape.backward(objective);
      else
        tape.backward(std::vector<Tape::Cotangent>{});
      if (values.gradient().at(0) != 1) throw std::runtime_error("the gradient");
    });
  };
  EXPECT_THAT(gradient(false), Each(""));
  EXPECT_THAT(gradient(true), Each(HasSubstr("the objective counts it 2 times")));
}

TEST(Collectives, InDebugModeCompareReplicatedArrays) {
  set_debug_mode(true);
  const auto errors = errors_of_ranks(3, [](const Communicator &ranks) {
    Buffer<float> values{ranks.device(), {1}, {ranks.rank() == 1 ? 2.F : 1.F}}, result{ranks.device(), {1}};
    replicated(ranks, result, values);
  });
  set_debug_mode(false);
  EXPECT_THAT(errors, Each(HasSubstr("the values of rank 1 differ from those of rank 0")));
}

}  // namespace
}  // namespace samite::test
