#include "calibration/host_costs.hpp"
#include "cli/help.hpp"
#include "cli/options.hpp"
#include "cli/terminal.hpp"
#include "config/catalogue.hpp"
#include "config/read_file.hpp"
#include "io/out_files.hpp"
#include "lab/commands.hpp"
#include "workload/csv.hpp"

#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <string>

namespace trainyard {

namespace {

struct HostOptions {
  std::optional<std::string> costs, out;
  bool force = false;
};

void calibrate_host(const HostOptions& options) {
  if (options.costs) {
    const double factor = host_launch_factor(*options.costs, config::read_file(*options.costs, largest_csv));
    print_result(host_launch_line(std::filesystem::path(*options.costs).filename().string(), factor));
    return;
  }
  const std::filesystem::path script =
      config::shipped_file(config::find_catalogue(), "workloads/lowering/host_costs.py");
  if (script.empty()) throw FileError("this installation has no workloads/lowering/host_costs.py");
  const std::string text = host_script(config::read_file(script, largest_csv));
  if (!options.out) {
    print_result(text);
    return;
  }
  write_out_file(*options.out, text, options.force);
  print_result(fmt::format("wrote {}\nrun it with PyTorch on the computer with the GPU: python3 {}\n",
                           *options.out, *options.out));
}

}  // namespace

void add_calibrate_host(CLI::App& calibrate) {
  auto options = std::make_shared<HostOptions>();
  CLI::App& command = *calibrate.add_subcommand(
      "host",
      "how fast a host launches kernels, for node.host.launch of a platform: a Python program that "
      "measures it, or the key from such measurements");
  CLI::Option* costs = command.add_option(
      "COSTS", options->costs,
      "CSV rows of an operation and its seconds: print the key (default: print the program)");
  add_value(command, "-o,--out", options->out, "FILE", "write the program to this file")->excludes(costs);
  command.add_flag("--force", options->force, "replace the file if it exists");
  add_examples(command, {"trainyard calibrate host -o host_costs.py", "trainyard calibrate host costs.csv"});
  command.callback([options] { calibrate_host(*options); });
}

}  // namespace trainyard
