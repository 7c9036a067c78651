#pragma once
// The published curves with which the prediction of a collective is compared: the shipped table of their
// errors (accuracy/collective_error.hpp), and the family of a cluster's curves.

#include "accuracy/collective_error.hpp"
#include "config/catalogue.hpp"
#include "config/keys.hpp"
#include "platform/cluster.hpp"

#include <array>
#include <memory>
#include <string_view>

namespace trainyard {

/// Families of curves whose errors are averaged together.
enum class CurveFamily { nvlink, pcie, several_nodes };

/// The family of the worst link that a message between neighbours crosses.
CurveFamily family_of(const Cluster& cluster);

/// The shipped errors of curves; null if they are not installed. Throws InputError and FileError.
std::shared_ptr<const CollectiveErrors> shipped_collective_errors(const config::Catalogue& catalogue);

}  // namespace trainyard

namespace trainyard::config {

template <>
struct Names<CurveFamily> {
  static constexpr std::string_view what = "family of curves";
  static constexpr std::array table{Name{"nvlink", CurveFamily::nvlink, "one node, all NVLink"},
                                    Name{"pcie", CurveFamily::pcie, "one node, over PCIe"},
                                    Name{"several_nodes", CurveFamily::several_nodes, "several nodes"}};
};

}  // namespace trainyard::config
