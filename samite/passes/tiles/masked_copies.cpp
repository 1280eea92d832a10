#include "samite/passes/tiles/masked_copies.h"

#include <optional>

namespace samite::passes {
namespace {

using namespace ir;

class Reader {
 public:
  Reader(const For &loop, const std::map<LocalArrayId, const TileLoad *> &loads) : loop_(loop), loads_(loads) {
    for (const Stmt &stmt : loop.body)
      if (const auto *let = stmt.as<Let>()) lets_.emplace(let->local, &let->value);
  }

  std::optional<MaskedCopy> copy(const LocalStore &store) const {
    const Operation *select = made(store.value);
    if (!select || select->op != Op::Select || !is_index(store.index)) return std::nullopt;
    const Operation *below = made(select->operands[0]), *load = made(select->operands[1]);
    const Value &otherwise = select->operands[2];
    const bool zero = otherwise.is_constant() && otherwise.bits() == 0;
    if (!zero || !below || below->op != Op::Less || !load || load->op != Op::LocalLoad || !is_index(load->operands[0]))
      return std::nullopt;
    const auto loaded = loads_.find(load->array);
    const Value &limit = below->operands[1];
    if (loaded == loads_.end() || made(limit) || limit.type() != ScalarType::Int32) return std::nullopt;
    const Type &tile = loaded->second->result.type;
    if (tile.count() != loop_.end.as_int()) return std::nullopt;
    const auto dimension = coordinate(below->operands[0], tile.shape());
    if (!dimension) return std::nullopt;
    return MaskedCopy{load->array, store.array, *dimension, limit};
  }

 private:
  const Operation *made(const Value &value) const {
    const auto known = value.is_local() ? lets_.find(value.id()) : lets_.end();
    return known == lets_.end() ? nullptr : known->second;
  }
  bool is_index(const Value &value) const { return value.is_local() && value.id() == loop_.index; }

  // The dimension of a two-dimensional tile whose coordinate this is, for the loop's current element.
  std::optional<int> coordinate(const Value &value, const TileShape &shape) const {
    const Operation *own = made(value);
    if (!own || shape.rank() != 2 || own->operands.size() != 2 || !is_index(own->operands[0]) ||
        !own->operands[1].is_constant() || own->operands[1].as_int() != shape[1])
      return std::nullopt;
    if (own->op == Op::Div) return 0;
    return own->op == Op::Rem ? std::optional(1) : std::nullopt;
  }

  const For &loop_;
  const std::map<LocalArrayId, const TileLoad *> &loads_;
  std::map<LocalId, const Operation *> lets_;
};

}  // namespace

std::vector<MaskedCopy> masked_copies(const For &elements, const std::map<LocalArrayId, const TileLoad *> &loads) {
  const auto is_number = [](const Value &value, std::int64_t number) {
    return value.is_constant() && value.as_int() == number;
  };
  if (elements.kind != LoopKind::Thread || !elements.carried.empty() || !is_number(elements.begin, 0) ||
      !is_number(elements.step, 1) || !elements.end.is_constant())
    return {};
  const Reader reader(elements, loads);
  std::vector<MaskedCopy> copies;
  for (const Stmt &stmt : elements.body) {
    const auto *let = stmt.as<Let>();
    if (let && (info(let->value.op).pure || let->value.op == Op::LocalLoad)) continue;
    const auto *store = stmt.as<LocalStore>();
    const auto copy = store ? reader.copy(*store) : std::nullopt;
    if (!copy) return {};
    copies.push_back(*copy);
  }
  return copies;
}

}  // namespace samite::passes
