// Stacks that train in 8 bits, and those that refuse it.

#include "experiment/eight_bit_stack.hpp"

#include "errors_of.hpp"
#include "has_all.hpp"
#include "shipped_experiment.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <set>
#include <string>

using namespace trainyard;

namespace {

const config::Catalogue& all_shipped() {
  static const config::Catalogue catalogue{{TRAINYARD_SOURCE_DIR}};
  return catalogue;
}

Overrides job_with(const std::string& stack, const Overrides& more = {}) {
  Overrides overrides{{"platform", "dgx_h100"}, {"model", "llama3_8b"}, {"stack", stack},
                      {"batch_per_gpu", "1"},   {"optimizer", "adam"},  {"precision", "fp8"}};
  for (const auto& entry : more) {
    std::erase_if(overrides, [&](const auto& one) { return one.first == entry.first; });
    overrides.push_back(entry);
  }
  return overrides;
}

std::vector<Diagnostic> errors_with(const std::string& stack, const Overrides& more = {}) {
  return errors_of([&] { testing::shipped_experiment(no_file, job_with(stack, more)); });
}

}  // namespace

TEST_CASE("the hint of a stack without products in 8 bits names exactly those that have them") {
  std::set<std::string> with, without;
  std::string hint;
  for (const std::string& stack : config::names(all_shipped(), config::Kind::stack)) {
    bool is_refused = false;
    for (const Diagnostic& error : errors_with(stack)) {
      if (error.message.find("no products in 8 bits") == std::string::npos) continue;
      is_refused = true;
      hint = error.hint;
      CHECK(error.key_path == "precision");
    }
    (is_refused ? without : with).insert(stack);
  }
  CHECK(with == std::set<std::string>{"jax_xla", "megatron_core", "megatron_lm", "mosaic", "torchtitan",
                                      "transformer_engine"});
  for (const std::string& stack : with) CHECK(hint.find(stack) != std::string::npos);
  for (const char* const stack : {"llm_c", "horovod", "tf2_bert", "pytorch_ddp", "nanotron", "pytorch"})
    CHECK(without.contains(stack));
}

TEST_CASE("another library brings products in 8 bits to a fused stack, and none to a lowering") {
  CHECK(errors_with("pytorch_ddp", {{"stack.products_in_8_bits", "true"}}).empty());
  CHECK(only_error([&] {
          testing::shipped_experiment(
              no_file, job_with("pytorch", {{"stack.products_in_8_bits", "true"}, {"precision", "bf16"}}));
        }).message.find("lowering") != std::string::npos);
}

TEST_CASE("without a stack, 8 bits are Transformer Engine's") {
  Overrides job = job_with("");
  std::erase_if(job, [](const auto& entry) { return entry.first == "stack"; });
  CHECK(testing::shipped_experiment(no_file, job).stack.name == "transformer_engine");
}

TEST_CASE("scales of 8-bit values that are set must be those of a product") {
  const auto error = [](const std::string& stack, const Overrides& more) {
    return only_error([&] { testing::shipped_experiment(no_file, job_with(stack, more)); });
  };
  const Overrides block{{"stack.fp8_scaling", "block"}};
  CHECK(errors_with("transformer_engine", block).empty());
  CHECK(error("transformer_engine", {{"stack.fp8_scaling", "current"}, {"precision", "bf16"}}).key_path ==
        "stack.fp8_scaling");
  const std::vector<Diagnostic> fused = errors_with("megatron_lm", block);
  CHECK(std::ranges::any_of(
      fused, [](const Diagnostic& one) { return one.message.find("fused") != std::string::npos; }));
  const Diagnostic ada = error("transformer_engine",
                               {{"stack.fp8_scaling", "block"}, {"platform.node.gpus.profile", "l40s_48gb"}});
  CHECK(ada.message.find("l40s_48gb") != std::string::npos);
  CHECK(errors_with("transformer_engine",
                    {{"stack.fp8_scaling", "current"}, {"platform.node.gpus.profile", "l40s_48gb"}})
            .empty());
}
