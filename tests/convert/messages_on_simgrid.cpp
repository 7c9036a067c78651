// Sends messages between hosts of a platform of SimGrid, by SimGrid alone, and prints when each ends:
// messages_on_simgrid FILE [--cfg=KEY:VALUE]... FROM TO BYTES TIMES ... Those of a group follow one another.

#include <cstdio>
#include <cstdlib>
#include <simgrid/s4u.hpp>
#include <vector>

namespace s4u = simgrid::s4u;

int main(int argc, char** argv) {
  s4u::Engine engine(&argc, argv);
  engine.load_platform(argv[1]);
  std::vector<double> ends(static_cast<std::size_t>(argc / 4));
  for (int i = 0; 4 * i + 5 < argc; ++i) {
    char** const words = argv + 2 + 4 * i;
    s4u::Host* const from = engine.host_by_name(words[0]);
    s4u::Host* const to = engine.host_by_name(words[1]);
    s4u::Actor::create("sender", from, [=, &ends] {
      for (int k = std::atoi(words[3]); k > 0; --k)
        s4u::Comm::sendto(from, to, std::strtoull(words[2], nullptr, 10));
      ends[static_cast<std::size_t>(i)] = s4u::Engine::get_clock();
    });
  }
  engine.run();
  for (int i = 0; 4 * i + 5 < argc; ++i) std::printf("%.17g\n", ends[static_cast<std::size_t>(i)]);
  return 0;
}
