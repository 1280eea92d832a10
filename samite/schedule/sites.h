// A definition whose loops are being written, with the work to be done inside them.
#pragma once

#include "samite/schedule/lowering.h"

#include <set>

namespace samite::schedules {

struct Follower;

struct Site {
  std::uint32_t function;
  std::size_t number;
  const Definition &definition;
  const DefinitionSchedule &schedule;
  Forms forms;
  Nest nest;
  std::set<std::size_t> whole;      // splits whose pieces are all whole here
  std::vector<Follower> followers;  // which share the outermost of these loops
};

// The loops that a follower shares with its leader have the leader's symbols and extents.
struct Follower {
  Site site;
  std::size_t loops;  // the number of shared loops
  SourceLocation where;
};

// The site and its followers.
std::vector<const Site *> all_sites(const Site &site);
std::vector<Site *> all_sites(Site &site);

// `outermost`: the symbols of the outermost loops, if they are open.
Site site_of(Lowering &lowering, std::uint32_t f, std::size_t n, const DefinitionSchedule &schedule,
             const Region &region, const std::set<std::size_t> &whole_pieces,
             const std::vector<passes::Symbol> &outermost = {});
// The site with these followers, whose shared loops have its symbols.
Site with_followers(Lowering &lowering, Site site, std::vector<Follower> followers);
std::vector<passes::Symbol> symbols_of(const Site &site, std::size_t loops);
// For each site, the splits whose pieces are all whole.
using WholePieces = std::function<std::set<std::size_t>(const Site &)>;
// The same loops again; the first `opened` are open and keep their symbols.
Site same_with_whole_pieces(Lowering &lowering, const Site &site, const WholePieces &whole, std::size_t opened);
// Substitutes an iteration for the loop with this symbol.
void put(Site &site, const passes::Symbol &symbol, const passes::Affine &instead);

// An integer of the definition, in symbols of the loops; unknown if it is no form.
passes::Affine in_loops(const Lowering &lowering, const Site &site, const ir::Value &index);

// The boxes that the loops from number `from` on need, inside the open loops, of functions that have no values yet.
Boxes needed(const Lowering &lowering, const Site &site, std::size_t from, const Trim &trim = {});

// The functions that are called by a definition, directly or through others, and have no values yet.
std::set<std::uint32_t> reachable(const Lowering &lowering, const Definition &definition, std::uint32_t self);
std::set<std::uint32_t> reachable(const Lowering &lowering, const Site &site);
// Those of them that are computed inside the loops from number `from` on, or inside the loops of such functions.
std::set<std::uint32_t> computed_inside(const Lowering &lowering, const Site &site, std::size_t from);
// Whether a function is in shared memory: allocated already, outside of these loops, or still to be allocated.
bool shared_here(const Lowering &lowering, std::uint32_t f);
// Whether these loops contain a block-level step.
bool meets_inside(const Lowering &lowering, const Site &site, std::size_t from);
bool has_type(const DefinitionSchedule &schedule, LoopType type);
bool any_inside(const Lowering &lowering, const Site &site, std::size_t from, LoopType type);

// A loop's line in the printed loop nest.
NestLine line_of(const Lowering &lowering, const Site &site, const NestLoop &loop, const char *kind);

}  // namespace samite::schedules
