#include "samite/jit/tangent_launches.h"

#include "samite/base/error.h"
#include "samite/base/thread_mode.h"
#include "samite/jit/host_operations.h"

namespace samite::jit {
namespace {

thread_local TangentLaunches *current_launches = nullptr;

// Makes `launches` current for its own lifetime; with null, launches run unchanged.
class Scope {
 public:
  explicit Scope(TangentLaunches *launches) : outer_(current_launches) { change_to(launches); }
  ~Scope() { change_to(outer_); }
  Scope(const Scope &) = delete;
  Scope &operator=(const Scope &) = delete;

 private:
  static void change_to(TangentLaunches *launches) {
    current_launches = launches;
    if (launches)
      begin(ThreadMode::computes_tangents);
    else
      end(ThreadMode::computes_tangents);
  }

  TangentLaunches *outer_;
};

}  // namespace

TangentLaunches *TangentLaunches::current() { return current_launches; }

void TangentLaunches::run(const std::function<void()> &work) {
  if (current_launches)
    throw UserError("this thread computes a Hessian-vector product already; end that before another begins");
  handle_host_operations();
  Scope scope(this);
  work();
}

AnyBuffer TangentLaunches::of(const AnyBuffer &buffer) {
  Shadow &shadow = shadows_[buffer.storage().get()];
  if (!shadow.tangents) {
    auto tangents = std::make_shared<Storage>(buffer.device(), buffer.storage()->bytes());
    tangents->track_gradient();
    if (!buffer.name().empty()) tangents->set_name(buffer.name() + " (tangent)");
    shadow = {buffer.storage(), std::move(tangents)};
  }
  return buffer.over(shadow.tangents);
}

void TangentLaunches::launch(const std::shared_ptr<KernelDefinition> &definition, const LaunchExtents &extents,
                             const LaunchOptions &options, std::span<const Argument> arguments) {
  std::uint64_t active = 0;
  std::vector<AnyBuffer> tangents;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const AnyBuffer *buffer = arguments[i].buffer;
    if (!buffer || !buffer->tracks_gradient()) continue;
    active |= std::uint64_t{1} << i;
    tangents.push_back(of(*buffer));
  }
  Scope as_they_are(nullptr);
  if (active == 0) return launch_once(definition, extents, options, arguments);
  std::vector<Argument> all(arguments.begin(), arguments.end());
  for (const AnyBuffer &tangent : tangents) all.push_back({&tangent});
  launch_once(definition->tangent_kernel(active), extents, options, all);
}

void TangentLaunches::perform(const HostOperation &operation) {
  Scope as_they_are(nullptr);
  samite::perform(operation);
  if (operation.kind == HostOperation::Kind::read || !operation.target.tracks_gradient()) return;
  HostOperation tangents = operation;
  tangents.target = of(operation.target);
  tangents.pinned = nullptr;
  tangents.stream = nullptr;
  const double zero = 0;  // all bits zero, as in every scalar type
  if (operation.kind == HostOperation::Kind::copy && operation.source.tracks_gradient()) {
    tangents.source = of(operation.source);
  } else {  // constants have no tangent
    tangents.kind = HostOperation::Kind::fill;
    tangents.values = &zero;
  }
  samite::perform(tangents);
}

}  // namespace samite::jit
