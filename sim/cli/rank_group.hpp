#pragma once
// A group of ranks as --group takes it: "0-7,9" and, after an @, when it begins: "8-15@1ms".

#include "run/collective_sweep.hpp"

#include <string>

namespace trainyard {

/// Throws CLI::ValidationError naming --group for anything else.
CollectiveGroup rank_group(const std::string& text);

}  // namespace trainyard
