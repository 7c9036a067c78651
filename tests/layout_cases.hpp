#pragma once
// Jobs whose ranks share a model, on up to 64 ranks, for tests of everything that must hold for each.

#include "experiment/layout.hpp"
#include "shipped_layout.hpp"

#include <string>
#include <vector>

namespace trainyard::testing {

struct LayoutCase {
  std::string platform;
  int nodes = 1;
  Overrides layout;
  ResolvedExperiment (*job)(const std::string&, int, const Overrides&) = small_layout;
};

inline Overrides pipelined(const std::string& schedule, int stages, const Overrides& more = {}) {
  return joined({{"parallelism.pipeline", std::to_string(stages)}, {"parallelism.schedule", schedule}}, more);
}

inline const Overrides two_ways{{"parallelism.tensor", "2"}};
inline const Overrides in_fp32{{"precision", "fp32"}};  // a K80 has no other matrix unit
inline const Overrides two_chunks{{"parallelism.virtual_stages", "2"}};

inline Overrides sharing_tokens(int ranks, const std::string& exchange, const Overrides& more = {}) {
  return joined({{"parallelism.context", std::to_string(ranks)}, {"parallelism.context_exchange", exchange}},
                more);
}

/// Layouts on up to 64 ranks: with links of a node shared by several groups and stages, with links of their
/// own, and with messages over the network.
inline std::vector<LayoutCase> layout_cases() {
  return {
      {"dgx_a100", 1, {{"parallelism.tensor", "8"}}},
      {"dgx_a100", 1, joined(two_ways, pipelined("1f1b", 4))},
      {"dgx_a100", 4, joined({{"parallelism.tensor", "8"}}, pipelined("1f1b", 4))},
      {"dgx_a100", 8,
       joined({{"parallelism.tensor", "4"}, {"parallelism.sequence", "true"}},
              pipelined("interleaved", 4, two_chunks))},
      {"dgx_a100", 2, joined(two_ways, pipelined("zb_h1", 4, {{"parallelism.recompute", "full"}}))},
      {"dgx1v", 1, joined(two_ways, pipelined("1f1b", 2))},
      {"dgx_a100", 1, joined({{"stack", "pytorch"}}, joined(two_ways, pipelined("1f1b", 2)))},
      {"dgx_a100", 1,
       joined({{"stack", "megatron_core"}, {"parallelism.shard", "optimizer"}},
              joined(two_chunks, pipelined("interleaved", 2))),
       small_decoder},
      {"dgx_a100", 1, {{"stack", "pytorch_compile"}, {"parallelism.shard", "parameters"}}, small_decoder},
      {"dgx1v", 1, joined(two_ways, pipelined("gpipe", 4))},
      {"dgx1v", 2, pipelined("zb_h1", 4, {{"parallelism.shard", "optimizer"}})},
      {"p2_16xlarge", 1, joined(two_ways, pipelined("1f1b", 4, in_fp32))},
      {"p2_16xlarge", 1, joined(two_chunks, pipelined("interleaved", 4, in_fp32))},
      {"dgx_a100", 1,
       sharing_tokens(2, "p2p",
                      joined({{"parallelism.shard", "optimizer"}, {"stack.overlap_parameters", "true"}},
                             joined(two_chunks, pipelined("interleaved", 2)))),
       small_decoder},
      {"dgx_a100", 1, sharing_tokens(8, "p2p"), small_decoder},
      {"dgx_a100", 4,
       joined(two_ways, sharing_tokens(8, "p2p", pipelined("zb_h1", 2, {{"parallelism.recompute", "full"}}))),
       small_decoder},
      {"dgx_a100", 2, sharing_tokens(4, "all_gather", joined(two_ways, pipelined("1f1b", 2))), small_decoder},
      {"dgx_a100", 2,
       sharing_tokens(2, "a2a",
                      joined({{"parallelism.tensor", "4"}, {"parallelism.sequence", "true"}},
                             joined(two_chunks, pipelined("interleaved", 2)))),
       small_decoder},
      {"dgx1v", 2, sharing_tokens(4, "p2p", {{"parallelism.shard", "parameters"}}), small_decoder},
      {"dgx_a100", 1, {{"parallelism.expert", "8"}}, small_mixture},
      {"dgx_a100", 4,
       joined({{"parallelism.expert", "4"}, {"parallelism.tensor", "2"}, {"parallelism.sequence", "true"}},
              pipelined("1f1b", 4)),
       small_mixture},
      {"dgx_a100", 4,
       joined({{"parallelism.expert", "8"}, {"parallelism.recompute", "full"}},
              pipelined("zb_h1", 2, {{"parallelism.shard", "optimizer"}})),
       small_mixture},
      {"dgx1v", 2, joined({{"parallelism.expert", "4"}}, pipelined("interleaved", 4, two_chunks)),
       small_mixture},
      {"dgx_a100", 2,
       sharing_tokens(4, "p2p", {{"parallelism.expert", "8"}, {"parallelism.shard", "optimizer"}}),
       small_mixture},
      {"dgx_a100",
       2,
       {{"parallelism.expert", "8"},
        {"parallelism.tensor", "4"},
        {"parallelism.sequence", "true"},
        {"parallelism.expert_tensor", "1"}},
       small_mixture},
      {"dgx_a100", 1, {{"parallelism.layers", "[{match: lm_head, turns: by_replica}]"}}, small_decoder},
      {"dgx1v",
       2,
       {{"parallelism.layers", "[{match: lm_head, turns: by_slice}]"}, {"parallelism.layer_group", "4"}},
       small_decoder},
  };
}

inline ResolvedExperiment resolved_case(const LayoutCase& one, const Overrides& more = {}) {
  return one.job(one.platform, one.nodes, joined(one.layout, more));
}

inline std::string named(const LayoutCase& one) {
  std::string text = one.platform + " x " + std::to_string(one.nodes);
  for (const auto& [key, value] : one.layout) text += " " + key + "=" + value;
  return text;
}

}  // namespace trainyard::testing
