#include "samite/passes/analysis/certain_accesses.h"

#include "samite/ir/visit.h"
#include "samite/passes/analysis/index_rules.h"

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>

namespace samite::passes {
namespace {

using namespace ir;

// The range in which the low bits of an integer of this type determine it.
Range told_by(int bits, const Type &type) {
  if (bits > width(type)) return {};
  if (bits == width(type)) return range_of_type(type);
  // It was widened on the way, from a signed or unsigned type.
  return {0, (std::int64_t{1} << (bits - 1)) - 1};
}

class AccessFinder {
 public:
  explicit AccessFinder(const Kernel &kernel) : forms_(kernel) { read(kernel.body); }

  CertainAccesses take() { return std::move(found_); }

 private:
  void read(const Block &block) {
    for (const Stmt &stmt : block) {
      if (const auto *let = stmt.as<Let>()) {
        if (array_read(stmt)) add(let->value.array, element_indices(let->value), array_written(stmt).has_value(), stmt);
      } else if (const auto *store = stmt.as<Store>()) {
        add(store->array, store->indices, true, stmt);
      } else if (const auto *sum = stmt.as<Accumulate>()) {
        add(sum->array, sum->indices, true, stmt);
      } else if (const auto *loop = stmt.as<For>()) {
        read(*loop);
      }
    }
  }

  void read(const For &loop) {
    const auto begin = number(loop.begin), end = number(loop.end);
    if (!begin || !end || !is_same_for_all(*begin) || !is_same_for_all(*end) || !loop.step.is_constant()) return;
    const std::size_t index = found_.loops.size();
    found_.loops.push_back({*begin, *end, loop.step.as_int()});
    loop_of_[loop.index] = index;
    around_.push_back(index);
    read(loop.body);
    around_.pop_back();
    loop_of_.erase(loop.index);
  }

  static bool is_same_for_all(const LinearNumber &number) {
    return std::ranges::none_of(number.terms, [](const LinearNumber::Term &term) {
      return term.symbol.kind == Symbol::Kind::ThreadIndex || term.symbol.kind == Symbol::Kind::Local;
    });
  }

  std::optional<LinearNumber> number(const Value &value) {
    const IndexForm known = forms_(value);
    const Affine &form = known.low_form();
    if (!form.known() || known.bits < 2 || !is_index(value.type())) return std::nullopt;
    LinearNumber number{{}, form.constant(), known.exact() ? Range{} : told_by(known.bits, value.type())};
    for (const AffineTerm &term : form.terms()) {
      if (term.kind != AffineTerm::Kind::Symbol) return std::nullopt;
      Symbol symbol = term.symbol;
      switch (symbol.kind) {
        case Symbol::Kind::Local: {
          const auto loop = loop_of_.find(symbol.id);
          if (loop == loop_of_.end()) return std::nullopt;
          symbol = Symbol::local(static_cast<LocalId>(loop->second));
          break;
        }
        case Symbol::Kind::LaunchBegin:
        case Symbol::Kind::LaunchEnd: return std::nullopt;
        default: break;
      }
      number.terms.push_back({term.coefficient, symbol});
    }
    return number;
  }

  void add(std::uint32_t array, std::span<const Value> indices, bool writes, const Stmt &stmt) {
    for (std::size_t d = 0; d < indices.size(); ++d) {
      auto index = number(indices[d]);
      if (!index) continue;
      const auto dimension = static_cast<std::int32_t>(d);
      const Affine form = forms_(indices[d]).low_form();
      if (!seen_.emplace(array, dimension, around_, form).second) continue;
      found_.accesses.push_back({array, dimension, writes, stmt.where(), std::move(*index), around_});
    }
  }

  IndexForms forms_;
  std::unordered_map<LocalId, std::size_t> loop_of_;
  std::vector<std::size_t> around_;
  std::set<std::tuple<std::uint32_t, std::int32_t, std::vector<std::size_t>, Affine>> seen_;
  CertainAccesses found_;
};

}  // namespace

CertainAccesses certain_accesses(const Kernel &structured) { return AccessFinder(structured).take(); }

}  // namespace samite::passes
