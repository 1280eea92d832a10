// A kernel as Python calls it.
//
// An ordinary call reads its arguments, finds the launch of an earlier call with the same arrays, and launches that
// again with the scalars of now. Where there is none it records one. The last few are kept, without their arrays: a
// call's arrays live as long as the call does, which on CUDA their libraries' own order of memory and streams extends
// to the end of the work.
//
// Python's lock is held at the beginning and the end of each function, and not while a kernel is compiled or runs.
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

  // What pickle makes it of again, in another process: a function of samite/_restore.py and its arguments. None where
  // there is no such way.
  const nb::object &origin() const { return origin_; }
  void set_origin(nb::object origin) { origin_ = std::move(origin); }

  void call(PyObject *positional, PyObject *named);
  std::unique_ptr<LaunchObject> record(PyObject *positional, PyObject *named);

  // The derivative with respect to arrays of the given names, or to all that are floating, as a kernel of its own: its
  // parameters are this kernel's and then an array for each of those. Derived now, compiled when it is called.
  std::unique_ptr<KernelObject> adjoint(const nb::args &names) const;
  std::unique_ptr<KernelObject> tangent(const nb::args &names) const;

 private:
  struct Kept {
    std::vector<ArrayKey> arrays;
    std::vector<std::uint64_t> bits;
    Extents extents;
    void *stream;
    bool debug, deterministic;
    bool busy;  // a thread launches it now
    std::unique_ptr<Launch> launch;

    bool is_for(const Bound &bound, bool debug_now) const;
  };
  // Null where none is kept for these arguments that is not busy.
  Kept *find(const Bound &bound, bool debug);
  void launch(Kept &kept);
  Kept *keep(Kept &&kept);

  using Derive = std::shared_ptr<jit::KernelDefinition> (jit::KernelDefinition::*)(std::uint64_t);
  std::unique_ptr<KernelObject> derivative(const nb::args &names, const char *kind, Derive derive) const;

  Signature signature_;
  std::string documentation_;
  nb::object origin_ = nb::none();
  std::vector<std::unique_ptr<Kept>> kept_;
  // Of calls that a graph of another library captured, which may run it at any time from then on: their memory stays.
  std::vector<std::unique_ptr<Kept>> captured_;
  std::size_t next_ = 0;  // the one that goes next
};

}  // namespace samite::python
