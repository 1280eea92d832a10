// Traverses and rebuilds statements.
#pragma once

#include "samite/ir/kernel.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

namespace samite::ir {

template <class... Fs>
struct Overloaded : Fs... {
  using Fs::operator()...;
};
template <class... Fs>
Overloaded(Fs...) -> Overloaded<Fs...>;

// Calls the function of `functions` that takes the statement's kind.
template <class... Fs>
decltype(auto) visit(const Stmt &stmt, Fs &&...functions) {
  return std::visit(Overloaded{std::forward<Fs>(functions)...}, stmt.kind());
}

// Calls `f` on each statement of `block`, outer before inner, in program order.
void for_each_statement(const Block &block, const std::function<void(const Stmt &)> &f);

// The same without the replay and adjoint blocks of custom adjoints.
void for_each_primal_statement(const Block &block, const std::function<void(const Stmt &)> &f);

// Calls `f` on each value that the statement itself reads. For a nested statement: its condition, bounds, initial, next
// and result values, but nothing inside its blocks.
void for_each_operand(const Stmt &stmt, const std::function<void(const Value &)> &f);

// The array parameter that the statement itself reads from or writes to, if any. An atomic operation does both. A main
// loop reads several, which its windows name.
std::optional<std::uint32_t> array_read(const Stmt &stmt);
std::optional<std::uint32_t> array_written(const Stmt &stmt);

// The local array that the statement itself loads an element from, or stores one to, if any.
std::optional<LocalArrayId> local_array_touched(const Stmt &stmt);

// How a statement uses a tile of a block as a whole: its result, something that it reads, memory that copies fill for
// it, or the barriers of these copies.
enum class TileAccess : std::uint8_t { result, operand, ring, barriers };

// Calls `f` on each tile that the statement itself uses as a whole, the result first.
void for_each_tile(const Stmt &stmt, const std::function<void(const TileMemory &, TileAccess)> &f);

// The same statement with other memory for these tiles, and for those that a loop declares, but not in its body.
Stmt map_tiles(const Stmt &stmt, const std::function<LocalArrayId(LocalArrayId)> &f);

// Whether the statement uses tiles as a whole.
bool is_on_tiles(const Stmt &stmt);

// Whether the statement multiplies tiles; and whether bulk copies load its factors, for warp groups.
bool multiplies(const Stmt &stmt);
bool multiplies_by_groups(const Stmt &stmt);

// The result of a statement that computes or loads a tile, and the layout of the sums of a product; null if there is
// none.
const TileMemory *result_of(const Stmt &stmt);
const FragmentLayout *layout_of_sums(const Stmt &stmt);

// Whether the statement itself has a visible effect: writes to an array parameter, prints or checks.
bool has_effect(const Stmt &stmt);

// For an operation on an element of an array parameter: the element's indices, and the values after them.
std::span<const Value> element_indices(const Operation &operation);
std::span<const Value> element_values(const Operation &operation);

// Calls `f` on each local that the statement itself defines (results, loop index and carried values included).
void for_each_definition(const Stmt &stmt, const std::function<void(LocalId, Type)> &f);

// The same statement with every operand, nested blocks included, replaced by `f(operand)`.
Stmt map_operands(const Stmt &stmt, const std::function<Value(const Value &)> &f);
Block map_operands(const Block &block, const std::function<Value(const Value &)> &f);

// Includes the statements of producer threads.
void for_each_statement(const Kernel &kernel, const std::function<void(const Stmt &)> &f);

// The type of each local, indexed by LocalId.
std::vector<Type> local_types(const Kernel &kernel);

}  // namespace samite::ir
