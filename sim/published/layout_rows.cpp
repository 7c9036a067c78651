#include "published/layout_rows.hpp"

#include "config/fields.hpp"
#include "published/match_rules.hpp"
#include "published/row_numbers.hpp"
#include "published/training_rows.hpp"
#include "units/letters.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <optional>
#include <utility>
#include <vector>

namespace trainyard {
namespace {

/// The state that replicas divide, from the column `zero`. Empty if its words are unknown.
std::optional<Sharded> sharded_by(const std::string& zero) {
  const auto says = [&](std::string_view word) { return zero.find(word) != std::string::npos; };
  if (zero.empty()) return Sharded::none;
  if (says("zero2") || says("shard_grad_op") || says("no reshard")) return Sharded::gradients;
  if (says("zero3") || says("fsdp") || says("hsdp")) return Sharded::parameters;
  if (says("zero1") || says("optimizer")) return Sharded::optimizer;
  return std::nullopt;
}

/// The number after "within " in the column `zero`: replicas that divide the state among themselves.
std::optional<int> group_of(const std::string& zero) {
  constexpr std::string_view word = "within ";
  const std::size_t place = zero.find(word);
  if (place == std::string::npos) return std::nullopt;
  return positive(zero.substr(place + word.size()));
}

std::optional<std::string> setting(const Case& run, const std::string& key) {
  const auto found = run.settings.find(key);
  return found == run.settings.end() ? std::nullopt : std::optional(found->second);
}

/// The rule's number, otherwise the column's, otherwise 1.
int degree(const Case& run, const std::string& key, int column) {
  const auto set = setting(run, "parallelism." + key);
  return set ? positive(*set) : std::max(column, 1);
}

/// Layers of each chunk: equal; one fewer at both ends, where embedding and last projection count as a layer;
/// otherwise one more in the first chunks. The chunks at the ends may have no layer but those two. Empty if
/// equal.
std::vector<int> layers_of_chunks(int layers, int chunks) {
  if (chunks < 1 || layers < 1 || layers % chunks == 0) return {};
  if (chunks > 1 && (layers + 2) % chunks == 0) {
    std::vector<int> parts(at(chunks), (layers + 2) / chunks);
    --parts.front();
    --parts.back();
    return parts;
  }
  if (layers < chunks) return {};
  std::vector<int> parts(at(chunks), layers / chunks);
  for (int i = 0; i < layers % chunks; ++i) ++parts[at(i)];
  return parts;
}

std::string read_sharding(Case& run) {
  if (run.layout->replicas * run.layout->parallelism.context == 1) return {};
  const std::string zero = small_letters(run.row->layout->zero);
  Parallelism& parallelism = run.layout->parallelism;
  const std::optional<Sharded> shard = sharded_by(zero);
  if (!shard)
    return fmt::format(
        "unknown word '{}' in the column zero: neither zero1 to zero3, nor "
        "distributed_optimizer, fsdp or hsdp",
        run.row->layout->zero);
  parallelism.shard = *shard;
  const std::optional<int> group = group_of(zero);
  if (group && parallelism.pipeline == 1 && *group * parallelism.tensor != run.row->gpus_per_node)
    return "state is divided by replicas that are neither all nor those of a node";
  const bool divides_in_nodes = group || zero.find("hsdp") != std::string::npos;
  if (divides_in_nodes && run.row->nodes > 1) parallelism.shard_over = ShardOver::node;
  return {};
}

std::string read_layout(Case& run) {
  const LayoutColumns& layout = *run.row->layout;
  Parallelism& parallelism = run.layout->parallelism;
  if (layout.tensor == 0 && layout.pipeline == 0 && layout.data == 0) return "the layout is not stated";
  parallelism.tensor = degree(run, "tensor", layout.tensor);
  parallelism.context = degree(run, "context", layout.context);
  parallelism.pipeline = degree(run, "pipeline", layout.pipeline);
  parallelism.expert = degree(run, "expert", layout.expert);
  parallelism.virtual_stages = degree(run, "virtual_stages", layout.virtual_stages);
  parallelism.sequence = layout.sequence_parallel == "1" && parallelism.tensor > 1;
  if (parallelism.tensor == 1) run.settings.erase("parallelism.sequence");
  if (!layout.recompute.empty()) {
    const auto recompute = config::value_named<Recompute>(layout.recompute);
    if (!recompute) return fmt::format("unknown recomputation '{}'", layout.recompute);
    parallelism.recompute = *recompute;
  }
  const long long of_one = ranks_of_replica(parallelism);
  if (run.row->gpus_total % of_one != 0) return std::string(contradicts_gpus);
  run.layout->replicas = static_cast<int>(run.row->gpus_total / of_one);
  if (layout.data > 0 && layout.data != run.layout->replicas) return std::string(contradicts_gpus);
  if (std::string reason = read_sharding(run); !reason.empty()) return reason;
  const auto layers = setting(run, "model.decoder.layers");
  const auto further = setting(run, "model.decoder.mtp_layers");  // blocks, too
  parallelism.stages =
      layers_of_chunks((layers ? positive(*layers) : layout.layers) + (further ? positive(*further) : 0),
                       parallelism.pipeline * parallelism.virtual_stages);
  return {};
}

std::string read_batch(Case& run) {
  const PublishedRow& row = *run.row;
  run.batch_per_gpu = positive(setting(run, "batch_per_gpu").value_or(row.batch_per_gpu));
  if (run.batch_per_gpu == 0) return "no micro-batch";
  const auto at_once = static_cast<long long>(run.batch_per_gpu) * run.layout->replicas;
  const auto stated = setting(run, "accumulation");
  const auto global = stated ? positive(*stated) * at_once : positive(row.global_batch);
  if (global == 0) return "no global batch";
  if (global % at_once != 0) return "the global batch is no multiple of micro-batch x replicas";
  run.micro_batches = static_cast<int>(global / at_once);
  run.settings.erase("batch_per_gpu");
  run.settings.erase("accumulation");
  return {};
}

std::string read_precision(Case& run) {
  std::string name = setting(run, "precision").value_or(run.row->precision);
  if (name.empty()) return "no precision";
  const std::string word = small_letters(name);
  if (word.find("mx") != std::string::npos)
    name = "mxfp8";
  else if (word.starts_with("fp8"))
    name = "fp8";  // ways to scale tensors: the same products
  const auto precision = config::value_named<Precision>(name);
  if (!precision) return "unknown precision";
  run.precision = *precision;
  return {};
}

/// The sizes of the row, those that it omits of the rule for its model.
LayoutColumns sizes_of(const Case& run) {
  LayoutColumns sizes = *run.row->layout;
  const auto complete = [&](int& size, const char* key) {
    if (size == 0) size = positive(setting(run, key).value_or(""));
  };
  complete(sizes.layers, "model.decoder.layers");
  complete(sizes.hidden, "model.decoder.hidden");
  complete(sizes.vocabulary, "model.decoder.vocabulary");
  return sizes;
}

/// Letters and digits alone: "llama27blora" of "LLAMA2-7B (LoRA)".
std::string joined_words(std::string_view name) {
  std::string joined;
  for (const char c : small_letters(name)) {
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) joined += c;
  }
  return joined;
}

}  // namespace

bool knows_sizes(const PublishedRow& row, const RunRules& rules, const std::vector<std::string>& shipped) {
  if (row.layout->layers > 0 && row.layout->hidden > 0) return true;
  if (first_match(rules.models, row) != nullptr) return true;
  constexpr std::size_t least = 5;  // shorter names are parts of other words
  const std::string name = joined_words(row.model);
  return std::ranges::any_of(shipped, [&](const std::string& model) {
    const std::string words = joined_words(model);
    return words.size() >= least && name.find(words) != std::string::npos;
  });
}

std::string layout_series(const PublishedRow& row) {
  const LayoutColumns& layout = *row.layout;
  return fmt::format("{}\n{}\n{} {}\n{}\n{}\n{}", row.source, row.model, layout.layers, layout.hidden,
                     row.gpu, row.framework, row.precision);
}

std::string layout_refusal(const PublishedRow& row) {
  const std::string precision = small_letters(row.precision);
  if (precision.find(" or ") != std::string::npos)
    return "launch files in two precisions fit the run, and nothing says which one was used";
  if (precision.find("fp4") != std::string::npos && precision != "nvfp4")
    return "4 bits in blocks of 32 (MXFP4) are not simulated";
  return {};
}

std::string read_layout_columns(Case& run) {
  run.layout.emplace();
  for (const auto read : {read_layout, read_batch, read_precision}) {
    if (std::string reason = read(run); !reason.empty()) return reason;
  }
  return {};
}

std::string read_layout_speed(Case& run) {
  const PublishedRow& row = *run.row;
  if (is_about_memory(row)) return "a figure of memory";
  if (row.value <= 0) return "no value above 0";
  const std::string unit = small_letters(row.unit);
  const double sequence = row.seq_len.empty()
                              ? positive(setting(run, "model.decoder.sequence_length").value_or(""))
                              : positive(row.seq_len);
  const double batch = static_cast<double>(run.batch_per_gpu) * run.micro_batches * run.layout->replicas;
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
    const LayoutColumns sizes = sizes_of(run);
    if (sizes.layers == 0 || sizes.hidden == 0 || sizes.vocabulary == 0 || sequence == 0)
      return "neither the row nor a rule states the sizes that its FLOP/s count";
    // A rule may state that the run recomputes where the row says nothing.
    const std::string set = small_letters(setting(run, "parallelism.recompute").value_or(""));
    const bool is_full = set.empty() ? run.layout->parallelism.recompute == Recompute::full : set == "full";
    const bool repeats = row.metric == "hardware_flops" && is_full;
    constexpr double tera = 1e12;
    run.measured = tera * row.value * row.gpus_total / flops_of_sample(sizes, sequence, repeats);
    return {};
  }
  return std::string(not_a_throughput);
}

bool is_time(const PublishedRow& row) { return row.metric == "step_time" || row.metric == "throughput"; }

std::string identity_of(const PublishedRow& row) {
  const LayoutColumns& layout = *row.layout;
  return fmt::format("{}\n{} {} {} {} {} {} {}\n{} {} {} {} {}", layout_series(row), layout.tensor,
                     layout.pipeline, layout.virtual_stages, layout.data, layout.context, layout.expert,
                     layout.heads, row.gpus_total, row.batch_per_gpu, row.global_batch, row.precision,
                     layout.sequence_parallel + layout.recompute);
}

double flops_of_sample(const LayoutColumns& sizes, double sequence, bool repeats_forward) {
  const double hidden = sizes.hidden;
  const double layers = sizes.layers;
  const double passes = repeats_forward ? 4 : 3;
  return passes * 24 * sequence * layers * hidden * hidden *
         (1 + sequence / (6 * hidden) + sizes.vocabulary / (passes * 4 * layers * hidden));
}

}  // namespace trainyard
