#include "interchange/pcie_rates.hpp"

#include "units/text.hpp"

#include <fmt/format.h>
#include <string>

namespace trainyard {
namespace {

constexpr double giga = 1e9;
constexpr double most_transfers = 256;  // generation 8; more is no PCIe link

/// Bytes per transfer and lane: 8b/10b code up to generation 2, then 128b/130b, then none.
double bytes_per_transfer(double transfers) {
  if (transfers < 8) return 1.0 / 10;
  // 15.75 GB/s on 16 lanes of generation 3, as every data sheet and the shipped platforms round it
  return transfers < 64 ? 15.75 / 16 / 8 : 1.0 / 8;
}

bool is_of_its_kind(double transfers) { return transfers == 8 || transfers == 16 || transfers == 32; }

/// NCCL plans with 12 of 15.75 GB/s on 16 lanes of generation 3.
constexpr double planned_part = 12 / 15.75;

}  // namespace

std::optional<double> transfers_in(std::string_view text) {
  const std::size_t unit = text.find("GT/s");
  if (unit == std::string_view::npos) return std::nullopt;
  std::string_view number = text.substr(0, unit);
  while (number.ends_with(' ')) number.remove_suffix(1);
  const auto parsed = parse_number(number);
  if (!parsed || *parsed <= 0 || *parsed > most_transfers) return std::nullopt;
  return *parsed;
}

double transfers_of_generation(int generation) {
  static constexpr double by_generation[] = {0, 2.5, 5, 8, 16, 32, 64};
  return generation >= 1 && generation <= 6 ? by_generation[generation] : 0;
}

Bandwidth pcie_bandwidth(const PcieLink& link) {
  return Bandwidth(link.transfers * giga * bytes_per_transfer(link.transfers) * link.lanes);
}

LinkKind pcie_kind(double transfers) {
  if (transfers <= 8) return LinkKind::pcie3;
  return transfers <= 16 ? LinkKind::pcie4 : LinkKind::pcie5;
}

LinkFile pcie_link(const PcieLink& link, const std::string& assumed) {
  LinkFile file;
  file.kind = pcie_kind(link.transfers);
  file.lanes = link.lanes;
  const std::string rate = fmt::format("{} GT/s on {} lanes", shortest(link.transfers), link.lanes);
  file.bandwidth = {pcie_bandwidth(link), assumed.empty() ? Provenance::specified : Provenance::assumed,
                    assumed.empty() ? rate + "; PCI Express base specification" : rate + ": " + assumed};
  if (!is_of_its_kind(link.transfers)) {
    file.effective = {planned_part * file.bandwidth.value, Provenance::assumed,
                      "the same part of the bandwidth as NCCL plans with on generation 3"};
  }
  return file;
}

Sourced<Bandwidth> effective_pcie_lane(LinkKind kind) {
  const double generation_3 = 0.75e9;
  if (kind == LinkKind::pcie3)
    return {Bandwidth(generation_3), Provenance::assumed,
            "12 GB/s on 16 lanes is what NCCL plans with; NCCL src/graph/topo.h"};
  if (kind == LinkKind::pcie4)
    return {Bandwidth(2 * generation_3), Provenance::assumed,
            "24 GB/s on 16 lanes is what NCCL plans with; NCCL src/graph/topo.h"};
  return {Bandwidth(4 * generation_3), Provenance::assumed,
          "48 GB/s on 16 lanes, twice what NCCL plans with on the fourth generation; as on dgx_h100"};
}

}  // namespace trainyard
