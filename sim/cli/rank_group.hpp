#pragma once
// A group of ranks in the format of --group: "0-7,9" and, after an @, the time when it begins: "8-15@1ms".

#include "run/collective_sweep.hpp"

#include <string>

namespace trainyard {

/// Throws CLI::ValidationError naming --group for any other text.
CollectiveGroup rank_group(const std::string& text);

}  // namespace trainyard
