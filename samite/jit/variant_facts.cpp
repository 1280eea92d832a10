#include "samite/jit/variant_facts.h"

#include "samite/base/error.h"
#include "samite/jit/add_to_archive.h"
#include "samite/jit/definition.h"
#include "samite/jit/target.h"
#include "samite/toolchain/cuda_target.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <concepts>
#include <string_view>
#include <tuple>

namespace samite::jit {
namespace {

// Calls see(name, member) for each fact of a key that is a number or a flag.
template <class Key, class See>
void for_each_fact(Key &key, const See &see) {
  see("debug", key.debug);
  see("races", key.races);
  see("overlapping", key.overlapping);
  see("may_alias", key.may_alias);
  see("active", key.active);
  see("unit_stride", key.unit_stride);
  see("wide_index", key.wide_index);
  see("summed", key.summed);
  see("cuda", key.cuda);
  see("programmatic", key.programmatic);
  see("grid_stride", key.grid_stride);
  see("grid_axes", key.grid_axes);
  see("neighbours", key.neighbours);
  see("outgrows_caches", key.outgrows_caches);
  see("in_rounds", key.in_rounds);
  see("paired", key.paired);
  see("step_parts", key.step_parts);
  see("sum_parts", key.sum_parts);
  see("unaliased", key.unaliased);
  see("aligned", key.aligned);
  see("whole_rows", key.whole_rows);
  see("tensor_maps", key.tensor_maps);
  see("worth_padding", key.worth_padding);
  see("worth_swapping", key.worth_swapping);
  see("workspace_bytes", key.workspace_bytes);
  see("gather", key.gather);
  see("wide_windows", key.wide_windows);
  see("deterministic", key.deterministic);
}

constexpr std::string_view name_fact = "kernel=", direction_fact = "direction=", limit_fact = "memory_limit=";

template <class T>
bool read_number(std::string_view text, T &value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

// One word, name=value.
bool read_fact(std::string_view word, VariantKey &key) {
  if (word.starts_with(direction_fact)) {
    word.remove_prefix(direction_fact.size());
    for (const Direction direction : {Direction::forward, Direction::adjoint, Direction::tangent})
      if (word == name(direction)) return key.direction = direction, true;
    return false;
  }
  if (word.starts_with(limit_fact)) return read_number(word.substr(limit_fact.size()), key.memory_limit.emplace());
  const std::size_t equals = word.find('=');
  if (equals == std::string_view::npos) return false;
  bool read = false;
  for_each_fact(key, [&](std::string_view name, auto &value) {
    if (name != word.substr(0, equals)) return;
    if constexpr (std::same_as<decltype(value), bool &>) {
      read = word.substr(equals + 1) == "1";
      value = read;
    } else {
      read = read_number(word.substr(equals + 1), value);
    }
  });
  return read;
}

bool is_part_of(std::uint64_t part, std::uint64_t whole) { return (part & ~whole) == 0; }

// How many facts the code relies on: roughly how fast it is.
int facts(const VariantKey &key) {
  int count = key.neighbours + key.gather + key.wide_windows + key.outgrows_caches + key.in_rounds;
  for (const std::uint64_t bits : {key.unit_stride, key.unaliased, key.aligned, key.whole_rows, key.tensor_maps,
                                   key.summed, key.worth_padding, key.worth_swapping, key.paired})
    count += std::popcount(bits);
  return count - key.grid_stride - key.may_alias - std::popcount(key.wide_index);
}

std::uint64_t arrays_of(const KernelDefinition &definition) {
  std::uint64_t arrays = 0;
  for (std::size_t i = 0; i < definition.parameters().size(); ++i)
    if (definition.parameters()[i].is_array()) arrays |= std::uint64_t{1} << i;
  return arrays;
}

// What holds of every launch with the same direction, arguments and options.
VariantKey conservative(const VariantKey &key) {
  return {.direction = key.direction,
          .may_alias = key.may_alias,
          .memory_limit = key.memory_limit,
          .active = key.active,
          .unit_stride = key.unit_stride,
          .wide_index = key.wide_index,
          .deterministic = key.deterministic};
}

VariantKey for_cuda(KernelDefinition &definition, const VariantKey &key, const CudaTarget &target,
                    const RecordedAssumptions &assume) {
  constexpr int most_neighbours = 8;
  const std::uint64_t arrays = arrays_of(definition);
  const bool of_tiles = ir::is_tile_kernel(definition.forward());
  VariantKey result = conservative(key);
  const int capability = result.cuda = target.capability;
  if (assume.apart && !key.may_alias) result.unaliased = arrays;
  if (assume.aligned) {
    result.aligned = arrays;
    if (of_tiles) result.whole_rows = arrays;
    // Products by warp groups are instructions of one capability: sm_90a has them, sm_90 and PTX do not.
    const bool of_groups = target.one_device && Target::of(capability).has_warp_groups();
    if (of_tiles && of_groups) result.tensor_maps = key.unit_stride;
  }
  if (assume.large && !of_tiles) result.neighbours = most_neighbours;
  if (key.direction != Direction::adjoint || key.may_alias || key.memory_limit) return result;
  // A tile kernel whose scattering adjoint exceeds a block's memory has to gather.
  const KernelDefinition::Derived &derived = definition.derived(key.active, key.may_alias, key.memory_limit);
  const bool must = of_tiles && !derived.scattered(capability);
  if (must || assume.covering) result.gather = derived.gathered(result.gathering()).adjoint.has_value();
  return result;
}

}  // namespace

std::string description(const VariantKey &key, const std::vector<ir::Parameter> &parameters) {
  const auto names = [&](std::uint64_t bits) {
    std::string text;
    for (std::size_t i = 0; i < parameters.size() && i < maximum_parameters; ++i)
      if ((bits >> i & 1) != 0 && parameters[i].role != ir::Role::Gradient)
        text += (text.empty() ? "" : ", ") + parameters[i].name;
    return text;
  };
  std::string text(name(key.direction));
  const auto add = [&](bool holds, const std::string &more) {
    if (holds) text += "; " + more;
  };
  if (key.active != 0) text += " of " + names(key.active);
  add(key.debug, key.races ? "debug with races" : "debug");
  add(key.deterministic, "deterministic");
  add(key.may_alias, "gradients may overlap");
  add(key.gather, key.wide_windows ? "gathered in wide windows" : "gathered: the launch covers the arrays");
  if (key.memory_limit) add(true, fmt::format("memory limit {}", *key.memory_limit));
  add(key.unit_stride != 0, names(key.unit_stride) + " contiguous");
  add(key.wide_index != 0, names(key.wide_index) + " of 2^31 elements or more");
  add(key.summed != 0, names(key.summed) + " summed by each thread");
  add(key.unaliased != 0, names(key.unaliased) + " apart");
  add(key.aligned != 0, names(key.aligned) + " aligned");
  add(key.whole_rows != 0, names(key.whole_rows) + " in rows of a multiple of 16 bytes");
  add(key.tensor_maps != 0, names(key.tensor_maps) + " with tensor maps");
  add(key.worth_padding != 0, names(key.worth_padding) + " copied to aligned rows");
  add(key.worth_swapping != 0, names(key.worth_swapping) + " copied transposed");
  add(key.programmatic, "programmatic");
  add(key.grid_stride, "of any number of instances");
  add(key.grid_axes, "an axis for each dimension");
  add(key.neighbours > 1, fmt::format("up to {} neighbours a thread", key.neighbours));
  add(key.outgrows_caches, "outgrows caches");
  add(key.in_rounds, "many blocks");
  add(key.paired != 0, fmt::format("blocks in pairs {}", key.paired));
  add(key.sum_parts > 1 || key.step_parts > 1,
      fmt::format("sums in {} parts", std::max(key.sum_parts, key.step_parts)));
  return text;
}

std::string first_fact(const std::string &kernel) { return std::string(name_fact) + kernel + "\n"; }

std::string facts_text(const std::string &kernel, const VariantKey &key) {
  std::string text = first_fact(kernel) + std::string(direction_fact) + std::string(name(key.direction));
  if (key.memory_limit) text += fmt::format(" {}{}", limit_fact, *key.memory_limit);
  const VariantKey usual;
  std::vector<std::int64_t> defaults;
  for_each_fact(usual,
                [&](std::string_view, const auto &value) { defaults.push_back(static_cast<std::int64_t>(value)); });
  std::size_t at = 0;
  for_each_fact(key, [&](std::string_view name, const auto &value) {
    if (static_cast<std::int64_t>(value) != defaults[at++]) text += fmt::format(" {}={:d}", name, value);
  });
  return text;
}

std::optional<VariantKey> facts_from(const std::string &text) {
  std::string_view rest = text;
  rest.remove_prefix(std::min(rest.find('\n'), rest.size() - 1) + 1);
  VariantKey key;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    if (!read_fact(rest.substr(0, end), key)) return std::nullopt;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return key;
}

bool serves(const VariantKey &archived, const VariantKey &key) {
  const bool same_kind = archived.direction == key.direction && archived.debug == key.debug &&
                         archived.races == key.races && archived.overlapping == key.overlapping &&
                         archived.memory_limit == key.memory_limit && archived.active == key.active &&
                         archived.programmatic == key.programmatic && archived.deterministic == key.deterministic;
  if (!same_kind || Target::of(archived.cuda).is_cpu() != Target::of(key.cuda).is_cpu()) return false;
  // The result's bits may depend on it.
  if (key.deterministic && archived.gather != key.gather) return false;
  if (archived.gather && !(key.gather && archived.wide_windows == key.wide_windows)) return false;
  if (archived.grid_axes != key.grid_axes || (key.grid_stride && !archived.grid_stride)) return false;
  if (archived.in_rounds && !key.in_rounds) return false;
  for (const auto part : {&VariantKey::step_parts, &VariantKey::sum_parts})
    if (archived.*part != 1 && archived.*part != key.*part) return false;
  for (const auto bits : {&VariantKey::unit_stride, &VariantKey::summed, &VariantKey::unaliased, &VariantKey::aligned,
                          &VariantKey::whole_rows, &VariantKey::tensor_maps, &VariantKey::worth_padding,
                          &VariantKey::worth_swapping, &VariantKey::paired})
    if (!is_part_of(archived.*bits, key.*bits)) return false;
  return is_part_of(key.wide_index, archived.wide_index) && (archived.may_alias || !key.may_alias);
}

std::vector<ArchivedKey> archived_keys(const std::string &kernel, const VariantKey &key) {
  std::vector<ArchivedKey> keys;
  for (const ArchivedForm &form : archived_forms(first_fact(kernel))) {
    auto archived = facts_from(form.facts);
    if (!archived || !serves(*archived, key)) continue;
    ArchivedKey candidate{*archived, ""};
    candidate.key.workspace_bytes = key.workspace_bytes;
    if (Target::of(key.cuda).is_gpu()) {
      const auto target = cuda_target(form.target);
      if (!target || !target->runs_on(key.cuda)) continue;
      candidate.architecture = form.target;
    }
    const auto same = [&](const ArchivedKey &known) {
      return known.key == candidate.key && known.architecture == candidate.architecture;
    };
    if (std::ranges::none_of(keys, same)) keys.push_back(std::move(candidate));
  }
  // Machine code before PTX, that of the device itself before others.
  const auto rank = [&](const ArchivedKey &one) {
    const bool ptx = one.architecture.starts_with("compute_");
    return std::tuple(one.key == key, !ptx, one.key.cuda, facts(one.key));
  };
  std::ranges::stable_sort(keys, [&](const ArchivedKey &a, const ArchivedKey &b) { return rank(a) > rank(b); });
  return keys;
}

std::vector<ArchivedKey> keys_to_record(KernelDefinition &definition, const VariantKey &key) {
  if (!records_archive() || key.debug) return {};
  std::vector<ArchivedKey> keys;
  const auto add = [&](const VariantKey &one, const std::string &architecture) {
    if (!(one == key)) keys.push_back({one, architecture});
  };
  if (Target::of(key.cuda).is_cpu()) add(conservative(key), "");
  // A schedule's kernels are for one kind of device.
  if (definition.forward().scheduled || Target::of(key.cuda).is_gpu()) return keys;
  const RecordedAssumptions assume = recorded_assumptions();
  for (const std::string &name : recorded_architectures()) {
    const CudaTarget target = *cuda_target(name);
    add(for_cuda(definition, key, target, {}), name);
    if (!assume.any()) continue;
    const VariantKey more = for_cuda(definition, key, target, assume);
    if (!(more == keys.back().key)) add(more, name);
  }
  return keys;
}

namespace {

// The parameters of these names, as bits.
std::uint64_t arrays_named(const KernelDefinition &definition, const std::vector<std::string> &names, bool floating) {
  std::uint64_t arrays = 0;
  for (const std::string &name : names) {
    const std::vector<ir::Parameter> &parameters = definition.parameters();
    const auto found = std::ranges::find(parameters, name, &ir::Parameter::name);
    const bool is_array = found != parameters.end() && found->is_array();
    if (!is_array || (floating && !is_floating(found->type)))
      throw UserError(definition.where(), "kernel '" + definition.name() + "' has no array '" + name + "'" +
                                              (is_array ? " of floating-point elements, which a gradient needs" : ""));
    arrays |= std::uint64_t{1} << (found - parameters.begin());
  }
  return arrays;
}

}  // namespace

void add_to_archive(KernelDefinition &definition, const NamedVariant &variant, SourceLocation where) {
  at_call("added to the archive", where, [&] {
    const bool forward = variant.direction == Direction::forward;
    const VariantKey key{.direction = variant.direction,
                         .may_alias = variant.gradients_overlap,
                         .active = arrays_named(definition, variant.active, true),
                         .unit_stride = arrays_of(definition) & ~arrays_named(definition, variant.any_strides, false),
                         .wide_index = arrays_named(definition, variant.large, false),
                         .deterministic = variant.deterministic};
    if (forward != (key.active == 0))
      throw UserError(definition.where(), "kernel '" + definition.name() + "': " +
                                              (forward ? "a forward variant has no active arrays"
                                                       : "a variant of its " + std::string(name(variant.direction)) +
                                                             " needs active arrays"));
    if (records_archive()) definition.variant(key);
  });
}

}  // namespace samite::jit
