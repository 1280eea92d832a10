#include "samite/passes/tiles/factor_copies.h"

#include "samite/base/error.h"
#include "samite/ir/tile_rules.h"
#include "samite/ir/visit.h"
#include "samite/passes/analysis/index_forms.h"
#include "samite/passes/sm90/group_sums.h"
#include "samite/passes/tiles/declared_products.h"

#include <fmt/format.h>

#include <algorithm>

namespace samite::passes {
namespace {

using namespace ir;

class Reads {
 public:
  Reads(const Kernel &kernel, const Architecture &architecture)
      : architecture_(architecture), threads_(kernel.block_threads), forms_(kernel) {
    for_each_statement(kernel.body, [&](const Stmt &stmt) {
      const auto *loop = stmt.as<For>();
      if (!loop) return;
      for (const Let *product : products_of(*loop)) add(product->value, *loop);
    });
  }
  std::vector<FactorRead> take() { return std::move(reads_); }

 private:
  void add(const Operation &product, const For &loop) {
    const Type &a = product.operands[0].type();
    const auto unit = std::ranges::find_if(architecture_.of_groups, [&](const Multiplication &row) {
      return row.factor == a.element() && row.sum == product.type.element() &&
             (!row.tf32 || (product.attribute & tf32_factors));
    });
    if (unit == architecture_.of_groups.end() || product.type.shape().rank() != 2) return;
    const MatMulExtents extents = matmul_extents(a, product.type, product.attribute);
    const bool turned = turned_group_sums(a, product.type, product.attribute, threads_, architecture_).has_value();
    for (const bool of_b : {false, true}) {
      const Operation *load = window_of(loop, product.operands[of_b ? 1 : 0]);
      if (!load) continue;
      const bool transposed = product.attribute & (of_b ? transposed_b : transposed_a);
      FactorRead read{load->array, {}, of_b ? extents.rows : extents.columns, unit->terms_together, false};
      read.swapped = read.terms_together && transposed != of_b && !(of_b && turned);
      read.dimensions = dimensions(*load);
      if (read.dimensions.size() > 1 && std::ranges::find(reads_, read) == reads_.end())
        reads_.push_back(std::move(read));
    }
  }

  std::vector<FactorRead::Dimension> dimensions(const Operation &load) const {
    constexpr std::uint64_t untold = 1, of_launch = (std::uint64_t{1} << maximum_rank) - 1;
    const std::size_t rank = load.operands.size();
    std::vector<FactorRead::Dimension> dimensions;
    for (std::size_t d = 0; d < rank; ++d) {
      const std::uint64_t on = forms_(load.operands[d]).depends_on;
      const std::int64_t window = d + 2 < rank ? 1 : load.type.shape()[d + 2 - rank];
      dimensions.push_back({window, on >> 1 & of_launch, (on >> (1 + maximum_rank)) != 0, !(on & untold)});
    }
    return dimensions;
  }

  const Architecture &architecture_;
  const std::int64_t threads_;
  const IndexForms forms_;
  std::vector<FactorRead> reads_;
};

}  // namespace

std::vector<FactorRead> factor_reads(const Kernel &structured, const Architecture &architecture) {
  if (!is_tile_kernel(structured) || structured.scheduled || structured.sums_in_shared ||
      !architecture.has_warp_groups())
    return {};
  return Reads(structured, architecture).take();
}

double multiplications(const FactorRead &read, std::span<const std::int64_t> array_extents,
                       std::span<const std::int64_t> launch_extents) {
  const auto blocks = [&](std::uint64_t dimensions) {
    double count = 1;
    for (std::size_t d = 0; d < launch_extents.size(); ++d)
      if (dimensions >> d & 1) count *= static_cast<double>(launch_extents[d]);
    return count;
  };
  std::uint64_t dimensions_of_places = 0;
  for (std::size_t d = 0; d < read.dimensions.size(); ++d) {
    const FactorRead::Dimension &own = read.dimensions[d];
    dimensions_of_places |= own.blocks;
    const double reached = blocks(own.blocks) * static_cast<double>(own.window);
    if (!own.told) return 0;
    if (!own.in_loop && 2 * reached < static_cast<double>(array_extents[d])) return 0;
  }
  return blocks(~dimensions_of_places) * static_cast<double>(read.multiplied);
}

// A copy, at about 3 TB/s, also costs a few microseconds for a launch. A padded copy makes a product about 20 times as
// fast, a swapped one less than twice.
bool pays(double elements, double multiplications, bool swapped) {
  const double fewest = swapped ? 1024 : 256, fewest_in_all = swapped ? 0x1p31 : 0x1p27;
  return multiplications >= fewest && elements * multiplications >= fewest_in_all;
}

Kernel with_copies(Kernel kernel, std::span<const FactorCopy> copies) {
  for (const FactorCopy &copy : copies) {
    internal_check(copy.parameter == kernel.parameters.size(), "a copy that is not the next parameter");
    Parameter made;
    made.name = fmt::format("{}_{}", kernel.parameters[copy.array].name, copy.swapped ? "swapped" : "padded");
    made.type = kernel.parameters[copy.array].type;
    made.rank = kernel.parameters[copy.array].rank;
    kernel.parameters.push_back(std::move(made));
  }
  return kernel;
}

}  // namespace samite::passes
