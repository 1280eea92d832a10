#include "samite/distributed.h"
#include "samite/samite.h"

#include "tests/distributed/ranks.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace samite::test::files {
namespace {

using testing::AllOf;
using testing::Each;
using testing::HasSubstr;

class GridFile : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directory(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path folder_ = std::filesystem::temp_directory_path() / ("samite-npy-" + std::to_string(::getpid()));
  std::string path_ = folder_ / "grid.npy";
};

double value_at(std::int64_t y, std::int64_t x) { return static_cast<double>(100 * y + x); }

template <class T>
void write_grid(const Communicator &ranks, const Extents &extents, const std::string &path) {
  const Grid grid{ranks, extents, {.ghosts = {1, 2}}};
  const auto array = grid.array<T>();
  Buffer<T>(array).fill(T(77));
  Buffer<T> inside = grid.without_ghosts(array);
  for (std::int64_t y = 0; y < grid.block()[0]; ++y)
    for (std::int64_t x = 0; x < grid.block()[1]; ++x)
      inside.set({y, x}, static_cast<T>(value_at(grid.begin()[0] + y, grid.begin()[1] + x)));
  write_npy(grid, array, path);
}

template <class T>
void expect_grid(const Communicator &ranks, const Extents &extents, const std::string &path) {
  const Grid grid{ranks, extents};
  const auto array = grid.array<T>();
  Buffer<T>(array).fill(T(88));
  read_npy(grid, array, path);
  const Buffer<T> inside = grid.without_ghosts(array);
  for (std::int64_t y = 0; y < grid.block()[0]; ++y)
    for (std::int64_t x = 0; x < grid.block()[1]; ++x)
      EXPECT_EQ(inside.at(y, x), static_cast<T>(value_at(grid.begin()[0] + y, grid.begin()[1] + x)));
  EXPECT_EQ(array.at(0, 0), T(88)) << "ghosts are left as they are";
}

TEST_F(GridFile, IsReadByAnotherNumberOfRanks) {
  const Extents extents{9, 14};
  EXPECT_THAT(errors_of_ranks(4, [&](const Communicator &ranks) { write_grid<double>(ranks, extents, path_); }),
              Each(""));
  for (const int size : {1, 3, 6})
    EXPECT_THAT(errors_of_ranks(size, [&](const Communicator &ranks) { expect_grid<double>(ranks, extents, path_); }),
                Each(""));
  EXPECT_THAT(errors_of_ranks(2, [&](const Communicator &ranks) { write_grid<std::int16_t>(ranks, extents, path_); }),
              Each(""));
  EXPECT_THAT(errors_of_ranks(3, [&](const Communicator &ranks) { expect_grid<std::int16_t>(ranks, extents, path_); }),
              Each(""));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1) << "no other file is left";
}

TEST_F(GridFile, IsNumPys) {
  EXPECT_THAT(errors_of_ranks(2, [&](const Communicator &ranks) { write_grid<float>(ranks, {4, 6}, path_); }),
              Each(""));
  std::ifstream file(path_, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(file)), {});
  EXPECT_EQ(bytes.size(), 128 + 4 * 24u);
  EXPECT_EQ(bytes.substr(0, 10), std::string("\x93NUMPY\x01\x00\x76\x00", 10));
  EXPECT_THAT(bytes, HasSubstr("{'descr': '<f4', 'fortran_order': False, 'shape': (4, 6), }"));
  EXPECT_EQ(bytes[127], '\n');
}

TEST_F(GridFile, RefusesOnAllRanks) {
  const Extents extents{4, 6};
  EXPECT_THAT(errors_of_ranks(2, [&](const Communicator &ranks) { write_grid<float>(ranks, extents, path_); }),
              Each(""));
  const auto errors = [&](const Extents &other, const auto &zero) {
    return errors_of_ranks(
        2, [&](const Communicator &ranks) { expect_grid<std::remove_cvref_t<decltype(zero)>>(ranks, other, path_); });
  };
  EXPECT_THAT(errors({6, 4}, 0.0f), Each(AllOf(HasSubstr("'shape': (4, 6)"), HasSubstr("'shape': (6, 4)"))));
  EXPECT_THAT(errors(extents, 0.0), Each(HasSubstr("'descr': '<f4'")));
  std::filesystem::resize_file(path_, 150);
  EXPECT_THAT(errors(extents, 0.0f), Each(HasSubstr("ends after 150 bytes, of 224")));
  for (const std::uintmax_t size : {9, 60, 127}) {
    std::filesystem::resize_file(path_, size);
    EXPECT_THAT(errors(extents, 0.0f), Each(testing::AnyOf(HasSubstr("no file of NumPy's"), HasSubstr("its header"))));
  }
  std::filesystem::resize_file(path_, 0);
  EXPECT_THAT(errors(extents, 0.0f), Each(HasSubstr("no file of NumPy's")));
  std::filesystem::remove(path_);
  EXPECT_THAT(errors(extents, 0.0f), Each(HasSubstr("No such file")));
  EXPECT_THAT(errors_of_ranks(
                  2, [&](const Communicator &ranks) { write_grid<float>(ranks, extents, folder_ / "none" / "x.npy"); }),
              testing::ElementsAre(HasSubstr("No such file"), HasSubstr("rank 0 has failed")));
  EXPECT_THAT(errors_of_ranks(2, [&](const Communicator &ranks) { write_grid<bfloat16>(ranks, extents, path_); }),
              Each(HasSubstr("NumPy has no type")));
}

}  // namespace
}  // namespace samite::test::files
