// The facts about a launch's arguments that its code may rely on, compared with a reference that checks each array and
// each pair of arrays separately: views of any strides, arrays that share memory, that are empty, that are borrowed.
#include "samite/jit/variant_key.h"

#include "samite/jit/kernel.h"
#include "samite/jit/launch_copies.h"
#include "samite/passes/adjoint/cast_copies.h"
#include "samite/runtime/borrow.h"
#include "tests/runtime/cuda_setting.h"

#include <limits>
#include <random>

namespace samite::test {
namespace {

using Read = Array<const float, 2>;
using Written = Array<float, 2>;

std::uint64_t bit(std::size_t i) { return std::uint64_t{1} << i; }

// With 1, 2, 3 and 9 parameters, which write one array, none or two. And one of tiles.
std::vector<std::shared_ptr<jit::KernelDefinition>> definitions() {
  const Kernel one{"one", [](Written y) { y(thread_index(), 0) = 1.0f; }};
  const Kernel two{"two", [](Read x, Read y) { Float sum = x(thread_index(), 0) + y(0, 0); }};
  const Kernel three{"three", [](Written y, Read x, Written z) {
                       Int i = thread_index();
                       y(i, 0) = x(i, 0);
                       z(i, 0) = 2 * x(i, 0);
                     }};
  const Kernel nine{"nine", [](Read a, Read b, Read c, Read d, Written y, Read e, Float s, Read f, Written z) {
                      Int i = thread_index();
                      y(i, 0) = a(i, 0) + b(i, 0) + c(i, 0) + d(i, 0);
                      z(i, 0) = s * e(i, 0) * f(i, 0);
                    }};
  const TileKernel tiles{"tiles", [](Written y, Read x) {
                           tile::store(y, {block_index(), 0}, tile::load(x, {block_index(), 0}, {1, 16}));
                         }};
  return {one.definition(), two.definition(), three.definition(), nine.definition(), tiles.definition()};
}

// Arrays of rank 2 over three storages, and over memory that is borrowed twice, once 16 bytes misaligned.
class Views {
 public:
  explicit Views(Device device) {
    for (const Gradient gradient : {Gradient::tracked, Gradient::tracked, Gradient::untracked})
      whole_.emplace_back(device, ScalarType::Float32, Extents{12, 16}, gradient);
    owner_ = AnyBuffer(device, ScalarType::Float32, {16, 16});
    const auto lent = [&](std::int64_t first) {
      void *data = static_cast<float *>(owner_.data()) + first;
      whole_.push_back(borrow({.device = device, .data = data, .type = ScalarType::Float32, .extents = {12, 16}}));
    };
    lent(0);
    lent(35);
  }

  // `written`: no broadcast view.
  AnyBuffer any(std::mt19937 &random, bool written) const {
    const auto below = [&](std::int64_t end) {
      return static_cast<std::int64_t>(random() % static_cast<unsigned>(end));
    };
    AnyBuffer view = whole_[random() % whole_.size()];
    if (random() % 2 == 0) view = view.slice(0, below(8), 8 + below(5));
    if (random() % 2 == 0) view = view.slice(1, below(8), 8 + below(9), 1 + below(3));
    if (random() % 4 == 0) view = view.slice(0, view.extents()[0] - 1, -1, -1 - below(2));
    if (random() % 4 == 0) view = view.transpose();
    if (random() % 8 == 0) view = view.slice(0, 0, 0);  // empty
    if (!written && view.count() != 0 && random() % 8 == 0)
      view = view.slice(0, 0, 1).broadcast({7, view.extents()[1]});
    return view;
  }

 private:
  std::vector<AnyBuffer> whole_;
  AnyBuffer owner_;
};

struct Arguments {
  std::vector<AnyBuffer> buffers, values;  // not valid() if there is none
  std::vector<jit::Argument> given() const {
    std::vector<jit::Argument> given;
    for (std::size_t i = 0; i < buffers.size(); ++i)
      given.push_back({buffers[i].valid() ? &buffers[i] : nullptr, 0, values[i].valid() ? &values[i] : nullptr});
    return given;
  }
};

Arguments any_arguments(const jit::KernelDefinition &definition, const Views &views, std::mt19937 &random) {
  Arguments arguments;
  for (std::size_t i = 0; i < definition.parameters().size(); ++i) {
    const bool is_array = definition.parameters()[i].is_array();
    arguments.buffers.push_back(is_array ? views.any(random, (definition.written() & bit(i)) != 0) : AnyBuffer());
    arguments.values.push_back(is_array && random() % 8 == 0 ? arguments.buffers[i].clone() : AnyBuffer());
  }
  return arguments;
}

// The facts of arrays, one by one and pair by pair.
struct Facts {
  std::uint64_t arrays = 0, unit_stride = 0, aligned = 0, whole_rows = 0, active = 0, unaliased = 0, overlapping = 0;
  bool may_alias = false;
};

bool has_aligned_rows(const AnyBuffer &buffer) {
  const std::int64_t row_bytes = buffer.strides()[0] * std::int64_t{sizeof(float)};
  return reinterpret_cast<std::uintptr_t>(buffer.data()) % 16 == 0 && row_bytes % 16 == 0;
}

Facts facts_of(const jit::KernelDefinition &definition, Direction direction, const Arguments &arguments) {
  Facts facts;
  const auto &buffers = arguments.buffers;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    if (!buffers[i].valid()) continue;
    const AnyBuffer &values = arguments.values[i].valid() ? arguments.values[i] : buffers[i];
    const bool active = direction != Direction::forward && buffers[i].tracks_gradient();
    facts.arrays |= bit(i);
    if (buffers[i].strides()[1] == 1 && values.strides()[1] == 1) facts.unit_stride |= bit(i);
    if (has_aligned_rows(buffers[i]) && has_aligned_rows(values)) facts.aligned |= bit(i);
    if (buffers[i].extents()[1] % 4 == 0) facts.whole_rows |= bit(i);
    if (active) facts.active |= bit(i);
    if (direction == Direction::adjoint && active && buffers[i].is_broadcast()) facts.may_alias = true;
    bool shares = false;
    for (std::size_t j = 0; j < buffers.size(); ++j) {
      if (i == j || !buffers[j].valid() || !buffers[i].overlaps(buffers[j])) continue;
      facts.overlapping |= bit(i);
      if (direction != Direction::forward || definition.written() & bit(j)) shares = true;
      if (direction == Direction::adjoint && active && buffers[j].tracks_gradient()) facts.may_alias = true;
    }
    if (!shares) facts.unaliased |= bit(i);
  }
  if (facts.may_alias) facts.unaliased = 0;
  return facts;
}

class VariantKeyOf : public CudaTest {};

TEST_P(VariantKeyOf, AnyArgumentsIsWhatEachPairSays) {
  const auto all = definitions();
  const Views on_cpu(Device::cpu()), on_cuda(device());
  std::mt19937 random(7);
  int apart = 0, aliased = 0;
  for (int round = 0; round < 4000; ++round) {
    const jit::KernelDefinition &definition = *all[random() % all.size()];
    const bool cuda = random() % 2 == 0, debug = random() % 4 == 0;
    const auto direction = static_cast<Direction>(random() % 3);
    const Arguments arguments = any_arguments(definition, cuda ? on_cuda : on_cpu, random);
    const LaunchOptions options{.direction = direction, .debug = debug};

    const jit::VariantKey key = jit::variant_key(definition, {5}, options, arguments.given());

    const Facts facts = facts_of(definition, direction, arguments);
    EXPECT_EQ(key.arrays.unit_stride, facts.unit_stride);
    EXPECT_EQ(key.arrays.wide_index, 0u);
    EXPECT_EQ(key.derivative.active, facts.active);
    EXPECT_EQ(key.derivative.may_alias, facts.may_alias);
    EXPECT_EQ(key.arrays.unaliased, cuda ? facts.unaliased : 0u);
    EXPECT_EQ(key.arrays.aligned, cuda ? facts.aligned : 0u);
    EXPECT_EQ(key.arrays.whole_rows, cuda && ir::is_tile_kernel(definition.forward()) ? facts.whole_rows : 0u);
    EXPECT_EQ(key.arrays.overlapping, debug ? facts.overlapping : 0u);
    (facts.unaliased == facts.arrays ? apart : aliased) += 1;
    if (HasFailure()) return;
  }
  EXPECT_GT(apart, 400);
  EXPECT_GT(aliased, 400);
}

// The overlap of storages alone, in elements or not, does not decide.
TEST_P(VariantKeyOf, ViewsOfOneStorageThatShareNoMemoryAreUnaliased) {
  const Kernel copy{"copy", [](Written y, Read x) { y(thread_index(), 0) = x(thread_index(), 0); }};
  const AnyBuffer whole(device(), ScalarType::Float32, {4, 4}, Gradient::tracked);
  const AnyBuffer top = whole.slice(0, 0, 2), bottom = whole.slice(0, 2, 4), none = whole.slice(0, 0, 0);
  const auto key = [&](Direction direction, const AnyBuffer &y, const AnyBuffer &x) {
    const std::vector<jit::Argument> arguments{{&y, 0, nullptr}, {&x, 0, nullptr}};
    return jit::variant_key(*copy.definition(), {2}, {.direction = direction}, arguments);
  };

  EXPECT_EQ(key(Direction::forward, top, bottom).arrays.unaliased, 3u);
  EXPECT_EQ(key(Direction::forward, whole, none).arrays.unaliased, 3u);
  EXPECT_EQ(key(Direction::forward, whole, bottom).arrays.unaliased, 1u);  // y's memory is only read elsewhere
  EXPECT_EQ(key(Direction::tangent, whole, bottom).arrays.unaliased, 0u);
  EXPECT_FALSE(key(Direction::adjoint, top, bottom).derivative.may_alias);
  EXPECT_TRUE(key(Direction::adjoint, whole, whole).derivative.may_alias);
}

// A storage that is freed leaves nothing behind: the next one may have its address.
TEST_P(VariantKeyOf, MemoryThatIsFreedAndTakenAgainIsAnotherArray) {
  const Kernel copy{"copy", [](Written y, Read x) { y(thread_index(), 0) = x(thread_index(), 0); }};
  const AnyBuffer y(device(), ScalarType::Float32, {4, 4});
  for (int round = 0; round < 4; ++round) {
    const bool tracked = round % 2 == 1;
    const AnyBuffer x(device(), ScalarType::Float32, {4, 4}, tracked ? Gradient::tracked : Gradient::untracked);
    const std::vector<jit::Argument> arguments{{&y, 0, nullptr}, {&x, 0, nullptr}};
    const auto key = jit::variant_key(*copy.definition(), {4}, {.direction = Direction::tangent}, arguments);
    EXPECT_EQ(key.derivative.active, tracked ? 2u : 0u);
    EXPECT_EQ(key.arrays.unaliased, 3u);
  }
}

TEST_P(VariantKeyOf, LargeArraysHaveWideIndices) {
  const Kernel copy{"copy", [](Written y, Read x) { y(thread_index(), 0) = x(thread_index(), 0); }};
  const AnyBuffer y(device(), ScalarType::Float32, {1, 1}, Gradient::tracked);
  const AnyBuffer row(device(), ScalarType::Float32, {1, 2}, Gradient::tracked);
  const auto wide = [&](Direction direction, const AnyBuffer &x) {
    const std::vector<jit::Argument> arguments{{&y, 0, nullptr}, {&x, 0, nullptr}};
    return jit::variant_key(*copy.definition(), {1}, {.direction = direction}, arguments).arrays.wide_index;
  };
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();

  EXPECT_EQ(wide(Direction::forward, row.broadcast({most, 2})), 0u);
  EXPECT_EQ(wide(Direction::forward, row.broadcast({most + 1, 2})), 2u);
  // Rows of two take 16 bytes each in an adjoint's copy: eight elements of 2 bytes.
  for (const std::int64_t rows : {most / 16, most / 8, most / 8 + 1, most / 4}) {
    const AnyBuffer x = row.broadcast({rows, 2});
    const std::int64_t extents[] = {rows, 2};
    const bool is_wide = jit::copy_elements(extents, passes::copied_bytes) > most;
    EXPECT_EQ(is_wide, rows > most / 8);
    EXPECT_EQ(wide(Direction::adjoint, x), is_wide ? 2u : 0u) << rows;
    EXPECT_EQ(wide(Direction::forward, x), 0u) << rows;
  }
}

SAMITE_CUDA_SUITE(VariantKeyOf);

}  // namespace
}  // namespace samite::test
