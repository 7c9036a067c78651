#pragma once
// The section of known errors on pages that are not documents yet.

#include "document/html.hpp"

#include <string>

namespace trainyard {

Html known_errors_html(const std::string& of_this = {});

}  // namespace trainyard
