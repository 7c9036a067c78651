#pragma once
// The sections of a run's report.html, each the content below its title; empty if they do not apply to the
// run.

#include "document/document.hpp"
#include "document/html.hpp"
#include "html/report_html.hpp"
#include "run/figures.hpp"

namespace trainyard {

/// The sections that `add` adds to a document, below their titles.
Html html_of(const Run& run, void (*add)(doc::Document&, const Run&));

/// The head: the time with its expected error, the limit in a sentence, the changes that help most.
Html answer_html(const Run& run, const PageChanges& changes);

/// All changes that were tried.
Html changes_html(const Run& run, const PageChanges& changes);

/// The key figures of the table that the run has.
Html figures_html(const Run& run, std::span<const Figure> table = figures());
Html limits_html(const Run& run);

/// The parts of one step's time, or of many updates; and the exposed time of each collective.
Html where_html(const Run& run);
Html collectives_html(const Run& run);
Html links_html(const Run& run);

/// The groups of ranks that share a model: one node of each kind, and the links that they use.
Html groups_html(const Run& run);
Html layers_html(const Run& run);
Html ranks_html(const Run& run);
Html needs_html(const Run& run);

/// A table of sources below a heading; empty if there are none.
Html sources_html(const std::vector<PageSource>& sources);
Html trust_html(const Run& run, const PageOrigin& origin);
Html experiment_html(const Run& run, const PageOrigin& origin);

}  // namespace trainyard
