#pragma once
// A sweep as Slurm jobs: an array with a task for each shard, requeued if its node fails, and a job that
// merges them when all have ended. For clusters that require a partition, an account or a time limit,
// submit.sh passes its arguments to sbatch, which also reads them from its environment (SBATCH_PARTITION,
// SBATCH_ACCOUNT, SBATCH_TIMELIMIT).

#include "commands/sweep_options.hpp"
#include "sweep/sweep.hpp"

namespace trainyard {

/// Writes DIR/slurm/array.sh, merge.sh and submit.sh, and runs submit.sh if requested. Throws FileError if
/// they cannot be written, if DIR holds a sweep and neither --resume nor --force is given, or if sbatch
/// rejects the jobs; InputError for a DIR that Slurm cannot name.
void write_slurm_jobs(const SweepOptions& options, const Sweep& sweep);

}  // namespace trainyard
