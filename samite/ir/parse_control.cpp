#include "samite/ir/parser.h"

#include <utility>

namespace samite::ir {

Stmt Parser::parse_print() {
  Print print;
  do parse_part(print.message);
  while (accept(","));
  return located(std::move(print));
}

Stmt Parser::parse_check() {
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

void Parser::parse_part(Message &message) {
  if (peek().kind == TokenKind::String) {
    message.texts.back() += advance().text;
    return;
  }
  message.values.push_back(parse_value());
  message.texts.emplace_back();
}

Stmt Parser::parse_if() {
  If branch{parse_value(), {}, {}, {}};
  if (accept("->")) branch.results = parse_results();
  SourceLocation where = parse_location();
  branch.then_block = parse_block();
  if (accept("else")) branch.else_block = parse_block();
  return Stmt(std::move(branch), where);
}

std::vector<BranchResult> Parser::parse_results() {
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

Stmt Parser::parse_for() {
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
  ElementPlan elements = parse_elements();
  For loop{index,
           type,
           begin,
           end,
           step,
           {},
           parse_carried(),
           kind,
           stages,
           ahead,
           jam,
           rolled,
           {instances, by_warp, march},
           std::move(products),
           std::move(elements)};
  SourceLocation where = parse_location();
  loop.body = parse_block();
  return Stmt(std::move(loop), where);
}

LoopProducts Parser::parse_products() {
  LoopProducts products;
  if (accept("products")) {
    products.and_more = accept("and_more");
    expect("(");
    do {
      const LocalArrayId result = parse_local_array();
      const bool from_zero = accept("=");
      if (!from_zero) expect("+=");
      const LoopProduct::Factor first = parse_factor();
      expect(",");
      products.declared.push_back({result, {first, parse_factor()}, from_zero});
    } while (accept("and"));
    if (!accept(")")) fail_expected("'and' or ')' after a product");
  }
  products.in_turns = accept("in_turns");
  return products;
}

ElementPlan Parser::parse_elements() {
  ElementPlan plan;
  if (accept("interleaved")) plan.interleaved = number<int>("the number of iterations");
  plan.by_rows = accept("by_rows");
  if (accept("together")) {
    expect("(");
    do plan.groups.push_back(parse_group());
    while (accept("and"));
    if (!accept(")")) fail_expected("'and' or ')' after an access");
  }
  if (accept("bounds")) parse_list([&] { plan.bounds.push_back(parse_local()); });
  if (accept("corners")) plan.corners = number<int>("the number of corners");
  plan.in_packs = accept("in_packs");
  if (accept("rotates")) plan.rotates = number<int>("the number of elements");
  return plan;
}

ElementPlan::Group Parser::parse_group() {
  using Kind = ElementPlan::Group::Kind;
  ElementPlan::Group group;
  if (accept("load")) {
    group.load = parse_local();
  } else {
    group.kind = accept("store") ? Kind::store : Kind::add;
    if (group.kind == Kind::add) expect_word("add");
    group.array = parse_array();
  }
  if (accept("rows"))
    parse_list([&, &rows = group.along_rows.emplace()] { rows.push_back(number<std::size_t>("a dimension")); });
  group.in_quads = accept("in_quads");
  group.in_units = accept("in_units");
  if (accept("rounds")) group.unrounded = parse_value();
  if (accept("if")) group.bound = parse_local();
  return group;
}

LoopProduct::Factor Parser::parse_factor() {
  LoopProduct::Factor factor{parse_local_array()};
  if (!accept("window")) return factor;
  const bool masked = peek().kind == TokenKind::LocalArray;
  factor.window = masked ? parse_local_array() : factor.tile;
  if (masked) expect_word("terms"), factor.terms = parse_value();
  factor.shared = accept("shared");
  return factor;
}

Stmt Parser::parse_while() {
  std::vector<Carried> carried = parse_carried();
  SourceLocation where = parse_location();
  Block condition_block = parse_block();
  expect_word("test");
  Value condition = parse_value();
  return Stmt(While{std::move(condition_block), condition, parse_block(), std::move(carried)}, where);
}

Stmt Parser::parse_labelled() {
  auto label = number<LabelId>("a label's number");
  SourceLocation where = parse_location();
  return Stmt(Labelled{label, parse_block()}, where);
}

Stmt Parser::parse_leave() {
  Leave leave{number<LabelId>("a label's number")};
  return located(leave);
}

Stmt Parser::parse_custom() {
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

Stmt Parser::parse_adjoint_call() {
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

std::vector<Carried> Parser::parse_carried() {
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

}  // namespace samite::ir
