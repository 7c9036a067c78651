#pragma once
// Published rows whose ranks share a model as text, for tests.

#include "config/catalogue.hpp"
#include "published/case.hpp"
#include "published/published_text.hpp"

#include <memory>
#include <string>
#include <variant>

namespace trainyard {

inline const std::string layout_header =
    "id,source,model,layers,hidden,heads,seq,vocab,gpu,gpus,nodes,nic,tp,pp,vpp,dp,cp,ep,zero,"
    "sequence_parallel,recompute,micro_batch,global_batch,precision,framework,metric,value,unit,notes\n";

/// GPT with eight layers on eight V100 of one node.
inline std::string layout_line(const std::string& layout, const std::string& figure,
                               const std::string& sizes = "8,1024,16,1024,50257") {
  return "a1,a test,GPT-2," + sizes + ",V100-SXM2-16GB,8,1,1x InfiniBand EDR," + layout +
         ",4,32,fp16,Megatron-LM," + figure + ",\n";
}

inline constexpr auto four_by_two = "2,2,,2,,,,,full";

/// The lines with the rules that are shipped for layouts.
inline std::shared_ptr<const PublishedData> layouts_of(const std::string& lines) {
  const ShippedRules& rules = rules_shipped_as("layouts");
  return data_of(read_published_rows("rows.csv", layout_header + lines), rules.machines, rules.runs);
}

/// The case of the first line, or why there is none.
inline std::variant<Case, std::string> layout_case_of(const std::string& lines) {
  const auto data = layouts_of(lines);
  return case_of(data, data->rows.front());
}

}  // namespace trainyard
