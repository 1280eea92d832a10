#include "samite/codegen/loop_texts.h"

#include "samite/codegen/emission.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

namespace samite::codegen {
namespace {

bool is_digit_of_name(char c) { return c >= '0' && c <= '9'; }
bool is_in_name(char c) { return is_digit_of_name(c) || c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// The number in `v12`, `a3`, and in `v12_1`, a copy of a local.
std::optional<std::uint32_t> number_of_name(std::string_view name) {
  std::uint32_t number = 0;
  const char *const end = name.data() + name.size();
  const auto [last, error] = std::from_chars(name.data() + 1, end, number);
  if (error != std::errc()) return std::nullopt;
  return last == end || *last == '_' ? std::optional(number) : std::nullopt;
}

// Numbers locals and arrays in the order in which the text names them.
class RenamedLoop {
 public:
  RenamedLoop(std::string_view text, const LoopTexts::Types &types) : types_(types) {
    for (std::size_t i = 0; i < text.size();) {
      std::size_t end = i;
      while (end < text.size() && is_in_name(text[end])) ++end;
      if (end == i)
        body += text[i++];
      else
        body += renamed(text.substr(i, end - i));
      i = std::max(i, end);
    }
  }

  std::string body, parameters, arguments;

 private:
  std::string renamed(std::string_view name) {
    const auto number = name[0] == 'v' || name[0] == 'a' ? number_of_name(name) : std::nullopt;
    if (!number) return std::string(name);
    const bool is_array = name[0] == 'a';
    auto &numbers = is_array ? arrays_ : locals_;
    const auto [found, added] = numbers.try_emplace(*number, static_cast<std::uint32_t>(numbers.size()));
    const auto made = is_array ? array_name(found->second) : local_name(found->second);
    if (added) {
      const std::string type = is_array ? types_.array(*number) : types_.local(*number);
      const std::string_view separator = parameters.empty() ? "" : ", ";
      if (!type.empty()) {
        parameters += fmt::format("{}{} {}", separator, type, made);
        arguments += fmt::format("{}{}", separator, is_array ? array_name(*number) : local_name(*number));
      }
    }
    const std::size_t copy = name.find('_');
    return copy == std::string_view::npos ? made : made + std::string(name.substr(copy));
  }

  const LoopTexts::Types &types_;
  std::map<std::uint32_t, std::uint32_t> locals_, arrays_;  // new numbers by old ones
};

}  // namespace

std::string LoopTexts::call(const std::string &loop, const std::vector<SourceLocation> &lines, const Types &types) {
  const RenamedLoop renamed(loop, types);
  const std::string function = fmt::format("({}) __attribute__((noinline)) {{\n{}", renamed.parameters, renamed.body);
  const auto [known, added] = known_.try_emplace(function, fmt::format("loop{}", known_.size() + 1));
  if (added) {
    text_ += fmt::format("  const auto {} = [=]{}  }};\n", known->second, function);
    lines_.emplace_back();
    lines_.insert(lines_.end(), lines.begin(), lines.end());
    lines_.emplace_back();
  }
  return fmt::format("{}({});", known->second, renamed.arguments);
}

}  // namespace samite::codegen
