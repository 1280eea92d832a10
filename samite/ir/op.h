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
  // Operations on tiles.
  Coordinate,  // no operands; `attribute` is a dimension of the result, a tile of i32 or i64
  Broadcast,   // a scalar, or a tile with some extents of 1 -> a tile of the same type
  Reduce,      // a tile -> a scalar, or a tile with some extents of 1
  Position,    // the same, to i32
  Reshape,     // as many elements in other extents
  Transpose,   // `attribute` has the operand's dimension for each of the result's: see tile_axis
  Window,      // a tile, and an i32 or i64 for each of its dimensions -> a tile of the same rank
  MatMul,      // two matrices, or a batch of pairs, and the addend
  Scan,        // tiles of the result's type; `attribute` has the dimension and the direction
  Cholesky,    // a square matrix of the result's type, or a batch of them
  Solve,       // the same, and a matrix with as many rows, or a batch of them
  Order,       // a tile -> one of i32 of the same extents
  Take,        // a tile, and one of i32 with the result's extents, which equal the operand's except for the last one
  Put,         // a tile, and one of i32 of the same extents -> a tile that differs from these in the last extent
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

// `Norm` of any number of operands is the root of the sum of their squares, computed without overflow or loss of
// digits. `LeadingZeros` and `TrailingZeros` of 0 are the number of bits. `BitCast` keeps the bits; it does not take 8-
// and 16-bit floats, which are wider in registers.

// `Exchange` reads an element and stores zero there: in one atomic step if `attribute` is 0, as a plain load and store
// if it is 1, because no other instance accesses the element. Its operands are the indices.
//
// The atomic operations combine an element with a value in one step and return the previous value. `AtomicExchange`
// stores the value; `AtomicCompareExchange` has two values, and stores the second if the element has the bits of the
// first.
//
// `Unavailable` is a placeholder in an adjoint for an unavailable value of the forward run; `attribute` is a number of
// the deriver's. If dead-code removal leaves one, the adjoint is refused.

// Tiles. `Coordinate` is each element's own index along a dimension. A reduction combines the elements along the
// dimensions whose extent becomes 1, or all elements if the result is a scalar; the arg ones return the first position
// along the one dimension, or among all elements. Element i of a `Window` is element i + offset of the operand, and
// zero outside of it: it slices or pads. `MatMul` computes A B + C, of the type of C; `attribute` says whether A and B
// are transposed.
inline constexpr std::int32_t transposed_a = 1, transposed_b = 2, tf32_factors = 4;

// A scan combines each element with all before it along a dimension, or with all after it (`scan_backwards`);
// `scan_exclusive` leaves out the element itself, so that the first result is the neutral element: 0, 1, the least or
// the greatest value. `ScanLinear` of A and B begins with b and continues with b + a * (the previous element); it is
// never exclusive. It does not read the first element of A.
inline constexpr std::int32_t scan_dimension = 15, scan_backwards = 16, scan_exclusive = 32;

// `Cholesky` is the lower factor L of A = L Lᵀ and reads only the lower half of A; if A is not positive definite, the
// elements that depend on the failing root are NaN. `TriangularSolve` of A and B is X of A X = B and reads only one
// half of A. `attribute` says which half, and whether it solves Aᵀ X = B.
inline constexpr std::int32_t solve_upper = 1, solve_transposed = 2;

// `SortOrder` has the source position of each element of a sorted row; the sort is stable, NaN last. With `sort_bits`,
// keys are integers from 0 on that differ only in this many lowest bits, in ascending order. Element [.., i] of
// a `Take` is element [.., index[.., i]] of the operand, or zero for an index outside. `PutAdd` is its adjoint: it adds
// all elements with the same index. `Fourier` transforms rows of complex numbers, whose two parts are the last
// dimension: the sum over k of x[k] exp(-2πi j k / n), optionally its conjugate, and divided by n.
inline constexpr std::int32_t sort_descending = 1, fourier_conjugate = 1, fourier_scaled = 2;
constexpr int sort_bits(std::int32_t attribute) { return attribute >> 1; }  // 0: any keys
inline constexpr std::int32_t put_in_order = 1;  // of a call: elements are added in the order of their indices

// The dimension of the operand of a `Transpose` for each dimension of the result, packed as attribute.
inline constexpr int tile_axis(std::int32_t attribute, int dimension) { return attribute >> (4 * dimension) & 15; }

// `Load` reads the current element. In an adjoint, `load_afterwards` in `attribute` reads the value after the forward
// run, not before it. The two differ if the kernel writes to the array.
//
// `load_by_warp`, in a loop that the threads of a warp run together (`LoopThreads::by_warp`): all of them load the same
// element, so that one of them loads it for all. The higher bits belong to `ir/load_ahead.h`.
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

// The operation that combines element and value in an atomic operation: `Add` for `AtomicAdd`, `Copy` for those that
// store the value itself.
Op combination(Op atomic);

std::optional<Op> op_from_name(std::string_view name);

}  // namespace samite::ir
