#include "samite/distributed/mpi_transport.h"

#include "samite/base/error.h"
#include "samite/distributed/announcement.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace samite::distributed {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int tag_of_messages = 1, tag_of_announcements = 2;
// MPI counts in int.
constexpr std::size_t most_bytes = std::size_t{1} << 30;
constexpr std::size_t most_messages = 16;  // of a call that allocates nothing

std::optional<int> mpi_type(ScalarType type) {
  switch (type) {
    case ScalarType::Int8: return samite_mpi_i8;
    case ScalarType::Int16: return samite_mpi_i16;
    case ScalarType::Int32: return samite_mpi_i32;
    case ScalarType::Int64: return samite_mpi_i64;
    case ScalarType::Bool:
    case ScalarType::UInt8: return samite_mpi_u8;
    case ScalarType::UInt16: return samite_mpi_u16;
    case ScalarType::UInt32: return samite_mpi_u32;
    case ScalarType::UInt64: return samite_mpi_u64;
    case ScalarType::Float32: return samite_mpi_f32;
    case ScalarType::Float64: return samite_mpi_f64;
    default: return {};
  }
}

std::optional<int> mpi_operation(ReduceOp reduction) {
  switch (reduction) {
    case ReduceOp::sum: return samite_mpi_sum;
    case ReduceOp::product: return samite_mpi_product;
    case ReduceOp::min: return samite_mpi_min;
    case ReduceOp::max: return samite_mpi_max;
    case ReduceOp::average: return {};
  }
  return {};
}

// Keeps memory that MPI may still access after a failed call until the process ends.
void abandon(std::shared_ptr<const void> memory) {
  static std::mutex mutex;
  static auto &abandoned = *new std::vector<std::shared_ptr<const void>>;
  const std::lock_guard lock(mutex);
  abandoned.push_back(std::move(memory));
}

std::byte *at(void *data, std::size_t offset) { return static_cast<std::byte *>(data) + offset; }
const std::byte *at(const void *data, std::size_t offset) { return static_cast<const std::byte *>(data) + offset; }

// A communicator that is released with its last user.
class Handle {
 public:
  Handle(const SamiteMpi &mpi, SamiteMpiHandle raw) : mpi_(mpi), raw_(raw) {}
  Handle(const Handle &) = delete;
  Handle &operator=(const Handle &) = delete;
  ~Handle() { mpi_.release(raw_); }

  SamiteMpiHandle raw() const { return raw_; }

 private:
  const SamiteMpi &mpi_;
  SamiteMpiHandle raw_;
};

struct Ranks {
  int rank, size;
};
Ranks ranks_of(const SamiteMpi &mpi, SamiteMpiHandle communicator) {
  Ranks ranks{};
  check_mpi(mpi, mpi.rank_and_size(communicator, &ranks.rank, &ranks.size), "MPI_Comm_rank");
  return ranks;
}

class MpiTransport : public Transport {
 public:
  MpiTransport(const SamiteMpi &mpi, std::unique_ptr<Handle> handle, Ranks ranks, const MpiOptions &options)
      : Transport(ranks.rank, ranks.size, Device::cpu()), mpi_(mpi), handle_(std::move(handle)), options_(options) {}

  std::string name() const override { return mpi_.library(); }

  void all_reduce(void *to, const void *from, std::size_t count, ScalarType type, ReduceOp reduction,
                  const Stream &stream, const CallName &call) override {
    const std::size_t element = size_of(type);
    announce(call);
    // Most calls are one of MPI's.
    if (!has_timeout() && uses_mpi(type, reduction) && count <= most_bytes / element)
      return check(mpi_.all_reduce(to, from, static_cast<int>(count), *mpi_type(type), *mpi_operation(reduction),
                                   handle_->raw(), nullptr),
                   call);
    if (!uses_mpi(type, reduction)) return all_reduce_in_order(to, from, count, type, reduction, stream, call);
    const std::size_t bytes = count * element;
    const Copies copies = copies_of(to, bytes, from, bytes);
    in_parts(count, element, [&](std::size_t begin, int part) {
      run(call, copies, [&](SamiteMpiHandle *request) {
        return mpi_.all_reduce(at(copies.to, begin * element), at(copies.from, begin * element), part, *mpi_type(type),
                               *mpi_operation(reduction), handle_->raw(), request);
      });
    });
    copies.bring(to, bytes);
  }

  void reduce(void *to, const void *from, std::size_t count, ScalarType type, ReduceOp reduction, int root,
              const Stream &stream, const CallName &call) override {
    const std::size_t element = size_of(type), bytes = count * element;
    announce(call);
    if (!uses_mpi(type, reduction)) return reduce_in_order(to, from, count, type, reduction, root, stream, call);
    const bool is_root = rank() == root;
    const Copies copies = copies_of(is_root ? to : nullptr, is_root ? bytes : 0, from, bytes);
    in_parts(count, element, [&](std::size_t begin, int part) {
      run(call, copies, [&](SamiteMpiHandle *request) {
        return mpi_.reduce(is_root ? at(copies.to, begin * element) : nullptr, at(copies.from, begin * element), part,
                           *mpi_type(type), *mpi_operation(reduction), root, handle_->raw(), request);
      });
    });
    if (is_root) copies.bring(to, bytes);
  }

  void reduce_scatter(void *to, const void *from, std::size_t count, ScalarType type, ReduceOp reduction,
                      const Stream &stream, const CallName &call) override {
    const std::size_t element = size_of(type), bytes = count * element, ranks = static_cast<std::size_t>(size());
    announce(call);
    // A longer call would have to be split, and the ranks' parts would not be contiguous.
    if (!uses_mpi(type, reduction) || bytes * ranks > most_bytes)
      return reduce_parts_in_order(to, from, count, type, reduction, stream, call);
    const Copies copies = copies_of(to, bytes, from, bytes * ranks);
    run(call, copies, [&](SamiteMpiHandle *request) {
      return mpi_.reduce_scatter(copies.to, copies.from, static_cast<int>(count), *mpi_type(type),
                                 *mpi_operation(reduction), handle_->raw(), request);
    });
    copies.bring(to, bytes);
  }

  void broadcast(void *data, std::size_t bytes, int root, const Stream &, const CallName &call) override {
    announce(call);
    const Copies copies = copies_of(data, bytes, data, bytes);
    in_parts(bytes, 1, [&](std::size_t begin, int part) {
      run(call, copies, [&](SamiteMpiHandle *request) {
        return mpi_.broadcast(at(copies.to, begin), part, root, handle_->raw(), request);
      });
    });
    if (rank() != root) copies.bring(data, bytes);
  }

  void all_gather(void *to, const void *from, std::size_t bytes, const Stream &stream, const CallName &call) override {
    announce(call);
    gather_all(to, from, bytes, stream, call);
  }

  void exchange(std::span<const Message> sends, std::span<const Message> receives, const Stream &,
                const CallName &call) override {
    if (has_timeout() || sends.size() + receives.size() > most_messages || !are_short(sends) || !are_short(receives))
      return finish(start_messages(sends, receives, has_timeout(), call), call);
    // The same without memory of its own.
    refuse_aborted(call);
    std::array<SamiteMpiHandle, most_messages> requests;
    std::size_t started = 0;
    int code = 0;
    for (const Message &message : receives)
      if (code == 0)
        code = mpi_.receive(message.data, static_cast<int>(message.bytes), message.rank, tag_of_messages,
                            handle_->raw(), &requests[started++]);
    for (const Message &message : sends)
      if (code == 0)
        code = mpi_.send(message.data, static_cast<int>(message.bytes), message.rank, tag_of_messages, handle_->raw(),
                         &requests[started++]);
    check(code, call);
    for (std::size_t i = 0; i < started; ++i) check(mpi_.wait(&requests[i]), call);
  }

  std::unique_ptr<MessagesUnderWay> start(std::vector<Message> sends, std::vector<Message> receives,
                                          std::shared_ptr<const void> memory, const Stream &,
                                          const CallName &call) override {
    auto pending = start_messages(sends, receives, false, call);
    pending->memory = std::move(memory);
    return std::make_unique<MpiMessages>(*this, std::move(pending));
  }

  void barrier(const Stream &, const CallName &call) override {
    announce(call);
    run(call, Copies{}, [&](SamiteMpiHandle *request) { return mpi_.barrier(handle_->raw(), request); });
  }

  void synchronize(const Stream &stream, const CallName &) override { stream.synchronize(); }

  std::shared_ptr<Transport> split(int colour, int key, const CallName &call) override {
    announce(call);
    SamiteMpiHandle part = 0;
    check_mpi(mpi_, mpi_.split(handle_->raw(), colour, key, &part), "MPI_Comm_split");
    auto handle = std::make_unique<Handle>(mpi_, part);
    const Ranks ranks = ranks_of(mpi_, part);
    return std::make_shared<MpiTransport>(mpi_, std::move(handle), ranks, options_);
  }

  void abort(const std::string &reason) noexcept override {
    const std::lock_guard lock(mutex_);
    if (!aborted_) aborted_ = reason;
    has_aborted_ = true;
  }

 private:
  // The memory that MPI reads and writes: the program's, or copies that outlive a call that fails.
  struct Copies {
    void *to = nullptr;
    const void *from = nullptr;
    std::shared_ptr<std::vector<std::byte>> own = {};

    // Copies to the program's memory.
    void bring(void *target, std::size_t bytes) const {
      if (own && bytes != 0) std::memcpy(target, to, bytes);
    }
  };

  // Messages under way.
  struct Pending {
    struct Arrival {
      void *to;
      std::shared_ptr<std::vector<std::byte>> from;
    };
    std::vector<SamiteMpiHandle> requests;
    std::vector<int> ranks;
    std::vector<Arrival> arrivals;
    std::vector<std::shared_ptr<std::vector<std::byte>>> sent;
    std::shared_ptr<const void> memory;  // of messages that are not copied
    int code = 0;

    template <class Start>
    void start(int rank, const Start &start) {
      if (code != 0) return;
      requests.push_back(0), ranks.push_back(rank);
      code = start(&requests.back());
      if (code != 0) requests.pop_back(), ranks.pop_back();
    }
    void *receive_to(void *data, std::size_t bytes, bool copied) {
      if (!copied) return data;
      arrivals.push_back({data, std::make_shared<std::vector<std::byte>>(bytes)});
      return arrivals.back().from->data();
    }
    void *send_from(const void *data, std::size_t bytes, bool copied) {
      if (!copied) return const_cast<void *>(data);
      const auto *first = static_cast<const std::byte *>(data);
      sent.push_back(std::make_shared<std::vector<std::byte>>(first, first + bytes));
      return sent.back()->data();
    }
  };

  // Those of start().
  class MpiMessages : public MessagesUnderWay {
   public:
    MpiMessages(MpiTransport &transport, std::shared_ptr<Pending> pending)
        : transport_(transport), pending_(std::move(pending)) {}
    ~MpiMessages() override {
      if (!pending_) return;
      abandon(std::move(pending_));
      transport_.abort(fmt::format("rank {} has given up messages under way", transport_.rank()));
    }
    void finish(const CallName &call) override {
      const std::shared_ptr<Pending> pending = std::exchange(pending_, nullptr);
      try {
        transport_.finish(pending, call);
      } catch (...) {
        abandon(pending);
        throw;
      }
    }

   private:
    MpiTransport &transport_;
    std::shared_ptr<Pending> pending_;
  };

  std::shared_ptr<Pending> start_messages(std::span<const Message> sends, std::span<const Message> receives,
                                          bool copied, const CallName &call) const {
    refuse_aborted(call);
    auto pending = std::make_shared<Pending>();
    for (const Message &message : receives)
      for_each_part(message, [&](void *data, int bytes) {
        data = pending->receive_to(data, static_cast<std::size_t>(bytes), copied);
        pending->start(message.rank, [&](SamiteMpiHandle *request) {
          return mpi_.receive(data, bytes, message.rank, tag_of_messages, handle_->raw(), request);
        });
      });
    for (const Message &message : sends)
      for_each_part(message, [&](void *data, int bytes) {
        data = pending->send_from(data, static_cast<std::size_t>(bytes), copied);
        pending->start(message.rank, [&](SamiteMpiHandle *request) {
          return mpi_.send(data, bytes, message.rank, tag_of_messages, handle_->raw(), request);
        });
      });
    return pending;
  }

  static bool are_short(std::span<const Message> messages) {
    return std::ranges::all_of(messages, [](const Message &message) { return message.bytes <= most_bytes; });
  }
  bool has_timeout() const { return options_.timeout.count() != 0; }
  bool uses_mpi(ScalarType type, ReduceOp reduction) const {
    return !options_.deterministic && mpi_type(type) && mpi_operation(reduction);
  }

  std::string named(const CallName &call) const {
    return fmt::format("{} on rank {} of {}", call.to_string(), rank(), size());
  }
  // The text of a call takes as long as a short message: it is made only for failures.
  void check(int code, const CallName &call) const {
    if (code != 0) check_mpi(mpi_, code, named(call));
  }
  void refuse_aborted(const CallName &call) const {
    if (!has_aborted_) return;
    const std::lock_guard lock(mutex_);
    throw DeviceError(named(call), "the communicator was aborted: " + *aborted_ + "; make a new one");
  }
  [[noreturn]] void fail_late(const CallName &call, std::vector<int> missing) {
    std::ranges::sort(missing);
    missing.erase(std::ranges::unique(missing).begin(), missing.end());
    const std::string whom = missing.empty()
                                 ? "the other ranks"
                                 : fmt::format("rank{} {}", missing.size() == 1 ? "" : "s", fmt::join(missing, ", "));
    const std::string text = fmt::format("{} {} for {}", named(call), waited(options_.timeout), whom);
    abort(text);
    throw DeviceError(text);
  }

  Copies copies_of(void *to, std::size_t bytes_to, const void *from, std::size_t bytes_from) const {
    if (!has_timeout()) return {to, from};
    const bool same = to == from;
    auto own = std::make_shared<std::vector<std::byte>>(same ? bytes_from : bytes_to + bytes_from);
    std::byte *source = same ? own->data() : own->data() + bytes_to;
    if (bytes_from != 0) std::memcpy(source, from, bytes_from);
    return {own->data(), source, std::move(own)};
  }

  // Calls `step` with the first element and the number of elements of each part that MPI can count.
  template <class Step>
  static void in_parts(std::size_t count, std::size_t element, const Step &step) {
    const std::size_t most = most_bytes / element;
    for (std::size_t begin = 0; begin < count; begin += most)
      step(begin, static_cast<int>(std::min(most, count - begin)));
  }
  template <class Step>
  static void for_each_part(const Message &message, const Step &step) {
    if (message.bytes == 0) return step(message.data, 0);
    in_parts(message.bytes, 1, [&](std::size_t begin, int part) { step(at(message.data, begin), part); });
  }

  // A call of MPI, which returns in time or is a DeviceError.
  template <class Start>
  void run(const CallName &call, const Copies &copies, const Start &start) {
    if (!has_timeout()) return check(start(nullptr), call);
    SamiteMpiHandle request = 0;
    check(start(&request), call);
    const Clock::time_point end = Clock::now() + options_.timeout;
    for (;;) {
      int completed = 0;
      check(mpi_.test(&request, &completed), call);
      if (completed) return;
      if (Clock::now() > end || has_aborted_) break;
      std::this_thread::yield();
    }
    abandon(copies.own);
    refuse_aborted(call);
    fail_late(call, {});
  }

  // Waits for messages, and copies the received data to its place.
  void finish(const std::shared_ptr<Pending> &pending, const CallName &call) {
    if (pending->code != 0) abandon(pending);
    check(pending->code, call);
    const Clock::time_point end = Clock::now() + options_.timeout;
    std::vector<bool> completed(pending->requests.size());
    for (std::size_t i = 0; i < pending->requests.size(); ++i) {
      if (!has_timeout()) {
        check(mpi_.wait(&pending->requests[i]), call);
        continue;
      }
      for (int done = 0; !done;) {
        check(mpi_.test(&pending->requests[i], &done), call);
        if (done) break;
        if (has_aborted_ || Clock::now() > end) {
          abandon(pending);
          refuse_aborted(call);
          fail_late(call, missing_of(*pending));
        }
        std::this_thread::yield();
      }
    }
    for (const Pending::Arrival &arrival : pending->arrivals)
      if (!arrival.from->empty()) std::memcpy(arrival.to, arrival.from->data(), arrival.from->size());
  }
  std::vector<int> missing_of(Pending &pending) const {
    std::vector<int> missing;
    for (std::size_t i = 0; i < pending.requests.size(); ++i) {
      int completed = 0;
      if (mpi_.test(&pending.requests[i], &completed) == 0 && !completed) missing.push_back(pending.ranks[i]);
    }
    return missing;
  }

  // Tells all ranks which call comes, and waits for them to say the same. UserError if one says otherwise.
  void announce(const CallName &call) {
    refuse_aborted(call);
    ++number_;
    if (!has_timeout() && !options_.verified) return;
    const auto announced = std::make_shared<std::vector<Announcement>>(static_cast<std::size_t>(size()) + 1);
    Announcement &own = announced->back();
    own = announcement_of(call, number_);
    const auto pending = std::make_shared<Pending>();
    for (int other = 0; other < size(); ++other) {
      if (other == rank()) continue;
      Announcement &received = (*announced)[static_cast<std::size_t>(other)];
      pending->start(other, [&](SamiteMpiHandle *request) {
        return mpi_.receive(&received, sizeof received, other, tag_of_announcements, handle_->raw(), request);
      });
      pending->start(other, [&](SamiteMpiHandle *request) {
        return mpi_.send(&own, sizeof own, other, tag_of_announcements, handle_->raw(), request);
      });
    }
    try {
      finish(pending, call);
    } catch (...) {
      abandon(announced);
      throw;
    }
    for (int other = 0; other < size(); ++other) {
      const Announcement &met = (*announced)[static_cast<std::size_t>(other)];
      if (other == rank() || same_call(met, own)) continue;
      const std::string text = difference(named(call), met, other);
      abort(text);
      throw UserError(text);
    }
  }

  void gather_all(void *to, const void *from, std::size_t bytes, const Stream &stream, const CallName &call) {
    const std::size_t ranks = static_cast<std::size_t>(size());
    if (bytes * ranks <= most_bytes) {
      const Copies copies = copies_of(to, bytes * ranks, from, bytes);
      run(call, copies, [&](SamiteMpiHandle *request) {
        return mpi_.all_gather(copies.to, copies.from, static_cast<int>(bytes), handle_->raw(), request);
      });
      return copies.bring(to, bytes * ranks);
    }
    std::vector<Message> sends, receives;
    for (int other = 0; other < size(); ++other) {
      sends.push_back({const_cast<void *>(from), bytes, other});
      receives.push_back({at(to, static_cast<std::size_t>(other) * bytes), bytes, other});
    }
    exchange(sends, receives, stream, call);
  }

  // Every rank gets its part of all ranks' values. `begin` has the first element of each rank's part, and the end.
  std::vector<std::vector<std::byte>> parts_of_all(const void *from, std::size_t element,
                                                   std::span<const std::size_t> begin, const Stream &stream,
                                                   const CallName &call) {
    const auto own = static_cast<std::size_t>(rank());
    const std::size_t bytes = (begin[own + 1] - begin[own]) * element;
    std::vector<std::vector<std::byte>> parts(static_cast<std::size_t>(size()), std::vector<std::byte>(bytes));
    std::vector<Message> sends, receives;
    for (int other = 0; other < size(); ++other) {
      const auto index = static_cast<std::size_t>(other);
      sends.push_back({const_cast<std::byte *>(at(from, begin[index] * element)),
                       (begin[index + 1] - begin[index]) * element, other});
      receives.push_back({parts[index].data(), bytes, other});
    }
    exchange(sends, receives, stream, call);
    return parts;
  }
  static void reduce_in_order_of_ranks(const std::vector<std::vector<std::byte>> &parts, std::size_t count,
                                       ScalarType type, ReduceOp reduction, void *to) {
    std::vector<const void *> from;
    for (const auto &part : parts) from.push_back(part.data());
    reduce_values(type, reduction, count, from, to);
  }

  void reduce_parts_in_order(void *to, const void *from, std::size_t count, ScalarType type, ReduceOp reduction,
                             const Stream &stream, const CallName &call) {
    std::vector<std::size_t> begin;
    for (int i = 0; i <= size(); ++i) begin.push_back(static_cast<std::size_t>(i) * count);
    reduce_in_order_of_ranks(parts_of_all(from, size_of(type), begin, stream, call), count, type, reduction, to);
  }
  void all_reduce_in_order(void *to, const void *from, std::size_t count, ScalarType type, ReduceOp reduction,
                           const Stream &stream, const CallName &call) {
    const std::size_t ranks = static_cast<std::size_t>(size()), own = static_cast<std::size_t>(rank());
    std::vector<std::size_t> begin;
    for (std::size_t i = 0; i <= ranks; ++i) begin.push_back(count / ranks * i + std::min(i, count % ranks));
    const auto parts = parts_of_all(from, size_of(type), begin, stream, call);
    const std::size_t length = begin[own + 1] - begin[own], element = size_of(type);
    std::vector<std::byte> sums(length * element);
    reduce_in_order_of_ranks(parts, length, type, reduction, sums.data());
    std::vector<Message> sends, receives;
    for (int other = 0; other < size(); ++other) {
      const auto index = static_cast<std::size_t>(other);
      sends.push_back({sums.data(), sums.size(), other});
      receives.push_back({at(to, begin[index] * element), (begin[index + 1] - begin[index]) * element, other});
    }
    exchange(sends, receives, stream, call);
  }
  void reduce_in_order(void *to, const void *from, std::size_t count, ScalarType type, ReduceOp reduction, int root,
                       const Stream &stream, const CallName &call) {
    std::vector<std::size_t> begin;
    for (int i = 0; i <= size(); ++i) begin.push_back(i <= root ? 0 : count);
    const auto parts = parts_of_all(from, size_of(type), begin, stream, call);
    if (rank() == root) reduce_in_order_of_ranks(parts, count, type, reduction, to);
  }

  const SamiteMpi &mpi_;
  std::unique_ptr<Handle> handle_;
  MpiOptions options_;
  std::uint64_t number_ = 0;  // of the last collective call
  mutable std::mutex mutex_;
  std::atomic<bool> has_aborted_ = false;
  std::optional<std::string> aborted_;
};

}  // namespace

std::shared_ptr<Transport> mpi_transport(MpiKind kind, SamiteMpiHandle communicator, const MpiOptions &options) {
  const SamiteMpi &table = mpi(kind);
  SamiteMpiHandle copy = 0;
  check_mpi(table, table.duplicate(communicator, &copy), "MPI_Comm_dup");
  auto handle = std::make_unique<Handle>(table, copy);
  return std::make_shared<MpiTransport>(table, std::move(handle), ranks_of(table, copy), options);
}

std::shared_ptr<Transport> mpi_world(MpiKind kind, const MpiOptions &options) {
  return mpi_transport(kind, mpi(kind).world(), options);
}

}  // namespace samite::distributed
