#include "samite/distributed/nccl_library.h"

#include "samite/base/dynamic_library.h"
#include "samite/base/error.h"

#include <fmt/format.h>

#include <cstdlib>
#include <mutex>

namespace samite::distributed {
namespace {

constexpr int oldest_version = 21800, first_version_with_float8 = 22400;

std::string version_of(int version) {
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

std::shared_ptr<const Nccl> open_library() {
  const char *named = std::getenv("SAMITE_NCCL");
  const std::string path = named && *named ? named : "libnccl.so.2";
  try {
    // NCCL runs threads of its own.
    const DynamicLibrary library(path, Unloading::never);
    NcclTable table;
#define SAMITE_FILL(name, parameters) \
  table.name = reinterpret_cast<decltype(table.name)>(library.find_symbol("nccl" #name));
    SAMITE_NCCL_ENTRY_POINTS(SAMITE_FILL)
    SAMITE_FILL(GetErrorString, )
    SAMITE_FILL(GetLastError, )
#undef SAMITE_FILL
    return std::make_shared<Nccl>(table);
  } catch (const DeviceError &error) {
    throw DeviceError(
        fmt::format("no NCCL: {}\nIt is in NVIDIA's package libnccl2, and in the Python package "
                    "nvidia-nccl-cu12; SAMITE_NCCL may name the file.",
                    error.what()));
  }
}

std::mutex provided_mutex;
std::shared_ptr<const Nccl> &provided() {
  static std::shared_ptr<const Nccl> nccl;
  return nccl;
}

}  // namespace

Nccl::Nccl(const NcclTable &table) : table_(table) {
  if (table_.GetVersion) table_.GetVersion(&version_);
  if (version_ < oldest_version)
    throw DeviceError(
        fmt::format("NCCL {} is too old: Samite needs {} or newer", version_of(version_), version_of(oldest_version)));
#define SAMITE_REQUIRE(name, parameters) \
  if (!table_.name) throw DeviceError("the NCCL library lacks nccl" #name);
  SAMITE_NCCL_ENTRY_POINTS(SAMITE_REQUIRE)
#undef SAMITE_REQUIRE
}

std::shared_ptr<const Nccl> Nccl::system() {
  const std::lock_guard lock(provided_mutex);
  std::shared_ptr<const Nccl> &nccl = provided();
  if (!nccl) nccl = open_library();
  return nccl;
}

void Nccl::provide(std::shared_ptr<const Nccl> nccl) noexcept {
  const std::lock_guard lock(provided_mutex);
  provided() = std::move(nccl);
}

void Nccl::check(NcclResult result, const std::string &call, NcclComm *comm) const {
  if (result == NcclResult::success || result == NcclResult::in_progress) return;
  std::string reason = table_.GetErrorString ? table_.GetErrorString(result) : "an unknown error";
  if (const char *last = table_.GetLastError ? table_.GetLastError(comm) : nullptr; last && *last)
    reason += fmt::format(": {}", last);
  throw DeviceError(call, fmt::format("NCCL {}: {} (code {})", version_of(version_), reason, static_cast<int>(result)));
}

std::optional<int> nccl_type(ScalarType type, int version) {
  const bool has_float8 = version >= first_version_with_float8;
  switch (type) {
    case ScalarType::Int8: return 0;
    case ScalarType::Bool:
    case ScalarType::UInt8: return 1;
    case ScalarType::Int32: return 2;
    case ScalarType::UInt32: return 3;
    case ScalarType::Int64: return 4;
    case ScalarType::UInt64: return 5;
    case ScalarType::Float16: return 6;
    case ScalarType::Float32: return 7;
    case ScalarType::Float64: return 8;
    case ScalarType::BFloat16: return 9;
    case ScalarType::Float8E4M3: return has_float8 ? std::optional(10) : std::nullopt;
    case ScalarType::Float8E5M2: return has_float8 ? std::optional(11) : std::nullopt;
    case ScalarType::Int16:
    case ScalarType::UInt16: return {};
  }
  return {};
}

int nccl_operation(ReduceOp reduction) {
  switch (reduction) {
    case ReduceOp::sum: return 0;
    case ReduceOp::product: return 1;
    case ReduceOp::max: return 2;
    case ReduceOp::min: return 3;
    case ReduceOp::average: return 4;
  }
  return 0;
}

}  // namespace samite::distributed
