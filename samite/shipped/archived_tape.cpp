#include "samite/shipped/archived_tape.h"

#include "samite/base/error.h"

namespace samite::shipped {
namespace {

bool has(std::uint64_t set, std::size_t index) { return (set >> index & 1) != 0; }

bool share(const AnyBuffer &a, const AnyBuffer &b) { return a.valid() && b.valid() && a.overlaps(b); }

// Also of two borrowed buffers, which are two storages.
std::ptrdiff_t distance(const AnyBuffer &gradient, const AnyBuffer &values) {
  return static_cast<const std::byte *>(gradient.data()) - static_cast<const std::byte *>(values.data());
}

// On CUDA launches are in the caller's stream and the copy is in the device's own: each waits for the other.
AnyBuffer copy_of(const AnyBuffer &buffer, const std::optional<Stream> &stream) {
  if (stream) stream->synchronize();
  // The copy has the array's layout, which the gradient has, too. The storage may reach beyond the caller's elements.
  const AnyBuffer copy = buffer.over(std::make_shared<Storage>(buffer.device(), buffer.storage()->bytes()));
  AnyBuffer to = copy, from = buffer;
  for (int d = 0; d < buffer.rank(); ++d)
    if (buffer.stride(d) == 0 && buffer.extent(d) > 1) to = to.slice(d, 0, 1), from = from.slice(d, 0, 1);
  to.copy_from(from);
  if (stream) Stream::standard(stream->device()).synchronize();
  return copy;
}

std::string label_of(const LaunchForm &form, std::size_t argument) {
  return "argument " + std::to_string(argument) + " ('" + form.parameters[argument].name + "')";
}

[[noreturn]] void refuse(const LaunchForm &form, std::size_t argument, const std::string &why) {
  throw UserError("kernel '" + form.kernel + "' on a tape: " + label_of(form, argument) + " " + why);
}

}  // namespace

void ArchivedTape::launch(const std::string &kernel, const Extents &extents, std::vector<LaunchArgument> arguments,
                          const std::optional<Stream> &stream) {
  Entry entry{.kernel = kernel, .arguments = arguments};
  bool differentiable = false;
  for (LaunchArgument &argument : arguments) {
    differentiable = differentiable || argument.gradient.valid();
    argument.gradient = {};
  }
  const RecordedLaunch forward(kernel, "forward", extents, arguments, stream);
  entry.written = forward.form().written;
  check_gradients(entry, forward.form());
  if (differentiable) entry.adjoint.emplace(kernel, "adjoint", extents, entry.arguments, stream);
  if (entry.adjoint && entry.adjoint->form().adjoint.changed != 0)
    throw UserError("kernel '" + kernel +
                    "' on a tape: its adjoint writes to arrays of the kernel, which only the whole library can tape");
  for (std::size_t i = 0; i < entry.arguments.size(); ++i) {
    const AnyBuffer &buffer = entry.arguments[i].buffer;
    entry.carries = entry.carries || entry.arguments[i].gradient.valid();
    for (const Entry &earlier : entries_)
      for (std::size_t j = 0; earlier.carries && j < earlier.arguments.size(); ++j)
        if (has(earlier.written, j) && share(buffer, earlier.arguments[j].buffer)) entry.carries = true;
    if (has(entry.written, i)) keep_overwritten(buffer);
    if (entry.adjoint && has(entry.adjoint->form().adjoint.values_read & entry.written, i)) keep(entry, i);
  }
  entries_.reserve(entries_.size() + 1);  // nothing may throw after the run
  forward.run();
  entries_.push_back(std::move(entry));
}

void ArchivedTape::check_gradients(const Entry &entry, const LaunchForm &form) const {
  bool tracks = false;
  for (const LaunchArgument &argument : entry.arguments) tracks = tracks || argument.gradient.valid();
  for (std::size_t i = 0; i < entry.arguments.size(); ++i) {
    const LaunchArgument &own = entry.arguments[i];
    for (const Entry &earlier : entries_)
      for (std::size_t j = 0; j < earlier.arguments.size(); ++j) {
        const LaunchArgument &other = earlier.arguments[j];
        if (!share(own.buffer, other.buffer)) continue;
        const bool both = own.gradient.valid() && other.gradient.valid();
        if (both && distance(own.gradient, own.buffer) != distance(other.gradient, other.buffer))
          refuse(form, i,
                 "shares memory with an array of an earlier launch of '" + earlier.kernel +
                     "', and has another gradient than that; give both the same views of one gradient");
        if (own.gradient.valid() != other.gradient.valid())
          refuse(form, i,
                 std::string("shares memory with an array of an earlier launch of '") + earlier.kernel +
                     (own.gradient.valid() ? "' that has no gradient; give it this one"
                                           : "' that has a gradient; give it that one"));
        if (!both && tracks && earlier.carries && has(earlier.written, j))
          refuse(form, i,
                 "was computed by '" + earlier.kernel +
                     "' from arrays with gradients and has none itself, so that a gradient would be lost; give "
                     "it one in both launches");
      }
  }
}

void ArchivedTape::keep_overwritten(const AnyBuffer &target) {
  for (Entry &entry : entries_) {
    if (!entry.adjoint) continue;
    const std::uint64_t needed = entry.adjoint->form().adjoint.values_read | entry.adjoint->form().adjoint.values_after;
    for (std::size_t i = 0; i < entry.arguments.size(); ++i)
      if (has(needed, i) && !has(entry.copied, i) && share(entry.arguments[i].buffer, target)) keep(entry, i);
  }
}

// An adjoint that reads an array both as it was before the launch and as the launch left it is refused: only one of
// them is copied.
void ArchivedTape::keep(Entry &entry, std::size_t argument) {
  const LaunchForm &form = entry.adjoint->form();
  if (has(form.adjoint.values_after & form.adjoint.values_read & entry.written, argument))
    refuse(form, argument,
           "is read by the adjoint as it was before the launch and after it, and overwritten; give "
           "later launches another array");
  std::vector<LaunchArgument> arguments = entry.adjoint->arguments();
  arguments[argument].buffer = copy_of(arguments[argument].buffer, entry.adjoint->stream());
  entry.adjoint =
      RecordedLaunch(entry.kernel, "adjoint", entry.adjoint->extents(), std::move(arguments), entry.adjoint->stream());
  entry.copied |= std::uint64_t{1} << argument;
}

// Adjoints that are queued may still read the copies.
void ArchivedTape::clear() {
  for (const Entry &entry : entries_)
    if (entry.copied != 0 && entry.adjoint->stream()) entry.adjoint->stream()->synchronize();
  entries_.clear();
}

void ArchivedTape::backward() const {
  for (std::size_t i = entries_.size(); i-- > 0;)
    if (entries_[i].adjoint) entries_[i].adjoint->run();
}

std::int64_t ArchivedTape::kept_bytes() const {
  std::int64_t bytes = 0;
  for (const Entry &entry : entries_)
    for (std::size_t i = 0; i < entry.arguments.size(); ++i)
      if (has(entry.copied, i))
        bytes +=
            entry.arguments[i].buffer.count() * static_cast<std::int64_t>(size_of(entry.arguments[i].buffer.type()));
  return bytes;
}

}  // namespace samite::shipped
