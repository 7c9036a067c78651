#pragma once
// The folders of the shipped platforms, GPU profiles, models, stacks, experiments and so on, and how a user's
// name becomes a file.

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard::config {

struct Catalogue {
  std::vector<std::filesystem::path> roots;  ///< each holds platforms/ and workloads/; earlier ones win
};

enum class Kind {
  platform,
  gpu,
  processor,
  protocols,
  machines,
  model,
  stack,
  lowering,
  software,
  experiment,
  sweep,
  runs
};

/// "platform", "GPU profile", "processor profile", "constants of protocols", "machine rules", "model",
/// "stack", "software", "experiment", "sweep", "run rules".
std::string_view word_of(Kind kind);
/// The folder below a root: "platforms", "platforms/gpus", "workloads/models" ...
std::string_view folder_of(Kind kind);

/// The catalogue of this installation: $TRAINYARD_DATA if set, then share/trainyard next to the program's
/// bin/, then the source tree of the build. Independent of the current directory.
Catalogue find_catalogue();

/// A file below the first root that has it ("workloads/published/errors/software.csv"); empty if none has.
std::filesystem::path shipped_file(const Catalogue& catalogue, std::string_view path);

/// All names of a kind, sorted, without repeats.
std::vector<std::string> names(const Catalogue& catalogue, Kind kind);

/// Whether a text is a path instead of a name of the catalogue: it contains '/' or ends in .yaml, .yml,
/// .json, or as the jobs of other tools do: .toml, .sh, .slurm, .sbatch.
bool is_path(std::string_view name_or_path);

/// Whether find() took a text for the public repository of a shipped model ("Qwen/Qwen3-8B"), `found`, and
/// not for a path.
bool is_public_name(std::string_view text, const std::filesystem::path& found);

/// A path as the file `out` must name it: from its own folder, while options name it from the current one.
/// Names stay.
std::string seen_from(const std::filesystem::path& out, const std::string& name_or_path);

/// The file for a name. A plain name is looked up in the catalogue, also by users' names for it
/// (other_names.hpp); a path first relative to the folder of the file `relative_to` (if given), then to the
/// current directory. The public repository of a shipped model ("Qwen/Qwen3-8B") is this model, unless there
/// is a file or folder of that path. Throws InputError (did you mean, existing names) if there is none.
std::filesystem::path find(const Catalogue& catalogue, Kind kind, std::string_view name_or_path,
                           const std::filesystem::path& relative_to = {});

}  // namespace trainyard::config
