// Copies between a block's array and the memory of its messages, on the CPU by loops, on CUDA by one kernel for all
// messages.
#pragma once

#include "samite/distributed/ghost_plan.h"
#include "samite/runtime/any_buffer.h"
#include "samite/runtime/stream.h"

#include <memory>
#include <span>

namespace samite::distributed {

// For memory of the host. `packed` has the elements of all messages.
void pack_ghosts(const AnyBuffer &array, std::span<const GhostMessage> messages, std::byte *packed);
void unpack_ghosts(const AnyBuffer &array, std::span<const GhostMessage> messages, const std::byte *packed);
// array += packed, message after message; a type that has gradients.
void add_ghosts(const AnyBuffer &array, std::span<const GhostMessage> messages, const std::byte *packed);

// The elements that a plan's messages have, on a device, for its kernels: numbers of elements in row-major order of
// arrays with ghosts, which are contiguous, of a floating type of more than 8 bits.
class GhostTables {
 public:
  GhostTables(Device device, const Extents &padded, const GhostPlan &plan);

  // packed(i) = array(element of message i), for sent or received elements.
  void pack_sent(const AnyBuffer &packed, const AnyBuffer &array, const Stream &stream) const;
  void pack_received(const AnyBuffer &packed, const AnyBuffer &array, const Stream &stream) const;
  // array(received element) = packed(i).
  void unpack_received(const AnyBuffer &array, const AnyBuffer &packed, const Stream &stream) const;
  // Adds to each element the values of all messages that sent it, in their order.
  void add_sent(const AnyBuffer &array, const AnyBuffer &packed, const Stream &stream) const;

 private:
  template <class T>
  struct KernelsOf;
  struct Kernels;
  static std::shared_ptr<const Kernels> kernels();
  // packed(i) = array(elements(i)).
  void take(const AnyBuffer &packed, const AnyBuffer &array, const AnyBuffer &elements, const Stream &stream) const;

  std::shared_ptr<const Kernels> kernels_;
  AnyBuffer sent_, received_;  // i32, the element of each packed one
  // The sent elements, each once; element homes_(i) is packed in slots_(first_(i)) to slots_(first_(i + 1) -
  // 1).
  AnyBuffer homes_, first_, slots_;
};

}  // namespace samite::distributed
