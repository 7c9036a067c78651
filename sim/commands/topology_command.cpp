#include "cli/help.hpp"
#include "cli/options.hpp"
#include "cli/page_options.hpp"
#include "cli/terminal.hpp"
#include "cli/values.hpp"
#include "commands/commands.hpp"
#include "config/catalogue.hpp"
#include "experiment/resolve.hpp"
#include "platform/load.hpp"
#include "platform/topology.hpp"
#include "report/group_table.hpp"
#include "report/topology_page.hpp"
#include "run/group_links.hpp"
#include "schedule/layout_plan.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <memory>
#include <string>
#include <vector>

namespace trainyard {

namespace {

struct TopologyOptions {
  std::string platform;
  bool dot = false;
  bool groups = false;
  std::vector<std::string> set;
  PageOptions page;
};

void show_groups(const TopologyOptions& options) {
  const ResolvedExperiment resolved =
      resolve(config::find_catalogue(), options.platform, single_values(overrides_of(options.set)));
  print_diagnostics(resolved.warnings);
  if (resolved.settings.traces || resolved.grid)
    throw InputError("groups are shown of layouts that are computed from a model, not of traces",
                     "collectives.csv of a run names the groups of each collective");
  if (!resolved.layout)
    throw InputError("the ranks of this experiment share no model: all of them form one group",
                     "an experiment with 'parallelism', or --set parallelism.tensor=2");
  const StepPlan plan = plan_layout_step(resolved);
  print_result(printed_page(options.page, group_document(resolved, group_links(resolved, plan.graph))));
}

void show_topology(const TopologyOptions& options) {
  check_page_options(options.page);
  if (options.groups) return show_groups(options);
  const auto file = config::find(config::find_catalogue(), config::Kind::platform, options.platform);
  const Platform platform = platform_with(file, options.set);
  const std::string changed = fmt::format("{}", fmt::join(options.set, ", "));
  print_result(options.dot ? topology_dot(platform)
                           : printed_page(options.page, topology_document(platform, changed)));
}

}  // namespace

void add_topology(CLI::App& program) {
  auto options = std::make_shared<TopologyOptions>();
  CLI::App& command = *program.add_subcommand(
      "topology",
      "print a machine: devices, paths, links, cuts and ring channels; or the groups of a "
      "layout");
  command
      .add_option("PLATFORM", options->platform,
                  "name of a shipped platform, or the path of a YAML file; with --groups an experiment")
      ->required();
  CLI::Option* dot = command.add_flag("--dot", options->dot, "print a Graphviz graph instead");
  command
      .add_flag(
          "--groups", options->groups,
          "print the groups of an experiment whose ranks share a model: their ranks, nodes, links and rates")
      ->excludes(dot);
  add_repeatable(command, "--set", options->set, "KEY=VALUE",
                 "override a key of the platform; with --groups, of the experiment");
  add_page_options(command, options->page);
  for (const char* const form : {"--html", "--markdown"}) command.get_option(form)->excludes(dot);
  add_examples(command, {"trainyard topology dgx1v", "trainyard topology dgx2 --dot > dgx2.dot",
                         "trainyard topology gpt3_175b_dgx_a100 --groups"});
  command.callback([options] { show_topology(*options); });
}

}  // namespace trainyard
