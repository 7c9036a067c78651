#include "commands/slurm.hpp"

#include "cli/terminal.hpp"
#include "config/diagnostic.hpp"
#include "config/file_paths.hpp"
#include "io/out_files.hpp"
#include "sweep/shards.hpp"
#include "sweep/sweep_store.hpp"
#include "units/shell_word.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <string>
#include <vector>

namespace trainyard {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t points_per_shard = 100;
constexpr std::size_t most_shards = 1000;  ///< Slurm's default for MaxArraySize is 1001

/// The command of the sweep, with this process's catalogue and folder, because a key's value may be the path
/// of a file in it.
std::string command_of(const SweepOptions& options) {
  std::string command = fmt::format("cd {} || exit\n", in_shell_quotes(config::current_folder().string()));
  const char* const data = std::getenv("TRAINYARD_DATA");
  if (data != nullptr && *data != '\0')
    command += fmt::format("TRAINYARD_DATA={} ", in_shell_quotes(config::absolute_path(data).string()));
  command += in_shell_quotes(config::real_path("/proc/self/exe").string()) + " sweep";
  for (const std::string& word : words_of(options)) command += ' ' + in_shell_quotes(word);
  return command;
}

/// The path of a log in Slurm's syntax, which replaces %a and the like by numbers, also in folders. A percent
/// sign can be escaped, but a backslash cannot: it disables all replacements.
std::string log_in(const fs::path& folder, const char* name) {
  std::string text;
  for (const char letter : folder.string()) {
    if (letter == '\\')
      throw InputError(fmt::format("'{}' contains a backslash, which Slurm does not allow in names of logs",
                                   folder.string()),
                       "choose another --out");
    text += letter == '%' ? "%%" : std::string(1, letter);
  }
  return in_shell_quotes(text + "/" + name);
}

/// Slurm reads these lines by its own quoting rules, so they contain no text of the user's.
std::string array_script(const SweepOptions& options, const std::string& command, int shards) {
  const std::string processors =
      !options.jobs_text ? "" : fmt::format("#SBATCH --cpus-per-task={}\n", options.jobs);
  return fmt::format(
      "#!/bin/bash\n"
      "#SBATCH --open-mode=append\n"
      "#SBATCH --requeue\n"
      "#SBATCH --array=1-{0}\n"
      "{1}"
      "{2} \\\n"
      "  --shard \"$SLURM_ARRAY_TASK_ID/{0}\" --resume -j \"${{SLURM_CPUS_ON_NODE:-1}}\"\n"
      "status=$?\n"
      "# 4: some points failed; the shard holds their reasons\n"
      "[ \"$status\" -eq 4 ] || exit \"$status\"\n",
      shards, processors, command);
}

std::string merge_script(const SweepOptions& options, const std::string& command) {
  return fmt::format(
      "#!/bin/bash\n"
      "#SBATCH --open-mode=append\n"
      "#SBATCH --requeue\n"
      "{} --merge --force{}\n",
      command, options.by ? " --by " + in_shell_quotes(*options.by) : "");
}

std::string submit_script(const std::string& name, const fs::path& folder) {
  return fmt::format(
      "#!/bin/bash\n"
      "# Passes its arguments to sbatch, for both jobs. The merge starts when all tasks have ended, also "
      "requeued ones.\n"
      "set -euo pipefail\n"
      "cd {}\n"
      "array=$(sbatch --parsable --job-name={} --output={} \"$@\" array.sh)\n"
      "array=${{array%%;*}}\n"
      "merge=$(sbatch --parsable --job-name={} --output={} --dependency=\"afterany:$array\" \"$@\" merge.sh) "
      "|| {{\n"
      "  scancel \"$array\"\n"
      "  exit 1\n"
      "}}\n"
      "echo \"array $array, merge ${{merge%%;*}}\"\n",
      in_shell_quotes(folder.string()), in_shell_quotes("trainyard-" + name + "-shard"),
      log_in(folder, "shard-%a.log"), in_shell_quotes("trainyard-" + name + "-merge"),
      log_in(folder, "merge.log"));
}

int shards_of(const SweepOptions& options, const Sweep& sweep) {
  if (options.shards > 0) return options.shards;
  const std::size_t shards = (sweep.points.size() + points_per_shard - 1) / points_per_shard;
  return static_cast<int>(std::clamp<std::size_t>(shards, 1, most_shards));
}

/// Continues, removes or refuses an earlier sweep in DIR.
void settle_stores(const SweepOptions& options) {
  std::vector<fs::path> files = shard_files(*options.out);
  const fs::path merged = fs::path(*options.out) / "sweep.db";
  if (std::error_code ignored; fs::exists(merged, ignored)) files.push_back(merged);
  if (files.empty() || options.resume) return;
  if (!options.force)
    throw FileError(fmt::format("'{}' exists: continue it with --resume, or replace it with --force",
                                files.front().string()));
  for (const fs::path& file : files) remove_store(file);
}

}  // namespace

void write_slurm_jobs(const SweepOptions& options, const Sweep& sweep) {
  const fs::path folder = config::absolute_path(fs::path(*options.out) / "slurm");
  const std::string submits = submit_script(sweep.name, folder);
  settle_stores(options);
  const std::string command = command_of(options);
  write_out_file(folder / "array.sh", array_script(options, command, shards_of(options, sweep)), true);
  write_out_file(folder / "merge.sh", merge_script(options, command), true);
  const fs::path submit = folder / "submit.sh";
  write_out_file(submit, submits, true);
  const std::string call = "bash " + in_shell_quotes(submit.string());
  if (!options.submit) {
    print_result(call + " submits the array and the merge; append options for sbatch\n");
    return;
  }
  const int status = std::system(call.c_str());  // NOLINT(cert-env33-c): our own script
  if (status != 0) throw FileError(fmt::format("sbatch rejected the jobs of '{}'", submit.string()));
}

}  // namespace trainyard
