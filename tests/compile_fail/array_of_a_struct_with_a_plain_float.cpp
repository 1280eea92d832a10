// expect: the members of a struct in an Array are traced: write Float for float
#include "samite/samite.h"

using namespace samite;

#ifdef SAMITE_EXPECT_OK
struct Particle {
  Vec3f place;
  Float mass;
};
#else
struct Particle {
  Vec3f place;
  float mass;
};
#endif

Kernel heavier{"heavier", [](Array<Particle, 1> particles) {
                 Particle particle = particles(thread_index());
                 particle.mass *= 2;
                 particles(thread_index()) = particle;
               }};
