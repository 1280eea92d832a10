// The arrays of a scheduled pipeline's own, in one launch of it or in all launches of a recorded one.
//
// One thread uses it at a time.
#pragma once

#include "samite/jit/launch.h"
#include "samite/schedule/program.h"

#include <memory>
#include <vector>

namespace samite::jit {

class Temporaries {
 public:
  // `kept`: they outlive a launch; else their memory is from the device's pool. `storages` are what earlier ones had,
  // by number, to be used again where they are large enough.
  Temporaries(const schedules::Program &program, Device device, bool kept,
              std::vector<std::shared_ptr<Storage>> storages = {});

  // From now on number `temporary.number` has these extents. It has the memory that it had before, where that is large
  // enough: what was launched with it has run when what is launched now does. UserError, DeviceError.
  void allocate(const schedules::Temporary &temporary, const Extents &extents);
  // So many bytes at least, for what allocate() will ask for.
  void reserve(std::uint32_t number, std::size_t bytes);

  const AnyBuffer &operator[](std::uint32_t number) const { return buffers_[number]; }
  const std::vector<std::shared_ptr<Storage>> &storages() const { return storages_; }

 private:
  Device device_;
  bool kept_;
  std::vector<std::shared_ptr<Storage>> storages_;
  std::vector<AnyBuffer> buffers_;
};

// UserError where they are more than 64 bits count.
std::size_t bytes_of(const schedules::Temporary &temporary, const Extents &extents);

}  // namespace samite::jit
