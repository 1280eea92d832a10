// The parser of `ir/parse.h`, by recursive descent: a function for each rule of the grammar in docs/ir.md. It holds one
// kernel's text and is used once. Errors of the text are UserErrors with line and column.
//
// Its functions are in four sources: kernels and blocks in parse.cpp, values and operations in parse_values.cpp,
// statements on memory and tiles in parse_tiles.cpp, branches, loops and derivatives in parse_control.cpp.
#pragma once

#include "samite/ir/kernel.h"
#include "samite/ir/tokens.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace samite::ir {

// The limit of the numbers of locals and of local arrays: tables of them have this size at most.
inline constexpr std::uint32_t number_limit = 1 << 20;

class Parser {
 public:
  explicit Parser(std::string_view text) : tokens_(tokenize(text)) { collect_locals(); }

  Kernel parse();

 private:
  // A statement's header may name a local that its block defines later (`then %12`), so the types of locals are
  // collected first.
  void collect_locals();

  // Empty if there is no type at `place`.
  std::optional<Type> type_at(std::size_t place);
  static LocalId local_id(const Token &token);
  const Token &peek() const;
  const Token &advance();
  bool is(std::string_view text) const;
  bool accept(std::string_view text);
  [[noreturn]] void fail_expected(std::string_view what) const;
  void expect(std::string_view text);
  void expect_word(std::string_view word);
  const Token &expect(TokenKind kind, std::string_view what);

  template <class T>
  T number(std::string_view what) {
    const Token &token = expect(TokenKind::Integer, what);
    auto value = read_number<T>(token.text);
    if (!value) fail_at(token, fmt::format("expected {}, found {}", what, describe(token)));
    return *value;
  }

  Type parse_type();
  ScalarType parse_scalar_type();
  void parse_parameters();
  TilePlan parse_plan();
  std::uint32_t parameter_index(const Token &name) const;
  SourceLocation parse_location();

  // The statement, whose text ends with its location.
  template <class Kind>
  Stmt located(Kind kind) {
    const SourceLocation where = parse_location();
    return {std::move(kind), where};
  }

  Block parse_block();
  Stmt parse_statement();
  LocalId parse_local();
  Stmt parse_let();
  Operation parse_operation(Type type);
  void parse_transpose(Operation &operation);
  void parse_product(Operation &operation);
  void parse_operands(Operation &operation);
  std::uint32_t parse_array();
  LocalArrayId parse_local_array();
  std::vector<Value> parse_indices();
  Stmt parse_assign();
  Stmt parse_store();
  Stmt parse_accumulate();
  Stmt parse_allocate();
  Layout parse_layout();
  FragmentLayout parse_fragments();
  Stmt parse_local_store();
  Stmt parse_tile_call();
  Stmt parse_tile_load();
  ThreadRole parse_role();
  std::string parse_reason(std::string_view before);
  Transfer parse_transfer();
  Transfer parse_transfers();
  Stmt parse_main_loop();
  Stmt parse_window_product();
  Stmt parse_stage_product();
  TileMemory parse_barriers();
  FragmentLayout parse_sums();
  TileMemory parse_tile_memory();
  Stmt parse_load_stream();
  Stmt parse_bring_windows();
  Stmt parse_prefetch();
  Stmt parse_load_pack();
  Stmt parse_store_pack(StorePack::How how);
  Stmt parse_print();
  Stmt parse_check();
  void parse_part(Message &message);
  Stmt parse_if();
  std::vector<BranchResult> parse_results();
  Stmt parse_for();
  LoopProducts parse_products();
  ElementPlan parse_elements();
  ElementPlan::Group parse_group();
  LoopProduct::Factor parse_factor();
  Stmt parse_while();
  Stmt parse_labelled();
  Stmt parse_leave();

  // "(" item ", " … ")", where `item` reads one.
  template <class Item>
  void parse_list(Item item) {
    expect("(");
    if (accept(")")) return;
    do item();
    while (accept(","));
    if (!accept(")")) fail_expected("',' or ')' after an item of a list");
  }

  Stmt parse_custom();
  Stmt parse_adjoint_call();
  std::vector<Carried> parse_carried();
  Value parse_value();
  Value parse_constant();

  // After the word `nan`: the bits, if they are not those of the usual quiet NaN.
  Value parse_nan();
  Type parse_suffix(Type otherwise);

  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  int nesting_ = 0;
  std::unordered_map<LocalId, Type> types_;
  Kernel kernel_;
};

}  // namespace samite::ir
