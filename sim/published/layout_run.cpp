#include "published/layout_run.hpp"

#include "config/fields.hpp"
#include "published/stated_software.hpp"
#include "published/training_rows.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <optional>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

namespace trainyard {
namespace {

template <class T>
using OrReason = tl::expected<T, std::string>;

/// A whole number of at least 1; 0 if the text is none.
int positive(const std::string& text) {
  const Parsed<long long> number = parse_integer(text);
  constexpr long long most = 1'000'000'000;
  return number && *number >= 1 && *number <= most ? static_cast<int>(*number) : 0;
}

/// Why no layout here can represent the row; empty if one can.
std::string refusal_of(const PublishedRow& row) {
  const LayoutColumns& layout = *row.layout;
  const std::string zero = in_small_letters(layout.zero);
  const std::string precision = in_small_letters(row.precision);
  const auto shards = [&](std::string_view word) { return zero.find(word) != std::string::npos; };
  if (layout.context > 1) return "context parallelism is not simulated";
  if (layout.expert > 1) return "expert parallelism is not simulated";
  if (precision.find("fp8") != std::string::npos || precision.find("fp4") != std::string::npos ||
      precision.find("mxfp") != std::string::npos)
    return "precisions below 16 bits are not simulated";
  if (shards("zero2") || shards("zero3") || shards("fsdp") || shards("hsdp"))
    return "sharded gradients and parameters (ZeRO-2, ZeRO-3, FSDP) are not simulated";
  if (shards("within")) return "optimizer state that is divided inside a node alone is not simulated";
  return {};
}

/// Replaces {gpus} and so on by the row's numbers; a number that is not stated is an error.
OrReason<std::string> filled_with_numbers(std::string text, const PublishedRow& row) {
  const LayoutColumns& layout = *row.layout;
  const int replicas = layout.data;
  const int global = positive(row.global_batch);
  const std::pair<std::string_view, int> numbers[] = {
      {"{gpus}", row.gpus_total},
      {"{nodes}", row.nodes},
      {"{gpus_per_node}", std::min(row.gpus_per_node, row.gpus_total)},
      {"{layers}", layout.layers},
      {"{hidden}", layout.hidden},
      {"{heads}", layout.heads},
      {"{vocabulary}", layout.vocabulary},
      {"{sequence}", positive(row.seq_len)},
      {"{replica_batch}", replicas > 0 && global % replicas == 0 ? global / replicas : 0}};
  for (const auto& [word, number] : numbers) {
    for (std::size_t place = text.find(word); place != std::string::npos; place = text.find(word)) {
      if (number == 0) return tl::unexpected(fmt::format("the row does not state {}", word));
      text.replace(place, word.size(), std::to_string(number));
    }
  }
  return text;
}

OrReason<RowSettings> settings_of(const LayoutRun& run) {
  RowSettings all;
  for (const RowSettings* its : {&run.model->set, &run.stack->set}) {
    for (const auto& [key, value] : *its) {
      OrReason<std::string> text = filled_with_numbers(value, *run.row);
      if (!text) return tl::unexpected(text.error());
      all[key] = *std::move(text);
    }
  }
  return all;
}

std::optional<std::string> setting(const LayoutRun& run, const std::string& key) {
  const auto found = run.settings.find(key);
  return found == run.settings.end() ? std::nullopt : std::optional(found->second);
}

/// The rule's number, otherwise the column's, otherwise 1.
int degree(const LayoutRun& run, const std::string& key, int column) {
  const auto set = setting(run, "parallelism." + key);
  return set ? positive(*set) : std::max(column, 1);
}

/// Layers of each chunk: equal; one fewer at both ends, where embedding and last projection count as a layer;
/// otherwise one more in the first chunks. Empty if equal.
std::vector<int> layers_of_chunks(int layers, int chunks) {
  if (chunks < 1 || layers < chunks || layers % chunks == 0) return {};
  if (chunks > 1 && (layers + 2) % chunks == 0) {
    std::vector<int> parts(at(chunks), (layers + 2) / chunks);
    --parts.front();
    --parts.back();
    if (parts.front() > 0) return parts;
  }
  std::vector<int> parts(at(chunks), layers / chunks);
  for (int i = 0; i < layers % chunks; ++i) ++parts[at(i)];
  return parts;
}

std::string read_layout(LayoutRun& run) {
  const LayoutColumns& layout = *run.row->layout;
  Parallelism& parallelism = run.parallelism;
  if (layout.tensor == 0 && layout.pipeline == 0 && layout.data == 0) return "the layout is not stated";
  parallelism.tensor = degree(run, "tensor", layout.tensor);
  parallelism.pipeline = degree(run, "pipeline", layout.pipeline);
  parallelism.virtual_stages = degree(run, "virtual_stages", layout.virtual_stages);
  parallelism.sequence = layout.sequence_parallel == "1" && parallelism.tensor > 1;
  if (!layout.recompute.empty()) {
    const auto recompute = config::value_named<Recompute>(layout.recompute);
    if (!recompute) return fmt::format("unknown recomputation '{}'", layout.recompute);
    parallelism.recompute = *recompute;
  }
  const auto of_one = static_cast<long long>(parallelism.tensor) * parallelism.pipeline;
  if (run.row->gpus_total % of_one != 0) return "the layout does not multiply to the number of GPUs";
  run.replicas = static_cast<int>(run.row->gpus_total / of_one);
  if (layout.data > 0 && layout.data != run.replicas)
    return "the layout does not multiply to the number of GPUs";
  if (!layout.zero.empty() && run.replicas > 1) parallelism.shard = Sharded::optimizer;
  const auto layers = setting(run, "model.decoder.layers");
  parallelism.stages = layers_of_chunks(layers ? positive(*layers) : layout.layers,
                                        parallelism.pipeline * parallelism.virtual_stages);
  return {};
}

std::string read_batch(LayoutRun& run) {
  const PublishedRow& row = *run.row;
  run.micro_batch = positive(setting(run, "batch_per_gpu").value_or(row.batch_per_gpu));
  if (run.micro_batch == 0) return "no micro-batch";
  const int global = positive(row.global_batch);
  if (global == 0) return "no global batch";
  const auto at_once = static_cast<long long>(run.micro_batch) * run.replicas;
  if (global % at_once != 0) return "the global batch is no multiple of micro-batch x replicas";
  run.micro_batches = static_cast<int>(global / at_once);
  run.settings.erase("batch_per_gpu");
  return {};
}

std::string read_precision(LayoutRun& run) {
  const auto name = setting(run, "precision").value_or(run.row->precision);
  if (name.empty()) return "no precision";
  const auto precision = config::value_named<Precision>(name);
  if (!precision) return "unknown precision";
  run.precision = *precision;
  return {};
}

/// Fills in the measured throughput.
std::string read_speed(LayoutRun& run) {
  const PublishedRow& row = *run.row;
  if (row.value <= 0) return "no value above 0";
  const std::string unit = in_small_letters(row.unit);
  const double sequence = positive(row.seq_len);
  const double batch = static_cast<double>(run.micro_batch) * run.micro_batches * run.replicas;
  if (row.metric == "step_time") {
    const Parsed<Seconds> time = parse_quantity<Seconds>(shortest(row.value) + " " + row.unit);
    if (!time) return std::string(not_a_throughput);
    run.measured = batch / time->si();
    return {};
  }
  const double gpus = unit.ends_with("/gpu") ? row.gpus_total : 1;
  if (row.metric == "throughput") {
    const bool is_tokens = unit.starts_with("tokens/s");
    if (!is_tokens && !unit.starts_with("samples/s") && !unit.starts_with("sequences/s"))
      return std::string(not_a_throughput);
    if (is_tokens && sequence == 0) return "no sequence length";
    run.measured = row.value * gpus / (is_tokens ? sequence : 1);
    return {};
  }
  if (row.metric == "hardware_flops" || row.metric == "model_flops") {
    const LayoutColumns& sizes = *row.layout;
    if (sizes.layers == 0 || sizes.hidden == 0 || sizes.vocabulary == 0 || sequence == 0)
      return "the row does not state the sizes that its FLOP/s count";
    const bool repeats = row.metric == "hardware_flops" && run.parallelism.recompute == Recompute::full;
    constexpr double tera = 1e12;
    run.measured = tera * row.value * row.gpus_total / flops_of_sample(sizes, sequence, repeats);
    return {};
  }
  return std::string(not_a_throughput);
}

std::string series_name(const PublishedRow& row) {
  const LayoutColumns& layout = *row.layout;
  return fmt::format("{}\n{}\n{} {}\n{}\n{}", row.source, row.model, layout.layers, layout.hidden, row.gpu,
                     row.framework);
}

config::Document document_of(const LayoutRun& run) {
  const PublishedRow& row = *run.row;
  const Parallelism& parallelism = run.parallelism;
  std::string text =
      fmt::format("platform: {}\nnodes: {}\ngpus: {}\n", run.machine->platform, row.nodes, row.gpus_total);
  if (row.nodes > 1) text += fmt::format("gpus_per_node: {}\n", row.gpus_per_node);
  text += fmt::format(
      "model: {}\nstack: {}\nprecision: {}\nbatch_per_gpu: {}\naccumulation: {}\noptimizer: {}\n"
      "memory: ignore\n",
      run.model->model, run.stack->stack, config::name_of(run.precision), run.micro_batch, run.micro_batches,
      config::name_of(run.model->optimizer));
  text += fmt::format(
      "parallelism: {{tensor: {}, pipeline: {}, virtual_stages: {}, sequence: {}, recompute: {}, shard: {}, "
      "stages: [{}]}}\n",
      parallelism.tensor, parallelism.pipeline, parallelism.virtual_stages, parallelism.sequence,
      config::name_of(parallelism.recompute), config::name_of(parallelism.shard),
      fmt::join(parallelism.stages, ", "));
  return config::parse(fmt::format("{}:{}", row.file, row.line), text);
}

}  // namespace

bool is_time(const PublishedRow& row) { return row.metric == "step_time" || row.metric == "throughput"; }

std::string identity_of(const PublishedRow& row) {
  const LayoutColumns& layout = *row.layout;
  return fmt::format("{}\n{} {} {} {} {}\n{} {} {} {} {}", series_name(row), layout.tensor, layout.pipeline,
                     layout.virtual_stages, layout.data, layout.heads, row.gpus_total, row.batch_per_gpu,
                     row.global_batch, row.precision, layout.sequence_parallel + layout.recompute);
}

double flops_of_sample(const LayoutColumns& sizes, double sequence, bool repeats_forward) {
  const double hidden = sizes.hidden;
  const double layers = sizes.layers;
  const double passes = repeats_forward ? 4 : 3;
  return passes * 24 * sequence * layers * hidden * hidden *
         (1 + sequence / (6 * hidden) + sizes.vocabulary / (passes * 4 * layers * hidden));
}

std::variant<LayoutRun, std::string> layout_run(const std::shared_ptr<const PublishedData>& data,
                                                const PublishedRow& row) {
  if (const ExclusionRule* excluded = first_match(data->run_rules.excluded, row)) return excluded->reason;
  if (std::string reason = refusal_of(row); !reason.empty()) return reason;
  if (row.gpus_total < 1 || row.nodes < 1) return "no number of GPUs";
  if (counts_contradict(row)) return "contradictory numbers of GPUs and nodes";
  LayoutRun run{.data = data,
                .row = &row,
                .machine = first_match(data->machine_rules.machines, row),
                .model = first_match(data->run_rules.models, row),
                .stack = first_match(data->run_rules.stacks, row),
                .settings = {},
                .parallelism = {},
                .series = series_name(row)};
  if (run.model == nullptr) return "the sizes of the model are not stated";
  if (run.machine == nullptr) return "no rule matches the machine";
  if (run.stack == nullptr) return "no rule matches the software";
  OrReason<RowSettings> settings = settings_of(run);
  if (!settings) return settings.error();
  run.settings = *std::move(settings);
  for (const auto read : {read_layout, read_batch, read_precision, read_speed}) {
    if (std::string reason = read(run); !reason.empty()) return reason;
  }
  return run;
}

ResolvedExperiment inputs_of(const config::Catalogue& catalogue, const LayoutRun& run, InputFiles& files) {
  Overrides overrides;
  for (const auto& [key, value] : run.machine->set) overrides.emplace_back("platform." + key, value);
  for (const auto& [key, value] : run.settings) overrides.emplace_back(key, value);
  return resolve(catalogue, document_of(run), {}, overrides, files);
}

}  // namespace trainyard
