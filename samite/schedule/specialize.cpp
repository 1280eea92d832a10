#include "samite/schedule/specialize.h"

#include "samite/schedule/forms.h"

#include <algorithm>

namespace samite::schedules {
namespace {

using namespace ir;
using passes::Affine;
using passes::AffineTerm;
using passes::Range;
using passes::Symbol;

class FactReader {
 public:
  explicit FactReader(const Condition &condition) : forms_(condition.body) {}

  Facts read(const Value &condition) {
    add(condition);
    return std::move(facts_);
  }

 private:
  void add(const Value &condition) {
    const Operation *made = forms_.operation(condition);
    if (!made) return;
    const auto a = [&] { return made->operands[0]; };
    const auto b = [&] { return made->operands[1]; };
    switch (made->op) {
      case Op::And:
        add(a());
        add(b());
        return;
      case Op::Equal:
        if (!add_multiple(a(), b()) && !add_multiple(b(), a())) add_equal(a(), b());
        return;
      case Op::LessEqual: return add_at_most(a(), b(), 0);
      case Op::Less: return add_at_most(a(), b(), 1);
      case Op::GreaterEqual: return add_at_most(b(), a(), 0);
      case Op::Greater: return add_at_most(b(), a(), 1);
      default: return;
    }
  }

  // A symbol plus a number.
  struct Shifted {
    Symbol symbol;
    std::int64_t coefficient, constant;
  };
  static std::optional<Shifted> shifted(const Affine &form) {
    if (!form.known() || form.terms().size() != 1 || form.terms()[0].kind != AffineTerm::Kind::Symbol) return {};
    const AffineTerm &term = form.terms()[0];
    if (term.coefficient != 1 && term.coefficient != -1) return {};
    return Shifted{term.symbol, term.coefficient, form.constant()};
  }

  void add_equal(const Value &a, const Value &b) {
    if (const auto difference = shifted(forms_.form(a) - forms_.form(b)))
      facts_.equal.insert_or_assign(difference->symbol, -difference->constant * difference->coefficient);
  }

  // a + more <= b
  void add_at_most(const Value &a, const Value &b, std::int64_t more) {
    const auto difference = shifted(forms_.form(a) - forms_.form(b) + more);
    if (!difference) return;
    Range &range = facts_.ranges[difference->symbol];
    if (difference->coefficient > 0)
      range.upper = std::min(range.upper, -difference->constant);
    else
      range.lower = std::max(range.lower, difference->constant);
  }

  // x % modulus == rest, or a mask of the low bits of x. For a negative number C++ gives a negative remainder, which is
  // never `rest` unless that is 0.
  bool add_multiple(const Value &value, const Value &rest) {
    if (!rest.is_constant()) return false;
    std::optional<Shifted> of;
    std::int64_t modulus = 0;
    const Operation *made = forms_.operation(value);
    if (made && made->op == Op::Rem && made->operands[1].is_constant()) {
      of = shifted(forms_.form(made->operands[0]));
      modulus = made->operands[1].as_int();
    } else if (const Affine form = forms_.form(value); form.known() && form.constant() == 0 &&
                                                       form.terms().size() == 1 && form.terms()[0].coefficient == 1 &&
                                                       form.terms()[0].kind == AffineTerm::Kind::Remainder) {
      of = shifted((*form.terms()[0].operands)[0]);
      modulus = form.terms()[0].by;
    }
    if (!of || of->coefficient != 1 || modulus < 2 || rest.as_int() < 0 || rest.as_int() >= modulus) return false;
    const std::int64_t shift = (rest.as_int() - of->constant) % modulus;
    facts_.multiples.insert_or_assign(of->symbol, Facts::Multiple{modulus, shift < 0 ? shift + modulus : shift});
    return true;
  }

  const Forms forms_;
  Facts facts_;
};

}  // namespace

Facts facts_of(const Condition &condition) { return FactReader(condition).read(condition.value); }

}  // namespace samite::schedules
