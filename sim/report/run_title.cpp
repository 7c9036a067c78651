#include "experiment/one_gpu.hpp"
#include "report/layout_summary.hpp"
#include "report/run_words.hpp"
#include "units/text.hpp"
#include "units/text_layout.hpp"
#include "units/version.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace trainyard {

namespace {

/// ", peer_to_peer with 1 % of the values"; empty for the usual kind, or one after which the stack is named.
std::string kind_in_words(const Experiment& experiment) {
  const Sync& sync = experiment.sync;
  if (sync.kind == SyncKind::all_reduce || config::name_of(sync.kind) == experiment.stack) return {};
  std::string text = fmt::format(", {}", config::name_of(sync.kind));
  const Compression compression = sync.compression.value_or(Compression::none);
  if (compression == Compression::top_k)
    text += fmt::format(" with {} of the values", percent(*sync.keep));
  else if (compression != Compression::none)
    text += fmt::format(" in {}", config::name_of(compression));
  return text;
}

/// "batch 2 x 128 per GPU"; "96 micro-batches of 1 sample per replica" if its ranks share a model.
std::string batch_in_words(const ResolvedExperiment& experiment) {
  const Experiment& settings = experiment.settings;
  if (experiment.layout) {
    return fmt::format("{} {} of {} per {}", grouped(settings.accumulation),
                       settings.accumulation == 1 ? "micro-batch" : "micro-batches",
                       count(settings.batch_per_gpu, "sample"), shares_model(experiment) ? "replica" : "GPU");
  }
  return fmt::format("batch {}{} per GPU",
                     settings.accumulation > 1 ? fmt::format("{} x ", settings.accumulation) : "",
                     grouped(settings.batch_per_gpu));
}

/// " with 8 x NVIDIA L40S 48 GB" if the command line or the experiment's file swaps the machine's GPUs.
std::string other_gpus_in_words(const ResolvedExperiment& experiment, const std::string& gpu) {
  const auto& set = experiment.settings.set;
  if (!set.contains("platform.node.gpus.profile") && !set.contains("platform.node.gpus.count")) return {};
  return fmt::format(" with {} x {}", experiment.platform.gpus.size(), gpu);
}

/// "VGG-16 on 64 nodes of minsky"
std::string what_runs(const ResolvedExperiment& experiment, int nodes) {
  std::string what = experiment.classes.front().trace.model;
  if (what.empty()) what = "a trace";
  if (experiment.model) {
    const std::string& title = experiment.model->title;
    what = title.empty() ? experiment.model->name : title.substr(0, title.find(','));
  }
  const auto changes_model = [](const auto& entry) {
    return entry.first.starts_with("model.") && !entry.first.ends_with(".sequence_length");
  };
  if (std::ranges::any_of(experiment.settings.set, changes_model)) what += " (changed)";
  return fmt::format("{} on {} {} of {}{}", what, grouped(nodes), nodes == 1 ? "node" : "nodes",
                     experiment.platform.name, other_gpus_in_words(experiment, experiment.gpu.name));
}

/// "resnet50_dgx2: ResNet-50 on 1 node of dgx2, training step"
std::string run_title(const Run& run) {
  std::string what = "training step";
  if (updates_of(run)) {
    what = fmt::format("training, {} updates with {}", grouped(updates_of(run)->measured_updates),
                       rule_in_words(updates_of(run)->settings));
  }
  return fmt::format("{}, {}", name_and_what(run.experiment, run.nodes), what);
}

/// "16 GPUs of 1 x NVIDIA DGX-2; pytorch_ddp, fp32, momentum, batch 128 per GPU"
std::string run_setting(const Run& run) {
  const Experiment& settings = run.experiment.settings;
  return fmt::format("{} of {} x {}{}; {}{}, {}, {}, {}", count(run.ranks, "GPU"), grouped(run.nodes),
                     run.experiment.platform.title,
                     other_gpus_in_words(run.experiment, run.experiment.gpu.title), settings.stack,
                     kind_in_words(settings), config::name_of(settings.precision),
                     config::name_of(settings.optimizer), batch_in_words(run.experiment));
}

}  // namespace

std::string changes_in_words(const ResolvedExperiment& experiment) {
  const std::string keys = changed_keys(experiment);
  return keys.empty() ? keys : "set on the command line: " + keys;
}

std::function<std::string(std::string_view)> device_words(const Platform& platform) {
  return [&platform](std::string_view text) { return in_device_words(platform, text); };
}

std::string name_and_what(const ResolvedExperiment& experiment, int nodes) {
  const bool is_the_file = experiment.changed.empty();
  return (is_the_file ? experiment.name + ": " : "") + what_runs(experiment, nodes);
}

std::string rank_in_words(const Run& run, const ClassStep& one) {
  const std::string rank = fmt::format("rank {}", index(one.first));
  return step_of(run).classes.size() > 1 ? fmt::format("{} ({})", rank, one.name) : rank;
}

doc::Document titled_document(const Run& run) {
  doc::Document page{.title = run_title(run), .version = version(), .lead = {run_setting(run)}};
  page.in_words = device_words(run.experiment.platform);
  if (const std::string changes = changes_in_words(run.experiment); !changes.empty())
    page.lead.push_back(changes);
  if (run.experiment.layout) page.lead.push_back(layout_in_words(run));
  if (run.experiment.settings.one_gpu) page.lead.push_back(one_gpu_in_words(run.experiment.settings));
  doc::Section& title = page.section("title", "");
  title.shown = doc::Shown::text;
  title.is_untitled_in_text = true;
  title.add(doc::Sentence{.text = page.title, .indent = 0});
  for (const std::string& text : page.lead) title.add(doc::Sentence{text});
  return page;
}

std::string update_in_words(const Run& run) {
  return fmt::format("one optimizer update with {}{}", count(run.pace.global_batch, "sample"),
                     updates_of(run) ? spread_in_words(*updates_of(run)) : "");
}

}  // namespace trainyard
