// Kernels of experts with biases and of gated units that limit their values, as gpt-oss has them, in the
// rules of Megatron-Core.
#include "lowering/load_whole_lowering.hpp"
#include "lowering/lower.hpp"
#include "workload/model_file.hpp"

#include <doctest/doctest.h>
#include <string>
#include <utility>
#include <vector>

using namespace trainyard;

namespace {

constexpr double results = 4096.0 * 4 * 2880;  // values: tokens, experts of each, features
constexpr double gates = 2 * results;          // the inputs of the activation, of which 2880 are the gate

using Keys = std::vector<std::pair<std::string, std::string>>;

Trace gpt_oss(const Keys& keys, bool wide_shares = false, Precision precision = Precision::bf16) {
  const auto file = [](const std::string& name) {
    return config::load(std::string(TRAINYARD_SOURCE_DIR) + "/workloads/" + name + ".yaml");
  };
  static const Lowering rules = load_whole_lowering(
      file("lowering/megatron_core"),
      [&](const std::string& like, const std::string&) { return file("lowering/" + like); });
  config::Document model = file("models/gpt_oss_20b");
  config::set(model, "decoder.layers", "2", "model");
  for (const auto& [key, value] : keys) config::set(model, "decoder." + key, value, "model");
  return lowered_trace(load_model(model), rules,
                       {.batch = 1,
                        .precision = precision,
                        .optimizer = Optimizer::adam,
                        .optimizer_kernels = OptimizerKernels::fused,
                        .scaling = precision == Precision::mxfp8 ? Scaling::block : Scaling::delayed,
                        .wide_shares = wide_shares});
}

/// Bytes that the kernels of a layer move in a phase, without its products.
double bytes_of(const Trace& trace, const std::string& layer, Phase phase) {
  double sum = 0;
  for (const Op& op : trace.ops) {
    if (op.phase == phase && op.layer.starts_with(layer + ".") && !is_matrix(op.kind)) sum += op.bytes.si();
  }
  return sum;
}

}  // namespace

TEST_CASE(
    "biases of experts are multiplied by probabilities and added to the results by kernels of their own") {
  const Trace trace = gpt_oss({});
  const Trace without = gpt_oss({{"mlp_bias", "false"}});
  const auto more = [&](const std::string& layer, Phase phase, const Trace& of) {
    return bytes_of(of, layer, phase) - bytes_of(without, layer, phase);
  };
  // the product written, added and joined again
  CHECK(more("h0.moe.fc2", Phase::forward, trace) == doctest::Approx(results * (2 + 6 + 4)));
  // a product for each factor's gradient, their sums, and the parts' gradients joined
  CHECK(more("h0.moe.fc2", Phase::backward, trace) == doctest::Approx(results * (2 * (4 + 2) + 4)));
  CHECK(more("h0.moe.fc1", Phase::forward, trace) == 0);
}

TEST_CASE("probabilities in fp32 make the results of experts with biases fp32 until they are joined") {
  const Trace narrow = gpt_oss({});
  const Trace wide = gpt_oss({}, true);
  const auto more = [&](Phase phase) {
    return bytes_of(wide, "h0.moe.fc2", phase) - bytes_of(narrow, "h0.moe.fc2", phase);
  };
  CHECK(more(Phase::forward) == doctest::Approx(results * (4 + 10 + 8 + 6 - 12)));
  CHECK(more(Phase::backward) == doctest::Approx(results * (6 + 6 + 2 * 8 + 4 - 10)));
  const Keys unbiased{{"mlp_bias", "false"}};
  CHECK(bytes_of(gpt_oss(unbiased, true), "h0.moe.fc2", Phase::forward) ==
        bytes_of(gpt_oss(unbiased), "h0.moe.fc2", Phase::forward));
}

TEST_CASE("limits of a gated unit are kernels of their own") {
  const Trace limited = gpt_oss({});
  const Trace plain = gpt_oss({{"activation", "silu"}});
  const auto more = [&](Phase phase) {
    return bytes_of(limited, "h0.moe.silu", phase) - bytes_of(plain, "h0.moe.silu", phase);
  };
  // each half limited, both joined; in backward three comparisons, two at once, two choices, both joined
  CHECK(more(Phase::forward) == doctest::Approx(gates * (2 * 2 + 4)));
  CHECK(more(Phase::backward) == doctest::Approx(gates * (3 * 1.5 + 1.5 + 2 * 2.5 + 4)));
}

TEST_CASE(
    "rows of experts are padded for products in 8 bits by copies of them, unless the dispatcher does it") {
  const Trace wide = gpt_oss({});
  const Trace narrow = gpt_oss({}, false, Precision::mxfp8);
  const Trace padded = gpt_oss({}, true, Precision::mxfp8);
  for (const Phase phase : {Phase::forward, Phase::backward}) {
    for (const std::string layer : {"h0.moe.permute", "h0.moe.unpermute"}) {
      CHECK(bytes_of(narrow, layer, phase) - bytes_of(wide, layer, phase) == doctest::Approx(results * 4));
      CHECK(bytes_of(padded, layer, phase) == bytes_of(wide, layer, phase));
    }
  }
}

TEST_CASE("an activation of Megatron-Core does not write 8 bits: the product behind it casts its input") {
  const Trace trace = gpt_oss({{"mlp_bias", "false"}}, true, Precision::mxfp8);
  const double values = results;  // as many features as the model's
  CHECK(bytes_of(trace, "h0.moe.fc2", Phase::forward) == doctest::Approx(values * (2 + 2.0625)));
}

TEST_CASE("gradients of the router are products of fp32 copies") {
  const Trace trace = gpt_oss({});
  CHECK(bytes_of(trace, "h0.moe.router", Phase::forward) == 0);
  // the input to fp32 and its gradient back to 16 bits, besides a bias of 32 experts
  CHECK(bytes_of(trace, "h0.moe.router", Phase::backward) ==
        doctest::Approx(4096.0 * 2880 * (6 + 6)).epsilon(0.01));
}
