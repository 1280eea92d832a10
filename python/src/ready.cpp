#include "ready.h"

#include "array_view.h"
#include "kernel_object.h"
#include "samite/jit/definition.h"
#include "samite/ops/attention.h"
#include "samite/ops/cross_entropy.h"
#include "samite/ops/group_norm.h"
#include "samite/ops/grouped_by_type.h"
#include "samite/ops/grouped_terms.h"
#include "samite/ops/layer_norm.h"
#include "samite/ops/matmul_by_type.h"
#include "samite/ops/quantise.h"
#include "samite/ops/rms_norm.h"
#include "samite/ops/rotary.h"
#include "samite/ops/softmax.h"
#include "streams.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <map>

namespace samite::python {
namespace {

ScalarType type_named(const std::string &name) {
  const auto type = scalar_type_of_python(name);
  if (!type) throw UserError("there is no type of elements '" + name + "' here");
  return *type;
}

nb::tuple tuple_of(const std::int64_t *numbers, std::size_t count) {
  nb::list list;
  for (std::size_t i = 0; i < count; ++i) list.append(numbers[i]);
  return nb::tuple(list);
}

ops::PlanDevice device_of(int cuda_index) {
  return ops::plan_device(cuda_index < 0 ? Device::cpu() : Device::cuda(cuda_index));
}

using Shape = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t>;  // batches, rows, columns, inner
ops::MatmulShape shape_of(const Shape &shape, bool in_batches) {
  const auto &[batches, rows, columns, inner] = shape;
  return {in_batches ? batches : 1, rows, columns, inner};
}

// An epilogue as Python names it: result type, activation, bias, residual.
using Epilogue = std::tuple<std::string, std::string, bool, bool>;
ops::LayerEpilogue epilogue_of(const Epilogue &named) {
  const auto &[result, activation, bias, residual] = named;
  const auto found = ops::activation_named(activation);
  if (!found)
    throw UserError("activation expects one of 'relu', 'silu', 'gelu', 'tanh', 'sigmoid'; '" + activation +
                    "' is given");
  return {type_named(result), *found, bias, residual};
}

ops::Reduction reduction_named(const std::string &name) {
  if (name == "none") return ops::Reduction::none;
  if (name == "sum") return ops::Reduction::sum;
  if (name == "mean") return ops::Reduction::mean;
  throw UserError("reduction expects one of 'none', 'sum', 'mean'; '" + name + "' is given");
}

// Makes one Python object for each definition, so that its launches are kept in one place. The objects live as long as
// this does, which is as long as samite/ready.py.
class ReadyKernels {
  using ArrayOfScales = std::tuple<std::vector<std::int64_t>, std::vector<std::int64_t>>;  // extents and strides

 public:
  // The kernel and the extents of its launch, as Python objects.
  nb::tuple made(const ops::PlannedLaunch &planned) {
    auto found = kernels_.find(planned.kernel.get());
    if (found == kernels_.end()) {
      auto kernel = std::make_unique<KernelObject>(planned.kernel->name(), std::string(), planned.kernel,
                                                   std::vector<std::size_t>(planned.kernel->parameters().size(), 1));
      found = kernels_.emplace(planned.kernel.get(), nb::cast(std::move(kernel))).first;
    }
    return nb::make_tuple(found->second,
                          tuple_of(planned.blocks.begin(), static_cast<std::size_t>(planned.blocks.rank())));
  }

  nb::tuple matmul(const std::string &factor, const Epilogue &epilogue, const std::tuple<bool, bool> &transposed,
                   bool tf32, bool in_batches, const Shape &shape, int device) {
    const auto [ta, tb] = transposed;
    return made(ops::matmul_launch({type_named(factor),
                                    epilogue_of(epilogue),
                                    {ta, tb},
                                    tf32 ? tile::Precision::tf32 : tile::Precision::full,
                                    in_batches},
                                   shape_of(shape, in_batches), device_of(device)));
  }

  // The launch, and which scales it takes with their last two dimensions exchanged. Null if no recipe has scales of
  // these extents.
  std::optional<nb::tuple> scaled_matmul(const std::tuple<std::string, std::string> &factors, const Epilogue &epilogue,
                                         const std::tuple<bool, bool> &transposed, bool in_batches,
                                         const ArrayOfScales &scales_of_a, const ArrayOfScales &scales_of_b,
                                         const Shape &shape, int device) {
    const auto [ta, tb] = transposed;
    const ops::MatmulShape s = shape_of(shape, in_batches);
    const std::int64_t batches = in_batches ? s.batches : 0;
    const auto of_a = ops::scale_groups(std::get<0>(scales_of_a), batches, s.rows, s.inner);
    const auto of_b = ops::scale_groups(std::get<0>(scales_of_b), batches, s.inner, s.columns);
    if (!of_a || !of_b) return std::nullopt;
    const ops::PlannedLaunch planned =
        ops::scaled_matmul_launch({type_named(std::get<0>(factors)),
                                   type_named(std::get<1>(factors)),
                                   *of_a,
                                   *of_b,
                                   epilogue_of(epilogue),
                                   {ta, tb},
                                   in_batches,
                                   ops::scales_lie(std::get<1>(scales_of_a), std::get<1>(scales_of_b))},
                                  s, device_of(device));
    return nb::make_tuple(made(planned), nb::make_tuple(planned.exchanged_scales[0], planned.exchanged_scales[1]));
  }

  nb::tuple grouped_matmul(const std::string &factor, const Epilogue &epilogue, bool b_transposed, bool tf32,
                           bool checked, const Shape &shape, int device) {
    const auto &[groups, rows, columns, inner] = shape;
    return made(ops::grouped_matmul_launch({type_named(factor), epilogue_of(epilogue), b_transposed,
                                            tf32 ? tile::Precision::tf32 : tile::Precision::full, checked},
                                           {groups, rows, columns, inner}, device_of(device)));
  }

  nb::tuple grouped_terms(const std::string &factor, const std::string &result,
                          const std::tuple<bool, bool> &transposed, bool tf32, bool checked, const Shape &shape,
                          int device) {
    const auto &[groups, rows, columns, terms] = shape;
    const auto [ta, tb] = transposed;
    return made(ops::grouped_terms_launch({type_named(factor),
                                           type_named(result),
                                           {ta, tb},
                                           tf32 ? tile::Precision::tf32 : tile::Precision::full,
                                           checked},
                                          {groups, rows, columns, terms}, device_of(device)));
  }

  // Null if no recipe has scales of these extents.
  std::optional<nb::tuple> scaled_grouped_matmul(const std::tuple<std::string, std::string> &factors,
                                                 const Epilogue &epilogue, bool b_transposed, bool checked,
                                                 const std::vector<std::int64_t> &scales_of_a,
                                                 const std::vector<std::int64_t> &scales_of_b, const Shape &shape,
                                                 int device) {
    const auto &[groups, rows, columns, inner] = shape;
    const auto of_a = ops::scale_groups(scales_of_a, 0, rows, inner);
    const auto of_b = ops::scale_groups(scales_of_b, groups, inner, columns);
    if (!of_a || !of_b) return std::nullopt;
    return made(ops::scaled_grouped_matmul_launch({type_named(std::get<0>(factors)), type_named(std::get<1>(factors)),
                                                   *of_a, *of_b, epilogue_of(epilogue), b_transposed, checked},
                                                  {groups, rows, columns, inner}, device_of(device)));
  }

  // One launch or two (ops/quantise.h); none if no recipe has scales of these extents.
  std::vector<nb::tuple> quantise(const std::string &from, const std::string &to,
                                  const std::vector<std::int64_t> &scales, std::int64_t rows, std::int64_t columns) {
    std::vector<nb::tuple> launches;
    const auto groups = ops::scale_groups(scales, 0, rows, columns);
    if (!groups) return launches;
    const ops::QuantiseLaunches planned =
        ops::quantise_launches(type_named(from), type_named(to), *groups, rows, columns);
    if (planned.largest) launches.push_back(made(*planned.largest));
    launches.push_back(made(planned.quantise));
    return launches;
  }
  std::vector<nb::tuple> dequantise(const std::string &from, const std::string &to,
                                    const std::vector<std::int64_t> &scales, std::int64_t rows, std::int64_t columns) {
    const auto groups = ops::scale_groups(scales, 0, rows, columns);
    if (!groups) return {};
    return {made(ops::dequantise_launch(type_named(from), type_named(to), *groups, rows, columns))};
  }

  nb::tuple softmax(const std::string &type, std::int64_t rows, std::int64_t columns, int device) {
    return made(ops::softmax_launch(type_named(type), rows, columns, device_of(device)));
  }
  nb::tuple softmax_adjoint(const std::string &type, std::int64_t rows, std::int64_t columns, int device) {
    return made(ops::softmax_adjoint_launch(type_named(type), rows, columns, device_of(device)));
  }
  nb::tuple layer_norm(const std::string &type, bool weighted, std::int64_t rows, std::int64_t columns, int device) {
    return made(ops::layer_norm_launch(type_named(type), weighted, rows, columns, device_of(device)));
  }

  nb::tuple layer_norm_adjoint(const std::string &type, std::int64_t rows, std::int64_t columns, int device) {
    return made(ops::layer_norm_adjoint_launch(type_named(type), rows, columns, device_of(device)));
  }

  nb::tuple rms_norm(const std::string &type, bool weighted, std::int64_t rows, std::int64_t columns, int device) {
    return made(ops::rms_norm_launch(type_named(type), weighted, rows, columns, device_of(device)));
  }
  nb::tuple rms_norm_adjoint(const std::string &type, bool weighted, std::int64_t rows, std::int64_t columns,
                             int device) {
    return made(ops::rms_norm_adjoint_launch(type_named(type), weighted, rows, columns, device_of(device)));
  }

  // The shape is batches, groups, channels per group, places.
  nb::tuple group_norm(const std::string &type, const Shape &shape, int device) {
    const auto &[batches, groups, channels, places] = shape;
    return made(ops::group_norm_launch(type_named(type), {batches, groups, channels, places}, device_of(device)));
  }
  nb::tuple group_norm_adjoint(const std::string &type, const Shape &shape, int device) {
    const auto &[batches, groups, channels, places] = shape;
    return made(
        ops::group_norm_adjoint_launch(type_named(type), {batches, groups, channels, places}, device_of(device)));
  }

  // One launch, or two if the losses are reduced or their gradient is divided (ops/cross_entropy.h).
  std::vector<nb::tuple> cross_entropy(const std::string &type, const std::string &targets,
                                       const std::string &reduction, std::int64_t rows, std::int64_t classes,
                                       int device) {
    const ops::CrossEntropyLaunches planned = ops::cross_entropy_launches(
        type_named(type), type_named(targets), reduction_named(reduction), rows, classes, device_of(device));
    std::vector<nb::tuple> launches{made(planned.rows)};
    if (planned.reduction) launches.push_back(made(*planned.reduction));
    return launches;
  }
  std::vector<nb::tuple> cross_entropy_adjoint(const std::string &type, const std::string &targets,
                                               const std::string &reduction, std::int64_t rows, std::int64_t classes,
                                               int device) {
    const ops::CrossEntropyAdjoint planned = ops::cross_entropy_adjoint_launches(
        type_named(type), type_named(targets), reduction_named(reduction), rows, classes, device_of(device));
    std::vector<nb::tuple> launches;
    if (planned.share) launches.push_back(made(*planned.share));
    launches.push_back(made(planned.rows));
    return launches;
  }

  // The shape is batches, heads, rows, size.
  nb::tuple rotary(const std::string &type, const Shape &shape, bool backwards, int device) {
    const auto &[batches, heads, rows, size] = shape;
    return made(ops::rotary_launch(type_named(type), {batches, heads, rows, size}, backwards, /*add=*/false,
                                   device_of(device)));
  }

  // Batches, heads, rows of q, numbers per row, rows of k, heads of q per head of k.
  using AttentionShape = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t>;
  // Whether distances count from the end, and whether there are a bias, slopes and lengths.
  using AttentionMasks = std::tuple<bool, bool, bool, bool>;
  nb::tuple attention(const std::string &type, const AttentionShape &shape, bool causal, int device) {
    return made(ops::attention_launch(type_named(type), of(shape), causal, device_of(device)));
  }
  std::vector<nb::tuple> attention_adjoint(const std::string &type, const AttentionShape &shape, bool causal,
                                           int device, double scale) {
    const ops::AttentionAdjoint planned =
        ops::attention_adjoint_launches(type_named(type), of(shape), causal, device_of(device), scale);
    return {made(planned.row_products), made(planned.of_queries), made(planned.of_keys)};
  }
  nb::tuple masked_attention(const std::string &type, const AttentionShape &shape, const AttentionMasks &masks,
                             int device) {
    return made(ops::masked_attention_launch(type_named(type), of(shape), of(masks), device_of(device)));
  }
  std::vector<nb::tuple> masked_attention_adjoint(const std::string &type, const AttentionShape &shape,
                                                  const AttentionMasks &masks, int device, double scale) {
    const ops::AttentionAdjoint planned =
        ops::masked_attention_adjoint_launches(type_named(type), of(shape), of(masks), device_of(device), scale);
    return {made(planned.row_products), made(planned.of_queries), made(planned.of_keys)};
  }

 private:
  static ops::AttentionShape of(const AttentionShape &shape) {
    const auto &[batches, heads, rows, size, terms, heads_of_key] = shape;
    return {batches, heads, rows, size, terms, heads_of_key};
  }
  static ops::AttentionMasks of(const AttentionMasks &masks) {
    const auto &[from_the_end, bias, slopes, lengths] = masks;
    return {true, from_the_end, bias, slopes, lengths};
  }

  std::map<const jit::KernelDefinition *, nb::object> kernels_;
};

// The layout of any array: its type's name, extents, strides in elements, and the CUDA device or -1.
nb::tuple layout(const nb::object &array, const std::string &what) {
  return at_python_line([&] {
    std::optional<Stream> stream;
    if (cuda_device_of(array.ptr())) {
      PyObject *given = array.ptr();
      stream = stream_for(nullptr, std::span(&given, 1));
    }
    const ArrayView view = view_of(array.ptr(), what, stream);
    const auto rank = static_cast<std::size_t>(view.key.rank);
    return nb::make_tuple(python_name(view.key.type), tuple_of(view.key.extents.data(), rank),
                          tuple_of(view.key.strides.data(), rank), view.key.on_cuda ? view.key.device_index : -1);
  });
}

// A member function as Python calls it: its errors tell the line of the program.
template <auto Member>
struct Planned;
template <class R, class... As, R (ReadyKernels::*Member)(As...)>
struct Planned<Member> {
  static R call(ReadyKernels &self, As... arguments) {
    return at_python_line([&] { return (self.*Member)(static_cast<As &&>(arguments)...); });
  }
};
template <auto Member>
constexpr auto *planned = &Planned<Member>::call;

}  // namespace

void define_ready(nb::module_ &module) {
  module.def("layout", &layout, nb::arg("array").none(), nb::arg("what"));
  nb::class_<ReadyKernels>(module, "ReadyKernels")
      .def(nb::init<>())
      .def("matmul", planned<&ReadyKernels::matmul>)
      .def("scaled_matmul", planned<&ReadyKernels::scaled_matmul>)
      .def("grouped_matmul", planned<&ReadyKernels::grouped_matmul>)
      .def("grouped_terms", planned<&ReadyKernels::grouped_terms>)
      .def("scaled_grouped_matmul", planned<&ReadyKernels::scaled_grouped_matmul>)
      .def("quantise", planned<&ReadyKernels::quantise>)
      .def("dequantise", planned<&ReadyKernels::dequantise>)
      .def("softmax", planned<&ReadyKernels::softmax>)
      .def("softmax_adjoint", planned<&ReadyKernels::softmax_adjoint>)
      .def("layer_norm", planned<&ReadyKernels::layer_norm>)
      .def("layer_norm_adjoint", planned<&ReadyKernels::layer_norm_adjoint>)
      .def("rms_norm", planned<&ReadyKernels::rms_norm>)
      .def("rms_norm_adjoint", planned<&ReadyKernels::rms_norm_adjoint>)
      .def("group_norm", planned<&ReadyKernels::group_norm>)
      .def("group_norm_adjoint", planned<&ReadyKernels::group_norm_adjoint>)
      .def("cross_entropy", planned<&ReadyKernels::cross_entropy>)
      .def("cross_entropy_adjoint", planned<&ReadyKernels::cross_entropy_adjoint>)
      .def("rotary", planned<&ReadyKernels::rotary>)
      .def("attention", planned<&ReadyKernels::attention>)
      .def("attention_adjoint", planned<&ReadyKernels::attention_adjoint>)
      .def("masked_attention", planned<&ReadyKernels::masked_attention>)
      .def("masked_attention_adjoint", planned<&ReadyKernels::masked_attention_adjoint>);
}

}  // namespace samite::python
