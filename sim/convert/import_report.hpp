#pragma once
// An account of a profile that was imported: the parts of a step, and the work that is not in the trace.

#include "document/document.hpp"
#include "imports/profile_figures.hpp"
#include "imports/profile_trace.hpp"

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace trainyard {

/// Profiles count nanoseconds.
Seconds from_ns(std::int64_t ns);

doc::Document import_document(const Profile& profile, const ProfileWork& work, const ImportedTrace& imported);

/// The account as JSON, with the figures of the file and of each of its steps, times in seconds.
nlohmann::ordered_json import_json(const Profile& profile, const ProfileWork& work,
                                   const ImportedTrace& imported);

/// The collectives of a trace: "5 all_reduce of 102,228,128 B in all", or the reason for none.
std::string collectives_in_words(const ImportedTrace& imported);

/// The layout of a job: "tensor 2 x data 4 = 8 ranks, by the groups of the collectives".
std::string layout_in_words(const Parallelism& layout, int ranks);

/// The keys of a profile's layout; null if it names no groups.
nlohmann::ordered_json layout_json(const ImportedTrace& imported);

/// Tensors of the gradients of a trace, and their values.
struct GradientTotals {
  int tensors = 0;
  double values = 0;
};
GradientTotals gradient_totals(const Trace& trace);

/// Lines for the work that is not in the trace.
void add_left_out(doc::Section& section, const ImportedTrace& imported);
nlohmann::ordered_json left_out_json(const ImportedTrace& imported);

/// Counts, bytes and times of a profile's collectives by name, as in import_json.
nlohmann::ordered_json collectives_json(const ProfileFigures& figures);

}  // namespace trainyard
