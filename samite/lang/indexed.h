// A view of an array through an array of indices: nothing is copied.
//
//   auto picked = indexed(values, order);      // picked(i) is values(order(i))
//   auto columns = indexed<1>(matrix, kept);   // columns(i, j) is matrix(i, kept(j))
//
// It reads and assigns like an array of the same rank, except that its extent along that dimension is the number of
// indices, and may itself be indexed. If several indices select one element, a store to it is a race and an addition
// needs atomic_add, as usual; gradients add up in that element.
#pragma once

#include "samite/lang/array.h"

namespace samite {

// A view of `Base`, an Array or another view, along `dimension`. `I` is the integer type of the indices.
template <class Base, int dimension, class I>
class Indexed {
 public:
  using element_type = typename Base::element_type;
  static constexpr int rank = Base::rank;

  Indexed(const Base &base, const Array<I, 1> &indices) : base_(base), indices_(indices) {}

  auto operator()(const Index &i) const
    requires(rank == 1)
  {
    return base_(at<0>(i));
  }
  auto operator()(const Index &i, const Index &j) const
    requires(rank == 2)
  {
    return base_(at<0>(i), at<1>(j));
  }
  auto operator()(const Index &i, const Index &j, const Index &k) const
    requires(rank == 3)
  {
    return base_(at<0>(i), at<1>(j), at<2>(k));
  }
  auto operator()(const Index &i, const Index &j, const Index &k, const Index &l) const
    requires(rank == 4)
  {
    return base_(at<0>(i), at<1>(j), at<2>(k), at<3>(l));
  }

  Int extent(int d, SourceLocation where = std::source_location::current()) const {
    return d == dimension ? indices_.extent(0, where) : base_.extent(d, where);
  }

 private:
  template <int d>
  Index at(const Index &index) const {
    if constexpr (d == dimension)
      return Index(indices_(index), index.where());
    else
      return index;
  }

  Base base_;
  Array<I, 1> indices_;
};

template <int dimension = 0, class Base, class I>
  requires(std::integral<I> && !std::same_as<std::remove_const_t<I>, bool>)
Indexed<Base, dimension, I> indexed(const Base &array, const Array<I, 1> &indices) {
  static_assert(dimension >= 0 && dimension < Base::rank, "the array has no such dimension");
  return {array, indices};
}

}  // namespace samite
