// A captured kernel and its compiled variants.
//
// Shared by the Kernel, its recorded launches and tapes. Thread-safe: two threads that request the same variant cause
// one compile; different variants compile concurrently.
#pragma once

#include "samite/autodiff/activity.h"
#include "samite/autodiff/adjoint.h"
#include "samite/autodiff/tangent.h"
#include "samite/base/warning.h"
#include "samite/jit/memo.h"
#include "samite/jit/variant.h"
#include "samite/passes/adjoint/gather.h"
#include "samite/passes/analysis/certain_accesses.h"
#include "samite/passes/tiles/factor_copies.h"

#include <array>
#include <optional>

namespace samite::jit {

class KernelDefinition {
 public:
  using MemoryLimit = std::optional<std::int64_t>;  // LaunchOptions::memory_limit

  // Takes a kernel in captured form. UserError for more than 64 parameters.
  explicit KernelDefinition(ir::Kernel captured);
  // Takes a schedule's kernel: in structured form, or `scheduled`, which has no derivatives (UserError).
  struct OfSchedule {
    ir::Kernel kernel;
  };
  explicit KernelDefinition(OfSchedule of);
  ~KernelDefinition();

  const std::string &name() const { return structured_.name; }
  const std::vector<ir::Parameter> &parameters() const { return structured_.parameters; }
  int launch_rank() const { return structured_.launch_rank; }
  SourceLocation where() const { return structured_.where; }

  // In structured form, simplified.
  const ir::Kernel &structured() const { return structured_; }
  // The kernel of a forward launch: the same without the user's adjoints.
  const ir::Kernel &forward() const { return forward_; }
  // Arrays that the kernel stores into or accumulates, as bits.
  std::uint64_t written() const { return written_; }
  // Arrays that the kernel only adds to, as bits.
  std::uint64_t summed() const { return summed_; }
  // Arrays that share memory with no other argument, as bits.
  std::uint64_t distinct() const { return distinct_; }
  // Blocks read the arrays `elsewhere`, as bits, at other places than they write, and each other array only where they
  // write. So a launch is refused if a written array shares elements with another one, unless the two are the same view
  // and neither is read elsewhere. Called before the kernel is launched.
  void expect_apart(std::uint64_t elsewhere) { read_elsewhere_ = elsewhere; }
  const std::optional<std::uint64_t> &read_elsewhere() const { return read_elsewhere_; }
  // Estimated operations of an instance of the forward kernel.
  double cost() const { return cost_; }
  // Dimensions of the launch with 32-bit indices, as bits.
  std::uint64_t narrow_dimensions() const { return narrow_dimensions_; }

  // Called before a launch of several instances. Warns once if they certainly write to one element without atomic steps
  // (passes/analysis/common_writes.h).
  void warn_of_common_writes() const {
    if (!common_write_.empty()) warn_once(common_write_, common_write_);
  }

  // For an array, by dimension: whether the kernel uses an Int for a possibly unbounded index, and for the extent.
  struct NarrowIndices {
    std::array<std::optional<SourceLocation>, ir::maximum_rank> indexed, extent;
  };
  const NarrowIndices &narrow_indices(std::size_t parameter) const { return narrow_indices_[parameter]; }

  // The elements that every launch accesses (jit/out_of_bounds.h); empty for tile kernels, whose windows may leave an
  // array, and for scheduled ones, whose schedule has checked the bounds.
  const passes::CertainAccesses &certain_accesses() const { return certain_accesses_; }

  // The reads of arrays by products of the forward kernel, for devices of this compute capability.
  const std::vector<passes::FactorRead> &factor_reads(int capability) const;

  // The forward kernel with split sums (passes/tiles/split_sums.h); empty if it cannot be split.
  const std::optional<passes::SplitSums> &split_sums(std::int64_t parts = 0) const;

  // A gathering adjoint, without atomics, if there is one.
  struct Gathered {
    std::optional<passes::GatheredAdjoint> adjoint;  // empty if it should not gather, see passes/adjoint/gather.h
    std::uint64_t summed;                            // arrays to whose gradients it only adds, as bits
    double milliseconds;                             // of the derivation
  };
  struct Derived {
    autodiff::Adjoint adjoint;
    std::uint64_t summed;
    double milliseconds;
    // For gradients that share no memory. Derived on first use.
    const Gathered &gathered(passes::Gathering how) const;
    // For a tile kernel: the scattering adjoint as such a GPU runs it; empty if it exceeds a block's memory.
    const std::optional<ir::Kernel> &scattered(int capability) const;

   private:
    mutable Memo<passes::Gathering, Gathered> gathers_;
    mutable Memo<int, std::optional<ir::Kernel>> scattered_;
  };
  // Derived once for each set of active parameters; nothing is compiled. UserError as in derive_adjoint.
  const Derived &derived(std::uint64_t active, bool may_alias, MemoryLimit memory_limit = {});
  const autodiff::Adjoint &adjoint(std::uint64_t active, bool may_alias, MemoryLimit memory_limit = {}) {
    return derived(active, may_alias, memory_limit).adjoint;
  }
  // Null if there is none.
  const passes::GatheredAdjoint *gathered_adjoint(std::uint64_t active, passes::Gathering how);

  // Computed once for each set of active parameters.
  const autodiff::Activity &activity(std::uint64_t active);

  const autodiff::Tangent &tangent(std::uint64_t active) { return derived_tangent(active).tangent; }

  // The derivative as a separate kernel, for `active` parameters: its parameters are the kernel's, then one array of
  // gradients or tangents for each active one, in order. The adjoint reads the kernel's arrays and writes none of them;
  // its gradients are distinct.
  std::shared_ptr<KernelDefinition> adjoint_kernel(std::uint64_t active);
  std::shared_ptr<KernelDefinition> tangent_kernel(std::uint64_t active);

  // An adjoint that takes notes (autodiff/notes.h), as a kernel; each call derives it anew.
  struct Noting {
    std::shared_ptr<KernelDefinition> kernel;
    autodiff::Notes notes;
  };
  Noting noting_adjoint(std::uint64_t active, bool may_alias) const;

  // The time of the derivation.
  double tangent_milliseconds(std::uint64_t active) { return derived_tangent(active).milliseconds; }

  // Compiled on the first call for a key; lives as long as this.
  const std::shared_ptr<const Variant> &variant(const VariantKey &key);

  // The variants compiled so far, in order.
  std::vector<std::shared_ptr<const Variant>> variants() const { return variants_.made(); }

 private:
  struct AdjointKey {
    std::uint64_t active;
    bool may_alias;
    MemoryLimit memory_limit;
    friend bool operator==(const AdjointKey &, const AdjointKey &) = default;
  };
  struct DerivedTangent {
    autodiff::Tangent tangent;
    double milliseconds;
  };
  // By the active parameters.
  struct Derivatives {
    Memo<AdjointKey, std::unique_ptr<const Derived>> adjoints;
    Memo<std::uint64_t, DerivedTangent> tangents;
    Memo<std::uint64_t, autodiff::Activity> activities;
    Memo<std::uint64_t, std::shared_ptr<KernelDefinition>> adjoint_kernels, tangent_kernels;
  };

  struct Structured {
    ir::Kernel kernel;
  };
  explicit KernelDefinition(Structured structured);

  void refuse_derivatives_of_schedules() const;
  const DerivedTangent &derived_tangent(std::uint64_t active);
  std::vector<bool> flags(std::uint64_t active) const;
  void find_narrow_indices();

  ir::Kernel structured_, forward_;
  std::uint64_t written_ = 0, narrow_dimensions_ = 0, summed_ = 0, distinct_ = 0;
  std::optional<std::uint64_t> read_elsewhere_;
  double cost_ = 1;
  std::string common_write_;  // the warning, or empty
  std::vector<NarrowIndices> narrow_indices_;
  passes::CertainAccesses certain_accesses_;
  mutable Memo<int, std::vector<passes::FactorRead>> factor_reads_;
  mutable Memo<std::int64_t, std::optional<passes::SplitSums>> split_sums_;
  Memo<VariantKey, std::shared_ptr<const Variant>> variants_;
  Derivatives derivatives_;
};

}  // namespace samite::jit
