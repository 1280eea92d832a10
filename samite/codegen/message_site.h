// The data of a print or a check that are not in the text.
#pragma once

#include "samite/codegen/emit.h"
#include "samite/codegen/spelling.h"

namespace samite::codegen {

// Adds the message's texts, and the types in which its values are passed to the launcher.
inline MessageSite with_message(MessageSite site, const ir::Message &message) {
  site.texts = message.texts;
  for (const ir::Value &value : message.values)
    site.types.push_back(is_small_float(value.type()) ? ScalarType::Float32 : value.type().element());
  return site;
}

}  // namespace samite::codegen
