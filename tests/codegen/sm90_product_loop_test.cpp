// The main loops of compute capability 9.0 on the host, with copies and products as late as possible: compared with
// sums in double.
#include "tests/codegen/cuda_on_host.h"
#include "tests/codegen/sm90_on_host.h"
#include "tests/codegen/sm90_product_test.h"

#include <samite/base/scalar_type.h>

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <type_traits>

namespace samite::test {
namespace {

// The arguments of the text's kernel.
struct ProductArguments {
  TensorMapOnHost a, b;
  void *c;
  int tiles_across, columns, steps, limit;
};

CudaTextOnHost product_on_host(const GroupProductShape &shape) {
  return {group_product_text(shape) + fmt::format(R"(
namespace samite {{
struct ProductArguments {{
  TensorMap a, b;
  {sum} *c;
  i32 tiles_across, columns, steps, limit;
}};
void kernel(const void *given) {{
  const auto &own = *static_cast<const ProductArguments *>(given);
  product_of_block(&own.a, &own.b, own.c, i32(blockIdx.x) / own.tiles_across * {height},
                   i32(blockIdx.x) % own.tiles_across * {columns}, own.columns, own.steps, own.limit);
}}
}}  // namespace samite
)",
                                                  fmt::arg("sum", shape.sum), fmt::arg("columns", shape.columns),
                                                  fmt::arg("height", shape.rows * (shape.roles ? 2 : 1))),
          "kernel"};
}

// Values that each type holds exactly, few of them zero.
template <class T>
std::vector<T> small_values(std::int64_t count, unsigned seed) {
  std::mt19937 engine(seed);
  std::vector<T> values(static_cast<std::size_t>(count));
  for (T &value : values) value = T(static_cast<float>(std::uniform_int_distribution<int>(0, 7)(engine)));
  return values;
}

// NaN, or a number that shows.
template <class T>
T no_number() {
  if constexpr (std::is_integral_v<T>)
    return T(99);
  else
    return T(std::numeric_limits<float>::quiet_NaN());
}
// From index `first` of a dimension on.
template <class T>
void leave_no_numbers(std::vector<T> &values, std::int64_t columns, bool of_rows, std::int64_t first) {
  for (std::size_t at = 0; at < values.size(); ++at) {
    const auto place = static_cast<std::int64_t>(at);
    if ((of_rows ? place / columns : place % columns) >= first) values[at] = no_number<T>();
  }
}

// A matrix with rows of whole units of 16 bytes; boxes are copied.
template <class T>
TensorMapOnHost map_of(const std::vector<T> &values, std::int64_t rows, std::int64_t columns, int box_rows,
                       bool rounds = false) {
  return {values.data(),
          sizeof(T),
          {static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(columns)},
          {static_cast<std::uint64_t>(columns) * sizeof(T)},
          {static_cast<std::uint64_t>(box_rows), 128 / sizeof(T)},
          rounds};
}

// The factors end within the last tiles; `terms` may be 0. If they are limited, the factors have more, and the loop has
// a step that uses none of them.
template <class T, class C = float>
void expect_product(const CudaTextOnHost &kernel, const GroupProductShape &shape, std::int64_t rows,
                    std::int64_t columns, std::int64_t terms, ThreadOrder order = {}) {
  SCOPED_TRACE(testing::Message() << shape.kind << ' ' << rows << ' ' << columns << ' ' << terms << ' '
                                  << shape.transposed_a << shape.transposed_b << shape.roles);
  const auto held = std::max<std::int64_t>(shape.limited ? (terms / 16 + 3) * 16 : terms, 16);
  auto a = small_values<T>(rows * held, 1), b = small_values<T>(columns * held, 2);
  if (shape.limited) {
    leave_no_numbers(a, shape.transposed_a ? rows : held, shape.transposed_a, terms);
    leave_no_numbers(b, shape.transposed_b ? held : columns, !shape.transposed_b, terms);
  }
  const int height = shape.rows * (shape.roles ? 2 : 1);
  const auto down = static_cast<int>((rows + height - 1) / height),
             across = static_cast<int>((columns + shape.columns - 1) / shape.columns);
  std::vector<C> c(static_cast<std::size_t>(down * height * across * shape.columns), C(1));
  const ProductArguments arguments{
      shape.transposed_a ? map_of(a, held, rows, shape.box_rows_of_a()) : map_of(a, rows, held, shape.box_rows_of_a()),
      shape.transposed_b ? map_of(b, columns, held, shape.box_rows_of_b())
                         : map_of(b, held, columns, shape.box_rows_of_b()),
      c.data(),
      across,
      across * shape.columns,
      static_cast<int>((terms + shape.terms - 1) / shape.terms) + (shape.limited ? 1 : 0),
      static_cast<int>(terms)};
  kernel.run(static_cast<unsigned>(down * across), static_cast<unsigned>(shape.threads()), &arguments, order,
             shape.clusters() ? 2 : 1);
  const std::vector<double> left(a.begin(), a.end()), right(b.begin(), b.end());
  for (std::int64_t i = 0; i < down * height; ++i)
    for (std::int64_t j = 0; j < across * shape.columns; ++j) {
      double sum = 1;
      for (std::int64_t k = 0; i < rows && j < columns && k < terms; ++k)
        sum += left[static_cast<std::size_t>(shape.transposed_a ? k * rows + i : i * held + k)] *
               right[static_cast<std::size_t>(shape.transposed_b ? j * held + k : k * columns + j)];
      ASSERT_EQ(static_cast<double>(c[static_cast<std::size_t>(i * across * shape.columns + j)]), sum) << i << ' ' << j;
    }
}

TEST(Sm90ProductLoop, BothFactorsEitherWay) {
  GroupProductShape shape{.rows = 64, .columns = 64, .terms = 64, .stages = 2, .down = 1};
  for (const bool a : {false, true})
    for (const bool b : {false, true}) {
      shape.transposed_a = a, shape.transposed_b = b;
      const CudaTextOnHost kernel = product_on_host(shape);
      for (const int terms : {0, 16, 64, 136, 256}) expect_product<bfloat16>(kernel, shape, 56, 72, terms);
    }
}

TEST(Sm90ProductLoop, SeveralGroupsAndPieces) {
  const GroupProductShape shapes[] = {
      {.kind = "WgmmaF16", .rows = 256, .columns = 8, .stages = 2, .transposed_b = true},
      {.rows = 64, .columns = 128, .stages = 2, .down = 1, .across = 2}};
  expect_product<half>(product_on_host(shapes[0]), shapes[0], 256, 8, 200);
  expect_product<bfloat16>(product_on_host(shapes[1]), shapes[1], 64, 128, 200);
}

TEST(Sm90ProductLoop, OtherTypes) {
  GroupProductShape shape{.rows = 64, .columns = 24, .stages = 2, .down = 1, .transposed_b = true};
  shape.kind = "WgmmaTF32", shape.element = "f32", shape.bytes = 4, shape.terms = 32;
  expect_product<float>(product_on_host(shape), shape, 64, 24, 100);
  shape.kind = "WgmmaE4M3", shape.element = "u8", shape.bytes = 1, shape.terms = 128;
  expect_product<f8e4m3>(product_on_host(shape), shape, 64, 24, 272);
  shape.kind = "WgmmaI8", shape.sum = "i32";
  expect_product<std::int8_t, int>(product_on_host(shape), shape, 64, 24, 272);
}

// Fewer rows than the instructions take: the memory after a is read, without effect.
TEST(Sm90ProductLoop, FewRows) {
  using Kind = ThreadOrder::Kind;
  for (const int rows : {8, 24, 56})
    for (const bool roles : {false, true}) {
      const GroupProductShape shape{
          .rows = rows, .columns = 64, .stages = 3, .down = 1, .transposed_b = rows != 24, .roles = roles};
      const CudaTextOnHost kernel = product_on_host(shape);
      for (const int terms : {0, 64, 200}) expect_product<bfloat16>(kernel, shape, rows - 3, 60, terms);
      for (const ThreadOrder order : {ThreadOrder{Kind::FirstToLast}, {Kind::LastToFirst}, {Kind::Random, 5}})
        expect_product<bfloat16>(kernel, shape, 2 * rows, 100, 330, order);
    }
}

// Terms of b of 32 bits, one after another or not.
TEST(Sm90ProductLoop, TurnedProducts) {
  using Kind = ThreadOrder::Kind;
  GroupProductShape of_64_terms = turned_product(32, 64, 2, 1);
  of_64_terms.terms = 64;
  for (GroupProductShape shape : {turned_product(8, 64, 1, 1), turned_product(24, 192, 1, 1),
                                  turned_product(64, 128, 1, 2), of_64_terms, turned_product(256, 128, 1, 2)})
    for (const auto &[roles, together] : {std::pair{false, false}, {false, true}, {true, false}, {true, true}}) {
      shape.stages = 2, shape.roles = roles, shape.transposed_b = together;
      const CudaTextOnHost kernel = product_on_host(shape);
      for (const int terms : {0, 16, shape.terms, 2 * shape.terms + 4, 300})
        expect_product<float>(kernel, shape, shape.rows - 1, shape.columns - 4, terms);
      for (const ThreadOrder order : {ThreadOrder{Kind::FirstToLast}, {Kind::LastToFirst}, {Kind::Random, 7}})
        expect_product<float>(kernel, shape, 2 * shape.rows, shape.columns + 8, 5 * shape.terms, order);
    }
}

TEST(Sm90ProductLoop, TurnedProductsOfACluster) {
  GroupProductShape shape = turned_product(64, 64, 1, 1);
  shape.stages = 2, shape.roles = true;
  for (const bool a : {false, true})
    for (const bool together : {false, true}) {
      shape.shares_a = a, shape.shares_b = !a, shape.transposed_b = together;
      const CudaTextOnHost kernel = product_on_host(shape);
      for (const int terms : {0, 16, 328}) expect_product<float>(kernel, shape, a ? 100 : 200, a ? 104 : 64, terms);
    }
}

// None, a part of a unit of 16 bytes, a whole one, and all of a step, for factors in either orientation.
TEST(Sm90ProductLoop, LimitedTerms) {
  using Kind = ThreadOrder::Kind;
  for (const bool roles : {false, true})
    for (const bool a : {false, true})
      for (const bool b : {false, true}) {
        const GroupProductShape shape{.rows = 128,
                                      .columns = 64,
                                      .stages = 2,
                                      .transposed_a = a,
                                      .transposed_b = b,
                                      .roles = roles,
                                      .limited = true};
        const CudaTextOnHost kernel = product_on_host(shape);
        for (const int terms : {0, 1, 7, 8, 9, 63, 64, 72, 129})
          expect_product<bfloat16>(kernel, shape, 120, 64, terms);
        for (const ThreadOrder order : {ThreadOrder{Kind::FirstToLast}, {Kind::LastToFirst}, {Kind::Random, 3}})
          expect_product<bfloat16>(kernel, shape, 200, 72, 77, order);
      }
}

TEST(Sm90ProductLoop, LimitedTermsOfOtherTypes) {
  GroupProductShape shape{.rows = 64, .columns = 24, .stages = 2, .down = 1, .transposed_b = true};
  shape.limited = true;
  shape.kind = "WgmmaTF32", shape.element = "f32", shape.bytes = 4, shape.terms = 32;
  for (const int terms : {3, 37, 61}) expect_product<float>(product_on_host(shape), shape, 64, 24, terms);
  shape.kind = "WgmmaE4M3", shape.element = "u8", shape.bytes = 1, shape.terms = 128;
  for (const int terms : {3, 145}) expect_product<f8e4m3>(product_on_host(shape), shape, 64, 24, terms);
  shape.kind = "WgmmaI8", shape.sum = "i32";
  expect_product<std::int8_t, int>(product_on_host(shape), shape, 64, 24, 145);
  GroupProductShape turned = turned_product(64, 128, 1, 2);
  turned.stages = 2, turned.limited = true;
  for (const bool together : {false, true}) {
    turned.transposed_b = together;
    for (const int terms : {3, 37}) expect_product<float>(product_on_host(turned), turned, 64, 128, terms);
  }
}

TEST(Sm90ProductLoop, LimitedTermsOfACluster) {
  GroupProductShape shape{.rows = 64, .columns = 64, .stages = 2, .down = 1, .roles = true, .limited = true};
  for (const bool shares_a : {false, true}) {
    shape.shares_a = shares_a, shape.shares_b = !shares_a;
    const CudaTextOnHost kernel = product_on_host(shape);
    for (const int terms : {5, 131})
      expect_product<bfloat16>(kernel, shape, shares_a ? 100 : 200, shares_a ? 104 : 64, terms);
  }
}

TEST(Sm90ProductLoop, WhoeverRunsFirst) {
  using Kind = ThreadOrder::Kind;
  for (const bool roles : {false, true}) {
    const GroupProductShape shape{.rows = 128, .columns = 8, .stages = 3, .transposed_b = true, .roles = roles};
    const CudaTextOnHost kernel = product_on_host(shape);
    for (const ThreadOrder order : {ThreadOrder{Kind::FirstToLast}, {Kind::LastToFirst}, {Kind::Random, 3}})
      expect_product<bfloat16>(kernel, shape, 200, 8, 600, order);
    for (const int terms : {0, 64, 144}) expect_product<bfloat16>(kernel, shape, 256, 8, terms);
  }
}

// Two blocks that share b lie one above the other, two that share a side by side; both may share both.
TEST(Sm90ProductLoop, BlocksOfAClusterShareWindows) {
  using Kind = ThreadOrder::Kind;
  GroupProductShape shape{.rows = 64, .columns = 64, .stages = 2, .down = 1, .roles = true};
  for (const bool a : {false, true})
    for (const bool b : {false, true}) {
      shape.transposed_a = a, shape.transposed_b = b;
      shape.shares_a = false, shape.shares_b = true;
      const CudaTextOnHost above = product_on_host(shape);
      for (const ThreadOrder order : {ThreadOrder{Kind::FirstToLast}, {Kind::LastToFirst}, {Kind::Random, 3}})
        expect_product<bfloat16>(above, shape, 200, 64, 328, order);
      for (const int terms : {0, 16, 64}) expect_product<bfloat16>(above, shape, 512, 24, terms);
      shape.shares_a = true, shape.shares_b = false;
      const CudaTextOnHost beside = product_on_host(shape);
      for (const ThreadOrder order : {ThreadOrder{Kind::FirstToLast}, {Kind::LastToFirst}, {Kind::Random, 4}})
        expect_product<bfloat16>(beside, shape, 100, 104, 328, order);
    }
}

TEST(Sm90ProductLoop, ClustersOfSeveralGroupsAndTypes) {
  GroupProductShape shape{.rows = 128, .columns = 32, .stages = 3, .transposed_b = true, .roles = true};
  shape.shares_b = true;
  for (const unsigned seed : {1u, 2u})
    expect_product<bfloat16>(product_on_host(shape), shape, 500, 32, 600, {ThreadOrder::Kind::Random, seed});
  shape.kind = "WgmmaTF32", shape.element = "f32", shape.bytes = 4, shape.terms = 32;
  expect_product<float>(product_on_host(shape), shape, 300, 20, 100);
}

}  // namespace
}  // namespace samite::test
