#pragma once
// An account of an execution trace that was imported without a profile.

#include "imports/untimed_trace.hpp"
#include "units/print_style.hpp"

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace trainyard {

/// For people.
std::string execution_trace_text(const ExecutionTrace& trace, const UntimedTrace& untimed,
                                 const PrintStyle& style = {});

/// The same, with the figures of the whole file.
nlohmann::ordered_json execution_trace_json(const ExecutionTrace& trace, const UntimedTrace& untimed);

}  // namespace trainyard
