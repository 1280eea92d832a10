// A kernel's function controlled by the input's bytes: arithmetic, arrays, arbitrarily nested control flow, jumps,
// local arrays, tiles, custom adjoints; and mistakes: values after their scope or their kernel, moved-from values,
// kernels inside kernels, loops left by a native `break`. Each mistake is a UserError, and every captured kernel goes
// through all steps before a compiler.
#include "samite/lang/atomic.h"
#include "samite/lang/capture.h"
#include "samite/lang/control.h"
#include "samite/lang/custom_adjoint.h"
#include "samite/lang/local_array.h"
#include "samite/lang/math.h"
#include "samite/lang/print.h"
#include "samite/lang/tile_algebra.h"
#include "samite/lang/tile_math.h"
#include "samite/lang/tile_operations.h"
#include "samite/lang/tile_reduce.h"
#include "samite/lang/tile_scan.h"
#include "samite/lang/tile_sort.h"
#include "tests/fuzz/all_steps.h"
#include "tests/fuzz/one_input.h"

#include "samite/ir/print.h"

#include <fuzzer/FuzzedDataProvider.h>

#include <algorithm>
#include <deque>
#include <source_location>
#include <string>
#include <utility>

namespace samite::fuzz {
namespace {

using FloatTile = Tile<float>;

// Values that a program has made.
struct Values {
  std::deque<Float> floats;
  std::deque<Int> ints;
  std::deque<Bool> bools;
  std::deque<LocalArray<float, 4>> local_arrays;
  std::deque<FloatTile> tiles;
};

struct Arrays {
  Array<float, 1> a;
  Array<const float, 1> b;
  Array<int, 1> n;
  Array<float, 2> m;
  Float s;
};

class Program {
 public:
  Program(FuzzedDataProvider &input, Values &stale) : input_(input), stale_(stale) {}

  ir::Kernel capture(int block_threads) {
    return lang::capture<Array<float, 1>, Array<const float, 1>, Array<int, 1>, Array<float, 2>, Float>(
        "k", {},
        [&](const Array<float, 1> &a, const Array<const float, 1> &b, const Array<int, 1> &n, const Array<float, 2> &m,
            const Float &s) {
          Arrays arrays{a, b, n, m, s};
          arrays_ = &arrays;
          tiles_ = block_threads != 0;
          values_.ints.emplace_back(tiles_ ? block_index() : thread_index());
          values_.floats.emplace_back(s + 1.f);
          if (tiles_) values_.tiles.push_back(tile::load(a, {0}, {8}));
          block();
          a(values_.ints.front()) = values_.floats.back();
        },
        std::source_location::current(), block_threads);
  }

 private:
  int below(int count) { return input_.ConsumeIntegralInRange(0, count - 1); }

  // Mostly one that is in scope.
  template <class T>
  T &one_of(std::deque<T> &values, std::deque<T> &stale) {
    if (!stale.empty() && below(64) == 0) return stale[static_cast<std::size_t>(below(static_cast<int>(stale.size())))];
    if (values.empty()) throw UserError("nothing to take");
    const std::size_t back = std::min(values.size() - 1, static_cast<std::size_t>(below(64)));
    return values[values.size() - 1 - back];
  }
  Float &a_float() { return one_of(values_.floats, stale_.floats); }
  Int &an_int() { return one_of(values_.ints, stale_.ints); }
  Bool &a_bool() {
    if (values_.bools.empty()) values_.bools.push_back(a_float() < 1.f);
    return one_of(values_.bools, stale_.bools);
  }
  LocalArray<float, 4> &a_local_array() {
    if (values_.local_arrays.empty()) values_.local_arrays.emplace_back();
    return one_of(values_.local_arrays, stale_.local_arrays);
  }
  FloatTile &a_tile() {
    if (values_.tiles.empty()) values_.tiles.push_back(tile::full<float>({8}, a_float()));
    return one_of(values_.tiles, stale_.tiles);
  }

  template <class T, class V>
  void keep(std::deque<T> &values, V &&value) {
    values.push_back(std::forward<V>(value));
  }

  // Values made during its lifetime have left their scope afterwards.
  class Scope {
   public:
    explicit Scope(Program &program)
        : program_(program),
          floats_(program.values_.floats.size()),
          ints_(program.values_.ints.size()),
          bools_(program.values_.bools.size()),
          local_arrays_(program.values_.local_arrays.size()),
          tiles_(program.values_.tiles.size()) {}
    Scope(const Scope &) = delete;
    Scope &operator=(const Scope &) = delete;
    ~Scope() {
      Values &values = program_.values_, &stale = program_.stale_;
      leave(values.floats, floats_, stale.floats);
      leave(values.ints, ints_, stale.ints);
      leave(values.bools, bools_, stale.bools);
      leave(values.local_arrays, local_arrays_, stale.local_arrays);
      leave(values.tiles, tiles_, stale.tiles);
    }

   private:
    template <class T>
    static void leave(std::deque<T> &values, std::size_t count, std::deque<T> &stale) {
      for (; values.size() > count; values.pop_back()) stale.push_back(std::move(values.back()));
    }

    Program &program_;
    std::size_t floats_, ints_, bools_, local_arrays_, tiles_;
  };

  void block() {
    if (depth_ == 6) return;
    ++depth_;
    const int count = below(8);
    for (int i = 0; i < count && input_.remaining_bytes() > 0; ++i) statement();
    --depth_;
  }

  void inner_block() {
    const Scope scope(*this);
    block();
  }

  void statement() {
    switch (below(tiles_ ? 14 : 10)) {
      case 0:
      case 1: return arithmetic();
      case 2: return comparison();
      case 3: return array();
      case 4: return control();
      case 5: return assignment();
      case 6: return local_array();
      case 7: return adjoint();
      case 8: return misuse();
      case 9: return jump();
      default: return tile();
    }
  }

  void arithmetic() {
    Float &x = a_float(), &y = a_float();
    auto &to = values_.floats;
    switch (below(14)) {
      case 0: return keep(to, x + y);
      case 1: return keep(to, x * y);
      case 2: return keep(to, x - y);
      case 3: return keep(to, x / y);
      case 4: return keep(to, sin(x));
      case 5: return keep(to, exp(x));
      case 6: return keep(to, max(x, y));
      case 7: return keep(to, pow(x, y));
      case 8: return keep(to, sqrt(x));
      case 9: return keep(to, cast<Float>(an_int()));
      case 10: return keep(values_.ints, an_int() + an_int());
      case 11: return keep(values_.ints, an_int() * below(100));
      case 12: return keep(values_.ints, an_int() % an_int());
      default: return keep(to, Float(static_cast<float>(below(9)) - 4.f));
    }
  }

  void comparison() {
    switch (below(5)) {
      case 0: return keep(values_.bools, a_float() < a_float());
      case 1: return keep(values_.bools, an_int() == an_int());
      case 2: return keep(values_.bools, a_bool() && a_bool());
      case 3: return keep(values_.bools, !a_bool());
      default: {
        Bool &condition = a_bool();
        keep(values_.floats, select(condition, a_float(), a_float()));
      }
    }
  }

  void array() {
    switch (below(9)) {
      case 0: return keep(values_.floats, Float(arrays_->a(an_int())));
      case 1: return keep(values_.floats, Float(arrays_->b(an_int())));
      case 2: return keep(values_.ints, Int(arrays_->n(an_int())));
      case 3: return keep(values_.floats, Float(arrays_->m(an_int(), an_int())));
      case 4: arrays_->a(an_int()) = a_float(); return;
      case 5: arrays_->a(an_int()) += a_float(); return;
      case 6: arrays_->m(an_int(), an_int()) = a_float(); return;
      case 7: return keep(values_.ints, Int(arrays_->a.extent(0)));
      default: arrays_->n(an_int()) = an_int();
    }
  }

  void control() {
    switch (below(8)) {
      case 0: return if_(a_bool(), [&] { inner_block(); });
      case 1: return if_(a_bool(), [&] { inner_block(); }, [&] { inner_block(); });
      case 2:
        for (Int i : range(below(5))) {
          const Scope scope(*this);
          values_.ints.push_back(std::move(i));
          block();
        }
        return;
      case 3:
        for (Int i : range(an_int(), an_int(), below(7) - 3)) {
          const Scope scope(*this);
          values_.ints.push_back(i);
          block();
        }
        return;
      case 4: {
        Int left = 5;
        while_([&] { return left > 0; },
               [&] {
                 left -= 1;
                 inner_block();
               });
        return;
      }
      case 5:
        while_(
            [&] {
              const Scope scope(*this);
              block();
              return Bool(a_bool());
            },
            [&] { inner_block(); });
        return;
      case 6:
        return keep(values_.floats, returning<Float>([&](auto &return_) {
                      const Scope scope(*this);
                      if_(a_bool(), [&] { return_(a_float()); });
                      block();
                      return Float(a_float());
                    }));
      default:
        // Left by a native break: a UserError at this point or later.
        for (Int i : range(3)) {
          inner_block();
          if (below(4) == 0) break;
        }
    }
  }

  void jump() {
    switch (below(3)) {
      case 0: return if_(a_bool(), [] { break_(); });
      case 1: return if_(a_bool(), [] { continue_(); });
      default: return below(2) != 0 ? if_(a_bool(), [] { return_(); }) : break_();
    }
  }

  void assignment() {
    switch (below(6)) {
      case 0: a_float() = a_float(); return;
      case 1: a_float() += a_float(); return;
      case 2: a_float() *= 0.5f; return;
      case 3: an_int() += 1; return;
      case 4: a_bool() = a_bool(); return;
      default: std::swap(a_float(), a_float());
    }
  }

  void local_array() {
    switch (below(6)) {
      case 0: values_.local_arrays.emplace_back(); return;
      case 1: a_local_array()(an_int()) = a_float(); return;
      case 2: return keep(values_.floats, Float(a_local_array()(an_int())));
      case 3: a_local_array() = a_local_array(); return;
      case 4: a_local_array()[below(5)] += a_float(); return;
      default: a_local_array().fill(a_float());
    }
  }

  void adjoint() {
    const auto function = [&](Float x) {
      const Float y = x * x;
      if (below(2) != 0) inner_block();
      return y;
    };
    switch (below(4)) {
      case 0: {
        const auto own = custom_adjoint(function, [&](Float x, Float, Float cotangent) {
          if (below(2) != 0) inner_block();
          return x * cotangent;
        });
        return keep(values_.floats, own(a_float()));
      }
      case 1: {
        Float &x = a_float(), &cotangent = a_float();
        return keep(values_.floats, adjoint_of(function)(x, cotangent));
      }
      case 2: {
        const auto own = custom_adjoint([](Float x) { return sqrt(x); },
                                        [&](Float, Float root, Float cotangent) {
                                          const Scope scope(*this);
                                          add_to_gradient(arrays_->b(an_int()), cotangent);
                                          return cotangent / root;
                                        });
        return keep(values_.floats, own(a_float()));
      }
      default: return keep(values_.floats, stop_gradient(a_float()));
    }
  }

  void misuse() {
    switch (below(6)) {
      case 0: {
        const Float taken = std::move(a_float());
        return keep(values_.floats, taken + 1.f);
      }
      case 1: {
        Program(input_, stale_).capture(0);
        return;
      }
      case 2: return keep(values_.ints, thread_index());
      case 3: return keep(values_.ints, std::get<1>(thread_index<2>()));
      case 4: print("x", a_float()); return;
      default: check(a_bool(), "no", an_int());
    }
  }

  void tile() {
    auto &to = values_.tiles;
    switch (below(20)) {
      case 0: return keep(to, tile::load(arrays_->a, {an_int()}, {below(20)}));
      case 1: return keep(to, tile::load(arrays_->m, {an_int(), 0}, {1 + below(9), 4}));
      case 2: tile::store(arrays_->a, {an_int()}, a_tile()); return;
      case 3: tile::store(arrays_->m, {an_int(), an_int()}, a_tile()); return;
      case 4: return keep(to, a_tile() + a_tile());
      case 5: return keep(to, a_tile() * a_float());
      case 6: return keep(to, exp(a_tile()));
      case 7: return keep(values_.floats, tile::sum(a_tile()));
      case 8: return keep(to, tile::max(a_tile(), {below(3)}));
      case 9: return keep(to, tile::transpose(a_tile()));
      case 10: return keep(to, tile::broadcast<float>(a_tile(), {1 + below(4), 8}));
      case 11: return keep(to, tile::reshape(a_tile(), {1 + below(8), 1 + below(8)}));
      case 12: return keep(to, tile::matmul(a_tile(), a_tile(), {.a = below(2) != 0, .b = below(2) != 0}));
      case 13: a_tile() = a_tile(); return;
      case 14: a_tile() += a_tile(); return;
      case 15: return keep(to, tile::concatenate(a_tile(), a_tile(), below(3)));
      case 16: return keep(to, tile::slice(a_tile(), {below(4)}, {1 + below(4)}));
      case 17: return keep(to, tile::full<float>({1 + below(9), 4}, a_float()));
      case 18: return keep(to, FloatTile(std::move(a_tile())));
      default: std::swap(a_tile(), a_tile());
    }
  }

  FuzzedDataProvider &input_;
  Values values_;  // in scope
  Values &stale_;
  const Arrays *arrays_ = nullptr;
  bool tiles_ = false;
  int depth_ = 0;
};

void run(FuzzedDataProvider &input) {
  Values stale;  // of both kernels: the second one may use the first one's
  for (int kernels = 1 + input.ConsumeIntegralInRange(0, 1); kernels > 0; --kernels) {
    ir::Kernel kernel;
    try {
      const int block_threads = input.ConsumeBool() ? 0 : 32;
      kernel = Program(input, stale).capture(block_threads);
    } catch (const UserError &) {
      continue;
    } catch (const std::exception &error) {
      defect("a capture ends with another error than a UserError", error.what());
    }
    try {
      run_all(kernel, ir::Form::captured);
    } catch (const UserError &) {
    } catch (const std::exception &error) {
      defect(error.what(), ir::to_string(kernel));
    }
  }
}

}  // namespace
}  // namespace samite::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  FuzzedDataProvider input(data, size);
  samite::fuzz::run(input);
  return 0;
}
