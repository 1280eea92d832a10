#include "samite/jit/race_report.h"

#include "samite/base/error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <array>
#include <string_view>

namespace samite::jit {
namespace {

using passes::RaceAccess;
using passes::Touch;

std::array<std::int64_t, maximum_rank> index_of(std::int64_t instance, const Extents &extents) {
  std::array<std::int64_t, maximum_rank> index{};
  for (int d = extents.rank() - 1; d > 0; --d) {
    index[static_cast<std::size_t>(d)] = instance % extents[d];
    instance /= extents[d];
  }
  index[0] = instance;
  return index;
}

std::string_view does(Touch touch) {
  switch (touch) {
    case Touch::write: return "writes it";
    case Touch::read: return "reads it";
    case Touch::atomic: return "updates it atomically";
  }
  throw InternalError("an access that neither reads nor writes");
}

bool on_one_line(const RaceAccess &own, const RaceAccess *other) {
  return other && own.array == other->array && own.where == other->where;
}

std::string remedy(const RaceAccess &own, const RaceAccess *other, const std::string &element, bool of_blocks) {
  const std::string step =
      "an atomic step, such as " + (of_blocks ? "tile::atomic_add" : "atomic_add(" + element + ", …)");
  if (!other || own.touch == Touch::atomic || other->touch == Touch::atomic)
    return "let each of them take " + step + ", or none of them meet another one";
  // A read and a write on one line are an update.
  if ((own.touch == Touch::write && other->touch == Touch::write) || on_one_line(own, other))
    return fmt::format("use {}, or let each {} write an element of its own", step, of_blocks ? "block" : "instance");
  return "write the results to another array, or read them in a launch of their own, which comes after this one";
}

}  // namespace

std::string race_text(const Variant &variant, const Extents &extents, const std::int64_t *instance,
                      const codegen::MessageSite &site, const std::uint64_t *values) {
  const RaceAccess &own = variant.races.accesses[static_cast<std::size_t>(values[0])];
  const auto word = passes::RaceWord::of(static_cast<std::int64_t>(values[1]));
  const RaceAccess *other = word.access ? &variant.races.accesses[*word.access] : nullptr;
  std::vector<std::int64_t> element;
  for (std::size_t i = 2; i < site.types.size(); ++i)
    element.push_back(site.types[i] == ScalarType::Int32 ? static_cast<std::int32_t>(values[i])
                                                         : static_cast<std::int64_t>(values[i]));
  const auto coordinates = [&](const std::int64_t *index) {
    return fmt::format("({})", fmt::join(index, index + extents.rank(), ", "));
  };
  const bool of_blocks = variant.gpu.block_threads != 0;
  const std::string_view who = of_blocks ? "block" : "instance";
  const std::string &name = variant.parameters[own.array].name;
  const std::string named = fmt::format("{}({})", name, fmt::join(element, ", "));
  const auto others_index = index_of(word.instance, extents);

  const bool both_write = other && own.touch == Touch::write && other->touch == Touch::write;
  const bool same_line = on_one_line(own, other);
  std::string text = fmt::format("{}s {} and {} race for {} of array '{}': ", who, coordinates(instance),
                                 coordinates(others_index.data()), named, name);
  const bool atomic = own.touch == Touch::atomic || (other && other->touch == Touch::atomic);
  if (same_line && !atomic) {
    text += both_write ? "both write it here" : "both read and write it here";
  } else {
    text += fmt::format("the first {} here, and the other ", does(own.touch));
    text += other ? std::string(does(other->touch)) : "touches it";
    if (other && other->array != own.array)
      text += fmt::format(" as an element of array '{}'", variant.parameters[other->array].name);
    if (other) text += " at " + other->where.to_string();
  }
  return text + ", in no order; " + remedy(own, other, named, of_blocks);
}

}  // namespace samite::jit
