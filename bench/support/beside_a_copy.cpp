#include "bench/support/beside_a_copy.h"

#include "bench/support/alternate.h"
#include "bench/support/alternate_on_device.h"
#include "bench/support/turns.h"
#include "samite/driver/copy.h"
#include "samite/runtime/cuda_device.h"
#include "samite/samite.h"

#include <fmt/core.h>

#include <cstring>

namespace samite::bench {

void measure_beside_a_copy(const Setting &setting, const std::string &what, const std::function<void()> &ours,
                           std::int64_t bytes, const CopyContest &contest) {
  const Stream stream = Stream::standard(setting.device);
  if (setting.in_turns) {
    take_turns(what, [&](int calls) { return milliseconds_of_a_turn(stream, ours, calls); });
    return;
  }
  const auto half = static_cast<std::size_t>(bytes / 2);
  const Buffer<std::int8_t> from(setting.device, {bytes / 2}), to(setting.device, {bytes / 2});
  const auto copy = [&] {
    for (int i = 0; i < contest.copies; ++i) {
      if (setting.on_gpu())
        driver::copy_on_device(CudaDevice::of(0)->standard_stream()->stream(),
                               reinterpret_cast<std::uint64_t>(to.data()), reinterpret_cast<std::uint64_t>(from.data()),
                               half);
      else
        std::memcpy(to.data(), from.data(), half);
    }
  };
  const Contest rounds{.rounds = contest.rounds, .calls = contest.calls};
  const auto [time, peer_time] =
      setting.on_gpu() ? alternate_on_device(rounds, stream, ours, copy) : alternate(rounds, ours, copy);
  const auto rate = [&](double seconds) {
    return fmt::format("{:.3g} GB/s", static_cast<double>(bytes) * contest.copies / seconds * 1e-9);
  };
  setting.report.add({what, contest.metric + (setting.on_gpu() ? "" : " on the CPU"), time * 1e3, "ms",
                      "a copy, " + rate(peer_time), peer_time * 1e3, rate(time)});
}

}  // namespace samite::bench
