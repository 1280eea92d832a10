#include "samite/autodiff/func_inverse.h"

#include <algorithm>
#include <set>

namespace samite::autodiff {

using passes::Affine;
using passes::AffineTerm;
using passes::Symbol;

namespace {

class Inversion {
 public:
  explicit Inversion(const std::vector<ir::LocalId> &variables) : variables_(variables) {}

  // Solves for the only variable of a form.
  void solve_alone(std::size_t d, const Affine &form) {
    Inverse inverse{d, 0, 0, form};
    peel(inverse);
    const std::vector<ir::LocalId> own = variables_of(inverse.rest);
    if (own.size() != 1 || !is_free(own[0])) return;
    const auto coefficient = inverse.rest.coefficient(Symbol::local(own[0]));
    if (!coefficient || *coefficient == 0) return;
    if (inverse.is_clamped() && *coefficient != 1 && *coefficient != -1) return;
    take(std::move(inverse), own[0], *coefficient);
  }

  // Solves for one of several variables; the others keep their own values.
  void solve_one_of(std::size_t d, const Affine &form) {
    const std::vector<ir::LocalId> own = variables_of(form);
    if (own.size() < 2) return;
    for (const ir::LocalId variable : own) {
      const auto coefficient = form.coefficient(Symbol::local(variable));
      if (!is_free(variable) || !coefficient || (*coefficient != 1 && *coefficient != -1)) continue;
      for (const ir::LocalId other : own)
        if (other != variable) kept_.insert(other);
      return take({d, 0, 0, form}, variable, *coefficient);
    }
  }

  bool has(std::size_t d) const {
    return std::ranges::any_of(found_, [&](const Inverse &inverse) { return inverse.dimension == d; });
  }
  std::vector<Inverse> take_all() { return std::move(found_); }

 private:
  std::vector<ir::LocalId> variables_of(const Affine &form) const {
    std::vector<ir::LocalId> found;
    for (const ir::LocalId variable : variables_)
      if (form.contains(Symbol::local(variable))) found.push_back(variable);
    return found;
  }
  bool is_free(ir::LocalId variable) const { return !solved_.contains(variable) && !kept_.contains(variable); }

  // Removes limits, the outermost first.
  void peel(Inverse &inverse) const {
    for (;;) {
      const auto &terms = inverse.rest.terms();
      if (terms.size() != 1 || terms[0].coefficient != 1 || !terms[0].operands || terms[0].operands->size() != 2)
        return;
      const bool is_least = terms[0].kind == AffineTerm::Kind::Least;
      auto &limit = is_least ? inverse.high : inverse.low;
      if (limit) return;
      const Affine constant = inverse.rest.constant();
      const Affine first = (*terms[0].operands)[0], second = (*terms[0].operands)[1];
      const bool first_is_limit = variables_of(first).empty();
      if (!first_is_limit && !variables_of(second).empty()) return;
      limit = (first_is_limit ? first : second) + constant;
      inverse.rest = (first_is_limit ? second : first) + constant;
    }
  }

  void take(Inverse inverse, ir::LocalId variable, std::int64_t coefficient) {
    inverse.variable = variable;
    inverse.coefficient = coefficient;
    inverse.rest = inverse.rest - Affine(Symbol::local(variable)) * coefficient;
    solved_.insert(variable);
    found_.push_back(std::move(inverse));
  }

  const std::vector<ir::LocalId> &variables_;
  std::set<ir::LocalId> solved_, kept_;
  std::vector<Inverse> found_;
};

}  // namespace

std::vector<Inverse> invert(const schedules::Forms &forms, const std::vector<ir::Value> &indices,
                            const std::vector<ir::LocalId> &variables) {
  Inversion inversion(variables);
  for (std::size_t d = 0; d < indices.size(); ++d)
    if (const Affine form = forms.form(indices[d]); form.known()) inversion.solve_alone(d, form);
  for (std::size_t d = 0; d < indices.size(); ++d)
    if (const Affine form = forms.form(indices[d]); form.known() && !inversion.has(d)) inversion.solve_one_of(d, form);
  return inversion.take_all();
}

}  // namespace samite::autodiff
