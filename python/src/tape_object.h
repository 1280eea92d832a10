// A tape as Python records it (jit/tape.h).
//
// Each array is borrowed once, so that all launches on the tape share its gradient, and is kept until the tape is
// cleared. Different arrays that share memory are refused, because their gradients would be separate.
//
// The C++ tape knows only of writes by launches. On the CPU, hashes of the elements detect writes by other Python code
// and report them to the tape, which then refuses gradients that need overwritten values.
#pragma once

#include "recorder.h"
#include "samite/base/hash.h"
#include "samite/jit/tape.h"

#include <unordered_map>

namespace samite::python {

class TapeObject final : public Recorder {
 public:
  TapeObject(bool keep_values, bool check_finite, bool check_writes)
      : tape_({.keep_values = keep_values, .check_finite = check_finite}), check_writes_(check_writes) {}

  void enter(const nb::object &self) { begin(*this, self, "a tape"); }
  void exit() noexcept { end(); }
  void call(const Signature &signature, Bound bound, const std::vector<PyObject *> &given) override;
  void call(LaunchObject &launch) override;

  // Marks arrays that get no gradient, before launches use them.
  void constant(const nb::args &arrays);
  // Starts from one array, whose cotangent is 1 if None, or from a list of pairs of an array and its cotangent.
  void backward(const nb::object &objective, const nb::object &cotangent);
  // Copies the gradient of an array on the tape.
  void copy_gradient(const nb::object &array, const nb::object &to);
  void zero_gradients();
  void clear();

  std::size_t size() const { return tape_.size(); }
  std::int64_t kept_bytes() const { return tape_.kept_bytes(); }
  std::string to_string() const { return tape_.to_string(); }

 private:
  struct Array {
    ArrayKey key;
    AnyBuffer buffer;
    nb::object object;
    Loan loan;
    std::optional<Hash128> hash = {};  // of the elements after the last launch that used them

    Hash128 hash_now() const;
    // Tells the tape if other code has written to the array since.
    void find_write();
  };

  // Runs `work` without Python's lock; UserError while another thread uses the tape.
  template <class F>
  void alone(const F &work);
  void require_free() const;
  // The array with this memory and layout; null if the tape has none.
  Array *find(const ArrayKey &key);
  Array &add(ArrayView view, PyObject *object, const std::optional<Stream> &stream, const std::string &what,
             bool is_constant);
  void refuse_overlap(const AnyBuffer &buffer, const std::string &what) const;
  AnyBuffer known(PyObject *object, const std::string &what);

  Tape tape_;
  bool check_writes_;
  std::unordered_multimap<void *, Array> arrays_;  // by their address
  bool busy_ = false;
};

void define_tape(nb::module_ &module);

}  // namespace samite::python
