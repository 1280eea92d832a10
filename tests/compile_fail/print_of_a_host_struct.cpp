// expect: print_texts_numbers_traced_values_or_tiles
// at most 20 lines
#include "samite/samite.h"

using namespace samite;

struct Place {
  std::string name;
};

#ifdef SAMITE_EXPECT_OK
void tell(const std::string &text) { print(text); }
#else
void tell(const Place &place) { print(place); }
#endif
