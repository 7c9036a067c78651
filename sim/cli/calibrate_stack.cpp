#include "calibration/fit_stack.hpp"
#include "cli/commands.hpp"
#include "cli/help.hpp"
#include "cli/options.hpp"
#include "cli/terminal.hpp"
#include "config/catalogue.hpp"
#include "config/write.hpp"
#include "published/published_files.hpp"
#include "report/calibration_tables.hpp"
#include "report/out_files.hpp"
#include "run/child_processes.hpp"

#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace trainyard {

namespace {

struct StackFitOptions {
  std::string stack;
  std::vector<std::string> files;
  std::string machines = "published";
  std::string runs = "published";
  std::optional<std::string> out;
  bool force = false;
};

void calibrate_stack(const StackFitOptions& options) {
  if (options.out) check_out_file(*options.out, options.force);
  const config::Catalogue catalogue = config::find_catalogue();
  const auto data = std::make_shared<const PublishedData>(
      PublishedData{.machine_rules = read_machine_rules(catalogue, options.machines),
                    .run_rules = read_run_rules(catalogue, options.runs),
                    .rows = read_published_files(catalogue, options.files)});
  StackFit fit = fit_stack(catalogue, data, options.stack, processors());
  std::string report = stack_fit_table(fit);
  if (options.out) {
    fit.stack.name = std::filesystem::path(*options.out).stem().string();
    const std::string text = config::write(fit.stack);
    load_stack(config::parse(*options.out, text));
    write_out_file(*options.out, text, options.force);
    report += fmt::format("\nwrote {}\n", *options.out);
  }
  print_result(report);
}

}  // namespace

void add_calibrate_stack(CLI::App& calibrate) {
  auto options = std::make_shared<StackFitOptions>();
  CLI::App& command = *calibrate.add_subcommand(
      "stack", "fit a stack's compute_scale (a factor on kernel times) to published one-GPU runs");
  command.add_option("STACK", options->stack, "a name in workloads/stacks")->required();
  add_value(command, "--rows", options->files, "CSV",
            "measurements with the columns of workloads/published/README.md; one-GPU rows with split "
            "calibrate are fitted to (default: the shipped ones)");
  add_value(command, "-o,--out", options->out, "FILE", "write the fitted stack to this file, NAME.yaml");
  add_machines_option(command, options->machines);
  add_runs_option(command, options->runs);
  command.add_flag("--force", options->force, "replace the file if it exists");
  add_examples(command, {"trainyard calibrate stack oneflow",
                         "trainyard calibrate stack oneflow --rows my_runs.csv -o my_oneflow.yaml"});
  command.callback([options] { calibrate_stack(*options); });
}

}  // namespace trainyard
