// Products of 8-bit floating matrices with scales, c = f((a scale_a) (b scale_b)).
//
//   ops::scaled_matmul(a, b, scale_a, scale_b, c);
//
//   const ops::ScaledMatmul layer{"layer", [](const ops::ScaledSums<f8e4m3> &s, Array<const float, 1> bias) {
//                                   return tile::cast<bfloat16>(s.values() + s.for_columns(bias));
//                                 }};
//   layer.launch(a, b, scale_a, scale_b, c, bias);
//
// The scales' extents determine which numbers share a scale (ops/scales.h), separately for a and b. Products are summed
// in float. Scales that change along the inner dimension are applied to sums of 128 terms, others to the total sums.
// One factor may be f8e5m2, as gradients are in training; a product of two such factors would have only two digits, and
// is refused.
//
// The epilogue is that of ops/matmul.h, for scaled sums; its first parameter, ScaledSums<A, B>, sets the types of both
// factors, ScaledSums<A> one for both. A cast to 8 bits rounds to nearest and saturates:
// `tile::cast<f8e4m3>(s.values() * scale)`.
#pragma once

#include "samite/ops/matmul.h"
#include "samite/ops/scales.h"

#include <vector>

namespace samite::ops {

// The sums of factors of A and B, with their scales.
template <Scalar A, Scalar B = A>
struct ScaledSums : Sums<float> {
  explicit ScaledSums(Sums<float> sums) : Sums<float>(std::move(sums)) {}
};

namespace detail {

template <class E, Scalar A, Scalar B, Scalar C, class... Ps>
struct EpilogueOf<Tile<C> (E::*)(const ScaledSums<A, B> &, Ps...) const> {
  using type = Tile<C>(ScaledSums<A, B>, std::remove_cvref_t<Ps>...);
};

struct ScaledPlan {
  MatmulPlan plan;
  ScaleGroups a, b;
  ScalesLie beside;  // the layout of scales of terms, if bulk copies load them with the factors

  bool by_terms() const { return a.columns != ScaleGroup::all || b.rows != ScaleGroup::all; }
  // A thread has the products of 128 terms and the total sums. A tile with more columns than a block of scales is
  // multiplied in parts of that many columns, one after another, so that a thread has the products of one part.
  int parts() const {
    return by_terms() && beside.copied && plan.columns > scale_block ? plan.columns / scale_block : 1;
  }
  int columns_of_part() const { return plan.columns / parts(); }
  // A column index of the result, counted in parts.
  Int column(const Int &block, int part) const { return parts() == 1 ? Int(block) : Int(block * parts() + part); }
  void describe(MatmulFactors &factors) const {
    factors.block_scales = by_terms();
    factors.row_blocks = a.rows == ScaleGroup::block;
    factors.scales_beside = by_terms() && beside.copied;
  }
  bool on_cpu() const { return plan.stages == 1; }
  friend auto operator<=>(const ScaledPlan &, const ScaledPlan &) = default;
};

// sum + a b. Tensor cores multiply mixed types directly; the CPU casts both to half, which represents them exactly.
template <Scalar A, Scalar B>
Tile<float> add_product(const Tile<A> &a, const Tile<B> &b, const Tile<float> &sum, tile::Transposes transposed,
                        bool on_cpu, SourceLocation where) {
  if constexpr (!std::same_as<A, B>)
    if (on_cpu) return add_product(tile::cast<half>(a), tile::cast<half>(b), sum, transposed, on_cpu, where);
  return Tile<float>::adopt(lang::multiply_tiles(a.value(where), b.value(where), sum.value(where), transposed.a,
                                                 transposed.b, /*tf32=*/false, where));
}

// The scales of one matrix, one of several if the array has three dimensions. `transposed`: the array's last two
// dimensions are exchanged.
template <int Rank>
class ScalesOfMatrix {
 public:
  ScalesOfMatrix(const Array<const float, Rank> &scales, const Int &matrix, bool transposed, SourceLocation where)
      : scales_(scales), matrix_(matrix), transposed_(transposed), where_(where) {}

  Float at(const Int &i, const Int &j) const {
    if constexpr (Rank == 3)
      return scales_(matrix_, i, j);
    else
      return scales_(i, j);
  }
  // One of these extents is 1.
  Tile<float> load(const Int &i, const Int &j, std::array<int, 2> extents) const {
    if (transposed_) return tile::reshape(load_as_it_lies(j, i, {extents[1], extents[0]}), {extents[0], extents[1]});
    return load_as_it_lies(i, j, extents);
  }
  Tile<float> view(const Int &i, const Int &j, std::array<int, 2> extents, const tile::View &view) const {
    if constexpr (Rank == 3)
      return tile::load_view(scales_, {matrix_, i, j}, {extents[0], extents[1]}, view, where_);
    else
      return tile::load_view(scales_, {i, j}, {extents[0], extents[1]}, view, where_);
  }

 private:
  Tile<float> load_as_it_lies(const Int &i, const Int &j, std::array<int, 2> extents) const {
    if constexpr (Rank == 3)
      return tile::load_at(scales_, {matrix_, i, j}, {extents[0], extents[1]}, where_);
    else
      return tile::load_at(scales_, {i, j}, {extents[0], extents[1]}, where_);
  }

  Array<const float, Rank> scales_;
  Int matrix_;
  bool transposed_;
  SourceLocation where_;
};

// The scales of both factors for a part of a block's tile of the result, which begins at this row and this column.
template <int RankOfA, int RankOfB>
struct ScalesOfTile {
  ScalesOfMatrix<RankOfA> a;
  ScalesOfMatrix<RankOfB> b;
  Int row, column;

  // Factors for the tile's elements: (rows x 1) or (1 x columns), or one number for all, (1 x 1). `k` counts blocks of
  // 128 terms.
  Tile<float> of_rows(const Int &k, const ScaledPlan &p) const {
    const Int at = p.a.columns == ScaleGroup::all ? Int(0) : Int(k);
    if (p.a.rows == ScaleGroup::one) return a.load(row, at, {p.plan.rows, 1});
    return a.load(p.a.rows == ScaleGroup::all ? Int(0) : Int(row / scale_block), at, {1, 1});
  }
  Tile<float> of_columns(const Int &k, const ScaledPlan &p) const {
    const Int at = p.b.rows == ScaleGroup::all ? Int(0) : Int(k);
    if (p.b.columns == ScaleGroup::one) return b.load(at, column, {1, p.columns_of_part()});
    return b.load(at, p.b.columns == ScaleGroup::all ? Int(0) : Int(column / scale_block), {1, 1});
  }
  // The scales of rows as one number for each row, (rows x 1), even if a block of rows shares one.
  Tile<float> of_each_row(const Int &k, const ScaledPlan &p) const {
    const Tile<float> scales = of_rows(k, p);
    return p.beside.copied && p.a.rows != ScaleGroup::one ? tile::broadcast<float>(scales, {p.plan.rows, 1}) : scales;
  }
  // The total sums with all remaining scales; those that change along the terms are already applied.
  Tile<float> applied(const Tile<float> &sums, const ScaledPlan &p) const {
    if (p.by_terms()) return sums;
    return sums * (of_rows(0, p) * of_columns(0, p));
  }
};

// The scales of 128 terms of a part of a block's tile of the result, in blocks of threads. Those of single rows and
// columns are views without shared memory, which would need barriers in each iteration.
template <int RankOfA, int RankOfB>
class ScalesOfTerms {
 public:
  ScalesOfTerms(const ScalesOfTile<RankOfA, RankOfB> &scales, const ScaledPlan &p) : scales_(scales), p_(p) {}

  // Whether at least one factor has one number for all elements: that number, or the product of both.
  bool has_number() const { return !of_each_row() || !of_each_column(); }
  Float number(const Int &k) const {
    if (of_each_row()) return of_columns(k);
    if (of_each_column()) return of_rows(k);
    return of_rows(k) * of_columns(k);
  }

  // The scales of rows, if there are any.
  bool of_each_row() const { return p_.a.rows == ScaleGroup::one; }
  Tile<float> row_scales(const Int &k) const {
    return scales_.a.view(scales_.row, of_a(k), {p_.plan.rows, p_.columns_of_part()}, {.steps = {1, 0}});
  }

  // Applies `number`, if there is one, and `rows`, if there are scales of rows.
  Tile<float> applied(const Tile<float> &product, const Int &k, const Float &number, const Tile<float> &rows) const {
    if (of_each_row() && of_each_column()) return product * (rows * column_scales(k));
    if (of_each_row()) return product * (rows * number);
    if (of_each_column()) return product * (column_scales(k) * number);
    return product * number;
  }

 private:
  bool of_each_column() const { return p_.b.columns == ScaleGroup::one; }
  Int of_a(const Int &k) const { return p_.a.columns == ScaleGroup::all ? Int(0) : Int(k); }
  Int of_b(const Int &k) const { return p_.b.rows == ScaleGroup::all ? Int(0) : Int(k); }
  Float of_rows(const Int &k) const {
    return scales_.a.at(p_.a.rows == ScaleGroup::all ? Int(0) : Int(scales_.row / scale_block), of_a(k));
  }
  Float of_columns(const Int &k) const {
    return scales_.b.at(of_b(k), p_.b.columns == ScaleGroup::all ? Int(0) : Int(scales_.column / scale_block));
  }
  Tile<float> column_scales(const Int &k) const {
    return scales_.b.view(of_b(k), scales_.column, {p_.plan.rows, p_.columns_of_part()}, {.steps = {0, 1}});
  }

  const ScalesOfTile<RankOfA, RankOfB> &scales_;
  const ScaledPlan &p_;
};

// The sums of each part of a block's tile of the result, over this many iterations, without scales of all terms;
// `load_left` and `load_right` load the factors of an iteration, the latter for one part.
template <Scalar A, Scalar B, int RankOfA, int RankOfB, class Left, class Right>
std::vector<Tile<float>> scaled_sums(const Left &load_left, const Right &load_right,
                                     const std::vector<ScalesOfTile<RankOfA, RankOfB>> &parts, const Int &steps,
                                     tile::Transposes transposed, const ScaledPlan &p, SourceLocation where) {
  const MatmulPlan &plan = p.plan;
  const auto zeros = [&] { return tile::zeros<float>({plan.rows, p.columns_of_part()}, where); };
  std::vector<Tile<float>> sums;
  for (std::size_t part = 0; part < parts.size(); ++part) sums.push_back(zeros());
  // Unless bulk copies load them, they are read an iteration ahead, to hide their latency.
  const bool ahead = p.by_terms() && !p.on_cpu() && !p.beside.copied;
  const ScalesOfTerms<RankOfA, RankOfB> own(parts[0], p);
  const bool number_ahead = ahead && own.has_number(), rows_ahead = ahead && own.of_each_row();
  Float next = 0;
  if (number_ahead) if_(steps > 0, [&] { next = own.number(0); });
  Tile<float> next_rows = rows_ahead ? own.row_scales(0) : sums[0];
  for (Int k : range(steps, pipelined(plan.stages))) {
    const Float number = next;
    if (number_ahead) next = own.number(min(k + 1, steps - 1));
    std::vector<Tile<float>> scales;
    if (p.by_terms() && !ahead) {
      const Tile<float> of_rows = parts[0].of_each_row(k, p);
      for (const auto &part : parts) scales.push_back(of_rows * part.of_columns(k, p));
    }
    const Tile<A> left = load_left(k);
    for (std::size_t part = 0; part < parts.size(); ++part) {
      const Tile<B> right = load_right(k, static_cast<int>(part));
      const auto sum_and_product = [&](const Tile<float> &sum) {
        return add_product(left, right, sum, transposed, p.on_cpu(), where);
      };
      if (!p.by_terms())
        sums[part] = sum_and_product(sums[part]);
      else if (!ahead)
        sums[part] += sum_and_product(zeros()) * scales[part];
      else
        sums[part] += own.applied(sum_and_product(zeros()), k, number, next_rows);
    }
    if (rows_ahead) next_rows = own.row_scales(k + 1);
  }
  return sums;
}
// For each part, with all scales.
template <int Rank, Scalar A, Scalar B>
std::vector<Tile<float>> scaled_block_sums(const Array<const A, Rank> &a, const Array<const B, Rank> &b,
                                           const Array<const float, Rank> &scale_a,
                                           const Array<const float, Rank> &scale_b, const std::array<Int, Rank> &block,
                                           tile::Transposes transposed, const ScaledPlan &p, SourceLocation where) {
  const Int &i = block[Rank - 2], &j = block[Rank - 1];
  const MatmulPlan &plan = p.plan;
  std::vector<ScalesOfTile<Rank, Rank>> parts;
  for (int part = 0; part < p.parts(); ++part)
    parts.push_back({{scale_a, block[0], p.beside.a_transposed, where},
                     {scale_b, block[0], p.beside.b_transposed, where},
                     i * plan.rows,
                     p.column(j, part) * p.columns_of_part()});
  std::vector<Tile<float>> sums = scaled_sums<A, B>(
      [&](const Int &k) { return load_factor<Rank>(a, block, i, k, {plan.rows, plan.inner}, transposed.a, where); },
      [&](const Int &k, int part) {
        return load_factor<Rank>(b, block, k, p.column(j, part), {plan.inner, p.columns_of_part()}, transposed.b,
                                 where);
      },
      parts, tile::ceil_div(a.extent(Rank - (transposed.a ? 2 : 1)), plan.inner), transposed, p, where);
  for (std::size_t part = 0; part < parts.size(); ++part) sums[part] = parts[part].applied(sums[part], p);
  return sums;
}

// The plan of a product with scales of these groups. UserError for a scale for each term.
inline ScaledPlan scaled_plan(const std::string &name, const MatmulShape &shape, MatmulFactors factors,
                              const ScaleGroups &of_a, const ScaleGroups &of_b, const ScalesLie &lie,
                              const PlanDevice &device, SourceLocation where) {
  if (of_a.columns == ScaleGroup::one || of_b.rows == ScaleGroup::one) refuse_scale_for_each_term(name, where);
  // For blocks of terms on both sides, and of b's columns: scales of single columns would be one more tile in
  // registers.
  const bool of_blocks = of_a.columns == ScaleGroup::block && of_b == ScaleGroups{ScaleGroup::block, ScaleGroup::block};
  const bool beside = of_blocks && device.has_warp_groups();
  ScaledPlan plan{{}, of_a, of_b, beside ? lie : ScalesLie{}};
  plan.describe(factors);
  plan.plan = matmul_plan(shape, factors, device);
  return plan;
}

}  // namespace detail

template <class Epilogue>
class ScaledMatmul;

template <Scalar A, Scalar B, Scalar C, class... Extras>
class ScaledMatmul<Tile<C>(ScaledSums<A, B>, Extras...)> {
  static_assert((std::same_as<A, f8e4m3> || std::same_as<A, f8e5m2>) &&
                    (std::same_as<B, f8e4m3> || std::same_as<B, f8e5m2>),
                "a scaled product has factors of f8e4m3 or f8e5m2; ops::Matmul multiplies other types");
  static_assert(!std::same_as<A, f8e5m2> || !std::same_as<B, f8e5m2>,
                "two factors of f8e5m2 leave two digits of a product; quantise one of them to f8e4m3");
  template <int Rank>
  using KernelOf = TileKernel<void(Array<const A, Rank>, Array<const B, Rank>, Array<const float, Rank>,
                                   Array<const float, Rank>, Array<C, Rank>, Extras...)>;
  using First = detail::Called<Buffer<A>>;

 public:
  template <class E>
  ScaledMatmul(std::string name, const E &epilogue, MatmulOptions options = {},
               SourceLocation where = std::source_location::current())
      : state_(std::make_shared<State>(
            name, options, detail::first_arrays(4),
            identity_of_operation(name, typeid(void (*)(E, ScaledMatmul)).name()),
            [=](const detail::ScaledPlan &plan) { return kernel<2>(name, epilogue, options.transposed, plan, where); },
            [=](const detail::ScaledPlan &plan) {
              return kernel<3>(name, epilogue, options.transposed, plan, where);
            })) {
    lang::check_precision(options.precision == tile::Precision::tf32, scalar_type_of<A>, where);
  }

  // a (rows x inner), b (inner x columns), c (rows x columns), with scales as in ops/scales.h for matrices of (rows x
  // inner) and (inner x columns), transposed or not; or batches of these in three dimensions. UserError if their shapes
  // do not match, DeviceError as for a launch.
  void launch(const First &a, const Buffer<B> &b, const Buffer<float> &scale_a, const Buffer<float> &scale_b,
              const Buffer<C> &c, jit::ArgumentFor<Extras>... extras) const {
    launch(LaunchOptions{}, a, b, scale_a, scale_b, c, extras...);
  }
  void launch(const LaunchOptions &options, const First &a, const Buffer<B> &b, const Buffer<float> &scale_a,
              const Buffer<float> &scale_b, const Buffer<C> &c, jit::ArgumentFor<Extras>... extras) const {
    with_kernel(a, b, scale_a, scale_b, c, [&](const auto &kernel, const LaunchExtents &blocks, const auto &scales) {
      kernel.launch(blocks, detail::with_stream(options, state_->options), a.buffer, b, scales.of_a(scale_a),
                    scales.of_b(scale_b), c, extras...);
    });
  }
  Launch record(const First &a, const Buffer<B> &b, const Buffer<float> &scale_a, const Buffer<float> &scale_b,
                const Buffer<C> &c, jit::ArgumentFor<Extras>... extras) const {
    return record(LaunchOptions{}, a, b, scale_a, scale_b, c, extras...);
  }
  Launch record(const LaunchOptions &options, const First &a, const Buffer<B> &b, const Buffer<float> &scale_a,
                const Buffer<float> &scale_b, const Buffer<C> &c, jit::ArgumentFor<Extras>... extras) const {
    return with_kernel(a, b, scale_a, scale_b, c,
                       [&](const auto &kernel, const LaunchExtents &blocks, const auto &scales) {
                         return kernel.record(blocks, detail::with_stream(options, state_->options), a.buffer, b,
                                              scales.of_a(scale_a), scales.of_b(scale_b), c, extras...);
                       });
  }

  // Finds the fastest plan for arrays of these extents by measurement, and keeps it for later launches.
  TunedPlan tune(const First &a, const Buffer<B> &b, const Buffer<float> &scale_a, const Buffer<float> &scale_b,
                 const Buffer<C> &c, jit::ArgumentFor<Extras>... extras) const {
    return tune(TuneOptions{}, a, b, scale_a, scale_b, c, extras...);
  }
  TunedPlan tune(const TuneOptions &options, const First &a, const Buffer<B> &b, const Buffer<float> &scale_a,
                 const Buffer<float> &scale_b, const Buffer<C> &c, jit::ArgumentFor<Extras>... extras) const {
    const Product product = planned_product(a.buffer, b, scale_a, scale_b, c, a.where);
    return detail::tune_plan(
        state_->name, product.planned, options,
        [&](const MatmulPlan &plan) {
          return with_plan(product, plan, a, [&](const auto &kernel, const LaunchExtents &blocks, const auto &scales) {
            return kernel.record(blocks, a.buffer, b, scales.of_a(scale_a), scales.of_b(scale_b), c, extras...);
          });
        },
        a.where);
  }

  const std::string &name() const { return state_->name; }
  std::vector<KernelOf<2>> kernels() const { return state_->matrices.all(); }
  std::vector<KernelOf<3>> kernels_of_batches() const { return state_->batches.all(); }

 private:
  using State = detail::Operation<MatmulOptions, detail::ScaledPlan, KernelOf<2>, KernelOf<3>>;

  struct Product {
    PlannedProduct planned;
    detail::ScaledPlan plan;  // the default plan
  };
  // Scales in the layout that a plan's kernel reads.
  struct ScalesAsRead {
    ScalesLie lie;
    bool in_batches;

    Buffer<float> of_a(const Buffer<float> &scales) const { return lie.a_transposed ? exchanged(scales) : scales; }
    Buffer<float> of_b(const Buffer<float> &scales) const { return lie.b_transposed ? exchanged(scales) : scales; }

   private:
    Buffer<float> exchanged(const Buffer<float> &scales) const {
      return in_batches ? scales.permute({0, 2, 1}) : scales.permute({1, 0});
    }
  };
  Product planned_product(const AnyBuffer &a, const AnyBuffer &b, const AnyBuffer &scale_a, const AnyBuffer &scale_b,
                          const AnyBuffer &c, SourceLocation where) const {
    const std::string &name = state_->name;
    const tile::Transposes transposed = state_->options.transposed;
    const MatmulShape shape = matmul_shape(name, {a, b, c, transposed}, where);
    const std::int64_t count = a.rank() == 3 ? shape.batches : 0;
    MatmulFactors factors{
        .type = scalar_type_of<A>,
        .transposed = transposed,
        .differentiated = scale_a.tracks_gradient() || scale_b.tracks_gradient() || c.tracks_gradient()};
    const detail::ScaledPlan plan = detail::scaled_plan(
        name, shape, factors,
        scale_groups(name, "scale_a", scale_a, count, shape.rows, shape.inner, where, TermsAre::columns),
        scale_groups(name, "scale_b", scale_b, count, shape.inner, shape.columns, where, TermsAre::rows),
        scales_lie(scale_a, scale_b), plan_device(a.device()), where);
    plan.describe(factors);
    return {{state_->identity, shape, factors, a.device()}, plan};
  }
  template <class F>
  decltype(auto) with_plan(const Product &product, const MatmulPlan &tiles, const First &a, const F &function) const {
    const bool in_batches = a.buffer.rank() == 3;
    detail::ScaledPlan plan = product.plan;
    plan.plan = tiles;
    const LaunchExtents blocks(matmul_blocks(product.planned.shape, tiles, in_batches), a.where);
    const ScalesAsRead scales{plan.beside, in_batches};
    if (in_batches) return function(state_->batches.at(plan), blocks, scales);
    return function(state_->matrices.at(plan), blocks, scales);
  }
  template <class F>
  decltype(auto) with_kernel(const First &a, const AnyBuffer &b, const AnyBuffer &scale_a, const AnyBuffer &scale_b,
                             const AnyBuffer &c, const F &function) const {
    const Product product = planned_product(a.buffer, b, scale_a, scale_b, c, a.where);
    return with_plan(product, chosen_plan(product.planned), a, function);
  }

  template <int Rank, class E>
  static KernelOf<Rank> kernel(const std::string &name, const E &epilogue, tile::Transposes transposed,
                               const detail::ScaledPlan &p, SourceLocation where) {
    return KernelOf<Rank>(
        name,
        [&](Array<const A, Rank> a, Array<const B, Rank> b, Array<const float, Rank> scale_a,
            Array<const float, Rank> scale_b, Array<C, Rank> c, Extras... extras) {
          const std::array<Int, Rank> block = block_index<Rank>(where);
          const Int &i = block[Rank - 2];
          auto sums = detail::scaled_block_sums<Rank, A, B>(a, b, scale_a, scale_b, block, transposed, p, where);
          for (int part = 0; part < p.parts(); ++part) {
            std::array<Int, Rank> own = block;
            own[Rank - 1] = p.column(block[Rank - 1], part);
            const ScaledSums<A, B> sum(Sums<float>(std::move(sums[static_cast<std::size_t>(part)]), i, own[Rank - 1],
                                                   c.extent(Rank - 2), c.extent(Rank - 1)));
            detail::store_part<Rank>(c, own, Tile<C>(epilogue(sum, extras...)), where);
          }
        },
        TileOptions{.threads = p.plan.threads}, where);
  }

  std::shared_ptr<State> state_;
};

template <class E, class Signature = typename detail::EpilogueOf<E>::type>
ScaledMatmul(std::string, E) -> ScaledMatmul<Signature>;
template <class E, class Signature = typename detail::EpilogueOf<E>::type>
ScaledMatmul(std::string, E, MatmulOptions) -> ScaledMatmul<Signature>;

// Rounded to c's type, for types as in ScaledMatmulByType (ops/matmul_by_type.h). UserError for others, and as for a
// ScaledMatmul.
void scaled_matmul(const AnyBuffer &a, const AnyBuffer &b, const AnyBuffer &scale_a, const AnyBuffer &scale_b,
                   const AnyBuffer &c, const MatmulOptions &options = {},
                   SourceLocation where = std::source_location::current());

}  // namespace samite::ops
