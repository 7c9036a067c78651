#pragma once
// How far off the scaling efficiencies of a sweep may be: the expected error of each run compared with the
// run that its efficiency is relative to.

#include "config/catalogue.hpp"
#include "sweep/sweep_result.hpp"

namespace trainyard {

/// Fills efficiency_errors and relative_errors. Reads the first point of each series again, for the
/// properties that decide which published runs are comparable. Series without comparable runs, and those
/// whose files are no longer there, stay unknown.
void add_efficiency_errors(const config::Catalogue& catalogue, SweepResult& result);

}  // namespace trainyard
