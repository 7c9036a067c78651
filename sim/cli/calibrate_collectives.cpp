#include "calibration/fit_collectives.hpp"
#include "cli/commands.hpp"
#include "cli/help.hpp"
#include "cli/options.hpp"
#include "cli/terminal.hpp"
#include "config/catalogue.hpp"
#include "published/published_files.hpp"
#include "report/out_files.hpp"
#include "report/validation_table.hpp"

#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace trainyard {

namespace {

struct FitOptions {
  std::vector<std::string> files;
  std::string machines = "published";
  std::optional<std::string> out;
  bool skip_left_out = false;
  bool force = false;
};

void calibrate_collectives(const FitOptions& options) {
  if (options.out) check_out_file(*options.out, options.force);
  const config::Catalogue catalogue = config::find_catalogue();
  const auto data = std::make_shared<const PublishedData>(
      PublishedData{.machine_rules = read_machine_rules(catalogue, options.machines),
                    .rows = read_published_files(catalogue, options.files)});
  CollectiveFit fit = fit_collectives(catalogue, collective_curves(data), !options.skip_left_out);
  std::string report = fit_table(fit);
  if (options.out) {
    fit.constants.name = std::filesystem::path(*options.out).stem().string();
    const std::string text = protocols_text(fit.constants);
    load_protocols(config::parse(*options.out, text));
    write_out_file(*options.out, text, options.force);
    report += fmt::format("\nwrote {}\n", *options.out);
  }
  print_result(report);
}

}  // namespace

void add_calibrate_collectives(CLI::App& calibrate) {
  auto options = std::make_shared<FitOptions>();
  CLI::App& command = *calibrate.add_subcommand(
      "collectives",
      "fit the constants of NCCL's protocols to published collectives (rows with split calibrate)");
  command.add_option(
      "CSV", options->files,
      "measurements with the columns of workloads/published/README.md (default: the shipped ones)");
  add_value(command, "-o,--out", options->out, "FILE", "write the constants to this file, NAME.yaml");
  add_machines_option(command, options->machines);
  command.add_flag("--skip-left-out", options->skip_left_out,
                   "skip the fits that leave out one machine each; they take most of the time");
  command.add_flag("--force", options->force, "replace the file if it exists");
  add_examples(command, {"trainyard calibrate collectives -o nccl.yaml",
                         "trainyard calibrate collectives my_curves.csv --skip-left-out"});
  command.callback([options] { calibrate_collectives(*options); });
}

}  // namespace trainyard
