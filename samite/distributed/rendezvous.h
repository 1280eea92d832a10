// How processes started by torchrun, or by any launcher with its environment variables, share a few bytes.
#pragma once

#include "samite/base/source_location.h"
#include "samite/distributed/transport.h"

#include <span>
#include <string>

namespace samite::distributed {

struct Place {
  int rank, size, local_rank;
  std::string host;  // of rank 0
  int port;
};

// RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, and SAMITE_PORT or MASTER_PORT + 1. UserError if one is missing or wrong.
Place place_from_environment(SourceLocation where);

// Every rank gets rank 0's bytes, by TCP. DeviceError if the ranks do not meet in time; 0 means one minute.
void share_bytes(std::span<char> bytes, const Place &place, Timeout timeout);

}  // namespace samite::distributed
