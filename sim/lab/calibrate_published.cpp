#include "calibration/fit_collectives.hpp"
#include "calibration/fit_software.hpp"
#include "calibration/fit_stack.hpp"
#include "cli/help.hpp"
#include "cli/options.hpp"
#include "cli/page_options.hpp"
#include "cli/terminal.hpp"
#include "config/catalogue.hpp"
#include "config/write.hpp"
#include "io/out_files.hpp"
#include "lab/commands.hpp"
#include "lab/pages.hpp"
#include "lab/row_options.hpp"
#include "published/published_files.hpp"
#include "run/child_processes.hpp"
#include "strategy/stack_keys.hpp"

#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace trainyard {

namespace {

/// Options of the fits to published measurements.
struct FitOptions {
  std::string stack;
  std::vector<std::string> files;
  std::string machines = "published";
  std::string runs = "published";
  std::optional<std::string> out;
  bool skip_left_out = false;
  bool force = false;
  PageOptions form;
};

/// Writes the fit to the file of --out, named after it, after checking that it can be read again. Returns a
/// line for the report; empty without --out.
template <class Fitted, class Load>
std::string write_fitted(const FitOptions& options, Fitted fitted, std::string (*text_of)(const Fitted&),
                         const Load& load) {
  if (!options.out) return {};
  fitted.name = std::filesystem::path(*options.out).stem().string();
  const std::string text = text_of(fitted);
  load(config::parse(*options.out, text));
  write_out_file(*options.out, text, options.force);
  return fmt::format("wrote {}", *options.out);
}

/// Prints the page and then the lines about written files, which are no part of Markdown.
void print_fit(const FitOptions& options, const doc::Document& page, const std::string& written) {
  const std::string text = printed_page(options.form, page);
  if (written.empty() || options.form.markdown)
    print_result(text);
  else
    print_result(fmt::format("{}\n{}\n", text, written));
  if (!written.empty() && options.form.markdown) print_message(written);
}

void calibrate_collectives(const FitOptions& options) {
  if (options.out) check_out_file(*options.out, options.force);
  const config::Catalogue catalogue = config::find_catalogue();
  const auto data = std::make_shared<const PublishedData>(
      PublishedData{.machine_rules = read_machine_rules(catalogue, options.machines),
                    .rows = read_published_files(catalogue, options.files)});
  const CollectiveFit fit = fit_collectives(catalogue, collective_curves(data), !options.skip_left_out);
  print_fit(options, fit_document(fit), write_fitted(options, fit.constants, protocols_text, load_protocols));
}

/// FILE.yaml and its table FILE.csv.
std::string write_software(const FitOptions& options, Software software) {
  if (!options.out) return {};
  const std::filesystem::path table = std::filesystem::path(*options.out).replace_extension(".csv");
  check_out_file(table, options.force);
  software.factors = table.filename().string();
  write_out_file(table, software_factors_text(software.table), options.force);
  return write_fitted(options, software, config::write<Software>,
                      [](const config::Document& document) { return load_software(document); }) +
         fmt::format("\nwrote {}", table.string());
}

void calibrate_stack(const FitOptions& options) {
  if (options.out) check_out_file(*options.out, options.force);
  const config::Catalogue catalogue = config::find_catalogue();
  const auto data = std::make_shared<const PublishedData>(
      PublishedData{.machine_rules = read_machine_rules(catalogue, options.machines),
                    .run_rules = read_run_rules(catalogue, options.runs),
                    .rows = read_published_files(catalogue, options.files)});
  if (options.stack.empty()) {
    const Software software = fit_software(catalogue, data, processors());
    print_fit(options, software_fit_document(software), write_software(options, software));
    return;
  }
  const StackFit fit = fit_stack(catalogue, data, options.stack, processors());
  const auto load = [](const config::Document& document) { return load_stack(document); };
  print_fit(options, stack_fit_document(fit), write_fitted(options, fit.stack, config::write<Stack>, load));
}

}  // namespace

void add_calibrate_collectives(CLI::App& calibrate) {
  auto options = std::make_shared<FitOptions>();
  CLI::App& command = *calibrate.add_subcommand(
      "collectives",
      "fit the constants of NCCL's protocols to published collectives (rows with split calibrate)");
  add_measurements_argument(command, options->files);
  add_value(command, "-o,--out", options->out, "FILE", "write the constants to this file, NAME.yaml");
  add_machines_option(command, options->machines);
  command.add_flag("--skip-left-out", options->skip_left_out,
                   "skip the fits that leave out one machine each; they take most of the time");
  add_form_options(command, options->form, {});
  command.add_flag("--force", options->force, "replace the file if it exists");
  add_examples(command, {"trainyard calibrate collectives -o nccl.yaml",
                         "trainyard calibrate collectives my_curves.csv --skip-left-out"});
  command.callback([options] { calibrate_collectives(*options); });
}

void add_calibrate_stack(CLI::App& calibrate) {
  auto options = std::make_shared<FitOptions>();
  CLI::App& command = *calibrate.add_subcommand(
      "stack",
      "fit to published one-GPU runs how much longer ops take than their kernels: factors by framework, GPU "
      "and model for all stacks, or one compute_scale for a stack");
  command.add_option("STACK", options->stack, "a name in workloads/stacks: fit its compute_scale");
  add_value(command, "--rows", options->files, "CSV",
            "measurements with the columns of workloads/published/README.md; one-GPU runs with split "
            "calibrate are fitted to (default: the shipped ones)");
  add_value(command, "-o,--out", options->out, "FILE",
            "write the factors to NAME.yaml and NAME.csv, or the fitted stack to NAME.yaml");
  add_machines_option(command, options->machines);
  add_runs_option(command, options->runs);
  add_form_options(command, options->form, {});
  command.add_flag("--force", options->force, "replace the file if it exists");
  add_examples(command, {"trainyard calibrate stack -o my_software.yaml", "trainyard calibrate stack oneflow",
                         "trainyard calibrate stack oneflow --rows my_runs.csv -o my_oneflow.yaml"});
  command.callback([options] { calibrate_stack(*options); });
}

}  // namespace trainyard
