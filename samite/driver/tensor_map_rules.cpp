#include "samite/driver/tensor_map_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

namespace samite::driver {
namespace {

enum class TypeClass { Integer, Floating, Packed };

struct TypeRow {
  TensorType type;
  std::string_view name;
  int bits;
  TypeClass kind;
};

constexpr TypeRow type_rows[] = {
#define SAMITE_ROW(name, driver_name, value, bits, kind) {TensorType::name, #name, bits, TypeClass::kind},
    SAMITE_TENSOR_TYPES(SAMITE_ROW)
#undef SAMITE_ROW
};

constexpr const TypeRow &row_of(TensorType type) noexcept { return type_rows[static_cast<std::size_t>(type)]; }

static_assert(std::ranges::all_of(type_rows, [](const TypeRow &row) {
  return is_packed(row.type) == (row.kind == TypeClass::Packed);
}));

constexpr std::string_view interleave_names[] = {"none", "bytes_16", "bytes_32"};
constexpr std::string_view swizzle_names[] = {
    "none", "bytes_32", "bytes_64", "bytes_128", "bytes_128_atom_32", "bytes_128_atom_32_flip_8", "bytes_128_atom_64"};

std::string_view name_of(Interleave interleave) { return interleave_names[static_cast<std::size_t>(interleave)]; }
std::string_view name_of(Swizzle swizzle) { return swizzle_names[static_cast<std::size_t>(swizzle)]; }

constexpr std::uint64_t span_bytes(Swizzle swizzle) {
  switch (swizzle) {
    case Swizzle::none: return 0;
    case Swizzle::bytes_32: return 32;
    case Swizzle::bytes_64: return 64;
    default: return 128;
  }
}

// The extent of dimension 0 must be a multiple of this number of elements.
constexpr std::uint64_t group_of(TensorType type) {
  return has_gaps(type) ? 128 : type == TensorType::u4x16_align8 ? 2 : 1;
}

// `unit` is a power of two, which the compiler does not know: a division would take longer than the rest of a rule.
bool is_multiple(std::uint64_t value, std::uint64_t unit) noexcept { return (value & (unit - 1)) == 0; }

// Each function is one rule, and returns whether the tensor breaks it. Rules that read a dimension's entries come after
// the rank's.
//
// Formatting a number takes longer than the driver needs for a map, so the text of a broken rule is a function, which
// `report` calls only when the text is wanted. The first pass is Silent.
struct Silent {
  template <class Text>
  constexpr bool operator()(Text) const {
    return true;
  }
};

struct Spoken {
  std::string &message;
  template <class Text>
  bool operator()(Text text) const {
    message = text();
    return true;
  }
};

template <class Report>
bool rank_rule(Report report, const TensorLayout &t, unsigned least) {
  if (t.rank >= least && t.rank <= max_tensor_rank) return false;
  return report([&] { return fmt::format("rank is {}: it must be {} to {}", t.rank, least, max_tensor_rank); });
}

template <class Report>
bool interleaved_rank_rule(Report report, const TensorLayout &t) {
  if (t.interleave == Interleave::none || t.rank >= 3) return false;
  return report([&] {
    return fmt::format("rank is {}: with interleave {} it must be 3 to {}", t.rank, name_of(t.interleave),
                       max_tensor_rank);
  });
}

// The reason why this layout needs 32 bytes instead of 16.
std::string reason_for_32(const TensorLayout &t) {
  if (t.interleave == Interleave::bytes_32) return ", because interleave is bytes_32";
  if (has_gaps(t.type)) return fmt::format(", because the element type is {}", row_of(t.type).name);
  return "";
}

template <class Report>
bool address_rule(Report report, const TensorLayout &t) {
  const std::uint64_t alignment = address_alignment(t);
  if (is_multiple(t.address, alignment)) return false;
  return report([&] {
    return fmt::format("address is {:#x}: it must be a multiple of {} bytes{}", t.address, alignment, reason_for_32(t));
  });
}

template <class Report>
bool extents_rule(Report report, const TensorLayout &t) {
  constexpr std::uint64_t most = std::uint64_t{1} << 32;
  for (unsigned d = 0; d < t.rank; ++d)
    if (t.extents[d] == 0 || t.extents[d] > most)
      return report([&] { return fmt::format("extents[{}] is {}: it must be 1 to {} (2^32)", d, t.extents[d], most); });
  const std::uint64_t group = group_of(t.type);
  if (!is_multiple(t.extents[0], group))
    return report([&] {
      return fmt::format("extents[0] is {}: for the element type {} it must be a multiple of {}", t.extents[0],
                         row_of(t.type).name, group);
    });
  return false;
}

template <class Report>
bool strides_rule(Report report, const TensorLayout &t) {
  constexpr std::uint64_t limit = std::uint64_t{1} << 40;
  const std::uint64_t alignment = address_alignment(t);
  for (unsigned d = 0; d + 1 < t.rank; ++d) {
    if (!is_multiple(t.strides[d], alignment))
      return report([&] {
        return fmt::format("strides[{}] is {} bytes: it must be a multiple of {}{}", d, t.strides[d], alignment,
                           reason_for_32(t));
      });
    if (t.strides[d] >= limit)
      return report([&] {
        return fmt::format("strides[{}] is {} bytes: it must be less than {} (2^40)", d, t.strides[d], limit);
      });
  }
  return false;
}

template <class Report>
bool element_strides_rule(Report report, const TensorLayout &t) {
  // The copy engine has a stride along dimension 0 only if the layout is interleaved; the driver always checks it.
  for (unsigned d = 0; d < t.rank; ++d)
    if (t.element_strides[d] == 0 || t.element_strides[d] > 8)
      return report(
          [&] { return fmt::format("element_strides[{}] is {}: it must be 1 to 8", d, t.element_strides[d]); });
  return false;
}

template <class Report>
constexpr bool interleave_rule(Report report, const TensorLayout &t) {
  if (t.type == TensorType::u6x16_align16 && t.interleave != Interleave::none)
    return report([&] {
      return fmt::format("interleave is {}: for the element type u6x16_align16 it must be none", name_of(t.interleave));
    });
  return false;
}

// The documentation's rule; the driver accepts any swizzle.
template <class Report>
constexpr bool interleaved_swizzle_rule(Report report, const TensorLayout &t) {
  if (t.interleave == Interleave::bytes_32 && t.swizzle != Swizzle::bytes_32)
    return report(
        [&] { return fmt::format("swizzle is {}: with interleave bytes_32 it must be bytes_32", name_of(t.swizzle)); });
  return false;
}

// `when`: a phrase that says when the swizzle has this limit.
template <class Report, class When>
constexpr bool swizzle_is_one_of(Report report, const TensorLayout &t, std::initializer_list<Swizzle> allowed,
                                 When when) {
  if (std::ranges::find(allowed, t.swizzle) != allowed.end()) return false;
  return report([&] {
    std::string names;
    for (const Swizzle swizzle : allowed) names += fmt::format("{}{}", names.empty() ? "" : ", ", name_of(swizzle));
    return fmt::format("swizzle is {}: {} it must be one of {}", name_of(t.swizzle), when(), names);
  });
}

template <class Report>
constexpr bool packed_swizzle_rule(Report report, const TensorLayout &t) {
  using enum Swizzle;
  const auto when = [&] { return fmt::format("for the element type {}", row_of(t.type).name); };
  if (t.type == TensorType::u6x16_align16)
    return swizzle_is_one_of(report, t, {none, bytes_128, bytes_128_atom_32, bytes_128_atom_64}, when);
  if (t.type == TensorType::u4x16_align16)
    return swizzle_is_one_of(report, t, {none, bytes_128, bytes_128_atom_32}, when);
  return false;
}

template <class Report>
bool wide_swizzle_rule(Report report, const TensorLayout &t) {
  using enum Swizzle;
  if (has_gaps(t.type))
    return swizzle_is_one_of(report, t, {bytes_128, bytes_128_atom_32},
                             [&] { return fmt::format("for the element type {}", row_of(t.type).name); });
  return swizzle_is_one_of(report, t, {bytes_64, bytes_128, bytes_128_atom_32},
                           [] { return "for im2col along the width"; });
}

// `inner` elements of dimension 0 are contiguous in shared memory; they are one row of the swizzle.
template <class Report>
bool swizzle_span_rule(Report report, const TensorLayout &t, const char *argument, std::uint64_t inner) {
  if (t.interleave != Interleave::none || t.swizzle == Swizzle::none) return false;
  const std::uint64_t bits = inner * static_cast<std::uint64_t>(row_of(t.type).bits), most = span_bytes(t.swizzle);
  if (bits <= most * 8) return false;
  return report([&] {
    return fmt::format("{} is {}, {} bytes of {}: with swizzle {} it must be at most {} bytes", argument, inner,
                       (bits + 7) / 8, row_of(t.type).name, name_of(t.swizzle), most);
  });
}

template <class Report>
constexpr bool fill_rule(Report report, const TensorLayout &t) {
  if (t.out_of_bounds == OutOfBounds::zero || row_of(t.type).kind == TypeClass::Floating) return false;
  return report([&] {
    return fmt::format("out_of_bounds is nan: the element type {} has no NaN, so it must be zero", row_of(t.type).name);
  });
}

// Contiguous in shared memory, where copies work on units of 16 bytes.
template <class Report>
bool inner_bytes_rule(Report report, const TensorLayout &t, const char *argument, std::uint64_t inner) {
  const std::uint64_t bits = inner * static_cast<std::uint64_t>(row_of(t.type).bits);
  if (bits % 128 == 0) return false;
  return report([&] {
    return fmt::format("{} is {}, {} bits of {}: it must be a multiple of 16 bytes", argument, inner, bits,
                       row_of(t.type).name);
  });
}

template <class Report>
bool box_rule(Report report, const TiledTensor &t) {
  for (unsigned d = 0; d < t.rank; ++d)
    if (t.box[d] == 0 || t.box[d] > 256)
      return report([&] { return fmt::format("box[{}] is {}: it must be 1 to 256", d, t.box[d]); });
  if (has_gaps(t.type) && t.box[0] != 128)
    return report([&] {
      return fmt::format("box[0] is {}: for the element type {} it must be 128", t.box[0], row_of(t.type).name);
    });
  if (inner_bytes_rule(report, t, "box[0]", t.box[0])) return true;
  return false;
}

// `elements`: the number that one copy loads.
template <class Report>
bool shared_bytes_rule(Report report, const TensorLayout &t, std::uint64_t elements, std::uint64_t shared_bytes) {
  const std::uint64_t bits = elements * static_cast<std::uint64_t>(row_of(t.type).bits);
  if (bits <= shared_bytes * 8) return false;
  return report([&] {
    return fmt::format("a copy brings {} bytes: it must fit the {} bytes of shared memory that a multiprocessor has",
                       (bits + 7) / 8, shared_bytes);
  });
}

// As the driver counts them: box / element_strides in each dimension, rounded down.
std::uint64_t elements_of_box(const TiledTensor &t) {
  std::uint64_t elements = 1;
  for (unsigned d = 0; d < t.rank; ++d) elements *= t.box[d] / t.element_strides[d];
  return elements;
}

template <class Report>
bool box_bytes_rule(Report report, const TiledTensor &t, std::uint64_t shared_bytes) {
  // Most boxes fit; these need no division.
  std::uint64_t whole = 1;
  for (unsigned d = 0; d < t.rank; ++d) whole *= t.box[d];
  return shared_bytes_rule(Silent(), t, whole, shared_bytes) &&
         shared_bytes_rule(report, t, elements_of_box(t), shared_bytes);
}

template <class Report>
bool corners_rule(Report report, const Im2colTensor &t) {
  // The more offsets a map has, the fewer bits each of them has.
  const int most = t.rank == 3 ? 32767 : t.rank == 4 ? 127 : 15;
  const auto outside = [most](int offset) { return offset < -most - 1 || offset > most; };
  for (unsigned i = 0; i + 2 < t.rank; ++i) {
    if (outside(t.lower_corner[i]))
      return report([&] {
        return fmt::format("lower_corner[{}] is {}: for rank {} it must be {} to {}", i, t.lower_corner[i], t.rank,
                           -most - 1, most);
      });
    if (outside(t.upper_corner[i]))
      return report([&] {
        return fmt::format("upper_corner[{}] is {}: for rank {} it must be {} to {}", i, t.upper_corner[i], t.rank,
                           -most - 1, most);
      });
  }
  return false;
}

// The driver's counters have 32 bits.
template <class Report>
bool bounding_box_rule(Report report, unsigned dimension, std::uint64_t extent, int lower, int upper) {
  constexpr std::int64_t most = 0x7fffffff;
  const std::int64_t size = static_cast<std::int64_t>(extent) + upper - lower;
  if (size >= 1 && size <= most) return false;
  return report([&] {
    return fmt::format(
        "the bounding box is {} along dimension {}: extent {} + upper corner {} - lower corner {} is {}, and must be 1 "
        "to {} (2^31 - 1)",
        size < 1 ? "empty" : "too large", dimension, extent, upper, lower, size, most);
  });
}

template <class Report>
bool bounding_boxes_rule(Report report, const Im2colTensor &t) {
  // In interleaved layouts a slice's channels are not a dimension: the first dimension is the width.
  const unsigned width = t.interleave == Interleave::none ? 1 : 0;
  for (unsigned i = 0; i + 2 < t.rank; ++i)
    if (bounding_box_rule(report, width + i, t.extents[width + i], t.lower_corner[i], t.upper_corner[i])) return true;
  return false;
}

template <class Report>
bool width_corner_rule(Report report, const char *argument, int offset) {
  if (offset >= -32768 && offset <= 32767) return false;
  return report([&] { return fmt::format("{} is {}: it must be -32768 to 32767", argument, offset); });
}

template <class Report>
bool channels_rule(Report report, const TensorLayout &t, std::uint32_t channels) {
  if (channels == 0 || channels > 256)
    return report([&] { return fmt::format("channels is {}: it must be 1 to 256", channels); });
  if (has_gaps(t.type) && channels != 128)
    return report([&] {
      return fmt::format("channels is {}: for the element type {} it must be 128", channels, row_of(t.type).name);
    });
  return inner_bytes_rule(report, t, "channels", channels);
}

template <class Report>
bool pixels_rule(Report report, std::uint32_t pixels) {
  if (pixels != 0 && pixels <= 1024) return false;
  return report([&] { return fmt::format("pixels is {}: it must be 1 to 1024", pixels); });
}

template <class Report>
bool any_broken(Report report, const TiledTensor &t, std::uint64_t shared_bytes) {
  return rank_rule(report, t, 1) || interleaved_rank_rule(report, t) || address_rule(report, t) ||
         extents_rule(report, t) || strides_rule(report, t) || box_rule(report, t) || element_strides_rule(report, t) ||
         interleave_rule(report, t) || interleaved_swizzle_rule(report, t) || packed_swizzle_rule(report, t) ||
         swizzle_span_rule(report, t, "box[0]", t.box[0]) || fill_rule(report, t) ||
         box_bytes_rule(report, t, shared_bytes);
}

template <class Report>
bool any_broken(Report report, const Im2colTensor &t, std::uint64_t shared_bytes) {
  return rank_rule(report, t, 3) || address_rule(report, t) || extents_rule(report, t) || strides_rule(report, t) ||
         corners_rule(report, t) || bounding_boxes_rule(report, t) || channels_rule(report, t, t.channels) ||
         pixels_rule(report, t.pixels) || element_strides_rule(report, t) || interleave_rule(report, t) ||
         interleaved_swizzle_rule(report, t) || packed_swizzle_rule(report, t) ||
         swizzle_span_rule(report, t, "channels", t.channels) || fill_rule(report, t) ||
         shared_bytes_rule(report, t, std::uint64_t{t.channels} * t.pixels, shared_bytes);
}

template <class Report>
bool any_broken(Report report, const Im2colWideTensor &t) {
  return rank_rule(report, t, 3) || address_rule(report, t) || extents_rule(report, t) || strides_rule(report, t) ||
         width_corner_rule(report, "lower_width", t.lower_width) ||
         width_corner_rule(report, "upper_width", t.upper_width) ||
         bounding_box_rule(report, 1, t.extents[1], t.lower_width, t.upper_width) ||
         channels_rule(report, t, t.channels) || (t.mode == Im2colWideMode::w && pixels_rule(report, t.pixels)) ||
         element_strides_rule(report, t) || interleave_rule(report, t) || wide_swizzle_rule(report, t) ||
         swizzle_span_rule(report, t, "channels", t.channels) || fill_rule(report, t);
}

// Facts about an element type for the fast check. They are computed from the rules, so that the two cannot differ.
struct TypeFacts {
  std::uint8_t bits;
  std::uint8_t address_mask;  // bits of addresses and strides that must be 0, if the layout is not interleaved
  std::uint8_t extent_mask;   // of extents[0]
  std::uint8_t box_mask;      // all ones if box[0] must be 128
  std::uint8_t needs_zero;    // 1 if only zeros may fill elements out of bounds
  std::array<std::uint8_t, 3> swizzles;  // for each interleave a set of bits
};

constexpr auto type_facts = [] {
  std::array<TypeFacts, std::size(type_rows)> facts{};
  for (const TypeRow &row : type_rows) {
    TensorLayout t;
    t.type = row.type;
    t.out_of_bounds = OutOfBounds::nan;
    TypeFacts &fact = facts[static_cast<std::size_t>(row.type)];
    fact = {.bits = static_cast<std::uint8_t>(row.bits),
            .address_mask = static_cast<std::uint8_t>(address_alignment(t) - 1),
            .extent_mask = static_cast<std::uint8_t>(group_of(row.type) - 1),
            .box_mask = static_cast<std::uint8_t>(has_gaps(row.type) ? 0xff : 0),
            .needs_zero = fill_rule(Silent(), t),
            .swizzles = {}};
    for (std::size_t interleave = 0; interleave < std::size(interleave_names); ++interleave)
      for (std::size_t swizzle = 0; swizzle < std::size(swizzle_names); ++swizzle) {
        t.interleave = static_cast<Interleave>(interleave);
        t.swizzle = static_cast<Swizzle>(swizzle);
        if (!interleave_rule(Silent(), t) && !interleaved_swizzle_rule(Silent(), t) &&
            !packed_swizzle_rule(Silent(), t))
          fact.swizzles[interleave] |= static_cast<std::uint8_t>(1u << swizzle);
      }
  }
  return facts;
}();

// The largest number of bits in box[0] for layouts that are not interleaved.
constexpr auto span_bits = [] {
  std::array<std::uint32_t, std::size(swizzle_names)> bits{};
  for (std::size_t swizzle = 0; swizzle < bits.size(); ++swizzle)
    bits[swizzle] = static_cast<std::uint32_t>(span_bytes(static_cast<Swizzle>(swizzle)) * 8);
  bits[static_cast<std::size_t>(Swizzle::none)] = ~std::uint32_t{0};
  return bits;
}();

// Inlined whole, because three kinds of tensors share the rules: separate calls would read the element type and the
// alignment again each time, and take twice as long.
template <class Tensor, class... Limits>
[[gnu::flatten]] bool breaks_a_rule(const Tensor &tensor, Limits... limits) {
  return any_broken(Silent(), tensor, limits...);
}

template <class Tensor, class... Limits>
std::string text_of_broken(const Tensor &tensor, Limits... limits) {
  std::string message;
  if (breaks_a_rule(tensor, limits...)) [[unlikely]]
    any_broken(Spoken{message}, tensor, limits...);
  return message;
}

}  // namespace

int element_bits(TensorType type) noexcept { return row_of(type).bits; }
std::string_view name_of(TensorType type) noexcept { return row_of(type).name; }

bool may_break_rule(const TiledTensor &t, std::uint64_t shared_bytes) noexcept {
  const auto type = static_cast<std::size_t>(t.type), interleave = static_cast<std::size_t>(t.interleave),
             swizzle = static_cast<std::size_t>(t.swizzle);
  if (type >= type_facts.size() || interleave >= std::size(interleave_names) || swizzle >= span_bits.size())
      [[unlikely]]
    return true;
  const TypeFacts &facts = type_facts[type];
  const std::uint64_t address_mask = facts.address_mask | (interleave & 2) << 3;

  // Each broken rule sets bits, and there is one branch at the end: a branch for each rule takes 7 ns longer for a
  // matrix and 16 ns for five dimensions, compared to the driver's call of 80. Subtracting 1 from 0 wraps around to a
  // large number.
  std::uint64_t broken = (t.address & address_mask) | (t.extents[0] & facts.extent_mask);
  std::uint64_t elements = 1;
  const auto look_at = [&](unsigned d) {
    broken |= (t.extents[d] - 1) >> 32;
    broken |= (t.box[d] - 1) >> 8 | (t.element_strides[d] - 1) >> 3;
    if (d > 0) broken |= (t.strides[d - 1] & address_mask) | t.strides[d - 1] >> 40;
    elements *= t.box[d];
  };
  switch (t.rank) {
    case 5: look_at(4); [[fallthrough]];
    case 4: look_at(3); [[fallthrough]];
    case 3: look_at(2); [[fallthrough]];
    case 2: look_at(1); [[fallthrough]];
    case 1: look_at(0); break;
    default: return true;
  }
  const std::uint64_t inner_bits = std::uint64_t{t.box[0]} * facts.bits;
  broken |= (inner_bits & 127) | ((t.box[0] ^ 128) & facts.box_mask);
  broken |= ~(std::uint64_t{facts.swizzles[interleave]} >> swizzle) & 1;
  broken |= std::uint64_t{interleave != 0} & std::uint64_t{t.rank < 3};
  broken |= std::uint64_t{interleave == 0} & std::uint64_t{inner_bits > span_bits[swizzle]};
  broken |= std::uint64_t{t.out_of_bounds != OutOfBounds::zero} & facts.needs_zero;
  broken |= std::uint64_t{elements * facts.bits > shared_bytes * 8};
  return broken != 0;
}

std::string broken_rule(const TiledTensor &tensor, std::uint64_t shared_bytes) {
  return text_of_broken(tensor, shared_bytes);
}
std::string broken_rule(const Im2colTensor &tensor, std::uint64_t shared_bytes) {
  return text_of_broken(tensor, shared_bytes);
}
std::string broken_rule(const Im2colWideTensor &tensor) { return text_of_broken(tensor); }

}  // namespace samite::driver
