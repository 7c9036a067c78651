#include "cli/slurm.hpp"

#include "cli/terminal.hpp"
#include "config/diagnostic.hpp"
#include "report/out_files.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <sys/wait.h>

namespace trainyard {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t points_per_shard = 100;
constexpr std::size_t most_shards = 1000;  ///< Slurm's MaxArraySize is 1001 unless a cluster says otherwise

/// A word as sh reads it: in single quotes.
std::string quoted(const std::string& word) {
  std::string text = "'";
  for (const char letter : word) text += letter == '\'' ? "'\\''" : std::string(1, letter);
  return text + "'";
}

/// The program and the sweep, with this process's catalogue.
std::string command_of(const SweepOptions& options) {
  std::string command;
  const char* const data = std::getenv("TRAINYARD_DATA");
  if (data != nullptr && *data != '\0')
    command += fmt::format("TRAINYARD_DATA={} ", quoted(fs::absolute(data).string()));
  command += quoted(fs::read_symlink("/proc/self/exe").string()) + " sweep";
  for (const std::string& word : words_of(options)) command += ' ' + quoted(word);
  return command;
}

std::string header(const Sweep& sweep, const fs::path& dir, std::string_view word, std::string_view log) {
  return fmt::format(
      "#!/bin/bash\n"
      "#SBATCH --job-name=trainyard-{}-{}\n"
      "#SBATCH --output={}\n"
      "#SBATCH --open-mode=append\n",
      sweep.name, word, (dir / "slurm" / log).string());
}

std::map<std::string, std::string> scripts(const SweepOptions& options, const Sweep& sweep) {
  const fs::path dir = fs::absolute(*options.out).lexically_normal();
  const int shards =
      options.shards > 0
          ? options.shards
          : static_cast<int>(std::clamp<std::size_t>(
                (sweep.points.size() + points_per_shard - 1) / points_per_shard, 1, most_shards));
  const std::string command = command_of(options);
  std::map<std::string, std::string> files;
  files["array.sh"] =
      header(sweep, dir, "shard", "shard-%a.log") +
      fmt::format(
          "#SBATCH --array=1-{0}\n"
          "#SBATCH --requeue\n"
          "{1} \\\n"
          "  --shard \"$SLURM_ARRAY_TASK_ID/{0}\" --resume -j \"${{SLURM_CPUS_PER_TASK:-1}}\"\n"
          "status=$?\n"
          "# 4: some points failed, and their reasons are rows of the shard\n"
          "[ \"$status\" -eq 4 ] || exit \"$status\"\n",
          shards, command);
  files["merge.sh"] = header(sweep, dir, "merge", "merge.log") + fmt::format("{} --merge --force\n", command);
  const fs::path folder = dir / "slurm";
  files["submit.sh"] = fmt::format(
      "#!/bin/bash\n"
      "# The merge begins when every task has ended, requeued ones too.\n"
      "set -euo pipefail\n"
      "array=$(sbatch --parsable {})\n"
      "merge=$(sbatch --parsable --dependency=\"afterany:${{array%%;*}}\" {})\n"
      "echo \"array ${{array%%;*}}, merge ${{merge%%;*}}\"\n",
      quoted((folder / "array.sh").string()), quoted((folder / "merge.sh").string()));
  return files;
}

}  // namespace

void write_slurm_jobs(const SweepOptions& options, const Sweep& sweep) {
  const fs::path folder = fs::path(*options.out) / "slurm";
  for (const auto& [name, text] : scripts(options, sweep)) write_out_file(folder / name, text, true);
  const fs::path submit = folder / "submit.sh";
  if (!options.submit) {
    print_result(fmt::format("bash {} submits the array and its merge\n", submit.string()));
    return;
  }
  const int status =
      std::system(("bash " + quoted(submit.string())).c_str());  // NOLINT(cert-env33-c): our own script
  if (status != 0) throw FileError(fmt::format("sbatch did not take the jobs of '{}'", submit.string()));
}

}  // namespace trainyard
