// Finds the region of each Func that is needed: boxes of its elements.
//
// A box has an interval for each dimension, with bounds that are forms of loops, parameters and extents. The calls of a
// definition, as its variables run through their ranges, need a box of the called Func, and so on from callers to
// callees. A region is a box with known bounds, in the form in which it is computed.
#pragma once

#include "samite/schedule/forms.h"

#include <functional>
#include <optional>

namespace samite::schedules {

struct Lowering;
class Integers;

// A dimension of a region: from `begin` on, so many. Where those that were asked for are rounded up, and no others are
// loaded for (Tail::predicate_loads), how many that are.
struct Extent {
  passes::Affine begin, extent;
  std::optional<passes::Affine> asked = std::nullopt;
};
using Region = std::vector<Extent>;
using Box = std::vector<passes::Interval>;
// By function.
using Boxes = std::map<std::uint32_t, std::optional<Box>>;

// How far the variables of reductions go.
struct Reductions {
  std::map<ir::LocalId, Extent> extents;
  std::map<const Guard *, passes::Affine> guards;
};

// Of all definitions; what is no form of parameters and extents is computed by the host. UserError where that is loaded
// from an array.
Reductions find_reductions(Lowering &lowering);
// By array, of those that do not begin at zeros, the same of the indices of its first element.
using Origins = std::map<std::uint32_t, std::vector<passes::Affine>>;
Origins find_origins(Lowering &lowering);

// Where the variables of a definition lie in this box: as loaded_box has it.
Environment environment_of(const Lowering &lowering, const Definition &definition, const Box &box);
// `names`: where the least or the greatest of two bounds is no form, both are computed and named.
void unite(std::optional<Box> &box, const Box &with, Integers *names = nullptr);
// What a definition calls while its variables lie in the environment. `whole`: what is called anywhere, of which a part
// is no more.
void add_calls(const Lowering &lowering, const Definition &definition, const Forms &forms,
               const Environment &environment, Boxes &boxes, Integers *names = nullptr, const Boxes *whole = nullptr);
// Makes the box of a function that which is computed of it.
using Trim = std::function<void(std::uint32_t f, Box &box)>;
// From what calls on to what is called; of functions that have no values yet. Boxes grow by what a function's own
// updates touch, and by what the schedule says of its bounds. What is called is needed where the function that calls it
// is computed: in its box, unless `trim` says otherwise.
void follow(const Lowering &lowering, Boxes &boxes, const Trim &trim = {});
// The same from the functions that fill arrays, before any loop: what is no short form is computed by the host and
// named, so that forms do not grow from function to function. What is called of each function is kept as that of the
// whole.
void follow_from_outputs(Lowering &lowering, Boxes &boxes);

// Which index the first element of one of the pipeline's own arrays has.
passes::Affine origin_of(const Lowering &lowering, std::uint32_t array, std::size_t d);
// The same of the array that a function fills: a number where the schedule says it.
passes::Affine begin_of_output(const Lowering &lowering, std::uint32_t f, std::size_t d);
// All of the array that a function fills, whose extents are as the schedule says where it says so.
Box box_of_output(const Lowering &lowering, std::uint32_t f);

// Splits that round up make the extent of a dimension a multiple of this.
std::int64_t rounded(const Lowering &lowering, std::uint32_t f, std::size_t d);
// Whether what the extent is rounded up by is stored, but not loaded for.
bool loads_only_asked(const Lowering &lowering, std::uint32_t f, std::size_t d);
// Splits whose stores are masked have this definition load for a multiple of so many elements.
std::int64_t loaded_multiple(const Lowering &lowering, std::uint32_t f, std::size_t n, std::size_t d);
// Whether all elements of a box are loaded for, and no others.
bool loads_for_all(const Lowering &lowering, std::uint32_t f);
// What a definition loads for while the function is computed in this box.
Box loaded_box(const Lowering &lowering, std::uint32_t f, std::size_t n, Box box);

// UserError where the bounds are not known.
Region region_of(Lowering &lowering, std::uint32_t f, Box box);
// Of a region that rounded extents have made larger: as many elements as are a multiple.
Region floored(const Lowering &lowering, std::uint32_t f, Region region);

}  // namespace samite::schedules
