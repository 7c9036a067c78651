#include "cli/astra_config_files.hpp"

#include "cli/terminal.hpp"
#include "config/diagnostic.hpp"
#include "report/out_files.hpp"
#include "units/plural.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>

namespace trainyard {

AstraConfigFiles astra_config_files(const std::string& stem) {
  return {stem + ".network.yml", stem + ".system.json"};
}

void check_astra_configs(const AstraConfigFiles& files, bool force) {
  check_out_file(files.network, force);
  check_out_file(files.system, force);
}

void write_astra_configs(const Run& run, const AstraConfigFiles& files, bool force) {
  const Cluster& cluster = *run.experiment.cluster;
  int dimensions = cluster.nodes > 1 && cluster.gpus_on_node.front() > 1 ? 2 : 1;
  try {
    const AstraNetwork network = astra_network_of(cluster);
    dimensions = static_cast<int>(network.dimensions.size());
    std::vector<std::string> comments{
        fmt::format("{} of trainyard's platform {}, for ASTRA-sim's analytical network",
                    plural(cluster.nodes, "node"), cluster.platform.name),
        "rates are those that collectives reach in the simulation; a Switch's latency counts twice"};
    write_out_file(files.network, astra_network_text(network, comments), force);
    print_message("wrote " + files.network);
  } catch (const InputError& error) {
    const Diagnostic& reason = error.diagnostics().front();
    std::error_code ignored;  // else an earlier export's would describe another machine
    if (force) std::filesystem::remove(files.network, ignored);
    print_message(fmt::format("left out: {}: {}{}", files.network, reason.message,
                              reason.hint.empty() ? std::string() : "; " + reason.hint));
  }
  const AstraSystemText system = astra_system_text(run, dimensions);
  write_out_file(files.system, system.text, force);
  print_message(fmt::format("wrote {}: algorithm, peak and memory of the GPU; delays and chunks are assumed",
                            files.system));
  for (const std::string& comment : system.comments) print_message("note: " + comment);
}

}  // namespace trainyard
