// The search for NVRTC on this machine.
//
// If SAMITE_CUDA_PATH is set, only there; otherwise, in this order:
//   1. the folders of LD_LIBRARY_PATH
//   2. the toolkit that CUDA_HOME or CUDA_PATH names
//   3. pip's packages next to Samite's own: `pip install samite[cuda]`
//   4. /usr/local/cuda, and /usr/local/cuda-*, the newest first
//   5. installations by pip or conda: in VIRTUAL_ENV, CONDA_PREFIX, ~/.local
//   6. the system loader's search for its name
//
// A path is that of a toolkit, of an environment, of a folder of pip packages (`--target`), or of the libraries
// themselves. Thread-safe as long as no thread changes the environment.
#pragma once

#include <string>
#include <vector>

namespace samite {

// The library's files in search order; within a folder, the newest version first. The last may be a bare name for the
// loader. Opens nothing.
std::vector<std::string> nvrtc_files();

// The folders that `nvrtc_files` searches, in one line, for messages.
std::string nvrtc_places();

}  // namespace samite
