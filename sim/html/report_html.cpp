#include "html/report_html.hpp"

#include "html/html_page.hpp"
#include "html/known_errors.hpp"
#include "html/run_sections.hpp"
#include "html/timeline_data.hpp"
#include "report/run_title.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace trainyard {

namespace {

std::string_view kind_of_prediction(const Result& result, const PageOrigin& origin) {
  if (origin.has_measured_times)
    return "Compute times were given by the trace: nearest is 1gpu, whose error is that of more GPUs.";
  return result.calibrated_on.empty()
             ? "Nothing was fitted to a run for this result: compare with spec."
             : "Something was fitted for this result (Calibrated on, above): compare with 1gpu and 1node.";
}

}  // namespace

PageOrigin page_origin(const Inputs& inputs, const std::string& version) {
  PageOrigin origin{.version = version, .warnings = {}, .sources = {}};
  for (const Diagnostic& warning : inputs.warnings) origin.warnings.push_back(to_string(warning));
  origin.has_measured_times = std::ranges::any_of(inputs.trace.ops, [](const Op& op) {
    return op.duration && op.source.value_or(ComputeSource::measured) == ComputeSource::measured;
  });
  const auto add = [&](std::string_view kind, const std::string& name,
                       const std::vector<std::string>& sources) {
    for (const std::string& source : sources)
      origin.sources.push_back({.file = fmt::format("{} {}", kind, name), .source = source});
  };
  add("platform", inputs.platform.name, inputs.platform.sources);
  add("GPU", inputs.gpu.name, inputs.gpu.source);
  add("stack", inputs.stack.name, inputs.stack.source);
  return origin;
}

std::string report_html(const Result& result, const PageOrigin& origin) {
  Html lead = paragraph(run_setting(result));
  for (const std::string& warning : origin.warnings)
    lead += element("pre", warning, " class=\"warning\"") + Html{"\n"};
  HtmlPage page{.title = run_title(result),
                .lead = lead,
                .sections = {{"figures", "Key figures", figures_html(result)},
                             {"limits", "What limits it", limits_html(result)},
                             {"where", "Where the time goes", where_html(result)},
                             {"timeline", "Timeline", timeline_html(result)},
                             {"updates", "Updates and staleness", updates_html(result)},
                             {"collectives", "Collectives", collectives_html(result)},
                             {"links", "Links", links_html(result)},
                             {"layers", "Kernels and layers", layers_html(result)},
                             {"ranks", "Ranks", ranks_html(result)},
                             {"memory", "Memory of a GPU", memory_html(result)},
                             {"needs", "Energy and cost", needs_html(result)},
                             {"faults", "Faults and checkpoints", faults_html(result)},
                             {"trust", "What the numbers rest on", trust_html(result, origin)},
                             {"errors", "Known error", known_errors_html(kind_of_prediction(result, origin))},
                             {"experiment", "The experiment", experiment_html(result, origin)}},
                .timeline = timeline_json(result),
                .version = origin.version};
  return html_text(page);
}

}  // namespace trainyard
