// What all parts of the emitter share about one kernel: its text so far, the records beside the text, and facts that
// hold for the whole kernel.
#pragma once

#include "samite/codegen/emit.h"
#include "samite/codegen/source_writer.h"
#include "samite/codegen/spelling.h"
#include "samite/passes/index_forms.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace samite::codegen {

class Emission {
 public:
  Emission(const ir::Kernel &kernel, const EmitOptions &options);

  const ir::Kernel &kernel;
  const EmitOptions &options;
  const bool uses_workspace;
  SourceWriter out;
  EmittedSource source;  // all but its text

  // Made when it is first asked for: few kernels ask, and it takes a tenth of the time that the text takes.
  const passes::IndexForms &forms() {
    if (!forms_) forms_.emplace(kernel);
    return *forms_;
  }

  // A C++ name that nothing else has.
  std::string fresh(std::string_view prefix) { return fmt::format("{}{}", prefix, ++names_); }

  // The numbers by which the text names a file, a line and a message when something fails.
  std::size_t file(SourceLocation where);
  std::size_t site(SourceLocation where);
  std::size_t message(MessageSite site);

  ArrayFacts facts(std::uint32_t array) const { return passes::facts_of(options.arrays, array); }
  bool used(ir::LocalId local) const { return used_[local]; }
  bool writes(std::uint32_t array) const { return written_[array]; }
  // Whether its elements stay what they are while the kernel runs, so that they may be loaded through caches.
  bool constant(std::uint32_t array) const { return !written_[array] && facts(array).unaliased; }
  // Whether the kernel adds to it, and does nothing else with it whose order could be told; by parameter.
  const std::vector<bool> &only_added_to() const { return only_added_to_; }

 private:
  std::vector<bool> used_;                     // by LocalId: whether anything reads it
  std::vector<bool> written_, only_added_to_;  // by parameter
  std::optional<passes::IndexForms> forms_;
  int names_ = 0;
};

// How a local, a local array and a value are named where a thread runs one instance.
inline std::string local_name(ir::LocalId local) { return fmt::format("v{}", local); }
inline std::string array_name(ir::LocalArrayId array) { return fmt::format("a{}", array); }
std::string scalar_text(const ir::Value &value);

// Makes `sum` the text of a sum with one term more.
void add_term(std::string &sum, const std::string &term);

}  // namespace samite::codegen
