// Fourier transforms of complex tiles.
//
// A complex tile has one more dimension, the last one, of extent 2: the real and the imaginary part.
//
//   Tile<float> z = tile::complex(x, y);                           // {8, 64} and {8, 64} -> {8, 64, 2}
//   Tile<float> f = tile::fft(z);                                  // along the dimension of extent 64
//   Tile<float> smooth = tile::real(tile::ifft(tile::multiply_complex(f, g)));
//
// `fft` computes X[j] = Σ x[k] exp(-2πi j k / n); `ifft` uses the conjugate and divides by n, so that it is the
// inverse. Any length is allowed: factors of 4, 2, 3, 5 and 7 take fast steps; other prime factors take sums, whose
// time for each element grows with the prime. Elements are float or double. The gradient is the conjugate transform of
// the gradients of real and imaginary part.
#pragma once

#include "samite/lang/tile_operations.h"

namespace samite {
namespace lang {

// UserError if it is not a complex tile of float or double.
ir::Value transform_tile(ir::Value x, bool inverse, SourceLocation where);
// Appends a dimension of extent 1; and returns one of the two parts without that dimension.
ir::Value with_last_dimension(ir::Value x, SourceLocation where);
ir::Value part_of_complex(ir::Value x, int part, SourceLocation where);

}  // namespace lang

namespace tile {

template <Scalar T>
Tile<T> fft(const Tile<T> &x, SourceLocation where = std::source_location::current()) {
  return Tile<T>::adopt(lang::transform_tile(x.value(where), false, where));
}
template <Scalar T>
Tile<T> ifft(const Tile<T> &x, SourceLocation where = std::source_location::current()) {
  return Tile<T>::adopt(lang::transform_tile(x.value(where), true, where));
}

template <Scalar T>
Tile<T> real(const Tile<T> &z, SourceLocation where = std::source_location::current()) {
  return Tile<T>::adopt(lang::part_of_complex(z.value(where), 0, where));
}
template <Scalar T>
Tile<T> imag(const Tile<T> &z, SourceLocation where = std::source_location::current()) {
  return Tile<T>::adopt(lang::part_of_complex(z.value(where), 1, where));
}
template <Scalar T>
Tile<T> complex(const Tile<T> &re, const Tile<T> &im, SourceLocation where = std::source_location::current()) {
  const ir::Value first = lang::with_last_dimension(re.value(where), where);
  const ir::Value second = lang::with_last_dimension(im.value(where), where);
  return Tile<T>::adopt(lang::concatenate_tiles(first, second, first.type().shape().rank() - 1, where));
}

template <Scalar T>
Tile<T> multiply_complex(const Tile<T> &a, const Tile<T> &b, SourceLocation where = std::source_location::current()) {
  const Tile<T> x = real(a, where), y = imag(a, where), u = real(b, where), v = imag(b, where);
  return complex(Tile<T>(x * u - y * v), Tile<T>(x * v + y * u), where);
}

}  // namespace tile
}  // namespace samite
