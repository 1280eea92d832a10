// Where NVRTC may lie on this machine.
//
// If SAMITE_CUDA_PATH is set, there and nowhere else; otherwise, in this order:
//   1. the folders of LD_LIBRARY_PATH
//   2. the toolkit that CUDA_HOME or CUDA_PATH names
//   3. /usr/local/cuda, and /usr/local/cuda-*, the newest first
//   4. what pip or conda has installed: in VIRTUAL_ENV, CONDA_PREFIX, ~/.local
//   5. wherever the system's loader finds it by its name
//
// A path is that of a toolkit, of an environment, of a folder that pip has installed packages into (`--target`), or of
// the libraries themselves. Thread-safe as long as nobody changes the environment.
#pragma once

#include <string>
#include <vector>

namespace samite {

// The library's files in the order of the search; of one folder, the newest version first. The last may be a mere name,
// for the loader to find. Nothing is opened.
std::vector<std::string> nvrtc_files();

// Names in one line where `nvrtc_files` looks, for a message.
std::string nvrtc_places();

}  // namespace samite
