#pragma once
// An account of an execution trace that was imported without a profile.

#include "document/document.hpp"
#include "imports/untimed_trace.hpp"

#include <nlohmann/json_fwd.hpp>

namespace trainyard {

doc::Document execution_trace_document(const ExecutionTrace& trace, const UntimedTrace& untimed);

/// The account as JSON, with the figures of the whole file.
nlohmann::ordered_json execution_trace_json(const ExecutionTrace& trace, const UntimedTrace& untimed);

}  // namespace trainyard
