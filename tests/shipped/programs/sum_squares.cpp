// Records or launches kernel "squares", which adds x(i)² to one of four sums, and its adjoint.
//   sum_squares launch <instances> <stride of x>     prints the sum, and the adjoint's gradient of the last element
//   sum_squares forward <instances> <stride of x>    the sum alone
//   sum_squares name                                 no launch: variants by their names
//   sum_squares chain                                no launch: kernels for tapes, and their adjoints
//   sum_squares product                              no launch: a product of tiles
//   sum_squares construct                            no launch: those of SAMITE_AOT_ADJOINTS
#include <samite/samite.h>
#include <samite/toolchain/host_compiler.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string_view>

using namespace samite;

namespace {

using Squares = Kernel<void(Array<double, 1>, Array<const double, 1>)>;

Squares squares() {
  return Squares{"squares", {"sums", "x"}, [](Array<double, 1> sums, Array<const double, 1> x) {
                   Int i = thread_index();
                   atomic_add(sums(i % 4), x(i) * x(i));
                 }};
}

void launch(std::int64_t n, std::int64_t stride, bool adjoint) {
  Squares kernel = squares();
  Buffer<double> storage{Device::cpu(), {n * stride}, Gradient::tracked};
  storage.fill(2);
  Buffer<double> sums{Device::cpu(), {4}, Gradient::tracked};
  const Buffer<double> x = storage.slice(0, 0, n * stride, stride);
  kernel.launch({n}, sums, x);
  std::printf("sum %g\n", sums.at(0) + sums.at(1) + sums.at(2) + sums.at(3));
  if (adjoint) {
    sums.gradient().fill(3);
    kernel.launch({n}, {.direction = Direction::adjoint}, sums, x);
    std::printf("gradient %g\n", x.gradient().at(n - 1));
  }
  std::printf("compiles %d\n", host_compile_count());
}

void name_chain() {
  Kernel square{"square", {"y", "x"}, [](Array<double, 1> y, Array<const double, 1> x) {
                  Int i = thread_index();
                  y(i) = x(i) * x(i);
                }};
  Kernel in_place{"square_in_place", {"x"}, [](Array<double, 1> x) {
                    Int i = thread_index();
                    x(i) = x(i) * x(i);
                  }};
  Kernel forward_only{"forward_only", {"y", "x"}, [](Array<double, 1> y, Array<const double, 1> x) {
                        Int i = thread_index();
                        y(i) = 2.0 * x(i);
                      }};
  Kernel split{"split", {"a", "b", "x"}, [](Array<double, 1> a, Array<double, 1> b, Array<const double, 1> x) {
                 Int i = thread_index();
                 a(i) = x(i) * x(i);
                 b(i) = 3.0 * x(i);
               }};
  add_to_archive(split, {});
  add_to_archive(split, {.direction = Direction::adjoint, .active = {"a", "x"}});
  add_to_archive(forward_only, {});
  add_to_archive(square, {});
  add_to_archive(square, {.direction = Direction::adjoint, .active = {"y", "x"}});
  add_to_archive(square, {.direction = Direction::adjoint, .active = {"y"}});
  add_to_archive(in_place, {});
  add_to_archive(in_place, {.direction = Direction::adjoint, .active = {"x"}});
}

void name_product() {
  TileKernel product{"product",
                     {"a", "b", "c"},
                     [](Array<const half, 2> a, Array<const half, 2> b, Array<float, 2> c) {
                       auto [i, j] = block_index<2>();
                       Tile<float> sum = tile::zeros<float>({64, 64});
                       for (Int k : range(tile::ceil_div(a.extent(1), 64), pipelined(2)))
                         tile::matmul(tile::load(a, {i, k}, {64, 64}), tile::load(b, {k, j}, {64, 64}), sum);
                       tile::store(c, {i, j}, sum);
                     },
                     TileOptions{.threads = 128}};
  add_to_archive(product, {});
}

}  // namespace

int main(int argc, char **argv) {
  try {
    const std::string_view mode = argc > 1 ? argv[1] : "";
    if (mode == "name") {
      Squares kernel = squares();
      add_to_archive(kernel, {.any_strides = {"x"}});
      add_to_archive(kernel, {.direction = Direction::adjoint, .active = {"sums", "x"}, .any_strides = {"x"}});
    } else if (mode == "chain") {
      name_chain();
    } else if (mode == "product") {
      name_product();
    } else if (mode == "construct") {
      squares();
    } else if (argc > 3) {
      launch(std::atoi(argv[2]), std::atoi(argv[3]), mode == "launch");
    }
    return 0;
  } catch (const std::exception &error) {
    std::printf("error %s\n", error.what());
    return 1;
  }
}
