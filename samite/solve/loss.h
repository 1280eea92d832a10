// Robust losses: how the squared norm s of a residual counts in the cost, 1/2 of the sum of rho(s).
//
//   {.loss = Loss::huber(1.5)}          // residuals longer than 1.5 count linearly
//
//   loss            rho(s), with t = s / width^2
//   squared         s
//   huber           s up to width^2, then width^2 (2 sqrt(t) - 1)
//   soft_l1         width^2 2 (sqrt(1 + t) - 1)
//   cauchy          width^2 log(1 + t)
//   tukey           width^2 / 3 (1 - (1 - t)^3) up to width^2, then width^2 / 3
//   geman_mcclure   width^2 t / (1 + t)
//
// `scale` multiplies rho. None of them is convex in s, so that the second-order correction (Triggs et al., Bundle
// adjustment: a modern synthesis, 2000) would make the Gauss-Newton matrix indefinite; residuals and Jacobians are
// scaled by sqrt(rho'(s)).
#pragma once

namespace samite::solvers {

struct Loss {
  enum class Kind { squared, huber, soft_l1, cauchy, tukey, geman_mcclure };

  Kind kind = Kind::squared;
  double width = 1;  // in the residual's unit
  double scale = 1;

  static Loss huber(double width, double scale = 1) { return {Kind::huber, width, scale}; }
  static Loss soft_l1(double width, double scale = 1) { return {Kind::soft_l1, width, scale}; }
  static Loss cauchy(double width, double scale = 1) { return {Kind::cauchy, width, scale}; }
  static Loss tukey(double width, double scale = 1) { return {Kind::tukey, width, scale}; }
  static Loss geman_mcclure(double width, double scale = 1) { return {Kind::geman_mcclure, width, scale}; }
};

}  // namespace samite::solvers
