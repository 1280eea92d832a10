#include "samite/jit/kernel.h"

#include "samite/jit/definition.h"
#include "samite/jit/named_adjoints.h"
#include "samite/lang/capture.h"

#include <iterator>

namespace samite::jit {

std::shared_ptr<KernelDefinition> defined(ir::Kernel captured, SourceLocation where) {
  auto definition = std::make_shared<KernelDefinition>(std::move(captured));
  record_named_adjoints(*definition, where);
  return definition;
}

std::shared_ptr<KernelDefinition> define_kernel(std::string name, std::vector<ir::Parameter> parameters,
                                                FunctionRef<void(std::uint32_t serial)> function,
                                                SourceLocation where) {
  return defined(lang::run_capture(std::move(name), std::move(parameters), function, where, 0), where);
}

std::vector<OwnedArgument> moved_from(std::span<OwnedArgument> arguments) {
  return {std::move_iterator(arguments.begin()), std::move_iterator(arguments.end())};
}

const std::string &name_of(const KernelDefinition &definition) { return definition.name(); }

const ir::Kernel &structured(const KernelDefinition &definition) { return definition.structured(); }

std::vector<std::shared_ptr<const Variant>> variants_of(const KernelDefinition &definition) {
  return definition.variants();
}

std::shared_ptr<KernelDefinition> adjoint_kernel(KernelDefinition &definition, std::uint64_t active) {
  return definition.adjoint_kernel(active);
}

std::shared_ptr<KernelDefinition> tangent_kernel(KernelDefinition &definition, std::uint64_t active) {
  return definition.tangent_kernel(active);
}

autodiff::AdjointReport adjoint_report(KernelDefinition &definition, std::uint64_t active,
                                       std::optional<std::int64_t> memory_limit) {
  return autodiff::report(definition.structured(), definition.adjoint(active, false, memory_limit));
}

}  // namespace samite::jit
