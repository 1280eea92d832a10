#include "samite/distributed/ghost_exchange.h"

#include "samite/distributed/array_memory.h"
#include "samite/jit/graph_capture.h"
#include "samite/runtime/event.h"

#include <cstring>
#include <utility>
#include <vector>

namespace samite::distributed {
namespace {

// Work queued in `later` from now on waits for the work queued in `earlier` so far.
void let_wait(const Stream &later, const Stream &earlier) {
  if (later == earlier) return;
  Event event;
  event.record(earlier);
  later.wait(event);
}

AnyBuffer pool_memory(Device device, ScalarType type, std::int64_t count) {
  const std::size_t bytes = static_cast<std::size_t>(count) * size_of(type);
  return {std::make_shared<Storage>(device, bytes, Storage::FromPool{}), type, {count}};
}

std::vector<Message> messages_of(std::byte *packed, ScalarType type, std::span<const GhostMessage> messages) {
  std::vector<Message> result;
  for (const GhostMessage &message : messages)
    result.push_back({packed + static_cast<std::size_t>(message.first) * size_of(type),
                      static_cast<std::size_t>(message.box.count()) * size_of(type), message.rank});
  return result;
}

std::byte *bytes_of(const AnyBuffer &buffer) { return static_cast<std::byte *>(buffer.data()); }

}  // namespace

AnyBuffer view_of(const AnyBuffer &array, const Box &box) {
  AnyBuffer view = array;
  for (int d = 0; d < box.rank; ++d) {
    const auto at = static_cast<std::size_t>(d);
    view = view.slice(d, box.begin[at], box.end[at]);
  }
  return view;
}

GhostExchange::GhostExchange(const Communicator &ranks, std::shared_ptr<const GhostPlan> plan,
                             std::shared_ptr<const GhostTables> tables, const AnyBuffer &array,
                             std::optional<Stream> apart, const CallName &call)
    : ranks_(ranks),
      plan_(std::move(plan)),
      tables_(std::move(tables)),
      array_(array),
      apart_(std::move(apart)),
      call_(call) {}

// A graph's kernels are launched into the stream that it captures.
const Stream &GhostExchange::copies() const {
  return apart_ && !jit::GraphCapture::current() ? *apart_ : ranks_.stream();
}

AnyBuffer GhostExchange::received(bool back) const {
  return packed_.slice(0, back ? plan_->received_count : plan_->sent_count, packed_.count());
}

void GhostExchange::send(const AnyBuffer &from, bool back, const CallName &call) {
  const auto &sent = back ? plan_->received : plan_->sent, &received = back ? plan_->sent : plan_->received;
  const std::int64_t sent_count = back ? plan_->received_count : plan_->sent_count;
  const std::int64_t count = plan_->sent_count + plan_->received_count;
  const Device device = array_.device();
  const ScalarType type = array_.type();
  packed_ = from.valid() ? pool_memory(device, type, count) : AnyBuffer(device, type, {count});
  // Backward, the tape clears the gradients of ghosts, in the communicator's stream.
  const Stream &packing = back ? ranks_.stream() : copies(), &messages = apart_ ? *apart_ : ranks_.stream();
  if (on_cpu() && from.valid()) {
    pack_ghosts(from, sent, bytes_of(packed_));
  } else if (from.valid()) {
    let_wait(packing, ranks_.stream());
    const AnyBuffer packed = packed_.slice(0, 0, sent_count);
    back ? tables_->pack_received(packed, from, packing) : tables_->pack_sent(packed, from, packing);
  }
  let_wait(messages, packing);
  // In a graph, which keeps the memory, only the event above orders the two streams: the host cannot wait for either.
  auto *bytes = static_cast<std::byte *>(used_in(jit::GraphCapture::current() ? packing : messages, packed_));
  under_way_ = ranks_.transport().start(
      messages_of(bytes, type, sent),
      messages_of(bytes + static_cast<std::size_t>(sent_count) * size_of(type), type, received), packed_.storage(),
      messages, call);
}

void GhostExchange::start() { send(array_, false, call_); }

void GhostExchange::finish() {
  std::exchange(under_way_, nullptr)->finish(call_);
  const AnyBuffer packed = received(false);
  if (on_cpu()) {
    unpack_ghosts(array_, plan_->received, bytes_of(packed));
  } else {
    if (apart_) let_wait(copies(), *apart_);
    tables_->unpack_received(array_, packed, copies());
    let_wait(ranks_.stream(), copies());
  }
  for (const Box &box : plan_->ghosts) view_of(array_, box).mark_written();
  packed_ = AnyBuffer();
}

void GhostExchange::start_back() {
  CallName call = call_;
  call.operation = "adjoint of exchange";
  send(array_.tracks_gradient() ? array_.gradient() : AnyBuffer(), true, call);
}

void GhostExchange::finish_back() {
  CallName call = call_;
  call.operation = "adjoint of exchange";
  std::exchange(under_way_, nullptr)->finish(call);
  if (array_.tracks_gradient()) {
    const AnyBuffer packed = received(true), gradient = array_.gradient();
    if (on_cpu()) {
      add_ghosts(gradient, plan_->sent, bytes_of(packed));
    } else {
      // The adjoints that ran meanwhile have added to the same gradients.
      if (apart_) let_wait(ranks_.stream(), *apart_);
      tables_->add_sent(gradient, packed, ranks_.stream());
    }
  }
  packed_ = AnyBuffer();
}

}  // namespace samite::distributed
