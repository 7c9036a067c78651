#pragma once
// A profile's trace in which ops with known operands have their work instead of a duration: a run then
// computes these times from the profile of a GPU, as it does for the ops of a model.

#include "imports/profile_trace.hpp"

#include <optional>
#include <vector>

namespace trainyard {

/// The format in which most of a profile's matrix products and convolutions compute, by their time.
struct MatrixFormat {
  std::optional<Precision> precision;  ///< fp32, tf32, amp or amp_bf16; empty: no shapes or types
  Layout layout = Layout::nchw;        ///< of convolutions
};
MatrixFormat matrix_format_of(const Profile& profile, const ImportedTrace& imported);

struct PredictableTrace {
  Trace trace;
  std::vector<bool> is_computed;  ///< of each op: it has its work in place of a duration
  int of_other_type = 0;          ///< matrix ops of another type than the precision's, which keep theirs
};

/// In this precision, which a run of the trace must have.
PredictableTrace predictable_trace(const Profile& profile, const ImportedTrace& imported,
                                   Precision precision);

}  // namespace trainyard
