#include "tests/codegen/cuda_on_host.h"

#include "tests/codegen/block_of_fibers.h"
#include "tests/codegen/sm90_on_host.h"

#include <fmt/format.h>

#include <functional>
#include <optional>

namespace samite::test {
namespace {

// A thread's position, in the words of the emitted code below.
struct Place {
  unsigned thread[3], block[3], threads[3], blocks[3], block_of_cluster;
};
constexpr unsigned most_in_cluster = 8;

// The machine functions that the emitted code needs.
struct Machine {
  const Place *place;         // of the running thread; reread after any other may have run
  void (*wait)();             // for all threads of the block
  void (*wait_warp)();        // for those of the warp
  void (*wait_cluster)();     // for those of all blocks of the cluster
  void (*wait_for_others)();  // until no other thread can go on
  unsigned char (*slots)[64];
  bool whole_warps;
};

constexpr std::string_view intrinsics = R"(
#define __device__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __global__
#define __grid_constant__
#define __launch_bounds__(...)
#define __shared__ static
#define __syncthreads() machine.wait()
#define __align__(bytes) alignas(bytes)

// CUDA's, with C's names outside of samite.
#define FUNCTION_1(name)                                     \
  inline double name(double x) { return __builtin_##name(x); } \
  inline float name##f(float x) { return __builtin_##name##f(x); }
#define FUNCTION_2(name)                                                   \
  inline double name(double x, double y) { return __builtin_##name(x, y); } \
  inline float name##f(float x, float y) { return __builtin_##name##f(x, y); }
FUNCTION_1(sqrt) FUNCTION_1(cbrt) FUNCTION_1(exp) FUNCTION_1(exp2) FUNCTION_1(expm1) FUNCTION_1(log) FUNCTION_1(log2)
FUNCTION_1(log10) FUNCTION_1(log1p) FUNCTION_1(sin) FUNCTION_1(cos) FUNCTION_1(tan) FUNCTION_1(asin) FUNCTION_1(acos)
FUNCTION_1(atan) FUNCTION_1(sinh) FUNCTION_1(cosh) FUNCTION_1(tanh) FUNCTION_1(asinh) FUNCTION_1(acosh)
FUNCTION_1(atanh) FUNCTION_1(erf) FUNCTION_1(erfc) FUNCTION_1(floor) FUNCTION_1(ceil) FUNCTION_1(round)
FUNCTION_1(trunc) FUNCTION_1(fabs) FUNCTION_1(lgamma)
FUNCTION_2(atan2) FUNCTION_2(pow) FUNCTION_2(hypot) FUNCTION_2(fmod) FUNCTION_2(copysign) FUNCTION_2(fmin)
FUNCTION_2(fmax)
inline double fma(double x, double y, double z) { return __builtin_fma(x, y, z); }
inline float fmaf(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
inline double rsqrt(double x) { return 1 / __builtin_sqrt(x); }
inline float rsqrtf(float x) { return 1 / __builtin_sqrtf(x); }

namespace samite {

struct Place {
  struct Axes {
    unsigned x, y, z;
  } thread, block, threads, blocks;
  unsigned block_of_cluster;
};
struct Machine {
  const Place *place;  // of the running thread; reread after any other may have run
  void (*wait)();
  void (*wait_warp)();
  void (*wait_cluster)();
  void (*wait_for_others)();
  u8 (*slots)[64];
  bool whole_warps;
};
Machine machine;
#define threadIdx machine.place->thread
#define blockIdx machine.place->block
#define blockDim machine.place->threads
#define gridDim machine.place->blocks
SAMITE_INLINE u32 block_of_cluster() { return machine.place->block_of_cluster; }
SAMITE_INLINE u32 slot_of(u32 thread) { return block_of_cluster() * 1024 + thread; }

SAMITE_INLINE f32 f32_of_bits(u32 bits) { return __builtin_bit_cast(f32, bits); }
SAMITE_INLINE f64 f64_of_bits(u64 bits) { return __builtin_bit_cast(f64, bits); }
SAMITE_INLINE u32 bits_of(f32 value) { return __builtin_bit_cast(u32, value); }
SAMITE_INLINE u64 bits_of(f64 value) { return __builtin_bit_cast(u64, value); }
SAMITE_INLINE i32 negated(i32 x) { return i32(0u - u32(x)); }
SAMITE_INLINE i32 set_bits(u32 x) { return __builtin_popcount(x); }
SAMITE_INLINE i32 set_bits(u64 x) { return __builtin_popcountll(x); }
SAMITE_INLINE i32 leading_zeros(u32 x) { return x == 0 ? 32 : __builtin_clz(x); }
SAMITE_INLINE i32 leading_zeros(u64 x) { return x == 0 ? 64 : __builtin_clzll(x); }

// Without the compiler's own 16-bit types, which may need a library: by steps of the result's last digit.
SAMITE_INLINE u16 small_bits(f32 value, int fraction_bits, int lowest_exponent, u32 infinity, f32 limit) {
  const u16 sign = u16(bits_of(value) >> 16 & 0x8000);
  if (value != value) return u16(sign | infinity | 1u << (fraction_bits - 1));
  const f32 size = __builtin_fabsf(value);
  if (size >= limit) return u16(sign | infinity);
  int exponent;
  __builtin_frexpf(size, &exponent);
  exponent = size == 0 || exponent - 1 < lowest_exponent ? lowest_exponent : exponent - 1;
  const u32 digits = u32(__builtin_rint(__builtin_ldexp(f64(size), fraction_bits - exponent)));
  return u16(sign | (digits + (u32(exponent - lowest_exponent) << fraction_bits)));
}
SAMITE_INLINE u16 f16_bits(f32 value) { return small_bits(value, 10, -14, 0x7c00, 65520); }
SAMITE_INLINE f32 exp2_or_zero(f32 x) {
  const f32 power = __builtin_exp2f(x);
  return power < 1.17549435e-38f ? 0 : power;
}
SAMITE_INLINE u16 bf16_bits(f32 value) {
  return small_bits(value, 7, -126, 0x7f80, __builtin_ldexpf(2 - 1.0f / 256, 127));
}
SAMITE_INLINE u32 f16_bits(f32 low, f32 high) { return f16_bits(low) | u32(f16_bits(high)) << 16; }
SAMITE_INLINE u32 bf16_bits(f32 low, f32 high) { return bf16_bits(low) | u32(bf16_bits(high)) << 16; }
SAMITE_INLINE f32 f16_value(u16 bits) {
  const u32 exponent = bits >> 10 & 31, fraction = bits & 1023;
  const f32 sign = bits >> 15 ? -1 : 1;
  if (exponent == 31) return fraction ? __builtin_nanf("") : sign * __builtin_inff();
  return sign * __builtin_ldexpf(f32(exponent ? fraction | 1024 : fraction), int(exponent ? exponent : 1) - 25);
}

template <class T> SAMITE_INLINE T load_constant_bits(const T *p) { return *p; }
template <class T> SAMITE_INLINE T load_row_bits(const T *p) { return *p; }
struct alignas(8) Bits64 { u64 at[1]; };
struct alignas(16) Bits128 { u64 at[2]; };
SAMITE_INLINE void store_whole(Bits64 *p, Bits64 value) { *p = value; }
SAMITE_INLINE void store_whole(Bits128 *p, Bits128 value) { *p = value; }
SAMITE_INLINE void store_streaming(Bits128 *p, Bits128 value) { *p = value; }
template <class T> SAMITE_INLINE T fetch_add(T *p, T value) { return __atomic_fetch_add(p, value, __ATOMIC_RELAXED); }
template <int n> SAMITE_INLINE void add_to_neighbours(f32 *p, const f32 (&values)[n]) {
  for (int k = 0; k < n; ++k) fetch_add(p + k, values[k]);
}
template <class T> SAMITE_INLINE T fetch_and(T *p, T value) { return __atomic_fetch_and(p, value, __ATOMIC_RELAXED); }
template <class T> SAMITE_INLINE T fetch_or(T *p, T value) { return __atomic_fetch_or(p, value, __ATOMIC_RELAXED); }
template <class T> SAMITE_INLINE T fetch_xor(T *p, T value) { return __atomic_fetch_xor(p, value, __ATOMIC_RELAXED); }
template <class T> SAMITE_INLINE T fetch_min(T *p, T value) { return __atomic_fetch_min(p, value, __ATOMIC_RELAXED); }
template <class T> SAMITE_INLINE T fetch_max(T *p, T value) { return __atomic_fetch_max(p, value, __ATOMIC_RELAXED); }
template <class T> SAMITE_INLINE T exchange(T *p, T value) { return __atomic_exchange_n(p, value, __ATOMIC_RELAXED); }
template <class T> SAMITE_INLINE T compare_exchange(T *p, T expected, T value) {
  __atomic_compare_exchange_n(p, &expected, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return expected;
}
template <class T> SAMITE_INLINE T load_current(const T *p) { return *static_cast<const volatile T *>(p); }
SAMITE_INLINE void sync_warp() { machine.wait_warp(); }
SAMITE_INLINE void publish() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

// As large as any device's. Static, like __shared__ memory: blocks run one after another, and the blocks of a cluster,
// which run concurrently, have no __shared__ variables.
alignas(1024) static u8 memories[8][232448];
#define memory_of_block memories[block_of_cluster()]
SAMITE_INLINE u8 *shared_memory() { return memory_of_block; }

inline constexpr bool adds_f16_pairs = true, adds_bf16_pairs = true;
SAMITE_INLINE void check_in_device_memory(const void *p) {
  if (reinterpret_cast<u64>(p) - reinterpret_cast<u64>(memory_of_block) < sizeof memory_of_block) __builtin_trap();
}
SAMITE_INLINE u32 fetch_add_f16_pair(u32 *p, u32 pair) {
  check_in_device_memory(p);
  const u32 old = __atomic_load_n(p, __ATOMIC_RELAXED);
  *p = f16_bits(f16_value(u16(old)) + f16_value(u16(pair)), f16_value(old >> 16) + f16_value(pair >> 16));
  return old;
}
SAMITE_INLINE u32 fetch_add_bf16_pair(u32 *p, u32 pair) {
  check_in_device_memory(p);
  const u32 old = __atomic_load_n(p, __ATOMIC_RELAXED);
  *p = bf16_bits(f32_of_bits(old << 16) + f32_of_bits(pair << 16),
                 f32_of_bits(old & 0xffff0000) + f32_of_bits(pair & 0xffff0000));
  return old;
}

SAMITE_INLINE void add_products(f32 *sums, const f32 (&left)[4], const f32 (&right)[4][4]) {
  for (int t = 0; t < 4; ++t)
    for (int j = 0; j < 4; ++j) sums[j] = __builtin_fmaf(left[t], right[j][t], sums[j]);
}

SAMITE_INLINE u32 threads_of_block() { return blockDim.x * blockDim.y * blockDim.z; }
SAMITE_INLINE u32 thread_of_block() { return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x; }
SAMITE_INLINE u32 flat_thread() { return threadIdx.x; }
SAMITE_INLINE u32 block_on_axis(u32 place) { return place; }
SAMITE_INLINE u32 flat_thread_again() { return threadIdx.x; }
SAMITE_INLINE i64 threads_of_grid() { return i64(gridDim.x) * gridDim.y * gridDim.z * threads_of_block(); }
SAMITE_INLINE i64 thread_of_grid() {
  return ((i64(blockIdx.z) * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x) * threads_of_block() + thread_of_block();
}

// All threads of the block, or of the warp, arrive together, and read each other's values.
template <class T, class Wait, class Read> SAMITE_INLINE T exchange(T value, Wait wait, Read read) {
  __builtin_memcpy(machine.slots[slot_of(thread_of_block())], &value, sizeof value);
  wait();
  const T result = read([](u32 thread) -> T {
    T other;
    __builtin_memcpy(&other, machine.slots[slot_of(thread)], sizeof other);
    return other;
  });
  wait();
  return result;
}
template <class T, class Read> SAMITE_INLINE T exchange_in_warp(T value, Read read) {
  const u32 lane = thread_of_block() % 32, first = thread_of_block() - lane;
  return exchange(value, machine.wait_warp, [&](auto of) {
    return read(lane, [&](u32 other) { return of(first + other); });
  });
}
// If there is no such lane, or the block ends before it, a thread keeps its own value.
template <class T> SAMITE_INLINE T shuffle_down(u32, T value, u32 distance) {
  return exchange_in_warp(value, [&](u32 lane, auto of) {
    const bool there = lane + distance < 32 && thread_of_block() + distance < threads_of_block();
    return there ? of(lane + distance) : value;
  });
}
// As the test says.
SAMITE_INLINE bool whole_warp() { return machine.whole_warps; }
template <class T> SAMITE_INLINE bool same_in_warp(T value) {
  return exchange_in_warp(value, [](u32, auto of) {
    bool same = true;
    for (u32 lane = 0; lane < 32; ++lane) same = same && of(lane) == of(0);
    return T(same);
  });
}
template <class T> SAMITE_INLINE T shuffle_xor(T value, u32 distance) {
  return exchange_in_warp(value, [&](u32 lane, auto of) { return of(lane ^ distance); });
}
template <class T> SAMITE_INLINE T shuffle(T value, u32 from) {
  return exchange_in_warp(value, [&](u32, auto of) { return of(from); });
}
SAMITE_INLINE u32 lanes_where(bool holds) {
  return exchange_in_warp(u32(holds), [](u32, auto of) {
    u32 lanes = 0;
    for (u32 lane = 0; lane < 32; ++lane) lanes |= of(lane) << lane;
    return lanes;
  });
}
SAMITE_INLINE bool any_of_block(bool holds) {
  return exchange(holds, machine.wait, [](auto of) {
    bool any = false;
    for (u32 thread = 0; thread < threads_of_block(); ++thread) any = of(thread) || any;
    return any;
  });
}

// Matrices of a warp, by the tables in the PTX manual for the elements of each thread.
template <bool turned> SAMITE_INLINE void load_matrices(u32 (&words)[4], const void *row) {
  struct Words { u32 at[4]; };
  if (u64(row) % 16 != 0) __builtin_trap();
  struct Row { const u16 *at; };
  const u32 lane = thread_of_block() % 32, first = thread_of_block() - lane;
  machine.wait_warp();
  __builtin_memcpy(machine.slots[slot_of(thread_of_block())], &row, sizeof row);
  machine.wait_warp();
  for (u32 m = 0; m < 4; ++m) {
    u16 pair[2];
    for (u32 i = 0; i < 2; ++i) {
      const u32 r = turned ? lane % 4 * 2 + i : lane / 4, c = turned ? lane / 4 : lane % 4 * 2 + i;
      const u16 *from;
      __builtin_memcpy(&from, machine.slots[slot_of(first + 8 * m + r)], sizeof from);
      pair[i] = from[c];
    }
    __builtin_memcpy(&words[m], pair, sizeof pair);
  }
  machine.wait_warp();
}
struct MatrixF16 { using Element = u16; static f64 value(u16 bits) { return f16_value(bits); } };
struct MatrixBF16 { using Element = u16; static f64 value(u16 bits) { return f32_of_bits(u32(bits) << 16); } };
struct MatrixTF32 {
  using Element = u32;
  static f64 value(u32 bits) { return f32_of_bits(bits & ~0x1fffu); }
};
struct MatrixI8 { using Element = i8; static f64 value(i8 bits) { return bits; } };
struct MatrixU8 { using Element = u8; static f64 value(u8 bits) { return bits; } };
struct MatrixE4M3 {
  using Element = u8;
  static f64 value(u8 bits) {
    const int exponent = bits >> 3 & 15, fraction = bits & 7;
    if ((bits & 127) == 127) return __builtin_nan("");
    const f64 size = __builtin_ldexp(exponent ? fraction | 8 : fraction, (exponent ? exponent : 1) - 10);
    return bits >> 7 ? -size : size;
  }
};
struct MatrixE5M2 { using Element = u8; static f64 value(u8 bits) { return f16_value(u16(bits << 8)); } };
struct MatrixE4M3E5M2 { using Element = u8; };
struct MatrixE5M2E4M3 { using Element = u8; };
template <class Kind> struct KindsOfFactors { using A = Kind; using B = Kind; };
template <> struct KindsOfFactors<MatrixE4M3E5M2> { using A = MatrixE4M3; using B = MatrixE5M2; };
template <> struct KindsOfFactors<MatrixE5M2E4M3> { using A = MatrixE5M2; using B = MatrixE4M3; };
struct MatrixF64 { using Element = f64; static f64 value(f64 bits) { return bits; } };
// Each thread has four words of A, two of B and four elements of C; a word is as wide as C's elements or a part of it.
template <class Kind, class C, class Word>
SAMITE_INLINE void multiply_matrices(Kind, C (&c)[4], const Word (&a)[4], const Word (&b)[2]) {
  using Element = typename Kind::Element;
  constexpr int each = sizeof(Word) / sizeof(Element), terms = 8 * each;
  struct Brought { Word a[4], b[2]; } own;
  __builtin_memcpy(own.a, a, sizeof a), __builtin_memcpy(own.b, b, sizeof b);
  machine.wait_warp();
  __builtin_memcpy(machine.slots[slot_of(thread_of_block())], &own, sizeof own);
  machine.wait_warp();
  const u32 lane = thread_of_block() % 32, first = thread_of_block() - lane;
  auto element = [&](u32 thread, bool of_b, int word, int i) {
    const u8 *slot = machine.slots[slot_of(first + thread)] + (of_b ? sizeof own.a : 0) + word * sizeof(Word);
    Element value;
    __builtin_memcpy(&value, slot + i * sizeof value, sizeof value);
    return of_b ? KindsOfFactors<Kind>::B::value(value) : KindsOfFactors<Kind>::A::value(value);
  };
  for (int r = 0; r < 4; ++r) {
    const int row = int(lane) / 4 + r / 2 * 8, column = int(lane) % 4 * 2 + r % 2;
    f64 sum = f64(c[r]);
    for (int k = 0; k < terms; ++k) {
      const int half = k / (terms / 2), thread = k % (terms / 2) / each, i = k % each;
      sum += element(u32(row % 8 * 4 + thread), false, row / 8 + 2 * half, i) *
             element(u32(column * 4 + thread), true, half, i);
    }
    c[r] = C(sum);
  }
  machine.wait_warp();
}
SAMITE_INLINE u32 tf32_bits(f32 value) { return (bits_of(value) + 0x1000) & ~0x1fffu; }

// Copies in flight arrive when they are waited for, and no earlier.
struct CopyAhead { void *to; const void *from; int size, bytes, group; };
static struct { CopyAhead copies[1024]; int count, group; } on_its_way[8 * 1024];
SAMITE_INLINE void send_ahead(void *to, const void *from, int size, int bytes) {
  auto &own = on_its_way[slot_of(thread_of_block())];
  if (u64(to) % u64(size) != 0 || u64(from) % u64(size) != 0 || own.count == 1024 || bytes < 0 || bytes > size)
    __builtin_trap();
  __builtin_memset(to, 0xff, u64(size));
  own.copies[own.count++] = {to, from, size, bytes, own.group};
}
SAMITE_INLINE void copy_part_ahead(void *to, const void *from, int bytes) { send_ahead(to, from, 16, bytes); }
template <class T> SAMITE_INLINE void copy_element_ahead(T *to, const T *from, bool zero) {
  send_ahead(to, from, sizeof(T), zero ? 0 : sizeof(T));
}
SAMITE_INLINE void copy_ahead(void *to, int swizzled, int on, const void *from) {
  copy_part_ahead(reinterpret_cast<void *>((u64(to) ^ u64(swizzled)) + u64(on)), from, 16);
}
SAMITE_INLINE void copy_ahead_if(bool there, void *to, int swizzled, int on, const void *from) {
  if (there) copy_ahead(to, swizzled, on, from);
}
template <int count, class T> SAMITE_INLINE void copy_neighbours_ahead(T *to, const T *from) {
  send_ahead(to, from, count * int(sizeof(T)), count * int(sizeof(T)));
}
SAMITE_INLINE void end_group_of_copies() { ++on_its_way[slot_of(thread_of_block())].group; }
template <int groups> SAMITE_INLINE void wait_for_copies() {
  auto &own = on_its_way[slot_of(thread_of_block())];
  int kept = 0;
  for (int i = 0; i < own.count; ++i) {
    const CopyAhead copy = own.copies[i];
    if (copy.group < own.group - groups)
      __builtin_memset(copy.to, 0, u64(copy.size)), __builtin_memcpy(copy.to, copy.from, u64(copy.bytes));
    else
      own.copies[kept++] = copy;
  }
  own.count = kept;
}

}  // namespace samite
)";

// After the kernel: how the host calls it.
constexpr std::string_view entry = R"(
// NaNs, so that reads of unwritten memory show.
extern "C" void poison_shared_memory() {{
  __builtin_memset(samite::memories, 0xff, sizeof samite::memories);
}}
extern "C" void run_thread(const samite::Machine *machine, const void *arguments, const void *box, void *channel,
                           const void *workspace) {{
  samite::machine = *machine;
  samite::{}(*static_cast<const samite::Arguments *>(arguments), *static_cast<const samite::Box *>(box),
             static_cast<samite::Channel *>(channel), *static_cast<const samite::Workspace *>(workspace));
}}
)";

const std::string &host_prelude() {
  static const std::string prelude = codegen::cuda_prelude_with(std::string(intrinsics) + std::string(sm90_on_host));
  return prelude;
}

using RunThread = void(const Machine *machine, const void *arguments, const void *box, void *channel,
                       const void *workspace);

Place here;
BlockOfFibers block_of_fibers;
unsigned char thread_slots[1024 * most_in_cluster][64];

void for_each_block(const codegen::CudaLaunchShape &shape, const std::function<void()> &run) {
  for (unsigned a = 0; a < 3; ++a) here.threads[a] = shape.block[a], here.blocks[a] = shape.grid[a];
  for (here.block[2] = 0; here.block[2] < shape.grid[2]; ++here.block[2])
    for (here.block[1] = 0; here.block[1] < shape.grid[1]; ++here.block[1])
      for (here.block[0] = 0; here.block[0] < shape.grid[0]; ++here.block[0]) run();
}

void place_thread(unsigned n) {
  const unsigned (&size)[3] = here.threads;
  here.thread[0] = n % size[0], here.thread[1] = n / size[0] % size[1], here.thread[2] = n / size[0] / size[1];
}

void run_block(unsigned threads, ThreadOrder order, const std::function<void()> &run) {
  block_of_fibers.run(
      static_cast<int>(threads), order, [&](int) { run(); },
      [](int thread) { place_thread(static_cast<unsigned>(thread)); });
}

// Blocks from here on along x.
void run_cluster(unsigned blocks, unsigned threads, ThreadOrder order, const std::function<void()> &run) {
  const unsigned first = here.block[0];
  block_of_fibers.run(
      static_cast<int>(blocks * threads), order, [&](int) { run(); },
      [&](int thread) {
        const auto n = static_cast<unsigned>(thread);
        place_thread(n % threads);
        here.block_of_cluster = n / threads;
        here.block[0] = first + n / threads;
      },
      static_cast<int>(blocks));
  here.block[0] = first;
  here.block_of_cluster = 0;
}

Machine this_machine(bool whole_warps) {
  return {&here,
          [] { block_of_fibers.wait_for_block(); },
          [] { block_of_fibers.wait_for_warp(); },
          [] { block_of_fibers.wait_for_cluster(); },
          [] { block_of_fibers.wait_for_others(); },
          thread_slots,
          whole_warps};
}

void for_each_thread(const codegen::CudaLaunchShape &shape, const std::function<void()> &run) {
  for (here.thread[2] = 0; here.thread[2] < shape.block[2]; ++here.thread[2])
    for (here.thread[1] = 0; here.thread[1] < shape.block[1]; ++here.thread[1])
      for (here.thread[0] = 0; here.thread[0] < shape.block[0]; ++here.thread[0]) run();
}

}  // namespace

CudaOnHost::CudaOnHost(ir::Kernel kernel, const codegen::EmitOptions &options, bool in_order, int optimization,
                       ir::Form form, const std::function<std::string(std::string)> &edit)
    : form_(options.cuda), rank_(kernel.launch_rank) {
  form_.tile_threads = kernel.block_threads;
  source_ = emit_for_cuda(std::move(kernel), options, in_order, form);
  if (edit) source_.text = edit(source_.text);
  HostSource source;
  source.name = "test";
  source.optimization = optimization;
  source.text = source_.text + fmt::format(fmt::runtime(entry), source_.entry);
  image_ = compile_host(source, host_prelude()).image;
}

CudaResult CudaOnHost::run_box(const std::vector<long long> &begin, const std::vector<long long> &end,
                               const std::vector<Argument> &arguments) const {
  std::vector<unsigned char> block;
  for (const Argument &argument : arguments) block.insert(block.end(), argument.bytes.begin(), argument.bytes.end());
  codegen::CudaBox box;
  std::vector<std::int64_t> extents;
  for (std::size_t d = 0; d < begin.size(); ++d) {
    box.begin[d] = begin[d], box.end[d] = end[d];
    extents.push_back(end[d] - begin[d]);
  }
  const codegen::CudaLaunchShape shape = codegen::cuda_launch_shape(extents, form_, most_blocks);

  std::vector<std::uint64_t> channel_memory(channel_bytes / 8);
  auto *channel = reinterpret_cast<codegen::CudaChannel *>(channel_memory.data());
  codegen::clear(channel, channel_bytes);
  std::vector<std::uint64_t> stacks(
      source_.uses_workspace ? static_cast<std::size_t>(shape.threads() * workspace_per_thread / 8) : 0);
  const codegen::CudaWorkspace workspace{reinterpret_cast<std::byte *>(stacks.data()), workspace_per_thread};
  const Machine machine = this_machine(whole_warps);

  auto *const run = image_->function<RunThread>("run_thread");
  auto run_here = [&] { run(&machine, block.data(), &box, source_.uses_channel ? channel : nullptr, &workspace); };
  auto *const poison = image_->function<void()>("poison_shared_memory");
  for_each_block(shape, [&] {
    if (form_.tile_threads != 0) poison();
    const bool together = source_.sums_over_launch || source_.uses_workspace || whole_warps || form_.tile_threads != 0;
    if (!together) return for_each_thread(shape, run_here);
    run_block(static_cast<unsigned>(shape.block[0] * shape.block[1] * shape.block[2]), order, run_here);
  });

  CudaResult result{channel->failure, {}, channel->lost_prints, channel->lost_checks};
  for (const codegen::CudaRecord &record : codegen::records(*channel, source_.messages, rank_))
    result.said.push_back(
        {record.site, {record.instance.begin(), record.instance.end()}, {record.values.begin(), record.values.end()}});
  return result;
}

CudaTextOnHost::CudaTextOnHost(std::string text, const std::string &entry) {
  HostSource source;
  source.name = "test";
  source.optimization = 2;
  source.text = std::move(text) + fmt::format(R"(
extern "C" void poison_shared_memory() {{
  __builtin_memset(samite::memories, 0xff, sizeof samite::memories);
}}
extern "C" void run_thread(const samite::Machine *machine, const void *arguments) {{
  samite::machine = *machine;
  samite::{}(arguments);
}}
)",
                                              entry);
  image_ = compile_host(source, host_prelude()).image;
}

void CudaTextOnHost::run(unsigned blocks, unsigned threads, const void *arguments, ThreadOrder order, unsigned cluster,
                         unsigned rows) const {
  codegen::CudaLaunchShape shape;
  shape.grid = {blocks, 1, 1}, shape.block = {threads / rows, rows, 1};
  const Machine machine = this_machine(true);
  auto *const run = image_->function<void(const Machine *, const void *)>("run_thread");
  auto *const poison = image_->function<void()>("poison_shared_memory");
  const auto run_here = [&] { run(&machine, arguments); };
  for_each_block(shape, [&] {
    if (here.block[0] % cluster != 0) return;
    poison();
    if (cluster == 1) return run_block(threads, order, run_here);
    run_cluster(cluster, threads, order, run_here);
  });
}

}  // namespace samite::test
