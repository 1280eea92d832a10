#include "samite/ir/parse.h"

#include "samite/base/error.h"
#include "samite/ir/load_ahead.h"
#include "samite/ir/nesting.h"
#include "samite/ir/tokens.h"

#include <fmt/format.h>
#include <algorithm>
#include <limits>
#include <unordered_map>
#include <utility>

namespace samite::ir {
namespace {

// The limit of the numbers of locals and of local arrays: tables of them have this size at most.
constexpr std::uint32_t number_limit = 1 << 20;

class Parser {
 public:
  explicit Parser(std::string_view text) : tokens_(tokenize(text)) { collect_locals(); }

  Kernel parse() {
    expect_word("kernel");
    kernel_.name = expect(TokenKind::Name, "the kernel's name, as in '@name'").text;
    expect("(");
    parse_parameters();
    const bool tiles = accept("blocks");
    if (!tiles) expect_word("threads");
    kernel_.launch_rank = number<int>("the number of dimensions of the launch");
    if (tiles) {
      if (accept("strips")) kernel_.strip_columns = number<int>("the columns of a strip of blocks");
      if (accept("clusters")) {
        kernel_.cluster_blocks = number<int>("the number of blocks of a cluster");
        expect_word("along");
        kernel_.cluster_dimension = number<int>("the dimension of the launch that clusters lie along");
      }
      expect_word("of");
      kernel_.block_threads = number<int>("the number of threads of a block");
      kernel_.scheduled = accept("scheduled");
      kernel_.sums_in_shared = accept("shared");
      if (accept("resident")) kernel_.resident_blocks = number<int>("the number of blocks");
      if (accept("teams")) kernel_.teams = number<int>("the number of teams");
      if (accept("parts")) kernel_.step_parts = number<int>("the number of blocks that share a loop's steps");
    }
    kernel_.where = parse_location();
    kernel_.body = parse_block();
    if (accept("producing")) {
      kernel_.producers = number<int>("the number of producing threads");
      kernel_.producing = parse_block();
    }
    expect(TokenKind::End, "the end of the text after the kernel");
    return std::move(kernel_);
  }

 private:
  // A statement's header may name a local that its block defines later (`then %12`), so the types of locals are
  // collected first.
  void collect_locals() {
    for (std::size_t i = 0; i + 2 < tokens_.size(); ++i) {
      if (tokens_[i].kind != TokenKind::Local) continue;
      LocalId id = local_id(tokens_[i]);
      if (tokens_[i + 1].text == ":") {
        if (auto type = type_at(i + 2)) types_.emplace(id, *type);
      } else if (i + 4 < tokens_.size() && tokens_[i + 1].text == "->" && tokens_[i + 3].text == ":") {
        if (auto type = type_at(i + 4)) types_.emplace(id, *type);
      }
      kernel_.local_count = std::max(kernel_.local_count, id + 1);
    }
  }

  // Empty if there is no type at `place`.
  std::optional<Type> type_at(std::size_t place) {
    if (tokens_[place].kind != TokenKind::Word) return std::nullopt;
    if (tokens_[place].text != "tile" && !scalar_type_from_name(tokens_[place].text)) return std::nullopt;
    const std::size_t outer = std::exchange(at_, place);
    const Type type = parse_type();
    at_ = outer;
    return type;
  }

  static LocalId local_id(const Token &token) {
    auto id = read_number<LocalId>(token.text);
    if (!id || *id >= number_limit) fail_at(token, "expected a local's number below 2^20");
    return *id;
  }

  const Token &peek() const { return tokens_[at_]; }
  const Token &advance() { return tokens_[at_ + 1 < tokens_.size() ? at_++ : at_]; }

  bool is(std::string_view text) const {
    return (peek().kind == TokenKind::Punctuation || peek().kind == TokenKind::Word) && peek().text == text;
  }

  bool accept(std::string_view text) {
    bool found = is(text);
    if (found) advance();
    return found;
  }

  [[noreturn]] void fail_expected(std::string_view what) const {
    fail_at(peek(), fmt::format("expected {}, found {}", what, describe(peek())));
  }

  void expect(std::string_view text) {
    if (!accept(text)) fail_expected(fmt::format("'{}'", text));
  }
  void expect_word(std::string_view word) { expect(word); }

  const Token &expect(TokenKind kind, std::string_view what) {
    if (peek().kind != kind) fail_expected(what);
    return advance();
  }

  template <class T>
  T number(std::string_view what) {
    const Token &token = expect(TokenKind::Integer, what);
    auto value = read_number<T>(token.text);
    if (!value) fail_at(token, fmt::format("expected {}, found {}", what, describe(token)));
    return *value;
  }

  Type parse_type() {
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

  ScalarType parse_scalar_type() {
    auto type = peek().kind == TokenKind::Word ? scalar_type_from_name(peek().text) : std::nullopt;
    if (!type) fail_expected("a scalar type (bool, i8 to i64, u8 to u64, f16, bf16, f32 or f64)");
    advance();
    return *type;
  }

  void parse_parameters() {
    std::vector<std::pair<std::size_t, Token>> primals;  // a gradient may come before its primal
    if (!accept(")")) {
      do {
        Parameter parameter{expect(TokenKind::Name, "a parameter, as in '@name: f32'").text, ScalarType::Float32};
        expect(":");
        parameter.distinct = accept("distinct");
        if (accept("gradient")) {
          expect_word("of");
          parameter.role = Role::Gradient;
          primals.emplace_back(kernel_.parameters.size(), expect(TokenKind::Name, "the primal parameter's name"));
        }
        bool array = accept("array");
        if (array) expect("<");
        parameter.read_only = accept("const");
        parameter.type = parse_scalar_type();
        if (array) {
          expect(",");
          parameter.rank = number<int>("the array's rank");
          if (accept(",")) {
            expect_word("last");
            parameter.last_extent = number<std::int64_t>("the array's last extent");
          }
          expect(">");
        }
        kernel_.parameters.push_back(std::move(parameter));
      } while (accept(","));
      if (!accept(")")) fail_expected("',' or ')' after a parameter");
    }
    for (const auto &[index, name] : primals) kernel_.parameters[index].primal = parameter_index(name);
  }

  std::uint32_t parameter_index(const Token &name) const {
    for (std::size_t i = 0; i < kernel_.parameters.size(); ++i)
      if (kernel_.parameters[i].name == name.text) return static_cast<std::uint32_t>(i);
    fail_at(name, fmt::format("expected a parameter of the kernel, found {}", describe(name)));
  }

  SourceLocation parse_location() {
    if (!accept("at")) return {};
    const char *file = intern_file(expect(TokenKind::String, "a file name in quotes").text);
    expect(":");
    return {file, number<std::uint32_t>("a line number")};
  }

  // The statement, whose text ends with its location.
  template <class Kind>
  Stmt located(Kind kind) {
    const SourceLocation where = parse_location();
    return {std::move(kind), where};
  }

  Block parse_block() {
    const Token &begin = peek();
    expect("{");
    if (++nesting_ > maximum_nesting)
      fail_at(begin, fmt::format("expected blocks that are nested at most {} deep", maximum_nesting));
    Block block;
    while (!accept("}")) block.push_back(parse_statement());
    --nesting_;
    return block;
  }

  Stmt parse_statement() {
    if (peek().kind == TokenKind::Local) return parse_let();
    if (accept("assign")) return parse_assign();
    if (accept("store")) return parse_store();
    if (accept("accumulate")) return parse_accumulate();
    if (accept("local")) return parse_allocate();
    if (accept("local_store")) return parse_local_store();
    if (accept("tile_call")) return parse_tile_call();
    if (accept("tile_load")) return parse_tile_load();
    if (accept("main_loop")) return parse_main_loop();
    if (accept("window_product")) return parse_window_product();
    if (accept("stage_product")) return parse_stage_product();
    if (accept("load_stream")) return parse_load_stream();
    if (accept("bring_windows")) return parse_bring_windows();
    if (accept("release_windows")) return located(ReleaseWindows{parse_local_array()});
    if (accept("prefetch")) return parse_prefetch();
    if (accept("load_pack")) return parse_load_pack();
    if (accept("store_pack"))
      return parse_store_pack(accept("streaming") ? StorePack::How::streaming : StorePack::How::store);
    if (accept("accumulate_pack"))
      return parse_store_pack(accept("atomic") ? StorePack::How::atomic_add : StorePack::How::add);
    if (accept("barrier")) {
      Barrier barrier;
      if (peek().kind == TokenKind::Integer) barrier.threads = number<int>("the threads that wait");
      return Stmt(barrier, parse_location());
    }
    if (accept("commit_copies")) return Stmt(CommitCopies{}, parse_location());
    if (accept("wait_for_copies")) return located(WaitForCopies{number<int>("the number of groups of copies")});
    if (accept("print")) return parse_print();
    if (accept("check")) return parse_check();
    if (accept("if")) return parse_if();
    if (accept("for")) return parse_for();
    if (accept("while")) return parse_while();
    if (accept("label")) return parse_labelled();
    if (accept("leave")) return parse_leave();
    if (accept("custom")) return parse_custom();
    if (accept("adjoint_of")) return parse_adjoint_call();
    fail_expected(
        "a statement ('%0: type = operation', assign, store, accumulate, local, local_store, tile_call, tile_load, "
        "main_loop, window_product, stage_product, load_stream, bring_windows, release_windows, load_pack, store_pack, "
        "accumulate_pack, barrier, commit_copies, wait_for_copies, print, check, if, "
        "for, while, label, leave, custom or adjoint_of) or '}'");
  }

  LocalId parse_local() { return local_id(expect(TokenKind::Local, "a local, as in '%0'")); }

  Stmt parse_let() {
    const LocalId local = parse_local();
    expect(":");
    Type type = parse_type();
    expect("=");
    Let let{local, parse_operation(type)};
    return located(std::move(let));
  }

  Operation parse_operation(Type type) {
    const Token &token = expect(TokenKind::Word, "an operation");
    auto op = op_from_name(token.text);
    if (!op) fail_at(token, fmt::format("expected an operation, found {}", describe(token)));
    Operation operation{*op, type, {}};
    switch (info(*op).typing) {
      case Typing::Index: operation.attribute = number<std::int32_t>("a dimension of the launch"); break;
      case Typing::Coordinate: operation.attribute = number<std::int32_t>("a dimension of the tile"); break;
      case Typing::Transpose: {
        int shift = 0;
        parse_list([&] {
          operation.attribute |= (number<std::int32_t>("a dimension of the tile") & 15) << std::min(shift, 24);
          shift += 4;
        });
        operation.operands = {parse_value()};
        break;
      }
      case Typing::MatMul:
        if (accept("tf32")) operation.attribute |= tf32_factors;
        if (accept("transposed")) operation.attribute |= transposed_a;
        operation.operands.push_back(parse_value());
        expect(",");
        if (accept("transposed")) operation.attribute |= transposed_b;
        operation.operands.push_back(parse_value());
        expect(",");
        operation.operands.push_back(parse_value());
        break;
      case Typing::Scan:
        if (accept("backwards")) operation.attribute |= scan_backwards;
        if (accept("exclusive")) operation.attribute |= scan_exclusive;
        operation.attribute |= number<std::int32_t>("a dimension of the tile") & scan_dimension;
        expect(",");
        parse_operands(operation);
        break;
      case Typing::Order:
        if (accept("descending")) operation.attribute |= sort_descending;
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

  void parse_operands(Operation &operation) {
    do operation.operands.push_back(parse_value());
    while (accept(","));
  }

  std::uint32_t parse_array() { return parameter_index(expect(TokenKind::Name, "an array, as in '@name'")); }

  LocalArrayId parse_local_array() {
    const Token &token = expect(TokenKind::LocalArray, "a local array, as in '$0'");
    auto id = read_number<LocalArrayId>(token.text);
    if (!id || *id >= number_limit) fail_at(token, "expected a local array's number below 2^20");
    kernel_.local_array_count = std::max(kernel_.local_array_count, *id + 1);
    return *id;
  }

  std::vector<Value> parse_indices() {
    std::vector<Value> indices;
    expect("[");
    if (accept("]")) return indices;
    do indices.push_back(parse_value());
    while (accept(","));
    if (!accept("]")) fail_expected("',' or ']' after an index");
    return indices;
  }

  Stmt parse_assign() {
    LocalId local = parse_local();
    expect("=");
    Assign assign{local, parse_value()};
    return located(assign);
  }

  Stmt parse_store() {
    std::uint32_t array = parse_array();
    std::vector<Value> indices = parse_indices();
    expect("=");
    Store store{array, std::move(indices), parse_value()};
    return located(std::move(store));
  }

  Stmt parse_accumulate() {
    const bool atomic = accept("atomic"), over_launch = accept("over_launch"),
               over_lanes = !over_launch && accept("over_lanes"), of_gradient = accept("gradient");
    std::uint32_t array = parse_array();
    std::vector<Value> indices = parse_indices();
    expect("+=");
    Accumulate accumulate{array, std::move(indices), parse_value(), atomic, of_gradient, over_launch, over_lanes};
    return located(std::move(accumulate));
  }

  Stmt parse_allocate() {
    const MemorySpace space = accept("workspace")   ? MemorySpace::workspace
                              : accept("strip")     ? MemorySpace::strip
                              : accept("thread")    ? MemorySpace::thread
                              : accept("registers") ? MemorySpace::registers
                              : accept("shared")    ? MemorySpace::shared
                              : accept("device")    ? MemorySpace::device
                                                    : MemorySpace::instance;
    LocalArrayId array = parse_local_array();
    expect(":");
    Type type = parse_type();
    expect("[");
    Allocate allocate{array, type, parse_value(), space};
    expect("]");
    allocate.layout = parse_layout();
    if (accept("stages")) allocate.stages = number<int>("the number of stages");
    if (accept("units")) allocate.units = parse_value();
    if (accept("offset")) allocate.offset = number<std::int64_t>("the offset in bytes");
    if (accept("teams")) allocate.team_bytes = number<std::int64_t>("the bytes of a team");
    if (accept("buffer")) {
      const Value number = parse_value();
      expect_word("of");
      allocate.buffer = {parse_local_array(), number};
    }
    return located(allocate);
  }

  Layout parse_layout() {
    if (is("fragments")) return parse_fragments();
    if (accept("panels")) {
      expect("(");
      PanelLayout panels{number<std::int64_t>("the rows of panels"), 0};
      expect(",");
      panels.columns = number<std::int64_t>("the elements of a row");
      expect(")");
      return panels;
    }
    if (!accept("rows")) return LinearLayout{};
    expect("(");
    RowLayout rows{number<std::int64_t>("the elements of a row"), 0, false};
    expect(",");
    rows.units = number<std::int64_t>("the units of a row");
    if (accept(",")) {
      expect_word("swizzled");
      rows.swizzled = true;
    }
    expect(")");
    return rows;
  }

  FragmentLayout parse_fragments() {
    expect_word("fragments");
    expect("(");
    const Token &token = expect(TokenKind::Word, "a unit of fragments, as in 'matrices'");
    const auto unit = fragment_unit_from_name(token.text);
    if (!unit) fail_at(token, fmt::format("expected a unit of fragments, found {}", describe(token)));
    FragmentLayout fragments{*unit, 0, 0, 0, 0};
    for (std::int64_t FragmentLayout::*extent :
         {&FragmentLayout::rows, &FragmentLayout::columns, &FragmentLayout::down, &FragmentLayout::across}) {
      expect(",");
      fragments.*extent = number<std::int64_t>("rows, columns, and warps down and across");
    }
    expect(")");
    return fragments;
  }

  Stmt parse_local_store() {
    LocalArrayId array = parse_local_array();
    expect("[");
    Value index = parse_value();
    expect("]");
    expect("=");
    LocalStore store{array, index, parse_value()};
    return located(store);
  }

  Stmt parse_tile_call() {
    const Token &token = expect(TokenKind::Word, "an operation");
    auto op = op_from_name(token.text);
    if (!op) fail_at(token, fmt::format("expected an operation, found {}", describe(token)));
    const auto attribute = number<std::int32_t>("the operation's attribute");
    TileCall call{*op, attribute, parse_tile_memory(), {}};
    expect("=");
    do call.operands.push_back(parse_tile_memory());
    while (accept(","));
    if (accept("by")) call.sums = parse_fragments();
    call.why_no_loop = parse_reason("because");
    return located(std::move(call));
  }

  Stmt parse_tile_load() {
    TileLoad load{parse_tile_memory()};
    expect("=");
    if (accept("next")) {
      load.stream = parse_local_array();
    } else {
      load.array = parse_array();
      load.indices = parse_indices();
    }
    load.in_units = accept("in_units");
    return located(std::move(load));
  }

  ThreadRole parse_role() {
    return accept("producers") ? ThreadRole::producers : accept("consumers") ? ThreadRole::consumers : ThreadRole::all;
  }

  std::string parse_reason(std::string_view before) {
    return accept(before) ? expect(TokenKind::String, "a reason in quotes").text : std::string();
  }

  Transfer parse_transfer() {
    const TileMemory ring = parse_tile_memory();
    expect_word("of");
    Transfer factor{.ring = ring, .array = parse_array(), .indices = parse_indices()};
    factor.why_copy = parse_reason("copied");
    return factor;
  }
  Transfer parse_transfers() {
    Transfer factor = parse_transfer();
    expect_word("step");
    factor.rows = number<std::int64_t>("the rows of a step");
    expect(",");
    factor.columns = number<std::int64_t>("the columns of a step");
    if (accept("in")) factor.parts = number<int>("the parts of a window");
    factor.in_units = accept("in_units");
    return factor;
  }

  Stmt parse_main_loop() {
    const ThreadRole role = parse_role();
    const auto attribute = number<std::int32_t>("the product's attribute");
    const TileMemory result = parse_tile_memory();
    expect("+=");
    Transfer first = parse_transfers();
    expect(",");
    Transfer second = parse_transfers();
    MainLoop loop{attribute, result, {std::move(first), std::move(second)}, {}};
    loop.role = role;
    if (accept("for")) loop.count = parse_value();
    if (accept("barriers")) loop.barriers = parse_tile_memory();
    loop.sums = parse_sums();
    if (accept("terms")) loop.terms = parse_value();
    loop.why_by_threads = parse_reason("because");
    return located(std::move(loop));
  }

  Stmt parse_window_product() {
    const ThreadRole role = parse_role();
    const auto attribute = number<std::int32_t>("the product's attribute");
    const TileMemory result = parse_tile_memory();
    expect("+=");
    const TileMemory first = parse_tile_memory();
    expect(",");
    Transfer second = parse_transfer();
    const TileMemory barriers = parse_barriers();
    WindowProduct product{attribute, result, first, std::move(second), barriers, parse_sums(), role};
    product.has_window = accept("has_window");
    product.keeps_window = accept("keeps_window");
    if (accept("runs_into")) product.runs_into = parse_local_array();
    product.takes_turn = accept("takes_turn");
    product.gives_turn = accept("gives_turn");
    return located(std::move(product));
  }

  Stmt parse_stage_product() {
    const auto attribute = number<std::int32_t>("the product's attribute");
    const TileMemory result = parse_tile_memory();
    const bool sets = accept("=");
    if (!sets) expect("+=");
    const TileMemory first = parse_tile_memory();
    expect(",");
    const TileMemory second = parse_tile_memory();
    const TileMemory barriers = parse_barriers();
    const StageProduct product{attribute, result, {first, second}, barriers, parse_sums(), sets};
    return located(product);
  }

  TileMemory parse_barriers() {
    expect_word("barriers");
    return parse_tile_memory();
  }
  FragmentLayout parse_sums() {
    expect_word("by");
    return parse_fragments();
  }

  TileMemory parse_tile_memory() {
    const LocalArrayId array = parse_local_array();
    expect(":");
    return {array, parse_type()};
  }

  Stmt parse_load_stream() {
    const LocalArrayId name = parse_local_array();
    expect_word("inside");
    const LocalId inside = parse_local();
    expect(":");
    expect_word("i32");
    expect_word("to");
    LoadStream stream{name, inside, parse_tile_memory(), 0, {}, 0, 0};
    expect("=");
    stream.array = parse_array();
    stream.indices = parse_indices();
    expect_word("step");
    stream.rows = number<std::int64_t>("the rows of a step");
    expect(",");
    stream.columns = number<std::int64_t>("the columns of a step");
    stream.in_units = accept("in_units");
    return located(std::move(stream));
  }

  Stmt parse_bring_windows() {
    const ThreadRole role = parse_role();
    BringWindows bring{parse_tile_memory(), {}, role};
    expect_word("to");
    do {
      const TileMemory ring = parse_tile_memory();
      const bool values = accept("values");
      expect_word("of");
      const std::uint32_t array = parse_array();
      std::vector<Value> indices = parse_indices();
      bring.windows.push_back({ring, array, std::move(indices), values, parse_reason("copied")});
    } while (accept(","));
    return located(std::move(bring));
  }

  Stmt parse_prefetch() {
    Prefetch fetch{parse_array(), ScalarType::Bool, {}};
    fetch.indices = parse_indices();
    expect(":");
    fetch.type = parse_type();
    return located(std::move(fetch));
  }

  Stmt parse_load_pack() {
    LoadPack load{{}, ScalarType::Bool, 0, {}};
    load.how = accept("constant") ? LoadPack::How::constant
               : accept("row")    ? LoadPack::How::row
               : accept("take")   ? LoadPack::How::take
                                  : LoadPack::How::plain;
    do {
      load.locals.push_back(parse_local());
      expect(":");
      const Token &token = peek();
      const Type type = parse_type();
      if (load.locals.size() > 1 && type != load.type)
        fail_at(token, fmt::format("expected neighbours of one type, found {}", describe(token)));
      load.type = type;
    } while (accept(","));
    expect("=");
    load.array = parse_array();
    load.indices = parse_indices();
    return located(std::move(load));
  }

  Stmt parse_store_pack(StorePack::How how) {
    StorePack store{parse_array(), parse_indices(), {}, how};
    expect(store.adds() ? "+=" : "=");
    do store.values.push_back(parse_value());
    while (accept(","));
    return located(std::move(store));
  }

  Stmt parse_print() {
    Print print;
    do parse_part(print.message);
    while (accept(","));
    return located(std::move(print));
  }

  Stmt parse_check() {
    const bool race = accept("race");
    Check check{parse_value(), {}, {}, race};
    if (accept("of")) {
      expect("(");
      do check.instance.push_back(parse_value());
      while (accept(","));
      if (!accept(")")) fail_expected("',' or ')' after an index of the instance");
    }
    while (accept(",")) parse_part(check.message);
    return located(std::move(check));
  }

  void parse_part(Message &message) {
    if (peek().kind == TokenKind::String) {
      message.texts.back() += advance().text;
      return;
    }
    message.values.push_back(parse_value());
    message.texts.emplace_back();
  }

  Stmt parse_if() {
    If branch{parse_value(), {}, {}, {}};
    if (accept("->")) branch.results = parse_results();
    SourceLocation where = parse_location();
    branch.then_block = parse_block();
    if (accept("else")) branch.else_block = parse_block();
    return Stmt(std::move(branch), where);
  }

  std::vector<BranchResult> parse_results() {
    std::vector<BranchResult> results;
    expect("(");
    do {
      LocalId local = parse_local();
      expect(":");
      Type type = parse_type();
      expect("=");
      Value then_value = parse_value();
      expect("|");
      results.push_back({local, type, then_value, parse_value()});
    } while (accept(","));
    if (!accept(")")) fail_expected("',' or ')' after a result");
    return results;
  }

  Stmt parse_for() {
    LoopKind kind = LoopKind::Serial;
    if (accept(".")) {
      if (accept("block"))
        kind = LoopKind::Block;
      else if (accept("thread"))
        kind = LoopKind::Thread;
      else
        fail_expected("'block' or 'thread' after 'for.'");
    }
    LocalId index = parse_local();
    expect(":");
    Type type = parse_type();
    expect_word("in");
    Value begin = parse_value();
    expect("..");
    Value end = parse_value();
    expect_word("step");
    Value step = parse_value();
    const bool rolled = accept("rolled");
    const int instances = accept("instances") ? number<int>("the number of instances") : 1;
    const int by_warp = accept("by_warp") ? number<int>("the number of iterations") : 0;
    const int march = accept("march") ? number<int>("the number of iterations") : 1;
    const int stages = accept("stages") ? number<int>("the number of stages") : 1;
    const auto ahead = accept("ahead") ? number<std::size_t>("the number of statements") : 0;
    const int jam = accept("jam") ? number<int>("the number of vectors") : 1;
    LoopProducts products = parse_products();
    For loop{index,  type,  begin, end,    step,      {},      parse_carried(), kind,
             stages, ahead, jam,   rolled, instances, by_warp, march,           std::move(products)};
    SourceLocation where = parse_location();
    loop.body = parse_block();
    return Stmt(std::move(loop), where);
  }

  LoopProducts parse_products() {
    LoopProducts products;
    if (accept("products")) {
      products.and_more = accept("and_more");
      expect("(");
      do {
        const LocalArrayId result = parse_local_array();
        expect("+=");
        const LoopProduct::Factor first = parse_factor();
        expect(",");
        products.declared.push_back({result, {first, parse_factor()}});
      } while (accept("and"));
      if (!accept(")")) fail_expected("'and' or ')' after a product");
    }
    products.in_turns = accept("in_turns");
    return products;
  }

  LoopProduct::Factor parse_factor() {
    LoopProduct::Factor factor{parse_local_array()};
    if (!accept("window")) return factor;
    const bool masked = peek().kind == TokenKind::LocalArray;
    factor.window = masked ? parse_local_array() : factor.tile;
    if (masked) expect_word("terms"), factor.terms = parse_value();
    factor.shared = accept("shared");
    return factor;
  }

  Stmt parse_while() {
    std::vector<Carried> carried = parse_carried();
    SourceLocation where = parse_location();
    Block condition_block = parse_block();
    expect_word("test");
    Value condition = parse_value();
    return Stmt(While{std::move(condition_block), condition, parse_block(), std::move(carried)}, where);
  }

  Stmt parse_labelled() {
    auto label = number<LabelId>("a label's number");
    SourceLocation where = parse_location();
    return Stmt(Labelled{label, parse_block()}, where);
  }

  Stmt parse_leave() {
    Leave leave{number<LabelId>("a label's number")};
    return located(leave);
  }

  // "(" item ", " … ")", where `item` reads one.
  template <class Item>
  void parse_list(Item item) {
    expect("(");
    if (accept(")")) return;
    do item();
    while (accept(","));
    if (!accept(")")) fail_expected("',' or ')' after an item of a list");
  }

  Stmt parse_custom() {
    CustomAdjoint custom;
    parse_list([&] {
      LocalId inner = parse_local();
      expect(":");
      parse_type();
      expect("=");
      Value operand = parse_value();
      custom.operands.push_back({inner, operand, operand});
    });
    expect("->");
    parse_list([&] {
      LocalId local = parse_local();
      expect(":");
      Type type = parse_type();
      expect("=");
      Value value = parse_value();
      custom.results.push_back({local, type, value, value, 0});
    });
    SourceLocation where = parse_location();
    custom.primal = parse_block();
    if (accept("replay")) {
      custom.replays = true;
      std::size_t next = 0;
      parse_list([&] {
        if (next == custom.results.size()) fail_expected("')', as there are no more results");
        custom.results[next++].replayed = parse_value();
      });
      custom.replay = parse_block();
    }
    expect_word("adjoint");
    std::size_t next = 0;
    parse_list([&] {
      if (next == custom.results.size()) fail_expected("')', as there are no more results");
      custom.results[next++].cotangent = parse_local();
      expect(":");
      parse_type();
    });
    if (next != custom.results.size()) fail_expected("a cotangent for each result");
    custom.adjoint = parse_block();
    expect_word("gradients");
    next = 0;
    parse_list([&] {
      if (next == custom.operands.size()) fail_expected("')', as there are no more operands");
      custom.operands[next++].gradient = parse_value();
    });
    if (next != custom.operands.size()) fail_expected("a gradient for each operand");
    return Stmt(std::move(custom), where);
  }

  Stmt parse_adjoint_call() {
    AdjointCall call;
    parse_list([&] {
      LocalId inner = parse_local();
      expect(":");
      Type type = parse_type();
      expect("=");
      Value value = parse_value();
      expect_word("then");
      call.inputs.push_back({inner, parse_local(), type, value});
      expect(":");
      parse_type();
    });
    SourceLocation where = parse_location();
    call.primal = parse_block();
    expect_word("seeds");
    parse_list([&] {
      Value output = parse_value();
      expect("=");
      call.seeds.push_back({output, parse_value()});
    });
    return Stmt(std::move(call), where);
  }

  std::vector<Carried> parse_carried() {
    std::vector<Carried> carried;
    if (!accept("carry")) return carried;
    expect("(");
    do {
      LocalId inner = parse_local();
      expect("->");
      LocalId result = parse_local();
      expect(":");
      Type type = parse_type();
      expect("=");
      Value initial = parse_value();
      expect_word("then");
      carried.push_back({inner, result, type, initial, parse_value()});
    } while (accept(","));
    if (!accept(")")) fail_expected("',' or ')' after a carried value");
    return carried;
  }

  Value parse_value() {
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

  Value parse_constant() {
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

  // After the word `nan`: the bits, if they are not those of the usual quiet NaN.
  Value parse_nan() {
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

  Type parse_suffix(Type otherwise) { return accept(":") ? parse_type() : otherwise; }

  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  int nesting_ = 0;
  std::unordered_map<LocalId, Type> types_;
  Kernel kernel_;
};

}  // namespace

Kernel parse_kernel(std::string_view text) { return Parser(text).parse(); }

}  // namespace samite::ir
