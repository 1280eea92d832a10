// A product's plan: the fastest one measured by tune(), if any, otherwise that of ops/matmul_plan.h.
//
// Measured plans are stored in the user's cache folder (toolchain/object_cache.h), keyed by the library's version, the
// device, the shape, the factors, and the operation: its name and the type of its epilogue. Several processes may
// measure at the same time; the last one's choice stays. Damaged entries, and plans that are not candidates, are
// ignored. A process looks once for each shape.
#pragma once

#include "samite/base/hash.h"
#include "samite/ops/matmul_plan.h"

#include <string_view>

namespace samite::ops {

// A product that needs a plan.
struct PlannedProduct {
  Hash128 operation;
  MatmulShape shape;
  MatmulFactors factors;
  Device device;
};

// Distinguishes an operation from others: its name, and the types of its epilogue, its factors and its result.
Hash128 identity_of_operation(std::string_view name, std::string_view types);

// Thread-safe. DeviceError if the device does not exist.
MatmulPlan chosen_plan(const PlannedProduct &product);
// For this process, and for later ones.
void keep_plan(const PlannedProduct &product, const MatmulPlan &plan);

namespace detail {
Hash128 key_on_disk(const PlannedProduct &product);
void forget_chosen_plans();  // as in a new process
}  // namespace detail

}  // namespace samite::ops
