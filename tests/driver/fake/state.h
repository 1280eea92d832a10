// The fake driver's state: its objects, and their histories.
#pragma once

#include "tests/driver/fake/fake_driver.h"

#include <cstdint>
#include <deque>
#include <mutex>
#include <set>
#include <thread>

namespace samite::driver::fake {

struct Stream;
struct Graph;
struct Node;
struct Capture;

// For each stream, how much of its work has been done before some moment.
struct Clock {
  std::map<const Stream *, std::uint64_t> done;

  void join(const Clock &other);
  bool covers(const Stream *stream, std::uint64_t tick) const;
};

struct Object {
  bool destroyed = false;
};

struct Context : Object {
  int device = 0;
  int retained = 0;
  Result fault = Result::success;
  std::set<const Context *> peers;
};

struct Stream : Object {
  Context *context = nullptr;
  int priority = 0;
  unsigned flags = 0;
  Clock clock;
  std::shared_ptr<Capture> capture;
  std::vector<Node *> last;  // in a capture: the dependencies of the next node
};

struct Event : Object {
  Context *context = nullptr;
  unsigned flags = 0;
  bool recorded = false;
  Clock at;
  float milliseconds = 0;
  std::shared_ptr<Capture> capture;
  std::vector<Node *> nodes;
};

struct Pool : Object {
  int device = 0;
  bool standard = false;
  std::uint64_t max_bytes = 0, reserved = 0, used = 0, threshold = 0;
  std::set<int> peers;
};

struct Allocation {
  CUdeviceptr address = 0;
  std::size_t bytes = 0;
  Pool *pool = nullptr;
  const Stream *stream = nullptr;
  std::uint64_t tick = 0;
  std::map<const Stream *, std::uint64_t> uses;
  bool freed = false;
};

struct Library;

struct Kernel : Object {
  Library *library = nullptr;
  const KernelCode *code = nullptr;
  int asked_dynamic_shared_bytes = 0;
  bool large_clusters = false;
};

struct Library : Object {
  int image = 0;
  std::map<std::string, std::unique_ptr<Kernel>> kernels;
};

// A kernel's launch with a copy of its parameters.
struct KernelCall {
  Kernel *kernel = nullptr;
  LaunchConfig config{};
  std::vector<std::vector<std::byte>> parameters;

  std::vector<void *> addresses();
};

struct Node {
  Graph *graph = nullptr;
  GraphNodeType type = GraphNodeType::empty;
  std::vector<Node *> dependencies;
  KernelCall call;
  std::function<Result(Stream &)> work;  // of copies and fills
  Graph *child = nullptr;                // of a child graph, or the body of a conditional node
  ConditionalNodeParameters condition{};
  bool enabled = true;
  Node *original = nullptr;  // in an executable: the node it was made from
};

struct Graph : Object {
  bool owned_by_node = false;
  std::deque<std::unique_ptr<Node>> nodes;
};

struct GraphExec : Object {
  Graph nodes;
  std::deque<std::unique_ptr<GraphExec>> children;
};

struct Capture {
  std::uint64_t id = 0;
  Graph *graph = nullptr;
  Stream *origin = nullptr;
  bool invalidated = false;
  bool adds_to_graph = false;  // of the caller
  CaptureMode mode = CaptureMode::global;
  std::thread::id thread;  // that began it
  std::set<Stream *> streams;
};

// Objects of a kind. Those destroyed stay, so that their later use is seen and no address comes twice.
template <class T>
class Registry {
 public:
  T &add() { return *objects_.emplace_back(std::make_unique<T>()); }
  bool has(const T *object) const {
    for (const auto &known : objects_)
      if (known.get() == object) return true;
    return false;
  }
  auto begin() const { return objects_.begin(); }
  auto end() const { return objects_.end(); }

 private:
  std::deque<std::unique_ptr<T>> objects_;
};

struct Condition {
  unsigned value = 0, initial = 0;
  bool assign = false;
};

struct PlannedFailure {
  Entry entry;
  Result code;
  int after;
};

struct State {
  Options options;
  mutable std::mutex mutex;

  std::vector<std::string> calls, mistakes;
  std::vector<PlannedFailure> failures;
  std::size_t failing_call = 0;  // its number, from 1; 0: none
  Result failing_code = Result::success;
  Entry running = Entry::Init;  // the call that is being made, for messages
  Context *launching = nullptr;
  bool initialized = false;

  std::vector<std::unique_ptr<Context>> primary;  // by device
  std::vector<std::unique_ptr<Context>> reset;    // those that were reset away
  std::vector<Pool *> standard_pools;
  std::vector<Stream *> default_streams;
  Registry<Stream> streams;
  Registry<Event> events;
  Registry<Pool> pools;
  Registry<Library> libraries;
  Registry<Graph> graphs;
  Registry<GraphExec> executables;
  std::map<CUdeviceptr, Allocation> allocations;
  std::map<void *, std::unique_ptr<std::byte[]>> pinned;
  std::map<void *, std::size_t> pinned_bytes;
  std::set<void *> freed_pinned;
  // The times of copies from and to pinned memory, by the memory's address.
  std::multimap<void *, std::pair<const Stream *, std::uint64_t>> pinned_uses;
  std::vector<std::vector<KernelCode>> images;
  std::map<std::string, std::size_t> understood;  // by the name of an entry, its image
  std::map<CUgraphConditionalHandle, Condition> conditions;
  std::size_t kept_by_others = 0;
  std::uint64_t captures = 0;
  std::map<std::thread::id, CaptureMode> capture_modes;  // of threads that have exchanged theirs
  Clock host;

  // The source of device addresses; each is used once.
  std::byte *arena = nullptr;
  std::size_t arena_used = 0;

  Result mistake(const std::string &text, Result code);
  std::size_t free_bytes(int device) const;
};

State &state();

// The checks at the start of every implementation. The object behind a handle; null, with the mistake noted, if it is
// destroyed, unknown, or of another context than the current one.
Context *current();
Stream *use(CUstream handle);
Event *use(CUevent handle);
Pool *use(CUmemoryPool handle);
Library *use(CUlibrary handle);
Kernel *use(CUkernel handle);
Graph *use(CUgraph handle);
GraphExec *use(CUgraphExec handle);

// The stack of contexts of this thread.
std::vector<Context *> &context_stack();

// The next moment of a stream, in which work happens.
std::uint64_t advance(Stream &stream);
// Work in `stream` touches `bytes` bytes at `address`; INVALID_VALUE, with the mistake noted, if it may not.
Result touch(Stream &stream, CUdeviceptr address, std::size_t bytes);
// The same for the host's memory, which may be pinned.
void touch_host(Stream &stream, const void *address);
// Runs the work now, or makes it a node if the stream is captured.
Result submit(Stream &stream, GraphNodeType type, std::function<Result(Stream &)> work);
Result submit(Stream &stream, const KernelCall &call);
Result run(Stream &stream, KernelCall &call);
Node &add_node(Graph &graph, GraphNodeType type, std::vector<Node *> dependencies);
// Ends the stream's capture, if there is one, without a graph.
void abandon_capture(CUstream handle);

// Whether a capture forbids the calling thread to call functions that allocate or free, which then invalidates the
// capture: as for cuThreadExchangeStreamCaptureMode.
bool refused_in_capture();
// Fails, and invalidates the capture, if the stream is captured: for calls that wait.
Result refuse_in_capture(Stream &stream);

template <class Handle, class T>
Handle handle_of(T &object) {
  return reinterpret_cast<Handle>(&object);
}

// The implementations, one for each row of the table.
#define SAMITE_DECLARE(name, version, need, parameters) Result name parameters;
SAMITE_DRIVER_ENTRY_POINTS(SAMITE_DECLARE)
#undef SAMITE_DECLARE

}  // namespace samite::driver::fake
