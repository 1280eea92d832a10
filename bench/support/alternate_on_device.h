// Like alternate, by the clock of the device that runs the work.
#pragma once

#include "bench/support/alternate.h"
#include "samite/runtime/event.h"

namespace samite::bench {

// Times `work` that is put into `stream`. The calls of a round follow each other, so that the host's part of one shows
// only if it takes longer than the device's.
template <class Work>
double seconds_on_device(const Stream &stream, const Work &work, int calls) {
  Event begin, end;
  begin.record(stream);
  for (int call = 0; call < calls; ++call) work();
  end.record(stream);
  return end.milliseconds_since(begin) * 1e-3;
}

// If another process has used the device since the last calls, the first call, which finds the shared caches cold, is
// not counted.
template <class Work>
double milliseconds_of_a_turn(const Stream &stream, const Work &work, int calls) {
  work();
  return seconds_on_device(stream, work, calls) / calls * 1e3;
}

template <class Ours, class Peer>
Outcome alternate_on_device(const Contest &contest, const Stream &stream, const Ours &ours, const Peer &peer) {
  std::vector<double> our_times, peer_times;
  for (int round = 0; round <= contest.rounds; ++round) {
    contest.prepare();
    const double our_time = seconds_on_device(stream, ours, contest.calls) / contest.calls;
    contest.prepare();
    const double peer_time = seconds_on_device(stream, peer, contest.calls) / contest.calls;
    if (round == 0) continue;
    our_times.push_back(our_time);
    peer_times.push_back(peer_time);
  }
  return {median(our_times), median(peer_times)};
}

}  // namespace samite::bench
