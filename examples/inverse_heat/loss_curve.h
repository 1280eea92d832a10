// The loss over the iterations, drawn by gnuplot.
#pragma once

#include <filesystem>
#include <vector>

namespace inverse_heat {

// A PNG. Runs the program `gnuplot`; std::runtime_error if it is missing or fails.
void write_loss_curve(const std::filesystem::path &path, const std::vector<double> &losses);

}  // namespace inverse_heat
