#include "cli/commands.hpp"
#include "cli/terminal.hpp"
#include "collectives/protocols.hpp"
#include "config/catalogue.hpp"
#include "report/json_text.hpp"
#include "report/out_files.hpp"
#include "report/validation_plot.hpp"
#include "report/validation_table.hpp"
#include "study/published_files.hpp"
#include "study/validate.hpp"
#include "units/text.hpp"

#include <CLI/Error.hpp>
#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace trainyard {

namespace {

struct ValidateOptions {
  std::vector<std::string> files;
  std::string machines = "published";
  std::string protocols = "nccl";
  std::optional<std::string> plot, limit;
  bool summary = false;
  bool json = false;
  bool force = false;
};

/// A percentage as a ratio.
double ratio_of(const std::string& text) {
  const Parsed<double> parsed = parse_number(text);
  const auto* percent = std::get_if<double>(&parsed);
  if (percent == nullptr || *percent < 0)
    throw CLI::ValidationError("--limit", "'" + text + "' is not a percentage");
  return *percent / 100;
}

void check_limit(const Validation& validation, double limit) {
  const std::optional<double> mean = summary_of(validation).large.mape;
  if (!mean) {
    throw LimitMissed(fmt::format(
        "no row from 1 MiB on could be scored, so that nothing keeps the limit of {:.1f} %", 100 * limit));
  }
  if (*mean <= limit) return;
  throw LimitMissed(
      fmt::format("the mean error over curves from 1 MiB on is {:.1f} %, above the limit of {:.1f} %",
                  100 * *mean, 100 * limit));
}

void validate(const ValidateOptions& options) {
  // read before anything takes time
  const double limit = options.limit ? ratio_of(*options.limit) : 0;
  if (options.plot) check_out_file(*options.plot, options.force);
  const config::Catalogue catalogue = config::find_catalogue();
  const MachineRules rules = read_machine_rules(catalogue, options.machines);
  const Protocols constants =
      load_protocols(config::load(config::find(catalogue, config::Kind::protocols, options.protocols)));
  const std::vector<PublishedRow> rows = read_published_files(catalogue, options.files);
  const CollectiveCurves curves = collective_curves(rows, rules);
  const Validation validation = validate_collectives(catalogue, curves, constants);
  if (options.plot) write_out_file(*options.plot, validation_plot(validation), options.force);
  print_result(options.json ? json_text(validation_json(validation))
                            : validation_table(validation, options.summary));
  if (options.limit) check_limit(validation, limit);
}

}  // namespace

void add_validate(CLI::App& program) {
  auto options = std::make_shared<ValidateOptions>();
  CLI::App& command = *program.add_subcommand(
      "validate", "compare predictions with published measurements: collectives, so far");
  command.add_option("CSV", options->files,
                     "measurements in the columns of tests/validation (default: those shipped)");
  command
      .add_option("--machines", options->machines,
                  "rules that find a row's platform: a name in platforms/machines or a path")
      ->type_name("RULES")
      ->capture_default_str();
  command
      .add_option("--protocols", options->protocols,
                  "constants of protocols: a name in platforms/protocols or a path")
      ->type_name("FILE")
      ->capture_default_str();
  command.add_flag("--summary", options->summary, "print curves and families, not every size");
  command
      .add_option("--plot", options->plot, "draw the curves of three sizes and more into this file, as SVG")
      ->type_name("FILE");
  command
      .add_option("--limit", options->limit,
                  "end with 1 if the mean error over curves from 1 MiB on is above this many per cent")
      ->type_name("PERCENT");
  command.add_flag("--json", options->json, "print JSON with errors as ratios instead of the table");
  command.add_flag("--force", options->force, "replace the file of --plot if it exists");
  command.footer("Example: trainyard validate --summary --limit 15");
  command.callback([options] { validate(*options); });
}

}  // namespace trainyard
