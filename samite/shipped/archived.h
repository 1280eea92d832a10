// Launches, records and tapes of archived kernels, for C++ programs that link only libsamite_runtime.
//
//   samite::archived::open("kernels.samite");
//   std::vector<float> x(n), y(n), x_gradient(n), y_gradient(n, 1.0f);
//   samite::archived::Tape tape;
//   tape.launch("scale", {n}, {{y.data(), {n}, y_gradient.data()}, {x.data(), {n}, x_gradient.data()}, {3.0f}});
//   tape.backward();                                     // adds to x_gradient
//
// A header of functions over the C interface (shipped/samite_runtime.h), which documents launches and tapes. It needs
// neither the language nor the rest of the library. Arrays are the caller's contiguous memory on the host; for other
// memory, an argument takes DLPack's tensors. Error has the message of the library.
#pragma once

#include "samite/shipped/samite_runtime.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace samite::archived {

class Error : public std::runtime_error {
 public:
  Error(int kind, const std::string &text) : std::runtime_error(text), kind_(kind) {}
  int kind() const { return kind_; }  // SAMITE_USER_ERROR, SAMITE_DEVICE_ERROR or SAMITE_INTERNAL_ERROR

 private:
  int kind_;
};

enum class Direction { forward = SAMITE_FORWARD, adjoint = SAMITE_ADJOINT, tangent = SAMITE_TANGENT };

// An array, with the memory of its gradient if that takes part, or a scalar of the parameter's own type.
class Argument {
 public:
  template <class T>
    requires std::is_arithmetic_v<T>
  Argument(T scalar) {
    std::memcpy(&scalar_, &scalar, sizeof scalar);
  }
  template <class T>
    requires std::is_arithmetic_v<T>
  Argument(T *data, std::initializer_list<std::int64_t> extents, T *gradient = nullptr) : is_array_(true) {
    if (extents.size() == 0 || extents.size() > shape_.size())
      throw Error(SAMITE_USER_ERROR, "an array has 1 to 4 extents");
    std::copy(extents.begin(), extents.end(), shape_.begin());
    values_.data = const_cast<std::remove_const_t<T> *>(data);
    values_.device.device_type = 1;
    values_.ndim = static_cast<std::int32_t>(extents.size());
    values_.dtype.code = std::is_same_v<std::remove_const_t<T>, bool> ? 6
                         : std::is_floating_point_v<T>                ? 2
                         : std::is_unsigned_v<T>                      ? 1
                                                                      : 0;
    values_.dtype.bits = static_cast<std::uint8_t>(8 * sizeof(T));
    values_.dtype.lanes = 1;
    gradient_ = values_;
    gradient_.data = const_cast<std::remove_const_t<T> *>(gradient);
  }
  // Tensors with shapes of their own, which the caller keeps for the call.
  explicit Argument(const DLTensor &values, const DLTensor *gradient = nullptr)
      : is_array_(true), has_shape_(true), values_(values) {
    if (gradient) gradient_ = *gradient;
  }

  // Valid as long as this stays where it is.
  SamiteArgument given() {
    if (is_array_ && !has_shape_) values_.shape = gradient_.shape = shape_.data();
    return {is_array_ ? &values_ : nullptr, gradient_.data ? &gradient_ : nullptr, scalar_};
  }

 private:
  bool is_array_ = false, has_shape_ = false;
  std::uint64_t scalar_ = 0;
  std::array<std::int64_t, 4> shape_{};
  DLTensor values_{}, gradient_{};
};

using Arguments = std::vector<Argument>;
using Extents = std::vector<std::int64_t>;

namespace detail {

template <class Call>
void call(const Call &function) {
  std::array<char, 4096> text{};
  if (const int result = function(text.data(), text.size()); result != SAMITE_OK) throw Error(result, text.data());
}

inline std::vector<SamiteArgument> given(Arguments &arguments) {
  std::vector<SamiteArgument> all;
  for (Argument &argument : arguments) all.push_back(argument.given());
  return all;
}

}  // namespace detail

inline void open(const std::string &path) {
  detail::call([&](char *text, std::size_t bytes) {
    return samite_open_archive(SAMITE_RUNTIME_VERSION, path.c_str(), text, bytes);
  });
}

// `stream` is a cudaStream_t, for arrays on CUDA.
inline void launch(const std::string &kernel, Direction direction, const Extents &extents, Arguments arguments,
                   void *stream = nullptr) {
  const std::vector<SamiteArgument> given = detail::given(arguments);
  detail::call([&](char *text, std::size_t bytes) {
    return samite_launch(kernel.c_str(), static_cast<int>(direction), extents.data(), static_cast<int>(extents.size()),
                         given.data(), static_cast<int>(given.size()), stream, text, bytes);
  });
}

class Launch {
 public:
  Launch(const std::string &kernel, Direction direction, const Extents &extents, Arguments arguments,
         void *stream = nullptr) {
    const std::vector<SamiteArgument> given = detail::given(arguments);
    SamiteLaunch *made = nullptr;
    detail::call([&](char *text, std::size_t bytes) {
      return samite_record(kernel.c_str(), static_cast<int>(direction), extents.data(),
                           static_cast<int>(extents.size()), given.data(), static_cast<int>(given.size()), stream,
                           &made, text, bytes);
    });
    launch_.reset(made);
  }
  void run() const {
    detail::call([&](char *text, std::size_t bytes) { return samite_run(launch_.get(), text, bytes); });
  }

 private:
  struct Release {
    void operator()(SamiteLaunch *launch) const { samite_release_launch(launch); }
  };
  std::unique_ptr<SamiteLaunch, Release> launch_;
};

class Tape {
 public:
  Tape() : tape_(samite_new_tape()) {
    if (!tape_) throw Error(SAMITE_DEVICE_ERROR, "out of memory");
  }
  void launch(const std::string &kernel, const Extents &extents, Arguments arguments, void *stream = nullptr) {
    const std::vector<SamiteArgument> given = detail::given(arguments);
    detail::call([&](char *text, std::size_t bytes) {
      return samite_tape_launch(tape_.get(), kernel.c_str(), extents.data(), static_cast<int>(extents.size()),
                                given.data(), static_cast<int>(given.size()), stream, text, bytes);
    });
  }
  void backward() {
    detail::call([&](char *text, std::size_t bytes) { return samite_tape_backward(tape_.get(), text, bytes); });
  }
  void clear() {
    detail::call([&](char *text, std::size_t bytes) { return samite_tape_clear(tape_.get(), text, bytes); });
  }
  std::int64_t kept_bytes() const { return samite_tape_kept_bytes(tape_.get()); }

 private:
  struct Release {
    void operator()(SamiteTape *tape) const { samite_release_tape(tape); }
  };
  std::unique_ptr<SamiteTape, Release> tape_;
};

}  // namespace samite::archived
