#include "samite/solve/residual_kernels.h"

#include "samite/jit/kernel.h"
#include "samite/lang/control.h"
#include "samite/lang/math.h"
#include "samite/solve/manifold_steps.h"

#include <bit>

namespace samite::solvers::detail {
namespace {

// rho and its derivative, both without the scale.
struct LossValue {
  Double value, slope;
};

LossValue loss_of(Loss::Kind kind, const Double &s, const Double &width) {
  const Double a = width * width, t = s / a;
  using enum Loss::Kind;
  switch (kind) {
    case squared: return {s, 1.0};
    case huber: {
      const Double root = sqrt(max(t, 1.0));
      return {select(t <= 1.0, s, a * (2.0 * root - 1.0)), 1.0 / root};
    }
    case soft_l1: {
      const Double root = sqrt(1.0 + t);
      return {2.0 * a * (root - 1.0), 1.0 / root};
    }
    case cauchy: return {a * log(1.0 + t), 1.0 / (1.0 + t)};
    case tukey: {
      const Double rest = max(1.0 - t, 0.0);
      return {a / 3.0 * (1.0 - rest * rest * rest), rest * rest};
    }
    case geman_mcclure: {
      const Double inverse = 1.0 / (1.0 + t);
      return {s * inverse, inverse * inverse};
    }
  }
  return {s, 1.0};
}

enum Parameter : std::uint32_t { residuals_array, costs_array, width_number, scale_number, jacobian_array };

class Capture {
 public:
  Capture(const ResidualFunction &function, const std::vector<Manifold> &manifolds, Loss::Kind loss, bool derives,
          SourceLocation where)
      : function_(function), manifolds_(manifolds), loss_(loss), derives_(derives), where_(where) {}

  std::vector<ir::Parameter> parameters() const {
    std::vector<ir::Parameter> all{{"residuals", ScalarType::Float64, 2},
                                   {"costs", ScalarType::Float64, 1},
                                   {"width", ScalarType::Float64},
                                   {"scale", ScalarType::Float64}};
    if (derives_) all.push_back({"jacobian", ScalarType::Float64, 2});
    for (std::size_t i = 0; i < function_.parameters.size(); ++i)
      all.push_back({"argument_" + std::to_string(i), function_.parameters[i].front(), 2, true});
    for (std::size_t i = 0; i < manifolds_.size(); ++i)
      all.push_back({"index_" + std::to_string(i), ScalarType::Int32, 1, true});
    return all;
  }

  void run(std::uint32_t serial) const {
    const Int i = thread_index();
    const lang::Values arguments = load_arguments(serial, i);
    TracedNumbers residuals;
    for (const ir::Value &value : function_.call(arguments, where_)) residuals.push_back(Double::copy(value, where_));
    Double squared = 0;
    for (const Double &residual : residuals) squared += residual * residual;
    const Double width = scalar(width_number), scale = scalar(scale_number);
    const LossValue loss = loss_of(loss_, squared, width);
    const Array<double, 2> into(serial, residuals_array);
    const Array<double, 1> costs(serial, costs_array);
    costs(i) = 0.5 * scale * loss.value;
    const Double weight = derives_ ? Double(sqrt(scale * loss.slope)) : Double(1.0);
    for (std::size_t k = 0; k < residuals.size(); ++k) into(i, static_cast<int>(k)) = weight * residuals[k];
    if (derives_) store_jacobian(serial, i, arguments, weight);
  }

 private:
  Double scalar(std::uint32_t index) const {
    return Double::copy(ir::Value::parameter(ScalarType::Float64, index), where_);
  }

  lang::Values load_arguments(std::uint32_t serial, const Int &i) const {
    const std::uint32_t first = derives_ ? jacobian_array + 1 : jacobian_array;
    const auto count = static_cast<std::uint32_t>(function_.parameters.size());
    lang::Values values;
    for (std::uint32_t k = 0; k < count; ++k) {
      const bool is_block = k < manifolds_.size();
      const Int row = is_block ? Int(Array<const std::int32_t, 1>(serial, first + count + k)(i)) : i;
      const lang::ArrayView array(serial, first + k, 2);
      int column = 0;
      for (const ScalarType type : function_.parameters[k]) values.push_back(array.access({row, column++}).load(type));
    }
    return values;
  }

  // Row k from the adjoint of only residual k, so that no row has products with the zeros of other cotangents.
  // Simplification makes the rows compute common values once.
  void store_jacobian(std::uint32_t serial, const Int &i, const lang::Values &arguments, const Double &weight) const {
    std::size_t numbers = 0;
    for (const Manifold &manifold : manifolds_) numbers += static_cast<std::size_t>(manifold.size());
    const lang::Values inputs(arguments.begin(), arguments.begin() + static_cast<std::ptrdiff_t>(numbers));
    const Array<double, 2> jacobian(serial, jacobian_array);
    const Double one = 1.0;
    int column = 0;
    for (std::size_t k = 0; k < function_.results.size(); ++k) {
      const auto residual = [&](const lang::Values &inner) {
        lang::Values all = inner;
        all.insert(all.end(), arguments.begin() + static_cast<std::ptrdiff_t>(numbers), arguments.end());
        return lang::Values{function_.call(all, where_)[k]};
      };
      const lang::Values row = lang::capture_adjoint_call(residual, inputs, {one.value(where_)}, where_);
      std::size_t at = 0;
      for (const Manifold &manifold : manifolds_) {
        TracedNumbers x, gradient;
        for (int c = 0; c < manifold.size(); ++c, ++at) {
          x.push_back(Double::copy(inputs[at], where_));
          gradient.push_back(Double::copy(row[at], where_));
        }
        for (const Double &derivative : tangent_gradient(manifold, x, gradient))
          jacobian(i, column++) = weight * derivative;
      }
    }
  }

  const ResidualFunction &function_;
  const std::vector<Manifold> &manifolds_;
  Loss::Kind loss_;
  bool derives_;
  SourceLocation where_;
};

std::uint64_t bits_of(double number) { return std::bit_cast<std::uint64_t>(number); }

}  // namespace

ResidualKernels::ResidualKernels(const std::string &name, const ResidualFunction &function,
                                 const std::vector<Manifold> &manifolds, Loss::Kind loss, SourceLocation where) {
  const auto captured = [&](const std::string &kernel, bool derives) {
    const Capture capture(function, manifolds, loss, derives, where);
    return jit::define_kernel(kernel, capture.parameters(), [&](std::uint32_t serial) { capture.run(serial); }, where);
  };
  residuals = captured(name, false);
  jacobians = captured(name + "_jacobian", true);
}

void ResidualKernels::launch(std::int64_t count, const Arguments &of, SourceLocation where) const {
  const bool derives = of.jacobian.valid();
  std::vector<jit::Argument> arguments{
      {&of.residuals}, {&of.costs}, {nullptr, bits_of(of.loss.width)}, {nullptr, bits_of(of.loss.scale)}};
  if (derives) arguments.push_back({&of.jacobian});
  for (const AnyBuffer &values : of.values) arguments.push_back({&values});
  for (const AnyBuffer &index : of.indices) arguments.push_back({&index});
  jit::launch_once(derives ? jacobians : residuals, {{count}, where}, {}, arguments);
}

}  // namespace samite::solvers::detail
