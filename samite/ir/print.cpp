#include "samite/ir/print.h"

#include "samite/ir/atom_text.h"
#include "samite/ir/load_ahead.h"
#include "samite/ir/visit.h"

#include <fmt/format.h>
#include <iterator>
#include <ostream>
#include <unordered_map>

namespace samite::ir {
namespace {

std::string_view keyword(LoopKind kind) {
  switch (kind) {
    case LoopKind::Serial: return "for";
    case LoopKind::Block: return "for.block";
    case LoopKind::Thread: return "for.thread";
  }
  return "for.unknown";
}

std::string_view keyword(MemorySpace space) {
  switch (space) {
    case MemorySpace::instance: return "local";
    case MemorySpace::workspace: return "local workspace";
    case MemorySpace::strip: return "local strip";
    case MemorySpace::thread: return "local thread";
    case MemorySpace::registers: return "local registers";
    case MemorySpace::shared: return "local shared";
    case MemorySpace::device: return "local device";
  }
  return "local unknown";
}

std::string_view keyword(LoadPack::How how) {
  switch (how) {
    case LoadPack::How::plain: return "";
    case LoadPack::How::constant: return "constant ";
    case LoadPack::How::row: return "row ";
    case LoadPack::How::take: return "take ";
  }
  return "unknown ";
}

std::string_view keyword(StorePack::How how) {
  switch (how) {
    case StorePack::How::store: return "store_pack";
    case StorePack::How::streaming: return "store_pack streaming";
    case StorePack::How::add: return "accumulate_pack";
    case StorePack::How::atomic_add: return "accumulate_pack atomic";
  }
  return "store_pack unknown";
}

std::string_view role_words(ThreadRole role) {
  switch (role) {
    case ThreadRole::all: return "";
    case ThreadRole::producers: return "producers ";
    case ThreadRole::consumers: return "consumers ";
  }
  return "unknown ";
}

std::string counted(std::string_view word, int number) {
  return number == 0 ? "" : fmt::format(" {} {}", word, number);
}

// The attributes of a loop, after its step.
std::string notes(const For &loop) {
  const std::string rolled = loop.rolled ? " rolled" : "";
  const std::string instances = loop.threads.instances == 1 ? "" : fmt::format(" instances {}", loop.threads.instances);
  const std::string by_warp = counted("by_warp", loop.threads.by_warp);
  const std::string march = loop.threads.march == 1 ? "" : fmt::format(" march {}", loop.threads.march);
  const std::string ahead = loop.ahead == 0 ? "" : fmt::format(" ahead {}", loop.ahead);
  const std::string jam = loop.jam == 1 ? "" : fmt::format(" jam {}", loop.jam);
  return rolled + instances + by_warp + march +
         (loop.stages == 1 ? ahead : fmt::format(" stages {}{}", loop.stages, ahead)) + jam;
}

class Printer {
 public:
  Printer(const std::vector<Parameter> &parameters, PrintOptions options)
      : parameters_(parameters), options_(options) {}

  // Renumbers the locals and local arrays that `block` defines, in the order of their definitions.
  void renumber(const Block &block) {
    if (!options_.renumber) return;
    for_each_statement(block, [&](const Stmt &stmt) {
      for_each_definition(stmt,
                          [&](LocalId local, Type) { numbers_.emplace(local, static_cast<LocalId>(numbers_.size())); });
      if (auto *stream = stmt.as<LoadStream>())
        array_numbers_.emplace(stream->stream, static_cast<LocalArrayId>(array_numbers_.size()));
      if (auto *allocate = stmt.as<Allocate>())
        array_numbers_.emplace(allocate->array, static_cast<LocalArrayId>(array_numbers_.size()));
    });
  }

  void print(const Kernel &kernel) {
    write("kernel {}(", at_name(kernel.name));
    for (std::size_t i = 0; i < kernel.parameters.size(); ++i)
      write("{}{}", i == 0 ? "" : ", ", declaration(kernel.parameters[i]));
    const Grid &grid = kernel.grid;
    const Roles &roles = kernel.roles;
    const std::string launch =
        fmt::format("{}{}{}{}", grid.strides ? " strides" : "", grid.persistent ? " persistent" : "",
                    grid.axes ? " axes" : "", counted("at_once", grid.blocks_at_once));
    if (is_tile_kernel(kernel))
      write(") blocks {}{}{} of {}{}{}{}{}{}{}{}{} {{\n", kernel.launch_rank, counted("strips", grid.strip_columns),
            grid.cluster_blocks == 0
                ? ""
                : fmt::format(" clusters {} along {}", grid.cluster_blocks, grid.cluster_dimension),
            kernel.block_threads, kernel.scheduled ? " scheduled" : "", kernel.sums_in_shared ? " shared" : "",
            counted("resident", grid.resident_blocks), counted("teams", roles.teams), roles.equal_turns ? " equal" : "",
            counted("parts", grid.step_parts),
            kernel.plan == TilePlan() ? "" : fmt::format(" plan ({})", to_string(kernel.plan)), launch,
            location(kernel.where));
    else
      write(") threads {}{}{} {{\n", kernel.launch_rank, launch, location(kernel.where));
    print_nested(kernel.body);
    write("}}");
    if (roles.producers != 0) {
      write(" producing {}{} {{\n", roles.producers,
            roles.registers.producing == 0
                ? ""
                : fmt::format(" registers {}, {}", roles.registers.producing, roles.registers.multiplying));
      print_nested(kernel.roles.producing);
      write("}}");
    }
    write("\n");
  }

  void print(const Block &block) {
    for (const Stmt &stmt : block) {
      indent();
      print(stmt);
      out_ += '\n';
    }
  }

  void print(const Stmt &stmt) {
    const std::string where = location(stmt.where());
    visit(stmt, [&](const auto &kind) { print(kind, where); });
  }
  void print(const Let &let, const std::string &where) {
    write("{}: {} = {}{}", local(let.local), name(let.value.type), operation(let.value), where);
  }
  void print(const Assign &assign, const std::string &where) {
    write("assign {} = {}{}", local(assign.local), value(assign.value), where);
  }
  void print(const Store &store, const std::string &where) {
    write("store {} = {}{}", element(store.array, store.indices), value(store.value), where);
  }
  void print(const Accumulate &accumulate, const std::string &where) {
    write("accumulate {}{}{}{} += {}{}", accumulate.atomic ? "atomic " : "",
          accumulate.over_launch  ? "over_launch "
          : accumulate.over_lanes ? "over_lanes "
                                  : "",
          accumulate.of_gradient ? "gradient " : "", element(accumulate.array, accumulate.indices),
          value(accumulate.value), where);
  }
  void print(const Allocate &allocate, const std::string &where) {
    std::string memory;
    if (!std::holds_alternative<LinearLayout>(allocate.layout)) memory += " " + to_string(allocate.layout);
    if (allocate.stages > 1) memory += fmt::format(" stages {}", allocate.stages);
    if (allocate.units) memory += " units " + value(*allocate.units);
    if (allocate.offset) memory += fmt::format(" offset {}", *allocate.offset);
    if (allocate.team_bytes != 0) memory += fmt::format(" teams {}", allocate.team_bytes);
    if (const auto &buffer = allocate.buffer)
      memory += fmt::format(" buffer {} of {}", value(buffer->number), local_array(buffer->of));
    write("{} {}: {}[{}]{}{}", keyword(allocate.space), local_array(allocate.array), name(allocate.type),
          value(allocate.size), memory, where);
  }
  void print(const LocalStore &store, const std::string &where) {
    write("local_store {}[{}] = {}{}", local_array(store.array), value(store.index), value(store.value), where);
  }
  void print(const TileCall &call, const std::string &where) {
    std::string operands;
    for (const TileMemory &operand : call.operands) operands += (operands.empty() ? "" : ", ") + tile_memory(operand);
    write("tile_call {} {} {} = {}{}{}{}", info(call.op).name, call.attribute, tile_memory(call.result), operands,
          call.sums ? " by " + to_string(*call.sums) : "", because(call.why_no_loop), where);
  }
  void print(const TileLoad &load, const std::string &where) {
    write("tile_load {} = {}{}{}", tile_memory(load.result),
          load.stream ? "next " + local_array(*load.stream) : element(load.array, load.indices), units(load.in_units),
          where);
  }
  void print(const MainLoop &loop, const std::string &where) {
    const auto of_array = [&](const Transfer &factor) {
      return fmt::format("{} step {}, {}{}{}", transfer(factor), factor.rows, factor.columns,
                         factor.parts == 1 ? "" : fmt::format(" in {}", factor.parts), units(factor.in_units));
    };
    std::string last;
    for (const LocalId loop_index : loop.hands_over_in) last += (last.empty() ? "" : ", ") + local(loop_index);
    write("main_loop {}{} {} += {}, {}{}{} by {}{}{}{}{}{}", role_words(loop.role), loop.attribute,
          tile_memory(loop.result), of_array(loop.factors[0]), of_array(loop.factors[1]),
          loop.count ? " for " + value(*loop.count) : "",
          loop.barriers ? " barriers " + tile_memory(*loop.barriers) : "", to_string(loop.sums),
          loop.terms ? " terms " + value(*loop.terms) : "",
          loop.sums_through ? " sums_through " + local_array(*loop.sums_through) : "",
          last.empty() ? "" : fmt::format(" hands_over_in ({})", last), because(loop.why_by_threads), where);
  }
  void print(const WindowProduct &product, const std::string &where) {
    write("window_product {}{} {} += {}, {} barriers {} by {}{}{}{}{}{}{}", role_words(product.role), product.attribute,
          tile_memory(product.result), tile_memory(product.first), transfer(product.second),
          tile_memory(product.barriers), to_string(product.sums), product.has_window ? " has_window" : "",
          product.keeps_window ? " keeps_window" : "",
          product.runs_into ? " runs_into " + local_array(*product.runs_into) : "",
          product.takes_turn ? " takes_turn" : "", product.gives_turn ? " gives_turn" : "", where);
  }
  void print(const StageProduct &product, const std::string &where) {
    write("stage_product {} {} {} {}, {} barriers {} by {}{}", product.attribute, tile_memory(product.result),
          product.sets ? "=" : "+=", tile_memory(product.factors[0]), tile_memory(product.factors[1]),
          tile_memory(product.barriers), to_string(product.sums), where);
  }
  void print(const LoadStream &stream, const std::string &where) {
    write("load_stream {} inside {}: i32 to {} = {} step {}, {}{}{}", local_array(stream.stream), local(stream.inside),
          tile_memory(stream.to), element(stream.array, stream.indices), stream.rows, stream.columns,
          units(stream.in_units), where);
  }
  void print(const BringWindows &bring, const std::string &where) {
    std::string windows;
    for (const BringWindows::Window &window : bring.windows)
      windows +=
          fmt::format("{}{}{} of {}{}", windows.empty() ? "" : ", ", tile_memory(window.ring),
                      window.values ? " values" : "", element(window.array, window.indices), copied(window.why_copy));
    write("bring_windows {}{} to {}{}", role_words(bring.role), tile_memory(bring.barriers), windows, where);
  }
  void print(const ReleaseWindows &release, const std::string &where) {
    write("release_windows {}{}", local_array(release.barriers), where);
  }
  void print(const Prefetch &fetch, const std::string &where) {
    write("prefetch {}: {}{}", element(fetch.array, fetch.indices), name(fetch.type), where);
  }
  void print(const LoadPack &load, const std::string &where) {
    std::string locals;
    for (const LocalId each : load.locals)
      locals += fmt::format("{}{}: {}", locals.empty() ? "" : ", ", local(each), name(load.type));
    write("load_pack {}{} = {}{}", keyword(load.how), locals, element(load.array, load.indices), where);
  }
  void print(const StorePack &store, const std::string &where) {
    write("{} {} {} {}{}", keyword(store.how), element(store.array, store.indices), store.adds() ? "+=" : "=",
          list(store.values), where);
  }
  void print(const Barrier &barrier, const std::string &where) {
    write("barrier{}{}", barrier.threads == 0 ? "" : fmt::format(" {}", barrier.threads), where);
  }
  void print(const CommitCopies &, const std::string &where) { write("commit_copies{}", where); }

  void print(const WaitForCopies &wait, const std::string &where) { write("wait_for_copies {}{}", wait.groups, where); }

  void print(const Print &print, const std::string &where) {
    write("print {}{}", message(print.message, "\"\""), where);
  }
  void print(const Check &check, const std::string &where) {
    std::string text = message(check.message, "");
    write("check {}{}{}{}{}{}", check.race ? "race " : "", value(check.condition),
          check.instance.empty() ? "" : fmt::format(" of ({})", list(check.instance)), text.empty() ? "" : ", ", text,
          where);
  }
  void print(const If &branch, const std::string &where) {
    write("if {}{}{} {{\n", value(branch.condition), results(branch.results), where);
    print_nested(branch.then_block);
    if (!branch.else_block.empty()) {
      indent();
      write("}} else {{\n");
      print_nested(branch.else_block);
    }
    indent();
    write("}}");
  }
  void print(const For &loop, const std::string &where) {
    write("{} {}: {} in {} .. {} step {}{}{} {{\n", keyword(loop.kind), local(loop.index), name(loop.type),
          value(loop.begin), value(loop.end), value(loop.step), clauses(loop), where);
    print_nested(loop.body);
    indent();
    write("}}");
  }
  void print(const While &loop, const std::string &where) {
    write("while{}{} {{\n", carried(loop.carried), where);
    print_nested(loop.condition_block);
    indent();
    write("}} test {} {{\n", value(loop.condition));
    print_nested(loop.body);
    indent();
    write("}}");
  }
  void print(const Labelled &labelled, const std::string &where) {
    write("label {}{} {{\n", labelled.label, where);
    print_nested(labelled.body);
    indent();
    write("}}");
  }
  void print(const Leave &leave, const std::string &where) { write("leave {}{}", leave.label, where); }

  std::string clauses(const For &loop) const {
    const std::string elements = to_string(
        loop.elements, [this](const Value &of) { return value(of); },
        [this](std::uint32_t of) { return parameter(of); });
    return notes(loop) + products(loop.products) + elements + carried(loop.carried);
  }
  std::string products(const LoopProducts &products) const {
    std::string text;
    for (const LoopProduct &product : products.declared)
      text += fmt::format("{}{} {} {}, {}", text.empty() ? "" : " and ", local_array(product.result),
                          product.from_zero ? "=" : "+=", factor(product.factors[0]), factor(product.factors[1]));
    if (!text.empty()) text = fmt::format(" products {}({})", products.and_more ? "and_more " : "", text);
    return text + (products.in_turns ? " in_turns" : "");
  }
  std::string factor(const LoopProduct::Factor &factor) const {
    if (!factor.window) return local_array(factor.tile);
    const std::string masked =
        factor.terms ? fmt::format(" {} terms {}", local_array(*factor.window), value(*factor.terms)) : "";
    return fmt::format("{} window{}{}", local_array(factor.tile), masked, factor.shared ? " shared" : "");
  }

  std::string value(const Value &value) const {
    switch (value.kind()) {
      case Value::Kind::Constant: return constant_text(value);
      case Value::Kind::Parameter: return parameter(value.parameter_index());
      case Value::Kind::Local: return local(value.id());
    }
    return "?";
  }

  std::string take() { return std::move(out_); }

 private:
  template <class... Arguments>
  void write(fmt::format_string<Arguments...> format, Arguments &&...arguments) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Arguments>(arguments)...);
  }

  void indent() { out_.append(static_cast<std::size_t>(2 * depth_), ' '); }

  void print_nested(const Block &block) {
    ++depth_;
    print(block);
    --depth_;
  }

  void print(const CustomAdjoint &custom, const std::string &where) {
    std::string operands, results, replayed, cotangents, gradients;
    auto append = [](std::string &list, const std::string &item) { list += (list.empty() ? "" : ", ") + item; };
    for (const CustomResult &result : custom.results) {
      append(results, fmt::format("{}: {} = {}", local(result.local), name(result.type), value(result.value)));
      append(replayed, value(result.replayed));
      append(cotangents, fmt::format("{}: {}", local(result.cotangent), name(result.type)));
    }
    for (const CustomOperand &each : custom.operands) {
      append(operands, fmt::format("{}: {} = {}", local(each.inner), name(each.operand.type()), value(each.operand)));
      append(gradients, value(each.gradient));
    }
    write("custom ({}) -> ({}){} {{\n", operands, results, where);
    print_nested(custom.primal);
    indent();
    if (custom.replays) {
      write("}} replay ({}) {{\n", replayed);
      print_nested(custom.replay);
      indent();
    }
    write("}} adjoint ({}) {{\n", cotangents);
    print_nested(custom.adjoint);
    indent();
    write("}} gradients ({})", gradients);
  }

  void print(const AdjointCall &call, const std::string &where) {
    std::string inputs, seeds;
    for (const AdjointInput &input : call.inputs)
      inputs += fmt::format("{}{}: {} = {} then {}: {}", inputs.empty() ? "" : ", ", local(input.inner),
                            name(input.type), value(input.value), local(input.gradient), name(input.type));
    for (const AdjointSeed &seed : call.seeds)
      seeds += fmt::format("{}{} = {}", seeds.empty() ? "" : ", ", value(seed.output), value(seed.cotangent));
    write("adjoint_of ({}){} {{\n", inputs, where);
    print_nested(call.primal);
    indent();
    write("}} seeds ({})", seeds);
  }

  std::string local(LocalId id) const {
    auto number = numbers_.find(id);
    return fmt::format("%{}", number == numbers_.end() ? id : number->second);
  }

  std::string tile_memory(const TileMemory &memory) const {
    return fmt::format("{}: {}", local_array(memory.array), name(memory.type));
  }

  std::string local_array(LocalArrayId id) const {
    auto number = array_numbers_.find(id);
    return fmt::format("${}", number == array_numbers_.end() ? id : number->second);
  }

  std::string parameter(std::uint32_t index) const {
    return index < parameters_.size() ? at_name(parameters_[index].name) : fmt::format("@<parameter {}>", index);
  }

  std::string declaration(const Parameter &declared) const {
    std::string role =
        declared.role == Role::Gradient ? fmt::format("gradient of {} ", parameter(declared.primal)) : "";
    std::string type = fmt::format("{}{}", declared.read_only ? "const " : "", name(declared.type));
    std::string last = declared.last_extent ? fmt::format(", last {}", declared.last_extent) : "";
    if (declared.is_array()) type = fmt::format("array<{}, {}{}>", type, declared.rank, last);
    return fmt::format("{}: {}{}{}", at_name(declared.name), declared.distinct ? "distinct " : "", role, type);
  }

  std::string list(std::span<const Value> values) const {
    std::string text;
    for (const Value &each : values) text += (text.empty() ? "" : ", ") + value(each);
    return text;
  }

  std::string message(const Message &message, std::string_view where_empty) const {
    std::string text;
    auto part = [&](const std::string &next) { text += (text.empty() ? "" : ", ") + next; };
    for (std::size_t i = 0; i < message.texts.size(); ++i) {
      if (!message.texts[i].empty()) part(in_quotes(message.texts[i]));
      if (i < message.values.size()) part(value(message.values[i]));
    }
    return text.empty() ? std::string(where_empty) : text;
  }

  static std::string because(const std::string &why) { return why.empty() ? "" : " because " + in_quotes(why); }
  static std::string copied(const std::string &why) { return why.empty() ? "" : " copied " + in_quotes(why); }

  std::string transfer(const Transfer &factor) const {
    return fmt::format("{} of {}{}", tile_memory(factor.ring), element(factor.array, factor.indices),
                       copied(factor.why_copy));
  }

  static std::string_view units(bool in_units) { return in_units ? " in_units" : ""; }

  std::string element(std::uint32_t array, std::span<const Value> indices) const {
    return fmt::format("{}[{}]", parameter(array), list(indices));
  }

  std::string operation(const Operation &operation) const {
    const OpInfo &op = info(operation.op);
    switch (op.typing) {
      case Typing::Index:
      case Typing::Coordinate: return fmt::format("{} {}", op.name, operation.attribute);
      case Typing::Transpose: {
        std::string axes;
        for (int d = 0; d < operation.type.shape().rank(); ++d)
          axes += fmt::format("{}{}", d == 0 ? "" : ", ", tile_axis(operation.attribute, d));
        return fmt::format("{} ({}) {}", op.name, axes, list(operation.operands));
      }
      case Typing::MatMul: {
        auto factor = [&](std::size_t i, std::int32_t bit) {
          return (operation.attribute & bit ? "transposed " : "") + value(operation.operands[i]);
        };
        return fmt::format("{} {}{}, {}, {}", op.name, operation.attribute & tf32_factors ? "tf32 " : "",
                           factor(0, transposed_a), factor(1, transposed_b), value(operation.operands[2]));
      }
      case Typing::Scan:
        return fmt::format("{} {}{}{}, {}", op.name, operation.attribute & scan_backwards ? "backwards " : "",
                           operation.attribute & scan_exclusive ? "exclusive " : "",
                           operation.attribute & scan_dimension, list(operation.operands));
      case Typing::Order:
        return fmt::format(
            "{} {}{}{}", op.name, operation.attribute & sort_descending ? "descending " : "",
            sort_bits(operation.attribute) > 0 ? fmt::format("bits {}: ", sort_bits(operation.attribute)) : "",
            list(operation.operands));
      case Typing::Fourier:
        return fmt::format("{} {}{}{}", op.name, operation.attribute & fourier_conjugate ? "conjugate " : "",
                           operation.attribute & fourier_scaled ? "scaled " : "", list(operation.operands));
      case Typing::Solve:
        return fmt::format("{} {}{}{}", op.name, operation.attribute & solve_upper ? "upper " : "",
                           operation.attribute & solve_transposed ? "transposed " : "", list(operation.operands));
      case Typing::Extent: return fmt::format("{} {}, {}", op.name, parameter(operation.array), operation.attribute);
      case Typing::Load: {
        bool atomic = operation.op == Op::Exchange && operation.attribute == 0;
        if (const int ahead = elements_ahead(operation))
          return fmt::format("{} ahead {} {}", op.name, ahead, element(operation.array, operation.operands));
        const bool loads = operation.op == Op::Load;
        const bool afterwards = loads && (operation.attribute & load_afterwards) != 0;
        return fmt::format("{} {}{}{}{}", op.name, atomic ? "atomic " : "", afterwards ? "afterwards " : "",
                           is_load_by_warp(operation) ? "by_warp " : "", element(operation.array, operation.operands));
      }
      case Typing::Atomic:
        return fmt::format("{} {}, {}", op.name, element(operation.array, element_indices(operation)),
                           list(element_values(operation)));
      case Typing::LocalLoad:
        return fmt::format("{} {}[{}]", op.name, local_array(operation.array), list(operation.operands));
      default:
        if (operation.op == Op::Unavailable) return fmt::format("{} {}", op.name, operation.attribute);
        return fmt::format("{} {}", op.name, list(operation.operands));
    }
  }

  std::string results(const std::vector<BranchResult> &results) const {
    if (results.empty()) return "";
    std::string text;
    for (const BranchResult &result : results)
      text += fmt::format("{}{}: {} = {} | {}", text.empty() ? "" : ", ", local(result.local), name(result.type),
                          value(result.then_value), value(result.else_value));
    return fmt::format(" -> ({})", text);
  }

  std::string carried(const std::vector<Carried> &carried) const {
    if (carried.empty()) return "";
    std::string text;
    for (const Carried &each : carried)
      text += fmt::format("{}{} -> {}: {} = {} then {}", text.empty() ? "" : ", ", local(each.inner),
                          local(each.result), name(each.type), value(each.initial), value(each.next));
    return fmt::format(" carry ({})", text);
  }

  std::string location(SourceLocation where) const {
    if (!options_.locations || !where.known()) return "";
    return fmt::format(" at {}:{}", in_quotes(where.file), where.line);
  }

  const std::vector<Parameter> &parameters_;
  PrintOptions options_;
  std::unordered_map<LocalId, LocalId> numbers_;
  std::unordered_map<LocalArrayId, LocalArrayId> array_numbers_;
  std::string out_;
  int depth_ = 0;
};

}  // namespace

std::string to_string(const Kernel &kernel, PrintOptions options) {
  Printer printer(kernel.parameters, options);
  printer.renumber(kernel.body);
  printer.print(kernel);
  return printer.take();
}

std::string to_string(const Stmt &stmt, const std::vector<Parameter> &parameters, PrintOptions options) {
  Printer printer(parameters, options);
  printer.renumber({stmt});
  printer.print(stmt);
  return printer.take();
}

std::string to_string(const Block &block, const std::vector<Parameter> &parameters, PrintOptions options) {
  Printer printer(parameters, options);
  printer.renumber(block);
  printer.print(block);
  return printer.take();
}

std::string to_string(const Value &value, const std::vector<Parameter> &parameters) {
  return Printer(parameters, {}).value(value);
}

std::ostream &operator<<(std::ostream &out, const Kernel &kernel) { return out << to_string(kernel); }

}  // namespace samite::ir
