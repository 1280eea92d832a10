// Attention and its adjoint compared with plain attention in double, which computes each weight.
#include "samite/ops/attention.h"
#include "tests/tiles/reference.h"

#include <gmock/gmock.h>

namespace samite::test {
namespace {

using testing::HasSubstr;

// One head: matrices of the numbers in the buffers.
struct Head {
  Matrix q, k, v;
  double scale;
  bool causal;

  Matrix weights() const {
    Matrix p = product(q, turned(k));
    for (std::int64_t i = 0; i < p.rows; ++i) {
      double sum = 0;
      const auto at = [&](std::int64_t j) -> double & { return p.values[static_cast<std::size_t>(i * p.columns + j)]; };
      for (std::int64_t j = 0; j < p.columns; ++j) sum += at(j) = causal && j > i ? 0 : std::exp(at(j) * scale);
      for (std::int64_t j = 0; j < p.columns; ++j) at(j) /= sum;
    }
    return p;
  }
  Matrix out() const { return product(weights(), v); }

  struct Gradients {
    Matrix q, k, v;
  };
  Gradients gradients(const Matrix &cotangent) const {
    const Matrix p = weights(), of_weights = product(cotangent, turned(v));
    const Matrix of_products(p.rows, p.columns, [&](std::int64_t i, std::int64_t j) {
      double mean = 0;
      for (std::int64_t l = 0; l < p.columns; ++l) mean += p(i, l) * of_weights(i, l);
      return p(i, j) * (of_weights(i, j) - mean) * scale;
    });
    return {product(of_products, k), product(turned(of_products), q), product(turned(p), cotangent)};
  }
};

struct Shape {
  std::int64_t batches, heads, rows, terms, size;
};

template <class T>
struct Arrays {
  using S = std::conditional_t<sizeof(T) == 8, double, float>;
  Shape shape;
  Buffer<T> q, k, v, out;
  Buffer<S> row_sums;

  explicit Arrays(const Shape &s, Gradient gradient = Gradient::untracked)
      : shape(s),
        q(make({s.batches, s.heads, s.rows, s.size}, 1, gradient)),
        k(make({s.batches, s.heads, s.terms, s.size}, 2, gradient)),
        v(make({s.batches, s.heads, s.terms, s.size}, 3, gradient)),
        out(poisoned<T>({s.batches, s.heads, s.rows, s.size}, gradient)),
        row_sums(poisoned<S>({s.batches, s.heads, s.rows}, gradient)) {}

  static Buffer<T> make(const Extents &extents, unsigned seed, Gradient gradient = Gradient::untracked) {
    return buffer<T>(extents, numbers(extents.count(), seed), gradient);
  }
};

// The matrix of one head.
template <class T>
Matrix part(const Buffer<T> &x, std::int64_t number) {
  const std::int64_t rows = x.extents()[2], columns = x.extents()[3];
  const std::vector<T> all = x.to_vector();
  return Matrix(rows, columns, [&](std::int64_t i, std::int64_t j) {
    const T value = all[static_cast<std::size_t>((number * rows + i) * columns + j)];
    return sizeof(T) == 2 ? static_cast<double>(static_cast<float>(value)) : static_cast<double>(value);
  });
}

void expect_close(const Matrix &actual, const Matrix &expected, double tolerance) {
  for (std::size_t i = 0; i < expected.values.size(); ++i)
    ASSERT_NEAR(actual.values[i], expected.values[i], tolerance) << i;
}

template <class T>
void check_attention(const Shape &shape, bool causal, double tolerance, double scale = 0.3) {
  SCOPED_TRACE(std::to_string(shape.rows) + " by " + std::to_string(shape.terms) + ", " + std::to_string(shape.size));
  const Arrays<T> a(shape);
  const ops::AttentionOptions options{.causal = causal, .scale = scale};
  ops::attention(a.q, a.k, a.v, a.out, a.row_sums, options);
  const Buffer<T> cotangent = Arrays<T>::make(a.q.extents(), 5);
  const auto dq = poisoned<T>(a.q.extents()), dk = poisoned<T>(a.k.extents()), dv = poisoned<T>(a.k.extents());
  ops::attention_adjoint(a.q, a.k, a.v, a.out, a.row_sums, cotangent, dq, dk, dv, options);
  for (std::int64_t number = 0; number < shape.batches * shape.heads; ++number) {
    const Head head{part(a.q, number), part(a.k, number), part(a.v, number), scale, causal};
    expect_close(part(a.out, number), head.out(), tolerance);
    const Head::Gradients expected = head.gradients(part(cotangent, number));
    expect_close(part(dq, number), expected.q, 4 * tolerance);
    expect_close(part(dk, number), expected.k, 4 * tolerance);
    expect_close(part(dv, number), expected.v, 4 * tolerance);
  }
}

TEST(Attention, AndItsAdjoint) {
  check_attention<double>({2, 3, 50, 70, 16}, false, 1e-12);
  check_attention<double>({1, 1, 100, 33, 20}, false, 1e-12);
  check_attention<double>({1, 2, 1, 1, 1}, false, 1e-12);
}

TEST(Attention, OfHeadsOf64And128) {
  check_attention<float>({1, 2, 70, 40, 64}, false, 1e-5);
  check_attention<float>({1, 1, 40, 70, 128}, true, 1e-5);
}

TEST(Attention, ThatSeesWhatIsBefore) {
  check_attention<double>({2, 2, 75, 75, 16}, true, 1e-12);
  check_attention<double>({1, 1, 20, 75, 16}, true, 1e-12);
  check_attention<double>({1, 1, 75, 20, 16}, true, 1e-12);
}

TEST(Attention, OfFewRows) {
  check_attention<double>({1, 2, 1, 75, 16}, false, 1e-12);
  check_attention<double>({1, 2, 3, 75, 16}, true, 1e-12);
  check_attention<double>({1, 2, 9, 75, 16}, false, 1e-12);
  check_attention<double>({1, 2, 75, 3, 16}, true, 1e-12);
}

// Tiles of q and of k have heights of their own.
TEST(Attention, OfRowsAroundTheHeightsOfTiles) {
  check_attention<float>({1, 1, 33, 33, 16}, true, 1e-5);
  check_attention<float>({1, 1, 64, 65, 16}, false, 1e-5);
  check_attention<float>({1, 1, 65, 65, 16}, true, 1e-5);
  check_attention<float>({1, 1, 129, 129, 16}, true, 1e-5);
}

TEST(Attention, In16Bits) {
  check_attention<half>({1, 2, 70, 90, 64}, false, 4e-3);
  check_attention<bfloat16>({1, 1, 70, 70, 64}, true, 3e-2);
}

// Every weight is the same, and the logarithm of a sum cannot be divided by the scale.
TEST(Attention, WithAScaleOfZeroOrNextToIt) {
  for (const double scale : {0.0, 1e-40, -1e-36, 1e-29, -0.3}) {
    SCOPED_TRACE(scale);
    check_attention<float>({1, 2, 20, 30, 16}, false, 1e-5, scale);
    check_attention<bfloat16>({1, 1, 20, 30, 16}, true, 6e-2, scale);
  }
  for (const double scale : {0.0, 1e-310, 1e-280}) check_attention<double>({1, 1, 20, 30, 16}, true, 1e-12, scale);
}

TEST(Attention, OfProductsWhosePowersOverflow) {
  Arrays<float> a({1, 1, 10, 40, 16});
  ops::attention(a.q, a.k, a.v, a.out, a.row_sums, {.scale = 1000});
  const Head head{part(a.q, 0), part(a.k, 0), part(a.v, 0), 1, false};
  const Matrix products = product(head.q, turned(head.k));
  const Matrix out = part(a.out, 0);
  for (std::int64_t i = 0; i < 10; ++i) {
    double largest = -1e9, count = 0;
    for (std::int64_t j = 0; j < 40; ++j) largest = std::max(largest, products(i, j));
    for (std::int64_t j = 0; j < 40; ++j) count += products(i, j) == largest ? 1 : 0;
    for (std::int64_t c = 0; c < 16; ++c) {
      double mean = 0;
      for (std::int64_t j = 0; j < 40; ++j) mean += products(i, j) == largest ? head.v(j, c) / count : 0;
      EXPECT_NEAR(out(i, c), mean, 1e-5);
    }
  }
}

TEST(Attention, OfViewsWhereHeadsLieInsideOfRows) {
  const Arrays<float> a({2, 3, 20, 30, 16});
  const auto inside = [](const Buffer<float> &x) {
    Buffer<float> copy(device(), {x.extents()[0], x.extents()[2], x.extents()[1], x.extents()[3]});
    copy.copy_from(x.permute({0, 2, 1, 3}).to_vector());
    return copy.permute({0, 2, 1, 3});
  };
  ops::attention(a.q, a.k, a.v, a.out, a.row_sums);
  const auto out = poisoned<float>(a.q.extents());
  ops::attention(inside(a.q), inside(a.k), inside(a.v), out, a.row_sums);
  EXPECT_EQ(out.to_vector(), a.out.to_vector());
}

TEST(Attention, OnATapeHasTheSameGradients) {
  const Arrays<double> a({1, 2, 40, 50, 16}, Gradient::tracked);
  Tape tape;
  tape.record([&] { ops::attention(a.q, a.k, a.v, a.out, a.row_sums, {.causal = true}); });
  const auto cotangent = Arrays<double>::make(a.q.extents(), 5);
  tape.backward({{a.out, cotangent}});
  for (std::int64_t number = 0; number < 2; ++number) {
    const Head head{part(a.q, number), part(a.k, number), part(a.v, number), 0.25, true};
    const Head::Gradients expected = head.gradients(part(cotangent, number));
    expect_close(part(a.q.gradient(), number), expected.q, 1e-11);
    expect_close(part(a.k.gradient(), number), expected.k, 1e-11);
    expect_close(part(a.v.gradient(), number), expected.v, 1e-11);
  }
}

template <class T>
void check_taped(const Shape &shape, double tolerance, const ops::AttentionOptions &options) {
  const Arrays<T> a(shape, Gradient::tracked);
  a.q.gradient().fill(1);
  Tape tape;
  tape.record([&] { ops::attention(a.q, a.k, a.v, a.out, a.row_sums, options); });
  EXPECT_EQ(tape.size(), 1u);
  EXPECT_THAT(tape.to_string(), HasSubstr("0: attention"));
  const auto cotangent = Arrays<T>::make(a.q.extents(), 5);
  using S = typename Arrays<T>::S;
  const auto of_sums = buffer<S>(a.row_sums.extents(), numbers(a.row_sums.count(), 6));
  tape.backward({{a.out, cotangent}, {a.row_sums, of_sums}});
  const std::vector<S> sums = of_sums.to_vector();
  for (std::int64_t number = 0; number < shape.batches * shape.heads; ++number) {
    const Head head{part(a.q, number), part(a.k, number), part(a.v, number), *options.scale, options.causal};
    Head::Gradients expected = head.gradients(part(cotangent, number));
    // The derivative of a row's logarithm for each product of it is the weight.
    const Matrix p = head.weights();
    const Matrix of_products(p.rows, p.columns, [&](std::int64_t i, std::int64_t j) {
      return p(i, j) * static_cast<double>(sums[static_cast<std::size_t>(number * p.rows + i)]) * head.scale;
    });
    const Matrix of_q = product(of_products, head.k), of_k = product(turned(of_products), head.q);
    for (std::size_t i = 0; i < of_q.values.size(); ++i) expected.q.values[i] += of_q.values[i] + 1;
    for (std::size_t i = 0; i < of_k.values.size(); ++i) expected.k.values[i] += of_k.values[i];
    expect_close(part(a.q.gradient(), number), expected.q, tolerance);
    expect_close(part(a.k.gradient(), number), expected.k, tolerance);
    expect_close(part(a.v.gradient(), number), expected.v, tolerance);
  }
}

TEST(Attention, OnATapeAddsItsOwnAdjointAndThatOfItsRowSums) {
  check_taped<double>({2, 2, 40, 50, 16}, 1e-11, {.causal = true, .scale = 0.3});
  check_taped<half>({1, 2, 70, 40, 64}, 3e-2, {.scale = 0.3});
  check_taped<float>({1, 1, 20, 30, 16}, 1e-4, {.scale = 1e-36});
}

TEST(Attention, WithOneArrayForTwoOperandsHasTheDerivedAdjoint) {
  const Arrays<double> a({1, 1, 20, 20, 16}, Gradient::tracked);
  Tape tape;
  tape.record([&] { ops::attention(a.q, a.q, a.v, a.out, a.row_sums); });
  const auto cotangent = Arrays<double>::make(a.q.extents(), 5);
  tape.backward({{a.out, cotangent}});
  const Head head{part(a.q, 0), part(a.q, 0), part(a.v, 0), 0.25, false};
  Head::Gradients expected = head.gradients(part(cotangent, 0));
  for (std::size_t i = 0; i < expected.q.values.size(); ++i) expected.q.values[i] += expected.k.values[i];
  expect_close(part(a.q.gradient(), 0), expected.q, 1e-11);
}

TEST(Attention, AdjointAddsIfAsked) {
  const Arrays<double> a({1, 1, 20, 30, 16});
  ops::attention(a.q, a.k, a.v, a.out, a.row_sums);
  const auto cotangent = Arrays<double>::make(a.q.extents(), 5);
  Buffer<double> dq = a.q.clone(), dk = a.k.clone(), dv = a.v.clone();
  ops::attention_adjoint(a.q, a.k, a.v, a.out, a.row_sums, cotangent, dq, dk, dv, {.add_gradients = true});
  const Head head{part(a.q, 0), part(a.k, 0), part(a.v, 0), 0.25, false};
  const Head::Gradients expected = head.gradients(part(cotangent, 0));
  const auto sum = [](Matrix x, const Matrix &y) {
    for (std::size_t i = 0; i < x.values.size(); ++i) x.values[i] += y.values[i];
    return x;
  };
  expect_close(part(dq, 0), sum(head.q, expected.q), 1e-11);
  expect_close(part(dk, 0), sum(head.k, expected.k), 1e-11);
  expect_close(part(dv, 0), sum(head.v, expected.v), 1e-11);
}

TEST(Attention, InAStream) {
  const Arrays<double> a({1, 1, 20, 30, 16}), b({1, 1, 20, 30, 16});
  const Stream stream(device());
  ops::attention(a.q, a.k, a.v, a.out, a.row_sums);
  ops::attention(b.q, b.k, b.v, b.out, b.row_sums, {.stream = stream});
  stream.synchronize();
  EXPECT_EQ(a.out.to_vector(), b.out.to_vector());
}

TEST(Attention, NamesWhatDoesNotFit) {
  const Buffer<float> q(device(), {1, 2, 5, 16}), k(device(), {1, 3, 7, 16}), matrix(device(), {5, 16});
  const Buffer<float> sums(device(), {1, 2, 5});
  EXPECT_THAT(message_of<UserError>([&] { ops::attention(matrix, k, k, q, sums); }),
              HasSubstr("attention: expected q of (batches, heads, rows, size)"));
  EXPECT_THAT(message_of<UserError>([&] { ops::attention(q, k, k, q, sums); }),
              HasSubstr("attention: expected k of float with extents (1, 2, 7, 16)"));
  const Buffer<float> long_rows(device(), {1, 1, 2, 300});
  EXPECT_THAT(message_of<UserError>([&] {
                ops::attention(long_rows, long_rows, long_rows, long_rows, Buffer<float>(device(), {1, 1, 2}));
              }),
              HasSubstr("up to 256 numbers for each row of a head; 300 given"));
}

}  // namespace
}  // namespace samite::test
