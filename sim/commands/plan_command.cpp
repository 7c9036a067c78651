#include "cli/help.hpp"
#include "cli/interrupt.hpp"
#include "cli/offers.hpp"
#include "cli/options.hpp"
#include "cli/page_options.hpp"
#include "cli/terminal.hpp"
#include "cli/values.hpp"
#include "commands/commands.hpp"
#include "commands/result_store.hpp"
#include "config/other_names.hpp"
#include "config/read.hpp"
#include "document/json_text.hpp"
#include "document/writers.hpp"
#include "experiment/keys_meant.hpp"
#include "explain/assumed_inputs.hpp"
#include "io/out_files.hpp"
#include "pages/plan_page.hpp"
#include "plan/run_plan.hpp"
#include "plan/search_end.hpp"
#include "report/plan_report.hpp"
#include "run/simulate.hpp"
#include "sweep/read_point.hpp"
#include "sweep/store_lock.hpp"
#include "sweep/value_range.hpp"
#include "units/shell_word.hpp"
#include "units/text.hpp"
#include "units/text_layout.hpp"
#include "units/version.hpp"

#include <CLI/Error.hpp>
#include <algorithm>
#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

namespace trainyard {
namespace {

namespace fs = std::filesystem;

struct PlanOptions {
  std::string what;  ///< a model, or an experiment
  std::optional<std::string> platform, stack, precision, gpus, global_batch, goal, headroom, epochs, target,
      deadline, budget, gap, quantile, draws, jobs, out;
  std::vector<std::string> set, over, price;
  std::optional<std::string> one_gpu;
  LimitOptions limits;
  PageOptions page;
  bool quick = false, resume = false, force = false;
};

/// The name that a machine has in the plan, by its file's path or by what users call it.
std::string platform_meant(const config::Catalogue& catalogue, const std::string& text) {
  if (config::is_path(text)) return fs::path(text).stem().string();
  const std::string meant = config::name_meant(catalogue, config::Kind::platform, text);
  return meant.empty() ? text : meant;
}

/// The block `plan` of the experiment, with the options in place of its keys.
PlanSettings settings_of(const config::Catalogue& catalogue, const PlanOptions& options,
                         const std::string& experiment, InputFiles& files) {
  config::Document document = experiment_document(catalogue, experiment, files);
  const config::Node* const block = document.root.find("plan");
  config::Node own = block == nullptr ? config::make_node(config::Node::Kind::mapping) : *block;
  document.root = std::move(own);
  const std::pair<const char*, const std::optional<std::string>&> given[] = {
      {"goal", options.goal},         {"gpus", options.gpus},     {"global_batch", options.global_batch},
      {"epochs", options.epochs},     {"target", options.target}, {"memory_headroom", options.headroom},
      {"deadline", options.deadline}, {"budget", options.budget}, {"gap", options.gap},
      {"quantile", options.quantile}, {"draws", options.draws}};
  for (const auto& [key, text] : given) {
    if (text) config::set(document, key, *text);
  }
  PlanSettings settings = config::read<PlanSettings>(document);
  for (const auto& [text, price] : name_values("--price", options.price, "PLATFORM=USD")) {
    const std::string platform = platform_meant(catalogue, text);
    std::erase_if(settings.prices, [&](const auto& entry) { return entry.first == platform; });
    const std::optional<Dollars> hour = positive_quantity<Dollars>("--price", price);
    if (!hour) throw CLI::ValidationError("--price", in_quotes(text + "=") + " has no price");
    settings.prices.emplace_back(platform, *hour);
  }
  for (const auto& [key, values] : overrides_of(options.over, "--over")) {
    std::erase_if(settings.over, [&, name = key](const auto& entry) { return entry.first == name; });
    settings.over.emplace_back(key, split_list(values));
  }
  if (options.goal == "time-to-target" && !settings.target)
    throw InputError("the goal is time-to-target, but no target is given", "--target \"75.9 % top-1\"");
  constexpr double quick_gap = 0.05;
  if (options.quick && !options.gap && settings.gap == 0) settings.gap = quick_gap;
  return settings;
}

bool is_set(const Overrides& set, std::string_view key) {
  return std::ranges::find(set, key, &Overrides::value_type::first) != set.end();
}

/// The fastest of the usual precisions that the GPU has units for.
std::string_view usual_precision(const GpuProfile& gpu, bool has_tokens) {
  for (const Precision precision : {has_tokens ? Precision::bf16 : Precision::amp, Precision::fp16}) {
    try {
      matrix_dtype(gpu, precision);
      return config::name_of(precision);
    } catch (const InputError&) {
      continue;
    }
  }
  return config::name_of(Precision::fp32);
}

/// The stack of a run and the usual precision, unless something else is asked for.
void add_usual_software(const config::Catalogue& catalogue, const Overrides& over, Overrides& set,
                        InputFiles& files) {
  const bool has_stack = is_set(set, "stack") || is_set(over, "stack");
  const bool has_precision = is_set(set, "precision") || is_set(over, "precision");
  if (has_stack && has_precision) return;
  Overrides probe = set;
  probe.emplace_back("batch_per_gpu", "1");
  const ResolvedExperiment job = resolve(catalogue, no_file, probe, files);
  const bool has_tokens = job.model && job.model->sequence_length;
  std::string note;
  const auto add = [&](const char* key, std::string_view value) {
    set.emplace_back(key, value);
    note += fmt::format("{}{} {}", note.empty() ? "note: " : ", ", key, value);
  };
  if (!has_stack) add("stack", job.settings.stack);  // that of run
  if (!has_precision) add("precision", usual_precision(job.gpu, has_tokens));
  print_message(note);
}

/// Throws CLI::ValidationError if --set gives another value than an option.
void require_no_other(const Overrides& set, const std::string& option, const char* key,
                      const std::string& value) {
  const auto given = std::ranges::find(set, key, &Overrides::value_type::first);
  if (given != set.end() && given->second != value)
    throw CLI::ValidationError(
        option, fmt::format("{} and --set {}={} differ: give one of them", value, key, given->second));
}

PlanRequest request_of(const config::Catalogue& catalogue, const PlanOptions& options, InputFiles& files) {
  PlanRequest request;
  request.set = single_values(overrides_of(with_one_gpu(options.set, options.one_gpu)));
  const auto add = [&](const char* key, const std::optional<std::string>& value) {
    if (!value) return;
    require_no_other(request.set, fmt::format("--{}", key), key, *value);
    request.set.emplace_back(key, *value);
  };
  add("stack", options.stack);
  add("precision", options.precision);
  if (options.platform) {
    request.experiment = no_file;
    require_no_other(request.set, "--on", "platform", *options.platform);
    require_no_other(request.set, "MODEL", "model", options.what);
    request.set.insert(request.set.begin(), {{"platform", *options.platform}, {"model", options.what}});
    add_usual_software(catalogue, overrides_of(options.over, "--over"), request.set, files);
    request.name = fmt::format("{} on {}", options.what, *options.platform);
  } else {
    request.experiment = options.what;
    request.name = fs::path(options.what).stem().string();
  }
  request.settings = settings_of(catalogue, options, request.experiment, files);
  return request;
}

constexpr const char* plan_files[] = {"plan.txt", "plan.json", "best.yaml", "plan.csv", "plan.html"};

fs::path store_of(const PlanOptions& options) { return fs::path(*options.out) / "sweep.db"; }

/// The store of the plan's points.
SweepStore open_store(const PlanOptions& options, const StoredSweep& what) {
  if (!options.out) return SweepStore(what);
  const fs::path file = store_of(options);
  std::error_code ignored;
  if (options.force) {
    remove_store(file);
    for (const char* const name : plan_files) fs::remove(fs::path(*options.out) / name, ignored);
  } else if (fs::exists(file, ignored)) {
    if (!options.resume) refuse_earlier_store(file);
  } else {
    for (const char* const name : plan_files) check_out_file(fs::path(*options.out) / name, false);
  }
  return {file, what};
}

std::string command_of(const PlanSpace& space, std::size_t point) {
  std::string words = "trainyard run";
  if (space.request.experiment != no_file) words += " " + shell_word(space.request.experiment);
  return words + " " + as_options(settings_of(space, point));
}

void export_files(const PlanOptions& options, const PlanAnswer& answer, const PlanDetails& details,
                  const doc::Document& page) {
  const fs::path dir = *options.out;
  const std::string texts[] = {doc::text(page), json_text(plan_json(answer, details)),
                               details.best == nullptr ? std::string() : resolved_text(*details.best),
                               plan_csv(answer), doc::html(page)};
  remove_unfinished(dir, plan_files);
  for (std::size_t i = 0; i < std::size(plan_files); ++i) {
    if (!texts[i].empty()) write_out_file(dir / plan_files[i], texts[i], true);
  }
}

PlanOutcome searched(const config::Catalogue& catalogue, const PlanSpace& space, SweepStore& store,
                     const PlanRun& run) {
  PlanOutcome outcome = search_plan(catalogue, space, all_points(space), store, run);
  if (outcome.broken.empty()) return outcome;
  throw std::runtime_error(fmt::format("{} of the points ended with an internal error, the first with {}",
                                       outcome.broken.size(), outcome.broken.front()));
}

/// The result of a plan's child processes.
struct Found {
  PlanAnswer answer;
  PlanDetails details;       ///< as far as other plans and machines were looked at
  bool is_complete = false;  ///< the search
};

Found find_plan(const PlanOptions& options, const config::Catalogue& catalogue, const PlanSpace& space,
                SweepStore& store, const PlanRun& run) {
  const InterruptNoted interrupts;
  PlanOutcome outcome = searched(catalogue, space, store, run);
  Found found{.answer = {}, .details = {}, .is_complete = !outcome.is_interrupted};
  found.answer = plan_answer(space, std::move(outcome));
  if (!found.answer.best || !found.is_complete) return found;
  found.details.losses = plan_losses(catalogue, found.answer, run);
  if (!options.quick) found.details.changes = plan_changes(catalogue, found.answer, run);
  return found;
}

/// The answer, with the best plan simulated again for its parts.
void print_plan(const PlanOptions& options, const config::Catalogue& catalogue, Found found,
                InputFiles& files) {
  const PlanAnswer& answer = found.answer;
  PlanDetails& details = found.details;
  std::optional<Run> best;
  if (answer.best) {
    const PlanSpace& space = answer.space;
    const std::size_t point = answer.result.rows[*answer.best].point;
    best = simulate(read_point(catalogue, space.sweep, space.sweep.points[point], files), {.rows = false});
    const PointSource source = source_of_point(catalogue, space.sweep, space.sweep.points[point], files);
    add_assumed_inputs(catalogue, source.experiment,
                       without_totals(catalogue, source.experiment, source.overrides, files), *best, files);
    print_diagnostics(best->experiment.warnings);
    details.best = &*best;
    details.command = command_of(space, point);
  }
  PageOrigin origin;
  origin.version = version();
  if (best) origin = page_origin(best->experiment, version());
  const doc::Document page = plan_document(answer, details, origin);
  if (options.out) export_files(options, answer, details, page);
  print_result(options.page.json ? json_text(plan_json(answer, details)) : printed_page(options.page, page));
}

/// The message after a plan that ended early.
std::string early_end(const PlanOptions& options, bool is_complete) {
  std::string text = "this is the best so far";
  if (is_complete)
    text = options.quick ? "the search is complete, but comparisons are not"
                         : "the search is complete, but comparisons and changed machines are not";
  return text + (options.out ? ": continue with --resume" : "");
}

/// With --on a model is planned, without it an experiment, which names its machine.
void require_machine(const config::Catalogue& catalogue, const PlanOptions& options) {
  using config::Kind;
  const auto is_named = [&](Kind kind) {
    const std::vector<std::string> known = names(catalogue, kind);
    return std::ranges::find(known, options.what) != known.end();
  };
  if (config::is_path(options.what) || is_named(options.platform ? Kind::model : Kind::experiment)) return;
  if (options.platform) {
    if (is_named(Kind::experiment))
      throw InputError(fmt::format("{} is an experiment, which has a machine: {}", in_quotes(options.what),
                                   "--on is for a model"),
                       fmt::format("trainyard plan {}", options.what));
    return;
  }
  if (is_named(Kind::model))
    throw InputError(fmt::format("the machine for model {} is not given", in_quotes(options.what)),
                     options.global_batch ? "--on dgx_a100" : "--on dgx_a100 --global-batch 512");
  if (is_named(Kind::platform))
    throw InputError(fmt::format("{} is a platform, not a model or an experiment", in_quotes(options.what)),
                     fmt::format("trainyard plan gpt2_xl --on {} --global-batch 512", options.what));
}

/// How many layouts the search simulates is not known before, and so is its time.
void announce_search(const PlanSpace& space, const RunLimits& limits) {
  constexpr std::size_t many = 2'500;
  if (limits.time || space.bounds.size() < many) return;
  print_message(fmt::format(
      "note: {} layouts fit into memory; how many of them must be simulated is not known before: --max-time "
      "30s ends the search with the best so far",
      count_text(static_cast<double>(space.bounds.size()))));
}

void run_plan(const PlanOptions& options) {
  const RunLimits limits = limits_of(options.limits);
  SearchEnd end(limits.time, &InterruptNoted::is_asked);
  const LimitsKept kept(limits, announce_work);
  const config::Catalogue catalogue = config::find_catalogue();
  require_machine(catalogue, options);
  InputFiles files;
  const PlanSpace space =
      plan_space(catalogue, request_of(catalogue, options, files), files, jobs_of(options.jobs));
  leave_limits_to_children();  // the best so far is an answer
  announce_search(space, limits);
  std::optional<StoreLock> lock;
  if (options.out) {
    create_folder_of(store_of(options));
    lock.emplace(store_of(options));
  }
  SweepStore store = open_store(options, stored_plan(space));
  const PlanRun run{.parallel = jobs_of(options.jobs), .is_interrupted = [&] { return end.is_asked(); }};
  // First, all in child processes: SimGrid simulates once in a process, and no more in its children.
  Found all = find_plan(options, catalogue, space, store, run);
  const bool is_complete = all.is_complete;
  const bool has_plan = all.answer.best.has_value();
  print_plan(options, catalogue, std::move(all), files);
  if (is_complete) store.close();
  if (end.was_asked()) {
    print_message(early_end(options, is_complete));
    if (!end.is_late()) throw Interrupted();
  }
  if (!has_plan) throw JobImpossible("no plan keeps to the limits and fits");
}

/// Options about the job.
void add_job(CLI::App& command, const std::shared_ptr<PlanOptions>& options) {
  offer(command
            .add_option(
                "MODEL", options->what,
                "with --on a model's name or path, otherwise an experiment's, whose block 'plan' says what "
                "is asked")
            ->required(),
        {"MODEL", "EXPERIMENT"});
  offer(add_value(command, "--on", options->platform, "PLATFORM", "the machine"), {"PLATFORM"});
  add_value(
      command, "--gpus", options->gpus, "N",
      "numbers of GPUs to try: 64, a list 8,24 or a range 8..64, which doubles (default: one node, or the "
      "experiment's)");
  add_value(command, "--global-batch", options->global_batch, "N",
            "samples per step of all GPUs (default: the experiment's)");
  add_choice<PlanGoal>(command, "--goal", options->goal, "GOAL",
                       "the figure to minimise: {} (default: time)");
  add_value(command, "--stack", options->stack, "NAME",
            "the software (default: that of run: pytorch, on GPUs before 2022 pytorch_ddp)");
  add_value(command, "--precision", options->precision, "NAME",
            "default: bf16 for a model that reads tokens, else amp, where the GPU has it");
  add_repeatable(
      command, "--over", options->over, "KEY=V1,V2",
      "KEY=V1,V2, repeatable: tries these values of a key: of the layout in place of the usual ones "
      "(parallelism.tensor=4,8), of the machine or the software as well "
      "(platform.fabric.nic=\"25 Gbps,100 Gbps\")");
  add_repeatable(command, "--price", options->price, "PLATFORM=USD",
                 "PLATFORM=USD, repeatable: rent of one node of this machine for an hour, such as "
                 "dgx_a100=\"24 USD\", in place of the price in its file");
  add_repeatable(command, "--set", options->set, "KEY=VALUE",
                 "KEY=VALUE, repeatable: overrides a key of the experiment or of a file it names, as in run");
  add_one_gpu_option(command, options->one_gpu);
  add_value(command, "--memory-headroom", options->headroom, "SHARE",
            "share of a GPU's memory that a plan leaves free, such as 0.1");
  add_value(command, "--epochs", options->epochs, "N",
            "length of the training: plans are compared by its time, rent and energy");
  add_value(command, "--target", options->target, "TARGET",
            "the training ends at this target of the model's convergence");
  add_value(command, "--deadline", options->deadline, "TIME", "longest time of the training");
  add_value(command, "--budget", options->budget, "USD", "highest rent of the training");
}

}  // namespace

void add_plan(CLI::App& program) {
  auto options = std::make_shared<PlanOptions>();
  CLI::App& command = *program.add_subcommand(
      "plan", "search the best way to share a model and its batch among GPUs, and prove that none is better");
  add_job(command, options);
  add_value(command, "--gap", options->gap, "SHARE",
            "end the search when no layout can be better by more than this share");
  add_value(command, "--quantile", options->quantile, "SHARE",
            "minimise this quantile of the goal, such as 0.9, over draws of the "
            "expected error and of the slowest GPU's speed");
  add_value(command, "--draws", options->draws, "N", "number of draws for the quantile (default: 1000)");
  command.add_flag("--quick", options->quick, "a gap of 0.05, and no search with a little different machine");
  add_value(command, "--max-time", options->limits.time, "DURATION",
            "end the plan after this time, such as 30s: the answer is the best so far, and how far it may "
            "be off");
  add_value(
      command, "--max-memory", options->limits.memory, "SIZE",
      "largest memory of a process of it, such as 4GB; a layout that needs more to simulate is left out");
  add_jobs_option(command, options->jobs, "simulations");
  add_value(command, "--out", options->out, "DIR",
            "write the result to this folder: plan.html (a page for a browser), best.yaml (the experiment), "
            "plan.txt, plan.json, plan.csv (all simulated layouts), and sweep.db (SQLite), which gets each "
            "when it is finished");
  command.add_flag("--resume", options->resume, "continue the search in the folder");
  command.add_flag("--force", options->force, "replace the folder's earlier result");
  add_form_options(command, options->page, "print JSON in SI base units");
  add_examples(command, {"trainyard plan gpt3_5b --on dgx_a100 --gpus 64 --global-batch 512",
                         "trainyard plan llama3_8b --on dgx_h100 --gpus 8..16 --global-batch 32 --goal cost",
                         "trainyard plan gpt2_xl --on dgx1v --global-batch 64 --over precision=fp16,fp32"});
  command.callback([options] { run_plan(*options); });
}

}  // namespace trainyard
