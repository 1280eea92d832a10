#include "tests/distributed/fake_nccl.h"

#include "samite/base/error.h"
#include "samite/distributed/thread_transport.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <set>

namespace samite::distributed {

struct NcclComm {
  std::shared_ptr<Transport> transport;
  int device = 0;
};

}  // namespace samite::distributed

namespace samite::test {
namespace {

using namespace distributed;

struct State {
  std::mutex mutex;
  int version = 0;
  Timeout patience{};
  std::map<std::string, std::vector<std::shared_ptr<Transport>>> meetings;  // by id
  int ids = 0;
  int alive = 0;
  int failing = -1;
  std::atomic<int> calls = 0;
  NcclResult reported = NcclResult::success;
  std::vector<std::string> mistakes;
  std::string last_error;
  std::set<CUstream> message_streams;
};
State *state = nullptr;

struct Group {
  int depth = 0;
  NcclComm *comm = nullptr;
  std::vector<Message> sends, receives;
};
thread_local Group group;

void mistake(const std::string &text) {
  const std::lock_guard lock(state->mutex);
  state->mistakes.push_back(text);
}

// Whether the call is the one that fails.
bool fails() { return state->calls++ == state->failing; }

template <class Work>
NcclResult attempt(NcclComm *comm, const Work &work) {
  if (fails()) return NcclResult::system_error;
  if (!comm) {
    mistake("a call without a communicator");
    return NcclResult::invalid_argument;
  }
  try {
    work(*comm->transport);
    return NcclResult::success;
  } catch (const UserError &error) {
    mistake(error.what());
    return NcclResult::invalid_usage;
  } catch (const std::exception &error) {
    const std::lock_guard lock(state->mutex);
    state->last_error = error.what();
    return NcclResult::remote_error;
  }
}

ScalarType type_of(int number) {
  for (int i = 0; i <= static_cast<int>(ScalarType::Float64); ++i) {
    const auto type = static_cast<ScalarType>(i);
    if (type != ScalarType::Bool && nccl_type(type, state->version) == number) return type;
  }
  mistake("a type that NCCL lacks");
  return ScalarType::UInt8;
}
ReduceOp reduction_of(int number) {
  for (const ReduceOp reduction : {ReduceOp::sum, ReduceOp::product, ReduceOp::min, ReduceOp::max, ReduceOp::average})
    if (nccl_operation(reduction) == number) return reduction;
  mistake("a reduction that NCCL lacks");
  return ReduceOp::sum;
}

Stream host() { return Stream::standard(Device::cpu()); }
CallName named(const char *operation) { return {operation, {}}; }

NcclResult get_version(int *version) {
  *version = state->version;
  return NcclResult::success;
}
NcclResult get_unique_id(NcclId *id) {
  if (fails()) return NcclResult::system_error;
  const std::lock_guard lock(state->mutex);
  *id = {};
  std::snprintf(id->bytes, sizeof id->bytes, "id %d", ++state->ids);
  return NcclResult::success;
}
NcclResult init_rank(NcclComm **comm, int ranks, NcclId id, int rank) {
  if (fails()) return NcclResult::system_error;
  const std::lock_guard lock(state->mutex);
  auto &meeting = state->meetings[id.bytes];
  if (meeting.empty()) meeting = thread_transports(ranks, state->patience);
  if (static_cast<int>(meeting.size()) != ranks || rank < 0 || rank >= ranks) {
    state->mistakes.push_back("ranks of one id that disagree");
    return NcclResult::invalid_argument;
  }
  *comm = new NcclComm{meeting[static_cast<std::size_t>(rank)], rank};
  ++state->alive;
  return NcclResult::success;
}
NcclResult split(NcclComm *comm, int colour, int key, NcclComm **part, void *) {
  return attempt(comm, [&](Transport &transport) {
    *part = new NcclComm{transport.split(colour, key, named("CommSplit")), comm->device};
    const std::lock_guard lock(state->mutex);
    ++state->alive;
  });
}
void end(NcclComm *comm) {
  delete comm;
  const std::lock_guard lock(state->mutex);
  --state->alive;
}
NcclResult destroy(NcclComm *comm) {
  end(comm);
  return NcclResult::success;
}
NcclResult abort_comm(NcclComm *comm) {
  comm->transport->abort("a rank has aborted");
  end(comm);
  return NcclResult::success;
}
NcclResult get_async_error(NcclComm *, NcclResult *error) {
  *error = state->reported;
  return NcclResult::success;
}
NcclResult device_of(const NcclComm *comm, int *device) {
  *device = comm->device;
  return NcclResult::success;
}
NcclResult count(const NcclComm *comm, int *ranks) {
  *ranks = comm->transport->size();
  return NcclResult::success;
}
NcclResult user_rank(const NcclComm *comm, int *rank) {
  *rank = comm->transport->rank();
  return NcclResult::success;
}
NcclResult all_reduce(const void *from, void *to, std::size_t n, int type, int operation, NcclComm *comm, CUstream) {
  return attempt(comm, [&](Transport &transport) {
    transport.all_reduce(to, from, n, type_of(type), reduction_of(operation), host(), named("AllReduce"));
  });
}
NcclResult reduce(const void *from, void *to, std::size_t n, int type, int operation, int root, NcclComm *comm,
                  CUstream) {
  return attempt(comm, [&](Transport &transport) {
    transport.reduce(to, from, n, type_of(type), reduction_of(operation), root, host(), named("Reduce"));
  });
}
NcclResult reduce_scatter(const void *from, void *to, std::size_t n, int type, int operation, NcclComm *comm,
                          CUstream) {
  return attempt(comm, [&](Transport &transport) {
    transport.reduce_scatter(to, from, n, type_of(type), reduction_of(operation), host(), named("ReduceScatter"));
  });
}
NcclResult broadcast(const void *from, void *to, std::size_t n, int type, int root, NcclComm *comm, CUstream) {
  return attempt(comm, [&](Transport &transport) {
    const std::size_t bytes = n * size_of(type_of(type));
    if (transport.rank() == root && to != from) std::memcpy(to, from, bytes);
    transport.broadcast(to, bytes, root, host(), named("Broadcast"));
  });
}
NcclResult all_gather(const void *from, void *to, std::size_t n, int type, NcclComm *comm, CUstream) {
  return attempt(comm, [&](Transport &transport) {
    transport.all_gather(to, from, n * size_of(type_of(type)), host(), named("AllGather"));
  });
}

NcclResult run_group() {
  const Group ended = std::exchange(group, Group());
  if (!ended.comm) return NcclResult::success;
  return attempt(ended.comm, [&](Transport &transport) {
    transport.exchange(ended.sends, ended.receives, host(), named("group"));
  });
}
NcclResult add(std::vector<Message> &messages, const Message &message, NcclComm *comm, CUstream stream) {
  if (fails()) return NcclResult::system_error;
  {
    const std::lock_guard lock(state->mutex);
    state->message_streams.insert(stream);
  }
  messages.push_back(message);
  group.comm = comm;
  return group.depth == 0 ? run_group() : NcclResult::success;
}
NcclResult send(const void *from, std::size_t n, int type, int rank, NcclComm *comm, CUstream stream) {
  return add(group.sends, {const_cast<void *>(from), n * size_of(type_of(type)), rank}, comm, stream);
}
NcclResult receive(void *to, std::size_t n, int type, int rank, NcclComm *comm, CUstream stream) {
  return add(group.receives, {to, n * size_of(type_of(type)), rank}, comm, stream);
}
NcclResult group_start() {
  ++group.depth;
  return NcclResult::success;
}
NcclResult group_end() {
  if (group.depth == 0) mistake("a group that has not begun is ended");
  return --group.depth == 0 ? run_group() : NcclResult::success;
}
const char *error_string(NcclResult) { return "a fake error"; }
const char *last_error(NcclComm *) {
  thread_local std::string text;
  const std::lock_guard lock(state->mutex);
  text = state->last_error;
  return text.c_str();
}

}  // namespace

FakeNccl::FakeNccl(int version, std::chrono::milliseconds patience) {
  state = new State;
  state->version = version, state->patience = patience;
  NcclTable table;
  table.GetVersion = get_version, table.GetUniqueId = get_unique_id, table.CommInitRank = init_rank;
  table.CommSplit = split, table.CommDestroy = destroy, table.CommAbort = abort_comm;
  table.CommGetAsyncError = get_async_error, table.CommCuDevice = device_of, table.CommCount = count,
  table.CommUserRank = user_rank;
  table.AllReduce = test::all_reduce, table.Reduce = test::reduce, table.ReduceScatter = test::reduce_scatter;
  table.Broadcast = test::broadcast, table.AllGather = test::all_gather;
  table.Send = test::send, table.Recv = test::receive;
  table.GroupStart = group_start, table.GroupEnd = group_end;
  table.GetErrorString = error_string, table.GetLastError = last_error;
  try {
    Nccl::provide(std::make_shared<Nccl>(table));
  } catch (...) {
    delete std::exchange(state, nullptr);
    throw;
  }
}

FakeNccl::~FakeNccl() {
  Nccl::provide(nullptr);
  for (const std::string &text : state->mistakes) ADD_FAILURE() << text;
  EXPECT_EQ(state->alive, 0) << "communicators that were neither destroyed nor aborted";
  delete std::exchange(state, nullptr);
}

void FakeNccl::fail_call(int number) {
  state->calls = 0;
  state->failing = number;
}
std::set<driver::CUstream> FakeNccl::take_message_streams() { return std::exchange(state->message_streams, {}); }
int FakeNccl::calls() const { return state->calls; }
void FakeNccl::report(NcclResult error) { state->reported = error; }
std::vector<std::string> FakeNccl::take_mistakes() { return std::exchange(state->mistakes, {}); }

}  // namespace samite::test
