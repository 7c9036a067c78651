#include "experiment/job.hpp"

#include "experiment/experiment.hpp"
#include "units/letters.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <system_error>

namespace trainyard {

namespace {

/// The letters of large numbers, the largest first.
struct TokenUnit {
  char letter;
  double tokens;
};
constexpr std::array token_units{TokenUnit{'T', 1e12}, TokenUnit{'B', 1e9}, TokenUnit{'M', 1e6},
                                 TokenUnit{'K', 1e3}};

void check_interval(const std::string& key, const std::string& every, config::Problems& problems) {
  if (!interval_in(every))
    problems.error(key, in_quotes(every) + " is no interval",
                   "1 epoch, 0.5 epochs or 2000 steps; at least 0.001 epochs or 1 step");
}

}  // namespace

bool simulates_evaluation(const Experiment& experiment) {
  return !experiment.parallelism && !experiment.traces && !is_multi_update(experiment) &&
         experiment.sync.kind != SyncKind::dataparallel_gpu0;
}

std::optional<JobInterval> interval_in(std::string_view text) {
  const std::size_t blank = text.find(' ');
  if (blank == std::string_view::npos) return std::nullopt;
  const std::string_view unit = text.substr(blank + 1);
  const bool is_in_epochs = unit == "epoch" || unit == "epochs";
  if (!is_in_epochs && unit != "step" && unit != "steps") return std::nullopt;
  JobInterval interval{.is_in_epochs = is_in_epochs};
  const auto [end, error] = std::from_chars(text.data(), text.data() + blank, interval.number);
  if (error != std::errc{} || end != text.data() + blank) return std::nullopt;
  const double least = is_in_epochs ? JobInterval::least_epochs : JobInterval::least_steps;
  if (!std::isfinite(interval.number) || interval.number < least || interval.number > JobInterval::most)
    return std::nullopt;
  return interval;
}

std::optional<double> tokens_in(std::string_view text) {
  constexpr double least = 1, most = 1e18;
  for (const std::string_view noun : {" tokens", " token"}) {
    if (text.ends_with(noun)) text.remove_suffix(noun.size());
  }
  double unit = 1;
  for (const TokenUnit& one : token_units) {
    if (text.empty() || small_letter(text.back()) != small_letter(one.letter)) continue;
    unit = one.tokens;
    text.remove_suffix(1);
    if (text.ends_with(' ')) text.remove_suffix(1);
    break;
  }
  const Parsed<double> number = parse_number(text);
  if (!number || *number * unit < least || *number * unit > most) return std::nullopt;
  return *number * unit;
}

std::string tokens_in_words(double tokens) {
  for (const TokenUnit& one : token_units) {
    if (tokens >= one.tokens)
      return fmt::format("{} {} tokens", shortest(four_digits(tokens / one.tokens)), one.letter);
  }
  return fmt::format("{} tokens", shortest(four_digits(tokens)));
}

bool has_length(const JobSettings& job) { return job.epochs || job.steps || job.tokens; }

void check_texts(const JobSettings& job, config::Problems& problems) {
  if (job.tokens && !tokens_in(*job.tokens))
    problems.error("job.tokens", in_quotes(*job.tokens) + " is no number of tokens",
                   "15T, 300B, 2.5e9: at least 1 and at most 1e18, with K, M, B, T or nothing");
  if (job.evaluation) check_interval("job.evaluation.every", job.evaluation->every, problems);
  if (job.checkpoint) check_interval("job.checkpoint.every", job.checkpoint->every, problems);
}

}  // namespace trainyard
