#include "samite/lang/struct_array.h"

namespace samite::lang {

Access matrix_element_access(Access matrix, const Index &row, const Index &column, int rows, int columns) {
  check_matrix_index(row, rows, "row");
  check_matrix_index(column, columns, "column");
  auto &last = matrix.indices[static_cast<std::size_t>(matrix.rank - 1)];
  if (row.value().is_constant() && column.value().is_constant()) {
    last = ir::Value::constant(ScalarType::Int64, row.value().as_int() * columns + column.value().as_int());
    return matrix;
  }
  auto narrow = [&](const Index &index) {
    const ir::Value value = index.value();
    if (value.is_constant()) return ir::Value::constant(ScalarType::Int32, value.as_int());
    return value.type() == ScalarType::Int32 ? value : record_cast(ScalarType::Int32, value, index.where());
  };
  const ir::Value before = record(ir::Op::Mul, ScalarType::Int32,
                                  {narrow(row), ir::Value::constant(ScalarType::Int32, columns)}, row.where());
  last = record(ir::Op::Add, ScalarType::Int32, {before, narrow(column)}, row.where());
  return matrix;
}

}  // namespace samite::lang
