// Operations on whole tiles as functions of their own, which are compiled once for all kernels that call them.
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
  if (call.is_product_loop())
    text += call.part == TileCall::Part::copies     ? ", the copies of a loop"
            : call.part == TileCall::Part::products ? ", the products of a loop"
                                                    : " in a loop of bulk copies";
  return text;
}

}  // namespace

// The result, then the operands: pointers to memory, or the elements that a thread has in its registers. Of a loop of
// products then the windows, and how many there are.
std::string TileCalls::parameters_of_object(const TileCall &call) const {
  std::string text;
  int count = 0;
  const auto add = [&](const TileMemory &memory) {
    const std::string name = fmt::format("x{}", count);
    const std::string_view element = memory_name(memory.type);
    if (count++ > 0) text += ", ";
    if (const FragmentLayout *fragments = places_.fragments_of(memory.array))
      text += fmt::format("Register<{}> (&{})[{}]", element, name, fragments->registers());
    else
      text += fmt::format("{} *{}", element, name);
  };
  if (call.part != TileCall::Part::copies) add(call.result);
  for (const TileMemory &operand : call.operands) add(operand);
  if (call.part != TileCall::Part::whole)
    text += fmt::format(", RingPosition<{}> &x{}", call.operands[2].type.count() / 2, count++);
  for (const LoopWindows &windows : call.windows)
    if (call.part != TileCall::Part::products)
      text += fmt::format(", BulkWindows<{}> x{}", windows.indices.size(), count++);
  if (call.count) text += fmt::format(", i32 x{}", count++);
  return text;
}

// What the call is of. `function` is of samite/device/tile/, with its template arguments.
std::string TileCalls::object(const TileCall &call, std::string_view function) {
  const std::string parameters = parameters_of_object(call);
  const std::string name = fmt::format("samite_{}_{}", info(call.op).name, hash_of({parameters, function}).hex());
  std::vector<EmittedObject> &known = emission_.source.objects;
  if (std::ranges::find(known, name, &EmittedObject::name) != known.end()) return name;
  EmittedObject made{.name = name, .operation = operation_of(call), .text = {}};
  std::string arguments = "x0";
  std::size_t more = call.operands.size() + (call.is_product_loop() ? 1 : 0);
  if (call.part == TileCall::Part::whole) more += call.windows.size();
  if (call.part == TileCall::Part::copies) more += call.windows.size();  // a position more, and no result
  if (call.part == TileCall::Part::products) more += 1;
  for (std::size_t i = 1; i <= more; ++i) arguments += fmt::format(", x{}", i);
  made.text =
      fmt::format("namespace samite {{\n\nSAMITE_OBJECT void {}({}) {{\n  {}({});\n}}\n\n}}  // namespace samite\n",
                  name, parameters, function, arguments);
  known.push_back(std::move(made));
  declarations_ += fmt::format("extern \"C\" void {}({});\n", name, parameters);
  return name;
}

std::string TileCalls::declarations() const {
  if (declarations_.empty()) return "";
  return fmt::format("namespace samite {{\n\n{}\n}}  // namespace samite\n\n", declarations_);
}

}  // namespace samite::codegen
