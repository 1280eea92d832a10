// Known facts about the integers of kernels, compared with running the kernels, also when integers wrap around.

#include "samite/passes/analysis/index_forms.h"

#include "samite/ir/parse.h"
#include "samite/ir/print.h"
#include "samite/ir/visit.h"
#include "tests/passes/scalar_operations.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <random>

namespace samite::passes {
namespace {

using namespace ir;

// A launch of two dimensions; %0 and %1 are its indices.
Kernel kernel(const std::string &body, const std::string &launch = "threads 2") {
  return parse_kernel("kernel @k(@a: array<f32, 2>, @n: i32, @wide: i64, @f: f32) " + launch +
                      " { %0: i32 = thread_index 0 %1: i32 = thread_index 1 " + body + "}");
}

Value local(LocalId id, Type type = ScalarType::Int32) { return Value::local(type, id); }

std::string form(const std::string &body, LocalId id) { return to_string(IndexForms(kernel(body))(local(id)).form); }

const For &first_loop(const Kernel &kernel) {
  const For *found = nullptr;
  for_each_statement(kernel.body, [&](const Stmt &stmt) {
    if (auto *loop = stmt.as<For>(); loop && !found) found = loop;
  });
  return *found;
}

TEST(IndexForms, AreMadeOfSums) {
  EXPECT_EQ(form("%2: i32 = mul %0, 4 %3: i32 = add %2, @n %4: i32 = sub %3, 1", 4), "@1 + 4*thread_index(0) - 1");
  EXPECT_EQ(form("%2: i64 = cast %1 %3: i64 = neg %2", 3), "-thread_index(1)");
  EXPECT_EQ(form("%2: i32 = shl %0, 3", 2), "8*thread_index(0)");
  EXPECT_EQ(form("%2: i32 = extent @a, 1 %3: i32 = sub %2, 1", 3), "extent(@0, 1) - 1");
}

TEST(IndexForms, AreMadeOfQuotientsOfWhatIsNotNegative) {
  EXPECT_EQ(form("%2: i32 = div %0, 4 %3: i32 = rem %0, 4 %4: i32 = mul %2, 4 %5: i32 = add %4, %3", 5),
            "thread_index(0)");
  EXPECT_EQ(form("%2: i32 = shr %0, 2", 2), "(thread_index(0) / 4)");
  EXPECT_EQ(form("%2: i32 = and %0, 31", 2), "(thread_index(0) % 32)");
  EXPECT_EQ(form("%2: i32 = div @n, 4", 2), "%2");
  EXPECT_EQ(form("%2: i32 = mul @n, 8 %3: i32 = div %2, 4", 3), "2*@1");
}

TEST(IndexForms, KeepAnIndexWithinAnArray) {
  EXPECT_EQ(form("%2: i32 = sub %0, 1 %3: i32 = max %2, 0 %4: i32 = extent @a, 0 %5: i32 = sub %4, 1 "
                 "%6: i32 = min %3, %5",
                 6),
            "min(extent(@0, 0), max(0, thread_index(0) - 1) + 1) - 1");
}

TEST(IndexForms, ThatGrowTooLargeGoOnFromALocal) {
  std::string body = "%2: i32 = add %0, %1 ";
  LocalId last = 2;
  for (int i = 0; i < 40; ++i, last += 2)
    body += "%" + std::to_string(last + 1) + ": i32 = load @a[%0, " + std::to_string(i) + "] %" +
            std::to_string(last + 2) + ": i32 = add %" + std::to_string(last) + ", %" + std::to_string(last + 1) + " ";
  const Kernel k = parse_kernel(
      "kernel @k(@a: array<i32, 2>) threads 2 { %0: i32 = thread_index 0 %1: i32 = thread_index 1 " + body + "}");
  const IndexForm known = IndexForms(k)(local(last));
  EXPECT_TRUE(known.form.known());
  EXPECT_LE(known.form.nodes(), Affine::most_nodes);
  EXPECT_EQ(known.form.coefficient(Symbol::local(last - 1)), 1);
}

TEST(IndexForms, SayWhatIsExact) {
  const Kernel k = kernel(R"(
      %2: i32 = add %0, 5
      for %3: i32 in 0 .. 64 step 1 { %4: i32 = mul %3, 64 %5: i32 = add %4, %3 %6: i64 = cast %2 })");
  const IndexForms forms(k);
  EXPECT_EQ(forms(local(2)).bits, 32);
  EXPECT_EQ(forms(local(6, ScalarType::Int64)).bits, 32);
  EXPECT_TRUE(forms(local(5)).exact());
  EXPECT_EQ(forms(local(5)).range, (Range{0, 63 * 65}));
}

TEST(IndexForms, SlopesAreThoseOfTheLoopAlone) {
  const Kernel k = kernel(R"(
      %2: i32 = mul @n, @n
      for %3: i32 in 0 .. @n step 1 {
        %4: i32 = mul %3, 3  %5: i32 = add %4, %2  %6: i32 = sub %1, %5  %7: i32 = mul %3, %3
        %8: i32 = div %3, 2  %9: i32 = add %2, 1  %10: u32 = cast %3  %11: u32 = sub %10, 1:u32
        %12: f32 = load @a[%0, %3]  %13: i32 = cast %12  %16: i16 = cast %3
        for %14: i32 in %3 .. @n step 1 { %15: i32 = add %14, 1 }
      })");
  const IndexForms forms(k);
  const For &loop = first_loop(k);
  EXPECT_EQ(forms.slope(local(3), loop), 1);
  EXPECT_EQ(forms.slope(local(5), loop), 3);
  EXPECT_EQ(forms.slope(local(6), loop), -3);
  EXPECT_EQ(forms.slope(local(2), loop), 0);
  EXPECT_EQ(forms.slope(local(9), loop), 0);
  EXPECT_EQ(forms.slope(Value::constant(ScalarType::Int32, 7), loop), 0);
  for (const LocalId id : {7u, 8u, 13u, 14u, 15u}) EXPECT_EQ(forms.slope(local(id), loop), std::nullopt) << id;
  EXPECT_EQ(forms.slope(local(11, ScalarType::UInt32), loop), std::nullopt) << "0 - 1 is large";
  EXPECT_EQ(forms.slope(local(16, ScalarType::Int16), loop), std::nullopt) << "65536 is 0";
}

TEST(IndexForms, ADivisorHoldsWhateverWraps) {
  const Kernel k = kernel(R"(
      %2: i32 = mul @n, 4  %3: i32 = mul %2, %2  %4: i32 = add %3, 8  %5: i64 = cast %4  %6: i64 = mul %5, 3:i64
      for %7: i32 in 32 .. @n step 64 { %8: i32 = sub %7, 16 %9: i32 = max %8, %3 })");
  const IndexForms forms(k);
  EXPECT_EQ(forms.divisor(local(2)), 4);
  EXPECT_EQ(forms.divisor(local(3)), 16);
  EXPECT_EQ(forms.divisor(local(4)), 8);
  EXPECT_EQ(forms.divisor(local(6, ScalarType::Int64)), 8);
  EXPECT_EQ(forms.divisor(local(7)), 32);
  EXPECT_EQ(forms.divisor(local(8)), 16);
  EXPECT_EQ(forms.divisor(local(9)), 16);
  EXPECT_EQ(forms.divisor(Value::constant(ScalarType::Int32, 48)), 16);
  EXPECT_EQ(forms.divisor(Value::parameter(ScalarType::Int32, 1)), 1);
}

TEST(IndexForms, AlongOneIndexInstancesAreToldApart) {
  const Kernel k = kernel(R"(
      %2: i32 = sub @n, %0  %3: i32 = mul %0, 2  %4: i32 = mul %0, 12  %5: i32 = mul %0, 3  %6: i32 = add %0, %1
      %7: i8 = cast %0  %8: i32 = mul @n, 3  %9: f32 = load @a[0, 0]  %10: i32 = cast %9  %11: i32 = launch_begin 0)");
  const IndexForms forms(k);
  const auto along = [&](LocalId id, ScalarType type = ScalarType::Int32) { return forms.along(local(id, type)); };
  EXPECT_EQ(along(2)->index, Symbol::thread_index(0));
  EXPECT_EQ(along(2)->scale, -1);
  EXPECT_EQ(to_string(along(2)->rest), "@1");
  EXPECT_TRUE(along(2)->one_to_one);
  EXPECT_TRUE(along(3)->one_to_one);
  EXPECT_FALSE(along(4)->one_to_one) << "2^30 times 12 is 0";
  EXPECT_TRUE(along(5)->one_to_one) << "no power of two is lost";
  EXPECT_FALSE(along(6));
  EXPECT_FALSE(along(7, ScalarType::Int8)->one_to_one);
  EXPECT_EQ(along(8)->index, std::nullopt);
  EXPECT_FALSE(along(10));
  EXPECT_FALSE(along(11)) << "the parts of a launch begin at different places";
}

TEST(IndexForms, TilesBeginWithoutWrapping) {
  const Kernel k = kernel("%2: i32 = mul %0, 64", "blocks 2 of 128");
  EXPECT_TRUE(IndexForms(k).along(local(2))->one_to_one);
}

TEST(IndexForms, TheIndexOfALoopIsOneMoreToTellApart) {
  const Kernel k = kernel("for %2: i32 in 0 .. @n step 1 { %3: i32 = mul %2, 2 %4: i32 = add %3, %0 }");
  const IndexForms forms(k);
  EXPECT_FALSE(forms.along(local(3)));
  EXPECT_EQ(forms.along(local(3), &first_loop(k))->scale, 2);
  EXPECT_FALSE(forms.along(local(4), &first_loop(k)));
}

TEST(IndexForms, TheSameFormIsTheSameNumberWhereItWrapsAlike) {
  const Kernel k = kernel(R"(
      %2: i32 = add %0, @n  %3: i32 = sub @n, 1  %4: i32 = add %3, %0  %5: i32 = add %4, 1
      %6: i64 = cast %2  %7: i64 = cast %0  %8: i64 = cast @n  %9: i64 = add %7, %8
      %10: i64 = cast %5)");
  const IndexForms forms(k);
  EXPECT_TRUE(forms.same(local(2), local(5)));
  EXPECT_TRUE(forms.same(local(6, ScalarType::Int64), local(10, ScalarType::Int64)));
  EXPECT_FALSE(forms.same(local(6, ScalarType::Int64), local(9, ScalarType::Int64))) << "one wraps, one does not";
  EXPECT_FALSE(forms.same(local(2), local(4)));
}

// Random kernels, run.

using Wide = __int128;

struct Number {
  Value value;
  bool signed_wrapped = false, other_wrapped = false;  // on the way: signed ones of 32 bits or more, and others
};

Wide wide(const Value &value) { return value.type() == ScalarType::UInt64 ? Wide{value.bits()} : Wide{value.as_int()}; }

// A number that no type here holds, if it is too large even for a Wide.
Wide product(Wide a, Wide b) {
  Wide result = 0;
  return __builtin_mul_overflow(a, b, &result) ? Wide{1} << 126 : result;
}

// The result without wrapping, of operations that may.
std::optional<Wide> unwrapped(const Operation &operation, const std::vector<Value> &of) {
  switch (operation.op) {
    case Op::Cast:
    case Op::Copy: return wide(of[0]);
    case Op::Neg: return -wide(of[0]);
    case Op::Add: return wide(of[0]) + wide(of[1]);
    case Op::Sub: return wide(of[0]) - wide(of[1]);
    case Op::Mul: return product(wide(of[0]), wide(of[1]));
    case Op::ShiftLeft: {
      const int count = static_cast<int>(of[1].bits() & (8 * size_of(operation.type) - 1));
      return wide(of[0]) * (Wide{1} << count);
    }
    default: return std::nullopt;
  }
}

struct Instance {
  std::array<std::int64_t, 2> threads;
  std::int64_t index;
  std::vector<Value> parameters;
  std::vector<Number> locals;

  Number of(const Value &value) const {
    if (value.is_local()) return locals[value.id()];
    return {value.is_constant() ? value : parameters[value.parameter_index()]};
  }

  void run(const Let &let) {
    const Operation &operation = let.value;
    if (operation.op == Op::ThreadIndex) {
      locals[let.local] = {Value::constant(operation.type, threads[static_cast<std::size_t>(operation.attribute)])};
      return;
    }
    Number result{Value::zero(operation.type)};
    std::vector<Value> operands;
    for (const Value &operand : operation.operands) {
      const Number own = of(operand);
      operands.push_back(own.value);
      result.signed_wrapped |= own.signed_wrapped;
      result.other_wrapped |= own.other_wrapped;
    }
    result.value = test::evaluate(operation.op, operation.type, operands);
    const bool is_signed = class_of(operation.type) == ScalarClass::Signed && size_of(operation.type) >= 4;
    if (const auto exact = unwrapped(operation, operands); exact && *exact != wide(result.value))
      (is_signed ? result.signed_wrapped : result.other_wrapped) = true;
    locals[let.local] = result;
  }

  Wide number(const Symbol &symbol) const {
    switch (symbol.kind) {
      case Symbol::Kind::Local: return wide(locals.at(symbol.id).value);
      case Symbol::Kind::Parameter: return wide(parameters.at(symbol.id));
      case Symbol::Kind::ThreadIndex: return threads.at(static_cast<std::size_t>(symbol.dimension));
      default: throw std::logic_error("no such symbol here");
    }
  }

  Wide number(const Affine &form) const {
    Wide sum = form.constant();
    for (const AffineTerm &term : form.terms()) {
      const auto operand = [&](std::size_t i) { return number((*term.operands)[i]); };
      Wide own = 0;
      switch (term.kind) {
        case AffineTerm::Kind::Symbol: own = number(term.symbol); break;
        case AffineTerm::Kind::Quotient: own = operand(0) / term.by - (operand(0) % term.by < 0); break;
        case AffineTerm::Kind::Remainder: own = (operand(0) % term.by + term.by) % term.by; break;
        case AffineTerm::Kind::Least: own = std::min(operand(0), operand(1)); break;
        case AffineTerm::Kind::Greatest: own = std::max(operand(0), operand(1)); break;
      }
      sum += own * term.coefficient;
    }
    return sum;
  }
};

constexpr std::array types{ScalarType::Int8,  ScalarType::UInt8,  ScalarType::Int16, ScalarType::UInt16,
                           ScalarType::Int32, ScalarType::UInt32, ScalarType::Int64, ScalarType::UInt64};

class RandomKernel {
 public:
  explicit RandomKernel(unsigned seed) : random_(seed) {
    kernel_.name = "random";
    kernel_.launch_rank = 2;
    for (const ScalarType type : types) {
      kernel_.parameters.push_back({"p", type});
      values_.push_back(Value::parameter(type, static_cast<std::uint32_t>(kernel_.parameters.size() - 1)));
    }
    let({Op::ThreadIndex, ScalarType::Int32, {}, 0, 0}, kernel_.body);
    let({Op::ThreadIndex, ScalarType::Int64, {}, 0, 1}, kernel_.body);
    for (int i = 0; i < 3; ++i) let(operation(), kernel_.body);
    const std::int64_t begin = below(4) == 0 ? below(200) - 100 : 0, step = one_of<std::int64_t>({1, 1, 1, 2, 3, -1});
    const ScalarType type = one_of<ScalarType>({ScalarType::Int32, ScalarType::Int32, ScalarType::Int64});
    const std::int64_t trips = 2 + below(5);
    const auto constant = [&](std::int64_t number) { return Value::constant(type, number); };
    For loop{kernel_.local_count++, type, constant(begin), constant(begin + step * trips), constant(step), {}, {}};
    values_.push_back(Value::local(type, loop.index));
    for (int i = 0; i < 12; ++i) let(operation(), loop.body);
    kernel_.body.push_back({std::move(loop), {}});
  }

  const Kernel &kernel() const { return kernel_; }
  std::int64_t below(std::int64_t count) { return std::uniform_int_distribution<std::int64_t>(0, count - 1)(random_); }
  template <class T>
  T one_of(const std::vector<T> &all) {
    return all[static_cast<std::size_t>(below(std::ssize(all)))];
  }

  // A small number, or one near an end of the type.
  Value number(ScalarType type) {
    const int bits = 8 * static_cast<int>(size_of(type));
    const std::int64_t end = one_of<std::int64_t>({0, 0, std::int64_t(std::uint64_t{1} << (bits - 1)), -1});
    const std::uint64_t near = static_cast<std::uint64_t>(end) + static_cast<std::uint64_t>(below(9)) - 4;  // may wrap
    const Value narrow = Value::constant(ScalarType::Int64, static_cast<std::int64_t>(near));
    return test::evaluate(Op::Cast, type, std::array{narrow});
  }

 private:
  void let(Operation operation, Block &block) {
    values_.push_back(Value::local(operation.type, kernel_.local_count));
    block.push_back({Let{kernel_.local_count++, std::move(operation)}, {}});
  }

  Value any(ScalarType type) {
    std::vector<Value> own;
    for (const Value &value : values_)
      if (value.type() == type) own.push_back(value);
    return own[own.size() - 1 - static_cast<std::size_t>(std::min(below(std::ssize(own)), below(std::ssize(own))))];
  }
  Value small(ScalarType type) {
    return Value::constant(type, one_of<std::int64_t>({1, 2, 3, 4, 7, 8, 12, 16, 31, 64, 100}));
  }

  Operation operation() {
    const Value a =
        values_[values_.size() - 1 -
                static_cast<std::size_t>(below(std::min<std::int64_t>(std::ssize(values_), below(3) == 0 ? 40 : 6)))];
    const ScalarType type = a.type();
    switch (below(14)) {
      case 0: return {Op::Cast, one_of<ScalarType>({types.begin(), types.end()}), {a}};
      case 1: return {Op::Neg, type, {a}};
      case 2: return {Op::Sub, type, {a, any(type)}};
      case 3: return {Op::Mul, type, {a, small(type)}};
      case 4: return {Op::Mul, type, {below(2) ? any(type) : number(type), a}};
      case 5: return {Op::Div, type, {a, below(4) ? small(type) : any(type)}};
      case 6: return {Op::Rem, type, {a, below(4) ? small(type) : number(type)}};
      case 7: return {below(2) ? Op::Min : Op::Max, type, {a, below(2) ? any(type) : small(type)}};
      case 8: return {below(2) ? Op::ShiftLeft : Op::ShiftRight, type, {a, Value::constant(type, below(9))}};
      case 9: return {Op::And, type, {a, Value::constant(type, (std::int64_t{1} << below(8)) - 1)}};
      case 10: return {Op::Add, type, {a, number(type)}};
      case 11: return {one_of<Op>({Op::Copy, Op::Abs, Op::Not}), type, {a}};
      default: return {Op::Add, type, {a, below(2) ? any(type) : small(type)}};
    }
  }

  std::mt19937 random_;
  Kernel kernel_;
  std::vector<Value> values_;
};

// The values of one local, over all instances that run with the same parameters.
struct Seen {
  std::map<Wide, std::int64_t> index_of;  // the thread index, by value, if it is one-to-one
  std::optional<Wide> all;                // the value, if it is the same in all instances
};

class Checker {
 public:
  Checker(const Kernel &kernel, const IndexForms &forms) : kernel_(kernel), loop_(first_loop(kernel)) {
    for_each_statement(kernel.body, [&](const Stmt &stmt) {
      auto *let = stmt.as<Let>();
      if (!let) return;
      const Value value = Value::local(let->value.type, let->local);
      for (const Answers &other : answers_)
        if (forms.same(value, other.value)) same_.emplace_back(value, other.value);
      answers_.push_back(
          {let, value, forms(value), forms.slope(value, loop_), forms.same_in(value, loop_), forms.along(value)});
    });
  }

  void run(const std::vector<Value> &parameters) {
    std::map<LocalId, Seen> seen;
    const std::int64_t begin = loop_.begin.as_int(), end = loop_.end.as_int(), step = loop_.step.as_int();
    constexpr std::int64_t last = std::numeric_limits<std::int32_t>::max();
    for (const std::int64_t first : {std::int64_t{0}, std::int64_t{1}, std::int64_t{1} << 30, last - 1, last})
      for (const std::int64_t second : {std::int64_t{0}, std::int64_t{3}, last + 1, std::int64_t{1} << 62}) {
        std::optional<Instance> before;
        for (std::int64_t i = begin; step > 0 ? i < end : i > end; i += step) {
          Instance now{{first, second}, i, parameters, {}};
          now.locals.resize(kernel_.local_count, {Value::zero(ScalarType::Int32)});
          now.locals[loop_.index] = {Value::constant(loop_.type, i)};
          for (const Answers &own : answers_) now.run(*own.let);
          for (const Answers &own : answers_) {
            check_form(own, now);
            if (before) check_slope(own, *before, now);
            check_along(own, now, seen[own.let->local]);
          }
          for (const auto &[a, b] : same_) {
            ++same;
            EXPECT_TRUE(wide(now.of(a).value) == wide(now.of(b).value)) << about(a) << " is %" << b.id();
          }
          before = std::move(now);
        }
      }
  }

  int exact = 0, one_to_one = 0, sloped = 0, same = 0;

 private:
  struct Answers {
    const Let *let;
    Value value;
    IndexForm known;
    std::optional<std::int64_t> slope;
    bool same_in_loop;
    std::optional<Along> along;
  };

  std::string about(const Value &value) const { return to_string(kernel_) + "%" + std::to_string(value.id()); }
  std::string about(const Answers &own) const { return about(own.value) + " = " + to_string(own.known.form); }

  void check_form(const Answers &own, const Instance &now) {
    const IndexForm &known = own.known;
    const Number number = now.of(own.value);
    const Wide actual = wide(number.value), form = now.number(known.form);
    exact += known.exact();
    const Wide low = (Wide{1} << std::min(known.bits, 100)) - 1;
    EXPECT_TRUE(((actual - now.number(known.low_form())) & low) == 0) << about(own) << " bits " << known.bits;
    const bool nothing_wraps = !number.signed_wrapped && !number.other_wrapped;
    const bool no_signed_wraps = !number.signed_wrapped && !known.narrow_or_unsigned;
    EXPECT_TRUE(actual == form || !(nothing_wraps || no_signed_wraps)) << about(own);
    EXPECT_TRUE(known.range.lower == Range::none_below || actual >= known.range.lower) << about(own);
    EXPECT_TRUE(known.range.upper == Range::none_above || actual <= known.range.upper) << about(own);
    EXPECT_TRUE(actual % known.divisor == 0) << about(own) << " divisor " << known.divisor;
  }

  void check_slope(const Answers &own, const Instance &before, const Instance &now) {
    const Number a = before.of(own.value), b = now.of(own.value);
    EXPECT_TRUE(a.value == b.value || !own.same_in_loop) << about(own);
    if (!own.slope || a.signed_wrapped || b.signed_wrapped) return;
    sloped += *own.slope != 0;
    EXPECT_TRUE(wide(b.value) - wide(a.value) == Wide{*own.slope} * (now.index - before.index))
        << about(own) << " slope " << *own.slope;
  }

  void check_along(const Answers &own, const Instance &now, Seen &seen) {
    if (!own.along) return;
    const Wide actual = wide(now.of(own.value).value);
    if (!own.along->index) {
      EXPECT_TRUE(*(seen.all = seen.all.value_or(actual)) == actual) << about(own);
    } else if (own.along->one_to_one) {
      ++one_to_one;
      const std::int64_t thread = now.threads[static_cast<std::size_t>(own.along->index->dimension)];
      EXPECT_EQ(seen.index_of.try_emplace(actual, thread).first->second, thread) << about(own);
    }
  }

  const Kernel &kernel_;
  const For &loop_;
  std::vector<Answers> answers_;
  std::vector<std::pair<Value, Value>> same_;
};

unsigned kernels() {
  const char *wanted = std::getenv("SAMITE_TEST_RANDOM_INDICES");
  return wanted ? static_cast<unsigned>(std::stoul(wanted)) : 300;
}

TEST(RandomIndexForms, AreRightInEveryInstance) {
  int exact = 0, one_to_one = 0, sloped = 0, same = 0;
  for (unsigned seed = 0; seed < kernels(); ++seed) {
    RandomKernel random(seed);
    const IndexForms forms(random.kernel());
    Checker checker(random.kernel(), forms);
    for (int i = 0; i < 3; ++i) {
      std::vector<Value> parameters;
      for (const ScalarType type : types) parameters.push_back(random.number(type));
      checker.run(parameters);
    }
    if (testing::Test::HasFailure()) FAIL() << "seed " << seed;
    exact += checker.exact, one_to_one += checker.one_to_one, sloped += checker.sloped, same += checker.same;
  }
  // Each query has been answered often enough for its answers to have been wrong.
  for (const int count : {exact, one_to_one, sloped, same}) EXPECT_GT(count, 1000);
}

}  // namespace
}  // namespace samite::passes
