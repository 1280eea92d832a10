#include "samite/passes/threads/check_races.h"

#include "samite/ir/visit.h"
#include "samite/passes/adjoint/exchanges.h"
#include "samite/passes/simplify/builder.h"
#include "samite/passes/simplify/rewrite.h"
#include "samite/passes/threads/lower_threads.h"

#include <algorithm>
#include <array>
#include <functional>
#include <string>

namespace samite::passes {
namespace {

using namespace ir;

constexpr std::int64_t last_access = (std::int64_t{1} << RaceWord::access_bits) - 1;

// Kinds of access that do not race among themselves have two words, so that a reader finds one that is not its own.
enum Word : std::uint8_t { writer, reader, other_reader, stepper, other_stepper };
constexpr int words = 5;
constexpr std::array<std::string_view, words> word_names{"writer", "reader", "other_reader", "stepper",
                                                         "other_stepper"};

struct Element {
  std::uint32_t array;
  Touch touch;
  std::vector<Value> indices;

  friend bool operator==(const Element &, const Element &) = default;
};

std::optional<Element> element_of(const Stmt &stmt) {
  if (const auto *store = stmt.as<Store>()) return Element{store->array, Touch::write, store->indices};
  if (const auto *add = stmt.as<Accumulate>())
    return Element{add->array, add->atomic ? Touch::atomic : Touch::write, add->indices};
  const auto *let = stmt.as<Let>();
  if (!let) return std::nullopt;
  const Operation &operation = let->value;
  const bool atomic = info(operation.op).typing == Typing::Atomic;
  if (operation.op != Op::Load && operation.op != Op::Exchange && !atomic) return std::nullopt;
  const std::span<const Value> indices = element_indices(operation);
  Element element{operation.array, Touch::atomic, {indices.begin(), indices.end()}};
  if (operation.op == Op::Load) element.touch = Touch::read;
  if (is_plain_exchange(operation)) element.touch = Touch::write;
  return element;
}

struct Touches {
  bool write = false, read = false, atomic = false;

  void add(Touch touch) { (touch == Touch::write ? write : touch == Touch::read ? read : atomic) = true; }
  void add(const Touches &more) { write |= more.write, read |= more.read, atomic |= more.atomic; }
  bool may_race() const { return write || (read && atomic); }
  std::vector<Word> needed() const {
    std::vector<Word> needed;
    if (write) needed.push_back(writer);
    if (read) needed.insert(needed.end(), {reader, other_reader});
    if (atomic) needed.insert(needed.end(), {stepper, other_stepper});
    return needed;
  }
};

// By parameter. Arrays that may share memory count as accessed in the same ways.
std::vector<Touches> touches_of(const Kernel &kernel, const std::vector<bool> &may_share) {
  std::vector<Touches> own(kernel.parameters.size());
  for_each_statement(kernel.body, [&](const Stmt &stmt) {
    if (const auto element = element_of(stmt)) own[element->array].add(element->touch);
    if (const auto *load = stmt.as<TileLoad>()) own[load->array].read = true;
  });
  std::vector<Touches> all = own;
  auto shares = [&](std::size_t a, std::size_t b) {
    return may_share[a] && may_share[b] && kernel.parameters[a].type == kernel.parameters[b].type;
  };
  for (std::size_t a = 0; a < own.size(); ++a)
    for (std::size_t b = 0; b < own.size(); ++b)
      if (a != b && shares(a, b)) all[a].add(own[b]);
  return all;
}

class RaceChecker {
 public:
  RaceChecker(const Kernel &kernel, const std::vector<bool> &may_share)
      : result_{kernel, {}}, build_(kernel.local_count) {
    shadow_.assign(kernel.parameters.size(), {});
    add_shadows(touches_of(kernel, may_share));
  }

  CheckedForRaces run() {
    if (!result_.races.any()) return std::move(result_);
    Kernel &kernel = result_.kernel;
    number_instance();
    Block body = build_.take();
    const Block checked = with_checks(kernel.body);
    body.insert(body.end(), checked.begin(), checked.end());
    kernel.body = std::move(body);
    kernel.local_count = build_.local_count();
    return std::move(result_);
  }

 private:
  void add_shadows(const std::vector<Touches> &touches) {
    std::vector<Parameter> &parameters = result_.kernel.parameters;
    const std::vector<Parameter> own = parameters;
    for (std::uint32_t array = 0; array < own.size(); ++array) {
      if (!own[array].is_array() || !touches[array].may_race()) continue;
      const std::vector<Word> needed = touches[array].needed();
      for (std::size_t slot = 0; slot < needed.size(); ++slot) {
        const auto parameter = static_cast<std::uint32_t>(parameters.size());
        Parameter shadow{unused_name(own[array].name + "_" + std::string(word_names[needed[slot]])), ScalarType::Int64};
        shadow.rank = own[array].rank;
        parameters.push_back(std::move(shadow));
        shadow_[array][needed[slot]] = parameter;
        result_.races.shadows.push_back({parameter, array, static_cast<int>(slot), static_cast<int>(needed.size())});
      }
    }
  }

  std::string unused_name(std::string name) const {
    const auto taken = [&](const Parameter &parameter) { return parameter.name == name; };
    while (std::ranges::any_of(result_.kernel.parameters, taken)) name += "_";
    return name;
  }

  void number_instance() {
    Kernel &kernel = result_.kernel;
    build_.at(kernel.where);
    Value number = Value::zero(ScalarType::Int64);
    for (int d = 0; d < kernel.launch_rank; ++d) {
      if (d > 0) {
        const auto parameter = static_cast<std::uint32_t>(kernel.parameters.size());
        kernel.parameters.push_back({unused_name("launch_extent" + std::to_string(d)), ScalarType::Int64});
        result_.races.launch_extents.push_back(parameter);
        number = build_(Op::Mul, {number, Value::parameter(ScalarType::Int64, parameter)});
      }
      const ScalarType type = counts_in_i32(kernel, d) ? ScalarType::Int32 : ScalarType::Int64;
      const Value index = build_.operation({Op::ThreadIndex, type, {}, 0, d});
      number = build_(Op::Add, {number, build_.cast(ScalarType::Int64, index)});
    }
    number_ = build_(Op::Add, {number, whole(1)});
    mark_ = build_(Op::ShiftLeft, {number_, whole(RaceWord::access_bits)});
  }

  static Value whole(std::int64_t value) { return Value::constant(ScalarType::Int64, value); }

  Block with_checks(const Block &block) {
    Block made;
    const std::size_t known = known_.size();
    for (const Stmt &stmt : block) {
      Block checked;
      if (stmt.as<If>() || stmt.as<For>() || stmt.as<While>())
        checked.push_back(with_blocks(stmt, [&](const Block &inner) { return with_checks(inner); }));
      else
        checked = with_checks(stmt);
      made.insert(made.end(), checked.begin(), checked.end());
    }
    known_.resize(known);
    return made;
  }

  // The access comes first: an index outside of the array is reported before a race.
  Block with_checks(const Stmt &stmt) {
    const Block outer = build_.open();
    build_.at(stmt.where());
    build_.append(stmt);
    if (const auto *load = stmt.as<TileLoad>(); load && has_shadows(load->array))
      check_window(*load);
    else if (const auto element = element_of(stmt); element && has_shadows(element->array) && is_new(*element))
      check_element(*element);
    return build_.close(outer);
  }

  // Whether the instance has not yet, on each way here, accessed the element in the same way. Its word is then there:
  // another instance that races has found it, or was found.
  bool is_new(const Element &element) {
    if (std::ranges::find(known_, element) != known_.end()) return false;
    known_.push_back(element);
    return true;
  }

  bool has_shadows(std::uint32_t array) const {
    return std::ranges::any_of(shadow_[array], [](const auto &word) { return word.has_value(); });
  }

  // The block's threads check a tile that is loaded as a whole element by element.
  void check_window(const TileLoad &load) {
    const TileShape shape = load.result.type.shape();
    const std::size_t rank = load.indices.size(), leading = rank - static_cast<std::size_t>(shape.rank());
    const Block outer = build_.open();
    const LocalId number = build_.new_local();
    Value rest = Value::local(ScalarType::Int64, number), inside = Value::boolean(true);
    std::vector<Value> indices;
    for (const Value &index : load.indices) indices.push_back(build_.cast(ScalarType::Int64, index));
    for (std::size_t d = rank; d-- > 0;) {
      if (d >= leading) {
        const Value extent = whole(shape[static_cast<int>(d - leading)]);
        indices[d] = build_(Op::Add, {indices[d], build_(Op::Rem, {rest, extent})});
        rest = build_(Op::Div, {rest, extent});
      }
      const Value extent =
          build_.operation({Op::Extent, ScalarType::Int64, {}, load.array, static_cast<std::int32_t>(d)});
      const Value there =
          build_(Op::And, {build_(Op::GreaterEqual, {indices[d], whole(0)}), build_(Op::Less, {indices[d], extent})});
      inside = build_(Op::And, {inside, there});
    }
    const Block around = build_.open();
    check_element({load.array, Touch::read, indices});
    Block checks = build_.close(around);
    build_.append(Stmt(If{inside, std::move(checks), {}, {}}, build_.where()));
    For loop{number, ScalarType::Int64, whole(0), whole(load.result.type.count()), whole(1), build_.close(outer), {}};
    loop.kind = LoopKind::Thread;
    build_.append(Stmt(std::move(loop), build_.where()));
  }

  void check_element(const Element &element) {
    const auto &shadow = shadow_[element.array];
    const auto access = static_cast<std::int64_t>(result_.races.accesses.size());
    result_.races.accesses.push_back({element.array, element.touch, build_.where()});

    const Value mine = build_(Op::Add, {mark_, whole(std::min(access, last_access))});
    const auto claim = [&](Word word, const Value &expected) {
      return on_word(Op::AtomicCompareExchange, *shadow[word], element.indices, {expected, mine});
    };
    const auto check = [&](const Value &found) { check_word(found, access, element.indices); };
    Value found = whole(0);
    if (element.touch == Touch::write) {
      check(found = claim(writer, whole(0)));
    } else {
      const bool read = element.touch == Touch::read;
      found = claim(read ? reader : stepper, whole(0));
      // No word is -1, so this changes nothing and returns the current word.
      claim(read ? other_reader : other_stepper, build_.select(is_mine(found), whole(-1), whole(0)));
    }
    for (Word word : {writer, reader, other_reader, stepper, other_stepper}) {
      if (goes_with(element.touch, word) || !shadow[word]) continue;
      // This is zero, but depends on the word that was found, so that the machine cannot run the second step before the
      // first.
      const Value zero = build_(Op::Min, {found, whole(0)});
      check(on_word(Op::AtomicOr, *shadow[word], element.indices, {zero}));
    }
  }

  // Whether an access need not read this word, because the accesses that it records do not race with it. A write has
  // read the writer's word when it claimed it.
  static bool goes_with(Touch touch, Word word) {
    switch (touch) {
      case Touch::write: return word == writer;
      case Touch::read: return word == reader || word == other_reader;
      case Touch::atomic: return word == stepper || word == other_stepper;
    }
    return true;
  }

  Value on_word(Op op, std::uint32_t shadow, const std::vector<Value> &indices, std::initializer_list<Value> values) {
    std::vector<Value> operands = indices;
    operands.insert(operands.end(), values);
    return build_.operation({op, ScalarType::Int64, std::move(operands), shadow});
  }

  Value is_mine(const Value &word) {
    const Value none = build_(Op::Equal, {word, whole(0)});
    const Value by = build_(Op::ShiftRight, {word, whole(RaceWord::access_bits)});
    return build_(Op::Or, {none, build_(Op::Equal, {by, number_})});
  }

  void check_word(const Value &word, std::int64_t access, const std::vector<Value> &indices) {
    Message message{{}, {whole(access), word}};
    message.values.insert(message.values.end(), indices.begin(), indices.end());
    message.texts.resize(message.values.size() + 1);
    build_.append(Stmt(Check{is_mine(word), std::move(message), {}, true}, build_.where()));
  }

  CheckedForRaces result_;
  Builder build_;
  std::vector<std::array<std::optional<std::uint32_t>, words>> shadow_;  // by array and word: the parameter
  std::vector<Element> known_;                 // accessed and checked on the way to the current statement
  Value number_ = whole(0), mark_ = whole(0);  // the instance's number, from 1 on; and shifted to its place in a word
};

}  // namespace

CheckedForRaces check_races(const Kernel &structured, const std::vector<bool> &may_share) {
  return RaceChecker(structured, may_share).run();
}

RaceWord RaceWord::of(std::int64_t word) {
  const std::int64_t access = word & last_access;
  RaceWord read{(word >> access_bits) - 1, std::nullopt};
  if (access != last_access) read.access = static_cast<std::size_t>(access);
  return read;
}

}  // namespace samite::passes
