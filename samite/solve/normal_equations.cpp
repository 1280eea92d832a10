#include "samite/solve/normal_equations.h"

#include "samite/jit/kernel.h"
#include "samite/lang/control.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <numeric>

namespace samite::solvers::detail {
namespace {

using Indices = Array<const std::int32_t, 1>;
using Pairs = std::vector<std::pair<std::int32_t, std::int32_t>>;

// Kernels by the sizes compiled into them. They live as long as the program, like the library's other kernels.
template <class Sizes, class K>
const K &kernel_for(const Sizes &sizes, K (*make)(const Sizes &)) {
  static std::mutex mutex;
  static std::map<Sizes, K> made;
  const std::scoped_lock lock(mutex);
  const auto found = made.find(sizes);
  return found != made.end() ? found->second : made.emplace(sizes, make(sizes)).first->second;
}

struct SumSizes {
  int residuals, columns, first, rows, second, others;  // of J; of the two blocks: first column and width
  friend auto operator<=>(const SumSizes &, const SumSizes &) = default;
};
using BlockSumKernel = Kernel<void(Array<double, 3>, Array<const double, 2>, Indices, Indices, Indices)>;

// An instance for each number of a block: neighbouring instances read neighbouring elements, and share the rest.
BlockSumKernel block_sum(const SumSizes &of) {
  return {
      "normal_blocks",
      {"blocks", "jacobian", "targets", "starts", "sources"},
      [of](Array<double, 3> blocks, Array<const double, 2> jacobian, Indices targets, Indices starts, Indices sources) {
        const auto [i, a, b] = thread_index<3>();
        Double sum = 0;
        for (const Int j : range(starts(i), starts(i + 1))) {
          const Int source = sources(j);
          for (int r = 0; r < of.residuals; ++r)
            sum +=
                jacobian(source, a + (r * of.columns + of.first)) * jacobian(source, b + (r * of.columns + of.second));
        }
        blocks(targets(i), a, b) += sum;
      }};
}

struct GradientSizes {
  int residuals, columns, first, width;
  bool squares;  // the sum of squares of J, not of J times residuals
  friend auto operator<=>(const GradientSizes &, const GradientSizes &) = default;
};
using GradientKernel =
    Kernel<void(Array<double, 1>, Array<const double, 2>, Array<const double, 2>, Indices, Indices, Indices, Indices)>;

GradientKernel gradient_sum(const GradientSizes &of) {
  return {"normal_gradient",
          {"gradient", "jacobian", "residuals", "targets", "starts", "sources", "columns"},
          [of](Array<double, 1> gradient, Array<const double, 2> jacobian, Array<const double, 2> residuals,
               Indices targets, Indices starts, Indices sources, Indices columns) {
            const auto [i, k] = thread_index<2>();
            Double sum = 0;
            for (const Int j : range(starts(i), starts(i + 1))) {
              const Int source = sources(j);
              for (int r = 0; r < of.residuals; ++r) {
                const Double derivative = jacobian(source, k + (r * of.columns + of.first));
                sum += derivative * (of.squares ? derivative : Double(residuals(source, r)));
              }
            }
            gradient(columns(targets(i)) + k) += sum;
          }};
}

struct ProductSizes {
  int residuals, columns, first, width;
  friend auto operator<=>(const ProductSizes &, const ProductSizes &) = default;
};
using ProductKernel = Kernel<void(Array<double, 2>, Array<const double, 2>, Indices, Indices, Array<const double, 1>)>;

ProductKernel jacobian_product(const ProductSizes &of) {
  return {"jacobian_product",
          {"product", "jacobian", "index", "columns", "v"},
          [of](Array<double, 2> product, Array<const double, 2> jacobian, Indices index, Indices columns,
               Array<const double, 1> v) {
            const Int i = thread_index(), column = columns(index(i));
            if_(column >= 0, [&] {
              std::vector<Double> numbers;
              for (int k = 0; k < of.width; ++k) numbers.emplace_back(v(column + k));
              for (int r = 0; r < of.residuals; ++r) {
                Double sum = product(i, r);
                for (int k = 0; k < of.width; ++k)
                  sum += jacobian(i, r * of.columns + of.first + k) * numbers[static_cast<std::size_t>(k)];
                product(i, r) = sum;
              }
            });
          }};
}

const auto &diagonal_of_blocks() {
  static const Kernel kernel{
      "diagonal_of_blocks",
      {"diagonal", "blocks", "row_offsets", "column_offsets"},
      [](Array<double, 1> diagonal, Array<const double, 3> blocks, Indices row_offsets, Indices column_offsets) {
        const auto [i, k] = thread_index<2>();
        const Int row = row_offsets(i);
        if_(row == column_offsets(i), [&] { diagonal(row + k) = blocks(i, k, k); });
      }};
  return kernel;
}

std::vector<std::int32_t> by_key(const std::vector<std::int32_t> &order, const std::vector<std::int32_t> &keys,
                                 std::int64_t numbers) {
  std::vector<std::int32_t> starts(static_cast<std::size_t>(numbers) + 1), sorted(order.size());
  for (const std::int32_t i : order) ++starts[static_cast<std::size_t>(keys[static_cast<std::size_t>(i)]) + 1];
  std::partial_sum(starts.begin(), starts.end(), starts.begin());
  for (const std::int32_t i : order)
    sorted[static_cast<std::size_t>(starts[static_cast<std::size_t>(keys[static_cast<std::size_t>(i)])]++)] = i;
  return sorted;
}

Buffer<std::int32_t> uploaded(Device device, const std::vector<std::int32_t> &numbers) {
  return Buffer<std::int32_t>(device, Extents{numbers.size()}, numbers);
}

}  // namespace

Places places_of_pairs(const Pairs &pairs, std::int64_t numbers) {
  std::vector<std::int32_t> order(pairs.size()), keys(pairs.size());
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = 0; i < pairs.size(); ++i) keys[i] = pairs[i].second;
  order = by_key(order, keys, numbers);
  for (std::size_t i = 0; i < pairs.size(); ++i) keys[i] = pairs[i].first;
  order = by_key(order, keys, numbers);
  Places places{{}, std::vector<std::int32_t>(pairs.size())};
  for (const std::int32_t i : order) {
    const auto &pair = pairs[static_cast<std::size_t>(i)];
    if (places.different.empty() || places.different.back() != pair) places.different.push_back(pair);
    places.place[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(places.different.size()) - 1;
  }
  return places;
}

Gathering::Gathering(Device device, std::int64_t target_count, const std::vector<Item> &items) {
  std::vector<std::int32_t> order(items.size()), keys(items.size());
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = 0; i < items.size(); ++i) keys[i] = items[i].target;
  order = by_key(order, keys, target_count);
  std::vector<std::int32_t> to, begin, from, with;
  for (const std::int32_t i : order) {
    const Item &item = items[static_cast<std::size_t>(i)];
    if (to.empty() || to.back() != item.target) {
      to.push_back(item.target);
      begin.push_back(static_cast<std::int32_t>(from.size()));
    }
    from.push_back(item.source);
    with.push_back(item.other);
  }
  begin.push_back(static_cast<std::int32_t>(from.size()));
  targets = uploaded(device, to), starts = uploaded(device, begin);
  sources = uploaded(device, from), others = uploaded(device, with);
}

LowerBlocks BlockGroup::on_host() const { return {rows, columns, row_offsets, column_offsets, values.to_vector()}; }

NormalEquations::NormalEquations(const LeastSquaresProblem &problem, const Columns &columns, bool with_matrix)
    : problem_(problem), columns_(columns) {
  find_gradients();
  if (with_matrix) find_groups();
}

void NormalEquations::find_gradients() {
  for (std::size_t r = 0; r < problem_.residuals.size(); ++r)
    for (std::size_t b = 0; b < problem_.residuals[r].blocks.size(); ++b) {
      const Residuals::Block &block = problem_.residuals[r].blocks[b];
      std::vector<Gathering::Item> items;
      for (std::size_t i = 0; i < block.host_index.size(); ++i)
        if (columns_.of[block.parameters][static_cast<std::size_t>(block.host_index[i])] >= 0)
          items.push_back({block.host_index[i], static_cast<std::int32_t>(i), 0});
      if (items.empty()) continue;
      gradients_.push_back({r, b, Gathering(problem_.device(), problem_.parameters[block.parameters].blocks(), items),
                            columns_.on_device[block.parameters]});
    }
}

void NormalEquations::find_groups() {
  struct Pending {
    std::size_t residuals, first, second, begin;
    std::vector<std::int32_t> sources;
  };
  struct Found {
    Pairs pairs;
    std::vector<Pending> parts;
  };
  std::map<std::pair<std::size_t, std::size_t>, Found> found;  // by the parameters of rows and columns
  for (std::size_t r = 0; r < problem_.residuals.size(); ++r) {
    const Residuals &of = problem_.residuals[r];
    for (std::size_t a = 0; a < of.blocks.size(); ++a)
      for (std::size_t b = 0; b < of.blocks.size(); ++b) {
        const auto &rows = columns_.number[of.blocks[a].parameters],
                   &columns = columns_.number[of.blocks[b].parameters];
        Found &group = found[{of.blocks[a].parameters, of.blocks[b].parameters}];
        Pending part{r, a, b, group.pairs.size(), {}};
        for (std::size_t i = 0; i < static_cast<std::size_t>(of.count); ++i) {
          const std::int32_t row = rows[static_cast<std::size_t>(of.blocks[a].host_index[i])],
                             column = columns[static_cast<std::size_t>(of.blocks[b].host_index[i])];
          if (column < 0 || row < column) continue;
          group.pairs.emplace_back(row, column);
          part.sources.push_back(static_cast<std::int32_t>(i));
        }
        if (!part.sources.empty()) group.parts.push_back(std::move(part));
      }
  }
  for (const auto &[key, group] : found) {
    if (group.pairs.empty()) continue;
    const Places places = places_of_pairs(group.pairs, static_cast<std::int64_t>(columns_.owners.size()));
    BlockGroup blocks{key.first,
                      key.second,
                      problem_.parameters[key.first].manifold.tangent(),
                      problem_.parameters[key.second].manifold.tangent(),
                      {},
                      {},
                      {},
                      {},
                      {}};
    for (const auto &[row, column] : places.different) {
      const auto offset = [&](std::int32_t place) {
        const Columns::Owner &owner = columns_.owners[static_cast<std::size_t>(place)];
        return columns_.of[owner.parameters][static_cast<std::size_t>(owner.block)];
      };
      blocks.row_blocks.push_back(row), blocks.column_blocks.push_back(column);
      blocks.row_offsets.push_back(offset(row)), blocks.column_offsets.push_back(offset(column));
    }
    blocks.values = Buffer<double>(problem_.device(), {blocks.count(), blocks.rows * blocks.columns});
    blocks.rows_at = uploaded(problem_.device(), blocks.row_offsets);
    blocks.columns_at = uploaded(problem_.device(), blocks.column_offsets);
    for (const Pending &part : group.parts) {
      std::vector<Gathering::Item> items;
      for (std::size_t i = 0; i < part.sources.size(); ++i)
        items.push_back({places.place[part.begin + i], part.sources[i], 0});
      sums_.push_back({part.residuals, part.first, part.second, groups_.size(),
                       Gathering(problem_.device(), blocks.count(), items)});
    }
    groups_.push_back(std::move(blocks));
  }
}

void NormalEquations::compute_matrix(const Linearisation &of) {
  for (BlockGroup &group : groups_) group.values.fill(0);
  for (const BlockSum &sum : sums_) {
    const Residuals &residuals = problem_.residuals[sum.residuals];
    const BlockGroup &group = groups_[sum.group];
    const SumSizes sizes{residuals.rows,
                         residuals.columns,
                         residuals.blocks[sum.first].column,
                         group.rows,
                         residuals.blocks[sum.second].column,
                         group.columns};
    const Gathering &gathering = sum.gathering;
    kernel_for(sizes, block_sum)
        .launch({gathering.count(), group.rows, group.columns},
                group.values.reshape({group.count(), group.rows, group.columns}), of.jacobians[sum.residuals],
                gathering.targets, gathering.starts, gathering.sources);
  }
}

void NormalEquations::sum_columns(const Linearisation &of, const std::vector<Buffer<double>> &residuals, bool squares,
                                  const Buffer<double> &into) const {
  Buffer<double>(into).fill(0);
  for (const GradientSum &sum : gradients_) {
    const Residuals &all = problem_.residuals[sum.residuals];
    const Residuals::Block &block = all.blocks[sum.block];
    const GradientSizes sizes{all.rows, all.columns, block.column,
                              problem_.parameters[block.parameters].manifold.tangent(), squares};
    kernel_for(sizes, gradient_sum)
        .launch({sum.gathering.count(), sizes.width}, into, of.jacobians[sum.residuals], residuals[sum.residuals],
                sum.gathering.targets, sum.gathering.starts, sum.gathering.sources, sum.columns);
  }
}

void NormalEquations::transposed_product(const Linearisation &of, const std::vector<Buffer<double>> &residuals,
                                         const Buffer<double> &product) const {
  sum_columns(of, residuals, false, product);
}

void NormalEquations::diagonal(const Linearisation &of, const Buffer<double> &into) const {
  if (!groups_.empty()) {
    for (const BlockGroup &group : groups_)
      if (group.row_parameters == group.column_parameters)
        diagonal_of_blocks().launch({group.count(), group.rows}, into,
                                    group.values.reshape({group.count(), group.rows, group.columns}), group.rows_at,
                                    group.columns_at);
    return;
  }
  sum_columns(of, of.residuals, true, into);
}

void NormalEquations::product(const Linearisation &of, const Buffer<double> &v,
                              const std::vector<Buffer<double>> &products) const {
  for (std::size_t r = 0; r < problem_.residuals.size(); ++r) {
    const Residuals &all = problem_.residuals[r];
    Buffer<double>(products[r]).fill(0);
    if (all.count == 0) continue;
    for (const Residuals::Block &block : all.blocks) {
      const int width = problem_.parameters[block.parameters].manifold.tangent();
      if (width == 0) continue;
      kernel_for(ProductSizes{all.rows, all.columns, block.column, width}, jacobian_product)
          .launch({all.count}, products[r], of.jacobians[r], block.index, columns_.on_device[block.parameters], v);
    }
  }
}

}  // namespace samite::solvers::detail
