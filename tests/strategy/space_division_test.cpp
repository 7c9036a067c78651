#include "strategy/space_division.hpp"

#include "errors_of.hpp"
#include "strategy/layer_division.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <iterator>
#include <set>

using namespace trainyard;

namespace {

constexpr Window ten_by_ten{10, 10, 1, 0, 0};

ShardedModel divided_by_space(std::vector<Layer> layers, const std::vector<LayerRule>& rules, int ranks) {
  return divide_among_replicas({.layers = std::move(layers), .transfers = {}}, rules, {ranks});
}

LayerRule by_space(std::string match) { return {.match = std::move(match), .split = LayerSplit::space}; }

double sum_of(const ShardedModel& model, Phase phase, Operation operation, int layer) {
  double sum = 0;
  for (const Transfer& one : model.transfers) {
    if (one.phase == phase && one.operation == operation && one.layer == layer) sum += one.elements;
  }
  return sum;
}

}  // namespace

TEST_CASE("ranks form the most square grid") {
  CHECK(space_grid(81, 200, 200) == SpaceGrid{9, 9});
  CHECK(space_grid(8, 200, 200) == SpaceGrid{2, 4});
  CHECK(space_grid(7, 200, 200) == SpaceGrid{1, 7});
  CHECK(space_grid(1, 200, 200) == SpaceGrid{1, 1});
  CHECK(space_grid(4, 1, 60'483) == SpaceGrid{1, 4});  // maps of one dimension
  CHECK(space_grid(4, 60'483, 1) == SpaceGrid{4, 1});
  CHECK(space_grid(12, 3, 3) == SpaceGrid{1, 12});  // none has a place for each
}

TEST_CASE("an equal part of a locally connected layer has 1/n of its work and weights") {
  // 90 x 90 outputs of 99 x 99 inputs, nine parts each way: 10 x 10 outputs of 19 x 19 inputs
  const Layer whole = local_layer("l", {8, 99, 99}, 8, ten_by_ten, true);
  const SpacePart part = space_part(whole, {9, 9});
  CHECK(part.layer.forward_flops.si() == doctest::Approx(whole.forward_flops.si()).epsilon(1e-12));
  CHECK(81 * parameter_elements(part.layer) == parameter_elements(whole));
  CHECK(part.layer.in_elements == 81.0 * 8 * 19 * 19);
  CHECK(part.layer.out_elements == 81.0 * 8 * 10 * 10);
  CHECK(part.layer.gemm == LayerGemm{100, 81, 8, 800});
  // it holds 11 x 11 inputs of 19 x 19
  CHECK(part.rows_halo == 81.0 * 8 * 8 * 11);
  CHECK(part.columns_halo == 81.0 * 8 * 8 * 19);
  CHECK(part.rows_halo + part.columns_halo == 81.0 * 8 * (19 * 19 - 11 * 11));
}

TEST_CASE("of unequal parts the largest counts: 91 outputs in nine are 10 or 11") {
  const Layer whole = local_layer("l", {3, 100, 100}, 36, ten_by_ten, true);
  const SpacePart part = space_part(whole, {9, 9});
  // 11 x 11 outputs of 20 x 20 inputs, of which the rank holds 12 x 12
  CHECK(part.layer.gemm == LayerGemm{121, 81, 36, 300});
  CHECK(part.layer.out_elements == 81.0 * 36 * 11 * 11);
  CHECK(part.layer.in_elements == 81.0 * 3 * 20 * 20);
  CHECK(part.rows_halo == 81.0 * 3 * 8 * 12);
  CHECK(part.columns_halo == 81.0 * 3 * 8 * 20);
  const double larger = 81.0 * 11 * 11 / (91 * 91);
  CHECK(part.layer.forward_flops.si() == doctest::Approx(larger * whole.forward_flops.si()).epsilon(1e-12));
  CHECK(81.0 * parameter_elements(part.layer) ==
        doctest::Approx(larger * parameter_elements(whole)).epsilon(1e-12));
}

TEST_CASE("with more parts than outputs those that have one are waited for") {
  const Layer whole = average_pool_layer("p", {36, 73, 73}, Window{12, 12, 12});
  REQUIRE(whole.out_shape == std::vector{36, 6, 6});
  const SpacePart part = space_part(whole, {9, 9});
  CHECK(part.layer.out_elements == 81.0 * 36);
  CHECK(part.layer.forward_flops.si() ==
        doctest::Approx(81.0 / 36 * whole.forward_flops.si()).epsilon(1e-12));
  // ranks 1, 4 and 7 of nine read 12 inputs, of which they hold 4: those of output 0 are 0 to 11, and rank 1
  // holds 8 to 15
  CHECK(part.rows_halo == 81.0 * 36 * 8 * 9);
}

TEST_CASE("edges are those of the rank that needs most, counted input by input") {
  const auto inputs = [](int from, int to) {
    std::set<int> places;
    for (; from < to; ++from) places.insert(places.end(), from);
    return places;
  };
  for (const int in : {16, 73, 100}) {
    for (const int kernel : {1, 3, 8, 11}) {
      for (const int stride : {1, 2, 3}) {
        for (const int padding : {0, 1, 5}) {
          for (const int parts : {2, 3, 4, 9}) {
            INFO(in, " inputs, kernel ", kernel, ", stride ", stride, ", padding ", padding, ", parts ",
                 parts);
            const Layer whole = conv_layer("c", {1, 1, in}, 1, Window{1, kernel, stride, 0, padding});
            const int out = whole.out_shape[2];
            std::size_t reads = 0, halo = 0;
            for (int rank = 0; rank < parts; ++rank) {
              std::set<int> read, missing;
              for (int output = rank * out / parts; output < (rank + 1) * out / parts; ++output)
                read.merge(inputs(std::max(0, output * stride - padding),
                                  std::min(in, output * stride - padding + kernel)));
              std::ranges::set_difference(read, inputs(rank * in / parts, (rank + 1) * in / parts),
                                          std::inserter(missing, missing.end()));
              reads = std::max(reads, read.size());
              halo = std::max(halo, missing.size());
            }
            const SpacePart part = space_part(whole, {1, parts});
            // windows further apart than they are wide leave inputs that no one reads
            if (kernel >= stride) {
              CHECK(part.reads == 1.0 * parts * static_cast<double>(reads));
              CHECK(part.columns_halo == 1.0 * parts * static_cast<double>(halo));
            }
            CHECK(part.rows_halo == 0);
          }
        }
      }
    }
  }
  // 93 outputs in nine: rank 2 has 20 to 30 of inputs 20 to 37 and holds 22 to 32, one less than rank 8
  const Layer uneven = conv_layer("c", {1, 1, 100}, 1, Window{1, 8, 1, 0, 0});
  CHECK(space_part(uneven, {1, 9}).columns_halo == 9.0 * 7);
}

TEST_CASE("a padded convolution keeps the size of its map: each part needs one pixel on every side") {
  const Layer whole = conv_layer("c", {16, 32, 32}, 16, Window{3, 3, 1, 1, 1});
  const SpacePart four_by_four = space_part(whole, {4, 4});
  CHECK(four_by_four.rows_halo + four_by_four.columns_halo == 16.0 * 16 * (10 * 10 - 8 * 8));
  CHECK(parameter_elements(four_by_four.layer) == parameter_elements(whole));
  CHECK(four_by_four.layer.forward_flops.si() == doctest::Approx(whole.forward_flops.si()).epsilon(1e-12));
  // of two parts each has a neighbour on one side only
  const SpacePart halves = space_part(whole, {1, 2});
  CHECK(halves.rows_halo == 0);
  CHECK(halves.columns_halo == 2.0 * 16 * 1 * 32);
  CHECK(halves.reads == 2.0 * 16 * 32 * 17);
  // zeros of the padding are not sent: 8 and 5 of 16 columns
  CHECK(space_part(conv_layer("wide", {1, 16, 16}, 1, Window{11, 11, 1, 5, 5}), {1, 2}).reads ==
        2.0 * 16 * 13);
}

TEST_CASE("windows that do not overlap exchange no edges") {
  const Layer pool = max_pool_layer("p", {4, 36, 36}, Window{4, 4, 4});
  const SpacePart part = space_part(pool, {3, 3});
  CHECK(part.rows_halo == 0);
  CHECK(part.columns_halo == 0);
  CHECK(part.layer.forward_flops.si() == doctest::Approx(pool.forward_flops.si()).epsilon(1e-12));
  CHECK(part.layer.saved_elements == doctest::Approx(pool.saved_elements).epsilon(1e-12));
}

TEST_CASE("ranks get parts of the samples, edges of later layers, and gather for a linear layer") {
  std::vector<Layer> layers{local_layer("l1", {3, 99, 99}, 8, ten_by_ten),
                            sigmoid_layer("s", {8, 90, 90}),
                            average_pool_layer("p", {8, 90, 90}, Window{5, 5, 5}),
                            local_layer("l2", {8, 18, 18}, 8, Window{10, 10, 1, 0, 0}),
                            linear_layer("fc", 8 * 9 * 9, 81),
                            sigmoid_cross_entropy_layer("loss", 81)};
  set_reads_data(layers.front());
  const ShardedModel model = divided_by_space(layers, {by_space("l?"), {.match = "fc"}}, 9);  // 3 x 3
  CHECK(sum_of(model, Phase::forward, Operation::all_to_all, 0) == 9.0 * 3 * 39 * 39);
  CHECK(sum_of(model, Phase::backward, Operation::all_to_all, 0) == 0);
  CHECK(sum_of(model, Phase::forward, Operation::send_recv, 1) == 0);
  CHECK(sum_of(model, Phase::forward, Operation::send_recv, 2) == 0);
  CHECK(sum_of(model, Phase::forward, Operation::send_recv, 3) == 9.0 * 8 * (12 * 12 - 6 * 6));
  CHECK(sum_of(model, Phase::backward, Operation::send_recv, 3) == 9.0 * 8 * (12 * 12 - 6 * 6));
  CHECK(sum_of(model, Phase::forward, Operation::all_gather, 4) == 9.0 * 8 * 9 * 9);
  CHECK(sum_of(model, Phase::backward, Operation::reduce_scatter, 4) == 9.0 * 8 * 9 * 9);
  CHECK(sum_of(model, Phase::forward, Operation::all_reduce, 5) == 9);
  CHECK(!model.layers[0].summed_over);
  CHECK(model.layers[1].in_elements == 9.0 * 8 * 30 * 30);
  double parts = 0;
  double whole = 0;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    parts += 9 * parameter_elements(model.layers[i]);
    whole += parameter_elements(layers[i]);
    CHECK(model.layers[i].forward_flops.si() == doctest::Approx(layers[i].forward_flops.si()).epsilon(1e-12));
  }
  CHECK(parts == doctest::Approx(whole).epsilon(1e-12));
}

TEST_CASE("a convolution divided by space keeps all weights, whose gradients all replicas sum") {
  const ShardedModel model = divided_by_space(
      {conv_layer("c", {3, 32, 32}, 8, Window{3, 3, 1, 1, 1}), linear_layer("fc", 8 * 32 * 32, 10)},
      {by_space("c")}, 4);
  CHECK(model.layers[0].summed_over == Axis::data);
  // the linear layer is not divided: whole samples come back
  CHECK(sum_of(model, Phase::forward, Operation::all_to_all, 1) == 8 * 32 * 32);
  CHECK(sum_of(model, Phase::backward, Operation::all_to_all, 1) == 8 * 32 * 32);
}

TEST_CASE("layers without space are refused at the key of their rule") {
  const auto refused = [](const LayerRule& rule, const Layer& layer) {
    const auto errors = errors_of([&] { static_cast<void>(divided_by_space({layer}, {rule}, 4)); });
    return errors.empty() ? std::string() : errors.front().key_path;
  };
  const Layer conv = conv_layer("l", {3, 32, 32}, 8, Window{3, 3, 1, 1, 1});
  CHECK(refused(by_space("l"), linear_layer("l", 8, 8)) == "parallelism.layers[0].split");
  CHECK(refused({.match = "l"}, conv) == "parallelism.layers[0].match");
  CHECK(refused({.match = "l", .split = LayerSplit::space, .turns = LayerTurns::by_slice}, conv) ==
        "parallelism.layers[0].turns");
  CHECK(refused({.match = "l", .split = LayerSplit::space, .turns = LayerTurns::none, .sample = 0.5}, conv) ==
        "parallelism.layers[0].sample");
}
