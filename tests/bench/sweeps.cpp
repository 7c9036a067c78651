#include "bench/sweeps.hpp"

#include "bench/child.hpp"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <stdexcept>
#include <vector>

namespace trainyard::bench {

namespace {

struct Sweep {
  const char* name;
  std::vector<std::string> set;
  double limit_s;  ///< of wall time
};

/// Five models, five batches and 16 numbers of nodes, up to 64 GPUs; and 25 batches and five networks.
const std::vector<Sweep> all_sweeps{
    {"400 points, -j2", {"batch_per_gpu=8..128 times 2"}, 3},
    {"10,000 points, -j2",
     {"batch_per_gpu=4..100 step 4", "platform.fabric.nic=10 Gbps,25 Gbps,40 Gbps,50 Gbps,100 Gbps"},
     60}};

struct Measured {
  double wall_s = 0;
  ChildRun run;
};

Measured measure(const std::vector<std::string>& command) {
  const auto begun = std::chrono::steady_clock::now();
  Measured measured{.wall_s = 0, .run = run_child(command)};
  measured.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  return measured;
}

Measured measure(const std::string& program, const std::filesystem::path& out, const Sweep& sweep) {
  std::vector<std::string> command{program,
                                   "sweep",
                                   "resnet50_p3_8xlarge",
                                   "-j",
                                   "2",
                                   "--out",
                                   out.string(),
                                   "--set",
                                   "nodes=1..16",
                                   "--set",
                                   "model=resnet50,resnet101,alexnet,vgg16,inception_v3"};
  for (const std::string& set : sweep.set) command.insert(command.end(), {"--set", set});
  Measured measured = measure(command);
  constexpr int some_failed = 4;  // a batch may not fit
  if (measured.run.exit_code != 0 && measured.run.exit_code != some_failed)
    throw std::runtime_error(
        fmt::format("the sweep of {} ended with {}", sweep.name, measured.run.exit_code));
  return measured;
}

}  // namespace

bool sweeps(const std::string& program) {
  constexpr double as_much = 2;  // memory of 25 times the points: the rows of all are exported together
  std::string name = (std::filesystem::temp_directory_path() / "trainyard-bench-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no folder for the sweeps");
  const std::filesystem::path folder = name;
  bool all_within = true;
  fmt::print("\n{:<38}{:>9}{:>9}{:>9}{:>10}\n", "sweeps", "wall", "limit", "CPU", "peak RSS");
  double first_peak = 0;
  for (const Sweep& sweep : all_sweeps) {
    const Measured measured = measure(program, folder / std::to_string(sweep.limit_s), sweep);
    const double peak = measured.run.peak_memory.si();
    if (first_peak == 0) first_peak = peak;
    const bool is_within = measured.wall_s <= sweep.limit_s && peak <= as_much * first_peak;
    all_within = all_within && is_within;
    fmt::print("{:<38}{:>7.2f} s{:>7.0f} s{:>7.2f} s{:>7.0f} MB  {}\n", sweep.name, measured.wall_s,
               sweep.limit_s, measured.run.cpu.si(), peak / 1e6, is_within ? "ok" : "MISSED");
    std::fflush(stdout);
  }
  std::filesystem::remove_all(folder);
  const Measured faults = measure(
      {"/usr/bin/python3", TRAINYARD_SOURCE_DIR "/tests/sweep_faults.py", program, "--cycles", "200"});
  fmt::print("{}", faults.run.output);
  return all_within && faults.run.exit_code == 0;
}

}  // namespace trainyard::bench
