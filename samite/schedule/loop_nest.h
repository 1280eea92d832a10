// The loop nest of a lowered pipeline, as the author of its schedule sees it: one loop a line, named after the Func and
// the variable, with the Funcs produced and stored inside it.
//
// Lowering writes the nest while it writes the program: a line when it opens a loop, allocates memory for a Func or
// stores a value. A loop that is written twice, for whole pieces and for the rest, appears once, and so does the body
// of an unrolled loop.
#pragma once

#include "samite/ir/kernel.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace samite::schedules {

// A line, and the Func that it is about, if any.
struct NestLine {
  std::string text;
  std::string func = {};
  int depth = 0;

  friend bool operator==(const NestLine &, const NestLine &) = default;
};

class LoopNest {
 public:
  // Adds a line and returns its number, unless the nest is silenced. Lines that are opened before it is closed are
  // inside it.
  int open(NestLine line);
  int open(std::string text) { return open(NestLine{std::move(text)}); }
  // A heading for the lines inside it; omitted if there are none.
  int open_heading(NestLine line);
  // Closes the lines inside it too; no effect if it is closed already.
  void close(int line);
  void add(NestLine line) { close(open(std::move(line))); }

  // The headings that are open inside the line.
  std::vector<NestLine> headings(int line) const;
  bool silent() const { return silent_ > 0; }

  void rename(int line, std::string text);
  // Removes the line, and all inside it.
  void forget(int line);
  // Marks the line as that of this loop.
  void is_loop(int line, ir::LocalId index);

  // Nothing is added until this is destroyed, because the same lines would be added again.
  class Silence {
   public:
    explicit Silence(LoopNest &nest) : nest_(nest) { ++nest_.silent_; }
    Silence(const Silence &) = delete;
    Silence &operator=(const Silence &) = delete;
    ~Silence() { --nest_.silent_; }

   private:
    LoopNest &nest_;
  };

  // Adds lines for the barriers in a kernel's body, before the loops that they precede.
  void add_barriers(const ir::Block &body);

  // With their depths, without the text's colons and indentation.
  std::vector<NestLine> lines() const;

 private:
  struct Line {
    NestLine line;
    int parent;
    std::vector<int> inside = {};
    bool heading = false;
    bool barrier_before = false;
  };

  void find_barriers(const ir::Block &block, bool &waits);
  bool put_barrier(ir::LocalId loop);
  void write(const std::vector<int> &lines, int depth, std::vector<NestLine> &written) const;

  std::vector<Line> lines_;
  std::vector<int> top_, open_;
  std::map<ir::LocalId, int> loops_;
  int silent_ = 0;
};

// As text, one per line: indented, with a colon if there are lines inside.
std::string to_string(const std::vector<NestLine> &lines);

}  // namespace samite::schedules
