#include "cli/experiment_options.hpp"

namespace trainyard {

void add_set_option(CLI::App& command, std::vector<std::string>& set, const std::string& text,
                    const std::string& type) {
  command.add_option("--set", set, text)
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
  add_set_option(command, options.set,
                 "KEY=VALUE, repeatable: overrides a key of the experiment (nodes=4) or of a file it names "
                 "(platform.fabric.nic=\"25 Gbps\", stack.bucket_cap=\"50 MiB\")");
}

}  // namespace trainyard
