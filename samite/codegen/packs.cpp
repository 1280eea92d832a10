// Accesses to several elements at once: those of neighbours that a thread runs side by side.
#include "samite/codegen/kernel_emitter.h"
#include "samite/codegen/spelling.h"

namespace samite::codegen {

using namespace ir;

namespace {

std::string_view spelling(LoadPack::How how) {
  switch (how) {
    case LoadPack::How::plain: return "load_pack";
    case LoadPack::How::constant: return "load_constant_pack";
    case LoadPack::How::take: return "take_pack";
  }
  return "";
}

std::string_view spelling(StorePack::How how) {
  switch (how) {
    case StorePack::How::store: return "store_pack";
    case StorePack::How::streaming: return "store_pack_streaming";
    case StorePack::How::add: return "add_pack";
    case StorePack::How::atomic_add: return "atomic_add_pack";
  }
  return "";
}

}  // namespace

void KernelEmitter::load_pack(const LoadPack &load) {
  const std::string pack = fresh("g");
  out_.line("const auto {} = {}<{}>(&p{}.data[{}]);", pack, spelling(load.how), load.locals.size(), load.array,
            memory_.thread_offset(load.array, load.indices));
  for (std::size_t i = 0; i < load.locals.size(); ++i)
    if (used(load.locals[i]))
      out_.line("const {} {} = {}.at[{}];", scalar_name(load.type), name(load.locals[i]), pack, i);
}

void KernelEmitter::store_pack(const StorePack &store) {
  const auto element = memory_name(store.values[0].type());
  std::string values;
  for (const Value &value : store.values)
    values += fmt::format("{}{}({})", values.empty() ? "" : ", ", element, scalar(value));
  out_.line("{}(&p{}.data[{}], Pack<{}, {}>{{{{{}}}}});", spelling(store.how), store.array,
            memory_.thread_offset(store.array, store.indices), element, store.values.size(), values);
}

}  // namespace samite::codegen
