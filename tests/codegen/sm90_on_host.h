// Features of compute capability 9.0 on the host: the meaning of samite/device/cuda/sm90_*.h in kernels that run
// without a GPU (tests/codegen/cuda_on_host.cpp). Asynchronous work happens as late as possible: a copy arrives when no
// thread can continue without it, and a product is computed when it has been waited for. A product is also computed
// when it starts, and both results must agree: its operands must not change in between.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace samite::test {

// The contents of a kernel's parameter in place of the driver's tensor map: for boxes swizzled by 128 bytes. The
// innermost dimension is the last; `strides` in bytes, of all others.
struct TensorMapOnHost {
  alignas(64) std::array<std::uint64_t, 16> words{};

  TensorMapOnHost(const void *data, unsigned element_bytes, const std::vector<std::uint64_t> &extents,
                  const std::vector<std::uint64_t> &strides, const std::vector<std::uint64_t> &box,
                  bool rounds_to_tf32 = false, bool in_rows = false) {
    const std::size_t rank = extents.size();
    words[0] = reinterpret_cast<std::uintptr_t>(data);
    words[1] = rank | element_bytes << 8 | std::uint64_t{rounds_to_tf32} << 16 | std::uint64_t{in_rows} << 17;
    for (std::size_t d = 0; d < rank; ++d) {
      words[2 + d] = extents[rank - 1 - d];
      words[11 + d] = box[rank - 1 - d];
      if (d > 0) words[6 + d] = strides[rank - 1 - d];
    }
  }
};

// After the other intrinsics.
inline constexpr std::string_view sm90_on_host = R"(
namespace samite {

SAMITE_INLINE u32 shared_address(const void *p) { return u32(reinterpret_cast<u64>(p) - reinterpret_cast<u64>(memory_of_block)); }

struct BarrierOnHost {
  u64 known : 8, arrivals : 10, missing : 10, parity : 1, bytes : 35;
};
static_assert(sizeof(BarrierOnHost) == sizeof(u64));
SAMITE_INLINE BarrierOnHost barrier_at(const u64 *p) {
  const auto barrier = __builtin_bit_cast(BarrierOnHost, *p);
  if (barrier.known != 0xb5) __builtin_trap();
  return barrier;
}
// A phase may have got more bytes than were announced so far.
constexpr u64 no_bytes = u64(1) << 34;
SAMITE_INLINE void change_barrier(u64 *p, BarrierOnHost barrier) {
  if (barrier.missing == 0 && barrier.bytes == no_bytes) {
    barrier.missing = barrier.arrivals;
    barrier.parity ^= 1;
  }
  *p = __builtin_bit_cast(u64, barrier);
}
SAMITE_INLINE void make_barrier(u64 *p, u32 arrivals) {
  change_barrier(p, {0xb5, arrivals, arrivals, 0, no_bytes});
}
SAMITE_INLINE void show_barriers() {}
SAMITE_INLINE void end_barrier(u64 *p) {
  if (barrier_at(p).bytes != no_bytes) __builtin_trap();
  *p = ~u64(0);
}
SAMITE_INLINE void arrive_expecting(u64 *p, u32 bytes) {
  BarrierOnHost barrier = barrier_at(p);
  if (barrier.missing == 0) __builtin_trap();
  barrier.missing -= 1;
  barrier.bytes += bytes;
  change_barrier(p, barrier);
}
SAMITE_INLINE void arrive(u64 *p) { arrive_expecting(p, 0); }
// The same address in the memory of another block of the cluster.
template <class T> SAMITE_INLINE T *in_block(T *p, u32 block) {
  return reinterpret_cast<T *>(memories[block] + shared_address(p));
}
SAMITE_INLINE void arrive_in_block(u64 *p, u32 block) { arrive(in_block(p, block)); }
SAMITE_INLINE void load_of_block(u32 (&words)[4], const void *p, u32 block) {
  __builtin_memcpy(words, in_block(static_cast<const u8 *>(p), block), sizeof words);
}
SAMITE_INLINE void store_in_block(void *p, u32 block, const u32 (&words)[4]) {
  __builtin_memcpy(in_block(static_cast<u8 *>(p), block), words, sizeof words);
}
SAMITE_INLINE void sync_cluster() { machine.wait_cluster(); }

// Dimension 0 is the innermost.
struct alignas(64) TensorMap {
  u64 words[16];
};
SAMITE_INLINE void fetch_map(const TensorMap *) {}
// Reads it, so that accesses outside of an array are detected.
SAMITE_INLINE void fetch_to_l2(const void *from, u32 bytes) {
  if (u64(from) % 16 != 0 || bytes % 16 != 0) __builtin_trap();
  for (u32 i = 0; i < bytes; ++i) (void)static_cast<const volatile u8 *>(from)[i];
}
struct BoxOnItsWay {
  u32 block, to;
  const TensorMap *map;
  i32 at[5];
  u64 *barrier;
};
static struct { BoxOnItsWay at[1024]; int count; } boxes_on_their_way;
// Calls `see` with each element's place in a block's shared memory and its address, null outside of the array.
template <class See> SAMITE_INLINE void for_each_of_box(const TensorMap &map, const i32 (&at)[5], u8 *memory, u32 shared, const See &see) {
  const u64 rank = map.words[1] & 255, bytes = map.words[1] >> 8 & 255, *extent = map.words + 2, *box = map.words + 11;
  u64 count = 1;
  for (u64 d = 0; d < rank; ++d) count *= box[d];
  for (u64 n = 0; n < count; ++n) {
    u64 rest = n, address = map.words[0];
    bool inside = true;
    for (u64 d = 0; d < rank; ++d) {
      const i64 index = at[d] + i64(rest % box[d]);
      rest /= box[d];
      inside = inside && index >= 0 && u64(index) < extent[d];
      address += u64(index) * (d == 0 ? bytes : map.words[6 + d]);
    }
    u64 place = shared + n * bytes;
    if (!(map.words[1] >> 17 & 1)) place ^= (place >> 7 & 7) << 4;
    see(memory + place, inside ? reinterpret_cast<u8 *>(address) : nullptr, bytes);
  }
}
SAMITE_INLINE u32 bytes_of_box(const TensorMap &map) {
  u64 bytes = map.words[1] >> 8 & 255;
  for (u64 d = 0; d < (map.words[1] & 255); ++d) bytes *= map.words[11 + d];
  return u32(bytes);
}
// To the memory of one block.
template <int rank> SAMITE_INLINE void send_box(u32 block, void *to, const TensorMap *map, const i32 (&at)[rank], u64 *barrier) {
  BoxOnItsWay box{block, shared_address(to), map, {}, in_block(barrier, block)};
  for (int d = 0; d < rank; ++d) box.at[d] = at[rank - 1 - d];
  const u64 width = map->words[11] * (map->words[1] >> 8 & 255);
  const bool in_rows = map->words[1] >> 17 & 1;
  const u32 unit = in_rows ? 128 : 1024;
  if ((map->words[1] & 255) != rank || (in_rows ? width % 16 : width - 128) != 0 || shared_address(to) % unit != 0 ||
      i64(at[rank - 1]) * i64(map->words[1] >> 8 & 255) % 16 != 0 || boxes_on_their_way.count == 1024)
    __builtin_trap();
  barrier_at(box.barrier);
  __builtin_memset(in_block(static_cast<u8 *>(to), block), 0xff, bytes_of_box(*map));
  boxes_on_their_way.at[boxes_on_their_way.count++] = box;
}
template <int rank> SAMITE_INLINE void copy_box(void *to, const TensorMap *map, const i32 (&at)[rank], u64 *barrier) {
  send_box(block_of_cluster(), to, map, at, barrier);
}
// It arrives in each block at a different time.
template <int rank> SAMITE_INLINE void copy_box_to_blocks(void *to, const TensorMap *map, const i32 (&at)[rank], u64 *barrier, u32 blocks) {
  for (u32 block = 0; block < 2; ++block)
    if (blocks >> block & 1) send_box(block, to, map, at, barrier);
}
SAMITE_INLINE void bring_box(const BoxOnItsWay &box) {
  for_each_of_box(*box.map, box.at, memories[box.block], box.to, [&](u8 *to, const u8 *from, u64 bytes) {
    __builtin_memset(to, 0, bytes);
    if (from) __builtin_memcpy(to, from, bytes);
    if (box.map->words[1] >> 16 & 1) {
      u32 word;
      __builtin_memcpy(&word, to, 4);
      word = tf32_bits(f32_of_bits(word));
      __builtin_memcpy(to, &word, 4);
    }
  });
  BarrierOnHost barrier = barrier_at(box.barrier);
  barrier.bytes -= bytes_of_box(*box.map);
  change_barrier(box.barrier, barrier);
}
template <int rank> SAMITE_INLINE void store_box(const TensorMap *map, const i32 (&at)[rank], const void *from) {
  i32 place[5] = {};
  for (int d = 0; d < rank; ++d) place[d] = at[rank - 1 - d];
  for_each_of_box(*map, place, memory_of_block, shared_address(from), [](u8 *shared, u8 *to, u64 bytes) {
    if (to) __builtin_memcpy(to, shared, bytes);
  });
}
SAMITE_INLINE void end_group_of_stores() {}
template <int> SAMITE_INLINE void wait_for_stores_to_read() {}
SAMITE_INLINE void fence_for_copies() {}

// Copies arrive when no thread can continue without them, the latest first.
SAMITE_INLINE void wait_for_phase(u64 *p, u32 parity) {
  for (bool first = true; barrier_at(p).parity == parity; first = false) {
    if (!first && boxes_on_their_way.count > 0) {
      bring_box(boxes_on_their_way.at[--boxes_on_their_way.count]);
      continue;
    }
    machine.wait_for_others();
  }
}

SAMITE_INLINE int warp_group_of_block() { return int(threadIdx.x / 128); }
template <int> SAMITE_INLINE void give_registers() {}
template <int> SAMITE_INLINE void take_registers() {}
SAMITE_INLINE bool is_elected() { return threadIdx.x % 32 == 0; }
static struct { int waiting, times; } named_barriers[8][16];
SAMITE_INLINE void come_to(int barrier, int threads, bool waits) {
  auto &own = named_barriers[block_of_cluster()][barrier];
  const int before = own.times;
  if (++own.waiting == threads) own.waiting = 0, ++own.times;
  while (waits && own.times == before) machine.wait_for_others();
}
SAMITE_INLINE u32 team_of_thread() { return threadIdx.y; }
template <int threads> SAMITE_INLINE void sync_team(u32 team) { come_to(1 + int(team), threads, true); }
template <int barrier, int threads> SAMITE_INLINE void sync_threads_at() { come_to(barrier, threads, true); }
SAMITE_INLINE void sync_with_group(int barrier) { come_to(barrier, 256, true); }
SAMITE_INLINE void arrive_for_group(int barrier) { come_to(barrier, 256, false); }

template <class A, class B, class Sum_> struct WgmmaOnHost {
  using TypeA = A;
  using TypeB = B;
  using Sum = Sum_;
  static constexpr int bytes = sizeof(typename A::Element);
};
struct WgmmaF16 : WgmmaOnHost<MatrixF16, MatrixF16, f32> {
  static u32 pair(f32 low, f32 high) { return f16_bits(low, high); }
};
struct WgmmaBF16 : WgmmaOnHost<MatrixBF16, MatrixBF16, f32> {
  static u32 pair(f32 low, f32 high) { return bf16_bits(low, high); }
};
struct WgmmaTF32 : WgmmaOnHost<MatrixTF32, MatrixTF32, f32> {};
struct WgmmaE4M3 : WgmmaOnHost<MatrixE4M3, MatrixE4M3, f32> {};
struct WgmmaE5M2 : WgmmaOnHost<MatrixE5M2, MatrixE5M2, f32> {};
struct WgmmaE4M3E5M2 : WgmmaOnHost<MatrixE4M3, MatrixE5M2, f32> {};
struct WgmmaE5M2E4M3 : WgmmaOnHost<MatrixE5M2, MatrixE4M3, f32> {};
struct WgmmaI8 : WgmmaOnHost<MatrixI8, MatrixI8, i32> {};
struct WgmmaU8 : WgmmaOnHost<MatrixU8, MatrixU8, i32> {};

// An element of a factor by its descriptor, as the PTX manual has it: of 8 by 8 units of 16 bytes, swizzled.
template <class Type, bool transposed> SAMITE_INLINE f64 factor_element(u64 descriptor, int line, int term) {
  using Element = typename Type::Element;
  constexpr int bytes = sizeof(Element);
  if (descriptor >> 62 != 1 || (descriptor >> 49 & 7) != 0) __builtin_trap();
  const u32 stride = (descriptor >> 32 & 0x3fff) << 4, leading = (descriptor >> 16 & 0x3fff) << 4;
  u32 at = (descriptor & 0x3fff) << 4;
  if constexpr (transposed)
    at += u32(line * bytes / 128) * leading + u32(line * bytes % 128) + u32(term / 8) * stride + u32(term % 8 * 128);
  else
    at += u32(line / 8) * stride + u32(line % 8 * 128 + term * bytes);
  at ^= (at >> 7 & 7) << 4;
  Element element;
  __builtin_memcpy(&element, memory_of_block + at, sizeof element);
  return Type::value(element);
}
struct ProductOnItsWay {
  void (*finish)(const ProductOnItsWay &);
  void *sums;
  u64 left, right;
  bool adding;
  int group;
  f64 result[128];
};
static struct { ProductOnItsWay at[32]; int count, group; bool begun; } products_on_their_way[8 * 1024];
// The threads of a warp reach each of these together.
SAMITE_INLINE void begin_products() {
  machine.wait_warp();
  products_on_their_way[slot_of(thread_of_block())].begun = true;
}
SAMITE_INLINE void end_group_of_products() {
  auto &own = products_on_their_way[slot_of(thread_of_block())];
  ++own.group;
  own.begun = false;
}
// With this many rows; the others are meaningless.
template <int columns, class Kind, bool transposed_a, bool transposed_b, int rows>
SAMITE_INLINE void products_of(u64 left, u64 right, f64 (&result)[128]) {
  constexpr int terms = 32 / Kind::bytes;
  const int thread = int(threadIdx.x) % 128;
  for (int r = 0; r < columns / 2; ++r) {
    const int row = thread / 32 * 16 + thread % 32 / 4 + r % 4 / 2 * 8, column = r / 4 * 8 + thread % 4 * 2 + r % 2;
    f64 sum = row < rows ? 0 : 1e9;
    for (int k = 0; row < rows && k < terms; ++k)
      sum += factor_element<typename Kind::TypeA, transposed_a>(left, row, k) *
             factor_element<typename Kind::TypeB, transposed_b>(right, column, k);
    result[r] = sum;
  }
}
template <int columns, class Kind, class C, bool transposed_a, bool transposed_b, int rows>
SAMITE_INLINE void finish_product(const ProductOnItsWay &own) {
  f64 result[128];
  products_of<columns, Kind, transposed_a, transposed_b, rows>(own.left, own.right, result);
  C *const sums = static_cast<C *>(own.sums);
  for (int r = 0; r < columns / 2; ++r) {
    if (__builtin_memcmp(&result[r], &own.result[r], sizeof result[r]) != 0) __builtin_trap();
    sums[r] = C((own.adding ? f64(sums[r]) : 0) + result[r]);
  }
}
template <int columns, bool transposed_a, bool transposed_b, int first, int rows, class Kind, class C, int count>
SAMITE_INLINE void multiply_by_group(Kind, C (&c)[count], u64 left, u64 right, bool adding) {
  static_assert(first + columns / 2 <= count && columns % 8 == 0 && columns <= 256);
  auto &own = products_on_their_way[slot_of(thread_of_block())];
  if (!own.begun || own.count == 32) __builtin_trap();
  ProductOnItsWay &added = own.at[own.count++];
  added = {finish_product<columns, Kind, C, transposed_a, transposed_b, rows>, c + first, left, right, adding, own.group, {}};
  products_of<columns, Kind, transposed_a, transposed_b, rows>(left, right, added.result);
}
// The first factor in the registers of the warp's threads: each gives its part on arrival, and all parts must be there
// when a thread finishes.
struct RegisterFactor {
  u32 words[4];
  bool given;
};
static struct { RegisterFactor at[64]; u32 count; } register_factors[8 * 1024];
// `step`: from one of 8 columns of the thread's sums to the next; turned sums are those of a transposed piece.
template <int columns, class Kind, class C, bool transposed_b, int step, bool turned>
SAMITE_INLINE void finish_product_of_registers(const ProductOnItsWay &own) {
  using Element = typename Kind::TypeA::Element;
  constexpr int terms = 32 / Kind::bytes, of_word = 4 / Kind::bytes;
  C *const sums = static_cast<C *>(own.sums);
  const int thread = int(threadIdx.x) % 128, first_of_warp = int(thread_of_block()) / 32 * 32;
  for (int r = 0; r < columns / 2; ++r) {
    const int row = thread % 32 / 4 + r % 4 / 2 * 8, column = r / 4 * 8 + thread % 4 * 2 + r % 2;
    f64 sum = 0;
    for (int k = 0; k < terms; ++k) {
      const int other = first_of_warp + row % 8 * 4 + k % (terms / 2) / of_word;
      const RegisterFactor &factor = register_factors[slot_of(other)].at[own.left % 64];
      if (!factor.given) __builtin_trap();
      Element element;
      __builtin_memcpy(&element, reinterpret_cast<const u8 *>(&factor.words[k / (terms / 2) * 2 + row / 8]) + k % of_word * Kind::bytes, sizeof element);
      sum += Kind::TypeA::value(element) * factor_element<typename Kind::TypeB, transposed_b>(own.right, column, k);
    }
    C &to = sums[r / 4 * step + (turned ? r % 2 * 2 + r % 4 / 2 : r % 4)];
    to = C((own.adding ? f64(to) : 0) + sum);
  }
}
template <int columns, bool transposed_b, int first, int step, bool turned, class Kind, class C, int count>
SAMITE_INLINE void multiply_registers(Kind, C (&c)[count], const u32 (&left)[4], u64 right, bool adding) {
  static_assert(first + (columns / 8 - 1) * step + 4 <= count && columns % 8 == 0 && columns <= 256);
  auto &own = products_on_their_way[slot_of(thread_of_block())];
  if (!own.begun || own.count == 32) __builtin_trap();
  auto &factors = register_factors[slot_of(thread_of_block())];
  RegisterFactor &factor = factors.at[factors.count % 64];
  for (int w = 0; w < 4; ++w) factor.words[w] = left[w];
  factor.given = true;
  factors.at[(factors.count + 32) % 64].given = false;
  own.at[own.count++] = {finish_product_of_registers<columns, Kind, C, transposed_b, step, turned>, c + first, factors.count++, right,
                         adding, own.group, {}};
}
template <int columns, bool transposed_b, int first, class Kind, class C, int count>
SAMITE_INLINE void multiply_registers_by_group(Kind kind, C (&c)[count], const u32 (&left)[4], u64 right, bool adding) {
  multiply_registers<columns, transposed_b, first, 4, false>(kind, c, left, right, adding);
}
template <int columns, int first, int step, class Kind, class C, int count>
SAMITE_INLINE void multiply_registers_turned(Kind kind, C (&c)[count], const u32 (&left)[4], u64 right, bool adding) {
  multiply_registers<columns, false, first, step, true>(kind, c, left, right, adding);
}
template <int groups> SAMITE_INLINE void wait_for_products() {
  machine.wait_warp();
  auto &own = products_on_their_way[slot_of(thread_of_block())];
  int done = 0;
  for (; done < own.count && own.at[done].group < own.group - groups; ++done) own.at[done].finish(own.at[done]);
  for (int i = done; i < own.count; ++i) own.at[i - done] = own.at[i];
  own.count -= done;
  machine.wait_warp();
}
template <class C, int count> SAMITE_INLINE void changed_by_products(C (&)[count]) {}

}  // namespace samite
)";

}  // namespace samite::test
