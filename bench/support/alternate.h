// Times two ways to do one thing, in turn: ours, peer, ours, peer, …, so that other work on the machine affects both.
#pragma once

#include <chrono>
#include <functional>
#include <vector>

namespace samite::bench {

// For an even number of values, the mean of the middle two. At least one value.
double median(std::vector<double> values);

struct Contest {
  int rounds = 11;
  int calls = 1;                          // timed together, if a clock is too coarse for one
  std::function<void()> prepare = [] {};  // before each timed run of either, not timed
};

struct Outcome {
  double ours, peer;  // seconds of one call, medians over the rounds
};

// Total seconds of all calls.
template <class Work>
double seconds(const Work &work, int calls = 1) {
  auto start = std::chrono::steady_clock::now();
  for (int call = 0; call < calls; ++call) work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// One run of each before the first round is not counted: it maps pages and wakes threads. Templates, so that a call of
// nanoseconds is timed without a call through std::function around it.
template <class Ours, class Peer>
Outcome alternate(const Contest &contest, const Ours &ours, const Peer &peer) {
  std::vector<double> our_times, peer_times;
  for (int round = 0; round <= contest.rounds; ++round) {
    contest.prepare();
    double our_time = seconds(ours, contest.calls) / contest.calls;
    contest.prepare();
    double peer_time = seconds(peer, contest.calls) / contest.calls;
    if (round == 0) continue;
    our_times.push_back(our_time);
    peer_times.push_back(peer_time);
  }
  return {median(our_times), median(peer_times)};
}

}  // namespace samite::bench
