#include "samite/ir/parse.h"

#include "samite/base/error.h"
#include "samite/ir/nesting.h"
#include "samite/ir/parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace samite::ir {
Kernel Parser::parse() {
  expect_word("kernel");
  kernel_.name = expect(TokenKind::Name, "the kernel's name, as in '@name'").text;
  expect("(");
  parse_parameters();
  const bool tiles = accept("blocks");
  if (!tiles) expect_word("threads");
  kernel_.launch_rank = number<int>("the number of dimensions of the launch");
  if (tiles) {
    if (accept("strips")) kernel_.grid.strip_columns = number<int>("the columns of a strip of blocks");
    if (accept("clusters")) {
      kernel_.grid.cluster_blocks = number<int>("the number of blocks of a cluster");
      expect_word("along");
      kernel_.grid.cluster_dimension = number<int>("the dimension of the launch that clusters lie along");
    }
    expect_word("of");
    kernel_.block_threads = number<int>("the number of threads of a block");
    kernel_.scheduled = accept("scheduled");
    kernel_.sums_in_shared = accept("shared");
    if (accept("resident")) kernel_.grid.resident_blocks = number<int>("the number of blocks");
    if (accept("teams")) kernel_.roles.teams = number<int>("the number of teams");
    kernel_.roles.equal_turns = accept("equal");
    if (accept("parts")) kernel_.grid.step_parts = number<int>("the number of blocks that share a loop's steps");
    if (accept("plan")) kernel_.plan = parse_plan();
  }
  kernel_.grid.strides = accept("strides");
  kernel_.grid.persistent = accept("persistent");
  kernel_.grid.axes = accept("axes");
  if (accept("at_once")) kernel_.grid.blocks_at_once = number<int>("the number of blocks of a multiprocessor");
  kernel_.where = parse_location();
  kernel_.body = parse_block();
  if (accept("producing")) {
    kernel_.roles.producers = number<int>("the number of producing threads");
    if (accept("registers")) {
      kernel_.roles.registers.producing = number<int>("the registers of a producing thread");
      expect(",");
      kernel_.roles.registers.multiplying = number<int>("the registers of a multiplying thread");
    }
    kernel_.roles.producing = parse_block();
  }
  expect(TokenKind::End, "the end of the text after the kernel");
  return std::move(kernel_);
}

TilePlan Parser::parse_plan() {
  TilePlan plan;
  expect("(");
  do {
    const Token &name = expect(TokenKind::Word, "a field of the plan");
    const auto field = std::ranges::find(plan_fields(), name.text, &PlanField::name);
    if (field == plan_fields().end()) fail_at(name, "expected a field of the plan, found " + describe(name));
    plan.*field->value = number<int>("the field's value");
  } while (accept(","));
  expect(")");
  return plan;
}

void Parser::collect_locals() {
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

std::optional<Type> Parser::type_at(std::size_t place) {
  if (tokens_[place].kind != TokenKind::Word) return std::nullopt;
  if (tokens_[place].text != "tile" && !scalar_type_from_name(tokens_[place].text)) return std::nullopt;
  const std::size_t outer = std::exchange(at_, place);
  const Type type = parse_type();
  at_ = outer;
  return type;
}

LocalId Parser::local_id(const Token &token) {
  auto id = read_number<LocalId>(token.text);
  if (!id || *id >= number_limit) fail_at(token, "expected a local's number below 2^20");
  return *id;
}

const Token &Parser::peek() const { return tokens_[at_]; }

const Token &Parser::advance() { return tokens_[at_ + 1 < tokens_.size() ? at_++ : at_]; }

bool Parser::is(std::string_view text) const {
  return (peek().kind == TokenKind::Punctuation || peek().kind == TokenKind::Word) && peek().text == text;
}

bool Parser::accept(std::string_view text) {
  bool found = is(text);
  if (found) advance();
  return found;
}

void Parser::fail_expected(std::string_view what) const {
  fail_at(peek(), fmt::format("expected {}, found {}", what, describe(peek())));
}

void Parser::expect(std::string_view text) {
  if (!accept(text)) fail_expected(fmt::format("'{}'", text));
}

void Parser::expect_word(std::string_view word) { expect(word); }

const Token &Parser::expect(TokenKind kind, std::string_view what) {
  if (peek().kind != kind) fail_expected(what);
  return advance();
}

void Parser::parse_parameters() {
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

std::uint32_t Parser::parameter_index(const Token &name) const {
  for (std::size_t i = 0; i < kernel_.parameters.size(); ++i)
    if (kernel_.parameters[i].name == name.text) return static_cast<std::uint32_t>(i);
  fail_at(name, fmt::format("expected a parameter of the kernel, found {}", describe(name)));
}

SourceLocation Parser::parse_location() {
  if (!accept("at")) return {};
  const char *file = intern_file(expect(TokenKind::String, "a file name in quotes").text);
  expect(":");
  return {file, number<std::uint32_t>("a line number")};
}

Block Parser::parse_block() {
  const Token &begin = peek();
  expect("{");
  if (++nesting_ > maximum_nesting)
    fail_at(begin, fmt::format("expected blocks that are nested at most {} deep", maximum_nesting));
  Block block;
  while (!accept("}")) block.push_back(parse_statement());
  --nesting_;
  return block;
}

Stmt Parser::parse_statement() {
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

Stmt Parser::parse_let() {
  const LocalId local = parse_local();
  expect(":");
  Type type = parse_type();
  expect("=");
  Let let{local, parse_operation(type)};
  return located(std::move(let));
}

Stmt Parser::parse_assign() {
  LocalId local = parse_local();
  expect("=");
  Assign assign{local, parse_value()};
  return located(assign);
}

Stmt Parser::parse_store() {
  std::uint32_t array = parse_array();
  std::vector<Value> indices = parse_indices();
  expect("=");
  Store store{array, std::move(indices), parse_value()};
  return located(std::move(store));
}

Stmt Parser::parse_accumulate() {
  const bool atomic = accept("atomic"), over_launch = accept("over_launch"),
             over_lanes = !over_launch && accept("over_lanes"), of_gradient = accept("gradient");
  std::uint32_t array = parse_array();
  std::vector<Value> indices = parse_indices();
  expect("+=");
  Accumulate accumulate{array, std::move(indices), parse_value(), atomic, of_gradient, over_launch, over_lanes};
  return located(std::move(accumulate));
}

Kernel parse_kernel(std::string_view text) { return Parser(text).parse(); }

}  // namespace samite::ir
