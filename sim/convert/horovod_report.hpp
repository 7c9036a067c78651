#pragma once
// The figures of a timeline of Horovod: collectives and their fusion, activities, waiting of ranks.

#include "document/document.hpp"
#include "imports/horovod_timeline.hpp"

#include <nlohmann/json_fwd.hpp>

namespace trainyard {

doc::Document horovod_document(const HorovodTimeline& timeline);

/// The figures as JSON, times in seconds.
nlohmann::ordered_json horovod_json(const HorovodTimeline& timeline);

}  // namespace trainyard
