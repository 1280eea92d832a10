#include "samite/driver/error.h"

#include <fmt/format.h>

namespace samite::driver {

namespace {

struct Row {
  Result code;
  std::string_view name;
  ResultKind kind;
};

constexpr Row rows[] = {{Result::success, "CUDA_SUCCESS", ResultKind::call},
#define SAMITE_ROW(name, driver_name, value, kind) {Result::name, "CUDA_ERROR_" #driver_name, ResultKind::kind},
                        SAMITE_DRIVER_RESULTS(SAMITE_ROW)
#undef SAMITE_ROW
};

// The row for codes that are not in the table.
const Row &row_of(Result code) noexcept {
  static constexpr Row unlisted{Result::unknown, "", ResultKind::call};
  for (const Row &row : rows)
    if (row.code == code) return row;
  return unlisted;
}

}  // namespace

ResultKind kind_of(Result code) noexcept { return row_of(code).kind; }

std::string_view name_of(Result code) noexcept { return row_of(code).name; }

std::string_view remedy_of(Result code) noexcept {
  switch (code) {
    case Result::stub_library:
      return "The libcuda.so.1 that was found is the CUDA toolkit's stub for linking. Take its folder (…/lib64/stubs) "
             "out of LD_LIBRARY_PATH, so that the driver's own is found.";
    case Result::no_device:
      return "The driver is there, but it sees no GPU: check nvidia-smi, CUDA_VISIBLE_DEVICES, and in a container that "
             "GPUs are passed through.";
    case Result::invalid_device:
      return "There is no GPU of that number: numbers start at 0, and CUDA_VISIBLE_DEVICES hides and renumbers GPUs.";
    case Result::device_unavailable:
      return "Another process holds the GPU in exclusive mode, or it has failed: see nvidia-smi.";
    case Result::ecc_uncorrectable:
    case Result::nvlink_uncorrectable:
      return "This is a fault of the hardware, not of the program: see the kernel log for the XID, and reset the GPU.";
    case Result::system_driver_mismatch:
      return "The driver's library and its kernel module are of different versions: restart the machine after the "
             "driver's update.";
    case Result::system_not_ready:
      return "The machine's GPU services (on NVSwitch systems the fabric manager) have not started.";
    case Result::context_is_destroyed:
      return "Some code of this process has reset the device (cuDevicePrimaryCtxReset, cudaDeviceReset): buffers, "
             "streams and kernels made before are gone with it.";
    case Result::launch_timeout:
      return "The kernel ran longer than the display's watchdog lets it: use a GPU without a display, or smaller "
             "launches.";
    case Result::unsupported_ptx_version:
      return "The code was compiled by a newer CUDA toolkit than this driver knows: update the driver, or compile with "
             "the driver's toolkit version or older.";
    case Result::no_binary_for_gpu:
      return "The image has no code for this GPU's architecture: compile it for the device that it is loaded on.";
    case Result::launch_out_of_resources:
      return "The block needs more registers or threads than a multiprocessor has: use fewer threads for a block.";
    case Result::stream_capture_unsupported:
    case Result::captured_event:
      return "The stream is being captured into a graph: nothing in it runs yet, so nothing can wait for it or read "
             "its "
             "results. Do that before the capture or after the graph's launch.";
    case Result::stream_capture_implicit:
      return "The legacy default stream was used, which waits for streams that are being captured: use streams of your "
             "own.";
    case Result::stream_capture_unjoined:
      return "A stream joined the capture by waiting for an event of it, and the captured stream did not wait for it "
             "in "
             "the end: record an event in it and wait for that.";
    case Result::stream_capture_invalidated:
      return "An earlier call failed while the stream was captured; its error names it.";
    case Result::cooperative_launch_too_large:
      return "All blocks of a cooperative launch run at the same time, and these do not fit on the device: use fewer "
             "or "
             "smaller blocks.";
    default: return "";
  }
}

std::string Origin::prefix() const {
  std::string text;
  if (where.known()) text += where.to_string() + ": ";
  if (kernel != nullptr) text += fmt::format("kernel \"{}\": ", kernel);
  return text;
}

}  // namespace samite::driver
