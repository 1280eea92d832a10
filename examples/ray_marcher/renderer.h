// A scene, its picture, and the distance from a target: a chain of two recorded launches.
#pragma once

#include "ray_marcher_kernels.h"
#include "shared/chain.h"

namespace ray_marcher {

template <class T>
class Renderer {
 public:
  Renderer(Device device, const Camera &camera, int blobs)
      : scene_(device, {blobs, blob_size}, Gradient::tracked),
        picture_(device, {camera.height, camera.width, 3}, Gradient::tracked),
        target_(device, picture_.extents()),
        total_(device, {1}, Gradient::tracked) {
    const Extents pixels{camera.height, camera.width};
    chain.add(render<T>(blobs, camera), pixels, picture_, scene_);
    chain.add(ray_marcher::mismatch<T>(), pixels, total_, picture_, target_);
    total_.gradient().fill(1);  // d(mismatch) / d(mismatch); the adjoint of a sum only reads it
  }

  // Σ (picture - target)² of the current scene.
  double mismatch() {
    total_.fill(0);
    chain.run();
    return total_.at(0);
  }

  // Adds the mismatch's derivatives to the gradient of the scene, for the picture of the last mismatch().
  void add_gradient() { chain.run_adjoint(); }

  Buffer<T> &scene() { return scene_; }
  Buffer<T> &picture() { return picture_; }
  Buffer<T> &target() { return target_; }

  examples::Chain chain;

 private:
  Buffer<T> scene_, picture_, target_;
  Buffer<double> total_;
};

}  // namespace ray_marcher
