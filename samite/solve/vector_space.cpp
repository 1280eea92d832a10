#include "samite/solve/vector_space.h"

#include "samite/jit/kernel.h"
#include "samite/jit/tile_kernel.h"
#include "samite/lang/control.h"
#include "samite/lang/math.h"
#include "samite/ops/kernels.h"
#include "samite/solve/element_index.h"
#include "samite/solve/kernel_types.h"

#include <algorithm>
#include <cmath>

namespace samite::solvers::detail {
namespace {

using ops::detail::Kernels;

int elements_of_tile(std::int64_t size) { return size <= 4096 ? 256 : 2048; }

template <class T>
using PartialProducts = TileKernel<void(Array<double, 2>, Array<const T, 2>, Array<const T, 1>, Int)>;

// Each block adds up tiles spaced by the number of blocks.
template <class T>
PartialProducts<T> make_partial_products(int extent) {
  return {"partial_products",
          {"sums", "vectors", "w", "rounds"},
          [=](Array<double, 2> sums, Array<const T, 2> vectors, Array<const T, 1> w, const Int &rounds) {
            const auto [j, block] = block_index<2>();
            Tile<double> sum = tile::zeros<double>({extent});
            for (Int k : range(rounds)) {
              const Int at = k * sums.extent(1) + block;
              const Tile<T> v = tile::reshape(tile::load(vectors, {j, at}, {1, extent}), {extent});
              sum += tile::cast<double>(v) * tile::cast<double>(tile::load(w, {at}, {extent}));
            }
            sums(j, block) = tile::sum(sum);
          }};
}

const auto &sums_of_blocks() {
  static const TileKernel kernel{
      "sums_of_blocks", {"sums", "parts"}, [](Array<double, 1> sums, Array<const double, 2> parts) {
        const Int j = block_index();
        sums(j) = tile::sum(tile::load(parts, {j, 0}, {1, blocks_of_a_sum}));
      }};
  return kernel;
}

template <class T>
const auto &combination(bool reads_y) {
  using Signature = Kernel<void(Array<T, 1>, Array<const T, 1>, Traced<T>, Traced<T>)>;
  static const Signature sum{"combine",
                             {"y", "x", "a", "b"},
                             [](Array<T, 1> y, Array<const T, 1> x, const Traced<T> &a, const Traced<T> &b) {
                               Int i = thread_index();
                               y(i) = a * x(i) + b * y(i);
                             }},
      multiple{"multiple",
               {"y", "x", "a", "b"},
               [](Array<T, 1> y, Array<const T, 1> x, const Traced<T> &a, const Traced<T> &) {
                 Int i = thread_index();
                 y(i) = a * x(i);
               }};
  return reads_y ? sum : multiple;
}

template <class T>
const auto &addition_of_many() {
  static const Kernel kernel{"add_many",
                             {"w", "vectors", "coefficients"},
                             [](Array<T, 1> w, Array<const T, 2> vectors, Array<const double, 1> coefficients) {
                               Int i = thread_index();
                               Double sum = 0;
                               for (Int j : range(coefficients.extent(0)))
                                 sum += coefficients(j) * cast<Double>(vectors(j, i));
                               w(i) += cast<Traced<T>>(sum);
                             }};
  return kernel;
}

}  // namespace

VectorSpace::VectorSpace(Device device, ScalarType type, std::int64_t size, SourceLocation where, Sum sum_over_ranks)
    : device_(device),
      type_(type),
      size_(size),
      tiles_((size + elements_of_tile(size) - 1) / elements_of_tile(size)),
      blocks_(std::clamp<std::int64_t>(tiles_, 1, blocks_of_a_sum)),
      sum_over_ranks_(std::move(sum_over_ranks)) {
  with_floating_type(type, "vectors of a solver", where, [](auto) {});
}

std::int64_t VectorSpace::whole_size() const {
  double size = static_cast<double>(size_);
  if (sum_over_ranks_) sum_over_ranks_({&size, 1});
  return static_cast<std::int64_t>(size);
}

AnyBuffer VectorSpace::vector() const { return AnyBuffer(device_, type_, {size_}); }
AnyBuffer VectorSpace::vectors(std::int64_t count) const { return AnyBuffer(device_, type_, {count, size_}); }

double VectorSpace::dot(const AnyBuffer &a, const AnyBuffer &b) const {
  return dots(a.reshape({1, size_}), 1, b).front();
}

double VectorSpace::norm(const AnyBuffer &a) const { return std::sqrt(dot(a, a)); }

void VectorSpace::combine(double a, const AnyBuffer &x, double b, const AnyBuffer &y) const {
  with_floating_type(type_, "", {}, [&]<class T>(T) {
    combination<T>(b != 0).launch({size_}, Buffer<T>(y), Buffer<T>(x), static_cast<T>(a), static_cast<T>(b));
  });
}

std::vector<double> VectorSpace::dots(
    std::initializer_list<std::pair<const AnyBuffer &, const AnyBuffer &>> pairs) const {
  std::vector<double> products;
  for (const auto &[a, b] : pairs) products.push_back(own_dots(a.reshape({1, size_}), 1, b).front());
  if (sum_over_ranks_) sum_over_ranks_(products);
  return products;
}

std::vector<double> VectorSpace::dots(const AnyBuffer &vectors, std::int64_t count, const AnyBuffer &w) const {
  std::vector<double> products = own_dots(vectors, count, w);
  if (sum_over_ranks_) sum_over_ranks_(products);
  return products;
}

std::vector<double> VectorSpace::own_dots(const AnyBuffer &vectors, std::int64_t count, const AnyBuffer &w) const {
  if (!partial_.valid() || partial_.extents()[0] < count) {
    partial_ = AnyBuffer(device_, ScalarType::Float64, {count, blocks_});
    sums_ = AnyBuffer(device_, ScalarType::Float64, {count});
  }
  const Buffer<double> partial(partial_.slice(0, 0, count)), sums(sums_.slice(0, 0, count));
  with_floating_type(type_, "", {}, [&]<class T>(T) {
    static Kernels<int, PartialProducts<T>> products(make_partial_products<T>);
    products.at(elements_of_tile(size_))
        .launch({count, blocks_}, partial, Buffer<T>(vectors), Buffer<T>(w), (tiles_ + blocks_ - 1) / blocks_);
  });
  if (blocks_ == 1) return partial.to_vector();
  sums_of_blocks().launch({count}, sums, partial);
  return sums.to_vector();
}

void VectorSpace::add(const AnyBuffer &vectors, const std::vector<double> &coefficients, const AnyBuffer &w) const {
  if (coefficients.empty()) return;
  const Buffer<double> values(device_, {coefficients.size()}, coefficients);
  with_floating_type(type_, "", {}, [&]<class T>(T) {
    addition_of_many<T>().launch({size_}, Buffer<T>(w), Buffer<T>(vectors), values);
  });
}

}  // namespace samite::solvers::detail
