#include "samite/solve/parameter_runs.h"

#include "samite/base/error.h"
#include "samite/solve/kernel_types.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace samite::solvers::detail {
namespace {

std::int64_t first_element(const AnyBuffer &buffer) {
  const auto *data = static_cast<const std::byte *>(buffer.data());
  return (data - buffer.storage()->data()) / static_cast<std::int64_t>(size_of(buffer.type()));
}

}  // namespace

ParameterRuns::ParameterRuns(const std::string &optimiser, const std::vector<AnyBuffer> &parameters,
                             SourceLocation where) {
  const auto refuse = [&](std::size_t number, const std::string &what) {
    const AnyBuffer &buffer = parameters[number];
    throw UserError(where, optimiser + ": parameter " + std::to_string(number) + ", " +
                               (buffer.valid() ? buffer.to_string() : "an empty buffer") + ", " + what);
  };
  if (parameters.empty()) throw UserError(where, optimiser + ": no parameters are given");
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const AnyBuffer &buffer = parameters[i];
    if (!buffer.valid()) refuse(i, "has no elements");
    with_floating_type(buffer.type(), optimiser + ": parameters", where, [](auto) {});
    if (!buffer.is_contiguous()) refuse(i, "is not contiguous");
    if (!buffer.tracks_gradient()) refuse(i, "tracks no gradient; construct it with Gradient::tracked");
    if (buffer.device() != parameters[0].device()) refuse(i, "is on another device than parameter 0");
  }
  std::vector<std::size_t> order(parameters.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  // Storages in the order of the parameters, independently of addresses, so that ranks of a communicator agree.
  std::map<const Storage *, std::size_t> storages;
  for (std::size_t i = 0; i < parameters.size(); ++i) storages.emplace(parameters[i].storage().get(), i);
  std::ranges::stable_sort(order, {}, [&](std::size_t i) {
    return std::pair(storages.at(parameters[i].storage().get()), first_element(parameters[i]));
  });
  places_.resize(parameters.size());
  std::int64_t begin = 0, end = 0;  // of the present run, in its storage
  const auto close = [&](const AnyBuffer &last) {
    const auto all = static_cast<std::int64_t>(last.storage()->bytes() / size_of(last.type()));
    runs_.push_back(AnyBuffer(last.storage(), last.type(), {all}).slice(0, begin, end));
    spaces_.emplace_back(last.device(), last.type(), end - begin, where);
  };
  for (std::size_t k = 0; k < order.size(); ++k) {
    const AnyBuffer &buffer = parameters[order[k]];
    const std::int64_t first = first_element(buffer);
    const bool same_storage = k > 0 && parameters[order[k - 1]].storage() == buffer.storage();
    if (same_storage && first < end && buffer.count() > 0)
      refuse(order[k], "overlaps parameter " + std::to_string(order[k - 1]));
    if (k > 0 && !(same_storage && first == end && parameters[order[k - 1]].type() == buffer.type()))
      close(parameters[order[k - 1]]), begin = first;
    if (k == 0) begin = first;
    end = first + buffer.count();
    places_[order[k]] = {runs_.size(), first - begin, buffer.count()};
  }
  close(parameters[order.back()]);
}

std::vector<AnyBuffer> ParameterRuns::gradients() const {
  std::vector<AnyBuffer> gradients;
  for (const AnyBuffer &run : runs_) gradients.push_back(run.gradient());
  return gradients;
}

std::vector<AnyBuffer> ParameterRuns::zeros() const {
  std::vector<AnyBuffer> zeros;
  for (const AnyBuffer &run : runs_) zeros.emplace_back(run.device(), run.type(), run.extents());
  return zeros;
}

double ParameterRuns::dot(const std::vector<AnyBuffer> &a, const std::vector<AnyBuffer> &b) const {
  double sum = 0;
  for (std::size_t i = 0; i < runs_.size(); ++i) sum += spaces_[i].dot(a[i], b[i]);
  return sum;
}

void ParameterRuns::combine(double a, const std::vector<AnyBuffer> &x, double b,
                            const std::vector<AnyBuffer> &y) const {
  for (std::size_t i = 0; i < runs_.size(); ++i) spaces_[i].combine(a, x[i], b, y[i]);
}

}  // namespace samite::solvers::detail
