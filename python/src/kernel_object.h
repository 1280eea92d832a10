// A kernel as Python calls it.
//
// An ordinary call reads its arguments, finds the launch of an earlier call with the same arrays, and launches that
// again with the current scalars. If there is none, the call records one. The last few launches are kept without their
// arrays, which live as long as the call does. On CUDA the arrays' libraries order memory and streams, so that the
// memory lasts to the end of the work.
//
// Each function holds Python's lock at its beginning and end, but not while a kernel is compiled or runs.
#pragma once

#include "signature.h"

#include <memory>
#include <vector>

namespace samite::python {

class LaunchObject;

class KernelObject {
 public:
  KernelObject(std::string name, std::string documentation, std::shared_ptr<jit::KernelDefinition> definition,
               const std::vector<std::size_t> &counts);
  KernelObject(const KernelObject &) = delete;
  KernelObject &operator=(const KernelObject &) = delete;

  const Signature &signature() const { return signature_; }
  const std::string &name() const { return signature_.function(); }
  const std::string &documentation() const { return documentation_; }

  // The function of samite/_restore.py and its arguments that restore the kernel from a pickle, in another process.
  // None if the kernel cannot be pickled.
  const nb::object &origin() const { return origin_; }
  void set_origin(nb::object origin) { origin_ = std::move(origin); }

  void call(PyObject *positional, PyObject *named);
  std::unique_ptr<LaunchObject> record(PyObject *positional, PyObject *named);

  // The derivative with respect to the named arrays, or to all floating arrays, as a separate kernel: its parameters
  // are this kernel's, then an array for each of those. It is derived now, and compiled when it is called.
  std::unique_ptr<KernelObject> adjoint(const nb::args &names) const;
  std::unique_ptr<KernelObject> tangent(const nb::args &names) const;

 private:
  struct Kept {
    std::vector<ArrayKey> arrays;
    std::vector<std::uint64_t> bits;
    Extents extents;
    void *stream;
    bool debug, deterministic;
    bool busy;  // a thread is launching it
    std::unique_ptr<Launch> launch;

    bool is_for(const Bound &bound, bool debug_now) const;
  };
  // The kept launch for these arguments that is not busy, or null.
  Kept *find(const Bound &bound, bool debug);
  void launch(Kept &kept);
  Kept *keep(Kept &&kept);

  using Derive = std::shared_ptr<jit::KernelDefinition> (jit::KernelDefinition::*)(std::uint64_t);
  std::unique_ptr<KernelObject> derivative(const nb::args &names, const char *kind, Derive derive) const;

  Signature signature_;
  std::string documentation_;
  nb::object origin_ = nb::none();
  std::vector<std::unique_ptr<Kept>> kept_;
  // Launches that another library's graph captured. They are kept for good, because the graph may run at any time.
  std::vector<std::unique_ptr<Kept>> captured_;
  std::size_t next_ = 0;  // the next one to replace
};

}  // namespace samite::python
