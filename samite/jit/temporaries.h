// A scheduled pipeline's own arrays, for one launch or for all launches of a recorded one.
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
  // `kept`: they outlive a launch; else their memory comes from the device's pool. `storages` are those of earlier
  // Temporaries, by number, reused if large enough.
  Temporaries(const schedules::Program &program, Device device, bool kept,
              std::vector<std::shared_ptr<Storage>> storages = {});

  // Sets the extents of number `temporary.number`. It reuses its previous memory if that is large enough: earlier
  // launches that use it run before later ones. UserError, DeviceError.
  void allocate(const schedules::Temporary &temporary, const Extents &extents);
  // Reserves this many bytes for later calls of allocate().
  void reserve(std::uint32_t number, std::size_t bytes);

  const AnyBuffer &operator[](std::uint32_t number) const { return buffers_[number]; }
  const std::vector<std::shared_ptr<Storage>> &storages() const { return storages_; }

 private:
  Device device_;
  bool kept_;
  std::vector<std::shared_ptr<Storage>> storages_;
  std::vector<AnyBuffer> buffers_;
};

// UserError if they overflow 64 bits.
std::size_t bytes_of(const schedules::Temporary &temporary, const Extents &extents);

}  // namespace samite::jit
