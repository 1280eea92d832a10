// The kernels of a renderer of soft blobs, for float (in the run) and for double (to check the gradient).
//
// The scene is a surface without triangles: the zero set of a signed distance, here of spheres that melt into each
// other. A ray advances by the distance to the surface until it arrives (J. C. Hart, Sphere Tracing, The Visual
// Computer 12, 1996), so that each pixel takes its own number of steps. The union is I. Quilez's quadratic smooth
// minimum, of radius k: lerp(a, b, h) - k h (1 - h) with h = clamp((1 + (a - b) / k) / 2, 0, 1).
//
// A hard silhouette has no derivative. Here the cover of a pixel falls off with the angle by which its ray misses the
// surface, over about one pixel, so that a picture is a smooth function of the scene.
#pragma once

#include <samite/samite.h>

#include <vector>

namespace ray_marcher {

using namespace samite;

// The quantities of a blob: centre, radius, colour.
inline constexpr int blob_size = 7;

struct Camera {
  int width = 96, height = 72;
  int steps = 64;             // of a ray, at most
  double tolerance = 1e-4;    // a ray this close to the surface, by distance travelled, has arrived
  double edge = 1.5;          // pixels over which a silhouette is soft
  double eye = -4, far = 8;   // on the z axis; where rays end
  double focal_length = 1.6;  // in heights of the picture
};

template <class T>
using Vec3 = Vector<Traced<T>, 3>;

template <class T>
struct Blob {
  Vec3<T> centre, colour;
  Traced<T> radius;
};

template <class T>
std::vector<Blob<T>> blobs_of(const Array<const T, 2> &scene, int count) {
  std::vector<Blob<T>> blobs;
  for (int b = 0; b < count; ++b)
    blobs.push_back(
        {Vec3<T>(scene(b, 0), scene(b, 1), scene(b, 2)), Vec3<T>(scene(b, 4), scene(b, 5), scene(b, 6)), scene(b, 3)});
  return blobs;
}

// The share of the second in the smooth minimum of two distances.
template <class T>
Traced<T> share_of_second(const Traced<T> &first, const Traced<T> &second) {
  constexpr double radius = 0.35;
  return clamp(0.5 + (first - second) * (0.5 / radius), 0, 1);
}
template <class T>
Traced<T> smooth_minimum(const Traced<T> &first, const Traced<T> &second, const Traced<T> &share) {
  constexpr double radius = 0.35;
  return first + share * (second - first) - radius * share * (1 - share);
}

template <class T>
Traced<T> signed_distance(const std::vector<Blob<T>> &blobs, const Vec3<T> &point) {
  Traced<T> nearest = norm(point - blobs[0].centre) - blobs[0].radius;
  for (std::size_t b = 1; b < blobs.size(); ++b) {
    Traced<T> next = norm(point - blobs[b].centre) - blobs[b].radius;
    nearest = smooth_minimum<T>(nearest, next, share_of_second<T>(nearest, next));
  }
  return nearest;
}

// Light that is brighter than black even on the far side: Valve's half Lambert, ((1 + n · l) / 2)².
template <class T>
Vec3<T> shaded(const std::vector<Blob<T>> &blobs, const Vec3<T> &point) {
  Vec3<T> colour = blobs[0].colour, normal = normalize(point - blobs[0].centre);
  Traced<T> nearest = norm(point - blobs[0].centre) - blobs[0].radius;
  for (std::size_t b = 1; b < blobs.size(); ++b) {
    Vec3<T> away = point - blobs[b].centre;
    Traced<T> next = norm(away) - blobs[b].radius;
    Traced<T> share = share_of_second<T>(nearest, next);
    nearest = smooth_minimum<T>(nearest, next, share);
    normal = lerp(normal, normalize(away), share);
    colour = lerp(colour, blobs[b].colour, share);
  }
  Traced<T> facing = 0.5 + 0.5 * dot(normalize(normal), Vec3<T>(-0.48, -0.64, -0.6));
  return colour * (0.1 + 0.9 * facing * facing);
}

// picture(y, x, channel), from 0 to 1, of scene(blob, 0 … 6).
template <class T>
auto render(int count, const Camera &camera) {
  return Kernel{"render", {"picture", "scene"}, [=](Array<T, 3> picture, Array<const T, 2> scene) {
                  auto [row, column] = thread_index<2>();
                  const std::vector<Blob<T>> blobs = blobs_of(scene, count);
                  Traced<T> right = (cast<Traced<T>>(column) - 0.5 * (camera.width - 1)) / camera.height;
                  Traced<T> down = (cast<Traced<T>>(row) - 0.5 * (camera.height - 1)) / camera.height;
                  const Vec3<T> eye(0, 0, camera.eye);
                  const Vec3<T> direction = normalize(Vec3<T>(right, down, camera.focal_length));

                  Traced<T> travelled = 1, closest = 1, missed_by = 1;
                  for (Int step : range(camera.steps)) {
                    (void)step;
                    Traced<T> distance = signed_distance(blobs, eye + direction * travelled);
                    Traced<T> angle = distance / travelled;
                    if_(angle < missed_by, [&] {
                      missed_by = angle;
                      closest = travelled;
                    });
                    if_(distance < camera.tolerance || travelled > camera.far, [] { break_(); });
                    travelled += distance;
                  }

                  const double pixel = 1 / (camera.focal_length * camera.height);
                  Traced<T> miss = max(missed_by, 0) / (camera.edge * pixel);
                  Traced<T> cover = exp(-miss * miss);
                  Vec3<T> sky = lerp(Vec3<T>(0.93, 0.94, 0.96), Vec3<T>(0.70, 0.76, 0.84), 0.5 - down);
                  Vec3<T> light = lerp(sky, shaded(blobs, eye + direction * closest), cover);
                  for (int channel = 0; channel < 3; ++channel) picture(row, column, channel) = light[channel];
                }};
}

// total(0) += sum of (picture - target)², in double because it has as many terms as there are pixels.
template <class T>
auto mismatch() {
  return Kernel{"mismatch",
                {"total", "picture", "target"},
                [](Array<double, 1> total, Array<const T, 3> picture, Array<const T, 3> target) {
                  auto [row, column] = thread_index<2>();
                  Traced<T> sum = 0;
                  for (int channel = 0; channel < 3; ++channel) {
                    Traced<T> difference = picture(row, column, channel) - target(row, column, channel);
                    sum += difference * difference;
                  }
                  atomic_add(total(0), sum);
                }};
}

}  // namespace ray_marcher
