// Turns one kernel of a variant into callable code: lower → plan → emit C++ → compile → link → load.
#pragma once

#include "samite/codegen/emit.h"
#include "samite/jit/variant.h"
#include "samite/shipped/launch_form.h"

#include <exception>
#include <mutex>
#include <optional>

namespace samite::jit {

// The compiled parts of a kernel for the recorded archive, which launch forms refer to. Kernels of one launch are
// compiled concurrently.
class RecordedParts {
 public:
  struct Recorded {
    const Variant *variant;
    std::string target;
    shipped::FormPart part;
    bool can_be_shipped;  // the run-time library launches such kernels (shipped/archived_launch.h)
  };

  void add(Recorded part) {
    const std::lock_guard lock(mutex_);
    parts_.push_back(std::move(part));
  }
  // After all compiles.
  const std::vector<Recorded> &all() const { return parts_; }

 private:
  std::mutex mutex_;
  std::vector<Recorded> parts_;
};

// The source and the destination of a variant's code.
struct Making {
  bool from_archive = false;      // only from an open archive: otherwise NotArchived
  bool to_record = false;         // compiled only for the recorded archive
  std::string architecture = {};  // CUDA; empty: the device's own
  std::string facts = {};         // for the recorded archive
  RecordedParts *recorded = nullptr;
};

// No open archive has the code.
struct NotArchived : std::exception {};

// The bit of a parameter in the sets of a variant's key. A gradient has the layout of its primal.
std::uint64_t bit_in_key(const ir::Parameter &parameter, std::uint32_t index);

codegen::EmitOptions emit_options(const Variant &variant);

// Whether the order of instances may affect the result's bits.
bool order_shows(const ir::Kernel &kernel);

// If debug mode looks for races, the variant records its checks.
ir::Kernel lower(const ir::Kernel &kernel, Variant &variant);

// A kernel's parameters without the launch's own arrays, which are the last ones.
std::vector<ir::Parameter> without_launch_arrays(const std::vector<ir::Parameter> &parameters, const Variant &variant);

// Compiles into a variant with its key set. `planned`: the kernel after all steps for the variant's GPU, if a trial of
// the same plan has produced it. UserError or DeviceError if one of the steps refuses.
void compile_kernel(const ir::Kernel &kernel, Variant &variant, const Making &making,
                    std::optional<ir::Kernel> planned = std::nullopt);

}  // namespace samite::jit
