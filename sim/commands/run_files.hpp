#pragma once
// What run and learn write with --out, and the cost of the process so far.

#include "experiment/resolve.hpp"
#include "report/run_page.hpp"
#include "report/summary_json.hpp"
#include "run/run.hpp"

#include <map>
#include <set>
#include <string>

namespace trainyard {

/// The names of all files that --out may contain.
std::set<std::string> run_file_names();

/// Bars of trace.json of a run of this experiment, if it has the ops of all ranks that are shown.
double bars_of_trace(const ResolvedExperiment& resolved);

/// The files of this run except report.html. `summary`: the content of summary.json.
std::map<std::string, std::string> run_tables(const Run& run, const std::string& summary);

/// The same with report.html, which shows `changes`.
std::map<std::string, std::string> run_files(const ResolvedExperiment& resolved, const Run& run,
                                             const std::string& summary, const PageChanges& changes = {});

/// Wall time since the process started, CPU time and peak memory of the process.
ResourceUsage usage_so_far();

}  // namespace trainyard
