#include "cli/cli.hpp"
#include "cli/file_kind.hpp"
#include "cli/interrupt.hpp"
#include "cli/terminal.hpp"
#include "commands/commands.hpp"
#include "commands/result_store.hpp"
#include "commands/slurm.hpp"
#include "commands/sweep_options.hpp"
#include "commands/sweep_progress.hpp"
#include "config/write.hpp"
#include "document/json_text.hpp"
#include "document/writers.hpp"
#include "io/out_files.hpp"
#include "pages/sweep_page.hpp"
#include "report/sweep_groups.hpp"
#include "report/sweep_published.hpp"
#include "report/sweep_report.hpp"
#include "sweep/assumed_points.hpp"
#include "sweep/efficiency_error.hpp"
#include "sweep/job_points.hpp"
#include "sweep/point_figures.hpp"
#include "sweep/read_point.hpp"
#include "sweep/run_sweep.hpp"
#include "sweep/shards.hpp"
#include "sweep/sqlite.hpp"
#include "sweep/store_lock.hpp"
#include "sweep/sweep_result.hpp"
#include "sweep/sweep_store.hpp"
#include "units/version.hpp"

#include <CLI/Error.hpp>
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <unistd.h>
#include <utility>

namespace trainyard {
namespace {

namespace fs = std::filesystem;

/// Rows of the table on a terminal; a file or another program gets more.
constexpr std::size_t most_rows_shown = 60;
constexpr std::size_t most_rows_piped = 2000;
constexpr const char* exported[] = {"sweep.csv",  "failures.csv",        "published.csv",
                                    "groups.csv", "sweep.resolved.yaml", "report.html"};

fs::path store_file(const SweepOptions& options) {
  const fs::path dir = *options.out;
  return options.shard ? shard_file(dir, *options.shard) : dir / "sweep.db";
}

/// Nothing for a sweep in memory.
std::optional<StoreLock> lock_of(const SweepOptions& options) {
  if (!options.out) return std::nullopt;
  create_folder_of(store_file(options));
  return std::make_optional<StoreLock>(store_file(options));
}

/// The store that the options select, with its earlier rows.
SweepStore open_store(const SweepOptions& options, const Sweep& sweep) {
  if (!options.out) return SweepStore(stored_sweep(sweep));
  const fs::path dir = *options.out;
  const fs::path file = store_file(options);
  if (options.force) {
    remove_store(file);
    std::error_code ignored;  // they would belong to other points until the sweep ends
    for (const char* const name : exported) {
      if (!options.shard && !options.merge) fs::remove(dir / name, ignored);
    }
  } else if (std::error_code ignored; fs::exists(file, ignored)) {
    if (!options.resume) refuse_earlier_store(file);
  } else if (!options.shard) {
    for (const char* const name : exported) check_out_file(dir / name, false);  // another program's
  }
  return {file, stored_sweep(sweep), options.shard ? Readers::none : Readers::of_this_machine};
}

/// The points of this shard that are missing in the store, or exceeded a limit that may be another one now.
std::vector<std::size_t> points_left(const SweepOptions& options, const Sweep& sweep,
                                     const std::vector<SweepRow>& finished) {
  std::vector<bool> is_finished(sweep.points.size());
  for (const SweepRow& row : finished) is_finished[row.point] = !is_limit_reason(row.reason);
  std::vector<std::size_t> left;
  for (std::size_t point = 0; point < sweep.points.size(); ++point) {
    const bool is_ours = !options.shard || is_in_shard(point, options.shard->number, options.shard->of);
    if (is_ours && !is_finished[point]) left.push_back(point);
  }
  return left;
}

SweepOutcome run_left(const SweepOptions& options, const Sweep& sweep, SweepStore& store) {
  const std::vector<SweepRow> finished = store.rows();
  const std::vector<std::size_t> left = points_left(options, sweep, finished);
  const SweepResult empty{.sweep = sweep, .figures = figures_of_points(sweep), .rows = {}};
  const auto kept_rows = static_cast<std::size_t>(
      std::ranges::count_if(finished, [](const SweepRow& row) { return !is_limit_reason(row.reason); }));
  SweepProgress progress(kept_rows + left.size(), kept_rows);
  const InterruptNoted interrupts;
  const config::Catalogue catalogue = config::find_catalogue();
  AssumedOfPoints assumed(catalogue, sweep);
  PointSimulator simulator(sweep);  // each worker has one of its own
  SweepRun run{.parallel = options.jobs,
               .figures =
                   [&](std::size_t point, ResolvedExperiment resolved) {
                     return simulator.figures(point, std::move(resolved),
                                              [&](Run& its) { assumed.widen(point, its); });
                   },
               .done =
                   [&](const SweepRow& row, const std::vector<std::string>& files) {
                     store.add(row, files);
                     progress.add(empty, row);
                   },
               .is_interrupted = InterruptNoted::is_asked,
               .kind_of = simulator.kinds()};
  return run_points(catalogue, sweep, left, run);
}

/// Throws CLI::ValidationError unless the key of --by is varied.
void check_by(const SweepOptions& options, const Sweep& sweep) {
  if (!options.by || std::ranges::find(sweep.keys, *options.by) != sweep.keys.end()) return;
  throw CLI::ValidationError(
      "--by", fmt::format("'{}' is not varied; {}", *options.by,
                          sweep.keys.empty() ? "this sweep varies no key"
                                             : fmt::format("varied: {}", fmt::join(sweep.keys, ", "))));
}

/// sweep.csv, failures.csv and, if there are published figures or groups, published.csv and groups.csv; the
/// resolved sweep, and the page.
void export_files(const SweepOptions& options, const SweepFile& file, const SweepResult& result) {
  const fs::path dir = *options.out;
  const std::string resolved = config::write(file);
  const SweepOrigin origin = sweep_origin(config::find_catalogue(), result, resolved, version());
  const std::string texts[] = {sweep_csv(result),
                               failures_csv(result),
                               published_csv(result),
                               groups_csv(group_findings(result)),
                               resolved,
                               doc::html(sweep_document(result, {.by = options.by}, &origin))};
  remove_unfinished(dir, exported);
  for (std::size_t i = 0; i < std::size(exported); ++i) {
    const fs::path exported_file = dir / exported[i];
    if (!texts[i].empty()) {
      write_out_file(exported_file, texts[i], true);
      continue;
    }
    std::error_code error;
    fs::remove(exported_file, error);  // of an earlier run, whose file had published figures
    if (error)
      throw FileError(fmt::format("cannot remove '{}': {}", exported_file.string(), error.message()));
  }
}

/// The same text with and without --out.
void print_sweep(const SweepOptions& options, const SweepResult& result) {
  if (options.page.json) return print_result(json_text(sweep_json(result)));
  const bool is_piped = ::isatty(STDOUT_FILENO) != 1 && !options.page.markdown;
  print_result(printed_page(options.page,
                            sweep_document(result, {.most_rows = is_piped ? most_rows_piped : most_rows_shown,
                                                    .width = print_style().width,
                                                    .by = options.by})));
}

/// Sets the exit code for events outside the rows: bugs, an interruption, failures.
void end_with(const SweepOptions& options, const SweepOutcome& outcome, const SweepResult& result) {
  if (!outcome.broken.empty())
    throw std::runtime_error(fmt::format(
        "{} of the points ended with an internal error, the first with {}{}", outcome.broken.size(),
        outcome.broken.front(), options.out ? "; the others are kept, and --resume runs these again" : ""));
  if (outcome.is_interrupted) {
    if (options.out)
      print_message(fmt::format("{} of {} points are kept: continue with --resume", result.rows.size(),
                                result.sweep.points.size()));
    throw Interrupted();
  }
  const std::size_t failed = failures(result);
  if (failed == 0) return;
  std::string where = ", each with its reason above";
  if (options.shard)
    where = ", each with its reason in " + shard_file(*options.out, *options.shard).string();
  else if (options.out)
    where = ": " + (fs::path(*options.out) / "failures.csv").string();
  throw JobImpossible(fmt::format("{} of {} points failed{}", failed, result.rows.size(), where));
}

SweepResult result_of(const SweepOptions& options, const Sweep& sweep, std::vector<SweepRow> rows) {
  SweepResult result{.sweep = sweep, .figures = figures_of_points(sweep), .rows = std::move(rows)};
  if (!options.shard) add_efficiency_errors(config::find_catalogue(), result);  // a shard prints nothing
  return result;
}

void merge(const SweepOptions& options, const SweepFile& file, const Sweep& sweep) {
  const fs::path dir = *options.out;
  const MergedShards shards = merged(dir, stored_sweep(sweep));
  const SweepResult result = result_of(options, sweep, shards.rows);
  const std::optional<StoreLock> lock = lock_of(options);
  SweepStore store = [&] {
    try {
      return open_store(options, sweep);
    } catch (const sqlite::Damaged& error) {
      throw FileError(error.fault() + "; --merge --force writes it again from the shards");
    }
  }();
  for (const SweepRow& row : result.rows) store.add(row, shards.files);
  store.close();
  export_files(options, file, result);
  print_sweep(options, result);
  end_with(options, {}, result);
}

/// A measured throughput of one GPU that no factor reproduces would be an error at every point.
void check_one_gpu(const Sweep& sweep) {
  if (std::ranges::find(sweep.keys, experiment_key) != sweep.keys.end()) return;
  InputFiles files;
  kept_one_gpu_scale(config::find_catalogue(), sweep, sweep.points.front(), files);
}

void run_sweep(const SweepOptions& options) {
  const auto [name, file] = sweep_asked_for(options);
  InputFiles files;
  Sweep sweep = with_jobs(config::find_catalogue(), make_sweep(name, file), files);
  sweep.changed = changes_of(options);
  check_by(options, sweep);
  check_one_gpu(sweep);
  if (options.slurm) {
    write_slurm_jobs(options, sweep);
    return;
  }
  if (options.merge) {
    merge(options, file, sweep);
    return;
  }
  const std::optional<StoreLock> lock = lock_of(options);
  SweepStore store = open_store(options, sweep);
  RunLimits limits = limits_of(options.limits);
  limits.are_of_points = true;
  std::optional<LimitsKept> kept(std::in_place, limits, nullptr);
  const SweepOutcome outcome = run_left(options, sweep, store);
  kept.reset();
  const SweepResult result = result_of(options, sweep, store.rows());
  for (const std::string& warning : outcome.warnings) print_message(warning);
  const bool is_complete = outcome.broken.empty() && !outcome.is_interrupted;
  if (is_complete) store.close();
  if (options.out && !options.shard && is_complete) export_files(options, file, result);
  if (!options.shard && (is_complete || !options.out)) print_sweep(options, result);
  end_with(options, outcome, result);
}

}  // namespace

void add_sweep(CLI::App& program) {
  auto options = std::make_shared<SweepOptions>();
  CLI::App& command = *program.add_subcommand(
      "sweep", "simulate many variants of an experiment; find where scaling stops and the cheapest point");
  add_sweep_options(command, *options);
  command.callback([options] {
    check_sweep_options(*options);
    run_sweep(*options);
  });
}

}  // namespace trainyard
