// Properties of a kernel that the steps after lowering establish, so that a step can require them (jit/steps.h).
//
// A step's property is recorded on the kernel after the step, even if the step changed nothing.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace samite::ir {

enum class Property : std::uint8_t {
  plain_thread_loops,  // no thread loop is inside another one
  arrays_placed,       // each local array of an instance has its memory space
  sums_marked,         // sums over the launch, over lanes and over warps are marked
  tiles_placed,        // each tile is in registers or in shared memory, and has a layout
  loads_staged,        // the statements that loops prefetch are known
  tiles_spread,        // tiles accessed element by element are in the registers of all threads
  synchronised,        // barriers are wherever a thread reads another thread's writes
  loops_pipelined,     // prefetching loops are written out
  roles_assigned,      // the code of producer threads, if any, is separate from the body
  memory_planned,      // each tile in shared memory has its offset
};

std::string_view name(Property property);  // "tiles_placed"

class Properties {
 public:
  constexpr Properties() = default;
  constexpr Properties(std::initializer_list<Property> properties) {
    for (const Property property : properties) bits_ |= bit(property);
  }
  constexpr bool has(Property property) const { return (bits_ & bit(property)) != 0; }
  constexpr bool has_all(Properties of) const { return (of.bits_ & ~bits_) == 0; }
  constexpr bool empty() const { return bits_ == 0; }
  // The properties of this set that `others` lacks.
  constexpr Properties without(Properties others) const { return Properties(bits_ & ~others.bits_); }
  constexpr Properties with(Properties others) const { return Properties(bits_ | others.bits_); }

  friend constexpr bool operator==(Properties, Properties) = default;

 private:
  constexpr explicit Properties(std::uint32_t bits) : bits_(bits) {}
  static constexpr std::uint32_t bit(Property property) { return std::uint32_t{1} << static_cast<int>(property); }

  std::uint32_t bits_ = 0;
};

struct Kernel;

// Checks the properties that a lowered kernel shows: plain_thread_loops, tiles_placed, loops_pipelined and
// memory_planned. Throws InternalError with `after`, the step that ran last, and the first violation.
void verify_properties(const Kernel &kernel, std::string_view after);

}  // namespace samite::ir
