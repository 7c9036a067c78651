#include "commands/run_files.hpp"

#include "document/writers.hpp"
#include "report/csv.hpp"
#include "report/trace_json.hpp"
#include "units/version.hpp"

#include <chrono>
#include <sys/resource.h>

namespace trainyard {

namespace {

using Files = std::map<std::string, std::string>;
using Clock = std::chrono::steady_clock;

const Clock::time_point process_start = Clock::now();

Seconds seconds(const timeval& time) {
  return Seconds(static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec));
}

}  // namespace

std::set<std::string> run_file_names() {
  return {"summary.json",    "ops.csv",
          "ranks.csv",       "links.csv",
          "trace.json",      "report.html",
          "workers.csv",     "staleness.csv",
          "collectives.csv", "checkpoints.csv",
          "job.csv",         "servers.csv",
          "learning.csv",    "experiment.resolved.yaml"};
}

double bars_of_trace(const ResolvedExperiment& resolved) {
  // Many updates have the steps of a few, and a pass of a layout is one bar.
  if (is_multi_update(resolved.settings) || resolved.layout) return 0;
  double bars = 0;
  for (const Rank rank : shown_ranks(resolved))
    bars += static_cast<double>(class_of(resolved, rank).trace.ops.size());
  return bars;
}

Files run_tables(const Run& run, const std::string& summary) {
  Files files;
  files["summary.json"] = summary;
  files["ops.csv"] = ops_csv(run);
  files["ranks.csv"] = ranks_csv(run);
  files["links.csv"] = links_csv(run.links.rows);
  files["collectives.csv"] = collectives_csv(run);
  files["trace.json"] = trace_json(run);
  if (updates_of(run)) {
    files["workers.csv"] = workers_csv(*updates_of(run));
    files["staleness.csv"] = staleness_csv(*updates_of(run));
    if (!updates_of(run)->servers.empty()) files["servers.csv"] = servers_csv(*updates_of(run));
  }
  if (run.learning) files["learning.csv"] = learning_csv(*run.learning);
  if (run.faults && !run.faults->intervals.empty()) files["checkpoints.csv"] = checkpoints_csv(*run.faults);
  if (run.job) files["job.csv"] = job_csv(run);
  files["experiment.resolved.yaml"] = resolved_text(run);
  return files;
}

Files run_files(const ResolvedExperiment& resolved, const Run& run, const std::string& summary,
                const PageChanges& changes) {
  Files files = run_tables(run, summary);
  const PageDetails details{page_origin(resolved, version()), changes};
  files["report.html"] = doc::html(run_document(run, &details));
  return files;
}

ResourceUsage usage_so_far() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return {.wall = Seconds(std::chrono::duration<double>(Clock::now() - process_start).count()),
          .cpu = seconds(usage.ru_utime) + seconds(usage.ru_stime),
          .peak_rss = Bytes(1024.0 * static_cast<double>(usage.ru_maxrss))};
}

}  // namespace trainyard
