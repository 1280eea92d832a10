// The part of MPI that Samite calls, with types that do not depend on the implementation. In C.
//
// The two implementations in wide use, Open MPI and MPICH with its descendants, have different binary interfaces.
// mpi_shim.c is compiled against each, and the library opens the one that a program uses. Handles hold the bits of
// MPI's own; functions return MPI's error codes.
#pragma once

// NOLINTBEGIN(modernize-use-using, modernize-redundant-void-arg, modernize-deprecated-headers)

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SAMITE_MPI_SHIM_VERSION 1

typedef intptr_t SamiteMpiHandle; /* a communicator or a request */

enum SamiteMpiType {
  samite_mpi_i8,
  samite_mpi_i16,
  samite_mpi_i32,
  samite_mpi_i64,
  samite_mpi_u8,
  samite_mpi_u16,
  samite_mpi_u32,
  samite_mpi_u64,
  samite_mpi_f32,
  samite_mpi_f64
};
enum SamiteMpiOperation { samite_mpi_sum, samite_mpi_product, samite_mpi_min, samite_mpi_max };

/* Collective calls with a `request` return at once, and `test` says when they have completed; those without return
 * when they have. `to` may be `from`. */
struct SamiteMpi {
  int version;
  const char *(*library)(void); /* "Open MPI v4.1.4, …" */
  /* Initialises MPI if the program has not, and ends it at exit then. `threads`: whether any thread may call MPI. */
  int (*start)(int *threads);
  SamiteMpiHandle (*world)(void);
  int (*rank_and_size)(SamiteMpiHandle communicator, int *rank, int *size);
  int (*duplicate)(SamiteMpiHandle communicator, SamiteMpiHandle *copy); /* with errors returned */
  int (*split)(SamiteMpiHandle communicator, int colour, int key, SamiteMpiHandle *part);
  void (*release)(SamiteMpiHandle communicator); /* does nothing after MPI has ended */
  void (*error_text)(int code, char *text, int bytes);

  int (*all_reduce)(void *to, const void *from, int count, int type, int operation, SamiteMpiHandle communicator,
                    SamiteMpiHandle *request);
  int (*reduce)(void *to, const void *from, int count, int type, int operation, int root, SamiteMpiHandle communicator,
                SamiteMpiHandle *request);
  int (*reduce_scatter)(void *to, const void *from, int count, int type, int operation, SamiteMpiHandle communicator,
                        SamiteMpiHandle *request);
  int (*broadcast)(void *data, int bytes, int root, SamiteMpiHandle communicator, SamiteMpiHandle *request);
  int (*all_gather)(void *to, const void *from, int bytes, SamiteMpiHandle communicator, SamiteMpiHandle *request);
  int (*barrier)(SamiteMpiHandle communicator, SamiteMpiHandle *request);
  int (*send)(const void *data, int bytes, int rank, int tag, SamiteMpiHandle communicator, SamiteMpiHandle *request);
  int (*receive)(void *data, int bytes, int rank, int tag, SamiteMpiHandle communicator, SamiteMpiHandle *request);
  int (*test)(SamiteMpiHandle *request, int *completed);
  int (*wait)(SamiteMpiHandle *request);
};

/* The only exported function. */
const struct SamiteMpi *samite_mpi(void);

#ifdef __cplusplus
}
#endif

// NOLINTEND(modernize-use-using, modernize-redundant-void-arg, modernize-deprecated-headers)
