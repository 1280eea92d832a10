// Parsing the printed form: the meaning of each phrase, that it inverts the printer, and the text of errors.

#include "samite/ir/parse.h"

#include "samite/base/error.h"
#include "samite/ir/difference.h"
#include "samite/ir/print.h"
#include "samite/ir/verify.h"
#include "samite/ir/visit.h"
#include "tests/ir/random_kernel.h"

#include <gtest/gtest.h>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace samite::ir {
namespace {

// Field by field and without the printer, so that a field which the printer forgets is found.
bool same(const Block &a, const Block &b);
bool same(const Stmt &a, const Stmt &b) {
  auto same_carried = [](const std::vector<Carried> &a, const std::vector<Carried> &b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Carried &a, const Carried &b) {
      return a.inner == b.inner && a.result == b.result && a.type == b.type && a.initial == b.initial &&
             a.next == b.next;
    });
  };
  auto same_results = [](const std::vector<BranchResult> &a, const std::vector<BranchResult> &b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const BranchResult &a, const BranchResult &b) {
      return a.local == b.local && a.type == b.type && a.then_value == b.then_value && a.else_value == b.else_value;
    });
  };
  if (a.kind().index() != b.kind().index() || !(a.where() == b.where())) return false;
  return visit(
      a, [&](const Let &x) { return x.local == b.as<Let>()->local && x.value == b.as<Let>()->value; },
      [&](const Assign &x) { return x.local == b.as<Assign>()->local && x.value == b.as<Assign>()->value; },
      [&](const Store &x) {
        const Store &y = *b.as<Store>();
        return x.array == y.array && x.indices == y.indices && x.value == y.value;
      },
      [&](const Accumulate &x) {
        const Accumulate &y = *b.as<Accumulate>();
        return x.array == y.array && x.indices == y.indices && x.value == y.value && x.atomic == y.atomic;
      },
      [&](const Allocate &x) {
        const Allocate &y = *b.as<Allocate>();
        return x.array == y.array && x.type == y.type && x.size == y.size;
      },
      [&](const LocalStore &x) {
        const LocalStore &y = *b.as<LocalStore>();
        return x.array == y.array && x.index == y.index && x.value == y.value;
      },
      [&](const Print &x) { return x.message == b.as<Print>()->message; },
      [&](const Check &x) {
        const Check &y = *b.as<Check>();
        return x.condition == y.condition && x.message == y.message && x.instance == y.instance;
      },
      [&](const If &x) {
        const If &y = *b.as<If>();
        return x.condition == y.condition && same(x.then_block, y.then_block) && same(x.else_block, y.else_block) &&
               same_results(x.results, y.results);
      },
      [&](const For &x) {
        const For &y = *b.as<For>();
        return x.index == y.index && x.type == y.type && x.begin == y.begin && x.end == y.end && x.step == y.step &&
               x.kind == y.kind && same(x.body, y.body) && same_carried(x.carried, y.carried);
      },
      [&](const While &x) {
        const While &y = *b.as<While>();
        return same(x.condition_block, y.condition_block) && x.condition == y.condition && same(x.body, y.body) &&
               same_carried(x.carried, y.carried);
      },
      [&](const Labelled &x) { return x.label == b.as<Labelled>()->label && same(x.body, b.as<Labelled>()->body); },
      [&](const Leave &x) { return x.label == b.as<Leave>()->label; },
      // Random kernels have none of these.
      [&](const auto &) { return to_string(a, {}, {.locations = true}) == to_string(b, {}, {.locations = true}); });
}
bool same(const Block &a, const Block &b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Stmt &a, const Stmt &b) { return same(a, b); });
}

// The first operand of the operation that `operand` is written in.
Value read_value(const std::string &operand) {
  Kernel kernel = parse_kernel("kernel @k(@rate: f64) threads 1 { %0: bool = cast " + operand + " }");
  return kernel.body.at(0).as<Let>()->value.operands.at(0);
}

std::string error_of(std::string_view text) {
  try {
    parse_kernel(text);
  } catch (const UserError &error) {
    return error.what();
  }
  return "no error";
}
std::string error_of_body(const std::string &body) {
  return error_of("kernel @k(@a: array<f32, 1>) threads 1 {\n" + body + "\n}");
}

TEST(Parse, Values) {
  EXPECT_EQ(read_value("true"), Value::boolean(true));
  EXPECT_EQ(read_value("-3"), Value::constant(ScalarType::Int32, std::int64_t{-3}));
  EXPECT_EQ(read_value("3:u16"), Value::constant(ScalarType::UInt16, std::int64_t{3}));
  EXPECT_EQ(read_value("18446744073709551615:u64"), Value::from_bits(ScalarType::UInt64, ~std::uint64_t{0}));
  EXPECT_EQ(read_value("0.1"), Value::constant(ScalarType::Float32, double{0.1f}));
  EXPECT_EQ(read_value("0.1:f64"), Value::constant(ScalarType::Float64, 0.1));
  EXPECT_EQ(read_value("2:f64"), Value::constant(ScalarType::Float64, 2.0));
  EXPECT_EQ(read_value("1e+20"), Value::constant(ScalarType::Float32, 1e20));
  EXPECT_EQ(read_value("-0.0").bits(), std::bit_cast<std::uint64_t>(-0.0));
  EXPECT_EQ(read_value("-inf"), Value::constant(ScalarType::Float32, -HUGE_VAL));
  EXPECT_EQ(read_value("nan"), Value::from_bits(ScalarType::Float32, 0x7ff8000000000000));
  EXPECT_EQ(read_value("nan(0xfff8000000000001):f64"), Value::from_bits(ScalarType::Float64, 0xfff8000000000001));
  EXPECT_EQ(read_value("@rate"), Value::parameter(ScalarType::Float64, 0));
}

TEST(Parse, FloatIsRoundedOnceFromItsDigits) {
  // Just above halfway between 1 and the next float: by way of double it would be a tie, and round to 1.
  EXPECT_EQ(read_value("1.00000005960464477540").as_double(), 1.00000011920928955078125);
}

TEST(Parse, SignatureOfAnAdjoint) {
  Kernel kernel = parse_kernel(R"(
      kernel @"heat step"(@g: gradient of @now array<f32, 2>, @now: array<const f32, 2>, @n: i64)
          threads 3 at "h.cpp":7 {})");
  EXPECT_EQ(kernel.name, "heat step");
  EXPECT_EQ(kernel.launch_rank, 3);
  EXPECT_EQ(kernel.where, (SourceLocation{"h.cpp", 7}));
  ASSERT_EQ(kernel.parameters.size(), 3u);
  EXPECT_EQ(kernel.parameters[0], (Parameter{"g", ScalarType::Float32, 2, false, Role::Gradient, 1}));
  EXPECT_EQ(kernel.parameters[1], (Parameter{"now", ScalarType::Float32, 2, true}));
  EXPECT_EQ(kernel.parameters[2], (Parameter{"n", ScalarType::Int64}));
  EXPECT_EQ(kernel.local_count, 0u);
}

TEST(Parse, LoopHeaderNamesALocalOfItsBody) {
  Kernel kernel = parse_kernel(R"(
      kernel @sum(@out: array<f64, 1>) threads 1 {
        for %0: i32 in 0..8 step 1 carry (%1 -> %2: f64 = 0.0:f64 then %3) {  // white space is free
          %3: f64 = add %1, 1.0:f64
        }
        store @out[0] = %2
      })");
  const For *loop = kernel.body.at(0).as<For>();
  ASSERT_NE(loop, nullptr);
  EXPECT_EQ(loop->carried.at(0).next, Value::local(ScalarType::Float64, 3));
  EXPECT_EQ(kernel.body.at(1).as<Store>()->value, Value::local(ScalarType::Float64, 2));
  EXPECT_EQ(kernel.local_count, 4u);
}

TEST(Parse, LocalArrays) {
  Kernel kernel = parse_kernel(R"(
      kernel @k(@n: i64) threads 1 {
        local $3: bool[@n]
        local_store $3[0] = true
        %0: bool = local_load $3[@n]
      })");
  EXPECT_EQ(kernel.local_array_count, 4u);
  const Allocate *allocate = kernel.body.at(0).as<Allocate>();
  EXPECT_EQ(allocate->array, 3u);
  EXPECT_EQ(allocate->type, ScalarType::Bool);
  EXPECT_EQ(allocate->size, Value::parameter(ScalarType::Int64, 0));
  EXPECT_EQ(kernel.body.at(1).as<LocalStore>()->array, 3u);
  EXPECT_EQ(kernel.body.at(2).as<Let>()->value,
            (Operation{Op::LocalLoad, ScalarType::Bool, {Value::parameter(ScalarType::Int64, 0)}, 3}));
}

TEST(Parse, DerivativesThatAreGivenOrAskedFor) {
  const std::string text = R"(kernel @k(@y: distinct array<f64, 1>, @x: array<const f64, 1>) threads 1 {
  %0: f64 = load @x[0]
  custom (%1: f64 = %0) -> (%3: f64 = %2) at "k.cpp":3 {
    %2: f64 = exp %1
  } replay (%4) {
    %4: f64 = load afterwards @y[0]
  } adjoint (%5: f64) {
    accumulate atomic gradient @x[1] += %5
  } gradients (%5)
  adjoint_of (%6: f64 = %3 then %8: f64) {
    %7: f64 = sin %6
  } seeds (%7 = %0)
  store @y[0] = %8
}
)";
  Kernel kernel = parse_kernel(text);
  EXPECT_NO_THROW(verify(kernel, Form::captured, "parsing"));
  EXPECT_EQ(to_string(kernel, {.locations = true}), text);
}

TEST(Parse, InvertsThePrinterOnRandomKernels) {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    Form form = std::array{Form::captured, Form::structured, Form::lowered}[seed % 3];
    Kernel kernel = RandomKernel(seed, form).make();
    ASSERT_NO_THROW(verify(kernel, form, "generation")) << kernel;

    for (bool locations : {false, true}) {
      std::string text = to_string(kernel, {.locations = locations});
      Kernel read = parse_kernel(text);
      ASSERT_EQ(to_string(read, {.locations = locations}), text) << "seed " << seed;
      ASSERT_NO_THROW(verify(read, form, "parsing")) << text;
      ASSERT_EQ(structural_difference(read, kernel), "") << text;
      if (!locations) continue;
      EXPECT_TRUE(same(read.body, kernel.body)) << "seed " << seed << "\n" << text;
      EXPECT_EQ(read.parameters, kernel.parameters);
      EXPECT_EQ(read.name, kernel.name);
      EXPECT_EQ(read.launch_rank, kernel.launch_rank);
      EXPECT_EQ(read.where, kernel.where);
    }
  }
}

TEST(Parse, WhereMemoryOfBlocksLies) {
  const std::string text = R"(kernel @memory(@x: array<f32, 2>) blocks 1 of 64 resident 4 {
  local $0: f32[8]
  local device $1: f32[100]
  local shared $2: f16[4096] rows(64, 8, swizzled) stages 3 offset 1024
  local shared $3: f32[76] rows(19, 5) offset 0
  local registers $4: f32[4096] fragments(transposed_matrices, 64, 64, 1, 2)
  for %0: i32 in 0 .. 4 step 1 stages 3 ahead 2 {
    %1: i32 = mul %0, 64
    tile_load $2: tile<f16, 64, 64> = @x[0, %1]
    tile_call matmul 0 $4: tile<f32, 64, 64> = $2: tile<f16, 64, 64>, $2: tile<f16, 64, 64> by fragments(matrices, 64, 64, 1, 2) because "it is in \"no\" loop"
    barrier
  }
}
)";
  EXPECT_EQ(to_string(parse_kernel(text)), text);
}

TEST(Parse, MainLoops) {
  const std::string text = R"(kernel @products(@a: array<const f16, 2>, @n: i32) blocks 1 of 128 {
  local shared $0: f16[4096] panels(64, 64) stages 3
  local shared $1: f16[4096] panels(64, 64) stages 3
  local shared $2: u64[6]
  local registers $3: f32[4096] fragments(group_matrices, 64, 64, 1, 1)
  main_loop 2 $3: tile<f32, 64, 64> += $0: tile<f16, 64, 64> of @a[0, 0] step 0, 64, $1: tile<f16, 64, 64> of @a[0, 0] copied "rows end anywhere" step 64, 0 in 2 for @n barriers $2: tile<u64, 6> by fragments(group_matrices, 64, 64, 1, 1) terms 100
  main_loop 0 $3: tile<f32, 64, 64> += $0: tile<f16, 64, 64> of @a[0, 0] step 0, 64 in_units, $1: tile<f16, 64, 64> of @a[0, 0] step 64, 0 for 3 by fragments(group_matrices, 64, 64, 1, 1) because "it is of doubles"
  for %0: i32 in 0 .. @n step 1 in_turns {
    main_loop consumers 0 $3: tile<f32, 64, 64> += $0: tile<f16, 64, 64> of @a[0, %0] step 0, 64, $1: tile<f16, 64, 64> of @a[0, 0] step 64, 0 barriers $2: tile<u64, 6> by fragments(group_matrices, 64, 64, 1, 1)
    window_product 0 $3: tile<f32, 64, 64> += $0: tile<f16, 64, 64>, $1: tile<f16, 64, 64> of @a[0, 0] barriers $2: tile<u64, 6> by fragments(group_matrices, 64, 64, 1, 1) keeps_window runs_into $3 gives_turn
    window_product producers 1 $3: tile<f32, 64, 64> += $0: tile<f16, 64, 64>, $1: tile<f16, 64, 64> of @a[0, 0] copied "it is far away" barriers $2: tile<u64, 6> by fragments(group_matrices, 64, 64, 1, 1) has_window takes_turn
    bring_windows producers $2: tile<u64, 6> to $0: tile<f16, 64, 64> of @a[0, 0] copied "it is far away", $1: tile<f16, 64, 64> values of @a[0, 0]
    stage_product 0 $3: tile<f32, 64, 64> += $0: tile<f16, 64, 64>, $1: tile<f16, 64, 64> barriers $2: tile<u64, 6> by fragments(group_matrices, 64, 64, 1, 1)
    stage_product 3 $3: tile<f32, 64, 64> = $0: tile<f16, 64, 64>, $1: tile<f16, 64, 64> barriers $2: tile<u64, 6> by fragments(group_matrices, 64, 64, 1, 1)
    release_windows $2
  }
}
)";
  EXPECT_EQ(to_string(parse_kernel(text)), text);
  EXPECT_EQ(structural_difference(parse_kernel(text), parse_kernel(text)), "");
}

TEST(Parse, DeclaredProducts) {
  const std::string text = R"(kernel @products(@a: array<const f16, 2>, @n: i32) blocks 1 of 128 {
  local shared $0: f16[4096]
  local shared $1: f16[4096]
  local shared $2: f32[4096]
  for %0: i32 in 0 .. @n step 1 stages 3 products ($2 += $1 window $0 terms %1, $0 window shared) {
    %1: i32 = mul %0, 64
    tile_load $0: tile<f16, 64, 64> = @a[0, %1]
    tile_call matmul 0 $2: tile<f32, 64, 64> = $1: tile<f16, 64, 64>, $0: tile<f16, 64, 64>
  }
  for %2: i32 in 0 .. @n step 1 products and_more ($2 = $1, $0 and $2 += $0, $1) {
    tile_call matmul 0 $2: tile<f32, 64, 64> = $1: tile<f16, 64, 64>, $0: tile<f16, 64, 64>
    tile_call matmul 0 $2: tile<f32, 64, 64> = $0: tile<f16, 64, 64>, $1: tile<f16, 64, 64>
  }
}
)";
  EXPECT_EQ(to_string(parse_kernel(text)), text);
  EXPECT_THROW(
      parse_kernel("kernel @k(@n: i32) blocks 1 of 64 { for %0: i32 in 0 .. @n step 1 products ($2 += $1) { } }"),
      UserError);
  EXPECT_THROW(
      parse_kernel("kernel @k(@n: i32) blocks 1 of 64 { for %0: i32 in 0 .. @n step 1 products ($2 += $1, $0 { } }"),
      UserError);
}

TEST(Parse, SizesOfALaunch) {
  const std::string text = R"(kernel @memory(@n: i32, @at: i32) blocks 1 of 64 scheduled {
  local shared $0: f32[@n] units 0 offset 1024
  local shared $1: f16[@n] units @at offset 1024
}
)";
  EXPECT_EQ(to_string(parse_kernel(text)), text);
}

TEST(Parse, CopiesThatAreOnTheirWay) {
  const std::string text = R"(kernel @copies(@x: array<f32, 2>) blocks 1 of 64 {
  local shared $0: f32[512] stages 3
  load_stream $1 inside %0: i32 to $0: tile<f32, 8, 64> = @x[0, 0] step 0, 64
  for %1: i32 in 0 .. %0 step 1 {
    local shared $2: f32[512] buffer %1 of $0
    tile_load $2: tile<f32, 8, 64> = next $1
    commit_copies
    wait_for_copies 1
    barrier
  }
}
)";
  EXPECT_EQ(to_string(parse_kernel(text)), text);
  EXPECT_EQ(structural_difference(parse_kernel(text), parse_kernel(text)), "");
}

TEST(Parse, ThreadsThatMarch) {
  const std::string text = "kernel @k() threads 3 {\n  for.block %0: i32 in 0 .. 8 step 1 march 5 {\n  }\n}\n";
  EXPECT_EQ(to_string(parse_kernel(text)), text);
}

TEST(Parse, NeighboursOfAThread) {
  const std::string text = R"(kernel @neighbours(@y: array<f32, 2>, @x: array<const f32, 2>) threads 1 {
  for.thread %0: i32 in 0 .. 8 step 2 {
    load_pack %1: f32, %2: f32 = @y[3, %0]
    load_pack constant %3: f32, %4: f32 = @x[3, %0]
    load_pack row %10: f32, %11: f32 = @x[3, %0]
    load_pack take %5: f32, %6: f32 = @y[3, %0]
    store_pack @y[3, %0] = %1, 2.0
    store_pack streaming @y[3, %0] = %3, %4
    accumulate_pack @y[3, %0] += %5, %6
    accumulate_pack atomic @y[3, %0] += %5, %6
    for %7: i32 in %0 .. 8 step 1 rolled {
      for %8: i32 in 0 .. 8 step 1 instances 2 by_warp 8 {
        %9: f32 = load by_warp @x[3, %8]
        accumulate atomic over_lanes @y[3, %8] += %9
      }
    }
  }
}
)";
  EXPECT_EQ(to_string(parse_kernel(text)), text);
  EXPECT_EQ(structural_difference(parse_kernel(text), parse_kernel(text)), "");
}

TEST(Parse, OperationsOnWholeTiles) {
  const std::string text = R"(kernel @tiles(@x: array<f64, 2>) blocks 1 of 256 {
  %0: tile<f64, 8, 8> = load @x[0, 0]
  %1: tile<f64, 8, 8> = scan_add 1, %0
  %2: tile<f64, 8, 8> = scan_max backwards exclusive 0, %1
  %3: tile<f64, 8, 8> = scan_linear backwards 1, %1, %2
  %4: tile<f64, 8, 8> = cholesky %3
  %5: tile<f64, 8, 8> = triangular_solve %4, %0
  %6: tile<f64, 8, 8> = triangular_solve upper transposed %4, %5
  %7: tile<i32, 8, 8> = sort_order descending %6
  %14: tile<i32, 8, 8> = sort_order bits 5: %7
  %8: tile<f64, 8, 8> = take %6, %14
  %9: tile<f64, 8, 4> = window %8, 0, 0
  %10: tile<i32, 8, 4> = window %7, 0, 0
  %11: tile<f64, 8, 2> = put_add %9, %10
  %12: tile<f64, 8, 2> = fourier %11
  %13: tile<f64, 8, 2> = fourier conjugate scaled %12
  store @x[0, 0] = %13
}
)";
  const Kernel kernel = parse_kernel(text);
  EXPECT_NO_THROW(verify(kernel, Form::structured, "reading"));
  EXPECT_EQ(to_string(kernel), text);
}

std::string documentation() {
  std::ifstream file(std::filesystem::path(__FILE__).parent_path() / "../../docs/ir.md");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(Parse, ReadsTheExamplesOfTheDocumentation) {
  std::string text = documentation(), fence = "```samite\n";
  int examples = 0;
  for (std::size_t at = 0; (at = text.find(fence, at)) != std::string::npos; ++examples) {
    at += fence.size();
    std::string example = text.substr(at, text.find("```", at) - at);
    const auto has = [&](const char *word) { return example.find(word) != std::string::npos; };
    Form form = has("assign ") ? Form::captured : has("tile_call ") ? Form::lowered : Form::structured;
    Kernel kernel = parse_kernel(example);
    EXPECT_NO_THROW(verify(kernel, form, "reading the documentation"));
    EXPECT_EQ(to_string(kernel, {.locations = true}), example);
  }
  EXPECT_GE(examples, 3);
}

TEST(Parse, DocumentationNamesEveryOperation) {
  std::string text = documentation();
  for (int i = 0; i <= static_cast<int>(Op::LocalLoad); ++i) {
    std::string name(info(static_cast<Op>(i)).name);
    bool named = false;
    for (std::string before : {"`", " "})
      for (std::string after : {"`", " "}) named = named || text.find(before + name + after) != std::string::npos;
    EXPECT_TRUE(named) << name;
  }
}

TEST(ParseError, NamesLineColumnExpectedAndFound) {
  EXPECT_EQ(error_of_body("  store @a[0 = 1.0"),
            "kernel text:2: column 14: expected ',' or ']' after an index, found '='");
  EXPECT_EQ(
      error_of("kernel @k() threads 1 {"),
      "kernel text:1: column 24: expected a statement ('%0: type = operation', assign, store, accumulate, local, "
      "local_store, tile_call, tile_load, main_loop, window_product, stage_product, load_stream, bring_windows, "
      "release_windows, load_pack, store_pack, accumulate_pack, barrier, commit_copies, wait_for_copies, print, check, "
      "if, for, while, label, leave, custom or adjoint_of) or "
      "'}', found the end of the "
      "text");
}

TEST(ParseError, UnknownNames) {
  EXPECT_EQ(error_of_body("store @b[0] = 1.0"),
            "kernel text:2: column 7: expected a parameter of the kernel, found '@b'");
  EXPECT_EQ(error_of_body("store @a[0] = %4"),
            "kernel text:2: column 15: expected a local that the kernel defines, found '%4'");
  EXPECT_EQ(error_of_body("%0: f32 = root 1.0"), "kernel text:2: column 11: expected an operation, found 'root'");
  EXPECT_EQ(error_of_body("%0: f24 = sqrt 1.0"),
            "kernel text:2: column 5: expected a scalar type (bool, i8 to i64, u8 to u64, f16, bf16, f32 or f64), "
            "found 'f24'");
  EXPECT_EQ(error_of_body("for.warp %0: i32 in 0 .. 1 step 1 {}"),
            "kernel text:2: column 5: expected 'block' or 'thread' after 'for.', found 'warp'");
}

TEST(ParseError, ConstantsThatTheirTypeCannotHold) {
  EXPECT_EQ(error_of_body("%0: u8 = copy 256:u8"),
            "kernel text:2: column 15: expected a constant of type u8, found '256'");
  EXPECT_EQ(error_of_body("%0: i32 = copy 1.5:i32"),
            "kernel text:2: column 16: expected a constant of type i32, found '1.5'");
  EXPECT_EQ(error_of_body("%0: f32 = copy 1e+39"),
            "kernel text:2: column 16: expected a constant of type f32, found '1e+39'");
  EXPECT_EQ(error_of_body("%0: f32 = copy nan(0x1)"),
            "kernel text:2: column 20: expected the bits of a NaN, as in 'nan(0x7ff8000000000001)', found '0x1'");
}

TEST(ParseError, CharactersAndStrings) {
  EXPECT_EQ(error_of_body("store @a[0] = 1.0;"),
            "kernel text:2: column 18: expected a statement, a value or punctuation, found the character ';'");
  EXPECT_EQ(error_of("kernel @\"k"), "kernel text:1: column 8: expected '\"' at the end of the string");
  EXPECT_EQ(error_of_body("store @a[%] = 1.0"), "kernel text:2: column 10: expected the number of a local after '%'");
  EXPECT_EQ(error_of_body("%1048576: i32 = copy 1"), "kernel text:2: column 1: expected a local's number below 2^20");
}

TEST(ParseError, LocalArrays) {
  EXPECT_EQ(error_of_body("local_store @a[0] = 1.0"),
            "kernel text:2: column 13: expected a local array, as in '$0', found '@a'");
  EXPECT_EQ(error_of_body("local $: f32[1]"),
            "kernel text:2: column 7: expected the number of a local array after '$'");
  EXPECT_EQ(error_of_body("local $1048576: f32[1]"),
            "kernel text:2: column 7: expected a local array's number below 2^20");
}

TEST(ParseError, TooMuchForMemoryOrTheStack) {
  const auto nested = [](int depth) {
    std::string body;
    for (int i = 0; i < depth; ++i) body += "if true {\n";
    return body + std::string(static_cast<std::size_t>(depth), '}');
  };
  const std::string head = "kernel @k() threads 1 {";
  EXPECT_NO_THROW(parse_kernel(head + nested(319) + "}"));
  EXPECT_EQ(error_of(head + nested(100'000) + "}"),
            "kernel text:320: column 9: expected blocks that are nested at most 320 deep");
  EXPECT_EQ(error_of_body("%0: tile<f32, 65536, 32768> = copy 1"),
            "kernel text:2: column 5: expected a tile of one to four extents, each at least 1, and fewer than 2^31 "
            "elements, as in 'tile<f32, 8, 4>'");
}

TEST(ParseError, EveryPrefixOfAKernelIsAnErrorAndNothingWorse) {
  std::string text = to_string(RandomKernel(3, Form::captured).make(), {.locations = true});
  for (std::size_t length = 0; length + 2 < text.size(); ++length)
    EXPECT_THROW(parse_kernel(std::string_view(text).substr(0, length)), UserError) << length;
}

TEST(StructuralDifference, IgnoresNumbersOfLocalArrays) {
  Kernel a = parse_kernel("kernel @k() threads 1 { local $4: i32[1] local $2: i32[2] local_store $2[0] = 1 }");
  Kernel b = parse_kernel("kernel @k() threads 1 { local $0: i32[1] local $1: i32[2] local_store $1[0] = 1 }");
  EXPECT_EQ(structural_difference(a, b), "");
}

TEST(StructuralDifference, IgnoresNumbersOfLocalsAndLocations) {
  Kernel a = parse_kernel("kernel @k() threads 1 { %4: i32 = copy 1 at \"a.cpp\":1 %2: i32 = neg %4 }");
  Kernel b = parse_kernel("kernel @k() threads 1 { %0: i32 = copy 1 %1: i32 = neg %0 at \"b.cpp\":2 }");
  EXPECT_EQ(structural_difference(a, b), "");
}

TEST(StructuralDifference, ShowsTheFirstLinesThatDiffer) {
  Kernel a = parse_kernel("kernel @k() threads 1 { %4: i32 = copy 1 %2: i32 = neg %4 }");
  Kernel b = parse_kernel("kernel @k() threads 1 { %0: i32 = copy 1 %1: i32 = abs %0 }");
  EXPECT_EQ(structural_difference(a, b),
            "line 3\n"
            "  actual:     %1: i32 = neg %0\n"
            "  expected:   %1: i32 = abs %0");
}

}  // namespace
}  // namespace samite::ir
