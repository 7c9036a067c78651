#include "document/fluid_plot.hpp"
#include "html/run_sections.hpp"
#include "report/expected_error.hpp"
#include "report/input_ranges.hpp"
#include "run/figures.hpp"
#include "units/text_layout.hpp"

#include <fmt/format.h>

namespace trainyard {

namespace {

Html shares_html(const Run& run) {
  const ComputeSourceShares& shares = run.compute_sources;
  std::vector<BarPart> bar;
  HtmlTable table("sources of compute times", {{"compute times", true}, {"share"}, {"meaning", true}});
  const auto add = [&](const char* kind, const char* name, double share, const char* what) {
    bar.push_back({kind, name, share, percent(share)});
    table.row(swatch(kind) + as_text(std::string(" ") + name), percent(share), what);
  };
  add("backward", "measured", shares.measured, "times of kernels of these shapes, measured on this GPU");
  add("forward", "fitted", shares.fitted, "curves fitted to measured kernels");
  add("waiting", "roofline", shares.roofline, "peak rates of the GPU and its memory, times an efficiency");
  return stacked_bar("sources of compute times", bar) + table.html();
}

}  // namespace

Html sources_html(const std::vector<PageSource>& sources) {
  if (sources.empty()) return {};
  HtmlTable table("sources", {{"file", true}, {"source", true}});
  for (const PageSource& source : sources) table.row(source.file, source.source);
  return subheading("Sources") + table.html();
}

Html trust_html(const Run& run, const PageOrigin& origin) {
  Html html = shares_html(run);
  std::vector<std::string> calibrated = run.calibrated_on;
  if (calibrated.empty()) calibrated.emplace_back("no training run (kernel data only)");
  html += subheading("Calibrated on") + list_of(calibrated);
  if (run.expected_error) {
    html +=
        subheading("Expected error") + paragraph(fmt::format("{}: {}.", error_range(*run.expected_error),
                                                             expected_error_in_words(*run.expected_error)));
  }
  if (run.assumed)
    html += subheading("Assumed inputs") + paragraph("In this run " + assumed_in_words(run) + ".");
  if (run.ranges) html += subheading("If inputs vary") + paragraph(ranges_in_words(*run.ranges) + ".");
  if (!run.notes.empty()) html += subheading("Notes") + list_of(run.notes);
  const auto reasons = unmodelled(run);
  if (!reasons.empty()) {
    HtmlTable table("not modelled", {{"field of summary.json", true}, {"why it is null", true}});
    for (const auto& [field, reason] : reasons) table.row(field, reason);
    html += subheading("Not modelled") + table.html();
  }
  return html + sources_html(origin.sources);
}

Html experiment_html(const Run& run, const PageOrigin& origin) {
  Html html = paragraph("All keys with their values, defaults included.");
  html += element("button", "Copy",
                  " type=\"button\" class=\"copy\" hidden=\"hidden\" data-copies=\"resolved\"") +
          Html{"\n"};
  html += element("pre", resolved_text(run), " id=\"resolved\" tabindex=\"0\"") + Html{"\n"};
  html += paragraph("This is experiment.resolved.yaml, next to this page. To get the same numbers again:");
  html += element("pre", "trainyard run experiment.resolved.yaml --out again") + Html{"\n"};
  html += paragraph(
      fmt::format("trainyard {}, fidelity {}: {} events were simulated. The same input gives the same page, "
                  "byte for byte.",
                  origin.version, config::name_of(run.experiment.settings.fidelity),
                  grouped(static_cast<std::int64_t>(run.events))));
  return html;
}

}  // namespace trainyard
