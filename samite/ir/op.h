// The operations of the IR, as one table.
//
// A row is: enumerator, printed name, number of value operands (-1: any), how the result is typed, and whether the
// operation is pure (same operands, same result, no effect: it may be duplicated, moved or dropped).
// Derivative rules (`autodiff/rules.h`) and target spellings (`codegen/`) are tables over the same enumerators.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace samite::ir {

enum class Typing : std::uint8_t {
  Same,       // all operands and the result have one arithmetic type
  Floating,   // the same, and that type is floating
  Integer,    // the same, and that type is an integer
  Bits,       // the same, and that type is an integer or bool
  Compare,    // two operands of one type, result bool
  Select,     // (bool, T, T) -> T
  Cast,       // any scalar to the result's type
  Copy,       // one operand of the result's type, any type
  Index,      // no operands; `attribute` is a launch dimension; result i32 or i64
  Extent,     // no operands; `array` and `attribute` (dimension); result i32 or i64
  Load,       // operands are the indices of `array`; the result has its element type
  Atomic,     // the indices of `array`, then values of its element type; the result is the element before, of that type
  LocalLoad,  // one operand, the index; `array` is a local array; the result has its element type
  // Of tiles.
  Coordinate,  // no operands; `attribute` is a dimension of the result, a tile of i32 or i64
  Broadcast,   // a scalar, or a tile with some extents of 1 -> a tile of the same type
  Reduce,      // a tile -> a scalar, or a tile with some extents of 1
  Position,    // the same, to i32
  Reshape,     // as many elements in other extents
  Transpose,   // `attribute` says which dimension of the operand each of the result's is: see tile_axis
  Window,      // a tile, and an i32 or i64 for each of its dimensions -> a tile of the same rank
  MatMul,      // two matrices, or as many pairs of them as the first dimension says, and what is added to their product
  Scan,        // tiles of the result's type; `attribute` is a dimension and how it is gone along
  Cholesky,    // a square matrix, or as many of them as the first dimension says, of the result's type
  Solve,       // the same, and a matrix with as many rows, or as many of them
  Order,       // a tile -> one of i32 of the same extents
  Take,        // a tile, and one of i32 that has the result's extents and, but for the last one, the operand's
  Put,         // a tile, and one of i32 of the same extents -> a tile whose extents are these but for the last one
  Fourier,     // a tile of the result's type, whose last extent is 2
};

#define SAMITE_OPS(X)                                                    \
  X(Copy, "copy", 1, Copy, true)                                         \
  X(Cast, "cast", 1, Cast, true)                                         \
  X(Select, "select", 3, Select, true)                                   \
  X(Neg, "neg", 1, Same, true)                                           \
  X(Add, "add", 2, Same, true)                                           \
  X(Sub, "sub", 2, Same, true)                                           \
  X(Mul, "mul", 2, Same, true)                                           \
  X(Div, "div", 2, Same, true)                                           \
  X(Rem, "rem", 2, Integer, true)                                        \
  X(Min, "min", 2, Same, true)                                           \
  X(Max, "max", 2, Same, true)                                           \
  X(Abs, "abs", 1, Same, true)                                           \
  X(And, "and", 2, Bits, true)                                           \
  X(Or, "or", 2, Bits, true)                                             \
  X(Xor, "xor", 2, Bits, true)                                           \
  X(Not, "not", 1, Bits, true)                                           \
  X(ShiftLeft, "shl", 2, Integer, true)                                  \
  X(ShiftRight, "shr", 2, Integer, true)                                 \
  X(Equal, "eq", 2, Compare, true)                                       \
  X(NotEqual, "ne", 2, Compare, true)                                    \
  X(Less, "lt", 2, Compare, true)                                        \
  X(LessEqual, "le", 2, Compare, true)                                   \
  X(Greater, "gt", 2, Compare, true)                                     \
  X(GreaterEqual, "ge", 2, Compare, true)                                \
  X(Sqrt, "sqrt", 1, Floating, true)                                     \
  X(Rsqrt, "rsqrt", 1, Floating, true)                                   \
  X(Cbrt, "cbrt", 1, Floating, true)                                     \
  X(Exp, "exp", 1, Floating, true)                                       \
  X(Exp2, "exp2", 1, Floating, true)                                     \
  X(FastExp2, "fast_exp2", 1, Floating, true)                            \
  X(Expm1, "expm1", 1, Floating, true)                                   \
  X(Log, "log", 1, Floating, true)                                       \
  X(Log2, "log2", 1, Floating, true)                                     \
  X(Log10, "log10", 1, Floating, true)                                   \
  X(Log1p, "log1p", 1, Floating, true)                                   \
  X(Sin, "sin", 1, Floating, true)                                       \
  X(Cos, "cos", 1, Floating, true)                                       \
  X(Tan, "tan", 1, Floating, true)                                       \
  X(Asin, "asin", 1, Floating, true)                                     \
  X(Acos, "acos", 1, Floating, true)                                     \
  X(Atan, "atan", 1, Floating, true)                                     \
  X(Atan2, "atan2", 2, Floating, true)                                   \
  X(Sinh, "sinh", 1, Floating, true)                                     \
  X(Cosh, "cosh", 1, Floating, true)                                     \
  X(Tanh, "tanh", 1, Floating, true)                                     \
  X(Asinh, "asinh", 1, Floating, true)                                   \
  X(Acosh, "acosh", 1, Floating, true)                                   \
  X(Atanh, "atanh", 1, Floating, true)                                   \
  X(Erf, "erf", 1, Floating, true)                                       \
  X(Erfc, "erfc", 1, Floating, true)                                     \
  X(Pow, "pow", 2, Floating, true)                                       \
  X(Hypot, "hypot", 2, Floating, true)                                   \
  X(Fmod, "fmod", 2, Floating, true)                                     \
  X(CopySign, "copysign", 2, Floating, true)                             \
  X(Floor, "floor", 1, Floating, true)                                   \
  X(Ceil, "ceil", 1, Floating, true)                                     \
  X(Round, "round", 1, Floating, true)                                   \
  X(Trunc, "trunc", 1, Floating, true)                                   \
  X(StopGradient, "stop_gradient", 1, Floating, true)                    \
  X(ThreadIndex, "thread_index", 0, Index, true)                         \
  X(LaunchBegin, "launch_begin", 0, Index, true)                         \
  X(LaunchEnd, "launch_end", 0, Index, true)                             \
  X(Extent, "extent", 0, Extent, true)                                   \
  X(Unavailable, "unavailable", 0, Copy, true)                           \
  X(Load, "load", -1, Load, false)                                       \
  X(Exchange, "exchange", -1, Load, false)                               \
  X(AtomicAdd, "atomic_add", -1, Atomic, false)                          \
  X(AtomicMin, "atomic_min", -1, Atomic, false)                          \
  X(AtomicMax, "atomic_max", -1, Atomic, false)                          \
  X(AtomicAnd, "atomic_and", -1, Atomic, false)                          \
  X(AtomicOr, "atomic_or", -1, Atomic, false)                            \
  X(AtomicXor, "atomic_xor", -1, Atomic, false)                          \
  X(AtomicExchange, "atomic_exchange", -1, Atomic, false)                \
  X(AtomicCompareExchange, "atomic_compare_exchange", -1, Atomic, false) \
  X(LocalLoad, "local_load", 1, LocalLoad, false)                        \
  X(Coordinate, "coordinate", 0, Coordinate, true)                       \
  X(Broadcast, "broadcast", 1, Broadcast, true)                          \
  X(ReduceAdd, "reduce_add", 1, Reduce, true)                            \
  X(ReduceMul, "reduce_mul", 1, Reduce, true)                            \
  X(ReduceMin, "reduce_min", 1, Reduce, true)                            \
  X(ReduceMax, "reduce_max", 1, Reduce, true)                            \
  X(ReduceArgMin, "reduce_argmin", 1, Position, true)                    \
  X(ReduceArgMax, "reduce_argmax", 1, Position, true)                    \
  X(Reshape, "reshape", 1, Reshape, true)                                \
  X(Transpose, "transpose", 1, Transpose, true)                          \
  X(Window, "window", -1, Window, true)                                  \
  X(MatMul, "matmul", 3, MatMul, true)                                   \
  X(ScanAdd, "scan_add", 1, Scan, true)                                  \
  X(ScanMul, "scan_mul", 1, Scan, true)                                  \
  X(ScanMin, "scan_min", 1, Scan, true)                                  \
  X(ScanMax, "scan_max", 1, Scan, true)                                  \
  X(ScanLinear, "scan_linear", 2, Scan, true)                            \
  X(Cholesky, "cholesky", 1, Cholesky, true)                             \
  X(TriangularSolve, "triangular_solve", 2, Solve, true)                 \
  X(SortOrder, "sort_order", 1, Order, true)                             \
  X(Take, "take", 2, Take, true)                                         \
  X(PutAdd, "put_add", 2, Put, true)                                     \
  X(Fourier, "fourier", 1, Fourier, true)                                \
  X(Lgamma, "lgamma", 1, Floating, true)                                 \
  X(Digamma, "digamma", 1, Floating, true)                               \
  X(Fma, "fma", 3, Floating, true)                                       \
  X(Norm, "norm", -1, Floating, true)                                    \
  X(PopCount, "popcount", 1, Integer, true)                              \
  X(LeadingZeros, "clz", 1, Integer, true)                               \
  X(TrailingZeros, "ctz", 1, Integer, true)                              \
  X(BitCast, "bit_cast", 1, Cast, true)

// `Norm` of any number of operands is the root of the sum of their squares, of which none overflows or loses digits.
// `LeadingZeros` and `TrailingZeros` of 0 are the number of bits. `BitCast` keeps the bits: of numbers of 8 and 16 bits
// that are floating, which are wider in registers, there is none.

// `Exchange` reads an element and leaves zero there, in one atomic step where `attribute` is 0, or as a plain load and
// store where it is 1 because no other instance touches the element; its operands are the indices.
//
// The atomic operations combine an element with a value in one step and give what was there before. `AtomicExchange`
// stores the value; `AtomicCompareExchange` has two, and stores the second where the element has the bits of the first.
//
// `Unavailable` stands in an adjoint for a value of the forward run that cannot be had again; `attribute` is a number
// of the deriver's. It must be gone after dead code is removed: where it is not, the adjoint is refused.

// Tiles. `Coordinate` is each element's own index along a dimension. A reduction takes together what lies along the
// dimensions whose extent becomes 1, or all where the result is a scalar; the arg ones give the first position along
// the one dimension, or of all elements. Element i of a `Window` is element i + offset of the operand, and zero outside
// of it: a slice, or a tile with a margin of zeros. `MatMul` gives A B + C, of the type of C; `attribute` says whether
// A and B are transposed.
inline constexpr std::int32_t transposed_a = 1, transposed_b = 2, tf32_factors = 4;

// A scan takes each element together with all before it along a dimension, or with all after it (`scan_backwards`);
// `scan_exclusive` leaves out the element itself, so that the first one is the neutral element: 0, 1, or what is
// greater or less than all. `ScanLinear` of A and B begins with b and goes on with b + a * (the element before); it is
// never exclusive. The first element of A is not read.
inline constexpr std::int32_t scan_dimension = 15, scan_backwards = 16, scan_exclusive = 32;

// `Cholesky` is the lower factor L of A = L Lᵀ, of whose elements the lower ones are read; where A is not positive
// definite, what depends on the root is NaN. `TriangularSolve` of A and B is X of A X = B, where A is triangular: only
// that half of it is read. `attribute` says which half, and whether it is Aᵀ X = B.
inline constexpr std::int32_t solve_upper = 1, solve_transposed = 2;

// `SortOrder` gives where each element of a sorted row comes from: of equal elements the first one first, NaN last.
// Element [.., i] of a `Take` is element [.., index[.., i]] of the operand, zero where there is none; `PutAdd` is the
// opposite, and adds up what goes to one place. `Fourier` is the transform of rows of complex numbers, whose two parts
// lie along the last dimension: the sum over k of x[k] exp(-2πi j k / n), of its conjugate, and divided by n.
inline constexpr std::int32_t sort_descending = 1, fourier_conjugate = 1, fourier_scaled = 2;
inline constexpr std::int32_t put_in_order = 1;  // of a call: elements are added in the order of their indices

// Which dimension of the operand of a `Transpose` the result's is, packed as attribute.
inline constexpr int tile_axis(std::int32_t attribute, int dimension) { return attribute >> (4 * dimension) & 15; }

// `Load` reads an element as it is; in an adjoint, where `attribute` has `load_afterwards`, as the forward run has left
// it rather than as it found it. The two differ where the kernel writes to the array.
//
// `load_by_warp`, in a loop that the threads of a warp go through together (`For::by_warp`): all of them load the same
// element, so that one of them loads it for all. The bits above are of `ir/load_ahead.h`.
inline constexpr std::int32_t load_afterwards = 1, load_by_warp = 2;

enum class Op : std::uint8_t {
#define SAMITE_ENUMERATOR(name, text, arity, typing, pure) name,
  SAMITE_OPS(SAMITE_ENUMERATOR)
#undef SAMITE_ENUMERATOR
};

struct OpInfo {
  std::string_view name;
  int arity;
  Typing typing;
  bool pure;
};

const OpInfo &info(Op op);

// What an atomic operation makes of the element and the value: `Add` of `AtomicAdd`. `Copy` of those that store the
// value itself.
Op combination(Op atomic);

std::optional<Op> op_from_name(std::string_view name);

}  // namespace samite::ir
