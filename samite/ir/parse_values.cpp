#include "samite/ir/parser.h"

#include "samite/ir/load_ahead.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace samite::ir {

Type Parser::parse_type() {
  if (!is("tile")) return parse_scalar_type();
  const Token &token = advance();
  expect("<");
  const ScalarType element = parse_scalar_type();
  std::vector<std::int64_t> extents;
  while (accept(",")) extents.push_back(number<std::int64_t>("an extent of the tile"));
  expect(">");
  std::int64_t room = std::numeric_limits<std::int32_t>::max();
  const bool fit = std::ranges::all_of(extents, [&](std::int64_t extent) {
    if (extent < 1) return false;
    room /= extent;
    return room > 0;
  });
  if (extents.empty() || extents.size() > maximum_tile_rank || !fit)
    fail_at(token,
            "expected a tile of one to four extents, each at least 1, and fewer than 2^31 elements, as in "
            "'tile<f32, 8, 4>'");
  return {element, TileShape(extents)};
}

ScalarType Parser::parse_scalar_type() {
  auto type = peek().kind == TokenKind::Word ? scalar_type_from_name(peek().text) : std::nullopt;
  if (!type) fail_expected("a scalar type (bool, i8 to i64, u8 to u64, f16, bf16, f32 or f64)");
  advance();
  return *type;
}

LocalId Parser::parse_local() { return local_id(expect(TokenKind::Local, "a local, as in '%0'")); }

Operation Parser::parse_operation(Type type) {
  const Token &token = expect(TokenKind::Word, "an operation");
  auto op = op_from_name(token.text);
  if (!op) fail_at(token, fmt::format("expected an operation, found {}", describe(token)));
  Operation operation{*op, type, {}};
  switch (info(*op).typing) {
    case Typing::Index: operation.attribute = number<std::int32_t>("a dimension of the launch"); break;
    case Typing::Coordinate: operation.attribute = number<std::int32_t>("a dimension of the tile"); break;
    case Typing::Transpose: parse_transpose(operation); break;
    case Typing::MatMul: parse_product(operation); break;
    case Typing::Scan:
      if (accept("backwards")) operation.attribute |= scan_backwards;
      if (accept("exclusive")) operation.attribute |= scan_exclusive;
      operation.attribute |= number<std::int32_t>("a dimension of the tile") & scan_dimension;
      expect(",");
      parse_operands(operation);
      break;
    case Typing::Order:
      if (accept("descending")) operation.attribute |= sort_descending;
      if (accept("bits")) operation.attribute |= number<std::int32_t>("a number of bits") << 1, expect(":");
      parse_operands(operation);
      break;
    case Typing::Fourier:
      if (accept("conjugate")) operation.attribute |= fourier_conjugate;
      if (accept("scaled")) operation.attribute |= fourier_scaled;
      parse_operands(operation);
      break;
    case Typing::Solve:
      if (accept("upper")) operation.attribute |= solve_upper;
      if (accept("transposed")) operation.attribute |= solve_transposed;
      parse_operands(operation);
      break;
    case Typing::Extent:
      operation.array = parse_array();
      expect(",");
      operation.attribute = number<std::int32_t>("a dimension of the array");
      break;
    case Typing::Load:
      if (*op == Op::Exchange) operation.attribute = accept("atomic") ? 0 : 1;
      if (*op == Op::Load && accept("afterwards")) operation.attribute = load_afterwards;
      if (*op == Op::Load && accept("by_warp")) operation.attribute |= load_by_warp;
      if (*op == Op::Load && accept("ahead"))
        operation = load_ahead(operation, number<std::uint16_t>("the number of elements of a copy"));
      operation.array = parse_array();
      operation.operands = parse_indices();
      break;
    case Typing::Atomic:
      operation.array = parse_array();
      operation.operands = parse_indices();
      expect(",");
      parse_operands(operation);
      break;
    case Typing::LocalLoad:
      operation.array = parse_local_array();
      operation.operands = parse_indices();
      break;
    default:
      if (*op == Op::Unavailable) {
        operation.attribute = number<std::int32_t>("the number of a reason");
        break;
      }
      parse_operands(operation);
  }
  return operation;
}

void Parser::parse_transpose(Operation &operation) {
  int shift = 0;
  parse_list([&] {
    operation.attribute |= (number<std::int32_t>("a dimension of the tile") & 15) << std::min(shift, 24);
    shift += 4;
  });
  operation.operands = {parse_value()};
}

void Parser::parse_product(Operation &operation) {
  if (accept("tf32")) operation.attribute |= tf32_factors;
  if (accept("transposed")) operation.attribute |= transposed_a;
  operation.operands.push_back(parse_value());
  expect(",");
  if (accept("transposed")) operation.attribute |= transposed_b;
  operation.operands.push_back(parse_value());
  expect(",");
  operation.operands.push_back(parse_value());
}

void Parser::parse_operands(Operation &operation) {
  do operation.operands.push_back(parse_value());
  while (accept(","));
}

std::uint32_t Parser::parse_array() { return parameter_index(expect(TokenKind::Name, "an array, as in '@name'")); }

LocalArrayId Parser::parse_local_array() {
  const Token &token = expect(TokenKind::LocalArray, "a local array, as in '$0'");
  auto id = read_number<LocalArrayId>(token.text);
  if (!id || *id >= number_limit) fail_at(token, "expected a local array's number below 2^20");
  kernel_.local_array_count = std::max(kernel_.local_array_count, *id + 1);
  return *id;
}

std::vector<Value> Parser::parse_indices() {
  std::vector<Value> indices;
  expect("[");
  if (accept("]")) return indices;
  do indices.push_back(parse_value());
  while (accept(","));
  if (!accept("]")) fail_expected("',' or ']' after an index");
  return indices;
}

Value Parser::parse_value() {
  const Token &token = peek();
  switch (token.kind) {
    case TokenKind::Local: {
      LocalId id = local_id(advance());
      auto type = types_.find(id);
      if (type == types_.end())
        fail_at(token, fmt::format("expected a local that the kernel defines, found {}", describe(token)));
      return Value::local(type->second, id);
    }
    case TokenKind::Name: {
      std::uint32_t index = parameter_index(advance());
      return Value::parameter(kernel_.parameters[index].type, index);
    }
    case TokenKind::Integer:
    case TokenKind::Floating:
    case TokenKind::Word: return parse_constant();
    default: fail_expected("a value (a local, a parameter or a constant)");
  }
}

Value Parser::parse_constant() {
  if (is("true") || is("false")) {
    const int truth = advance().text == "true" ? 1 : 0;
    return Value::constant(parse_suffix(ScalarType::Bool), truth);
  }
  if (accept("nan")) return parse_nan();
  const Token &token = peek();
  bool infinite = is("inf") || is("-inf");
  if (token.kind == TokenKind::Word && !infinite) fail_expected("a value (a local, a parameter or a constant)");
  advance();
  Type type = parse_suffix(token.kind == TokenKind::Integer ? ScalarType::Int32 : ScalarType::Float32);

  std::optional<Value> value;
  if (infinite && is_floating(type)) {
    double infinity = std::numeric_limits<double>::infinity();
    value = Value::constant(type, token.text == "inf" ? infinity : -infinity);
  } else if (type.element() == ScalarType::Float32) {
    if (auto number = read_number<float>(token.text)) value = Value::constant(type, double{*number});
  } else if (is_floating(type)) {
    if (auto number = read_number<double>(token.text)) value = Value::constant(type, *number);
  } else if (type.element() == ScalarType::UInt64) {
    if (auto number = read_number<std::uint64_t>(token.text)) value = Value::from_bits(type, *number);
  } else if (is_integer(type)) {
    if (auto number = read_number<std::int64_t>(token.text)) value = Value::constant(type, *number);
    if (value && fmt::format("{}", value->as_int()) != token.text) value.reset();  // it overflowed
  }
  if (!value) fail_at(token, fmt::format("expected a constant of type {}, found {}", name(type), describe(token)));
  return *value;
}

Value Parser::parse_nan() {
  std::uint64_t bits = 0x7ff8'0000'0000'0000;
  const Token &token = peek();
  if (accept("(")) {
    const Token &digits = expect(TokenKind::Integer, "the bits of the NaN, as in 'nan(0x7ff8000000000001)'");
    auto read = digits.text.starts_with("0x") ? read_number<std::uint64_t>(digits.text.substr(2), 16) : std::nullopt;
    constexpr std::uint64_t infinity = 0x7ff0'0000'0000'0000, sign = 0x8000'0000'0000'0000;
    if (!read || (*read & ~sign) <= infinity)
      fail_at(digits,
              fmt::format("expected the bits of a NaN, as in 'nan(0x7ff8000000000001)', found {}", describe(digits)));
    bits = *read;
    expect(")");
  }
  Type type = parse_suffix(ScalarType::Float32);
  if (!is_floating(type)) fail_at(token, fmt::format("expected a constant of type {}, found 'nan'", name(type)));
  return Value::from_bits(type, bits);
}

Type Parser::parse_suffix(Type otherwise) { return accept(":") ? parse_type() : otherwise; }

}  // namespace samite::ir
