#include "samite/passes/tiles/split_sums.h"

#include "samite/ir/visit.h"
#include "samite/passes/simplify/builder.h"
#include "samite/passes/simplify/simplify.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>

namespace samite::passes {
namespace {

using namespace ir;

class Splitter {
 public:
  Splitter(const Kernel &kernel, std::int64_t parts) : kernel_(kernel), parts_(parts), parameters_(kernel.parameters) {
    for_each_statement(kernel.body, [&](const Stmt &stmt) {
      if (const auto array = array_written(stmt)) written_.insert(*array);
    });
    for (std::size_t i = 0; i < kernel.body.size(); ++i)
      if (const auto *let = kernel.body[i].as<Let>()) definitions_.emplace(let->local, i);
  }

  std::optional<SplitSums> run() {
    if (!find_loop() || !carries_sums() || !find_needed()) return std::nullopt;
    add_sums();
    Block scalars;
    for (const std::size_t place : of_end_) scalars.push_back(kernel_.body[place]);
    return SplitSums{parts_kernel(), rest_kernel(), {{}, std::move(scalars), loop_->begin, loop_->end, {}}, sums_};
  }

 private:
  static bool multiplies(const Block &block) {
    bool found = false;
    for_each_statement(block, [&](const Stmt &stmt) {
      const auto *let = stmt.as<Let>();
      found = found || (let && let->value.op == Op::MatMul);
    });
    return found;
  }

  // Has no effects, and no operands that the kernel changes.
  bool is_value(const Stmt &stmt) const {
    const auto *let = stmt.as<Let>();
    return let && (info(let->value.op).pure || (let->value.op == Op::Load && !written_.contains(let->value.array)));
  }

  bool find_loop() {
    for (std::size_t i = 0; i < kernel_.body.size(); ++i) {
      if (!multiplies({kernel_.body[i]})) continue;
      const auto *loop = kernel_.body[i].as<For>();
      if (loop_ || !loop || loop->kind != LoopKind::Serial) return false;
      loop_ = loop, place_ = i;
    }
    return loop_ && loop_->begin.is_constant() && loop_->begin.as_int() == 0 && loop_->step.is_constant() &&
           loop_->step.as_int() == 1 &&
           std::ranges::all_of(loop_->body, [&](const Stmt &stmt) { return is_value(stmt); });
  }

  // Values that depend on a carried value lead to the same carried value of the next iteration, and add to it.
  bool carries_sums() {
    std::map<LocalId, LocalId> sum_of;  // the carried value that a local is a partial sum of
    for (const Carried &carried : loop_->carried) {
      if (!carried.type.is_tile() || carried.type.shape().rank() != 2) return false;
      sum_of.emplace(carried.inner, carried.inner);
    }
    for (const Stmt &stmt : loop_->body) {
      const Let &let = *stmt.as<Let>();
      const auto added_to = [&](const Value &value) { return value.is_local() && sum_of.contains(value.id()); };
      const auto count = std::ranges::count_if(let.value.operands, added_to);
      if (count == 0) continue;
      const std::size_t summed =
          static_cast<std::size_t>(std::ranges::find_if(let.value.operands, added_to) - let.value.operands.begin());
      const bool adds = let.value.op == Op::Add || (let.value.op == Op::MatMul && summed == 2);
      const LocalId before = let.value.operands[summed].id();
      if (count != 1 || !adds || !last_of_.insert(before).second) return false;
      sum_of.emplace(let.local, sum_of.at(before));
    }
    return !loop_->carried.empty() && std::ranges::all_of(loop_->carried, [&](const Carried &carried) {
      const auto sum = carried.next.is_local() ? sum_of.find(carried.next.id()) : sum_of.end();
      return sum != sum_of.end() && sum->second == carried.inner && !last_of_.contains(carried.next.id()) &&
             carried.next.id() != carried.inner;
    });
  }

  // Adds the statements before the loop that a value needs; false if one of them cannot be recomputed.
  bool compute_again(const Value &value, std::set<std::size_t> &again) const {
    if (!value.is_local()) return true;
    const auto found = definitions_.find(value.id());
    if (found == definitions_.end() || !is_value(kernel_.body[found->second])) return false;
    if (!again.insert(found->second).second) return true;
    const std::vector<Value> &operands = kernel_.body[found->second].as<Let>()->value.operands;
    return std::ranges::all_of(operands, [&](const Value &operand) { return compute_again(operand, again); });
  }

  bool find_needed() {
    std::set<LocalId> own{loop_->index};
    for (const Carried &carried : loop_->carried) own.insert(carried.inner);
    for (const Stmt &stmt : loop_->body) own.insert(stmt.as<Let>()->local);
    bool possible = compute_again(loop_->end, of_end_);
    again_ = of_end_;
    for (const Stmt &stmt : loop_->body)
      for (const Value &operand : stmt.as<Let>()->value.operands)
        if (!operand.is_local() || !own.contains(operand.id())) possible = possible && compute_again(operand, again_);
    return possible && kernel_.launch_rank < maximum_rank;
  }

  void add_sums() {
    for (const Carried &carried : loop_->carried) {
      const Type type = carried.type;
      sums_.push_back(
          {static_cast<std::uint32_t>(parameters_.size()), type.element(), type.shape()[0], type.shape()[1]});
      Parameter parameter;
      parameter.name = fmt::format("sums_{}", sums_.size());
      parameter.type = type.element();
      parameter.rank = kernel_.launch_rank == 1 ? 3 : kernel_.launch_rank + 1;
      parameters_.push_back(std::move(parameter));
    }
  }

  Kernel with_body(const std::string &suffix, Builder &build) const {
    Kernel kernel = kernel_;
    kernel.name += suffix;
    kernel.parameters = parameters_;
    kernel.local_count = build.local_count();
    kernel.body = build.take();
    return kernel;
  }

  // The position of the tile of this part and block. `first`: the launch dimension of the block's first one.
  std::vector<Value> window(const PartialSums &sums, const Value &part, int first, Builder &build) const {
    const auto index = [&](int dimension) {
      return build.operation({Op::ThreadIndex, ScalarType::Int32, {}, 0, first + dimension});
    };
    const auto times = [&](const Value &value, std::int64_t by) {
      return build(Op::Mul, {value, Value::constant(ScalarType::Int32, by)});
    };
    std::vector<Value> window{part};
    const int rank = kernel_.launch_rank;
    for (int d = 0; d + 2 < rank; ++d) window.push_back(index(d));
    window.push_back(times(index(rank == 1 ? 0 : rank - 2), sums.rows));
    window.push_back(rank == 1 ? Value::zero(ScalarType::Int32) : times(index(rank - 1), sums.columns));
    return window;
  }

  Kernel parts_kernel() const {
    Builder build(kernel_.local_count);
    build.at(kernel_.body[place_].where());
    for (const std::size_t i : again_) {
      Let let = *kernel_.body[i].as<Let>();
      if (let.value.op == Op::ThreadIndex || let.value.op == Op::LaunchBegin) ++let.value.attribute;
      build.append({std::move(let), kernel_.body[i].where()});
    }
    const Type index = loop_->type;
    const auto in_index = [&](const Value &value) { return value.type() == index ? value : build.cast(index, value); };
    const Value part = build.operation({Op::ThreadIndex, ScalarType::Int32, {}, 0, 0});
    const Value parts = in_index(build.operation({Op::Extent, ScalarType::Int32, {}, sums_[0].parameter, 0}));
    const Value one = Value::constant(index, 1);
    const Value most = build(Op::Div, {build(Op::Add, {loop_->end, build(Op::Sub, {parts, one})}), parts});
    For loop = *loop_;
    loop.begin = build(Op::Mul, {in_index(part), most});
    loop.end = build(Op::Min, {build(Op::Add, {loop.begin, most}), loop_->end});
    for (Carried &carried : loop.carried) carried.initial = Value::zero(carried.type);
    std::vector<Value> results;
    for (const Carried &carried : loop.carried) results.push_back(Value::local(carried.type, carried.result));
    build.append({std::move(loop), build.where()});
    for (std::size_t i = 0; i < sums_.size(); ++i)
      build.append({Store{sums_[i].parameter, window(sums_[i], part, 1, build), results[i]}, build.where()});
    Kernel kernel = with_body("_parts", build);
    kernel.launch_rank += 1;
    return passes::simplify(kernel);
  }

  Value load(std::size_t sum, const Value &part, Builder &build) const {
    return build.operation(
        {Op::Load, loop_->carried[sum].type, window(sums_[sum], part, 0, build), sums_[sum].parameter});
  }

  void add_up(Builder &build) const {
    for (std::size_t s = 0; s < sums_.size(); ++s) {
      const Carried &sum = loop_->carried[s];
      Value total = sum.initial;
      for (std::int64_t part = 0; part < parts_; ++part) {
        const Value own = load(s, Value::constant(ScalarType::Int32, part), build);
        if (part + 1 < parts_)
          total = build(Op::Add, {total, own});
        else
          build.append({Let{sum.result, {Op::Add, sum.type, {total, own}}}, build.where()});
      }
    }
  }
  void add_up_in_loop(Builder &build) const {
    const Type index = ScalarType::Int32;
    const Value end = build.operation({Op::Extent, index, {}, sums_[0].parameter, 0});
    For loop{build.new_local(), index, Value::zero(index), end, Value::constant(index, 1), {}, {}};
    const Block outer = build.open();
    for (std::size_t s = 0; s < sums_.size(); ++s) {
      const Carried &sum = loop_->carried[s];
      const Value own = load(s, Value::local(loop.type, loop.index), build);
      const LocalId inner = build.new_local();
      const Value next = build(Op::Add, {Value::local(sum.type, inner), own});
      loop.carried.push_back({inner, sum.result, sum.type, sum.initial, next});
    }
    loop.body = build.close(outer);
    build.append({std::move(loop), build.where()});
  }

  Kernel rest_kernel() const {
    Builder build(kernel_.local_count);
    for (std::size_t i = 0; i < kernel_.body.size(); ++i) {
      if (i != place_) {
        build.append(kernel_.body[i]);
        continue;
      }
      build.at(kernel_.body[place_].where());
      if (parts_ != 0 && parts_ <= most_written_out)
        add_up(build);
      else
        add_up_in_loop(build);
    }
    return passes::simplify(with_body("_rest", build));
  }

  static constexpr std::int64_t most_written_out = 16;

  const Kernel &kernel_;
  const std::int64_t parts_;
  std::vector<Parameter> parameters_;
  std::set<std::uint32_t> written_;
  std::map<LocalId, std::size_t> definitions_;  // by the outermost statements
  const For *loop_ = nullptr;
  std::size_t place_ = 0;                     // of the loop
  std::set<LocalId> last_of_{};               // sums that have been added to
  std::set<std::size_t> of_end_{}, again_{};  // statements before the loop: needed after it, and needed in total
  std::vector<PartialSums> sums_;
};

}  // namespace

std::vector<std::int64_t> extents_of(const PartialSums &sums, std::span<const std::int64_t> launch,
                                     std::int64_t parts) {
  std::vector<std::int64_t> extents{parts};
  for (std::size_t d = 0; d + 2 < launch.size(); ++d) extents.push_back(launch[d]);
  extents.push_back(launch[launch.size() == 1 ? 0 : launch.size() - 2] * sums.rows);
  extents.push_back(launch.size() == 1 ? sums.columns : launch.back() * sums.columns);
  return extents;
}

std::optional<SplitSums> split_sums(const Kernel &kernel, std::int64_t parts) {
  if (!is_tile_kernel(kernel) || kernel.scheduled) return std::nullopt;
  return Splitter(kernel, parts).run();
}

std::int64_t parts_of_sums(std::int64_t blocks, std::int64_t iterations, std::int64_t bytes, int multiprocessors) {
  // An iteration takes about 0.3 us. Another launch takes 3 us, and in it the block that reduces the parts takes 0.7 us
  // for each, or longer if a multiprocessor reads much.
  constexpr std::int64_t least_iterations = 64, least_of_part = 8, most_bytes = 128 << 10, most_parts = 16;
  if (blocks <= 0 || 2 * blocks > multiprocessors || iterations < least_iterations) return 1;
  const std::int64_t parts = std::min({multiprocessors / blocks, iterations / least_of_part,
                                       most_bytes / std::max<std::int64_t>(bytes, 1), most_parts});
  if (parts < 2) return 1;
  const std::int64_t each = (iterations + parts - 1) / parts;
  return (iterations + each - 1) / each;
}

}  // namespace samite::passes
