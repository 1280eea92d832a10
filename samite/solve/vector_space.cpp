#include "samite/solve/vector_space.h"

#include "samite/jit/kernel.h"
#include "samite/lang/control.h"
#include "samite/lang/math.h"
#include "samite/solve/kernel_types.h"

#include <algorithm>
#include <cmath>

namespace samite::solvers::detail {
namespace {

// Neighbouring instances read neighbouring elements, and there are enough of them for a GPU.
constexpr std::int64_t least_terms = 64, most_parts = 65536, few_parts = 256;

template <class T>
const auto &partial_products() {
  static const Kernel kernel{"partial_products",
                             {"sums", "vectors", "w", "parts", "rounds", "size"},
                             [](Array<double, 2> sums, Array<const T, 2> vectors, Array<const T, 1> w,
                                const Int64 &parts, const Int &rounds, const Int64 &size) {
                               auto [j, part] = thread_index<2>();
                               Double sum = 0;
                               for (Int k : range(rounds)) {
                                 const Int64 i = Int64(k) * parts + part;
                                 sum += cast<Double>(vectors(j, i)) * cast<Double>(w(i));
                               }
                               const Int64 last = Int64(rounds) * parts + part;
                               if_(last < size, [&] { sum += cast<Double>(vectors(j, last)) * cast<Double>(w(last)); });
                               sums(j, part) = sum;
                             }};
  return kernel;
}

const auto &fewer_sums() {
  static const Kernel kernel{"fewer_sums",
                             {"sums", "parts", "count"},
                             [](Array<double, 2> sums, Array<const double, 2> parts, const Int &count) {
                               auto [j, part] = thread_index<2>();
                               Double sum = 0;
                               for (Int k : range(count)) {
                                 const Int i = k * static_cast<int>(few_parts) + part;
                                 if_(i < parts.extent(1), [&] { sum += parts(j, i); });
                               }
                               sums(j, part) = sum;
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
      parts_(std::clamp<std::int64_t>(size / least_terms, 1, most_parts)),
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
  return dots(a.broadcast({1, size_}), 1, b).front();
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
  for (const auto &[a, b] : pairs) products.push_back(own_dots(a.broadcast({1, size_}), 1, b).front());
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
    partial_ = AnyBuffer(device_, ScalarType::Float64, {count, parts_});
    if (parts_ > few_parts) fewer_ = AnyBuffer(device_, ScalarType::Float64, {count, few_parts});
  }
  const Buffer<double> partial(partial_.slice(0, 0, count));
  with_floating_type(type_, "", {}, [&]<class T>(T) {
    partial_products<T>().launch({count, parts_}, partial, Buffer<T>(vectors), Buffer<T>(w), parts_, size_ / parts_,
                                 size_);
  });
  Buffer<double> sums = partial;
  if (parts_ > few_parts) {
    sums = Buffer<double>(fewer_.slice(0, 0, count));
    fewer_sums().launch({count, few_parts}, sums, partial, (parts_ + few_parts - 1) / few_parts);
  }
  const std::vector<double> parts = sums.to_vector();
  const std::size_t each = parts.size() / static_cast<std::size_t>(std::max<std::int64_t>(count, 1));
  std::vector<double> products;
  for (std::size_t j = 0; j < static_cast<std::size_t>(count); ++j) {
    double sum = 0;
    for (std::size_t k = 0; k < each; ++k) sum += parts[j * each + k];
    products.push_back(sum);
  }
  return products;
}

void VectorSpace::add(const AnyBuffer &vectors, const std::vector<double> &coefficients, const AnyBuffer &w) const {
  if (coefficients.empty()) return;
  const Buffer<double> values(device_, {coefficients.size()}, coefficients);
  with_floating_type(type_, "", {}, [&]<class T>(T) {
    addition_of_many<T>().launch({size_}, Buffer<T>(w), Buffer<T>(vectors), values);
  });
}

}  // namespace samite::solvers::detail
