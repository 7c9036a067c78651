#include "study/read_factors.hpp"

#include "config/read_file.hpp"
#include "workload/csv.hpp"

namespace trainyard {

namespace fs = std::filesystem;

void read_factor_files(Randomness& randomness, const fs::path& experiment) {
  for (auto* distribution : {&randomness.op, &randomness.step, &randomness.node}) {
    if (!*distribution || !(*distribution)->file) continue;
    fs::path path = *(*distribution)->file;
    if (path.is_relative() && fs::exists(experiment.parent_path() / path))
      path = experiment.parent_path() / path;
    (*distribution)->seen = random::read_factors(path.string(), config::read_file(path, largest_csv));
    (*distribution)->file = fs::weakly_canonical(path).string();
  }
}

}  // namespace trainyard
