// Checks the gradients of random programs: as many as requested, from any seed.
//
//   check_gradients 20000 1     programs, first seed
//
// Prints each wrong gradient, the refusals by reason, and the totals; the exit code is 1 if any was wrong.
#include "tests/autodiff/random_gradient.h"

#include <cstdio>
#include <cstdlib>
#include <map>

int main(int count, char **arguments) {
  unsigned programs = count > 1 ? static_cast<unsigned>(std::atoi(arguments[1])) : 100;
  unsigned first = count > 2 ? static_cast<unsigned>(std::atoi(arguments[2])) : 0;
  int wrong = 0, refused = 0;
  std::map<std::string, int> reasons;
  for (unsigned seed = first; seed < first + programs; ++seed) {
    samite::test::GradientOutcome outcome = samite::test::check_random_gradient(seed);
    if (!outcome.right) {
      ++wrong;
      std::printf("WRONG %s\n", outcome.report.c_str());
      std::fflush(stdout);  // before code that may end the program
    }
    if (!outcome.refusal.empty()) {
      ++refused;
      const auto reason = outcome.refusal.find("the adjoint");
      ++reasons[reason == std::string::npos ? outcome.refusal : outcome.refusal.substr(reason)];
    }
    if (const unsigned done = seed - first + 1; done % 100 == 0)
      std::fprintf(stderr, "\r%u of %u: %d wrong, %d refused", done, programs, wrong, refused);
  }
  for (auto &[reason, times] : reasons) std::printf("%6d refused: %s\n", times, reason.c_str());
  std::printf("\n%u programs: %d wrong, %d refused\n", programs, wrong, refused);
  return wrong != 0;
}
