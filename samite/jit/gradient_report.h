// The result of a check of derivatives: the element with the largest error.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

namespace samite {

struct GradientReport {
  std::string of = "gradient";  // the kind of check: "gradient", "Hessian-vector product"
  bool passed = false;
  double error = 0;                 // |analytic - numeric| / max(1 / size, |numeric|), where size is max(1, |x|)
  std::size_t input = 0;            // the input's number; for a kernel, among its arrays that track gradients
  std::string name;                 // the buffer's, else the kernel parameter's, else empty
  std::vector<std::int64_t> index;  // the element
  double analytic = 0;              // by Samite's derivative; of the scaled combination of outputs
  double numeric = 0;               // by the central difference
  std::int64_t checked = 0;         // total number of elements

  // Replaces the worst element if this one is worse. A NaN is worse than any number. `size` is that of the element, at
  // least 1: errors are measured relative to changes as large as the element.
  void take(std::size_t input, const std::string &name, std::vector<std::int64_t> index, double analytic,
            double numeric, double size = 1);

  // "gradient check FAILED: of 12 elements the worst is (3) of input 0 ('x'): analytic 2, numeric 4, error 0.5"
  std::string to_string() const;
};
std::ostream &operator<<(std::ostream &stream, const GradientReport &report);

struct GradientCheckOptions {
  double step = 1e-6;         // of the central differences: relative to max(1, |x|)
  double tolerance = 1e-6;    // of GradientReport::error
  unsigned seed = 1;          // of the random cotangents or directions
  std::int64_t elements = 0;  // number of elements to check in each input, evenly spread; 0: all
};

}  // namespace samite
