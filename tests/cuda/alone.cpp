// Linked with sim/cuda's part of the simulator and no library at all, as on a machine that has a GPU and
// little else.

#include "workload/shape_text.hpp"

#include <string>

int main() {
  for (const std::string text :
       {"n128 c64 h56 w56 k256 r1x1 s1 p0x0 g2", "b16 m128 n1000 k2048 nt", "e802816 w1024"}) {
    const auto shape = trainyard::parse_shape(text);
    if (!shape || trainyard::to_string(*shape) != text) return 1;
  }
  return 0;
}
