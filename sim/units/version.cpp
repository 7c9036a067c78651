#include "units/version.hpp"

namespace trainyard {

std::string version() { return TRAINYARD_VERSION; }

}  // namespace trainyard
