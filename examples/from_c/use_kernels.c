/* Launches a kernel and its adjoint from C: y = 3 x², and dy/dx = 6 x. */
#include "from_c_kernels.h"

#include <stdio.h>

enum { count = 5 };

static DLTensor vector_of(float *data, int64_t *shape) {
  DLTensor tensor = {0};
  tensor.data = data;
  tensor.device.device_type = 1;
  tensor.ndim = 1;
  tensor.dtype.code = 2;
  tensor.dtype.bits = 32;
  tensor.dtype.lanes = 1;
  tensor.shape = shape;
  return tensor;
}

int main(void) {
  float x[count] = {1, 2, 3, 4, 5}, y[count] = {0}, x_gradient[count] = {0}, y_gradient[count] = {1, 1, 1, 1, 1};
  int64_t shape[1] = {count};
  const int64_t extents[1] = {count};
  const DLTensor tx = vector_of(x, shape), ty = vector_of(y, shape);
  const DLTensor dx = vector_of(x_gradient, shape), dy = vector_of(y_gradient, shape);
  char error[1024];

  if (scale(extents, &ty, &tx, 3.0f, 0, error, sizeof error) != SAMITE_OK ||
      scale_adjoint(extents, &ty, &dy, &tx, &dx, 3.0f, 0, error, sizeof error) != SAMITE_OK) {
    printf("%s\n", error);
    return 1;
  }
  for (int i = 0; i < count; ++i) printf("x %g: y %g, dy/dx %g\n", x[i], y[i], x_gradient[i]);

  /* An array with gaps between its elements: the archive promises contiguous ones. */
  int64_t strides[1] = {2};
  int64_t short_shape[1] = {2};
  DLTensor every_other = vector_of(x, short_shape);
  every_other.strides = strides;
  if (scale(extents, &ty, &every_other, 3.0f, 0, error, sizeof error) != SAMITE_USER_ERROR) return 1;
  printf("%s\n", error);
  return 0;
}
