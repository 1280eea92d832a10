#include "samite/solve/optimiser.h"

#include "samite/base/error.h"
#include "samite/jit/kernel.h"
#include "samite/lang/control.h"
#include "samite/lang/math.h"
#include "samite/lang/traced_once.h"
#include "samite/solve/element_index.h"
#include "samite/solve/kernel_types.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <istream>
#include <ostream>
#include <string>

namespace samite::solvers {
namespace {

using Counts = Array<double, 1>;
using ReadCounts = Array<const double, 1>;
constexpr int step_count = 0, first_correction = 1, second_correction = 2, clip_factor = 3, norm = 4, counted = 5;
constexpr std::int64_t most_parts = 65536, few_parts = 256, least_terms = 64;

SAMITE_TRACED_ONCE_BEGIN

const auto &begin_step() {
  static const Kernel kernel{
      "begin_step",
      {"counts", "squares", "beta1", "beta2", "clip_norm"},
      [](Counts counts, ReadCounts squares, const Double &beta1, const Double &beta2, Double clip_norm) {
        const Int i = thread_index();
        const Double steps = counts(i + step_count) + 1;
        counts(i + step_count) = steps;
        counts(i + first_correction) = 1 / (1 - pow(beta1, steps));
        counts(i + second_correction) = 1 / (1 - pow(beta2, steps));
        counts(i + clip_factor) = 1;
        if_(clip_norm > 0, [&] {
          Double sum = 0;
          for (Int k : range(squares.extent(0))) sum += squares(k);
          const Double length = sqrt(sum);
          counts(i + norm) = length;
          counts(i + clip_factor) = select(length > clip_norm, clip_norm / length, 1.0);
        });
      }};
  return kernel;
}

template <class T>
const auto &sums_of_squares() {
  static const Kernel kernel{
      "sums_of_squares", {"sums", "x", "count"}, [](Counts sums, Array<const T, 1> x, const Int64 &count) {
        const Int part = thread_index();
        const Int64 parts = sums.extent(0);
        Double sum = 0;
        for (Int64 k : range(count / parts + 1)) {
          const Int64 i = k * parts + part;
          if_(i < count, [&] {
            const Double value = cast<Double>(x(i));
            sum += value * value;
          });
        }
        sums(part) = sum;
      }};
  return kernel;
}

const auto &sums_of_sums() {
  static const Kernel kernel{"sums_of_sums", {"sums", "x"}, [](Counts sums, ReadCounts x) {
                               const Int part = thread_index(), parts = sums.extent(0);
                               Double sum = 0;
                               for (Int k : range(x.extent(0) / parts + 1)) {
                                 const Int i = k * parts + part;
                                 if_(i < x.extent(0), [&] { sum += x(i); });
                               }
                               sums(part) = sum;
                             }};
  return kernel;
}

template <class T>
auto make_sgd_step(bool wide) {
  return Kernel{"sgd_step",
                {"x", "gradient", "velocity", "counts", "rate", "momentum", "nesterov", "weight_decay", "count"},
                [wide](Array<T, 1> x, Array<const T, 1> gradient, Array<T, 1> velocity, ReadCounts counts,
                       Traced<T> rate, Traced<T> momentum, Bool nesterov, Traced<T> weight_decay, const Int64 &count) {
                  detail::for_own_element(wide, count, [&](const auto &i) {
                    const Traced<T> g = gradient(i) * cast<Traced<T>>(counts(clip_factor)) + weight_decay * x(i);
                    const Traced<T> v = momentum * velocity(i) + g;
                    velocity(i) = v;
                    x(i) -= rate * select(nesterov, g + momentum * v, v);
                  });
                }};
}

template <class T>
const auto &sgd_step(bool is_wide) {
  static const auto narrow = make_sgd_step<T>(false), wide = make_sgd_step<T>(true);
  return is_wide ? wide : narrow;
}

template <class T>
auto make_adam_step(bool wide) {
  return Kernel{"adam_step",
                {"x", "gradient", "first", "second", "counts", "rate", "beta1", "beta2", "epsilon", "coupled",
                 "decoupled", "count"},
                [wide](Array<T, 1> x, Array<const T, 1> gradient, Array<T, 1> first, Array<T, 1> second,
                       ReadCounts counts, Traced<T> rate, Traced<T> beta1, Traced<T> beta2, Traced<T> epsilon,
                       Traced<T> coupled, Traced<T> decoupled, const Int64 &count) {
                  detail::for_own_element(wide, count, [&](const auto &i) {
                    const Traced<T> before = x(i);
                    const Traced<T> g = gradient(i) * cast<Traced<T>>(counts(clip_factor)) + coupled * before;
                    const Traced<T> m = beta1 * first(i) + (1 - beta1) * g, v = beta2 * second(i) + (1 - beta2) * g * g;
                    first(i) = m, second(i) = v;
                    const Traced<T> mean = m * cast<Traced<T>>(counts(first_correction));
                    const Traced<T> square = v * cast<Traced<T>>(counts(second_correction));
                    x(i) = before - rate * decoupled * before - rate * mean / (sqrt(square) + epsilon);
                  });
                }};
}

template <class T>
const auto &adam_step(bool is_wide) {
  static const auto narrow = make_adam_step<T>(false), wide = make_adam_step<T>(true);
  return is_wide ? wide : narrow;
}

SAMITE_TRACED_ONCE_END

const char *name_of(const Optimiser::Method &method) {
  constexpr const char *names[] = {"Sgd", "Adam", "AdamW"};
  return names[method.index()];
}

template <class T>
void write(std::ostream &stream, const T *values, std::size_t count) {
  stream.write(reinterpret_cast<const char *>(values), static_cast<std::streamsize>(count * sizeof(T)));
}

template <class T>
void read(std::istream &stream, T *values, std::size_t count, SourceLocation where) {
  stream.read(reinterpret_cast<char *>(values), static_cast<std::streamsize>(count * sizeof(T)));
  if (!stream) throw UserError(where, "an optimiser's state ends too early");
}

constexpr char file_head[] = "samite optimiser 1\n";

}  // namespace

std::vector<AnyBuffer> parameter_block(Device device, ScalarType type, const std::vector<Extents> &extents,
                                       SourceLocation where) {
  detail::with_floating_type(type, "parameters", where, [](auto) {});
  std::int64_t count = 0;
  for (const Extents &one : extents) count += one.count();
  const AnyBuffer all(device, type, {count}, Gradient::tracked, where);
  std::vector<AnyBuffer> parameters;
  std::int64_t begin = 0;
  for (const Extents &one : extents) {
    parameters.push_back(all.slice(0, begin, begin + one.count()).reshape(one, where));
    begin += one.count();
  }
  return parameters;
}

Optimiser::Optimiser(const std::vector<AnyBuffer> &parameters, const Method &method, const OptimiserOptions &options,
                     SourceLocation where)
    : method_(method),
      options_(options),
      parameters_(parameters),
      runs_(name_of(method), parameters, where),
      first_(runs_.zeros()),
      counts_(parameters[0].device(), ScalarType::Float64, {counted}) {
  check(where);
  if (!options_.clipped_together.empty()) clipped_together_.emplace(name_of(method), options_.clipped_together, where);
  if (!std::holds_alternative<Sgd>(method)) second_ = runs_.zeros();
}

void Optimiser::check(SourceLocation where) const {
  const auto expect = [&](bool holds, const char *what) {
    if (!holds) throw UserError(where, std::string(name_of(method_)) + ": " + what + " is expected");
  };
  std::visit(
      [&]<class M>(const M &method) {
        expect(method.rate >= 0 && method.weight_decay >= 0, "a rate and a weight decay of at least 0");
        if constexpr (std::same_as<M, Sgd>) {
          expect(method.momentum >= 0 && method.momentum < 1, "a momentum of at least 0 and below 1");
        } else {
          expect(method.beta1 >= 0 && method.beta1 < 1 && method.beta2 >= 0 && method.beta2 < 1,
                 "two betas of at least 0 and below 1");
          expect(method.epsilon >= 0, "an epsilon of at least 0");
        }
      },
      method_);
  expect(options_.clip_norm >= 0, "a clip_norm of at least 0");
}

// Sums of the gradients' squares, `few_parts` for each run; a single zero without a clip_norm.
Buffer<double> Optimiser::record_squares() {
  const Device device = counts_.device();
  if (!(options_.clip_norm > 0)) return Buffer<double>(device, {1});
  const std::vector<AnyBuffer> gradients = (clipped_together_ ? *clipped_together_ : runs_).gradients();
  Buffer<double> squares(device, {gradients.size() * few_parts});
  std::int64_t begin = 0;
  for (const AnyBuffer &gradient : gradients) {
    detail::with_floating_type(gradient.type(), "", {}, [&]<class T>(T) {
      const std::int64_t count = gradient.count();
      const Buffer<double> parts(device, {std::clamp<std::int64_t>(count / least_terms, 1, most_parts)});
      prepare_.push_back(sums_of_squares<T>().record({parts.count()}, parts, Buffer<T>(gradient), count));
      prepare_.push_back(sums_of_sums().record({few_parts}, squares.slice(0, begin, begin + few_parts), parts));
    });
    begin += few_parts;
  }
  return squares;
}

void Optimiser::record_launches() {
  const std::vector<AnyBuffer> gradients = runs_.gradients();
  const Buffer<double> counts(counts_), squares = record_squares();
  for (std::size_t run = 0; run < gradients.size(); ++run) {
    const AnyBuffer &x = runs_.runs()[run];
    const std::int64_t count = x.count();
    detail::with_floating_type(x.type(), "", {}, [&]<class T>(T) {
      const Buffer<T> values(x), gradient(gradients[run]), first(first_[run]);
      const Extents each = detail::elements_to_launch(count);
      const bool wide = detail::is_wide(count);
      if (const Sgd *sgd = std::get_if<Sgd>(&method_)) {
        update_.push_back(sgd_step<T>(wide).record(each, values, gradient, first, counts, static_cast<T>(sgd->rate),
                                                   static_cast<T>(sgd->momentum), sgd->nesterov,
                                                   static_cast<T>(sgd->weight_decay), count));
        return;
      }
      std::visit(
          [&]<class M>(const M &adam) {
            if constexpr (!std::same_as<M, Sgd>) {
              const T decay = static_cast<T>(adam.weight_decay), none = 0;
              constexpr bool is_coupled = std::same_as<M, Adam>;
              update_.push_back(adam_step<T>(wide).record(each, values, gradient, first, Buffer<T>(second_[run]),
                                                          counts, static_cast<T>(adam.rate), static_cast<T>(adam.beta1),
                                                          static_cast<T>(adam.beta2), static_cast<T>(adam.epsilon),
                                                          is_coupled ? decay : none, is_coupled ? none : decay, count));
            }
          },
          method_);
    });
  }
  const std::array<double, 2> betas = std::visit(
      []<class M>(const M &method) -> std::array<double, 2> {
        if constexpr (std::same_as<M, Sgd>)
          return {0, 0};
        else
          return {method.beta1, method.beta2};
      },
      method_);
  prepare_.push_back(begin_step().record({1}, counts, squares, betas[0], betas[1], options_.clip_norm));
}

void Optimiser::step(SourceLocation where) {
  if (update_.empty()) record_launches();
  for (Launch &launch : prepare_) launch.launch(where);
  for (Launch &launch : update_) launch.launch(where);
}

void Optimiser::zero_gradients(SourceLocation where) {
  for (AnyBuffer run : runs_.runs()) run.zero_gradient(where);
}

double Optimiser::rate() const {
  return std::visit([](const auto &method) { return method.rate; }, method_);
}

void Optimiser::set_rate(double rate, SourceLocation where) {
  if (!(rate >= 0)) throw UserError(where, std::string(name_of(method_)) + ": a rate of at least 0 is expected");
  std::visit([&](auto &method) { method.rate = rate; }, method_);
  for (Launch &launch : update_) launch.set("rate", rate, where);
}

std::int64_t Optimiser::steps() const { return static_cast<std::int64_t>(Buffer<double>(counts_).at(step_count)); }
double Optimiser::gradient_norm() const { return Buffer<double>(counts_).at(norm); }

std::vector<std::vector<AnyBuffer> *> Optimiser::state() {
  if (second_.empty()) return {&first_};
  return {&first_, &second_};
}

void Optimiser::save(std::ostream &stream) const {
  stream << file_head << name_of(method_) << ' ' << parameters_.size() << ' ' << steps() << '\n';
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const detail::ParameterRuns::Place &place = runs_.places()[i];
    stream << name(parameters_[i].type()) << ' ' << place.count << '\n';
    for (const std::vector<AnyBuffer> *moments : {&first_, &second_}) {
      if (moments->empty()) continue;
      const AnyBuffer part = (*moments)[place.run].slice(0, place.begin, place.begin + place.count);
      detail::with_floating_type(part.type(), "", {}, [&]<class T>(T) {
        const std::vector<T> values = Buffer<T>(part).to_vector();
        write(stream, values.data(), values.size());
      });
    }
  }
}

void Optimiser::load(std::istream &stream, SourceLocation where) {
  std::string head, method, type;
  std::size_t parameters = 0;
  std::int64_t steps = 0, count = 0;
  std::getline(stream, head);
  stream >> method >> parameters >> steps;
  if (head + '\n' != file_head || !stream)
    throw UserError(where, "an optimiser's state is expected, which save() wrote");
  if (method != name_of(method_) || parameters != parameters_.size())
    throw UserError(where, "the state of " + std::string(name_of(method_)) + " with " +
                               std::to_string(parameters_.size()) + " parameters is expected, that of " + method +
                               " with " + std::to_string(parameters) + " is given");
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const detail::ParameterRuns::Place &place = runs_.places()[i];
    stream >> type >> count;
    if (!stream || type != name(parameters_[i].type()) || count != place.count)
      throw UserError(where, "parameter " + std::to_string(i) + ": the state of " + std::to_string(place.count) + " " +
                                 std::string(name(parameters_[i].type())) + " is expected, that of " +
                                 std::to_string(count) + " " + type + " is given");
    stream.get();
    for (const std::vector<AnyBuffer> *moments : state()) {
      const AnyBuffer part = (*moments)[place.run].slice(0, place.begin, place.begin + place.count);
      detail::with_floating_type(part.type(), "", {}, [&]<class T>(T) {
        std::vector<T> values(static_cast<std::size_t>(count));
        read(stream, values.data(), values.size(), where);
        Buffer<T>(part).copy_from(std::span<const T>(values));
      });
    }
  }
  Buffer<double>(counts_).set({step_count}, static_cast<double>(steps));
}

}  // namespace samite::solvers
