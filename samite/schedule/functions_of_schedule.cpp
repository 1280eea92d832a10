#include "samite/schedule/functions_of_schedule.h"

#include "samite/schedule/factor_reductions.h"
#include "samite/schedule/wrap_calls.h"

#include <map>

namespace samite::schedules {

using ir::Directive;

std::vector<Directive> define_functions_of_schedule(Algorithm &algorithm, const ir::CapturedPipeline &captured,
                                                    const ir::CapturedSchedule &schedule) {
  WrappedCalls wrapped(algorithm);
  std::vector<Directive> left;
  bool changed = false;
  for (std::size_t d = 0; d < schedule.directives.size(); ++d) {
    Directive directive = schedule.directives[d];
    switch (directive.kind) {
      case Directive::Kind::in:
      case Directive::Kind::clone_in:
        wrapped.wrap(directive);
        changed = true;
        break;
      case Directive::Kind::rfactor:
        left = with_factored_reduction(algorithm, std::move(left), directive);
        changed = true;
        break;
      case Directive::Kind::specialize:
        directive.numbers = {static_cast<std::int64_t>(d)};
        left.push_back(std::move(directive));
        break;
      default: left.push_back(std::move(directive));
    }
  }
  if (changed) put_in_order(algorithm);

  // A specialization is identified by its directive's number, which may have changed.
  std::map<std::size_t, std::size_t> numbers;
  for (std::size_t d = 0; d < left.size(); ++d) {
    Directive &directive = left[d];
    if (directive.specialization)
      directive.specialization = static_cast<std::uint32_t>(numbers.at(*directive.specialization));
    if (directive.kind != Directive::Kind::specialize) continue;
    numbers[static_cast<std::size_t>(directive.numbers[0])] = d;
    directive.numbers = {static_cast<std::int64_t>(algorithm.conditions.size())};
    algorithm.conditions.push_back(condition_of(captured, algorithm, directive.condition.value(), directive.where));
  }
  return left;
}

}  // namespace samite::schedules
