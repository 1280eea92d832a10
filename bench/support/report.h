// The results of a benchmark: JSON lines for programs on standard output, a table for people on standard error.
//
// If the environment names a file in SAMITE_BENCH_RESULTS, the lines are appended to it as well; a new file begins with
// a line about the machine.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace samite::bench {

// All figures are times, ours and the peer's in the same unit: less is better.
struct Figure {
  std::string name;    // the case: the work and its size
  std::string metric;  // "time of a launch"
  double value = 0;
  std::string unit;
  std::string peer;  // the name of the peer
  double peer_value = 0;
  std::string rate = {};  // ours in other words: "41.3 TFLOP/s"

  // The peer's time over ours: above 1, Samite is faster.
  double ratio() const { return peer_value / value; }
};

// The target of a figure; 0 if there is none.
struct Reach {
  double value_at_most = 0, ratio_at_least = 0;

  bool reached_by(const Figure &figure) const;
  std::string to_string() const;  // "≤ 60", "ratio ≥ 0.95", or ""
};

class Report {
 public:
  explicit Report(std::string bench) : bench_(std::move(bench)) {}

  // Prints the figure's line at once, so that a later failure loses nothing.
  void add(const Figure &figure, const Reach &reach = {});
  // A line of prose below the table.
  void note(const std::string &text) { notes_.push_back(text); }
  void print_table() const;

 private:
  struct Row {
    Figure figure;
    Reach reach;
  };
  std::string bench_;
  std::vector<Row> rows_;
  std::vector<std::string> notes_;
};

// The result of main(): runs `body`, prints the table. 1 if `body` throws; a missed target is no failure.
int run(const std::string &bench, const std::function<void(Report &)> &body);

// Throws std::runtime_error unless the two agree within `tolerance`. A time for a wrong result is worth nothing.
void require_close(double value, double expected, double tolerance, const std::string &what);

}  // namespace samite::bench
