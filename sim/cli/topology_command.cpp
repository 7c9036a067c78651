#include "cli/commands.hpp"
#include "cli/help.hpp"
#include "cli/terminal.hpp"
#include "config/catalogue.hpp"
#include "platform/load.hpp"
#include "platform/topology.hpp"

#include <memory>
#include <string>
#include <vector>

namespace trainyard {

namespace {

struct TopologyOptions {
  std::string platform;
  bool dot = false;
};

void show_topology(const TopologyOptions& options) {
  const auto file = config::find(config::find_catalogue(), config::Kind::platform, options.platform);
  std::vector<Diagnostic> warnings;
  const Platform platform = load_platform(config::load(file), &warnings);
  print_diagnostics(warnings);
  print_result(options.dot ? topology_dot(platform) : topology_report(platform));
}

}  // namespace

void add_topology(CLI::App& program) {
  auto options = std::make_shared<TopologyOptions>();
  CLI::App& command = *program.add_subcommand(
      "topology", "print a machine: devices, paths between them, links, cuts and ring channels");
  command.add_option("PLATFORM", options->platform, "name of a shipped platform, or the path of a YAML file")
      ->required();
  command.add_flag("--dot", options->dot, "print a Graphviz graph instead");
  add_examples(command, {"trainyard topology dgx1v", "trainyard topology dgx2 --dot > dgx2.dot"});
  command.callback([options] { show_topology(*options); });
}

}  // namespace trainyard
