#include "html/plan_html.hpp"

#include "html/html_page.hpp"
#include "html/known_errors.hpp"
#include "html/plan_sections.hpp"
#include "html/run_sections.hpp"
#include "report/plan_words.hpp"
#include "run/figures.hpp"

#include <fmt/format.h>

namespace trainyard {
namespace {

Html best_experiment_html(const Run& best, const std::string& version) {
  return paragraph("All keys of the best plan with their values, defaults included.") +
         element("button", "Copy",
                 " type=\"button\" class=\"copy\" hidden=\"hidden\" data-copies=\"resolved\"") +
         Html{"\n"} + element("pre", resolved_text(best), " id=\"resolved\" tabindex=\"0\"") + Html{"\n"} +
         paragraph("This is best.yaml, next to this page. To run it, with a page that has its timeline:") +
         element("pre", "trainyard run best.yaml --out best") + Html{"\n"} +
         paragraph(fmt::format("trainyard {}. The same input gives the same page, byte for byte, also if the "
                               "search was continued.",
                               version));
}

}  // namespace

std::string plan_html(const PlanAnswer& answer, const PlanDetails& details, const PageOrigin& origin) {
  const Run* const best = details.best;
  const auto of_best = [&](auto section) { return best == nullptr ? Html{} : section(*best); };
  Html lead = paragraph(fmt::format("The {} way to share the model and its batch among GPUs.",
                                    best_plan_word(answer.space.request.settings.goal)));
  if (const std::string keys = changed_keys(answer.space); !keys.empty())
    lead += paragraph("set for all plans: " + keys);
  for (const std::string& warning : origin.warnings)
    lead += element("pre", warning, " class=\"warning\"") + Html{"\n"};
  const HtmlPage page{
      .title = "Plan: " + answer.space.request.name,
      .lead = lead,
      .sections = {{"answer", "In short", plan_answer_html(answer, details)},
                   {"binds", "What binds", plan_binds_html(answer, details)},
                   {"map", "Map of the layouts", plan_map_html(answer)},
                   {"next", "The next best", plan_next_html(answer, details)},
                   {"groups", "The best of each", plan_groups_html(answer)},
                   {"changes", "If the machine were a little different", plan_changes_html(answer, details)},
                   {"progress", "Progress of the search", plan_progress_html(answer)},
                   {"search", "How it was found", plan_search_html(answer)},
                   {"where", "Where the time of the best goes", of_best(where_html)},
                   {"memory", "Memory per GPU of the best", of_best(memory_html)},
                   {"trust", "Sources of the numbers",
                    of_best([&](const Run& run) { return trust_html(run, origin); })},
                   {"errors", "Known errors of predictions", known_errors_html()},
                   {"experiment", "The best plan as an experiment",
                    of_best([&](const Run& run) { return best_experiment_html(run, origin.version); })}},
      .version = origin.version};
  return html_text(page);
}

}  // namespace trainyard
