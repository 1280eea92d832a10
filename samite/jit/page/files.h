// The style and the script of HTML reports, as text in the library, so that a report is a self-contained file. The
// build generates the definition from the files next to this one.
#pragma once

#include "samite/codegen/embedded.h"

#include <span>

namespace samite {

// By path: "samite/jit/page/page.css". The views live as long as the process. Thread-safe.
std::span<const EmbeddedFile> embedded_page_files();

}  // namespace samite
