// The cost of a launch with next to no work: one instance. Peer: the same work in C++, called directly through a
// function pointer.
#include "bench/peers/launch.h"
#include "bench/support/alternate.h"
#include "bench/support/report.h"
#include "samite/samite.h"

#include <fmt/core.h>

#include <array>

using namespace samite;

namespace {

using Input = Array<const float, 1>;

const bench::Contest contest{.rounds = 101, .calls = 10'000};

// Rereads the pointer for each call, like a program that cannot see the function.
template <class F>
class Opaque {
 public:
  explicit Opaque(F *function) : pointer_(function) {}
  template <class... A>
  void operator()(A... arguments) const {
    pointer_(arguments...);
  }

 private:
  F *volatile pointer_;
};

template <class K, class PeerCall, class... B>
void measure(bench::Report &report, const std::string &what, Direction direction, const K &kernel,
             const PeerCall &peer_call, const B &...buffers) {
  LaunchOptions options{.direction = direction};
  Launch recorded = kernel.record({1}, options, buffers...);
  auto add = [&](const char *how, double reach, const auto &ours) {
    bench::Outcome outcome = bench::alternate(contest, ours, peer_call);
    report.add({fmt::format("{} {}, {}", how, name(direction), what), "time of a launch", outcome.ours * 1e6, "us",
                "call through a pointer", outcome.peer * 1e6},
               {.value_at_most = reach});
  };
  add("recorded", 0.3, [&] { recorded.launch(); });
  add("ordinary", 1.5, [&] { kernel.launch({1}, options, buffers...); });
}

}  // namespace

int main() {
  return bench::run("launch", [](bench::Report &report) {
    std::array<Buffer<float>, 9> b;
    for (auto &buffer : b) buffer = Buffer<float>(Device::cpu(), {1}, {1}, Gradient::tracked);
    std::array<float *, 9> v, g;
    for (std::size_t k = 0; k < 9; ++k) v[k] = b[k].data(), g[k] = b[k].gradient().data();

    Kernel scale{"scale", [](Array<float, 1> y, Input x) {
                   Int i = thread_index();
                   y(i) = 2 * x(i);
                 }};
    measure(
        report, "2 arguments", Direction::forward, scale, [&, call = Opaque(peer_scale)] { call(v[0], v[1], 0); }, b[0],
        b[1]);
    measure(
        report, "2 arguments", Direction::adjoint, scale,
        [&, call = Opaque(peer_scale_adjoint)] { call(g[0], g[1], 0); }, b[0], b[1]);

    Kernel sum{"sum", [](Array<float, 1> y, Input a, Input b, Input c, Input d, Input e, Input f, Input g, Input h) {
                 Int i = thread_index();
                 y(i) = a(i) + b(i) + c(i) + d(i) + e(i) + f(i) + g(i) + h(i);
               }};
    measure(
        report, "9 arguments", Direction::forward, sum,
        [&, call = Opaque(peer_sum)] { call(v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[8], 0); }, b[0], b[1],
        b[2], b[3], b[4], b[5], b[6], b[7], b[8]);
    measure(
        report, "9 arguments", Direction::adjoint, sum,
        [&, call = Opaque(peer_sum_adjoint)] { call(g[0], g[1], g[2], g[3], g[4], g[5], g[6], g[7], g[8], 0); }, b[0],
        b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8]);
  });
}
