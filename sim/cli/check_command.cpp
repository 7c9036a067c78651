#include "cli/commands.hpp"
#include "cli/file_kind.hpp"
#include "cli/help.hpp"
#include "cli/terminal.hpp"
#include "collectives/protocols.hpp"
#include "compute/gpu_profile.hpp"
#include "config/catalogue.hpp"
#include "config/read_file.hpp"
#include "experiment/resolve.hpp"
#include "platform/load.hpp"
#include "published/machine_rules.hpp"
#include "published/run_rules.hpp"
#include "strategy/stack.hpp"
#include "sweep/sweep_file.hpp"
#include "workload/csv.hpp"
#include "workload/model_file.hpp"
#include "workload/trace_csv.hpp"

#include <memory>
#include <string>
#include <vector>

namespace trainyard {

namespace {

/// Reads a file according to its kind; an experiment with all files it names.
void check_file(const std::string& file, std::vector<Diagnostic>& warnings) {
  if (file.ends_with(".csv")) {
    read_trace(file, config::read_file(file, largest_csv));
    return;
  }
  const config::Document document = config::load(file);
  switch (kind_of(file, document)) {
    case config::Kind::platform:
      load_platform(document, &warnings);
      break;
    case config::Kind::gpu:
      load_gpu_profile(document, &warnings);
      break;
    case config::Kind::protocols:
      load_protocols(document);
      break;
    case config::Kind::machines:
      load_machine_rules(document, config::find_catalogue());
      break;
    case config::Kind::runs:
      load_run_rules(document, config::find_catalogue());
      break;
    case config::Kind::model:
      load_model(document, &warnings);
      break;
    case config::Kind::stack:
      load_stack(document, &warnings);
      break;
    case config::Kind::sweep:
      load_sweep(document);
      break;
    case config::Kind::experiment: {
      // With a slash it is a path, whatever its name.
      const std::string path = file.find('/') == std::string::npos ? "./" + file : file;
      const ResolvedExperiment resolved = resolve(config::find_catalogue(), path, {});
      warnings.insert(warnings.end(), resolved.warnings.begin(), resolved.warnings.end());
      break;
    }
  }
}

void check_files(const std::vector<std::string>& files) {
  std::vector<Diagnostic> errors;
  std::string unreadable;
  for (const std::string& file : files) {
    std::vector<Diagnostic> warnings;
    try {
      check_file(file, warnings);
      print_warnings(warnings);
      print_result(file + ": ok\n");
    } catch (const InputError& error) {
      errors.insert(errors.end(), error.diagnostics().begin(), error.diagnostics().end());
    } catch (const FileError& error) {
      unreadable += (unreadable.empty() ? "" : "\n") + std::string(error.what());
    }
  }
  if (!unreadable.empty() && !errors.empty()) print_message("trainyard: " + unreadable);
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
                  "platforms, GPU profiles, protocol constants, machine rules, run rules, models, stacks, "
                  "experiments, sweeps (YAML) and traces (CSV); recognised by their folder or keys")
      ->required();
  add_examples(command,
               {"trainyard check my_machine.yaml my_experiment.yaml", "trainyard check resnet50.csv"});
  command.callback([files] { check_files(*files); });
}

}  // namespace trainyard
