#include "samite/jit/private_sums.h"

#include "samite/base/error.h"
#include "samite/runtime/task_pool.h"

#include <cstring>

namespace samite::jit {
namespace {

constexpr std::int64_t elements_worth_a_thread = 1 << 15;

// Equal indices of two arrays must not be a multiple of 4096 bytes apart: a load would wait for a store to the other
// array, whose address aliases it in the processor.
constexpr std::size_t stagger = 320;

template <class T>
void add(std::byte *to, const std::byte *from, std::int64_t begin, std::int64_t end) {
  auto *__restrict sums = reinterpret_cast<T *>(to);
  auto *__restrict values = reinterpret_cast<const T *>(from);
  for (std::int64_t i = begin; i < end; ++i) sums[i] = static_cast<T>(sums[i] + values[i]);
}

using Add = void (*)(std::byte *, const std::byte *, std::int64_t, std::int64_t);

// Integers wrap around, so signed and unsigned ones of one size are added in the same way.
Add add_of(ScalarType type) {
  switch (type) {
    case ScalarType::Float8E4M3: return add<f8e4m3>;
    case ScalarType::Float8E5M2: return add<f8e5m2>;
    case ScalarType::Float16: return add<half>;
    case ScalarType::BFloat16: return add<bfloat16>;
    case ScalarType::Float32: return add<float>;
    case ScalarType::Float64: return add<double>;
    default: break;
  }
  switch (size_of(type)) {
    case 1: return add<std::uint8_t>;
    case 2: return add<std::uint16_t>;
    case 4: return add<std::uint32_t>;
    case 8: return add<std::uint64_t>;
    default: throw InternalError("no scalar type has this size");
  }
}

std::byte *data_of(const std::byte *block, std::size_t offset) {
  std::byte *data = nullptr;
  std::memcpy(static_cast<void *>(&data), block + offset, sizeof data);
  return data;
}

}  // namespace

PrivateSums::PrivateSums(const Variant &variant, const std::byte *arguments)
    : variant_(variant), arguments_(arguments), workers_(static_cast<std::size_t>(worker_slots())) {
  for (std::uint32_t parameter : variant.summed) {
    const ir::Parameter &array = variant.parameters[parameter];
    SummedArray summed{variant.layout.offsets[parameter], 1, array.type};
    for (int d = 0; d < array.rank; ++d) {
      std::int64_t extent = 0;
      std::memcpy(&extent, arguments + summed.offset + codegen::ArgumentLayout::extent_offset(d), sizeof extent);
      summed.elements *= extent;
    }
    arrays_.push_back(summed);
  }
}

const std::byte *PrivateSums::block() {
  std::optional<Worker> &worker = workers_[static_cast<std::size_t>(worker_index())];
  if (!worker) {
    worker.emplace();
    worker->block.assign(arguments_, arguments_ + variant_.layout.bytes);
    for (const SummedArray &array : arrays_) {
      std::size_t bytes = static_cast<std::size_t>(array.elements) * size_of(array.type);
      std::size_t shift = worker->sums.size() * stagger;
      std::byte *zeros = worker->sums.emplace_back(bytes + shift).data() + shift;
      std::memset(zeros, 0, bytes);
      std::memcpy(worker->block.data() + array.offset, static_cast<const void *>(&zeros), sizeof zeros);
    }
  }
  return worker->block.data();
}

void PrivateSums::merge() {
  for (const SummedArray &array : arrays_) {
    Add add = add_of(array.type);
    std::byte *sums = data_of(arguments_, array.offset);
    parallel_for_blocks(
        array.elements,
        [&](std::int64_t begin, std::int64_t end) {
          for (const std::optional<Worker> &worker : workers_)
            if (worker) add(sums, data_of(worker->block.data(), array.offset), begin, end);
        },
        elements_worth_a_thread);
  }
}

}  // namespace samite::jit
