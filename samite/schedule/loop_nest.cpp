#include "samite/schedule/loop_nest.h"

#include <algorithm>

namespace samite::schedules {

namespace {
constexpr int none = -1;
}

int LoopNest::open(NestLine line) {
  if (silent_ > 0) return none;
  const int number = static_cast<int>(lines_.size());
  const int parent = open_.empty() ? none : open_.back();
  (parent == none ? top_ : lines_[static_cast<std::size_t>(parent)].inside).push_back(number);
  lines_.push_back({std::move(line), parent});
  open_.push_back(number);
  return number;
}

int LoopNest::open_heading(NestLine line) {
  const int number = open(std::move(line));
  if (number != none) lines_.back().heading = true;
  return number;
}

std::vector<NestLine> LoopNest::headings(int line) const {
  std::vector<NestLine> found;
  for (auto inside = std::ranges::find(open_, line); inside != open_.end(); ++inside)
    if (const Line &of = lines_[static_cast<std::size_t>(*inside)]; of.heading) found.push_back(of.line);
  return found;
}

void LoopNest::close(int line) {
  const auto found = std::ranges::find(open_, line);
  if (line != none) open_.erase(found, open_.end());
}

void LoopNest::rename(int line, std::string text) {
  if (line != none) lines_[static_cast<std::size_t>(line)].line.text = std::move(text);
}

void LoopNest::forget(int line) {
  if (line == none) return;
  close(line);
  const int parent = lines_[static_cast<std::size_t>(line)].parent;
  std::erase(parent == none ? top_ : lines_[static_cast<std::size_t>(parent)].inside, line);
}

void LoopNest::is_loop(int line, ir::LocalId index) {
  if (line != none) loops_[index] = line;
}

void LoopNest::add_barriers(const ir::Block &body) {
  bool waits = false;
  find_barriers(body, waits);
}

// A barrier is attributed to the next loop.
void LoopNest::find_barriers(const ir::Block &block, bool &waits) {
  for (const ir::Stmt &stmt : block) {
    if (stmt.as<ir::Barrier>()) waits = true;
    if (const ir::For *loop = stmt.as<ir::For>()) {
      if (waits && put_barrier(loop->index)) waits = false;
      find_barriers(loop->body, waits);
    }
    if (const ir::If *branch = stmt.as<ir::If>()) {
      // The other block repeats the same lines.
      bool again = waits;
      find_barriers(branch->then_block, waits);
      find_barriers(branch->else_block, again);
    }
  }
}

bool LoopNest::put_barrier(ir::LocalId loop) {
  const auto found = loops_.find(loop);
  if (found == loops_.end()) return false;
  // Skips headings.
  int line = found->second;
  for (int parent; (parent = lines_[static_cast<std::size_t>(line)].parent) != none;) {
    const Line &around = lines_[static_cast<std::size_t>(parent)];
    if (around.inside.front() != line || !around.heading) break;
    line = parent;
  }
  lines_[static_cast<std::size_t>(line)].barrier_before = true;
  return true;
}

std::vector<NestLine> LoopNest::lines() const {
  std::vector<NestLine> written;
  write(top_, 0, written);
  return written;
}

void LoopNest::write(const std::vector<int> &lines, int depth, std::vector<NestLine> &written) const {
  for (const int number : lines) {
    const Line &line = lines_[static_cast<std::size_t>(number)];
    if (line.heading && line.inside.empty()) continue;
    if (line.barrier_before) written.push_back({"barrier", {}, depth});
    written.push_back({line.line.text, line.line.func, depth});
    write(line.inside, depth + 1, written);
  }
}

std::string to_string(const std::vector<NestLine> &lines) {
  std::string text;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const bool opens = i + 1 < lines.size() && lines[i + 1].depth > lines[i].depth;
    text += std::string(2 * static_cast<std::size_t>(lines[i].depth), ' ') + lines[i].text + (opens ? ":\n" : "\n");
  }
  return text;
}

}  // namespace samite::schedules
