#include "samite/jit/out_of_bounds.h"

#include "samite/base/error.h"

#include <algorithm>
#include <optional>

namespace samite::jit {
namespace {

// Forms of 64-bit numbers are sums of few products, which fit here.
using Wide = __int128;

struct Bounds {
  Wide lower, upper;
};

class LaunchNumbers {
 public:
  LaunchNumbers(const KernelDefinition &definition, const Extents &extents, std::span<const Argument> arguments)
      : definition_(definition), extents_(extents), arguments_(arguments) {}

  // Empty if the number may have wrapped around, or an enclosing loop has no iterations.
  std::optional<Bounds> bounds(const passes::LinearNumber &number) const {
    Bounds all{number.constant, number.constant};
    for (const passes::LinearNumber::Term &term : number.terms) {
      const std::optional<Bounds> symbol = bounds(term.symbol);
      if (!symbol) return std::nullopt;
      const Wide a = term.coefficient * symbol->lower, b = term.coefficient * symbol->upper;
      all.lower += std::min(a, b);
      all.upper += std::max(a, b);
    }
    if (all.lower < number.valid.lower || all.upper > number.valid.upper) return std::nullopt;
    return all;
  }

  // Bounds of its index; empty if it has no iterations, or its bounds may have wrapped around.
  std::optional<Bounds> bounds_of_loop(std::size_t number) const {
    const passes::CertainLoop &loop = definition_.certain_accesses().loops[number];
    const auto begin = bounds(loop.begin), end = bounds(loop.end);
    if (!begin || !end || loop.step == 0) return std::nullopt;
    const Wide first = begin->lower, distance = end->lower - first, step = loop.step;
    if (distance == 0 || (distance > 0) != (step > 0)) return std::nullopt;
    const Wide last = first + (distance - (step > 0 ? 1 : -1)) / step * step;
    return Bounds{std::min(first, last), std::max(first, last)};
  }

 private:
  std::optional<Bounds> bounds(const passes::Symbol &symbol) const {
    switch (symbol.kind) {
      case passes::Symbol::Kind::ThreadIndex: return Bounds{0, Wide{extents_[symbol.dimension]} - 1};
      case passes::Symbol::Kind::Extent: return exactly(arguments_[symbol.id].buffer->extents()[symbol.dimension]);
      case passes::Symbol::Kind::Parameter:
        return exactly(integer(definition_.parameters()[symbol.id].type, arguments_[symbol.id].scalar));
      case passes::Symbol::Kind::Local: return bounds_of_loop(symbol.id);
      default: return std::nullopt;
    }
  }

  static Bounds exactly(Wide number) { return {number, number}; }

  static Wide integer(ScalarType type, std::uint64_t bits) {
    const auto unused = static_cast<unsigned>(64 - 8 * size_of(type));
    if (class_of(type) == ScalarClass::Signed) return static_cast<std::int64_t>(bits << unused) >> unused;
    return (bits << unused) >> unused;
  }

  const KernelDefinition &definition_;
  const Extents &extents_;
  std::span<const Argument> arguments_;
};

// The usual index, a plain thread index, is inside if the launch has at most as many as the array has elements: one
// comparison, on the path of every launch.
inline bool is_inside(const passes::LinearNumber &index, const Extents &extents, std::int64_t extent) {
  if (index.terms.size() != 1 || index.constant != 0) return false;
  const passes::LinearNumber::Term &term = index.terms[0];
  return term.coefficient == 1 && term.symbol.kind == passes::Symbol::Kind::ThreadIndex &&
         extents[term.symbol.dimension] <= extent;
}

std::string text_of(const Bounds &bounds) {
  const auto lower = static_cast<std::int64_t>(bounds.lower), upper = static_cast<std::int64_t>(bounds.upper);
  if (lower == upper) return "at index " + std::to_string(lower);
  return "at indices " + std::to_string(lower) + " to " + std::to_string(upper);
}

[[noreturn]] void refuse(const KernelDefinition &definition, const Extents &extents,
                         std::span<const Argument> arguments, const passes::CertainAccess &access,
                         const Bounds &bounds) {
  const std::int64_t extent = arguments[access.array].buffer->extents()[access.dimension];
  throw UserError(definition.where(),
                  "kernel '" + definition.name() + "': " + describe(definition.parameters(), access.array) +
                      " has extent " + std::to_string(extent) + " in dimension " + std::to_string(access.dimension) +
                      ", and a launch over " + extents.to_string() + (access.writes ? " writes to it " : " reads it ") +
                      text_of(bounds) + " there (" + access.where.to_string() +
                      "); give it the extent that the kernel indexes, launch over fewer indices, or guard the access "
                      "with if_");
}

}  // namespace

void check_bounds(const KernelDefinition &definition, const Extents &extents, std::span<const Argument> arguments,
                  std::uint64_t arrays) {
  const passes::CertainAccesses &certain = definition.certain_accesses();
  if (certain.accesses.empty() || extents.count() == 0) return;
  const LaunchNumbers numbers(definition, extents, arguments);
  for (const passes::CertainAccess &access : certain.accesses) {
    if (!(arrays >> access.array & 1)) continue;
    const std::int64_t extent = arguments[access.array].buffer->extents()[access.dimension];
    if (is_inside(access.index, extents, extent)) continue;
    const auto index = numbers.bounds(access.index);
    if (!index || (index->lower >= 0 && index->upper < extent)) continue;
    const bool runs =
        std::ranges::all_of(access.loops, [&](std::size_t loop) { return numbers.bounds_of_loop(loop).has_value(); });
    if (runs) refuse(definition, extents, arguments, access, *index);
  }
}

bool bounds_depend_on(const KernelDefinition &definition, std::size_t scalar) {
  const passes::Symbol wanted = passes::Symbol::parameter(static_cast<std::uint32_t>(scalar));
  const auto has = [&](const passes::LinearNumber &number) {
    return std::ranges::any_of(number.terms, [&](const auto &term) { return term.symbol == wanted; });
  };
  const passes::CertainAccesses &certain = definition.certain_accesses();
  return std::ranges::any_of(certain.accesses, [&](const auto &access) { return has(access.index); }) ||
         std::ranges::any_of(certain.loops, [&](const auto &loop) { return has(loop.begin) || has(loop.end); });
}

}  // namespace samite::jit
