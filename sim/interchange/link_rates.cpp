#include "interchange/link_rates.hpp"

#include "config/fields.hpp"
#include "platform/names.hpp"
#include "units/plural.hpp"
#include "units/text.hpp"

#include <fmt/format.h>
#include <string>
#include <utility>

namespace trainyard {
namespace {

constexpr double gigabytes_per_second = 1e9;

double lane_of(LinkKind kind) {
  if (kind == LinkKind::nvlink1) return 20;
  return kind == LinkKind::nvlink5 ? 50 : 25;
}

Sourced<Bandwidth> assumed_rate(double gigabytes, std::string why) {
  return {Bandwidth(gigabytes * gigabytes_per_second), Provenance::assumed, std::move(why)};
}

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

LinkFile nvlink_link(LinkKind kind, int lanes, double lane) {
  LinkFile link;
  link.kind = kind;
  link.lanes = lanes;
  const double rate = lane > 0 ? lane : lane_of(kind);
  link.bandwidth = {
      Bandwidth(rate * gigabytes_per_second * lanes), Provenance::specified,
      fmt::format("{} of {} GB/s; NVIDIA's data sheets", plural(lanes, "NVLink"), shortest(rate))};
  if (lane > 0) {  // NCCL plans with 12 of GA102's 14.06
    constexpr double planned = 12 / 14.0625;
    link.effective = assumed_rate(planned * rate * lanes,
                                  "12 of 14.06 GB/s a lane is what NCCL plans with; "
                                  "NCCL src/graph/topo.h");
  }
  return link;
}

Sourced<Bandwidth> effective_nvlink_lane(LinkKind kind, bool through_switch) {
  switch (kind) {
    case LinkKind::nvlink1:
      return assumed_rate(18.3, "as on dgx1_p100, where copies reach it");
    case LinkKind::nvlink2:
      return through_switch ? assumed_rate(20.4, "as on dgx2, where it is fitted")
                            : assumed_rate(22.6, "as on dgx1v, where it is fitted");
    case LinkKind::nvlink3:
      return through_switch ? assumed_rate(19.7, "as on dgx_a100, where it is fitted")
                            : assumed_rate(17.3, "as between two A100 with bridges (dss8440_nvlink)");
    case LinkKind::nvlink4:
      return assumed_rate(21.4, "as on dgx_h100, where it is fitted");
    default:
      return assumed_rate(43.3, "as on dgx_b200, where it is fitted");
  }
}

LinkFile xgmi_link(const std::string& generation, int lanes) {
  struct Rates {
    double link;  ///< GB/s and direction
    double effective;
    std::string_view why;
  };
  constexpr std::string_view planned = "the rate that RCCL plans with; ROCm/rccl src/graph/topo.h";
  const auto is = [&](std::string_view name) { return generation.find(name) != std::string::npos; };
  const Rates rates = is("95")   ? Rates{76.8, 50.9, "as on server_mi350x, where it is measured"}
                      : is("94") ? Rates{64, 45.2, "as on server_mi300x, where it is measured"}
                      : is("90a") || generation == "910" ? Rates{50, 36, planned}
                                                         : Rates{46, 24, planned};
  LinkFile link;
  link.kind = LinkKind::xgmi;
  link.lanes = lanes;
  link.bandwidth = {
      Bandwidth(rates.link * gigabytes_per_second * lanes), Provenance::specified,
      fmt::format("{} of {} GB/s; AMD's data sheets", plural(lanes, "xGMI link"), shortest(rates.link))};
  link.effective = assumed_rate(rates.effective * lanes, std::string(rates.why));
  return link;
}

LinkFile c2c_link(Sourced<Bandwidth> rate) {
  LinkFile link;
  link.kind = LinkKind::nvlink5;
  link.lanes = 1;
  link.bandwidth = std::move(rate);
  constexpr double reached = 68.0 / 75;  // the part that an AC922's NVLinks to its CPU reach in copies
  link.effective = {reached * link.bandwidth.value, Provenance::assumed,
                    "as on gb200_nvl72: the part that an AC922's NVLinks to its CPU reach"};
  return link;
}

LinkFile socket_link(LinkKind kind, const std::string& generation) {
  LinkFile link;
  link.kind = kind;
  if (generation == grace) {
    link.lanes = 1;
    link.bandwidth =
        assumed_rate(128, "as on gb200_nvl72; no figure of the link between two Grace is published");
    link.effective = assumed_rate(22, "as on gb200_nvl72, that between Sapphire Rapids sockets");
    return link;
  }
  const bool is_new = generation == "Sapphire Rapids";
  const auto planned = [&](double rate, const char* sockets) {
    link.effective = assumed_rate(
        rate, fmt::format("what NCCL plans with between {} sockets; NCCL src/graph/topo.h", sockets));
  };
  switch (kind) {
    case LinkKind::qpi:
      link.lanes = 2;
      link.bandwidth = assumed_rate(38.4, "2 QPI links of 9.6 GT/s, 2 bytes each, as in a DGX-1");
      planned(6, "Broadwell");
      break;
    case LinkKind::upi:
      link.lanes = is_new ? 3 : 2;
      link.bandwidth = is_new ? assumed_rate(96, "3 UPI links of 16 GT/s, 2 bytes each, as in a DGX H100")
                              : assumed_rate(41.6, "2 UPI links of 10.4 GT/s, 2 bytes each");
      planned(is_new ? 22 : 10, is_new ? "Sapphire Rapids" : "Skylake");
      break;
    case LinkKind::xbus:
      link.lanes = 1;
      link.bandwidth = assumed_rate(32, "X-bus, as in an AC922");
      planned(32, "POWER9");
      break;
    default:
      link.kind = LinkKind::infinity_fabric;
      link.lanes = 3;
      link.bandwidth = assumed_rate(108, "3 links of 16 lanes at 18 GT/s, 36 GB/s each, as in a DGX A100");
      planned(16, "EPYC");
  }
  return link;
}

Sourced<Seconds> usual_link_latency(LinkKind kind) {
  const bool is_nv = is_nvlink(kind);
  return {usual_latency(kind), Provenance::assumed,
          is_nv ? "as a link of a DGX-2, whose peer-to-peer writes cross two in 2.3-2.7 us"
                : "a switch or port forwards in 0.1-0.2 us"};
}

Sourced<Seconds> usual_network_latency(Transport transport) {
  if (transport == Transport::tcp)
    return {Seconds(20e-6), Provenance::assumed, "as gcp_a3_highgpu: half of a ping; measure yours"};
  if (transport == Transport::efa) return {Seconds(21.6e-6), Provenance::assumed, "as EFA on p3dn_24xlarge"};
  return {Seconds(1.8e-6), Provenance::assumed, "as between DGX-2s over InfiniBand; measure yours"};
}

Sourced<double> usual_network_efficiency(Transport transport) {
  if (transport == Transport::tcp || transport == Transport::efa)
    return {0.91, Provenance::assumed, "as TCP between two i3en.24xlarge: 91 of 100 Gb/s"};
  return {0.96, Provenance::assumed, "as InfiniBand, 12 of a 100 Gb/s card's 12.5 GB/s"};
}

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
