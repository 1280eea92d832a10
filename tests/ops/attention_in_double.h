// Attention with masks, and its gradients, in double: each weight is computed.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace samite::test {

struct AttentionInDouble {
  struct Shape {
    std::int64_t batches, heads, key_heads, rows, terms, size;
  };
  struct Masks {
    std::int64_t before = 1 << 30, behind = 1 << 30;
    bool from_the_end = false;
    std::vector<double> bias = {}, slopes = {}, lengths = {};  // the bias is of all heads, rows and terms
  };
  using Numbers = std::vector<double>;

  // The dot products of the rows of out and its cotangent are `products`.
  Numbers out, row_sums, products, of_q, of_k, of_v, of_bias;
  Numbers near_out, near_q, near_k, near_v;  // how large the terms of each sum are

  AttentionInDouble(const Shape &shape, double scale, const Masks &masks, const Numbers &q, const Numbers &k,
                    const Numbers &v, const Numbers &cotangent)
      : out(q.size()),
        of_q(q.size()),
        of_k(k.size()),
        of_v(k.size()),
        near_out(q.size()),
        near_q(q.size()),
        near_k(k.size()),
        near_v(k.size()),
        shape_(shape),
        scale_(scale),
        masks_(masks) {
    for (std::int64_t b = 0; b < shape.batches; ++b)
      for (std::int64_t h = 0; h < shape.heads; ++h)
        for (std::int64_t i = 0; i < shape.rows; ++i) add_row(b, h, i, q, k, v, cotangent);
  }

 private:
  void add_row(std::int64_t b, std::int64_t h, std::int64_t i, const Numbers &q, const Numbers &k, const Numbers &v,
               const Numbers &g) {
    const auto [batches, heads, key_heads, rows, terms, size] = shape_;
    const std::int64_t key_head = h / (heads / key_heads), n = size;
    const auto x = [&](std::int64_t d) { return static_cast<std::size_t>(((b * heads + h) * rows + i) * n + d); };
    const auto y = [&](std::int64_t j, std::int64_t d) {
      return static_cast<std::size_t>(((b * key_heads + key_head) * terms + j) * n + d);
    };
    const std::int64_t end =
        masks_.lengths.empty()
            ? terms
            : std::min(terms, static_cast<std::int64_t>(masks_.lengths[static_cast<std::size_t>(b)]));
    const std::int64_t diagonal = masks_.from_the_end ? end - rows : 0;
    const double none = -std::numeric_limits<double>::infinity();
    Numbers p(static_cast<std::size_t>(terms), none), of_p(p.size());
    double largest = none, spread = 1;
    for (std::int64_t j = 0; j < end; ++j) {
      const std::int64_t distance = j - i - diagonal;
      if (distance < -masks_.before || distance > masks_.behind) continue;
      double product = 0, magnitude = 0;
      const auto at = static_cast<std::size_t>(j);
      for (std::int64_t d = 0; d < n; ++d) {
        product += q[x(d)] * k[y(j, d)], magnitude += std::abs(q[x(d)] * k[y(j, d)] * scale_);
        of_p[at] += g[x(d)] * v[y(j, d)];
      }
      product *= scale_;
      const double added = (masks_.bias.empty() ? 0 : masks_.bias[bias_at(b, h, i, j)]) -
                           (masks_.slopes.empty()
                                ? 0
                                : masks_.slopes[static_cast<std::size_t>(h)] * static_cast<double>(std::abs(distance)));
      p[at] = product + added;
      largest = std::max(largest, p[at]), spread = std::max(spread, 1 + magnitude + std::abs(added));
    }
    double sum = 0, dot = 0;
    for (double &weight : p) sum += weight = largest == none ? 0 : std::exp(weight - largest);
    row_sums.push_back(sum > 0 ? largest + std::log(sum) : none);
    for (std::size_t j = 0; j < p.size(); ++j) {
      p[j] = sum > 0 ? p[j] / sum : 0;
      dot += p[j] * of_p[j];
    }
    products.push_back(dot);
    for (std::int64_t j = 0; j < terms; ++j) {
      const auto at = static_cast<std::size_t>(j);
      const double slope = p[at] * (of_p[at] - dot);
      of_bias.push_back(slope);
      const double size_of_slope = p[at] * (std::sqrt(double(n)) + std::abs(dot)) * spread * std::abs(scale_);
      for (std::int64_t d = 0; d < n; ++d) {
        out[x(d)] += p[at] * v[y(j, d)], near_out[x(d)] += p[at] * std::abs(v[y(j, d)]) * spread;
        of_q[x(d)] += slope * scale_ * k[y(j, d)], near_q[x(d)] += size_of_slope * std::abs(k[y(j, d)]);
        of_k[y(j, d)] += slope * scale_ * q[x(d)], near_k[y(j, d)] += size_of_slope * std::abs(q[x(d)]);
        of_v[y(j, d)] += p[at] * g[x(d)], near_v[y(j, d)] += p[at] * std::abs(g[x(d)]) * spread;
      }
    }
  }
  std::size_t bias_at(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const {
    return static_cast<std::size_t>(((b * shape_.heads + h) * shape_.rows + i) * shape_.terms + j);
  }

  Shape shape_;
  double scale_;
  Masks masks_;
};

}  // namespace samite::test
