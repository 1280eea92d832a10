// Buffers over memory of another owner.
#include "samite/runtime/borrow.h"

#include "samite/base/error.h"
#include "samite/driver/copy.h"
#include "samite/runtime/cuda_memory.h"
#include "samite/runtime/shared_elements.h"
#include "tests/runtime/cuda_setting.h"
#include "tests/runtime/message_of.h"

#include <array>
#include <limits>
#include <numeric>

namespace samite {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

// Six floats, 1 to 6, that borrowers are lent.
struct Lender {
  alignas(64) std::array<float, 6> values{1, 2, 3, 4, 5, 6};

  BorrowedMemory memory(const Extents &extents) {
    return {
        .device = Device::cpu(), .data = values.data(), .type = ScalarType::Float32, .extents = extents, .owner = {}};
  }
};

TEST(BorrowedMemory, IsReadAndWrittenInPlace) {
  std::vector<float> owned{1, 2, 3, 4, 5, 6};
  Buffer<float> buffer = borrow(Device::cpu(), owned.data(), {2, 3});

  EXPECT_EQ(buffer.data(), owned.data());
  EXPECT_EQ(buffer.at(1, 0), 4);
  buffer.fill(7);

  EXPECT_EQ(owned, std::vector<float>(6, 7));
  EXPECT_THAT(buffer.to_string(), HasSubstr("Buffer<f32>(2, 3) on cpu"));
}

TEST(BorrowedMemory, KeepsItsOwnerWhileAnyViewLives) {
  auto owner = std::make_shared<std::vector<float>>(6);
  std::weak_ptr<std::vector<float>> lives = owner;
  AnyBuffer view;
  {
    Buffer<float> buffer = borrow(Device::cpu(), owner->data(), {2, 3}, owner);
    owner.reset();
    view = buffer.slice(0, 1, 2);
  }

  EXPECT_FALSE(lives.expired());
  view = {};
  EXPECT_TRUE(lives.expired());
}

TEST(BorrowedMemory, CallsADeleterOnce) {
  Lender lender;
  int deleted = 0;
  {
    const std::shared_ptr<void> owner(lender.values.data(), [&](void *) { ++deleted; });
    const Buffer<float> buffer = borrow(Device::cpu(), lender.values.data(), {6}, owner), copy = buffer;
    EXPECT_EQ(copy.at(5), 6);
  }
  EXPECT_EQ(deleted, 1);
}

TEST(BorrowedMemory, HasStridesOfAnySign) {
  Lender lender;
  BorrowedMemory memory = lender.memory({3, 2});
  memory.strides = Strides{1, 3};
  EXPECT_THAT(Buffer<float>(borrow(memory)).to_vector(), ElementsAre(1, 4, 2, 5, 3, 6));

  memory = lender.memory({2, 3});
  memory.data = &lender.values[5];
  memory.strides = Strides{-3, -1};
  Buffer<float> reversed(borrow(memory));
  EXPECT_THAT(reversed.to_vector(), ElementsAre(6, 5, 4, 3, 2, 1));
  reversed.set({1, 2}, 9);
  EXPECT_EQ(lender.values[0], 9);

  memory = lender.memory({3, 2});
  memory.strides = Strides{0, 1};
  EXPECT_TRUE(borrow(memory).is_broadcast());
}

TEST(BorrowedMemory, ThatIsReadOnlyRefusesWrites) {
  const std::vector<float> owned{1, 2, 3};
  Buffer<float> buffer = borrow(Device::cpu(), owned.data(), {3});

  EXPECT_THAT(buffer.to_vector(), ElementsAre(1, 2, 3));
  EXPECT_THAT(message_of<UserError>([&] { buffer.fill(4); }),
              AllOf(HasSubstr("borrow_test.cpp"), HasSubstr("read-only"), HasSubstr("clone()")));
  EXPECT_THROW(buffer.set({0}, 4), UserError);
  EXPECT_THROW(buffer.slice(0, 1, 3).copy_from({4, 5}), UserError);
  buffer.clone().fill(4);
  EXPECT_EQ(owned[0], 1);
}

TEST(BorrowedMemory, TracksAGradientOfItsOwn) {
  Lender lender;
  Buffer<float> buffer = borrow(Device::cpu(), lender.values.data() + 1, {5});
  buffer.track_gradient();

  EXPECT_THAT(buffer.gradient().to_vector(), ElementsAre(0, 0, 0, 0, 0));
  buffer.gradient().slice(0, 4, 5).fill(2);
  EXPECT_THAT(buffer.gradient().to_vector(), ElementsAre(0, 0, 0, 0, 2));
  EXPECT_THAT(lender.values, ElementsAre(1, 2, 3, 4, 5, 6));
}

// Kernels that load 16 bytes at once require the alignment of the elements, and take the gradient's to be the same.
TEST(BorrowedMemory, HasAGradientThatIsAlignedAlike) {
  Lender lender;
  for (std::size_t first = 0; first < 5; ++first) {
    Buffer<float> buffer = borrow(Device::cpu(), &lender.values[first], {1});
    buffer.track_gradient();
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % 64,
              reinterpret_cast<std::uintptr_t>(buffer.gradient_data()) % 64);
  }
}

TEST(BorrowedMemory, MayHaveNoElements) {
  for (const Extents &extents : {Extents{0}, Extents{3, 0}, Extents{0, 2, 2}}) {
    const AnyBuffer buffer = borrow({.device = Device::cpu(),
                                     .data = nullptr,
                                     .type = ScalarType::Float64,
                                     .extents = extents,
                                     .strides = Strides{1 << 20, 1, 1},
                                     .owner = {}});
    EXPECT_TRUE(Buffer<double>(buffer).to_vector().empty());
    EXPECT_FALSE(buffer.overlaps(buffer));
    EXPECT_FALSE(buffer.is_broadcast());
  }
}

TEST(BorrowedMemory, IsKnownToBeTheSame) {
  Lender lender;
  const AnyBuffer all = borrow(lender.memory({6})), first = borrow(Device::cpu(), lender.values.data(), {3}),
                  second = borrow(Device::cpu(), &lender.values[3], {3}),
                  of_buffer = borrow(Device::cpu(), static_cast<float *>(first.data()), {1});

  EXPECT_TRUE(all.overlaps(first) && second.overlaps(all) && of_buffer.overlaps(first));
  EXPECT_FALSE(first.overlaps(second));
  EXPECT_FALSE(all.overlaps(AnyBuffer()));

  BorrowedMemory even = lender.memory({3}), odd = lender.memory({3});
  odd.data = &lender.values[1];
  even.strides = odd.strides = Strides{2};
  EXPECT_TRUE(borrow(even).overlaps(borrow(odd)));
  EXPECT_FALSE(share_elements(borrow(even), borrow(odd)));
  EXPECT_TRUE(share_elements(borrow(even), all));
}

TEST(BorrowedMemory, OfABufferIsKnownToBeTheBuffers) {
  Buffer<float> owned{Device::cpu(), {4}, {1, 2, 3, 4}};
  const Buffer<float> borrowed = borrow(Device::cpu(), owned.data() + 2, {2});

  EXPECT_TRUE(owned.overlaps(borrowed) && borrowed.overlaps(owned));
  owned.slice(0, 1, 3).copy_from(borrowed);
  EXPECT_THAT(owned.to_vector(), ElementsAre(1, 3, 4, 4));
}

TEST(BorrowedMemory, ThatCannotBeABuffersIsRefusedWithTheReason) {
  Lender lender;
  const auto message = [](const BorrowedMemory &memory) { return message_of<UserError>([&] { borrow(memory); }); };

  BorrowedMemory memory = lender.memory({2, 3});
  memory.data = reinterpret_cast<std::byte *>(lender.values.data()) + 2;
  EXPECT_THAT(message(memory), AllOf(HasSubstr("borrow_test.cpp"), HasSubstr("f32(2, 3)"), HasSubstr("multiple of 4")));

  memory = lender.memory({2, 3});
  memory.data = nullptr;
  EXPECT_THAT(message(memory), AllOf(HasSubstr("an address is expected"), HasSubstr("null pointer")));

  memory.extents = {};
  EXPECT_THAT(message(memory), HasSubstr("at least one dimension"));

  memory = lender.memory({2, 3});
  memory.strides = Strides{std::numeric_limits<std::int64_t>::max(), 1};
  EXPECT_THAT(message(memory), HasSubstr("around the end of the address space"));
  memory.strides = Strides{-(std::int64_t{1} << 60), 1};
  EXPECT_THAT(message(memory), HasSubstr("around the end of the address space"));
}

class BorrowedCudaMemory : public test::CudaTest {};
SAMITE_CUDA_SUITE(BorrowedCudaMemory);

// The owner of memory lent on a device, which works in a separate stream.
struct CudaLender {
  explicit CudaLender(Device device) : stream(device), buffer(device, {4}, {1, 2, 3, 4}) {
    buffer.storage()->cuda()->used_by(stream.cuda_handle());
  }
  BorrowedMemory memory() const {
    return {.device = buffer.device(),
            .data = buffer.data(),
            .type = ScalarType::Float32,
            .extents = {4},
            .owner = buffer.storage(),
            .stream = stream};
  }

  Stream stream;
  Buffer<float> buffer;
};

TEST_P(BorrowedCudaMemory, IsReadAndWrittenInPlace) {
  const CudaLender lender(device());
  Buffer<float> borrowed(borrow(lender.memory()));

  EXPECT_THAT(borrowed.to_vector(), ElementsAre(1, 2, 3, 4));
  borrowed.slice(0, 0, 4, 3).fill(7);
  EXPECT_THAT(lender.buffer.to_vector(), ElementsAre(7, 2, 3, 7));
}

// The fake runs a stream's work when something waits for it, and fails the test if work is not in order.
TEST_P(BorrowedCudaMemory, IsInTheOrderOfItsOwnersStream) {
  const CudaLender lender(device());
  driver::fill_words(lender.stream.cuda()->stream(), reinterpret_cast<std::uintptr_t>(lender.buffer.data()), 0, 4);

  EXPECT_THAT(Buffer<float>(borrow(lender.memory())).to_vector(), ElementsAre(0, 0, 0, 0));
}

TEST_P(BorrowedCudaMemory, MakesItsOwnersStreamWaitBeforeItLetsGo) {
  const CudaLender lender(device());
  const Stream other{device()};
  const auto address = reinterpret_cast<std::uintptr_t>(lender.buffer.data());
  {
    const AnyBuffer borrowed = borrow(lender.memory());
    borrowed.storage()->cuda()->used_by(other.cuda_handle());
    driver::fill_words(other.cuda()->stream(), address, 0, 4);
  }
  lender.stream.synchronize();

  EXPECT_THAT(lender.buffer.to_vector(), ElementsAre(0, 0, 0, 0));
}

TEST_P(BorrowedCudaMemory, KeepsItsOwnerWhileItLives) {
  auto lender = std::make_unique<CudaLender>(device());
  const std::weak_ptr<Storage> lives = lender->buffer.storage();
  AnyBuffer borrowed = borrow(lender->memory());
  lender.reset();

  EXPECT_FALSE(lives.expired());
  borrowed = {};
  EXPECT_TRUE(lives.expired());
}

TEST_P(BorrowedCudaMemory, AStreamOfAnotherDeviceIsRefused) {
  const CudaLender lender(device());
  BorrowedMemory memory = lender.memory();
  memory.stream = Stream::standard(Device::cpu());

  EXPECT_THAT(message_of<UserError>([&] { borrow(memory); }),
              AllOf(HasSubstr("cuda:0"), HasSubstr("its stream on cpu")));
}

}  // namespace
}  // namespace samite
