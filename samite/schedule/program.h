// The program of a scheduled pipeline: launches of kernels one after another, loops of the host around them, and
// temporary arrays between them.
//
// Integers of the host are locals and values of the IR: functions of the pipeline's parameters, of the extents of its
// arrays, and of `Let` statements. They are evaluated for each launch of the pipeline, so one program serves arrays of
// any extents.
#pragma once

#include "samite/ir/kernel.h"
#include "samite/schedule/loop_nest.h"

#include <map>
#include <string>
#include <variant>
#include <vector>

namespace samite::schedules {

struct Program;
struct Step;
using Steps = std::vector<Step>;

// An array of the pipeline's own, in device memory, without gaps, the last dimension fastest. It lives from this step
// to the end of the enclosing steps. Each extent is at least 0.
struct Temporary {
  std::uint32_t number;  // as TemporaryArgument says
  std::string name;      // that of the Func
  ScalarType type;
  std::vector<ir::Value> extents;
  SourceLocation where;
};

// The argument for one of a kernel's parameters.
struct ParameterArgument {
  std::uint32_t parameter;  // the pipeline's
};
struct TemporaryArgument {
  std::uint32_t number;
};
struct HostArgument {
  ir::Value value;  // of the type of the kernel's parameter
};
using KernelArgument = std::variant<ParameterArgument, TemporaryArgument, HostArgument>;

// A kernel of a launch's rank, over these extents. Nothing runs if one of them is 0 or less.
struct KernelLaunch {
  ir::Kernel kernel;
  std::vector<ir::Value> extents;
  std::vector<KernelArgument> arguments;  // one for each parameter of the kernel
  // A local array of the kernel that holds a value of this Func.
  struct Kept {
    std::string func;
    ir::LocalArrayId array;
    ir::MemorySpace space;
  };
  std::vector<Kept> kept = {};
};

// for index in begin .. end, an i32 as its bounds
struct HostLoop {
  ir::LocalId index;
  ir::Value begin, end;
  Steps body;
};

// Runs one or the other.
struct HostBranch {
  ir::Value condition;  // a bool
  Steps then_steps, else_steps;
};

// UserError with this message if the condition is false. A part that is a value is written as its number.
struct Requirement {
  ir::Value condition;
  ir::Message message;
  SourceLocation where;
};

struct Step {
  std::variant<ir::Let, Temporary, KernelLaunch, HostLoop, HostBranch, Requirement> kind;
};

struct Program {
  std::string name;
  std::vector<ir::Parameter> parameters;  // the pipeline's own
  // By parameter: the indices of an array's first element, if they are not zeros.
  std::map<std::uint32_t, std::vector<ir::Value>> origins = {};
  Steps steps;
  ir::LocalId local_count = 0;  // of the host's integers
  std::uint32_t temporary_count = 0;
  std::vector<NestLine> nest;  // the loops from which it was made
  SourceLocation where;
};

// As text, one line for each step; kernels in full or only by name.
struct PrintOptions {
  bool kernels = true;
};
std::string to_string(const Program &program, PrintOptions options = {});

}  // namespace samite::schedules
