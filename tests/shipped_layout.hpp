#pragma once
// Experiments whose ranks share a model, for tests: a shipped experiment with other values.

#include "shipped_experiment.hpp"

#include <string>
#include <vector>

namespace trainyard::testing {

inline Overrides joined(Overrides first, const Overrides& more) {
  first.insert(first.end(), more.begin(), more.end());
  return first;
}

/// GPT-3 175B on 1,024 GPUs of 128 nodes: tensor 8, pipeline 8, data 16, 96 micro-batches of one sample,
/// gradients in fp32 reduced in one piece. Its sizes are in Narayanan et al. 2021, arXiv 2104.04473, and
/// Korthikanti et al. 2022, arXiv 2205.05198.
inline Overrides gpt3_on_1024(const Overrides& more = {}) {
  return joined({{"model", "gpt3_175b"},
                 {"nodes", "128"},
                 {"stack", "megatron"},
                 {"software", "ideal"},
                 {"stack.gradient_dtype", "fp32"},
                 {"precision", "bf16"},
                 {"batch_per_gpu", "1"},
                 {"accumulation", "96"},
                 {"optimizer", "adam"},
                 {"memory", "ignore"},
                 {"parallelism.tensor", "8"},
                 {"parallelism.pipeline", "8"}},
                more);
}

inline ResolvedExperiment gpt3_layout(const Overrides& more = {}) {
  return shipped_experiment("bert_large_dgx_a100", gpt3_on_1024(more));
}

/// Eight micro-batches of one sample on a few nodes.
inline ResolvedExperiment small_job(const std::string& platform, int nodes, const Overrides& model,
                                    const Overrides& layout) {
  const Overrides job{{"platform", platform}, {"nodes", std::to_string(nodes)},
                      {"precision", "fp16"},  {"software", "ideal"},
                      {"batch_per_gpu", "1"}, {"accumulation", "8"},
                      {"optimizer", "adam"},  {"memory", "ignore"}};
  return shipped_experiment("bert_large_dgx_a100", joined(joined(job, model), layout));
}

/// A GPT-2 of eight blocks.
inline ResolvedExperiment small_layout(const std::string& platform, int nodes, const Overrides& layout) {
  return small_job(platform, nodes,
                   {{"model", "gpt2_small"},
                    {"model.gpt2.layers", "8"},
                    {"model.gpt2.hidden", "1024"},
                    {"model.gpt2.heads", "16"}},
                   layout);
}

/// A decoder of eight blocks with fused attention and two heads of queries for each of keys and values;
/// samples of 2,048 tokens.
inline ResolvedExperiment small_decoder(const std::string& platform, int nodes, const Overrides& layout) {
  return small_job(platform, nodes,
                   {{"model", "llama3_8b"},
                    {"model.decoder.layers", "8"},
                    {"model.decoder.hidden", "1024"},
                    {"model.decoder.heads", "16"},
                    {"model.decoder.kv_heads", "8"},
                    {"model.decoder.ffn", "4096"},
                    {"model.decoder.vocabulary", "8192"},
                    {"model.decoder.sequence_length", "2048"},
                    {"stack", "megatron"}},
                   layout);
}

/// A mixture of eight experts in eight blocks, two experts per token.
inline ResolvedExperiment small_mixture(const std::string& platform, int nodes, const Overrides& layout) {
  return small_job(platform, nodes,
                   {{"model", "mixtral_8x7b"},
                    {"model.decoder.layers", "8"},
                    {"model.decoder.hidden", "1024"},
                    {"model.decoder.heads", "16"},
                    {"model.decoder.ffn", "2048"},
                    {"model.decoder.sequence_length", "1024"}},
                   layout);
}

}  // namespace trainyard::testing
