#include "samite/solve/schur_complement.h"

#include "samite/base/error.h"
#include "samite/jit/kernel.h"
#include "samite/lang/control.h"
#include "samite/lang/math.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace samite::solvers::detail {
namespace {

using Indices = Array<const std::int32_t, 1>;
using Numbers = Array<const double, 1>;
using Blocks = Array<const double, 2>;
using TracedMatrix = std::vector<std::vector<Double>>;

// The inverse of a positive definite matrix, by Cholesky's factor: NaN for others.
TracedMatrix inverse_of(const TracedMatrix &a) {
  const std::size_t n = a.size();
  TracedMatrix lower(n), inverse(n), result(n);
  for (std::size_t j = 0; j < n; ++j)
    for (std::size_t i = 0; i < n; ++i) {
      if (i < j) {
        lower[i].emplace_back(0.0);
        continue;
      }
      Double sum = a[i][j];
      for (std::size_t k = 0; k < j; ++k) sum -= lower[i][k] * lower[j][k];
      lower[i].push_back(i == j ? Double(1.0 / sqrt(sum)) : Double(sum * lower[j][j]));  // 1 / on the diagonal
    }
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j <= i; ++j) {
      Double sum = i == j ? 1.0 : 0.0;
      for (std::size_t k = j; k < i; ++k) sum -= lower[i][k] * inverse[k][j];
      inverse[i].push_back(sum * lower[i][i]);
    }
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      Double sum = 0;
      for (std::size_t k = std::max(i, j); k < n; ++k) sum += inverse[k][i] * inverse[k][j];
      result[i].push_back(sum);
    }
  return result;
}

// For one width of eliminated blocks.
struct EliminatedKernels {
  Kernel<void(Array<double, 2>, Blocks, Indices, Numbers)> invert;
  Kernel<void(Array<double, 1>, Blocks, Indices)> multiply;  // z = C^-1 z, in place

  explicit EliminatedKernels(int size)
      : invert{"invert_blocks",
               {"inverses", "blocks", "offsets", "damping"},
               [size](Array<double, 2> inverses, Blocks blocks, Indices offsets, Numbers damping) {
                 const Int i = thread_index(), offset = offsets(i);
                 TracedMatrix matrix;
                 for (int a = 0; a < size; ++a) {
                   matrix.emplace_back();
                   for (int b = 0; b < size; ++b) matrix.back().emplace_back(blocks(i, a * size + b));
                   matrix.back()[static_cast<std::size_t>(a)] += damping(offset + a);
                 }
                 const TracedMatrix inverse = inverse_of(matrix);
                 for (int a = 0; a < size; ++a)
                   for (int b = 0; b < size; ++b)
                     inverses(i, a * size + b) = inverse[static_cast<std::size_t>(a)][static_cast<std::size_t>(b)];
               }},
        multiply{"multiply_by_inverses",
                 {"z", "inverses", "offsets"},
                 [size](Array<double, 1> z, Blocks inverses, Indices offsets) {
                   const Int i = thread_index(), offset = offsets(i);
                   std::vector<Double> numbers;
                   for (int a = 0; a < size; ++a) numbers.emplace_back(z(offset + a));
                   for (int a = 0; a < size; ++a) {
                     Double sum = 0;
                     for (int b = 0; b < size; ++b)
                       sum += inverses(i, a * size + b) * numbers[static_cast<std::size_t>(b)];
                     z(offset + a) = sum;
                   }
                 }} {}
};

// For blocks E of eliminated rows and kept columns.
struct CouplingKernels {
  Kernel<void(Array<double, 2>, Blocks, Blocks, Indices)> scale;                               // Y = C^-1 E
  Kernel<void(Array<double, 1>, Blocks, Numbers, Indices, Indices, Indices)> add_product;      // z -= E y, by rows
  Kernel<void(Array<double, 1>, Blocks, Numbers, Indices, Indices, Indices, Indices)> reduce;  // y -= E^T z

  CouplingKernels(int rows, int columns)
      : scale{"scale_couplings",
              {"scaled", "blocks", "inverses", "diagonals"},
              [rows, columns](Array<double, 2> scaled, Blocks blocks, Blocks inverses, Indices diagonals) {
                const auto [i, j] = thread_index<2>();
                const Int d = diagonals(i);
                std::vector<Double> column;
                for (int a = 0; a < rows; ++a) column.emplace_back(blocks(i, j + a * columns));
                for (int a = 0; a < rows; ++a) {
                  Double sum = 0;
                  for (int b = 0; b < rows; ++b) sum += inverses(d, a * rows + b) * column[static_cast<std::size_t>(b)];
                  scaled(i, j + a * columns) = sum;
                }
              }},
        add_product{"couple_rows",
                    {"z", "blocks", "y", "row_offsets", "starts", "column_offsets"},
                    [rows, columns](Array<double, 1> z, Blocks blocks, Numbers y, Indices row_offsets, Indices starts,
                                    Indices column_offsets) {
                      const Int i = thread_index();
                      std::vector<Double> sums;
                      for (int a = 0; a < rows; ++a) sums.emplace_back(0.0);
                      for (const Int k : range(starts(i), starts(i + 1))) {
                        const Int column = column_offsets(k);
                        for (int b = 0; b < columns; ++b) {
                          const Double number = y(column + b);
                          for (int a = 0; a < rows; ++a)
                            sums[static_cast<std::size_t>(a)] += blocks(k, a * columns + b) * number;
                        }
                      }
                      const Int row = row_offsets(i);
                      for (int a = 0; a < rows; ++a) z(row + a) -= sums[static_cast<std::size_t>(a)];
                    }},
        reduce{"couple_columns",
               {"y", "blocks", "z", "targets", "starts", "sources", "row_offsets"},
               [rows, columns](Array<double, 1> y, Blocks blocks, Numbers z, Indices targets, Indices starts,
                               Indices sources, Indices row_offsets) {
                 const auto [i, b] = thread_index<2>();
                 Double sum = 0;
                 for (const Int j : range(starts(i), starts(i + 1))) {
                   const Int k = sources(j), row = row_offsets(k);
                   for (int a = 0; a < rows; ++a) sum += blocks(k, b + a * columns) * z(row + a);
                 }
                 y(targets(i) + b) -= sum;
               }} {}
};

using FillKernel = Kernel<void(Array<double, 3>, Blocks, Blocks, Indices, Indices, Indices, Indices)>;

using FillKernel = Kernel<void(Array<double, 3>, Blocks, Blocks, Indices, Indices, Indices, Indices)>;

// S -= E_k^T Y_l for the pairs (k, l) of each block. An instance has `together` rows of a column: more rows reuse
// loaded elements more, fewer give more instances.
FillKernel fill_kernel(int inner, int rows, int columns, int together) {
  return {"reduced_blocks",
          {"reduced", "left", "right", "targets", "starts", "lefts", "rights"},
          [=](Array<double, 3> reduced, Blocks left, Blocks right, Indices targets, Indices starts, Indices lefts,
              Indices rights) {
            const auto [i, part, b] = thread_index<3>();
            const Int first = part * together;
            std::vector<Double> sums;
            for (int a = 0; a < together; ++a) sums.emplace_back(0.0);
            for (const Int j : range(starts(i), starts(i + 1))) {
              const Int k = lefts(j), l = rights(j);
              for (int m = 0; m < inner; ++m) {
                const Double factor = right(l, b + m * columns);
                for (int a = 0; a < together; ++a)
                  sums[static_cast<std::size_t>(a)] += left(k, first + (a + m * rows)) * factor;
              }
            }
            const Int target = targets(i);
            for (int a = 0; a < together; ++a) reduced(target, first + a, b) -= sums[static_cast<std::size_t>(a)];
          }};
}

using CopyKernel = Kernel<void(Array<double, 2>, Blocks, Indices)>;
const CopyKernel &copy_kernel() {
  static const CopyKernel kernel{
      "copy_blocks", {"reduced", "blocks", "places"}, [](Array<double, 2> reduced, Blocks blocks, Indices places) {
        auto [i, k] = thread_index<2>();
        reduced(places(i), k) = blocks(i, k);
      }};
  return kernel;
}

Buffer<std::int32_t> numbers_on(Device device, const std::vector<std::int32_t> &numbers) {
  return Buffer<std::int32_t>(device, Extents{numbers.size()}, numbers);
}

}  // namespace

struct SchurComplement::Parts {
  // C, for one kind of eliminated parameters.
  struct Diagonal {
    std::size_t group;  // of the normal equations
    EliminatedKernels kernels;
    Buffer<std::int32_t> offsets;
    Buffer<double> inverses;
  };
  // E, for one kind of eliminated parameters and one of kept ones.
  struct Coupling {
    std::size_t group;
    std::size_t diagonal;  // of the eliminated parameters
    CouplingKernels kernels;
    Buffer<std::int32_t> diagonals;                     // of each block: its place in C
    Buffer<std::int32_t> rows, starts, column_offsets;  // by eliminated rows
    Buffer<std::int32_t> row_offsets;                   // of each block
    Gathering by_column;                                // targets are columns of the step
    Buffer<double> scaled;
    std::vector<std::int32_t> host_rows, host_starts;  // the eliminated blocks, and the start of each one's rows
  };
  struct Copy {
    std::size_t group, reduced;
    Buffer<std::int32_t> places;
  };
  struct Fill {
    std::size_t left, right, reduced;
    FillKernel kernel;
    int rows_together;
    Gathering gathering;
  };

  Device device;
  std::int64_t kept, all;
  std::vector<Diagonal> diagonals;
  std::vector<Coupling> couplings;
  std::vector<BlockGroup> reduced;
  std::vector<Copy> copies;
  std::vector<Fill> fills;
  std::unique_ptr<SymmetricSystem> system;

  void find_couplings(const LeastSquaresProblem &problem, const Columns &columns, const NormalEquations &equations,
                      SourceLocation where);
  void find_reduced(const LeastSquaresProblem &problem, const Columns &columns, const NormalEquations &equations);
  void reduce(const NormalEquations &equations, const Buffer<double> &damping, const Buffer<double> &right);
};

void SchurComplement::Parts::find_couplings(const LeastSquaresProblem &problem, const Columns &columns,
                                            const NormalEquations &equations, SourceLocation where) {
  const auto &groups = equations.groups();
  std::map<std::size_t, std::size_t> diagonal_of;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const BlockGroup &group = groups[g];
    if (!problem.parameters[group.column_parameters].eliminated) continue;
    for (std::size_t k = 0; k < group.row_blocks.size(); ++k)
      if (!group.is_diagonal(k))
        throw UserError(where, "least squares: a residual depends on " +
                                   problem.name_of(columns, group.column_offsets[k]) + " and on " +
                                   problem.name_of(columns, group.row_offsets[k]) +
                                   ", which are both eliminated; a residual may depend on one such block");
    diagonal_of[group.row_parameters] = diagonals.size();
    diagonals.push_back({g, EliminatedKernels(group.rows), numbers_on(device, group.row_offsets),
                         Buffer<double>(device, group.values.extents())});
  }
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const BlockGroup &group = groups[g];
    if (!problem.parameters[group.row_parameters].eliminated || problem.parameters[group.column_parameters].eliminated)
      continue;
    const std::size_t diagonal = diagonal_of.at(group.row_parameters);
    const BlockGroup &eliminated = groups[diagonals[diagonal].group];
    std::vector<std::int32_t> places, rows, starts, row_offsets_of_rows;
    std::vector<Gathering::Item> items;
    std::size_t place = 0;
    for (std::size_t k = 0; k < group.row_blocks.size(); ++k) {
      while (eliminated.row_blocks[place] != group.row_blocks[k]) ++place;  // both increase
      places.push_back(static_cast<std::int32_t>(place));
      if (rows.empty() || rows.back() != group.row_blocks[k]) {
        rows.push_back(group.row_blocks[k]);
        row_offsets_of_rows.push_back(group.row_offsets[k]);
        starts.push_back(static_cast<std::int32_t>(k));
      }
      items.push_back({group.column_offsets[k], static_cast<std::int32_t>(k), 0});
    }
    starts.push_back(static_cast<std::int32_t>(group.row_blocks.size()));
    couplings.push_back({g, diagonal, CouplingKernels(group.rows, group.columns), numbers_on(device, places),
                         numbers_on(device, row_offsets_of_rows), numbers_on(device, starts),
                         numbers_on(device, group.column_offsets), numbers_on(device, group.row_offsets),
                         Gathering(device, kept, items), Buffer<double>(device, group.values.extents()), rows, starts});
  }
}

namespace {

using Pairs = std::vector<std::pair<std::int32_t, std::int32_t>>;

// Products of the blocks of two couplings, which are added up from the pair `begin` on.
struct PendingProducts {
  std::size_t left, right, begin;
  Pairs blocks;
};
// The blocks of the reduced matrix between two parameters: rows and columns, one for each term.
struct FoundBlocks {
  Pairs pairs;
  std::optional<std::size_t> group;
  std::vector<PendingProducts> parts;
};

}  // namespace

void SchurComplement::Parts::find_reduced(const LeastSquaresProblem &problem, const Columns &columns,
                                          const NormalEquations &equations) {
  const auto &groups = equations.groups();
  std::map<std::pair<std::size_t, std::size_t>, FoundBlocks> found;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const BlockGroup &group = groups[g];
    if (problem.parameters[group.row_parameters].eliminated) continue;
    FoundBlocks &into = found[{group.row_parameters, group.column_parameters}];
    into.group = g;
    for (std::size_t k = 0; k < group.row_blocks.size(); ++k)
      into.pairs.emplace_back(group.row_blocks[k], group.column_blocks[k]);
  }
  for (std::size_t a = 0; a < couplings.size(); ++a)
    for (std::size_t b = 0; b < couplings.size(); ++b) {
      if (couplings[a].diagonal != couplings[b].diagonal) continue;
      const BlockGroup &left = groups[couplings[a].group], &right = groups[couplings[b].group];
      FoundBlocks &into = found[{left.column_parameters, right.column_parameters}];
      PendingProducts part{a, b, into.pairs.size(), {}};
      const auto &rows = couplings[a].host_rows, &others = couplings[b].host_rows;
      for (std::size_t i = 0, j = 0; i < rows.size(); ++i) {
        while (j < others.size() && others[j] < rows[i]) ++j;
        if (j == others.size() || others[j] != rows[i]) continue;
        for (std::int32_t k = couplings[a].host_starts[i]; k < couplings[a].host_starts[i + 1]; ++k)
          for (std::int32_t l = couplings[b].host_starts[j]; l < couplings[b].host_starts[j + 1]; ++l) {
            const std::int32_t row = left.column_blocks[static_cast<std::size_t>(k)],
                               column = right.column_blocks[static_cast<std::size_t>(l)];
            if (row < column) continue;
            into.pairs.emplace_back(row, column);
            part.blocks.emplace_back(k, l);
          }
      }
      if (!part.blocks.empty()) into.parts.push_back(std::move(part));
    }
  for (const auto &[key, of] : found) {
    if (of.pairs.empty()) continue;
    const Places places = places_of_pairs(of.pairs, static_cast<std::int64_t>(columns.owners.size()));
    BlockGroup blocks{key.first,
                      key.second,
                      problem.parameters[key.first].manifold.tangent(),
                      problem.parameters[key.second].manifold.tangent(),
                      {},
                      {},
                      {},
                      {},
                      {}};
    for (const auto &[row, column] : places.different) {
      const auto offset = [&](std::int32_t place) {
        const Columns::Owner &owner = columns.owners[static_cast<std::size_t>(place)];
        return columns.of[owner.parameters][static_cast<std::size_t>(owner.block)];
      };
      blocks.row_blocks.push_back(row), blocks.column_blocks.push_back(column);
      blocks.row_offsets.push_back(offset(row)), blocks.column_offsets.push_back(offset(column));
    }
    blocks.values = Buffer<double>(device, {blocks.count(), blocks.rows * blocks.columns});
    if (of.group) {
      const auto count = static_cast<std::ptrdiff_t>(groups[*of.group].row_blocks.size());
      copies.push_back(
          {*of.group, reduced.size(), numbers_on(device, {places.place.begin(), places.place.begin() + count})});
    }
    for (const PendingProducts &part : of.parts) {
      std::vector<Gathering::Item> items;
      for (std::size_t i = 0; i < part.blocks.size(); ++i)
        items.push_back({places.place[part.begin + i], part.blocks[i].first, part.blocks[i].second});
      const int inner = groups[couplings[part.left].group].rows;
      const int together = device == Device::cpu() ? blocks.rows : 1;
      fills.push_back({part.left, part.right, reduced.size(), fill_kernel(inner, blocks.rows, blocks.columns, together),
                       together, Gathering(device, blocks.count(), items)});
    }
    reduced.push_back(std::move(blocks));
  }
}

SchurComplement::SchurComplement(const LeastSquaresProblem &problem, const Columns &columns,
                                 const NormalEquations &equations, SourceLocation where)
    : parts_(std::make_unique<Parts>(Parts{problem.device(), columns.kept, columns.all, {}, {}, {}, {}, {}, {}})) {
  parts_->find_couplings(problem, columns, equations, where);
  parts_->find_reduced(problem, columns, equations);
  std::vector<LowerBlocks> patterns;
  for (const BlockGroup &group : parts_->reduced)
    patterns.push_back({group.rows, group.columns, group.row_offsets, group.column_offsets, {}});
  if (columns.kept > 0) parts_->system = std::make_unique<SymmetricSystem>(columns.kept, patterns);
}

SchurComplement::~SchurComplement() = default;

// The reduced matrix; `right` gets C^-1 c in the eliminated columns, then b - E^T C^-1 c in the kept ones.
void SchurComplement::Parts::reduce(const NormalEquations &equations, const Buffer<double> &damping,
                                    const Buffer<double> &right) {
  const auto &groups = equations.groups();
  for (const Diagonal &of : diagonals) {
    const std::int64_t count = groups[of.group].count();
    of.kernels.invert.launch({count}, of.inverses, groups[of.group].values, of.offsets, damping);
    of.kernels.multiply.launch({count}, right, of.inverses, of.offsets);
  }
  for (const Coupling &of : couplings) {
    const BlockGroup &group = groups[of.group];
    of.kernels.scale.launch({group.count(), group.columns}, of.scaled, group.values, diagonals[of.diagonal].inverses,
                            of.diagonals);
    const Gathering &columns = of.by_column;
    const Buffer<double> y = right.slice(0, 0, kept);
    of.kernels.reduce.launch({columns.count(), group.columns}, y, group.values, right.clone(), columns.targets,
                             columns.starts, columns.sources, of.row_offsets);
  }
  for (BlockGroup &group : reduced) group.values.fill(0);
  for (const Copy &copy : copies)
    copy_kernel().launch({groups[copy.group].count(), groups[copy.group].values.extents()[1]},
                         reduced[copy.reduced].values, groups[copy.group].values, copy.places);
  for (const Fill &fill : fills) {
    const BlockGroup &into = reduced[fill.reduced];
    const Gathering &pairs = fill.gathering;
    fill.kernel.launch({pairs.count(), into.rows / fill.rows_together, into.columns},
                       into.values.reshape({into.count(), into.rows, into.columns}),
                       groups[couplings[fill.left].group].values, couplings[fill.right].scaled, pairs.targets,
                       pairs.starts, pairs.sources, pairs.others);
  }
}

std::vector<double> SchurComplement::solve(const NormalEquations &equations, const std::vector<double> &right,
                                           const std::vector<double> &damping) {
  Parts &of = *parts_;
  const Buffer<double> numbers(of.device, {of.all}, right), damping_on_device(of.device, {of.all}, damping);
  of.reduce(equations, damping_on_device, numbers);
  if (of.system) {
    std::vector<LowerBlocks> blocks;
    for (const BlockGroup &group : of.reduced) blocks.push_back(group.on_host());
    if (!of.system->factor(blocks, std::span(damping).first(static_cast<std::size_t>(of.kept)))) return {};
    const std::vector<double> y = of.system->solve(numbers.slice(0, 0, of.kept).to_vector());
    std::vector<double> all = right;
    std::copy(y.begin(), y.end(), all.begin());
    Buffer<double>(numbers).copy_from(std::span<const double>(all));
  } else {
    Buffer<double>(numbers).copy_from(std::span<const double>(right));
  }
  for (const Parts::Coupling &coupling : of.couplings) {
    const BlockGroup &group = equations.groups()[coupling.group];
    coupling.kernels.add_product.launch({coupling.rows.count()}, numbers, group.values,
                                        Buffer<double>(numbers.slice(0, 0, of.kept).clone()), coupling.rows,
                                        coupling.starts, coupling.column_offsets);
  }
  for (const Parts::Diagonal &diagonal : of.diagonals)
    diagonal.kernels.multiply.launch({equations.groups()[diagonal.group].count()}, numbers, diagonal.inverses,
                                     diagonal.offsets);
  std::vector<double> step = numbers.to_vector();
  if (!std::all_of(step.begin(), step.end(), [](double number) { return std::isfinite(number); })) step.clear();
  return step;
}

}  // namespace samite::solvers::detail
