#include "samite/runtime/buffer.h"

#include "tests/runtime/cpu.h"
#include "tests/runtime/message_of.h"

#include <cstdint>
#include <numeric>
#include <sstream>
#include <type_traits>

namespace samite {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using test::cpu;

TEST(Buffer, StartsAsZeros) {
  Buffer<float> a{cpu, {2, 3}};

  EXPECT_EQ(a.rank(), 2);
  EXPECT_EQ(a.extent(1), 3);
  EXPECT_EQ(a.stride(0), 3);
  EXPECT_EQ(a.count(), 6);
  EXPECT_EQ(a.device(), cpu);
  EXPECT_EQ(a.type(), ScalarType::Float32);
  EXPECT_FALSE(a.tracks_gradient());
  EXPECT_TRUE(a.is_contiguous());
  EXPECT_EQ(a.to_vector(), std::vector<float>(6, 0.0f));
}

TEST(Buffer, TakesValuesInRowMajorOrder) {
  Buffer<int> a{cpu, {2, 2}, {1, 2, 3, 4}};
  std::vector<double> values{5, 6, 7};
  Buffer<double> b{cpu, {3}, values, Gradient::tracked};

  EXPECT_EQ(a.at(1, 0), 3);
  EXPECT_EQ(a.at({1, 0}), 3) << "indices as set() has them";
  EXPECT_EQ(b.at(2), 7.0);
  EXPECT_TRUE(b.tracks_gradient());
}

TEST(Buffer, IsAHandle) {
  Buffer<int> a{cpu, {2}, {1, 2}};
  Buffer<int> same = a, apart = a.clone();

  same.set({0}, 7);

  EXPECT_THAT(a.to_vector(), ElementsAre(7, 2));
  EXPECT_THAT(apart.to_vector(), ElementsAre(1, 2));
  EXPECT_EQ(a.storage(), same.storage());
}

TEST(Buffer, CountsWritesAndNotReads) {
  Buffer<float> a{cpu, {4}};
  Buffer<float> view = a.slice(0, 0, 2);
  std::uint64_t before = a.version();

  (void)a.to_vector();
  (void)a.at(1);
  EXPECT_EQ(a.version(), before);

  view.fill(1);
  EXPECT_EQ(a.version(), before + 1);
  view.set({0}, 2);
  EXPECT_EQ(a.version(), before + 2);
  a.copy_from({1, 2, 3, 4});
  EXPECT_EQ(view.version(), before + 3);
}

TEST(Buffer, FillsAndCopiesLargeArraysOnAllThreads) {
  const std::int64_t n = 1'000'003;
  Buffer<double> a{cpu, {n}}, b{cpu, {n}};

  a.fill(1.5);
  b.copy_from(a);

  std::vector<double> values = b.to_vector();
  EXPECT_EQ(std::accumulate(values.begin(), values.end(), 0.0), 1.5 * n);
}

TEST(Buffer, HoldsEveryScalarType){
#define SAMITE_CHECK(name, text, host, bytes, kind)               \
  {                                                               \
    Buffer<host> buffer{cpu, {3}};                                \
    buffer.fill(host{1});                                         \
    EXPECT_EQ(buffer.to_vector(), std::vector<host>(3, host{1})); \
    EXPECT_EQ(buffer.type(), ScalarType::name);                   \
  }
    SAMITE_SCALAR_TYPES(SAMITE_CHECK)
#undef SAMITE_CHECK
}

TEST(Buffer, CopiesBetweenAnyStrides) {
  Buffer<int> a{cpu, {2, 3}, {1, 2, 3, 4, 5, 6}}, b{cpu, {3, 2}};

  b.copy_from(a.transpose());
  EXPECT_THAT(b.to_vector(), ElementsAre(1, 4, 2, 5, 3, 6));

  b.transpose().copy_from({6, 5, 4, 3, 2, 1});
  EXPECT_THAT(b.to_vector(), ElementsAre(6, 3, 5, 2, 4, 1));
}

TEST(Buffer, CopiesWithinItselfAsIfReadFirst) {
  Buffer<int> a{cpu, {5}, {1, 2, 3, 4, 5}};

  a.slice(0, 1, 5).copy_from(a.slice(0, 0, 4));
  EXPECT_THAT(a.to_vector(), ElementsAre(1, 1, 2, 3, 4));

  a.copy_from(a.slice(0, 4, -1, -1));
  EXPECT_THAT(a.to_vector(), ElementsAre(4, 3, 2, 1, 1));

  a.slice(0, 0, 3).copy_from(std::span<const int>(a.data() + 1, 3));
  EXPECT_THAT(a.to_vector(), ElementsAre(3, 2, 1, 1, 1));
}

TEST(Buffer, OverlapsWhereElementsMayBeShared) {
  Buffer<int> a{cpu, {4, 4}}, b{cpu, {4, 4}};

  EXPECT_TRUE(a.overlaps(a));
  EXPECT_TRUE(a.overlaps(a.transpose()));
  EXPECT_FALSE(a.overlaps(b));
  EXPECT_FALSE(a.slice(0, 0, 2).overlaps(a.slice(0, 2, 4)));
  EXPECT_FALSE(a.slice(0, 1, -1, -1).overlaps(a.slice(0, 2, 4)));
  EXPECT_TRUE(a.slice(1, 0, 2).overlaps(a.slice(1, 2, 4)));  // interleaved: cautious
  EXPECT_FALSE(a.slice(0, 2, 2).overlaps(a));
  EXPECT_FALSE(Buffer<int>().overlaps(Buffer<int>()));
}

TEST(Buffer, MayHaveNoElements) {
  Buffer<float> a{cpu, {0, 4}, Gradient::tracked};

  a.fill(1);
  a.zero_gradient();

  EXPECT_TRUE(a.valid());
  EXPECT_TRUE(a.is_contiguous());
  EXPECT_TRUE(a.to_vector().empty());
  EXPECT_TRUE(a.transpose().reshape({0}).clone().to_vector().empty());
}

TEST(Buffer, KnowsItsTypeAgainAfterItWasForgotten) {
  AnyBuffer any = Buffer<int>{cpu, {2}, {3, 4}};

  EXPECT_EQ(Buffer<int>(any).at(1), 4);
  EXPECT_THAT(message_of<UserError>([&] { Buffer<float>{any}; }),
              HasSubstr("expected a buffer of f32, Buffer<i32>(2) on cpu given"));
}

TEST(Buffer, PrintsItsFactsAndElements) {
  std::ostringstream small, large, empty;
  small << Buffer<float>{cpu, {2, 3}, {1, 2.5f, 3, -4, 5, 60}};
  large << Buffer<std::int64_t>{cpu, {100}};
  empty << Buffer<float>();

  EXPECT_EQ(small.str(), "Buffer<f32>(2, 3) on cpu\n[[  1, 2.5,   3],\n [ -4,   5,  60]]");
  EXPECT_EQ(large.str(), "Buffer<i64>(100) on cpu\n[0, 0, 0, ..., 0, 0, 0]");
  EXPECT_EQ(empty.str(), "empty buffer");
}

TEST(Buffer, IsCalledByItsName) {
  Buffer<float> a{cpu, {4}, Gradient::tracked};
  a.set_name("pressure");

  EXPECT_EQ(a.slice(0, 1, 3).to_string(), "Buffer<f32>(2) \"pressure\" on cpu, gradient tracked");
  EXPECT_EQ(a.gradient().name(), "gradient of pressure");
}

TEST(BufferError, EmptyBuffer) {
  Buffer<float> empty, other{cpu, {1}};

  EXPECT_FALSE(empty.valid());
  for (const std::string &message :
       {message_of<UserError>([&] { empty.fill(1); }), message_of<UserError>([&] { (void)empty.to_vector(); }),
        message_of<UserError>([&] { (void)empty.at(0); }), message_of<UserError>([&] { (void)empty.device(); }),
        message_of<UserError>([&] { (void)empty.clone(); }), message_of<UserError>([&] { (void)empty.gradient(); }),
        message_of<UserError>([&] { other.copy_from(empty); })})
    EXPECT_THAT(message, HasSubstr("the buffer is empty"));
}

TEST(BufferError, NamesTheCallersLine) {
  Buffer<float> a{cpu, {2}};
  std::string line = std::to_string(__LINE__ + 1);
  EXPECT_THAT(message_of<UserError>([&] { (void)a.at(2); }), HasSubstr("buffer_test.cpp:" + line + ": "));
}

TEST(BufferError, IndexOutside) {
  Buffer<float> a{cpu, {512, 512}};

  std::string read = message_of<UserError>([&] { (void)a.at(3, 600); });
  EXPECT_THAT(read, HasSubstr("index (3, 600) lies outside Buffer<f32>(512, 512)"));
  EXPECT_THAT(read, HasSubstr("index 600 in dimension 1, whose extent is 512"));
  EXPECT_THAT(message_of<UserError>([&] { a.set({-1, 0}, 1); }), HasSubstr("index -1 in dimension 0"));
}

TEST(BufferError, WrongNumberOfIndices) {
  Buffer<float> a{cpu, {2, 2}};

  EXPECT_THAT(message_of<UserError>([&] { (void)a.at(1); }), HasSubstr("takes 2 indices, 1 given: (1)"));
  EXPECT_THAT(message_of<UserError>([&] { a.set({1, 1, 1}, 0); }), HasSubstr("takes 2 indices, 3 given: (1, 1, 1)"));
}

TEST(BufferError, DimensionThatIsNotThere) {
  Buffer<float> a{cpu, {2, 2}};
  EXPECT_THAT(message_of<UserError>([&] { (void)a.extent(2); }), HasSubstr("has 2 dimensions, dimension 2 was asked"));
  EXPECT_THAT(message_of<UserError>([&] { (void)a.stride(-1); }), HasSubstr("dimension -1 was asked"));
}

TEST(BufferError, WrongNumberOfValues) {
  EXPECT_THAT(message_of<UserError>([] { Buffer<int>{cpu, {2, 3}, {1, 2, 3, 4, 5}}; }),
              HasSubstr("expected 6 values for Buffer<i32>(2, 3) on cpu, 5 given"));
}

TEST(BufferError, CopyOfOtherExtentsOrType) {
  Buffer<int> a{cpu, {2, 3}}, b{cpu, {3, 2}};
  AnyBuffer floats = Buffer<float>{cpu, {2, 3}};

  EXPECT_THAT(message_of<UserError>([&] { a.copy_from(b); }), HasSubstr("expected (2, 3), (3, 2) given"));
  EXPECT_THAT(message_of<UserError>([&] { floats.copy_from(a); }), HasSubstr("expected f32, i32 given"));
}

TEST(BufferError, NoDimension) {
  EXPECT_THAT(message_of<UserError>([] { Buffer<int>{cpu, Extents()}; }), HasSubstr("at least one dimension"));
}

TEST(BufferError, MoreBytesThan64BitsCanCount) {
  std::int64_t many = std::int64_t{1} << 61;
  EXPECT_THAT(message_of<UserError>([&] { Buffer<double>{cpu, {many}}; }), HasSubstr("more bytes than 64 bits"));
}

}  // namespace
}  // namespace samite
