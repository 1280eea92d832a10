// A user's program that calls each ready operation once, and links a library that another compiler may have made.
#include <samite/ops/attention.h>
#include <samite/ops/grouped_by_type.h>
#include <samite/ops/grouped_terms.h>
#include <samite/ops/layer_norm.h>
#include <samite/ops/matmul_by_type.h>
#include <samite/ops/quantise.h>
#include <samite/ops/scaled_grouped_matmul.h>
#include <samite/ops/scaled_matmul.h>
#include <samite/ops/softmax.h>
#include <samite/samite.h>
#include <samite/solve.h>

#include <cstdio>

using namespace samite;

namespace {

const Device cpu = Device::cpu();

template <class T>
Buffer<T> ones(const Extents &extents) {
  return {cpu, extents, std::vector<T>(static_cast<std::size_t>(extents.count()), T(1.0f))};
}
bool is(const Buffer<float> &x, float value) {
  for (const float element : x.to_vector())
    if (element != value) return false;
  return true;
}

template <class T, class Q>
bool quantises() {
  const auto x = ones<T>({2, 3}), back = ones<T>({2, 3});
  const Buffer<Q> q(cpu, {2, 3});
  const Buffer<float> scale(cpu, {2, 1});
  ops::quantise(x, q, scale);
  ops::dequantise(q, scale, back);
  return static_cast<float>(back.at(1, 2)) > 0.9f && static_cast<float>(back.at(1, 2)) < 1.1f;
}

bool rows() {
  const auto x = ones<float>({2, 4}), y = ones<float>({2, 4}), weight = ones<float>({4});
  ops::softmax(x, y);
  bool right = is(y, 0.25f);
  ops::softmax_adjoint(y, x, y);
  ops::layer_norm(x, y);
  right = right && is(y, 0);
  ops::layer_norm(x, weight, weight, y);
  return right && is(y, 1) && ops::layer_norm_adjoint_launch(ScalarType::Float32, 2, 4, {}).kernel;
}

bool attends() {
  const auto q = ones<float>({1, 1, 3, 4}), out = ones<float>({1, 1, 3, 4}), of_q = q.clone(), of_k = q.clone(),
             of_v = q.clone();
  const Buffer<float> sums(cpu, {1, 1, 3});
  ops::attention(q, q, q, out, sums, {.causal = true});
  ops::attention_adjoint(q, q, q, out, sums, q, of_q, of_k, of_v, {.causal = true});
  return is(out, 1) && is(of_q, 0);
}

bool multiplies() {
  const auto a = ones<float>({2, 3}), b = ones<float>({3, 4}), c = ones<float>({2, 4});
  ops::matmul(a, b, c);
  bool right = is(c, 3);
  const Buffer<f8e4m3> a8 = ones<f8e4m3>({2, 3}), b8 = ones<f8e4m3>({3, 4});
  const auto one = ones<float>({1, 1}), of_group = ones<float>({1, 1, 1});
  ops::scaled_matmul(a8, b8, one, one, c);
  right = right && is(c, 3);
  const Buffer<std::int32_t> offsets(cpu, {2}, {0, 2});
  const auto matrices = ones<float>({1, 3, 4}), of_a = ones<float>({2, 3}), of_b = matrices.clone();
  ops::grouped_matmul(a, matrices, offsets, c);
  right = right && is(c, 3);
  ops::grouped_matmul_adjoint(a, matrices, offsets, c, of_a, of_b);
  right = right && is(of_a, 12);
  ops::scaled_grouped_matmul(a8, ones<f8e4m3>({1, 3, 4}), one, of_group, offsets, c);
  right = right && is(c, 3);
  return right && ops::matmul_launch({ScalarType::Float32, {ScalarType::Float32}}, {1, 2, 4, 3}, {}).kernel &&
         ops::grouped_terms_launch({ScalarType::Float32, ScalarType::Float32}, {1, 3, 4, 2}, {}).kernel;
}

bool solves() {
  const Buffer<float> keys(cpu, {3}, {3, 1, 2}), sorted(cpu, {3});
  solvers::sort(keys, sorted);
  const Buffer<std::int32_t> offsets(cpu, {3}, {0, 1, 2}), indices(cpu, {2}, {0, 1});
  const solvers::SparseMatrix a(2, 2, offsets, indices, Buffer<float>(cpu, {2}, {2, 4}));
  const auto b = ones<float>({2}), x = ones<float>({2});
  const bool right = sorted.at(0) == 1 && sorted.at(2) == 3 && solvers::conjugate_gradients(a, b, x).converged();
  return right && solvers::DirectSolver(a).solve(b, x).converged() && x.at(1) == 0.25f;
}

}  // namespace

int main() {
  const struct {
    const char *what;
    bool right;
  } found[] = {{"float to f8e4m3", quantises<float, f8e4m3>()},
               {"float to f8e5m2", quantises<float, f8e5m2>()},
               {"half to f8e4m3", quantises<half, f8e4m3>()},
               {"half to f8e5m2", quantises<half, f8e5m2>()},
               {"bfloat16 to f8e4m3", quantises<bfloat16, f8e4m3>()},
               {"bfloat16 to f8e5m2", quantises<bfloat16, f8e5m2>()},
               {"rows", rows()},
               {"attention", attends()},
               {"products", multiplies()},
               {"solvers", solves()}};
  int wrong = 0;
  for (const auto &[what, right] : found)
    if (!right) std::printf("%s: wrong\n", what), ++wrong;
  return wrong;
}
