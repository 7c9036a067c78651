#include "report/memory_table.hpp"

#include "units/table.hpp"
#include "units/text.hpp"
#include "units/text_layout.hpp"
#include "units/version.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

namespace trainyard {

namespace {

using Json = nlohmann::ordered_json;

void add_line(Table& table, std::string_view name, Bytes bytes, Bytes capacity, std::string_view what) {
  // one more blank before the text
  table.row(name, gpu_memory_in_column(bytes), percent(bytes / capacity),
            what.empty() ? std::string() : ' ' + std::string(what));
}

std::string wrapped(std::string_view text, const PrintStyle& style) {
  std::string all;
  for (const std::string& line : wrap(text, style.width)) all += line + '\n';
  return all;
}

std::string server_table(const ServerMemory& memory, const PrintStyle& style) {
  Table table({text_column(22), number_column(10), text_column().wraps(12)}, {.indent = 0, .gap = 1});
  for (const ServerMemoryTerm& term : server_memory_terms)
    table.row(term.name, gpu_memory_in_column(memory.*term.bytes), ' ' + std::string(term.what));
  table.rule();
  table.row("server", gpu_memory_in_column(total(memory)),
            memory.is_on_gpu ? " a term of the table above" : " in the memory of the host");
  return wrapped("servers on " + server_place(memory) + ":", style) + table.text(style.width);
}

}  // namespace

std::string server_place(const ServerMemory& memory) {
  if (memory.places == 1) return memory.place;
  return fmt::format("{}, the fullest of {}", memory.place, memory.places);
}

Json server_memory_json(const ServerMemory& memory) {
  Json json{{"place", memory.place}, {"places", memory.places}, {"on_gpu", memory.is_on_gpu}};
  for (const ServerMemoryTerm& term : server_memory_terms)
    json[std::string(term.name)] = (memory.*term.bytes).si();
  json["total"] = total(memory).si();
  return json;
}

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

std::string memory_table(const std::string& experiment, const MemoryReport& report, const std::string& remark,
                         const PrintStyle& style) {
  std::string text = wrapped(fmt::format("{}: memory of one rank, batch_per_gpu {} (1 GB = 2^30 bytes)",
                                         experiment, grouped(report.batch_per_gpu)),
                             style);
  if (!remark.empty()) text += wrapped(remark, style);
  Table table({text_column(22), number_column(10), number_column(8), text_column().wraps(12)},
              {.indent = 0, .gap = 1});
  table.row("term", "memory", "share", "");
  table.rule();
  for (const MemoryTerm& term : memory_terms) {
    if (is_listed(report.terms, term))
      add_line(table, term.name, report.terms.*term.bytes, report.capacity, term.what);
  }
  table.rule();
  add_line(table, "peak", report.peak, report.capacity, "at the fullest moment of a step");
  add_line(table, "capacity", report.capacity, report.capacity, report.gpu);
  if (report.available < report.capacity) {
    add_line(table, "available", report.available, report.capacity,
             "left by the driver and the framework's allocator");
  }
  text += '\n' + table.text(style.width) + '\n';
  if (report.server) text += server_table(*report.server, style) + '\n';
  if (report.fits)
    text += wrapped(fmt::format("batch_per_gpu {} {}", report.batch_per_gpu, verdict(report)), style);
  for (const std::string& assumption : report.assumptions) text += wrapped("note: " + assumption, style);
  return text;
}

std::string stage_memory_table(const std::vector<MemoryReport>& reports, const PrintStyle& style) {
  if (reports.size() == 1) return {};
  Table table(
      {text_column(12), number_column(12).drops(3), number_column(12).drops(2), number_column(12).drops(4),
       number_column(12).drops(5), number_column(12).drops(1), number_column(12), number_column(8)},
      {.indent = 0, .gap = 1, .elsewhere = "--json"});
  table.row("GB by stage", "parameters", "gradients", "optimizer", "activations", "other", "peak", "share");
  table.rule();
  const auto in_gb = [](Bytes bytes) {
    const std::string with_unit = gpu_memory_in_column(bytes);
    return with_unit.substr(0, with_unit.find(' '));
  };
  for (const MemoryReport& report : reports) {
    const MemoryTerms& terms = report.terms;
    const Bytes named = terms.parameters + terms.gradients + terms.optimizer_state + terms.activations;
    table.row(report.ranks, in_gb(terms.parameters), in_gb(terms.gradients), in_gb(terms.optimizer_state),
              in_gb(terms.activations), in_gb(report.peak - named), in_gb(report.peak),
              percent(report.utilization));
  }
  return table.text(style.width);
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
  if (report.server) json["server_memory"] = server_memory_json(*report.server);
  json["fits"] = report.fits;
  json["largest_term"] = largest_term(report.terms).name;
  json["largest_batch_per_gpu"] = report.largest_batch;
  json["notes"] = report.assumptions;
  return json;
}

}  // namespace trainyard
