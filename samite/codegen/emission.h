// State that all parts of the emitter share for one kernel: the text so far, the records next to the text, and facts
// about the whole kernel.
#pragma once

#include "samite/codegen/emit.h"
#include "samite/codegen/source_writer.h"
#include "samite/codegen/spelling.h"
#include "samite/passes/analysis/index_forms.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace samite::codegen {

class Emission {
 public:
  Emission(const ir::Kernel &kernel, const EmitOptions &options);

  const ir::Kernel &kernel;
  const EmitOptions &options;
  const bool uses_workspace;
  SourceWriter out;
  EmittedSource source;  // everything but its text

  // Computed on first use: few kernels need it, and it takes a tenth of the text's time.
  const passes::IndexForms &forms() {
    if (!forms_) forms_.emplace(kernel);
    return *forms_;
  }

  // A unique C++ name.
  std::string fresh(std::string_view prefix) { return fmt::format("{}{}", prefix, ++names_); }
  // Restarts the numbers of names, for a separate function, or continues after `names`. Returns the number of names so
  // far.
  int number_names_from(int names) { return std::exchange(names_, names); }

  // The numbers that identify a file, a line and a message in failures.
  std::size_t file(SourceLocation where);
  std::size_t site(SourceLocation where);
  std::size_t message(MessageSite site);

  ArrayFacts facts(std::uint32_t array) const { return passes::facts_of(options.arrays, array); }
  bool used(ir::LocalId local) const { return used_[local]; }
  bool writes(std::uint32_t array) const { return written_[array]; }
  // Whether its elements are constant while the kernel runs, so that they can be loaded through read-only caches.
  bool constant(std::uint32_t array) const { return !written_[array] && facts(array).unaliased; }
  // Whether the kernel only adds to it, so that the order of additions is unobservable; by parameter.
  const std::vector<bool> &only_added_to() const { return only_added_to_; }

 private:
  std::vector<bool> used_;                     // by LocalId: whether it is read
  std::vector<bool> written_, only_added_to_;  // by parameter
  std::optional<passes::IndexForms> forms_;
  int names_ = 0;
};

// The names of locals, local arrays and values if a thread runs one instance.
inline std::string local_name(ir::LocalId local) { return fmt::format("v{}", local); }
inline std::string array_name(ir::LocalArrayId array) { return fmt::format("a{}", array); }
std::string scalar_text(const ir::Value &value);

// Appends a term to the text of a sum.
void add_term(std::string &sum, const std::string &term);

}  // namespace samite::codegen
