// The integers that the host computes between a scheduled pipeline's kernels (schedule/program.h), for one launch.
//
// They are constants of the IR. Operations have the semantics of kernels: integers wrap around, x / 0 is 0 and x % 0 is
// x, a shift distance counts modulo the width.
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
  // `arguments` are those of the pipeline's parameters; they must outlive this.
  HostValues(const schedules::Program &program, std::span<const Argument> arguments);

  // InternalError for operations other than those on integers, extents and comparisons, and the floating ones that
  // indices may use: sums, products, quotients, square roots, rounding, casts.
  void define(const ir::Let &let);
  void define(ir::LocalId local, const ir::Value &constant) { locals_[local] = constant; }

  // Its current constant.
  ir::Value of(const ir::Value &value) const;
  std::int64_t integer(const ir::Value &value) const { return of(value).as_int(); }
  // The bits of a scalar argument with that value.
  std::uint64_t bits_of(const ir::Value &value) const;
  std::string text(const ir::Message &message) const;

 private:
  const schedules::Program &program_;
  std::span<const Argument> arguments_;
  std::vector<ir::Value> locals_;
  ir::Operation operation_;  // with constant operands; kept to reuse its memory
};

}  // namespace samite::jit
