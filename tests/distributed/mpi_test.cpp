// Programs of several processes, by each MPI that is installed.
#include <gmock/gmock.h>

#include <array>
#include <cstdio>
#include <string>

namespace samite::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class Mpi : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (output_of("which mpirun." + GetParam()).empty()) GTEST_SKIP() << "no mpirun." << GetParam();
  }

  static std::string output_of(const std::string &command) {
    std::string output;
    std::FILE *pipe = ::popen((command + " 2>&1").c_str(), "r");
    std::array<char, 4096> part{};
    while (std::fgets(part.data(), static_cast<int>(part.size()), pipe)) output += part.data();
    ::pclose(pipe);
    return output;
  }

  // The ranks' output.
  // `survives`: mpirun lets the other ranks run on when one of them dies; Open MPI only.
  std::string ranks(int count, const std::string &what, bool survives = false) const {
    const bool open = GetParam() == "openmpi";
    std::string options = open ? " --allow-run-as-root --oversubscribe --mca btl_base_warn_component_unused 0" : "";
    if (survives) options += " --enable-recovery";
    return output_of(
        "timeout 120 env OMPI_MCA_btl=self,vader,tcp OMPI_MCA_rmaps_base_oversubscribe=1 OMP_NUM_THREADS=1 "
        // For sanitizers: UCX, on which MPICH is built, replaces malloc; MPI keeps memory to the end and is not
        // instrumented.
        "UCX_MEM_EVENTS=n ASAN_OPTIONS=detect_leaks=0 TSAN_OPTIONS=ignore_noninstrumented_modules=1 "
        "mpirun." +
        GetParam() + options + " -n " + std::to_string(count) + " " SAMITE_TEST_PROGRAMS "/mpi_ranks " + what);
  }
};

void expect_all_ok(const std::string &output, int count) {
  for (int rank = 0; rank < count; ++rank)
    EXPECT_THAT(output, HasSubstr("rank " + std::to_string(rank) + " of " + std::to_string(count) + ": ok\n"));
}

TEST_P(Mpi, CollectivesAndTheirGradientsOfFourProcesses) { expect_all_ok(ranks(4, "cases"), 4); }
TEST_P(Mpi, CollectivesInTheOrderOfRanks) { expect_all_ok(ranks(3, "deterministic"), 3); }
TEST_P(Mpi, CollectivesWithATimeout) { expect_all_ok(ranks(2, "timeout"), 2); }

TEST_P(Mpi, GhostsTravelBesideTheInteriorOfSixProcesses) { expect_all_ok(ranks(6, "overlap"), 6); }
TEST_P(Mpi, CollectivesOfEightProcesses) { expect_all_ok(ranks(8, "types"), 8); }

TEST_P(Mpi, EndsWithTheRankThatDies) {
  if (GetParam() == "mpich") GTEST_SKIP() << "MPICH ends the other ranks, whatever its options";
  const std::string output = ranks(3, "dies", true);
  for (const int rank : {0, 2})
    EXPECT_THAT(output, AllOf(HasSubstr("rank " + std::to_string(rank) + " of 3: all_reduce (sum) of 4 f32 ("),
                              HasSubstr("waited 500 ms for rank 1")));
}

TEST_P(Mpi, IsMadeAnewWhenALateRankComes) { expect_all_ok(ranks(3, "anew"), 3); }

TEST_P(Mpi, NamesTheRankThatIsMissing) {
  const std::string output = ranks(3, "missing");
  EXPECT_THAT(output, AllOf(HasSubstr("rank 1 of 3: ok"), HasSubstr("rank 0 of 3: all_reduce (sum) of 4 f32 ("),
                            HasSubstr("mpi_ranks.cpp:"), HasSubstr("waited 500 ms for rank 1")));
}

TEST_P(Mpi, FindsCallsThatDiffer) {
  const std::string output = ranks(2, "different");
  EXPECT_THAT(output, AllOf(HasSubstr("rank 0 of 2: all_reduce (sum) of 4 f32"),
                            HasSubstr("is met by broadcast of 4 f32, root 0 ("), HasSubstr("mpi_ranks.cpp:"),
                            HasSubstr(") on rank 1: all ranks"), HasSubstr("is met by all_reduce (sum) of 4 f32 (")));
}

INSTANTIATE_TEST_SUITE_P(Installed, Mpi, testing::Values("openmpi", "mpich"),
                         [](const auto &info) { return info.param; });

}  // namespace
}  // namespace samite::test
