#include "limits/run_limits.hpp"

#include "config/diagnostic.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <csignal>
#include <ctime>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>
#include <utility>

namespace trainyard {
namespace {

constexpr Seconds long_time{10};
constexpr Bytes large_memory{1e9};
constexpr long tick_us = 50'000;  // within which a process may exceed a limit
constexpr int exit_in_parent = 4;

/// Longer work is a slip of the pen unless --max-time asks for it.
constexpr Seconds week{7 * 24 * 3600.0};

constexpr std::string_view not_begun = "not begun: it would take ";
constexpr std::string_view stopped_after = "stopped after --max-time ";
constexpr std::string_view stopped_at = "stopped at --max-memory ";

std::string over_time(const RunLimits& limits) {
  return limits.time ? fmt::format("{}{}", stopped_after, exact(*limits.time)) : "";
}

std::string over_memory(const RunLimits& limits) {
  return limits.memory ? fmt::format("{}{}", stopped_at, exact(*limits.memory)) : "";
}

struct Kept {
  RunLimits limits;
  std::function<void(const std::string&)> announce;
  Cost cost = {};  ///< of all work so far; its memory is that of the largest
  std::optional<Cost> announced = {};
  bool expects = true;
};

/// What the signal handler reads; it may not touch anything else.
struct Watch {
  double deadline = 0;  ///< of the monotonic clock; 0: none
  long most_kib = 0;    ///< 0: any
  int time_exit = exit_in_parent;
  int memory_exit = exit_in_parent;
  std::string time_text;  ///< empty: nothing is written
  std::string memory_text;
};

std::optional<Kept> kept;
Watch watch;

double now() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

[[noreturn]] void end_with(const std::string& text, int code) {
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
  ::_exit(code);
}

/// Calls only functions that POSIX allows in a signal handler, and getrusage, a system call.
extern "C" void check_limits(int) {
  if (watch.deadline > 0 && now() > watch.deadline) end_with(watch.time_text, watch.time_exit);
  if (watch.most_kib == 0) return;
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  if (usage.ru_maxrss > watch.most_kib) end_with(watch.memory_text, watch.memory_exit);
}

void set_timer(long interval_us) {
  const itimerval timer{.it_interval = {.tv_sec = 0, .tv_usec = interval_us},
                        .it_value = {.tv_sec = 0, .tv_usec = interval_us}};
  ::setitimer(ITIMER_REAL, &timer, nullptr);
}

void start_watch() {
  if (watch.deadline <= 0 && watch.most_kib == 0) return;
  struct sigaction action {};
  action.sa_handler = check_limits;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  ::sigaction(SIGALRM, &action, nullptr);
  check_limits(SIGALRM);
  set_timer(tick_us);
}

/// Whether users should hear of this cost, who know of another one if that was announced.
bool is_news(const Cost& cost, const std::optional<Cost>& announced) {
  if (!announced) return cost.time >= long_time || cost.memory >= large_memory;
  constexpr double much = 3;
  return cost.time > much * std::max(announced->time, long_time) ||
         cost.memory > much * std::max(announced->memory, large_memory);
}

Bytes memory_of_this_computer() {
  return Bytes(static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE)));
}

/// Where the user sets no limit: what this computer cannot hold, or nobody waits for.
void require_sane(const Cost& cost, const RunLimits& limits, std::string_view instead) {
  const Bytes memory = memory_of_this_computer();
  const bool is_large = !limits.memory && cost.memory > memory;
  if (!is_large && (limits.time || cost.time <= week)) return;
  throw JobImpossible(fmt::format(
      "{}{}, {}; {} with a larger value begins it all the same{}", not_begun, in_words(cost),
      is_large ? fmt::format("and this computer has {} of memory", human(memory)) : "more than a week",
      is_large ? "--max-memory" : "--max-time", instead.empty() ? "" : fmt::format("; {}", instead)));
}

void require_below(const Cost& cost, const RunLimits& limits, std::string_view instead) {
  require_sane(cost, limits, instead);
  const bool is_long = limits.time && cost.time > *limits.time;
  const bool is_large = limits.memory && cost.memory > *limits.memory;
  if (!is_long && !is_large) return;
  throw JobImpossible(
      fmt::format("{}{}, above {}{}{}", not_begun, in_words(cost),
                  is_long ? "--max-time " + exact(*limits.time) : "--max-memory " + exact(*limits.memory),
                  instead.empty() ? "" : "; ", instead));
}

}  // namespace

LimitsKept::LimitsKept(const RunLimits& limits, std::function<void(const std::string&)> announce) {
  kept = Kept{.limits = limits, .announce = std::move(announce)};
  watch = {};
  if (limits.are_of_points) return;  // its children keep them
  if (limits.time) watch.deadline = now() + limits.time->si();
  if (limits.memory) watch.most_kib = static_cast<long>(limits.memory->si() / 1024);
  watch.time_text = fmt::format("trainyard: error: {}\n", over_time(limits));
  watch.memory_text = fmt::format("trainyard: error: {}\n", over_memory(limits));
  start_watch();
}

LimitsKept::~LimitsKept() {
  set_timer(0);
  watch.deadline = 0;  // a last signal may be under way
  watch.most_kib = 0;
  kept.reset();
}

void expect(Work work, std::string_view instead) {
  if (!kept || !kept->expects) return;
  if (!kept->limits.simulates) work.simulated_ops = 0;
  const Cost added = cost_of(work);
  kept->cost.time += added.time;
  kept->cost.memory = std::max(kept->cost.memory, added.memory);
  const Cost& cost = kept->cost;
  require_below(cost, kept->limits, instead);
  if (!kept->announce || !is_news(cost, kept->announced)) return;
  kept->announced = cost;
  kept->announce(
      fmt::format("note: this will take {}{}{}", in_words(cost), instead.empty() ? "" : "; ", instead));
}

void expect_no_more() {
  if (kept) kept->expects = false;
}

void leave_limits_to_children() {
  if (kept) kept->limits.time.reset();
  watch.deadline = 0;
  watch.most_kib = 0;
}

void keep_limits_in_child() {
  if (!kept) return;
  kept->announce = {};
  watch = {.time_exit = exit_over_time, .memory_exit = exit_over_memory, .time_text = {}, .memory_text = {}};
  if (kept->limits.memory) watch.most_kib = static_cast<long>(kept->limits.memory->si() / 1024);
  begin_part();
  start_watch();
}

void begin_part() {
  if (!kept) return;
  kept->cost = {};
  if (kept->limits.are_of_points && kept->limits.time) watch.deadline = now() + kept->limits.time->si();
}

bool is_limit_reason(std::string_view reason) {
  return reason.starts_with(not_begun) || reason.starts_with(stopped_after) || reason.starts_with(stopped_at);
}

std::string limit_exceeded(int exit_code) {
  if (!kept) return {};
  if (exit_code == exit_over_time) return over_time(kept->limits);
  return exit_code == exit_over_memory ? over_memory(kept->limits) : std::string();
}

}  // namespace trainyard
