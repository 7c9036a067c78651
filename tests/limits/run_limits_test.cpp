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

/// As in the parent of a sweep, which no watch ends.
std::string refusal(RunLimits limits, double count, Bytes each) {
  limits.are_of_points = true;
  const LimitsKept kept(limits, {});
  try {
    expect(count, "things", each, "do less");
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

TEST_CASE("a count that takes minutes or gigabytes is announced once, others never") {
  std::vector<std::string> notes;
  const LimitsKept kept({}, [&](const std::string& note) { notes.push_back(note); });
  expect(1e7, "messages", {}, "fidelity flow is quicker");
  CHECK(notes.empty());
  for (int i = 0; i < 2; ++i) expect(4e7, "messages", {}, "fidelity flow is quicker");
  expect_ops(1e6, "");
  CHECK(notes == std::vector<std::string>{"note: 40,000,000 messages take minutes; fidelity flow is quicker",
                                          "note: 1,000,000 ops take 3.1 GB"});
}

TEST_CASE("a count that takes more memory than is allowed, or than there is, is not begun") {
  const std::string memory = refusal({.memory = Bytes(1e6)}, 1e4, Bytes(1e3));
  CHECK(memory.find("--max-memory 1 MB; do less") != std::string::npos);
  CHECK(is_limit_reason(memory));
  CHECK(refusal({.memory = Bytes(1e8)}, 1e4, Bytes(1e3)).empty());
  CHECK(refusal({}, 1e12, Bytes(1e6)).find("and this computer has") != std::string::npos);
  CHECK(refusal({.time = Seconds(1e9), .memory = Bytes(1e19)}, 1e12, Bytes(1e6)).empty());
}

TEST_CASE("more than about a week is not begun unless a limit allows it") {
  const std::string reason = refusal({}, 1e13, {});
  CHECK(reason.find("--max-time with a larger value") != std::string::npos);
  CHECK(is_limit_reason(reason));
  CHECK(refusal({.time = Seconds{1}}, 1e13, {}).empty());
}

TEST_CASE("ops that are only listed take a tenth of the memory") {
  for (const bool simulates : {true, false}) {
    const LimitsKept kept({.memory = Bytes(1e9), .are_of_points = true, .simulates = simulates}, {});
    if (simulates)
      CHECK_THROWS_AS(expect_ops(1e6, ""), JobImpossible);
    else
      CHECK_NOTHROW(expect_ops(1e6, ""));
  }
}

TEST_CASE("without limits nothing is announced or refused") { CHECK_NOTHROW(expect(1e13, "things", {}, "")); }

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
