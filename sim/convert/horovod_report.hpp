#pragma once
// The figures of a timeline of Horovod: collectives and their fusion, activities, waiting of ranks.

#include "imports/horovod_timeline.hpp"
#include "units/print_style.hpp"

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace trainyard {

/// For people.
std::string horovod_text(const HorovodTimeline& timeline, const PrintStyle& style = {});

/// The same, times in seconds.
nlohmann::ordered_json horovod_json(const HorovodTimeline& timeline);

}  // namespace trainyard
