#include "samite/passes/adjoint/wide_windows.h"

#include "samite/ir/tile_rules.h"
#include "samite/ir/visit.h"

#include <algorithm>

namespace samite::passes {
namespace {

using namespace ir;

class Widener {
 public:
  Widener(std::span<const Stmt> slice, const For &loop, int freed, const IndexForms &forms)
      : loop_(loop), freed_(freed), forms_(forms) {
    for (const Stmt &stmt : slice) {
      const Let &let = *stmt.as<Let>();
      definitions_.emplace(let.local, &let);
      for (const Value &operand : let.value.operands)
        if (operand.is_local()) ++uses_[operand.id()];
    }
  }

  std::optional<WideWindows> widen(const Accumulate &added, const Let &product) {
    const Operation &multiply = product.value;
    const std::array<Type, 2> factors{multiply.operands[0].type(), multiply.operands[1].type()};
    for (const Type &type : {factors[0], factors[1], multiply.type})
      if (type.shape().rank() != 2) return std::nullopt;
    const MatMulExtents e = matmul_extents(factors[0], multiply.type, multiply.attribute);
    const std::array transposed{(multiply.attribute & transposed_a) != 0, (multiply.attribute & transposed_b) != 0};
    // For the factors' tiles, the dimension of the product's rows or columns, and that of its terms.
    const std::array along_lines{transposed[0] ? 1 : 0, transposed[1] ? 0 : 1};

    const auto rank = static_cast<int>(added.indices.size());
    const auto wide = widened_dimension(added, rank);
    if (!wide || wide->dimension < rank - 2) return std::nullopt;
    const std::size_t factor = wide->dimension == rank - 2 ? 0 : 1;
    const std::int64_t extent = factor == 0 ? e.rows : e.columns;
    if (wide->extent != extent || e.inner % extent != 0 || e.inner == extent) return std::nullopt;

    WideWindows made{.by = e.inner / extent,
                     .loads = {},
                     .along_terms = {},
                     .types = {},
                     .dimension = wide->dimension,
                     .extent = extent,
                     .rest = wide->rest};
    for (std::size_t i = 0; i < 2; ++i) {
      std::array<std::int64_t, 2> shape{};
      const auto lines = static_cast<std::size_t>(along_lines[i]);
      shape[lines] = i == factor ? e.inner : (i == 0 ? e.rows : e.columns);
      shape[1 - lines] = extent;
      const Let *load = change(multiply.operands[i], TileShape(shape), made.types);
      if (!load) return std::nullopt;
      const auto dimensions = static_cast<int>(load->value.operands.size());
      made.loads[i] = load->local;
      made.along_terms[i] = dimensions - 2 + (1 - along_lines[i]);
      const int of_lines = dimensions - 2 + along_lines[i];
      if (!steps_by_terms(*load, made.along_terms[i], of_lines, i == factor, e.inner, extent)) return std::nullopt;
    }
    const TileShape sums = factor == 0 ? TileShape{e.inner, e.columns} : TileShape{e.rows, e.inner};
    made.types.emplace(product.local, Type(multiply.type.element(), sums));
    return made;
  }

 private:
  struct Selected {
    int dimension;
    std::int64_t extent, rest;
  };

  bool selects(const Along &along) const { return along.index && along.index->kind != Symbol::Kind::ThreadIndex; }

  // The gradient's only dimension that the loop selects.
  std::optional<Selected> widened_dimension(const Accumulate &added, int rank) const {
    std::optional<Selected> found;
    for (int d = 0; d < rank; ++d) {
      const auto along = forms_.along(added.indices[static_cast<std::size_t>(d)], &loop_);
      if (!along) return std::nullopt;
      if (!selects(*along)) continue;
      if (found || !along->one_to_one || !along->rest.is_constant()) return std::nullopt;
      found = {d, along->scale, along->rest.constant()};
    }
    return found;
  }

  // The load of a factor, through casts, which all get the new shape.
  const Let *change(const Value &factor, const TileShape &shape, std::map<LocalId, Type> &types) const {
    Value at = factor;
    while (at.is_local()) {
      const auto known = definitions_.find(at.id());
      if (known == definitions_.end() || uses_.at(at.id()) != 1) return nullptr;
      const Let &let = *known->second;
      types.emplace(let.local, Type(let.value.type.element(), shape));
      if (let.value.op == Op::Load || let.value.op == Op::Exchange)
        return is_gather(let.value.operands) || let.value.operands.size() < 2 ? nullptr : &let;
      if (let.value.op != Op::Cast) return nullptr;
      at = let.value.operands[0];
    }
    return nullptr;
  }

  // Whether the terms of consecutive blocks are adjacent, and so are the lines of the loop's consecutive windows if
  // they are widened; and whether nothing else differs.
  bool steps_by_terms(const Let &load, int terms, int lines, bool widened, std::int64_t inner,
                      std::int64_t extent) const {
    for (int d = 0; d < static_cast<int>(load.value.operands.size()); ++d) {
      const auto along = forms_.along(load.value.operands[static_cast<std::size_t>(d)], &loop_);
      if (!along) return false;
      const bool of_loop = selects(*along), of_block = along->index && !of_loop && along->index->dimension == freed_;
      if (d == terms) {
        if (!of_block || !along->one_to_one || along->scale != inner) return false;
      } else if (d == lines && widened) {
        if (!of_loop || !along->one_to_one || along->scale != extent) return false;
      } else if (of_loop || of_block) {
        return false;
      }
    }
    return true;
  }

  const For &loop_;
  const int freed_;
  const IndexForms &forms_;
  std::map<LocalId, const Let *> definitions_;
  std::map<LocalId, int> uses_;
};

}  // namespace

std::optional<WideWindows> wide_windows(const Accumulate &added, const Let &product, std::span<const Stmt> slice,
                                        const For &loop, int freed, const IndexForms &forms) {
  return Widener(slice, loop, freed, forms).widen(added, product);
}

}  // namespace samite::passes
