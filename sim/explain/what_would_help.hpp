#pragma once
// What would make a job faster: ordinary changes, each simulated and none guessed. Every one is a --set that
// its reader can repeat.

#include "config/catalogue.hpp"
#include "experiment/resolve.hpp"
#include "run/run.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace trainyard {

/// Of the changes that try another algorithm.
inline constexpr std::string_view algorithm_key = "sync.algorithm";

/// A change to an experiment.
struct WhatIf {
  std::string change;  ///< "NICs of 50 Gbps"
  Overrides set;       ///< besides the experiment's own
  std::string remark;  ///< what changes with it, or stays; may be empty
  std::string reason;  ///< why it cannot be had; empty: it can
};

/// What came of it.
struct WhatIfRow {
  WhatIf what;
  std::optional<Seconds> step_time;  ///< none where it cannot be had
  std::optional<double> throughput;  ///< samples per second
};

/// The changes worth trying on an experiment, with those of them that nobody could make.
std::vector<WhatIf> what_ifs(const ResolvedExperiment& resolved);

/// Simulates them in child processes, `parallel` at once, and sorts them: the highest throughput first, those
/// that cannot be had last. `experiment` and `overrides` are what `resolved` was read from, `files` what was
/// read for it. To be called before anything is simulated in this process. Throws std::runtime_error where a
/// simulation fails for a reason that is not its input's or its machine's.
std::vector<WhatIfRow> what_would_help(const config::Catalogue& catalogue, const std::string& experiment,
                                       const Overrides& overrides, const ResolvedExperiment& resolved,
                                       InputFiles& files, int parallel);

/// Takes out the algorithms that every collective of the run as it is has already, which `auto` chose.
void drop_chosen(const Run& run, std::vector<WhatIfRow>& rows);

/// Takes out changes to several keys that bring no more than another to some of these alone.
void drop_needless_pairs(std::vector<WhatIfRow>& rows);

/// "platform.fabric.nic=\"50 Gbps\"", as a shell takes it.
std::string set_argument(const std::pair<std::string, std::string>& set);

/// "--set nodes=4 --set platform.fabric.nic=\"50 Gbps\"", as a shell takes it.
std::string set_options(const Overrides& set);

}  // namespace trainyard
