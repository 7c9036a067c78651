#pragma once
// Published training runs and rules made by hand, so that nothing depends on how good predictions are.

#include "published/published_text.hpp"
#include "shipped_catalogue.hpp"

#include <fmt/format.h>

namespace trainyard {

using Cells = std::map<std::string, std::string>;

/// AlexNet in fp32 on one V100 of a cube mesh at 1,000 images/s; `cells` replaces columns by name.
inline std::string run_line(const Cells& cells = {}) {
  Cells all{{"framework", "torch"},  {"model", "AlexNet"},     {"precision", "fp32"},
            {"batch_per_gpu", "64"}, {"metric", "throughput"}, {"value", "1000"},
            {"unit", "img/s"},       {"gpus_total", "1"},      {"source", "nobody known"}};
  for (const auto& [column, text] : cells) all[column] = text;
  return published_line(all);
}

/// The same on so many GPUs, eight to a node.
inline std::string run_line(int gpus, double value, Cells cells = {}) {
  cells["gpus_total"] = std::to_string(gpus);
  cells["nodes"] = std::to_string((gpus + 7) / 8);
  cells["value"] = fmt::format("{}", value);
  return run_line(cells);
}

inline const MachineRules& own_machines() {
  static const MachineRules rules =
      load_machine_rules(config::parse("machines.yaml",
                                       "name: machines\nmachines:\n"
                                       "  - {when: {gpu: [V100]}, platform: dgx1v}\n"),
                         testing::shipped_catalogue());
  return rules;
}

inline const RunRules& own_runs() {
  static const RunRules rules = load_run_rules(config::parse("own.yaml", R"(name: own
models:
  - {when: {model: [AlexNet]}, model: alexnet_tf}
  - {when: {model: [BERT]}, model: bert_base, optimizer: adam}
stacks:
  - {when: {framework: [torch]}, stack: pytorch_ddp}
  - {when: {framework: [waiting]}, stack: pytorch_ddp, set: {software: ideal, random.gpus: slowest}}
excluded:
  - {when: {notes: [strange]}, reason: it is strange}
families:
  - {when: {notes: [unclaimed]}, family: apart, not_in_totals: nobody asks for it}
  - {when: {}, family: all}
outliers:
  - {when: {notes: [odd]}, reason: an odd run}
series: {options: [xla]}
)"),
                                               testing::shipped_catalogue());
  return rules;
}

}  // namespace trainyard
