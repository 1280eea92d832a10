#include "samite/passes/analysis/affine.h"

#include "samite/base/error.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>

namespace samite::passes {

namespace {

constexpr std::int64_t largest = std::int64_t{1} << 61;
constexpr int most_nested = 4;  // nesting depth of minima and maxima that is examined

// Empty on overflow.
std::optional<std::int64_t> product(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result) || result > largest || result < -largest) return std::nullopt;
  return result;
}

std::int64_t floor_div(std::int64_t a, std::int64_t by) { return a / by - (a % by < 0); }
std::int64_t floor_rem(std::int64_t a, std::int64_t by) { return a - floor_div(a, by) * by; }

// Orders terms, ignoring their coefficients.
std::strong_ordering order(const AffineTerm &a, const AffineTerm &b) {
  if (auto by_kind = a.kind <=> b.kind; by_kind != 0) return by_kind;
  if (a.kind == AffineTerm::Kind::Symbol) return a.symbol <=> b.symbol;
  if (auto by_number = a.by <=> b.by; by_number != 0) return by_number;
  if (a.operands == b.operands) return std::strong_ordering::equal;
  for (std::size_t i = 0; i < a.operands->size(); ++i)
    if (auto by_operand = (*a.operands)[i] <=> (*b.operands)[i]; by_operand != 0) return by_operand;
  return std::strong_ordering::equal;
}

}  // namespace

// Makes forms from their parts, in canonical form.
class AffineRules {
 public:
  using Kind = AffineTerm::Kind;

  // Takes terms in any order, with any coefficients.
  static Affine form(std::vector<AffineTerm> terms, std::int64_t constant) {
    if (constant > largest || constant < -largest) return Affine::unknown();
    std::ranges::sort(terms, [](const AffineTerm &a, const AffineTerm &b) { return order(a, b) < 0; });
    Affine result(constant);
    for (AffineTerm &term : terms) {
      if (!result.terms_.empty() && order(result.terms_.back(), term) == 0) {
        result.terms_.back().coefficient += term.coefficient;
      } else {
        drop_zero(result);
        result.terms_.push_back(std::move(term));
      }
      const std::int64_t own = result.terms_.back().coefficient;
      if (own > largest || own < -largest) return Affine::unknown();
    }
    drop_zero(result);
    for (const AffineTerm &term : result.terms_) {
      result.nodes_ += 1;
      if (term.operands)
        for (const Affine &operand : *term.operands) result.nodes_ += operand.nodes_;
    }
    if (result.nodes_ > Affine::most_nodes) return Affine::unknown();
    return joined(std::move(result));
  }

  static Affine sum(const Affine &a, const Affine &b, std::int64_t sign) {
    if (!a.known() || !b.known()) return Affine::unknown();
    std::vector<AffineTerm> terms = a.terms_;
    for (AffineTerm term : b.terms_) {
      term.coefficient *= sign;
      terms.push_back(std::move(term));
    }
    return form(std::move(terms), a.constant_ + sign * b.constant_);
  }

  static Affine times(const Affine &a, std::int64_t by) {
    if (!a.known()) return a;
    std::vector<AffineTerm> terms = a.terms_;
    for (AffineTerm &term : terms) {
      const auto coefficient = product(term.coefficient, by);
      if (!coefficient) return Affine::unknown();
      term.coefficient = *coefficient;
    }
    const auto constant = product(a.constant_, by);
    return constant ? form(std::move(terms), *constant) : Affine::unknown();
  }

  // a = by * whole + rest, where all coefficients of the rest are smaller than `by`, and its constant is in 0 .. by. A
  // coefficient of the rest keeps its sign, so monotonicity is preserved.
  struct Parts {
    Affine whole, rest;
  };
  static Parts parts(const Affine &a, std::int64_t by) {
    std::vector<AffineTerm> whole, rest;
    for (const AffineTerm &term : a.terms_) {
      AffineTerm own = term;
      own.coefficient = term.coefficient / by;
      if (own.coefficient != 0) whole.push_back(own);
      own.coefficient = term.coefficient % by;
      if (own.coefficient != 0) rest.push_back(own);
    }
    return {form(std::move(whole), floor_div(a.constant_, by)), form(std::move(rest), floor_rem(a.constant_, by))};
  }

  static Affine quotient(const Affine &a, std::int64_t by) {
    internal_check(by > 0, "a form is divided by what is not positive");
    if (!a.known() || by == 1) return a;
    const auto [whole, rest] = parts(a, by);
    if (!whole.known() || !rest.known()) return Affine::unknown();
    if (rest.terms_.empty()) return whole;
    if (const std::int64_t common = common_factor(rest, by); common > 1)
      return whole + passes::quotient(divided(rest, common), by / common);
    const AffineTerm &first = rest.terms_.front();
    if (rest.terms_.size() == 1 && first.coefficient == 1) {
      const std::int64_t r = rest.constant_;
      if (first.kind == Kind::Quotient) {
        const auto both = product(first.by, by), moved = product(first.by, r);
        if (both && moved) return whole + passes::quotient((*first.operands)[0] + *moved, *both);
      }
      if (first.kind == Kind::Remainder) {
        if (first.by - 1 + r < by) return whole;
        if (r == 0 && first.by % by == 0)
          return whole + passes::remainder(passes::quotient((*first.operands)[0], by), first.by / by);
      }
    }
    return whole + node(Kind::Quotient, {rest}, by);
  }

  static Affine remainder(const Affine &a, std::int64_t by) {
    internal_check(by > 0, "a form is divided by what is not positive");
    if (!a.known() || by == 1) return a.known() ? Affine(0) : a;
    Affine rest = parts(a, by).rest;
    if (!rest.known()) return rest;
    for (const AffineTerm &term : rest.terms_)
      if (term.kind == Kind::Remainder && term.by % by == 0) {
        AffineTerm negative = term;
        negative.coefficient = -term.coefficient;
        return passes::remainder(rest + form({negative}, 0) + (*term.operands)[0] * term.coefficient, by);
      }
    if (rest.terms_.empty()) return rest;
    if (const std::int64_t common = common_factor(rest, by); common > 1)
      return passes::remainder(divided(rest, common), by / common) * common + floor_rem(rest.constant_, common);
    const AffineTerm &first = rest.terms_.front();
    if (rest.terms_.size() == 1 && first.coefficient == 1 && first.kind == Kind::Remainder &&
        first.by - 1 + rest.constant_ < by)
      return rest;
    return node(Kind::Remainder, {rest}, by);
  }

  // sign 1: the minimum, -1: the maximum.
  static Affine extreme(const Affine &a, const Affine &b, std::int64_t sign) {
    if (!a.known() || !b.known()) return Affine::unknown();
    if (at_most(a, b, most_nested)) return sign > 0 ? a : b;
    if (at_most(b, a, most_nested)) return sign > 0 ? b : a;
    const Kind kind = sign > 0 ? Kind::Least : Kind::Greatest;
    if (const auto simpler = without(a, b, sign)) return extreme(*simpler, b, sign);
    if (const auto simpler = without(b, a, sign)) return extreme(a, *simpler, sign);
    if (auto known = among(kind, a, b, sign)) return *known;
    if (auto known = among(kind, b, a, sign)) return *known;
    // Common terms are taken out, and so is the first form's constant.
    std::vector<AffineTerm> both;
    for (const AffineTerm &term : a.terms_)
      if (std::ranges::find(b.terms_, term) != b.terms_.end()) both.push_back(term);
    Affine common = form(std::move(both), 0);
    Affine x = a - common, y = b - common;
    if (!x.known() || !y.known()) return Affine::unknown();
    if (common != Affine(0)) {
      if (at_most(x, y, most_nested)) return sign > 0 ? a : b;
      if (at_most(y, x, most_nested)) return sign > 0 ? b : a;
    }
    if (std::ranges::lexicographical_compare(y.terms_, x.terms_, std::less<>{})) std::swap(x, y);
    const std::int64_t constant = x.constant_;
    return node(kind, {x - constant, y - constant}, 0) + common + constant;
  }

  // a - b, if it is a constant.
  static std::optional<std::int64_t> difference(const Affine &a, const Affine &b) {
    const Affine less = a - b;
    return less.is_constant() ? std::optional(less.constant_) : std::nullopt;
  }

  static Affine node(Kind kind, std::vector<Affine> operands, std::int64_t by) {
    if (std::ranges::any_of(operands, [](const Affine &operand) { return !operand.known(); })) return Affine::unknown();
    AffineTerm term{kind};
    term.operands = std::make_shared<const std::vector<Affine>>(std::move(operands));
    term.by = by;
    return form({std::move(term)}, 0);
  }

 private:
  static void drop_zero(Affine &a) {
    if (!a.terms_.empty() && a.terms_.back().coefficient == 0) a.terms_.pop_back();
  }

  static std::int64_t common_factor(const Affine &rest, std::int64_t by) {
    for (const AffineTerm &term : rest.terms_) by = std::gcd(by, term.coefficient);
    return by;
  }

  // The quotient by a common divisor of all coefficients.
  static Affine divided(const Affine &a, std::int64_t by) {
    std::vector<AffineTerm> terms = a.terms_;
    for (AffineTerm &term : terms) term.coefficient /= by;
    return form(std::move(terms), floor_div(a.constant_, by));
  }

  // k * by * (x / by) + k * (x % by) is k * x.
  static Affine joined(Affine a) {
    for (const AffineTerm &term : a.terms_) {
      if (term.kind != Kind::Remainder) continue;
      const Affine &x = (*term.operands)[0];
      const Affine divided = quotient(x, term.by);
      if (!divided.known() || divided.terms_.size() != 1 || divided.terms_[0].coefficient != 1) continue;
      const auto factor = product(term.coefficient, term.by);
      if (!factor) continue;
      for (const AffineTerm &other : a.terms_) {
        if (order(other, divided.terms_[0]) != 0 || other.coefficient != *factor) continue;
        std::vector<AffineTerm> rest;
        for (const AffineTerm &own : a.terms_)
          if (&own != &term && &own != &other) rest.push_back(own);
        return form(std::move(rest), a.constant_) + x * term.coefficient - Affine(divided.constant_) * *factor;
      }
    }
    return a;
  }

  static bool is(const Affine &a, Kind kind) {
    return a.terms_.size() == 1 && a.terms_[0].kind == kind && a.terms_[0].coefficient == 1;
  }
  static Affine operand(const Affine &a, std::size_t i) { return (*a.terms_[0].operands)[i] + a.constant_; }

  // Whether a <= b, as far as the structure of their minima and maxima shows it.
  static bool at_most(const Affine &a, const Affine &b, int nested) {
    if (const auto less = difference(a, b)) return *less <= 0;
    if (nested == 0) return false;
    const auto below = [&](const Affine &x, const Affine &y) { return at_most(x, y, nested - 1); };
    // Quotients by the same number are monotonic.
    if (is(a, Kind::Quotient) && is(b, Kind::Quotient) && a.terms_[0].by == b.terms_[0].by) {
      const Affine by = a.terms_[0].by;
      const Affine x = (*a.terms_[0].operands)[0] + by * a.constant_, y = (*b.terms_[0].operands)[0] + by * b.constant_;
      return x.known() && y.known() && below(x, y);
    }
    if (is(b, Kind::Least)) return below(a, operand(b, 0)) && below(a, operand(b, 1));
    if (is(a, Kind::Greatest)) return below(operand(a, 0), b) && below(operand(a, 1), b);
    return (is(a, Kind::Least) && (below(operand(a, 0), b) || below(operand(a, 1), b))) ||
           (is(b, Kind::Greatest) && (below(a, operand(b, 0)) || below(a, operand(b, 1))));
  }

  // Simplifies `a` in the maximum of a and b: inside it, the maximum of x and a term that is at most b is x. Likewise
  // for minima. Nested clamps become one.
  static std::optional<Affine> without(const Affine &a, const Affine &b, std::int64_t sign) {
    for (const Kind kind : {Kind::Least, Kind::Greatest}) {
      if (!is(a, kind)) continue;
      const bool same = (kind == Kind::Least) == (sign > 0);
      for (std::size_t i = 0; i < 2; ++i) {
        const Affine own = operand(a, i);
        Affine other = operand(a, 1 - i);
        if (same && (sign > 0 ? at_most(b, own, most_nested) : at_most(own, b, most_nested))) return other;
        if (const auto simpler = without(own, b, sign)) return extreme(*simpler, other, kind == Kind::Least ? 1 : -1);
      }
    }
    return std::nullopt;
  }

  // If `a` is already the minimum or maximum of two forms, one of which differs from `b` by a constant.
  static std::optional<Affine> among(Kind kind, const Affine &a, const Affine &b, std::int64_t sign) {
    if (a.terms_.size() != 1 || a.terms_[0].kind != kind || a.terms_[0].coefficient != 1) return std::nullopt;
    const std::vector<Affine> &operands = *a.terms_[0].operands;
    for (std::size_t i = 0; i < 2; ++i) {
      const auto less = difference(operands[i] + a.constant_, b);
      if (!less) continue;
      return sign * *less <= 0 ? a : extreme(b, operands[1 - i] + a.constant_, sign);
    }
    return std::nullopt;
  }
};

Affine::Affine(std::int64_t constant) : constant_(constant), known_(constant <= largest && constant >= -largest) {}
Affine::Affine(const Symbol &symbol) : terms_{AffineTerm{AffineTerm::Kind::Symbol, 1, symbol}}, nodes_(1) {}
Affine::Affine(const AffineTerm &term) : Affine(AffineRules::form({term}, 0)) {}
Affine Affine::unknown() {
  Affine result;
  result.known_ = false;
  return result;
}

bool Affine::is_symbol_and_constant(const Symbol &symbol) const { return (*this - Affine(symbol)).is_constant(); }

bool Affine::contains(const Symbol &symbol) const {
  return std::ranges::any_of(terms_, [&](const AffineTerm &term) {
    return term.operands ? std::ranges::any_of(*term.operands, [&](const Affine &a) { return a.contains(symbol); })
                         : term.symbol == symbol;
  });
}

std::optional<std::int64_t> Affine::coefficient(const Symbol &symbol) const {
  if (!known_) return std::nullopt;
  std::int64_t found = 0;
  for (const AffineTerm &term : terms_) {
    if (!term.operands && term.symbol == symbol) found = term.coefficient;
    if (term.operands && std::ranges::any_of(*term.operands, [&](const Affine &a) { return a.contains(symbol); }))
      return std::nullopt;
  }
  return found;
}

Affine Affine::substitute(const Symbol &symbol, const Affine &by) const {
  if (!known_ || !contains(symbol)) return *this;
  Affine result(constant_);
  for (const AffineTerm &term : terms_) {
    Affine own = term;
    const auto operand = [&](std::size_t i) { return (*term.operands)[i].substitute(symbol, by); };
    switch (term.kind) {
      case AffineTerm::Kind::Symbol:
        if (term.symbol == symbol) own = by * term.coefficient;
        break;
      case AffineTerm::Kind::Quotient: own = quotient(operand(0), term.by) * term.coefficient; break;
      case AffineTerm::Kind::Remainder: own = remainder(operand(0), term.by) * term.coefficient; break;
      case AffineTerm::Kind::Least: own = least(operand(0), operand(1)) * term.coefficient; break;
      case AffineTerm::Kind::Greatest: own = greatest(operand(0), operand(1)) * term.coefficient; break;
    }
    result = result + own;
  }
  return result;
}

void Affine::for_each_symbol(const std::function<void(const Symbol &)> &f) const {
  for (const AffineTerm &term : terms_) {
    if (!term.operands) f(term.symbol);
    if (term.operands)
      for (const Affine &operand : *term.operands) operand.for_each_symbol(f);
  }
}

Affine operator+(const Affine &a, const Affine &b) { return AffineRules::sum(a, b, 1); }
Affine operator-(const Affine &a, const Affine &b) { return AffineRules::sum(a, b, -1); }
Affine operator*(const Affine &a, std::int64_t by) { return AffineRules::times(a, by); }

std::strong_ordering operator<=>(const Affine &a, const Affine &b) {
  if (auto known = a.known_ <=> b.known_; known != 0) return known;
  if (auto count = a.terms_.size() <=> b.terms_.size(); count != 0) return count;
  for (std::size_t i = 0; i < a.terms_.size(); ++i)
    if (auto by_term = a.terms_[i] <=> b.terms_[i]; by_term != 0) return by_term;
  return a.constant_ <=> b.constant_;
}

std::strong_ordering operator<=>(const AffineTerm &a, const AffineTerm &b) {
  const auto by_number = order(a, b);
  return by_number != 0 ? by_number : a.coefficient <=> b.coefficient;
}

Affine quotient(const Affine &a, std::int64_t by) { return AffineRules::quotient(a, by); }
Affine remainder(const Affine &a, std::int64_t by) { return AffineRules::remainder(a, by); }
Affine least(const Affine &a, const Affine &b) { return AffineRules::extreme(a, b, 1); }
Affine greatest(const Affine &a, const Affine &b) { return AffineRules::extreme(a, b, -1); }

std::string to_string(const Symbol &symbol) {
  switch (symbol.kind) {
    case Symbol::Kind::Local: return fmt::format("%{}", symbol.id);
    case Symbol::Kind::Parameter: return fmt::format("@{}", symbol.id);
    case Symbol::Kind::Extent: return fmt::format("extent(@{}, {})", symbol.id, symbol.dimension);
    case Symbol::Kind::ThreadIndex: return fmt::format("thread_index({})", symbol.dimension);
    case Symbol::Kind::LaunchBegin: return fmt::format("launch_begin({})", symbol.dimension);
    case Symbol::Kind::LaunchEnd: return fmt::format("launch_end({})", symbol.dimension);
  }
  return "?";
}

std::string to_string(const Affine &form) {
  if (!form.known()) return "unknown";
  const auto text_of = [](const AffineTerm &term) {
    const auto operand = [&](std::size_t i) {
      const Affine &own = (*term.operands)[i];
      return own.terms().size() + (own.constant() != 0) > 1 && term.by != 0 ? fmt::format("({})", to_string(own))
                                                                            : to_string(own);
    };
    switch (term.kind) {
      case AffineTerm::Kind::Symbol: return to_string(term.symbol);
      case AffineTerm::Kind::Quotient: return fmt::format("({} / {})", operand(0), term.by);
      case AffineTerm::Kind::Remainder: return fmt::format("({} % {})", operand(0), term.by);
      case AffineTerm::Kind::Least: return fmt::format("min({}, {})", operand(0), operand(1));
      case AffineTerm::Kind::Greatest: return fmt::format("max({}, {})", operand(0), operand(1));
    }
    return std::string("?");
  };
  std::string text;
  const auto add = [&](std::int64_t number, const std::string &term) {
    const std::string sign = text.empty() ? (number < 0 ? "-" : "") : (number < 0 ? " - " : " + ");
    const std::int64_t size = number < 0 ? -number : number;
    text += sign + (term.empty() ? fmt::format("{}", size) : size == 1 ? term : fmt::format("{}*{}", size, term));
  };
  for (const AffineTerm &term : form.terms()) add(term.coefficient, text_of(term));
  if (form.constant() != 0 || text.empty()) add(form.constant(), "");
  return text;
}

std::size_t hash(const Affine &form) {
  std::size_t result = static_cast<std::size_t>(form.constant()) * 2 + form.known();
  const auto add = [&](std::size_t part) { result = (result ^ part) * 0x9E3779B97F4A7C15u + (result >> 29); };
  for (const AffineTerm &term : form.terms()) {
    add(static_cast<std::size_t>(term.kind));
    add(static_cast<std::size_t>(term.coefficient));
    add(static_cast<std::size_t>(term.by));
    add(static_cast<std::size_t>(term.symbol.kind) ^ std::size_t{term.symbol.id} << 8 ^
        static_cast<std::size_t>(term.symbol.dimension) << 40);
    if (term.operands)
      for (const Affine &operand : *term.operands) add(hash(operand));
  }
  return result;
}

}  // namespace samite::passes
