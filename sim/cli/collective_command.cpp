#include "cli/commands.hpp"
#include "cli/experiment_options.hpp"
#include "cli/help.hpp"
#include "cli/offers.hpp"
#include "cli/rank_group.hpp"
#include "cli/terminal.hpp"
#include "cli/values.hpp"
#include "config/catalogue.hpp"
#include "experiment/collective_software.hpp"
#include "platform/load.hpp"
#include "report/collective_table.hpp"
#include "report/csv.hpp"
#include "report/json_text.hpp"
#include "report/out_files.hpp"
#include "run/collective_sweep.hpp"

#include <CLI/Error.hpp>
#include <cmath>
#include <filesystem>
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
  std::string protocol;
  std::string nccl = "2.7.8";
  std::string root = "0";
  std::string gpus_per_process = "1";
  std::vector<std::string> groups;
  std::vector<std::string> set;
  std::string links;
  std::string fidelity = "flow";
  bool json = false;
  bool force = false;
};

/// Whole elements of 4 bytes, from the first size on, each `factor` times the previous size or `step` larger.
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

/// The platform with the overrides of --set, whose keys begin with "platform.", as for experiments.
Platform platform_of(const CollectiveOptions& options, const std::filesystem::path& file) {
  config::Document document = config::load(file);
  constexpr std::string_view prefix = "platform.";
  for (const auto& [key, value] : overrides_of(options.set)) {
    if (!key.starts_with(prefix))
      throw CLI::ValidationError(
          "--set", "'" + key + "' is not a key of the platform; its keys begin with 'platform.'");
    config::set(document, key.substr(prefix.size()), value, prefix);
  }
  std::vector<Diagnostic> warnings;
  Platform platform = load_platform(document, &warnings);
  print_warnings(warnings);
  return platform;
}

void time_on_platform(const CollectiveOptions& options) {
  CollectiveSweep sweep{.operation = choice<Operation>(options.operation),
                        .algorithm = choice<Algorithm>(options.algorithm),
                        .root = whole_number("--root", options.root, 0),
                        .groups = {},
                        .sizes = sizes_of(options),
                        .software = {},
                        .gpus_per_process = whole_number("-g", options.gpus_per_process, 1),
                        .fidelity = choice<Fidelity>(options.fidelity)};
  if (!options.protocol.empty()) sweep.protocol = choice<Protocol>(options.protocol);
  for (const std::string& text : options.groups) sweep.groups.push_back(rank_group(text));
  if (!options.links.empty()) check_out_file(options.links, options.force);
  const int nodes = whole_number("--nodes", options.nodes, 1);
  const int gpus = count_or_all("--gpus", options.gpus);
  const int gpus_per_node = count_or_all("--gpus-per-node", options.gpus_per_node);

  const config::Catalogue catalogue = config::find_catalogue();
  const auto platform_file = config::find(catalogue, config::Kind::platform, options.platform);
  Platform platform = platform_of(options, platform_file);
  sweep.software = collective_software(catalogue, shipped_protocols(catalogue),
                                       choice<NcclVersion>(options.nccl), platform, platform_file);
  const CollectiveReport report =
      time_collective(make_cluster(std::move(platform), nodes, gpus, gpus_per_node), sweep);
  if (!options.links.empty()) write_out_file(options.links, links_csv(report.links), options.force);
  print_result(options.json ? json_text(collective_json(report)) : collective_table(report));
}

}  // namespace

void add_collective(CLI::App& program) {
  auto options = std::make_shared<CollectiveOptions>();
  CLI::App& command = *program.add_subcommand(
      "collective", "time a collective over a range of sizes, with the options and columns of nccl-tests");
  offer_names_of<Operation>(
      command.add_option("OP", options->operation, "the collective: " + names_of<Operation>())->required());
  command
      .add_option("--platform", options->platform, "name of a shipped platform, or the path of a YAML file")
      ->required()
      ->type_name("PLATFORM");
  command.add_option("--nodes", options->nodes, "nodes of the platform")
      ->type_name("N")
      ->capture_default_str();
  command.add_option("--gpus", options->gpus, "total number of GPUs, taken in node order (default: all)")
      ->type_name("N");
  command.add_option("--gpus-per-node", options->gpus_per_node, "GPUs used per node (default: all)")
      ->type_name("N");
  command
      .add_option("-b,--minbytes", options->begin,
                  "smallest size of one rank's buffer in bytes; K, M and G are KiB, MiB and GiB")
      ->type_name("SIZE")
      ->capture_default_str();
  command.add_option("-e,--maxbytes", options->end, "largest size")->type_name("SIZE")->capture_default_str();
  CLI::Option* factor =
      command.add_option("-f,--stepfactor", options->factor, "factor between consecutive sizes")
          ->type_name("N")
          ->capture_default_str();
  command.add_option("-i,--stepbytes", options->step, "difference between consecutive sizes")
      ->type_name("SIZE")
      ->excludes(factor);
  offer_names_of<Algorithm>(
      command.add_option("--algorithm", options->algorithm, "algorithm: " + names_of<Algorithm>())
          ->type_name("A")
          ->capture_default_str());
  offer_names_of<Protocol>(command
                               .add_option("--protocol", options->protocol,
                                           "protocol: " + names_of<Protocol>() + " (default: NCCL's choice)")
                               ->type_name("P"));
  offer_names_of<NcclVersion>(
      command
          .add_option("--nccl", options->nccl,
                      "NCCL version whose choices auto makes: " + names_of<NcclVersion>() +
                          "; none: only latency and bandwidth of the links count")
          ->type_name("V")
          ->capture_default_str());
  command
      .add_option("-r,--root", options->root,
                  "root of broadcast and reduce: the position of a rank in its group")
      ->type_name("N")
      ->capture_default_str();
  command
      .add_option("-g,--ngpus", options->gpus_per_process,
                  "GPUs per process; starting them in turn limits the time of small sizes from below")
      ->type_name("N")
      ->capture_default_str();
  command
      .add_option("--group", options->groups,
                  "RANKS[@TIME], repeatable: a group of ranks (0-7,9) with a collective of its own; all "
                  "groups start together, or TIME later")
      ->type_name("RANKS")
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  add_set_option(command, options->set,
                 "KEY=VALUE, repeatable: overrides a key of the platform (platform.fabric.nic=\"25 Gbps\")");
  command.add_option("--links", options->links, "write the traffic of every link to this CSV file")
      ->type_name("FILE");
  offer_names_of<Fidelity>(command
                               .add_option("--fidelity", options->fidelity,
                                           "level of detail, cheapest first: " + names_of<Fidelity>())
                               ->type_name("F")
                               ->capture_default_str());
  command.add_flag("--force", options->force, "replace the file of --links if it exists");
  command.add_flag("--json", options->json, "print JSON in SI base units instead of the table");
  add_examples(command,
               {"trainyard collective all_reduce --platform dgx2 --gpus 12 -b 1M -e 1G -f 2",
                "trainyard collective broadcast --platform dlperf --nodes 4 --root 8 --algorithm tree"});
  command.callback([options] { time_on_platform(*options); });
}

}  // namespace trainyard
