// Times the program against the limits the project has set itself, as whole processes in CPU seconds, and
// prints each case's answer beside the closed form's. `./dev bench` builds and runs it.
//
//     bench [--repetitions N] [--program PATH]     exit 1 when a limit is missed

#include "bench/child.hpp"
#include "bench/rings.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace trainyard::bench {

namespace {

/// A command of trainyard that prints JSON, and what it may cost.
struct Case {
  std::string name;
  std::vector<std::string> arguments;
  std::optional<std::string> answer = {};  ///< JSON pointer to the seconds compared with the closed form
  std::optional<Seconds> cpu_limit = {};
  std::optional<Bytes> memory_limit = {};
};

struct Measurement {
  std::optional<double> answer_s = {};
  std::optional<double> closed_s = {};
  Seconds cpu = {};  ///< least: what else runs on the machine only adds
  Seconds median_cpu = {};
  Bytes peak_memory = {};
};

ChildRun run_case(const std::string& program, const std::vector<std::string>& arguments) {
  std::vector<std::string> command{program};
  command.insert(command.end(), arguments.begin(), arguments.end());
  ChildRun run = run_child(command);
  if (run.exit_code != 0)
    throw std::runtime_error(fmt::format("{} exited with {}", fmt::join(command, " "), run.exit_code));
  return run;
}

double answer_in(const std::string& output, const std::string& pointer) {
  return nlohmann::json::parse(output).at(nlohmann::json::json_pointer(pointer)).get<double>();
}

/// What a run on so many GPUs may cost.
Seconds cpu_limit_of(double ranks) {
  return Seconds(ranks <= 8 ? 0.05 : ranks <= 64 ? 0.06 : ranks <= 1024 ? 0.2 : ranks <= 8192 ? 1.5 : 15);
}

Case training_case(const std::string& name, const std::string& override, double ranks) {
  return {.name = name,
          .arguments = {"run", TRAINYARD_SOURCE_DIR "/workloads/experiments/resnet50_dgx2.yaml", "--set",
                        override, "--json"},
          .answer = "/step_time_s",
          .cpu_limit = cpu_limit_of(ranks)};
}

/// Every shipped experiment, by name.
std::vector<Case> shipped_cases(const std::string& program) {
  std::vector<std::string> files;
  for (const auto& entry :
       std::filesystem::directory_iterator(TRAINYARD_SOURCE_DIR "/workloads/experiments")) {
    files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  std::vector<Case> all;
  for (const std::string& file : files) {
    const std::vector<std::string> arguments{"run", file, "--json"};
    std::vector<std::string> closed = arguments;
    closed.insert(closed.end(), {"--fidelity", "closed"});
    const double ranks = answer_in(run_case(program, closed).output, "/ranks");
    const std::string name = std::filesystem::path(file).stem().string();
    all.push_back({.name = fmt::format("{}, {} GPU{}", name, ranks, ranks == 1 ? "" : "s"),
                   .arguments = arguments,
                   .answer = "/step_time_s",
                   .cpu_limit = cpu_limit_of(ranks)});
  }
  return all;
}

/// A collective of 64 MiB on a platform of this folder, or a shipped one.
Case collective_case(const std::string& name, double cpu_limit, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "collective");
  arguments.insert(arguments.end(), {"-b", "64M", "-e", "64M", "--json"});
  return {.name = name,
          .arguments = std::move(arguments),
          .answer = "/rows/0/time_s",
          .cpu_limit = Seconds(cpu_limit)};
}

/// The same on one GPU per node and the wire alone, where textbook formulas hold.
Case flat_case(const std::string& name, double cpu_limit, const std::string& platform,
               const std::string& operation, const std::string& algorithm, int ranks) {
  return collective_case(name, cpu_limit,
                         {operation, "--platform", TRAINYARD_SOURCE_DIR "/tests/bench/platforms/" + platform,
                          "--nodes", std::to_string(ranks), "--nccl", "none", "--algorithm", algorithm});
}

std::vector<Case> collective_cases() {
  std::vector<Case> all{
      flat_case("ring, 1,024 ranks", 0.05, "flat.yaml", "all_reduce", "ring", 1024),
      flat_case("ring, 8,192 ranks", 0.15, "flat.yaml", "all_reduce", "ring", 8192),
      flat_case("ring, 65,536 ranks", 2, "flat.yaml", "all_reduce", "ring", 65536),
      flat_case("torus 32 x 32", 0.05, "torus.yaml", "all_reduce", "torus2d", 1024),
      flat_case("torus 256 x 256", 2, "torus.yaml", "all_reduce", "torus2d", 65536),
      flat_case("tree, 8,192 ranks", 0.3, "flat.yaml", "all_reduce", "tree", 8192),
      flat_case("torus, 8,192 ranks on a switch", 0.3, "flat.yaml", "all_reduce", "torus2d", 8192)};
  all[2].memory_limit = Bytes(500e6);
  all[4].memory_limit = Bytes(500e6);
  all[4].arguments.insert(all[4].arguments.end(), {"--set", "platform.fabric.dimensions=[256, 256]"});
  const std::vector<std::string> dgx1v{"--platform", "dgx1v", "--set", "platform.fabric.oversubscription=4"};
  const auto on_dgx1v = [&](std::vector<std::string> words) {
    words.insert(words.end(), dgx1v.begin(), dgx1v.end());
    return words;
  };
  all.push_back(collective_case("hierarchical, 8,192 GPUs on a fat tree", 0.3,
                                on_dgx1v({"all_reduce", "--nodes", "1024", "--algorithm", "hierarchical"})));
  all.push_back(collective_case("all_to_all, 1,024 GPUs on a fat tree", 0.1,
                                on_dgx1v({"all_to_all", "--nodes", "128"})));
  // the even and the odd nodes: two rings that share the uplinks of every leaf
  std::vector<std::string> two_rings{
      "all_reduce", "--platform", "dgx1v",       "--set", "platform.fabric.oversubscription=64",
      "--nodes",    "256",        "--algorithm", "ring"};
  for (int group = 0; group < 2; ++group) {
    std::string ranks;
    for (int node = group; node < 256; node += 2)
      ranks += fmt::format("{}{}-{}", ranks.empty() ? "" : ",", 8 * node, 8 * node + 7);
    two_rings.insert(two_rings.end(), {"--group", ranks});
  }
  all.push_back(collective_case("two contending rings of 1,024 GPUs", 0.06, std::move(two_rings)));
  return all;
}

std::vector<Case> cases(const std::string& program) {
  std::vector<Case> all{{.name = "process start (--version)", .arguments = {"--version"}},
                        training_case("ResNet-50, DGX-2, 8 GPUs", "gpus=8", 8),
                        training_case("ResNet-50, DGX-2, 64 GPUs", "nodes=4", 64),
                        training_case("ResNet-50, DGX-2, 1,024 GPUs", "nodes=64", 1024),
                        training_case("ResNet-50, DGX-2, 8,192 GPUs", "nodes=512", 8192),
                        training_case("ResNet-50, DGX-2, 65,536 GPUs", "nodes=4096", 65536)};
  all[4].memory_limit = Bytes(200e6);
  all[5].memory_limit = Bytes(500e6);
  for (Case& one : collective_cases()) all.push_back(std::move(one));
  all.push_back({.name = "all-reduce of 1 GiB, DGX-2, 12 GPUs",
                 .arguments = {"collective", "all_reduce", "--platform", "dgx2", "--gpus", "12", "-b", "1G",
                               "-e", "1G", "--json"},
                 .answer = "/rows/0/time_s"});
  all.push_back({.name = "ring search, cube mesh and its pairs",
                 .arguments = {"topology", "dgx1v"},
                 .cpu_limit = Seconds(0.05)});
  for (Case& one : shipped_cases(program)) all.push_back(std::move(one));
  return all;
}

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
      const ChildRun run = run_case(program, all[i].arguments);
      cpu[i].push_back(run.cpu);
      results[i].peak_memory = std::max(results[i].peak_memory, run.peak_memory);
      if (all[i].answer && repetition == 0) results[i].answer_s = answer_in(run.output, *all[i].answer);
    }
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    results[i].cpu = *std::min_element(cpu[i].begin(), cpu[i].end());
    results[i].median_cpu = median(std::move(cpu[i]));
    if (!all[i].answer) continue;
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
             measured.answer_s ? fmt::format("{:.6f}", *measured.answer_s / *measured.closed_s) : "",
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
