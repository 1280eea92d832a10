// Schedules say how the Funcs of a pipeline are computed; the results do not depend on them.
//
//   schedule_cpu([&] {
//     Var yo{"yo"}, yi{"yi"};
//     output.split(y, yo, yi, 32).parallel(yo).vectorize(x, 8);
//     blur.compute_at(output, yo).vectorize(x, 8);
//   });
//   schedule_cuda([&] {
//     output.gpu_tile(x, y, xo, yo, xi, yi, 32, 8);
//     blur.compute_at(output, xo).store_in(Memory::shared).gpu_threads(x, y);
//   });
//
// The functions below are called inside the pipeline's function. Each takes a function that calls the directives, and
// runs it at once. A pipeline's schedules have different names. Funcs are scheduled after their definitions.
//
// A Stage is one definition of a Func: the Func itself is its pure definition, f.update(0) its first update. Its
// functions are Halide's. They take loops by name, so `f.unroll("x_i")` works as well as a Var. Directives are checked
// against the loops, and against each other, when the pipeline is lowered.
#pragma once

#include "samite/base/function_ref.h"
#include "samite/ir/directive.h"
#include "samite/lang/variable.h"

#include <concepts>
#include <string>
#include <utility>
#include <vector>

namespace samite {

using Tail = ir::Tail;

// The place of a Func's values. `automatic` is the compiler's choice; `local` is a thread's own memory.
enum class Memory : std::uint8_t { automatic, registers, local, shared, device };

namespace lang {

// The first of several variables, with its source line. Made by implicit conversion only.
struct VarHere {
  VarHere(const Var &var, SourceLocation where = std::source_location::current()) : var(var), where(where) {}
  VarHere(const char *name, SourceLocation where = std::source_location::current()) : var(name, where), where(where) {}

  Var var;
  SourceLocation where;
};

struct name_the_loop;

}  // namespace lang

class Stage {
 public:
  // The n-th update, counted from 0. UserError if there are fewer.
  Stage update(int n = 0, SourceLocation where = std::source_location::current()) const;

  // Loops. Factors are 1 to 2^31 - 1. A loop has one kind: UserError if it is unrolled and then vectorized, for
  // example.

  // old = outer * factor + inner
  const Stage &split(const Var &old, const Var &outer, const Var &inner, std::int64_t factor, Tail = Tail::automatic,
                     SourceLocation where = std::source_location::current()) const;
  const Stage &fuse(const Var &outer, const Var &inner, const Var &fused,
                    SourceLocation where = std::source_location::current()) const;
  // Innermost first; the other loops stay where they are.
  template <std::convertible_to<Var>... Vars>
  const Stage &reorder(const lang::VarHere &innermost, const Vars &...others) const {
    return reorder({innermost.var, Var(others)...}, innermost.where);
  }
  const Stage &rename(const Var &old, const Var &now, SourceLocation where = std::source_location::current()) const;

  const Stage &serial(const Var &loop, SourceLocation where = std::source_location::current()) const;
  const Stage &unroll(const Var &loop, SourceLocation where = std::source_location::current()) const;
  const Stage &vectorize(const Var &loop, SourceLocation where = std::source_location::current()) const;
  const Stage &parallel(const Var &loop, SourceLocation where = std::source_location::current()) const;
  // Splits `loop` by the factor first. The outer loop keeps the name; the inner one is called x_i if `loop` is x, or
  // x_i2, x_i3, … if that is taken. unroll and vectorize act on the inner loop, parallel on the outer one.
  const Stage &unroll(const Var &loop, std::int64_t factor, Tail = Tail::automatic,
                      SourceLocation where = std::source_location::current()) const;
  const Stage &vectorize(const Var &loop, std::int64_t factor, Tail = Tail::automatic,
                         SourceLocation where = std::source_location::current()) const;
  const Stage &parallel(const Var &loop, std::int64_t factor, Tail = Tail::automatic,
                        SourceLocation where = std::source_location::current()) const;
  // Refused: which loop?
  template <std::integral N>
  lang::name_the_loop unroll(N, Tail = Tail::automatic) const = delete;  // name the loop: unroll(x, 4)
  template <std::integral N>
  lang::name_the_loop vectorize(N, Tail = Tail::automatic) const = delete;  // name the loop: vectorize(x, 8)
  template <std::integral N>
  lang::name_the_loop parallel(N, Tail = Tail::automatic) const = delete;  // name the loop: parallel(y, 16)
  // Splits both, and orders them from the innermost one: xi, yi, xo, yo.
  const Stage &tile(const Var &x, const Var &y, const Var &xo, const Var &yo, const Var &xi, const Var &yi,
                    std::int64_t x_factor, std::int64_t y_factor, Tail = Tail::automatic,
                    SourceLocation where = std::source_location::current()) const;

  const Stage &gpu_blocks(const Var &x, SourceLocation where = std::source_location::current()) const;
  const Stage &gpu_blocks(const Var &x, const Var &y, SourceLocation where = std::source_location::current()) const;
  const Stage &gpu_blocks(const Var &x, const Var &y, const Var &z,
                          SourceLocation where = std::source_location::current()) const;
  const Stage &gpu_threads(const Var &x, SourceLocation where = std::source_location::current()) const;
  const Stage &gpu_threads(const Var &x, const Var &y, SourceLocation where = std::source_location::current()) const;
  const Stage &gpu_threads(const Var &x, const Var &y, const Var &z,
                           SourceLocation where = std::source_location::current()) const;
  // tile, gpu_blocks(xo, yo) and gpu_threads(xi, yi)
  const Stage &gpu_tile(const Var &x, const Var &y, const Var &xo, const Var &yo, const Var &xi, const Var &yi,
                        std::int64_t x_factor, std::int64_t y_factor, Tail = Tail::automatic,
                        SourceLocation where = std::source_location::current()) const;

  // Only for updates: other instances may add to the same element.
  const Stage &atomic(SourceLocation where = std::source_location::current()) const;
  // Only for updates: allows any order of its loops, because no two iterations change one element. This is not checked;
  // it holds if a map through which the update writes names each element once. UserError if the indices show that two
  // iterations of a loop over tasks, vectors or threads change one element.
  const Stage &allow_race_conditions(SourceLocation where = std::source_location::current()) const;
  // Shares the loops of `other` from the outermost one to `loop`.
  const Stage &compute_with(const Stage &other, const Var &loop,
                            SourceLocation where = std::source_location::current()) const;
  // Prefetches the Func's loads this many stages ahead, in the innermost loop around its memory.
  const Stage &pipelined(int stages, SourceLocation where = std::source_location::current()) const;
  // Copies the loops for launches in which the condition holds; it may depend only on parameters and extents. The copy
  // has the directives so far; directives on the returned Stage change only the copy. The first specialization whose
  // condition holds is run. The copy uses what `extent == 64` or `extent % 8 == 0` says.
  Stage specialize(const Operand<bool> &condition) const;
  // Splits an update f(…) = f(…) op value that loops over a Reduction; op is +, -, *, min, max, &, | or ^. A new Func
  // gets a partial result for each value of `variable`, which replaces the loop `reduced`, and this update combines
  // those. The remaining loops of the Reduction move to the new Func's update, as scheduled so far. An update of two
  // values may be a complex product; one of several may choose the greatest or least value with its place, and then
  // `reduced` must be the outermost loop of the Reduction. Returns the new Func, which exists only in this schedule.
  Stage rfactor(const Var &reduced, const Var &variable, SourceLocation where = std::source_location::current()) const;
  Stage rfactor(std::initializer_list<std::pair<Var, Var>> reduced,
                SourceLocation where = std::source_location::current()) const;

  // These schedule the Func as a whole; on an update they are a UserError.

  const Stage &compute_inline(SourceLocation where = std::source_location::current()) const;
  const Stage &compute_root(SourceLocation where = std::source_location::current()) const;
  const Stage &compute_at(const Stage &func, const Var &loop,
                          SourceLocation where = std::source_location::current()) const;
  const Stage &store_root(SourceLocation where = std::source_location::current()) const;
  const Stage &store_at(const Stage &func, const Var &loop,
                        SourceLocation where = std::source_location::current()) const;
  const Stage &store_in(Memory memory, SourceLocation where = std::source_location::current()) const;
  // Innermost first.
  template <std::convertible_to<Var>... Vars>
  const Stage &reorder_storage(const lang::VarHere &innermost, const Vars &...others) const {
    return reorder_storage({innermost.var, Var(others)...}, innermost.where);
  }
  const Stage &pad(const Var &dimension, std::int64_t elements,
                   SourceLocation where = std::source_location::current()) const;
  const Stage &fold_storage(const Var &dimension, std::int64_t period,
                            SourceLocation where = std::source_location::current()) const;
  const Stage &bound(const Var &dimension, std::int64_t begin, std::int64_t extent,
                     SourceLocation where = std::source_location::current()) const;
  const Stage &align_bounds(const Var &dimension, std::int64_t modulus,
                            SourceLocation where = std::source_location::current()) const;
  // A new Func with the values of this one, called in its place by all consumers, or only by the given one. Returns the
  // new Func, which exists only in this schedule; a repeated call returns the same one. The one for a consumer has
  // precedence over the one for all.
  Stage in(SourceLocation where = std::source_location::current()) const;
  Stage in(const Stage &consumer, SourceLocation where = std::source_location::current()) const;
  // The same with a copy of the definitions: computed again, and with its own schedule.
  Stage clone_in(const Stage &consumer, SourceLocation where = std::source_location::current()) const;

  // For the library: identifies one of the Funcs that a capture has declared.
  struct Handle {
    std::uint32_t serial, func;
    std::uint32_t definition = 0;
    std::optional<std::uint32_t> specialization{};
  };
  explicit Stage(const Handle &handle) : handle_(handle) {}
  const Handle &handle() const { return handle_; }

 private:
  const Stage &reorder(const std::vector<Var> &loops, SourceLocation where) const;
  const Stage &reorder_storage(const std::vector<Var> &dimensions, SourceLocation where) const;
  const Stage &each(ir::Directive::Kind kind, std::initializer_list<const Var *> loops, SourceLocation where) const;
  Stage in_front_of(ir::Directive::Kind kind, std::vector<std::uint32_t> consumers, SourceLocation where) const;
  // A directive that also concerns the other Func; about this definition, or about this Func.
  ir::Directive about(ir::Directive::Kind kind, const Stage &other, std::vector<std::string> names,
                      SourceLocation where) const;
  const Stage &say(ir::Directive directive, SourceLocation where) const;
  const Stage &say_of_func(ir::Directive directive, SourceLocation where) const;
  Var split_off(const Var &loop, std::int64_t factor, Tail tail, SourceLocation where) const;

  Handle handle_;
};

// The schedule for the CPU, for CUDA, and one that is selected by its name.
void schedule_cpu(FunctionRef<void()> directives, SourceLocation where = std::source_location::current());
void schedule_cuda(FunctionRef<void()> directives, SourceLocation where = std::source_location::current());
void schedule(const std::string &name, FunctionRef<void()> directives,
              SourceLocation where = std::source_location::current());

}  // namespace samite
