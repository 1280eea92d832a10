// The exchange of a grid's ghosts, on tapes and in graphs.
#include "samite/distributed/collective_call.h"
#include "samite/distributed/ghost_exchange.h"
#include "samite/distributed/grid.h"

#include <limits>

namespace samite {

using namespace distributed;

namespace {

CallName call_of(const AnyBuffer &array, const GhostPlan &plan, SourceLocation where) {
  return {.operation = "exchange", .where = where, .count = plan.sent_count, .type = array.type()};
}

// Messages of views, each copied on its own.
void exchange_views(const Communicator &ranks, const GhostPlan &plan, const AnyBuffer &array, SourceLocation where) {
  std::vector<ArrayMessage> sent, received;
  for (const GhostMessage &message : plan.sent) sent.push_back({view_of(array, message.box), message.rank});
  for (const GhostMessage &message : plan.received) received.push_back({view_of(array, message.box), message.rank});
  samite::exchange(ranks, sent, received, where);
}

std::vector<AnyBuffer> ghosts_of(const AnyBuffer &array, const GhostPlan &plan) {
  std::vector<AnyBuffer> views;
  for (const Box &box : plan.ghosts) views.push_back(view_of(array, box));
  return views;
}

TapeFunction without_values(const char *name, std::vector<AnyBuffer> outputs, std::vector<AnyBuffer> inputs,
                            std::function<void()> forward, std::function<void()> backward) {
  return {std::move(outputs),
          std::move(inputs),
          std::move(forward),
          [backward = std::move(backward)](const FunctionGradients &) { backward(); },
          {.name = name, .reads_inputs = false, .reads_outputs = false}};
}

}  // namespace

// Abandons messages under way if the work meanwhile throws.
class Grid::Pending {
 public:
  explicit Pending(std::vector<std::shared_ptr<GhostExchange>> exchanges) : exchanges_(std::move(exchanges)) {}
  Pending(const Pending &) = delete;
  Pending &operator=(const Pending &) = delete;
  ~Pending() {
    for (const auto &each : exchanges_) each->abandon();
  }

 private:
  std::vector<std::shared_ptr<GhostExchange>> exchanges_;
};

void Grid::plan_exchange() {
  BlockShape shape{.block = block_, .ghosts = ghosts_, .neighbours = {}, .rank_in = {}};
  for (int d = 0; d < rank(); ++d) shape.neighbours.push_back({neighbour(d, -1) >= 0, neighbour(d, 1) >= 0});
  shape.rank_in = [this](const std::vector<int> &direction) {
    std::vector<int> position = position_;
    for (std::size_t d = 0; d < position.size(); ++d)
      position[d] = (position[d] + direction[d] + blocks_[d]) % blocks_[d];
    return rank_at(position);
  };
  plan_ = std::make_shared<const GhostPlan>(ghost_plan(shape));
  if (ranks_.device().kind() == DeviceKind::cpu || plan_->sent.empty()) return;
  apart_ = Stream(ranks_.device(), -1);
  if (padded_.count() <= std::numeric_limits<std::int32_t>::max())
    tables_ = std::make_shared<const GhostTables>(ranks_.device(), padded_, *plan_);
}

bool Grid::packs(const AnyBuffer &array) const {
  return ranks_.device().kind() == DeviceKind::cpu || (tables_ && has_gradients(array.type()) && array.is_contiguous());
}

void Grid::exchange(const AnyBuffer &array, SourceLocation where) const {
  check_array(array, where);
  if (plan_->sent.empty()) return;
  if (!packs(array)) return exchange_views(ranks_, *plan_, array, where);
  const auto call = call_of(array, *plan_, where);
  if (runs_alone()) {
    GhostExchange exchange{ranks_, plan_, tables_, array, {}, call};
    exchange.start();
    return exchange.finish();
  }
  const auto exchange = std::make_shared<GhostExchange>(ranks_, plan_, tables_, array, std::nullopt, call);
  const bool differentiable = has_gradients(array.type());
  run_on_tapes(ranks_,
               without_values(
                   call.operation, ghosts_of(array, *plan_), {view_of(array, plan_->own)},
                   [exchange] { exchange->start(), exchange->finish(); },
                   [exchange, differentiable] {
                     if (differentiable) exchange->start_back(), exchange->finish_back();
                   }),
               where);
}

void Grid::exchange(const std::vector<AnyBuffer> &arrays, const std::function<void(const GridPart &)> &work,
                    SourceLocation where) const {
  std::vector<std::shared_ptr<GhostExchange>> exchanges;
  for (const AnyBuffer &array : arrays) check_array(array, where);
  if (!plan_->sent.empty())
    for (const AnyBuffer &array : arrays) {
      if (!packs(array))
        exchange_views(ranks_, *plan_, array, where);
      else
        exchanges.push_back(
            std::make_shared<GhostExchange>(ranks_, plan_, tables_, array, apart_, call_of(array, *plan_, where)));
    }
  const Pending pending{exchanges};
  // Two entries of a tape: backward, the second one sends the ghosts' gradients back, and the first one receives them,
  // after the adjoints of the interior.
  for (const auto &exchange : exchanges) {
    const AnyBuffer &array = exchange->array();
    const bool differentiable = has_gradients(array.type());
    const auto start = [exchange] { exchange->start(); };
    if (runs_alone())
      start();
    else
      run_on_tapes(ranks_,
                   without_values("start of an exchange", {}, {view_of(array, plan_->own)}, start,
                                  [exchange, differentiable] {
                                    if (differentiable) exchange->finish_back();
                                  }),
                   where);
  }
  if (plan_->interior) work(*plan_->interior);
  for (const auto &exchange : exchanges) {
    const bool differentiable = has_gradients(exchange->array().type());
    const auto finish = [exchange] { exchange->finish(); };
    if (runs_alone())
      finish();
    else
      run_on_tapes(ranks_,
                   without_values("exchange", ghosts_of(exchange->array(), *plan_), {}, finish,
                                  [exchange, differentiable] {
                                    if (differentiable) exchange->start_back();
                                  }),
                   where);
  }
  for (const GridPart &part : plan_->border) work(part);
}

const std::optional<GridPart> &Grid::interior() const { return plan_->interior; }
const std::vector<GridPart> &Grid::border() const { return plan_->border; }

}  // namespace samite
