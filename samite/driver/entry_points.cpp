#include "samite/driver/entry_points.h"

#include <array>

namespace samite::driver {

const EntryInfo &info(Entry entry) {
  static constexpr std::array<EntryInfo, entry_count> rows{{
#define SAMITE_INFO(name, version, need, parameters) {"cu" #name, #parameters, version, Need::need},
      SAMITE_DRIVER_ENTRY_POINTS(SAMITE_INFO)
#undef SAMITE_INFO
  }};
  return rows[static_cast<std::size_t>(entry)];
}

}  // namespace samite::driver
