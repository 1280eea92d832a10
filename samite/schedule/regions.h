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

// A dimension of a region: `extent` elements from `begin` on. `asked`: the extent before rounding up, if elements
// beyond it are not loaded for (Tail::predicate_loads).
struct Extent {
  passes::Affine begin, extent;
  std::optional<passes::Affine> asked = std::nullopt;
};
using Region = std::vector<Extent>;
using Box = std::vector<passes::Interval>;
// By the number of the function.
using Boxes = std::map<std::uint32_t, std::optional<Box>>;

// The ranges of the variables of reductions.
struct Reductions {
  std::map<ir::LocalId, Extent> extents;
  std::map<const Guard *, passes::Affine> guards;
};

// The ranges in all definitions. The host computes those that are no form of parameters and extents; UserError if they
// are loaded from an array.
Reductions find_reductions(Lowering &lowering);
// By array, the indices of its first element, for arrays that do not begin at zeros.
using Origins = std::map<std::uint32_t, std::vector<passes::Affine>>;
Origins find_origins(Lowering &lowering);

// The intervals of a definition's variables while the function is computed in this box, as in loaded_box.
Environment environment_of(const Lowering &lowering, const Definition &definition, const Box &box);
// With `names`, if the least or the greatest of two bounds is no form, both are computed and named.
void unite(std::optional<Box> &box, const Box &with, Integers *names = nullptr);
// Adds the elements that a definition calls while its variables are in the environment. A box never exceeds its box in
// `whole`, of all calls anywhere.
void add_calls(const Lowering &lowering, const Definition &definition, const Forms &forms,
               const Environment &environment, Boxes &boxes, Integers *names = nullptr, const Boxes *whole = nullptr);
// Restricts the box of a function to the part that is computed.
using Trim = std::function<void(std::uint32_t f, Box &box)>;
// Follows calls from callers to callees, for functions that have no values yet. Boxes grow by the elements that a
// function's own updates touch, and by the schedule's bounds. A callee is needed where its caller is computed: in the
// caller's box, unless `trim` says otherwise.
void follow(const Lowering &lowering, Boxes &boxes, const Trim &trim = {});
// The same from the functions that fill arrays, before any loop. The host computes and names every value without a
// short form, so that forms do not grow from function to function. Keeps the box of each function as that of the whole.
void follow_from_outputs(Lowering &lowering, Boxes &boxes);

// The index of the first element of one of the pipeline's own arrays.
passes::Affine origin_of(const Lowering &lowering, std::uint32_t array, std::size_t d);
// The same for the array that a function fills: a number if the schedule sets it.
passes::Affine begin_of_output(const Lowering &lowering, std::uint32_t f, std::size_t d);
// All of the array that a function fills, with the schedule's extents if it sets them.
Box box_of_output(const Lowering &lowering, std::uint32_t f);

// The number that divides a dimension's extent because of splits that round up.
std::int64_t rounded(const Lowering &lowering, std::uint32_t f, std::size_t d);
// Whether elements beyond the unrounded extent are stored, but not loaded for.
bool loads_only_asked(const Lowering &lowering, std::uint32_t f, std::size_t d);
// With splits whose stores are masked, the definition loads for a multiple of this number of elements.
std::int64_t loaded_multiple(const Lowering &lowering, std::uint32_t f, std::size_t n, std::size_t d);
// Whether the definitions load for exactly the elements of a box.
bool loads_for_all(const Lowering &lowering, std::uint32_t f);
// The elements that a definition loads for while the function is computed in this box.
Box loaded_box(const Lowering &lowering, std::uint32_t f, std::size_t n, Box box);

// UserError if the bounds are not known.
Region region_of(Lowering &lowering, std::uint32_t f, Box box);
// Rounds each extent down to a multiple: rounded splits have made the region larger than that.
Region floored(const Lowering &lowering, std::uint32_t f, Region region);

}  // namespace samite::schedules
