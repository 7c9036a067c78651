#pragma once
// Content of a published row about a collective: operation, sizes and figure, from the columns metric, model
// and unit.

#include "collectives/algorithm.hpp"
#include "collectives/operation.hpp"
#include "published/collective_curves.hpp"
#include "published/published_rows.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace trainyard {

// Reasons that mean that a row was never to be predicted, or that other files look for.
inline constexpr std::string_view not_a_collective = "not a collective";
inline constexpr std::string_view only_context = "context, not a measurement";
inline constexpr std::string_view no_gpus = "no number of GPUs";

/// Whether the row's metric is about a collective: it begins with the name of one, or with the first word of
/// the column `model`, whatever that is.
bool is_about_a_collective(const PublishedRow& row);

struct CollectiveMeasurement {
  Operation operation{};
  CollectiveFigure figure{};
  Algorithm algorithm = Algorithm::automatic;  ///< a metric like "allreduce_tree_time" names one
  bool in_place = false;
  std::vector<Bytes> sizes;
  double measured = 0;  ///< seconds, or bytes per second of bus bandwidth
};

/// The row's measurement, or why it cannot be predicted. An algorithm bandwidth is converted to a bus
/// bandwidth by nccl-tests' factors (operation.hpp).
std::variant<CollectiveMeasurement, std::string> collective_measurement(const PublishedRow& row);

}  // namespace trainyard
