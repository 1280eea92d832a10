// The types of ready-made products: rows of X(factors, results), and of X(left factor, right factor) for 8 bits. A
// product of two f8e5m2 factors would have only two digits.
#pragma once

#define SAMITE_PRODUCTS_OF_FLOATS(X) \
  X(half, half)                      \
  X(half, float)                     \
  X(bfloat16, bfloat16)              \
  X(bfloat16, float)                 \
  X(float, float)                    \
  X(double, double)
#define SAMITE_PRODUCTS_OF_INTEGERS(X) \
  X(std::int8_t, std::int32_t)         \
  X(std::uint8_t, std::int32_t)
#define SAMITE_FACTORS_OF_8_BITS(X) \
  X(f8e4m3, f8e4m3)                 \
  X(f8e4m3, f8e5m2)                 \
  X(f8e5m2, f8e4m3)
