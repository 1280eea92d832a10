#include "samite/distributed/sparse_matrix.h"

#include "samite/base/error.h"
#include "samite/distributed/collective_call.h"
#include "samite/distributed/collectives.h"
#include "samite/distributed/gradient_steps.h"
#include "samite/distributed/tape_entry.h"
#include "samite/jit/kernel.h"
#include "samite/jit/tape_function.h"
#include "samite/lang/control.h"
#include "samite/runtime/shared_elements.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace samite {
namespace {

using Indices = std::vector<std::int64_t>;

template <class T>
const auto &pack() {
  static const Kernel kernel{"pack",
                             {"packed", "x", "indices"},
                             [](Array<T, 1> packed, Array<const T, 1> x, Array<const std::int32_t, 1> indices) {
                               const Int i = thread_index();
                               packed(i) = x(indices(i));
                             }};
  return kernel;
}

// Each index occurs once.
template <class T>
const auto &add_packed() {
  static const Kernel kernel{"add_packed",
                             {"x", "packed", "indices"},
                             [](Array<T, 1> x, Array<const T, 1> packed, Array<const std::int32_t, 1> indices) {
                               const Int i = thread_index(), at = indices(i);
                               x(at) = x(at) + packed(i);
                             }};
  return kernel;
}

template <class Work>
void with_vector_type(ScalarType type, const Work &work) {
  type == ScalarType::Float32 ? work(float{}) : work(double{});
}

std::int64_t sum_before(const Indices &counts, int rank) {
  std::int64_t sum = 0;
  for (int r = 0; r < rank; ++r) sum += counts[static_cast<std::size_t>(r)];
  return sum;
}

Indices from_all_ranks(const Communicator &ranks, std::int64_t own, SourceLocation where) {
  const Buffer<std::int64_t> one(ranks.device(), {1}, {own}), all(ranks.device(), {ranks.size()});
  all_gather(ranks, all, one, where);
  return all.to_vector();
}

AnyBuffer zeros_like(const AnyBuffer &vector) { return {vector.device(), vector.type(), {vector.count()}}; }

std::string text_of(const AnyBuffer &buffer) { return buffer.valid() ? buffer.to_string() : "an empty buffer"; }

// The error in a rank's triplets; "" if there is none.
std::string refusal(const Communicator &ranks, std::int64_t own_rows, const AnyBuffer &rows, const AnyBuffer &columns,
                    const AnyBuffer &values) {
  const auto fits = [&](const AnyBuffer &buffer) {
    return buffer.valid() && buffer.rank() == 1 && buffer.device() == ranks.device() && buffer.count() == rows.count();
  };
  if (own_rows < 0 || own_rows > 2147483647)
    return fmt::format("0 to 2147483647 rows of this rank are expected, {} are given", own_rows);
  if (!rows.valid() || !fits(rows) || !fits(columns) || !fits(values))
    return fmt::format(
        "vectors of rows, columns and values on {}, of one length, are expected; {}, {} and {} are given",
        ranks.device().to_string(), text_of(rows), text_of(columns), text_of(values));
  if (values.type() != ScalarType::Float32 && values.type() != ScalarType::Float64)
    return fmt::format("values are of f32 or f64, {} is given", name(values.type()));
  return "";
}

std::string refusal(const Indices &rows, const Indices &columns, std::int64_t first, std::int64_t own_rows,
                    std::int64_t all_rows) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] < first || rows[i] >= first + own_rows)
      return fmt::format("triplet {} is in row {}, and this rank has rows {} to {}", i, rows[i], first,
                         first + own_rows - 1);
    if (columns[i] < 0 || columns[i] >= all_rows)
      return fmt::format("triplet {} is in column {}, and the matrix has columns 0 to {}", i, columns[i], all_rows - 1);
  }
  return "";
}

}  // namespace

// The elements of x that travel between ranks in a product.
struct DistributedMatrix::Exchange {
  explicit Exchange(const Communicator &ranks) : ranks(ranks) {}

  Communicator ranks;
  std::int64_t rows = 0, first = 0, own = 0;
  Indices sent, received;        // elements to and from each rank
  Buffer<std::int32_t> indices;  // of this rank's elements that are sent, rank by rank
  std::int64_t ghosts = 0;

  // y = A x, or transpose(A) x, for a matrix `local` of own rows, with own elements and ghosts as columns.
  void apply(const solvers::SparseMatrix &local, const AnyBuffer &x, const AnyBuffer &y, bool transposed,
             SourceLocation where) const {
    if (!transposed) return solvers::multiply(local, extended(x, where), y, {}, where);
    const AnyBuffer all(ranks.device(), x.type(), {own + ghosts});
    solvers::multiply_transposed(local, x, all, {}, where);
    AnyBuffer(y).copy_from(all.slice(0, 0, own));
    add_ghosts(all, y, where);
  }
  // As solvers::add_outer_product. All ranks take part, including those without a gradient.
  void add_outer_product(const solvers::SparseMatrix &local, double scale, const AnyBuffer &y, const AnyBuffer &x,
                         const AnyBuffer &gradient, SourceLocation where) const {
    const AnyBuffer all = extended(x, where);
    if (gradient.valid()) solvers::add_outer_product(local, scale, y, all, gradient, {}, where);
  }

 private:
  // Own elements, then ghosts.
  AnyBuffer extended(const AnyBuffer &x, SourceLocation where) const {
    const AnyBuffer all(ranks.device(), x.type(), {own + ghosts}), packed(ranks.device(), x.type(), {indices.count()});
    all.slice(0, 0, own).copy_from(x);
    with_vector_type(x.type(), [&]<class T>(T) {
      if (indices.count() > 0) pack<T>().launch({indices.count()}, Buffer<T>(packed), Buffer<T>(x), indices);
    });
    samite::exchange(ranks, parts(packed, 0, sent), parts(all, own, received), where);
    return all;
  }

  // Sends the ghosts of `extended` back to their ranks, where they are added to y's elements, in the order of ranks.
  void add_ghosts(const AnyBuffer &extended, const AnyBuffer &y, SourceLocation where) const {
    const AnyBuffer packed(ranks.device(), y.type(), {indices.count()});
    const std::vector<ArrayMessage> arriving = parts(packed, 0, sent);
    samite::exchange(ranks, parts(extended, own, received), arriving, where);
    std::int64_t begin = 0;
    for (const ArrayMessage &message : arriving) {
      const std::int64_t count = message.array.count();
      with_vector_type(y.type(), [&]<class T>(T) {
        add_packed<T>().launch({count}, Buffer<T>(y), Buffer<T>(message.array), indices.slice(0, begin, begin + count));
      });
      begin += count;
    }
  }

  static std::vector<ArrayMessage> parts(const AnyBuffer &array, std::int64_t begin, const Indices &counts) {
    std::vector<ArrayMessage> messages;
    for (std::size_t rank = 0; rank < counts.size(); begin += counts[rank++])
      if (counts[rank] > 0) messages.push_back({array.slice(0, begin, begin + counts[rank]), static_cast<int>(rank)});
    return messages;
  }
};

DistributedMatrix::DistributedMatrix(const Communicator &ranks, std::int64_t own_rows, const Buffer<std::int64_t> &rows,
                                     const Buffer<std::int64_t> &columns, const AnyBuffer &values,
                                     SourceLocation where) {
  Exchange exchange(ranks);
  Indices row_numbers, column_numbers;
  without_gradients([&] {
    distributed::refuse_together(ranks, "a distributed matrix", refusal(ranks, own_rows, rows, columns, values), where);
    const Indices counts = from_all_ranks(ranks, own_rows, where);
    const auto size = static_cast<std::size_t>(ranks.size());
    exchange.rows = sum_before(counts, ranks.size()), exchange.first = sum_before(counts, ranks.rank());
    exchange.own = own_rows;
    row_numbers = rows.to_vector(), column_numbers = columns.to_vector();
    distributed::refuse_together(ranks, "a distributed matrix",
                                 refusal(row_numbers, column_numbers, exchange.first, own_rows, exchange.rows), where);

    Indices ghosts;
    const auto is_own = [&](std::int64_t column) {
      return column >= exchange.first && column < exchange.first + own_rows;
    };
    std::ranges::copy_if(column_numbers, std::back_inserter(ghosts),
                         [&](std::int64_t column) { return !is_own(column); });
    std::ranges::sort(ghosts);
    ghosts.erase(std::ranges::unique(ghosts).begin(), ghosts.end());
    exchange.ghosts = static_cast<std::int64_t>(ghosts.size());
    for (std::int64_t &row : row_numbers) row -= exchange.first;
    for (std::int64_t &column : column_numbers)
      column = is_own(column) ? column - exchange.first
                              : own_rows + (std::ranges::lower_bound(ghosts, column) - ghosts.begin());

    // Each rank tells the others which of their elements it needs.
    exchange.received.assign(size, 0), exchange.sent.assign(size, 0);
    std::size_t owner = 0;
    std::int64_t end = counts[0];
    for (const std::int64_t ghost : ghosts) {
      while (ghost >= end) end += counts[++owner];
      ++exchange.received[owner];
    }
    const Device device = ranks.device();
    const Buffer<std::int64_t> asked(device, {size}, exchange.received), answers(device, {size});
    all_to_all(ranks, answers, asked, where);
    exchange.sent = answers.to_vector();
    const Buffer<std::int64_t> wanted(device, {ghosts.size()}, ghosts),
        given(device, {sum_before(exchange.sent, ranks.size())});
    all_to_all(ranks, given, wanted, exchange.received, exchange.sent, where);
    std::vector<std::int32_t> indices;
    for (const std::int64_t index : given.to_vector())
      indices.push_back(static_cast<std::int32_t>(index - exchange.first));
    exchange.indices = Buffer<std::int32_t>(device, {indices.size()}, indices);
  });
  const auto narrow = [&](const Indices &numbers) {
    return Buffer<std::int32_t>(ranks.device(), {numbers.size()},
                                std::vector<std::int32_t>(numbers.begin(), numbers.end()));
  };
  exchange_ = std::make_shared<const Exchange>(exchange);
  assembly_.emplace(own_rows, own_rows + exchange.ghosts, narrow(row_numbers), narrow(column_numbers),
                    solvers::BlockExtents{}, where);
  local_ = assembly_->assemble(values, where);
}

void DistributedMatrix::assemble(const AnyBuffer &values, SourceLocation where) {
  assembly_->assemble(values, local_, where);
}

std::int64_t DistributedMatrix::rows() const { return exchange_->rows; }
std::int64_t DistributedMatrix::first_row() const { return exchange_->first; }
std::int64_t DistributedMatrix::own_rows() const { return exchange_->own; }
std::int64_t DistributedMatrix::ghosts() const { return exchange_->ghosts; }

solvers::SparseMatrix DistributedMatrix::own_block(SourceLocation where) const {
  solvers::SparseMatrix block;
  without_gradients([&] {
    const std::vector<std::int32_t> offsets = local_.offsets().to_vector(), columns = local_.indices().to_vector();
    std::vector<std::int32_t> own_offsets{0}, own_columns, entries;
    for (std::size_t row = 0; row + 1 < offsets.size(); ++row) {
      for (std::int32_t k = offsets[row]; k < offsets[row + 1]; ++k)
        if (const std::int32_t column = columns[static_cast<std::size_t>(k)]; column < own_rows())
          own_columns.push_back(column), entries.push_back(k);
      own_offsets.push_back(static_cast<std::int32_t>(own_columns.size()));
    }
    const Device device = local_.device();
    const auto on_device = [&](const std::vector<std::int32_t> &values) {
      return Buffer<std::int32_t>(device, {values.size()}, values);
    };
    const AnyBuffer values(device, local_.type(), {entries.size()});
    with_vector_type(values.type(), [&]<class T>(T) {
      if (!entries.empty())
        pack<T>().launch({entries.size()}, Buffer<T>(values), Buffer<T>(this->values()), on_device(entries));
    });
    block = {own_rows(), own_rows(), on_device(own_offsets), on_device(own_columns), values, where};
  });
  return block;
}

solvers::LinearOperator DistributedMatrix::linear_operator(SourceLocation where) const {
  const DistributedMatrix a = *this;
  return {
      own_rows(),
      own_rows(),
      local_.type(),
      local_.device(),
      {.apply = [a, where](const AnyBuffer &x, const AnyBuffer &y) { multiply(a, x, y, where); },
       .apply_transposed = [a, where](const AnyBuffer &x, const AnyBuffer &y) { multiply_transposed(a, x, y, where); },
       .parameters = {values()},
       .add_gradient =
           [a, where](double scale, const AnyBuffer &y, const AnyBuffer &x) {
             const AnyBuffer gradient = a.values().tracks_gradient() ? a.values().gradient() : AnyBuffer();
             a.exchange_->add_outer_product(a.local_, scale, y, x, gradient, where);
           }},
      where};
}

void DistributedMatrix::check(const AnyBuffer &x, const AnyBuffer &y, SourceLocation where) const {
  const auto fits = [&](const AnyBuffer &buffer) {
    return buffer.valid() && buffer.rank() == 1 && buffer.count() == own_rows() && buffer.type() == local_.type() &&
           buffer.device() == local_.device();
  };
  if (!fits(x) || !fits(y) || y.is_broadcast())
    throw UserError(where,
                    fmt::format("a distributed matrix: this rank's parts of x and y are {} {} on {}; {} and {} "
                                "are given",
                                own_rows(), name(local_.type()), local_.device().to_string(), text_of(x), text_of(y)));
  if (share_elements(x, y)) throw UserError(where, "a distributed matrix: y shares elements with x");
}

void DistributedMatrix::apply(const AnyBuffer &x, const AnyBuffer &y, bool transposed, SourceLocation where) const {
  check(x, y, where);
  const auto exchange = exchange_;
  const solvers::SparseMatrix local = local_;
  distributed::run_on_tapes(
      exchange->ranks,
      {{y},
       {x, local.values()},
       [=] { exchange->apply(local, x, y, transposed, where); },
       [=](const FunctionGradients &of) {
         const AnyBuffer y_gradient = of.outputs[0].valid() ? of.outputs[0] : zeros_like(y), sum = zeros_like(x);
         exchange->apply(local.with_values(of.input_values[1], where), y_gradient, sum, !transposed, where);
         if (of.inputs[0].valid()) distributed::add_to(of.inputs[0], sum, exchange->ranks.stream());
         const AnyBuffer &rows = transposed ? of.input_values[0] : y_gradient,
                         &columns = transposed ? y_gradient : of.input_values[0];
         exchange->add_outer_product(local, 1, rows, columns, of.inputs[1], where);
       },
       {.name = transposed ? "product with the transpose of a distributed matrix" : "product with a distributed matrix",
        .reads_outputs = false}},
      where);
}

void multiply(const DistributedMatrix &a, const AnyBuffer &x, const AnyBuffer &y, SourceLocation where) {
  a.apply(x, y, false, where);
}
void multiply_transposed(const DistributedMatrix &a, const AnyBuffer &x, const AnyBuffer &y, SourceLocation where) {
  a.apply(x, y, true, where);
}

std::function<void(std::span<double>)> sum_over(const Communicator &ranks, SourceLocation where) {
  return [ranks, where](std::span<double> numbers) {
    const Buffer<double> own(ranks.device(), {numbers.size()}, numbers);
    without_gradients([&] { all_reduce(ranks, own, ReduceOp::sum, where); });
    std::ranges::copy(own.to_vector(), numbers.begin());
  };
}

}  // namespace samite
