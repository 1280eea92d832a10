#include "samite/jit/temporaries.h"

#include "samite/base/error.h"

namespace samite::jit {

Temporaries::Temporaries(const schedules::Program &program, Device device, bool kept,
                         std::vector<std::shared_ptr<Storage>> storages)
    : device_(device), kept_(kept), storages_(std::move(storages)), buffers_(program.temporary_count) {
  storages_.resize(program.temporary_count);
  for (std::shared_ptr<Storage> &storage : storages_)
    if (storage && !(storage->device() == device_)) storage.reset();
}

void Temporaries::reserve(std::uint32_t number, std::size_t bytes) {
  std::shared_ptr<Storage> &storage = storages_[number];
  if (storage && storage->bytes() >= bytes) return;
  storage.reset();
  storage = kept_ ? std::make_shared<Storage>(device_, bytes)
                  : std::make_shared<Storage>(device_, bytes, Storage::FromPool{});
}

void Temporaries::allocate(const schedules::Temporary &temporary, const Extents &extents) {
  at_call("allocated", temporary.where, [&] { reserve(temporary.number, bytes_of(temporary, extents)); });
  buffers_[temporary.number] = AnyBuffer(storages_[temporary.number], temporary.type, extents);
}

std::size_t bytes_of(const schedules::Temporary &temporary, const Extents &extents) {
  std::int64_t bytes;
  if (__builtin_mul_overflow(extents.count(), static_cast<std::int64_t>(size_of(temporary.type)), &bytes))
    throw UserError(temporary.where, "'" + temporary.name + "', of " + std::string(name(temporary.type)) +
                                         extents.to_string() + ", has more bytes than 64 bits can count");
  return static_cast<std::size_t>(bytes);
}

}  // namespace samite::jit
