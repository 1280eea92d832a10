// The kernels of chains of rigid rods that are thrown onto a floor, for float (in the run) and for double (to check the
// gradient).
//
// A rod is a capsule along its own x axis, with a position p and a rotation q of its middle, a velocity v and a spin ω.
// Its ends are joined to those of its neighbours by stiff, damped springs, and rest on the floor z = 0 by a force that
// grows with the square of the depth δ of the contact, so that touching is smooth: N = k δ² max(1 - c δ', 0) along z
// (after K. H. Hunt, F. R. E. Crossley, Journal of Applied Mechanics 42, 1975, equation 9 with a power of 2), and
// friction -µ N u / √(|u|² + ε²) against the velocity u along the floor. Time steps are semi-implicit:
//
//   v' = v + Δt F / m,  ω' = ω + Δt I⁻¹ (τ - ω × I ω),  p' = p + Δt v',  q' = (q + Δt/2 ω' q) / |q + Δt/2 ω' q|
//
// with torques and inertia in the axes of the rod. Lengths in m, times in s; forces are divided by the mass of a rod.
#pragma once

#include <samite/samite.h>

namespace chains {

using namespace samite;

struct Model {
  int links = 6, chains = 64;
  int steps = 600;
  double dt = 1e-3;
  double half_length = 0.15, radius = 0.06;
  double joint_stiffness = 2.0e4, joint_damping = 12;   // 1 / s², 1 / s
  double floor_stiffness = 1.0e5, floor_damping = 0.4;  // 1 / (m s²), s / m
  double friction = 0.5, friction_speed = 0.3;          // µ, ε in m / s
  double gravity = 9.81;
  double height = 1;  // of the chain before the throw

  // I / m of a cylinder, about its axis and across it.
  double inertia_along() const { return radius * radius / 2; }
  double inertia_across() const { return half_length * half_length / 3 + radius * radius / 4; }
};

// The quantities in a state array's first dimension: (quantity, link, chain).
inline constexpr int position_at = 0, rotation_at = 3, velocity_at = 7, spin_at = 10, state_size = 13;

template <class T>
struct Rod {
  Vector<Traced<T>, 3> position, velocity, spin;
  Quaternion<Traced<T>> rotation;

  template <class State>
  static Rod load(const State &state, const Int &link, const Int &chain) {
    const auto vector = [&](int at) {
      return Vector<Traced<T>, 3>(state(at, link, chain), state(at + 1, link, chain), state(at + 2, link, chain));
    };
    const auto q = [&](int i) { return Traced<T>(state(rotation_at + i, link, chain)); };
    return {vector(position_at), vector(velocity_at), vector(spin_at), Quaternion<Traced<T>>(q(0), q(1), q(2), q(3))};
  }

  void store(const Array<T, 3> &state, const Int &link, const Int &chain) const {
    for (int i = 0; i < 3; ++i) {
      state(position_at + i, link, chain) = position[i];
      state(velocity_at + i, link, chain) = velocity[i];
      state(spin_at + i, link, chain) = spin[i];
    }
    const Traced<T> q[] = {rotation.x(), rotation.y(), rotation.z(), rotation.w()};
    for (int i = 0; i < 4; ++i) state(rotation_at + i, link, chain) = q[i];
  }

  // From its middle to one of its ends: -1 or 1.
  Vector<Traced<T>, 3> arm(double end, const Model &model) const {
    return rotate(rotation, Vector<Traced<T>, 3>(end * model.half_length, 0, 0));
  }
};

// The total force and torque on a rod.
template <class T>
struct Wrench {
  Vector<Traced<T>, 3> force, torque;

  void add(const Vector<Traced<T>, 3> &arm, const Vector<Traced<T>, 3> &push) {
    force += push;
    torque += cross(arm, push);
  }
};

// The pull of the neighbour that the rod's end `end` is joined to.
template <class T>
void add_joint(Wrench<T> &wrench, const Rod<T> &rod, const Rod<T> &neighbour, double end, const Model &model) {
  const auto here = rod.arm(end, model), there = neighbour.arm(-end, model);
  const auto gap = neighbour.position + there - rod.position - here;
  const auto drift = neighbour.velocity + cross(neighbour.spin, there) - rod.velocity - cross(rod.spin, here);
  wrench.add(here, model.joint_stiffness * gap + model.joint_damping * drift);
}

template <class T>
void add_contact(Wrench<T> &wrench, const Rod<T> &rod, double end, const Model &model) {
  using Vec = Vector<Traced<T>, 3>;
  const Vec to_floor = rod.arm(end, model) + Vec(0, 0, -model.radius);
  const Traced<T> depth = max(-(rod.position.z() + to_floor.z()), 0);
  const Vec slip = rod.velocity + cross(rod.spin, to_floor);
  const Traced<T> normal = model.floor_stiffness * depth * depth * max(1 - model.floor_damping * slip.z(), 0);
  const Traced<T> drag = -model.friction * normal *
                         rsqrt(slip.x() * slip.x() + slip.y() * slip.y() + model.friction_speed * model.friction_speed);
  wrench.add(to_floor, Vec(drag * slip.x(), drag * slip.y(), normal));
}

template <class T>
Rod<T> moved(const Rod<T> &rod, const Wrench<T> &wrench, const Model &model) {
  using Vec = Vector<Traced<T>, 3>;
  const Vec inertia(model.inertia_along(), model.inertia_across(), model.inertia_across());
  const auto to_rod = conjugate(rod.rotation);
  const Vec spin = rotate(to_rod, rod.spin), torque = rotate(to_rod, wrench.torque);
  const Vec turned = spin + model.dt * (torque - cross(spin, inertia * spin)) / inertia;
  Rod<T> next;
  next.velocity = rod.velocity + model.dt * wrench.force;
  next.spin = rotate(rod.rotation, turned);
  next.position = rod.position + model.dt * next.velocity;
  next.rotation = normalize(rod.rotation + Quaternion<Traced<T>>(next.spin, 0) * rod.rotation * (0.5 * model.dt));
  return next;
}

// One time step of the rod `link` of a chain; the neighbours' states are those before the step.
template <class T>
auto step(const Model &model) {
  return Kernel{"step", {"next", "now"}, [=](Array<T, 3> next, Array<const T, 3> now) {
                  auto [link, chain] = thread_index<2>();
                  const Rod<T> rod = Rod<T>::load(now, link, chain);
                  Wrench<T> wrench;
                  wrench.force.z() = -model.gravity;
                  if_(link > 0, [&] { add_joint(wrench, rod, Rod<T>::load(now, link - 1, chain), -1, model); });
                  if_(link < model.links - 1,
                      [&] { add_joint(wrench, rod, Rod<T>::load(now, link + 1, chain), 1, model); });
                  add_contact(wrench, rod, -1, model);
                  add_contact(wrench, rod, 1, model);
                  moved(rod, wrench, model).store(next, link, chain);
                }};
}

// A straight chain along x, thrown as one body: throws(0 … 2, chain) is the velocity of its middle, in m / s,
// throws(3 … 5, chain) its spin, in rad / s.
template <class T>
auto begin(const Model &model) {
  return Kernel{"begin", {"state", "throws"}, [=](Array<T, 3> state, Array<const T, 2> throws) {
                  auto [link, chain] = thread_index<2>();
                  using Vec = Vector<Traced<T>, 3>;
                  const double middle = 0.5 * (model.links - 1);
                  const Vec from_middle((cast<Traced<T>>(link) - middle) * (2 * model.half_length), 0, 0);
                  Rod<T> rod;
                  rod.position = from_middle + Vec(0, 0, model.height);
                  rod.spin = Vec(throws(3, chain), throws(4, chain), throws(5, chain));
                  rod.velocity =
                      Vec(throws(0, chain), throws(1, chain), throws(2, chain)) + cross(rod.spin, from_middle);
                  rod.store(state, link, chain);
                }};
}

// total(0) += sum of |p - target|², target(0 … 2, link, chain).
template <class T>
auto miss() {
  return Kernel{"miss",
                {"total", "state", "target"},
                [](Array<double, 1> total, Array<const T, 3> state, Array<const T, 3> target) {
                  auto [link, chain] = thread_index<2>();
                  Traced<T> sum = 0;
                  for (int i = 0; i < 3; ++i) {
                    Traced<T> difference = state(position_at + i, link, chain) - target(i, link, chain);
                    sum += difference * difference;
                  }
                  atomic_add(total(0), sum);
                }};
}

}  // namespace chains
