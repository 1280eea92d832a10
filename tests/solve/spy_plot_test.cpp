// Pictures of sparse matrices: the text as it is, and the pixels of the file.
#include "samite/solve/spy_plot.h"

#include "tests/base/temporary_folder.h"
#include "tests/runtime/message_of.h"
#include "tests/solve/systems.h"

#include <gmock/gmock.h>

#include <fstream>
#include <iterator>

namespace samite::test {
namespace {

using namespace systems;
using testing::HasSubstr;

TEST(SpyPlot, OfEachEntry) {
  EXPECT_EQ(spy_plot(sparse(tridiagonal(4, 2))),
            "##\n"
            "###\n"
            " ###\n"
            "  ##\n");
}

TEST(SpyPlot, OfManyEntriesTogether) {
  Dense a(8, 8);
  for (std::size_t i = 0; i < 8; ++i)
    for (std::size_t j = 0; j < 2; ++j) a.at(i, j) = 1;  // two full columns
  a.at(7, 7) = 1;
  EXPECT_EQ(spy_plot(sparse(a), 4), "#\n#  .\n");
  // In blocks zeros are stored, too.
  EXPECT_EQ(spy_plot(sparse(a, {2, 2}), 4), "#\n#  :\n");
}

TEST(SpyPlot, AsAPicture) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "a.png";
  write_spy_plot(sparse(tridiagonal(3, 2)), path);
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(bytes.substr(0, 8), "\x89PNG\r\n\x1a\n");
  EXPECT_EQ(bytes.substr(16, 8), std::string("\0\0\0\3\0\0\0\3", 8));
  // The rows follow the heads of the data: a filter, and three pixels each.
  const std::string dark(1, '\0'), white(1, '\xff');
  const std::string rows = dark + dark + dark + white + dark + dark + dark + dark + dark + white + dark + dark;
  EXPECT_EQ(bytes.substr(bytes.find("IDAT") + 4 + 2 + 5, 12), rows);
}

TEST(SpyPlot, RefusesWhatCannotBeDrawn) {
  EXPECT_THAT(message_of<UserError>([] { spy_plot(sparse(tridiagonal(3, 2)), 0); }), HasSubstr("at least 1 wide"));
  EXPECT_THAT(message_of<UserError>([] { solvers::spy_plot({}); }), HasSubstr("an empty sparse matrix"));
  EXPECT_THAT(message_of<UserError>([] { write_spy_plot(sparse(tridiagonal(3, 2)), "/no/such/folder/a.png"); }),
              HasSubstr("cannot be written"));
}

}  // namespace
}  // namespace samite::test
