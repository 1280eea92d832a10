#include "samite/schedule/schedule_text.h"

#include "samite/base/error.h"
#include "samite/schedule/algorithm_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>

namespace samite::schedules {
namespace {

using Kind = ir::Directive::Kind;

// A directive and its arguments: another Func, names, numbers.
struct Written {
  const char *name;
  Kind kind;
  bool other = false;  // the first argument is a Func
  bool makes = false;  // it makes a Func
  int names = -1;      // how many there are; -1: any number
  int numbers = 0;
};
constexpr Written written[] = {
    {"split", Kind::split, false, false, 3, 1},
    {"fuse", Kind::fuse, false, false, 3},
    {"reorder", Kind::reorder},
    {"rename", Kind::rename, false, false, 2},
    {"serial", Kind::serial, false, false, 1},
    {"unroll", Kind::unroll, false, false, 1},
    {"vectorize", Kind::vectorize, false, false, 1},
    {"parallel", Kind::parallel, false, false, 1},
    {"compute_inline", Kind::compute_inline, false, false, 0},
    {"compute_root", Kind::compute_root, false, false, 0},
    {"compute_at", Kind::compute_at, true, false, 1},
    {"store_root", Kind::store_root, false, false, 0},
    {"store_at", Kind::store_at, true, false, 1},
    {"store_in", Kind::store_in, false, false, 1},
    {"reorder_storage", Kind::reorder_storage},
    {"pad", Kind::pad, false, false, 1, 1},
    {"fold_storage", Kind::fold_storage, false, false, 1, 1},
    {"bound", Kind::bound, false, false, 1, 2},
    {"align_bounds", Kind::align_bounds, false, false, 1, 1},
    {"atomic", Kind::atomic, false, false, 0},
    {"allow_race_conditions", Kind::allow_race_conditions, false, false, 0},
    {"rfactor", Kind::rfactor, false, true, 2},
    {"in", Kind::in, false, true},
    {"clone_in", Kind::clone_in, false, true, 1},
};

class ScheduleReader {
 public:
  ScheduleReader(ir::CapturedPipeline captured, const std::string &text) : made_(std::move(captured)), text_(text) {}

  ir::CapturedPipeline read() {
    schedule_ = {ir::CapturedSchedule::For::cpu, "cpu", {}, made_.algorithm.where};
    for (skip(); at_ < text_.size(); skip()) statement();
    std::erase_if(made_.schedules, [](const auto &one) { return one.target == ir::CapturedSchedule::For::cpu; });
    made_.schedules.push_back(std::move(schedule_));
    return std::move(made_);
  }

 private:
  [[noreturn]] void refuse(const std::string &why) const {
    const auto line = 1 + std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(at_), '\n');
    throw UserError(made_.algorithm.where,
                    fmt::format("line {} of the schedule of pipeline '{}': {}", line, made_.algorithm.name, why));
  }
  void skip() {
    while (at_ < text_.size()) {
      if (text_.compare(at_, 2, "//") == 0)
        at_ = std::min(text_.find('\n', at_), text_.size());
      else if (std::isspace(static_cast<unsigned char>(text_[at_])))
        ++at_;
      else
        return;
    }
  }
  bool take(char c) {
    skip();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) refuse(fmt::format("'{}' is missing", c));
  }
  static bool is_part(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }
  std::string word() {
    skip();
    const std::size_t begin = at_;
    while (at_ < text_.size() && (is_part(text_[at_]) || text_.compare(at_, 2, "::") == 0))
      at_ += is_part(text_[at_]) ? 1 : 2;
    if (begin == at_) refuse("a name is missing");
    return text_.substr(begin, at_ - begin);
  }

  std::uint32_t func(const std::string &name) const {
    const auto found = std::ranges::find(made_.funcs, name, &ir::Func::name);
    if (found != made_.funcs.end()) return static_cast<std::uint32_t>(found - made_.funcs.begin());
    std::vector<std::string> names;
    for (const ir::Func &one : made_.funcs) names.push_back(one.name);
    refuse(fmt::format("there is no Func '{}'; there are {}", name, fmt::join(names, ", ")));
  }

  std::vector<std::string> arguments() {
    std::vector<std::string> all;
    expect('(');
    while (!take(')')) {
      if (!all.empty()) expect(',');
      skip();
      const bool negative = take('-');
      all.push_back((negative ? "-" : "") + word());
    }
    return all;
  }

  void statement() {
    std::string name = word(), result;
    if (name == "auto" || name == "Stage") {
      result = word();
      expect('=');
      name = word();
    }
    const std::uint32_t of = func(name);
    std::uint32_t definition = 0;
    bool any = false;
    while (take('.')) {
      const std::string call = word();
      const std::vector<std::string> given = arguments();
      if (call == "update")
        definition = given.empty() ? 1 : 1 + static_cast<std::uint32_t>(number(given[0]));
      else
        directive(call, given, of, definition, result);
      any = true;
    }
    if (!any) refuse(fmt::format("nothing is said about '{}'", name));
    expect(';');
  }

  std::int64_t number(const std::string &text) const {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) refuse(fmt::format("'{}' is no number", text));
    return value;
  }

  void directive(const std::string &call, std::vector<std::string> given, std::uint32_t of, std::uint32_t definition,
                 const std::string &result) {
    const auto *form = std::ranges::find(written, call, &Written::name);
    if (form == std::end(written)) refuse(fmt::format("'{}' is no directive for the CPU", call));
    ir::Directive made{form->kind, of, definition};
    made.where = made_.algorithm.where;
    if (!given.empty() && given.back().starts_with("Tail::")) {
      made.tail = tail(given.back());
      given.pop_back();
    }
    const std::size_t others = form->other ? 1 : 0;
    const bool is_count_right = form->names < 0 || given.size() == others + static_cast<std::size_t>(form->names) +
                                                                       static_cast<std::size_t>(form->numbers);
    if (!is_count_right)
      refuse(fmt::format("{} has {} arguments, and {} are given", call,
                         others + static_cast<std::size_t>(form->names + form->numbers), given.size()));
    if (form->other) made.other = func(given[0]);
    const std::size_t names = given.size() - static_cast<std::size_t>(form->numbers);
    for (std::size_t i = others; i < given.size(); ++i) {
      if (i >= names)
        made.numbers.push_back(number(given[i]));
      else if (form->kind == Kind::in || form->kind == Kind::clone_in)
        made.consumers.push_back(func(given[i]));
      else if (form->kind == Kind::store_in)
        made.space = space(given[i]);
      else
        made.names.push_back(given[i]);
    }
    if (form->makes) made.other = new_func(of, result.empty() ? made_.funcs[of].name + "_" + call : result, form->kind);
    schedule_.directives.push_back(std::move(made));
  }

  ir::MemorySpace space(const std::string &text) const {
    if (text == "Memory::registers") return ir::MemorySpace::registers;
    if (text == "Memory::local") return ir::MemorySpace::instance;
    if (text == "Memory::shared") return ir::MemorySpace::shared;
    if (text == "Memory::device") return ir::MemorySpace::device;
    refuse(fmt::format("'{}' is no memory", text));
  }
  ir::Tail tail(const std::string &text) const {
    constexpr std::pair<const char *, ir::Tail> tails[] = {
        {"Tail::automatic", ir::Tail::automatic},
        {"Tail::guard", ir::Tail::guard},
        {"Tail::shift_inwards", ir::Tail::shift_inwards},
        {"Tail::round_up", ir::Tail::round_up},
        {"Tail::predicate", ir::Tail::predicate},
        {"Tail::predicate_loads", ir::Tail::predicate_loads},
        {"Tail::predicate_stores", ir::Tail::predicate_stores},
        {"Tail::shift_inwards_and_blend", ir::Tail::shift_inwards_and_blend},
    };
    for (const auto &[name, value] : tails)
      if (text == name) return value;
    refuse(fmt::format("'{}' is no tail", text));
  }

  std::uint32_t new_func(std::uint32_t of, const std::string &name, Kind kind) {
    if (std::ranges::find(made_.funcs, name, &ir::Func::name) != made_.funcs.end())
      refuse(fmt::format("there is a Func '{}' already", name));
    made_.funcs.push_back(func_of_schedule(made_, of, name, kind));
    return static_cast<std::uint32_t>(made_.funcs.size() - 1);
  }

  ir::CapturedPipeline made_;
  const std::string &text_;
  std::size_t at_ = 0;
  ir::CapturedSchedule schedule_;
};

}  // namespace

ir::Func func_of_schedule(ir::CapturedPipeline &captured, std::uint32_t of, const std::string &name, Kind kind) {
  ir::Func func = captured.funcs[of];
  func.name = name;
  func.of_schedule = true;
  func.output.reset();
  if (kind == Kind::rfactor) ++func.rank;
  func.array = static_cast<std::uint32_t>(captured.algorithm.parameters.size());
  for (std::size_t v = 0; v < func.types.size(); ++v) {
    ir::Parameter parameter;
    parameter.name = func.types.size() == 1 ? name : fmt::format("{}_{}", name, v);
    parameter.type = func.types[v];
    parameter.rank = func.rank;
    captured.algorithm.parameters.push_back(std::move(parameter));
  }
  return func;
}

std::string schedule_text(const ir::CapturedPipeline &captured, const std::string &schedule) {
  std::string text;
  const auto of = std::ranges::find(captured.schedules, schedule, &ir::CapturedSchedule::name);
  if (of == captured.schedules.end()) return text;
  const ir::Directive *before = nullptr;  // whose statement goes on
  for (const ir::Directive &directive : of->directives) {
    const std::string line = to_string(directive, captured);
    const bool makes =
        directive.kind == Kind::in || directive.kind == Kind::clone_in || directive.kind == Kind::rfactor;
    if (before && !makes && before->func == directive.func && before->definition == directive.definition) {
      const std::string stage = captured.funcs[directive.func].name +
                                (directive.definition == 0 ? "" : fmt::format(".update({})", directive.definition - 1));
      text += line.substr(stage.size());
      continue;
    }
    if (before) text += ";\n";
    text += makes ? "auto " + line + ";\n" : line;
    before = makes ? nullptr : &directive;
  }
  if (before) text += ";\n";
  return text;
}

ir::CapturedPipeline with_schedule_text(ir::CapturedPipeline captured, const std::string &text) {
  return ScheduleReader(std::move(captured), text).read();
}

}  // namespace samite::schedules
