/* The C interface of libsamite_runtime: launches kernels of archives that were compiled ahead of time.
 *
 * `samite-aot c` writes a header and a source with two functions for each kernel, forward and adjoint, which call this.
 * Plain C; no exception leaves a function. Thread-safe.
 *
 * Functions return 0, or one of the numbers below; then `error`, if it is not null, has the reason, cut to
 * `error_bytes` and ended with a zero.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SAMITE_EXPORTED __attribute__((visibility("default")))

/* Changes when a function, a structure or its meaning does. */
#define SAMITE_RUNTIME_VERSION 1

enum {
  SAMITE_OK = 0,
  SAMITE_USER_ERROR = 1,    /* arguments that do not fit, no such kernel or variant, a damaged archive */
  SAMITE_DEVICE_ERROR = 2,  /* a device, its driver or the system failed */
  SAMITE_INTERNAL_ERROR = 3 /* please report it */
};

/* DLPack's tensor, version 0 and 1 (https://github.com/dmlc/dlpack): elements on a device, in memory of the caller. Its
 * header may be included before this one. */
/* NOLINTBEGIN(modernize-use-using): for C */
#ifndef DLPACK_DLPACK_H_
typedef struct {
  int32_t device_type; /* 1: host memory, 2: CUDA, 3: CUDA's pinned host memory, 13: CUDA's managed memory */
  int32_t device_id;
} DLDevice;

typedef struct {
  uint8_t code; /* 0: signed, 1: unsigned, 2: floating, 4: bfloat, 6: bool, 10: f8e4m3fn, 12: f8e5m2 */
  uint8_t bits;
  uint16_t lanes; /* 1 */
} DLDataType;

typedef struct {
  void *data;
  DLDevice device;
  int32_t ndim; /* 1 to 4 */
  DLDataType dtype;
  int64_t *shape;
  int64_t *strides; /* in elements; null: row-major without gaps */
  uint64_t byte_offset;
} DLTensor;
#endif

enum { SAMITE_FORWARD = 0, SAMITE_ADJOINT = 1, SAMITE_TANGENT = 2 };

typedef struct {
  const DLTensor *values;   /* of an array; null for a scalar */
  const DLTensor *gradient; /* adjoint: of an array whose gradient takes part, with its shape and strides; or null */
  uint64_t scalar;          /* of a scalar: its bits, from the lowest byte on */
} SamiteArgument;

/* The version of the library that is loaded, to compare with SAMITE_RUNTIME_VERSION. */
SAMITE_EXPORTED int samite_runtime_version(void);

/* From now on kernels are found in the archive. Opening one again, by the same path or name, replaces it. `bytes` stay
 * where they are. `version` is SAMITE_RUNTIME_VERSION as the caller was compiled with. */
SAMITE_EXPORTED int samite_open_archive(int version, const char *path, char *error, size_t error_bytes);
SAMITE_EXPORTED int samite_open_archive_bytes(int version, const char *name, const void *bytes, size_t size,
                                              char *error, size_t error_bytes);

/* Launches a kernel over `rank` extents. On the CPU it has run when the call returns; on CUDA it is queued in `stream`,
 * a cudaStream_t, where null is CUDA's default stream. An adjoint takes the gradients of what the kernel writes, which
 * it uses up and sets to zero where elements were overwritten, and adds to the gradients of what it reads; the values
 * are those that the forward launch read. Indices are not checked against the arrays. */
SAMITE_EXPORTED int samite_launch(const char *kernel, int direction, const int64_t *extents, int rank,
                                  const SamiteArgument *arguments, int count, void *stream, char *error,
                                  size_t error_bytes);

/* The same launch, checked once and run as often as one likes. The arrays must stay where they are until it is
 * released; releasing null does nothing. Any thread may run it. */
typedef struct SamiteLaunch SamiteLaunch;
SAMITE_EXPORTED int samite_record(const char *kernel, int direction, const int64_t *extents, int rank,
                                  const SamiteArgument *arguments, int count, void *stream, SamiteLaunch **launch,
                                  char *error, size_t error_bytes);
SAMITE_EXPORTED int samite_run(const SamiteLaunch *launch, char *error, size_t error_bytes);
SAMITE_EXPORTED void samite_release_launch(SamiteLaunch *launch);

/* A tape: forward launches that run and are recorded, and the adjoints of all of them in reverse order.
 *
 * Arrays whose gradients are given take part, and the archive must have each kernel's adjoint for exactly those. Before
 * samite_tape_backward the gradients of the objective are its cotangents and all others zero; afterwards those of
 * arrays that the tape only reads have grown by the derivative. The tape copies values that an adjoint needs before one
 * of its launches overwrites them; other code must leave them alone. All arrays stay where they are until the tape is
 * cleared. SAMITE_USER_ERROR, and nothing is run, if an array would lose its gradient. One thread uses a tape at a
 * time. */
typedef struct SamiteTape SamiteTape;
SAMITE_EXPORTED SamiteTape *samite_new_tape(void); /* null if there is no memory */
SAMITE_EXPORTED int samite_tape_launch(SamiteTape *tape, const char *kernel, const int64_t *extents, int rank,
                                       const SamiteArgument *arguments, int count, void *stream, char *error,
                                       size_t error_bytes);
SAMITE_EXPORTED int samite_tape_backward(SamiteTape *tape, char *error, size_t error_bytes);
SAMITE_EXPORTED int samite_tape_clear(SamiteTape *tape, char *error, size_t error_bytes);
SAMITE_EXPORTED int64_t samite_tape_kept_bytes(const SamiteTape *tape); /* in copies */
SAMITE_EXPORTED void samite_release_tape(SamiteTape *tape);

#ifdef __cplusplus
}
#endif
/* NOLINTEND(modernize-use-using) */
