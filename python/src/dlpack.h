// The structs of DLPack 1.3 that Samite reads. Other libraries hand over their arrays as such structs.
// https://dmlc.github.io/dlpack/latest/c_api.html
#pragma once

#include <cstdint>

namespace samite::python::dlpack {

struct Version {
  std::uint32_t major, minor;
};

enum DeviceType : std::int32_t { cpu = 1, cuda = 2, cuda_host = 3, cuda_managed = 13 };

struct Device {
  std::int32_t type, index;
};

enum Code : std::uint8_t {
  signed_integer = 0,
  unsigned_integer = 1,
  floating = 2,
  bfloat = 4,
  complex = 5,
  boolean = 6,
  float8_e4m3fn = 10,
  float8_e5m2 = 12,
};

struct DataType {
  std::uint8_t code, bits;
  std::uint16_t lanes;
};

struct Tensor {
  void *data;
  Device device;
  std::int32_t rank;
  DataType type;
  std::int64_t *extents;
  std::int64_t *strides;  // in elements; null: row-major without gaps
  std::uint64_t byte_offset;
};

// The content of a capsule "dltensor".
struct ManagedTensor {
  Tensor tensor;
  void *context;
  void (*deleter)(ManagedTensor *self);
};

// The content of a capsule "dltensor_versioned".
struct VersionedTensor {
  Version version;
  void *context;
  void (*deleter)(VersionedTensor *self);
  std::uint64_t flags;
  Tensor tensor;
};
inline constexpr std::uint64_t read_only_flag = 1;

// The content of a capsule "dlpack_exchange_api", a type's __dlpack_c_exchange_api__: DLPack by plain C calls.
struct ExchangeHeader {
  Version version;
  ExchangeHeader *previous;
};
struct ExchangeApi {
  ExchangeHeader header;
  void *allocate, *managed_tensor_of, *object_of;
  // Makes a view that is valid while the object lives, and is not ordered with any stream. Returns 0, or -1 with
  // Python's error set. Some libraries leave this null.
  int (*tensor_of)(void *object, Tensor *tensor);
  int (*current_stream)(std::int32_t device_type, std::int32_t device_index, void **stream);
};

}  // namespace samite::python::dlpack
