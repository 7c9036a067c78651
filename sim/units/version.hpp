#pragma once
// The version of this build, for --version, results and pages. CMakeLists.txt defines it (project VERSION).

#include <string>

namespace trainyard {

/// "0.1.0".
std::string version();

}  // namespace trainyard
