#include "report/group_table.hpp"

#include <doctest/doctest.h>

using namespace trainyard;

namespace {

std::string words(const std::vector<int>& numbers) {
  std::vector<Rank> ranks;
  for (const int number : numbers) ranks.push_back(Rank{number});
  return ranks_in_words(ranks);
}

}  // namespace

TEST_CASE("ranks in words: consecutive, at equal distances, and others") {
  CHECK(words({}).empty());
  CHECK(words({3}) == "3");
  CHECK(words({0, 1, 2, 3, 4, 5, 6, 7}) == "0-7");
  CHECK(words({0, 128}) == "0, 128");
  CHECK(words({0, 8, 16, 24, 32}) == "0, 8, 16 to 32");
  CHECK(words({0, 1, 8, 9, 16}) == "0, 1, 8 ... 16");
}

TEST_CASE("the place of a group: a socket, a node, or several") {
  GroupsOfKind kind;
  kind.sockets = 1;
  CHECK(place_in_words(kind) == "inside a socket");
  kind.sockets = 2;
  CHECK(place_in_words(kind) == "inside a node, 2 sockets");
  kind.nodes = 1200;
  CHECK(place_in_words(kind) == "1,200 nodes");
}
