#include "samite/driver/tensor_map.h"

#include "samite/driver/tensor_map_rules.h"

#include <fmt/format.h>

#include <bit>
#include <utility>

namespace samite::driver {
namespace {

constexpr int first_version_with_packed_types = 12080;

void require_rules(const std::string &broken, SourceLocation where) {
  if (!broken.empty()) [[unlikely]]
    throw UserError(where, "tensor map: " + broken);
}

[[noreturn, gnu::cold]] void fail_capability(const Context &context, bool is_newer, int needed) {
  const int found = context.limits().compute_capability;
  throw DeviceError("making a tensor map", fmt::format("{} needs a GPU of compute capability {}.{} or newer, and {} "
                                                       "has {}.{}",
                                                       is_newer ? "its element type or swizzle" : "this", needed / 10,
                                                       needed % 10, context.to_string(), found / 10, found % 10));
}

[[noreturn, gnu::cold]] void fail_version(TensorType type, int version) {
  throw DeviceError("making a tensor map",
                    fmt::format("the element type {} and its swizzle need a driver for CUDA {} or newer, and the one "
                                "here is for CUDA {}",
                                name_of(type), version_text(first_version_with_packed_types), version_text(version)));
}

void require_support(const Context &context, const TensorLayout &layout, int capability) {
  const bool is_newer = is_of_blackwell(layout);
  if (is_newer) capability = 100;
  if (context.limits().compute_capability < capability) fail_capability(context, is_newer, capability);
  if (!is_newer) return;
  const int version = context.driver().version();
  if (version < first_version_with_packed_types) fail_version(layout.type, version);
}

// Whether this thread must query the current context before it encodes. A thread does so at its first encoding, so that
// tools that watch a program's calls see no failed one.
constinit thread_local bool lacks_context = true;

bool some_context_is_current(const EntryPoints &table) {
  CUcontext current = nullptr;
  return table.CtxGetCurrent(&current) == Result::success && current != nullptr;
}

class Pushed {
 public:
  explicit Pushed(const Context &context) : table_(context.driver().table()) {
    code_ = table_.CtxPushCurrent(context.raw());
  }
  Pushed(const Pushed &) = delete;
  Pushed &operator=(const Pushed &) = delete;
  ~Pushed() {
    CUcontext popped = nullptr;
    if (code_ == Result::success) table_.CtxPopCurrent(&popped);
  }

  Result code() const noexcept { return code_; }

 private:
  const EntryPoints &table_;
  Result code_;
};

template <Entry entry, class... Arguments>
Result try_pushed(const Context &context, Arguments... arguments) {
  const Pushed pushed(context);
  return pushed.code() == Result::success ? context.driver().try_call<entry>(arguments...) : pushed.code();
}

// The encoders only compute bits, but need some current context. Encoding takes the driver 80 ns, and asking for the
// current context 10 more, so a thread that has a context does not ask. Without one the call fails after 900 ns, while
// pushing and popping a context takes 45: a thread whose call has failed asks from then on, until it has a context.
template <Entry entry, class... Arguments>
void encode_in(const Context &context, SourceLocation where, Arguments... arguments) {
  if (lacks_context) [[unlikely]]
    lacks_context = !some_context_is_current(context.driver().table());
  Result code =
      lacks_context ? try_pushed<entry>(context, arguments...) : context.driver().try_call<entry>(arguments...);
  if (code == Result::invalid_context && !lacks_context) [[unlikely]] {
    lacks_context = true;
    code = try_pushed<entry>(context, arguments...);
  }
  if (code != Result::success) [[unlikely]]
    context.fail(entry, code, {Argument(arguments)...}, {nullptr, where});
}

// The driver takes the device address as a pointer.
void *pointer(CUdeviceptr address) { return std::bit_cast<void *>(address); }

}  // namespace

TensorMap TensorMap::encode(const Context &context, const TiledTensor &t, std::shared_ptr<const void> memory,
                            SourceLocation where) {
  const std::uint64_t shared_bytes = context.limits().shared_bytes_of_multiprocessor;
  if (may_break_rule(t, shared_bytes)) [[unlikely]]
    require_rules(broken_rule(t, shared_bytes), where);
  require_support(context, t, 90);
  TensorMap map(std::move(memory), address_alignment(t));
  encode_in<Entry::TensorMapEncodeTiled>(context, where, &map.bits_, t.type, std::uint32_t{t.rank}, pointer(t.address),
                                         t.extents.data(), t.strides.data(), t.box.data(), t.element_strides.data(),
                                         t.interleave, t.swizzle, t.promotion, t.out_of_bounds);
  return map;
}

TensorMap TensorMap::encode(const Context &context, const Im2colTensor &t, std::shared_ptr<const void> memory,
                            SourceLocation where) {
  require_rules(broken_rule(t, context.limits().shared_bytes_of_multiprocessor), where);
  require_support(context, t, 90);
  TensorMap map(std::move(memory), address_alignment(t));
  encode_in<Entry::TensorMapEncodeIm2col>(context, where, &map.bits_, t.type, std::uint32_t{t.rank}, pointer(t.address),
                                          t.extents.data(), t.strides.data(), t.lower_corner.data(),
                                          t.upper_corner.data(), t.channels, t.pixels, t.element_strides.data(),
                                          t.interleave, t.swizzle, t.promotion, t.out_of_bounds);
  return map;
}

TensorMap TensorMap::encode(const Context &context, const Im2colWideTensor &t, std::shared_ptr<const void> memory,
                            SourceLocation where) {
  require_rules(broken_rule(t), where);
  require_support(context, t, 100);
  TensorMap map(std::move(memory), address_alignment(t));
  encode_in<Entry::TensorMapEncodeIm2colWide>(context, where, &map.bits_, t.type, std::uint32_t{t.rank},
                                              pointer(t.address), t.extents.data(), t.strides.data(), t.lower_width,
                                              t.upper_width, t.channels, t.pixels, t.element_strides.data(),
                                              t.interleave, t.mode, t.swizzle, t.promotion, t.out_of_bounds);
  return map;
}

void TensorMap::replace_address(const Context &context, CUdeviceptr address, std::shared_ptr<const void> memory,
                                SourceLocation where) {
  if (address % alignment_ != 0)
    throw UserError(where,
                    fmt::format("tensor map: address is {:#x}: it must be a multiple of {} bytes, as when the map "
                                "was made",
                                address, alignment_));
  encode_in<Entry::TensorMapReplaceAddress>(context, where, &bits_, pointer(address));
  memory_ = std::move(memory);
}

}  // namespace samite::driver
