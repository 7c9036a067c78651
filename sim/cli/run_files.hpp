#pragma once
// What run and learn write with --out, and the cost of the process so far.

#include "experiment/resolve.hpp"
#include "html/report_html.hpp"
#include "report/summary_json.hpp"
#include "run/run.hpp"

#include <map>
#include <string>

namespace trainyard {

/// The names of files that --out may contain, without their contents: for checks before a run.
std::map<std::string, std::string> empty_run_files();

/// The files of this run. `summary`: the content of summary.json. `changes`: for report.html.
std::map<std::string, std::string> run_files(const ResolvedExperiment& resolved, const Run& run,
                                             const std::string& summary, const PageChanges& changes = {});

/// Wall time since the process started, CPU time and peak memory of the process.
ResourceUsage usage_so_far();

}  // namespace trainyard
