#include "loss_curve.h"

#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <stdexcept>
#include <string>

namespace inverse_heat {
namespace {

// As gnuplot quotes a text in single quotes.
std::string quoted(const std::string &text) {
  std::string result = "'";
  for (char c : text) result += c == '\'' ? "''" : std::string(1, c);
  return result + "'";
}

}  // namespace

void write_loss_curve(const std::filesystem::path &path, const std::vector<double> &losses) {
  std::string script = "$loss << EOD\n";
  for (std::size_t i = 0; i < losses.size(); ++i) script += fmt::format("{} {:.9g}\n", i, losses[i]);
  script += "EOD\n";
  script += fmt::format(
      "set terminal pngcairo size 784,420 font 'Sans,11'\n"
      "set output {}\n"
      "set title 'Recovering the image: misfit of its diffusion'\n"
      "set xlabel 'iteration'\n"
      "set ylabel 'sum of squared differences'\n"
      "set logscale y\n"
      "set format y '10^{{%L}}'\n"
      "set grid\n"
      "unset key\n"
      "plot $loss using 1:2 with lines linewidth 2 linecolor rgb '#1f5fa8'\n",
      quoted(path.string()));

  // Without gnuplot the shell behind the pipe ends early, and writing to it would end this program.
  const auto before = std::signal(SIGPIPE, SIG_IGN);
  std::FILE *gnuplot = popen("gnuplot", "w");
  int status = -1;
  if (gnuplot) {
    std::fwrite(script.data(), 1, script.size(), gnuplot);
    status = pclose(gnuplot);
  }
  std::signal(SIGPIPE, before);
  if (status != 0) throw std::runtime_error("gnuplot could not draw " + path.string() + "; is gnuplot-nox installed?");
}

}  // namespace inverse_heat
