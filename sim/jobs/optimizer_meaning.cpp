#include "jobs/optimizer_meaning.hpp"

#include "config/keys.hpp"
#include "jobs/words.hpp"
#include "units/text.hpp"
#include "workload/trace.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace trainyard::jobs {
namespace {

/// An optimizer of another tool by a word that the key `optimizer` does not take, and how its step differs.
struct OptimizerWord {
  std::string_view word, ours, how = {};
};

constexpr std::string_view compressed =
    "gradients are reduced in full here: a real step is shorter between slow nodes";
constexpr std::string_view one_state = "adam has two values per parameter: a real step needs less memory";
constexpr std::array optimizers{
    OptimizerWord{"fusedadam", "adam"},
    OptimizerWord{"distributed_fused_adam", "adam"},
    OptimizerWord{"mcore_distributed_optim", "adam"},
    OptimizerWord{"adam_pax", "adam"},
    OptimizerWord{"adamw_torch_xla", "adam"},
    OptimizerWord{"megatron_fused_adam", "adam"},
    OptimizerWord{"torch_adam", "adam"},
    OptimizerWord{"cpuadam", "adam", longer_and_less_memory},
    OptimizerWord{"deepspeedcpuadam", "adam", longer_and_less_memory},
    OptimizerWord{"onebitadam", "adam", compressed},
    OptimizerWord{"zerooneadam", "adam", compressed},
    OptimizerWord{"onebitlamb", "lamb", compressed},
    OptimizerWord{"fusedlamb", "lamb"},
    OptimizerWord{"adagrad", "adam", one_state},
    OptimizerWord{"rmsprop", "adam", one_state},
    OptimizerWord{"lion", "adam", one_state},
    OptimizerWord{"lion_32bit", "adam", one_state},
    OptimizerWord{"adafactor", "adam", one_state},
    OptimizerWord{"muon", "adam", "its products are left out: a real step is longer and needs less memory"}};

}  // namespace

void take_optimizer(JobDraft& draft, Tool tool) {
  if (const auto name = draft.text("@optimizer_class")) {
    if (contains(*name, "distributed")) draft.become("@optimizer_class", "parallelism.shard", "optimizer");
    draft.become("@optimizer_class", "optimizer", "adam");
  }
  const auto text = draft.text("optimizer");
  if (!text) return;
  std::string word = small_letters(*text);
  word = word.substr(word.rfind('.') + 1);  // torch.optim.AdamW
  std::string ours = "adam", how = "is not simulated; adam is";
  const auto& own = config::Names<Optimizer>::table;
  if (const auto same = std::ranges::find(own, std::string_view(word), &config::Name<Optimizer>::text);
      same != own.end())
    ours = config::name_of(same->value), how = {};
  else if (const auto found = std::ranges::find(optimizers, std::string_view(word), &OptimizerWord::word);
           found != optimizers.end())
    ours = found->ours, how = found->how;
  else if (word.starts_with("paged_"))
    how = "its state may move to the host: a real step is longer and needs less memory";
  else if (contains(word, "8bit") || contains(word, "8_bit") || contains(word, "4bit"))
    how = "adam with a state in 32 bits is simulated: a real step needs less memory";
  if (word == "sgd" && (tool == Tool::megatron || tool == Tool::nemo))
    ours = "momentum";  // 0.9, arguments.py
  if (!how.empty()) draft.differ("optimizer", how);
  draft.set("optimizer", ours);
}

}  // namespace trainyard::jobs
