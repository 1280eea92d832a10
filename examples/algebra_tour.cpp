// Every part of the algebra that docs/algebra.md describes, in small kernels that check their results.
#include <samite/samite.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>

using namespace samite;

namespace {

const Device device = Device::preferred();

void check(bool right, const char *what) {
  std::printf("%-16s %s\n", what, right ? "as expected" : "WRONG");
  if (!right) std::exit(1);
}
bool near(double a, double b) { return std::abs(a - b) < 1e-5; }

struct Particle {
  Vec3f position;
  Float mass;
};
struct Scene {
  Float dt;
  Vec3f wind;
};
struct HostScene {
  float dt;
  Vector<float, 3> wind;
};
struct Labelled {
  Vec2f place;
  Int label;
};
struct Cloth {
  Array<Vec3f, 1> places;
  Array<const float, 1> masses;
  Float stiffness;
};
struct HostCloth {
  Buffer<float> places, masses;
  float stiffness;
};

// Gravity and drag on a body that flies.
Vec3f acceleration(const Vec3f &velocity, const Float &drag) {
  Vec3f result = -drag * norm(velocity) * velocity;
  result.z() -= 9.81;
  return result;
}

void vectors() {
  Kernel fly{"fly", [](Array<float, 2> positions, const Float &drag, const Float &dt) {
               Int i = thread_index();
               Vec3f position, velocity{3, 0, 4};
               for ([[maybe_unused]] Int step : range(100)) {
                 velocity += dt * acceleration(velocity, drag);
                 position += dt * velocity;
               }
               for (int k = 0; k < 3; ++k) positions(i, k) = position[k];
             }};
  Buffer<float> positions{device, {1, 3}};
  fly.launch({1}, positions, 0.0f, 0.001f);
  check(near(positions.at(0, 0), 0.3) && near(positions.at(0, 2), 0.4 - 9.81 * 0.001 * 0.001 * 5050), "vectors");
}

void matrices() {
  Kernel strain{"strain", [](Array<float, 2> out, Array<const float, 3> gradients) {
                  Int i = thread_index();
                  Mat3f f = Mat3f::generate([&](int r, int c) { return Float(gradients(i, r, c)); });
                  Mat3f green = 0.5 * (transpose(f) * f - Mat3f::identity());
                  green(0, 0) += 1;
                  out(i, 0) = determinant(f);
                  out(i, 1) = trace(green);
                  out(i, 2) = norm(inverse(f) * f);
                }};
  Buffer<float> gradients{device, {1, 3, 3}, {1, 2, 0, 0, 1, 0, 0, 0, 2}}, out{device, {1, 3}};
  strain.launch({1}, out, gradients);
  check(near(out.at(0, 0), 2) && near(out.at(0, 1), 4.5) && near(out.at(0, 2), std::sqrt(3.0)), "matrices");
}

void decompositions() {
  Kernel elastic{"elastic", [](Array<float, 1> out, Array<const float, 3> gradients) {
                   Int i = thread_index();
                   Mat3f f = Mat3f::generate([&](int r, int c) { return Float(gradients(i, r, c)); });
                   auto [rotation, stretch] = polar(f);
                   auto [values, vectors] = symmetric_eigen(stretch);
                   Float energy = norm_squared(f - rotation) + maximum(values);
                   out(i) = energy;
                 }};
  Buffer<float> gradients{device, {1, 3, 3}, {0, -2, 0, 1, 0, 0, 0, 0, 3}}, out{device, {1}};
  elastic.launch({1}, out, gradients);
  check(near(out.at(0), 1 + 4 + 3), "decompositions");
}

void rotations() {
  Kernel arm{"arm", [](Array<float, 2> hands, Array<const float, 1> angles) {
               Int i = thread_index();
               Quatf bend = Quatf::from_axis_angle({0, 0, 1}, angles(i));
               Transformf shoulder{{0, 0, 1}, bend}, elbow{{2, 0, 0}, slerp(Quatf(), bend, 0.5)};
               Vec3f hand = transform_point(shoulder * elbow, Vec3f{1, 0, 0});
               for (int k = 0; k < 3; ++k) hands(i, k) = hand[k];
             }};
  Buffer<float> angles{device, {1}, {1.2f}}, hands{device, {1, 3}};
  arm.launch({1}, hands, angles);
  check(near(hands.at(0, 0), 2 * std::cos(1.2) + std::cos(1.8)) &&
            near(hands.at(0, 1), 2 * std::sin(1.2) + std::sin(1.8)) && near(hands.at(0, 2), 1),
        "rotations");
}

void structs() {
  Kernel step{"step", [](Array<Particle, 1> particles, Array<const Vec3f, 1> forces, const Scene &scene) {
                Int i = thread_index();
                Particle p = particles(i);
                p.position += scene.dt * (forces(i) / p.mass + scene.wind);
                particles(i) = p;
              }};
  Buffer<float> particles{device, {1, 4}, {1, 2, 3, 10}};  // position and mass
  Buffer<float> forces{device, {1, 3}, {10, 0, 0}};
  step.launch({1}, particles, forces, HostScene{0.5f, {0, 0, 2}});
  check(particles.to_vector() == std::vector<float>{1.5f, 2, 4, 10}, "structs");

  Kernel sag{"sag", [](const Cloth &cloth) {
               Int i = thread_index();
               cloth.places(i).z() -= cloth.masses(i) / cloth.stiffness;
             }};
  Buffer<float> cloth_places{device, {1, 3}, {1, 2, 3}}, masses{device, {1}, {4}};
  sag.launch({1}, HostCloth{cloth_places, masses, 8});
  check(cloth_places.to_vector() == std::vector<float>{1, 2, 2.5f}, "structs with arrays");

  Kernel relabel{"relabel", [](Array<Vec2f, 1> places, Array<std::int32_t, 1> labels) {
                   Int i = thread_index();
                   auto all = zip<Labelled>(places, labels);
                   Labelled here = all(i);
                   here.label = cast<Int>(norm(here.place));
                   all(i) = here;
                 }};
  Buffer<float> places{device, {1, 2}, {3, 4.5f}};
  Buffer<std::int32_t> labels{device, {1}};
  relabel.launch({1}, places, labels);
  check(labels.at(0) == 5, "zip");
}

void random_numbers() {
  Kernel walk{"walk", [](Array<double, 1> out, const Int &seed) {
                Int i = thread_index();
                Random random{seed, i};  // this instance's stream
                Float x = random.uniform();
                Vec3f direction = random.on_sphere();
                Double noise = random.normal<double>();
                out(i) = x + direction.z() + noise;
              }};
  Buffer<double> out{device, {100}};
  walk.launch({100}, out, 42);
  HostRandom random{42, 99};
  double x = random.uniform(), z = random.on_sphere().z();
  check(near(out.at(99), x + z + random.normal<double>()), "random numbers");
}

void noises() {
  Kernel terrain{"terrain", [](Array<float, 1> out, Array<const Vec2f, 1> places) {
                   Int i = thread_index();
                   auto place = places(i);
                   Float height = fractal_noise(Vec2f(place), 5);
                   Vec2f wind = curl_noise(Vec2f(place), 7);
                   auto [value, gradient] = perlin_with_gradient(Vec2f(place));
                   out(i) = height + norm(wind) + value + sum(gradient);
                 }};
  Buffer<float> places{device, {1, 2}, {2.25f, -7.5f}}, out{device, {1}};
  terrain.launch({1}, out, places);
  Vector<float, 2> place{2.25f, -7.5f};
  auto [value, gradient] = perlin_with_gradient(place);
  check(near(out.at(0), fractal_noise(place, 5) + norm(curl_noise(place, 7)) + value + sum(gradient)), "noise");
}

void host() {
  Vector<double, 3> v{1, 2, 2};
  Quaternion<double> q = Quaternion<double>::from_axis_angle({0, 0, 1}, 0.5);
  double unchanged = norm(rotate(q, v));  // 3
  check(std::abs(unchanged - 3) < 1e-15, "host");
}

}  // namespace

int main() {
  vectors();
  matrices();
  decompositions();
  rotations();
  structs();
  random_numbers();
  noises();
  host();
  return 0;
}
