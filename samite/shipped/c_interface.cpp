// The functions of samite_runtime.h: DLPack's tensors to buffers, exceptions to numbers and texts.
#include "samite/base/error.h"
#include "samite/runtime/borrow.h"
#include "samite/shipped/archived_launch.h"
#include "samite/shipped/archived_tape.h"
#include "samite/shipped/samite_runtime.h"
#include "samite/toolchain/archives.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace samite::shipped {
namespace {

constexpr int host_memory = 1, cuda_memory = 2, cuda_pinned_memory = 3, cuda_managed_memory = 13;

struct TensorType {
  std::uint8_t code, bits;
  ScalarType type;
};
constexpr TensorType tensor_types[] = {
    {6, 8, ScalarType::Bool},        {0, 8, ScalarType::Int8},        {0, 16, ScalarType::Int16},
    {0, 32, ScalarType::Int32},      {0, 64, ScalarType::Int64},      {1, 8, ScalarType::UInt8},
    {1, 16, ScalarType::UInt16},     {1, 32, ScalarType::UInt32},     {1, 64, ScalarType::UInt64},
    {10, 8, ScalarType::Float8E4M3}, {12, 8, ScalarType::Float8E5M2}, {2, 16, ScalarType::Float16},
    {4, 16, ScalarType::BFloat16},   {2, 32, ScalarType::Float32},    {2, 64, ScalarType::Float64}};

ScalarType type_of(const DLTensor &tensor) {
  const auto *const known = std::ranges::find_if(tensor_types, [&](const TensorType &one) {
    return one.code == tensor.dtype.code && one.bits == tensor.dtype.bits && tensor.dtype.lanes == 1;
  });
  if (known == std::end(tensor_types))
    throw UserError(
        fmt::format("a tensor has elements of DLPack's type code {} with {} bits and {} lanes, which no "
                    "kernel has",
                    tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes));
  return known->type;
}

Device tensor_device(const DLTensor &tensor) {
  switch (tensor.device.device_type) {
    case host_memory:
    case cuda_pinned_memory: return Device::cpu();
    case cuda_memory:
    case cuda_managed_memory: return Device::cuda(tensor.device.device_id);
    default:
      throw UserError(
          fmt::format("a tensor is on a device of DLPack's type {}; 1, 2, 3 and 13 are known: host memory, "
                      "CUDA, and CUDA's pinned and managed memory",
                      tensor.device.device_type));
  }
}

AnyBuffer buffer_of(const DLTensor &tensor, const std::optional<Stream> &stream) {
  if (tensor.ndim < 1 || tensor.ndim > maximum_rank || tensor.shape == nullptr)
    throw UserError(fmt::format("a tensor has {} dimensions; expected 1 to 4 and a shape", tensor.ndim));
  const auto rank = static_cast<std::size_t>(tensor.ndim);
  const Extents extents(std::span(tensor.shape, rank));
  std::optional<Strides> strides;
  if (tensor.strides != nullptr) std::copy_n(tensor.strides, rank, strides.emplace().begin());
  auto *const data = static_cast<std::byte *>(tensor.data);
  return borrow({.device = tensor_device(tensor),
                 .data = data == nullptr ? nullptr : data + tensor.byte_offset,
                 .type = type_of(tensor),
                 .extents = extents,
                 .strides = strides,
                 .stream = stream},
                SourceLocation());
}

std::optional<Stream> stream_for(std::span<const SamiteArgument> arguments, void *native) {
  for (const SamiteArgument &argument : arguments)
    if (argument.values != nullptr) {
      const Device device = tensor_device(*argument.values);
      if (device.kind() == DeviceKind::cpu) return std::nullopt;
      return Stream::borrow(device, native);
    }
  return std::nullopt;
}

void tell(std::string_view text, char *error, std::size_t bytes) noexcept {
  if (error == nullptr || bytes == 0) return;
  const std::size_t kept = std::min(text.size(), bytes - 1);
  std::memcpy(error, text.data(), kept);
  error[kept] = '\0';
}

template <class Call>
int guarded(char *error, std::size_t bytes, const Call &call) noexcept {
  try {
    call();
    tell("", error, bytes);
    return SAMITE_OK;
  } catch (const UserError &failure) {
    tell(failure.what(), error, bytes);
    return SAMITE_USER_ERROR;
  } catch (const DeviceError &failure) {
    tell(failure.what(), error, bytes);
    return SAMITE_DEVICE_ERROR;
  } catch (const std::bad_alloc &) {
    tell("out of memory", error, bytes);
    return SAMITE_DEVICE_ERROR;
  } catch (const std::exception &failure) {
    tell(failure.what(), error, bytes);
    return SAMITE_INTERNAL_ERROR;
  } catch (...) {
    tell("an unknown exception", error, bytes);
    return SAMITE_INTERNAL_ERROR;
  }
}

void require_version(int version) {
  if (version != SAMITE_RUNTIME_VERSION)
    throw UserError(
        fmt::format("the caller was compiled for version {} of Samite's C interface, and this library has "
                    "version {}: write the functions again with samite-aot c, and compile them with the "
                    "header of this library",
                    version, SAMITE_RUNTIME_VERSION));
}

void require_not_null(const void *pointer, const char *what) {
  if (pointer == nullptr) throw UserError(std::string(what) + " is a null pointer");
}

const char *name_of_direction(int direction) {
  constexpr const char *directions[] = {"forward", "adjoint", "tangent"};
  if (direction < 0 || direction >= static_cast<int>(std::size(directions)))
    throw UserError(
        fmt::format("the direction is {}; expected 0 for forward, 1 for adjoint or 2 for tangent", direction));
  return directions[direction];
}

std::vector<LaunchArgument> arguments_of(std::span<const SamiteArgument> tensors, const std::optional<Stream> &stream,
                                         bool takes_gradients) {
  std::vector<LaunchArgument> arguments(tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    arguments[i].scalar = tensors[i].scalar;
    if (tensors[i].values != nullptr) arguments[i].buffer = buffer_of(*tensors[i].values, stream);
    if (tensors[i].gradient == nullptr) continue;
    if (!takes_gradients) throw UserError("a forward launch is given a gradient; it takes none");
    arguments[i].gradient = buffer_of(*tensors[i].gradient, stream);
  }
  return arguments;
}

// A launch, as passed to the C functions.
struct GivenLaunch {
  const char *kernel;
  const std::int64_t *extents;
  int rank;
  const SamiteArgument *arguments;
  int count;

  void check() const {
    require_not_null(kernel, "the kernel's name");
    require_not_null(extents, "the pointer to the extents");
    if (count > 0) require_not_null(arguments, "the pointer to the arguments");
    if (rank < 1 || rank > maximum_rank || count < 0)
      throw UserError("a launch has 1 to 4 extents, and no negative number of arguments");
  }
  Extents all_extents() const { return Extents(std::span(extents, static_cast<std::size_t>(rank))); }
  std::span<const SamiteArgument> tensors() const { return {arguments, static_cast<std::size_t>(count)}; }
};

}  // namespace
}  // namespace samite::shipped

extern "C" {

int samite_runtime_version(void) { return SAMITE_RUNTIME_VERSION; }

int samite_open_archive(int version, const char *path, char *error, std::size_t error_bytes) {
  return samite::shipped::guarded(error, error_bytes, [&] {
    samite::shipped::require_version(version);
    samite::shipped::require_not_null(path, "the archive's path");
    samite::open_archive(path, samite::SourceLocation{});
  });
}

int samite_open_archive_bytes(int version, const char *name, const void *bytes, std::size_t size, char *error,
                              std::size_t error_bytes) {
  return samite::shipped::guarded(error, error_bytes, [&] {
    samite::shipped::require_version(version);
    samite::shipped::require_not_null(name, "the archive's name");
    samite::shipped::require_not_null(bytes, "the archive");
    samite::open_archive(name, std::span(static_cast<const char *>(bytes), size), samite::SourceLocation{});
  });
}

int samite_launch(const char *kernel, int direction, const std::int64_t *extents, int rank,
                  const SamiteArgument *arguments, int count, void *stream, char *error, std::size_t error_bytes) {
  using namespace samite::shipped;
  return guarded(error, error_bytes, [&] {
    const GivenLaunch given{kernel, extents, rank, arguments, count};
    given.check();
    const char *name = name_of_direction(direction);
    const auto queue = stream_for(given.tensors(), stream);
    launch(kernel, name, given.all_extents(), arguments_of(given.tensors(), queue, direction != SAMITE_FORWARD), queue);
  });
}

struct SamiteLaunch {
  samite::shipped::RecordedLaunch recorded;
};

int samite_record(const char *kernel, int direction, const std::int64_t *extents, int rank,
                  const SamiteArgument *arguments, int count, void *stream, SamiteLaunch **launch, char *error,
                  std::size_t error_bytes) {
  using namespace samite::shipped;
  return guarded(error, error_bytes, [&] {
    require_not_null(static_cast<const void *>(launch), "the pointer to the launch");
    *launch = nullptr;
    const GivenLaunch given{kernel, extents, rank, arguments, count};
    given.check();
    const char *name = name_of_direction(direction);
    const auto queue = stream_for(given.tensors(), stream);
    *launch =
        std::make_unique<SamiteLaunch>(
            SamiteLaunch{RecordedLaunch(kernel, name, given.all_extents(),
                                        arguments_of(given.tensors(), queue, direction != SAMITE_FORWARD), queue)})
            .release();
  });
}

int samite_run(const SamiteLaunch *launch, char *error, std::size_t error_bytes) {
  return samite::shipped::guarded(error, error_bytes, [&] {
    samite::shipped::require_not_null(launch, "the launch");
    launch->recorded.run();
  });
}

void samite_release_launch(SamiteLaunch *launch) { const std::unique_ptr<SamiteLaunch> released(launch); }

struct SamiteTape {
  samite::shipped::ArchivedTape tape;
};

SamiteTape *samite_new_tape(void) {
  try {
    return std::make_unique<SamiteTape>().release();
  } catch (...) {
    return nullptr;
  }
}

int samite_tape_launch(SamiteTape *tape, const char *kernel, const std::int64_t *extents, int rank,
                       const SamiteArgument *arguments, int count, void *stream, char *error, std::size_t error_bytes) {
  using namespace samite::shipped;
  return guarded(error, error_bytes, [&] {
    require_not_null(tape, "the tape");
    const GivenLaunch given{kernel, extents, rank, arguments, count};
    given.check();
    const auto queue = stream_for(given.tensors(), stream);
    tape->tape.launch(kernel, given.all_extents(), arguments_of(given.tensors(), queue, true), queue);
  });
}

int samite_tape_backward(SamiteTape *tape, char *error, std::size_t error_bytes) {
  return samite::shipped::guarded(error, error_bytes, [&] {
    samite::shipped::require_not_null(tape, "the tape");
    tape->tape.backward();
  });
}

int samite_tape_clear(SamiteTape *tape, char *error, std::size_t error_bytes) {
  return samite::shipped::guarded(error, error_bytes, [&] {
    samite::shipped::require_not_null(tape, "the tape");
    tape->tape.clear();
  });
}

int64_t samite_tape_kept_bytes(const SamiteTape *tape) { return tape == nullptr ? 0 : tape->tape.kept_bytes(); }

void samite_release_tape(SamiteTape *tape) { const std::unique_ptr<SamiteTape> released(tape); }

}  // extern "C"
