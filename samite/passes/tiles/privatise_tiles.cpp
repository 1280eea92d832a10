#include "samite/passes/tiles/privatise_tiles.h"

#include "samite/ir/tile_rules.h"
#include "samite/ir/visit.h"
#include "samite/passes/analysis/index_forms.h"
#include "samite/passes/simplify/builder.h"
#include "samite/passes/simplify/promote.h"
#include "samite/passes/simplify/rewrite.h"
#include "samite/passes/simplify/simplify.h"
#include "samite/passes/tiles/within_array.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <optional>

namespace samite::passes {
namespace {

using namespace ir;

// A local tile has at most this many elements, or this many times those of the largest accessed tile if that is more.
constexpr std::int64_t most_local_elements = 4096, most_growth = 8;
// An access has parts of at most this many local tiles.
constexpr std::int64_t most_parts = 32;

struct TileAccess {
  std::vector<Value> indices;
  Type type;                            // of a tile or an element
  std::size_t at = 0;                   // the statement of the kernel's outermost block that it is in
  std::vector<std::int64_t> extents{};  // in each dimension of the array
};

// The elements of an array along one dimension, cut into local tiles.
struct CellDimension {
  std::int64_t extent = 1;       // of a local tile
  std::optional<Value> first{};  // of one tile: an index, from which it is `behind` elements away
  std::int64_t behind = 0;
  std::int64_t begin = 0, step = 0;  // for many: tile n begins at begin + n * step, with begin at most 0
  Affine form{};                     // of `first`
  bool moves() const { return !first; }
};

struct Cells {
  std::uint32_t array = 0;
  Type type = ScalarType::Float64;  // of a local tile, of the array's rank
  std::vector<CellDimension> dimensions;
  std::size_t first = 0, last = 0;  // statements of the outermost block

  std::vector<Value> place, extents, counts;  // of the dimensions; the places of those that do not move
  LocalId tile = 0;                           // if no dimension moves
  LocalArrayId tiles = 0;                     // else, with a tile of zeros before and behind
  bool moves() const { return std::ranges::any_of(dimensions, &CellDimension::moves); }
};

std::int64_t floor_remainder(std::int64_t a, std::int64_t by) { return (a % by + by) % by; }

class TilePrivatiser {
 public:
  TilePrivatiser(const Kernel &kernel, const std::vector<bool> &wanted)
      : kernel_(kernel),
        forms_(kernel),
        accesses_(kernel.parameters.size()),
        shared_(kernel.parameters.size()),
        definition_(kernel.local_count),
        cells_(kernel.parameters.size()),
        build_(kernel.local_count) {
    for (std::size_t n = 0; n < kernel.body.size(); ++n) collect({kernel.body[n]}, n);
    for (std::uint32_t array = 0; array < wanted.size(); ++array)
      if (wanted[array]) cells_[array] = find(array);
  }

  Privatised run() {
    Privatised result{kernel_, {}};
    for (const auto &cells : cells_) result.done.push_back(cells.has_value());
    if (std::ranges::find(result.done, true) == result.done.end()) return result;
    for (LocalArrayId i = 0; i < kernel_.local_array_count; ++i) build_.new_local_array();
    for (std::size_t n = 0; n < kernel_.body.size(); ++n) {
      const Stmt &stmt = kernel_.body[n];
      build_.at(stmt.where());
      for (auto &cells : cells_)
        if (cells && cells->first == n) enter(*cells);
      for (Stmt &made : rewrite({stmt}, [&](const Stmt &each, Block &to) { replace(each, to); }))
        build_.append(std::move(made));
      build_.at(stmt.where());
      for (const auto &cells : cells_)
        if (cells && cells->last == n) leave(*cells);
    }
    result.kernel.body = build_.take();
    result.kernel.local_count = build_.local_count();
    result.kernel.local_array_count = build_.local_array_count();
    result.kernel = simplify(promote(result.kernel));
    return result;
  }

 private:
  void collect(const Block &block, std::size_t at) {
    for_each_statement(block, [&](const Stmt &stmt) {
      if (const auto *let = stmt.as<Let>()) {
        definition_[let->local] = let;
        has_index_ = has_index_ || let->value.op == Op::ThreadIndex;
      }
      if (const auto *custom = stmt.as<CustomAdjoint>())
        for (const Block *part : {&custom->primal, &custom->replay, &custom->adjoint})
          for_each_statement(*part, [&](const Stmt &inside) { share(inside); });
      if (const auto access = access_of(stmt); access && !is_gather(access->second.indices)) {
        accesses_[access->first].push_back(access->second);
        accesses_[access->first].back().at = at;
      } else {
        share(stmt);
      }
    });
  }
  void share(const Stmt &stmt) {
    for (const auto touched : {array_read(stmt), array_written(stmt)})
      if (touched) shared_[*touched] = true;
  }

  static std::optional<std::pair<std::uint32_t, TileAccess>> access_of(const Stmt &stmt) {
    if (const auto *let = stmt.as<Let>(); let && info(let->value.op).typing == Typing::Load)
      return std::pair{let->value.array, TileAccess{let->value.operands, let->value.type}};
    if (const auto *store = stmt.as<Store>())
      return std::pair{store->array, TileAccess{store->indices, store->value.type()}};
    if (const auto *sum = stmt.as<Accumulate>())
      return std::pair{sum->array, TileAccess{sum->indices, sum->value.type()}};
    return std::nullopt;
  }

  static std::vector<std::int64_t> extents_along(const Type &type, std::size_t rank) {
    std::vector<std::int64_t> extents(rank, 1);
    const TileShape shape = type.shape();
    std::copy(shape.begin(), shape.end(), extents.end() - shape.rank());
    return extents;
  }

  std::optional<Cells> find(std::uint32_t array) {
    std::vector<TileAccess> &accesses = accesses_[array];
    if (accesses.empty() || shared_[array]) return std::nullopt;
    const auto rank = accesses[0].indices.size();
    if (rank > maximum_tile_rank || accesses[0].type.element() == ScalarType::Bool) return std::nullopt;
    Cells cells;
    cells.array = array, cells.first = accesses[0].at, cells.last = accesses[0].at;
    std::int64_t largest = 1, elements = 1;
    for (TileAccess &access : accesses) {
      access.extents = extents_along(access.type, rank);
      largest = std::max(largest, access.type.count());
      cells.first = std::min(cells.first, access.at), cells.last = std::max(cells.last, access.at);
    }
    std::vector<std::int64_t> extents;
    for (std::size_t d = 0; d < rank; ++d) {
      std::optional<CellDimension> dimension = one_tile(accesses, d, cells.first);
      const std::int64_t widest =
          std::ranges::max(accesses, {}, [&](const TileAccess &a) { return a.extents[d]; }).extents[d];
      if (!dimension || dimension->extent > most_growth / 2 * widest)
        if (auto many = many_tiles(accesses, d)) dimension = many;
      if (!dimension) return std::nullopt;
      elements *= dimension->extent;
      if (elements > std::max(most_local_elements, most_growth * largest)) return std::nullopt;
      extents.push_back(dimension->extent);
      cells.dimensions.push_back(*dimension);
    }
    if (has_index_ && !keep_blocks_apart(cells, accesses)) return std::nullopt;
    if (std::ranges::any_of(accesses, [&](const auto &access) { return parts_of(cells, access) > most_parts; }))
      return std::nullopt;
    cells.type = Type(accesses[0].type.element(), TileShape(extents));
    return cells;
  }

  // All accesses begin a constant apart, starting at an index that is known at the first access.
  std::optional<CellDimension> one_tile(const std::vector<TileAccess> &accesses, std::size_t d,
                                        std::size_t home) const {
    const Value &first = accesses[0].indices[d];
    const Affine form = forms_(first).form;
    if (!form.known() || !can_have(first, home)) return std::nullopt;
    std::int64_t low = 0, high = 0;
    for (const TileAccess &access : accesses) {
      const Affine behind = forms_(access.indices[d]).form - form;
      if (!behind.is_constant()) return std::nullopt;
      low = std::min(low, behind.constant());
      high = std::max(high, behind.constant() + access.extents[d]);
    }
    return CellDimension{high - low, first, low, 0, 0, form};
  }

  // Tiles as long as the steps between the accesses; they begin where most accesses begin.
  std::optional<CellDimension> many_tiles(const std::vector<TileAccess> &accesses, std::size_t d) const {
    std::int64_t step = 0;
    std::vector<Affine> forms;
    for (const TileAccess &access : accesses) {
      forms.push_back(forms_(access.indices[d]).form);
      if (!forms.back().known()) step = 1;
      for (const AffineTerm &term : forms.back().terms()) step = std::gcd(step, term.coefficient);
    }
    if (step == 0)
      for (const Affine &form : forms) step = std::gcd(step, form.constant() - forms[0].constant());
    if (step == 0) return std::nullopt;
    std::optional<CellDimension> best;
    std::int64_t least = 0;
    for (const Affine &beginning : forms) {
      const std::int64_t begin = floor_remainder(beginning.constant(), step);
      CellDimension dimension{step, {}, 0, begin == 0 ? 0 : begin - step, step};
      std::int64_t parts = 0;
      for (std::size_t i = 0; i < forms.size(); ++i)
        parts += parts_along(dimension, offset(dimension, forms[i]), accesses[i].extents[d]);
      if (!best || parts < least) best = dimension, least = parts;
    }
    return best;
  }
  static std::int64_t offset(const CellDimension &dimension, const Affine &form) {
    if (!dimension.moves()) return (form - dimension.form).constant() - dimension.behind;
    return form.known() ? floor_remainder(form.constant() - dimension.begin, dimension.step) : 0;
  }
  // The number of tiles that an access touches.
  static std::int64_t parts_along(const CellDimension &dimension, std::int64_t offset, std::int64_t extent) {
    return dimension.moves() ? (offset + extent + dimension.step - 1) / dimension.step : 1;
  }
  std::int64_t parts_of(const Cells &cells, const TileAccess &access) const {
    std::int64_t parts = 1;
    for (std::size_t d = 0; d < cells.dimensions.size(); ++d)
      parts *= parts_along(cells.dimensions[d], offset(cells.dimensions[d], forms_(access.indices[d]).form),
                           access.extents[d]);
    return parts;
  }

  // Whether in each dimension of the launch an index, equal in all accesses up to a constant, keeps blocks apart.
  bool keep_blocks_apart(const Cells &cells, const std::vector<TileAccess> &accesses) const {
    for (int t = 0; t < kernel_.launch_rank; ++t) {
      bool apart = false;
      for (std::size_t d = 0; d < cells.dimensions.size() && !apart; ++d)
        apart = !cells.dimensions[d].moves() && std::ranges::all_of(accesses, [&](const TileAccess &access) {
          const auto along = forms_.along(access.indices[d]);
          return along && along->index == Symbol::thread_index(t) && along->one_to_one &&
                 std::abs(along->scale) >= cells.dimensions[d].extent;
        });
      if (!apart) return false;
    }
    return true;
  }

  // Whether a value can be computed before that statement of the outermost block.
  bool can_have(const Value &value, std::size_t home) const {
    if (!value.is_local() || is_there(value, home)) return true;
    const Let *let = definition_[value.id()];
    return let && info(let->value.op).pure && let->value.op != Op::LocalLoad &&
           std::ranges::all_of(let->value.operands, [&](const Value &operand) { return can_have(operand, home); });
  }
  bool is_there(const Value &value, std::size_t home) const {
    bool there = false;
    for (std::size_t n = 0; n < home; ++n)
      for_each_definition(kernel_.body[n], [&](LocalId local, Type) { there = there || local == value.id(); });
    return there && !inner_of_loop(value.id(), home);
  }
  // A loop's index and carried values do not exist after it.
  bool inner_of_loop(LocalId local, std::size_t home) const {
    for (std::size_t n = 0; n < home; ++n) {
      const Stmt &stmt = kernel_.body[n];
      const std::vector<Carried> *carried = nullptr;
      if (const auto *loop = stmt.as<For>()) {
        if (loop->index == local) return true;
        carried = &loop->carried;
      }
      if (const auto *loop = stmt.as<While>()) carried = &loop->carried;
      if (carried && std::ranges::any_of(*carried, [&](const Carried &c) { return c.inner == local; })) return true;
    }
    return false;
  }
  Value have(const Value &value, std::size_t home) {
    if (!value.is_local() || is_there(value, home)) return value;
    Operation operation = definition_[value.id()]->value;
    for (Value &operand : operation.operands) operand = have(operand, home);
    return build_.operation(std::move(operation));
  }

  static Value integer(std::int64_t number) { return Value::constant(ScalarType::Int64, number); }
  Value wide(const Value &value) { return build_.cast(ScalarType::Int64, value); }

  void enter(Cells &cells) {
    for (std::size_t d = 0; d < cells.dimensions.size(); ++d) {
      const CellDimension &dimension = cells.dimensions[d];
      cells.extents.push_back(
          build_.operation({Op::Extent, ScalarType::Int64, {}, cells.array, static_cast<std::int32_t>(d)}));
      cells.place.push_back(
          dimension.moves() ? integer(0)
                            : build_(Op::Add, {wide(have(*dimension.first, cells.first)), integer(dimension.behind)}));
      if (!dimension.moves()) {
        cells.counts.push_back(integer(1));
        continue;
      }
      const Value reach = build_(Op::Add, {cells.extents[d], integer(dimension.step - 1 - dimension.begin)});
      cells.counts.push_back(build_(Op::Div, {reach, integer(dimension.step)}));
    }
    if (!cells.moves()) {
      cells.tile = build_.variable(build_.operation({Op::Load, cells.type, cells.place, cells.array}));
      return;
    }
    Value size = integer(1);
    for (std::size_t d = 0; d < cells.counts.size(); ++d)
      if (cells.dimensions[d].moves()) size = build_(Op::Mul, {size, build_(Op::Add, {cells.counts[d], integer(2)})});
    cells.tiles = build_.allocate(cells.type, size);
    for_each_tile(cells, [&](const std::vector<Value> &place, const Value &number) {
      build_.local_store(cells.tiles, number, build_.operation({Op::Load, cells.type, place, cells.array}));
    });
  }

  void leave(const Cells &cells) {
    if (!cells.moves())
      return build_.append({Store{cells.array, cells.place, Value::local(cells.type, cells.tile)}, build_.where()});
    for_each_tile(cells, [&](const std::vector<Value> &place, const Value &number) {
      build_.append({Store{cells.array, place, build_.local_load(cells.type, cells.tiles, number)}, build_.where()});
    });
  }

  template <class Visit>
  void for_each_tile(const Cells &cells, Visit visit) {
    std::vector<Value> numbers(cells.dimensions.size(), integer(0));
    const auto loops = [&](auto &self, std::size_t d) -> void {
      if (d == numbers.size()) return visit(place_of(cells, numbers), number_of(cells, numbers));
      if (!cells.dimensions[d].moves()) return self(self, d + 1);
      For loop{build_.new_local(),
               ScalarType::Int64,
               integer(0),
               build_(Op::Add, {cells.counts[d], integer(2)}),
               integer(1),
               {},
               {},
               LoopKind::Serial};
      numbers[d] = Value::local(ScalarType::Int64, loop.index);
      Block outer = build_.open();
      self(self, d + 1);
      loop.body = build_.close(std::move(outer));
      build_.append({std::move(loop), build_.where()});
    };
    loops(loops, 0);
  }

  // Tiles are numbered from 1 along each dimension: one tile of zeros precedes and one follows them.
  std::vector<Value> place_of(const Cells &cells, const std::vector<Value> &numbers) {
    std::vector<Value> place = cells.place;
    for (std::size_t d = 0; d < place.size(); ++d) {
      const CellDimension &dimension = cells.dimensions[d];
      if (!dimension.moves()) continue;
      const Value steps = build_(Op::Mul, {numbers[d], integer(dimension.step)});
      place[d] = build_(Op::Add, {steps, integer(dimension.begin - dimension.step)});
    }
    return place;
  }
  Value number_of(const Cells &cells, const std::vector<Value> &numbers) {
    std::optional<Value> number;
    for (std::size_t d = 0; d < numbers.size(); ++d) {
      if (!cells.dimensions[d].moves()) continue;
      const Value count = build_(Op::Add, {cells.counts[d], integer(2)});
      number = number ? build_(Op::Add, {build_(Op::Mul, {*number, count}), numbers[d]}) : numbers[d];
    }
    return *number;
  }

  // An access's part of one local tile: its first element, and the tile.
  struct Part {
    std::vector<std::int64_t> offsets;  // negative if the access begins in an earlier tile
    std::vector<Value> numbers;
  };
  std::vector<Part> parts_of(const Cells &cells, const std::vector<Value> &indices, const Type &type) {
    const std::vector<std::int64_t> extents = extents_along(type, indices.size());
    std::vector<Part> parts(1);
    for (std::size_t d = 0; d < indices.size(); ++d) {
      const CellDimension &dimension = cells.dimensions[d];
      const std::int64_t from = offset(dimension, forms_(indices[d]).form);
      std::vector<Part> longer;
      for (std::int64_t n = 0; n < parts_along(dimension, from, extents[d]); ++n) {
        const Value number = dimension.moves() ? number_along(cells, d, indices[d], from, n) : integer(0);
        for (Part part : parts) {
          part.offsets.push_back(from - n * dimension.step);
          part.numbers.push_back(number);
          longer.push_back(std::move(part));
        }
      }
      parts = std::move(longer);
    }
    return parts;
  }
  // The number of the n-th tile of an access that begins at `index`, which is `from` elements after the beginning of
  // the first.
  Value number_along(const Cells &cells, std::size_t d, const Value &index, std::int64_t from, std::int64_t n) {
    const CellDimension &dimension = cells.dimensions[d];
    const Value from_begin = build_(Op::Sub, {wide(index), integer(dimension.begin + from)});
    const Value steps = build_(Op::Div, {from_begin, integer(dimension.step)});
    const Value last = build_(Op::Add, {cells.counts[d], integer(1)});
    return build_(Op::Min, {build_(Op::Max, {build_(Op::Add, {steps, integer(1 + n)}), integer(0)}), last});
  }
  Value tile_of(const Cells &cells, const Part &part) {
    if (!cells.moves()) return Value::local(cells.type, cells.tile);
    return build_.local_load(cells.type, cells.tiles, number_of(cells, part.numbers));
  }

  void replace(const Stmt &stmt, Block &to) {
    const auto access = access_of(stmt);
    if (!access || !cells_[access->first]) {
      to.push_back(stmt);
      return;
    }
    const Cells &cells = *cells_[access->first];
    Block outer = build_.open();
    build_.at(stmt.where());
    const Type type = access->second.type;
    const std::vector<Part> parts = parts_of(cells, access->second.indices, type);
    if (const auto *let = stmt.as<Let>()) {
      build_.append({Let{let->local, {Op::Copy, type, {taken(cells, parts, type)}}}, stmt.where()});
      if (let->value.op == Op::Exchange) set(cells, parts, Value::zero(type));
    } else if (const auto *store = stmt.as<Store>()) {
      set(cells, parts, store->value);
    } else if (const auto *sum = stmt.as<Accumulate>()) {
      set(cells, parts, build_(Op::Add, {taken(cells, parts, type), sum->value}));
    }
    for (Stmt &made : build_.close(std::move(outer))) to.push_back(std::move(made));
  }

  // The value of an access of this type, assembled from all its parts: zeros outside of a tile.
  Value taken(const Cells &cells, const std::vector<Part> &parts, const Type &type) {
    const Type full(type.element(), TileShape(extents_along(type, cells.dimensions.size())));
    std::optional<Value> all;
    for (const Part &part : parts) {
      Value taken = tile_of(cells, part);
      if (full != cells.type || std::ranges::any_of(part.offsets, [](std::int64_t offset) { return offset != 0; })) {
        std::vector<Value> operands{taken};
        for (const std::int64_t offset : part.offsets) operands.push_back(integer(offset));
        taken = build_.operation({Op::Window, full, operands});
      }
      all = all ? build_(Op::Add, {*all, taken}) : taken;
    }
    if (!type.is_tile()) return build_.operation({Op::ReduceAdd, type, {*all}});
    return type == full ? *all : build_.operation({Op::Reshape, type, {*all}});
  }

  void set(const Cells &cells, const std::vector<Part> &parts, const Value &value) {
    const Type full(value.type().element(), TileShape(extents_along(value.type(), cells.dimensions.size())));
    const bool is_full = value.type() == full;
    const Op spread = value.type().is_tile() ? Op::Reshape : Op::Broadcast;
    const Value of_full = is_full ? value : build_.operation({spread, full, {value}});
    for (const Part &part : parts) set(cells, part, of_full);
  }
  // Stores the part of `value`, of the array's rank, that falls within a local tile.
  void set(const Cells &cells, const Part &part, const Value &value) {
    std::vector<Value> operands{value};
    for (const std::int64_t offset : part.offsets) operands.push_back(integer(-offset));
    const Type truth = cells.type.of(ScalarType::Bool), numbers = cells.type.of(ScalarType::Int64);
    std::optional<Value> inside;
    const auto demand = [&](Op op, const Value &coordinate, std::int64_t bound) {
      const Value all = build_.operation({Op::Broadcast, numbers, {integer(bound)}});
      const Value holds = build_.operation({op, truth, {coordinate, all}});
      inside = inside ? build_(Op::And, {*inside, holds}) : holds;
    };
    bool at_its_beginning = true;
    for (std::size_t d = 0; d < part.offsets.size(); ++d) {
      const std::int64_t end = part.offsets[d] + value.type().shape()[static_cast<int>(d)];
      const Value coordinate = build_.operation({Op::Coordinate, numbers, {}, 0, static_cast<std::int32_t>(d)});
      if (part.offsets[d] > 0) demand(Op::GreaterEqual, coordinate, part.offsets[d]);
      if (end < cells.dimensions[d].extent) demand(Op::Less, coordinate, end);
      at_its_beginning = at_its_beginning && part.offsets[d] == 0;
    }
    Value next = value;
    if (value.type() != cells.type || !at_its_beginning) next = build_.operation({Op::Window, cells.type, operands});
    if (inside) next = build_.select(*inside, next, tile_of(cells, part));
    next = within_array(build_, next, place_of(cells, part.numbers), cells.extents);
    if (cells.moves())
      build_.local_store(cells.tiles, number_of(cells, part.numbers), next);
    else
      build_.assign(cells.tile, next);
  }

  const Kernel &kernel_;
  const IndexForms forms_;
  std::vector<std::vector<TileAccess>> accesses_;  // by parameter
  std::vector<bool> shared_;                       // by parameter
  std::vector<const Let *> definition_;            // by local
  std::vector<std::optional<Cells>> cells_;        // by parameter
  bool has_index_ = false;
  Builder build_;
};

}  // namespace

Privatised privatise_tiles(const Kernel &structured, const std::vector<bool> &arrays) {
  return TilePrivatiser(structured, arrays).run();
}

}  // namespace samite::passes
