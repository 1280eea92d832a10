#include "samite/passes/simplify/rewrite.h"

namespace samite::passes {

using namespace ir;

namespace {

using Append = std::function<void(const Stmt &, Block &)>;

Stmt with_blocks(const Stmt &stmt, const Append &append) {
  if (auto *branch = stmt.as<If>()) {
    If copy = *branch;
    copy.then_block = rewrite(branch->then_block, append);
    copy.else_block = rewrite(branch->else_block, append);
    return {std::move(copy), stmt.where()};
  }
  if (auto *loop = stmt.as<For>()) {
    For copy = *loop;
    copy.body = rewrite(loop->body, append);
    return {std::move(copy), stmt.where()};
  }
  if (auto *loop = stmt.as<While>()) {
    While copy = *loop;
    copy.condition_block = rewrite(loop->condition_block, append);
    copy.body = rewrite(loop->body, append);
    return {std::move(copy), stmt.where()};
  }
  return stmt;
}

}  // namespace

Block rewrite(const Block &block, const Append &append) {
  Block made;
  made.reserve(block.size());
  for (const Stmt &stmt : block) append(with_blocks(stmt, append), made);
  return made;
}

Block rewrite(const Block &block, const std::function<Stmt(const Stmt &)> &made) {
  return rewrite(block, Append([&](const Stmt &stmt, Block &to) { to.push_back(made(stmt)); }));
}

}  // namespace samite::passes
