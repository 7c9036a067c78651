#include "engine/tournament.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <rapidcheck.h>

using trainyard::engine::Tournament;

TEST_CASE("the first of any dates, changed one by one or all together, is the least") {
  CHECK(rc::check("as a search through all", [] {
    const int players = *rc::gen::inRange(1, 40);
    std::vector<double> dates(static_cast<std::size_t>(players), Tournament::never);
    Tournament tournament(players);
    for (int round = 0; round < 50; ++round) {
      const bool is_together = *rc::gen::arbitrary<bool>();
      const int changes = is_together ? players : 1;
      for (int i = 0; i < changes; ++i) {
        const int player = *rc::gen::inRange(0, players);
        const double date = *rc::gen::inRange(0, 20);
        dates[static_cast<std::size_t>(player)] = date;
        tournament.set(player, date);
        if (!is_together) tournament.settle(player);
      }
      if (is_together) tournament.settle_all();
      const auto least = std::min_element(dates.begin(), dates.end());  // the first of equal ones
      RC_ASSERT(tournament.first() == least - dates.begin());
      RC_ASSERT(tournament.date(tournament.first()) == *least);
    }
  }));
}
