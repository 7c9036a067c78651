#include "run/child_processes.hpp"

#include "config/diagnostic.hpp"
#include "engine/flow_network.hpp"
#include "errors_of.hpp"

#include <algorithm>
#include <csignal>
#include <doctest/doctest.h>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

using namespace trainyard;

namespace {

/// The outcomes of the numbers below `count`, by number.
std::map<int, ChildOutcome> outcomes_of(int count, int parallel,
                                        const std::function<std::string(int)>& make) {
  std::map<int, ChildOutcome> outcomes;
  int begun = 0;
  for_each_in_workers(
      parallel,
      [&]() -> std::optional<int> { return begun == count ? std::nullopt : std::optional(begun++); }, make,
      [&](int number, ChildOutcome outcome) {
        CHECK(outcomes.count(number) == 0);
        outcomes[number] = std::move(outcome);
      });
  return outcomes;
}

/// How many processes made the values.
std::size_t processes(const std::map<int, ChildOutcome>& outcomes) {
  std::set<std::string> all;
  for (const auto& [number, outcome] : outcomes) all.insert(outcome.text);
  return all.size();
}

std::string own_process(int /*number*/) { return std::to_string(::getpid()); }

bool has_no_child() { return ::waitpid(-1, nullptr, WNOHANG) == -1; }

}  // namespace

TEST_CASE("a worker computes one number after another, 512 at most") {
  CHECK(processes(outcomes_of(512, 1, own_process)) == 1);
  CHECK(processes(outcomes_of(1026, 1, own_process)) == 3);
  CHECK(processes(outcomes_of(40, 3, own_process)) <= 3);
  CHECK(outcomes_of(0, 2, own_process).empty());
  CHECK(has_no_child());
}

TEST_CASE("a worker in which SimGrid has simulated is replaced") {
  const auto make = [](int number) {
    if (number % 3 == 0) engine::make_simgrid_network({Bandwidth{1e9}});  // once per process
    return own_process(number);
  };
  const std::map<int, ChildOutcome> outcomes = outcomes_of(7, 1, make);
  for (const auto& [number, outcome] : outcomes) CHECK(outcome.kind == ChildOutcome::value);
  CHECK(processes(outcomes) == 3);  // 0; 1 to 3; 4 to 6
  CHECK(has_no_child());
}

TEST_CASE("a worker that dies fails its number only") {
  const std::map<int, ChildOutcome> outcomes = outcomes_of(20, 2, [](int number) {
    if (number == 5) ::raise(SIGKILL);
    if (number == 9) ::_exit(3);
    return std::to_string(number);
  });
  REQUIRE(outcomes.size() == 20);
  for (const auto& [number, outcome] : outcomes) {
    if (number == 5)
      CHECK(outcome.text == "its process was killed by signal 9 (out of memory?)");
    else if (number == 9)
      CHECK(outcome.text == "its process ended with exit code 3");
    else
      CHECK(outcome.text == std::to_string(number));
  }
  CHECK(has_no_child());
}

TEST_CASE("an exception in a worker arrives as its kind, and a long value as a whole") {
  const std::string megabytes(5'000'000, 'x');
  const std::map<int, ChildOutcome> outcomes = outcomes_of(5, 2, [&](int number) -> std::string {
    if (number == 0) throw InputError("wrong");
    if (number == 1) throw JobImpossible("impossible");
    if (number == 2) throw FileError("unreadable");
    if (number == 3) throw std::runtime_error("a bug");
    return megabytes;
  });
  CHECK_THROWS_AS(value_of(outcomes.at(0)), InputError);
  CHECK_THROWS_AS(value_of(outcomes.at(1)), JobImpossible);
  CHECK_THROWS_AS(value_of(outcomes.at(2)), FileError);
  CHECK_THROWS_WITH(value_of(outcomes.at(3)), "a bug");
  CHECK(value_of(outcomes.at(4)) == megabytes);
}

TEST_CASE("too little memory in a worker is no bug: the job is impossible on this computer") {
  const std::map<int, ChildOutcome> outcomes =
      outcomes_of(1, 1, [](int /*number*/) -> std::string { throw std::bad_alloc(); });
  CHECK(outcomes.at(0).kind == ChildOutcome::job_impossible);
  CHECK(outcomes.at(0).text == too_little_memory);
}

TEST_CASE("where the parent gives up, no worker is left") {
  int begun = 0;
  const auto next = [&]() -> std::optional<int> { return begun++; };
  const auto make = [](int number) -> std::string {
    if (number > 0) ::pause();
    return {};
  };
  CHECK_THROWS_WITH(
      for_each_in_workers(3, next, make, [](int, const ChildOutcome&) { throw std::runtime_error("full"); }),
      "full");
  CHECK(has_no_child());
}

TEST_CASE("where the next number cannot be had, the error arrives and no worker is left") {
  int begun = 0;
  const auto next = [&]() -> std::optional<int> {
    if (begun == 2) throw std::runtime_error("no more");
    return begun++;
  };
  const auto make = [](int number) -> std::string {
    if (number > 0) ::pause();
    return {};
  };
  int done = 0;
  CHECK_THROWS_WITH(for_each_in_workers(2, next, make, [&](int, const ChildOutcome&) { ++done; }), "no more");
  CHECK(done == 1);
  CHECK(has_no_child());
}

TEST_CASE("work that is stopped has the results of what was begun, in order") {
  int begun = 0;
  const auto results = in_children(
      10, 2, [](int number) { return std::to_string(number); }, [&] { return begun++ == 3; });
  CHECK(results == std::vector<std::string>{"0", "1", "2"});
}

TEST_CASE("a worker may have workers of its own") {
  const std::map<int, ChildOutcome> outcomes = outcomes_of(3, 2, [](int number) {
    std::string all;
    for (const std::string& value :
         in_children(4, 2, [&](int inner) { return std::to_string(10 * number + inner) + " "; }))
      all += value;
    if (number == 1) in_children(1, 1, [](int) -> std::string { throw JobImpossible("impossible"); });
    return all + (has_no_child() ? "alone" : "with a child");
  });
  REQUIRE(outcomes.size() == 3);
  CHECK(outcomes.at(0).text == "0 1 2 3 alone");
  CHECK(outcomes.at(1).kind == ChildOutcome::job_impossible);
  CHECK(outcomes.at(2).text == "20 21 22 23 alone");
  CHECK(has_no_child());
}

TEST_CASE("children answer in order, and the error of the lowest number arrives") {
  const auto numbers = in_children(5, 3, [](int i) {
    ::usleep(i == 0 ? 20'000 : 0);  // the first is not the first to end
    return packed({1.0 * i, 0.1});
  });
  REQUIRE(numbers.size() == 5);
  for (std::size_t i = 0; i < 5; ++i) CHECK(unpacked(numbers[i]) == std::vector{static_cast<double>(i), 0.1});
  CHECK(in_children(1, 0, own_process).size() == 1);
  const Diagnostic error = only_error([] {
    in_children(3, 2, [](int i) -> std::string {
      if (i == 1) throw InputError("an input");
      return i == 2 ? throw std::logic_error("a fault") : "fine";
    });
  });
  CHECK(error.message == "an input");
}
