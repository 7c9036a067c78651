#pragma once
// What a published row about a collective says: operation, sizes and figure from its columns metric, model
// and unit.

#include "collectives/operation.hpp"
#include "study/collective_curves.hpp"
#include "study/published_rows.hpp"

#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace trainyard {

struct CollectiveMeasurement {
  Operation operation{};
  CollectiveFigure figure{};
  bool in_place = false;
  std::vector<Bytes> sizes;
  double measured = 0;  ///< seconds, or bytes per second
};

/// The row, or in words why it is none that can be predicted.
std::variant<CollectiveMeasurement, std::string> collective_measurement(const PublishedRow& row);

}  // namespace trainyard
