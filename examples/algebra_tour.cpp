// Every part of the algebra that docs/algebra.md describes, in small kernels that check what they computed.
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

// Gravity and drag on a body that flies.
Vec3f acceleration(Vec3f velocity, Float drag) {
  Vec3f result = -drag * norm(velocity) * velocity;
  result.z() -= 9.81;
  return result;
}

void vectors() {
  Kernel fly{"fly", [](Array<float, 2> positions, Float drag, Float dt) {
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
  host();
}
