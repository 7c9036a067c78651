#pragma once
// The page of a run: the job, its speed, the parts of its time, its limit, what it needs, and the basis of
// the numbers. Sections that do not apply to a run are not added.

#include "document/document.hpp"
#include "explain/what_would_help.hpp"
#include "report/page_origin.hpp"
#include "run/figures.hpp"
#include "run/run.hpp"

#include <span>
#include <string>
#include <vector>

namespace trainyard {

/// Changes that were simulated to say what would help, as `explain` does.
struct PageChanges {
  std::vector<WhatIfRow> rows = {};  ///< by throughput, highest first
  std::string why_none = {};         ///< a sentence, if none was tried
};

/// For a browser, which has room for every table.
struct PageDetails {
  PageOrigin origin;
  PageChanges changes = {};
};

/// The run must outlive the document. `details`: for report.html; none for the terminal and Markdown.
doc::Document run_document(const Run& run, const PageDetails* details = nullptr);

/// The part of it about learning, for a run that learns: the job, the pace of its updates, the progress of
/// learning, and the basis of both.
doc::Document learning_document(const Run& run);

/// The key figures of the table that the page does not have yet, with their definitions.
void add_figures(doc::Document& page, const Run& run, std::span<const Figure> table = figures());

/// The parts of the step's time, or of many updates; kernels by kind; a chart in letters.
void add_where(doc::Document& page, const Run& run);

/// Times at which ranks compute and communicate.
void add_timeline(doc::Document& page, const Run& run);

void add_collectives(doc::Document& page, const Run& run);

/// The groups of ranks that share a model: one node of each kind, and the links that they use.
void add_groups(doc::Document& page, const Run& run);

void add_links(doc::Document& page, const Run& run);
void add_layers(doc::Document& page, const Run& run);
void add_ranks(doc::Document& page, const Run& run);

/// Memory, energy and cost.
void add_resources(doc::Document& page, const Run& run);

/// Sources of compute times, calibration, fidelity, notes, and what is not modelled; with `origin` also why,
/// and the sources of the files.
void add_basis(doc::Document& page, const Run& run, const PageOrigin* origin = nullptr);

}  // namespace trainyard
