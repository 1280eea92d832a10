// Local arrays: an instance's own memory, indexed by values that the kernel computes.
//
//   LocalArray<float, 8> window;                      // eight zeros
//   for (Int k : range(8)) window(k) = x(i + k);
//   LocalArray<std::int32_t, 3> steps{1, i, i * i};   // the elements that are not given are zero
//
// Elements are read, assigned and used in operators like those of an `Array`: `a(i)`, or `a[i]`, is a reference.
// Copying copies the elements; a function takes a local array by reference. A moved-from array may be assigned to or
// filled, so that std::swap, std::vector and other code that moves objects work as for scalars. It lives from its
// declaration to the end of the block, anew in each iteration of a loop, as in C++. An index outside is undefined in
// release mode; in debug mode it is an error that names index, size and line. An index outside that is a C++ constant
// is an error of the capture.
#pragma once

#include "samite/lang/array.h"

#include <utility>

namespace samite {
namespace lang {

// A LocalArray without its type.
struct LocalStorage {
  std::uint32_t serial;
  ir::LocalArrayId array;
};

// Allocates without initial elements.
LocalStorage allocate_local(ScalarType type, std::int64_t size, SourceLocation where);
void fill_local(const LocalStorage &to, std::int64_t size, ir::Value value, SourceLocation where);
void copy_local(const LocalStorage &to, const LocalStorage &from, ScalarType type, std::int64_t size,
                SourceLocation where);
Access local_access(const LocalStorage &storage, std::int64_t size, const Index &index);

// The local array that an object of C++ stands for. A move passes it on, as a LocalHandle (lang/traced.h) passes on its
// local.
class LocalArrayHandle {
 public:
  explicit LocalArrayHandle(const LocalStorage &storage);
  LocalArrayHandle(LocalArrayHandle &&from) noexcept;
  LocalArrayHandle &operator=(LocalArrayHandle &&) = delete;
  ~LocalArrayHandle();

  // UserError if it was moved from.
  const LocalStorage &storage(SourceLocation where) const;
  // The array, all of whose elements are about to be stored; a moved-from object gets a new array of its own.
  const LocalStorage &overwritten(ScalarType type, std::int64_t size, SourceLocation where);

 private:
  LocalStorage storage_;
  std::uint32_t moved_in_ = 0;  // the block
};

}  // namespace lang

template <Scalar T, int N>
class LocalArray {
  static_assert(N >= 1, "a LocalArray has one element at least");

 public:
  using element_type = T;

  LocalArray(SourceLocation where = std::source_location::current())
      : handle_(lang::allocate_local(scalar_type_of<T>, N, where)) {
    fill(Operand<T>(T{}, where));
  }
  LocalArray(std::initializer_list<Operand<T>> elements, SourceLocation where = std::source_location::current())
      : handle_(lang::allocate_local(scalar_type_of<T>, N, where)) {
    if (elements.size() < N) fill(Operand<T>(T{}, where));
    int i = 0;
    for (const Operand<T> &element : elements) at(Index(i++, element.where())).access().store(element.value());
  }
  LocalArray(const LocalArray &other, SourceLocation where = std::source_location::current())
      : handle_(lang::allocate_local(scalar_type_of<T>, N, where)) {
    lang::copy_local(handle_.storage(where), other.handle_.storage(where), scalar_type_of<T>, N, where);
  }
  LocalArray(LocalArray &&other) noexcept = default;

  LocalArray &operator=(const LocalArray &other) {
    if (this == &other) return *this;
    const SourceLocation where = lang::latest_location();
    // First: if this array was moved from, the one that has its elements, perhaps `other`, may get new storage here.
    const lang::LocalStorage &to = handle_.overwritten(scalar_type_of<T>, N, where);
    lang::copy_local(to, other.handle_.storage(where), scalar_type_of<T>, N, where);
    return *this;
  }
  // Also a copy, because the array may have been declared outside of the loop or branch that assigns it.
  LocalArray &operator=(LocalArray &&other) { return *this = std::as_const(other); }
  ~LocalArray() {}  // NOLINT(modernize-use-equals-default): avoids warnings about unused arrays

  Element<T> operator()(Index i) { return at(i); }
  Element<T> operator[](Index i) { return at(i); }
  Element<const T> operator()(Index i) const { return at(i); }
  Element<const T> operator[](Index i) const { return at(i); }

  // Exchanges the elements at this point of the program, also in a branch or loop.
  friend void swap(LocalArray &a, LocalArray &b) {  // NOLINT(performance-noexcept-swap): capturing allocates
    const LocalArray kept = a;
    a = b;
    b = kept;
  }

  static constexpr int size() { return N; }
  void fill(const Operand<T> &value) {
    lang::fill_local(handle_.overwritten(scalar_type_of<T>, N, value.where()), N, value.value(), value.where());
  }

 private:
  Element<T> at(const Index &i) { return Element<T>(lang::local_access(handle_.storage(i.where()), N, i)); }
  Element<const T> at(const Index &i) const {
    return Element<const T>(lang::local_access(handle_.storage(i.where()), N, i));
  }

  lang::LocalArrayHandle handle_;
};

}  // namespace samite
