// What the steps after lowering have established about a kernel, so that a step can require it (jit/steps.h).
//
// A property is recorded on the kernel when its step has run, whether or not the step found anything to change.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace samite::ir {

enum class Property : std::uint8_t {
  plain_thread_loops,  // no thread loop is inside of another
  arrays_placed,       // each local array of an instance has its space
  sums_marked,         // sums over the launch, over lanes and over warps are marked
  tiles_placed,        // each tile is in registers or in shared memory, and has a layout
  loads_staged,        // the statements that loops run ahead are known
  tiles_spread,        // tiles that only one thread touches at a time are in the registers of all threads
  synchronised,        // threads wait wherever one reads what another has written
  loops_pipelined,     // loops that run ahead are written out
  roles_assigned,      // producer threads, if there are any, are apart from the body
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
  // Those of these that `others` lacks.
  constexpr Properties without(Properties others) const { return Properties(bits_ & ~others.bits_); }
  constexpr Properties with(Properties others) const { return Properties(bits_ | others.bits_); }

  friend constexpr bool operator==(Properties, Properties) = default;

 private:
  constexpr explicit Properties(std::uint32_t bits) : bits_(bits) {}
  static constexpr std::uint32_t bit(Property property) { return std::uint32_t{1} << static_cast<int>(property); }

  std::uint32_t bits_ = 0;
};

struct Kernel;

// Checks the properties that can be read off a lowered kernel: plain_thread_loops, tiles_placed, loops_pipelined and
// memory_planned. Throws InternalError with `after`, the step that ran last, and the first violation.
void verify_properties(const Kernel &kernel, std::string_view after);

}  // namespace samite::ir
