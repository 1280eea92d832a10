// Products with sums in registers, on tensor cores: `mma.sync`, with the factors loaded by `ldmatrix` if possible.
// Terms beyond the last are zeros.
#pragma once

#include "samite/device/cuda/half.h"
#include "samite/device/cuda/memory.h"
#include "samite/device/tile/fragments.h"

namespace samite {

// How tensor cores take factors of type F: in words of one term or several.
template <class F>
struct MatrixFactor;
template <>
struct MatrixFactor<f16> {
  using Kind = MatrixF16;
  using Word = u32;
};
template <>
struct MatrixFactor<bf16> {
  using Kind = MatrixBF16;
  using Word = u32;
};
template <>
struct MatrixFactor<f32> {
  using Kind = MatrixTF32;
  using Word = u32;
};
template <>
struct MatrixFactor<i8> {
  using Kind = MatrixI8;
  using Word = u32;
};
template <>
struct MatrixFactor<u8> {
  using Kind = MatrixU8;
  using Word = u32;
};
template <>
struct MatrixFactor<f8e4m3> {
  using Kind = MatrixE4M3;
  using Word = u32;
};
template <>
struct MatrixFactor<f8e5m2> {
  using Kind = MatrixE5M2;
  using Word = u32;
};
template <>
struct MatrixFactor<f64> {
  using Kind = MatrixF64;
  using Word = f64;
};

// For a pair of factors, which have the same type, or are both of 8 bits.
template <class A, class B>
struct MatrixFactors {
  static_assert(same_type<A, B>, "factors of one type");
  using Kind = typename MatrixFactor<A>::Kind;
};
template <>
struct MatrixFactors<f8e4m3, f8e5m2> {
  using Kind = MatrixE4M3E5M2;
};
template <>
struct MatrixFactors<f8e5m2, f8e4m3> {
  using Kind = MatrixE5M2E4M3;
};

// A factor as a matrix of `extent` lines, rows or columns of the product, with K terms each. `along_terms`: a row in
// memory has all terms of one line; else one term of all lines. `whole`: all lines that are read are in the matrix.
// `apart`: the offsets `on` have no bit in common with the line at which the warp begins.
template <class F, class Rows, int extent, bool whole, bool apart, int K, bool along_terms>
struct FactorInMemory {
  static constexpr bool by_bits = whole && (apart || Rows::linear);
  using Word = typename MatrixFactor<F>::Word;
  static constexpr int each = int(sizeof(Word) / sizeof(F));  // terms of a word
  static constexpr int half = 4 * each;                       // terms that 4 threads have in a word each
  static constexpr bool loads_matrices = Rows::aligned && (along_terms ? sizeof(F) <= 4 : sizeof(F) == 2);

  // Term `k` + `terms_on` of line `of` + `on`, or of line `last` if that comes first.
  static SAMITE_INLINE_MEMBER const F *place(const F *factor, int of, int on, int last, int k, int terms_on) {
    if constexpr (by_bits)
      return factor +
             (along_terms ? Rows::place(of, k) ^ Rows::swizzled_by(on, terms_on)
                          : Rows::place(k, of) ^ Rows::swizzled_by(terms_on, on)) +
             (along_terms ? Rows::further_by(on, terms_on) : Rows::further_by(terms_on, on));
    const int inside = least(of + on, last);
    return factor + (along_terms ? Rows::place(inside, k + terms_on) : Rows::place(k + terms_on, inside));
  }
  static SAMITE_INLINE_MEMBER F element(const F *factor, int of, int on, int k, int terms_on) {
    return k + terms_on < K ? *place(factor, of, on, extent - 1, k, terms_on) : F(0.0f);
  }
  static SAMITE_INLINE_MEMBER Word word(const F *factor, int of, int on, int k, int terms_on) {
    if constexpr (same_type<F, f32>) {
      return tf32_bits(element(factor, of, on, k, terms_on));
    } else if constexpr (each == 1) {
      return element(factor, of, on, k, terms_on);
    } else {
      struct {
        F at[each];
      } elements;
#pragma unroll
      for (int i = 0; i < each; ++i) elements.at[i] = element(factor, of, on, k + i, terms_on);
      return __builtin_bit_cast(Word, elements);
    }
  }

  template <bool rows_first>
  static SAMITE_INLINE_MEMBER void load_by_matrices(Word (&words)[4], const F *factor, int begin, int on, int k) {
    const int lane = int(flat_thread()) % 32, m = lane / 8, own = begin + 8 * (rows_first ? m % 2 : m / 2),
              terms = half * (rows_first ? m / 2 : m % 2);
    if constexpr (along_terms)
      load_matrices<false>(words, place(factor, own + lane % 8, on, extent - 1, terms, k));
    else
      load_matrices<true>(words, place(factor, own, on, (extent - 1) / 8 * 8, terms + lane % 8, k));
    if constexpr (same_type<F, f32>)
#pragma unroll
      for (int w = 0; w < 4; ++w) words[w] = tf32_bits(f32_of_bits(words[w]));
  }
  template <bool rows_first>
  static SAMITE_INLINE_MEMBER void load_words(Word (&words)[4], const F *factor, int begin, int on, int k) {
    const int lane = int(flat_thread()) % 32;
#pragma unroll
    for (int w = 0; w < 4; ++w) {
      const int of_word = 8 * (rows_first ? w % 2 : w / 2), terms = half * (rows_first ? w / 2 : w % 2);
      words[w] = word(factor, begin + lane / 4, on + of_word, lane % 4 * each, k + terms);
    }
  }

  // The words of 16 lines from line `begin` + `on`, and of both halves of the terms from `k` on. `rows_first`, as for
  // A: word 1 is 8 lines after word 0, word 2 has the other half of the terms. Otherwise, as for two neighbouring
  // pieces of B: word 1 has the other half of the terms, word 2 is 8 lines after word 0.
  template <bool rows_first>
  static SAMITE_INLINE_MEMBER void load(Word (&words)[4], const F *factor, int begin, int on, int k) {
    // Uses constants if possible: otherwise the compiler works on the words of every load before it drops them.
    if constexpr (!loads_matrices)
      load_words<rows_first>(words, factor, begin, on, k);
    else if constexpr (K % (2 * half) == 0)
      load_by_matrices<rows_first>(words, factor, begin, on, k);
    else if (k + 2 * half <= K)
      load_by_matrices<rows_first>(words, factor, begin, on, k);
    else
      load_words<rows_first>(words, factor, begin, on, k);
  }

  // The same with lines 2 n and 2 n + 1 of the 16 as lines n and n + 8 for the tensor cores.
  static SAMITE_INLINE_MEMBER void load_pairs(Word (&words)[4], const F *factor, int begin, int on, int k) {
    const int lane = int(flat_thread()) % 32;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      Pack<F, 2> pair = {};
      if (K % (2 * half) == 0 || k + h * half + lane % 4 < K)
        pair = load_pack<2>(place(factor, begin + lane / 4 * 2, on, extent - 2, lane % 4, k + h * half));
      words[2 * h] = tf32_bits(pair.at[0]);
      words[2 * h + 1] = tf32_bits(pair.at[1]);
    }
  }
};

// A warp's operands for one step of the tensor cores: `terms` terms of all its rows and columns.
template <class Product, int K, bool transposed_a, bool transposed_b, class RowsOfA, class RowsOfB, class F, class G>
struct MatrixFactorsOfWarp {
  static constexpr bool transposed = same_type<typename Product::Unit, TransposedMatrixPieces>;
  static constexpr int down = Product::pieces_down, across = Product::pieces_across;
  // The factor that the tensor cores take 16 lines at once, and the one that they take 8 at once, loaded in pairs.
  static constexpr int lefts = transposed ? across : down, rights = transposed ? down : across,
                       pairs = (rights + 1) / 2;
  static constexpr bool in_pairs = rights % 2 == 0;
  using A = FactorInMemory<F, RowsOfA, Product::rows, Product::whole_rows && (in_pairs || !transposed),
                           Product::rows_apart, K, !transposed_a>;
  using B = FactorInMemory<G, RowsOfB, Product::columns, Product::whole_columns && (in_pairs || transposed),
                           Product::columns_apart, K, transposed_b>;
  using Word = typename A::Word;
  static constexpr int terms = 2 * A::half, loads = lefts + pairs, products = lefts * rights;
  // Words that are assembled from elements.
  static constexpr bool puts_together = A::each > 1 && !(A::loads_matrices && B::loads_matrices);

  Word left[lefts][4], right[pairs][4];

  // The `n`-th of all loads, of the terms from `k` on.
  SAMITE_INLINE_MEMBER void load(int n, const F *a, const G *b, int k) {
    const int first_row = Product::first_row(), first_column = Product::first_column();
    if (n < lefts) {
      if constexpr (transposed)
        B::load_pairs(left[n], b, first_column, n * 16, k);
      else
        A::template load<true>(left[n], a, first_row, n * 16, k);
    } else {
      if constexpr (transposed)
        A::template load<false>(right[n - lefts], a, first_row, (n - lefts) * 16, k);
      else
        B::template load<false>(right[n - lefts], b, first_column, (n - lefts) * 16, k);
    }
  }
  SAMITE_INLINE_MEMBER void load(const F *a, const G *b, int k) {
#pragma unroll
    for (int n = 0; n < loads; ++n) load(n, a, b, k);
  }

  // sums += the product; `behind(n)` runs after its `n`-th instruction.
  template <class C, class Behind>
  SAMITE_INLINE_MEMBER void multiply(C (&c)[Product::registers], const Behind &behind) const {
    using Kind = typename MatrixFactors<F, G>::Kind;
#pragma unroll
    for (int i = 0; i < lefts; ++i)
#pragma unroll
      for (int j = 0; j < rights; ++j) {
        const Word column[2] = {right[j / 2][j % 2 * 2], right[j / 2][j % 2 * 2 + 1]};
        C(&sum)[4] = *reinterpret_cast<C(*)[4]>(&c[(transposed ? j * across + i : i * across + j) * 4]);
        if constexpr (transposed) {
          C transposed_sum[4] = {sum[0], sum[2], sum[1], sum[3]};
          multiply_matrices(Kind(), transposed_sum, left[i], column);
          sum[0] = transposed_sum[0], sum[1] = transposed_sum[2], sum[2] = transposed_sum[1],
          sum[3] = transposed_sum[3];
        } else {
          multiply_matrices(Kind(), sum, left[i], column);
        }
        behind(i * rights + j);
      }
  }
};

template <class Product, int K, bool transposed_a, bool transposed_b, class RowsOfA, class RowsOfB, class C, class F,
          class G>
SAMITE_INLINE void tile_multiply_by_matrices(C (&c)[Product::registers], const F *a, const G *b) {
  using Factors = MatrixFactorsOfWarp<Product, K, transposed_a, transposed_b, RowsOfA, RowsOfB, F, G>;
  constexpr int terms = Factors::terms;
  // Packing words takes many temporary registers: unroll two steps at a time.
#pragma unroll(Factors::puts_together ? 2 : (K + terms - 1) / terms)
  for (int k = 0; k < K; k += terms) {
    Factors factors;
    factors.load(a, b, k);
    factors.multiply(c, [](int) {});
  }
}

}  // namespace samite
