#include "cli/commands.hpp"
#include "cli/help.hpp"
#include "cli/options.hpp"
#include "cli/terminal.hpp"
#include "config/catalogue.hpp"
#include "config/document.hpp"
#include "exports/nccl_topology_xml.hpp"
#include "report/out_files.hpp"

#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <string>
#include <vector>

namespace trainyard {
namespace {

struct NcclTopologyOptions {
  std::string platform, out;
  std::vector<std::string> set;
  bool force = false;
};

void export_nccl_topology(const NcclTopologyOptions& options) {
  const config::Catalogue catalogue = config::find_catalogue();
  check_out_file(options.out, options.force);
  const auto file = config::find(catalogue, config::Kind::platform, options.platform);
  const Platform platform = platform_with(file, options.set);
  GpuProfile gpu;
  if (!platform.ranks_on_processors)
    gpu =
        load_gpu_facts(config::load(config::find(catalogue, config::Kind::gpu, platform.gpu_profile, file)));
  write_out_file(options.out, nccl_topology_xml(platform, gpu), options.force);
  print_message(fmt::format("wrote {}: bus numbers are made up", options.out));
}

}  // namespace

void add_export_nccl_topology(CLI::App& command_of_exports) {
  auto options = std::make_shared<NcclTopologyOptions>();
  CLI::App& command = *command_of_exports.add_subcommand(
      "nccl-topology", "write the node of a platform as a topology file of NCCL (NCCL_TOPO_FILE)");
  command.add_option("PLATFORM", options->platform, "name of a shipped platform, or the path of a YAML file")
      ->required();
  command.add_option("-o,--output", options->out, "write the topology to this file")
      ->required()
      ->type_name("FILE");
  add_repeatable(command, "--set", options->set, "KEY=VALUE",
                 "override a key of the platform: --set platform.node.nics=1");
  command.add_flag("--force", options->force, "replace the file if it exists");
  add_examples(command, {"trainyard export nccl-topology dgx_a100 -o dgx_a100.xml",
                         "trainyard export nccl-topology dgx1v --set platform.node.nics=1 -o one_nic.xml"});
  command.callback([options] { export_nccl_topology(*options); });
}

}  // namespace trainyard
