#include "limits/run_limits.hpp"

#include "config/diagnostic.hpp"
#include "units/plural.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <ctime>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>
#include <utility>

namespace trainyard {
namespace {

constexpr double many = 3e7;       // things: minutes
constexpr double too_many = 1e11;  // a slip of the pen unless --max-time asks for it
constexpr Bytes large_memory{1e9};
constexpr long tick_us = 50'000;  // within which a process may exceed a limit
constexpr int exit_in_parent = 4;

constexpr std::string_view not_begun = "not begun: ";
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
  std::string announced = {};  ///< the things of the last note
};

/// The only data that the signal handler may touch.
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

Bytes memory_of_this_computer() {
  return Bytes(static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE)));
}

}  // namespace

LimitsKept::LimitsKept(const RunLimits& limits, std::function<void(const std::string&)> announce) {
  kept = Kept{.limits = limits, .announce = std::move(announce)};
  watch = {};
  if (limits.are_of_points) return;  // its children keep them
  if (limits.time) watch.deadline = now() + limits.time->si();
  if (limits.memory) watch.most_kib = std::max(1L, static_cast<long>(limits.memory->si() / 1024));
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

void expect(double count, std::string_view things, Bytes each, std::string_view instead) {
  if (!kept) return;
  const RunLimits& limits = kept->limits;
  const Bytes memory = count * each;
  const std::string quicker = instead.empty() ? "" : fmt::format("; {}", instead);
  const std::string counted = fmt::format("{} {}", grouped(std::llround(std::min(count, 1e18))), things);
  const Bytes most = limits.memory.value_or(memory_of_this_computer());
  if (memory > most)
    throw JobImpossible(fmt::format("{}{} take {}, {} {}{}", not_begun, counted, human(memory),
                                    limits.memory ? "above --max-memory" : "and this computer has",
                                    limits.memory ? exact(most) : human(most), quicker));
  if (count > too_many && !limits.time)
    throw JobImpossible(
        fmt::format("{}{} take more than a week; --max-time with a larger value begins it all the same{}",
                    not_begun, counted, quicker));
  if ((count < many && memory < large_memory) || !kept->announce || kept->announced == things) return;
  kept->announced = things;
  kept->announce(
      fmt::format("note: {} take {}{}", counted, memory < large_memory ? "minutes" : human(memory), quicker));
}

void expect_ops(double count, std::string_view instead) {
  expect(count, "ops", Bytes(kept && kept->limits.simulates ? 3100 : 220), instead);
}

void leave_limits_to_children() {
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
