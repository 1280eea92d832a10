#include "samite/solve/manifold.h"

#include "samite/base/error.h"

namespace samite::solvers {
namespace {

int at_least(int least, int size, const char *what) {
  if (size >= least) return size;
  throw UserError({}, std::string("a manifold: ") + what + " has at least " + std::to_string(least) + " numbers, " +
                          std::to_string(size) + " are given");
}

std::string text_of(const Manifold::Part &part) {
  const std::string size = "(" + std::to_string(part.size) + ")";
  switch (part.kind) {
    case Manifold::Kind::euclidean: return "euclidean" + size;
    case Manifold::Kind::constant: return "constant" + size;
    case Manifold::Kind::so2: return "so2";
    case Manifold::Kind::so3: return "so3";
    case Manifold::Kind::se2: return "se2";
    case Manifold::Kind::se3: return "se3";
    case Manifold::Kind::sphere: return "sphere" + size;
  }
  return "";
}

}  // namespace

Manifold Manifold::euclidean(int size) { return {Kind::euclidean, at_least(1, size, "a euclidean one"), size}; }
Manifold Manifold::constant(int size) { return {Kind::constant, at_least(1, size, "a constant one"), 0}; }
Manifold Manifold::sphere(int size) { return {Kind::sphere, at_least(2, size, "a sphere"), size - 1}; }

Manifold::Manifold(std::initializer_list<Manifold> parts) {
  for (const Manifold &part : parts) parts_.insert(parts_.end(), part.parts_.begin(), part.parts_.end());
}

int Manifold::size() const {
  int size = 0;
  for (const Part &part : parts_) size += part.size;
  return size;
}

int Manifold::tangent() const {
  int tangent = 0;
  for (const Part &part : parts_) tangent += part.tangent;
  return tangent;
}

bool Manifold::is_euclidean() const {
  for (const Part &part : parts_)
    if (part.kind != Kind::euclidean) return false;
  return true;
}

std::string Manifold::to_string() const {
  std::string text;
  for (const Part &part : parts_) text += (text.empty() ? "" : " + ") + text_of(part);
  return text;
}

}  // namespace samite::solvers
