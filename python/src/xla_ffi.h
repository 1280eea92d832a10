// The structs that Samite reads of XLA's foreign function interface, version 0, by which XLA calls functions of other
// libraries. Each struct begins with its size, so that a newer XLA may add members.
// https://github.com/openxla/xla/blob/main/xla/ffi/api/c_api.h
#pragma once

#include <cstddef>
#include <cstdint>

namespace samite::python::xla {

struct Error;
struct Context;

enum ExtensionType : std::int32_t { metadata_extension = 1 };

struct Extension {
  std::size_t bytes;
  std::int32_t type;
  Extension *next;
};

// The header of each struct.
struct Head {
  std::size_t bytes;
  Extension *extensions;
};

struct Version {
  Head head;
  std::int32_t major, minor;
};

// XLA asks a function for its version before it accepts the function.
struct Metadata {
  std::size_t bytes;
  Version version;
  std::uint32_t traits;
};
struct MetadataExtension {
  Extension extension;
  Metadata *metadata;
};

enum DataType : std::int32_t {
  pred = 1,
  s8 = 2,
  s16 = 3,
  s32 = 4,
  s64 = 5,
  u8 = 6,
  u16 = 7,
  u32 = 8,
  u64 = 9,
  f16 = 10,
  f32 = 11,
  f64 = 12,
  bf16 = 16,
  f8e5m2 = 19,
  f8e4m3fn = 20,
};

// Row-major, without gaps.
struct Buffer {
  Head head;
  std::int32_t type;
  void *data;
  std::int64_t rank;
  std::int64_t *extents;
};

// Arguments or results. Each type is 1, a buffer.
struct Buffers {
  Head head;
  std::int64_t count;
  std::int32_t *types;
  void **buffers;
};

struct Text {
  const char *data;
  std::size_t size;
};

// An attribute that is an array of numbers.
enum AttributeType : std::int32_t { array_attribute = 1 };
struct Array {
  std::int32_t type;
  std::size_t size;
  void *data;
};
struct Attributes {
  Head head;
  std::int64_t count;
  std::int32_t *types;
  Text **names;
  void **values;
};

enum ErrorCode : std::int32_t { invalid_argument = 3, internal = 13 };
struct CreateError {
  Head head;
  const char *message;
  std::int32_t code;
};
struct GetStream {
  Head head;
  Context *context;
  void *stream;  // out: a CUstream
};
struct GetDevice {
  Head head;
  Context *context;
  std::int32_t device;  // out
};

struct Api {
  Head head;
  Version version;
  const void *internal;
  Error *(*create_error)(CreateError *);
  void *error_message, *destroy_error, *register_handler;
  Error *(*get_stream)(GetStream *);
  void *register_type, *get_context, *set_state, *get_state, *allocate, *free, *schedule, *thread_count, *create_future,
      *set_available, *set_error, *get_run;
  Error *(*get_device)(GetDevice *);
};

enum Stage : std::int32_t { execute = 3 };
struct Frame {
  Head head;
  const Api *api;
  Context *context;
  std::int32_t stage;
  Buffers arguments, results;
  Attributes attributes;
};

}  // namespace samite::python::xla
