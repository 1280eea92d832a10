#include "samite/passes/tiles/load_in_units.h"

#include "samite/passes/analysis/index_forms.h"
#include "samite/passes/simplify/rewrite.h"

#include <algorithm>

namespace samite::passes {
namespace {

using namespace ir;

constexpr std::int64_t unit_bytes = 16;

}  // namespace

Kernel load_in_units(Kernel planned, const FactsOfArrays &arrays) {
  const IndexForms forms(planned);
  // `step`: columns between windows.
  const auto in_units = [&](const Type &type, std::uint32_t array, const std::vector<Value> &indices,
                            std::int64_t step = 0) {
    const auto bytes = static_cast<std::int64_t>(size_of(type));
    const std::int64_t divisor = std::min(forms.divisor(indices.back()), unit_bytes);
    return facts_of(arrays, array).rows_in_units() && divisor * bytes % unit_bytes == 0 &&
           step * bytes % unit_bytes == 0;
  };
  planned.body = rewrite(planned.body, [&](const Stmt &stmt) -> Stmt {
    if (auto *known = stmt.as<TileLoad>(); known && !known->stream) {
      TileLoad load = *known;
      load.in_units = in_units(load.result.type, load.array, load.indices);
      return {std::move(load), stmt.where()};
    }
    if (auto *known = stmt.as<MainLoop>(); known && !known->by_bulk_copies()) {
      MainLoop loop = *known;
      for (Transfer &factor : loop.factors)
        factor.in_units = in_units(factor.ring.type, factor.array, factor.indices, factor.columns);
      return {std::move(loop), stmt.where()};
    }
    if (auto *known = stmt.as<LoadStream>()) {
      LoadStream stream = *known;
      stream.in_units = in_units(stream.to.type, stream.array, stream.indices, stream.columns);
      return {std::move(stream), stmt.where()};
    }
    return stmt;
  });
  return planned;
}

}  // namespace samite::passes
