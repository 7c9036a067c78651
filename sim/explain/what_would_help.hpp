#pragma once
// Changes that would make a job faster: ordinary ones, each of them simulated. The reader can repeat each
// with --set.

#include "config/catalogue.hpp"
#include "experiment/resolve.hpp"
#include "explain/network_part.hpp"
#include "run/run.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace trainyard {

/// Key of the changes that try another algorithm.
inline constexpr std::string_view algorithm_key = "sync.algorithm";

/// A change to an experiment.
struct WhatIf {
  std::string change;                   ///< "NICs of 50 Gbps"
  Overrides set;                        ///< in addition to the experiment's own
  std::string remark;                   ///< side effects of the change, or values that stay; may be empty
  std::string reason;                   ///< why it is impossible; empty: possible
  std::vector<NetworkPart> parts = {};  ///< of the network that it makes twice as fast
  bool are_several = false;             ///< of these, each with a change of its own
};

/// The result of a change.
struct WhatIfRow {
  WhatIf what;
  std::optional<Seconds> step_time;  ///< none if impossible
  std::optional<double> throughput;  ///< samples per second
};

/// The changes worth trying on an experiment, including impossible ones.
std::vector<WhatIf> what_ifs(const ResolvedExperiment& resolved);

/// Other stacks of the catalogue for a job whose host launches its kernels: torch.compile, and CUDA graphs.
std::vector<WhatIf> stack_changes(const config::Catalogue& catalogue, const ResolvedExperiment& resolved);

/// Simulates both lists in child processes, `parallel` at once, and sorts them by throughput, highest first,
/// impossible ones last. `experiment` and `overrides` are the source of `resolved`, `files` the files read
/// for it. Must be called before anything is simulated in this process. Throws std::runtime_error if a
/// simulation fails for reasons other than its input or its machine.
std::vector<WhatIfRow> what_would_help(const config::Catalogue& catalogue, const std::string& experiment,
                                       const Overrides& overrides, const ResolvedExperiment& resolved,
                                       InputFiles& files, int parallel);

/// Removes algorithms that `auto` has already chosen for every collective of the unchanged run.
void drop_chosen(const Run& run, std::vector<WhatIfRow>& rows);

/// Removes changes of several keys that gain no more than a change of only some of these keys.
void drop_needless_pairs(std::vector<WhatIfRow>& rows);

/// "platform.fabric.nic=\"50 Gbps\"", quoted for a shell.
std::string set_argument(const std::pair<std::string, std::string>& set);

/// "--set nodes=4 --set platform.fabric.nic=\"50 Gbps\"", quoted for a shell.
std::string set_options(const Overrides& set);

}  // namespace trainyard
