#include "experiment/one_gpu.hpp"

#include "errors_of.hpp"
#include "has_all.hpp"
#include "shipped_experiment.hpp"
#include "temporary_folder.hpp"
#include "units/text.hpp"

#include <doctest/doctest.h>
#include <fstream>

using namespace trainyard;
using testing::shipped_experiment;

namespace {

/// The error of resnet50_dgx2 with these overrides; empty if there is none.
std::string error_with(const Overrides& overrides, const std::string& experiment = "resnet50_dgx2") {
  Overrides alone = overrides;
  alone.emplace_back("software", "ideal");  // launches do not scale
  const auto errors = errors_of([&] { shipped_experiment(experiment, alone); });
  return errors.empty() ? "" : to_string(errors.front());
}

double rate_of(const ResolvedExperiment& resolved) {
  return resolved.settings.batch_per_gpu * resolved.settings.accumulation / one_rank_step(resolved).si();
}

std::string rate(double samples) { return shortest(samples) + " samples/s"; }

}  // namespace

TEST_CASE("without one_gpu kernels stay as modelled") {
  const ResolvedExperiment plain = shipped_experiment("resnet50_dgx2");
  CHECK(!plain.settings.one_gpu_scale);
  CHECK(plain.stack.compute_scale.value == 1);
  CHECK(one_gpu_in_words(plain.settings).empty());
  CHECK(kept_one_gpu(plain).empty());
}

TEST_CASE("a rate in other words is the same rate, and tokens are divided by the sequence length") {
  const auto scale_of = [](const std::string& experiment, const std::string& text) {
    return *shipped_experiment(experiment, {{"one_gpu", text}}).settings.one_gpu_scale;
  };
  const double scale = scale_of("resnet50_dgx2", "400 samples/s");
  CHECK(scale < 1);
  for (const char* const text : {"400 images/s", "400img/s", "4e2 samples/s"})
    CHECK(scale_of("resnet50_dgx2", text) == scale);
  const ResolvedExperiment bert = shipped_experiment("bert_base_p3dn");
  const double sequences = rate_of(bert);
  const double by_samples = scale_of("bert_base_p3dn", shortest(sequences / 2) + " sequences/s");
  CHECK(by_samples > 1.5);
  CHECK(scale_of("bert_base_p3dn", shortest(sequences / 2 * *bert.model->sequence_length) + " tokens/s") ==
        doctest::Approx(by_samples).epsilon(1e-12));
}

TEST_CASE("what is not a rate is named with its place and what to write instead") {
  CHECK(has_all(error_with({{"one_gpu", "803"}}), "needs a unit", "one_gpu=803", "803 samples/s"));
  CHECK(has_all(error_with({{"one_gpu", "803 img"}}), "unknown unit 'img'", "img/s"));
  CHECK(has_all(error_with({{"one_gpu", "803 ms"}}), "'803 ms' is a time", "803 samples/s"));
  CHECK(has_all(error_with({{"one_gpu", "0 samples/s"}}), "not above 0"));
  CHECK(has_all(error_with({{"one_gpu", "1e5 tokens/s"}}), "resnet50", "samples/s"));
  CHECK(has_all(error_with({{"one_gpu_scale", "1.2"}}), "needs 'one_gpu'"));
  CHECK(has_all(error_with({{"one_gpu", "400 samples/s"}, {"one_gpu_scale", "5"}}), "one_gpu_scale", "4"));
}

TEST_CASE("a factor beyond 4 is refused, and the error says which one it would take") {
  const double modelled = rate_of(shipped_experiment("resnet50_dgx2", {{"software", "ideal"}}));
  CHECK(error_with({{"one_gpu", rate(modelled * 3.9)}}).empty());
  CHECK(error_with({{"one_gpu", rate(modelled / 3.9)}}).empty());
  const std::string slow = error_with({{"one_gpu", rate(modelled / 5)}});
  CHECK(has_all(slow, "one v100_sxm3_32gb", " 5 times as slow", "limit of 4", "samples/s", "batch_per_gpu"));
  CHECK(has_all(error_with({{"one_gpu", rate(modelled * 8)}}), " 8 times as fast"));
}

TEST_CASE("a rate that samples or host time do not allow is refused with the largest possible one") {
  const Overrides slow_disk{{"platform.node.storage.bandwidth", "20 MB/s"}};
  Overrides fast = slow_disk;
  fast.emplace_back("one_gpu", "350 samples/s");
  CHECK(has_all(error_with(fast, "resnet50_dgx2_input"), "350 samples/s", "a node prepares at most",
                "storage", "data: synthetic"));
  CHECK(has_all(error_with({{"stack.step_overhead", "1 s"}, {"one_gpu", "380 samples/s"}}), "380 samples/s",
                "128 samples/s", "1.00 s", "overheads of the stack"));
}

TEST_CASE("if samples limit the modelled step already, a rate equal to theirs needs no factor") {
  const Overrides slow_disk{{"platform.node.storage.bandwidth", "20 MB/s"}};
  Overrides measured = slow_disk;
  measured.emplace_back("one_gpu", rate(rate_of(shipped_experiment("resnet50_dgx2_input", slow_disk))));
  CHECK(shipped_experiment("resnet50_dgx2_input", measured).settings.one_gpu_scale == 1);
}

TEST_CASE("a stated factor is kept, and belongs to the measurement of its file") {
  const TemporaryFolder folder;
  const auto file = folder.path / "e.yaml";
  std::ofstream(file) << "platform: dgx2\nmodel: resnet50\nstack: pytorch_ddp\nbatch_per_gpu: 128\n"
                         "one_gpu: 400 samples/s\none_gpu_scale: 1.25\n";
  const config::Catalogue catalogue{{TRAINYARD_SOURCE_DIR}};
  const ResolvedExperiment kept = resolve(catalogue, file.string(), {});
  CHECK(kept.settings.one_gpu_scale == 1.25);
  CHECK(kept.stack.compute_scale.value == 1.25);
  // one GPU does not do 400 samples/s then, and the note says what it does
  CHECK(has_all(kept.notes.back(), "1.25", "400 samples/s", "samples/s"));
  CHECK(has_all(one_gpu_in_words(kept.settings), "400 samples/s", "x 1.25"));
  const ResolvedExperiment other = resolve(catalogue, file.string(), {{"one_gpu", "350 samples/s"}});
  CHECK(rate_of(other) == doctest::Approx(350).epsilon(1e-9));
  InputFiles files;
  CHECK(has_one_gpu(catalogue, file.string(), {}, files));
  CHECK(!has_one_gpu(catalogue, "resnet50_dgx2", {}, files));
  CHECK(has_one_gpu(catalogue, "resnet50_dgx2", {{"one_gpu", "1"}}, files));
}

TEST_CASE("a changed copy that keeps the factor is as much faster as the change makes it") {
  const ResolvedExperiment base = shipped_experiment("resnet50_dgx2", {{"one_gpu", "300 samples/s"}});
  Overrides changed = kept_one_gpu(base);
  changed.emplace_back("gpu.speed", "2");
  CHECK(rate_of(shipped_experiment("resnet50_dgx2", changed)) > 1.9 * 300);
}

TEST_CASE("a place in a file is that of the key") {
  const TemporaryFolder folder;
  const auto file = folder.path / "e.yaml";
  std::ofstream(file) << "platform: dgx2\nmodel: resnet50\nstack: pytorch_ddp\nbatch_per_gpu: 128\n"
                         "one_gpu: 40 samples/s\n";
  const auto errors = errors_of([&] { resolve({{TRAINYARD_SOURCE_DIR}}, file.string(), {}); });
  REQUIRE(errors.size() == 1);
  CHECK(errors.front().line == 5);
  CHECK(errors.front().column == 10);
}
