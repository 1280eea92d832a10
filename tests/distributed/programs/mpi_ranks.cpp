// A program for mpirun, whose ranks do what its argument says. Each rank prints one line: "rank 1 of 4: ok", or an
// error.
#include "samite/distributed.h"

#include "tests/distributed/collective_cases.h"

#include <chrono>
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

int run(const std::string &what) {
  CommunicatorOptions options;
  if (what == "missing") options.timeout = std::chrono::milliseconds(500);
  if (what == "timeout") options.timeout = std::chrono::seconds(20);
  options.verified = what == "different";
  options.deterministic = what == "deterministic";
  const Communicator ranks = Communicator::from_mpi(options);
  const std::string prefix = "rank " + std::to_string(ranks.rank()) + " of " + std::to_string(ranks.size()) + ": ";
  try {
    Buffer<float> values{ranks.device(), {4}};
    if (what == "missing") {
      if (ranks.rank() != 1) all_reduce(ranks, values);
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
  if (what == "missing" || what == "different") {
    // MPI_Finalize would wait for calls that never complete, and mpirun ends all ranks with the first one.
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    std::_Exit(0);
  }
  return 0;
}

}  // namespace

int main(int count, char **arguments) { return run(count > 1 ? arguments[1] : "cases"); }
