// Turns a kernel into callable code: the steps of jit/pipeline.h → emit C++ → compile → link → load.
#pragma once

#include "samite/jit/variant.h"

#include <memory>

namespace samite::jit {

class KernelDefinition;

// UserError or DeviceError if one of the steps refuses.
std::shared_ptr<const Variant> build_variant(KernelDefinition &definition, const VariantKey &key);

}  // namespace samite::jit
