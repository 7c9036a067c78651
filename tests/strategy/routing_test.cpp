#include "strategy/routing.hpp"

#include <algorithm>
#include <bit>
#include <doctest/doctest.h>
#include <numeric>
#include <rapidcheck.h>

using namespace trainyard;

TEST_CASE("without skew all experts have equal loads") {
  const std::vector<double> shares = expert_shares(8, 2, 0, 1, 0);
  CHECK(shares == std::vector<double>(8, 0.125));
  CHECK(imbalance_of(shares, 4) == 1);
}

TEST_CASE("loads follow Zipf's law in some order") {
  std::vector<double> shares = expert_shares(4, 1, 1, 7, 0);
  std::ranges::sort(shares, std::greater{});
  const double sum = 1 + 1.0 / 2 + 1.0 / 3 + 1.0 / 4;
  for (std::size_t i = 0; i < shares.size(); ++i)
    CHECK(shares[i] == doctest::Approx(1 / (static_cast<double>(i + 1) * sum)).epsilon(1e-12));
}

TEST_CASE("no expert gets more than every token once") {
  std::vector<double> shares = expert_shares(4, 2, 2, 1, 0);
  std::ranges::sort(shares, std::greater{});
  CHECK(shares[0] == 0.5);  // instead of 0.70 of all copies
  const double rest = 1.0 / 4 + 1.0 / 9 + 1.0 / 16;
  CHECK(shares[1] == doctest::Approx(0.5 / 4 / rest).epsilon(1e-12));
}

TEST_CASE("the same seed gives the same loads, another seed or layer others") {
  const std::vector<double> first = expert_shares(64, 2, 0.5, 1, 3);
  CHECK(first == expert_shares(64, 2, 0.5, 1, 3));
  CHECK(first != expert_shares(64, 2, 0.5, 2, 3));
  CHECK(first != expert_shares(64, 2, 0.5, 1, 4));
}

TEST_CASE("the imbalance is the load of the fullest rank over the mean") {
  CHECK(imbalance_of({0.4, 0.1, 0.2, 0.3}, 4) == doctest::Approx(1.6));
  CHECK(imbalance_of({0.4, 0.1, 0.2, 0.3}, 2) == 1);
  CHECK(imbalance_of({0.4, 0.2, 0.1, 0.3}, 2) == doctest::Approx(1.2));
  CHECK(imbalance_of({0.4, 0.1, 0.2, 0.3}, 1) == 1);
}

TEST_CASE("shares add up to one, none is above 1 / per_token, and more skew never helps the fullest expert") {
  CHECK(rc::check([] {
    const int experts = *rc::gen::inRange(2, 65);
    const int per_token = *rc::gen::inRange(1, experts + 1);
    const double skew = *rc::gen::inRange(0, 40) / 10.0;
    const std::vector<double> shares = expert_shares(experts, per_token, skew, *rc::gen::inRange(0, 99), 0);
    RC_ASSERT(std::abs(std::accumulate(shares.begin(), shares.end(), 0.0) - 1) < 1e-9);
    RC_ASSERT(std::ranges::max(shares) <= 1.0 / per_token + 1e-12);
    RC_ASSERT(std::ranges::min(shares) >= 0);
    const std::vector<double> even = expert_shares(experts, per_token, skew / 2, 0, 0);
    RC_ASSERT(std::ranges::max(shares) >= std::ranges::max(even) - 1e-12);
    for (int ranks = 1; ranks <= experts; ++ranks) {
      if (experts % ranks == 0) RC_ASSERT(imbalance_of(shares, ranks) >= 1);
    }
  }));
}

namespace {

/// All subsets of `size` of the numbers below `of`, as bits.
std::vector<unsigned> subsets(int of, int size) {
  std::vector<unsigned> found;
  for (unsigned bits = 0; bits < 1U << of; ++bits) {
    if (std::popcount(bits) == size) found.push_back(bits);
  }
  return found;
}

/// The mean over all choices of groups, and of experts in them.
double counted_parts(const ExpertGroups& of, int parts) {
  const int group = of.experts / of.groups;
  const int part = of.experts / parts;
  double sum = 0;
  int choices = 0;
  for (const unsigned groups : subsets(of.groups, of.limit)) {
    for (const unsigned experts : subsets(of.experts, of.per_token)) {
      unsigned visited = 0;
      bool is_open = true;
      for (int i = 0; i < of.experts; ++i) {
        if ((experts >> i & 1U) == 0) continue;
        is_open = is_open && (groups >> (i / group) & 1U) != 0;
        visited |= 1U << (i / part);
      }
      if (!is_open) continue;
      sum += std::popcount(visited);
      ++choices;
    }
  }
  return sum / choices;
}

}  // namespace

TEST_CASE("a token visits as many nodes as all its choices do on average") {
  for (const int groups : {1, 2, 4, 8}) {
    for (int limit = 1; limit <= groups; ++limit) {
      for (int per_token = 1; per_token <= std::min(4, 8 * limit / groups); ++per_token) {
        const ExpertGroups of{.experts = 8, .per_token = per_token, .groups = groups, .limit = limit};
        for (const int parts : {1, 2, 4, 8})
          CHECK(visited_parts(of, parts) == doctest::Approx(counted_parts(of, parts)).epsilon(1e-12));
      }
    }
  }
}

TEST_CASE("eight experts of 256 lie on 5.29 of 8 nodes, and on less than 4 with DeepSeek-V3's limit") {
  const ExpertGroups free{.experts = 256, .per_token = 8};
  CHECK(visited_parts(free, 8) == doctest::Approx(5.29).epsilon(0.001));
  CHECK(visited_parts(free, 256) == doctest::Approx(8));
  const ExpertGroups limited{.experts = 256, .per_token = 8, .groups = 8, .limit = 4};
  CHECK(visited_parts(limited, 8) < 4);
  CHECK(visited_parts(limited, 8) > 3.5);
}
