#include "cli/options.hpp"

#include "run/child_processes.hpp"

#include <CLI/Error.hpp>

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
  add_one_gpu_option(command, options.one_gpu);
}

void add_one_gpu_option(CLI::App& command, std::optional<std::string>& one_gpu, const std::string& more) {
  add_value(command, "--one-gpu", one_gpu, "RATE",
            "measured throughput of one GPU with this batch, such as \"803 samples/s\" or \"9.5e4 "
            "tokens/s\": all kernel times are scaled to it; short for --set one_gpu=RATE" +
                more);
}

std::vector<std::string> with_one_gpu(std::vector<std::string> set,
                                      const std::optional<std::string>& one_gpu) {
  if (!one_gpu) return set;
  for (const auto& [key, value] : overrides_of(set)) {
    if (key == "one_gpu")
      throw CLI::ValidationError("--one-gpu", "is short for --set one_gpu=RATE: give one of them");
  }
  set.push_back("one_gpu=" + *one_gpu);
  return set;
}

Overrides overrides_of(const ExperimentOptions& options) {
  return overrides_of(with_one_gpu(options.set, options.one_gpu));
}

void add_jobs_option(CLI::App& command, std::optional<std::string>& jobs, const std::string& what,
                     const std::string& more) {
  add_value(command, "-j,--jobs", jobs, "N",
            fmt::format("number of parallel {} (default: one per processor){}", what, more));
}

int jobs_of(const std::optional<std::string>& jobs) {
  return jobs ? whole_number("--jobs", *jobs, 1, 4096) : processors();
}

void add_measurements_argument(CLI::App& command, std::vector<std::string>& files) {
  command.add_option(
      "CSV", files,
      "measurements with the columns of workloads/published/README.md (default: the shipped ones)");
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
