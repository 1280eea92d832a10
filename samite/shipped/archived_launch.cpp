#include "samite/shipped/archived_launch.h"

#include "samite/base/error.h"
#include "samite/runtime/cuda_device.h"
#include "samite/runtime/cuda_memory.h"
#include "samite/shipped/forms.h"
#include "samite/shipped/run.h"
#include "samite/shipped/tensor_maps.h"
#include "samite/toolchain/archives.h"
#include "samite/toolchain/cuda_target.h"
#include "samite/toolchain/host_target.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <tuple>

namespace samite::shipped {
namespace {

constexpr std::int64_t narrow_limit = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t unit = 16;  // bytes

std::uint64_t bit_of(std::size_t index) { return std::uint64_t{1} << index; }

// The facts about a launch's arguments, as bits.
struct Facts {
  std::uint64_t active = 0, unit_stride = 0, wide = 0, aligned = 0, whole_rows = 0, tensor_maps = 0, unaliased = 0;
  bool gradients_overlap = false;
};

void add_layout(const AnyBuffer &buffer, std::uint64_t own, Facts &facts) {
  const auto bytes = static_cast<std::int64_t>(size_of(buffer.type()));
  const std::size_t last = buffer.strides().size() - 1;
  auto places = static_cast<std::int64_t>(std::bit_cast<std::uintptr_t>(buffer.data()));
  std::int64_t distance = 0, longest = 0;
  for (std::size_t d = 0; d <= last; ++d) {
    const std::int64_t extent = buffer.extents()[static_cast<int>(d)], stride = buffer.strides()[d];
    distance += (extent - 1) * (stride < 0 ? -stride : stride);
    longest = std::max(longest, extent);
    if (d != last) places |= stride * bytes;
  }
  if (buffer.strides()[last] == 1) facts.unit_stride |= own;
  if (distance > narrow_limit || longest > narrow_limit) facts.wide |= own;
  if (places % unit == 0) facts.aligned |= own;
  if (buffer.extents()[static_cast<int>(last)] * bytes % unit == 0) facts.whole_rows |= own;
}

Facts facts_of(std::span<const LaunchArgument> arguments) {
  Facts facts;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const AnyBuffer &buffer = arguments[i].buffer, &gradient = arguments[i].gradient;
    if (!buffer.valid()) continue;
    add_layout(buffer, bit_of(i), facts);
    facts.unaliased |= bit_of(i);
    if (gradient.valid() && std::bit_cast<std::uintptr_t>(gradient.data()) % unit != 0) facts.aligned &= ~bit_of(i);
    if ((facts.aligned & bit_of(i)) != 0 && can_have_tensor_map(buffer)) facts.tensor_maps |= bit_of(i);
    if (!gradient.valid()) continue;
    facts.active |= bit_of(i);
    if (gradient.is_broadcast()) facts.gradients_overlap = true;
  }
  for (std::size_t i = 0; i < arguments.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      const auto share = [&](const AnyBuffer &a, const AnyBuffer &b) {
        return a.valid() && b.valid() && a.overlaps(b);
      };
      const LaunchArgument &a = arguments[i], &b = arguments[j];
      if (share(a.gradient, b.gradient)) facts.gradients_overlap = true;
      if (share(a.buffer, b.buffer) || share(a.gradient, b.gradient) || share(a.buffer, b.gradient) ||
          share(a.gradient, b.buffer))
        facts.unaliased &= ~(bit_of(i) | bit_of(j));
    }
  return facts;
}

bool covers(const LaunchForm &form, const Extents &extents, std::span<const LaunchArgument> arguments) {
  return std::ranges::all_of(form.covers, [&](const CoveredDimension &cover) {
    return arguments[static_cast<std::size_t>(cover.array)].buffer.extents()[cover.dimension] ==
           extents[cover.launch_dimension];
  });
}

bool is_within(std::uint64_t part, std::uint64_t whole) { return (part & ~whole) == 0; }

bool serves(const LaunchForm &form, const Facts &facts) {
  return form.active == facts.active && is_within(form.facts.unit_stride, facts.unit_stride) &&
         is_within(form.facts.unaliased, facts.unaliased) && is_within(form.facts.rows.aligned, facts.aligned) &&
         is_within(form.facts.rows.whole, facts.whole_rows) &&
         is_within(form.facts.rows.tensor_maps, facts.tensor_maps) && is_within(facts.wide, form.facts.wide_index) &&
         (form.facts.may_alias || !facts.gradients_overlap);
}

[[noreturn]] void refuse(const std::string &kernel, const std::string &why) {
  throw UserError("kernel '" + kernel + "': " + why);
}

std::string name_of(const LaunchForm &form, std::size_t index) {
  return fmt::format("argument {} ('{}')", index, form.parameters[index].name);
}

void check_array(const LaunchForm &form, std::size_t index, const AnyBuffer &buffer, const char *what) {
  const FormParameter &parameter = form.parameters[index];
  const auto fits = [&] {
    if (!buffer.valid() || buffer.type() != parameter.type || buffer.rank() != parameter.rank) return false;
    return parameter.last_extent == 0 || buffer.extents()[buffer.rank() - 1] == parameter.last_extent;
  };
  if (!fits())
    refuse(form.kernel,
           fmt::format("{}{} is an array of {} with rank {}{}, and {} is given", name_of(form, index), what,
                       name(parameter.type), parameter.rank,
                       parameter.last_extent ? fmt::format(" whose last extent is {}", parameter.last_extent) : "",
                       buffer.valid() ? buffer.to_string() : "none"));
  for (int d = 0; d < buffer.rank(); ++d)
    if ((parameter.narrow >> d & 1) != 0 && buffer.extents()[d] > narrow_limit)
      refuse(form.kernel, fmt::format("{}{} has an extent of {} in dimension {}, where the kernel indexes with Int: at "
                                      "most 2147483647 is possible",
                                      name_of(form, index), what, buffer.extents()[d], d));
}

// Against the parameters, which all forms of a kernel share.
void check(const LaunchForm &form, const Extents &extents, std::span<const LaunchArgument> arguments) {
  if (arguments.size() != form.own_parameters())
    refuse(form.kernel,
           fmt::format("it has {} parameters, and {} arguments are given", form.own_parameters(), arguments.size()));
  if (extents.rank() != form.rank)
    refuse(form.kernel, fmt::format("it is launched over {} dimensions, and {} are given", form.rank, extents.rank()));
  for (int d = 0; d < extents.rank(); ++d)
    if ((form.narrow >> d & 1) != 0 && extents[d] > narrow_limit)
      refuse(form.kernel, fmt::format("it is launched over {} in dimension {}, and counts with Int: at most 2147483647 "
                                      "is possible",
                                      extents[d], d));
  const AnyBuffer *first = nullptr;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const AnyBuffer &buffer = arguments[i].buffer, &gradient = arguments[i].gradient;
    if (form.parameters[i].rank == 0) {
      if (buffer.valid()) refuse(form.kernel, name_of(form, i) + " is a scalar, and an array is given");
      continue;
    }
    check_array(form, i, buffer, "");
    if (!first) first = &buffer;
    const auto check_device = [&](const AnyBuffer &one) {
      if (!(one.device() == first->device()))
        refuse(form.kernel, fmt::format("{} is on {}, and another array on {}", name_of(form, i),
                                        one.device().to_string(), first->device().to_string()));
    };
    check_device(buffer);
    if ((form.written & bit_of(i)) != 0 && buffer.is_broadcast())
      refuse(form.kernel, name_of(form, i) + " is written, and has a stride of 0: several indices share an element");
    if (!gradient.valid()) continue;
    check_array(form, i, gradient, "'s gradient");
    check_device(gradient);
    if (!(gradient.extents() == buffer.extents()) || !std::ranges::equal(gradient.strides(), buffer.strides()))
      refuse(form.kernel, name_of(form, i) + " has a gradient with other extents or strides than its own");
  }
}

// Checks promises of only an adjoint, or about only some arrays.
void check_sharing(const LaunchForm &form, std::span<const LaunchArgument> arguments) {
  const auto shared = [&](std::size_t i, std::size_t j) {
    return i != j && arguments[i].buffer.valid() && arguments[j].buffer.valid() &&
           arguments[i].buffer.overlaps(arguments[j].buffer);
  };
  for (std::size_t i = 0; i < arguments.size(); ++i)
    for (std::size_t j = 0; j < arguments.size(); ++j) {
      if (!shared(i, j)) continue;
      if ((form.facts.distinct & bit_of(i)) != 0)
        refuse(form.kernel, name_of(form, i) + " must share no memory with " + name_of(form, j));
      if ((form.adjoint.values_read & bit_of(i)) != 0 && (form.written & bit_of(j)) != 0)
        refuse(form.kernel, "the adjoint needs the values of " + name_of(form, i) + ", but they share memory with " +
                                name_of(form, j) + ", which the forward launch overwrites; give it separate arrays");
    }
}

void fill(const FormParameter &parameter, const AnyBuffer &buffer, std::byte *block) {
  std::byte *place = block + parameter.offset;
  const void *data = buffer.data();
  std::memcpy(place, static_cast<const void *>(&data), sizeof data);
  const auto words = static_cast<std::size_t>(buffer.rank()) * sizeof(std::int64_t);
  std::memcpy(place + sizeof data, buffer.extents().begin(), words);
  std::memcpy(place + sizeof data + words, buffer.strides().data(), words);
}

std::vector<std::byte> block_of(const LaunchForm &form, std::span<const LaunchArgument> arguments) {
  std::vector<std::byte> block(form.argument_bytes);
  for (std::size_t i = 0; i < form.parameters.size(); ++i) {
    const FormParameter &parameter = form.parameters[i];
    const LaunchArgument &argument = arguments[parameter.primal < 0 ? i : static_cast<std::size_t>(parameter.primal)];
    if (parameter.rank == 0)
      std::memcpy(block.data() + parameter.offset, &argument.scalar, sizeof argument.scalar);
    else
      fill(parameter, parameter.primal < 0 ? argument.buffer : argument.gradient, block.data());
  }
  return block;
}

Device device_of(std::span<const LaunchArgument> arguments, const std::optional<Stream> &stream) {
  for (const LaunchArgument &argument : arguments)
    if (argument.buffer.valid()) return argument.buffer.device();
  return stream ? stream->device() : Device::cpu();
}

// The targets that a device runs, the best first.
class Targets {
 public:
  explicit Targets(Device device) {
    if (device.kind() == DeviceKind::cpu)
      levels_ = host_levels();
    else
      capability_ = CudaDevice::of(device.index())->context().limits().compute_capability;
  }

  // Higher is better; empty: it does not run there.
  std::optional<int> rank(const std::string &target) const {
    if (capability_ == 0) {
      const auto level = std::ranges::find(levels_, target);
      return level == levels_.end() ? std::nullopt : std::optional(static_cast<int>(levels_.end() - level));
    }
    const auto cuda = cuda_target(target);
    if (!cuda || !cuda->runs_on(capability_)) return std::nullopt;
    return 2 * cuda->capability + (cuda->ptx ? -1000 : 1);
  }
  std::string to_string() const {
    return capability_ != 0 ? fmt::format("sm_{}", capability_) : levels_.empty() ? "this processor" : levels_.front();
  }

 private:
  std::vector<std::string> levels_;
  int capability_ = 0;
};

// How many facts the code relies on.
int facts_of(const LaunchForm &form) {
  return std::popcount(form.facts.unit_stride) + std::popcount(form.facts.unaliased) +
         std::popcount(form.facts.rows.aligned) + std::popcount(form.facts.rows.whole) +
         std::popcount(form.facts.rows.tensor_maps) + static_cast<int>(!form.covers.empty()) -
         std::popcount(form.facts.wide_index);
}

// The variant that serves the launch best; part of the forms of the open archives.
std::shared_ptr<const LaunchForm> chosen(const std::string &kernel, const std::string &direction,
                                         const Extents &extents, std::span<const LaunchArgument> arguments,
                                         const std::optional<Stream> &stream) {
  const std::shared_ptr<const std::vector<LaunchForm>> forms = launch_forms_of(kernel);
  if (forms->empty()) refuse_unknown(kernel);
  check(forms->front(), extents, arguments);
  const Targets targets(device_of(arguments, stream));
  const Facts facts = facts_of(arguments);
  const LaunchForm *best = nullptr;
  std::tuple<int, int> best_rank;
  for (const LaunchForm &form : *forms) {
    const auto rank = targets.rank(form.target);
    if (form.direction != direction || !rank || !serves(form, facts) || !covers(form, extents, arguments)) continue;
    const std::tuple own(*rank, facts_of(form));
    if (!best || own > best_rank) best = &form, best_rank = own;
  }
  if (!best) refuse_form(*forms, direction, facts.active, targets.to_string());
  check_sharing(*best, arguments);
  return {forms, best};
}

void run(const LaunchForm &form, const Extents &extents, std::span<const LaunchArgument> arguments,
         const std::optional<Stream> &stream, const std::byte *block) {
  const Device device = device_of(arguments, stream);
  if (device.kind() == DeviceKind::cpu) return run_on_host(form, extents, block);
  run_on_cuda(form, extents, block, stream ? *stream : Stream::standard(device));
}

}  // namespace

void launch(const std::string &kernel, const std::string &direction, const Extents &extents,
            std::span<const LaunchArgument> arguments, const std::optional<Stream> &stream) {
  const auto form = chosen(kernel, direction, extents, arguments, stream);
  run(*form, extents, arguments, stream, block_of(*form, arguments).data());
}

RecordedLaunch::RecordedLaunch(const std::string &kernel, const std::string &direction, const Extents &extents,
                               std::vector<LaunchArgument> arguments, const std::optional<Stream> &stream)
    : form_(chosen(kernel, direction, extents, arguments, stream)),
      extents_(extents),
      arguments_(std::move(arguments)),
      stream_(stream),
      block_(block_of(*form_, arguments_)) {}

void RecordedLaunch::run() const { shipped::run(*form_, extents_, arguments_, stream_, block_.data()); }

}  // namespace samite::shipped
