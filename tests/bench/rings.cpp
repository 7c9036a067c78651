#include "bench/rings.hpp"

#include "engine/child.hpp"
#include "engine/flat_network.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <sys/resource.h>

namespace trainyard::bench {

namespace {

double children_cpu() {
  rusage usage{};
  ::getrusage(RUSAGE_CHILDREN, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

struct Rings {
  double first = 0, second = 0;  ///< seconds each takes
  double cpu = 0;
};

Rings measure(const TaskGraph& graph, Fidelity fidelity) {
  const double before = children_cpu();
  const Timeline timeline = testing::run_in_child(graph, {.fidelity = fidelity, .recorded = {}});
  const auto taken = [&](std::size_t ring) {
    return (timeline.collectives[ring].end - timeline.collectives[ring].start).si();
  };
  return {taken(0), taken(1), children_cpu() - before};
}

}  // namespace

bool contending_rings() {
  constexpr int hosts = 256;
  const TaskGraph graph = testing::two_rings(hosts, Bytes{25.0 * 1048576}, Bandwidth{12.5e9}, Seconds{5e-6});
  const Rings steps = measure(graph, Fidelity::messages);
  bool all_within = true;
  fmt::print("\ntwo contending rings, {} hosts, 25 and 15 MiB, 12.5 GB/s, 5 us, the second 1 ms later\n",
             hosts);
  const auto row = [&](std::string_view name, const Rings& rings, double limit) {
    const double error =
        std::max(std::abs(rings.first / steps.first - 1), std::abs(rings.second / steps.second - 1));
    all_within = all_within && error <= limit;
    fmt::print("{:<10}{:>12.6f} ms{:>12.6f} ms   off by {:<10.3g}{:>9.3f} s CPU  {}\n", name,
               1e3 * rings.first, 1e3 * rings.second, error, rings.cpu, error <= limit ? "ok" : "MISSED");
  };
  row("steps", steps, 0);
  row("rounds", measure(graph, Fidelity::rounds), 1e-6);
  row("flow", measure(graph, Fidelity::flow), 1e-2);
  return all_within;
}

}  // namespace trainyard::bench
