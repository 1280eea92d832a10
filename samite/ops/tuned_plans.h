// Which plan a product has: one that tune() has measured to be the fastest, where there is such a one, or else that of
// ops/matmul_plan.h.
//
// What was measured is kept in the user's cache folder (toolchain/object_cache.h), under a key of the library's
// version, the device, the shape, what is multiplied, and the operation: its name and the type of its epilogue. Any
// number of processes may measure at the same time; the last one's choice stays. An entry that is damaged, or that
// holds no plan of the candidates, is as none. A process looks once for each shape.
#pragma once

#include "samite/base/hash.h"
#include "samite/ops/matmul_plan.h"

#include <string_view>

namespace samite::ops {

// A product for which a plan is asked.
struct PlannedProduct {
  Hash128 operation;
  MatmulShape shape;
  MatmulFactors factors;
  Device device;
};

// What tells an operation from others: its name, and the types of its epilogue, its factors and its result.
Hash128 identity_of_operation(std::string_view name, std::string_view types);

// Thread-safe. DeviceError where the device is not there.
MatmulPlan chosen_plan(const PlannedProduct &product);
// For this process, and for later ones.
void keep_plan(const PlannedProduct &product, const MatmulPlan &plan);

namespace detail {
Hash128 key_on_disk(const PlannedProduct &product);
void forget_chosen_plans();  // as a new process
}  // namespace detail

}  // namespace samite::ops
