#include "report/run_page.hpp"

#include "report/expected_error.hpp"
#include "report/explanation.hpp"
#include "report/figure_text.hpp"
#include "report/input_ranges.hpp"
#include "report/limits.hpp"
#include "report/memory_page.hpp"
#include "report/run_words.hpp"
#include "units/plural.hpp"
#include "units/text.hpp"
#include "units/text_layout.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <string>
#include <variant>

namespace trainyard {

namespace {

void add_error(doc::Section& section, const Run& run) {
  if (run.expected_error) {
    section.add(doc::Fact{{},
                          "expected error",
                          error_range(*run.expected_error),
                          expected_error_in_words(*run.expected_error)});
    section.add(doc::Fact{{},
                          "expected time",
                          fmt::format("{} to {}", estimate(run.pace.time / (1 + run.expected_error->high)),
                                      estimate(run.pace.time / (1 + run.expected_error->low))),
                          "from the expected error of samples/s",
                          false,
                          doc::Shown::pages});
  } else if (const std::string& why = run.expected_error.error(); run.experiment.layout || !why.empty()) {
    section.add(doc::Fact{{},
                          "expected error",
                          "unknown",
                          why,
                          false,
                          run.experiment.layout ? doc::Shown::everywhere : doc::Shown::pages});
  }
}

/// Compared with one GPU that has the same batch.
void add_speedup(doc::Section& section, const Run& run) {
  const bool is_divided = shares_model(run.experiment);
  if (run.ranks == 1 || (is_divided && run.pace.one_rank == Seconds{})) return;
  const int dividing = is_divided ? run.experiment.layout->grid.layer : 1;
  const double alone = static_cast<double>(run.experiment.settings.batch_per_gpu) * dividing *
                       run.experiment.settings.accumulation / run.pace.one_rank.si();
  section.add(
      doc::Fact{"one_rank_step_time_s",
                "one GPU alone",
                {estimate(run.pace.one_rank), run.pace.one_rank},
                fmt::format("{} samples/s with {}", rounded(alone),
                            is_divided ? "the whole model and the samples of all ranks that divide it, "
                                         "whatever memory that takes"
                                       : "the same batch per GPU")});
  std::string remark = fmt::format("of {} ({})", grouped(run.ranks), percent(run.pace.efficiency));
  constexpr double rounding = 1e-9;
  const Seconds longer = run.pace.time - run.pace.one_rank;
  if (!updates_of(run) && !is_divided)
    remark += std::abs(longer.si()) <= rounding * run.pace.time.si()
                  ? "; as long as one GPU alone"
                  : fmt::format("; {} longer than one GPU alone", estimate(longer));
  section.add(doc::Fact{"speedup", "speedup", {rounded(run.pace.speedup) + " x", run.pace.speedup}, remark});
}

/// Algorithms of a step that closed forms and flows make too slow, because rounds wait for their slowest
/// edge.
std::string uneven_in_words(const Run& run) {
  const std::vector<std::string> uneven = uneven_algorithms(step_of(run).plan.graph);
  if (uneven.empty()) return {};
  return fmt::format("; rounds of {} wait for their slowest edge, messages would not",
                     fmt::join(uneven, ", "));
}

/// Whether a step repeats passes of micro-batches that nothing disturbs, which have closed forms.
bool has_undisturbed_passes(const Run& run) {
  return std::ranges::any_of(step_of(run).plan.graph.segments, &Segment::is_undisturbed);
}

/// The source of the times of collectives or of messages to servers, and why it is right.
std::string network_engine_in_words(const Run& run) {
  const std::optional<NetworkEngine> engine = network_engine(run);
  if (!engine) return run.ranks > 1 ? "none: nothing is sent over links" : "none: one rank sends nothing";
  const Fidelity fidelity = run.experiment.settings.fidelity;
  const std::string of_step = updates_of(run) != nullptr && *engine != NetworkEngine::fair_shares
                                  ? "; of one step of all ranks, which every update repeats"
                                  : "";
  const std::string uneven = uneven_in_words(run);
  switch (*engine) {
    case NetworkEngine::formulas:
      return (fidelity == Fidelity::closed
                  ? "closed forms: each collective as if alone on the network (fidelity closed)"
                  : (uneven.empty() ? "closed forms, exact here" : "closed forms") +
                        std::string(": no two collectives share a link at the same time, so SimGrid was not "
                                    "needed") +
                        uneven) +
             of_step;
    case NetworkEngine::simgrid:
      if (fidelity == Fidelity::messages)
        return "SimGrid, message by message: messages share links max-min fairly" + of_step;
      return "SimGrid: flows share links max-min fairly" +
             std::string(
                 has_undisturbed_passes(run)
                     ? "; passes of micro-batches that no other traffic meets by closed forms, exact there"
                     : "") +
             uneven + of_step;
    case NetworkEngine::fair_shares:
      break;
  }
  return "flows between workers and servers share links max-min fairly (own solver; fidelity messages: "
         "SimGrid)";
}

/// A difference of a verification; what is rounding differs between compilers.
std::string difference_in_words(const Verification& verified) {
  constexpr double rounding = 1e-10;
  if (verified.difference < rounding) return "below 1e-10 of the step";
  return fmt::format("{:.1e} of the step, {}", verified.difference, verified.where);
}

std::string verified_in_words(const Verification& verified) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : verified.part) keys.push_back(fmt::format("{}={}", key, value));
  std::string text = fmt::format(
      "message by message on SimGrid ({}{}, {} messages): largest difference {}; "
      "limit {:.2g}",
      keys.empty() ? "" : fmt::format("the part {}: ", fmt::join(keys, ", ")), plural(verified.ranks, "rank"),
      grouped(std::llround(verified.messages)), difference_in_words(verified), verified.limit);
  if (!verified.causes.empty()) text += fmt::format(", as {}", fmt::join(verified.causes, "; "));
  if (verified.early_rank > rounding_limit)
    text +=
        fmt::format("; a rank ends up to {:.1e} earlier: by messages it leaves a collective before others",
                    verified.early_rank);
  return text;
}

void add_reasons(doc::Section& section, const Run& run) {
  const auto reasons = unmodelled(run);
  if (reasons.empty()) return;
  doc::Table table{.key = "not_modelled",
                   .title = "not modelled",
                   .columns = {{.head = "field of summary.json"}, {.head = "why it is null"}}};
  for (const auto& [field, reason] : reasons) table.rows.push_back({.cells = {field, reason}});
  section.add(doc::Heading{"not modelled"});
  section.add(std::move(table));
}

void add_what_helps(doc::Section& answer, const Run& run, const PageChanges& changes) {
  if (!changes.why_none.empty() || !changes.rows.empty())
    answer.add(
        doc::Sentence{.text = changes.why_none.empty() ? help_in_words(run, changes.rows) : changes.why_none,
                      .is_main = true});
}

/// "116,000 tokens/s, 14,500 per GPU, 10.4 M per USD"; empty for a model that reads no sequences.
std::string tokens_per_s_in_words(const Run& run) {
  const Known<double> tokens = tokens_per_second(run);
  if (!tokens) return {};
  std::string text = rounded(*tokens) + " tokens/s";
  if (run.ranks > 1) text += fmt::format(", {} per GPU", rounded(*tokens_per_second_and_gpu(run)));
  constexpr double million = 1e6;
  if (const Known<double> per_dollar = tokens_per_dollar(run))
    text += fmt::format(", {} per USD{}",
                        *per_dollar < million ? rounded(*per_dollar) : rounded(*per_dollar / million) + " M",
                        is_rent_assumed(run.experiment.platform) ? " (assumed)" : "");
  return text;
}

/// Step time, throughput, the expected error and the speedup.
void add_headline(doc::Document& page, const Run& run) {
  doc::Section& section = page.section("answer", "in short");
  section.is_answer = section.is_untitled_in_text = true;
  section.add(doc::Fact{"step_time_s",
                        updates_of(run) ? "an update" : "step time",
                        {estimate(run.pace.time), run.pace.time},
                        update_in_words(run),
                        true});
  std::string remark = epoch_time(run) ? "an epoch takes " + estimate(*epoch_time(run)) : "";
  if (const std::string tokens = tokens_per_s_in_words(run); !tokens.empty())
    remark = tokens + (remark.empty() ? "" : "; ") + remark;
  section.add(doc::Fact{"throughput_samples_per_s",
                        "throughput",
                        {rounded(run.pace.throughput) + " samples/s", run.pace.throughput},
                        remark,
                        true});
  add_error(section, run);
  if (run.assumed) section.fact("assumed inputs", assumed_in_words(run));
  if (run.ranges) section.fact("if inputs vary", ranges_in_words(run));
  add_speedup(section, run);
}

}  // namespace

void add_figures(doc::Document& page, const Run& run, std::span<const Figure> table) {
  const auto is_there = [&](std::string_view field) {
    return std::ranges::any_of(page.sections, [&](const doc::Section& section) {
      return std::ranges::any_of(section.parts, [&](const doc::Part& part) {
        const auto* const fact = std::get_if<doc::Fact>(&part);
        return fact != nullptr && fact->key == field;
      });
    });
  };
  doc::Section section{.key = "figures", .title = "other key figures", .shown = doc::Shown::pages};
  for (const Figure& figure : table) {
    if (!figure.shown.as_tile || is_there(figure.field)) continue;
    const Known<FigureValue> value = figure.of(run);
    if (!value) continue;
    doc::Value shown(in_unit(*value, figure.unit));
    if (const double* const number = std::get_if<double>(&*value)) shown.number = *number;
    const std::string interval = bounds_in_words(run, figure.field);
    section.add(doc::Fact{std::string(figure.field), std::string(figure.label), std::move(shown),
                          std::string(figure.doc) + (interval.empty() ? "" : "; ") + interval});
  }
  page.sections.push_back(std::move(section));
}

void add_basis(doc::Document& page, const Run& run, const PageOrigin* origin) {
  doc::Section& section = page.section("trust", "basis of the numbers");
  const ComputeSourceShares& shares = run.compute_sources;
  section.fact("compute times",
               fmt::format("{} measured kernels, {} curves fitted to kernels, {} roofline",
                           percent(shares.measured), percent(shares.fitted), percent(shares.roofline)));
  section.fact("calibrated on", run.calibrated_on.empty()
                                    ? "no training run (kernel data only)"
                                    : fmt::format("{}", fmt::join(run.calibrated_on, ", ")));
  section.fact("fidelity", fmt::format("{} ({} events)", config::name_of(run.experiment.settings.fidelity),
                                       grouped(static_cast<std::int64_t>(run.events))));
  section.fact("network", network_engine_in_words(run));
  if (run.verified) section.fact("verified", verified_in_words(*run.verified));
  for (const std::string& note : run.notes) section.fact("note", note);
  if (origin != nullptr) {
    add_reasons(section, run);
    add_sources(section, origin->sources);
  } else if (const std::vector<std::string> topics = unmodelled_topics(run); !topics.empty()) {
    section.fact("not modelled", fmt::format("{} (reasons with --json)", fmt::join(topics, ", ")));
  }
}

doc::Document run_document(const Run& run, const PageDetails* details) {
  doc::Document page = titled_document(run);
  add_headline(page, run);
  if (details != nullptr) {
    page.version = details->origin.version;
    page.warnings = details->origin.warnings;
    add_what_helps(page.sections.back(), run, details->changes);
    if (!details->changes.rows.empty())
      add_changes(page, run, details->changes.rows, "experiment.resolved.yaml");
  }
  add_where(page, run);
  if (details != nullptr) add_timeline(page, run);
  add_updates(page, run);
  for (const auto& add : {add_limits, add_learning, add_faults, add_job, add_job_power, add_job_functions})
    add(page, run);
  if (details != nullptr)
    for (const auto& add : {add_collectives, add_groups, add_links, add_layers, add_ranks, add_memory})
      add(page, run);
  add_resources(page, run);
  if (details != nullptr) {
    add_power(page, run);
    add_figures(page, run);
  }
  add_basis(page, run, details == nullptr ? nullptr : &details->origin);
  if (details != nullptr)
    for (const auto& add : {add_errors, add_experiment}) add(page, run, details->origin);
  return page;
}

doc::Document learning_document(const Run& run) {
  doc::Document page = titled_document(run);
  for (const auto& add : {add_headline, add_updates, add_learning}) add(page, run);
  add_basis(page, run);
  return page;
}

}  // namespace trainyard
