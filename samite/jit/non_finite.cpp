#include "samite/jit/non_finite.h"

#include "samite/base/error.h"
#include "samite/jit/launch.h"
#include "samite/runtime/buffer.h"
#include "samite/runtime/transfer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <limits>
#include <optional>

namespace samite::jit {
namespace {

std::shared_ptr<Storage> copy(const Storage &storage) {
  auto copy = std::make_shared<Storage>(storage.device(), storage.bytes());
  const Extents bytes{static_cast<std::int64_t>(storage.bytes())};
  copy_array(bytes, 1, {copy->data(), row_major_strides(bytes), copy.get()},
             {storage.data(), row_major_strides(bytes), &storage});
  return copy;
}

// The gradients of a launch, with copies of their memory to restart from.
class Gradients {
 public:
  Gradients(const VariantKey &key, std::span<const Argument> arguments) {
    for (std::size_t i = 0; i < arguments.size(); ++i)
      if (key.derivative.active >> i & 1) views_.push_back({i, arguments[i].buffer->gradient()});
    for (const View &view : views_) {
      const Storage &storage = *view.gradient.storage();
      if (copy_of(storage)) continue;
      copies_.push_back({&storage, copy(storage)});
    }
  }

  struct View {
    std::size_t argument;
    AnyBuffer gradient;
  };
  const std::vector<View> &views() const { return views_; }

  // The same views, over new copies of the saved contents.
  std::vector<AnyBuffer> fresh() const {
    std::vector<Copy> again;
    for (const Copy &copy : copies_) {
      again.push_back({copy.of, jit::copy(*copy.memory)});
    }
    std::vector<AnyBuffer> buffers;
    for (const View &view : views_)
      for (const Copy &copy : again)
        if (copy.of == view.gradient.storage().get()) buffers.push_back(view.gradient.over(copy.memory));
    return buffers;
  }

 private:
  struct Copy {
    const Storage *of;
    std::shared_ptr<Storage> memory;
  };
  const Copy *copy_of(const Storage &storage) const {
    for (const Copy &copy : copies_)
      if (copy.of == &storage) return &copy;
    return nullptr;
  }

  std::vector<View> views_;
  std::vector<Copy> copies_;
};

struct Element {
  std::vector<std::int64_t> index;
  double value;
};

template <class T>
std::optional<Element> first_non_finite(const AnyBuffer &buffer) {
  std::vector<T> values = Buffer<T>(buffer).to_vector();
  for (std::size_t n = 0; n < values.size(); ++n) {
    if (std::isfinite(values[n])) continue;
    Element element{std::vector<std::int64_t>(static_cast<std::size_t>(buffer.rank())), values[n]};
    auto rest = static_cast<std::int64_t>(n);
    for (int d = buffer.rank() - 1; d >= 0; rest /= buffer.extents()[d], --d)
      element.index[static_cast<std::size_t>(d)] = rest % buffer.extents()[d];
    return element;
  }
  return std::nullopt;
}
std::optional<Element> first_non_finite(const AnyBuffer &buffer) {
  return buffer.type() == ScalarType::Float32 ? first_non_finite<float>(buffer) : first_non_finite<double>(buffer);
}

// The noting kernel's output: see autodiff/notes.h.
struct Note {
  std::int64_t instance;
  std::vector<double> record;
};

// Runs it twice: for the first instance, and for its note.
std::optional<Note> find(KernelDefinition &noting, const Gradients &gradients, const Extents &extents,
                         std::span<const Argument> arguments) {
  constexpr std::int64_t none = std::numeric_limits<std::int64_t>::max();
  const Device device = device_of(arguments, {});
  std::vector<std::int64_t> shape(extents.begin(), extents.begin() + extents.rank());
  Buffer<std::int64_t> first(device, {2}, {none, -1}), extent(device, {extents.rank()}, shape);
  Buffer<double> record(device, {autodiff::Notes::record_size});
  for (int pass = 0; pass < 2; ++pass) {
    std::vector<AnyBuffer> fresh = gradients.fresh();
    std::vector<Argument> all;
    for (const Argument &argument : arguments)
      all.push_back(argument.buffer ? Argument{&argument.elements()} : Argument{nullptr, argument.scalar});
    for (const AnyBuffer &gradient : fresh) all.push_back({&gradient});
    for (const AnyBuffer *note :
         {static_cast<AnyBuffer *>(&first), static_cast<AnyBuffer *>(&extent), static_cast<AnyBuffer *>(&record)})
      all.push_back({note});
    run_now(noting, extents, {}, all);
    if (first.at(0) == none) return std::nullopt;
    if (pass == 0) first.copy_from({none, first.at(0)});
  }
  return Note{first.at(1), record.to_vector()};
}

std::string index_text(std::int64_t instance, const Extents &extents) {
  std::vector<std::int64_t> index(static_cast<std::size_t>(extents.rank()));
  for (int d = extents.rank() - 1; d >= 0; instance /= extents[d], --d)
    index[static_cast<std::size_t>(d)] = instance % extents[d];
  return fmt::format("({})", fmt::join(index, ", "));
}

[[noreturn]] void report(const KernelDefinition &definition, const autodiff::Notes &notes, const Note &note,
                         const Extents &extents) {
  const auto &site = notes.sites.at(static_cast<std::size_t>(note.record[0]));
  std::string text = fmt::format(
      "kernel '{}' (adjoint): the first instance whose gradient is not finite is {}; the derivative of {} here gives "
      "{}",
      definition.name(), index_text(note.instance, extents), site.what, note.record[1]);
  if (site.values > 0) text += fmt::format(" for the cotangent {}", note.record[2]);
  if (site.values > 1) text += fmt::format(" and the operand{} {}", site.values > 2 ? "s" : "", note.record[3]);
  if (site.values > 2) text += fmt::format(" and {}", note.record[4]);
  throw UserError(site.where, text +
                                  ". Mend it by keeping the values away from where the derivative is infinite, by "
                                  "select(…) on both sides of it, or by a custom_adjoint");
}

}  // namespace

void run_checking_finite(KernelDefinition &definition, const VariantKey &key, const Extents &extents,
                         std::span<const Argument> arguments, const std::function<void()> &run) {
  const Gradients gradients(key, arguments);
  auto opening = [&](const Gradients::View &view, const Element &element) {
    return fmt::format("kernel '{}' (adjoint): element ({}) of the gradient of {} is {}", definition.name(),
                       fmt::join(element.index, ", "), describe(definition.parameters(), view.argument), element.value);
  };
  for (const Gradients::View &view : gradients.views())
    if (auto element = first_non_finite(view.gradient))
      throw UserError(definition.where(),
                      opening(view, *element) + " before the launch: it came from a later launch, or from the caller");
  run();
  for (const Gradients::View &view : gradients.views()) {
    auto element = first_non_finite(view.gradient);
    if (!element) continue;
    const KernelDefinition::Noting noting = definition.noting_adjoint(key.derivative.active, key.derivative.may_alias);
    if (auto note = find(*noting.kernel, gradients, extents, arguments))
      report(definition, noting.notes, *note, extents);
    throw UserError(
        definition.where(),
        opening(view, *element) +
            (is_tile_kernel(definition.forward())
                 ? ". No note is taken of single operations on tiles: look among them for a derivative that "
                   "is infinite, as those of sqrt and log are at 0, or for a sum that overflows"
                 : ", and each contribution is finite: their sum has overflowed"));
  }
}

}  // namespace samite::jit
