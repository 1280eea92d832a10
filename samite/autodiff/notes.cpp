// Notes of infinite or NaN contributions, taken while the adjoint runs: see autodiff/notes.h.
#include "samite/autodiff/deriver.h"

#include <limits>

namespace samite::autodiff {

using namespace ir;

namespace {

Value number(std::int64_t n) { return Value::constant(ScalarType::Int64, n); }

std::vector<Value> at(std::int64_t n) { return {number(n)}; }

}  // namespace

void Deriver::start_notes() {
  if (!noting_.notes) return;
  noting_.site = build_.variable(number(-1));
  for (LocalId &value : noting_.values) value = build_.variable(Value::zero(ScalarType::Float64));
}

void Deriver::note(const Value &contribution) {
  if (!noting_.notes || contribution.type().is_tile()) return;
  const auto known = static_cast<std::int64_t>(noting_.notes->sites.size());
  noting_.notes->sites.push_back({build_.where(), noting_.operation, static_cast<int>(noting_.noted.size())});
  const Type type = contribution.type();
  const double largest =
      type == ScalarType::Float32 ? double{std::numeric_limits<float>::max()} : std::numeric_limits<double>::max();
  // The comparison is false for an infinity and for a NaN.
  Value finite = build_(Op::LessEqual, {build_(Op::Abs, {contribution}), Value::constant(type, largest)});
  Value first = build_(Op::Equal, {Value::local(ScalarType::Int64, noting_.site), number(-1)});
  If taken{build_(Op::And, {first, build_(Op::Not, {finite})}), {}, {}, {}};
  Block outer = build_.open();
  build_.assign(noting_.site, number(known));
  build_.assign(noting_.values[0], build_.cast(ScalarType::Float64, contribution));
  for (std::size_t i = 0; i < noting_.noted.size(); ++i)
    if (!noting_.noted[i].type().is_tile())
      build_.assign(noting_.values[i + 1], build_.cast(ScalarType::Float64, noting_.noted[i]));
  taken.then_block = build_.close(std::move(outer));
  build_.append({std::move(taken), build_.where()});
}

void Deriver::finish_notes() {
  if (!noting_.notes) return;
  const auto first = static_cast<std::uint32_t>(parameters_.all.size()), extents = first + 1, record = first + 2;
  parameters_.all.push_back({"first instance", ScalarType::Int64, 1});
  parameters_.all.push_back({"launch extents", ScalarType::Int64, 1, true});
  parameters_.all.push_back({"note", ScalarType::Float64, 1});

  build_.at(primal_.where);
  If noted{build_(Op::NotEqual, {Value::local(ScalarType::Int64, noting_.site), number(-1)}), {}, {}, {}};
  Block outer = build_.open();
  Value instance = number(0);
  for (int d = 0; d < primal_.launch_rank; ++d) {
    Value extent = build_.operation({Op::Load, ScalarType::Int64, at(d), extents});
    Value index = build_.operation({Op::ThreadIndex, ScalarType::Int64, {}, 0, d});
    instance = build_(Op::Add, {build_(Op::Mul, {instance, extent}), index});
  }
  build_.operation({Op::AtomicMin, ScalarType::Int64, {number(0), instance}, first});
  Value wanted = build_.operation({Op::Load, ScalarType::Int64, at(1), first});
  If chosen{build_(Op::Equal, {instance, wanted}), {}, {}, {}};
  Block inner = build_.open();
  auto write = [&](std::int64_t element, const Value &value) {
    build_.append({Store{record, at(element), build_.cast(ScalarType::Float64, value)}, build_.where()});
  };
  write(0, Value::local(ScalarType::Int64, noting_.site));
  for (std::size_t i = 0; i < noting_.values.size(); ++i)
    write(static_cast<std::int64_t>(i) + 1, Value::local(ScalarType::Float64, noting_.values[i]));
  chosen.then_block = build_.close(std::move(inner));
  build_.append({std::move(chosen), build_.where()});
  noted.then_block = build_.close(std::move(outer));
  build_.append({std::move(noted), build_.where()});
}

}  // namespace samite::autodiff
