#include "report/memory_page.hpp"

#include "units/text.hpp"
#include "units/text_layout.hpp"
#include "units/version.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

namespace trainyard {

namespace {

using Json = nlohmann::ordered_json;

doc::Row term_row(std::string_view name, Bytes bytes, Bytes capacity, std::string_view what,
                  std::string fill = {}) {
  const double share = bytes / capacity;
  return {.cells = {doc::Cell(doc::Value(std::string(name)), std::move(fill)),
                    doc::Value(gpu_memory_in_column(bytes), bytes), doc::Value(percent(share), share),
                    std::string(what)}};
}

doc::Table empty_table(std::string key, std::string title) {
  return {.key = std::move(key),
          .title = std::move(title),
          .columns = {{.head = "term", .layout = text_column(22)},
                      {.head = "memory", .layout = number_column(10)},
                      {.head = "share", .layout = number_column(8)},
                      {.key = "meaning", .head = "", .layout = text_column().wraps(12), .is_apart = true}},
          .rows = {{.is_rule = true}},
          .shape = {.indent = 0, .gap = 1}};
}

/// The terms of a rank's memory as parts of the GPU's, as a bar for a browser and as a table.
void add_terms(doc::Section& section, const MemoryReport& report) {
  doc::Table table = empty_table("memory", "memory of a rank by term");
  doc::Bars::Bar bar;
  int number = 0;
  for (const MemoryTerm& term : memory_terms) {
    if (!is_listed(report.terms, term)) continue;
    const Bytes bytes = report.terms.*term.bytes;
    std::string fill = fmt::format("term{}", number++);
    if (bytes > Bytes{}) {
      const double share = bytes / report.capacity;
      bar.parts.push_back(
          {fill, std::string(term.name), share, fmt::format("{}, {}", gpu_memory(bytes), percent(share))});
    }
    table.rows.push_back(term_row(term.name, bytes, report.capacity, term.what, std::move(fill)));
  }
  bar.parts.push_back(
      {"free", "free", std::max(0.0, 1 - report.utilization), gpu_memory(report.capacity - report.peak)});
  table.rows.push_back({.is_rule = true});
  table.rows.push_back(term_row("peak", report.peak, report.capacity, "at the fullest moment of a step"));
  table.rows.push_back(term_row("capacity", report.capacity, report.capacity, report.gpu));
  if (report.available < report.capacity)
    table.rows.push_back(term_row("available", report.available, report.capacity,
                                  "left by the driver and the framework's allocator"));
  section.add(doc::Bars{.key = "memory", .title = table.title, .bars = {std::move(bar)}});
  section.add(std::move(table));
}

void add_servers(doc::Section& section, const ServerMemory& memory) {
  doc::Table table{
      .key = "server_memory",
      .title = "memory of servers",
      .columns = {{.head = "term", .layout = text_column(22)},
                  {.head = "memory", .layout = number_column(10)},
                  {.key = "meaning", .head = "", .layout = text_column().wraps(12), .is_apart = true}},
      .shape = {.indent = 0, .gap = 1},
      .has_heads = false};
  const auto add = [&](std::string_view name, Bytes bytes, std::string_view what) {
    table.rows.push_back(
        {.cells = {std::string(name), doc::Value(gpu_memory_in_column(bytes), bytes), std::string(what)}});
  };
  for (const ServerMemoryTerm& term : server_memory_terms) add(term.name, memory.*term.bytes, term.what);
  table.rows.push_back({.is_rule = true});
  add("server", total(memory), memory.is_on_gpu ? "a term of the table above" : "in the memory of the host");
  section.add(std::move(table));
}

/// The largest terms and the peak of each stage.
doc::Table memory_by_term(const std::vector<MemoryReport>& reports) {
  doc::Table table{.key = "stages",
                   .title = "memory by stage",
                   .columns = {{.head = "GB by stage", .layout = text_column(12)}},
                   .rows = {{.is_rule = true}},
                   .shape = {.indent = 0, .gap = 1, .elsewhere = "--json"}};
  const auto add_column = [&](const char* head, TableColumn layout) {
    table.columns.push_back({.head = head, .layout = std::move(layout)});
  };
  add_column("parameters", number_column(12).drops(3));
  add_column("gradients", number_column(12).drops(2));
  add_column("optimizer", number_column(12).drops(4));
  add_column("activations", number_column(12).drops(5));
  add_column("other", number_column(12).drops(1));
  add_column("peak", number_column(12));
  add_column("share", number_column(8));
  const auto in_gb = [](Bytes bytes) {
    const std::string with_unit = gpu_memory_in_column(bytes);
    return doc::Value(with_unit.substr(0, with_unit.find(' ')), bytes);
  };
  for (const MemoryReport& report : reports) {
    const MemoryTerms& terms = report.terms;
    const Bytes named = terms.parameters + terms.gradients + terms.optimizer_state + terms.activations;
    table.rows.push_back(
        {.cells = {report.ranks, in_gb(terms.parameters), in_gb(terms.gradients),
                   in_gb(terms.optimizer_state), in_gb(terms.activations), in_gb(report.peak - named),
                   in_gb(report.peak), percent(report.utilization)}});
  }
  return table;
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

doc::Document memory_document(const std::string& experiment, const std::vector<MemoryReport>& reports,
                              const std::string& remark) {
  const MemoryReport& report = fullest(reports);
  doc::Document page{.title = "Memory of " + experiment, .version = version()};
  if (!remark.empty()) page.lead.push_back(remark);
  doc::Section& head = page.section("setting", "");
  head.shown = doc::Shown::text;
  head.is_untitled_in_text = true;
  head.add(doc::Sentence{.text = fmt::format("{}: memory of one rank, batch_per_gpu {} (1 GB = 2^30 bytes)",
                                             experiment, grouped(report.batch_per_gpu)),
                         .indent = 0});
  if (!remark.empty()) head.add(doc::Sentence{.text = remark, .indent = 0});
  doc::Section& terms = page.section("terms", "memory by term");
  terms.is_untitled_in_text = true;
  add_terms(terms, report);
  if (report.server) {
    doc::Section& servers = page.section("servers", "servers on " + server_place(*report.server));
    servers.is_untitled_in_text = true;
    servers.add(doc::Sentence{.text = servers.title + ":", .indent = 0, .shown = doc::Shown::text});
    add_servers(servers, *report.server);
  }
  doc::Section& verdict = page.section("verdict", "verdict");
  verdict.is_untitled_in_text = true;
  // Otherwise the program's error says it.
  if (report.fits)
    verdict.add(doc::Sentence{
        .text = fmt::format("batch_per_gpu {} {}", report.batch_per_gpu, trainyard::verdict(report)),
        .indent = 0});
  for (const std::string& assumption : report.assumptions)
    verdict.add(doc::Sentence{.text = "note: " + assumption, .indent = 0});
  if (reports.size() == 1) return page;
  doc::Section& stages = page.section("stages", "memory by stage");
  stages.is_untitled_in_text = true;
  stages.add(memory_by_term(reports));
  return page;
}

void add_memory(doc::Document& page, const Run& run) {
  if (!run.memory) return;
  const std::vector<MemoryReport>& reports = *run.memory;
  const bool has_stages = run.experiment.layout && reports.size() > 1;
  doc::Section& section = page.section("memory", "memory per GPU");
  if (has_stages) section.add(memory_by_term(reports));
  for (const MemoryReport& report : reports) {
    if (has_stages && &report != &fullest(reports)) continue;
    if (reports.size() > 1)
      section.add(doc::Heading{has_stages ? "the fullest: " + report.ranks : report.ranks});
    add_terms(section, report);
    section.add(
        doc::Sentence{fmt::format("batch_per_gpu {} {}", grouped(report.batch_per_gpu), verdict(report))});
    if (!report.server) continue;
    section.add(doc::Heading{"servers on " + server_place(*report.server)});
    add_servers(section, *report.server);
  }
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
