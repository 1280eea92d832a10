// Matrices from triplets and from files.
#include "tests/runtime/message_of.h"
#include "tests/solve/systems.h"

#include <gmock/gmock.h>

#include <sstream>

namespace samite::test {
namespace {

using namespace systems;
using solvers::Assembly;
using solvers::SparseMatrix;
using testing::ElementsAre;
using testing::HasSubstr;

using Indices = std::vector<std::int32_t>;

Buffer<std::int32_t> indices_of(const Indices &indices) { return {device(), {indices.size()}, indices}; }

struct Triplets {
  Indices rows, columns;
  Numbers values;
};

Triplets random_triplets(std::size_t rows, std::size_t columns, std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  Triplets triplets;
  for (std::size_t k = 0; k < count; ++k) {
    triplets.rows.push_back(static_cast<std::int32_t>(random() % rows));
    triplets.columns.push_back(static_cast<std::int32_t>(random() % columns));
    triplets.values.push_back(static_cast<double>(random() % 17) - 8);
  }
  return triplets;
}

TEST(Assembly, AddsUpTriplets) {
  for (const std::size_t count : {0u, 1u, 40u, 500u}) {
    SCOPED_TRACE(count);
    const Triplets triplets = random_triplets(9, 13, count, 1);
    Dense expected(9, 13);
    for (std::size_t k = 0; k < count; ++k)
      expected.at(static_cast<std::size_t>(triplets.rows[k]), static_cast<std::size_t>(triplets.columns[k])) +=
          triplets.values[k];
    const Assembly assembly(9, 13, indices_of(triplets.rows), indices_of(triplets.columns));
    const SparseMatrix a = assembly.assemble(on_device(triplets.values));
    EXPECT_EQ(Buffer<double>(to_dense(a)).to_vector(), expected.values);
    EXPECT_LE(a.entries(), 9 * 13);
    EXPECT_EQ(a.entries(), assembly.entries());
  }
}

TEST(Assembly, AgainIntoTheSameMatrix) {
  const Assembly assembly(2, 2, indices_of({1, 0, 1}), indices_of({0, 1, 0}));
  const SparseMatrix a = assembly.assemble(on_device({1, 2, 3}));
  EXPECT_THAT(Buffer<double>(a.values()).to_vector(), ElementsAre(2, 4));
  assembly.assemble(on_device({10, 20, 30}), a);
  EXPECT_THAT(Buffer<double>(a.values()).to_vector(), ElementsAre(20, 40));
}

TEST(Assembly, OfBlocks) {
  const Assembly assembly(4, 6, indices_of({1, 0, 1}), indices_of({1, 0, 1}), {2, 3});
  const Buffer<float> values(device(), {3, 2, 3},
                             std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 1, 1, 1, 1, 1, 1});
  EXPECT_THAT(Buffer<float>(to_dense(assembly.assemble(values))).to_vector(),
              ElementsAre(7, 8, 9, 0, 0, 0, 1, 2, 3, 0, 0, 0, 0, 0, 0, 2, 3, 4, 0, 0, 0, 5, 6, 7));
}

TEST(Assembly, GradientsGoBackToTriplets) {
  const Triplets triplets = random_triplets(5, 5, 30, 2);
  const Assembly assembly(5, 5, indices_of(triplets.rows), indices_of(triplets.columns));
  Buffer<double> values = on_device(triplets.values), x = on_device(random_numbers(5, 3)), y = on_device(Numbers(5));
  const GradientReport report = gradcheck([&] { multiply(assembly.assemble(values), x, y); }, {values, x}, {y});
  EXPECT_TRUE(report.passed) << report;
}

TEST(Assembly, RefusesWrongTriplets) {
  const auto assemble = [](const Indices &rows, const Indices &columns) {
    return message_of<UserError>([&] { Assembly(3, 4, indices_of(rows), indices_of(columns)); });
  };
  EXPECT_THAT(assemble({0, 3}, {0, 0}), HasSubstr("row indices of 0 to 2 are expected, they go from 0 to 3"));
  EXPECT_THAT(assemble({0, 1}, {0, -2}), HasSubstr("column indices of 0 to 3 are expected, they go from -2 to 0"));
  EXPECT_THAT(assemble({0, 1}, {0}), HasSubstr("column indices is a vector of 2"));
  const Assembly assembly(3, 4, indices_of({0}), indices_of({1}));
  EXPECT_THAT(message_of<UserError>([&] { assembly.assemble(on_device({1, 2})); }), HasSubstr("values (1)"));
  EXPECT_THAT(message_of<UserError>([&] { assembly.assemble(on_device({1}), sparse(tridiagonal(3, 2))); }),
              HasSubstr("a matrix that this assembly has made"));
}

SparseMatrix read_text(const std::string &text) {
  std::istringstream stream(text);
  return solvers::read_matrix_market(stream, "a.mtx", device());
}

TEST(MatrixMarket, ReadsEveryKind) {
  const auto dense = [](const std::string &text) { return Buffer<double>(to_dense(read_text(text))).to_vector(); };
  EXPECT_THAT(dense("%%MatrixMarket matrix coordinate real general\n% a comment\n\n2 3 2\n1 3 1.5e1\n2 1 -2\n"),
              ElementsAre(0, 0, 15, -2, 0, 0));
  EXPECT_THAT(dense("%%MatrixMarket MATRIX Coordinate integer symmetric\n2 2 2\n1 1 3\n2 1 4\n"),
              ElementsAre(3, 4, 4, 0));
  EXPECT_THAT(dense("%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n2 1 4\n"), ElementsAre(0, -4, 4, 0));
  EXPECT_THAT(dense("%%MatrixMarket matrix coordinate pattern general\n1 2 1\n1 2\n"), ElementsAre(0, 1));
}

TEST(MatrixMarket, WritesWhatItReads) {
  for (const solvers::BlockExtents block : {solvers::BlockExtents{1, 1}, solvers::BlockExtents{2, 3}}) {
    const Dense dense = random_dense(6, 9, 0.3, 0, 4);
    std::ostringstream text;
    write_matrix_market(text, sparse(dense, block));
    EXPECT_EQ(Buffer<double>(to_dense(read_text(text.str()))).to_vector(), dense.values);
  }
}

TEST(MatrixMarket, NamesTheLineOfAMistake) {
  const std::string head = "%%MatrixMarket matrix coordinate real general\n";
  const auto message = [](const std::string &text) { return message_of<UserError>([&] { read_text(text); }); };
  EXPECT_THAT(message("nonsense\n"), HasSubstr("a.mtx:1: \"%%MatrixMarket matrix coordinate …\" is expected"));
  EXPECT_THAT(message("%%MatrixMarket matrix coordinate complex general\n"), HasSubstr("\"complex\" is given"));
  EXPECT_THAT(message(head + "2 2\n"), HasSubstr("a.mtx:2: the numbers of rows"));
  EXPECT_THAT(message(head + "2 2 1\n3 1 1\n"), HasSubstr("a.mtx:3: an entry at (3, 1) is outside of 2 x 2"));
  EXPECT_THAT(message(head + "2 2 1\n1 1\n"), HasSubstr("a number is expected"));
  EXPECT_THAT(message(head + "2 2 2\n1 1 1\n"), HasSubstr("a.mtx:4: the file ends here"));
  EXPECT_THAT(message_of<UserError>([] { solvers::read_matrix_market("/none.mtx", device()); }),
              HasSubstr("cannot be read from /none.mtx"));
}

}  // namespace
}  // namespace samite::test
