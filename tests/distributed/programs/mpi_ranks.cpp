// A program for mpirun; its argument selects what the ranks do. Each rank prints one line: "rank 1 of 4: ok", or an
// error.
#include "samite/distributed.h"
#include "samite/samite.h"

#include "tests/distributed/collective_cases.h"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>

namespace {

using namespace samite;

void run_cases(const Communicator &ranks) {
  std::string differences;
  for (const test::CollectiveCase &each : test::collective_cases()) differences += test::check_case(each, ranks);
  const Communicator pair = ranks.split(ranks.rank() / 2);
  for (const test::CollectiveCase &each : test::collective_cases())
    if (pair.size() == 2) differences += test::check_case(each, pair);
  if (!differences.empty()) throw std::runtime_error(differences);
}

// Types that MPI lacks, and the reductions that it has.
template <class T>
void reduce_type(const Communicator &ranks) {
  const Buffer<T> values{
      ranks.device(), {3}, std::vector<T>(3, static_cast<T>(1.0F + static_cast<float>(ranks.rank())))};
  const Buffer<T> result{ranks.device(), {3}};
  const float count = static_cast<float>(ranks.size());
  const auto expect = [&](ReduceOp reduction, float expected) {
    all_reduce(ranks, result, values, reduction);
    if (static_cast<float>(result.at(1)) != static_cast<float>(static_cast<T>(expected)))
      throw std::runtime_error(std::string(name(reduction)) + " of " + std::string(name(scalar_type_of<T>)));
  };
  expect(ReduceOp::sum, count * (count + 1) / 2), expect(ReduceOp::min, 1), expect(ReduceOp::max, count);
}
void reduce_types(const Communicator &ranks) {
  reduce_type<std::int8_t>(ranks), reduce_type<std::uint8_t>(ranks), reduce_type<std::int16_t>(ranks);
  reduce_type<std::uint16_t>(ranks), reduce_type<std::int32_t>(ranks), reduce_type<std::uint32_t>(ranks);
  reduce_type<std::int64_t>(ranks), reduce_type<std::uint64_t>(ranks), reduce_type<float>(ranks);
  reduce_type<double>(ranks), reduce_type<half>(ranks), reduce_type<bfloat16>(ranks), reduce_type<f8e4m3>(ranks);
}

// Steps whose messages overlap with the interior equal those of one rank.
void overlap_steps(const Communicator &ranks) {
  const Kernel step{"step", [](Array<double, 2> next, Array<const double, 2> now) {
                      auto [y, x] = thread_index<2>();
                      if_(interior(now, y, x),
                          [&] { next(y, x) = now(y, x) * now(y + 1, x + 1) + now(y - 1, x) + 2 * now(y, x - 1); });
                    }};
  const auto steps = [&](const Communicator &of, bool overlapped) {
    const Grid grid{of, {40, 30}, {.periodic = {true, false}}};
    Buffer<double> first = grid.array<double>(Gradient::tracked), second = grid.array<double>(Gradient::tracked);
    Buffer<double> third = grid.array<double>(Gradient::tracked), inside = grid.without_ghosts(first);
    for (std::int64_t y = 0; y < grid.block()[0]; ++y)
      for (std::int64_t x = 0; x < grid.block()[1]; ++x)
        inside.set({y, x}, static_cast<double>((3 * (grid.begin()[0] + y) + 5 * (grid.begin()[1] + x)) % 7));
    const auto advance = [&](const Buffer<double> &next, const Buffer<double> &now) {
      if (overlapped)
        return grid.exchange(now, [&](const GridPart &part) { step.launch(part.extents(), part(next), part(now)); });
      grid.exchange(now);
      step.launch(now.extents(), next, now);
    };
    Tape tape;
    tape.record([&] { advance(second, first), advance(third, second); });
    const Buffer<double> ones = grid.array<double>();
    grid.without_ghosts(ones).fill(1);
    tape.backward({{third, ones}});
    const Buffer<double> whole{of.device(), grid.extents()}, gradient{of.device(), grid.extents()};
    grid.gather(whole, third), grid.gather(gradient, first.gradient());
    std::vector<double> both = whole.to_vector();
    const std::vector<double> of_gradient = gradient.to_vector();
    both.insert(both.end(), of_gradient.begin(), of_gradient.end());
    return both;
  };
  const std::vector<double> expected = steps(Communicator::of_threads(1)[0], false);
  const std::vector<double> plain = steps(ranks, false), overlapped = steps(ranks, true);
  // Integers: every order of sums has the same bits.
  if (ranks.rank() == 0 && plain != expected) throw std::runtime_error("steps with plain exchanges");
  if (ranks.rank() == 0 && overlapped != expected) throw std::runtime_error("overlapped steps");
}

// A late rank finds that the others have given up; all of them make another communicator.
void make_anew(const Communicator &late) {
  const Buffer<float> values{late.device(), {4}};
  const int rank = late.rank();
  if (rank == 1) std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  bool failed = false;
  try {
    all_reduce(late, values);
  } catch (const DeviceError &) {
    failed = true;
  }
  if (!failed && rank != 1) throw std::runtime_error("nobody was missing");
  const Communicator again = Communicator::from_mpi({.timeout = std::chrono::seconds(20)});
  const Buffer<float> one{again.device(), {1}, {1}}, sum{again.device(), {1}};
  all_reduce(again, sum, one);
  if (sum.at(0) != static_cast<float>(again.size())) throw std::runtime_error("the sum");
}

int run(const std::string &what) {
  CommunicatorOptions options;
  if (what == "missing" || what == "dies" || what == "anew") options.timeout = std::chrono::milliseconds(500);
  if (what == "timeout") options.timeout = std::chrono::seconds(20);
  options.verified = what == "different";
  options.deterministic = what == "deterministic";
  const Communicator ranks = Communicator::from_mpi(options);
  const std::string prefix = "rank " + std::to_string(ranks.rank()) + " of " + std::to_string(ranks.size()) + ": ";
  try {
    Buffer<float> values{ranks.device(), {4}};
    if (what == "missing") {
      if (ranks.rank() != 1) all_reduce(ranks, values);
    } else if (what == "dies") {
      all_reduce(ranks, values);
      if (ranks.rank() == 1) std::raise(SIGKILL);
      all_reduce(ranks, values);
    } else if (what == "anew") {
      make_anew(ranks);
    } else if (what == "overlap") {
      overlap_steps(ranks);
    } else if (what == "types") {
      reduce_types(ranks);
    } else if (what == "different") {
      if (ranks.rank() == 0)
        all_reduce(ranks, values);
      else
        broadcast(ranks, values, 0);
    } else {
      run_cases(ranks), reduce_types(ranks);
    }
    std::printf("%sok\n", prefix.c_str());
  } catch (const std::exception &error) {
    std::printf("%s%s\n", prefix.c_str(), error.what());
  }
  std::fflush(stdout);
  if (what == "missing" || what == "different" || what == "dies" || what == "anew") {
    // MPI_Finalize would wait for calls that never complete, and mpirun ends all ranks with the first one.
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    std::_Exit(0);
  }
  return 0;
}

}  // namespace

int main(int count, char **arguments) { return run(count > 1 ? arguments[1] : "cases"); }
