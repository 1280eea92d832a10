#include "jax_calls.h"

#include "archive.h"
#include "kernel_object.h"
#include "samite/jit/definition.h"
#include "samite/jit/launch.h"
#include "xla_ffi.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <random>

namespace samite::python {
namespace {

// A kernel without its Python objects.
struct Callable {
  struct Parameter {
    std::size_t first, count;
    bool is_array;
  };
  struct Argument {
    std::string name;
    ScalarType type;
    bool is_written, is_distinct;
  };
  std::string name;
  std::vector<Parameter> parameters;
  std::vector<Argument> arguments;  // of the launch
  std::function<void(const Extents &, const LaunchOptions &, const std::vector<jit::OwnedArgument> &)> launch;
};

// Kept for the life of the process, because XLA keeps its programs.
struct Callables {
  std::mutex mutex;
  std::map<std::int64_t, std::shared_ptr<const Callable>> all;
};
Callables &callables() {
  static auto *const kept = new Callables;  // NOLINT(cppcoreguidelines-owning-memory): XLA may call until the end
  return *kept;
}

struct TypeRow {
  std::int32_t xla;
  ScalarType type;
};
constexpr TypeRow type_rows[] = {
    {xla::pred, ScalarType::Bool},         {xla::s8, ScalarType::Int8},
    {xla::s16, ScalarType::Int16},         {xla::s32, ScalarType::Int32},
    {xla::s64, ScalarType::Int64},         {xla::u8, ScalarType::UInt8},
    {xla::u16, ScalarType::UInt16},        {xla::u32, ScalarType::UInt32},
    {xla::u64, ScalarType::UInt64},        {xla::f16, ScalarType::Float16},
    {xla::bf16, ScalarType::BFloat16},     {xla::f32, ScalarType::Float32},
    {xla::f64, ScalarType::Float64},       {xla::f8e4m3fn, ScalarType::Float8E4M3},
    {xla::f8e5m2, ScalarType::Float8E5M2},
};

// Reads one call.
class Call {
 public:
  Call(const xla::Frame &frame, std::span<const std::int64_t> form, bool on_cuda)
      : frame_(frame), form_(form), on_cuda_(on_cuda) {}

  void run() {
    refuse_after_fork();
    const std::shared_ptr<const Callable> callable = find(next());
    LaunchOptions options;
    if (const std::int64_t debug = next(); debug >= 0) options.debug = debug != 0;
    options.deterministic = next() != 0;
    const std::int64_t rank = next();
    if (rank < 1 || rank > maximum_rank) throw InternalError("a call of JAX has no launch rank");
    std::array<std::int64_t, maximum_rank> extents{};
    for (std::int64_t d = 0; d < rank; ++d) extents[static_cast<std::size_t>(d)] = next();
    if (on_cuda_) options.stream = stream_;
    std::vector<jit::OwnedArgument> arguments;
    for (const Callable::Parameter &parameter : callable->parameters) read(*callable, parameter, arguments);
    separate(*callable, arguments);
    const Extents launched(std::span(extents.data(), static_cast<std::size_t>(rank)), SourceLocation());
    callable->launch(launched, options, arguments);
  }

  // On CUDA only: the stream has the device of XLA's buffers and orders their use.
  void set_stream(const Stream &stream) { stream_ = stream; }

 private:
  static std::shared_ptr<const Callable> find(std::int64_t id) {
    const std::lock_guard lock(callables().mutex);
    const auto found = callables().all.find(id);
    if (found == callables().all.end())
      throw UserError(
          "this program of JAX calls a kernel that another process has registered: programs with kernels of Samite "
          "cannot be taken from one process to another");
    return found->second;
  }

  std::int64_t next() {
    if (place_ == form_.size()) throw InternalError("the form of a call of JAX ends early");
    return form_[place_++];
  }

  const xla::Buffer &buffer(const xla::Buffers &buffers) {
    const std::int64_t index = next();
    if (index < 0 || index >= buffers.count) throw InternalError("a call of JAX has too few buffers");
    return *static_cast<const xla::Buffer *>(buffers.buffers[index]);
  }

  void read(const Callable &callable, const Callable::Parameter &parameter,
            std::vector<jit::OwnedArgument> &arguments) {
    const std::int64_t kind = next();
    if (kind == 0) {
      arguments.push_back({borrowed(buffer(frame_.arguments), true), 0});
    } else if (kind == 1) {
      const xla::Buffer &argument = buffer(frame_.arguments), &result = buffer(frame_.results);
      if (argument.data != result.data) throw InternalError("XLA has not given a result its argument's memory");
      arguments.push_back({borrowed(result, false), 0});
    } else if (kind == 2) {
      for (std::size_t i = 0; i < parameter.count; ++i) arguments.push_back({{}, static_cast<std::uint64_t>(next())});
    } else {
      for (std::size_t i = 0; i < parameter.count; ++i)
        arguments.push_back({{}, number(callable, parameter.first + i, buffer(frame_.arguments))});
    }
  }

  // XLA gives equal values the same memory. A kernel that writes one of them, or needs a distinct array, gets a copy.
  static void separate(const Callable &callable, std::vector<jit::OwnedArgument> &arguments) {
    const auto is_apart = [&](std::size_t i) {
      return callable.arguments[i].is_written || callable.arguments[i].is_distinct;
    };
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      AnyBuffer &mine = arguments[i].buffer;
      if (!mine.valid() || callable.arguments[i].is_written) continue;
      for (std::size_t j = 0; j < arguments.size(); ++j) {
        if (i == j || !(is_apart(i) || is_apart(j)) || !mine.overlaps(arguments[j].buffer)) continue;
        mine = mine.clone();
        break;
      }
    }
  }

  std::uint64_t number(const Callable &callable, std::size_t index, const xla::Buffer &from) const {
    const Callable::Argument &parameter = callable.arguments[index];
    if (on_cuda_)
      throw UserError(callable.name + "(): the number '" + parameter.name +
                      "' is computed by JAX, so it is in the GPU's memory, and a launch needs it on the host: make it "
                      "static, as by functools.partial, or an array of one element in the kernel");
    std::uint64_t bits = 0;
    std::memcpy(&bits, from.data, size_of(parameter.type));
    return bits;
  }

  AnyBuffer borrowed(const xla::Buffer &from, bool read_only) const {
    for (const TypeRow &row : type_rows)
      if (row.xla == from.type)
        return borrow(
            {.device = stream_ ? stream_->device() : Device::cpu(),
             .data = from.data,
             .type = row.type,
             .extents = Extents(std::span(from.extents, static_cast<std::size_t>(from.rank)), SourceLocation()),
             .strides = {},
             .read_only = read_only,
             .owner = {},
             .stream = stream_},
            SourceLocation());
    throw UserError("XLA gives an array of a type that Samite does not have");
  }

  const xla::Frame &frame_;
  std::span<const std::int64_t> form_;
  std::size_t place_ = 0;
  bool on_cuda_;
  std::optional<Stream> stream_;
};

// Borrowing a stream queries the driver, so borrowed streams are kept.
Stream stream_of(const xla::Frame &frame) {
  xla::GetDevice device{{sizeof device, nullptr}, frame.context, 0};
  xla::GetStream stream{{sizeof stream, nullptr}, frame.context, nullptr};
  const bool can_ask = frame.api->head.bytes >= offsetof(xla::Api, get_device) + sizeof frame.api->get_device;
  if (!can_ask || frame.api->get_device(&device) || frame.api->get_stream(&stream))
    throw UserError("this version of jaxlib does not tell kernels their device: update jax and jaxlib");
  struct Known {
    std::int32_t device;
    void *handle;
    Stream stream;
  };
  static std::mutex mutex;
  static std::vector<Known> all;
  const std::lock_guard lock(mutex);
  for (const Known &each : all)
    if (each.device == device.device && each.handle == stream.stream) return each.stream;
  constexpr std::size_t most = 64;
  if (all.size() == most) all.erase(all.begin());
  return all
      .emplace_back(device.device, stream.stream,
                    Stream::borrow(Device::cuda(device.device), stream.stream, SourceLocation()))
      .stream;
}

std::span<const std::int64_t> form_of(const xla::Attributes &attributes) {
  for (std::int64_t i = 0; i < attributes.count; ++i) {
    if (std::string_view(attributes.names[i]->data, attributes.names[i]->size) != "form") continue;
    const auto &array = *static_cast<const xla::Array *>(attributes.values[i]);
    if (attributes.types[i] == xla::array_attribute && array.type == xla::s64)
      return {static_cast<const std::int64_t *>(array.data), array.size};
  }
  throw InternalError("a call of JAX has no form");
}

xla::Error *failed(const xla::Frame &frame, const char *message, xla::ErrorCode code) {
  xla::CreateError error{{sizeof error, nullptr}, message, code};
  return frame.api->create_error(&error);
}

xla::Error *call(xla::Frame *frame, bool on_cuda) noexcept {
  for (xla::Extension *each = frame->head.extensions; each; each = each->next)
    if (each->type == xla::metadata_extension) {
      xla::Metadata &metadata = *reinterpret_cast<xla::MetadataExtension *>(each)->metadata;
      // All minor versions have the declarations of xla_ffi.h.
      metadata.version.major = 0;
      metadata.version.minor = frame->api->version.minor;
      return nullptr;
    }
  if (frame->stage != xla::execute) return nullptr;
  try {
    Call made(*frame, form_of(frame->attributes), on_cuda);
    if (on_cuda) made.set_stream(stream_of(*frame));
    made.run();
    return nullptr;
  } catch (const UserError &error) {
    return failed(*frame, error.what(), xla::invalid_argument);
  } catch (const std::exception &error) {
    return failed(*frame, error.what(), xla::internal);
  } catch (...) {
    return failed(*frame, "an exception that is no std::exception", xla::internal);
  }
}

xla::Error *call_on_cpu(xla::Frame *frame) noexcept { return call(frame, false); }
xla::Error *call_on_cuda(xla::Frame *frame) noexcept { return call(frame, true); }

// Adds the kernel under a random number that no other process has, because XLA keeps compiled programs on disk.
std::int64_t add(Callable callable) {
  const auto kept = std::make_shared<const Callable>(std::move(callable));
  std::random_device random;
  const std::lock_guard lock(callables().mutex);
  for (;;) {
    const auto id = static_cast<std::int64_t>(std::uint64_t{random()} << 31 ^ random());
    if (callables().all.try_emplace(id, kept).second) return id;
  }
}

std::int64_t add_kernel(const KernelObject &kernel) {
  const std::shared_ptr<jit::KernelDefinition> definition = kernel.signature().definition();
  Callable callable{.name = kernel.name(), .parameters = {}, .arguments = {}, .launch = {}};
  for (const Parameter &each : kernel.signature().parameters())
    callable.parameters.push_back({each.first, each.count, each.is_array});
  for (std::size_t i = 0; i < definition->parameters().size(); ++i) {
    const ir::Parameter &each = definition->parameters()[i];
    callable.arguments.push_back({each.name, each.type, (definition->written() >> i & 1) != 0, each.distinct});
  }
  callable.launch = [definition](const Extents &extents, const LaunchOptions &options,
                                 const std::vector<jit::OwnedArgument> &arguments) {
    jit::launch_once(definition, LaunchExtents(extents, SourceLocation()), options, jit::views(arguments));
  };
  return add(std::move(callable));
}

std::int64_t add_archived(const ArchivedKernel &kernel) {
  Callable callable{.name = kernel.name, .parameters = {}, .arguments = {}, .launch = {}};
  for (const ArchivedKernel::Parameter &each : kernel.parameters) {
    callable.parameters.push_back({callable.arguments.size(), 1, each.rank > 0});
    callable.arguments.push_back({each.name, each.type, each.is_written, each.is_distinct});
  }
  callable.launch = [kernel](const Extents &extents, const LaunchOptions &options,
                             const std::vector<jit::OwnedArgument> &arguments) {
    kernel.launch(extents, arguments, options.stream);
  };
  return add(std::move(callable));
}

// The bits of a number, or of a tuple of numbers, as signed integers.
std::vector<std::int64_t> bits_of(const KernelObject &kernel, std::size_t index, const nb::object &value) {
  return at_python_line([&] {
    const Parameter &parameter = kernel.signature().parameters().at(index);
    std::vector<std::uint64_t> bits(kernel.signature().definition()->parameters().size());
    kernel.signature().read_scalars(parameter, value.ptr(), bits.data());
    std::vector<std::int64_t> taken;
    for (std::size_t i = 0; i < parameter.count; ++i)
      taken.push_back(static_cast<std::int64_t>(bits[parameter.first + i]));
    return taken;
  });
}

nb::object capsule(xla::Error *(*function)(xla::Frame *) noexcept) {
  return nb::steal(checked(PyCapsule_New(reinterpret_cast<void *>(function), nullptr, nullptr)));
}

}  // namespace

void define_jax_calls(nb::module_ &module) {
  module.def("jax_targets", [] { return nb::make_tuple(capsule(&call_on_cpu), capsule(&call_on_cuda)); });
  module.def("jax_kernel", &add_kernel, nb::arg("kernel"));
  module.def("jax_kernel", &add_archived, nb::arg("kernel"));
  module.def("scalar_bits", &bits_of, nb::arg("kernel"), nb::arg("parameter"), nb::arg("value"));
}

}  // namespace samite::python
