// An exchange of a grid's ghosts: the messages of one array, forward and backward.
#pragma once

#include "samite/distributed/communicator.h"
#include "samite/distributed/ghost_packing.h"

#include <memory>
#include <optional>
#include <span>

namespace samite::distributed {

class GhostExchange {
 public:
  // On CUDA messages travel in the stream `apart`, if it is given, between start() and finish(): they are unordered
  // with the work that is queued in the communicator's stream meanwhile. `tables` are for CUDA.
  GhostExchange(const Communicator &ranks, std::shared_ptr<const GhostPlan> plan,
                std::shared_ptr<const GhostTables> tables, const AnyBuffer &array, std::optional<Stream> apart,
                const CallName &call);

  const AnyBuffer &array() const { return array_; }

  // Until finish(), which writes the ghosts, the elements that start() sends must not change.
  void start();
  void finish();
  // The gradients of ghosts return to the ranks of their elements, where finish_back() adds them.
  void start_back();
  void finish_back();
  // Abandons messages under way, and the communicator with them.
  void abandon() { under_way_.reset(); }

 private:
  bool on_cpu() const { return tables_ == nullptr; }
  // An array without memory sends zeros.
  void send(const AnyBuffer &from, bool back, const CallName &call);
  // The stream that packs and unpacks.
  const Stream &copies() const;
  AnyBuffer received(bool back) const;

  Communicator ranks_;
  std::shared_ptr<const GhostPlan> plan_;
  std::shared_ptr<const GhostTables> tables_;
  AnyBuffer array_;
  std::optional<Stream> apart_;
  CallName call_;
  AnyBuffer packed_;  // sent elements, then received ones; only while messages are under way
  std::unique_ptr<MessagesUnderWay> under_way_;
};

AnyBuffer view_of(const AnyBuffer &array, const Box &box);

}  // namespace samite::distributed
