#include "samite/driver/library.h"

#include "samite/driver/owned.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <optional>
#include <utility>

namespace samite::driver {

Library::Library(const Context &context, std::shared_ptr<CUlib_st> raw) : context_(context), raw_(std::move(raw)) {}

Library Library::load(const Context &context, std::span<const std::byte> image) {
  // Messages of the driver's own compiler about PTX that it refuses.
  std::array<char, 4096> log{};
  std::array options{JitOption::error_log_buffer, JitOption::error_log_buffer_bytes};
  // The driver takes a number in place of a pointer.
  std::array<void *, 2> values{log.data(), std::bit_cast<void *>(log.size() - 1)};

  CUlibrary raw = nullptr;
  Entry failed = Entry::LibraryLoadData;
  Result code = context.try_call<Entry::LibraryLoadData>(
      &raw, static_cast<const void *>(image.data()), options.data(), values.data(), unsigned{options.size()},
      static_cast<LibraryOption *>(nullptr), static_cast<void **>(nullptr), 0u);
  std::optional<Library> library;
  if (code == Result::success) {
    library = Library(context, own<Entry::LibraryUnload>(context, raw));
    // The driver reads an image when a context first needs it. That is done here, while the buffers for its messages
    // exist.
    failed = Entry::LibraryGetModule;
    CUmodule module = nullptr;
    code = context.try_call<Entry::LibraryGetModule>(&module, raw);
    if (code == Result::success) return std::move(*library);
  }

  if (kind_of(code) != ResultKind::call)
    context.fail(failed, code, {nullptr, library ? static_cast<const void *>(raw) : image.data()});
  const std::string_view words(log.data()), remedy = remedy_of(code);
  throw DriverError(code, fmt::format("{}(image of {} bytes) on {}, of compute capability {}.{}, failed: {}{}{}{}{}",
                                      info(failed).symbol, image.size(), context.to_string(),
                                      context.limits().compute_capability / 10,
                                      context.limits().compute_capability % 10, context.driver().describe(code),
                                      words.empty() ? "" : "\n", words, remedy.empty() ? "" : "\n", remedy));
}

Kernel Library::kernel(const std::string &name) const {
  CUkernel kernel = nullptr;
  context_.call<Entry::LibraryGetKernel>(&kernel, raw(), name.c_str());
  return {*this, kernel, intern_file(name)};
}

Library::Variable Library::variable(const std::string &name) const {
  Variable variable{};
  context_.call<Entry::LibraryGetGlobal>(&variable.address, &variable.bytes, raw(), name.c_str());
  return variable;
}

int Kernel::attribute(FunctionAttribute attribute) const {
  int value = 0;
  context().call_for<Entry::KernelGetAttribute>({.kernel = name_}, &value, attribute, raw_, context().raw_device());
  return value;
}

void Kernel::allow_shared_memory(unsigned bytes) const {
  int own_bytes = shared_->own_bytes.load(std::memory_order_relaxed);
  if (own_bytes < 0)
    shared_->own_bytes.store(own_bytes = attribute(FunctionAttribute::shared_bytes), std::memory_order_relaxed);
  const auto fixed = static_cast<unsigned>(own_bytes);
  const unsigned most = context().limits().shared_bytes_opt_in;
  if (bytes > most || fixed > most - bytes)
    throw UserError(
        fmt::format("kernel \"{}\" needs {} bytes of shared memory for a block ({} dynamic, {} of its own), "
                    "and a block of {} may have {}: use smaller tiles or fewer stages",
                    name_, std::uint64_t{bytes} + fixed, bytes, fixed, context().to_string(), most));
  if (bytes + fixed <= context().limits().shared_bytes || shared_->all_allowed.load(std::memory_order_acquire)) return;
  // The largest possible size: launches of one kernel may differ in size, and prepared launches run again later.
  context().call_for<Entry::KernelSetAttribute>({.kernel = name_}, FunctionAttribute::max_dynamic_shared_bytes,
                                                static_cast<int>(most - fixed), raw_, context().raw_device());
  shared_->all_allowed.store(true, std::memory_order_release);
}

void Kernel::allow_large_clusters() const {
  context().call_for<Entry::KernelSetAttribute>({.kernel = name_}, FunctionAttribute::non_portable_cluster_size_allowed,
                                                1, raw_, context().raw_device());
}

}  // namespace samite::driver
