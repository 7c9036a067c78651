#include "cli/file_kind.hpp"

#include "collectives/protocols.hpp"
#include "compute/gpu_profile.hpp"
#include "compute/processor_profile.hpp"
#include "config/command_with.hpp"
#include "config/file_format.hpp"
#include "config/file_paths.hpp"
#include "config/schema.hpp"
#include "config/suggest.hpp"
#include "experiment/experiment.hpp"
#include "jobs/job.hpp"
#include "lowering/lowering_keys.hpp"
#include "platform/platform_file.hpp"
#include "rules/machine_rules.hpp"
#include "rules/run_rules.hpp"
#include "strategy/software.hpp"
#include "strategy/stack_keys.hpp"
#include "sweep/sweep_file.hpp"
#include "units/shell_word.hpp"
#include "units/text.hpp"
#include "workload/hugging_face.hpp"
#include "workload/model_file.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace trainyard {

namespace {

using config::Kind;

/// The structs of the kinds, in the order of kind_words.
using FileTypes = std::tuple<PlatformFile, GpuProfile, ProcessorFile, Protocols, MachineRules, ModelFile,
                             Stack, Lowering, Software, Experiment, SweepFile, RunRules>;
static_assert(std::tuple_size_v<FileTypes> == kind_words.size());

/// The result of `use` for an empty value of the struct for files of this kind.
template <class Result, class Use>
Result with_file_of(Kind kind, const Use& use) {
  Result result{};
  const auto use_if = [&]<std::size_t... I>(std::index_sequence<I...>) {
    ((kind_words[I].kind == kind ? void(result = use(std::tuple_element_t<I, FileTypes>{})) : void()), ...);
  };
  use_if(std::make_index_sequence<std::tuple_size_v<FileTypes>>{});
  return result;
}

/// Number of the document's keys that a file of this kind may have.
int known_keys(Kind kind, const config::Node& root) {
  return with_file_of<int>(kind, [&]<class File>(const File&) {
    return config::Keys<File>::table()(
        [&](const auto&... key) { return (int{root.find(key.name) != nullptr} + ... + 0); });
  });
}

/// Number of the document's keys that are neither those of a file of this kind nor other words for them.
int unknown_keys(Kind kind, const config::Node& root) {
  return with_file_of<int>(kind, [&]<class File>(const File&) {
    const auto has_word = [](const config::Node::Entry& entry) {
      if constexpr (config::HasOtherWords<File>)
        return std::ranges::any_of(config::Keys<File>::other_words, [&](const config::OtherWord& other) {
          return config::is_same_word(other.word, entry.key);
        });
      else
        return false;
    };
    return static_cast<int>(std::ssize(root.entries) - std::ranges::count_if(root.entries, has_word)) -
           known_keys(kind, root);
  });
}

}  // namespace

Kind kind_named(const std::string& word, std::string_view KindWord::*form) {
  std::vector<std::string_view> words;
  for (const KindWord& known : kind_words) {
    if (known.*form == word) return known.kind;
    words.push_back(known.*form);
  }
  throw InputError("unknown kind of file '" + word + "'", config::suggest(word, words));
}

std::vector<std::string> kind_texts(std::string_view KindWord::*form) {
  std::vector<std::string> texts;
  for (const KindWord& known : kind_words) texts.emplace_back(known.*form);
  return texts;
}

config::Shape shape_of(Kind kind) {
  return with_file_of<config::Shape>(kind,
                                     [&]<class File>(const File&) { return config::shape_of<File>({}); });
}

nlohmann::ordered_json schema_of(Kind kind) {
  const std::string title = "trainyard " + std::string(config::word_of(kind));
  return with_file_of<nlohmann::ordered_json>(
      kind, [&]<class File>(const File&) { return config::schema<File>(title); });
}

Kind kind_of(const std::filesystem::path& file, const config::Document& document) {
  const std::filesystem::path folder = config::absolute_path(file).parent_path();
  for (const KindWord& known : kind_words) {
    const std::filesystem::path expected(config::folder_of(known.kind));
    const bool has_parent = expected.has_parent_path();
    if (folder.filename() == expected.filename() &&
        (!has_parent || folder.parent_path().filename() == expected.parent_path())) {
      return known.kind;
    }
  }
  const auto best =
      std::max_element(kind_words.begin(), kind_words.end(), [&](const KindWord& a, const KindWord& b) {
        return known_keys(a.kind, document.root) < known_keys(b.kind, document.root);
      });
  const int known = known_keys(best->kind, document.root);
  if (unknown_keys(best->kind, document.root) > known) config::refuse_job(document.name, document.lines);
  if (known == 0) {
    throw InputError({Diagnostic{
        .file = document.name,
        .key_path = {},
        .message =
            "no key of this file belongs to a platform, GPU or processor profile, protocol "
            "constants, machine rules, run rules, model, stack, lowering, software, experiment or sweep",
        .hint = "'trainyard schema platform' prints the keys of a platform",
        .source_line = {}}});
  }
  return best->kind;
}

void require_experiment_file(const config::Catalogue& catalogue, const std::string& experiment) {
  if (!config::is_path(experiment)) return;
  const std::filesystem::path file = config::find(catalogue, Kind::experiment, experiment);
  if (jobs::is_job_file(file)) return;
  const config::Document document = load_document(file);
  const bool is_mapping = document.root.kind == config::Node::Kind::mapping;
  if (!is_mapping || known_keys(Kind::experiment, document.root) == std::ssize(document.root.entries)) return;
  Kind kind{};
  try {
    kind = kind_of(file, document);
  } catch (const InputError&) {
    return;  // no kind has its keys: reading it as an experiment says so
  }
  if (kind == Kind::experiment) return;
  throw InputError(fmt::format("{} is a {}, not an experiment", in_quotes(experiment), config::word_of(kind)),
                   config::command_with(kind, shell_word(experiment), true));
}

}  // namespace trainyard
