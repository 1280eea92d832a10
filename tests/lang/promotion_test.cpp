// The promotion table against the rule that it spells out.
#include "samite/lang/promotion.h"

#include <gtest/gtest.h>

namespace samite {
namespace {

constexpr ScalarType types[] = {
#define SAMITE_NAME(name, text, host, bytes, kind) ScalarType::name,
    SAMITE_SCALAR_TYPES(SAMITE_NAME)
#undef SAMITE_NAME
};

bool by_the_rule(ScalarType from, ScalarType to) {
  if (from == to || from == ScalarType::Bool || to == ScalarType::Bool) return false;
  if (is_float8(to)) return false;  // a type for memory only: stores need a cast
  bool wider = size_of(from) < size_of(to);
  if (is_floating(from)) return is_floating(to) && wider;
  if (!is_floating(to)) return wider && (class_of(from) == class_of(to) || class_of(to) == ScalarClass::Signed);
  if (size_of(to) == 2) return size_of(from) == 1;
  return size_of(from) <= 4 || size_of(to) == 8;
}

TEST(Promotion, TheTableIsTheRule) {
  for (ScalarType from : types)
    for (ScalarType to : types)
      EXPECT_EQ(lang::promotes(from, to), by_the_rule(from, to)) << name(from) << " to " << name(to);
}

TEST(Promotion, NoTwoTypesPromoteToEachOther) {
  for (ScalarType a : types)
    for (ScalarType b : types)
      EXPECT_FALSE(lang::promotes(a, b) && lang::promotes(b, a)) << name(a) << " and " << name(b);
}

}  // namespace
}  // namespace samite
