#pragma once
// Caches the files read by resolve(): the points of a sweep name the same few files again and again, and
// reading them takes most of a small point's time.

#include "accuracy/published_errors.hpp"
#include "collectives/protocols.hpp"
#include "compute/gpu_profile.hpp"
#include "config/document.hpp"
#include "platform/platform.hpp"
#include "strategy/software.hpp"
#include "strategy/stack.hpp"
#include "workload/model.hpp"

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace trainyard {

struct LearningSets;  // learn/samples.hpp

/// Values by source: a path and the overrides in it. Errors are not cached: they occur again.
template <class T>
class Cache {
public:
  /// The result of `load`, with its warnings, from the first call for `key`.
  template <class Load>
  const T& get(const std::string& key, std::vector<Diagnostic>* warnings, const Load& load) {
    const auto found = values_.find(key);
    if (found != values_.end()) return told(found->second, warnings);
    if (values_.size() >= most) values_.clear();  // a sweep over a key of the file has a value for each point
    std::pair<T, std::vector<Diagnostic>> value;
    value.first = load(&value.second);
    return told(values_.emplace(key, std::move(value)).first->second, warnings);
  }

private:
  static constexpr std::size_t most = 64;

  static const T& told(const std::pair<T, std::vector<Diagnostic>>& value,
                       std::vector<Diagnostic>* warnings) {
    if (warnings != nullptr) warnings->insert(warnings->end(), value.second.begin(), value.second.end());
    return value.first;
  }

  std::map<std::string, std::pair<T, std::vector<Diagnostic>>> values_;
};

/// Assumes that files do not change while this exists.
struct InputFiles {
  Cache<config::Document> documents;  ///< as written in the file
  Cache<Platform> platforms;
  Cache<GpuProfile> gpus;
  Cache<Stack> stacks;
  Cache<Software> software;
  Cache<Model> models;
  Cache<std::shared_ptr<const LearningSets>> learning_sets;
  std::optional<Protocols> protocols;
  std::map<std::string, std::shared_ptr<const PublishedErrors>> published_errors;  ///< by path
  bool wants_published_errors = true;  ///< false: predictions need no expected error
  bool machines_exist = false;         ///< true: with GPUs that overrides name, too, so price and power hold
  std::set<std::string> paths;         ///< of all files read
};

}  // namespace trainyard
