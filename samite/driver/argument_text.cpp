#include "samite/driver/argument_text.h"

#include <fmt/format.h>

#include <algorithm>

namespace samite::driver {
namespace {

bool is_part_of_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// Returns the last word before the next comma or closing bracket, and removes both from the text.
std::string_view next_name(std::string_view &parameters) {
  const std::size_t end = std::min(parameters.find_first_of(",)"), parameters.size());
  std::string_view declaration = parameters.substr(0, end);
  parameters.remove_prefix(std::min(end + 1, parameters.size()));
  const auto first = std::find_if_not(declaration.rbegin(), declaration.rend(), is_part_of_name);
  return declaration.substr(static_cast<std::size_t>(declaration.rend() - first));
}

std::string launch_text(const LaunchConfig &config) {
  return fmt::format("{{grid {}x{}x{}, block {}x{}x{}, shared {} bytes, stream {:#x}, attributes {}}}", config.grid_x,
                     config.grid_y, config.grid_z, config.block_x, config.block_y, config.block_z, config.shared_bytes,
                     reinterpret_cast<std::uintptr_t>(config.stream), config.attribute_count);
}

}  // namespace

std::string Argument::to_string() const {
  switch (kind_) {
    case Kind::number: return std::to_string(number_);
    case Kind::address: return fmt::format("{:#x}", address_);
    case Kind::text: return text_ != nullptr ? fmt::format("\"{}\"", text_) : "null";
    case Kind::launch: return launch_ != nullptr ? launch_text(*launch_) : "null";
    case Kind::result: break;
  }
  return "";
}

std::string arguments_text(std::string_view parameters, std::initializer_list<Argument> arguments) {
  std::string text;
  for (const Argument &argument : arguments) {
    const std::string_view name = next_name(parameters);
    const std::string value = argument.to_string();
    if (value.empty()) continue;
    if (!text.empty()) text += ", ";
    text += fmt::format("{}={}", name, value);
  }
  return text;
}

}  // namespace samite::driver
