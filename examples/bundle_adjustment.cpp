// Bundle adjustment of a synthetic city: finds the poses of a drone's cameras, their lens, and the points of the walls,
// from the pixels at which the points were seen. One pixel in twenty is an outlier. Writes bundle_adjustment.png, the
// city from above before and after, with errors in red, and the cameras in blue.
//
//   bundle_adjustment [cameras [points]]
#include <samite/samite.h>
#include <samite/solve.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <numbers>
#include <random>

#include "shared/drawing.h"

using namespace samite;
using namespace samite::solvers;

namespace {

const Device device = Device::preferred();
constexpr double focal = 800, bend = -0.08;  // of the lens: in pixels, and its distortion
constexpr double side = 60, half = 300;      // of a block with its street, and of the city, in metres

std::mt19937 dice(1);
double uniform(double from, double to) { return std::uniform_real_distribution(from, to)(dice); }
double normal(double deviation) { return std::normal_distribution(0.0, deviation)(dice); }

struct Place {
  double x, y, z;
};

// Translation and rotation, as Transformd stores them: from the city's frame to the camera's, with z ahead.
struct Pose {
  double numbers[7];
  Place seen(const Place &p) const {
    const double *t = numbers, *u = numbers + 3, w = numbers[6];
    const Place inner{u[1] * p.z - u[2] * p.y + w * p.x, u[2] * p.x - u[0] * p.z + w * p.y,
                      u[0] * p.y - u[1] * p.x + w * p.z};
    return {p.x + 2 * (u[1] * inner.z - u[2] * inner.y) + t[0], p.y + 2 * (u[2] * inner.x - u[0] * inner.z) + t[1],
            p.z + 2 * (u[0] * inner.y - u[1] * inner.x) + t[2]};
  }
};

// A camera at a place, turned about the vertical axis, and then downwards.
Pose pose_at(const Place &place, double turn, double down) {
  const double cy = std::cos(turn / 2), sy = std::sin(turn / 2), cx = std::cos(down / 2), sx = std::sin(down / 2);
  Pose pose{{0, 0, 0, sx * cy, cx * sy, sx * sy, cx * cy}};
  const Place back = pose.seen(place);
  pose.numbers[0] = -back.x, pose.numbers[1] = -back.y, pose.numbers[2] = -back.z;
  return pose;
}

struct City {
  std::vector<Pose> poses;
  std::vector<Place> points, flown;
  std::vector<std::int32_t> camera_of, point_of;
  std::vector<double> pixels;
};

// A point of a wall, and the wall's normal.
std::pair<Place, Place> point_of_a_wall() {
  const int blocks = static_cast<int>(2 * half / side), i = static_cast<int>(uniform(0, blocks)),
            j = static_cast<int>(uniform(0, blocks)), wall = static_cast<int>(uniform(0, 4));
  const double height = 10 + 35 * (0.5 + 0.5 * std::sin(7.0 * i + 3.0 * j)), width = 20, along = uniform(-width, width);
  const double x = -half + (i + 0.5) * side, z = -half + (j + 0.5) * side, sign = wall % 2 == 0 ? 1 : -1;
  const Place normal = wall < 2 ? Place{sign, 0, 0} : Place{0, 0, sign};
  return {{x + (wall < 2 ? sign * width : along), uniform(0, height), z + (wall < 2 ? along : sign * width)}, normal};
}

City made_city(int cameras, int points) {
  City city;
  for (int i = 0; i < cameras; ++i) {
    const double angle = 2 * std::numbers::pi * 3 * i / cameras, radius = 120 + 200.0 * i / cameras;
    const Place place{radius * std::sin(angle), 110, -radius * std::cos(angle)};
    city.flown.push_back(place);
    city.poses.push_back(pose_at(place, angle, -0.5));
  }
  while (static_cast<int>(city.points.size()) < points) {
    const auto [point, normal] = point_of_a_wall();
    const std::size_t before = city.camera_of.size();
    for (int i = 0; i < cameras; ++i) {
      const Place &from = city.flown[static_cast<std::size_t>(i)];
      const Place p = city.poses[static_cast<std::size_t>(i)].seen(point);
      const double x = p.x / p.z, y = p.y / p.z, facing = normal.x * (from.x - point.x) + normal.z * (from.z - point.z);
      if (p.z < 20 || p.z > 350 || std::abs(x) > 0.7 || std::abs(y) > 0.5 || facing < 0) continue;
      const double scale = focal * (1 + bend * (x * x + y * y));
      const bool wrong = uniform(0, 1) < 0.05;
      city.camera_of.push_back(i);
      city.point_of.push_back(static_cast<std::int32_t>(city.points.size()));
      city.pixels.push_back(scale * x + (wrong ? uniform(-80, 80) : ::normal(0.5)));
      city.pixels.push_back(scale * y + (wrong ? uniform(-80, 80) : ::normal(0.5)));
    }
    if (city.camera_of.size() >= before + 3) {
      city.points.push_back(point);
    } else {  // seen too seldom
      city.camera_of.resize(before), city.point_of.resize(before), city.pixels.resize(2 * before);
    }
  }
  return city;
}

Vec2d projection(const Transformd &camera, const Vec2d &lens, const Vec3d &point) {
  const Vec3d p = transform_point(camera, point);
  const Vec2d flat(p[0] / p[2], p[1] / p[2]);
  return flat * (lens[0] * (1.0 + lens[1] * dot(flat, flat)));
}

// Half of the points are closer to their true places.
double error_of(const std::vector<double> &points, const City &city) {
  std::vector<double> errors;
  for (std::size_t i = 0; i < city.points.size(); ++i) {
    const Place &p = city.points[i];
    errors.push_back(std::hypot(points[3 * i] - p.x, points[3 * i + 1] - p.y, points[3 * i + 2] - p.z));
  }
  const auto middle = errors.begin() + static_cast<std::ptrdiff_t>(errors.size() / 2);
  std::nth_element(errors.begin(), middle, errors.end());
  return *middle;
}

void draw(examples::Drawing &drawing, double left, const std::vector<double> &points, const City &city) {
  const double scale = 0.85;
  const auto x_of = [&](double x) { return left + (x + half + 40) * scale; };
  const auto y_of = [&](double z) { return (half + 40 - z) * scale; };
  for (std::size_t i = 0; i < city.points.size(); ++i) {
    const Place &p = city.points[i];
    drawing.line(x_of(p.x), y_of(p.z), x_of(points[3 * i]), y_of(points[3 * i + 2]), 0.8, {0.9f, 0.3f, 0.2f});
    drawing.disc(x_of(points[3 * i]), y_of(points[3 * i + 2]), 1.1, {0.15f, 0.15f, 0.2f});
  }
  for (const Place &camera : city.flown) drawing.disc(x_of(camera.x), y_of(camera.z), 3, {0.2f, 0.4f, 0.9f});
}

}  // namespace

int main(int count, char **words) {
  const int cameras = count > 1 ? std::atoi(words[1]) : 60, points = count > 2 ? std::atoi(words[2]) : 3000;
  const City city = made_city(cameras, points);
  std::vector<double> poses, places;
  for (int i = 0; i < cameras; ++i) {
    Place place = city.flown[static_cast<std::size_t>(i)];
    const Pose &truth = city.poses[static_cast<std::size_t>(i)];
    const double angle = 2 * std::numbers::pi * 3 * i / cameras;
    place = {place.x + normal(2), place.y + normal(2), place.z + normal(2)};
    const Pose guess = i == 0 || i == cameras / 2 ? truth : pose_at(place, angle + normal(0.02), -0.5 + normal(0.02));
    poses.insert(poses.end(), guess.numbers, guess.numbers + 7);
  }
  for (const Place &p : city.points)
    for (const double number : {p.x, p.y, p.z}) places.push_back(number + normal(4));

  Buffer<double> camera_poses{device, {cameras, 7}, poses}, lens{device, {1, 2}, {700, 0}};
  Buffer<double> point_places{device, {city.points.size(), 3}, places};
  const auto seen = static_cast<std::int64_t>(city.camera_of.size());
  Buffer<double> pixels{device, {seen, 2}, city.pixels};
  Buffer<std::int32_t> camera_of{device, {seen}, city.camera_of}, point_of{device, {seen}, city.point_of};
  Buffer<std::int32_t> first{device, {seen}};

  LeastSquares problem;
  ParameterBlocks of_cameras =
      problem.add_parameters("cameras", camera_poses, {.manifold = Manifold::se3(), .fixed = {0, cameras / 2}});
  ParameterBlocks of_lens = problem.add_parameters("lens", lens);
  ParameterBlocks of_points = problem.add_parameters("points", point_places, {.eliminated = true});
  problem.add_residuals("pixels",
                        [](const Transformd &camera, const Vec2d &lens, const Vec3d &point, const Vec2d &pixel) {
                          return projection(camera, lens, point) - pixel;
                        },
                        {{of_cameras, camera_of}, {of_lens, first}, {of_points, point_of}}, {pixels},
                        {.loss = Loss::cauchy(1)});
  LeastSquaresReport report = problem.solve();
  std::cout << report.history() << report.summary();

  const std::vector<double> found = point_places.to_vector();
  std::printf("lens: %.2f pixels, distortion %.4f; half of the points are off by at most %.2f m before, %.3f m after\n",
              lens.at(0, 0), lens.at(0, 1), error_of(places, city), error_of(found, city));
  examples::Drawing drawing(1160, 580);
  draw(drawing, 0, places, city);
  draw(drawing, 580, found, city);
  drawing.write("bundle_adjustment.png");
  const bool right = report.converged() && std::abs(lens.at(0, 0) - focal) < 2 && error_of(found, city) < 0.2;
  if (!right) std::puts("WRONG");
  return right ? 0 : 1;
}
