// CUB, cuSPARSE and cuBLAS on the cases of bench/cuda_solve.cpp, as C functions that against_cuda_solvers.py loads:
//
//   nvcc -O3 -arch=native -shared -Xcompiler -fPIC -o peers.so bench/peers/cuda_solvers.cu -lcusparse -lcublas
//
// Each `prepare_…` leaves a case on the device in place of the one before; `run` makes this many calls and gives the
// milliseconds of one. An error ends the process.
#include <cublas_v2.h>
#include <cub/cub.cuh>
#include <cusparse.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <type_traits>
#include <vector>

namespace {

void check(bool right, const char *what, int line) {
  if (right) return;
  std::fprintf(stderr, "%s in line %d has failed\n", what, line);
  std::exit(1);
}
#define CUDA(call) check((call) == cudaSuccess, #call, __LINE__)
#define SPARSE(call) check((call) == CUSPARSE_STATUS_SUCCESS, #call, __LINE__)
#define BLAS(call) check((call) == CUBLAS_STATUS_SUCCESS, #call, __LINE__)

std::vector<void *> owned;
std::function<void()> work;

template <class T>
T *array(std::size_t count) {
  void *memory = nullptr;
  CUDA(cudaMalloc(&memory, count * sizeof(T)));
  CUDA(cudaMemset(memory, 0, count * sizeof(T)));
  owned.push_back(memory);
  return static_cast<T *>(memory);
}

template <class T>
T *array_of(const std::vector<T> &values) {
  T *memory = array<T>(values.size());
  CUDA(cudaMemcpy(memory, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
  return memory;
}

void drop() {
  CUDA(cudaDeviceSynchronize());
  work = nullptr;
  for (void *memory : owned) CUDA(cudaFree(memory));
  owned.clear();
}

std::vector<int> mixed_numbers(std::size_t count) {
  std::vector<int> values(count);
  std::uint32_t state = 1;
  for (int &value : values) value = static_cast<int>((state = state * 1664525U + 1013904223U) >> 8);
  return values;
}

template <class T>
constexpr cudaDataType type_of = std::is_same_v<T, float> ? CUDA_R_32F : CUDA_R_64F;

struct Csr {
  std::vector<int> offsets{0}, indices;
  std::vector<double> values;
};

// Of 7 points, or blocks of 3 x 3 with 26 neighbours: only their number matters to a product's time.
Csr grid(int extent, bool blocks) {
  Csr a;
  for (int z = 0; z < extent; ++z)
    for (int y = 0; y < extent; ++y)
      for (int x = 0; x < extent; ++x) {
        for (int dz = -1; dz <= 1; ++dz)
          for (int dy = -1; dy <= 1; ++dy)
            for (int dx = -1; dx <= 1; ++dx) {
              const int square = dz * dz + dy * dy + dx * dx;
              if (!blocks && square > 1) continue;
              if (z + dz < 0 || z + dz >= extent || y + dy < 0 || y + dy >= extent || x + dx < 0 || x + dx >= extent)
                continue;
              a.indices.push_back(((z + dz) * extent + y + dy) * extent + x + dx);
              for (int i = 0; i < (blocks ? 9 : 1); ++i) a.values.push_back(square == 0 ? (blocks ? 30 : 6) : -1);
            }
        a.offsets.push_back(static_cast<int>(a.indices.size()));
      }
  return a;
}

cusparseHandle_t sparse() {
  static cusparseHandle_t handle = [] {
    cusparseHandle_t made;
    SPARSE(cusparseCreate(&made));
    return made;
  }();
  return handle;
}

template <class T>
struct Product {
  cusparseSpMatDescr_t matrix;
  T one = 1, zero = 0;
  void *buffer = nullptr;
  int rows;

  explicit Product(int extent) {
    const Csr a = grid(extent, false);
    rows = extent * extent * extent;
    SPARSE(cusparseCreateCsr(&matrix, rows, rows, a.indices.size(), array_of(a.offsets), array_of(a.indices),
                             array_of(std::vector<T>(a.values.begin(), a.values.end())), CUSPARSE_INDEX_32I,
                             CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, type_of<T>));
    T *x = array<T>(rows), *y = array<T>(rows);
    const auto in = vector(x), out = vector(y);
    std::size_t bytes = 0;
    SPARSE(cusparseSpMV_bufferSize(sparse(), CUSPARSE_OPERATION_NON_TRANSPOSE, &one, matrix, in, &zero, out, type_of<T>,
                                   CUSPARSE_SPMV_ALG_DEFAULT, &bytes));
    buffer = array<char>(bytes);
    SPARSE(cusparseSpMV_preprocess(sparse(), CUSPARSE_OPERATION_NON_TRANSPOSE, &one, matrix, in, &zero, out, type_of<T>,
                                   CUSPARSE_SPMV_ALG_DEFAULT, buffer));
  }
  cusparseDnVecDescr_t vector(T *x) const {
    cusparseDnVecDescr_t made;
    SPARSE(cusparseCreateDnVec(&made, rows, x, type_of<T>));
    return made;
  }
  void operator()(cusparseDnVecDescr_t x, cusparseDnVecDescr_t y) const {
    SPARSE(cusparseSpMV(sparse(), CUSPARSE_OPERATION_NON_TRANSPOSE, &one, matrix, x, &zero, y, type_of<T>,
                        CUSPARSE_SPMV_ALG_DEFAULT, buffer));
  }
};

template <class T>
void prepare_product(int extent) {
  Product<T> product(extent);
  const auto x = product.vector(array<T>(product.rows)), y = product.vector(array<T>(product.rows));
  work = [=] { product(x, y); };
}

template <class T>
void prepare_blocks(int extent) {
  const Csr a = grid(extent, true);
  const int rows = extent * extent * extent, entries = static_cast<int>(a.indices.size());
  const int *offsets = array_of(a.offsets), *indices = array_of(a.indices);
  const T *values = array_of(std::vector<T>(a.values.begin(), a.values.end()));
  const T *x = array<T>(3 * rows);
  T *y = array<T>(3 * rows);
  cusparseMatDescr_t form;
  SPARSE(cusparseCreateMatDescr(&form));
  work = [=] {
    const T one = 1, zero = 0;
    if constexpr (std::is_same_v<T, float>)
      SPARSE(cusparseSbsrmv(sparse(), CUSPARSE_DIRECTION_ROW, CUSPARSE_OPERATION_NON_TRANSPOSE, rows, rows, entries,
                            &one, form, values, offsets, indices, 3, x, &zero, y));
    else
      SPARSE(cusparseDbsrmv(sparse(), CUSPARSE_DIRECTION_ROW, CUSPARSE_OPERATION_NON_TRANSPOSE, rows, rows, entries,
                            &one, form, values, offsets, indices, 3, x, &zero, y));
  };
}

template <class T>
__global__ void quotients(const T *rho, const T *curvature, T *alpha, T *minus_alpha) {
  *alpha = *rho / *curvature, *minus_alpha = -*alpha;
}
template <class T>
__global__ void next_beta(const T *next, T *rho, T *beta) {
  *beta = *next / *rho, *rho = *next;
}

// As a careful user writes it: numbers stay on the device, nothing waits for the host.
template <class T>
void prepare_conjugate_gradients(int extent, int iterations) {
  Product<T> product(extent);
  const int n = product.rows;
  T *x = array<T>(n), *r = array<T>(n), *p = array<T>(n), *q = array<T>(n), *numbers = array<T>(6);
  T *rho = numbers, *curvature = numbers + 1, *alpha = numbers + 2, *minus = numbers + 3, *next = numbers + 4,
    *beta = numbers + 5;
  const std::vector<T> ones(n, T(1));
  const T *b = array_of(ones), *one = array_of(std::vector<T>{1});
  const auto p_vector = product.vector(p), q_vector = product.vector(q);
  cublasHandle_t blas;
  BLAS(cublasCreate(&blas));
  BLAS(cublasSetPointerMode(blas, CUBLAS_POINTER_MODE_DEVICE));
  const auto dot = [=](const T *a, const T *b, T *result) {
    if constexpr (std::is_same_v<T, float>)
      BLAS(cublasSdot(blas, n, a, 1, b, 1, result));
    else
      BLAS(cublasDdot(blas, n, a, 1, b, 1, result));
  };
  const auto add = [=](const T *factor, const T *a, T *b) {
    if constexpr (std::is_same_v<T, float>)
      BLAS(cublasSaxpy(blas, n, factor, a, 1, b, 1));
    else
      BLAS(cublasDaxpy(blas, n, factor, a, 1, b, 1));
  };
  const auto scale = [=](const T *factor, T *a) {
    if constexpr (std::is_same_v<T, float>)
      BLAS(cublasSscal(blas, n, factor, a, 1));
    else
      BLAS(cublasDscal(blas, n, factor, a, 1));
  };
  work = [=] {
    CUDA(cudaMemsetAsync(x, 0, n * sizeof(T)));
    CUDA(cudaMemcpyAsync(r, b, n * sizeof(T), cudaMemcpyDeviceToDevice));
    CUDA(cudaMemcpyAsync(p, b, n * sizeof(T), cudaMemcpyDeviceToDevice));
    dot(r, r, rho);
    for (int i = 0; i < iterations; ++i) {
      product(p_vector, q_vector);
      dot(p, q, curvature);
      quotients<<<1, 1>>>(rho, curvature, alpha, minus);
      add(alpha, p, x);
      add(minus, q, r);
      dot(r, r, next);
      next_beta<<<1, 1>>>(next, rho, beta);
      scale(beta, p);
      add(one, r, p);
    }
  };
}

}  // namespace

extern "C" {

void prepare_scan(int power) {
  drop();
  const std::size_t count = std::size_t{1} << power;
  const int *x = array_of(mixed_numbers(count));
  int *y = array<int>(count);
  std::size_t bytes = 0;
  CUDA(cub::DeviceScan::InclusiveSum(nullptr, bytes, x, y, count));
  void *memory = array<char>(bytes);
  work = [=] {
    std::size_t size = bytes;
    CUDA(cub::DeviceScan::InclusiveSum(memory, size, x, y, count));
  };
}

void prepare_reduce(int power) {
  drop();
  const std::size_t count = std::size_t{1} << power;
  const int *x = array_of(mixed_numbers(count));
  int *y = array<int>(1);
  std::size_t bytes = 0;
  CUDA(cub::DeviceReduce::Sum(nullptr, bytes, x, y, count));
  void *memory = array<char>(bytes);
  work = [=] {
    std::size_t size = bytes;
    CUDA(cub::DeviceReduce::Sum(memory, size, x, y, count));
  };
}

void prepare_sort(int power) {
  drop();
  const std::size_t count = std::size_t{1} << power;
  const int *keys = array_of(mixed_numbers(count)), *values = array<int>(count);
  int *sorted = array<int>(count), *moved = array<int>(count);
  std::size_t bytes = 0;
  CUDA(cub::DeviceRadixSort::SortPairs(nullptr, bytes, keys, sorted, values, moved, count));
  void *memory = array<char>(bytes);
  work = [=] {
    std::size_t size = bytes;
    CUDA(cub::DeviceRadixSort::SortPairs(memory, size, keys, sorted, values, moved, count));
  };
}

void prepare_laplacian(int extent, int is_double) {
  drop();
  is_double ? prepare_product<double>(extent) : prepare_product<float>(extent);
}

void prepare_elasticity(int extent, int is_double) {
  drop();
  is_double ? prepare_blocks<double>(extent) : prepare_blocks<float>(extent);
}

void prepare_cg(int extent, int iterations, int is_double) {
  drop();
  is_double ? prepare_conjugate_gradients<double>(extent, iterations)
            : prepare_conjugate_gradients<float>(extent, iterations);
}

double run(int calls) {
  cudaEvent_t begin, end;
  CUDA(cudaEventCreate(&begin));
  CUDA(cudaEventCreate(&end));
  work();
  CUDA(cudaEventRecord(begin));
  for (int i = 0; i < calls; ++i) work();
  CUDA(cudaEventRecord(end));
  CUDA(cudaEventSynchronize(end));
  float milliseconds = 0;
  CUDA(cudaEventElapsedTime(&milliseconds, begin, end));
  CUDA(cudaEventDestroy(begin));
  CUDA(cudaEventDestroy(end));
  return milliseconds / calls;
}
}
