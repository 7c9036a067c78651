#include "cli/help.hpp"
#include "cli/options.hpp"
#include "cli/terminal.hpp"
#include "cli/values.hpp"
#include "compute/processor_profile.hpp"
#include "config/catalogue.hpp"
#include "convert/commands.hpp"
#include "experiment/resolve.hpp"
#include "exports/simgrid_xml.hpp"
#include "io/out_files.hpp"
#include "units/plural.hpp"

#include <fmt/format.h>
#include <memory>
#include <string>
#include <vector>

namespace trainyard {
namespace {

struct SimgridOptions {
  std::string platform;
  std::vector<std::string> set;
  std::optional<std::string> nodes, out;
  bool force = false;
};

FlopRate fp32_peak(const config::Catalogue& catalogue, const Platform& platform, const std::string& file) {
  const config::Document profile =
      config::load(config::find(catalogue, profile_kind(platform), platform.gpu_profile, file));
  return platform.ranks_on_processors
             ? load_processor_profile(profile, platform.memory_mode).matrix.fp32.peak.value
             : load_gpu_profile(profile).matrix.fp32.peak.value;
}

void export_simgrid(const SimgridOptions& options) {
  const std::optional<int> nodes =
      options.nodes ? std::optional(whole_number("--nodes", *options.nodes, 1, config::most_nodes))
                    : std::nullopt;
  if (options.out) check_out_file(*options.out, options.force);
  const config::Catalogue catalogue = config::find_catalogue();
  const auto file = config::find(catalogue, config::Kind::platform, options.platform);
  const Platform platform = platform_with(file, options.set);
  const Cluster cluster = make_cluster(platform, nodes.value_or(platform.fabric.places.value_or(1)));
  const std::string text = simgrid_xml(cluster, fp32_peak(catalogue, platform, file.string()));
  if (!options.out) return print_result(text);
  write_out_file(*options.out, text, options.force);
  print_message(fmt::format("wrote {}: {} of {}", *options.out, plural(cluster.ranks(), "host"),
                            plural(cluster.nodes, "node")));
}

}  // namespace

void add_export_simgrid(CLI::App& command_of_exports) {
  auto options = std::make_shared<SimgridOptions>();
  CLI::App& command =
      *command_of_exports.add_subcommand("simgrid", "write a machine as a platform of SimGrid");
  command.add_option("PLATFORM", options->platform, "name of a shipped platform, or the path of a YAML file")
      ->required();
  add_value(command, "--nodes", options->nodes, "N",
            "nodes of the machine (default: as many as its network has room for; 1 if that has no bound)");
  add_repeatable(command, "--set", options->set, "KEY=VALUE", "override a key of the platform");
  add_value(command, "-o,--out", options->out, "FILE", "write to this file (default: stdout)");
  command.add_flag("--force", options->force, "replace an existing file");
  add_examples(command, {"trainyard export simgrid dgx2 -o dgx2.xml",
                         "trainyard export simgrid dgx_a100 --nodes 4 -o four.xml"});
  command.callback([options] { export_simgrid(*options); });
}

}  // namespace trainyard
