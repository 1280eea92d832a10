// Whether a random tile kernel and its adjoint compute the same as the interpreter: in double, and within the rounding
// error otherwise. A failing kernel is reduced until nothing can be left out.
#pragma once

#include "samite/ir/print.h"
#include "samite/ir/visit.h"
#include "samite/jit/definition.h"
#include "samite/passes/adjoint/gather_tiles.h"
#include "tests/passes/tile_interpreter.h"
#include "tests/tiles/random_tile_kernel.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <map>

namespace samite::test::tiles {

struct Run {
  const RandomTileKernel &kernel;
  const Recipe &recipe;
  const ir::Kernel &structured;          // the kernel to run: forward, or its adjoint
  const std::vector<TileArray> &before;  // the kernel's arguments, before it runs forward
  bool adjoint;
};
// The contents of the arrays after a run; they are the parameters of `structured`, in order.
using Executor = std::function<void(const Run &run, std::vector<TileArray> &arrays)>;

struct Verdict {
  enum class Kind : std::uint8_t {
    right,
    refused,
    gradient_refused,
    forward_wrong,
    adjoint_wrong,
    derivative_wrong,
    thrown,
    device_lost  // nothing runs there any more
  };
  Kind kind = Kind::right;
  std::string message;                      // of a refusal, or the error
  std::int64_t compared = 0, unsteady = 0;  // elements; those that rounding may change as much as their size

  bool gathered = false;

  bool failed() const { return kind > Kind::gradient_refused; }
};

inline double nearest(ScalarType type, double value) {
  return with_host_type(type, [&]<class T>(T) -> double {
    if constexpr (!FloatingScalar<T>)
      return std::floor(value * 5);
    else if constexpr (sizeof(T) == 8)
      return value;
    else
      return static_cast<double>(static_cast<float>(static_cast<T>(static_cast<float>(value))));
  });
}

// Values of parameters, or of their gradients, with a direction.
inline TileArray random_array(const ParameterFacts &facts, const Recipe &recipe, std::mt19937 &random) {
  TileArray array{facts.type, facts.extents, {}};
  std::size_t count = 1;
  for (std::int64_t &extent : array.extents) {
    if (extent == 0) extent = recipe.blocks;
    count *= static_cast<std::size_t>(extent);
  }
  std::uniform_real_distribution<double> numbers(-1, 1);
  for (std::size_t i = 0; i < count; ++i) {
    Element element{nearest(facts.type, numbers(random)), numbers(random), 0};
    if (!is_floating(facts.type)) element = {0, 0, static_cast<std::int64_t>(element.value)};
    // Such arrays track no gradient.
    if (is_float8(facts.type)) element.derivative = 0;
    array.elements.push_back(element);
  }
  if (facts.extents.empty()) array.elements = {{0, 0, 2}};
  return array;
}

inline std::uint64_t active_parameters() {
  std::uint64_t active = 0;
  for (std::uint32_t i = 0; i < parameter_facts().size(); ++i)
    if (is_floating(parameter_facts()[i].type) && !is_float8(parameter_facts()[i].type))
      active |= std::uint64_t{1} << i;
  return active;
}

// How much of a loop an adjoint may store: everything, or little, so that it has checkpoints.
inline std::optional<std::int64_t> memory_limit(const Recipe &recipe) {
  if (recipe.seed % 3 == 0) return std::nullopt;
  return recipe.seed % 3 == 1 ? 0 : 40;
}

class RandomTileCheck {
 public:
  // `derivatives`: also that the adjoint is one, and the tangent, and the adjoint without atomics.
  RandomTileCheck(Recipe recipe, const Executor &execute, bool derivatives = true)
      : recipe_(std::move(recipe)), execute_(execute), derivatives_(derivatives) {}

  Verdict run() {
    try {
      check();
    } catch (const UserError &error) {
      end(Verdict::Kind::refused, error.what());
    } catch (const DeviceError &error) {
      end(Verdict::Kind::device_lost, error.what());
    } catch (const std::exception &error) {
      end(Verdict::Kind::thrown, error.what());
    }
    return verdict_;
  }
  // The IR of the last checked kernel.
  const std::string &ir() const { return ir_; }

 private:
  using Arrays = std::vector<TileArray>;

  void end(Verdict::Kind kind, const std::string &message) {
    verdict_.kind = kind;
    verdict_.message = message;
  }

  Arrays interpreted(const ir::Kernel &kernel, const Arrays &arrays, std::optional<unsigned> noise = {}) const {
    const double loudness = noise == 0u ? 0 : noise && *noise % 3 == 2 ? 4 : 1.5;
    return run_structured(kernel, {recipe_.blocks}, arrays, noise, loudness);
  }

  void check() {
    const RandomTileKernel kernel = random_tile_kernel(recipe_);
    const ir::Kernel &forward = kernel.definition()->forward();
    ir_ = to_string(forward);
    std::mt19937 random(recipe_.seed + 17);
    Arrays before;
    for (const ParameterFacts &facts : parameter_facts()) before.push_back(random_array(facts, recipe_, random));
    const Arrays after = interpreted(forward, before);
    if (!agrees({kernel, recipe_, forward, before, false}, before, after)) return;

    const autodiff::Adjoint *adjoint = nullptr;
    try {
      adjoint = &kernel.definition()->adjoint(active_parameters(), recipe_.seed % 5 == 0, memory_limit(recipe_));
    } catch (const UserError &error) {
      return end(Verdict::Kind::gradient_refused, error.what());
    }
    ir_ = to_string(adjoint->kernel);
    Arrays read = after;
    for (const std::uint32_t parameter : adjoint->values_before) read[parameter] = before[parameter];
    // Numbers of types that round are read as they were stored.
    for (TileArray &array : read)
      for (Element &element : array.elements)
        if (is_floating(array.type)) element = {nearest(array.type, element.value), 0, 0};
    std::vector<TileArray> weights;
    for (const std::uint32_t parameter : adjoint->gradient_of) {
      weights.push_back(random_array(parameter_facts()[parameter], recipe_, random));
      const bool written = kernel.definition()->written() >> parameter & 1;
      for (Element &element : weights.back().elements) element = {written ? element.value : 0, 0, 0};
    }
    if (derivatives_) {
      if (!tangent_agrees(kernel, forward, before, after)) return;
      if (!derivative_agrees(forward, *adjoint, before, after, weights)) return;
      if (!gather_agrees(kernel, read, weights)) return;
    }
    read.insert(read.end(), weights.begin(), weights.end());
    agrees({kernel, recipe_, adjoint->kernel, before, true}, read, interpreted(adjoint->kernel, read));
  }

  // The derivative of the sum of all results, each times its weight, along the direction: forward and in reverse.
  bool derivative_agrees(const ir::Kernel &forward, const autodiff::Adjoint &adjoint, const Arrays &before,
                         const Arrays &after, const Arrays &weights) {
    Arrays arguments = after;
    for (const std::uint32_t parameter : adjoint.values_before) arguments[parameter] = before[parameter];
    arguments.insert(arguments.end(), weights.begin(), weights.end());
    const Arrays gradients = interpreted(adjoint.kernel, arguments);
    double tangent = 0, reverse = 0, size = 1;
    for (std::size_t g = 0; g < weights.size(); ++g) {
      const std::uint32_t parameter = adjoint.gradient_of[g];
      const TileArray &gradient = gradients[before.size() + g];
      for (std::size_t i = 0; i < gradient.elements.size(); ++i) {
        const double there = weights[g].elements[i].value * after[parameter].elements[i].derivative;
        const double back = gradient.elements[i].value * before[parameter].elements[i].derivative;
        tangent += there, reverse += back, size += std::fabs(there) + std::fabs(back);
      }
    }
    if (!std::isfinite(tangent) || std::fabs(tangent - reverse) <= digits_of_rules(forward) * size) return true;
    end(Verdict::Kind::derivative_wrong,
        "along a direction " + std::to_string(tangent) + ", in reverse " + std::to_string(reverse));
    return false;
  }

  // The tangent kernel's tangent of each array is the interpreter's.
  bool tangent_agrees(const RandomTileKernel &kernel, const ir::Kernel &forward, const Arrays &before,
                      const Arrays &after) {
    const autodiff::Tangent &tangent = kernel.definition()->tangent(active_parameters());
    Arrays arguments = before;
    for (const std::uint32_t parameter : tangent.gradient_of) {
      arguments.push_back(before[parameter]);
      for (Element &element : arguments.back().elements) element = {element.derivative, 0, 0};
    }
    const Arrays left = interpreted(tangent.kernel, arguments);
    for (std::size_t t = 0; t < tangent.gradient_of.size(); ++t) {
      const TileArray &primal = after[tangent.gradient_of[t]], &got = left[before.size() + t];
      for (std::size_t i = 0; i < got.elements.size(); ++i)
        if (!near(got.elements[i].value, primal.elements[i].derivative, 10 * digits_of_rules(forward))) {
          ir_ = to_string(tangent.kernel);
          end(Verdict::Kind::derivative_wrong, "the tangent of " + kernel.ir().parameters[tangent.gradient_of[t]].name +
                                                   ", element " + std::to_string(i) + ": " +
                                                   std::to_string(got.elements[i].value) + ", expected " +
                                                   std::to_string(primal.elements[i].derivative));
          return false;
        }
    }
    return true;
  }
  static bool near(double is, double should, double digits) {
    return !std::isfinite(should) || std::fabs(is - should) <= digits * (1 + std::fabs(should));
  }

  // The adjoint without atomics gives the same results as the other one.
  bool gather_agrees(const RandomTileKernel &kernel, const Arrays &arguments, const Arrays &weights) {
    return gather_agrees(kernel, arguments, weights, passes::Gathering::even_if_slower) &&
           gather_agrees(kernel, arguments, weights, passes::Gathering::wide);
  }
  bool gather_agrees(const RandomTileKernel &kernel, const Arrays &arguments, const Arrays &weights,
                     passes::Gathering how) {
    const passes::GatheredAdjoint *gathered = kernel.definition()->gathered_adjoint(active_parameters(), how);
    if (!gathered) return true;
    for (const auto &cover : gathered->covers)
      if (arguments[cover.array.array].extents.at(static_cast<std::size_t>(cover.array.dimension)) != recipe_.blocks)
        return true;
    const auto extent = [&](passes::ArrayDimension array) {
      return arguments[array.array].extents.at(static_cast<std::size_t>(array.dimension));
    };
    const auto scalar = [](const ir::Value &parameter) { return parameter; };
    for (const auto &loop : gathered->dealt)
      if (loop.wide && !passes::iterations(loop, extent, scalar)) return true;
    Arrays both = arguments;
    both.insert(both.end(), weights.begin(), weights.end());
    const Arrays expected = interpreted(kernel.definition()->adjoint(active_parameters(), false).kernel, both);
    for (const passes::CotangentCopy &copy : gathered->copies) {
      const TileArray &like = both[copy.array];
      both.push_back({copy.type, like.extents, std::vector<Element>(like.elements.size())});
    }
    if (gathered->before) both = interpreted(*gathered->before, both);
    const Arrays got = interpreted(gathered->clear, interpreted(gathered->gather, both));
    verdict_.gathered = true;
    for (std::size_t a = arguments.size(); a < expected.size(); ++a)
      for (std::size_t i = 0; i < got[a].elements.size(); ++i)
        if (!near(got[a].elements[i].value, expected[a].elements[i].value, 1e-9)) {
          ir_ = to_string(gathered->gather);
          end(Verdict::Kind::derivative_wrong, "gathered, " + gathered->gather.parameters[a].name + ", element " +
                                                   std::to_string(i) + ": " + std::to_string(got[a].elements[i].value) +
                                                   ", expected " + std::to_string(expected[a].elements[i].value));
          return false;
        }
    return true;
  }

  // The constants in some rules are rounded to the type.
  static double digits_of_rules(const ir::Kernel &forward) {
    double digits = 1e-11;
    ir::for_each_statement(forward.body, [&](const ir::Stmt &stmt) {
      const auto *let = stmt.as<ir::Let>();
      if (!let) return;
      const ScalarType type = let->value.type.element();
      const double own = size_of(type) == 2 ? 4e-3 : type == ScalarType::Float32 ? 1e-7 : 1e-14;
      switch (let->value.op) {
        case ir::Op::Exp2:
        case ir::Op::Log2:
        case ir::Op::Log10:
        case ir::Op::Cbrt:
        case ir::Op::Erf:
        case ir::Op::Erfc:
        case ir::Op::Fourier: digits = std::max(digits, own); break;
        default: break;
      }
    });
    return digits;
  }

  bool agrees(const Run &run, const Arrays &arguments, const Arrays &exact) {
    const ir::Kernel &structured = run.structured;
    Arrays got = arguments;
    execute_(run, got);
    Spread spread(exact);
    unsigned runs = 0;
    while (runs < 2) spread.add(interpreted(structured, arguments, runs++));
    std::string difference = spread.difference(got, structured, verdict_);
    // If a comparison may have gone another way, few runs may not show it.
    for (; !difference.empty() && runs < 24; ++runs) {
      spread.add(interpreted(structured, arguments, runs));
      difference = spread.difference(got, structured, verdict_);
    }
    if (difference.empty()) return true;
    end(run.adjoint ? Verdict::Kind::adjoint_wrong : Verdict::Kind::forward_wrong, difference);
    return false;
  }

  class Spread {
   public:
    explicit Spread(const Arrays &exact) : exact_(exact) {
      for (const TileArray &array : exact) off_.emplace_back(array.elements.size(), 0.0);
    }
    void add(const Arrays &noisy) {
      for (std::size_t a = 0; a < exact_.size(); ++a)
        for (std::size_t i = 0; i < off_[a].size(); ++i) {
          const Element one = noisy[a].elements[i], other = exact_[a].elements[i];
          const double off =
              is_floating(exact_[a].type) ? std::fabs(one.value - other.value) : one.integer != other.integer;
          off_[a][i] = std::isnan(off) ? infinity : std::max(off_[a][i], off);
        }
    }
    std::string difference(const Arrays &got, const ir::Kernel &kernel, Verdict &verdict) const {
      std::string text;
      int differences = 0;
      for (std::size_t a = 0; a < exact_.size(); ++a)
        for (std::size_t i = 0; i < off_[a].size(); ++i) {
          const Element is = got[a].elements[i], should = exact_[a].elements[i];
          const bool floating = is_floating(exact_[a].type);
          const double digit = size_of(exact_[a].type) == 8            ? 0x1p-52
                               : size_of(exact_[a].type) == 4          ? 0x1p-23
                               : exact_[a].type == ScalarType::Float16 ? 0x1p-10
                                                                       : 0x1p-7;
          const double tolerance = 8 * off_[a][i] + 2 * digit * std::fabs(should.value) + 1e-30;
          const bool right = floating ? std::fabs(is.value - should.value) <= tolerance || !std::isfinite(tolerance)
                                      : is.integer == should.integer || off_[a][i] > 0;
          ++verdict.compared;
          verdict.unsteady += tolerance > 0.1 * std::fabs(should.value) + 1e-3;
          if (right || ++differences > 3) continue;
          text += kernel.parameters[a].name + ", element " + std::to_string(i) + ": " +
                  (floating ? fmt(is.value) + ", expected " + fmt(should.value) + " within " + fmt(tolerance)
                            : std::to_string(is.integer) + ", expected " + std::to_string(should.integer)) +
                  "\n";
        }
      return differences ? std::to_string(differences) + " elements differ\n" + text : "";
    }

   private:
    static constexpr double infinity = std::numeric_limits<double>::infinity();
    static std::string fmt(double value) {
      char text[32];
      std::snprintf(text, sizeof text, "%.10g", value);
      return text;
    }
    const Arrays &exact_;
    std::vector<std::vector<double>> off_;
  };

  Recipe recipe_;
  const Executor &execute_;
  bool derivatives_;
  Verdict verdict_;
  std::string ir_;
};

// Leaves out steps, threads, blocks and elements as long as the rest fails in the same way.
inline Recipe minimised(Recipe recipe, Verdict::Kind kind, const Executor &execute, bool derivatives,
                        int most_runs = 120) {
  int runs = 0;
  const auto fails = [&](const Recipe &candidate) {
    return runs++ < most_runs && RandomTileCheck(candidate, execute, derivatives).run().kind == kind;
  };
  bool smaller = true;
  const auto try_this = [&](const Recipe &candidate) {
    if (!fails(candidate)) return false;
    recipe = candidate;
    return smaller = true;
  };
  while (std::exchange(smaller, false) && runs < most_runs) {
    for (std::size_t many = std::max<std::size_t>(recipe.steps.size() / 2, 1); many > 0; many /= 2)
      for (std::size_t first = recipe.steps.size(); first-- > 0;) {
        Recipe candidate = recipe;
        if (first + many > candidate.steps.size()) continue;
        const auto at = candidate.steps.begin() + static_cast<std::ptrdiff_t>(first);
        candidate.steps.erase(at, at + static_cast<std::ptrdiff_t>(many));
        try_this(candidate);
      }
    if (recipe.blocks > 1) {
      Recipe candidate = recipe;
      candidate.blocks = 1;
      try_this(candidate);
    }
    for (const int threads : {32, 64, 128})
      if (threads < recipe.threads) {
        Recipe candidate = recipe;
        candidate.threads = threads;
        if (try_this(candidate)) break;
      }
    for (std::size_t e = 0; e < recipe.extents.size(); ++e)
      for (const int extent : {1, 2, recipe.extents[e] / 2}) {
        Recipe candidate = recipe;
        candidate.extents[e] = extent;
        if (extent > 0 && extent < recipe.extents[e] && try_this(candidate)) break;
      }
  }
  return recipe;
}

// Checks kernels with the seeds from SAMITE_TEST_RANDOM_SEED on, SAMITE_TEST_RANDOM_TILES of them, or `usual`: those
// whose seed modulo `parts` is `part`. It stops after SAMITE_TEST_RANDOM_FAILURES failures; each is reduced with at
// most SAMITE_TEST_RANDOM_RUNS runs.
inline void expect_random_tiles(const Executor &execute, unsigned usual, unsigned part = 0, unsigned parts = 1,
                                bool derivatives = true) {
  const auto number = [](const char *name, unsigned otherwise) {
    const char *text = std::getenv(name);
    return text ? static_cast<unsigned>(std::strtoul(text, nullptr, 10)) : otherwise;
  };
  const unsigned first = number("SAMITE_TEST_RANDOM_SEED", 0), count = number("SAMITE_TEST_RANDOM_TILES", usual);
  std::map<std::string, int> refusals;
  int checked = 0, refused = 0, failures = 0, gathered = 0;
  std::int64_t compared = 0, unsteady = 0;
  for (unsigned seed = first; seed < first + count; ++seed) {
    if (seed % parts != part) continue;
    const Recipe recipe = random_recipe(seed);
    RandomTileCheck check(recipe, execute, derivatives);
    const Verdict verdict = check.run();
    ++checked;
    gathered += verdict.gathered;
    compared += verdict.compared, unsteady += verdict.unsteady;
    if (verdict.kind == Verdict::Kind::refused || verdict.kind == Verdict::Kind::gradient_refused) {
      ++refused;
      const std::size_t begin = verdict.message.find(": ");
      ++refusals[verdict.message.substr(begin == std::string::npos ? 0 : begin, 160)];
    }
    if (!verdict.failed()) continue;
    if (verdict.kind == Verdict::Kind::device_lost) {
      ADD_FAILURE() << verdict.message << '\n' << recipe.to_string() << '\n' << check.ir();
      break;
    }
    const Recipe least =
        minimised(recipe, verdict.kind, execute, derivatives, static_cast<int>(number("SAMITE_TEST_RANDOM_RUNS", 120)));
    RandomTileCheck again(least, execute, derivatives);
    const Verdict what = again.run();
    ADD_FAILURE() << "kind " << static_cast<int>(verdict.kind) << ": " << what.message << '\n'
                  << least.to_string() << '\n'
                  << again.ir();
    if (++failures == static_cast<int>(number("SAMITE_TEST_RANDOM_FAILURES", 3))) break;
  }
  if (std::getenv("SAMITE_TEST_SHOW")) {
    std::printf("%d kernels, %d refused, %d failed, %d gathered; %lld elements, %lld unsteady\n", checked, refused,
                failures, gathered, static_cast<long long>(compared), static_cast<long long>(unsteady));
    for (const auto &[message, times] : refusals) std::printf("%d refused: %s\n", times, message.c_str());
  }
  if (checked >= 40) {
    EXPECT_LE(10 * refused, checked);
  }
}

}  // namespace samite::test::tiles
