#pragma once
// Plans that are searched in a moment, for tests.

#include "plan/run_plan.hpp"
#include "shipped_layout.hpp"

#include <string>
#include <utility>
#include <vector>

namespace trainyard::testing {

inline const config::Catalogue& shipped() {
  static const config::Catalogue catalogue{{TRAINYARD_SOURCE_DIR}};
  return catalogue;
}

/// Models of different kinds, each with as few layers as four stages or a division among ranks need.
inline const std::vector<Overrides>& small_models() {
  static const std::vector<Overrides> models{{{"model", "gpt2_small"},
                                              {"model.gpt2.layers", "4"},
                                              {"model.gpt2.hidden", "1024"},
                                              {"model.gpt2.heads", "16"}},
                                             {{"model", "llama3_8b"},
                                              {"model.decoder.layers", "4"},
                                              {"model.decoder.hidden", "1024"},
                                              {"model.decoder.heads", "16"},
                                              {"model.decoder.kv_heads", "8"},
                                              {"model.decoder.ffn", "4096"},
                                              {"model.decoder.sequence_length", "1024"}},
                                             {{"model", "mixtral_8x7b"},
                                              {"model.decoder.layers", "2"},
                                              {"model.decoder.hidden", "512"},
                                              {"model.decoder.heads", "8"},
                                              {"model.decoder.ffn", "1024"},
                                              {"model.decoder.sequence_length", "512"}},
                                             {{"model", "t5_base"}, {"model.encoder_decoder.layers", "2"}},
                                             {{"model", "alexnet"}}};
  return models;
}

/// A job that is planned in a moment.
inline PlanRequest request_for(const std::string& platform, const Overrides& model, const std::string& gpus,
                               const std::vector<std::string>& shards) {
  PlanRequest request;
  request.name = "small";
  request.experiment = no_file;
  request.set = joined({{"platform", platform}, {"stack", "megatron_lm"}, {"software", "ideal"}}, model);
  request.set.emplace_back("precision", "fp16");
  request.settings.gpus = gpus;
  request.settings.global_batch = 8;
  request.settings.over = {{"batch_per_gpu", {"1"}},
                           {"parallelism.virtual_stages", {"1"}},
                           {"parallelism.recompute", {"none"}},
                           {"parallelism.shard", shards}};
  return request;
}

inline PlanOutcome searched(const PlanSpace& space, int parallel = 1) {
  SweepStore store(stored_plan(space));
  return search_plan(shipped(), space, all_points(space), store, {.parallel = parallel});
}

/// Of all requests, so that none is read twice; children have what their parent has read.
inline InputFiles& shipped_files() {
  static InputFiles files;
  return files;
}

inline PlanSpace space_of(PlanRequest request) {
  return plan_space(shipped(), std::move(request), shipped_files(), 2);
}

}  // namespace trainyard::testing
