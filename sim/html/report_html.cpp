#include "html/report_html.hpp"

#include "document/html_page.hpp"
#include "document/writers.hpp"
#include "experiment/one_gpu.hpp"
#include "experiment/prediction_error.hpp"
#include "html/known_errors_html.hpp"
#include "html/run_sections.hpp"
#include "html/timeline_data.hpp"
#include "report/memory_page.hpp"
#include "report/run_words.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace trainyard {

namespace {

std::string kind_of_prediction(const Run& run, const PageOrigin& origin) {
  if (origin.has_measured_times)
    return "The trace gave the compute times: compare with 1gpu, the error of adding GPUs.";
  return fmt::format("Compare this result with the fit {}.", fit_of(run.experiment));
}

}  // namespace

Html html_of(const Run& run, void (*add)(doc::Document&, const Run&)) {
  doc::Document page;
  add(page, run);
  Html html;
  for (const doc::Section& section : page.sections) {
    if (!section.remark.empty()) html += paragraph(section.remark);
    html += doc::content_html(section);
  }
  return html;
}

PageOrigin page_origin(const ResolvedExperiment& resolved, const std::string& version) {
  PageOrigin origin{.version = version, .warnings = {}, .sources = {}};
  for (const Diagnostic& warning : resolved.warnings) origin.warnings.push_back(to_string(warning));
  const auto is_measured = [](const Op& op) {
    return op.duration && op.source.value_or(ComputeSource::measured) == ComputeSource::measured;
  };
  origin.has_measured_times = std::ranges::any_of(resolved.classes, [&](const RankClass& one) {
    return std::ranges::any_of(one.trace.ops, is_measured);
  });
  const auto add = [&](std::string_view kind, const std::string& name,
                       const std::vector<std::string>& sources) {
    for (const std::string& source : sources)
      origin.sources.push_back({.file = fmt::format("{} {}", kind, name), .source = source});
  };
  add("platform", resolved.platform.name, resolved.platform.sources);
  add("GPU", resolved.gpu.name, resolved.gpu.source);
  add("stack", resolved.stack.name, resolved.stack.source);
  return origin;
}

std::string report_html(const Run& run, const PageOrigin& origin, const PageChanges& changes) {
  Html lead = paragraph(run_setting(run));
  if (const std::string set = changes_in_words(run.experiment); !set.empty()) lead += paragraph(set);
  if (run.experiment.settings.one_gpu) lead += paragraph(one_gpu_in_words(run.experiment.settings));
  for (const std::string& warning : origin.warnings)
    lead += element("pre", warning, " class=\"warning\"") + Html{"\n"};
  HtmlPage page{.title = run_title(run),
                .lead = lead,
                .sections = {{"answer", "In short", answer_html(run, changes)},
                             {"figures", "Key figures", figures_html(run)},
                             {"limits", "What limits it", limits_html(run)},
                             {"changes", "What would help", changes_html(run, changes)},
                             {"where", "Where the time goes", where_html(run)},
                             {"timeline", "Timeline", timeline_html(run)},
                             {"updates", "Updates and staleness", html_of(run, add_updates)},
                             {"learning", "Learning", html_of(run, add_learning)},
                             {"collectives", "Collectives", collectives_html(run)},
                             {"groups", "Groups and links", groups_html(run)},
                             {"links", "Links", links_html(run)},
                             {"layers", "Kernels and layers", layers_html(run)},
                             {"ranks", "Ranks", ranks_html(run)},
                             {"memory", "Memory per GPU", html_of(run, add_memory), true},
                             {"needs", "Energy and cost", needs_html(run), true},
                             {"job", "The whole job", html_of(run, add_job)},
                             {"faults", "Faults and checkpoints", html_of(run, add_faults)},
                             {"trust", "Sources of the numbers", trust_html(run, origin)},
                             {"errors", "Known errors of predictions",
                              known_errors_html(kind_of_prediction(run, origin))},
                             {"experiment", "The experiment", experiment_html(run, origin)}},
                .timeline = timeline_json(run),
                .version = origin.version};
  const Platform& platform = run.experiment.platform;
  page.title = in_device_words(platform, page.title);
  page.lead.markup = in_device_words(platform, page.lead.markup);
  constexpr std::array<std::string_view, 3> of_others = {"trust", "errors",
                                                         "experiment"};  // files, other runs
  for (HtmlSection& section : page.sections) {
    if (std::ranges::find(of_others, section.id) != of_others.end()) continue;
    section.title = in_device_words(platform, section.title);
    section.content.markup = in_device_words(platform, section.content.markup);
  }
  return html_text(page);
}

}  // namespace trainyard
