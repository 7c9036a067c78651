#include "experiment/input_files.hpp"

#include "config/read_file.hpp"
#include "experiment/own_words.hpp"
#include "jobs/job.hpp"
#include "workload/hugging_face.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace trainyard {

const config::Document& load_once(InputFiles& files, const std::filesystem::path& path) {
  files.paths.insert(path.string());
  return files.documents.get(path.string(), nullptr, [&](auto*) { return load_document(path); });
}

InputError with_machine(const InputError& error, const std::filesystem::path& file) {
  if (!jobs::is_job_file(file)) return error;
  std::vector<Diagnostic> diagnostics = error.diagnostics();
  for (Diagnostic& diagnostic : diagnostics) {
    if (diagnostic.key_path == "platform" && diagnostic.hint.empty())
      diagnostic.hint =
          "the job names no machine: add --platform dgx_h100, or another of 'trainyard list platforms'";
  }
  return InputError(std::move(diagnostics));
}

namespace {

const config::Document& load_written_once(InputFiles& files, const config::Catalogue& catalogue,
                                          const std::filesystem::path& path,
                                          std::vector<Diagnostic>* warnings) {
  const auto is_shipped = [&](const std::filesystem::path& root) {
    return path.string().starts_with(root.string());
  };
  if (std::ranges::any_of(catalogue.roots, is_shipped)) return load_once(files, path);
  files.paths.insert(path.string());
  return files.documents.get(path.string(), warnings, [&](auto* found) {
    if (!jobs::is_job_file(path)) return with_own_keys(config::load(path), files.word_notes[path.string()]);
    const jobs::ImportedJob job = jobs::read_job(catalogue, path);
    for (const std::string& warning : job.warnings)
      found->push_back({.file = path.string(),
                        .key_path = {},
                        .message = warning,
                        .hint = {},
                        .source_line = {},
                        .severity = Severity::warning});
    for (Diagnostic contradiction : job.contradictions) {  // the run refuses it, unless options mend it
      contradiction.severity = Severity::warning;
      found->push_back(std::move(contradiction));
    }
    if (std::string note = jobs::note_on(job); !note.empty())
      files.job_notes[path.string()] = std::move(note);
    return job.document;
  });
}

}  // namespace

const config::Document& load_experiment_once(InputFiles& files, const config::Catalogue& catalogue,
                                             const std::filesystem::path& path,
                                             std::vector<Diagnostic>* warnings) {
  const config::Document& written = load_written_once(files, catalogue, path, warnings);
  const auto replaced = files.in_place_of.find(path.string());
  return replaced == files.in_place_of.end() ? written : replaced->second;
}

std::filesystem::path find_once(InputFiles& files, const config::Catalogue& catalogue, config::Kind kind,
                                const std::string& name, const std::filesystem::path& relative_to) {
  const std::string key = fmt::format("{}\n{}\n{}", config::word_of(kind), name,
                                      config::is_path(name) ? relative_to.string() : std::string());
  return files.found.get(key, [&] { return config::find(catalogue, kind, name, relative_to); });
}

}  // namespace trainyard
