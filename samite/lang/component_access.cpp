#include "samite/lang/component_access.h"

#include "samite/lang/trace.h"

#include <optional>

namespace samite::lang {
namespace {

// Whether `index` is k: known at once for an index of C++.
ir::Value is(const ir::Value &index, int k, SourceLocation where) {
  if (index.is_constant()) return ir::Value::boolean(index.as_int() == k);
  return record(ir::Op::Equal, ScalarType::Bool,
                {index, ir::Value::constant(index.type().element(), static_cast<std::int64_t>(k))}, where);
}

// Whether the access selects component k, for k in the order of the calls; empty if it certainly does not.
class Chosen {
 public:
  explicit Chosen(const Access &access) : access_(access) {}

  std::optional<ir::Value> operator()(int k) {
    if (access_.rank == 1) return is(access_.indices[0], k, access_.where);
    const int row = k / access_.components.columns, column = k % access_.components.columns;
    if (column == 0) in_row_ = is(access_.indices[0], row, access_.where);
    if (!in_columns_[static_cast<std::size_t>(column)])
      in_columns_[static_cast<std::size_t>(column)] = is(access_.indices[1], column, access_.where);
    const ir::Value in_column = *in_columns_[static_cast<std::size_t>(column)];
    const ir::Value no = ir::Value::boolean(false), yes = ir::Value::boolean(true);
    if (in_row_ == no || in_column == no) return std::nullopt;
    if (in_row_ == yes) return in_column;
    if (in_column == yes) return in_row_;
    return record(ir::Op::And, ScalarType::Bool, {in_row_, in_column}, access_.where);
  }

 private:
  const Access &access_;
  ir::Value in_row_ = ir::Value::boolean(false);
  std::array<std::optional<ir::Value>, 16> in_columns_;
};

ir::Value component_value(const Access &access, int k, ScalarType type) {
  return access.components.component(access.components.first, k).value(type, access.where);
}

}  // namespace

Access component_access(const ComponentsOfValue &components, std::initializer_list<Index> indices) {
  Access access{0, 0, index_values_now(indices), static_cast<int>(indices.size()), indices.begin()->where()};
  access.components = components;
  return access;
}

ir::Value load_component(const Access &access, ScalarType type) {
  Chosen chosen(access);
  ir::Value value = ir::Value::zero(type);
  for (int k = 0; k < access.components.count; ++k)
    if (auto here = chosen(k))
      value = record(ir::Op::Select, type, {*here, component_value(access, k, type), value}, access.where);
  return value;
}

void store_component(const Access &access, ir::Value value) {
  Chosen chosen(access);
  const ScalarType type = value.type().element();
  for (int k = 0; k < access.components.count; ++k)
    if (auto here = chosen(k))
      access.components.component(access.components.first, k)
          .assign(type, record(ir::Op::Select, type, {*here, value, component_value(access, k, type)}, access.where),
                  access.where);
}

}  // namespace samite::lang
