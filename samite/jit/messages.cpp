#include "samite/jit/messages.h"

#include "samite/base/error.h"
#include "samite/jit/print_sink.h"
#include "samite/jit/race_report.h"

#include <fmt/format.h>
#include <algorithm>
#include <cstring>

namespace samite::jit {
namespace {

template <class T>
std::string text_of_scalar(std::uint64_t bits) {
  T value;
  std::memcpy(static_cast<void *>(&value), &bits, sizeof value);
  if constexpr (std::integral<T> && sizeof(T) == 1 && !std::same_as<T, bool>)
    return fmt::format("{}", static_cast<int>(value));  // a number, not a character
  else if constexpr (FloatingScalar<T> && sizeof(T) <= 2)
    return fmt::format("{}", static_cast<float>(value));
  else
    return fmt::format("{}", value);
}

}  // namespace

std::string text_of(ScalarType type, std::uint64_t bits) {
  switch (type) {
#define SAMITE_CASE(name, text, host, bytes, kind) \
  case ScalarType::name: return text_of_scalar<host>(bits);
    SAMITE_SCALAR_TYPES(SAMITE_CASE)
#undef SAMITE_CASE
  }
  throw InternalError("a scalar type without a text");
}

namespace {

std::string text_of_site(const codegen::MessageSite &site, const std::uint64_t *values) {
  std::string text = site.texts[0];
  for (std::size_t i = 0; i < site.types.size(); ++i) text += text_of(site.types[i], values[i]) + site.texts[i + 1];
  return text;
}

}  // namespace

void LaunchMessages::hear(Failure *failure, std::uint32_t site, const std::int64_t *instance,
                          const std::uint64_t *values) noexcept {
  auto &messages = *static_cast<LaunchMessages *>(failure);
  // Exceptions must not pass through emitted code.
  try {
    const codegen::MessageSite &said = messages.variant_.text.messages[site];
    if (said.is_check)
      messages.check_failed(said, instance, values);
    else
      print_line(text_of_site(said, values));
  } catch (...) {
    std::lock_guard lock(messages.mutex_);
    if (!messages.thrown_) messages.thrown_ = std::current_exception();
  }
}

void LaunchMessages::check_failed(const codegen::MessageSite &site, const std::int64_t *instance,
                                  const std::uint64_t *values) {
  Instance index{};
  std::copy_n(instance, extents_.rank(), index.begin());
  std::lock_guard lock(mutex_);
  if (first_ && first_->instance <= index) return;
  first_ = FailedCheck{
      index, site.where,
      site.is_race ? race_text(variant_, extents_, instance, site, values) : text_of_site(site, values), site.is_race};
}

void LaunchMessages::throw_first(const std::string &opening) {
  if (thrown_) std::rethrow_exception(thrown_);
  internal_check(first_.has_value(), "nothing has failed");
  if (first_->is_race) throw UserError(first_->where, opening + first_->text);
  const std::int64_t *index = first_->instance.data();
  throw UserError(first_->where, fmt::format("{}a check failed in instance ({}){}{}", opening,
                                             fmt::join(index, index + extents_.rank(), ", "),
                                             first_->text.empty() ? "" : ": ", first_->text));
}

}  // namespace samite::jit
