#include "samite/passes/simplify/rewrite.h"

namespace samite::passes {

using namespace ir;

using Append = std::function<void(const Stmt &, Block &)>;

Stmt with_blocks(const Stmt &stmt, const std::function<Block(const Block &)> &made) {
  if (auto *branch = stmt.as<If>()) {
    If copy = *branch;
    copy.then_block = made(branch->then_block);
    copy.else_block = made(branch->else_block);
    return {std::move(copy), stmt.where()};
  }
  if (auto *loop = stmt.as<For>()) {
    For copy = *loop;
    copy.body = made(loop->body);
    return {std::move(copy), stmt.where()};
  }
  if (auto *loop = stmt.as<While>()) {
    While copy = *loop;
    copy.condition_block = made(loop->condition_block);
    copy.body = made(loop->body);
    return {std::move(copy), stmt.where()};
  }
  return stmt;
}

Block rewrite(const Block &block, const Append &append) {
  Block made;
  made.reserve(block.size());
  for (const Stmt &stmt : block)
    append(with_blocks(stmt, [&](const Block &inner) { return rewrite(inner, append); }), made);
  return made;
}

Block rewrite(const Block &block, const std::function<Stmt(const Stmt &)> &made) {
  return rewrite(block, Append([&](const Stmt &stmt, Block &to) { to.push_back(made(stmt)); }));
}

}  // namespace samite::passes
