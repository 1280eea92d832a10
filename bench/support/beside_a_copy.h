// Work that moves this many bytes, compared with a copy of as many: on a GPU or on the CPU.
#pragma once

#include "bench/support/report.h"
#include "samite/runtime/device.h"

#include <cstdint>
#include <functional>
#include <string>

namespace samite::bench {

struct Setting {
  Report &report;
  Device device;
  bool in_turns;  // with other processes, see turns.h

  bool on_gpu() const { return device.kind() != DeviceKind::cpu; }
};

struct CopyContest {
  int rounds = 15, calls = 1;
  int copies = 1;  // in one call, which moves `bytes` this many times
  std::string metric = "time of a launch";
};

// A copy reads and writes half of `bytes`, the amount that the work must move.
void measure_beside_a_copy(const Setting &setting, const std::string &what, const std::function<void()> &ours,
                           std::int64_t bytes, const CopyContest &contest);

}  // namespace samite::bench
