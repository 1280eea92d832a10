#include "samite/jit/copy_kernel.h"

#include "samite/base/error.h"
#include "samite/jit/kernel.h"

#include <array>
#include <utility>

namespace samite::jit {
namespace {

template <class T, int Rank>
const std::shared_ptr<KernelDefinition> &of() {
  static const Kernel copy{"copy", {"to", "from"}, [](Array<T, Rank> to, Array<const T, Rank> from) {
                             const auto index = thread_index<Rank>();
                             [&]<std::size_t... D>(std::index_sequence<D...>) {
                               to(index[D]...) = from(index[D]...);
                             }(std::make_index_sequence<static_cast<std::size_t>(Rank)>());
                           }};
  return copy.definition();
}

template <class T>
const std::shared_ptr<KernelDefinition> &of(int rank) {
  switch (rank) {
    case 1: return of<T, 1>();
    case 2: return of<T, 2>();
    case 3: return of<T, 3>();
    default: return of<T, 4>();
  }
}

}  // namespace

const std::shared_ptr<KernelDefinition> &copy_kernel(ScalarType type, int rank) {
  switch (type) {
    case ScalarType::Float16: return of<half>(rank);
    case ScalarType::BFloat16: return of<bfloat16>(rank);
    case ScalarType::Float32: return of<float>(rank);
    case ScalarType::Float64: return of<double>(rank);
    default: throw InternalError("a copy of elements that have no gradient has no derivative");
  }
}

}  // namespace samite::jit
