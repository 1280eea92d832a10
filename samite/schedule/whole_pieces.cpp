#include "samite/schedule/whole_pieces.h"

#include <algorithm>

namespace samite::schedules {

using namespace ir;
using passes::Symbol;

namespace {

// Those that are known before the loops from number `from` on are opened.
std::vector<Nest::Piece> known_pieces(const Lowering &lowering, const Site &site, std::size_t from) {
  std::vector<Nest::Piece> pieces;
  for (const Nest::Piece &piece : site.nest.pieces) {
    bool known = true;
    for (std::size_t l = from; l < site.nest.loops.size(); ++l)
      known = known && !lowering.symbols.depends_on(piece.outer,
                                                    [&](const Symbol &s) { return s == site.nest.loops[l].symbol; });
    if (known) pieces.push_back(piece);
  }
  return pieces;
}

}  // namespace

bool gains_by_whole_pieces(const Lowering &lowering, const Site &site, std::size_t from) {
  return any_inside(lowering, site, from, LoopType::gpu_thread) ||
         any_inside(lowering, site, from, LoopType::unrolled) ||
         std::ranges::any_of(computed_inside(lowering, site, from),
                             [&](std::uint32_t f) { return lowering.schedules[f].space == MemorySpace::registers; });
}

void whole_or_not(Lowering &lowering, const Site &site, std::size_t first, std::size_t from,
                  const std::function<void(const Site &)> &inside) {
  if (lowering.kernel.in_rest) return inside(site);
  if (!gains_by_whole_pieces(lowering, site, first)) return inside(site);
  std::optional<Value> all;
  for (const Site *of : all_sites(site))
    for (const Nest::Piece &piece : known_pieces(lowering, *of, from)) {
      const Value is_whole =
          lowering.write(Op::Less, lowering.integers.value_of(piece.outer), lowering.integers.value_of(piece.whole));
      all = all ? lowering.write(Op::And, *all, is_whole) : is_whole;
    }
  if (!all) return inside(site);
  const WholePieces whole = [&](const Site &of) {
    std::set<std::size_t> relations = of.whole;
    for (const Nest::Piece &piece : known_pieces(lowering, of, from)) relations.insert(piece.relation);
    return relations;
  };
  If branch{*all, {}, {}, {}};
  lowering.into(branch.then_block, [&] {
    // The same loops again; open ones keep their symbols.
    inside(same_with_whole_pieces(lowering, site, whole, from));
  });
  lowering.kernel.in_rest = true;
  {
    const LoopNest::Silence silence(lowering.nest);
    lowering.into(branch.else_block, [&] { inside(site); });
  }
  lowering.kernel.in_rest = false;
  lowering.write.out->emplace_back(std::move(branch), lowering.write.where);
}

}  // namespace samite::schedules
