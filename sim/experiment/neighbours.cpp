#include "experiment/neighbours.hpp"

#include "experiment/resolve.hpp"
#include "units/text.hpp"

#include <fmt/format.h>

namespace trainyard {

ResolvedExperiment read_neighbour(const config::Catalogue& catalogue, const std::string& name,
                                  const std::filesystem::path& file, const Platform& platform,
                                  IntraNode intra_node, InputFiles& files) {
  // checked before it is read with all files it names, because it might name itself
  const Experiment neighbour = load_experiment(load_once(files, file));
  if (!neighbour.neighbours.empty() || !neighbour.background.empty() || !neighbour.events.empty() ||
      neighbour.faults) {
    throw InputError(
        fmt::format("{} has neighbours, background, events or faults of its own", in_quotes(name)),
        "write them into this experiment");
  }
  if (neighbour.input.data == InputData::real) {
    throw InputError(fmt::format("{} reads real data", in_quotes(name)),
                     "a neighbour repeats one step with synthetic data");
  }
  if (neighbour.parallelism) {
    throw InputError(fmt::format("the ranks of {} share a model", in_quotes(name)),
                     "a neighbour's ranks each hold the whole model: leave out its 'parallelism'");
  }
  if (neighbour.traces) {
    throw InputError(fmt::format("the ranks of {} replay traces of their own", in_quotes(name)),
                     "a neighbour's ranks are all alike: one trace");
  }
  if (is_multi_update(neighbour)) {
    throw InputError(fmt::format("{} is a run of many updates", in_quotes(name)),
                     "a neighbour repeats one step: update: sync, no servers, nothing random");
  }
  for (const auto& [key, value] : neighbour.set) {
    if (file_named_by(key) == "platform") {
      throw InputError(fmt::format("{} sets {}", in_quotes(name), key),
                       "neighbours share one machine: set it in this experiment");
    }
  }
  ResolvedExperiment other = resolve(catalogue, file.string(), {}, files);
  if (other.platform.name != platform.name) {
    throw InputError(
        fmt::format("{} runs on {}, not on {}", in_quotes(name), other.platform.name, platform.name),
        "neighbours share one machine");
  }
  if (other.stack.intra_node != intra_node) {
    throw InputError(
        fmt::format("the stack of {} has intra_node: {}, that of this experiment has {}", in_quotes(name),
                    config::name_of(other.stack.intra_node), config::name_of(intra_node)),
        "neighbours share one machine: use stacks with the same intra_node");
  }
  return other;
}

}  // namespace trainyard
