#include "samite/distributed/nccl_transport.h"

#include "samite/base/error.h"
#include "samite/distributed/announcement.h"
#include "samite/distributed/array_memory.h"
#include "samite/jit/graph_capture.h"
#include "samite/runtime/buffer.h"
#include "samite/runtime/cuda_device.h"
#include "samite/runtime/cuda_memory.h"
#include "samite/runtime/cuda_stream.h"
#include "samite/runtime/storage.h"

#include <fmt/format.h>

#include <atomic>
#include <cstring>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace samite::distributed {
namespace {

// Makes the device's context current in this thread: NCCL works in the current one.
class CurrentContext {
 public:
  explicit CurrentContext(const driver::Context &context) : table_(context.driver().table()) {
    driver::CUcontext current = nullptr;
    if (table_.CtxGetCurrent(&current) == driver::Result::success && current == context.raw()) return;
    const driver::Result code = table_.CtxPushCurrent(context.raw());
    if (code != driver::Result::success) throw DeviceError("cuCtxPushCurrent", context.driver().describe(code));
    pushed_ = true;
  }
  CurrentContext(const CurrentContext &) = delete;
  CurrentContext &operator=(const CurrentContext &) = delete;
  ~CurrentContext() {
    driver::CUcontext popped = nullptr;
    if (pushed_) table_.CtxPopCurrent(&popped);
  }

 private:
  const driver::EntryPoints &table_;
  bool pushed_ = false;
};

// The stream orders their uses.
class QueuedMessages : public MessagesUnderWay {
 public:
  void finish(const CallName &) override {}
};

class NcclTransport : public Transport {
 public:
  NcclTransport(std::shared_ptr<const Nccl> nccl, NcclComm *comm, int rank, int size, Device device,
                const NcclOptions &options)
      : Transport(rank, size, device),
        nccl_(std::move(nccl)),
        cuda_(CudaDevice::of(device.index())),
        comm_(comm),
        options_(options) {}
  ~NcclTransport() override {
    if (!comm_ || options_.borrowed) return;
    try {
      const CurrentContext current(cuda_->context());
      nccl_->table().CommDestroy(comm_);
    } catch (const Error &) {  // NOLINT(bugprone-empty-catch)
      // The context is lost, and with it the communicator's state on the device.
    }
  }

  std::string name() const override { return "NCCL"; }

  void all_reduce(void *to, const void *from, std::size_t count, ScalarType type, ReduceOp reduction,
                  const Stream &stream, const CallName &call) override {
    const int number = reduced_type(type, call), operation = nccl_operation(reduction);
    agree(call, stream);
    run(call, [&] { return nccl_->table().AllReduce(from, to, count, number, operation, comm_, raw(stream)); });
  }
  void reduce(void *to, const void *from, std::size_t count, ScalarType type, ReduceOp reduction, int root,
              const Stream &stream, const CallName &call) override {
    const int number = reduced_type(type, call), operation = nccl_operation(reduction);
    agree(call, stream);
    run(call, [&] { return nccl_->table().Reduce(from, to, count, number, operation, root, comm_, raw(stream)); });
  }
  void reduce_scatter(void *to, const void *from, std::size_t count, ScalarType type, ReduceOp reduction,
                      const Stream &stream, const CallName &call) override {
    const int number = reduced_type(type, call), operation = nccl_operation(reduction);
    agree(call, stream);
    run(call, [&] { return nccl_->table().ReduceScatter(from, to, count, number, operation, comm_, raw(stream)); });
  }
  void broadcast(void *data, std::size_t bytes, int root, const Stream &stream, const CallName &call) override {
    agree(call, stream);
    run(call, [&] { return nccl_->table().Broadcast(data, data, bytes, nccl_bytes, root, comm_, raw(stream)); });
  }
  void all_gather(void *to, const void *from, std::size_t bytes, const Stream &stream, const CallName &call) override {
    agree(call, stream);
    run(call, [&] { return nccl_->table().AllGather(from, to, bytes, nccl_bytes, comm_, raw(stream)); });
  }

  void exchange(std::span<const Message> sends, std::span<const Message> receives, const Stream &stream,
                const CallName &call) override {
    const NcclTable &table = nccl_->table();
    run(call, [&] {
      NcclResult result = table.GroupStart();
      const auto add = [&](NcclResult next) {
        if (result == NcclResult::success) result = next;
      };
      for (const Message &message : sends)
        add(table.Send(message.data, message.bytes, nccl_bytes, message.rank, comm_, raw(stream)));
      for (const Message &message : receives)
        add(table.Recv(message.data, message.bytes, nccl_bytes, message.rank, comm_, raw(stream)));
      add(table.GroupEnd());
      return result;
    });
  }

  std::unique_ptr<MessagesUnderWay> start(std::vector<Message> sends, std::vector<Message> receives,
                                          std::shared_ptr<const void>, const Stream &stream,
                                          const CallName &call) override {
    exchange(sends, receives, stream, call);
    return std::make_unique<QueuedMessages>();
  }

  void barrier(const Stream &stream, const CallName &call) override {
    if (!word_) word_ = std::make_unique<Storage>(device(), sizeof(std::int32_t));
    word_->cuda()->used_by(stream.cuda_handle());
    all_reduce(word_->data(), word_->data(), 1, ScalarType::Int32, ReduceOp::sum, stream, call);
    synchronize(stream, call);
  }

  void synchronize(const Stream &stream, const CallName &call) override {
    const auto end = std::chrono::steady_clock::now() + options_.timeout;
    for (bool finished = false; !finished;) {
      finished = stream.finished();
      refuse_aborted(call);
      NcclResult error = NcclResult::success;
      if (const NcclResult asked = nccl_->table().CommGetAsyncError(comm_, &error); asked != NcclResult::success)
        nccl_->check(asked, named(call), comm_);
      if (error != NcclResult::success && error != NcclResult::in_progress) {
        const std::string reason = fmt::format("{}: another rank or the network has failed", named(call));
        abort(reason);
        nccl_->check(error, reason);
      }
      if (finished) break;
      if (options_.timeout.count() != 0 && std::chrono::steady_clock::now() > end) {
        const std::string reason = fmt::format("{} {} for the other ranks", named(call), waited(options_.timeout));
        abort(reason);
        throw DeviceError(reason);
      }
      std::this_thread::yield();
    }
    stream.synchronize();  // for its kernels' reports
  }

  std::shared_ptr<Transport> split(int colour, int key, const CallName &call) override {
    NcclComm *part = nullptr;
    int rank = 0, size = 0;
    agree(call, Stream::standard(device()));
    run(call, [&] { return nccl_->table().CommSplit(comm_, colour, key, &part, nullptr); });
    nccl_->check(nccl_->table().CommUserRank(part, &rank), "ncclCommUserRank", part);
    nccl_->check(nccl_->table().CommCount(part, &size), "ncclCommCount", part);
    NcclOptions options = options_;
    options.borrowed = false;
    return std::make_shared<NcclTransport>(nccl_, part, rank, size, device(), options);
  }

  void abort(const std::string &reason) noexcept override {
    {
      const std::lock_guard lock(mutex_);
      if (aborted_) return;
      aborted_ = reason;
    }
    has_aborted_ = true;
    nccl_->table().CommAbort(comm_);
    comm_ = nullptr;
  }

 private:
  static CUstream raw(const Stream &stream) { return static_cast<CUstream>(stream.native()); }
  std::string named(const CallName &call) const {
    return fmt::format("{} on rank {} of {}", call.to_string(), rank(), size());
  }

  int reduced_type(ScalarType type, const CallName &call) const {
    const std::optional<int> number = nccl_type(type, nccl_->version());
    if (!number)
      throw UserError(call.where, fmt::format("{}: NCCL {} reduces no elements of type {}", call.operation,
                                              nccl_->version(), samite::name(type)));
    return *number;
  }

  void refuse_aborted(const CallName &call) const {
    if (!has_aborted_) return;
    const std::lock_guard lock(mutex_);
    throw DeviceError(named(call), "the communicator was aborted: " + *aborted_ + "; make a new one");
  }

  // If calls are verified: announces the call to all ranks, and waits for their announcements. UserError if they
  // differ. Not in graphs, whose calls run later.
  void agree(const CallName &call, const Stream &stream) {
    if (!options_.verified || jit::GraphCapture::current()) return;
    const Announcement own = announcement_of(call);
    const auto bytes = static_cast<std::int64_t>(sizeof own);
    const auto *first = reinterpret_cast<const std::uint8_t *>(&own);
    const Buffer<std::uint8_t> said(device(), {bytes}, std::vector<std::uint8_t>(first, first + bytes));
    const Buffer<std::uint8_t> all(device(), {size() * bytes});
    void *to = used_in(stream, all);
    const void *from = used_in(stream, said);
    run(call, [&] { return nccl_->table().AllGather(from, to, sizeof own, nccl_bytes, comm_, raw(stream)); });
    synchronize(stream, call);
    const std::vector<std::uint8_t> text = all.to_vector();
    for (int other = 0; other < size(); ++other) {
      Announcement met{};
      std::memcpy(&met, text.data() + static_cast<std::size_t>(other) * sizeof met, sizeof met);
      if (same_call(met, own)) continue;
      const std::string reason = difference(named(call), met, other);
      abort(reason);
      throw UserError(reason);
    }
  }

  template <class Work>
  void run(const CallName &call, const Work &work) {
    refuse_aborted(call);
    const CurrentContext current(cuda_->context());
    const NcclResult result = work();
    // The text of a call takes longer than the call: it is made only for failures.
    if (result != NcclResult::success && result != NcclResult::in_progress) nccl_->check(result, named(call), comm_);
  }

  std::shared_ptr<const Nccl> nccl_;
  std::shared_ptr<const CudaDevice> cuda_;
  NcclComm *comm_;
  NcclOptions options_;
  std::unique_ptr<Storage> word_;  // for barriers
  mutable std::mutex mutex_;
  std::atomic<bool> has_aborted_ = false;
  std::optional<std::string> aborted_;
};

}  // namespace

NcclId new_nccl_id() {
  const auto nccl = Nccl::system();
  NcclId id{};
  nccl->check(nccl->table().GetUniqueId(&id), "ncclGetUniqueId");
  return id;
}

std::shared_ptr<Transport> nccl_transport(const NcclId &id, int rank, int size, Device device,
                                          const NcclOptions &options) {
  const auto nccl = Nccl::system();
  const auto cuda = CudaDevice::of(device.index());
  const CurrentContext current(cuda->context());
  NcclComm *comm = nullptr;
  nccl->check(nccl->table().CommInitRank(&comm, size, id, rank), "ncclCommInitRank");
  return std::make_shared<NcclTransport>(nccl, comm, rank, size, device, options);
}

std::shared_ptr<Transport> nccl_transport(NcclComm *comm, NcclOptions options) {
  const auto nccl = Nccl::system();
  int rank = 0, size = 0, device = 0;
  nccl->check(nccl->table().CommUserRank(comm, &rank), "ncclCommUserRank", comm);
  nccl->check(nccl->table().CommCount(comm, &size), "ncclCommCount", comm);
  nccl->check(nccl->table().CommCuDevice(comm, &device), "ncclCommCuDevice", comm);
  options.borrowed = true;
  return std::make_shared<NcclTransport>(nccl, comm, rank, size, Device::cuda(device), options);
}

std::vector<std::shared_ptr<Transport>> nccl_transports(std::span<const Device> devices, const NcclOptions &options) {
  const auto nccl = Nccl::system();
  const NcclId id = new_nccl_id();
  const int size = static_cast<int>(devices.size());
  std::vector<NcclComm *> comms(devices.size());
  nccl->check(nccl->table().GroupStart(), "ncclGroupStart");
  NcclResult result = NcclResult::success;
  for (std::size_t rank = 0; rank < devices.size() && result == NcclResult::success; ++rank) {
    const CurrentContext current(CudaDevice::of(devices[rank].index())->context());
    result = nccl->table().CommInitRank(&comms[rank], size, id, static_cast<int>(rank));
  }
  const NcclResult ended = nccl->table().GroupEnd();
  if (result != NcclResult::success || ended != NcclResult::success)
    for (NcclComm *comm : comms)
      if (comm) nccl->table().CommAbort(comm);
  nccl->check(result, "ncclCommInitRank");
  nccl->check(ended, "ncclGroupEnd");
  std::vector<std::shared_ptr<Transport>> transports;
  for (std::size_t rank = 0; rank < devices.size(); ++rank)
    transports.push_back(
        std::make_shared<NcclTransport>(nccl, comms[rank], static_cast<int>(rank), size, devices[rank], options));
  return transports;
}

}  // namespace samite::distributed
