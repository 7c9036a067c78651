#include "workload/gpt2.hpp"

#include "workload/layer_rows.hpp"
#include "workload/model.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <rapidcheck.h>
#include <vector>

using namespace trainyard;

TEST_CASE("every column of every layer of GPT-2 small equals the reference table") {
  check_layers(gpt2_layers({.layers = 12, .hidden = 768, .heads = 12}), "layers_gpt2_117M.csv");
}

TEST_CASE("GPT-2's MACs are the textbook's at any length, and its parameters do not depend on it") {
  CHECK(rc::check([] {
    const int s = *rc::gen::inRange(1, 1025);
    const ModelTotals sum =
        totals(gpt2_layers({.layers = 24, .hidden = 1024, .heads = 16, .sequence_length = s}));
    const double h = 1024;
    RC_ASSERT(sum.forward_macs == 24 * (12 * s * h * h + 2.0 * s * s * h) + s * h * 50'257);
    RC_ASSERT(sum.parameters == 354'823'168);
    RC_ASSERT(sum.tensors == 292);
  }));
}

TEST_CASE("GPT-2's last projection has no tensor of its own") {
  const std::vector<Layer> layers = gpt2_layers({.layers = 1, .hidden = 64, .heads = 4});
  const Layer& head = layers[layers.size() - 2];
  CHECK(head.name == "lm_head");
  CHECK(head.parameters.empty());
  CHECK(head.tied_elements == 50'257 * 64);
}

TEST_CASE("layers at one place of two blocks do the same, and any other number makes a difference") {
  const std::vector<Layer> layers = gpt2_layers({.layers = 3, .hidden = 64, .heads = 4});
  const auto first_of = [&](int block) { return std::ranges::find(layers, block, &Layer::block); };
  const auto in_block = std::ranges::count(layers, 1, &Layer::block);
  REQUIRE(in_block > 10);
  CHECK(std::equal(first_of(1), first_of(1) + in_block, first_of(2), do_the_same));
  CHECK_FALSE(do_the_same(*first_of(1), *(first_of(1) + 1)));
  const Layer& one = *std::ranges::find(layers, LayerKind::linear, &Layer::kind);
  Layer other = one;
  other.name = "elsewhere";
  other.parameters.front().name = "elsewhere.weight";
  other.block.reset();
  CHECK(do_the_same(one, other));
  other.parameters.front().elements += 1;
  CHECK_FALSE(do_the_same(one, other));
  other = one;
  other.saved_elements += 1;
  CHECK_FALSE(do_the_same(one, other));
}
