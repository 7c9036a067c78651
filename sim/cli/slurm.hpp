#pragma once
// A sweep as Slurm jobs: an array with a task for each shard, requeued when its node is lost, and a job that
// merges them when all have ended. Where a cluster wants a partition, an account or a time limit, submit.sh
// hands its arguments to sbatch, which also takes them from its environment (SBATCH_PARTITION,
// SBATCH_ACCOUNT, SBATCH_TIMELIMIT).

#include "cli/sweep_options.hpp"
#include "sweep/sweep.hpp"

namespace trainyard {

/// Writes DIR/slurm/array.sh, merge.sh and submit.sh, and runs submit.sh if asked to. Throws FileError if
/// they cannot be written, DIR holds a sweep and neither --resume nor --force says what of them, or sbatch
/// does not take the jobs; InputError for a DIR that Slurm cannot name.
void write_slurm_jobs(const SweepOptions& options, const Sweep& sweep);

}  // namespace trainyard
