// The short examples' kernels; cuda_examples_test.cpp has those of the longer ones. Each example is a program that
// makes its kernels inside functions: it is run here, with kernels that report themselves.
#include "samite/jit/definition.h"
#include "samite/samite.h"
#include "tests/codegen/cuda_fits.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

namespace samite::test {
namespace {

std::vector<std::shared_ptr<jit::KernelDefinition>> &told() {
  static std::vector<std::shared_ptr<jit::KernelDefinition>> kernels;
  return kernels;
}

template <class Signature>
struct TellingKernel : Kernel<Signature> {
  template <class F>
  TellingKernel(std::string name, const F &function, SourceLocation where = std::source_location::current())
      : TellingKernel(std::move(name), {}, function, where) {}
  template <class F>
  TellingKernel(std::string name, std::initializer_list<std::string> parameter_names, const F &function,
                SourceLocation where = std::source_location::current())
      : Kernel<Signature>(std::move(name), parameter_names, function, where) {
    told().push_back(this->definition());
  }
};
template <class F, class Signature = typename jit::SignatureOf<F>::type>
TellingKernel(std::string, F) -> TellingKernel<Signature>;
template <class F, class Signature = typename jit::SignatureOf<F>::type>
TellingKernel(std::string, std::initializer_list<std::string>, F) -> TellingKernel<Signature>;

}  // namespace
}  // namespace samite::test

#define Kernel samite::test::TellingKernel
#define main algebra_tour
namespace short_examples::in_algebra_tour {
#include "examples/algebra_tour.cpp"
}
#undef main
#define main axpy
namespace short_examples::in_axpy {
#include "examples/axpy.cpp"
}
#undef main
#define main fit
namespace short_examples::in_fit {
#include "examples/fit.cpp"
}
#undef main
#define main gradient
namespace short_examples::in_gradient {
#include "examples/gradient.cpp"
}
#undef main
#define main gradients_by_hand
namespace short_examples::in_gradients_by_hand {
#include "examples/gradients_by_hand.cpp"
}
#undef main
#define main language_tour
namespace short_examples::in_language_tour {
#include "examples/language_tour.cpp"
}
#undef main
#define main relaxation
namespace short_examples::in_relaxation {
#include "examples/relaxation.cpp"
}
#undef main
#undef Kernel

namespace samite::test {
namespace {

struct ShortExample {
  const char *name;
  int (*run)();
};
const ShortExample short_examples_list[] = {
    {"algebra_tour", short_examples::in_algebra_tour::algebra_tour},
    {"axpy", short_examples::in_axpy::axpy},
    {"fit", short_examples::in_fit::fit},
    {"gradient", short_examples::in_gradient::gradient},
    {"gradients_by_hand", short_examples::in_gradients_by_hand::gradients_by_hand},
    {"language_tour", short_examples::in_language_tour::language_tour},
    {"relaxation", short_examples::in_relaxation::relaxation},
};

class CudaShortExamples : public CudaCompilerTest, public testing::WithParamInterface<ShortExample> {};

// These show refused programs, or are never differentiated with respect to all of their arrays.
const std::vector<std::string> without_adjoint = {"numbered", "keep_positive"};

TEST_P(CudaShortExamples, FitIntoRegisters) {
  told().clear();
  ASSERT_EQ(GetParam().run(), 0);
  EXPECT_FALSE(told().empty());
  for (const auto &definition : told()) {
    const std::string name = GetParam().name + ("_" + definition->name());
    if (std::ranges::find(without_adjoint, definition->name()) != without_adjoint.end())
      expect_fits(name, definition->forward());
    else
      EXPECT_NO_THROW(expect_fits(name, *definition)) << name;
  }
  told().clear();
}

INSTANTIATE_TEST_SUITE_P(Kernels, CudaShortExamples, testing::ValuesIn(short_examples_list),
                         [](const auto &test) { return std::string(test.param.name); });

}  // namespace
}  // namespace samite::test
