#include "report/memory_table.hpp"

#include "report/text_layout.hpp"
#include "units/text.hpp"
#include "units/version.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

namespace trainyard {

namespace {

using Json = nlohmann::ordered_json;

std::string memory_line(std::string_view name, Bytes bytes, Bytes capacity, std::string_view what) {
  std::string line = fmt::format("{:<22} {:>10} {:>8}  {}", name, gpu_memory_in_column(bytes),
                                 percent(bytes / capacity), what);
  line.erase(line.find_last_not_of(' ') + 1);
  return line + '\n';
}

std::string wrapped(std::string_view text) {
  std::string all;
  for (const std::string& line : wrap(text, 100)) all += line + '\n';
  return all;
}

}  // namespace

Json memory_terms_json(const MemoryTerms& terms) {
  Json json = Json::object();
  for (const MemoryTerm& term : memory_terms) {
    if (is_listed(terms, term)) json[std::string(term.name)] = (terms.*term.bytes).si();
  }
  return json;
}

std::string largest_terms(const MemoryTerms& terms) {
  if (terms.stated > Bytes()) return "as the trace states";
  std::vector<MemoryTerm> sorted(memory_terms.begin(), memory_terms.end());
  std::ranges::stable_sort(sorted, std::greater{},
                           [&](const MemoryTerm& term) { return (terms.*term.bytes).si(); });
  std::string text;
  for (std::size_t i = 0; i < 3; ++i) {
    std::string name(sorted[i].name);
    std::ranges::replace(name, '_', ' ');
    text += fmt::format("{}{} {}", i == 0 ? "" : ", ", name, gpu_memory(terms.*sorted[i].bytes));
  }
  return text;
}

std::string memory_table(const std::string& experiment, const MemoryReport& report,
                         const std::string& remark) {
  std::string text = fmt::format("{}: memory of one rank, batch_per_gpu {} (1 GB = 2^30 bytes)\n", experiment,
                                 grouped(report.batch_per_gpu));
  if (!remark.empty()) text += wrapped(remark);
  text += fmt::format("\n{:<22} {:>10} {:>8}\n", "term", "memory", "share");
  const std::string rule = std::string(42, '-') + '\n';
  text += rule;
  for (const MemoryTerm& term : memory_terms) {
    if (is_listed(report.terms, term))
      text += memory_line(term.name, report.terms.*term.bytes, report.capacity, term.what);
  }
  text += rule;
  text += memory_line("peak", report.peak, report.capacity, "at the start of the backward pass");
  text += memory_line("capacity", report.capacity, report.capacity, report.gpu);
  if (report.available < report.capacity) {
    text += memory_line("available", report.available, report.capacity,
                        "left by the driver and the framework's allocator");
  }
  text += '\n';
  if (report.fits) text += wrapped(fmt::format("batch_per_gpu {} {}", report.batch_per_gpu, verdict(report)));
  for (const std::string& assumption : report.assumptions) text += wrapped("note: " + assumption);
  return text;
}

std::string stage_memory_table(const std::vector<MemoryReport>& reports) {
  if (reports.size() == 1) return {};
  std::string text =
      fmt::format("{:<12} {:>12} {:>12} {:>12} {:>12} {:>12} {:>12} {:>8}\n", "GB by stage", "parameters",
                  "gradients", "optimizer", "activations", "other", "peak", "share");
  text += std::string(99, '-') + '\n';
  const auto in_gb = [](Bytes bytes) {
    const std::string with_unit = gpu_memory_in_column(bytes);
    return with_unit.substr(0, with_unit.find(' '));
  };
  for (const MemoryReport& report : reports) {
    const MemoryTerms& terms = report.terms;
    const Bytes named = terms.parameters + terms.gradients + terms.optimizer_state + terms.activations;
    text += fmt::format("{:<12} {:>12} {:>12} {:>12} {:>12} {:>12} {:>12} {:>8}\n", report.ranks,
                        in_gb(terms.parameters), in_gb(terms.gradients), in_gb(terms.optimizer_state),
                        in_gb(terms.activations), in_gb(report.peak - named), in_gb(report.peak),
                        percent(report.utilization));
  }
  return text;
}

Json stage_memory_json(const std::vector<MemoryReport>& reports) {
  Json stages = Json::array();
  for (const MemoryReport& report : reports) {
    stages.push_back({{"name", report.ranks},
                      {"memory_peak_bytes", report.peak.si()},
                      {"memory", memory_terms_json(report.terms)},
                      {"fits", report.fits}});
  }
  return stages;
}

Json memory_json(const std::string& experiment, const MemoryReport& report) {
  Json json;
  json["schema_version"] = 1;
  json["trainyard_version"] = version();
  json["experiment"] = experiment;
  json["gpu"] = report.gpu;
  json["batch_per_gpu"] = report.batch_per_gpu;
  json["memory_peak_bytes"] = report.peak.si();
  json["memory_capacity_bytes"] = report.capacity.si();
  json["memory_available_bytes"] = report.available.si();
  json["memory_utilization"] = report.utilization;
  json["memory"] = memory_terms_json(report.terms);
  json["fits"] = report.fits;
  json["largest_term"] = largest_term(report.terms).name;
  json["largest_batch_per_gpu"] = report.largest_batch;
  json["notes"] = report.assumptions;
  return json;
}

}  // namespace trainyard
