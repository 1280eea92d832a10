// Sparse matrices in files of NIST's Matrix Market format.
//
//   SparseMatrix a = read_matrix_market("bcsstk01.mtx", device);
//   write_matrix_market("a.mtx", a);
//
// Reads coordinate files of real, integer and pattern matrices (whose numbers are 1), general, symmetric and
// skew-symmetric: the other triangle is filled in. Writes general real files, with enough digits to restore the same
// numbers. UserError names the file and its line.
#pragma once

#include "samite/solve/sparse_matrix.h"

#include <filesystem>
#include <iosfwd>

namespace samite::solvers {

SparseMatrix read_matrix_market(const std::filesystem::path &file, Device device, ScalarType type = ScalarType::Float64,
                                SourceLocation where = std::source_location::current());
// `name` is the stream's name for errors.
SparseMatrix read_matrix_market(std::istream &stream, const std::string &name, Device device,
                                ScalarType type = ScalarType::Float64,
                                SourceLocation where = std::source_location::current());

void write_matrix_market(const std::filesystem::path &file, const SparseMatrix &a,
                         SourceLocation where = std::source_location::current());
void write_matrix_market(std::ostream &stream, const SparseMatrix &a);

}  // namespace samite::solvers
