#include "mpi_shim.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

/* MPI's handles are pointers in Open MPI and integers in MPICH. */
#define HANDLE(type, name)                             \
  static type as_##name(SamiteMpiHandle handle) {      \
    return (type)handle;                               \
  }                                                    \
  static SamiteMpiHandle from_##name(type handle) {    \
    return (SamiteMpiHandle)handle;                    \
  }
HANDLE(MPI_Comm, communicator)
HANDLE(MPI_Request, request)

static const char *library(void) {
  static char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(text, &length);
  text[strcspn(text, "\n")] = '\0';
  return text;
}

static void end(void) {
  int ended = 0;
  if (MPI_Finalized(&ended) == MPI_SUCCESS && !ended) MPI_Finalize();
}

static int start(int *threads) {
  int started = 0, level = MPI_THREAD_SINGLE;
  int code = MPI_Initialized(&started);
  if (code != MPI_SUCCESS) return code;
  if (started) {
    code = MPI_Query_thread(&level);
  } else {
    code = MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level);
    if (code == MPI_SUCCESS) atexit(end);
  }
  *threads = level == MPI_THREAD_MULTIPLE;
  return code;
}

static SamiteMpiHandle world(void) { return from_communicator(MPI_COMM_WORLD); }

static int rank_and_size(SamiteMpiHandle communicator, int *rank, int *size) {
  const int code = MPI_Comm_rank(as_communicator(communicator), rank);
  return code != MPI_SUCCESS ? code : MPI_Comm_size(as_communicator(communicator), size);
}

static int return_errors_of(MPI_Comm made, SamiteMpiHandle *result) {
  *result = from_communicator(made);
  return MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN);
}
static int duplicate(SamiteMpiHandle communicator, SamiteMpiHandle *copy) {
  MPI_Comm made = MPI_COMM_NULL;
  const int code = MPI_Comm_dup(as_communicator(communicator), &made);
  return code != MPI_SUCCESS ? code : return_errors_of(made, copy);
}
static int split(SamiteMpiHandle communicator, int colour, int key, SamiteMpiHandle *part) {
  MPI_Comm made = MPI_COMM_NULL;
  const int code = MPI_Comm_split(as_communicator(communicator), colour, key, &made);
  return code != MPI_SUCCESS ? code : return_errors_of(made, part);
}
static void release(SamiteMpiHandle communicator) {
  int ended = 0;
  MPI_Comm handle = as_communicator(communicator);
  if (MPI_Finalized(&ended) == MPI_SUCCESS && !ended) MPI_Comm_free(&handle);
}
static void error_text(int code, char *text, int bytes) {
  char whole[MPI_MAX_ERROR_STRING];
  int length = 0;
  if (MPI_Error_string(code, whole, &length) != MPI_SUCCESS) length = 0;
  if (length >= bytes) length = bytes - 1;
  memcpy(text, whole, (size_t)length);
  text[length] = '\0';
}

static MPI_Datatype type_of(int type) {
  const MPI_Datatype types[] = {MPI_INT8_T,  MPI_INT16_T,  MPI_INT32_T,  MPI_INT64_T, MPI_UINT8_T,
                                MPI_UINT16_T, MPI_UINT32_T, MPI_UINT64_T, MPI_FLOAT,   MPI_DOUBLE};
  return types[type];
}
static MPI_Op operation_of(int operation) {
  const MPI_Op operations[] = {MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX};
  return operations[operation];
}

/* Calls the blocking function, or the other if there is a request. */
#define CALL(function, immediate, request, ...)                                      \
  do {                                                                               \
    if (!(request)) return function(__VA_ARGS__);                                    \
    MPI_Request made_ = MPI_REQUEST_NULL;                                            \
    const int code_ = immediate(__VA_ARGS__, &made_);                                \
    *(request) = from_request(made_);                                                \
    return code_;                                                                    \
  } while (0)

static int all_reduce(void *to, const void *from, int count, int type, int operation, SamiteMpiHandle communicator,
                      SamiteMpiHandle *request) {
  const void *source = to == from ? MPI_IN_PLACE : from;
  CALL(MPI_Allreduce, MPI_Iallreduce, request, source, to, count, type_of(type), operation_of(operation),
       as_communicator(communicator));
}
static int reduce(void *to, const void *from, int count, int type, int operation, int root,
                  SamiteMpiHandle communicator, SamiteMpiHandle *request) {
  int rank = 0;
  const int code = MPI_Comm_rank(as_communicator(communicator), &rank);
  if (code != MPI_SUCCESS) return code;
  const void *source = to == from && rank == root ? MPI_IN_PLACE : from;
  CALL(MPI_Reduce, MPI_Ireduce, request, source, to, count, type_of(type), operation_of(operation), root,
       as_communicator(communicator));
}
static int reduce_scatter(void *to, const void *from, int count, int type, int operation,
                          SamiteMpiHandle communicator, SamiteMpiHandle *request) {
  CALL(MPI_Reduce_scatter_block, MPI_Ireduce_scatter_block, request, from, to, count, type_of(type),
       operation_of(operation), as_communicator(communicator));
}
static int broadcast(void *data, int bytes, int root, SamiteMpiHandle communicator, SamiteMpiHandle *request) {
  CALL(MPI_Bcast, MPI_Ibcast, request, data, bytes, MPI_BYTE, root, as_communicator(communicator));
}
static int all_gather(void *to, const void *from, int bytes, SamiteMpiHandle communicator, SamiteMpiHandle *request) {
  CALL(MPI_Allgather, MPI_Iallgather, request, from, bytes, MPI_BYTE, to, bytes, MPI_BYTE,
       as_communicator(communicator));
}
static int barrier(SamiteMpiHandle communicator, SamiteMpiHandle *request) {
  CALL(MPI_Barrier, MPI_Ibarrier, request, as_communicator(communicator));
}

static int send(const void *data, int bytes, int rank, int tag, SamiteMpiHandle communicator,
                SamiteMpiHandle *request) {
  MPI_Request made = MPI_REQUEST_NULL;
  const int code = MPI_Isend(data, bytes, MPI_BYTE, rank, tag, as_communicator(communicator), &made);
  *request = from_request(made);
  return code;
}
static int receive(void *data, int bytes, int rank, int tag, SamiteMpiHandle communicator, SamiteMpiHandle *request) {
  MPI_Request made = MPI_REQUEST_NULL;
  const int code = MPI_Irecv(data, bytes, MPI_BYTE, rank, tag, as_communicator(communicator), &made);
  *request = from_request(made);
  return code;
}

static int test(SamiteMpiHandle *request, int *completed) {
  MPI_Request handle = as_request(*request);
  const int code = MPI_Test(&handle, completed, MPI_STATUS_IGNORE);
  *request = from_request(handle);
  return code;
}
static int wait_for(SamiteMpiHandle *request) {
  MPI_Request handle = as_request(*request);
  const int code = MPI_Wait(&handle, MPI_STATUS_IGNORE);
  *request = from_request(handle);
  return code;
}
__attribute__((visibility("default"))) const struct SamiteMpi *samite_mpi(void) {
  static const struct SamiteMpi table = {.version = SAMITE_MPI_SHIM_VERSION,
                                         .library = library,
                                         .start = start,
                                         .world = world,
                                         .rank_and_size = rank_and_size,
                                         .duplicate = duplicate,
                                         .split = split,
                                         .release = release,
                                         .error_text = error_text,
                                         .all_reduce = all_reduce,
                                         .reduce = reduce,
                                         .reduce_scatter = reduce_scatter,
                                         .broadcast = broadcast,
                                         .all_gather = all_gather,
                                         .barrier = barrier,
                                         .send = send,
                                         .receive = receive,
                                         .test = test,
                                         .wait = wait_for};
  return &table;
}
