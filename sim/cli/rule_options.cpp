#include "cli/rule_options.hpp"

namespace trainyard {

void add_machines_option(CLI::App& command, std::string& machines) {
  command
      .add_option("--machines", machines,
                  "rules that assign a platform to each published measurement: a name in "
                  "workloads/published/machines or a path")
      ->type_name("MACHINES")
      ->capture_default_str();
}

void add_runs_option(CLI::App& command, std::string& runs) {
  command
      .add_option("--runs", runs,
                  "rules that assign a model and software to each published run: a name in "
                  "workloads/published/runs or a path")
      ->type_name("RUNS")
      ->capture_default_str();
}

}  // namespace trainyard
