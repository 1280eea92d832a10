#include "samite/passes/analysis/array_facts.h"

namespace samite::passes {

ArrayFacts facts_of(const FactsOfArrays &arrays, std::uint32_t array) {
  return array < arrays.size() ? arrays[array] : ArrayFacts{};
}

SharesMemory shares_memory(const FactsOfArrays &arrays) {
  return [&arrays](std::uint32_t read, std::uint32_t written) {
    return read == written || !facts_of(arrays, read).unaliased;
  };
}

}  // namespace samite::passes
