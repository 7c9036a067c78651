#include "published/published_files.hpp"

#include "config/file_paths.hpp"
#include "config/read_file.hpp"
#include "workload/csv.hpp"

#include <algorithm>
#include <iterator>
#include <system_error>

namespace trainyard {

namespace fs = std::filesystem;

std::vector<fs::path> shipped_measurements(const config::Catalogue& catalogue) {
  for (const fs::path& root : catalogue.roots) {
    std::vector<fs::path> files;
    std::error_code ignored;  // a folder that does not exist has no files
    for (const fs::path& file : config::entries(root / "workloads/published", ignored)) {
      if (file.extension() == ".csv") files.push_back(file);
    }
    std::ranges::sort(files);
    if (!files.empty()) return files;
  }
  throw FileError("no published measurements are installed\n  name CSV files of measurements");
}

std::vector<PublishedRow> read_published_files(const config::Catalogue& catalogue,
                                               const std::vector<std::string>& files) {
  std::vector<fs::path> paths(files.begin(), files.end());
  if (paths.empty()) paths = shipped_measurements(catalogue);
  const TableForms forms = shipped_table_forms(catalogue);
  std::vector<PublishedRow> rows;
  std::vector<Diagnostic> errors;
  for (const fs::path& path : paths) {
    try {
      std::vector<PublishedRow> file_rows =
          read_published_rows(path.string(), config::read_file(path, largest_csv), forms);
      if (file_rows.empty())
        throw InputError(std::vector{Diagnostic{.file = path.string(),
                                                .key_path = {},
                                                .message = "the table has no row that is a measurement",
                                                .hint = {},
                                                .source_line = {}}});
      std::ranges::move(file_rows, std::back_inserter(rows));
    } catch (const InputError& error) {
      errors.insert(errors.end(), error.diagnostics().begin(), error.diagnostics().end());
    }
  }
  if (!errors.empty()) throw InputError(std::move(errors));
  return rows;
}

MachineRules read_machine_rules(const config::Catalogue& catalogue, const std::string& name_or_path) {
  return load_machine_rules(config::load(config::find(catalogue, config::Kind::machines, name_or_path)),
                            catalogue);
}

RunRules read_run_rules(const config::Catalogue& catalogue, const std::string& name_or_path) {
  return load_run_rules(config::load(config::find(catalogue, config::Kind::runs, name_or_path)), catalogue);
}

}  // namespace trainyard
