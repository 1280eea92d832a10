// Collective operations and messages between the ranks of a communicator, with gradients.
//
//   tape.record([&] {
//     residuals.launch({n}, own, x);
//     all_reduce(world, total, own);     // total = the sum of all ranks' `own`
//   });
//   tape.backward({{total, weight}});    // on all ranks
//
// All ranks call an operation alike: with the same type, extents, reduction and root. Arrays are on the communicator's
// device, of any type and strides. Results are overwritten. UserErrors are thrown for arrays that do not fit and for
// calls that differ between ranks; DeviceErrors for failures that MPI and NCCL report, for missing ranks, and on an
// aborted communicator.
//
// On a tape each operation is one entry, and its adjoint is an operation of all ranks, too, so all ranks record the
// same operations and call backward. One rule defines the gradients: the objective is the sum over all ranks of each
// rank's own objective, the sum of the products of its cotangents and arrays. Hence
//
//   all_reduce (sum)       all_reduce (sum)              average, min, max and product: see below
//   broadcast              reduce to the root            reduce          broadcast
//   all_gather             reduce_scatter                reduce_scatter  all_gather
//   all_to_all             all_to_all                    gather          scatter
//   send to a rank         receive from it, and add      receive         send
//
// The gradient of an average is divided by the number of ranks; that of min and max goes to the rank that had the
// value, the lowest of several; that of a product is multiplied by the other ranks' values. An array with the same
// values on all ranks, such as a total, is part of the objective once for each rank that gives it a cotangent: give it
// to one rank only, or divide it by the number of ranks. replicated() checks that.
#pragma once

#include "samite/distributed/communicator.h"
#include "samite/runtime/any_buffer.h"

#include <functional>

namespace samite {

// result = the reduction of all ranks' values, element by element, on all ranks.
void all_reduce(const Communicator &ranks, const AnyBuffer &result, const AnyBuffer &values,
                ReduceOp reduction = ReduceOp::sum, SourceLocation where = std::source_location::current());
// The same in place. Not for arrays with gradients on a tape: UserError.
void all_reduce(const Communicator &ranks, const AnyBuffer &values, ReduceOp reduction = ReduceOp::sum,
                SourceLocation where = std::source_location::current());
// On the root only; elsewhere `result` may be an empty buffer.
void reduce(const Communicator &ranks, const AnyBuffer &result, const AnyBuffer &values, int root,
            ReduceOp reduction = ReduceOp::sum, SourceLocation where = std::source_location::current());
// result = the root's values, on all ranks; elsewhere `values` may be an empty buffer.
void broadcast(const Communicator &ranks, const AnyBuffer &result, const AnyBuffer &values, int root,
               SourceLocation where = std::source_location::current());
// The same in place. Not for arrays with gradients on a tape: UserError.
void broadcast(const Communicator &ranks, const AnyBuffer &values, int root,
               SourceLocation where = std::source_location::current());

// result = all ranks' values in the order of ranks: the number of ranks times the number of values.
void all_gather(const Communicator &ranks, const AnyBuffer &result, const AnyBuffer &values,
                SourceLocation where = std::source_location::current());
// result = this rank's part of the reduction; `values` has one part of result's size for each rank.
void reduce_scatter(const Communicator &ranks, const AnyBuffer &result, const AnyBuffer &values,
                    ReduceOp reduction = ReduceOp::sum, SourceLocation where = std::source_location::current());
// On the root only; elsewhere `result` may be an empty buffer.
void gather(const Communicator &ranks, const AnyBuffer &result, const AnyBuffer &values, int root,
            SourceLocation where = std::source_location::current());
// result = this rank's part of the root's values; elsewhere `values` may be an empty buffer.
void scatter(const Communicator &ranks, const AnyBuffer &result, const AnyBuffer &values, int root,
             SourceLocation where = std::source_location::current());
// Part r of the values goes to rank r, and part r of the result comes from it. Equal parts.
void all_to_all(const Communicator &ranks, const AnyBuffer &result, const AnyBuffer &values,
                SourceLocation where = std::source_location::current());
// The same with parts of these numbers of elements. The number that rank r sends to rank s must be the number that s
// receives from r.
void all_to_all(const Communicator &ranks, const AnyBuffer &result, const AnyBuffer &values,
                const std::vector<std::int64_t> &sent, const std::vector<std::int64_t> &received,
                SourceLocation where = std::source_location::current());

// A message of an array. Messages between two ranks arrive in order. `send` may wait for its receiver: two ranks that
// send to each other at the same time use `exchange`.
void send(const Communicator &ranks, const AnyBuffer &values, int to,
          SourceLocation where = std::source_location::current());
void receive(const Communicator &ranks, const AnyBuffer &result, int from,
             SourceLocation where = std::source_location::current());

// A message to be sent or received.
struct ArrayMessage {
  AnyBuffer array;
  int rank;
};
// Runs all of these concurrently, in any order among ranks.
void exchange(const Communicator &ranks, const std::vector<ArrayMessage> &sent,
              const std::vector<ArrayMessage> &received, SourceLocation where = std::source_location::current());

// result = values, which are the same on all ranks: `backward` checks that at most one rank has given it a cotangent
// that is not zero, so that the objective does not count it several times, and otherwise throws a UserError on all
// ranks. In debug mode the values are compared, too.
void replicated(const Communicator &ranks, const AnyBuffer &result, const AnyBuffer &values,
                SourceLocation where = std::source_location::current());

}  // namespace samite
