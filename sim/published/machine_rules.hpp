#pragma once
// Finds the platform on which a published row was measured: rules over its columns (gpu, GPUs per node,
// interconnects, framework), never over names of rows, sources or people's machines, so that they also apply
// to unknown rows. workloads/published/machines/published.yaml holds the shipped ones.

#include "collectives/nccl.hpp"
#include "config/catalogue.hpp"
#include "config/document.hpp"
#include "config/keys.hpp"
#include "published/outlier_rule.hpp"
#include "published/row_pattern.hpp"

#include <map>
#include <string>
#include <vector>

namespace trainyard {

struct MachineRule {
  RowPattern when;
  std::string platform;                    ///< by name
  std::map<std::string, std::string> set;  ///< keys of the platform that differ: {"fabric.nic": "25 Gbps"}
  std::string kin;                         ///< machines with the same word are left out of a fit together
  std::string note;                        ///< the reason, or the assumption
};

/// The NCCL version of rows that do not state one.
struct SoftwareRule {
  RowPattern when;
  NcclVersion nccl{};
  std::string note;
};

/// How many GPUs one process drives: nccl-tests starts them one after the other.
struct HarnessRule {
  RowPattern when;
  bool one_process_per_node = false;  ///< otherwise one per GPU
  std::string note;
};

/// In each list the first rule that matches a row counts.
struct MachineRules {
  std::string name;
  std::string title;
  std::vector<MachineRule> machines;
  std::vector<SoftwareRule> software;
  std::vector<HarnessRule> harness;
  std::vector<OutlierRule> outliers;
};

/// Throws one InputError with all errors, including platforms that are not in the catalogue and keys in `set`
/// that they do not have.
MachineRules load_machine_rules(const config::Document& document, const config::Catalogue& catalogue);

}  // namespace trainyard

namespace trainyard::config {

template <>
struct Keys<MachineRule> {
  static auto table() {
    return keys(required("when", &MachineRule::when, "what the row must say"),
                required("platform", &MachineRule::platform, "the platform it then was measured on"),
                optional("set", &MachineRule::set, "keys of the platform that differ there"),
                optional("kin", &MachineRule::kin,
                         "machines of one word are left out of a fit together; default: the platform's name"),
                optional("note", &MachineRule::note, "why, or what is assumed"));
  }
};

template <>
struct Keys<SoftwareRule> {
  static auto table() {
    return keys(required("when", &SoftwareRule::when, "what the row must say"),
                required("nccl", &SoftwareRule::nccl, "the version where the row states none"),
                optional("note", &SoftwareRule::note, "why, or what is assumed"));
  }
};

template <>
struct Keys<HarnessRule> {
  static auto table() {
    return keys(
        required("when", &HarnessRule::when, "what the row must say"),
        required("one_process_per_node", &HarnessRule::one_process_per_node,
                 "one process starts the collective on all GPUs of a node in turn; otherwise one per GPU"),
        optional("note", &HarnessRule::note, "why, or what is assumed"));
  }
};

template <>
struct Keys<MachineRules> {
  static auto table() {
    return keys(
        required("name", &MachineRules::name, "the file's name without .yaml"),
        optional("title", &MachineRules::title, "what the rules are for"),
        required("machines", &MachineRules::machines, "platforms of rows; the first rule that is met counts"),
        optional("software", &MachineRules::software, "NCCL versions of rows that state none"),
        optional("harness", &MachineRules::harness, "how many GPUs a process drove; default: one"),
        optional("outliers", &MachineRules::outliers, "what is suspected where a curve is far off"));
  }
};

}  // namespace trainyard::config
