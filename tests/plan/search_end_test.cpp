#include "plan/search_end.hpp"

#include <doctest/doctest.h>

using namespace trainyard;

TEST_CASE("a search ends after its time, and stays late") {
  SearchEnd::Clock::time_point now{};
  SearchEnd end(
      Seconds(2), [] { return false; }, [&] { return now; });
  now += std::chrono::seconds(2);
  CHECK_FALSE(end.is_asked());
  CHECK_FALSE(end.was_asked());
  now += std::chrono::milliseconds(1);
  CHECK(end.is_asked());
  CHECK(end.is_late());
  now -= std::chrono::seconds(1);
  CHECK(end.is_asked());
}

TEST_CASE("a search without a time ends when the user asks for it, which is not late") {
  bool is_interrupted = false;
  SearchEnd end({}, [&] { return is_interrupted; });
  CHECK_FALSE(end.is_asked());
  is_interrupted = true;
  CHECK_FALSE(end.was_asked());  // nothing was ended yet
  CHECK(end.is_asked());
  CHECK(end.was_asked());
  CHECK_FALSE(end.is_late());
}
