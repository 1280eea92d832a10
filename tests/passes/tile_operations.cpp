#include "tests/passes/tile_operations.h"

namespace samite::test::tiles {

Element TileOperations::of_integers(Op op, ScalarType type, Element a, Element b) {
  return with_host_type(type, [&]<class T>(T) -> Element {
    if constexpr (std::same_as<T, bool>)
      return {0, 0, scalar_rules::boolean(op, a.integer != 0, b.integer != 0) ? 1 : 0};
    else if constexpr (std::integral<T>)
      return {
          0, 0,
          static_cast<std::int64_t>(scalar_rules::integer(op, static_cast<T>(a.integer), static_cast<T>(b.integer)))};
    else
      throw std::logic_error("no integer");
  });
}

Element TileOperations::of_floats(Op op, Element a, Element b) {
  const double x = a.value, y = b.value, d = a.derivative, e = b.derivative;
  const double pi = 3.14159265358979323846;
  switch (op) {
    case Op::Neg: return {-x, -d, 0};
    case Op::Add: return add(a, b);
    case Op::Sub: return {x - y, d - e, 0};
    case Op::Mul: return multiply(a, b);
    case Op::Div: return divide(a, b);
    case Op::Min: return std::isnan(x) || y < x ? b : a;
    case Op::Max: return std::isnan(x) || y > x ? b : a;
    case Op::Abs: return {std::fabs(x), x > 0 ? d : x < 0 ? -d : 0, 0};
    default: break;
  }
  const double f = scalar_rules::floating(op, x, y);
  const auto along = [&](double slope) { return Element{f, d == 0 ? 0 : slope * d, 0}; };
  switch (op) {
    case Op::Sqrt: return along(1 / (2 * f));
    case Op::Rsqrt: return along(-f / (2 * x));
    case Op::Cbrt: return along(1 / (3 * f * f));
    case Op::Exp: return along(f);
    case Op::Exp2: return along(f * std::log(2.0));
    case Op::Expm1: return along(f + 1);
    case Op::Log: return along(1 / x);
    case Op::Log2: return along(1 / (x * std::log(2.0)));
    case Op::Log10: return along(1 / (x * std::log(10.0)));
    case Op::Log1p: return along(1 / (1 + x));
    case Op::Sin: return along(std::cos(x));
    case Op::Cos: return along(-std::sin(x));
    case Op::Tan: return along(1 + f * f);
    case Op::Asin: return along(1 / std::sqrt(1 - x * x));
    case Op::Acos: return along(-1 / std::sqrt(1 - x * x));
    case Op::Atan: return along(1 / (1 + x * x));
    case Op::Sinh: return along(std::cosh(x));
    case Op::Cosh: return along(std::sinh(x));
    case Op::Tanh: return along(1 - f * f);
    case Op::Asinh: return along(1 / std::sqrt(x * x + 1));
    case Op::Acosh: return along(1 / std::sqrt(x * x - 1));
    case Op::Atanh: return along(1 / (1 - x * x));
    case Op::Erf: return along(2 / std::sqrt(pi) * std::exp(-x * x));
    case Op::Erfc: return along(-2 / std::sqrt(pi) * std::exp(-x * x));
    case Op::Lgamma: return along(scalar_rules::digamma(x));
    case Op::Atan2: return {f, (y * d - x * e) / (x * x + y * y), 0};
    case Op::Hypot: return {f, (x * d + y * e) / f, 0};
    case Op::CopySign: return {f, (std::signbit(x) == std::signbit(f) ? 1 : -1) * d, 0};
    case Op::Pow: return {f, (d == 0 ? 0 : y * std::pow(x, y - 1) * d) + (e == 0 ? 0 : f * std::log(x) * e), 0};
    case Op::Fmod: return {f, d - (e == 0 ? 0 : std::trunc(x / y) * e), 0};
    default: return {f, 0, 0};  // step functions, and operations that stop gradients
  }
}

Element TileOperations::cast(ScalarType to, ScalarType from, Element x) {
  if (is_floating(from) && is_floating(to)) return x;
  if (is_floating(from))
    return with_host_type(to, [&]<class T>(T) -> Element {
      if constexpr (FloatingScalar<T>)
        return {};
      else
        return {0, 0, static_cast<std::int64_t>(scalar_rules::cast<T>(x.value))};
    });
  if (is_floating(to))
    return {from == ScalarType::UInt64 ? static_cast<double>(static_cast<std::uint64_t>(x.integer))
                                       : static_cast<double>(x.integer),
            0, 0};
  if (to == ScalarType::Bool) return {0, 0, x.integer != 0 ? 1 : 0};
  return with_host_type(to, [&]<class T>(T) -> Element {
    if constexpr (std::integral<T>)
      return {0, 0, static_cast<std::int64_t>(static_cast<T>(x.integer))};
    else
      return {};
  });
}

Element TileOperations::neutral(Op op, ScalarType type) {
  if (op == Op::Add) return {};
  if (op == Op::Mul) return {1, 0, 1};
  const double infinity = std::numeric_limits<double>::infinity();
  const bool least = op == Op::Max;
  if (is_floating(type)) return {least ? -infinity : infinity, 0, 0};
  return with_host_type(type, [&]<class T>(T) -> Element {
    if constexpr (std::integral<T>)
      return {0, 0, static_cast<std::int64_t>(least ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max())};
    else
      return {};
  });
}

TileValue TileOperations::reduce(const ir::Operation &operation, const TileValue &x) {
  const Shape from = shape_of(x.type);
  Shape to = shape_of(operation.type);
  if (to.empty()) to.assign(from.size(), 1);
  const bool position = ir::info(operation.op).typing == ir::Typing::Position;
  const Op op = combination(operation.op);
  TileValue result = zero(operation.type);
  std::vector<bool> begun(result.elements.size());
  std::vector<Element> best(result.elements.size());
  std::vector<Terms> terms(op == Op::Add ? result.elements.size() : 0);
  for_each_index(from, [&](std::size_t e, const Shape &index) {
    Shape at = index;
    std::int64_t along = 0;
    for (std::size_t d = 0; d < at.size(); ++d)
      if (to[d] == 1 && from[d] != 1) at[d] = 0, along = along * from[d] + index[d];
    const std::size_t p = *place(to, at);
    if (position) {
      const Op better = operation.op == Op::ReduceArgMin ? Op::Less : Op::Greater;
      if (begun[p] && !compare(better, x.type.element(), x.elements[e], best[p])) return;
      best[p] = x.elements[e], begun[p] = true;
      result.elements[p] = {0, 0, along};
    } else {
      result.elements[p] = begun[p] ? combined(op, x.type.element(), result.elements[p], x.elements[e]) : x.elements[e];
      begun[p] = true;
      if (op == Op::Add) terms[p].add(x.elements[e].value);
    }
  });
  for (std::size_t p = 0; p < terms.size(); ++p)
    result.elements[p] = in_any_order(x.type.element(), terms[p], result.elements[p]);
  for (Element &element : result.elements) element = rounded(operation.type.element(), element);
  return result;
}

TileValue TileOperations::scan(const ir::Operation &operation, const TileValue &x, const TileValue *b) {
  const ir::ScanExtents n = ir::scan_extents(operation.type, operation.attribute & ir::scan_dimension);
  const bool backwards = operation.attribute & ir::scan_backwards, exclusive = operation.attribute & ir::scan_exclusive;
  const ScalarType type = operation.type.element();
  TileValue result = zero(operation.type);
  for (std::int64_t o = 0; o < n.outer; ++o)
    for (std::int64_t i = 0; i < n.inner; ++i) {
      std::optional<Element> before;
      Terms terms;
      for (std::int64_t k = 0; k < n.extent; ++k) {
        const auto e = static_cast<std::size_t>((o * n.extent + (backwards ? n.extent - 1 - k : k)) * n.inner + i);
        if (b) {
          before = before ? combined(Op::Add, type, b->elements[e], combined(Op::Mul, type, x.elements[e], *before))
                          : b->elements[e];
          if (k > 0) terms.multiply(x.elements[e].value);
          terms.add(b->elements[e].value);
          result.elements[e] = in_any_order(type, terms, *before);
          continue;
        }
        const Op op = combination(operation.op);
        if (exclusive) result.elements[e] = in_any_order(type, terms, before.value_or(neutral(op, type)));
        before = before ? combined(op, type, *before, x.elements[e]) : x.elements[e];
        if (op == Op::Add) terms.add(x.elements[e].value);
        if (!exclusive) result.elements[e] = in_any_order(type, terms, *before);
      }
    }
  for (Element &element : result.elements) element = rounded(type, element);
  return result;
}

TileValue TileOperations::matmul(const ir::Operation &operation, const TileValue &a, const TileValue &b,
                                 const TileValue &c) {
  const auto [rows, columns, inner, batch] = ir::matmul_extents(a.type, operation.type, operation.attribute);
  const bool turned_a = operation.attribute & ir::transposed_a, turned_b = operation.attribute & ir::transposed_b;
  const ScalarType type = operation.type.element(), factor = a.type.element();
  TileValue result = c;
  for (std::int64_t n = 0; n < batch; ++n)
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < columns; ++j) {
        Element &sum = result.elements[static_cast<std::size_t>((n * rows + i) * columns + j)];
        Terms terms;
        terms.add(sum.value);
        for (std::int64_t k = 0; k < inner; ++k) {
          const Element x =
              a.elements[static_cast<std::size_t>(n * rows * inner + (turned_a ? k * rows + i : i * inner + k))];
          const Element y =
              b.elements[static_cast<std::size_t>(n * inner * columns + (turned_b ? j * inner + k : k * columns + j))];
          if (is_floating(type)) {
            sum = rounded(accumulator(type), add(sum, multiply(x, y)));
            terms.add(x.value * y.value);
          } else {
            const Element product = of_integers(Op::Mul, type, cast(type, factor, x), cast(type, factor, y));
            sum = of_integers(Op::Add, type, sum, product);
          }
        }
        sum = rounded(type, in_any_order(type, terms, sum));
      }
  return result;
}

TileValue TileOperations::cholesky(const TileValue &a) {
  const Shape shape = shape_of(a.type);
  const std::int64_t n = shape.back(), batch = a.type.count() / (n * n);
  TileValue l = zero(a.type);
  for (std::int64_t m = 0; m < batch; ++m) {
    const auto at = [&](std::int64_t i, std::int64_t j) { return static_cast<std::size_t>((m * n + i) * n + j); };
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = j; i < n; ++i) {
        Element sum = a.elements[at(i, j)];
        for (std::int64_t k = 0; k < j; ++k) {
          const Element product = multiply(l.elements[at(i, k)], l.elements[at(j, k)]);
          sum = rounded(a.type.element(), {sum.value - product.value, sum.derivative - product.derivative, 0});
        }
        l.elements[at(i, j)] = rounded(a.type.element(), i == j ? root(sum) : divide(sum, l.elements[at(j, j)]));
      }
  }
  return l;
}

TileValue TileOperations::solve(const ir::Operation &operation, const TileValue &a, const TileValue &b) {
  const Shape shape = shape_of(a.type), right = shape_of(b.type);
  const std::int64_t n = shape.back(), columns = right.back(), batch = a.type.count() / (n * n);
  const bool transposed = operation.attribute & ir::solve_transposed;
  const bool upper = ((operation.attribute & ir::solve_upper) != 0) != transposed;
  TileValue x = b;
  for (std::int64_t m = 0; m < batch; ++m) {
    const auto factor = [&](std::int64_t i, std::int64_t j) {
      return a.elements[static_cast<std::size_t>((m * n + (transposed ? j : i)) * n + (transposed ? i : j))];
    };
    for (std::int64_t c = 0; c < columns; ++c)
      for (std::int64_t step = 0; step < n; ++step) {
        const std::int64_t i = upper ? n - 1 - step : step;
        const auto at = [&](std::int64_t k) { return static_cast<std::size_t>((m * n + k) * columns + c); };
        Element sum = x.elements[at(i)];
        for (std::int64_t k = upper ? i + 1 : 0; k < (upper ? n : i); ++k) {
          const Element product = multiply(factor(i, k), x.elements[at(k)]);
          sum = rounded(b.type.element(), {sum.value - product.value, sum.derivative - product.derivative, 0});
        }
        x.elements[at(i)] = rounded(b.type.element(), divide(sum, factor(i, i)));
      }
  }
  return x;
}

TileValue TileOperations::sort_order(const ir::Operation &operation, const TileValue &x) {
  const std::int64_t row = shape_of(x.type).back();
  const ScalarType type = x.type.element();
  TileValue result = zero(operation.type);
  for (std::size_t first = 0; first < x.elements.size(); first += static_cast<std::size_t>(row)) {
    std::vector<std::int64_t> order(static_cast<std::size_t>(row));
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int64_t>(i);
    const Op before = operation.attribute & ir::sort_descending ? Op::Greater : Op::Less;
    std::ranges::stable_sort(order, [&](std::int64_t a, std::int64_t b) {
      const Element p = x.elements[first + static_cast<std::size_t>(a)];
      const Element q = x.elements[first + static_cast<std::size_t>(b)];
      if (is_floating(type) && (std::isnan(p.value) || std::isnan(q.value)))
        return !std::isnan(p.value) && std::isnan(q.value);
      return compare(before, type, p, q);
    });
    for (std::size_t i = 0; i < order.size(); ++i) result.elements[first + i].integer = order[i];
  }
  return result;
}

TileValue TileOperations::moved(const ir::Operation &operation, const TileValue &x, const TileValue &places, bool put) {
  const std::int64_t from = shape_of(x.type).back(), to = shape_of(operation.type).back();
  const std::int64_t many = put ? from : to, other = put ? to : from;
  TileValue result = zero(operation.type);
  for (std::size_t e = 0; e < places.elements.size(); ++e) {
    const std::int64_t row = static_cast<std::int64_t>(e) / many, at = places.elements[e].integer;
    if (at < 0 || at >= other) continue;
    const auto p = static_cast<std::size_t>(row * other + at);
    if (put)
      result.elements[p] = combined(Op::Add, x.type.element(), result.elements[p], x.elements[e]);
    else
      result.elements[e] = x.elements[p];
  }
  return result;
}

TileValue TileOperations::fourier(const ir::Operation &operation, const TileValue &x) {
  const Shape shape = shape_of(x.type);
  const std::int64_t n = shape[shape.size() - 2], rows = x.type.count() / (2 * n);
  const bool conjugate = operation.attribute & ir::fourier_conjugate, scaled = operation.attribute & ir::fourier_scaled;
  TileValue result = zero(operation.type);
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t j = 0; j < n; ++j) {
      Element real, imaginary;
      for (std::int64_t k = 0; k < n; ++k) {
        const double angle =
            (conjugate ? 2 : -2) * 3.14159265358979323846 * static_cast<double>(j * k % n) / static_cast<double>(n);
        const Element c = inexact(x.type.element(), {std::cos(angle), 0, 0});
        const Element s = inexact(x.type.element(), {std::sin(angle), 0, 0}), minus_s{-s.value, 0, 0};
        const Element a = x.elements[static_cast<std::size_t>(2 * (r * n + k))];
        const Element b = x.elements[static_cast<std::size_t>(2 * (r * n + k) + 1)];
        const ScalarType type = x.type.element();
        real = rounded(type, add(real, add(multiply(a, c), multiply(b, minus_s))));
        imaginary = rounded(type, add(imaginary, add(multiply(a, s), multiply(b, c))));
      }
      const Element by{scaled ? 1 / static_cast<double>(n) : 1, 0, 0};
      result.elements[static_cast<std::size_t>(2 * (r * n + j))] = multiply(real, by);
      result.elements[static_cast<std::size_t>(2 * (r * n + j) + 1)] = multiply(imaginary, by);
    }
  return result;
}

std::optional<TileValue> TileOperations::of_tiles(const ir::Operation &operation, const std::vector<TileValue> &x) {
  switch (ir::info(operation.op).typing) {
    case ir::Typing::Reduce:
    case ir::Typing::Position: return reduce(operation, x[0]);
    case ir::Typing::MatMul: return matmul(operation, x[0], x[1], x[2]);
    case ir::Typing::Scan: return scan(operation, x[0], x.size() > 1 ? &x[1] : nullptr);
    case ir::Typing::Cholesky: return cholesky(x[0]);
    case ir::Typing::Solve: return solve(operation, x[0], x[1]);
    case ir::Typing::Order: return sort_order(operation, x[0]);
    case ir::Typing::Take: return moved(operation, x[0], x[1], false);
    case ir::Typing::Put: return moved(operation, x[0], x[1], true);
    case ir::Typing::Fourier: return fourier(operation, x[0]);
    default: return std::nullopt;
  }
}

}  // namespace samite::test::tiles
