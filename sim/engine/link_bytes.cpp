#include "engine/link_bytes.hpp"

namespace trainyard::engine {

void add_link_bytes(Bytes bytes, std::span<const LinkUse> uses, std::vector<double>& bytes_by_link) {
  for (const LinkUse& use : uses) bytes_by_link[index(use.link)] += bytes.si() * use.times;
}

}  // namespace trainyard::engine
