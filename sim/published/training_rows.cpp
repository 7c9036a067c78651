#include "published/training_rows.hpp"

#include "config/fields.hpp"
#include "units/letters.hpp"
#include "units/text.hpp"
#include "units/text_pattern.hpp"

#include <algorithm>
#include <array>
#include <sstream>

namespace trainyard {
namespace {

std::optional<int> count_of(const std::string& text) {
  const Parsed<long long> number = parse_integer(text);
  constexpr long long most = 1'000'000'000;
  if (!number || *number < 1 || *number > most) return std::nullopt;
  return static_cast<int>(*number);
}

/// "grad_accum=4" in the notes; otherwise computed from the batch of all GPUs.
int accumulation_of(const PublishedRow& row, int batch_per_gpu) {
  static const TextPattern stated("grad_accum=([0-9]+)");
  if (const auto found = stated.first(row.notes)) return count_of(found->at(1)).value_or(1);
  const std::optional<int> global = count_of(row.global_batch);
  const long long at_once = static_cast<long long>(batch_per_gpu) * row.gpus_total;
  if (!global || at_once == 0 || *global % at_once != 0) return 1;
  return static_cast<int>(*global / at_once);
}

bool is_any_of(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, text) != words.end();
}

std::optional<double> seconds_of(const PublishedRow& row) {
  const Parsed<Seconds> time = parse_quantity<Seconds>(shortest(row.value) + " " + row.unit);
  return time ? std::optional(time->si()) : std::nullopt;
}

/// Fills in the measured figure; otherwise returns why that is impossible.
std::string read_figure(const PublishedRow& row, TrainingMeasurement& read) {
  const std::string metric = small_letters(row.metric);
  const std::string unit = small_letters(row.unit);
  const double samples = static_cast<double>(read.batch_per_gpu) * read.accumulation * row.gpus_total;
  if (metric == "throughput") {
    if (is_any_of(unit, {"img/s", "images/s", "sentences/s", "sequences/s", "seq/s", "samples/s"})) {
      read.throughput = row.value;
    } else if (is_any_of(unit, {"tok/s", "tokens/s"}) && read.sequence_length) {
      read.throughput = row.value / *read.sequence_length;
    } else {
      return "throughput in '" + row.unit + "' cannot be converted to samples";
    }
    return {};
  }
  const bool is_iteration = metric.starts_with("iteration_time") || metric.starts_with("step_time");
  const bool is_epoch = metric.starts_with("epoch_time") || metric.starts_with("time_per_epoch");
  if (!is_iteration && !is_epoch) return std::string(not_a_throughput);
  const std::optional<double> time = seconds_of(row);
  if (!time) return std::string(not_a_throughput);  // "+12 %"
  if (is_iteration)
    read.throughput = samples / *time;
  else
    read.epoch_time = time;
  return {};
}

/// "DGX-2" of "4x DGX-2", "dgx2h_ngc19.05" of "dgx2h_n32_ngc19.05".
std::string without_counts(const std::string& system) {
  static const TextPattern counts("^[0-9]+ ?x ?|_n[0-9]+(?=_|$)");
  return counts.replaced(system, "");
}

std::string without_words(const std::string& system, const std::vector<std::string>& words) {
  std::string left;
  std::istringstream stream(system);
  for (std::string word; stream >> word;) {
    if (std::ranges::find(words, word) == words.end()) left += (left.empty() ? "" : " ") + word;
  }
  return left;
}

/// The text after "worker=", up to the next comma, semicolon, bracket or space; empty if the word is missing.
std::string value_of_option(const std::string& text, const std::string& word) {
  const std::size_t place = text.find(word);
  if (place == std::string::npos) return {};
  const std::size_t begin = place + word.size();
  return "=" + text.substr(begin, text.find_first_of(",;) ", begin) - begin);
}

/// "without" if the word is negated, "with" if it occurs, empty if it does not.
std::string option_of(const std::string& text, const std::string& word) {
  if (word.ends_with('=')) return value_of_option(text, word);
  const std::size_t place = text.find(word);
  if (place == std::string::npos) return {};
  const std::string before = text.substr(0, place);
  for (const std::string_view denial : {"without ", "w/o ", "no ", "not ", "non-"}) {
    if (before.ends_with(denial)) return "without";
  }
  return "with";
}

}  // namespace

bool counts_contradict(const PublishedRow& row) {
  const auto product = static_cast<long long>(row.nodes) * row.gpus_per_node;
  return row.gpus_total < 1 || row.gpus_total > product || (row.nodes > 1 && row.gpus_total != product);
}

std::variant<TrainingMeasurement, std::string> training_measurement(const PublishedRow& row, bool timed) {
  TrainingMeasurement read;
  if (row.value <= 0) return "no value above 0";
  if (row.gpus_total < 1 || row.nodes < 1) return "no number of GPUs";
  if (counts_contradict(row)) return "contradictory numbers of GPUs: gpus_total is not nodes x gpus_per_node";
  const auto precision = config::value_named<Precision>(row.precision);
  if (!precision) return "unknown precision";
  read.precision = *precision;
  read.sequence_length = count_of(row.seq_len);
  const std::optional<int> batch = count_of(row.batch_per_gpu);
  if (batch) {
    read.batch_per_gpu = *batch;
    read.accumulation = accumulation_of(row, *batch);
  }
  if (timed) {
    if (std::string reason = read_figure(row, read); !reason.empty()) return reason;
  }
  if (!batch) return "no batch per GPU";
  read.rounding = row.last_digit / 2 / row.value;
  return read;
}

bool may_be_a_speed(const PublishedRow& row) {
  if (row.layout)
    return row.metric == "step_time" || row.metric == "throughput" || row.metric == "hardware_flops" ||
           row.metric == "model_flops";
  const auto read = training_measurement(row);
  const auto* const reason = std::get_if<std::string>(&read);
  return reason == nullptr || *reason != not_a_throughput;
}

SeriesKey series_of(const PublishedRow& row, const SeriesWords& words) {
  SeriesKey key{.system = without_words(without_counts(row.system), words.not_of_systems),
                .framework = row.framework,
                .gpu = row.gpu,
                .model = row.model,
                .precision = row.precision,
                .batch_per_gpu = row.batch_per_gpu,
                .seq_len = row.seq_len,
                .options = {}};
  const std::string text = small_letters(row.framework + "; " + row.model + "; " + row.notes);
  for (const std::string& word : words.options) key.options.push_back(option_of(text, small_letters(word)));
  return key;
}

std::string series_text(const SeriesKey& key) {
  std::string text;
  for (const std::string* part :
       {&key.system, &key.framework, &key.gpu, &key.model, &key.precision, &key.batch_per_gpu, &key.seq_len})
    text += *part + '\n';
  for (const std::string& option : key.options) text += option + '\n';
  return text;
}

}  // namespace trainyard
