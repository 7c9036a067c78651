#include "cli/file_kind.hpp"
#include "cli/help.hpp"
#include "cli/options.hpp"
#include "cli/terminal.hpp"
#include "collectives/protocols.hpp"
#include "commands/commands.hpp"
#include "compute/gpu_profile.hpp"
#include "compute/processor_profile.hpp"
#include "config/catalogue.hpp"
#include "config/read_file.hpp"
#include "experiment/experiment.hpp"
#include "experiment/input_files.hpp"
#include "experiment/keys_meant.hpp"
#include "jobs/job.hpp"
#include "lowering/load_whole_lowering.hpp"
#include "platform/load.hpp"
#include "rules/machine_rules.hpp"
#include "rules/run_rules.hpp"
#include "schedule/trace_plan.hpp"
#include "strategy/stack.hpp"
#include "sweep/sweep_file.hpp"
#include "workload/csv.hpp"
#include "workload/hugging_face.hpp"
#include "workload/model_file.hpp"
#include "workload/trace_csv.hpp"

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

namespace trainyard {

namespace {

using Warnings = std::vector<Diagnostic>;

/// Reads a document of one kind; throws InputError with its errors.
struct Reader {
  config::Kind kind;
  void (*read)(const config::Document&, Warnings&);
};

Lowering whole_lowering(const config::Document& document) {
  return load_whole_lowering(document, [](const std::string& name, const std::string& named_in) {
    return config::load(config::find(config::find_catalogue(), config::Kind::lowering, name, named_in));
  });
}

constexpr Reader readers[] = {
    {config::Kind::platform,
     [](const auto& file, Warnings& warnings) {
       const Platform platform = load_platform(file, &warnings);
       std::ignore =
           config::find(config::find_catalogue(), profile_kind(platform), platform.gpu_profile, file.name);
     }},
    {config::Kind::gpu, [](const auto& file, Warnings& warnings) { load_gpu_profile(file, &warnings); }},
    {config::Kind::processor,
     [](const auto& file, Warnings& warnings) { load_processor_profile(file, {}, &warnings); }},
    {config::Kind::protocols, [](const auto& file, Warnings&) { load_protocols(file); }},
    {config::Kind::machines,
     [](const auto& file, Warnings&) { load_machine_rules(file, config::find_catalogue()); }},
    {config::Kind::runs, [](const auto& file, Warnings&) { load_run_rules(file, config::find_catalogue()); }},
    {config::Kind::model, [](const auto& file, Warnings& warnings) { load_model(file, &warnings); }},
    {config::Kind::stack, [](const auto& file, Warnings& warnings) { load_stack(file, &warnings); }},
    {config::Kind::lowering, [](const auto& file, Warnings&) { whole_lowering(file); }},
    {config::Kind::software, [](const auto& file, Warnings& warnings) { load_software(file, &warnings); }},
    {config::Kind::sweep, [](const auto& file, Warnings&) { load_sweep(file); }}};

/// A job of another framework; the command that runs it names its machine.
void check_job(const std::string& file, Warnings& warnings) {
  InputFiles files;
  config::Document document = load_experiment_once(files, config::find_catalogue(), file, &warnings);
  if (document.root.find("platform") == nullptr) config::set(document, "platform", "any");
  load_experiment(document);
  for (const auto& [path, note] : files.job_notes) print_message(note);
}

/// Reads a file according to its kind; an experiment with all files it names.
void check_file(const std::string& file, Warnings& warnings) {
  if (file.ends_with(".csv")) {
    read_trace(file, config::read_file(file, largest_csv));
    return;
  }
  if (jobs::is_job_file(file)) return check_job(file, warnings);
  const config::Document document = load_document(file);
  const auto* const reader = std::ranges::find(readers, kind_of(file, document), &Reader::kind);
  if (reader != std::end(readers)) {
    reader->read(document, warnings);
    return;
  }
  // With a slash it is a path, whatever its name.
  const std::string path = file.find('/') == std::string::npos ? "./" + file : file;
  const LimitsKept announced({.simulates = false}, announce_work);
  InputFiles files;
  const ResolvedExperiment resolved = resolve_with_totals(config::find_catalogue(), path, {}, files);
  warnings = resolved.warnings;
  if (resolved.settings.traces)
    (void)plan_traces_step(resolved);  // their messages and collectives have to meet
}

void check_files(const std::vector<std::string>& files) {
  std::vector<Diagnostic> errors;
  std::string unreadable;
  for (const std::string& file : files) {
    std::vector<Diagnostic> warnings;
    try {
      check_file(file, warnings);
      print_diagnostics(warnings);
      print_result(file + ": ok\n");
    } catch (const InputError& error) {
      errors.insert(errors.end(), error.diagnostics().begin(), error.diagnostics().end());
    } catch (const FileError& error) {
      unreadable += (unreadable.empty() ? "" : "\n") + std::string(error.what());
    }
  }
  if (!unreadable.empty() && !errors.empty()) print_message("trainyard: error: " + unreadable);
  if (!errors.empty()) throw InputError(std::move(errors));
  if (!unreadable.empty()) throw FileError(unreadable);
}

}  // namespace

void add_check(CLI::App& program) {
  auto files = std::make_shared<std::vector<std::string>>();
  CLI::App& command =
      *program.add_subcommand("check", "read files and print all their errors; nothing is run");
  command
      .add_option("FILE", *files,
                  "platforms, GPU and processor profiles, protocol constants, machine rules, run rules, "
                  "models, stacks, "
                  "experiments, sweeps (YAML) and traces (CSV); recognised by their folder or keys")
      ->required();
  add_examples(command,
               {"trainyard check my_machine.yaml my_experiment.yaml", "trainyard check resnet50.csv"});
  command.callback([files] { check_files(*files); });
}

}  // namespace trainyard
