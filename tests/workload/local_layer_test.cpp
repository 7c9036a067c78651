// Locally connected layers, sigmoid and tanh: counts by hand.
#include "listed_layers.hpp"
#include "workload/make_trace.hpp"

#include <doctest/doctest.h>

using namespace trainyard;
using trainyard::testing::error_of_listed;
using trainyard::testing::listed;
using trainyard::testing::named_layer;

TEST_CASE("every output of a locally connected layer has weights of its own") {
  const Model model = listed(R"(
  - input: [3, 100, 100]
  - {name: l1, local: {out: 8, kernel: 10}}
  - {name: l2, local: {out: 4, kernel: 10, stride: 3, bias: false}, then: [tanh]}
  - flatten
  - linear: 10
  - softmax_cross_entropy
)");
  const Layer& first = named_layer(model, "l1");
  CHECK(first.out_shape == std::vector{8, 91, 91});
  CHECK(first.parameters[0].elements == 91.0 * 91 * 8 * 300);
  CHECK(first.parameters[1].elements == 91.0 * 91 * 8);
  CHECK(first.forward_macs == 91.0 * 91 * 8 * 300);
  CHECK(first.backward_flops == first.forward_flops);  // it reads the data
  CHECK(first.forward_rw_elements == 30000 + 91.0 * 91 * 8 + parameter_elements(first));
  const Layer& second = named_layer(model, "l2");
  CHECK(second.out_shape == std::vector{4, 28, 28});
  CHECK(parameter_elements(second) == 28.0 * 28 * 4 * 800);
  CHECK(second.backward_flops == 2 * second.forward_flops);
  CHECK(second.saved_elements == 8.0 * 91 * 91);
}

TEST_CASE("its ops are one product per position, with a row per sample, and weights move once") {
  const Model model = listed(
      "  - input: [3, 100, 100]\n  - {local: {out: 8, kernel: 10, bias: false}}\n"
      "  - {local: {out: 2, kernel: 91, bias: false}}\n  - flatten\n"
      "  - softmax_cross_entropy\n");
  const Trace trace = make_trace(model, 32, Precision::fp32, Optimizer::sgd);
  CHECK(std::get<GemmShape>(trace.ops[0].shape) == GemmShape{91 * 91, 32, 8, 300, false, false});
  CHECK(trace.ops[0].flops.si() == 2.0 * 32 * 91 * 91 * 8 * 300);
  CHECK(trace.ops[0].bytes.si() == 4.0 * (32 * (30000 + 8 * 91 * 91) + 91.0 * 91 * 8 * 300));
  double flops = 0;
  for (const Op& op : trace.ops) {
    if (is_matrix(op.kind)) flops += op.flops.si();
  }
  CHECK(flops == 32 * (2 * 2.0 * 91 * 91 * 8 * 300 + 3 * 2.0 * 2 * 8 * 91 * 91));
}

TEST_CASE("sigmoid and tanh keep their output where the next layer does not") {
  const Model model = listed(R"(
  - input: [40]
  - {linear: 64, then: [sigmoid]}
  - {linear: 32, then: [tanh]}
  - softmax_cross_entropy
)");
  CHECK(named_layer(model, "sigmoid1").saved_elements == 0);  // the linear layer keeps it
  CHECK(named_layer(model, "sigmoid1").forward_flops == Flops(3 * 64));
  CHECK(named_layer(model, "sigmoid1").backward_flops == Flops(3 * 64));
  CHECK(named_layer(model, "tanh1").saved_elements == 32);
  CHECK(named_layer(model, "tanh1").forward_flops == Flops(5 * 32));
  CHECK(named_layer(model, "tanh1").backward_rw_elements == 3 * 32);
}

TEST_CASE("a locally connected layer reads maps that its window fits into") {
  CHECK(error_of_listed("  - input: [40]\n  - {local: {out: 8, kernel: 3}}\n").key_path == "layers[1].local");
  CHECK(error_of_listed("  - input: [3, 4, 4]\n  - {local: {out: 8, kernel: 5}}\n").key_path ==
        "layers[1].local");
}
