#pragma once
// Sentences and rows about a run that the summary shares with other reports: its title, its updates, its
// faults, the whole job.

#include "document/document.hpp"
#include "learn/learn.hpp"
#include "run/run.hpp"

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace trainyard {

/// Calls GPUs processors on a platform whose ranks run on processors. The platform must outlive the function.
std::function<std::string(std::string_view)> device_words(const Platform& platform);

/// "resnet50_dgx2: ResNet-50 on 1 node of dgx2"; without the experiment's name if it does not run as its file
/// says.
std::string name_and_what(const ResolvedExperiment& experiment, int nodes);

/// "set on the command line: nodes=4, precision=amp"; empty if nothing was that the title does not say.
std::string changes_in_words(const ResolvedExperiment& experiment);

/// A document with the title of a run's page: its setting, the keys set on the command line, its layout.
doc::Document titled_document(const Run& run);

/// "rank 0"; "rank 4 (stage 1)" where there are several classes of ranks.
std::string rank_in_words(const Run& run, const ClassStep& one);

/// The work of a step: "one optimizer update with 2,048 samples"
std::string update_in_words(const Run& run);

/// "k_sync, k = 6" or "ssp, bound 2".
std::string rule_in_words(const UpdateSettings& settings);

/// "; 12.1-12.6 ms (5 repeats, 93.8 % confidence)" if there are several.
std::string spread_in_words(const Updates& updates);

/// The ranks' activities, by time. Requires a run of many updates.
void add_activities(doc::Document& page, const Run& run);

/// How often there is an update, the age of its gradients, ranks and servers; nothing for a run of one step.
void add_updates(doc::Document& page, const Run& run);

/// What the run has learnt by when; nothing for a run that does not learn.
void add_learning(doc::Document& page, const Run& run);

/// "90 epochs, 56,302 steps"; in runs of many updates, updates.
std::string job_in_words(const Run& run);

/// The phases of the whole job, with their time, energy and rent; nothing for a run without `job`.
void add_job(doc::Document& page, const Run& run);

/// Power and energy by phase of the whole job, in the terminal where a profile tells the memory's from the
/// processor's; nothing if it is not known.
void add_job_power(doc::Document& page, const Run& run);

/// The whole job by function; nothing where time_by_function() has none.
void add_job_functions(doc::Document& page, const Run& run);

/// Power over the time of a step; nothing if it is not known.
void add_power(doc::Document& page, const Run& run);

/// Goodput, the parts of the job's time, and its time with other checkpoint intervals; nothing for a run
/// without faults.
void add_faults(doc::Document& page, const Run& run);

}  // namespace trainyard
