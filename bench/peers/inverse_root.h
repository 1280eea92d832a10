// 1 / √x as kernels may compute it, too: with a root and a division, each rounded, or from the processor's estimate and
// a step of Newton's method, which Clang makes of the same expression where it may.
#pragma once

enum class Root { rounded, estimated };

template <Root root>
inline float inverse_root(float x) {
  if constexpr (root == Root::rounded) {
    return 1 / __builtin_sqrtf(x);
  } else {
#pragma clang fp reciprocal(on) reassociate(on)
    return 1 / __builtin_sqrtf(x);
  }
}
