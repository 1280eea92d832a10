// The smoke's shapes at the beginning and at the end.
#pragma once

#include "shared/image.h"

namespace fluid {

// A round cloud in the middle.
examples::Image cloud(int size);

// The letter S, as a stroke; it covers about as much as the cloud, since smoke is not compressed.
examples::Image letter(int size);

}  // namespace fluid
