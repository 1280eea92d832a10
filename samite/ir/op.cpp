#include "samite/ir/op.h"

#include <unordered_map>

namespace samite::ir {
namespace {

constexpr OpInfo table[] = {
#define SAMITE_ROW(name, text, arity, typing, pure) {text, arity, Typing::typing, pure},
    SAMITE_OPS(SAMITE_ROW)
#undef SAMITE_ROW
};

}  // namespace

const OpInfo &info(Op op) { return table[static_cast<std::size_t>(op)]; }

Op combination(Op atomic) {
  switch (atomic) {
    case Op::AtomicAdd: return Op::Add;
    case Op::AtomicMin: return Op::Min;
    case Op::AtomicMax: return Op::Max;
    case Op::AtomicAnd: return Op::And;
    case Op::AtomicOr: return Op::Or;
    case Op::AtomicXor: return Op::Xor;
    default: return Op::Copy;
  }
}

std::optional<Op> op_from_name(std::string_view name) {
  static const auto by_name = [] {
    std::unordered_map<std::string_view, Op> map;
    for (std::size_t i = 0; i < std::size(table); ++i) map.emplace(table[i].name, static_cast<Op>(i));
    return map;
  }();
  auto found = by_name.find(name);
  return found == by_name.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace samite::ir
