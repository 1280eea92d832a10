// Names and constants as the text of a kernel has them (ir/print.h).
#pragma once

#include "samite/ir/value.h"

#include <string>
#include <string_view>

namespace samite::ir {

// A string in quotes, with escapes.
std::string in_quotes(std::string_view text);
// @name, or @"any text" if the name is not an identifier.
std::string at_name(std::string_view name);
// As short as it can be without another meaning: "1.5", "2:i64".
std::string constant_text(const Value &value);

}  // namespace samite::ir
