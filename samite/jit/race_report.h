// The text of debug mode's race errors.
#pragma once

#include "samite/jit/variant.h"
#include "samite/runtime/extents.h"

#include <string>

namespace samite::jit {

// `instance` detected the race; `values` are those of a `check race` (passes/threads/check_races.h).
std::string race_text(const Variant &variant, const Extents &extents, const std::int64_t *instance,
                      const codegen::MessageSite &site, const std::uint64_t *values);

}  // namespace samite::jit
