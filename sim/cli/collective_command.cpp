#include "cli/commands.hpp"
#include "cli/terminal.hpp"
#include "cli/values.hpp"
#include "config/catalogue.hpp"
#include "platform/load.hpp"
#include "report/collective_table.hpp"
#include "report/json_text.hpp"
#include "report/names.hpp"
#include "study/collective_sweep.hpp"

#include <CLI/Error.hpp>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace trainyard {

namespace {

struct CollectiveOptions {
  std::string operation;
  std::string platform;
  std::string nodes = "1";
  std::string gpus;
  std::string gpus_per_node;
  std::string begin = "8";
  std::string end = "1G";
  std::string factor = "2";
  std::string step;
  std::string algorithm = "auto";
  std::string fidelity = "flow";
  bool json = false;
};

/// Whole elements of 4 bytes, from the first size on, each `factor` times or `step` more than the one before.
std::vector<Bytes> sizes_of(const CollectiveOptions& options) {
  const Bytes begin = nccl_size("-b", options.begin);
  const Bytes end = nccl_size("-e", options.end);
  const int factor = whole_number("-f", options.factor, 2);
  if (end < begin) throw CLI::ValidationError("-e", "'" + options.end + "' is less than -b");
  std::vector<Bytes> sizes;
  const bool adds = !options.step.empty();
  const Bytes step = adds ? nccl_size("-i", options.step) : Bytes{};
  constexpr double most_sizes = 10'000;
  if (adds && (end - begin) / step > most_sizes) {
    throw CLI::ValidationError("-i", "'" + options.step + "' makes more than 10000 sizes");
  }
  for (Bytes size = begin; size <= end; size = adds ? size + step : size * factor)
    sizes.push_back(Bytes(4 * std::floor(size.si() / 4)));
  return sizes;
}

int count_or_all(const std::string& option, const std::string& text) {
  return text.empty() ? 0 : whole_number(option, text, 1);
}

void time_on_platform(const CollectiveOptions& options) {
  const CollectiveSweep sweep{.operation = choice<Operation>(options.operation),
                              .algorithm = choice<Algorithm>(options.algorithm),
                              .sizes = sizes_of(options),
                              .fidelity = choice<Fidelity>(options.fidelity)};
  const int nodes = whole_number("--nodes", options.nodes, 1);
  const int gpus = count_or_all("--gpus", options.gpus);
  const int gpus_per_node = count_or_all("--gpus-per-node", options.gpus_per_node);

  const auto file = config::find(config::find_catalogue(), config::Kind::platform, options.platform);
  std::vector<Diagnostic> warnings;
  Platform platform = load_platform(config::load(file), &warnings);
  print_warnings(warnings);
  const CollectiveReport report =
      time_collective(make_cluster(std::move(platform), nodes, gpus, gpus_per_node), sweep);
  print_result(options.json ? json_text(collective_json(report)) : collective_table(report));
}

}  // namespace

void add_collective(CLI::App& program) {
  auto options = std::make_shared<CollectiveOptions>();
  CLI::App& command = *program.add_subcommand(
      "collective", "time a collective over a range of sizes; options and columns as nccl-tests has them");
  command.add_option("OP", options->operation, "the collective: " + names_of<Operation>())->required();
  command
      .add_option("--platform", options->platform, "name of a shipped platform, or the path of a YAML file")
      ->required()
      ->type_name("P");
  command.add_option("--nodes", options->nodes, "nodes of the platform")
      ->type_name("N")
      ->capture_default_str();
  command.add_option("--gpus", options->gpus, "GPUs in all, taken in node order (default: all)")
      ->type_name("N");
  command.add_option("--gpus-per-node", options->gpus_per_node, "GPUs used of each node (default: all)")
      ->type_name("N");
  command
      .add_option("-b,--minbytes", options->begin,
                  "first size of one rank's buffer in bytes; K, M and G are KiB, MiB and GiB")
      ->type_name("SIZE")
      ->capture_default_str();
  command.add_option("-e,--maxbytes", options->end, "largest size")->type_name("SIZE")->capture_default_str();
  CLI::Option* factor =
      command.add_option("-f,--stepfactor", options->factor, "each size is this many times the one before")
          ->type_name("N")
          ->capture_default_str();
  command.add_option("-i,--stepbytes", options->step, "each size is this much more than the one before")
      ->type_name("SIZE")
      ->excludes(factor);
  command.add_option("--algorithm", options->algorithm, "how it is carried out: " + names_of<Algorithm>())
      ->type_name("A")
      ->capture_default_str();
  command
      .add_option("--fidelity", options->fidelity,
                  "how exactly it is simulated, cheapest first: " + names_of<Fidelity>())
      ->type_name("F")
      ->capture_default_str();
  command.add_flag("--json", options->json, "print JSON in SI base units instead of the table");
  command.footer("Example: trainyard collective all_reduce --platform dgx2 --gpus 12 -b 1M -e 1G -f 2");
  command.callback([options] { time_on_platform(*options); });
}

}  // namespace trainyard
