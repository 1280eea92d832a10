#include "samite/runtime/strided.h"

#include "samite/base/error.h"
#include "samite/runtime/task_pool.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <vector>

namespace samite {
namespace {

// Enough work for a task to be worth its start, a few microseconds of copying.
constexpr std::int64_t minimum_elements = 32768;

// Calls body(to_offset, from_offset, length) for every row, a row being the last dimension and the offsets those of its
// first element in each array, in elements.
template <class Body>
void for_each_row(const Extents &extents, const Strides &to, const Strides &from, Body body) {
  int last = extents.rank() - 1;
  std::int64_t length = extents[last];
  if (extents.count() == 0) return;
  std::int64_t rows = extents.count() / length;
  parallel_for_blocks(
      rows,
      [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t row = begin; row < end; ++row) {
          std::int64_t to_offset = 0, from_offset = 0, rest = row;
          for (int d = last - 1; d >= 0; --d) {
            auto axis = static_cast<std::size_t>(d);
            std::int64_t index = rest % extents[d];
            rest /= extents[d];
            to_offset += index * to[axis];
            from_offset += index * from[axis];
          }
          body(to_offset, from_offset, length);
        }
      },
      std::max<std::int64_t>(1, minimum_elements / length));
}

template <std::size_t bytes>
void copy_elements(std::byte *to, std::int64_t to_stride, const std::byte *from, std::int64_t from_stride,
                   std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i)
    std::memcpy(to + i * to_stride * std::int64_t{bytes}, from + i * from_stride * std::int64_t{bytes}, bytes);
}

template <std::size_t bytes>
void fill_elements(std::byte *to, std::int64_t stride, const void *value, std::int64_t count) {
  std::byte element[bytes];
  std::memcpy(element, value, bytes);
  for (std::int64_t i = 0; i < count; ++i) std::memcpy(to + i * stride * std::int64_t{bytes}, element, bytes);
}

// Calls body(std::integral_constant<std::size_t, element_bytes>), so that element moves have a size the compiler knows.
template <class Body>
void with_constant_size(std::size_t element_bytes, Body body) {
  switch (element_bytes) {
    case 1: return body(std::integral_constant<std::size_t, 1>());
    case 2: return body(std::integral_constant<std::size_t, 2>());
    case 4: return body(std::integral_constant<std::size_t, 4>());
    case 8: return body(std::integral_constant<std::size_t, 8>());
    default: throw InternalError("no scalar type has this size");
  }
}

}  // namespace

Strides row_major_strides(const Extents &extents) {
  Strides strides{};
  std::int64_t stride = 1;
  for (int d = extents.rank() - 1; d >= 0; --d) {
    strides[static_cast<std::size_t>(d)] = stride;
    stride *= std::max<std::int64_t>(extents[d], 1);
  }
  return strides;
}

bool is_row_major(const Extents &extents, const Strides &strides) {
  if (extents.count() == 0) return true;
  std::int64_t expected = 1;
  for (int d = extents.rank() - 1; d >= 0; --d) {
    if (extents[d] != 1 && strides[static_cast<std::size_t>(d)] != expected) return false;
    expected *= extents[d];
  }
  return true;
}

std::pair<const std::byte *, const std::byte *> byte_range(const std::byte *data, const Extents &extents,
                                                           const Strides &strides, std::size_t element_bytes) {
  if (extents.count() == 0) return {data, data};
  std::int64_t lowest = 0, highest = 0;
  for (int d = 0; d < extents.rank(); ++d) {
    std::int64_t reach = (extents[d] - 1) * strides[static_cast<std::size_t>(d)];
    (reach < 0 ? lowest : highest) += reach;
  }
  auto bytes = static_cast<std::int64_t>(element_bytes);
  return {data + lowest * bytes, data + (highest + 1) * bytes};
}

void copy_strided(const Extents &extents, std::size_t element_bytes, std::byte *to, const Strides &to_strides,
                  const std::byte *from, const Strides &from_strides) {
  auto [to_begin, to_end] = byte_range(to, extents, to_strides, element_bytes);
  auto [from_begin, from_end] = byte_range(from, extents, from_strides, element_bytes);
  std::less<const std::byte *> before;  // `<` is not defined for addresses of different objects
  if (before(to_begin, from_end) && before(from_begin, to_end)) {
    if (to == from && to_strides == from_strides) return;
    std::vector<std::byte> staged(static_cast<std::size_t>(extents.count()) * element_bytes);
    Strides staged_strides = row_major_strides(extents);
    copy_strided(extents, element_bytes, staged.data(), staged_strides, from, from_strides);
    return copy_strided(extents, element_bytes, to, to_strides, staged.data(), staged_strides);
  }

  auto bytes = static_cast<std::int64_t>(element_bytes);
  if (is_row_major(extents, to_strides) && is_row_major(extents, from_strides)) {
    auto copy = [=](std::int64_t begin, std::int64_t end) {
      std::memcpy(to + begin * bytes, from + begin * bytes, static_cast<std::size_t>((end - begin) * bytes));
    };
    return parallel_for_blocks(extents.count(), copy, minimum_elements);
  }
  auto last = static_cast<std::size_t>(extents.rank() - 1);
  with_constant_size(element_bytes, [&](auto size) {
    for_each_row(extents, to_strides, from_strides, [&](std::int64_t to_row, std::int64_t from_row, std::int64_t n) {
      copy_elements<size.value>(to + to_row * bytes, to_strides[last], from + from_row * bytes, from_strides[last], n);
    });
  });
}

void fill_strided(const Extents &extents, std::size_t element_bytes, std::byte *to, const Strides &to_strides,
                  const void *value) {
  auto last = static_cast<std::size_t>(extents.rank() - 1);
  auto bytes = static_cast<std::int64_t>(element_bytes);
  with_constant_size(element_bytes, [&](auto size) {
    if (is_row_major(extents, to_strides)) {
      auto fill = [=](std::int64_t begin, std::int64_t end) {
        fill_elements<size.value>(to + begin * bytes, 1, value, end - begin);
      };
      return parallel_for_blocks(extents.count(), fill, minimum_elements);
    }
    for_each_row(extents, to_strides, to_strides, [&](std::int64_t row, std::int64_t, std::int64_t length) {
      fill_elements<size.value>(to + row * bytes, to_strides[last], value, length);
    });
  });
}

}  // namespace samite
