// Functions that the wheel's libraries call and glibc 2.28 lacks. The libraries link against 2.28's own symbols, see
// make-link-folder; these stand in for the rest, hidden in each library.
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

// glibc sets this while the process has one thread, so that shared pointers count without atomics. Here it stays 0, and
// they use atomics.
char __libc_single_threaded = 0;

// LLVM reads memory use with it, for statistics that the plug-in never prints.
struct mallinfo2 mallinfo2(void) {
  struct mallinfo2 none = {0};
  return none;
}

uint32_t arc4random(void) {
  uint32_t value = 0;
  while (getrandom(&value, sizeof value, 0) < 0 && errno == EINTR) {
  }
  return value;
}

// Converts a deadline to the realtime clock, the only one that the older functions know: the time left now is added to
// the realtime clock's time.
static struct timespec on_realtime_clock(clockid_t clock, const struct timespec *until) {
  if (clock == CLOCK_REALTIME) return *until;
  struct timespec now, realtime;
  clock_gettime(clock, &now);
  clock_gettime(CLOCK_REALTIME, &realtime);
  struct timespec result = {realtime.tv_sec + until->tv_sec - now.tv_sec,
                            realtime.tv_nsec + until->tv_nsec - now.tv_nsec};
  while (result.tv_nsec < 0) {
    result.tv_nsec += 1000000000;
    --result.tv_sec;
  }
  while (result.tv_nsec >= 1000000000) {
    result.tv_nsec -= 1000000000;
    ++result.tv_sec;
  }
  return result;
}

int pthread_cond_clockwait(pthread_cond_t *condition, pthread_mutex_t *mutex, clockid_t clock,
                           const struct timespec *until) {
  const struct timespec realtime = on_realtime_clock(clock, until);
  return pthread_cond_timedwait(condition, mutex, &realtime);
}

int pthread_mutex_clocklock(pthread_mutex_t *mutex, clockid_t clock, const struct timespec *until) {
  const struct timespec realtime = on_realtime_clock(clock, until);
  return pthread_mutex_timedlock(mutex, &realtime);
}
