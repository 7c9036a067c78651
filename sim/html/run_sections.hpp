#pragma once
// The sections of a run's report.html, each the content below its title; empty where the run has no such
// thing.

#include "html/html.hpp"
#include "html/report_html.hpp"
#include "run/result.hpp"

namespace trainyard {

Html figures_html(const Result& result);
Html limits_html(const Result& result);

/// Of one step, or of many updates; and how long which collective was exposed.
Html where_html(const Result& result);
Html collectives_html(const Result& result);
Html links_html(const Result& result);
Html layers_html(const Result& result);
Html ranks_html(const Result& result);
Html memory_html(const Result& result);
Html needs_html(const Result& result);

/// Of runs of many updates: rates, staleness, workers, servers.
Html updates_html(const Result& result);

/// Of jobs with faults: where their time goes, and how long they take with other checkpoint intervals.
Html faults_html(const Result& result);

/// A table of them below a heading; nothing where there are none.
Html sources_html(const std::vector<PageSource>& sources);
Html trust_html(const Result& result, const PageOrigin& origin);
Html experiment_html(const Result& result, const PageOrigin& origin);

}  // namespace trainyard
