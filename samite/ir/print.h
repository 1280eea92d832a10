// Kernels as text, for people, logs and tests.
//
// The printed form is a language: `ir/parse.h` reads it back, and `docs/ir.md` has its grammar. One statement a line,
// nested blocks indented by two:
//
//   kernel @scale(@out: array<f32, 1>, @in: array<const f32, 1>, @factor: f32) threads 1 {
//     %0: i32 = thread_index 0
//     %1: f32 = load @in[%0]
//     %2: f32 = mul %1, @factor
//     store @out[%0] = %2
//   }
//
// The text of a constant preserves its bits: `2` is an i32, `2.0` an f32, `true` a bool; other types are named, as in
// `2.0:f64`. Floating constants have the fewest digits that round-trip.
//
// An ill-formed kernel prints too (the verifier prints what it rejects), but the text may then not parse.
#pragma once

#include "samite/ir/value.h"

#include <iosfwd>
#include <string>
#include <vector>

namespace samite::ir {

struct Kernel;
struct Parameter;
class Stmt;

struct PrintOptions {
  bool locations = false;  // each statement names the user's line: `store @out[%0] = %2 at "scale.cpp":7`
  bool renumber = false;   // locals and local arrays are numbered in the order of their definitions
};

std::string to_string(const Kernel &kernel, PrintOptions options = {});

// Parts of a kernel; `parameters` are the kernel's, for their names. A statement does not end with a newline; a block
// has one after each statement.
std::string to_string(const Stmt &stmt, const std::vector<Parameter> &parameters, PrintOptions options = {});
std::string to_string(const std::vector<Stmt> &block, const std::vector<Parameter> &parameters,
                      PrintOptions options = {});
std::string to_string(const Value &value, const std::vector<Parameter> &parameters);

std::ostream &operator<<(std::ostream &out, const Kernel &kernel);

}  // namespace samite::ir
