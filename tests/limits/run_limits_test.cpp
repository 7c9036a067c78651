#include "limits/run_limits.hpp"

#include "config/diagnostic.hpp"

#include <doctest/doctest.h>
#include <functional>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

using namespace trainyard;

namespace {

constexpr Work of_a_minute{.messages = 6e6};

/// As in the parent of a sweep, which no watch ends.
std::string refusal(RunLimits limits, const Work& work) {
  limits.are_of_points = true;
  const LimitsKept kept(limits, {});
  try {
    expect(work, "do less");
  } catch (const JobImpossible& error) {
    return error.what();
  }
  return {};
}

/// The exit code of a child that runs `act` under these limits.
int end_of_child(const RunLimits& limits, const std::function<void()>& act) {
  const pid_t child = ::fork();
  if (child == 0) {
    keep_limits_in_child();
    act();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK(limits.time.has_value() + limits.memory.has_value() == 1);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

[[noreturn]] void fill_memory() {
  std::vector<std::vector<char>> all;
  for (;;) all.emplace_back(std::size_t{1} << 20U, 'x');
}

}  // namespace

TEST_CASE("long work is announced once, and again if it becomes much more, short work never") {
  std::vector<std::string> notes;
  const LimitsKept kept({}, [&](const std::string& note) { notes.push_back(note); });
  expect({.messages = 100});
  CHECK(notes.empty());
  expect(of_a_minute, "fidelity flow is quicker");
  expect(of_a_minute);
  REQUIRE(notes.size() == 1);
  CHECK(notes.front().find("; fidelity flow is quicker") != std::string::npos);
  expect({.messages = 10 * of_a_minute.messages});
  CHECK(notes.size() == 2);  // much more than was announced
}

TEST_CASE("work that adds up is announced when all of it is long") {
  int notes = 0;
  const LimitsKept kept({}, [&](const std::string&) { ++notes; });
  for (int i = 0; i < 10; ++i) expect({.messages = 6e4});
  CHECK(notes == 0);
  for (int i = 0; i < 30; ++i) expect({.messages = 6e4});
  CHECK(notes == 1);
}

TEST_CASE("work above a limit is not begun, and the reason says so") {
  const std::string time = refusal({.time = Seconds(1)}, of_a_minute);
  CHECK(time.find("--max-time 1 s") != std::string::npos);
  CHECK(time.find("do less") != std::string::npos);
  CHECK(is_limit_reason(time));
  const std::string memory = refusal({.memory = Bytes(1e6)}, {.listed_ops = 1e6});
  CHECK(memory.find("--max-memory 1 MB") != std::string::npos);
  CHECK(refusal({.time = Seconds(1e6), .memory = Bytes(1e12)}, of_a_minute).empty());
}

TEST_CASE(
    "a command that only lists ops expects nothing of their simulation, and one whose parts may fail refuses "
    "none") {
  CHECK_FALSE(refusal({.time = Seconds(1)}, {.simulated_ops = 1e8}).empty());
  CHECK(refusal({.time = Seconds(1), .simulates = false}, {.simulated_ops = 1e8}).empty());
  const LimitsKept kept({.time = Seconds(1), .are_of_points = true}, {});
  expect_no_more();
  CHECK_NOTHROW(expect(of_a_minute));
}

TEST_CASE("work for more than this computer's memory or a week is not begun unless a limit allows it") {
  constexpr Work large{.written_bars = 1e12};  // 1.5 PB
  constexpr Work long_work{.messages = 1e13};  // 700 days
  const auto reason = [](const RunLimits& limits, const Work& work) {
    const LimitsKept these(limits, {});
    try {
      expect(work);
    } catch (const JobImpossible& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(reason({}, large).find("--max-memory with a larger value") != std::string::npos);
  CHECK(reason({}, long_work).find("--max-time with a larger value") != std::string::npos);
  CHECK(is_limit_reason(reason({}, long_work)));
  CHECK(reason({.time = Seconds{1e9}}, long_work).empty());
  CHECK(reason({.time = Seconds{1e9}, .memory = Bytes{1e18}}, large).empty());
}

TEST_CASE("without limits nothing is announced or refused") { CHECK_NOTHROW(expect(of_a_minute)); }

TEST_CASE("a child that exceeds the time of its part or its memory ends with a reason") {
  {
    const RunLimits limits{.time = Seconds(0.01), .are_of_points = true};
    const LimitsKept kept(limits, {});
    const int code = end_of_child(limits, [] {
      for (;;) ::pause();
    });
    CHECK(limit_exceeded(code) == "stopped after --max-time 10 ms");
    CHECK(is_limit_reason(limit_exceeded(code)));
  }
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const RunLimits limits{.memory = Bytes(1024.0 * static_cast<double>(usage.ru_maxrss) + 2e7),
                         .are_of_points = true};
  const LimitsKept kept(limits, {});
  const std::string reason = limit_exceeded(end_of_child(limits, fill_memory));
  CHECK(reason.starts_with("stopped at --max-memory "));
  CHECK(is_limit_reason(reason));
  CHECK(end_of_child(limits, [] {}) == 0);
}
