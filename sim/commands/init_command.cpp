#include "cli/help.hpp"
#include "cli/options.hpp"
#include "cli/other_commands.hpp"
#include "cli/terminal.hpp"
#include "commands/commands.hpp"
#include "config/catalogue.hpp"
#include "config/keys.hpp"
#include "io/out_files.hpp"
#include "units/shell_word.hpp"
#include "units/text.hpp"
#include "workload/hugging_face.hpp"
#include "workload/model_file.hpp"

#include <fmt/format.h>
#include <memory>
#include <optional>
#include <string>

namespace trainyard {

namespace {

struct InitExperimentOptions {
  std::optional<std::string> model, platform, out;
  bool force = false;
};

/// A job that fits most GPUs: small steps of the model, in the precision that the GPU is fast in.
std::string experiment_text(const std::string& platform, const std::string& model, Optimizer optimizer,
                            const std::string& schema) {
  std::string text = schema.empty() ? schema : "# yaml-language-server: $schema=" + schema + "\n";
  return text + fmt::format(
                    R"(# Written by `trainyard init experiment`. It runs as it stands: trainyard run FILE
# `trainyard schema experiment` has every key; any can be tried without an edit: trainyard run FILE --set nodes=4
{0} # trainyard list platforms, or the path of your own
nodes: 1                 # GPUs of all of them take part; gpus: 4 for fewer
{1} # trainyard list models, or your own list of layers
stack: pytorch_ddp       # trainyard list stacks: framework with its buckets, overlap and libraries
precision: fp32          # fp32, tf32, fp16, amp, bf16, amp_bf16, pure_bf16, fp8
batch_per_gpu: 32        # samples of a step on one GPU; trainyard memory FILE says what fits
{2} # sgd, momentum, adam, lamb, lars
sync:
  kind: all_reduce       # parameter_server: gradients go to servers
  algorithm: auto        # as NCCL would choose; ring, tree and more in docs/collectives.md
  update: sync           # k_sync, async, local_sgd and more

# If you have measured the throughput of one GPU with this batch, all kernel times are scaled to it:
# one_gpu: 380 samples/s

# The whole training, with its energy and rent:
# job: {{epochs: 90}}
)",
                    fmt::format("{:24}", "platform: " + platform), fmt::format("{:24}", "model: " + model),
                    fmt::format("{:24}", fmt::format("optimizer: {}", config::name_of(optimizer))));
}

void init_experiment(const InitExperimentOptions& options) {
  const config::Catalogue catalogue = config::find_catalogue();
  const std::string file = options.out.value_or("experiment.yaml");
  if (options.out) check_out_file(*options.out, options.force);
  std::string platform = options.platform.value_or("dgx_a100");
  std::string model = options.model.value_or("resnet50");
  (void)config::find(catalogue, config::Kind::platform, platform);
  const auto model_file = config::find(catalogue, config::Kind::model, model);
  if (config::is_public_name(model, model_file)) model = model_file.stem().string();
  const Optimizer optimizer = load_model(load_document(model_file)).optimizer;
  const auto from_file = [&](const std::string& name) {
    const std::string path = config::seen_from(options.out.value_or(""), name);
    const bool is_plain =
        path.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./") ==
        std::string::npos;
    return is_plain ? path : in_quotes(path);
  };
  const std::string text =
      experiment_text(from_file(platform), from_file(model), optimizer,
                      config::shipped_file(catalogue, "workloads/schema/experiment.json").string());
  if (options.out)
    write_out_file(*options.out, text, options.force);
  else
    print_result(text);
  if (options.out) print_message(fmt::format("wrote {0}\nnext:  trainyard run {1}", file, shell_word(file)));
}

void add_experiment(CLI::App& init) {
  auto options = std::make_shared<InitExperimentOptions>();
  CLI::App& command =
      *init.add_subcommand("experiment", "write an experiment that runs as it stands, with comments");
  add_value(command, "--model", options->model, "MODEL", "name or path (default: resnet50)");
  add_value(command, "--platform", options->platform, "PLATFORM", "name or path (default: dgx_a100)");
  add_value(command, "-o,--out", options->out, "FILE", "write to this file (default: stdout)");
  command.add_flag("--force", options->force, "replace an existing file");
  add_examples(command, {"trainyard init experiment",
                         "trainyard init experiment --model bert_large --platform "
                         "dgx_h100 -o job.yaml"});
  command.callback([options] { init_experiment(*options); });
}

}  // namespace

void add_init(CLI::App& program) {
  CLI::App& command = *program.add_subcommand("init", "write a first platform or experiment of your own");
  command.require_subcommand(1);
  add_examples(command, {"trainyard init experiment",
                         "trainyard init platform --gpus 8 --gpu a100_sxm4_80gb --nvlink 12"});
  add_command(command, init_platform_command);
  add_experiment(command);
}

}  // namespace trainyard
