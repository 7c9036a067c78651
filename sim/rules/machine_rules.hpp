#pragma once
// Finds the platform on which a published row was measured: rules over its columns (gpu, GPUs per node,
// interconnects, framework), never over names of rows, sources or people's machines, so that they also apply
// to unknown rows. workloads/published/machines/published.yaml holds the shipped ones.

#include "collectives/nccl.hpp"
#include "config/catalogue.hpp"
#include "config/document.hpp"
#include "config/keys.hpp"
#include "rules/row_pattern.hpp"
#include "units/quantity.hpp"

#include <map>
#include <string>
#include <vector>

namespace trainyard {

struct MachineRule {
  RowPattern when;
  std::string platform;                    ///< by name
  std::map<std::string, std::string> set;  ///< keys of the platform that differ: {"fabric.nic": "25 Gbps"}
  /// GPUs of a rack that is one node of the platform, while the row counts its parts as nodes; 0: it does
  /// not.
  int gpus_per_rack = 0;
  std::string kin;    ///< machines with the same word are left out of a fit together
  std::string note;   ///< the reason, or the assumption
  double memory = 0;  ///< GiB of its GPU's profile; 0: of processors. Not a key
};

/// The NCCL version of rows that do not state one.
struct SoftwareRule {
  RowPattern when;
  NcclVersion nccl{};
  std::string note;
};

/// How a collective was timed: how many GPUs one process drives, which nccl-tests starts one after the other,
/// and what the caller's framework adds to the library's time.
struct HarnessRule {
  RowPattern when;
  bool one_process_per_node = false;  ///< otherwise one per GPU
  Seconds call = {};                  ///< of the framework, in the time of every collective
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
/// that they do not have. A rule whose GPU is also sold with another memory (profiles v100_sxm2_16gb and
/// v100_sxm2_32gb) is followed by one with that profile, for rows that state that memory.
MachineRules load_machine_rules(const config::Document& document, const config::Catalogue& catalogue);

}  // namespace trainyard

namespace trainyard::config {

template <>
struct Keys<MachineRule> {
  static auto table() {
    return keys(
        required("when", &MachineRule::when, "conditions on the row"),
        required("platform", &MachineRule::platform, "platform of the row"),
        optional("set", &MachineRule::set, "keys of the platform to change"),
        optional(
            "gpus_per_rack", &MachineRule::gpus_per_rack,
            "GPUs of a rack that is one node of the platform, where rows count parts of racks as nodes: a "
            "run takes equal parts of as few racks as it can")
            .at_least(0),
        optional("kin", &MachineRule::kin,
                 "name of a group of machines that a fit leaves out together; default: the platform's name"),
        optional("note", &MachineRule::note, "reason or assumption"));
  }
};

template <>
struct Keys<SoftwareRule> {
  static auto table() {
    return keys(required("when", &SoftwareRule::when, "conditions on the row"),
                required("nccl", &SoftwareRule::nccl, "NCCL version if the row states none"),
                optional("note", &SoftwareRule::note, "reason or assumption"));
  }
};

template <>
struct Keys<HarnessRule> {
  static auto table() {
    return keys(required("when", &HarnessRule::when, "conditions on the row"),
                optional("one_process_per_node", &HarnessRule::one_process_per_node,
                         "whether one process starts the collective on all GPUs of a node in turn; otherwise "
                         "there is one process per GPU"),
                optional("call", &HarnessRule::call,
                         "time that the framework's call adds to every collective as it was timed")
                    .at_least(0)
                    .at_most(1),
                optional("note", &HarnessRule::note, "reason or assumption"));
  }
};

template <>
struct Keys<MachineRules> {
  static auto table() {
    return keys(required("name", &MachineRules::name, "the file's name without .yaml"),
                optional("title", &MachineRules::title, "one line for people"),
                required("machines", &MachineRules::machines,
                         "platforms of rows; the first rule that matches counts"),
                optional("software", &MachineRules::software, "NCCL versions of rows that state none"),
                optional("harness", &MachineRules::harness,
                         "GPUs per process and times of calls; default: one, and none"),
                optional("outliers", &MachineRules::outliers, "suspected causes of large errors"));
  }
};

}  // namespace trainyard::config
