// Operations on whole tiles as separate functions, which are compiled once for all kernels that call them.
#include "samite/base/hash.h"
#include "samite/codegen/tile_calls.h"

#include <algorithm>

namespace samite::codegen {

using namespace ir;

namespace {

std::string text_of(const Type &type) { return fmt::format("{} {}", name(type.element()), type.shape().to_string()); }

std::string operation_of(const TileCall &call) {
  std::string text = fmt::format("{} {}", info(call.op).name, text_of(call.result.type));
  for (const TileMemory &operand : call.operands)
    text += (&operand == call.operands.data() ? " of " : ", ") + text_of(operand.type);
  return text;
}

// Pointers to the result's and to each operand's memory, and their names.
struct Signature {
  std::string parameters, arguments;
};

Signature signature_of(const TileCall &call) {
  Signature signature;
  int count = 0;
  const auto add = [&](const TileMemory &memory) {
    const std::string_view comma = count > 0 ? ", " : "";
    signature.parameters += fmt::format("{}{} *x{}", comma, memory_name(memory.type), count);
    signature.arguments += fmt::format("{}x{}", comma, count++);
  };
  add(call.result);
  for (const TileMemory &operand : call.operands) add(operand);
  return signature;
}

}  // namespace

std::string TileCalls::heavy(const TileCall &call, const std::string &function) {
  if (functions_ == TileFunctions::of_cuda) return function;
  const auto [parameters, arguments] = signature_of(call);
  const std::string name = fmt::format("samite_{}_{}", info(call.op).name, hash_of({parameters, function}).hex());
  std::vector<EmittedObject> &known = emission_.source.objects;
  if (std::ranges::find(known, name, &EmittedObject::name) != known.end()) return name;
  known.push_back({.name = name,
                   .operation = operation_of(call),
                   .text = fmt::format(
                       "namespace samite {{\n\nextern \"C\" void {}({}) {{\n  {}({});\n}}\n\n}}  // namespace samite\n",
                       name, parameters, function, arguments)});
  declarations_ += fmt::format("extern \"C\" void {}({});\n", name, parameters);
  return name;
}

std::string TileCalls::declarations() const {
  if (declarations_.empty()) return "";
  return fmt::format("namespace samite {{\n\n{}\n}}  // namespace samite\n\n", declarations_);
}

}  // namespace samite::codegen
