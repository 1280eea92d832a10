// A driver from before cuGetProcAddress.
#include "samite/driver/abi.h"

extern "C" samite::driver::Result cuDriverGetVersion(int *version) {
  *version = 11020;
  return samite::driver::Result::success;
}
