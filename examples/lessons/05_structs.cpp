// Lesson 5. Structs and vectors: balls that fall through wind and bounce off the floor.
#include <samite/samite.h>

#include <cstdio>

using namespace samite;

struct Ball {
  Vec3f place, velocity;
};
struct World {
  Float dt;
  Vec3f wind;
};
struct HostWorld {
  float dt;
  Vector<float, 3> wind;
};

// A function of traced values becomes part of the kernel.
Vec3f acceleration(const Vec3f &velocity, const Vec3f &wind) {
  Vec3f relative = wind - velocity;
  return Vec3f{0, 0, -9.81} + 0.1 * norm(relative) * relative;
}

int main() {
  Kernel move{"move", [](Array<Ball, 1> balls, const World &world) {
                Int i = thread_index();
                Ball ball = balls(i);
                ball.velocity += world.dt * acceleration(ball.velocity, world.wind);
                ball.place += world.dt * ball.velocity;
                if_(ball.place.z() < 0, [&] {
                  ball.place.z() = -ball.place.z();
                  ball.velocity = 0.8 * reflect(ball.velocity, Vec3f::unit(2));
                });
                balls(i) = ball;
              }};

  Device device = Device::preferred();
  Buffer<float> balls{device, {2, 6}};  // a row for each ball: the place, then the velocity
  balls.slice(0, 0, 1).copy_from({0, 0, 1, 2, 0, 0});
  balls.slice(0, 1, 2).copy_from({0, 0, 5, 0, 0, 0});

  for (int step = 0; step < 200; ++step) move.launch({2}, balls, HostWorld{0.01f, {0, 3, 0}});

  for (int i = 0; i < 2; ++i)
    std::printf("ball %d is at (%.2f, %.2f, %.2f)\n", i, balls.at(i, 0), balls.at(i, 1), balls.at(i, 2));
}
