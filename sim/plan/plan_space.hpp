#pragma once
// The space of a plan: numbers of GPUs and other settings (the groups), each with all its layouts, and the
// bounds of every layout before anything is simulated.

#include "config/catalogue.hpp"
#include "experiment/plan_settings.hpp"
#include "plan/layout_judge.hpp"
#include "plan/layout_space.hpp"
#include "plan/plan_draws.hpp"
#include "sweep/sweep.hpp"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace trainyard {

/// What is asked for.
struct PlanRequest {
  std::string name;        ///< of the plan: "gpt3_20b on dgx_a100"
  std::string experiment;  ///< name or path, or no_file
  Overrides set;
  PlanSettings settings;
};

/// Where a layout stands on the map of a plan.
struct PlanPlace {
  int tensor = 1;
  int pipeline = 1;
  friend auto operator<=>(const PlanPlace&, const PlanPlace&) = default;
};

/// One number of GPUs with one value of each further key.
struct PlanGroup {
  std::vector<std::string> values;    ///< of the keys in PlanSpace::group_keys
  std::string platform = {};          ///< the name of its machine
  std::optional<Dollars> price = {};  ///< of a node for an hour, in place of that in the platform's file
  int gpus = 0;
  int nodes = 0;
  int global_batch = 0;
  std::size_t layouts = 0;                             ///< in its space
  std::size_t too_large = 0;                           ///< that do not fit into the memory
  std::set<PlanPlace> too_large_at = {};               ///< where these stand
  std::map<std::string, std::size_t> impossible = {};  ///< by reason
  std::string failure = {};  ///< why it has no layouts at all: an impossible machine
};

/// Lower bounds of the simulation of a point.
struct PointBound {
  std::size_t group = 0;
  double step_s = 0;
  double judged_s = 0;                  ///< the same before the point was planned, which raises it
  std::optional<double> energy_j = {};  ///< per step
  double memory = 0;                    ///< share of the available memory that it takes, exactly
};

/// The random parts of a search for a quantile.
struct PlanRandomness {
  PlanDraws draws;
  std::uint64_t seed = 0;
  std::vector<ErrorSpread> errors = {};  ///< by point; zero if they are unknown
  std::vector<CommonError> common = {};  ///< by group: the common part of the errors of its layouts
  std::string errors_unknown = {};       ///< why the error of a layout is: then no layout's error is drawn
};

struct PlanSpace {
  PlanRequest request;
  std::vector<std::string> group_keys;  ///< "platform.fabric.nic", "gpus"
  std::vector<PlanGroup> groups;
  std::vector<LayoutAxis> axes;     ///< of all groups together
  Sweep sweep;                      ///< its points are the layouts that are possible and fit, group by group
  std::vector<PointBound> bounds;   ///< by point
  std::vector<PlanLayout> layouts;  ///< by point
  std::optional<PlanRandomness> randomness = {};  ///< if a quantile is asked for
};

/// Judges every layout, in up to `parallel` processes. `files`: those read for it. Throws InputError if the
/// experiment cannot share its model among ranks (other kinds of synchronisation, traces), names no model or
/// no global batch, if no group is possible: then with the reason
/// of the first, or if a quantile is asked for and nothing is known that varies.
PlanSpace plan_space(const config::Catalogue& catalogue, PlanRequest request, InputFiles& files,
                     int parallel);

/// The numbers of a text such as "64", "8,24" or "8..64", which doubles. Throws InputError.
std::vector<int> gpu_counts(const std::string& text);

}  // namespace trainyard
