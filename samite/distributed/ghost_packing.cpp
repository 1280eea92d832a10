#include "samite/distributed/ghost_packing.h"

#include "samite/distributed/gradient_type.h"
#include "samite/jit/kernel.h"
#include "samite/lang/control.h"
#include "samite/runtime/buffer.h"

#include <cstring>
#include <map>
#include <mutex>
#include <tuple>

namespace samite::distributed {
namespace {

// The dimension whose elements are packed one after another: the last one, unless it is short. Both ends of a message
// choose alike, since their boxes have the same extents.
int fastest(const Box &box) {
  constexpr std::int64_t short_extent = 16;
  int chosen = box.rank - 1;
  if (box.extent(chosen) >= short_extent) return chosen;
  for (int d = 0; d < box.rank; ++d)
    if (box.extent(d) > box.extent(chosen)) chosen = d;
  return chosen;
}

// Calls run(offset, count, stride), in elements, for each run of the box in the order in which it is packed.
template <class Run>
void for_each_run(const Box &box, std::span<const std::int64_t> strides, const Run &run) {
  if (box.count() == 0) return;
  const auto inner = static_cast<std::size_t>(fastest(box));
  auto index = box.begin;
  for (;;) {
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < strides.size(); ++d) offset += index[d] * strides[d];
    run(offset, box.end[inner] - box.begin[inner], strides[inner]);
    int d = box.rank - 1;
    for (; d >= 0; --d) {
      const auto at = static_cast<std::size_t>(d);
      if (at == inner) continue;
      if (++index[at] < box.end[at]) break;
      index[at] = box.begin[at];
    }
    if (d < 0) return;
  }
}

// Calls visit(array element, packed element, count, stride) for all runs of all messages.
template <class T, class Visit>
void for_each_run(const AnyBuffer &array, std::span<const GhostMessage> messages, const Visit &visit) {
  auto *elements = static_cast<T *>(array.data());
  for (const GhostMessage &message : messages) {
    std::int64_t at = message.first;
    for_each_run(message.box, array.strides(), [&](std::int64_t offset, std::int64_t count, std::int64_t stride) {
      visit(elements + offset, at, count, stride);
      at += count;
    });
  }
}

template <class T>
void pack_as(const AnyBuffer &array, std::span<const GhostMessage> messages, void *memory) {
  T *packed = static_cast<T *>(memory);
  for_each_run<T>(array, messages, [&](const T *from, std::int64_t at, std::int64_t count, std::int64_t stride) {
    if (stride == 1)
      std::memcpy(packed + at, from, static_cast<std::size_t>(count) * sizeof(T));
    else
      for (std::int64_t i = 0; i < count; ++i) packed[at + i] = from[i * stride];
  });
}
template <class T>
void unpack_as(const AnyBuffer &array, std::span<const GhostMessage> messages, const void *memory) {
  const T *packed = static_cast<const T *>(memory);
  for_each_run<T>(array, messages, [&](T *to, std::int64_t at, std::int64_t count, std::int64_t stride) {
    if (stride == 1)
      std::memcpy(to, packed + at, static_cast<std::size_t>(count) * sizeof(T));
    else
      for (std::int64_t i = 0; i < count; ++i) to[i * stride] = packed[at + i];
  });
}
template <class T>
void add_as(const AnyBuffer &array, std::span<const GhostMessage> messages, const void *memory) {
  using Sum = std::conditional_t<sizeof(T) < 4, float, T>;
  const T *packed = static_cast<const T *>(memory);
  for_each_run<T>(array, messages, [&](T *to, std::int64_t at, std::int64_t count, std::int64_t stride) {
    for (std::int64_t i = 0; i < count; ++i)
      to[i * stride] = static_cast<T>(static_cast<Sum>(to[i * stride]) + static_cast<Sum>(packed[at + i]));
  });
}

// Calls work(T()) with an integer of as many bytes.
template <class Work>
void with_bits(ScalarType type, const Work &work) {
  switch (size_of(type)) {
    case 1: return work(std::uint8_t{});
    case 2: return work(std::uint16_t{});
    case 4: return work(std::uint32_t{});
    default: return work(std::uint64_t{});
  }
}

using Elements = Buffer<std::int32_t>;

std::vector<std::int32_t> elements_of(const Extents &padded, std::span<const GhostMessage> messages) {
  const Strides strides = row_major_strides(padded);
  std::vector<std::int32_t> elements;
  for (const GhostMessage &message : messages)
    for_each_run(message.box, {strides.data(), static_cast<std::size_t>(padded.rank())},
                 [&](std::int64_t offset, std::int64_t count, std::int64_t stride) {
                   for (std::int64_t i = 0; i < count; ++i)
                     elements.push_back(static_cast<std::int32_t>(offset + i * stride));
                 });
  return elements;
}
AnyBuffer table_of(Device device, const std::vector<std::int32_t> &values) {
  return Elements(device, {values.size()}, values);
}

LaunchOptions on_stream(const Stream &stream) { return {.stream = stream}; }
AnyBuffer flattened(const AnyBuffer &array) { return array.reshape({array.count()}); }

}  // namespace

// For elements of one type.
template <class T>
struct GhostTables::KernelsOf {
  using Move = Kernel<void(Array<T, 1>, Array<const T, 1>, Array<const std::int32_t, 1>)>;
  using Add = Kernel<void(Array<T, 1>, Array<const T, 1>, Array<const std::int32_t, 1>, Array<const std::int32_t, 1>,
                          Array<const std::int32_t, 1>)>;

  Move pack{"pack_ghosts",
            {"packed", "array", "elements"},
            [](Array<T, 1> packed, Array<const T, 1> array, Array<const std::int32_t, 1> elements) {
              const Int i = thread_index();
              packed(i) = array(elements(i));
            }};
  Move unpack{"unpack_ghosts",
              {"array", "packed", "elements"},
              [](Array<T, 1> array, Array<const T, 1> packed, Array<const std::int32_t, 1> elements) {
                const Int i = thread_index();
                array(elements(i)) = packed(i);
              }};
  Add add{"add_ghosts",
          {"array", "packed", "homes", "first", "slots"},
          [](Array<T, 1> array, Array<const T, 1> packed, Array<const std::int32_t, 1> homes,
             Array<const std::int32_t, 1> first, Array<const std::int32_t, 1> slots) {
            const Int i = thread_index(), home = homes(i);
            Traced<T> sum = array(home);
            for (Int k : range(first(i), first(i + 1))) sum += packed(slots(k));
            array(home) = sum;
          }};
};

struct GhostTables::Kernels {
  template <class T>
  const KernelsOf<T> &of() const {
    return std::get<KernelsOf<T>>(all);
  }

  std::tuple<KernelsOf<half>, KernelsOf<bfloat16>, KernelsOf<float>, KernelsOf<double>> all;
};

// All grids share them; the last one releases them.
std::shared_ptr<const GhostTables::Kernels> GhostTables::kernels() {
  static std::mutex mutex;
  static std::weak_ptr<const Kernels> shared;
  const std::lock_guard lock(mutex);
  auto kernels = shared.lock();
  if (!kernels) shared = kernels = std::make_shared<const Kernels>();
  return kernels;
}

void GhostTables::take(const AnyBuffer &packed, const AnyBuffer &array, const AnyBuffer &elements,
                       const Stream &stream) const {
  with_gradient_type(array.type(), [&]<class T>(T) {
    kernels_->of<T>().pack.launch({packed.count()}, on_stream(stream), Buffer<T>(packed), Buffer<T>(flattened(array)),
                                  Elements(elements));
  });
}

void pack_ghosts(const AnyBuffer &array, std::span<const GhostMessage> messages, std::byte *packed) {
  with_bits(array.type(), [&]<class T>(T) { pack_as<T>(array, messages, packed); });
}
void unpack_ghosts(const AnyBuffer &array, std::span<const GhostMessage> messages, const std::byte *packed) {
  with_bits(array.type(), [&]<class T>(T) { unpack_as<T>(array, messages, packed); });
}
void add_ghosts(const AnyBuffer &array, std::span<const GhostMessage> messages, const std::byte *packed) {
  with_gradient_type(array.type(), [&]<class T>(T) { add_as<T>(array, messages, packed); });
}

GhostTables::GhostTables(Device device, const Extents &padded, const GhostPlan &plan) : kernels_(kernels()) {
  const std::vector<std::int32_t> sent = elements_of(padded, plan.sent);
  sent_ = table_of(device, sent), received_ = table_of(device, elements_of(padded, plan.received));
  std::map<std::int32_t, std::vector<std::int32_t>> slots_of;
  for (std::size_t i = 0; i < sent.size(); ++i) slots_of[sent[i]].push_back(static_cast<std::int32_t>(i));
  std::vector<std::int32_t> homes, first{0}, slots;
  for (const auto &[home, of_home] : slots_of) {
    homes.push_back(home);
    slots.insert(slots.end(), of_home.begin(), of_home.end());
    first.push_back(static_cast<std::int32_t>(slots.size()));
  }
  homes_ = table_of(device, homes), first_ = table_of(device, first), slots_ = table_of(device, slots);
}

void GhostTables::pack_sent(const AnyBuffer &packed, const AnyBuffer &array, const Stream &stream) const {
  take(packed, array, sent_, stream);
}
void GhostTables::pack_received(const AnyBuffer &packed, const AnyBuffer &array, const Stream &stream) const {
  take(packed, array, received_, stream);
}

void GhostTables::unpack_received(const AnyBuffer &array, const AnyBuffer &packed, const Stream &stream) const {
  with_gradient_type(array.type(), [&]<class T>(T) {
    kernels_->of<T>().unpack.launch({packed.count()}, on_stream(stream), Buffer<T>(flattened(array)), Buffer<T>(packed),
                                    Elements(received_));
  });
}

void GhostTables::add_sent(const AnyBuffer &array, const AnyBuffer &packed, const Stream &stream) const {
  with_gradient_type(array.type(), [&]<class T>(T) {
    kernels_->of<T>().add.launch({homes_.count()}, on_stream(stream), Buffer<T>(flattened(array)), Buffer<T>(packed),
                                 Elements(homes_), Elements(first_), Elements(slots_));
  });
}

}  // namespace samite::distributed
