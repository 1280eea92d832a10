#include "descent.h"

namespace inverse_heat {

Descent descend(InverseProblem<float> &problem, int iterations,
                const std::function<void(int iteration, double loss)> &progress) {
  // A step of the diffusion, if it is stable, is symmetric with eigenvalues in [-1, 1], so that the gradient of f has a
  // Lipschitz constant of at most 2.
  constexpr float rate = 0.5f;

  Buffer<float> &lookahead = problem.initial();
  lookahead.copy_from(problem.target());
  Buffer<float> estimate = lookahead.clone();
  Launch descent = descent_step().record(lookahead.extents(), lookahead, estimate, lookahead.gradient(), rate, 0.0f);

  Descent result;
  for (int k = 0; k < iterations; ++k) {
    result.losses.push_back(problem.misfit());
    problem.add_gradient();
    descent.set("momentum", static_cast<float>(k) / static_cast<float>(k + 3));
    descent.launch();
    progress(k + 1, result.losses.back());
  }
  result.recovered = estimate.to_vector();
  return result;
}

}  // namespace inverse_heat
