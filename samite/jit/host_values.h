// The integers that the host computes between a scheduled pipeline's kernels (schedule/program.h), in one launch of it.
//
// They are constants of the IR. An operation gives here what it gives in a kernel: integers wrap round, x / 0 is 0 and
// x % 0 is x, a shift counts modulo the width.
#pragma once

#include "samite/jit/arguments.h"
#include "samite/schedule/program.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace samite::jit {

class HostValues {
 public:
  // `arguments` are those of the pipeline's parameters; they outlive this.
  HostValues(const schedules::Program &program, std::span<const Argument> arguments);

  // InternalError for an operation that is none of integers, extents and comparisons, and none of those on floating
  // numbers that indices are made of: sums, products, quotients, rounding, casts.
  void define(const ir::Let &let);
  void define(ir::LocalId local, const ir::Value &constant) { locals_[local] = constant; }

  // The constant that it is now.
  ir::Value of(const ir::Value &value) const;
  std::int64_t integer(const ir::Value &value) const { return of(value).as_int(); }
  // As a scalar argument holds it.
  std::uint64_t bits_of(const ir::Value &value) const;
  std::string text(const ir::Message &message) const;

 private:
  const schedules::Program &program_;
  std::span<const Argument> arguments_;
  std::vector<ir::Value> locals_;
  ir::Operation operation_;  // whose operands are constants; kept for its memory
};

}  // namespace samite::jit
