// Local arrays: memory of one instance's own, with an index that the kernel computes.
//
//   LocalArray<float, 8> window;                      // eight zeros
//   for (Int k : range(8)) window(k) = x(i + k);
//   LocalArray<std::int32_t, 3> steps{1, i, i * i};   // the elements that are not given are zero
//
// Elements read, assign and take part in operators like those of an `Array`: `a(i)`, or `a[i]`, is a reference. A copy
// is a copy; a function takes a local array by reference. It is there from its declaration to the end of the block, in
// a loop anew in each iteration, as in C++. An index outside is undefined in release mode, and an error that names
// index, size and line in debug mode; one that is a constant of C++ is an error of the capture.
#pragma once

#include "samite/lang/array.h"

#include <utility>

namespace samite {
namespace lang {

// What a LocalArray is, but for its type.
struct LocalStorage {
  std::uint32_t serial;
  ir::LocalArrayId array;
};

// With no particular elements.
LocalStorage allocate_local(ScalarType type, std::int64_t size, SourceLocation where);
void fill_local(const LocalStorage &to, std::int64_t size, ir::Value value, SourceLocation where);
void copy_local(const LocalStorage &to, const LocalStorage &from, ScalarType type, std::int64_t size,
                SourceLocation where);
Access local_access(const LocalStorage &storage, std::int64_t size, const Index &index);

}  // namespace lang

template <Scalar T, int N>
class LocalArray {
  static_assert(N >= 1, "a LocalArray has one element at least");

 public:
  using element_type = T;

  LocalArray(SourceLocation where = std::source_location::current())
      : storage_(lang::allocate_local(scalar_type_of<T>, N, where)) {
    fill(Operand<T>(T{}, where));
  }
  LocalArray(std::initializer_list<Operand<T>> elements, SourceLocation where = std::source_location::current())
      : storage_(lang::allocate_local(scalar_type_of<T>, N, where)) {
    if (elements.size() < N) fill(Operand<T>(T{}, where));
    int i = 0;
    for (const Operand<T> &element : elements)
      lang::local_access(storage_, N, Index(i++, element.where())).store(element.value());
  }
  LocalArray(const LocalArray &other, SourceLocation where = std::source_location::current())
      : storage_(lang::allocate_local(scalar_type_of<T>, N, where)) {
    lang::copy_local(storage_, other.storage_, scalar_type_of<T>, N, where);
  }
  LocalArray(LocalArray &&other) noexcept : storage_(other.storage_) { other.storage_.serial = 0; }

  LocalArray &operator=(const LocalArray &other) {
    lang::copy_local(storage_, other.storage_, scalar_type_of<T>, N, lang::latest_location());
    return *this;
  }
  // A copy, too: the array may have been declared outside of the loop or branch where it is assigned.
  LocalArray &operator=(LocalArray &&other) { return *this = std::as_const(other); }
  ~LocalArray() {}  // NOLINT(modernize-use-equals-default): an array that only its declaration names is meant

  Element<T> operator()(Index i) { return at(i); }
  Element<T> operator[](Index i) { return at(i); }
  Element<const T> operator()(Index i) const { return at(i); }
  Element<const T> operator[](Index i) const { return at(i); }

  static constexpr int size() { return N; }
  void fill(const Operand<T> &value) { lang::fill_local(storage_, N, value.value(), value.where()); }

 private:
  Element<T> at(const Index &i) { return Element<T>(lang::local_access(storage_, N, i)); }
  Element<const T> at(const Index &i) const { return Element<const T>(lang::local_access(storage_, N, i)); }

  lang::LocalStorage storage_;
};

}  // namespace samite
