// A kernel of a test: text, lowered, emitted, compiled and run on the CPU.
#pragma once

#include "samite/codegen/argument_layout.h"
#include "samite/codegen/debug_steps.h"
#include "samite/codegen/emit.h"
#include "samite/codegen/prelude.h"
#include "samite/ir/parse.h"
#include "samite/ir/verify.h"
#include "samite/jit/pipeline.h"
#include "samite/passes/threads/lower_threads.h"
#include "samite/passes/tiles/lower_tiles.h"
#include "samite/shipped/workspaces.h"
#include "samite/toolchain/host_compiler.h"
#include "samite/toolchain/host_target.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace samite::test {

// One argument of a kernel.
struct Argument {
  std::vector<unsigned char> bytes;  // as `codegen/argument_layout.h` lays it out
};

template <class T>
Argument scalar(T value) {
  Argument argument{std::vector<unsigned char>(8)};
  std::memcpy(argument.bytes.data(), &value, sizeof value);
  return argument;
}

inline Argument strided(const void *data, const std::vector<long long> &extents,
                        const std::vector<long long> &strides) {
  Argument argument{std::vector<unsigned char>(8 + 16 * extents.size())};
  std::memcpy(argument.bytes.data(), &data, 8);
  std::memcpy(argument.bytes.data() + 8, extents.data(), 8 * extents.size());
  std::memcpy(argument.bytes.data() + 8 + 8 * extents.size(), strides.data(), 8 * strides.size());
  return argument;
}

// Row by row; without extents, one dimension.
template <class T>
Argument array(const std::vector<T> &values, std::vector<long long> extents = {}) {
  if (extents.empty()) extents = {static_cast<long long>(values.size())};
  std::vector<long long> strides(extents.size(), 1);
  for (std::size_t d = extents.size() - 1; d > 0; --d) strides[d - 1] = strides[d] * extents[d];
  return strided(values.data(), extents, strides);
}

inline codegen::EmitOptions options(bool unit_stride = true, bool wide_index = false, bool debug = false) {
  codegen::EmitOptions result;
  result.vector_bytes = host_target().vector_bytes;
  result.debug = debug;
  result.arrays.assign(16, {unit_stride, wide_index});
  return result;
}

class CompiledKernel {
 public:
  explicit CompiledKernel(ir::Kernel structured, const codegen::EmitOptions &options = test::options(),
                          ir::Form form = ir::Form::structured)
      : layout_(codegen::argument_layout(structured.parameters)), rank_(structured.launch_rank) {
    ir::verify(structured, form, "test");
    structured = passes::lower_tiles(std::move(structured), passes::cpu_architecture());
    ir::verify(structured, ir::Form::lowered, "lower_tiles");
    ir::Kernel lowered = passes::lower_threads(std::move(structured));
    ir::verify(lowered, ir::Form::lowered, "lower_threads");
    const ir::Kernel planned =
        jit::plan(lowered, {passes::cpu_architecture(), options.arrays, {.debug = options.debug}});
    source_ = codegen::emit_cpu(planned, options);
    HostSource source;
    source.name = "test";
    source.text = source_.text;
    std::vector<HostSource> objects;
    for (const codegen::EmittedObject &object : source_.objects) objects.push_back({object.name, object.text});
    image_ =
        compile_host(source,
                     codegen::cpu_prelude(options.vector_bytes, codegen::calls_tiles(planned), source_.vector_lanes),
                     objects)
            .image;
  }
  explicit CompiledKernel(std::string_view text, const codegen::EmitOptions &options = test::options())
      : CompiledKernel(ir::parse_kernel(text), options) {}

  const codegen::EmittedSource &source() const { return source_; }
  int lanes() const { return source_.lanes; }

  // Runs the instances from `begin` to `end`; returns the failure that debug mode recorded.
  codegen::Failure run_box(std::vector<long long> begin, std::vector<long long> end,
                           const std::vector<Argument> &arguments) const {
    codegen::Failure failure;
    run_box(std::move(begin), std::move(end), arguments, failure);
    return failure;
  }
  void run_box(std::vector<long long> begin, std::vector<long long> end, const std::vector<Argument> &arguments,
               codegen::Failure &failure) const {
    std::vector<unsigned char> block;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      EXPECT_EQ(block.size(), layout_.offsets.at(i));
      block.insert(block.end(), arguments[i].bytes.begin(), arguments[i].bytes.end());
    }
    EXPECT_EQ(block.size(), layout_.bytes);
    EXPECT_EQ(begin.size(), static_cast<std::size_t>(rank_));
    using Entry =
        void(const void *, const long long *, const long long *, codegen::Failure *, codegen::Workspace *workspace);
    failure.debug = &codegen::debug_steps();
    shipped::ScratchWorkspace workspace;
    image_->function<Entry>(source_.entry.c_str())(block.data(), begin.data(), end.data(), &failure,
                                                   source_.uses_workspace ? &workspace : nullptr);
  }

  codegen::Failure run(std::vector<long long> extents, const std::vector<Argument> &arguments) const {
    return run_box(std::vector<long long>(extents.size(), 0), extents, arguments);
  }

 private:
  codegen::ArgumentLayout layout_;
  int rank_;
  codegen::EmittedSource source_;
  std::shared_ptr<const HostImage> image_;
};

}  // namespace samite::test
