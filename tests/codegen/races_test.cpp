// Debug mode's race checks: planted races are found, and nothing else is.
#include "tests/codegen/cuda_on_host.h"
#include "tests/codegen/random_integers.h"

#include "samite/ir/print.h"
#include "samite/jit/definition.h"
#include "samite/passes/threads/check_races.h"

#include <gmock/gmock.h>

#include <cstdlib>

namespace samite::test {
namespace {

using namespace random_integers;

// A failed check of a race.
struct Race {
  std::vector<std::int64_t> instance, element;
  std::size_t access;
  passes::RaceWord other;
};

// A kernel that looks for races, on the CPU or on CUDA's host, with memory for its shadows.
class Looking {
 public:
  explicit Looking(const Kernel &kernel, Form form = Form::structured)
      : looking_(passes::check_races(kernel, none_share(kernel))), form_(form) {}

  const std::vector<passes::RaceAccess> &accesses() const { return looking_.races.accesses; }
  const std::vector<passes::Shadow> &shadows() const { return looking_.races.shadows; }

  // Over the boxes, one after another, which are one launch of `extents`.
  using Box = std::pair<std::vector<long long>, std::vector<long long>>;
  std::vector<Race> on_cpu(const std::vector<long long> &extents, std::vector<Argument> arguments,
                           std::vector<Box> boxes = {}) {
    const CompiledKernel compiled(looking_.kernel, options(true, false, true), form_);
    add_shadows(extents, arguments);
    Heard heard{{}, compiled.source(), extents.size(), {}};
    heard.message = &Heard::hear;
    if (boxes.empty()) boxes = {{std::vector<long long>(extents.size(), 0), extents}};
    for (const auto &[begin, end] : boxes) compiled.run_box(begin, end, arguments, heard);
    return heard.races;
  }

  std::vector<Race> on_cuda(const std::vector<long long> &extents, std::vector<Argument> arguments,
                            codegen::EmitOptions options = cuda_options(true, false, true)) {
    CudaOnHost compiled(looking_.kernel, options, false, 2, form_);
    compiled.channel_bytes = 1 << 20;
    add_shadows(extents, arguments);
    std::vector<Race> races;
    for (const CudaResult::Said &said : compiled.run(extents, arguments).said)
      races.push_back(race(compiled.source().messages.at(said.site), said.instance, said.values));
    return races;
  }

 private:
  struct Heard : codegen::Failure {
    Heard(codegen::Failure failure, const codegen::EmittedSource &source, std::size_t rank, std::vector<Race> races)
        : codegen::Failure(failure), source(source), rank(rank), races(std::move(races)) {}

    static void hear(codegen::Failure *failure, std::uint32_t site, const std::int64_t *instance,
                     const std::uint64_t *values) {
      auto &heard = *static_cast<Heard *>(failure);
      const codegen::MessageSite &message = heard.source.messages.at(site);
      heard.races.push_back(race(message, std::span(instance, heard.rank), std::span(values, message.types.size())));
    }

    const codegen::EmittedSource &source;
    std::size_t rank;
    std::vector<Race> races;
  };

  static std::vector<bool> none_share(const Kernel &kernel) { return std::vector<bool>(kernel.parameters.size()); }

  template <class Instance, class Values>
  static Race race(const codegen::MessageSite &site, const Instance &instance, const Values &values) {
    EXPECT_TRUE(site.is_race);
    Race race{{instance.begin(), instance.end()},
              {},
              static_cast<std::size_t>(values[0]),
              passes::RaceWord::of(static_cast<std::int64_t>(values[1]))};
    for (std::size_t i = 2; i < values.size(); ++i) race.element.push_back(static_cast<std::int32_t>(values[i]));
    return race;
  }

  void add_shadows(const std::vector<long long> &extents, std::vector<Argument> &arguments) {
    words_.clear();
    for (const passes::Shadow &shadow : looking_.races.shadows) {
      EXPECT_EQ(shadow.parameter, arguments.size());
      const std::vector<unsigned char> &bytes = arguments[shadow.array].bytes;
      const std::size_t rank = (bytes.size() - 8) / 16;
      std::vector<long long> of_array(rank);
      std::memcpy(of_array.data(), bytes.data() + 8, 8 * rank);
      std::size_t count = 1;
      for (const long long extent : of_array) count *= static_cast<std::size_t>(extent);
      words_.push_back(std::make_unique<std::vector<std::int64_t>>(count));
      arguments.push_back(array(*words_.back(), of_array));
    }
    for (std::size_t d = 0; d < looking_.races.launch_extents.size(); ++d)
      arguments.push_back(scalar<std::int64_t>(extents[d + 1]));
  }

  passes::CheckedForRaces looking_;
  Form form_;
  std::vector<std::unique_ptr<std::vector<std::int64_t>>> words_;
};

std::vector<Race> races_of(std::string_view text, const std::vector<long long> &extents,
                           const std::vector<Argument> &arguments) {
  const Kernel kernel = parse_kernel(text);
  const std::vector<Race> on_cpu = Looking(kernel).on_cpu(extents, arguments);
  const std::vector<Race> on_cuda = Looking(kernel).on_cuda(extents, arguments);
  EXPECT_EQ(on_cpu.empty(), on_cuda.empty()) << text;
  return on_cpu;
}

// One array @a of ten elements, accessed by ten instances, each with its number in %0 and its number plus one in %1.
std::vector<Race> races_at(const std::string &accesses) {
  std::vector<int> a(11, 0);
  return races_of(
      "kernel @k(@a: array<i32, 1>) threads 1 { %0: i32 = thread_index 0 %1: i32 = add %0, 1 " + accesses + " }", {10},
      {array(a)});
}

TEST(CheckRaces, WhatRacesAndWhatDoesNot) {
  const std::string store_own = "store @a[%0] = 1 ", store_next = "store @a[%1] = 1 ", store_one = "store @a[4] = 1 ",
                    load_own = "%5: i32 = load @a[%0] ", load_next = "%6: i32 = load @a[%1] ",
                    load_one = "%7: i32 = load @a[4] ", step_own = "accumulate atomic @a[%0] += 1 ",
                    step_one = "accumulate atomic @a[4] += 1 ", add_own = "accumulate @a[%0] += 1 ",
                    add_one = "accumulate @a[4] += 1 ", take_one = "%8: i32 = exchange atomic @a[4] ",
                    old_one = "%9: i32 = atomic_max @a[4], 3 ";
  for (const std::string &racing : {store_one,
                                    add_one,
                                    store_own + store_next,
                                    store_own + load_next,
                                    load_next + store_own,
                                    store_own + load_one,
                                    load_one + store_own,
                                    step_one + load_own,
                                    load_own + step_one,
                                    step_one + store_own,
                                    store_own + step_one,
                                    add_own + load_next,
                                    take_one + load_own,
                                    old_one + load_own,
                                    load_own + old_one,
                                    old_one + add_own,
                                    load_one + step_one,
                                    step_one + load_one,
                                    step_own + load_next,
                                    load_next + add_own,
                                    "if false { " + load_next + "} %16: i32 = load @a[%1] " + store_own,
                                    load_next + "if true { %16: i32 = load @a[%1] " + store_own + "}"})
    EXPECT_FALSE(races_at(racing).empty()) << racing;
  for (const std::string &fine :
       {store_own, load_one, load_one + load_next, step_one, step_one + old_one + take_one, store_own + load_own,
        load_own + store_own + step_own + add_own, std::string("if false { ") + store_one + "}",
        "%3: bool = eq %0, 7 if %3 { " + store_one + load_one + step_one + "}", step_own + load_own})
    EXPECT_TRUE(races_at(fine).empty()) << fine;
}

// An instance that has checked an element for one kind of access knows of all races of the next one.
TEST(CheckRaces, AnElementIsCheckedOnceOnEachWay) {
  const auto checked = [](const std::string &accesses) {
    return Looking(parse_kernel("kernel @k(@a: array<i32, 1>) threads 1 { %0: i32 = thread_index 0 %1: i32 = add %0, 1 "
                                "store @a[%0] = 1 " +
                                accesses + " }"))
        .accesses()
        .size();
  };
  EXPECT_EQ(checked("store @a[%0] = 2"), 1u);
  EXPECT_EQ(checked("if true { store @a[%0] = 2 if true { store @a[%0] = 3 } }"), 1u);
  EXPECT_EQ(checked("store @a[%1] = 2"), 2u);
  EXPECT_EQ(checked("%2: i32 = load @a[%0]"), 2u);
  EXPECT_EQ(checked("if true { %2: i32 = load @a[%0] } else { %3: i32 = load @a[%0] } %4: i32 = load @a[%0]"), 4u);
  EXPECT_EQ(checked("for %5: i32 in 0 .. 9 step 1 { store @a[%5] = 2 store @a[%5] = 3 }"), 2u);
}

TEST(CheckRaces, ArraysThatNobodyMayRaceForHaveNoShadows) {
  const Kernel kernel =
      parse_kernel(R"(kernel @k(@a: array<i32, 1>, @b: array<const i32, 1>, @c: array<i32, 1>) threads 1 {
    %0: i32 = thread_index 0
    %1: i32 = load @b[%0]
    accumulate atomic @a[%1] += 1
  })");
  EXPECT_TRUE(passes::check_races(kernel, {false, false, false}).races.shadows.empty());
  // If @b may be @a, its loads may read elements that are added to.
  EXPECT_EQ(passes::check_races(kernel, {true, true, false}).races.shadows.size(), 8u);
}

TEST(CheckRaces, NamesBothInstancesTheElementAndTheAccesses) {
  const Kernel kernel = parse_kernel(R"(kernel @k(@a: array<i32, 3>) threads 3 {
    %0: i32 = thread_index 0
    %1: i64 = thread_index 1
    %2: i32 = thread_index 2
    store @a[%0, %1, %2] = 1 at "a.cpp":3
    %3: i32 = add %0, 1
    %4: i32 = load @a[%3, %1, %2] at "a.cpp":4
  })");
  std::vector<int> a(std::size_t{4} * 5 * 21);
  for (const bool on_cuda : {false, true}) {
    Looking looking(kernel);
    const auto arguments = std::vector{array(a, {4, 5, 21})};
    const auto races = on_cuda ? looking.on_cuda({3, 5, 21}, arguments) : looking.on_cpu({3, 5, 21}, arguments);
    // The later one of each racing pair reports; on the CPU, the first one of each vector.
    const std::size_t pairs = std::size_t{2} * 5 * 21;
    EXPECT_TRUE(on_cuda ? races.size() == pairs : races.size() > 0 && races.size() <= pairs);
    for (const Race &race : races) {
      ASSERT_TRUE(race.other.access);
      std::vector<std::int64_t> other = race.instance;
      other[0] = race.access == 0 ? race.instance[0] - 1 : race.instance[0] + 1;
      EXPECT_EQ(race.other.instance, (other[0] * 5 + other[1]) * 21 + other[2]);
      EXPECT_EQ(*race.other.access, 1 - race.access);
      EXPECT_EQ(race.element, race.access == 0 ? race.instance : other);
    }
    EXPECT_EQ(looking.accesses().at(0).touch, passes::Touch::write);
    EXPECT_EQ(looking.accesses().at(1).touch, passes::Touch::read);
    EXPECT_EQ(looking.accesses().at(1).where.line, 4u);
  }
}

TEST(CheckRaces, InstancesOfDifferentBoxesMeet) {
  const Kernel kernel = parse_kernel(R"(kernel @k(@a: array<i32, 1>) threads 2 {
    %0: i32 = thread_index 0
    %1: i32 = thread_index 1
    store @a[%1] = %0
  })");
  std::vector<int> a(40);
  const auto races = Looking(kernel).on_cpu({2, 40}, {array(a)}, {{{1, 0}, {2, 40}}, {{0, 0}, {1, 40}}});
  EXPECT_THAT(races, testing::Not(testing::IsEmpty()));
  for (const Race &race : races) EXPECT_EQ(race.other.instance, 40 + race.instance[1]);
}

// Blocks of 32 threads, each with a tile of 8 elements.
TEST(CheckRaces, BlocksThatMeet) {
  const auto races = [](const std::string &accesses) {
    const Kernel kernel = parse_kernel(
        "kernel @k(@a: array<f32, 1>, @b: array<f32, 1>) blocks 1 of 32 { %0: i32 = "
        "thread_index 0 %1: i32 = mul %0, 8 %2: i32 = add %1, 8 " +
        accesses + " }");
    std::vector<float> a(40), b(40);
    std::size_t found[2];
    for (const bool cuda : {false, true}) {
      Looking looking(passes::lower_tiles(kernel, cuda ? passes::gpu_architecture(90) : passes::cpu_architecture()),
                      Form::lowered);
      const std::vector arguments{array(a), array(b)};
      const auto races = cuda ? looking.on_cuda({5}, arguments) : looking.on_cpu({5}, arguments);
      found[cuda] = races.size();
      for (const Race &race : races) EXPECT_NE(race.instance[0], race.other.instance);
    }
    EXPECT_EQ(found[0] == 0, found[1] == 0) << accesses;
    return found[1];
  };
  const std::string load = "%3: tile<f32, 8> = load @a[%1] ", load_next = "%4: tile<f32, 8> = load @a[%2] ",
                    sum_next = "%5: f32 = reduce_add %4 store @b[%0] = %5 ", store = "store @a[%1] = %3 ",
                    add = "accumulate atomic @a[%1] += %3 ", store_one = "store @a[0] = 1.0 ";
  EXPECT_EQ(races(load + store), 0u);
  EXPECT_EQ(races(load + add + store), 0u);
  EXPECT_EQ(races(load + add + load_next + sum_next), 32u) << "of four tiles that are read as they are added to";
  EXPECT_EQ(races(load + store + load_next + sum_next), 32u);
  EXPECT_EQ(races(store_one), 4u) << "a block's threads do as one";
}

// A race planted at a place of the body that all instances reach, or that two of them reach and share.
struct Plant {
  std::vector<Stmt> statements;
  std::uint32_t array;
  bool everywhere;  // any element of the array, else `element`
  std::vector<std::int64_t> element;
};

Plant plant(std::mt19937 &random, Kernel &kernel, int n, Value index) {
  const auto constant = [](std::int64_t value) { return Value::constant(ScalarType::Int32, value); };
  const auto below = [&](int bound) { return static_cast<std::int64_t>(random() % static_cast<unsigned>(bound)); };
  const auto local = [&] { return kernel.local_count++; };
  const std::int64_t at = below(shared_size), row = below(n), slot = below(slots);
  const auto add = [&](bool atomic) { return Stmt(Accumulate{3, {constant(at)}, constant(3), atomic}, {}); };
  const auto load_shared = [&] { return Stmt(Let{local(), {Op::Load, ScalarType::Int32, {constant(at)}, 3}}, {}); };
  switch (below(6)) {
    case 0: return {{add(false)}, 3, true, {at}};
    case 1: return {{add(true), load_shared()}, 3, true, {at}};
    case 2: return {{load_shared(), add(true)}, 3, true, {at}};
    case 3: return {{Stmt(Store{3, {constant(at)}, constant(1)}, {})}, 3, true, {at}};
    case 4: return {{Stmt(Store{0, {constant(row), constant(slot)}, constant(1)}, {})}, 0, false, {row, slot}};
    default: {
      // The row of the next instance, which that instance stores last.
      const LocalId next = local(), inside = local(), value = local();
      return {
          {Stmt(Let{next, {Op::Add, ScalarType::Int32, {index, constant(1)}}}, {}),
           Stmt(Let{inside, {Op::Min, ScalarType::Int32, {Value::local(ScalarType::Int32, next), constant(n - 1)}}},
                {}),
           Stmt(Let{value, {Op::Load, ScalarType::Int32, {Value::local(ScalarType::Int32, inside), constant(slot)}, 0}},
                {})},
          0,
          true,
          {}};
    }
  }
}

// Found on the CPU and on CUDA: no race in the random kernel, and in the changed kernel exactly the planted race.
void expect_what_is_planted(unsigned seed) {
  Kernel kernel = Generator(seed).make();
  const int n = seed % 4 == 1 ? 37 : seed % 4 == 2 ? 131 : seed % 4 == 3 ? 2 : 64;
  std::vector<int> table(table_size, 3), out(static_cast<std::size_t>(n) * slots), shared(shared_size);
  const std::vector arguments{array(out, {n, slots}), array(table), scalar(n), array(shared)};
  const bool on_cuda = seed % 2 == 0;
  const auto races = [&] {
    Looking looking(kernel);
    return on_cuda ? looking.on_cuda({n}, arguments) : looking.on_cpu({n}, arguments);
  };
  ASSERT_THAT(races(), testing::IsEmpty()) << "seed " << seed << '\n' << to_string(kernel);

  std::mt19937 random(seed);
  const auto index = Value::local(ScalarType::Int32, kernel.body.at(0).as<Let>()->local);
  const Plant planted = plant(random, kernel, n, index);
  std::vector<Stmt> statements = planted.statements;
  if (random() % 2 == 0 && planted.everywhere && !planted.element.empty()) {
    // Only two instances.
    const LocalId which = kernel.local_count++;
    const Stmt asked(
        Let{which, {Op::GreaterEqual, ScalarType::Bool, {index, Value::constant(ScalarType::Int32, n - 2)}}}, {});
    statements = {asked, Stmt(If{Value::local(ScalarType::Bool, which), statements, {}, {}}, {})};
  }
  const auto place = 1 + static_cast<std::ptrdiff_t>(random() % kernel.body.size());
  kernel.body.insert(kernel.body.begin() + place, statements.begin(), statements.end());
  const std::vector<Race> found = races();
  ASSERT_THAT(found, testing::Not(testing::IsEmpty())) << "seed " << seed << '\n' << to_string(kernel);
  Looking looking(kernel);
  for (const Race &race : found) {
    EXPECT_EQ(looking.accesses().at(race.access).array, planted.array) << "seed " << seed;
    EXPECT_NE(race.other.instance, race.instance[0]) << "seed " << seed;
    EXPECT_LT(race.other.instance, n) << "seed " << seed;
    if (!planted.everywhere) {
      EXPECT_EQ(race.element, planted.element) << "seed " << seed;
    }
  }
}

TEST(CheckRaces, InRandomProgramsWhatIsPlantedIsFoundAndNothingElse) {
  const char *more = std::getenv("SAMITE_TEST_RANDOM_PROGRAMS");  // how many
  const unsigned count = more ? static_cast<unsigned>(std::atoi(more)) : 6;
  for (unsigned seed = 0; seed < count; ++seed) {
    expect_what_is_planted(seed);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace samite::test
