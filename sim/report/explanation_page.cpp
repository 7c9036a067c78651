#include "report/explanation.hpp"
#include "report/page.hpp"
#include "report/result_title.hpp"
#include "report/signed_text.hpp"
#include "report/text_layout.hpp"
#include "study/step_parts.hpp"
#include "units/text.hpp"

#include <cmath>
#include <fmt/format.h>
#include <string_view>

namespace trainyard {

namespace {

/// A path of more segments is shown without its middle.
constexpr std::size_t most_shown_segments = 24;

std::string path_line(std::string_view kind, std::string_view what, std::string_view start,
                      std::string_view length, std::string_view share, std::string_view limit) {
  std::string text = fmt::format("  {:<14} {:<31} {:>9} {:>9} {:>7}  {}", kind, elide(what, 31), start,
                                 length, share, elide(limit, 23));
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

/// "layer1.0.conv1 to layer1.2.add".
std::string layers_of(const PathSegment& segment) {
  if (segment.first == segment.last) return segment.first;
  return fmt::format("{} to {}", elide(segment.first, 13), elide(segment.last, 13));
}

void write_segment(Page& out, const Result& result, const PathSegment& segment, const CollectivePace* pace) {
  std::string kind(config::name_of(segment.kind));
  std::string what = layers_of(segment);
  std::string limit = segment.ops > 0 ? count(segment.ops, "kernel") : "";
  if (segment.kind == PathKind::host) limit.clear();
  if (segment.collective >= 0) {
    const CollectiveRow& row = result.collectives.at(static_cast<std::size_t>(segment.collective));
    what = row.name;
    if (segment.kind == PathKind::framework) what = fmt::format("{} of {}", segment.what, row.name);
    if (pace != nullptr) {
      kind = config::name_of(row.operation);
      what = fmt::format("{}, {}, {} {}", row.name, human(row.size), row.algorithm, row.protocol);
      limit = pace->is_connection ? fmt::format("connection {}", human(pace->edge)) : pace->link;
    }
  }
  if (segment.kind == PathKind::input) what = segment.what;
  if (result.explanation->path.back().rank != segment.rank)
    limit += fmt::format(" rank {}", index(segment.rank));
  out.line(path_line(kind, what, human(segment.start), human(segment.length),
                     percent(segment.length / result.step_time), limit));
}

void write_path(Page& out, const Result& result) {
  const Explanation& explanation = *result.explanation;
  out.heading(path_line("critical path", "", "start", "length", "share", "limited by").substr(2));
  const std::size_t count_of_all = explanation.path.size();
  const bool is_cut = count_of_all > most_shown_segments;
  const std::size_t half = most_shown_segments / 2;
  std::size_t collectives = 0;
  Seconds hidden;
  for (std::size_t i = 0; i < count_of_all; ++i) {
    const PathSegment& segment = explanation.path[i];
    const bool has_pace = segment.kind == PathKind::collective;
    const CollectivePace* pace = has_pace ? &explanation.paces.at(collectives++) : nullptr;
    const bool is_hidden = is_cut && i >= half && i < count_of_all - half;
    if (!is_hidden) {
      write_segment(out, result, segment, pace);
      continue;
    }
    hidden += segment.length;
    if (i + 1 == count_of_all - half) {
      out.line(path_line("...", fmt::format("{} more in --json", count_of_all - 2 * half),
                         human(explanation.path[half].start), human(hidden),
                         percent(hidden / result.step_time), ""));
    }
  }
  out.line(path_line("step time", "the sum", "", human(result.step_time), "", ""));
}

std::string_view gap_label(GapPart part) {
  switch (part) {
    case GapPart::bound:
      return "unavoidable";
    case GapPart::slowed_kernels:
      return "slowed kernels";
    default:
      return config::name_of(part);
  }
}

/// The text that says how a part was obtained.
template <class E>
std::string_view doc_of(E part) {
  for (const auto& name : config::Names<E>::table) {
    if (name.value == part) return name.doc;
  }
  return {};
}

void write_gap(Page& out, const Result& result) {
  out.heading("lower bound, and where the rest goes", "what each condition of the real step adds");
  Seconds sum;
  const auto total = [&](std::string_view label, std::string_view text) {
    out.row(label, human(sum), text, true);
  };
  for (const GapTime& gap : result.explanation->gap) {
    if (gap.part == first_above_bound) total("lower bound", "no algorithm on this network is faster");
    sum += gap.time;
    if (gap.time == Seconds{}) continue;
    out.row(gap_label(gap.part), gap.part == GapPart::kernels ? human(gap.time) : signed_human(gap.time),
            doc_of(gap.part));
  }
  total("step time", "the sum");
}

void write_updates_parts(Page& out, const Result& result) {
  out.heading("where the time goes", "mean over the ranks, share of an update");
  for (const PartTime& part : step_parts(result).parts) {
    if (part.time == Seconds{}) continue;
    out.row(config::name_of(part.part), human(part.time),
            fmt::format("{}: {}", percent(part.time / result.step_time), doc_of(part.part)));
  }
}

std::string help_line(std::string_view change, std::string_view step, std::string_view rate,
                      std::string_view gain, std::string_view how) {
  std::string text = fmt::format("  {:<30} {:>9} {:>9} {:>9}  {}", elide(change, 30), step, rate, gain, how);
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

std::string signed_gain(double gain) {
  constexpr double none = 5e-7;  // what the digits of a step time do not show
  if (std::abs(gain) < none) return "0";
  return fmt::format("{:+.1f} %", 100 * gain);
}

void write_help(Page& out, const ExplainedRun& run) {
  out.heading(help_line("what would help most", "step", "samples/s", "gain", "each simulated").substr(2));
  const Result& result = run.result;
  out.line(help_line("as it is", human(result.step_time), rounded(result.throughput), "", ""));
  std::vector<const WhatIfRow*> refused;
  std::vector<const WhatIfRow*> remarks;
  for (const WhatIfRow& row : run.changes) {
    if (!row.throughput) {
      refused.push_back(&row);
      continue;
    }
    out.line(help_line(row.what.change, human(*row.step_time), rounded(*row.throughput),
                       signed_gain(*gain(run, row)), set_options(row.what.set)));
    if (!row.what.remark.empty()) remarks.push_back(&row);
  }
  for (const WhatIfRow* row : remarks)
    out.paragraph(fmt::format("{}: {}", row->what.change, row->what.remark), 2);
  out.paragraph(
      fmt::format("the same numbers: trainyard run {} with what stands in the last column", run.run), 2);
  if (refused.empty()) return;
  out.heading("what cannot be had");
  for (const WhatIfRow* row : refused)
    out.paragraph(fmt::format("{}: {}", row->what.change, row->what.reason), 2);
}

}  // namespace

std::string explanation_page(const ExplainedRun& run, bool colour) {
  const Result& result = run.result;
  Page out(colour);
  write_title(out, result);
  out.line("");
  out.paragraph(result.explanation ? path_in_words(result) : updates_in_words(result), 0);
  if (differs_from_saved(run)) {
    out.paragraph(fmt::format("Its summary.json says {}: simulated again it is {}. Another version of "
                              "trainyard or of the files it names wrote it.",
                              human(*run.saved_step_time), human(result.step_time)),
                  0);
  }
  if (result.explanation) {
    write_path(out, result);
    write_gap(out, result);
  } else {
    write_updates_parts(out, result);
  }
  write_help(out, run);
  out.line("");
  out.paragraph(help_in_words(run), 0);
  return out.text();
}

}  // namespace trainyard
