// Overrides as users say them: totals of a job, and where mistakes in them are reported.

#include "experiment/keys_meant.hpp"

#include "errors_of.hpp"
#include "experiment/resolve.hpp"
#include "shipped_experiment.hpp"
#include "temporary_folder.hpp"

#include <doctest/doctest.h>
#include <fstream>
#include <string>

using namespace trainyard;
using testing::shipped_experiment;

namespace {

const config::Catalogue& shipped() {
  static const config::Catalogue catalogue{{TRAINYARD_SOURCE_DIR}};
  return catalogue;
}

Overrides keys_of(const Overrides& totals, const std::string& experiment = "resnet50_dgx2") {
  static InputFiles files;
  return without_totals(shipped(), experiment, totals, files);
}

std::string refusal(const Overrides& totals, const std::string& experiment = "resnet50_dgx2") {
  const auto errors = errors_of([&] { keys_of(totals, experiment); });
  return errors.empty() ? "" : to_string(errors.front());
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("totals that contradict other keys or each other are refused by name") {
  for (const auto& [one, other] :
       {std::pair("ranks", "gpus"), std::pair("ranks", "nodes"), std::pair("data_parallel", "gpus"),
        std::pair("data_parallel", "nodes"), std::pair("ranks", "data_parallel")}) {
    CAPTURE(std::string(one));
    CAPTURE(std::string(other));
    const std::string error = refusal({{one, "8"}, {other, "8"}});
    CHECK(has(error, "both given"));
    CHECK(has(error, one));
    CHECK(has(error, other));
    CHECK(refusal({{other, "8"}, {one, "8"}}) == error);
  }
  CHECK(has(refusal({{"global_batch", "32"}, {"batch_per_gpu", "2"}, {"accumulation", "1"}}), "all given"));
  CHECK(refusal({{"ranks", "8"}, {"ranks", "16"}}).empty());  // the last one counts, as of all keys
}

TEST_CASE("a key of the family by two words has one value, in the file and on the command line") {
  const TemporaryFolder folder;
  const std::string base =
      "platform: dgx_a100\nstack: pytorch_ddp\nmodel: gpt2_small\nbatch_per_gpu: 1\nsequence_length: 512\n";
  const auto put = [&](const char* name, const std::string& more) {
    const std::string file = (folder.path / name).string();
    std::ofstream(file) << base << more;
    return file;
  };
  const auto length = [&](const Overrides& overrides, const std::string& file) {
    InputFiles files;
    return resolve_with_totals(shipped(), file, overrides, files).model->sequence_length;
  };
  constexpr const char* path = "model.gpt2.sequence_length";
  const std::string both = put("both.yaml", "set: {model.gpt2.sequence_length: 256}\n");
  CHECK(has(refusal({}, both), "two words"));
  CHECK(length({{"sequence_length", "128"}}, both) == 128);  // replaces both
  CHECK(length({{path, "128"}}, both) == 128);
  CHECK(length({}, put("same.yaml", "set: {model.gpt2.sequence_length: 512}\n")) == 512);
  const std::string one = put("one.yaml", "");
  CHECK(length({{path, "128"}}, one) == 128);
  CHECK(has(refusal({{path, "128"}, {"sequence_length", "256"}}, one), "two words"));
  CHECK(length({{path, "256"}, {"sequence_length", "256"}}, one) == 256);
}

TEST_CASE("totals beyond any job are refused, not computed past the largest number") {
  for (const Overrides& totals :
       std::vector<Overrides>{{{"data_parallel", "1000000000"}, {"parallelism.tensor", "8"}},
                              {{"data_parallel", "300000000"}, {"parallelism.tensor", "8"}},
                              {{"data_parallel", "1000000000"}},
                              {{"ranks", "1000000000"}},
                              {{"data_parallel", "2"},
                               {"parallelism.tensor", "1000000"},
                               {"parallelism.pipeline", "1000000"},
                               {"parallelism.context", "1000000"}}}) {
    CAPTURE(totals.front().second);
    CHECK(has(refusal(totals), "than a job can have"));
  }
  CHECK(keys_of({{"data_parallel", "4"}, {"parallelism.tensor", "8"}}) ==
        Overrides{{"parallelism.tensor", "8"}, {"nodes", "2"}, {"gpus", "32"}});
}

TEST_CASE("keys of a model say that a replayed trace has none") {
  const TemporaryFolder folder;
  const std::string replay = (folder.path / "replay.yaml").string();
  std::ofstream(replay) << "platform: dgx2\nstack: pytorch_ddp\nbatch_per_gpu: 1\ntrace: t.csv\n";
  CHECK(has(refusal({{"sequence_length", "512"}}, replay), "replays a trace"));
  const std::string bare = (folder.path / "bare.yaml").string();
  std::ofstream(bare) << "platform: dgx2\nstack: pytorch_ddp\nbatch_per_gpu: 1\n";
  CHECK(has(refusal({{"sequence_length", "512"}}, bare), "names none"));
}

TEST_CASE("a resolved job keeps what was asked for, without what follows from it") {
  InputFiles files;
  const Overrides asked{{"ranks", "8"}, {"global_batch", "256"}};
  const ResolvedExperiment job = resolve_with_totals(shipped(), "resnet50_dgx2", asked, files);
  CHECK(job.settings.batch_per_gpu == 32);
  CHECK(job.changed == asked);
  CHECK(changed_keys(job) == "ranks=8, global_batch=256");
}

TEST_CASE("an unknown GPU is reported where it is written") {
  const auto error_of = [](const std::string& experiment, const Overrides& overrides) {
    const auto errors = errors_of([&] { shipped_experiment(experiment, overrides); });
    REQUIRE(errors.size() == 1);
    return errors.front();
  };
  const Diagnostic option = error_of("resnet50_dgx2", {{"platform.node.gpus.profile", "h100"}});
  CHECK(option.file == "--set");
  CHECK(has(option.source_line, "platform.node.gpus.profile=h100"));
  CHECK(has(option.hint, "h100_pcie_80gb"));
  const TemporaryFolder folder;
  const std::string file = (folder.path / "job.yaml").string();
  std::ofstream(file) << "platform: dgx1v\nmodel: resnet50\nstack: pytorch_ddp\nbatch_per_gpu: 32\n"
                         "set: {platform.node.gpus.profile: h100}\n";
  const Diagnostic in_file = error_of(file, {});
  CHECK(in_file.file == file);
  CHECK(in_file.line == 5);
}

TEST_CASE("the same GPU by its other profile is no other machine: price and power stay") {
  const Overrides job{{"platform", "dgx_h100"}, {"model", "resnet50"}, {"batch_per_gpu", "32"}};
  const auto with = [&](const std::string& gpu) {
    Overrides swapped = job;
    swapped.emplace_back("platform.node.gpus.profile", gpu);
    return shipped_experiment(no_file, swapped);
  };
  const ResolvedExperiment own = shipped_experiment(no_file, job);
  REQUIRE(own.platform.power.max);
  for (const char* const gpu : {"h100_sxm_80gb", "NVIDIA H100 80GB HBM3"})
    CHECK(with(gpu).platform.power.max);
  CHECK(with("NVIDIA H100 80GB HBM3").gpu.name == own.gpu.name);
  CHECK(!with("h100_pcie_80gb").platform.power.max);
}

TEST_CASE("a global batch of the file is divided by the factor that is stated, or set") {
  const TemporaryFolder folder;
  const auto batches_of = [&](const std::string& lines, const Overrides& set = {}) {
    const std::string file = (folder.path / "job.yaml").string();
    std::ofstream(file) << "platform: dgx_a100\nmodel: gpt2_small\nstack: megatron_lm\nprecision: bf16\n"
                        << "global_batch: 64\n"
                        << lines;
    InputFiles files;
    const Experiment settings = resolve_with_totals(shipped(), file, set, files).settings;
    return std::pair(settings.batch_per_gpu, settings.accumulation);
  };
  const std::string tensor = "parallelism: {tensor: 2}\n";
  CHECK(batches_of("batch_per_gpu: 2\n" + tensor) == std::pair(2, 8));  // four replicas
  CHECK(batches_of("accumulation: 4\n") == std::pair(2, 4));
  CHECK(batches_of("") == std::pair(8, 1));
  CHECK(batches_of(tensor) == std::pair(1, 16));
  CHECK(batches_of("batch_per_gpu: 2\n" + tensor, {{"batch_per_gpu", "4"}}) == std::pair(4, 4));
  CHECK(batches_of("batch_per_gpu: 2\n" + tensor, {{"global_batch", "32"}}) == std::pair(2, 4));
  CHECK(batches_of("batch_per_gpu: 2\n", {{"global_batch", "32"}}) == std::pair(2, 2));  // the file's rule
  CHECK_FALSE(errors_of([&] { batches_of("batch_per_gpu: 2\naccumulation: 4\n"); }).empty());
  CHECK_FALSE(errors_of([&] { batches_of("batch_per_gpu: 3\n"); }).empty());
}

TEST_CASE("a global batch of the command line is divided by the factor that is set, too") {
  const auto batches_of = [](const Overrides& set, const std::string& experiment = "resnet50_dgx2") {
    InputFiles files;
    const Experiment settings = resolve_with_totals(shipped(), experiment, set, files).settings;
    return std::pair(settings.batch_per_gpu, settings.accumulation);
  };
  CHECK(batches_of({{"global_batch", "512"}}) == std::pair(32, 1));
  CHECK(batches_of({{"global_batch", "512"}, {"batch_per_gpu", "8"}}) == std::pair(8, 4));
  CHECK(batches_of({{"global_batch", "512"}, {"accumulation", "8"}}) == std::pair(4, 8));
  const Overrides tensor{{"global_batch", "512"}, {"parallelism.tensor", "2"}};
  CHECK(batches_of(tensor, "gpt2_small_dgx2") == std::pair(8, 8));
  Overrides set = tensor;
  set.emplace_back("accumulation", "4");
  CHECK(batches_of(set, "gpt2_small_dgx2") == std::pair(16, 4));
  CHECK(
      has(refusal({{"global_batch", "500"}}), "500 samples cannot be split evenly into 16 parts: 16 ranks"));
  CHECK(has(refusal({{"global_batch", "512"}, {"batch_per_gpu", "3"}}),
            "into 48 parts: 16 ranks times 3 of batch_per_gpu"));
}

TEST_CASE("totals and keys of the model's family stand in files, and the command line goes first") {
  const TemporaryFolder folder;
  const auto resolved = [&](const std::string& lines, const Overrides& set = {}) {
    const std::string file = (folder.path / "job.yaml").string();
    std::ofstream(file) << "platform: dgx_a100\nmodel: gpt2_small\nstack: megatron_lm\nprecision: bf16\n"
                        << "batch_per_gpu: 2\n"
                        << lines;
    InputFiles files;
    return resolve_with_totals(shipped(), file, set, files);
  };
  const auto shape_of = [&](const std::string& lines, const Overrides& set = {}) {
    const ResolvedExperiment job = resolved(lines, set);
    return std::pair(job.settings.nodes, job.cluster->ranks());
  };
  CHECK(shape_of("ranks: 20\n") == std::pair(3, 20));
  CHECK(shape_of("data_parallel: 8\nparallelism: {tensor: 2}\n") == std::pair(2, 16));
  CHECK(shape_of("ranks: 20\n", {{"ranks", "16"}}) == std::pair(2, 16));
  CHECK(shape_of("ranks: 20\n", {{"nodes", "2"}}) == std::pair(2, 16));
  CHECK(shape_of("ranks: 20\n", {{"data_parallel", "4"}}) == std::pair(1, 4));
  CHECK(resolved("sequence_length: 512\n").model->sequence_length == 512);
  CHECK(resolved("sequence_length: 512\n", {{"sequence_length", "256"}}).model->sequence_length == 256);
  CHECK(resolved("sequence_length: 512\n", {{"model.gpt2.sequence_length", "256"}}).model->sequence_length ==
        256);
  CHECK(resolved("attention: flash\n").settings.set.at("model.gpt2.attention") == "flash");
  for (const char* const lines :
       {"ranks: 8\nnodes: 1\n", "ranks: 8\ngpus: 8\n", "ranks: 8\ndata_parallel: 8\n"}) {
    CAPTURE(std::string(lines));
    CHECK(has(to_string(only_error([&] { resolved(lines); })), "both given"));
  }
}
