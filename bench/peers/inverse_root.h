// 1 / √x in the two ways that kernels may compute it: with a root and a division, each rounded, or from the processor's
// estimate and a step of Newton's method, into which Clang compiles the same expression if allowed.
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
