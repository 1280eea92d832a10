// A prelude and a kernel, small but of the kind that Samite emits: vectors, masked loads and stores.
#pragma once

#include "samite/toolchain/host_compiler.h"

#include <string>

namespace samite::test {

inline constexpr const char *sample_prelude = R"(
#pragma once
typedef __INT64_TYPE__ int64_t;
using Floats = float __attribute__((ext_vector_type(8)));
using Ints = int __attribute__((ext_vector_type(8)));
using Mask = bool __attribute__((ext_vector_type(8)));
inline Floats load(Mask mask, const float *from) { return __builtin_masked_load(mask, from, (Floats)0.f); }
inline void store(Mask mask, float *to, Floats value) { __builtin_masked_store(mask, value, to); }
)";

// Adds `amount` to each of the first `count` floats.
inline HostSource adding(const std::string &amount) {
  return {.name = "add",
          .text = R"(
extern "C" void add(float *values, int64_t count) {
  for (int64_t i = 0; i < count; i += 8) {
    const Ints lanes = {0, 1, 2, 3, 4, 5, 6, 7};
    const Mask mask = __builtin_convertvector(lanes < (int)(count - i), Mask);
    store(mask, values + i, load(mask, values + i) + )" +
                  amount + R"(f);
  }
}
)"};
}

// Calls `halve`, which is in an object of its own, and adds `amount`.
inline HostSource calling_halve(const std::string &amount) {
  return {.name = "call",
          .text = "extern \"C\" float halve(float);\nextern \"C\" float call(float x) { return halve(x) + " + amount +
                  "f; }\n"};
}
inline HostSource halve() {
  return {.name = "halve", .text = "extern \"C\" float halve(float x) { return x * 0.5f; }\n"};
}

// The sum of the results of `adding(amount)` for {1, ..., 10}.
inline float run_add(const HostImage &image) {
  float values[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  image.function<void(float *, long)>("add")(values, 10);
  float sum = 0;
  for (const float value : values) sum += value;
  return sum;
}

}  // namespace samite::test
