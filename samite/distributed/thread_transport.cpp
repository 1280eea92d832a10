#include "samite/distributed/thread_transport.h"

#include "samite/base/error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <list>
#include <mutex>
#include <optional>

namespace samite::distributed {
namespace {

std::string text_of_ranks(const std::vector<int> &ranks) {
  return fmt::format("rank{} {}", ranks.size() == 1 ? "" : "s", fmt::join(ranks, ", "));
}

// The shared state of a communicator's ranks.
class Meeting {
 public:
  Meeting(int size, Timeout timeout)
      : timeout_(timeout), places_(static_cast<std::size_t>(size)), messages_(places_.size() * places_.size()) {}

  int size() const { return static_cast<int>(places_.size()); }
  Timeout timeout() const { return timeout_; }

  // A rank's contribution to a collective call.
  struct Place {
    CallName call = {};
    void *to = nullptr;
    const void *from = nullptr;
    std::size_t bytes = 0;
    int colour = 0, key = 0;
    std::shared_ptr<Meeting> split = {};
    int rank_of_split = 0;
    bool arrived = false;
  };
  Place &place(int rank) { return places_[static_cast<std::size_t>(rank)]; }

  // Returns when all ranks have called it. DeviceError after the timeout, and if the communicator is aborted.
  void meet(int rank, const CallName &call) {
    std::unique_lock lock(mutex_);
    refuse_aborted(rank, call);
    place(rank).arrived = true;
    if (++arrived_ == size()) {
      arrived_ = 0;
      for (Place &each : places_) each.arrived = false;
      ++round_;
      changed_.notify_all();
      return;
    }
    const std::uint64_t round = round_;
    if (wait(lock, [&] { return round_ != round; })) {
      if (round_ == round) refuse_aborted(rank, call);
      return;
    }
    std::vector<int> missing;
    for (int other = 0; other < size(); ++other)
      if (!place(other).arrived) missing.push_back(other);
    fail_missing(rank, missing, call);
  }

  // Messages between two ranks are numbered on both sides.
  std::uint64_t send(int rank, const Message &message) {
    std::lock_guard lock(mutex_);
    Queue &queue = queue_of(rank, message.rank);
    queue.sent.push_back({message.data, message.bytes, queue.numbers_sent});
    changed_.notify_all();
    return queue.numbers_sent++;
  }
  // The number of the next message of `from` to this rank, which receive() takes.
  std::uint64_t expect(int rank, int from) {
    std::lock_guard lock(mutex_);
    return queue_of(from, rank).numbers_expected++;
  }
  void receive(int rank, const Message &message, std::uint64_t number, const CallName &call) {
    std::unique_lock lock(mutex_);
    std::list<Sent> &sent = queue_of(message.rank, rank).sent;
    const auto numbered = [&] { return std::ranges::find(sent, number, &Sent::number); };
    if (!wait(lock, [&] { return numbered() != sent.end(); })) fail_missing(rank, {message.rank}, call);
    refuse_aborted(rank, call);
    Sent &found = *numbered();
    if (found.bytes != message.bytes) {
      const std::string text = fmt::format("{} on rank {} of {}: {} bytes are expected from rank {}, which sends {}",
                                           call.to_string(), rank, size(), message.bytes, message.rank, found.bytes);
      abort_locked(text);
      throw UserError(text);
    }
    found.state = Sent::copying;  // the sender keeps its message meanwhile
    lock.unlock();
    if (message.bytes != 0) std::memcpy(message.data, found.data, message.bytes);
    lock.lock();
    found.state = Sent::received;
    changed_.notify_all();
  }
  // Until the message to that rank has been received, which is then forgotten.
  void finish_send(int rank, int to, std::uint64_t number, const CallName &call) {
    std::unique_lock lock(mutex_);
    std::list<Sent> &sent = queue_of(rank, to).sent;
    const auto found = std::ranges::find(sent, number, &Sent::number);
    const bool in_time = wait(lock, [&] { return found->state == Sent::received; });
    changed_.wait(lock, [&] { return found->state != Sent::copying; });
    const bool received = found->state == Sent::received;
    sent.erase(found);
    if (received) return;
    if (!in_time) fail_missing(rank, {to}, call);
    refuse_aborted(rank, call);
  }

  void abort(const std::string &reason) {
    std::lock_guard lock(mutex_);
    abort_locked(reason);
  }
  void refuse_if_aborted(int rank, const CallName &call) {
    std::lock_guard lock(mutex_);
    refuse_aborted(rank, call);
  }

 private:
  struct Sent {
    enum State { waiting, copying, received };

    const void *data;
    std::size_t bytes;
    std::uint64_t number;
    State state = waiting;
  };
  struct Queue {
    std::list<Sent> sent;
    std::uint64_t numbers_sent = 0, numbers_expected = 0;
  };
  Queue &queue_of(int from, int to) {
    return messages_[static_cast<std::size_t>(from) * places_.size() + static_cast<std::size_t>(to)];
  }

  void abort_locked(const std::string &reason) {
    if (!aborted_) aborted_ = reason;
    changed_.notify_all();
  }
  void refuse_aborted(int rank, const CallName &call) const {
    if (aborted_)
      throw DeviceError(fmt::format("{} on rank {} of {}", call.to_string(), rank, size()),
                        "the communicator was aborted: " + *aborted_ + "; make a new one");
  }
  // Whether `done` holds in time. DeviceError if the communicator is aborted first.
  template <class Done>
  bool wait(std::unique_lock<std::mutex> &lock, const Done &done) {
    const auto ended = [&] { return done() || aborted_.has_value(); };
    if (timeout_.count() == 0)
      changed_.wait(lock, ended);
    else if (!changed_.wait_for(lock, timeout_, ended))
      return false;
    return done() || aborted_.has_value();
  }
  [[noreturn]] void fail_missing(int rank, const std::vector<int> &missing, const CallName &call) {
    const std::string text = fmt::format("{} on rank {} of {} {} for {}", call.to_string(), rank, size(),
                                         waited(timeout_), text_of_ranks(missing));
    abort_locked(text);
    throw DeviceError(text);
  }

  Timeout timeout_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Place> places_;
  std::vector<Queue> messages_;  // by sender and receiver
  int arrived_ = 0;
  std::uint64_t round_ = 0;
  std::optional<std::string> aborted_;
};

// Except for their lines.
bool same_call(const CallName &a, const CallName &b) {
  return std::string_view(a.operation) == b.operation && a.type == b.type && a.reduction == b.reduction &&
         a.root == b.root;
}

class ThreadMessages : public MessagesUnderWay {
 public:
  ThreadMessages(std::shared_ptr<Meeting> meeting, int rank, std::vector<Message> sends, std::vector<Message> receives,
                 std::shared_ptr<const void> memory, const CallName &call)
      : meeting_(std::move(meeting)),
        rank_(rank),
        sends_(std::move(sends)),
        receives_(std::move(receives)),
        memory_(std::move(memory)) {
    meeting_->refuse_if_aborted(rank_, call);
    for (const Message &message : sends_) sent_.push_back(meeting_->send(rank_, message));
    for (const Message &message : receives_) expected_.push_back(meeting_->expect(rank_, message.rank));
  }
  // No rank may read the sent data after this.
  ~ThreadMessages() override {
    if (finished_sends_ == sends_.size()) return;
    meeting_->abort(fmt::format("rank {} has given up messages under way", rank_));
    while (finished_sends_ < sends_.size()) try {
        finish_send({"exchange", {}});
      } catch (const Error &) {  // NOLINT(bugprone-empty-catch)
        // The communicator was aborted.
      }
  }

  void finish(const CallName &call) override {
    for (std::size_t i = 0; i < receives_.size(); ++i) meeting_->receive(rank_, receives_[i], expected_[i], call);
    while (finished_sends_ < sends_.size()) finish_send(call);
  }

 private:
  void finish_send(const CallName &call) {
    const std::size_t next = finished_sends_++;
    meeting_->finish_send(rank_, sends_[next].rank, sent_[next], call);
  }

  std::shared_ptr<Meeting> meeting_;
  int rank_;
  std::vector<Message> sends_, receives_;
  std::vector<std::uint64_t> sent_, expected_;
  std::shared_ptr<const void> memory_;
  std::size_t finished_sends_ = 0;
};

class ThreadTransport : public Transport {
 public:
  ThreadTransport(int rank, std::shared_ptr<Meeting> meeting)
      : Transport(rank, meeting->size(), Device::cpu()), meeting_(std::move(meeting)) {}

  std::string name() const override { return "threads"; }

  void all_reduce(void *to, const void *from, std::size_t count, ScalarType type, ReduceOp reduction, const Stream &,
                  const CallName &call) override {
    const std::size_t element = size_of(type);
    enter(call, to, from, count * element);
    // Each rank reduces one part. Only this rank reads that part of any rank's values, so results may replace them.
    const auto [begin, end] = part(count, rank());
    reduce_part(type, reduction, begin, end, to);
    meeting_->meet(rank(), call);
    for (int other = 0; other < size(); ++other) {
      const auto [first, last] = part(count, other);
      if (other != rank()) copy(to, meeting_->place(other).to, first * element, (last - first) * element);
    }
    meeting_->meet(rank(), call);
  }

  void reduce(void *to, const void *from, std::size_t count, ScalarType type, ReduceOp reduction, int root,
              const Stream &, const CallName &call) override {
    enter(call, to, from, count * size_of(type));
    if (rank() == root) reduce_part(type, reduction, 0, count, to);
    meeting_->meet(rank(), call);
  }

  void reduce_scatter(void *to, const void *from, std::size_t count, ScalarType type, ReduceOp reduction,
                      const Stream &, const CallName &call) override {
    enter(call, to, from, count * size_of(type));
    const std::size_t skipped = static_cast<std::size_t>(rank()) * count;
    reduce_part(type, reduction, skipped, skipped + count, static_cast<std::byte *>(to) - skipped * size_of(type));
    meeting_->meet(rank(), call);
  }

  void broadcast(void *data, std::size_t bytes, int root, const Stream &, const CallName &call) override {
    enter(call, data, data, bytes);
    if (rank() != root) copy(data, meeting_->place(root).from, 0, bytes);
    meeting_->meet(rank(), call);
  }

  void all_gather(void *to, const void *from, std::size_t bytes, const Stream &, const CallName &call) override {
    enter(call, to, from, bytes);
    for (int other = 0; other < size(); ++other) {
      auto *place = static_cast<std::byte *>(to) + static_cast<std::size_t>(other) * bytes;
      if (bytes != 0) std::memmove(place, meeting_->place(other).from, bytes);
    }
    meeting_->meet(rank(), call);
  }

  void exchange(std::span<const Message> sends, std::span<const Message> receives, const Stream &,
                const CallName &call) override {
    ThreadMessages(meeting_, rank(), {sends.begin(), sends.end()}, {receives.begin(), receives.end()}, nullptr, call)
        .finish(call);
  }
  std::unique_ptr<MessagesUnderWay> start(std::vector<Message> sends, std::vector<Message> receives,
                                          std::shared_ptr<const void> memory, const Stream &,
                                          const CallName &call) override {
    return std::make_unique<ThreadMessages>(meeting_, rank(), std::move(sends), std::move(receives), std::move(memory),
                                            call);
  }

  void barrier(const Stream &, const CallName &call) override { meeting_->meet(rank(), call); }

  void synchronize(const Stream &stream, const CallName &) override { stream.synchronize(); }

  std::shared_ptr<Transport> split(int colour, int key, const CallName &call) override {
    Meeting::Place &own = meeting_->place(rank());
    own.colour = colour, own.key = key, own.split = nullptr;
    meeting_->meet(rank(), call);
    std::vector<int> members;
    for (int other = 0; other < size(); ++other)
      if (meeting_->place(other).colour == colour) members.push_back(other);
    std::ranges::stable_sort(members, {}, [&](int member) { return meeting_->place(member).key; });
    if (members.front() == rank()) {
      const auto meeting = std::make_shared<Meeting>(static_cast<int>(members.size()), meeting_->timeout());
      for (std::size_t i = 0; i < members.size(); ++i) {
        Meeting::Place &place = meeting_->place(members[i]);
        place.split = meeting, place.rank_of_split = static_cast<int>(i);
      }
    }
    meeting_->meet(rank(), call);
    return std::make_shared<ThreadTransport>(own.rank_of_split, std::move(own.split));
  }

  void abort(const std::string &reason) noexcept override { meeting_->abort(reason); }

 private:
  // Returns when all ranks have announced their arrays. UserError if they make different calls.
  void enter(const CallName &call, void *to, const void *from, std::size_t bytes) {
    Meeting::Place &own = meeting_->place(rank());
    own.call = call, own.to = to, own.from = from, own.bytes = bytes;
    meeting_->meet(rank(), call);
    for (int other = 0; other < size(); ++other) {
      const Meeting::Place &place = meeting_->place(other);
      if (place.bytes == own.bytes && same_call(place.call, call)) continue;
      const std::string text = fmt::format(
          "{} on rank {} of {} is met by {} on rank {}{}: all ranks must make the same calls in the same "
          "order",
          call.to_string(), rank(), size(), place.call.to_string(), other,
          place.bytes == own.bytes ? "" : fmt::format(", of {} bytes where this one has {}", place.bytes, own.bytes));
      meeting_->abort(text);
      throw UserError(text);
    }
  }

  std::pair<std::size_t, std::size_t> part(std::size_t count, int of) const {
    const auto ranks = static_cast<std::size_t>(size()), number = static_cast<std::size_t>(of);
    const std::size_t each = count / ranks, more = count % ranks;
    const std::size_t begin = number * each + std::min(number, more);
    return {begin, begin + each + (number < more ? 1 : 0)};
  }

  // `to` is the address of element 0.
  void reduce_part(ScalarType type, ReduceOp reduction, std::size_t begin, std::size_t end, void *to) const {
    if (begin == end) return;
    const std::size_t skipped = begin * size_of(type);
    std::vector<const void *> from;
    for (int other = 0; other < size(); ++other)
      from.push_back(static_cast<const std::byte *>(meeting_->place(other).from) + skipped);
    reduce_values(type, reduction, end - begin, from, static_cast<std::byte *>(to) + skipped);
  }

  static void copy(void *to, const void *from, std::size_t begin, std::size_t bytes) {
    if (bytes != 0)
      std::memcpy(static_cast<std::byte *>(to) + begin, static_cast<const std::byte *>(from) + begin, bytes);
  }

  std::shared_ptr<Meeting> meeting_;
};

}  // namespace

std::vector<std::shared_ptr<Transport>> thread_transports(int size, Timeout timeout) {
  const auto meeting = std::make_shared<Meeting>(size, timeout);
  std::vector<std::shared_ptr<Transport>> transports;
  for (int rank = 0; rank < size; ++rank) transports.push_back(std::make_shared<ThreadTransport>(rank, meeting));
  return transports;
}

}  // namespace samite::distributed
