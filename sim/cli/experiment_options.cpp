#include "cli/experiment_options.hpp"

namespace trainyard {

void add_experiment_options(CLI::App& command, ExperimentOptions& options) {
  command
      .add_option("EXPERIMENT", options.experiment,
                  "name of a shipped experiment, or the path of a YAML file")
      ->required();
  command
      .add_option("--set", options.set,
                  "KEY=VALUE, repeatable: overrides a key of the experiment (nodes=4) or of a file it names "
                  "(platform.fabric.nic=\"25 Gbps\", stack.bucket_cap=\"50 MiB\")")
      ->type_name("KEY=VALUE")
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

}  // namespace trainyard
