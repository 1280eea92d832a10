// Adds a thread's elements to those of an array that no other thread touches, in batches: all of a batch are loaded
// before the first is stored. The compiler does not know that the elements are different, and would wait for each store
// before the next load.
#pragma once

#include "samite/device/cuda/memory.h"

namespace samite {

// `packs` of `count` elements, in turn. The elements of a batch take registers until they are stored.
template <class T, int count, int packs>
struct Additions {
  static constexpr int bytes = int(sizeof(T)) * count, most = 128 / bytes < 16 ? 128 / bytes : 16;
  static constexpr int batch = packs < most ? packs : most;
  Pack<T, count> more[batch];
  T *at[batch];

  // Adds pack number `n` to the elements at `p`.
  SAMITE_INLINE_MEMBER void put(int n, T *p, const Pack<T, count> &pack) {
    more[n % batch] = pack;
    at[n % batch] = p;
    if (n % batch == batch - 1 || n == packs - 1) add(n % batch + 1);
  }

 private:
  SAMITE_INLINE_MEMBER void add(int count_of_packs) {
    Pack<T, count> old[batch];
#pragma unroll
    for (int k = 0; k < batch; ++k)
      if (k < count_of_packs) old[k] = load_pack<count>(static_cast<const T *>(at[k]));
#pragma unroll
    for (int k = 0; k < batch; ++k)
      if (k < count_of_packs) store_pack(at[k], sums_of(old[k], more[k]));
  }
};

// A loop over a thread's elements adds them to an array in groups of `count` of a row: together, or one by one.
template <class T, int count, int registers, bool together>
struct AddTogether {
  Pack<T, count> pack;
  Additions<T, count, registers / count> additions;

  SAMITE_INLINE_MEMBER void put(int r, T *p, Register<T> value) {
    if constexpr (together) {
      pack.at[r % count] = T(value);
      if (r % count == count - 1) additions.put(r / count, p - (count - 1), pack);
    } else {
      *p += value;
    }
  }
};

// The same, in an atomic step for each element.
template <class T, int count, bool together>
struct AddAtomically {
  Pack<T, count> pack;

  SAMITE_INLINE_MEMBER void put(int r, T *p, Register<T> value) {
    if constexpr (together) {
      pack.at[r % count] = T(value);
      if (r % count == count - 1) atomic_add_pack(p - (count - 1), pack);
    } else {
      atomic_add(p, value);
    }
  }
};

}  // namespace samite
