#pragma once
// Caches the files read by resolve(): the points of a sweep name the same few files again and again, and
// reading them takes most of a small point's time.

#include "accuracy/published_errors.hpp"
#include "collectives/protocols.hpp"
#include "compute/gpu_profile.hpp"
#include "config/catalogue.hpp"
#include "config/document.hpp"
#include "platform/platform.hpp"
#include "strategy/software.hpp"
#include "strategy/stack.hpp"
#include "units/memo.hpp"
#include "workload/model.hpp"

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace trainyard {

struct LearningSets;  // learn/samples.hpp
struct Lowering;      // lowering/lowering_rules.hpp

/// Values by source: a path and the overrides in it. Errors are not kept: they occur again.
template <class T>
class Cache {
public:
  /// The result of `load`, with its warnings, from the first call for `key`.
  template <class Load>
  const T& get(const std::string& key, std::vector<Diagnostic>* warnings, const Load& load) {
    const auto& [value, warned] = values_.get(key, [&] {
      std::pair<T, std::vector<Diagnostic>> loaded;
      loaded.first = load(&loaded.second);
      return loaded;
    });
    if (warnings != nullptr) warnings->insert(warnings->end(), warned.begin(), warned.end());
    return value;
  }

private:
  static constexpr std::size_t most = 64;  // a sweep over a key of the file has a value for each point

  Memo<std::string, std::pair<T, std::vector<Diagnostic>>> values_{most};
};

/// Assumes that files do not change while this exists.
struct InputFiles {
  static constexpr std::size_t most_found = 256;

  Memo<std::string, std::filesystem::path> found{most_found};  ///< by kind, name and where it was named
  Cache<config::Document> documents;                           ///< as written in the file
  Cache<Platform> platforms;
  Cache<GpuProfile> gpus;
  Cache<Stack> stacks;
  Cache<std::shared_ptr<const Lowering>> lowerings;
  Cache<Software> software;
  Cache<Model> models;
  Cache<std::shared_ptr<const LearningSets>> learning_sets;
  std::optional<Protocols> protocols;
  std::map<std::string, std::shared_ptr<const PublishedErrors>> published_errors;  ///< by path
  bool wants_published_errors = true;  ///< false: predictions need no expected error
  bool machines_exist = false;         ///< true: with GPUs that overrides name, too, so price and power hold
  std::set<std::string> paths;         ///< of all files read
  std::map<std::string, std::string> job_notes;                ///< on jobs of other frameworks, by path
  std::map<std::string, std::vector<std::string>> word_notes;  ///< of own_words.hpp, by experiment's path
  /// Experiments that are read in place of those of these paths: with single values for ranges.
  std::map<std::string, config::Document> in_place_of;
};

/// A file as it is written. Throws InputError or FileError.
const config::Document& load_once(InputFiles& files, const std::filesystem::path& path);

/// An InputError with advice, if a job of another framework names no machine; `error` otherwise.
InputError with_machine(const InputError& error, const std::filesystem::path& file);

/// Calls `resolve` for a document of load_experiment_once(); errors of jobs advise to name a machine.
template <class Resolve>
auto of_job_or_experiment(const config::Document& document, const std::filesystem::path& file,
                          const Resolve& resolve) {
  if (document.root.find("platform") != nullptr) return resolve();
  try {
    return resolve();
  } catch (const InputError& error) {
    throw with_machine(error, file);
  }
}

/// The document of an experiment. A job of another framework becomes one (jobs/job.hpp); a warning for each
/// of its settings that is not known is appended to `warnings`, and files.job_notes says which are not
/// modelled.
const config::Document& load_experiment_once(InputFiles& files, const config::Catalogue& catalogue,
                                             const std::filesystem::path& path,
                                             std::vector<Diagnostic>* warnings = nullptr);

/// config::find(), which looks for each file once.
std::filesystem::path find_once(InputFiles& files, const config::Catalogue& catalogue, config::Kind kind,
                                const std::string& name, const std::filesystem::path& relative_to = {});

}  // namespace trainyard
