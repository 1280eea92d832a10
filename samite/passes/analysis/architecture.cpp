#include "samite/passes/analysis/architecture.h"

namespace samite::passes {
namespace {

using enum ir::FragmentLayout::Unit;

constexpr Multiplication of_tensor_cores[] = {
    {ScalarType::Float32, ScalarType::Float32, matrices, /*tf32=*/true},
    {ScalarType::Float16, ScalarType::Float32, matrices},
    {ScalarType::BFloat16, ScalarType::Float32, matrices},
    {ScalarType::Float16, ScalarType::Float16, matrices},
    {ScalarType::BFloat16, ScalarType::BFloat16, matrices},
    {ScalarType::Float8E4M3, ScalarType::Float32, matrices},
    {ScalarType::Float8E5M2, ScalarType::Float32, matrices},
    {ScalarType::Int8, ScalarType::Int32, matrices},
    {ScalarType::UInt8, ScalarType::Int32, matrices},
    {ScalarType::Float64, ScalarType::Float64, matrices},
    {ScalarType::Float32, ScalarType::Float32, fours},
    {ScalarType::Int32, ScalarType::Int32, fours},
    {ScalarType::UInt32, ScalarType::UInt32, fours},
};

// Only in the feature set of 9.0 (sm_90a).
constexpr Multiplication of_warp_groups[] = {
    {ScalarType::Float16, ScalarType::Float32, group_matrices},
    {ScalarType::BFloat16, ScalarType::Float32, group_matrices},
    {ScalarType::Float32, ScalarType::Float32, group_matrices, /*tf32=*/true, /*terms_together=*/true},
    {ScalarType::Float8E4M3, ScalarType::Float32, group_matrices, false, /*terms_together=*/true},
    {ScalarType::Float8E5M2, ScalarType::Float32, group_matrices, false, /*terms_together=*/true},
    {ScalarType::Int8, ScalarType::Int32, group_matrices, false, /*terms_together=*/true},
    {ScalarType::UInt8, ScalarType::Int32, group_matrices, false, /*terms_together=*/true},
};

constexpr std::int64_t kib = 1024, registers = 65536;

constexpr Architecture cpu{0, 0, 0, 0, {}};
constexpr Architecture gpus[] = {
    {80, 163 * kib, 2048, registers, of_tensor_cores},
    {86, 99 * kib, 1536, registers, of_tensor_cores},
    {87, 163 * kib, 1536, registers, of_tensor_cores},
    {89, 99 * kib, 1536, registers, of_tensor_cores},
    {90, 227 * kib, 2048, registers, of_tensor_cores, of_warp_groups, /*clusters=*/true, /*fetches_rows=*/true},
    // These have tensor memory and tcgen05 in place of wgmma, which no main loop uses yet: single warps multiply.
    {100, 227 * kib, 2048, registers, of_tensor_cores, {}, /*clusters=*/true, /*fetches_rows=*/true},
    {103, 227 * kib, 2048, registers, of_tensor_cores, {}, /*clusters=*/true, /*fetches_rows=*/true},
    {110, 227 * kib, 1536, registers, of_tensor_cores, {}, /*clusters=*/true, /*fetches_rows=*/true},
    {120, 99 * kib, 1536, registers, of_tensor_cores, {}, /*clusters=*/true, /*fetches_rows=*/true},
};

}  // namespace

const Multiplication *Architecture::multiplication_of_groups(ScalarType factor) const {
  for (const Multiplication &row : of_groups)
    if (row.factor == factor) return &row;
  return nullptr;
}

const Architecture &cpu_architecture() { return cpu; }

const Architecture &gpu_architecture(int capability) {
  const Architecture *found = gpus;
  for (const Architecture &row : gpus)
    if (row.capability <= capability) found = &row;
  return *found;
}

}  // namespace samite::passes
