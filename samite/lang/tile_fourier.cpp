#include "samite/lang/tile_fourier.h"

#include "samite/base/error.h"

namespace samite::lang {
namespace {

void check_complex(const char *what, const ir::Type &type, SourceLocation where) {
  const ir::TileShape shape = type.shape();
  if (shape.rank() < 2 || shape[shape.rank() - 1] != 2)
    throw UserError(where, std::string(what) + " of a tile of extents " + shape.to_string() +
                               "; complex numbers have their two parts along a last dimension of extent 2 "
                               "(tile::complex)");
}

}  // namespace

ir::Value transform_tile(ir::Value x, bool inverse, SourceLocation where) {
  const char *what = inverse ? "ifft" : "fft";
  check_complex(what, x.type(), where);
  if (x.type().element() != ScalarType::Float32 && x.type().element() != ScalarType::Float64)
    throw UserError(where, std::string(what) + " of a tile of " + std::string(name(x.type().element())) +
                               "; the types that it is for are f32 and f64 (tile::cast)");
  const std::int32_t attribute = inverse ? ir::fourier_conjugate | ir::fourier_scaled : 0;
  return record_tile({ir::Op::Fourier, x.type(), {x}, 0, attribute}, where);
}

ir::Value with_last_dimension(ir::Value x, SourceLocation where) {
  const ir::TileShape shape = x.type().shape();
  std::vector<std::int64_t> extents(shape.begin(), shape.end());
  extents.push_back(1);
  if (extents.size() > ir::maximum_tile_rank)
    throw UserError(where, "a complex tile of extents " + shape.to_string() +
                               " and another dimension for the two parts; a tile has at most four");
  return record_tile({ir::Op::Reshape, {x.type().element(), ir::TileShape(extents)}, {x}}, where);
}

ir::Value part_of_complex(ir::Value x, int part, SourceLocation where) {
  check_complex(part == 0 ? "real" : "imag", x.type(), where);
  const ir::TileShape shape = x.type().shape();
  std::vector<std::int64_t> extents(shape.begin(), shape.end());
  extents.back() = 1;
  ir::Operation window{ir::Op::Window, {x.type().element(), ir::TileShape(extents)}, {x}};
  for (int d = 0; d < shape.rank(); ++d)
    window.operands.push_back(ir::Value::constant(ScalarType::Int32, d == shape.rank() - 1 ? part : 0));
  const ir::Value one = record_tile(std::move(window), where);
  extents.pop_back();
  return record_tile({ir::Op::Reshape, {x.type().element(), ir::TileShape(extents)}, {one}}, where);
}

}  // namespace samite::lang
