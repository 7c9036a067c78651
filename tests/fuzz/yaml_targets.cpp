// Readers of YAML files, one for each kind, and of --set.

#include "collectives/protocols.hpp"
#include "compute/gpu_profile.hpp"
#include "compute/processor_profile.hpp"
#include "config/catalogue.hpp"
#include "config/document.hpp"
#include "config/read.hpp"
#include "config/write.hpp"
#include "experiment/experiment.hpp"
#include "experiment/input_files.hpp"
#include "experiment/resolve.hpp"
#include "fuzz/targets.hpp"
#include "platform/load.hpp"
#include "platform/platform_file.hpp"
#include "rules/machine_rules.hpp"
#include "rules/run_rules.hpp"
#include "strategy/software.hpp"
#include "strategy/stack.hpp"
#include "sweep/sweep.hpp"
#include "sweep/sweep_file.hpp"
#include "workload/model_file.hpp"

#include <array>
#include <fmt/format.h>

namespace trainyard::fuzz {
namespace {

using config::Document;

const config::Catalogue& catalogue() {
  static const config::Catalogue found = config::find_catalogue();
  return found;
}

/// A document whose name is that of the machine or model in it, as its reader demands.
Document document(const std::string& input) {
  Document parsed = config::parse("fuzz.yaml", input);
  const config::Node* const name = parsed.root.find("name");
  if (name != nullptr && name->kind == config::Node::Kind::scalar) parsed.name = name->scalar + ".yaml";
  return parsed;
}

/// What was read is written, read and written again: the same bytes.
template <class File>
void round_trip(const Document& document) {
  const std::string text = config::write(config::read<File>(document));
  std::string again;
  try {
    again = config::write(config::read<File>(config::parse("again.yaml", text)));
  } catch (const InputError& error) {
    broken(fmt::format("what was written does not read back: {}\n{}", error.what(), text));
  }
  require_equal("what was written", text, again);
}

/// The form of a file that the program also writes, then everything that its reader checks.
template <class File, class Load>
void read_written_kind(const std::string& input, const Load& load) {
  const Document parsed = document(input);
  try {
    round_trip<File>(parsed);
  } catch (const InputError&) {  // the reader says it again, with more
  }
  load(parsed);
}

template <class Load>
void read_kind(const std::string& input, const Load& load) {
  load(document(input));
}

void read_yaml_file(const std::string& input) {
  const Document parsed = config::parse("fuzz.yaml", input);
  if (parsed.root.kind == config::Node::Kind::null || !parsed.errors.empty()) return;
  const std::string text = config::emit(parsed.root);
  require_equal("the tree", text, config::emit(config::parse("again.yaml", text).root));
}

void read_model_file(const std::string& input) {
  read_kind(input, [](const Document& parsed) {
    std::vector<Diagnostic> warnings;
    (void)load_model(parsed, &warnings);
  });
}

void read_sweep_file(const std::string& input) {
  read_written_kind<SweepFile>(
      input, [](const Document& parsed) { (void)make_sweep(parsed.name, load_sweep(parsed)); });
}

void read_experiment_file(const std::string& input) {
  read_written_kind<Experiment>(input, [](const Document& parsed) { (void)load_experiment(parsed); });
}

/// Documents that experiments share; kept, because reading them takes longer than all else.
InputFiles& shipped_files() {
  static InputFiles files;
  return files;
}

/// An experiment with everything that it names.
void resolve_experiment(const std::string& input) {
  const std::filesystem::path file = catalogue().roots.front() / "workloads/experiments/fuzz.yaml";
  (void)resolve(catalogue(), config::parse(file.string(), input), file, {}, shipped_files());
}

/// Lines KEY=VALUE, after a line with the name of an experiment.
void resolve_with_set(const std::string& input) {
  const std::size_t first = input.find('\n');
  if (first == std::string::npos) return;
  Overrides overrides;
  for (std::size_t at = first + 1; at < input.size();) {
    const std::size_t end = std::min(input.find('\n', at), input.size());
    const std::string line = input.substr(at, end - at);
    const std::size_t equals = line.find('=');
    if (equals != std::string::npos) overrides.push_back({line.substr(0, equals), line.substr(equals + 1)});
    at = end + 1;
  }
  (void)resolve(catalogue(), input.substr(0, first), overrides, shipped_files());
}

constexpr std::array of_yaml{
    Target{"yaml", read_yaml_file, "tests/fuzz/corpus/*.yaml workloads/sweeps/*.yaml"},
    Target{"platform",
           [](const std::string& input) {
             read_kind(input, [](const Document& parsed) {
               std::vector<Diagnostic> warnings;
               (void)load_platform(parsed, &warnings);
             });
           },
           "platforms/*.yaml", "platform"},
    Target{"gpu",
           [](const std::string& input) {
             read_written_kind<GpuProfile>(input,
                                           [](const Document& parsed) { (void)load_gpu_facts(parsed); });
           },
           "platforms/gpus/*.yaml", "gpu"},
    Target{"processor",
           [](const std::string& input) {
             read_kind(input, [](const Document& parsed) { (void)load_processor_profile(parsed); });
           },
           "platforms/processors/*.yaml", "processor"},
    Target{"protocols",
           [](const std::string& input) {
             read_written_kind<Protocols>(input, [](const Document& parsed) {
               const std::string text = protocols_text(load_protocols(parsed));
               require_equal("the constants", text,
                             protocols_text(load_protocols(config::parse("again.yaml", text))));
             });
           },
           "platforms/protocols/*.yaml", "protocols"},
    Target{"machines",
           [](const std::string& input) {
             read_kind(input, [](const Document& parsed) { (void)load_machine_rules(parsed, catalogue()); });
           },
           "workloads/published/machines/*.yaml", "machines"},
    Target{"runs",
           [](const std::string& input) {
             read_kind(input, [](const Document& parsed) { (void)load_run_rules(parsed, catalogue()); });
           },
           "workloads/published/runs/*.yaml", "runs"},
    Target{"model", read_model_file, "workloads/models/*.yaml", "model"},
    Target{"stack",
           [](const std::string& input) {
             read_kind(input, [](const Document& parsed) { (void)load_stack(parsed); });
           },
           "workloads/stacks/*.yaml", "stack"},
    Target{"software",
           [](const std::string& input) {
             read_kind(input, [](const Document& parsed) { (void)load_software(parsed); });
           },
           "workloads/software/*.yaml", "software"},
    Target{"sweep", read_sweep_file, "workloads/sweeps/*.yaml", "sweep"},
    Target{"experiment", read_experiment_file, "workloads/experiments/*.yaml", "experiment"},
    Target{"resolve", resolve_experiment, "workloads/experiments/*.yaml", "experiment"},
    Target{"set", resolve_with_set, "tests/fuzz/corpus/set/*", "experiment"}};

}  // namespace

std::span<const Target> yaml_targets() { return of_yaml; }

}  // namespace trainyard::fuzz
