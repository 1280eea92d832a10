#include "samite/passes/simplify/computed.h"

#include <utility>

namespace samite::passes {

using namespace ir;

namespace {

// Operations that commute exactly, in floating arithmetic too. min and max do not: the order decides between 0 and -0.
bool commutes(Op op) {
  switch (op) {
    case Op::Add:
    case Op::Mul:
    case Op::And:
    case Op::Or:
    case Op::Xor:
    case Op::Equal:
    case Op::NotEqual: return true;
    default: return false;
  }
}

std::size_t mixed(std::uint64_t x) {
  x *= 0x9e3779b97f4a7c15u;
  return static_cast<std::size_t>(x ^ x >> 29);
}

std::size_t hash_of(const Operation &operation, std::uint32_t epoch) {
  std::size_t hash = mixed(static_cast<std::uint64_t>(operation.op) << 56 ^
                           static_cast<std::uint64_t>(operation.type.element()) << 48 ^
                           std::uint64_t{operation.array} << 24 ^ static_cast<std::uint32_t>(operation.attribute)) +
                     epoch;
  const bool in_order = !commutes(operation.op);
  for (const Value &operand : operation.operands) {
    const std::size_t more = mixed(operand.bits() ^ static_cast<std::uint64_t>(operand.kind()) << 62);
    hash = in_order ? mixed(hash ^ more) : hash + more;
  }
  return mixed(hash);
}

bool same(const Operation &a, const Operation &b) {
  if (a.op != b.op || a.type != b.type || a.array != b.array || a.attribute != b.attribute) return false;
  if (a.operands == b.operands) return true;
  return commutes(a.op) && a.operands[0] == b.operands[1] && a.operands[1] == b.operands[0];
}

}  // namespace

std::optional<LocalId> Computed::find(const Operation &operation, std::uint32_t epoch) const {
  const std::size_t hash = hash_of(operation, epoch);
  for (std::uint32_t at = heads_[hash % heads_.size()]; at != none; at = entries_[at].next) {
    const Entry &entry = entries_[at];
    if (entry.hash == hash && entry.epoch == epoch && same(*entry.operation, operation)) return entry.local;
  }
  return std::nullopt;
}

void Computed::add(const Operation &operation, std::uint32_t epoch, LocalId local) {
  if (entries_.size() == heads_.size()) grow();
  const std::size_t hash = hash_of(operation, epoch);
  std::uint32_t &head = heads_[hash % heads_.size()];
  entries_.push_back({hash, &operation, epoch, local, head});
  head = static_cast<std::uint32_t>(entries_.size() - 1);
}

void Computed::shrink(std::size_t size) {
  for (; entries_.size() > size; entries_.pop_back())
    heads_[entries_.back().hash % heads_.size()] = entries_.back().next;
}

void Computed::grow() {
  heads_.assign(2 * heads_.size(), none);
  for (std::uint32_t at = 0; at < entries_.size(); ++at) {
    std::uint32_t &head = heads_[entries_[at].hash % heads_.size()];
    entries_[at].next = std::exchange(head, at);
  }
}

}  // namespace samite::passes
