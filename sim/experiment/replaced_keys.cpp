#include "experiment/replaced_keys.hpp"

#include "config/fields.hpp"
#include "experiment/experiment.hpp"
#include "experiment/sync_keys.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <initializer_list>
#include <optional>
#include <string_view>

namespace trainyard {
namespace {

using Texts = std::vector<std::pair<std::string, std::string>>;
using Paths = std::vector<std::string>;

/// The value with this name; empty for an unknown name, whose error comes with reading.
template <class E>
std::optional<E> named(const std::optional<std::string>& text) {
  return text ? config::value_named<E>(*text) : std::nullopt;
}

Paths in_block(std::string_view block, std::initializer_list<std::string_view> keys) {
  Paths paths;
  for (const std::string_view key : keys) paths.push_back(fmt::format("{}.{}", block, key));
  return paths;
}

/// Keys of `sync` that another kind of synchronisation has.
Paths of_other_kinds(SyncKind kind) {
  if (kind == SyncKind::parameter_server)
    return in_block("sync", {"algorithm", "grid", "compression", "keep"});
  Paths paths =
      in_block("sync", {"k", "adaptive_k", "bound", "fetch_every", "backups", "shards", "placement"});
  Paths more;
  if (kind == SyncKind::all_reduce) more = in_block("sync", {"compression", "keep"});
  if (kind == SyncKind::dataparallel_gpu0)
    more = in_block("sync", {"compression", "keep", "algorithm", "grid", "push_every"});
  paths.insert(paths.end(), more.begin(), more.end());
  return paths;
}

/// Keys of `sync` that another update rule has.
Paths of_other_rules(UpdateRule rule) {
  Paths paths;
  for (const RuleKey& key : rule_keys) {
    if (!key.is_of(traits(rule))) paths.push_back(fmt::format("sync.{}", key.name));
  }
  return paths;
}

/// Keys of a distribution that another kind of distribution has.
Paths of_other_distributions(random::Kind kind, std::string_view block) {
  using random::Kind;
  Paths paths;
  const auto add = [&](bool is_of_kind, std::string_view key) {
    if (!is_of_kind) paths.push_back(fmt::format("{}.{}", block, key));
  };
  add(has_mean(kind), "mean");
  add(kind == Kind::uniform, "low");
  add(kind == Kind::uniform, "high");
  add(kind == Kind::normal || kind == Kind::log_normal, "sd");
  add(kind == Kind::shifted_exponential, "shift");
  add(kind == Kind::gamma || kind == Kind::pareto, "shape");
  add(kind == Kind::empirical, "file");
  return paths;
}

/// One document and the overrides that will be put into it.
class Replacing {
public:
  Replacing(config::Document& document, const Texts& overrides)
      : document_(document), overrides_(overrides) {}

  /// The last value on the command line.
  [[nodiscard]] std::optional<std::string> set(std::string_view key) const {
    const auto last = std::find_if(overrides_.rbegin(), overrides_.rend(),
                                   [&](const auto& entry) { return entry.first == key; });
    return last == overrides_.rend() ? std::nullopt : std::optional(last->second);
  }

  /// The last value on the command line, if the file has another value, or none.
  [[nodiscard]] std::optional<std::string> replaced(std::string_view key) const {
    std::optional<std::string> value = set(key);
    if (value && has(key) && document_.nearest(key).scalar == *value) return std::nullopt;
    return value;
  }

  /// Removes keys without a note.
  void remove_silently(const Paths& keys) {
    for (const std::string& key : keys) {
      if (!is_set_at_or_below(key)) config::remove(document_, key);
    }
  }

  /// Removes the keys that the file has, and says so: they belong to another value of `cause`.
  void remove(std::string_view cause, const Paths& keys) {
    Paths removed;
    for (const std::string& key : keys) {
      if (!is_set_at_or_below(key) && config::remove(document_, key)) removed.push_back(key);
    }
    if (removed.empty()) return;
    notes_.push_back(fmt::format("{}={} leaves out of the experiment's file: {}", cause, *set(cause),
                                 fmt::join(removed, ", ")));
  }

  /// The overrides of these files in the experiment's key `set`.
  [[nodiscard]] Paths overrides_of_files(std::initializer_list<std::string_view> files) const {
    Paths paths;
    const config::Node* const block = document_.root.find("set");
    if (block == nullptr) return paths;
    for (const config::Node::Entry& entry : block->entries) {
      if (std::ranges::find(files, file_of(entry.key)) != files.end())
        paths.push_back(config::join("set", entry.key));
    }
    return paths;
  }

  /// The value that a choice in `sync` has in the file; empty without one.
  [[nodiscard]] std::string in_file(std::string_view key) const {
    return has(key) ? document_.nearest(key).scalar : std::string();
  }

  [[nodiscard]] std::vector<std::string> notes() && { return std::move(notes_); }

private:
  static std::string_view file_of(std::string_view key) { return key.substr(0, key.find('.')); }

  [[nodiscard]] bool has(std::string_view path) const {
    const config::Node* node = &document_.root;
    for (std::size_t begin = 0; begin <= path.size();) {
      const std::size_t end = std::min(path.find('.', begin), path.size());
      node = node->find(path.substr(begin, end - begin));
      if (node == nullptr) return false;
      begin = end + 1;
    }
    return true;
  }

  [[nodiscard]] bool is_set_at_or_below(const std::string& key) const {
    return std::ranges::any_of(overrides_, [&](const auto& entry) {
      return entry.first == key || entry.first.starts_with(key + ".");
    });
  }

  config::Document& document_;
  const Texts& overrides_;
  std::vector<std::string> notes_;
};

void replace_length(Replacing& replacing) {
  constexpr std::array<std::string_view, 4> lengths{"epochs", "steps", "tokens", "target"};
  for (const std::string_view length : lengths) {
    if (!replacing.set(fmt::format("job.{}", length))) continue;
    for (const std::string_view other : lengths) {
      if (other != length) replacing.remove_silently({fmt::format("job.{}", other)});
    }
  }
}

/// An end of learning that is set replaces the job's, and with it the error of the accuracy there.
void replace_end_of_learning(Replacing& replacing) {
  for (const char* const end : {"learn.until.updates", "learn.until.time"}) {
    if (replacing.set(end)) replacing.remove_silently({"learn.until.job", "learn.accuracy_error"});
  }
}

/// The error of a learner's accuracy is that of this learner.
void replace_learner(Replacing& replacing) {
  for (const char* const key :
       {"learn.model", "learn.model.kind", "learn.model.hidden", "learn.model.initial_scale", "learn.data",
        "learn.data.name", "learn.data.features", "learn.data.separation", "learn.data.test",
        "learn.data.file"}) {
    if (replacing.replaced(key)) replacing.remove(key, {"learn.accuracy_error"});
  }
}

/// A step comes from one source. The optimizer, a measurement on one GPU, the target of a job and the
/// overrides of its file are a model's own.
void replace_source(Replacing& replacing) {
  constexpr std::array<std::string_view, 3> sources{"model", "trace", "traces"};
  for (const std::string_view source : sources) {
    if (!replacing.replaced(source)) continue;
    Paths keys;
    for (const std::string_view other : sources) {
      if (other != source) keys.emplace_back(other);
    }
    const Paths of_model = replacing.overrides_of_files({"model"});
    keys.insert(keys.end(), of_model.begin(), of_model.end());
    if (source == "model") keys.emplace_back("trace_times");
    for (const char* const key : {"optimizer", "one_gpu", "one_gpu_scale", "job.target"})
      keys.emplace_back(key);
    replacing.remove(source, keys);
  }
}

void replace_files(Replacing& replacing) {
  if (replacing.replaced("platform")) {
    Paths keys = replacing.overrides_of_files({"platform", "gpu", "processor"});
    for (const char* const key : {"one_gpu", "one_gpu_scale"}) keys.emplace_back(key);
    replacing.remove("platform", keys);
  }
  if (const auto precision = replacing.replaced("precision"); precision && *precision != "fp8")
    replacing.remove("precision", {config::join("set", "stack.fp8_scaling")});
  if (replacing.replaced("stack")) replacing.remove("stack", replacing.overrides_of_files({"stack"}));
}

void replace_sync(Replacing& replacing) {
  if (const auto kind = named<SyncKind>(replacing.replaced("sync.kind"))) {
    Paths keys = of_other_kinds(*kind);
    const auto rule = config::value_named<UpdateRule>(replacing.in_file("sync.update"));
    if (*kind != SyncKind::parameter_server && rule && !traits(*rule).waits_for_all()) {
      keys.emplace_back("sync.update");
      keys.emplace_back("sync.push_every");
    }
    replacing.remove("sync.kind", keys);
  }
  if (const auto rule = named<UpdateRule>(replacing.replaced("sync.update")))
    replacing.remove("sync.update", of_other_rules(*rule));
  const auto algorithm = named<Algorithm>(replacing.replaced("sync.algorithm"));
  if (algorithm && *algorithm != Algorithm::torus2d) replacing.remove("sync.algorithm", {"sync.grid"});
  const auto compression = named<Compression>(replacing.replaced("sync.compression"));
  if (compression && *compression != Compression::top_k) replacing.remove("sync.compression", {"sync.keep"});
}

void replace_distributions(Replacing& replacing) {
  const Randomness factors{.op = random::Distribution{},
                           .step = random::Distribution{},
                           .node = random::Distribution{},
                           .gpu = random::Distribution{},
                           .gpus = {},
                           .slow = {},
                           .pauses = {},
                           .communication = CommunicationDelay{}};
  for_each_factor(factors, [&](std::string_view factor, const random::Distribution&) {
    const std::string block = fmt::format("random.{}", factor);
    const std::string key = block + ".kind";
    if (const auto kind = named<random::Kind>(replacing.replaced(key)))
      replacing.remove(key, of_other_distributions(*kind, block));
  });
}

}  // namespace

std::vector<std::string> remove_replaced_keys(config::Document& document, const Texts& overrides) {
  Replacing replacing(document, overrides);
  replace_length(replacing);
  replace_end_of_learning(replacing);
  replace_learner(replacing);
  replace_source(replacing);
  replace_files(replacing);
  replace_sync(replacing);
  replace_distributions(replacing);
  return std::move(replacing).notes();
}

void ask_for_learning(config::Document& document, const Texts& overrides) {
  const config::Node* const learn = document.root.find("learn");
  const config::Node* const when = learn == nullptr ? nullptr : learn->find("when");
  if (when == nullptr || when->scalar != config::name_of(LearnWhen::asked)) return;
  const auto is_of_learning = [](const auto& entry) {
    return entry.first.starts_with("learn.") && entry.first != "learn.when";
  };
  if (std::ranges::any_of(overrides, is_of_learning))
    config::set(document, "learn.when", std::string(config::name_of(LearnWhen::always)));
}

}  // namespace trainyard
