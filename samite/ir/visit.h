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

// Calls the function of `functions` that takes the statement's kind. As std::visit, whose table of functions takes
// compilers eight times as long.
template <class... Fs>
decltype(auto) visit(const Stmt &stmt, Fs &&...functions) {
  Overloaded chosen{std::forward<Fs>(functions)...};
  const StmtKind &kind = stmt.kind();
  static_assert(std::variant_size_v<StmtKind> == 29);
  switch (kind.index()) {
    case 0: return chosen(*std::get_if<0>(&kind));
    case 1: return chosen(*std::get_if<1>(&kind));
    case 2: return chosen(*std::get_if<2>(&kind));
    case 3: return chosen(*std::get_if<3>(&kind));
    case 4: return chosen(*std::get_if<4>(&kind));
    case 5: return chosen(*std::get_if<5>(&kind));
    case 6: return chosen(*std::get_if<6>(&kind));
    case 7: return chosen(*std::get_if<7>(&kind));
    case 8: return chosen(*std::get_if<8>(&kind));
    case 9: return chosen(*std::get_if<9>(&kind));
    case 10: return chosen(*std::get_if<10>(&kind));
    case 11: return chosen(*std::get_if<11>(&kind));
    case 12: return chosen(*std::get_if<12>(&kind));
    case 13: return chosen(*std::get_if<13>(&kind));
    case 14: return chosen(*std::get_if<14>(&kind));
    case 15: return chosen(*std::get_if<15>(&kind));
    case 16: return chosen(*std::get_if<16>(&kind));
    case 17: return chosen(*std::get_if<17>(&kind));
    case 18: return chosen(*std::get_if<18>(&kind));
    case 19: return chosen(*std::get_if<19>(&kind));
    case 20: return chosen(*std::get_if<20>(&kind));
    case 21: return chosen(*std::get_if<21>(&kind));
    case 22: return chosen(*std::get_if<22>(&kind));
    case 23: return chosen(*std::get_if<23>(&kind));
    case 24: return chosen(*std::get_if<24>(&kind));
    case 25: return chosen(*std::get_if<25>(&kind));
    case 26: return chosen(*std::get_if<26>(&kind));
    case 27: return chosen(*std::get_if<27>(&kind));
    default: return chosen(*std::get_if<28>(&kind));
  }
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
