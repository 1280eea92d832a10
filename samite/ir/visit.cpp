#include "samite/ir/visit.h"

namespace samite::ir {

namespace {

void for_each(const Block &block, bool derivatives, const std::function<void(const Stmt &)> &f) {
  for (const Stmt &stmt : block) {
    f(stmt);
    if (auto *branch = stmt.as<If>()) {
      for_each(branch->then_block, derivatives, f);
      for_each(branch->else_block, derivatives, f);
    } else if (auto *loop = stmt.as<For>()) {
      for_each(loop->body, derivatives, f);
    } else if (auto *loop = stmt.as<While>()) {
      for_each(loop->condition_block, derivatives, f);
      for_each(loop->body, derivatives, f);
    } else if (auto *labelled = stmt.as<Labelled>()) {
      for_each(labelled->body, derivatives, f);
    } else if (auto *custom = stmt.as<CustomAdjoint>()) {
      for_each(custom->primal, derivatives, f);
      if (!derivatives) continue;
      for_each(custom->replay, derivatives, f);
      for_each(custom->adjoint, derivatives, f);
    } else if (auto *call = stmt.as<AdjointCall>()) {
      for_each(call->primal, derivatives, f);
    }
  }
}

}  // namespace

void for_each_statement(const Block &block, const std::function<void(const Stmt &)> &f) { for_each(block, true, f); }

void for_each_statement(const Kernel &kernel, const std::function<void(const Stmt &)> &f) {
  for_each_statement(kernel.body, f);
  for_each_statement(kernel.roles.producing, f);
}

void for_each_primal_statement(const Block &block, const std::function<void(const Stmt &)> &f) {
  for_each(block, false, f);
}

void for_each_operand(const Stmt &stmt, const std::function<void(const Value &)> &f) {
  auto all = [&](const std::vector<Value> &values) {
    for (const Value &value : values) f(value);
  };
  auto carried = [&](const std::vector<Carried> &values) {
    for (const Carried &value : values) f(value.initial), f(value.next);
  };
  visit(
      stmt, [&](const Let &let) { all(let.value.operands); }, [&](const Assign &assign) { f(assign.value); },
      [&](const Store &store) { all(store.indices), f(store.value); },
      [&](const Accumulate &accumulate) { all(accumulate.indices), f(accumulate.value); },
      [&](const Allocate &allocate) {
        f(allocate.size);
        if (allocate.units) f(*allocate.units);
        if (allocate.buffer) f(allocate.buffer->number);
      },
      [&](const LocalStore &store) { f(store.index), f(store.value); }, [](const TileCall &) {},
      [&](const TileLoad &load) { all(load.indices); },
      [&](const MainLoop &loop) {
        for (const Transfer &factor : loop.factors) all(factor.indices);
        if (loop.count) f(*loop.count);
        if (loop.terms) f(*loop.terms);
      },
      [&](const WindowProduct &product) { all(product.second.indices); }, [](const StageProduct &) {},
      [&](const LoadStream &stream) { all(stream.indices); },
      [&](const BringWindows &bring) {
        for (const BringWindows::Window &window : bring.windows) all(window.indices);
      },
      [](const ReleaseWindows &) {}, [&](const Prefetch &fetch) { all(fetch.indices); },
      [&](const LoadPack &load) { all(load.indices); },
      [&](const StorePack &store) { all(store.indices), all(store.values); }, [](const Barrier &) {},
      [](const CommitCopies &) {}, [](const WaitForCopies &) {}, [&](const Print &print) { all(print.message.values); },
      [&](const Check &check) { f(check.condition), all(check.message.values), all(check.instance); },
      [&](const If &branch) {
        f(branch.condition);
        for (const BranchResult &result : branch.results) f(result.then_value), f(result.else_value);
      },
      [&](const For &loop) { f(loop.begin), f(loop.end), f(loop.step), carried(loop.carried); },
      [&](const While &loop) { f(loop.condition), carried(loop.carried); }, [](const Labelled &) {},
      [](const Leave &) {},
      [&](const CustomAdjoint &custom) {
        for (const CustomResult &result : custom.results) f(result.value), f(result.replayed);
        for (const CustomOperand &each : custom.operands) f(each.operand), f(each.gradient);
      },
      [&](const AdjointCall &call) {
        for (const AdjointInput &input : call.inputs) f(input.value);
        for (const AdjointSeed &seed : call.seeds) f(seed.output), f(seed.cotangent);
      });
}

std::optional<std::uint32_t> array_read(const Stmt &stmt) {
  if (auto *load = stmt.as<TileLoad>()) return load->array;
  if (auto *pack = stmt.as<LoadPack>()) return pack->array;
  auto *let = stmt.as<Let>();
  if (!let) return std::nullopt;
  Typing typing = info(let->value.op).typing;
  return typing == Typing::Load || typing == Typing::Atomic ? std::optional(let->value.array) : std::nullopt;
}

std::optional<std::uint32_t> array_written(const Stmt &stmt) {
  if (auto *store = stmt.as<Store>()) return store->array;
  if (auto *accumulate = stmt.as<Accumulate>()) return accumulate->array;
  if (auto *pack = stmt.as<StorePack>()) return pack->array;
  if (auto *pack = stmt.as<LoadPack>(); pack && pack->how == LoadPack::How::take) return pack->array;
  auto *let = stmt.as<Let>();
  bool writes = let && (let->value.op == Op::Exchange || info(let->value.op).typing == Typing::Atomic);
  return writes ? std::optional(let->value.array) : std::nullopt;
}

void for_each_tile(const Stmt &stmt, const std::function<void(const TileMemory &, TileAccess)> &f) {
  using enum TileAccess;
  visit(
      stmt,
      [&](const TileCall &call) {
        f(call.result, result);
        for (const TileMemory &tile : call.operands) f(tile, operand);
      },
      [&](const TileLoad &load) { f(load.result, result); },
      [&](const MainLoop &loop) {
        f(loop.result, result);
        for (const Transfer &factor : loop.factors) f(factor.ring, ring);
        if (loop.barriers) f(*loop.barriers, barriers);
      },
      [&](const WindowProduct &product) {
        f(product.result, result), f(product.first, operand), f(product.second.ring, ring);
        f(product.barriers, barriers);
      },
      [&](const StageProduct &product) {
        f(product.result, result);
        for (const TileMemory &factor : product.factors) f(factor, ring);
        f(product.barriers, barriers);
      },
      [&](const BringWindows &bring) {
        f(bring.barriers, barriers);
        for (const BringWindows::Window &window : bring.windows) f(window.ring, ring);
      },
      [](const auto &) {});
}

Stmt map_tiles(const Stmt &stmt, const std::function<LocalArrayId(LocalArrayId)> &f) {
  const auto map = [&](TileMemory &tile) { tile.array = f(tile.array); };
  return visit(
      stmt,
      [&](TileCall call) -> Stmt {
        map(call.result);
        for (TileMemory &operand : call.operands) map(operand);
        return {std::move(call), stmt.where()};
      },
      [&](TileLoad load) -> Stmt {
        map(load.result);
        return {std::move(load), stmt.where()};
      },
      [&](MainLoop loop) -> Stmt {
        map(loop.result);
        for (Transfer &factor : loop.factors) map(factor.ring);
        if (loop.barriers) map(*loop.barriers);
        return {std::move(loop), stmt.where()};
      },
      [&](WindowProduct product) -> Stmt {
        map(product.result), map(product.first), map(product.second.ring), map(product.barriers);
        if (product.runs_into) product.runs_into = f(*product.runs_into);
        return {std::move(product), stmt.where()};
      },
      [&](StageProduct product) -> Stmt {
        map(product.result), map(product.factors[0]), map(product.factors[1]), map(product.barriers);
        return {product, stmt.where()};
      },
      [&](const For &loop) -> Stmt {
        if (loop.products.declared.empty()) return stmt;
        For made = loop;
        for (LoopProduct &product : made.products.declared) {
          product.result = f(product.result);
          for (LoopProduct::Factor &factor : product.factors) {
            factor.tile = f(factor.tile);
            if (factor.window) factor.window = f(*factor.window);
          }
        }
        return {std::move(made), stmt.where()};
      },
      [&](const auto &) { return stmt; });
}

bool is_on_tiles(const Stmt &stmt) {
  bool found = false;
  for_each_tile(stmt, [&](const TileMemory &, TileAccess) { found = true; });
  return found;
}

bool multiplies(const Stmt &stmt) {
  return visit(
      stmt, [](const TileCall &call) { return call.op == Op::MatMul; },
      [](const ProductOfWindows auto &) { return true; }, [](const auto &) { return false; });
}

bool multiplies_by_groups(const Stmt &stmt) {
  return visit(
      stmt, [](const MainLoop &loop) { return loop.by_bulk_copies(); }, [](const WindowProduct &) { return true; },
      [](const StageProduct &) { return true; }, [](const auto &) { return false; });
}

const TileMemory *result_of(const Stmt &stmt) {
  const TileMemory *result = nullptr;
  for_each_tile(stmt, [&](const TileMemory &tile, TileAccess access) {
    if (access == TileAccess::result) result = &tile;
  });
  return result;
}

const FragmentLayout *layout_of_sums(const Stmt &stmt) {
  return visit(
      stmt, [](const TileCall &call) { return call.sums ? &*call.sums : nullptr; },
      [](const ProductOfWindows auto &product) -> const FragmentLayout * { return &product.sums; },
      [](const auto &) -> const FragmentLayout * { return nullptr; });
}

std::optional<LocalArrayId> local_array_touched(const Stmt &stmt) {
  if (auto *store = stmt.as<LocalStore>()) return store->array;
  auto *let = stmt.as<Let>();
  return let && let->value.op == Op::LocalLoad ? std::optional(let->value.array) : std::nullopt;
}

bool has_effect(const Stmt &stmt) { return array_written(stmt) || stmt.as<Print>() || stmt.as<Check>(); }

std::span<const Value> element_indices(const Operation &operation) {
  return std::span(operation.operands).first(operation.operands.size() - element_values(operation).size());
}

std::span<const Value> element_values(const Operation &operation) {
  if (info(operation.op).typing != Typing::Atomic) return {};
  return std::span(operation.operands).last(operation.op == Op::AtomicCompareExchange ? 2 : 1);
}

void for_each_definition(const Stmt &stmt, const std::function<void(LocalId, Type)> &f) {
  auto carried = [&](const std::vector<Carried> &values) {
    for (const Carried &value : values) f(value.inner, value.type), f(value.result, value.type);
  };
  visit(
      stmt, [&](const Let &let) { f(let.local, let.value.type); }, [](const Assign &) {}, [](const Store &) {},
      [](const Accumulate &) {}, [](const Allocate &) {}, [](const LocalStore &) {}, [](const TileCall &) {},
      [](const TileLoad &) {}, [](const ProductOfWindows auto &) {},
      [&](const LoadStream &stream) { f(stream.inside, ScalarType::Int32); }, [](const BringWindows &) {},
      [](const ReleaseWindows &) {}, [](const Prefetch &) {},
      [&](const LoadPack &load) {
        for (const LocalId local : load.locals) f(local, load.type);
      },
      [](const StorePack &) {}, [](const Barrier &) {}, [](const CommitCopies &) {}, [](const WaitForCopies &) {},
      [](const Print &) {}, [](const Check &) {},
      [&](const If &branch) {
        for (const BranchResult &result : branch.results) f(result.local, result.type);
      },
      [&](const For &loop) { f(loop.index, loop.type), carried(loop.carried); },
      [&](const While &loop) { carried(loop.carried); }, [](const Labelled &) {}, [](const Leave &) {},
      [&](const CustomAdjoint &custom) {
        for (const CustomOperand &each : custom.operands) f(each.inner, each.operand.type());
        for (const CustomResult &result : custom.results)
          f(result.local, result.type), f(result.cotangent, result.type);
      },
      [&](const AdjointCall &call) {
        for (const AdjointInput &input : call.inputs) f(input.inner, input.type), f(input.gradient, input.type);
      });
}

namespace {

// A statement with other operands, kind by kind.
class OperandMap {
 public:
  OperandMap(const Stmt &stmt, const std::function<Value(const Value &)> &f) : stmt_(stmt), f_(f) {}

  Stmt operator()(Let let) const {
    let.value.operands = all(std::move(let.value.operands));
    return Stmt(std::move(let), stmt_.where());
  }
  Stmt operator()(Assign assign) const {
    assign.value = f_(assign.value);
    return Stmt(assign, stmt_.where());
  }
  Stmt operator()(Store store) const {
    store.indices = all(std::move(store.indices));
    store.value = f_(store.value);
    return Stmt(std::move(store), stmt_.where());
  }
  Stmt operator()(Accumulate accumulate) const {
    accumulate.indices = all(std::move(accumulate.indices));
    accumulate.value = f_(accumulate.value);
    return Stmt(std::move(accumulate), stmt_.where());
  }
  Stmt operator()(Allocate allocate) const {
    allocate.size = f_(allocate.size);
    if (allocate.units) allocate.units = f_(*allocate.units);
    if (allocate.buffer) allocate.buffer->number = f_(allocate.buffer->number);
    return Stmt(allocate, stmt_.where());
  }
  Stmt operator()(LocalStore store) const {
    store.index = f_(store.index);
    store.value = f_(store.value);
    return Stmt(store, stmt_.where());
  }
  Stmt operator()(TileLoad load) const {
    load.indices = all(std::move(load.indices));
    return Stmt(std::move(load), stmt_.where());
  }
  Stmt operator()(MainLoop loop) const {
    for (Transfer &factor : loop.factors) factor.indices = all(std::move(factor.indices));
    if (loop.count) loop.count = f_(*loop.count);
    if (loop.terms) loop.terms = f_(*loop.terms);
    return Stmt(std::move(loop), stmt_.where());
  }
  Stmt operator()(WindowProduct product) const {
    product.second.indices = all(std::move(product.second.indices));
    return Stmt(std::move(product), stmt_.where());
  }
  Stmt operator()(LoadStream stream) const {
    stream.indices = all(std::move(stream.indices));
    return Stmt(std::move(stream), stmt_.where());
  }
  Stmt operator()(BringWindows bring) const {
    for (BringWindows::Window &window : bring.windows) window.indices = all(std::move(window.indices));
    return Stmt(std::move(bring), stmt_.where());
  }
  Stmt operator()(Prefetch fetch) const {
    fetch.indices = all(std::move(fetch.indices));
    return Stmt(std::move(fetch), stmt_.where());
  }
  Stmt operator()(LoadPack load) const {
    load.indices = all(std::move(load.indices));
    return Stmt(std::move(load), stmt_.where());
  }
  Stmt operator()(StorePack store) const {
    store.indices = all(std::move(store.indices));
    store.values = all(std::move(store.values));
    return Stmt(std::move(store), stmt_.where());
  }
  Stmt operator()(Print print) const {
    print.message.values = all(std::move(print.message.values));
    return Stmt(std::move(print), stmt_.where());
  }
  Stmt operator()(Check check) const {
    check.condition = f_(check.condition);
    check.message.values = all(std::move(check.message.values));
    check.instance = all(std::move(check.instance));
    return Stmt(std::move(check), stmt_.where());
  }
  Stmt operator()(const If &branch) const {
    If mapped{f_(branch.condition), map_operands(branch.then_block, f_), map_operands(branch.else_block, f_),
              branch.results};
    for (BranchResult &result : mapped.results)
      result.then_value = f_(result.then_value), result.else_value = f_(result.else_value);
    return Stmt(std::move(mapped), stmt_.where());
  }
  Stmt operator()(const For &loop) const {
    For mapped = loop;
    mapped.begin = f_(loop.begin), mapped.end = f_(loop.end), mapped.step = f_(loop.step);
    mapped.body = map_operands(loop.body, f_);
    mapped.carried = carried(loop.carried), mapped.products = with_terms(loop.products);
    return Stmt(std::move(mapped), stmt_.where());
  }
  Stmt operator()(const While &loop) const {
    While mapped{map_operands(loop.condition_block, f_), loop.condition, map_operands(loop.body, f_), loop.carried};
    mapped.condition = f_(mapped.condition);
    mapped.carried = carried(std::move(mapped.carried));
    return Stmt(std::move(mapped), stmt_.where());
  }
  Stmt operator()(const Labelled &labelled) const {
    return Stmt(Labelled{labelled.label, map_operands(labelled.body, f_)}, stmt_.where());
  }
  Stmt operator()(CustomAdjoint custom) const {
    for (Block *nested : {&custom.primal, &custom.replay, &custom.adjoint}) *nested = map_operands(*nested, f_);
    for (CustomResult &result : custom.results) result.value = f_(result.value), result.replayed = f_(result.replayed);
    for (CustomOperand &each : custom.operands) each.operand = f_(each.operand), each.gradient = f_(each.gradient);
    return Stmt(std::move(custom), stmt_.where());
  }
  Stmt operator()(AdjointCall call) const {
    call.primal = map_operands(call.primal, f_);
    for (AdjointInput &input : call.inputs) input.value = f_(input.value);
    for (AdjointSeed &seed : call.seeds) seed.output = f_(seed.output), seed.cotangent = f_(seed.cotangent);
    return Stmt(std::move(call), stmt_.where());
  }
  Stmt operator()(const TileCall &) const { return stmt_; }
  Stmt operator()(const StageProduct &) const { return stmt_; }
  Stmt operator()(const ReleaseWindows &) const { return stmt_; }
  Stmt operator()(const Barrier &) const { return stmt_; }
  Stmt operator()(const CommitCopies &) const { return stmt_; }
  Stmt operator()(const WaitForCopies &) const { return stmt_; }
  Stmt operator()(const Leave &) const { return stmt_; }

 private:
  std::vector<Value> all(std::vector<Value> values) const {
    for (Value &value : values) value = f_(value);
    return values;
  }
  std::vector<Carried> carried(std::vector<Carried> values) const {
    for (Carried &value : values) value.initial = f_(value.initial), value.next = f_(value.next);
    return values;
  }
  LoopProducts with_terms(LoopProducts products) const {
    for (LoopProduct &product : products.declared)
      for (LoopProduct::Factor &factor : product.factors)
        if (factor.terms) factor.terms = f_(*factor.terms);
    return products;
  }

  const Stmt &stmt_;
  const std::function<Value(const Value &)> &f_;
};

}  // namespace

Stmt map_operands(const Stmt &stmt, const std::function<Value(const Value &)> &f) {
  return std::visit(OperandMap(stmt, f), stmt.kind());
}

Block map_operands(const Block &block, const std::function<Value(const Value &)> &f) {
  Block mapped;
  mapped.reserve(block.size());
  for (const Stmt &stmt : block) mapped.push_back(map_operands(stmt, f));
  return mapped;
}

std::vector<Type> local_types(const Kernel &kernel) {
  std::vector<Type> types(kernel.local_count, ScalarType::Bool);
  for_each_statement(kernel.body, [&](const Stmt &stmt) {
    for_each_definition(stmt, [&](LocalId local, Type type) { types[local] = type; });
  });
  return types;
}

}  // namespace samite::ir
