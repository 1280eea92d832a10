#include "samite/distributed/grid_file.h"

#include "samite/base/error.h"
#include "samite/distributed/collective_call.h"
#include "samite/runtime/strided.h"

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string_view>

namespace samite {
namespace {

constexpr std::string_view magic{"\x93NUMPY\x01\x00", 8};
constexpr std::size_t header_length_at = 8, header_at = 10, alignment = 64;

// "" if NumPy has no such type.
std::string numpy_type(ScalarType type) {
  switch (type) {
    case ScalarType::Bool: return "|b1";
    case ScalarType::Int8: return "|i1";
    case ScalarType::UInt8: return "|u1";
    case ScalarType::Int16: return "<i2";
    case ScalarType::UInt16: return "<u2";
    case ScalarType::Int32: return "<i4";
    case ScalarType::UInt32: return "<u4";
    case ScalarType::Int64: return "<i8";
    case ScalarType::UInt64: return "<u8";
    case ScalarType::Float16: return "<f2";
    case ScalarType::Float32: return "<f4";
    case ScalarType::Float64: return "<f8";
    default: return "";
  }
}

// The header that NumPy writes, for an array in row-major order.
std::string header_of(const Extents &extents, ScalarType type) {
  std::string shape;
  for (int d = 0; d < extents.rank(); ++d) shape += fmt::format("{}{},", d == 0 ? "" : " ", extents[d]);
  if (extents.rank() > 1) shape.pop_back();
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", numpy_type(type), shape);
  text.resize((header_at + text.size() + alignment) / alignment * alignment - header_at - 1, ' ');
  text += '\n';
  std::string header(magic);
  header += static_cast<char>(text.size() & 0xff);
  header += static_cast<char>(text.size() >> 8);
  return header + text;
}

std::string error_text(const std::string &path) { return fmt::format("{}: {}", path, std::strerror(errno)); }

// A file's bytes in memory.
class Mapping {
 public:
  // Throws a std::runtime_error.
  Mapping(const std::string &path, bool writes) {
    const int file = ::open(path.c_str(), (writes ? O_RDWR : O_RDONLY) | O_CLOEXEC);
    if (file < 0) throw std::runtime_error(error_text(path));
    struct stat status{};
    ::fstat(file, &status);
    size_ = static_cast<std::size_t>(status.st_size);
    data_ =
        size_ == 0 ? nullptr : ::mmap(nullptr, size_, writes ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, file, 0);
    const std::string failed = data_ == MAP_FAILED ? error_text(path) : "";
    ::close(file);
    if (!failed.empty()) throw std::runtime_error(failed);
  }
  Mapping(const Mapping &) = delete;
  Mapping &operator=(const Mapping &) = delete;
  ~Mapping() {
    if (data_) ::munmap(data_, size_);
  }

  std::byte *data() const { return static_cast<std::byte *>(data_); }
  std::size_t size() const { return size_; }

 private:
  std::size_t size_ = 0;
  void *data_ = nullptr;
};

// Runs `work` on this rank, and refuses together with the others if it throws an exception.
template <class Work>
void together(const Grid &grid, const char *operation, SourceLocation where, const Work &work) {
  std::string failed;
  try {
    work();
  } catch (const std::exception &error) {
    failed = error.what();
  }
  distributed::refuse_together(grid.ranks(), operation, failed, where);
}

void check_type(const AnyBuffer &array, const char *operation, SourceLocation where) {
  if (array.valid() && numpy_type(array.type()).empty())
    throw UserError(where, fmt::format("{}: NumPy has no type for elements of type {}; convert them to f32", operation,
                                       name(array.type())));
}

// The first element of this rank's block in the whole grid's elements.
std::byte *block_in(const Grid &grid, std::byte *elements, std::size_t element_bytes) {
  const Strides strides = row_major_strides(grid.extents());
  std::int64_t offset = 0;
  for (int d = 0; d < grid.rank(); ++d) {
    const auto index = static_cast<std::size_t>(d);
    offset += grid.begin()[index] * strides[index];
  }
  return elements + offset * static_cast<std::int64_t>(element_bytes);
}

void create(const std::string &path, const std::string &header, std::size_t bytes) {
  const int file = ::open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0666);
  if (file < 0) throw std::runtime_error(error_text(path));
  const bool written = ::write(file, header.data(), header.size()) == static_cast<ssize_t>(header.size()) &&
                       ::ftruncate(file, static_cast<off_t>(header.size() + bytes)) == 0;
  const std::string failed = written ? "" : error_text(path);
  ::close(file);
  if (!failed.empty()) throw std::runtime_error(failed);
}

// The address of the elements in the file. Throws a std::runtime_error.
std::byte *elements_in(const Mapping &mapping, const Grid &grid, const AnyBuffer &array, const std::string &path) {
  const std::string expected = header_of(grid.extents(), array.type());
  const auto text = std::string_view(reinterpret_cast<const char *>(mapping.data()), mapping.size());
  if (text.size() < header_at || !text.starts_with("\x93NUMPY"))
    throw std::runtime_error(path + ": no file of NumPy's");
  const auto byte = [&](std::size_t at) { return static_cast<std::size_t>(static_cast<unsigned char>(text[at])); };
  const bool is_long = byte(6) > 1;  // versions 2 and 3 have a length of 4 bytes
  const std::size_t begin = is_long ? 12 : header_at;
  if (text.size() < begin) throw std::runtime_error(path + ": the file ends in its header");
  const std::size_t length = is_long ? byte(8) + (byte(9) << 8) + (byte(10) << 16) + (byte(11) << 24)
                                     : byte(header_length_at) + (byte(9) << 8);
  if (text.size() < begin + length) throw std::runtime_error(path + ": the file ends in its header");
  const auto trimmed = [](std::string_view header) { return header.substr(0, header.rfind('}') + 1); };
  const std::string_view given = trimmed(text.substr(begin, length));
  if (given != trimmed(std::string_view(expected).substr(header_at)))
    throw std::runtime_error(fmt::format("{} has {}, and the array of the grid has {}", path, given,
                                         trimmed(std::string_view(expected).substr(header_at))));
  const std::size_t bytes = static_cast<std::size_t>(grid.extents().count()) * size_of(array.type());
  if (text.size() < begin + length + bytes)
    throw std::runtime_error(fmt::format("{} ends after {} bytes, of {}", path, text.size(), begin + length + bytes));
  return mapping.data() + begin + length;
}

}  // namespace

void write_npy(const Grid &grid, const AnyBuffer &array, const std::string &path, SourceLocation where) {
  constexpr const char *operation = "write_npy";
  check_type(array, operation, where);
  const AnyBuffer own = grid.without_ghosts(array, where).to(Device::cpu());
  const std::size_t element = size_of(array.type());
  const std::string part = path + ".part", header = header_of(grid.extents(), array.type());
  together(grid, operation, where, [&] {
    if (grid.ranks().rank() == 0) create(part, header, static_cast<std::size_t>(grid.extents().count()) * element);
  });
  together(grid, operation, where, [&] {
    if (own.count() == 0) return;
    const Mapping mapping(part, true);
    Strides strides{};
    std::ranges::copy(own.strides(), strides.begin());
    copy_strided(own.extents(), element, block_in(grid, mapping.data() + header.size(), element),
                 row_major_strides(grid.extents()), static_cast<const std::byte *>(own.data()), strides);
  });
  together(grid, operation, where, [&] {
    if (grid.ranks().rank() == 0 && std::rename(part.c_str(), path.c_str()) != 0)
      throw std::runtime_error(error_text(path));
  });
}

void read_npy(const Grid &grid, const AnyBuffer &array, const std::string &path, SourceLocation where) {
  constexpr const char *operation = "read_npy";
  check_type(array, operation, where);
  AnyBuffer own = grid.without_ghosts(array, where);
  together(grid, operation, where, [&] {
    const Mapping mapping(path, false);
    const std::size_t element = size_of(array.type());
    std::byte *elements = elements_in(mapping, grid, array, path);
    if (own.count() == 0) return;
    const AnyBuffer block(Device::cpu(), array.type(), own.extents());
    copy_strided(own.extents(), element, static_cast<std::byte *>(block.data()), row_major_strides(own.extents()),
                 block_in(grid, elements, element), row_major_strides(grid.extents()));
    block.mark_written();
    own.copy_from(block);
  });
}

}  // namespace samite
