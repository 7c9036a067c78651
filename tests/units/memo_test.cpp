#include "units/memo.hpp"

#include <doctest/doctest.h>
#include <functional>
#include <stdexcept>
#include <string>

using namespace trainyard;

TEST_CASE("a memo computes the value of a key once, unless that throws") {
  Memo<std::string, int> memo(8);
  int made = 0;
  const auto make = [&] { return ++made; };
  CHECK(memo.get("a", make) == 1);
  CHECK(memo.get("b", make) == 2);
  CHECK(memo.get("a", make) == 1);
  const auto fail = []() -> int { throw std::runtime_error("no"); };
  CHECK_THROWS(memo.get("c", fail));
  CHECK_THROWS(memo.get("c", fail));
  CHECK(memo.get("c", make) == 3);
}

TEST_CASE("a memo forgets all values before it keeps more than it may") {
  Memo<int, int> memo(3);
  int made = 0;
  const auto get = [&](int key) { return memo.get(key, [&] { return ++made; }); };
  for (const int key : {0, 1, 2, 0, 1, 2}) get(key);
  CHECK(made == 3);
  get(3);
  CHECK(made == 4);
  get(3);
  CHECK(made == 4);
  get(0);
  CHECK(made == 5);
}

TEST_CASE("a value of a memo may come from others of the same memo") {
  Memo<int, int> memo(2);  // so few that they are forgotten meanwhile
  const std::function<int(int)> sum_to = [&](int number) {
    return memo.get(number, [&] { return number == 0 ? 0 : number + sum_to(number - 1); });
  };
  CHECK(sum_to(10) == 55);
}
