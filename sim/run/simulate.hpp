#pragma once
// Turns a resolved experiment into its Run: plans the step, runs the engine, checks the result.

#include "engine/engine.hpp"
#include "experiment/resolve.hpp"
#include "run/run.hpp"

#include <functional>
#include <optional>
#include <vector>

namespace trainyard {

struct SimulateOptions {
  std::optional<Fidelity> fidelity = {};  ///< replaces the experiment's fidelity
  bool fold = true;
  bool formulas = true;  ///< of EngineOptions, as `fold`
  /// Whether the run has a timeline and the dates of its ops and collectives. All else is the same without
  /// it.
  bool timeline = true;
  bool rows = true;   ///< whether the run has rows of its ranks and links, for files
  bool learn = true;  ///< whether an experiment's `learn` is replayed, once the times are known
  /// The experiment whose memory counts, if the step is that of one rank of it. Null: the step's own.
  const ResolvedExperiment* memory_of = nullptr;
  /// Further ranks of a steady step for which every op is recorded in the Timeline.
  std::function<std::vector<Rank>(const TaskGraph&, Fidelity)> recorded = {};
};

/// Runs the experiment. Throws OutOfMemory if the step does not fit into its GPUs' memory, before anything
/// runs; EngineError if a check of the result fails (checks.hpp).
Run simulate(ResolvedExperiment resolved, const SimulateOptions& options);

/// The same without the experiment's faults and its job around the steps. Throws as simulate().
Run simulate_steps(ResolvedExperiment resolved, const SimulateOptions& options);

/// Adds what the experiment's faults and job make of its steps, if it has some. Throws InputError and
/// JobImpossible.
void add_job(Run& run);

/// One steady step, in which every rank waits for all others: simulate() for experiments without many
/// updates.
Run simulate_step(ResolvedExperiment resolved, const SimulateOptions& options);

/// The pace of simulate_step() in fidelity `closed`, to the bit, without all else that makes up a Run: for
/// fits and comparisons, which ask for thousands. The result is not checked. Throws InputError, JobImpossible
/// and OutOfMemory as simulate_step() does.
Pace closed_pace(const ResolvedExperiment& resolved);

/// closed_pace() with the checks of simulate_step(): throws EngineError, too.
Pace checked_closed_pace(const ResolvedExperiment& resolved);

/// A lower bound on the time of the step, found much faster than by a simulation: every collective takes as
/// long as alone, and no kernel is slowed by another. Nothing is checked. Throws InputError and JobImpossible
/// as simulate_step() does.
Seconds least_step(const ResolvedExperiment& resolved);

/// Many updates (parameter servers, asynchronous update rules, random times): simulate() for experiments for
/// which is_multi_update() holds. A steady step gives the time and the needs of one rank's step; the engine's
/// training lets many of them interact.
Run simulate_updates(ResolvedExperiment resolved, const SimulateOptions& options);

/// Messages of a step in fidelity `messages`, with one round of every other job; infinite if they cannot be
/// simulated one by one, or if more than `most_at_once` of a collective begin together. With servers those of
/// all steps and repeats. Plans the step; throws InputError and JobImpossible as simulate().
double expected_messages(const ResolvedExperiment& resolved, double most_at_once);

/// This for its steady step, whatever its updates are.
double expected_messages_of_step(const ResolvedExperiment& resolved, double most_at_once);

/// The same for experiments for which is_multi_update() holds.
double messages_of_updates(const ResolvedExperiment& resolved, double most_at_once);

/// Faults and checkpoints over the length of a job whose step was simulated: their cost, and how often to
/// write a checkpoint. The experiment of `run` has `faults`. Missing workers slow an asynchronous job down by
/// as much as the update rule does without a network. Throws InputError if it names parts that the job does
/// not have, JobImpossible if the job does not finish.
FaultReport fault_report(const Run& run);

/// The assumptions and sources of the report, for the reader.
std::vector<std::string> fault_notes(const ResolvedExperiment& resolved, const FaultReport& report);

}  // namespace trainyard
