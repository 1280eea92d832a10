#include "samite/solve/manifold_steps.h"

#include "samite/lang/control.h"
#include "samite/lang/math.h"

#include <cstddef>

namespace samite::solvers::detail {
namespace {

TracedNumbers part_of(const TracedNumbers &all, std::size_t begin, int count) {
  const auto first = all.begin() + static_cast<std::ptrdiff_t>(begin);
  return {first, first + count};
}

void append(TracedNumbers &to, const TracedNumbers &further) { to.insert(to.end(), further.begin(), further.end()); }

Double dot(const TracedNumbers &a, const TracedNumbers &b) {
  Double sum = a[0] * b[0];
  for (std::size_t i = 1; i < a.size() && i < b.size(); ++i) sum += a[i] * b[i];
  return sum;
}

TracedNumbers normalised(TracedNumbers x) {
  const Double inverse = 1.0 / sqrt(dot(x, x));
  for (Double &number : x) number *= inverse;
  return x;
}

// sin(a) / a for the length a of a vector, given its square.
Double sine_quotient(const Double &squared) {
  const Double length = sqrt(max(squared, 1e-30));
  return select(squared > 1e-8, sin(length) / length, 1.0 - squared / 6.0);
}

// a b, in the order x, y, z, w.
TracedNumbers quaternion_product(const TracedNumbers &a, const TracedNumbers &b) {
  return {a[3] * b[0] + a[0] * b[3] + a[1] * b[2] - a[2] * b[1], a[3] * b[1] - a[0] * b[2] + a[1] * b[3] + a[2] * b[0],
          a[3] * b[2] + a[0] * b[1] - a[1] * b[0] + a[2] * b[3], a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2]};
}

TracedNumbers cross(const TracedNumbers &a, const TracedNumbers &b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}

// v turned by the unit quaternion q: v + 2 u x (u x v + w v), with u its vector part; `sign` -1 turns back.
TracedNumbers turned(const TracedNumbers &q, const TracedNumbers &v, double sign) {
  const TracedNumbers u{q[0], q[1], q[2]};
  TracedNumbers inner = cross(u, v);
  for (std::size_t i = 0; i < 3; ++i) inner[i] += sign * q[3] * v[i];
  const TracedNumbers outer = cross(u, inner);
  return {v[0] + 2.0 * outer[0], v[1] + 2.0 * outer[1], v[2] + 2.0 * outer[2]};
}

TracedNumbers stepped_quaternion(const TracedNumbers &q, const TracedNumbers &d) {
  const TracedNumbers half{0.5 * d[0], 0.5 * d[1], 0.5 * d[2]};
  const Double squared = dot(half, half), factor = sine_quotient(squared);
  return normalised(quaternion_product(q, {factor * half[0], factor * half[1], factor * half[2], cos(sqrt(squared))}));
}

TracedNumbers quaternion_gradient(const TracedNumbers &q, const TracedNumbers &g) {
  return {0.5 * (q[3] * g[0] + q[2] * g[1] - q[1] * g[2] - q[0] * g[3]),
          0.5 * (q[3] * g[1] - q[2] * g[0] + q[0] * g[2] - q[1] * g[3]),
          0.5 * (q[1] * g[0] - q[0] * g[1] + q[3] * g[2] - q[2] * g[3])};
}

TracedNumbers stepped_angle(const Double &cosine, const Double &sine, const Double &angle) {
  return normalised({cosine * cos(angle) - sine * sin(angle), sine * cos(angle) + cosine * sin(angle)});
}

// The Householder reflection 1 - scale v v^T that takes x to a multiple of the last axis.
struct Reflection {
  TracedNumbers v;
  Double scale;

  explicit Reflection(const TracedNumbers &x) : v(x), scale(1.0 / (1.0 + abs(x.back()))) {
    v.back() = x.back() + select(x.back() < 0.0, -1.0, 1.0);
  }
  TracedNumbers operator()(const TracedNumbers &a) const {
    const Double along = scale * dot(v, a);
    TracedNumbers result;
    for (std::size_t i = 0; i < v.size(); ++i) result.push_back(i < a.size() ? a[i] - along * v[i] : -along * v[i]);
    return result;
  }
};

TracedNumbers stepped_on_sphere(const TracedNumbers &x, const TracedNumbers &d) {
  const Double squared = dot(d, d), factor = sine_quotient(squared), cosine = cos(sqrt(squared));
  const TracedNumbers direction = Reflection(x)(d);
  TracedNumbers result;
  for (std::size_t i = 0; i < x.size(); ++i) result.push_back(cosine * x[i] + factor * direction[i]);
  return normalised(std::move(result));
}

TracedNumbers stepped_part(Manifold::Kind kind, const TracedNumbers &x, const TracedNumbers &d) {
  using enum Manifold::Kind;
  switch (kind) {
    case euclidean: {
      TracedNumbers sum;
      for (std::size_t i = 0; i < x.size(); ++i) sum.push_back(x[i] + d[i]);
      return sum;
    }
    case constant: return x;
    case so2: return stepped_angle(x[0], x[1], d[0]);
    case so3: return stepped_quaternion(x, d);
    case se2: {
      TracedNumbers result{x[0] + x[2] * d[0] - x[3] * d[1], x[1] + x[3] * d[0] + x[2] * d[1]};
      append(result, stepped_angle(x[2], x[3], d[2]));
      return result;
    }
    case se3: {
      const TracedNumbers q = part_of(x, 3, 4), moved = turned(q, part_of(d, 0, 3), 1);
      TracedNumbers result{x[0] + moved[0], x[1] + moved[1], x[2] + moved[2]};
      append(result, stepped_quaternion(q, part_of(d, 3, 3)));
      return result;
    }
    case sphere: return stepped_on_sphere(x, d);
  }
  return {};
}

TracedNumbers gradient_of_part(Manifold::Kind kind, const TracedNumbers &x, const TracedNumbers &g) {
  using enum Manifold::Kind;
  switch (kind) {
    case euclidean: return g;
    case constant: return {};
    case so2: return {x[0] * g[1] - x[1] * g[0]};
    case so3: return quaternion_gradient(x, g);
    case se2: return {x[2] * g[0] + x[3] * g[1], x[2] * g[1] - x[3] * g[0], x[2] * g[3] - x[3] * g[2]};
    case se3: {
      const TracedNumbers q = part_of(x, 3, 4);
      TracedNumbers result = turned(q, part_of(g, 0, 3), -1);
      append(result, quaternion_gradient(q, part_of(g, 3, 4)));
      return result;
    }
    case sphere: {
      TracedNumbers reflected = Reflection(x)(g);
      reflected.pop_back();
      return reflected;
    }
  }
  return {};
}

}  // namespace

TracedNumbers stepped(const Manifold &manifold, const TracedNumbers &x, const TracedNumbers &step) {
  TracedNumbers result;
  std::size_t at = 0, at_step = 0;
  for (const Manifold::Part &part : manifold.parts()) {
    append(result, stepped_part(part.kind, part_of(x, at, part.size), part_of(step, at_step, part.tangent)));
    at += static_cast<std::size_t>(part.size), at_step += static_cast<std::size_t>(part.tangent);
  }
  return result;
}

TracedNumbers tangent_gradient(const Manifold &manifold, const TracedNumbers &x, const TracedNumbers &gradient) {
  TracedNumbers result;
  std::size_t at = 0;
  for (const Manifold::Part &part : manifold.parts()) {
    append(result, gradient_of_part(part.kind, part_of(x, at, part.size), part_of(gradient, at, part.size)));
    at += static_cast<std::size_t>(part.size);
  }
  return result;
}

}  // namespace samite::solvers::detail
