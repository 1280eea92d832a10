// A kernel around the main loop of sm90_product_loop.h, as text: for the compiler, and for the host.
#pragma once

#include <fmt/format.h>

#include <string>

namespace samite::test {

struct GroupProductShape {
  std::string kind = "WgmmaBF16", element = "u16", sum = "f32";
  int bytes = 2;
  int rows = 128, columns = 256, terms = 64;
  int stages = 4, down = 2, across = 1;
  bool transposed_a = false, transposed_b = false, roles = false;
  bool shares_a = false, shares_b = false;  // by the two blocks of a cluster, with roles
  bool turned = false;                      // the transposes are multiplied, with b in registers
  bool limited = false;                     // only terms before `limit` count

  int multiplying_threads() const { return down * across * 128; }
  int threads() const { return multiplying_threads() + (roles ? 128 : 0); }
  bool clusters() const { return shares_a || shares_b; }
  int box_rows_of_a() const { return (transposed_a ? terms : rows) / (shares_a ? 2 : 1); }
  int box_rows_of_b() const { return (transposed_b ? columns : terms) / (shares_b ? 2 : 1); }
  int ring_bytes() const { return stages * (rows + columns) * terms * bytes; }
};

// The transposes of f32 factors are multiplied, as tf32.
inline GroupProductShape turned_product(int rows, int columns, int down, int across) {
  GroupProductShape shape{.kind = "WgmmaTF32", .element = "f32", .bytes = 4, .rows = rows, .columns = columns};
  shape.terms = 32, shape.down = down, shape.across = across, shape.turned = true;
  return shape;
}

// In namespace samite: `product_of_block(map_a, map_b, c, row, column, columns_of_c, steps, limit)` adds the tile of A
// B that begins at `row` and `column`, one sum per thread, to c, which has whole tiles.
inline std::string group_product_text(const GroupProductShape &s) {
  std::string text = fmt::format(
      R"(namespace samite {{

struct PiecesOfGroup {{
  static constexpr int rows = 64, columns = 8, registers = 4, threads = 128;
}};
using Product = Fragments<{pieces}, {rows}, {columns}, {down}, {across}>;

SAMITE_INLINE void add_sums({sum} *c, const {sum} (&sums)[Product::registers], i32 row, i32 column, i32 columns) {{
  const int thread = int(flat_thread()), group = thread / 128;
#pragma unroll
  for (int r = 0; r < Product::registers; ++r) {{
    const int down = group / {across} * Product::pieces_down + r / 4 / Product::pieces_across,
              across = group % {across} * Product::pieces_across + r / 4 % Product::pieces_across,
              warp = thread % 128 / 32, lane = thread % 32;
    const int i = {turned} ? down * 8 + lane % 4 * 2 + r % 4 / 2 : down * 64 + warp * 16 + matrix_row(lane, r % 4),
              j = {turned} ? across * 64 + warp * 16 + lane / 4 * 2 + r % 2 : across * 8 + matrix_column(lane, r % 4);
    if (i < Product::rows) c[(row + i) * columns + column + j] += sums[r];
  }}
}}

)",
      fmt::arg("kind", s.kind), fmt::arg("rows", s.rows), fmt::arg("columns", s.columns), fmt::arg("terms", s.terms),
      fmt::arg("stages", s.stages), fmt::arg("down", s.down), fmt::arg("across", s.across),
      fmt::arg("ta", s.transposed_a), fmt::arg("tb", s.transposed_b), fmt::arg("sum", s.sum),
      fmt::arg("turned", s.turned), fmt::arg("pieces", s.turned ? "TransposedGroupMatrixPieces" : "PiecesOfGroup"));
  const std::string steps = fmt::format("{}, {}, {}, {}", s.transposed_a ? s.terms : 0, s.transposed_a ? 0 : s.terms,
                                        s.transposed_b ? 0 : s.terms, s.transposed_b ? s.terms : 0);
  text += fmt::format(
      R"(SAMITE_INLINE void product_of_block(const TensorMap *map_a, const TensorMap *map_b, {sum} *c, i32 row, i32 column,
                                    i32 columns, i32 steps, i32 limit) {{
  u8 *const memory = shared_memory();
  BulkWindows<2> a{{map_a, {{{a_row}, {a_column}}}}}, b{{map_b, {{{b_row}, {b_column}}}}};
  u64 *const barriers = reinterpret_cast<u64 *>(memory + {ring});
)",
      fmt::arg("sum", s.sum), fmt::arg("a_row", s.transposed_a ? "0" : "row"),
      fmt::arg("a_column", s.transposed_a ? "row" : "0"), fmt::arg("b_row", s.transposed_b ? "column" : "0"),
      fmt::arg("b_column", s.transposed_b ? "0" : "column"), fmt::arg("ring", s.ring_bytes()));
  const std::string clear = fmt::format(
      "{0} sums[Product::registers];\n#pragma unroll\n  for (int r = 0; r < Product::registers; ++r) sums[r] = 0;\n",
      s.sum);
  const std::string limit = s.limited ? ", TermsBelow{limit}" : "";
  if (!s.roles)
    return text + fmt::format(
                      R"(  {clear}
  {element} *const ring = reinterpret_cast<{element} *>(memory);
  tile_product_loop<Product, {kind}, {terms}, {stages}, {ta}, {tb}, Alone, {steps}>(
      sums, ring, ring + {b_at}, barriers, a, b, steps{limit});
  add_sums(c, sums, row, column, columns);
}}

}}  // namespace samite
)",
                      fmt::arg("clear", clear), fmt::arg("limit", limit), fmt::arg("element", s.element),
                      fmt::arg("kind", s.kind), fmt::arg("terms", s.terms), fmt::arg("stages", s.stages),
                      fmt::arg("ta", s.transposed_a), fmt::arg("tb", s.transposed_b), fmt::arg("steps", steps),
                      fmt::arg("b_at", s.stages * s.rows * s.terms));
  // Two tiles, one above the other, so that the rings go on from one to the next.
  const std::string of_product =
      fmt::format("Product, {}, {}, {}, {}, {}, {}", s.kind, s.terms, s.stages, s.transposed_a, s.transposed_b,
                  s.clusters() ? fmt::format("Cluster<2, {}, {}>", s.shares_a, s.shares_b) : "Alone");
  return text +
         fmt::format(
             R"(  {element} *const ring_a = reinterpret_cast<{element} *>(memory), *const ring_b = ring_a + {b_at};
  tile_make_barriers<{stages}, Product::warps * 4 * {blocks}>(barriers);
  {meet}
  RingPosition<{stages}> at;
  if (warp_group_of_block() == Product::warps) {{
    give_registers<40>();
#pragma unroll 1
    for (i32 tile = 0; tile < 2; ++tile) {{
      tile_produce<{of_product}, {steps}>(ring_a, ring_b, barriers, at, a, b, steps);
      a.at[{down_a}] += {rows};
    }}
  }} else {{
    take_registers<232>();
#pragma unroll 1
    for (i32 tile = 0; tile < 2; ++tile) {{
      {clear}
      tile_consume<{of_product}>(sums, ring_a, ring_b, barriers, at, steps{limit});
      add_sums(c, sums, row + tile * {rows}, column, columns);
    }}
  }}
  {end}
}}

}}  // namespace samite
)",
             fmt::arg("limit", limit), fmt::arg("blocks", s.clusters() ? 2 : 1),
             fmt::arg("meet", s.clusters() ? "sync_cluster();" : "__syncthreads();"),
             fmt::arg("end", s.clusters() ? "sync_cluster();" : ""), fmt::arg("element", s.element),
             fmt::arg("b_at", s.stages * s.rows * s.terms), fmt::arg("of_product", of_product),
             fmt::arg("stages", s.stages), fmt::arg("steps", steps), fmt::arg("down_a", s.transposed_a ? 1 : 0),
             fmt::arg("rows", s.rows), fmt::arg("clear", clear));
}

}  // namespace samite::test
