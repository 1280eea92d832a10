// The fake's libraries, kernels and launches.
#include "tests/driver/fake/state.h"

#include <elf.h>
#include <fmt/format.h>

#include <cstring>
#include <string>
#include <string_view>

namespace samite::driver::fake {
namespace {

const LaunchAttributeValue *attribute_of(const LaunchConfig &config, LaunchAttributeId id) {
  for (unsigned i = 0; i < config.attribute_count; ++i)
    if (config.attributes[i].id == id) return &config.attributes[i].value;
  return nullptr;
}

// The default is 48 KiB, including the kernel's own shared memory.
int max_dynamic_shared_bytes(const Kernel &kernel) {
  return std::max(48 * 1024 - static_cast<int>(kernel.code->shared_bytes), kernel.asked_dynamic_shared_bytes);
}

Result check(const LaunchConfig &config, const Kernel &kernel) {
  const std::uint64_t threads = std::uint64_t{config.block_x} * config.block_y * config.block_z;
  if (threads == 0 || std::uint64_t{config.grid_x} * config.grid_y * config.grid_z == 0) return Result::invalid_value;
  if (threads > 1024 || config.grid_y > 65535 || config.grid_z > 65535) return Result::invalid_value;
  if (config.shared_bytes > static_cast<unsigned>(max_dynamic_shared_bytes(kernel)))
    return state().mistake(
        fmt::format("kernel \"{}\" is launched with more shared memory than it was allowed", kernel.code->name),
        Result::invalid_value);
  if (const LaunchAttributeValue *value = attribute_of(config, LaunchAttributeId::cluster_dimension)) {
    const auto &cluster = value->cluster_dimension;
    if (cluster.x * cluster.y * cluster.z > (kernel.large_clusters ? 16u : 8u)) return Result::invalid_cluster_size;
  }
  return Result::success;
}

// The library's own PTX begins with the directive, NVRTC's with a comment.
bool is_ptx(const char *image) { return std::strncmp(image, ".version", 8) == 0 || std::strncmp(image, "//", 2) == 0; }

// The fake's own image for PTX or machine code that the fake was told about; else empty.
std::string understood(const char *image) {
  if (state().understood.empty()) return "";  // images of other tests need not be whole
  std::string_view content;
  std::string before = ".entry ", after = "(";
  if (is_ptx(image)) {
    content = image;
  } else if (std::strncmp(image, "\177ELF", 4) == 0) {
    Elf64_Ehdr header;
    std::memcpy(&header, image, sizeof header);
    content = {image, header.e_shoff + std::size_t{header.e_shnum} * header.e_shentsize};
    before = ".text.", after = std::string(1, '\0');
  }
  for (const auto &[entry, number] : state().understood)
    if (content.find(before + entry + after) != content.npos) return fmt::format("fake image {}", number);
  return "";
}

// The kernel of a handle that is used as a function.
Kernel *kernel_of(CUfunction function) { return use(reinterpret_cast<CUkernel>(function)); }

}  // namespace

Result LibraryLoadData(CUlibrary *handle, const void *image, JitOption *options, void **values, unsigned count,
                       LibraryOption *, void **, unsigned) {
  const char *text = static_cast<const char *>(image);
  const std::string known = understood(text);
  if (!known.empty()) text = known.c_str();
  if (is_ptx(text)) {  // which the fake cannot compile
    for (unsigned i = 0; i < count; ++i)
      if (options[i] == JitOption::error_log_buffer)
        std::strcpy(static_cast<char *>(values[i]), "ptxas fatal: the fake compiles no PTX");
    return Result::invalid_ptx;
  }
  if (std::strncmp(text, "\177ELF", 4) == 0) return Result::no_binary_for_gpu;
  if (std::strncmp(text, "fake image ", 11) != 0) return Result::invalid_image;

  Library &library = state().libraries.add();
  library.image = std::atoi(text + 11);
  for (const KernelCode &code : state().images[static_cast<std::size_t>(library.image)]) {
    auto kernel = std::make_unique<Kernel>();
    kernel->library = &library;
    kernel->code = &code;
    library.kernels[code.name] = std::move(kernel);
  }
  *handle = handle_of<CUlibrary>(library);
  return Result::success;
}

Result LibraryUnload(CUlibrary handle) {
  Library *library = use(handle);
  if (library == nullptr) return Result::invalid_handle;
  library->destroyed = true;
  return Result::success;
}

Result LibraryGetModule(CUmodule *module, CUlibrary handle) {
  if (use(handle) == nullptr) return Result::invalid_handle;
  *module = reinterpret_cast<CUmodule>(handle);
  return Result::success;
}

Result LibraryGetKernel(CUkernel *handle, CUlibrary library_handle, const char *name) {
  const Library *library = use(library_handle);
  if (library == nullptr) return Result::invalid_handle;
  const auto found = library->kernels.find(name);
  if (found == library->kernels.end()) return Result::not_found;
  *handle = handle_of<CUkernel>(*found->second);
  return Result::success;
}

Result LibraryGetGlobal(CUdeviceptr *, std::size_t *, CUlibrary, const char *) { return Result::not_found; }

Result KernelGetFunction(CUfunction *function, CUkernel handle) {
  const Kernel *kernel = use(handle);
  if (kernel == nullptr) return Result::invalid_handle;
  *function = reinterpret_cast<CUfunction>(handle);
  return Result::success;
}

Result KernelGetAttribute(int *value, FunctionAttribute attribute, CUkernel handle, CUdevice) {
  const Kernel *kernel = use(handle);
  if (kernel == nullptr) return Result::invalid_handle;
  switch (attribute) {
    case FunctionAttribute::shared_bytes: *value = static_cast<int>(kernel->code->shared_bytes); break;
    case FunctionAttribute::max_threads_per_block: *value = 1024; break;
    case FunctionAttribute::registers: *value = 32; break;
    case FunctionAttribute::max_dynamic_shared_bytes: *value = max_dynamic_shared_bytes(*kernel); break;
    case FunctionAttribute::binary_version: *value = state().options.compute_capability; break;
    default: *value = 0; break;
  }
  return Result::success;
}

Result KernelSetAttribute(FunctionAttribute attribute, int value, CUkernel handle, CUdevice) {
  Kernel *kernel = use(handle);
  if (kernel == nullptr) return Result::invalid_handle;
  if (attribute == FunctionAttribute::max_dynamic_shared_bytes) kernel->asked_dynamic_shared_bytes = value;
  if (attribute == FunctionAttribute::non_portable_cluster_size_allowed) kernel->large_clusters = value != 0;
  return Result::success;
}

Result KernelGetParamInfo(CUkernel handle, std::size_t index, std::size_t *offset, std::size_t *bytes) {
  const Kernel *kernel = use(handle);
  if (kernel == nullptr) return Result::invalid_handle;
  if (index >= kernel->code->parameter_bytes.size()) return Result::invalid_value;
  *offset = 0;
  for (std::size_t i = 0; i < index; ++i) *offset += kernel->code->parameter_bytes[i];
  *bytes = kernel->code->parameter_bytes[index];
  return Result::success;
}

Result OccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction function, int threads, std::size_t) {
  if (kernel_of(function) == nullptr) return Result::invalid_handle;
  *blocks = 2048 / threads;
  return Result::success;
}

Result OccupancyMaxActiveClusters(int *clusters, CUfunction function, const LaunchConfig *config) {
  const Kernel *kernel = kernel_of(function);
  if (kernel == nullptr) return Result::invalid_handle;
  const LaunchAttributeValue *value = attribute_of(*config, LaunchAttributeId::cluster_dimension);
  const unsigned blocks =
      value ? value->cluster_dimension.x * value->cluster_dimension.y * value->cluster_dimension.z : 1;
  if (blocks > (kernel->large_clusters ? 16u : 8u)) return Result::invalid_cluster_size;
  *clusters = blocks <= state().options.largest_cluster ? 4 : 0;
  return Result::success;
}

Result OccupancyMaxPotentialClusterSize(int *blocks, CUfunction function, const LaunchConfig *) {
  if (kernel_of(function) == nullptr) return Result::invalid_handle;
  *blocks = static_cast<int>(state().options.largest_cluster);
  return Result::success;
}

std::vector<void *> KernelCall::addresses() {
  std::vector<void *> result;
  for (std::vector<std::byte> &parameter : parameters) result.push_back(parameter.data());
  return result;
}

Result run(Stream &stream, KernelCall &call) {
  std::vector<void *> parameters = call.addresses();
  for (const std::size_t index : call.kernel->code->pointers) {
    CUdeviceptr address = 0;
    std::memcpy(&address, parameters[index], sizeof address);
    if (const Result code = touch(stream, address, 1); code != Result::success) return code;
  }
  state().launching = stream.context;
  call.kernel->code->run(parameters.data());
  return Result::success;
}

// The context is the stream's, whatever is current, since the function is a kernel.
Result LaunchKernelEx(const LaunchConfig *config, CUfunction function, void **parameters, void **) {
  Stream *stream = reinterpret_cast<Stream *>(config->stream);
  if (reinterpret_cast<std::uintptr_t>(config->stream) <= 2)
    stream = use(config->stream);
  else if (!state().streams.has(stream) || stream->destroyed)
    return state().mistake("this is no stream, or a destroyed one", Result::invalid_handle);
  const Kernel *kernel = kernel_of(function);
  if (stream == nullptr || kernel == nullptr) return Result::invalid_handle;
  if (stream->context->fault != Result::success) return stream->context->fault;
  if (const Result code = check(*config, *kernel); code != Result::success) return code;

  kernel->code->asked(*config);
  KernelCall call{kernel_of(function), *config, {}};
  for (std::size_t i = 0; i < kernel->code->parameter_bytes.size(); ++i) {
    const auto *bytes = static_cast<const std::byte *>(parameters[i]);
    call.parameters.emplace_back(bytes, bytes + kernel->code->parameter_bytes[i]);
  }
  return submit(*stream, call);
}

}  // namespace samite::driver::fake
