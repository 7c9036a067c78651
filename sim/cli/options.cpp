#include "cli/options.hpp"

namespace trainyard {

void add_repeatable(CLI::App& command, const std::string& name, std::vector<std::string>& values,
                    const std::string& type, const std::string& text) {
  command.add_option(name, values, text)
      ->type_name(type)
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void add_experiment_options(CLI::App& command, ExperimentOptions& options) {
  command
      .add_option("EXPERIMENT", options.experiment,
                  "name of a shipped experiment, or the path of a YAML file")
      ->required();
  add_repeatable(command, "--set", options.set, "KEY=VALUE",
                 "KEY=VALUE, repeatable: overrides a key of the experiment (nodes=4) or of a file it names "
                 "(platform.fabric.nic=\"25 Gbps\", stack.bucket_cap=\"50 MiB\")");
}

void add_machines_option(CLI::App& command, std::string& machines) {
  add_value(command, "--machines", machines, "MACHINES",
            "rules that assign a platform to each published measurement: a name in "
            "workloads/published/machines or a path");
}

void add_runs_option(CLI::App& command, std::string& runs) {
  add_value(command, "--runs", runs, "RUNS",
            "rules that assign a model and software to each published run: a name in "
            "workloads/published/runs or a path");
}

}  // namespace trainyard
