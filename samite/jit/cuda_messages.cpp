#include "samite/jit/cuda_messages.h"

#include "samite/base/error.h"
#include "samite/jit/failure_report.h"
#include "samite/jit/messages.h"
#include "samite/jit/print_sink.h"

#include <fmt/format.h>

namespace samite::jit {
namespace {

// About ten thousand lines.
constexpr std::size_t channel_bytes = std::size_t{1} << 20;

}  // namespace

CudaMessages::CudaMessages(std::shared_ptr<const Variant> variant, std::string kernel, const Extents &extents,
                           const driver::Context &context)
    : variant_(std::move(variant)),
      kernel_(std::move(kernel)),
      extents_(extents),
      memory_(driver::PinnedMemory::allocate(context, channel_bytes)) {
  codegen::clear(channel(), channel_bytes);
}

void CudaMessages::completed() {
  LaunchMessages heard(*variant_, extents_);
  for (const codegen::CudaRecord &record : codegen::records(*channel(), variant_->text.messages, extents_.rank())) {
    std::array<std::int64_t, ir::maximum_rank> instance{};
    std::copy(record.instance.begin(), record.instance.end(), instance.begin());
    heard.message(&heard, record.site, instance.data(), record.values.data());
  }
  const codegen::CudaFailure written = channel()->failure;
  const std::uint32_t lost_prints = channel()->lost_prints, lost_checks = channel()->lost_checks;
  codegen::clear(channel(), channel_bytes);

  if (lost_prints != 0)
    print_line(
        fmt::format("… {} more lines of kernel '{}' were lost: what is printed between two waits for a stream "
                    "takes at most {} bytes",
                    lost_prints, kernel_, channel_bytes));
  if (written.state != 0) {
    codegen::Failure failure;
    failure.state = written.state, failure.kind = written.kind;
    failure.array = written.array, failure.dimension = written.dimension;
    failure.index = written.index, failure.extent = written.extent;
    failure.file = written.file, failure.line = written.line;
    failure.instance = written.instance;
    throw_failure(*variant_, kernel_, "cuda", failure);
  }
  if (heard.failed()) heard.throw_first(opening(*variant_, kernel_));
  if (lost_checks != 0)
    throw UserError(opening(*variant_, kernel_) + std::to_string(lost_checks) +
                    " checks failed, and what they say was lost among printed lines; print less");
}

}  // namespace samite::jit
