#include "samite/runtime/captured_operation.h"

#include "samite/base/error.h"
#include "samite/driver/capture.h"
#include "samite/driver/copy.h"
#include "samite/runtime/cuda_memory.h"
#include "samite/runtime/transfer.h"

#include <algorithm>

namespace samite {
namespace {

driver::CUdeviceptr address(const void *data) { return reinterpret_cast<driver::CUdeviceptr>(data); }

class CapturedOperation {
 public:
  CapturedOperation(const HostOperation &operation, const CudaStream &stream,
                    std::vector<std::shared_ptr<Storage>> &kept)
      : operation_(operation),
        stream_(stream.stream()),
        kept_(kept),
        extents_(operation.target.extents()),
        element_bytes_(size_of(operation.target.type())) {}

  void put() {
    const Place target = place_of(operation_.target);
    if (operation_.kind == HostOperation::Kind::fill) return fill(target, operation_.values);
    if (operation_.kind == HostOperation::Kind::write) return copy(target, uploaded(operation_.values, extents_));
    const Place source = place_of(operation_.source);
    if (target.data == source.data && target.strides == source.strides) return;
    if (!operation_.target.overlaps(operation_.source)) return copy(target, source);
    const Place between = packed(extents_);
    copy(between, source);
    copy(target, between);
  }

 private:
  std::size_t bytes_of(const Extents &extents) const {
    return static_cast<std::size_t>(extents.count()) * element_bytes_;
  }

  Place packed(const Extents &extents) {
    kept_.push_back(std::make_shared<Storage>(operation_.target.device(), bytes_of(extents), Storage::FromPool()));
    return {kept_.back()->data(), row_major_strides(extents), kept_.back().get()};
  }

  Place uploaded(const void *values, const Extents &extents) {
    const Place place = packed(extents);
    const driver::AllowedInCaptures allowed(stream_.context());
    const driver::Stream apart = driver::Stream::create(stream_.context());
    driver::copy_to_device(apart, address(place.data), values, bytes_of(extents));
    apart.synchronize();
    return place;
  }

  void fill(const Place &target, const void *value) {
    if (const auto word = word_that_repeats(extents_, element_bytes_, target, value))
      return driver::fill_words(stream_, address(target.data), *word, bytes_of(extents_) / sizeof *word);
    Place element = uploaded(value, Extents{1});
    element.strides = {};
    copy(target, element);
  }

  // The two do not overlap.
  void copy(const Place &target, const Place &source) {
    if (is_row_major(extents_, target.strides) && is_row_major(extents_, source.strides))
      return driver::copy_on_device(stream_, address(target.data), address(source.data), bytes_of(extents_));
    copy_by_kernel(extents_, element_bytes_, target, source, stream_);
  }

  const HostOperation &operation_;
  const driver::Stream &stream_;
  std::vector<std::shared_ptr<Storage>> &kept_;
  const Extents &extents_;
  std::size_t element_bytes_;
};

}  // namespace

void put_captured(const HostOperation &operation, const CudaStream &stream,
                  std::vector<std::shared_ptr<Storage>> &kept) {
  at_call(operation.done, operation.where, [&] { CapturedOperation(operation, stream, kept).put(); });
}

}  // namespace samite
