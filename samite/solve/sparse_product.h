// The product of two sparse matrices, which is sparse.
//
//   SparseProduct product(a, b);               // where A B has entries, and what they are sums of
//   SparseMatrix c = product.multiply(a, b);   // again and again, for other values of the same patterns
//
// The host finds once which products of entries each entry of A B adds up (Gustavson, Two fast algorithms for sparse
// matrices, 1978). A product is then one launch without atomics, in a fixed order, with the same bits on every run. An
// entry is stored where A and B have entries to multiply, also if the numbers cancel. On a tape the gradients of the
// values of A and B are such sums, too, on their own patterns.
//
// Matrices of numbers, or of blocks that fit: the columns of A's blocks are the rows of B's. Copies share what was
// found. Thread-safe. Errors are UserErrors.
#pragma once

#include "samite/solve/sparse_matrix.h"

#include <cstdint>
#include <memory>

namespace samite::solvers {

class SparseProduct {
 public:
  // UserError for extents, blocks, types and devices that do not fit, and for more than 2147483647 products of entries.
  SparseProduct(const SparseMatrix &a, const SparseMatrix &b, SourceLocation where = std::source_location::current());

  // A B, for matrices of these patterns; UserError for others.
  SparseMatrix multiply(const SparseMatrix &a, const SparseMatrix &b,
                        SourceLocation where = std::source_location::current()) const;

  std::int64_t products() const;  // of two entries

  // For the library.
  struct Terms;

 private:
  std::shared_ptr<const Terms> terms_;
};

// A B once.
SparseMatrix multiply(const SparseMatrix &a, const SparseMatrix &b,
                      SourceLocation where = std::source_location::current());

}  // namespace samite::solvers
