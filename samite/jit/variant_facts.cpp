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
  see("overlapping", key.arrays.overlapping);
  see("may_alias", key.derivative.may_alias);
  see("active", key.derivative.active);
  see("unit_stride", key.arrays.unit_stride);
  see("wide_index", key.arrays.wide_index);
  see("summed", key.arrays.summed);
  see("cuda", key.cuda);
  see("programmatic", key.shape.programmatic);
  see("grid_stride", key.shape.grid_stride);
  see("grid_axes", key.shape.grid_axes);
  see("neighbours", key.shape.neighbours);
  see("outgrows_caches", key.shape.outgrows_caches);
  see("in_rounds", key.shape.in_rounds);
  see("paired", key.shape.paired);
  see("step_parts", key.shape.step_parts);
  see("sum_parts", key.shape.sum_parts);
  see("unaliased", key.arrays.unaliased);
  see("aligned", key.arrays.aligned);
  see("whole_rows", key.arrays.whole_rows);
  see("tensor_maps", key.arrays.tensor_maps);
  see("worth_padding", key.arrays.worth_padding);
  see("worth_swapping", key.arrays.worth_swapping);
  see("workspace_bytes", key.workspace_bytes);
  see("gather", key.derivative.gather);
  see("wide_windows", key.derivative.wide_windows);
  see("deterministic", key.deterministic);
}

constexpr std::string_view name_fact = "kernel=", direction_fact = "direction=", limit_fact = "memory_limit=",
                           plan_fact = "plan.";

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
  if (word.starts_with(limit_fact))
    return read_number(word.substr(limit_fact.size()), key.derivative.memory_limit.emplace());
  const std::size_t equals = word.find('=');
  if (equals == std::string_view::npos) return false;
  if (word.starts_with(plan_fact)) {
    const std::string_view field = word.substr(plan_fact.size(), equals - plan_fact.size());
    const auto found = std::ranges::find(plan_fields(), field, &PlanField::name);
    return found != plan_fields().end() && read_number(word.substr(equals + 1), (key.plan.*found->value).emplace());
  }
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
  int count = key.shape.neighbours + key.derivative.gather + key.derivative.wide_windows + key.shape.outgrows_caches +
              key.shape.in_rounds;
  for (const std::uint64_t bits :
       {key.arrays.unit_stride, key.arrays.unaliased, key.arrays.aligned, key.arrays.whole_rows, key.arrays.tensor_maps,
        key.arrays.summed, key.arrays.worth_padding, key.arrays.worth_swapping, key.shape.paired})
    count += std::popcount(bits);
  return count - key.shape.grid_stride - key.derivative.may_alias - std::popcount(key.arrays.wide_index);
}

std::uint64_t arrays_of(const KernelDefinition &definition) {
  std::uint64_t arrays = 0;
  for (std::size_t i = 0; i < definition.parameters().size(); ++i)
    if (definition.parameters()[i].is_array()) arrays |= std::uint64_t{1} << i;
  return arrays;
}

// The facts that hold for every launch with the same direction, arguments and options.
VariantKey conservative(const VariantKey &key) {
  const VariantKey::Derivative &derivative = key.derivative;
  return {.direction = key.direction,
          .deterministic = key.deterministic,
          .derivative = {.may_alias = derivative.may_alias,
                         .memory_limit = derivative.memory_limit,
                         .active = derivative.active},
          .arrays = {.unit_stride = key.arrays.unit_stride, .wide_index = key.arrays.wide_index}};
}

VariantKey for_cuda(KernelDefinition &definition, const VariantKey &key, const CudaTarget &target,
                    const RecordedAssumptions &assume) {
  constexpr int most_neighbours = 8;
  const std::uint64_t arrays = arrays_of(definition);
  const bool of_tiles = ir::is_tile_kernel(definition.forward());
  VariantKey result = conservative(key);
  const int capability = result.cuda = target.capability;
  if (assume.apart && !key.derivative.may_alias) result.arrays.unaliased = arrays;
  if (assume.aligned) {
    result.arrays.aligned = arrays;
    if (of_tiles) result.arrays.whole_rows = arrays;
    // Products by warp groups are instructions of one capability: sm_90a has them, sm_90 and PTX do not.
    const bool of_groups = target.one_device && Target::of(capability).has_warp_groups();
    if (of_tiles && of_groups) result.arrays.tensor_maps = key.arrays.unit_stride;
  }
  if (assume.large && !of_tiles) result.shape.neighbours = most_neighbours;
  if (key.direction != Direction::adjoint || key.derivative.may_alias || key.derivative.memory_limit) return result;
  // A tile kernel whose scattering adjoint exceeds a block's memory must gather.
  const KernelDefinition::Derived &derived =
      definition.derived(key.derivative.active, key.derivative.may_alias, key.derivative.memory_limit);
  const bool must = of_tiles && !derived.scattered(capability);
  if (must || assume.covering) result.derivative.gather = derived.gathered(result.gathering()).adjoint.has_value();
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
  if (key.derivative.active != 0) text += " of " + names(key.derivative.active);
  add(key.debug, key.races ? "debug with races" : "debug");
  add(key.deterministic, "deterministic");
  add(key.derivative.may_alias, "gradients may overlap");
  add(key.derivative.gather,
      key.derivative.wide_windows ? "gathered in wide windows" : "gathered: the launch covers the arrays");
  if (key.derivative.memory_limit) add(true, fmt::format("memory limit {}", *key.derivative.memory_limit));
  add(key.arrays.unit_stride != 0, names(key.arrays.unit_stride) + " contiguous");
  add(key.arrays.wide_index != 0, names(key.arrays.wide_index) + " of 2^31 elements or more");
  add(key.arrays.summed != 0, names(key.arrays.summed) + " summed by each thread");
  add(key.arrays.unaliased != 0, names(key.arrays.unaliased) + " apart");
  add(key.arrays.aligned != 0, names(key.arrays.aligned) + " aligned");
  add(key.arrays.whole_rows != 0, names(key.arrays.whole_rows) + " in rows of a multiple of 16 bytes");
  add(key.arrays.tensor_maps != 0, names(key.arrays.tensor_maps) + " with tensor maps");
  add(key.arrays.worth_padding != 0, names(key.arrays.worth_padding) + " copied to aligned rows");
  add(key.arrays.worth_swapping != 0, names(key.arrays.worth_swapping) + " copied transposed");
  add(key.shape.programmatic, "programmatic");
  add(key.shape.grid_stride, "of any number of instances");
  add(key.shape.grid_axes, "an axis for each dimension");
  add(key.shape.neighbours > 1, fmt::format("up to {} neighbours a thread", key.shape.neighbours));
  add(key.shape.outgrows_caches, "outgrows caches");
  add(key.shape.in_rounds, "many blocks");
  add(key.shape.paired != 0, fmt::format("blocks in pairs {}", key.shape.paired));
  add(key.shape.sum_parts > 1 || key.shape.step_parts > 1,
      fmt::format("sums in {} parts", std::max(key.shape.sum_parts, key.shape.step_parts)));
  add(key.plan != TilePlan(), "plan " + to_string(key.plan));
  return text;
}

std::string first_fact(const std::string &kernel) { return std::string(name_fact) + kernel + "\n"; }

std::string facts_text(const std::string &kernel, const VariantKey &key) {
  std::string text = first_fact(kernel) + std::string(direction_fact) + std::string(name(key.direction));
  if (key.derivative.memory_limit) text += fmt::format(" {}{}", limit_fact, *key.derivative.memory_limit);
  const VariantKey usual;
  std::vector<std::int64_t> defaults;
  for_each_fact(usual,
                [&](std::string_view, const auto &value) { defaults.push_back(static_cast<std::int64_t>(value)); });
  std::size_t at = 0;
  for_each_fact(key, [&](std::string_view name, const auto &value) {
    if (static_cast<std::int64_t>(value) != defaults[at++]) text += fmt::format(" {}={:d}", name, value);
  });
  for (const PlanField &field : plan_fields())
    if (const TilePlan::Field &value = key.plan.*field.value)
      text += fmt::format(" {}{}={}", plan_fact, field.name, *value);
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
                         archived.races == key.races && archived.arrays.overlapping == key.arrays.overlapping &&
                         archived.derivative.memory_limit == key.derivative.memory_limit &&
                         archived.derivative.active == key.derivative.active &&
                         archived.shape.programmatic == key.shape.programmatic &&
                         archived.deterministic == key.deterministic && archived.plan == key.plan;
  if (!same_kind || Target::of(archived.cuda).is_cpu() != Target::of(key.cuda).is_cpu()) return false;
  // The result's bits may depend on it.
  if (key.deterministic && archived.derivative.gather != key.derivative.gather) return false;
  if (archived.derivative.gather &&
      !(key.derivative.gather && archived.derivative.wide_windows == key.derivative.wide_windows))
    return false;
  if (archived.shape.grid_axes != key.shape.grid_axes || (key.shape.grid_stride && !archived.shape.grid_stride))
    return false;
  if (archived.shape.in_rounds && !key.shape.in_rounds) return false;
  using Shape = VariantKey::Shape;
  for (const auto part : {&Shape::step_parts, &Shape::sum_parts})
    if (archived.shape.*part != 1 && archived.shape.*part != key.shape.*part) return false;
  using Arrays = VariantKey::Arrays;
  for (const auto bits : {&Arrays::unit_stride, &Arrays::summed, &Arrays::unaliased, &Arrays::aligned,
                          &Arrays::whole_rows, &Arrays::tensor_maps, &Arrays::worth_padding, &Arrays::worth_swapping})
    if (!is_part_of(archived.arrays.*bits, key.arrays.*bits)) return false;
  if (!is_part_of(archived.shape.paired, key.shape.paired)) return false;
  return is_part_of(key.arrays.wide_index, archived.arrays.wide_index) &&
         (archived.derivative.may_alias || !key.derivative.may_alias);
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
    const VariantKey key{
        .direction = variant.direction,
        .deterministic = variant.deterministic,
        .derivative = {.may_alias = variant.gradients_overlap,
                       .active = arrays_named(definition, variant.active, true)},
        .arrays = {.unit_stride = arrays_of(definition) & ~arrays_named(definition, variant.any_strides, false),
                   .wide_index = arrays_named(definition, variant.large, false)}};
    if (forward != (key.derivative.active == 0))
      throw UserError(definition.where(), "kernel '" + definition.name() + "': " +
                                              (forward ? "a forward variant has no active arrays"
                                                       : "a variant of its " + std::string(name(variant.direction)) +
                                                             " needs active arrays"));
    if (records_archive()) definition.variant(key);
  });
}

}  // namespace samite::jit
