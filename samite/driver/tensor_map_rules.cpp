#include "samite/driver/tensor_map_rules.h"

#include <fmt/format.h>

#include <algorithm>

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

const TypeRow &row_of(TensorType type) noexcept { return type_rows[static_cast<std::size_t>(type)]; }

// The packed types whose groups of 16 values fill 16 bytes of shared memory.
bool has_gaps(TensorType type) noexcept {
  return type == TensorType::u4x16_align16 || type == TensorType::u6x16_align16;
}

constexpr std::string_view interleave_names[] = {"none", "bytes_16", "bytes_32"};
constexpr std::string_view swizzle_names[] = {
    "none", "bytes_32", "bytes_64", "bytes_128", "bytes_128_atom_32", "bytes_128_atom_32_flip_8", "bytes_128_atom_64"};

std::string_view name_of(Interleave interleave) { return interleave_names[static_cast<std::size_t>(interleave)]; }
std::string_view name_of(Swizzle swizzle) { return swizzle_names[static_cast<std::size_t>(swizzle)]; }

std::uint64_t span_bytes(Swizzle swizzle) {
  switch (swizzle) {
    case Swizzle::none: return 0;
    case Swizzle::bytes_32: return 32;
    case Swizzle::bytes_64: return 64;
    default: return 128;
  }
}

// One rule a function; the first that is broken is reported. Those that read a dimension's entries come after the
// rank's.
using Message = std::string;

Message rank_rule(const TensorLayout &t, unsigned least) {
  if (t.rank >= least && t.rank <= max_tensor_rank) return "";
  return fmt::format("rank is {}: it must be {} to {}", t.rank, least, max_tensor_rank);
}

Message interleaved_rank_rule(const TensorLayout &t) {
  if (t.interleave == Interleave::none || t.rank >= 3) return "";
  return fmt::format("rank is {}: with interleave {} it must be 3 to {}", t.rank, name_of(t.interleave),
                     max_tensor_rank);
}

// Why the layout needs 32 bytes where 16 are the rule.
std::string reason_for_32(const TensorLayout &t) {
  if (t.interleave == Interleave::bytes_32) return ", because interleave is bytes_32";
  if (has_gaps(t.type)) return fmt::format(", because the element type is {}", row_of(t.type).name);
  return "";
}

Message address_rule(const TensorLayout &t) {
  const std::uint64_t alignment = address_alignment(t);
  if (t.address % alignment == 0) return "";
  return fmt::format("address is {:#x}: it must be a multiple of {} bytes{}", t.address, alignment, reason_for_32(t));
}

Message extents_rule(const TensorLayout &t) {
  constexpr std::uint64_t most = std::uint64_t{1} << 32;
  for (unsigned d = 0; d < t.rank; ++d)
    if (t.extents[d] == 0 || t.extents[d] > most)
      return fmt::format("extents[{}] is {}: it must be 1 to {} (2^32)", d, t.extents[d], most);
  const std::uint64_t group = has_gaps(t.type) ? 128 : t.type == TensorType::u4x16_align8 ? 2 : 1;
  if (t.extents[0] % group != 0)
    return fmt::format("extents[0] is {}: for the element type {} it must be a multiple of {}", t.extents[0],
                       row_of(t.type).name, group);
  return "";
}

Message strides_rule(const TensorLayout &t) {
  constexpr std::uint64_t limit = std::uint64_t{1} << 40;
  const std::uint64_t alignment = address_alignment(t);
  for (unsigned d = 0; d + 1 < t.rank; ++d) {
    if (t.strides[d] % alignment != 0)
      return fmt::format("strides[{}] is {} bytes: it must be a multiple of {}{}", d, t.strides[d], alignment,
                         reason_for_32(t));
    if (t.strides[d] >= limit)
      return fmt::format("strides[{}] is {} bytes: it must be less than {} (2^40)", d, t.strides[d], limit);
  }
  return "";
}

Message element_strides_rule(const TensorLayout &t) {
  // The copy engine has no stride along dimension 0, unless the layout is interleaved, and ignores what is given.
  for (unsigned d = t.interleave == Interleave::none ? 1 : 0; d < t.rank; ++d)
    if (t.element_strides[d] == 0 || t.element_strides[d] > 8)
      return fmt::format("element_strides[{}] is {}: it must be 1 to 8", d, t.element_strides[d]);
  return "";
}

Message interleave_rule(const TensorLayout &t) {
  if (t.type == TensorType::u6x16_align16 && t.interleave != Interleave::none)
    return fmt::format("interleave is {}: for the element type u6x16_align16 it must be none", name_of(t.interleave));
  if (t.interleave == Interleave::bytes_32 && t.swizzle != Swizzle::bytes_32)
    return fmt::format("swizzle is {}: with interleave bytes_32 it must be bytes_32", name_of(t.swizzle));
  return "";
}

Message one_of(const TensorLayout &t, std::initializer_list<Swizzle> allowed, const std::string &when) {
  if (std::ranges::find(allowed, t.swizzle) != allowed.end()) return "";
  std::string names;
  for (const Swizzle swizzle : allowed) names += fmt::format("{}{}", names.empty() ? "" : ", ", name_of(swizzle));
  return fmt::format("swizzle is {}: {} it must be one of {}", name_of(t.swizzle), when, names);
}

Message packed_swizzle_rule(const TensorLayout &t) {
  using enum Swizzle;
  const std::string when = fmt::format("for the element type {}", row_of(t.type).name);
  if (t.type == TensorType::u6x16_align16)
    return one_of(t, {none, bytes_128, bytes_128_atom_32, bytes_128_atom_64}, when);
  if (t.type == TensorType::u4x16_align16) return one_of(t, {none, bytes_128, bytes_128_atom_32}, when);
  return "";
}

Message wide_swizzle_rule(const TensorLayout &t) {
  using enum Swizzle;
  if (has_gaps(t.type))
    return one_of(t, {bytes_128, bytes_128_atom_32}, fmt::format("for the element type {}", row_of(t.type).name));
  return one_of(t, {bytes_64, bytes_128, bytes_128_atom_32}, "for im2col along the width");
}

// `inner` elements of dimension 0 lie side by side in shared memory, in what the swizzle takes as one row.
Message swizzle_span_rule(const TensorLayout &t, const char *argument, std::uint64_t inner) {
  if (t.interleave != Interleave::none || t.swizzle == Swizzle::none) return "";
  const std::uint64_t bits = inner * static_cast<std::uint64_t>(row_of(t.type).bits), most = span_bytes(t.swizzle);
  if (bits <= most * 8) return "";
  return fmt::format("{} is {}, {} bytes of {}: with swizzle {} it must be at most {} bytes", argument, inner,
                     (bits + 7) / 8, row_of(t.type).name, name_of(t.swizzle), most);
}

Message fill_rule(const TensorLayout &t) {
  if (t.out_of_bounds == OutOfBounds::zero || row_of(t.type).kind == TypeClass::Floating) return "";
  return fmt::format("out_of_bounds is nan: the element type {} has no NaN, so it must be zero", row_of(t.type).name);
}

Message box_rule(const TiledTensor &t) {
  for (unsigned d = 0; d < t.rank; ++d)
    if (t.box[d] == 0 || t.box[d] > 256) return fmt::format("box[{}] is {}: it must be 1 to 256", d, t.box[d]);
  if (has_gaps(t.type) && t.box[0] != 128)
    return fmt::format("box[0] is {}: for the element type {} it must be 128", t.box[0], row_of(t.type).name);
  const std::uint64_t bits = std::uint64_t{t.box[0]} * static_cast<std::uint64_t>(row_of(t.type).bits);
  if (t.interleave == Interleave::none && bits % 128 != 0)
    return fmt::format("box[0] is {}, {} bits of {}: without interleave it must be a multiple of 16 bytes", t.box[0],
                       bits, row_of(t.type).name);
  return "";
}

Message corners_rule(const Im2colTensor &t) {
  // The map has fewer bits for each offset, the more there are.
  const int most = t.rank == 3 ? 32767 : t.rank == 4 ? 127 : 15;
  const auto outside = [most](int offset) { return offset < -most - 1 || offset > most; };
  for (unsigned i = 0; i + 2 < t.rank; ++i) {
    if (outside(t.lower_corner[i]))
      return fmt::format("lower_corner[{}] is {}: for rank {} it must be {} to {}", i, t.lower_corner[i], t.rank,
                         -most - 1, most);
    if (outside(t.upper_corner[i]))
      return fmt::format("upper_corner[{}] is {}: for rank {} it must be {} to {}", i, t.upper_corner[i], t.rank,
                         -most - 1, most);
  }
  return "";
}

Message bounding_box_rule(unsigned dimension, std::uint64_t extent, int lower, int upper) {
  if (static_cast<std::int64_t>(extent) + upper - lower > 0) return "";
  return fmt::format(
      "the bounding box is empty along dimension {}: extent {} + upper corner {} - lower corner {} is {}, "
      "and must be at least 1",
      dimension, extent, upper, lower, static_cast<std::int64_t>(extent) + upper - lower);
}

Message bounding_boxes_rule(const Im2colTensor &t) {
  for (unsigned i = 0; i + 2 < t.rank; ++i)
    if (Message broken = bounding_box_rule(i + 1, t.extents[i + 1], t.lower_corner[i], t.upper_corner[i]);
        !broken.empty())
      return broken;
  return "";
}

Message width_corners_rule(const Im2colWideTensor &t) {
  const auto broken = [](const char *argument, int offset) {
    return fmt::format("{} is {}: it must be -32768 to 32767", argument, offset);
  };
  if (t.lower_width < -32768 || t.lower_width > 32767) return broken("lower_width", t.lower_width);
  if (t.upper_width < -32768 || t.upper_width > 32767) return broken("upper_width", t.upper_width);
  return bounding_box_rule(1, t.extents[1], t.lower_width, t.upper_width);
}

Message channels_rule(const TensorLayout &t, std::uint32_t channels) {
  if (channels == 0 || channels > 256) return fmt::format("channels is {}: it must be 1 to 256", channels);
  if (has_gaps(t.type) && channels != 128)
    return fmt::format("channels is {}: for the element type {} it must be 128", channels, row_of(t.type).name);
  return "";
}

Message pixels_rule(std::uint32_t pixels) {
  if (pixels != 0 && pixels <= 1024) return "";
  return fmt::format("pixels is {}: it must be 1 to 1024", pixels);
}

// Evaluates one rule after another and stops at the first that is broken.
template <class... Rules>
Message first_broken(Rules... rules) {
  Message broken;
  static_cast<void>(((broken = rules(), broken.empty()) && ...));
  return broken;
}

}  // namespace

int element_bits(TensorType type) noexcept { return row_of(type).bits; }
std::string_view name_of(TensorType type) noexcept { return row_of(type).name; }

std::uint64_t address_alignment(const TensorLayout &layout) noexcept {
  return layout.interleave == Interleave::bytes_32 || has_gaps(layout.type) ? 32 : 16;
}

bool needs_newer_driver(const TensorLayout &layout) noexcept {
  return row_of(layout.type).kind == TypeClass::Packed || layout.swizzle > Swizzle::bytes_128;
}

std::string broken_rule(const TiledTensor &t) {
  return first_broken([&] { return rank_rule(t, 1); }, [&] { return interleaved_rank_rule(t); },
                      [&] { return address_rule(t); }, [&] { return extents_rule(t); }, [&] { return strides_rule(t); },
                      [&] { return box_rule(t); }, [&] { return element_strides_rule(t); },
                      [&] { return interleave_rule(t); }, [&] { return packed_swizzle_rule(t); },
                      [&] { return swizzle_span_rule(t, "box[0]", t.box[0]); }, [&] { return fill_rule(t); });
}

std::string broken_rule(const Im2colTensor &t) {
  return first_broken([&] { return rank_rule(t, 3); }, [&] { return address_rule(t); }, [&] { return extents_rule(t); },
                      [&] { return strides_rule(t); }, [&] { return corners_rule(t); },
                      [&] { return bounding_boxes_rule(t); }, [&] { return channels_rule(t, t.channels); },
                      [&] { return pixels_rule(t.pixels); }, [&] { return element_strides_rule(t); },
                      [&] { return interleave_rule(t); }, [&] { return packed_swizzle_rule(t); },
                      [&] { return swizzle_span_rule(t, "channels", t.channels); }, [&] { return fill_rule(t); });
}

std::string broken_rule(const Im2colWideTensor &t) {
  return first_broken([&] { return rank_rule(t, 3); }, [&] { return address_rule(t); }, [&] { return extents_rule(t); },
                      [&] { return strides_rule(t); }, [&] { return width_corners_rule(t); },
                      [&] { return channels_rule(t, t.channels); },
                      [&] { return t.mode == Im2colWideMode::w ? pixels_rule(t.pixels) : ""; },
                      [&] { return element_strides_rule(t); }, [&] { return interleave_rule(t); },
                      [&] { return wide_swizzle_rule(t); },
                      [&] { return swizzle_span_rule(t, "channels", t.channels); }, [&] { return fill_rule(t); });
}

}  // namespace samite::driver
