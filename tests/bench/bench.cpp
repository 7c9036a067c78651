// Times the program against the limits the project has set itself, as whole processes in CPU seconds, and
// prints each case's answer beside the closed form's. `./dev bench` builds and runs it.
//
//     bench [--repetitions N] [--program PATH]     exit 1 when a limit is missed

#include "bench/cases.hpp"
#include "bench/rings.hpp"
#include "bench/sweeps.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <exception>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <vector>

namespace trainyard::bench {

namespace {

struct Measurement {
  std::optional<double> answer_s = {};
  std::optional<double> closed_s = {};
  Seconds cpu = {};  ///< least: what else runs on the machine only adds
  Seconds median_cpu = {};
  Bytes peak_memory = {};
};

Seconds median(std::vector<Seconds> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

/// All cases in turn, so often: what slows the machine for a while then slows some runs of each and not all
/// runs of some.
std::vector<Measurement> measure(const std::string& program, const std::vector<Case>& all, int repetitions) {
  std::vector<Measurement> results(all.size());
  std::vector<std::vector<Seconds>> cpu(all.size());
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all[i].is_long && repetition > 0) continue;
      const ChildRun run = run_case(program, all[i].arguments);
      cpu[i].push_back(run.cpu);
      results[i].peak_memory = std::max(results[i].peak_memory, run.peak_memory);
      if (all[i].answer && repetition == 0) results[i].answer_s = answer_in(run.output, *all[i].answer);
    }
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    results[i].cpu = *std::min_element(cpu[i].begin(), cpu[i].end());
    results[i].median_cpu = median(std::move(cpu[i]));
    if (!all[i].answer || !all[i].has_closed_form) continue;
    std::vector<std::string> closed = all[i].arguments;
    closed.insert(closed.end(), {"--fidelity", "closed"});
    results[i].closed_s = answer_in(run_case(program, closed).output, *all[i].answer);
  }
  return results;
}

bool within_limits(const Case& one, const Measurement& measured) {
  return (!one.cpu_limit || measured.cpu <= *one.cpu_limit) &&
         (!one.memory_limit || measured.peak_memory <= *one.memory_limit);
}

constexpr auto row_format = "{:<38}{:>13}{:>13}{:>9}{:>9}{:>9}{:>8}{:>10}{:>8}  {}\n";

void print_header() {
  fmt::print(row_format, "", "answer", "closed form", "ratio", "CPU", "median", "limit", "peak RSS", "limit",
             "");
}

void print_row(const Case& one, const Measurement& measured) {
  const auto milliseconds = [](std::optional<double> seconds) {
    return seconds ? fmt::format("{:.4f} ms", 1e3 * *seconds) : std::string();
  };
  const bool limited = one.cpu_limit || one.memory_limit;
  const char* verdict = within_limits(one, measured) ? "ok" : "MISSED";
  fmt::print(row_format, one.name, milliseconds(measured.answer_s), milliseconds(measured.closed_s),
             measured.closed_s ? fmt::format("{:.6f}", *measured.answer_s / *measured.closed_s) : "",
             fmt::format("{:.3f} s", measured.cpu.si()), fmt::format("{:.3f} s", measured.median_cpu.si()),
             one.cpu_limit ? fmt::format("{:.2f} s", one.cpu_limit->si()) : "",
             fmt::format("{:.0f} MB", measured.peak_memory.si() / 1e6),
             one.memory_limit ? fmt::format("{:.0f} MB", one.memory_limit->si() / 1e6) : "",
             limited ? verdict : "");
  std::fflush(stdout);
}

struct Options {
  std::string program = TRAINYARD_PROGRAM;
  int repetitions = 7;
};

/// Nothing if the command line is not understood.
std::optional<Options> options_in(const std::vector<std::string>& words) {
  Options options;
  if (words.size() % 2 != 0) return {};
  for (std::size_t i = 0; i < words.size(); i += 2) {
    const std::string& value = words[i + 1];
    const char* end = value.data() + value.size();
    if (words[i] == "--program") {
      options.program = value;
    } else if (words[i] != "--repetitions" ||
               std::from_chars(value.data(), end, options.repetitions).ptr != end ||
               options.repetitions < 1) {
      return {};
    }
  }
  return options;
}

int bench(const Options& options) {
  bool all_within = true;
  fmt::print("{}: least and median CPU time of {} runs, user and system; the limits are for the least\n",
             options.program, options.repetitions);
  print_header();
  const std::vector<Case> all = cases(options.program);
  const std::vector<Measurement> measured = measure(options.program, all, options.repetitions);
  for (std::size_t i = 0; i < all.size(); ++i) {
    print_row(all[i], measured[i]);
    all_within = all_within && within_limits(all[i], measured[i]);
  }
  all_within = contending_rings() && all_within;
  all_within = sweeps(options.program) && all_within;
  return all_within ? 0 : 1;
}

}  // namespace

}  // namespace trainyard::bench

int main(int count, char** arguments) {
  const auto options = trainyard::bench::options_in({arguments + 1, arguments + count});
  if (!options) {
    fmt::print(stderr, "usage: bench [--repetitions N] [--program PATH]\n");
    return 2;
  }
  try {
    return trainyard::bench::bench(*options);
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench: {}\n", error.what());
    return 1;
  }
}
