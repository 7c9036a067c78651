// Readers of whole files, by the commands that read them: imports of other tools' files, and sweep.db.

#include "config/catalogue.hpp"
#include "config/document.hpp"
#include "convert/commands.hpp"
#include "fuzz/targets.hpp"
#include "jobs/job.hpp"
#include "sweep/sweep.hpp"
#include "sweep/sweep_store.hpp"
#include "temporary_folder.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <vector>

namespace trainyard::fuzz {
namespace {

const std::filesystem::path& folder() {
  static const TemporaryFolder made;
  return made.path;
}

std::string put(const std::string& input, const char* name) {
  const std::filesystem::path file = folder() / name;
  std::ofstream(file, std::ios::binary) << input;
  return file.string();
}

/// A job of another framework: an experiment comes out whose text reads back, with a short account.
void read_job_file(const std::string& input) {
  const jobs::ImportedJob job = jobs::read_job(config::find_catalogue(), put(input, "job"));
  (void)config::parse("job.yaml", job.experiment);
  (void)jobs::note_on(job);
}

std::string bytes_of(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// Runs a command that `add` declares, with its words; "IN" stands for the input's file, "OUT" and "OUT.yaml"
/// for files to write.
void run_command(void (*add)(CLI::App&), const std::string& file, std::initializer_list<const char*> words) {
  CLI::App program;
  add(program);
  std::vector<std::string> arguments;
  for (const std::string_view word : words) {
    if (word == "IN")
      arguments.push_back(file);
    else
      arguments.push_back(word.starts_with("OUT") ? (folder() / word).string() : std::string(word));
  }
  std::reverse(arguments.begin(), arguments.end());  // as CLI11 takes them
  program.parse(std::move(arguments));
}

void import_kineto(const std::string& input) {
  const std::string file = put(input, "worker0.pt.trace.json");
  run_command(add_import, file,
              {"import", "kineto", "IN", "-o", "OUT", "--force", "--host-gaps", "--batch", "8"});
  run_command(add_import, file,
              {"import", "kineto", "IN", "-o", "OUT", "--force", "--json", "--allow-truncated",
               "--recordings", "OUT"});
}

void import_nsys(const std::string& input) {
  run_command(add_import, put(input, "report.sqlite"),
              {"import", "nsys", "IN", "-o", "OUT", "--force", "--json", "--batch", "8"});
}

void import_et(const std::string& input) {
  run_command(add_import, put(input, "et.json"),
              {"import", "et", "IN", "-o", "OUT", "--force", "--batch", "8"});
}

void import_horovod(const std::string& input) {
  const std::string file = put(input, "timeline.json");
  run_command(add_import, file, {"import", "horovod", "IN"});
  run_command(add_import, file, {"import", "horovod", "IN", "--json"});
}

void import_nccl_tests(const std::string& input) {
  run_command(
      add_import, put(input, "all_reduce.log"),
      {"import", "nccl-tests", "IN", "-o", "OUT", "--force", "--operation", "all_reduce", "--gpus", "8"});
}

void import_chakra(const std::string& input) {
  run_command(add_import, put(input, "job.0.et"),
              {"import", "chakra", "IN", "-o", "OUT", "--force", "--gpus", "8"});
}

void import_astra_workload(const std::string& input) {
  run_command(
      add_import, put(input, "workload.txt"),
      {"import", "astra-sim", "IN", "-o", "OUT", "--force", "--time-unit", "ns", "--gradients", "fp32"});
}

void add_platform_of_init(CLI::App& program) { add_init_platform(*program.add_subcommand("init")); }

void init_from_node(const std::string& input) {
  run_command(add_platform_of_init, put(input, "node.txt"),
              {"init", "platform", "IN", "--name", "node", "--gpu", "v100_sxm2_16gb", "--nic", "100 Gbps"});
}

const StoredSweep& three_points() {
  static const StoredSweep what = [] {
    const SweepFile file = load_sweep(
        config::parse("s.yaml", "experiment: resnet50_dgx2\nvary: {batch_per_gpu: [16, 32, 64]}\n"));
    return StoredSweep{
        .sweep = make_sweep("s.yaml", file), .figures = {"step_time_s", "ranks"}, .version = "1"};
  }();
  return what;
}

/// A store of exactly these bytes, removed with SQLite's files beside it.
class StoreFile {
public:
  explicit StoreFile(const std::string& bytes) : path(put(bytes, "sweep.db")) {}
  StoreFile(const StoreFile&) = delete;
  StoreFile& operator=(const StoreFile&) = delete;
  ~StoreFile() { remove_store(path); }
  const std::filesystem::path path;
};

void require_points(const std::vector<SweepRow>& rows) {
  for (const SweepRow& row : rows)
    if (row.point >= 3) broken("a row of no point");
}

void read_store(const std::string& input) {
  try {
    const StoreFile file(input);
    const SweepStore store(file.path, three_points());
    require_points(store.rows());
    (void)store.files();
  } catch (const FileError&) {  // NOLINT(bugprone-empty-catch): damage
  }
}

std::string store_of_three_points() {
  const std::filesystem::path file = folder() / "made.db";
  SweepStore store(file, three_points());
  store.add({.point = 0, .figures = {0.125, 16.0}}, {});
  store.add({.point = 1, .figures = {0.25, std::nullopt}}, {});
  store.add({.point = 2, .status = PointStatus::impossible, .reason = "does not fit"}, {});
  store.close();
  return bytes_of(file);
}

constexpr std::array of_files{
    Target{"kineto", import_kineto, "tests/imports/*.pt.trace.json"},
    Target{"nsys", import_nsys, ""},
    Target{"et", import_et, "tests/imports/execution_trace.json"},
    Target{"horovod", import_horovod, "tests/imports/timeline.json"},
    Target{"nccl_tests", import_nccl_tests, "tests/imports/*.log"},
    Target{"chakra", import_chakra, ""},
    Target{"astra_workload", import_astra_workload, "tests/fuzz/corpus/astra_workload/*"},
    Target{"node", init_from_node, "tests/fuzz/corpus/node/*"},
    Target{"jobs", read_job_file, "tests/fuzz/corpus/jobs/*"},
    Target{"store", read_store, "", {}, store_of_three_points}};

}  // namespace

std::span<const Target> file_targets() { return of_files; }

}  // namespace trainyard::fuzz
