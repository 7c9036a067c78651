#include "strategy/servers.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <rapidcheck.h>

using namespace trainyard;

namespace {

std::vector<ReadyGradient> gradients(const std::vector<double>& elements) {
  std::vector<ReadyGradient> result;
  for (std::size_t i = 0; i < elements.size(); ++i)
    result.push_back({.gradient = {.tensor = "t", .elements = elements[i]}, .op = static_cast<int>(10 * i)});
  return result;
}

std::vector<double> bytes_at(const std::vector<ServerMessage>& messages, int shards) {
  std::vector<double> bytes(static_cast<std::size_t>(shards), 0);
  for (const ServerMessage& message : messages) {
    for (const int shard : message.shards) bytes[static_cast<std::size_t>(shard)] += message.bytes.si();
  }
  return bytes;
}

ServerRules cut_at(double bytes) { return {.partition = Sourced<Bytes>{.value = Bytes{bytes}}}; }

}  // namespace

TEST_CASE("whole tensors go round the shards as they become ready") {
  const auto messages = server_messages(gradients({100, 10, 1}), Bytes{4}, 2, {});
  REQUIRE(messages.size() == 3);
  CHECK(messages[0].shards == std::vector{0});
  CHECK(messages[1].shards == std::vector{1});
  CHECK(messages[2].shards == std::vector{0});
  CHECK(messages[1].ready_op == 10);
  CHECK(messages[1].bytes == Bytes{40});
}

TEST_CASE("by size the largest come first and the fullest shard last") {
  const auto messages =
      server_messages(gradients({1, 50, 30, 25}), Bytes{4}, 2, {.assign = ShardAssignment::by_size});
  CHECK(bytes_at(messages, 2) == std::vector<double>{4 * 51, 4 * 55});
}

TEST_CASE("pieces of a tensor differ by one value at most, and shards that get as much share a message") {
  const auto messages = server_messages(gradients({10}), Bytes{4}, 4, cut_at(10));
  REQUIRE(messages.size() == 2);
  CHECK(messages[0].bytes == Bytes{12});
  CHECK(messages[0].shards == std::vector{0, 1});
  CHECK(messages[1].bytes == Bytes{8});
  CHECK(messages[1].shards == std::vector{2, 3});
}

TEST_CASE("large tensors in equal parts to all shards, small ones whole to one") {
  const ServerRules rules{.spread_above = Sourced<Bytes>{.value = Bytes{100}}};
  const auto messages = server_messages(gradients({100, 10}), Bytes{4}, 4, rules);
  REQUIRE(messages.size() == 2);
  CHECK(messages[0].shards == std::vector{0, 1, 2, 3});
  CHECK(messages[0].bytes == Bytes{100});
  CHECK(messages[1].shards.size() == 1);
}

TEST_CASE("however tensors are spread, every value goes to one shard") {
  CHECK(rc::check("all values", [] {
    const auto elements = *rc::gen::container<std::vector<double>>(
        rc::gen::map(rc::gen::inRange(0, 5'000), [](int n) { return static_cast<double>(n); }));
    const int shards = *rc::gen::inRange(1, 9);
    ServerRules rules = *rc::gen::arbitrary<bool>() ? cut_at(*rc::gen::inRange(4, 4'000)) : ServerRules{};
    if (*rc::gen::arbitrary<bool>()) rules.assign = ShardAssignment::by_size;
    const auto messages = server_messages(gradients(elements), Bytes{4}, shards, rules);
    double sent = 0;
    for (const double bytes : bytes_at(messages, shards)) sent += bytes;
    double all = 0;
    for (const double count : elements) all += 4 * count;
    RC_ASSERT(sent == all);
    for (const ServerMessage& message : messages) {
      RC_ASSERT(std::is_sorted(message.shards.begin(), message.shards.end()));
      RC_ASSERT(message.bytes > Bytes{});
    }
  }));
}
