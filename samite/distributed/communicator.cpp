#include "samite/distributed/communicator.h"

#include "samite/base/error.h"
#include "samite/distributed/mpi_transport.h"
#include "samite/distributed/nccl_transport.h"
#include "samite/distributed/rendezvous.h"
#include "samite/distributed/thread_transport.h"
#include "samite/jit/graph_capture.h"
#include "samite/jit/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

namespace samite {
namespace {

distributed::MpiOptions mpi_options(const CommunicatorOptions &options) {
  return {options.timeout, options.verified.value_or(debug_mode()), options.deterministic};
}

distributed::NcclOptions nccl_options(const CommunicatorOptions &options) {
  return {options.timeout, options.verified.value_or(debug_mode())};
}

Communicator of(std::shared_ptr<distributed::Transport> transport) {
  const Stream stream = Stream::standard(transport->device());
  return {std::move(transport), stream};
}

void refuse_in_capture(const char *call, SourceLocation where) {
  if (jit::GraphCapture::current())
    throw UserError(where, fmt::format("{} waits for other ranks now, and cannot be captured into a graph: the graph's "
                                       "collectives wait for them when it is launched",
                                       call));
}

void require_cuda(Device device, SourceLocation where) {
  if (device.kind() != DeviceKind::cuda)
    throw UserError(where,
                    fmt::format("NCCL works on CUDA devices, {} is given; on the CPU use from_mpi() or of_threads()",
                                device.to_string()));
}

CommunicatorId id_of(const distributed::NcclId &id) {
  CommunicatorId result;
  std::ranges::copy(id.bytes, result.bytes.begin());
  return result;
}
distributed::NcclId id_of(const CommunicatorId &id) {
  distributed::NcclId result{};
  std::ranges::copy(id.bytes, result.bytes);
  return result;
}

}  // namespace

Communicator Communicator::from_mpi(const CommunicatorOptions &options) {
  return of(distributed::mpi_world(distributed::mpi_kind_of_process(), mpi_options(options)));
}

Communicator Communicator::of_mpi(bool handles_are_pointers, std::intptr_t communicator,
                                  const CommunicatorOptions &options) {
  const auto kind = handles_are_pointers ? distributed::MpiKind::open_mpi : distributed::MpiKind::mpich;
  return of(distributed::mpi_transport(kind, communicator, mpi_options(options)));
}

std::vector<Communicator> Communicator::of_threads(int ranks, const CommunicatorOptions &options,
                                                   SourceLocation where) {
  if (ranks < 1) throw UserError(where, fmt::format("a communicator of {} ranks: expected one or more", ranks));
  std::vector<Communicator> communicators;
  for (auto &transport : distributed::thread_transports(ranks, options.timeout))
    communicators.push_back(of(std::move(transport)));
  return communicators;
}

Communicator Communicator::on(const Stream &stream, SourceLocation where) const {
  if (stream.device() != device())
    throw UserError(where,
                    fmt::format("a communicator on {} cannot use a {}", device().to_string(), stream.to_string()));
  return {transport_, stream};
}

Communicator Communicator::from_mpi(Device device, const CommunicatorOptions &options) {
  Communicator world = from_mpi(options);
  if (device.kind() == DeviceKind::cpu) return world;
  distributed::NcclId id{};
  if (world.rank() == 0) id = distributed::new_nccl_id();
  world.transport_->broadcast(id.bytes, sizeof id.bytes, 0, world.stream_, {"from_mpi", {}});
  return of(distributed::nccl_transport(id, world.rank(), world.size(), device, nccl_options(options)));
}

std::vector<Communicator> Communicator::of_devices(const std::vector<Device> &devices,
                                                   const CommunicatorOptions &options, SourceLocation where) {
  if (devices.empty()) throw UserError(where, "a communicator of no devices");
  for (const Device &device : devices) require_cuda(device, where);
  std::vector<Communicator> communicators;
  for (auto &transport : distributed::nccl_transports(devices, nccl_options(options)))
    communicators.push_back(of(std::move(transport)));
  return communicators;
}

CommunicatorId Communicator::new_id() { return id_of(distributed::new_nccl_id()); }

Communicator Communicator::from_id(const CommunicatorId &id, int rank, int size, Device device,
                                   const CommunicatorOptions &options, SourceLocation where) {
  require_cuda(device, where);
  if (size < 1 || rank < 0 || rank >= size)
    throw UserError(where, fmt::format("rank {} of {} is given: expected 0 <= rank < size", rank, size));
  return of(distributed::nccl_transport(id_of(id), rank, size, device, nccl_options(options)));
}

Communicator Communicator::from_nccl(void *communicator, const CommunicatorOptions &options, SourceLocation where) {
  if (!communicator) throw UserError(where, "from_nccl: the ncclComm_t is null");
  return of(distributed::nccl_transport(static_cast<distributed::NcclComm *>(communicator), nccl_options(options)));
}

Communicator Communicator::from_environment(const CommunicatorOptions &options, SourceLocation where) {
  const distributed::Place place = distributed::place_from_environment(where);
  distributed::NcclId id{};
  if (place.rank == 0) id = distributed::new_nccl_id();
  distributed::share_bytes(id.bytes, place, options.timeout);
  return of(
      distributed::nccl_transport(id, place.rank, place.size, Device::cuda(place.local_rank), nccl_options(options)));
}

void Communicator::synchronize(SourceLocation where) const {
  refuse_in_capture("synchronize", where);
  transport_->synchronize(stream_, {"synchronize", where});
}

void Communicator::barrier(SourceLocation where) const {
  refuse_in_capture("barrier", where);
  transport_->barrier(stream_, {"barrier", where});
}

Communicator Communicator::split(int colour, int key, SourceLocation where) const {
  return {transport_->split(colour, key, {"split", where}), stream_};
}

void Communicator::abort(const std::string &reason) const { transport_->abort(reason); }

std::string Communicator::to_string() const {
  return fmt::format("rank {} of {} by {} on {}", rank(), size(), transport_->name(), device().to_string());
}

std::ostream &operator<<(std::ostream &stream, const Communicator &communicator) {
  return stream << communicator.to_string();
}

}  // namespace samite
