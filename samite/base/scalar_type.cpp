#include "samite/base/scalar_type.h"

#include <array>

namespace samite {
namespace {

struct Row {
  std::string_view name, cpp_name;
  ScalarClass kind;
};

constexpr Row rows[] = {
#define SAMITE_ROW(name_, text, host, bytes, kind) {text, #host, ScalarClass::kind},
    SAMITE_SCALAR_TYPES(SAMITE_ROW)
#undef SAMITE_ROW
};

}  // namespace

std::string_view name(ScalarType type) { return rows[static_cast<std::size_t>(type)].name; }

std::string_view cpp_name(ScalarType type) {
  std::string_view text = rows[static_cast<std::size_t>(type)].cpp_name;
  if (text.starts_with("std::")) text.remove_prefix(5);
  return text;
}

ScalarClass class_of(ScalarType type) { return rows[static_cast<std::size_t>(type)].kind; }

std::optional<ScalarType> scalar_type_from_name(std::string_view text) {
  for (std::size_t i = 0; i < std::size(rows); ++i)
    if (rows[i].name == text) return static_cast<ScalarType>(i);
  return std::nullopt;
}

}  // namespace samite
