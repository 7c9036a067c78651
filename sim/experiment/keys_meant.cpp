#include "experiment/keys_meant.hpp"

#include "experiment/one_gpu.hpp"
#include "experiment/replaced_keys.hpp"
#include "experiment/resolve.hpp"
#include "platform/load.hpp"
#include "strategy/straddling.hpp"
#include "units/plural.hpp"
#include "units/range_text.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fmt/format.h>
#include <optional>
#include <span>
#include <utility>

namespace trainyard {
namespace {

constexpr std::array keys_of_totals{ranks_key, data_parallel_key, global_batch_key, sequence_length_key,
                                    attention_key};

bool is_key_of_experiments(std::string_view word) {
  return config::Keys<Experiment>::table()([&](const auto&... key) { return ((key.name == word) || ...); });
}

int count_in(const std::string& key, const std::string& text) {
  const Parsed<long long> number = parse_integer(text);
  if (!number || *number < 1 || *number > 1'000'000'000)
    throw InputError(fmt::format("{} is {}, not a whole number of at least 1", key, in_quotes(text)),
                     plain_range(text) ? "one value: only 'trainyard run' takes a range" : "");
  return static_cast<int>(*number);
}

bool has(const Overrides& overrides, std::string_view key) {
  return std::ranges::find(overrides, key, &Overrides::value_type::first) != overrides.end();
}

[[noreturn]] void refuse_both(const char* total, const char* key) {
  throw InputError(fmt::format("{} and {} are both given", total, key), fmt::format("give only {}", total));
}

void refuse(const Overrides& overrides, const char* key, const char* total) {
  if (has(overrides, key)) refuse_both(total, key);
}

Overrides with(Overrides overrides, const char* key, int value) {
  overrides.emplace_back(key, std::to_string(value));
  return overrides;
}

/// The limit of the keys `nodes` and `gpus`.
constexpr long long most_given_ranks = 10'000'000;

/// Throws InputError for more than a job can have.
int ranks_given_by(const std::string& totals, long long ranks) {
  if (ranks <= most_given_ranks) return static_cast<int>(ranks);
  throw InputError(
      fmt::format("{} gives more ranks than a job can have, {}", totals, grouped(most_given_ranks)));
}

/// Takes the last value of a key out of the overrides.
std::optional<std::string> take(Overrides& overrides, std::string_view key) {
  std::optional<std::string> value;
  for (const auto& [set_key, set_value] : overrides) {
    if (set_key == key) value = set_value;
  }
  std::erase_if(overrides, [&](const auto& entry) { return entry.first == key; });
  return value;
}

/// One job whose totals are being replaced.
class Totals {
public:
  Totals(const config::Catalogue& catalogue, const std::string& experiment, Overrides overrides,
         InputFiles& files)
      : catalogue_(catalogue), experiment_(experiment), overrides_(std::move(overrides)), files_(files) {
    if (experiment != no_file) file_ = find_once(files, catalogue, config::Kind::experiment, experiment);
  }

  Overrides replaced() {
    for (const char* const key : keys_of_totals) {
      if (std::optional<std::string> value = take(overrides_, key)) set_.emplace_back(key, *std::move(value));
      if (std::optional<std::string> value = take_from_file(key))
        of_file_.emplace_back(key, *std::move(value));
    }
    const std::optional<std::string> replicas = take(set_, data_parallel_key);
    const std::optional<std::string> batch = take(set_, global_batch_key);
    const std::optional<std::string> ranks = take(set_, ranks_key);
    set_of_family(sequence_length_key);
    set_of_family(attention_key);
    if (ranks || replicas) {
      const char* const total = ranks ? ranks_key : data_parallel_key;
      refuse(overrides_, "gpus", total);
      refuse(overrides_, "nodes", total);
    }
    // With another batch, no plausible factor might reproduce the measurement; a probe needs none.
    is_measured_ = has_one_gpu(catalogue_, experiment_, overrides_, files_);
    const bool is_sized = ranks || replicas || has(overrides_, "gpus") || has(overrides_, "nodes");
    if (!is_sized) refuse_size_of_file();
    place_all(ranks || is_sized ? ranks : take(of_file_, ranks_key),
              replicas || is_sized ? replicas : take(of_file_, data_parallel_key));
    if (!ranks && !replicas && has(overrides_, "gpus") && !has(overrides_, "nodes")) place_without_nodes();
    const std::optional<std::string> batch_of_file = take(of_file_, global_batch_key);
    if (batch || batch_of_file)
      divide(count_in(global_batch_key, batch ? *batch : *batch_of_file), batch.has_value(),
             batch_of_file.has_value());
    return std::move(overrides_);
  }

private:
  [[nodiscard]] ResolvedExperiment probed(Overrides overrides) const {
    if (is_measured_) overrides.emplace_back("one_gpu_scale", "1");
    return resolve(catalogue_, experiment_, overrides, files_);
  }

  /// The experiment without the files that it names.
  [[nodiscard]] config::Document document_with(std::string_view block) const {
    config::Document document = experiment_document(catalogue_, experiment_, files_);
    for (const auto& [key, value] : overrides_) {
      if (key.starts_with(block) && file_named_by(key).empty()) config::set(document, key, value);
    }
    return document;
  }

  /// The experiment with all its keys, and a batch of 1 if it states none, since a total sets it.
  [[nodiscard]] config::Document whole_document() const {
    config::Document document = document_with("");
    if (document.root.find("batch_per_gpu") == nullptr) config::set(document, "batch_per_gpu", "1");
    return document;
  }

  /// A key of the model's family. That of the file comes before what the command line sets of the family.
  void set_of_family(const char* key) {
    const std::optional<std::string> set = take(set_, key);
    const std::optional<std::string> value = set ? set : take(of_file_, key);
    if (!value) return;
    const config::Document document = document_with("model");
    const config::Node* const model = document.root.find("model");
    const bool is_replayed =
        document_with("trace").root.find("trace") != nullptr || document.root.find("traces") != nullptr;
    if (model == nullptr)
      throw InputError(
          fmt::format("{} needs a model; {}", key,
                      is_replayed ? "this experiment replays a trace" : "the experiment names none"),
          is_replayed ? "" : "--model NAME");
    const auto file = find_once(files_, catalogue_, config::Kind::model, model->scalar);
    const config::Node* const family = load_once(files_, file).root.find("family");
    const std::string name = family == nullptr ? "layers" : family->scalar;
    if (family == nullptr || load_once(files_, file).root.find(name) == nullptr)
      throw InputError(fmt::format("{} has no {} to set", model->scalar, key), "edit the model's layers");
    const std::string path = fmt::format("model.{}.{}", name, key);
    refuse_other_value(key, path, *value, set.has_value());
    overrides_.emplace(set ? overrides_.end() : overrides_.begin(), path, *value);
  }

  /// Refuses another value for the path of a family's key, in the same place: on the command line, or in the
  /// file while the command line sets neither.
  void refuse_other_value(const char* key, const std::string& path, const std::string& value,
                          bool is_set) const {
    std::string text = value;
    const auto on_line = std::ranges::find(overrides_, path, &Overrides::value_type::first);
    if (is_set && on_line != overrides_.end()) text = on_line->second;
    if (!is_set && on_line == overrides_.end()) {
      const config::Node* const set = experiment_document(catalogue_, experiment_, files_).root.find("set");
      const config::Node* const other = set == nullptr ? nullptr : set->find(path);
      if (other != nullptr) text = other->scalar;
    }
    if (text == value) return;
    throw InputError(fmt::format("{} is {} and {} is {}: two words for one value", key, value, path, text),
                     "leave out one of them");
  }

  /// The number of GPUs that a job uses per node: the machine determines it, and the experiment names the
  /// machine.
  [[nodiscard]] int gpus_on_node() const {
    config::Document document = document_with("gpus_per_node");
    remove_replaced_keys(document, overrides_);
    for (const auto& [key, value] : overrides_) {
      if (key == "platform") config::set(document, key, value);
    }
    if (const config::Node* const node = document.root.find("gpus_per_node");
        node && !config::is_unset(*node))
      return count_in("gpus_per_node", node->scalar);
    const config::Node* const platform = document.root.find("platform");
    if (platform == nullptr) throw InputError("the experiment names no platform", "--platform NAME");
    Experiment named;
    if (const config::Node* const set = document.root.find("set")) {
      for (const config::Node::Entry& entry : set->entries) named.set[entry.key] = entry.value.scalar;
    }
    const auto file = find_once(files_, catalogue_, config::Kind::platform, platform->scalar, file_);
    const FileOverrides set = file_overrides(document, named, overrides_);
    const Platform& read = files_.platforms.get(
        reading_of(file, "platform", set), nullptr,
        [&](auto* warnings) { return load_platform(load_with(files_, file, "platform", set), warnings); });
    return static_cast<int>(read.gpus.size());
  }

  /// Nodes for `ranks`, as many on each as keep groups of ranks whole.
  void place(int ranks, int on_node) {
    on_node = std::min(on_node, whole_groups_on_node(ranks, on_node).value_or(on_node));
    std::erase_if(overrides_, [](const auto& entry) { return entry.first == "gpus"; });
    overrides_ = with(with(std::move(overrides_), "nodes", (ranks + on_node - 1) / on_node), "gpus", ranks);
  }

  /// Errors are left to the reading of the experiment.
  [[nodiscard]] std::optional<int> whole_groups_on_node(int ranks, int on_node) const {
    try {
      if (document_with("gpus_per_node").root.find("gpus_per_node") != nullptr) return std::nullopt;
      const Experiment experiment = load_experiment(whole_document());
      if (!experiment.parallelism || grid_refusal(*experiment.parallelism, ranks)) return std::nullopt;
      return ranks_per_node_of_whole_groups(make_grid(*experiment.parallelism, ranks), on_node);
    } catch (const InputError&) {
      return std::nullopt;
    } catch (const FileError&) {
      return std::nullopt;
    }
  }

  /// `gpus` alone, of a job whose file says no number of nodes either: more than a node has take further
  /// nodes. Errors are left to the reading of the experiment.
  void place_without_nodes() {
    if (experiment_document(catalogue_, experiment_, files_).root.find("nodes") != nullptr) return;
    Overrides remaining = overrides_;
    const Parsed<long long> gpus = parse_integer(take(remaining, "gpus").value_or(""));
    if (!gpus || *gpus < 2 || *gpus > 10'000'000) return;
    try {
      if (const int on_node = gpus_on_node(); *gpus > on_node) place(static_cast<int>(*gpus), on_node);
    } catch (const InputError&) {
      return;
    } catch (const FileError&) {
      return;
    }
  }

  [[nodiscard]] int ranks_of_replicas(int replicas) const {
    const Experiment experiment = load_experiment(whole_document());
    const std::string total = fmt::format("{}={}", data_parallel_key, replicas);
    if (!experiment.parallelism) return ranks_given_by(total, replicas);
    // each of the factors is at most 1e6, and the number of replicas 1e9
    const int of_one = ranks_given_by("the block parallelism", ranks_of_replica(*experiment.parallelism));
    return ranks_given_by(fmt::format("{} with {} ranks per replica", total, of_one),
                          1LL * replicas * of_one);
  }

  /// The stages of a job with a layout; 1 for a job whose layout changes nothing, so that all points of a
  /// sweep over layouts keep the micro-batch. Nothing for a job without any. Errors are left to the reading
  /// of the experiment.
  [[nodiscard]] std::optional<int> stages_of_layout() const {
    try {
      const config::Document document = whole_document();
      const bool has_layout = document.root.find("parallelism") != nullptr;
      const Experiment experiment = load_experiment(document);
      if (is_replay(experiment) || !has_layout) return std::nullopt;
      return experiment.parallelism ? experiment.parallelism->pipeline : 1;
    } catch (const InputError&) {
      return std::nullopt;
    } catch (const FileError&) {
      return std::nullopt;
    }
  }

  /// Takes a key out of the file's experiment: from here on, others stand for it. Its value there.
  std::optional<std::string> take_from_file(const char* key) {
    const config::Node* const value = experiment_document(catalogue_, experiment_, files_).root.find(key);
    if (value == nullptr) return std::nullopt;
    overrides_.emplace_back(key, std::string(config::unset_text));
    return value->scalar;
  }

  /// Refuses a file that states the size of its job twice.
  void refuse_size_of_file() const {
    const config::Node& file = experiment_document(catalogue_, experiment_, files_).root;
    for (const char* const total : {ranks_key, data_parallel_key}) {
      if (!has(of_file_, total)) continue;
      for (const char* const key : {"gpus", "nodes"}) {
        if (file.find(key) != nullptr) refuse_both(total, key);
      }
    }
  }

  void place_all(const std::optional<std::string>& ranks, const std::optional<std::string>& replicas) {
    if (ranks && replicas) refuse_both(ranks_key, data_parallel_key);
    if (ranks)
      place(ranks_given_by(fmt::format("{}={}", ranks_key, *ranks), count_in(ranks_key, *ranks)),
            gpus_on_node());
    if (replicas) place(ranks_of_replicas(count_in(data_parallel_key, *replicas)), gpus_on_node());
  }

  /// `ranks`: "8 ranks"; `more`: " times 4 of accumulation".
  [[noreturn]] static void refuse_division(int global_batch, const std::string& ranks, long long parts,
                                           const std::string& more) {
    throw InputError(fmt::format("a global batch of {} samples cannot be split evenly into {} parts: {}{}",
                                 global_batch, parts, ranks, more),
                     fmt::format("a multiple of {}", parts));
  }

  /// The one of the two factors of a global batch that the command line sets holds. Where the file has a
  /// global batch, else the one that the file states, and if it states none, micro-batches of one sample
  /// where ranks share a model, else one micro-batch. Otherwise the size of a micro-batch where ranks share a
  /// model, since frameworks change their number, else their number. `is_set`: on the command line.
  void divide(int global_batch, bool is_set, bool is_of_file) {
    constexpr const char* batch = "batch_per_gpu";
    constexpr const char* accumulation = "accumulation";
    const config::Node& file = experiment_document(catalogue_, experiment_, files_).root;
    const bool sets_batch = has(overrides_, batch);
    const bool sets_accumulation = has(overrides_, accumulation);
    const bool states_batch = file.find(batch) != nullptr;
    const bool states_accumulation = file.find(accumulation) != nullptr;
    const bool sets_both = sets_batch && sets_accumulation;
    const bool sets_any = sets_batch || sets_accumulation;
    if (sets_both && !is_set) return;
    if (sets_both || (is_of_file && states_batch && states_accumulation && !sets_any))
      throw InputError("global_batch, batch_per_gpu and accumulation are all given", "leave out one of them");
    const std::optional<int> stages = stages_of_layout();
    const bool holds_unset_batch =
        is_of_file ? states_batch || (stages && !states_accumulation) : stages.has_value();
    const bool holds_batch = sets_any ? sets_batch : holds_unset_batch;
    if (!holds_batch || !(sets_batch || states_batch)) overrides_ = with(std::move(overrides_), batch, 1);
    const ResolvedExperiment probe =
        probed(holds_batch ? with(overrides_, accumulation, stages.value_or(1)) : overrides_);
    const long long held = holds_batch ? probe.settings.batch_per_gpu : probe.settings.accumulation;
    const long long copies = replicas(probe);
    if (global_batch % (copies * held) != 0)
      refuse_division(global_batch, plural(static_cast<int>(copies), probe.grid ? "replica" : "rank"),
                      copies * held,
                      held == 1 ? std::string()
                                : fmt::format(" times {} of {}", held, holds_batch ? batch : accumulation));
    overrides_ = with(std::move(overrides_), holds_batch ? accumulation : batch,
                      static_cast<int>(global_batch / (copies * held)));
  }

  const config::Catalogue& catalogue_;
  const std::string& experiment_;
  Overrides overrides_;
  Overrides set_ = {};      ///< the totals among them
  Overrides of_file_ = {};  ///< those that the experiment's file states
  InputFiles& files_;
  std::filesystem::path file_;  ///< of the experiment; empty without one
  bool is_measured_ = false;
};

/// The key of the first of these words that is the same.
std::string_view key_by(std::span<const config::OtherWord> words, std::string_view word) {
  const auto is_it = [&](const config::OtherWord& other) {
    return other.is_same && config::is_same_word(other.word, word);
  };
  const auto found = std::ranges::find_if(words, is_it);
  return found == words.end() ? std::string_view() : found->key;
}

}  // namespace

bool is_total(std::string_view key) { return std::ranges::find(keys_of_totals, key) != keys_of_totals.end(); }

std::string key_meant(std::string_view path) {
  if (!file_named_by(path).empty() || is_total(path)) return std::string(path);
  constexpr std::string_view block = "parallelism.";
  const bool is_in_block = path.starts_with(block);
  const std::string_view rest = path.substr(is_in_block ? block.size() : 0);
  const std::string_view word = rest.substr(0, rest.find_first_of(".["));
  if (!is_in_block && is_key_of_experiments(word)) return std::string(path);
  const std::string_view key = key_by(config::glossary, word);
  if (key.empty() || (is_in_block && !key.starts_with(block))) return std::string(path);
  return std::string(key) + std::string(rest.substr(word.size()));
}

Overrides without_totals(const config::Catalogue& catalogue, const std::string& experiment,
                         Overrides overrides, InputFiles& files) {
  const auto needs_more = [&](const auto& entry) { return is_total(entry.first) || entry.first == "gpus"; };
  const auto file_needs_more = [&] {
    return experiment != no_file &&
           std::ranges::any_of(experiment_document(catalogue, experiment, files).root.entries,
                               [](const config::Node::Entry& entry) { return is_total(entry.key); });
  };
  if (std::ranges::none_of(overrides, needs_more) && !file_needs_more()) return overrides;
  return Totals(catalogue, experiment, std::move(overrides), files).replaced();
}

ResolvedExperiment resolve_with_totals(const config::Catalogue& catalogue, const std::string& experiment,
                                       const Overrides& asked, InputFiles& files) {
  ResolvedExperiment resolved =
      resolve(catalogue, experiment, without_totals(catalogue, experiment, asked, files), files);
  resolved.changed = asked;
  return resolved;
}

}  // namespace trainyard
