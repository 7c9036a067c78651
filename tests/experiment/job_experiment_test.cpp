// Jobs of other frameworks in place of experiments.

#include "errors_of.hpp"
#include "experiment/keys_meant.hpp"
#include "experiment/overrides.hpp"
#include "experiment/resolve.hpp"
#include "shipped_catalogue.hpp"
#include "temporary_folder.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <fstream>
#include <string>

using namespace trainyard;

namespace {

std::string written(const TemporaryFolder& folder, const std::string& more = {}) {
  const std::string path = (folder.path / "job.toml").string();
  std::ofstream(path) << "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nlocal_batch_size = 1\n"
                         "[activation_checkpoint]\nmode = \"full\"\n"
                      << more;
  return path;
}

ResolvedExperiment resolved_job(const std::string& job) {
  InputFiles files;
  return resolve_with_totals(testing::shipped_catalogue(), job, {{"platform", "dgx_h100"}}, files);
}

}  // namespace

TEST_CASE("a job is an experiment, with a note on what is not modelled") {
  const TemporaryFolder folder;
  const std::string job = written(folder, "[parallelism]\nenable_async_tensor_parallel = true\n");
  const ResolvedExperiment resolved = resolved_job(job);
  CHECK(resolved.settings.model == "llama3_8b");
  CHECK(resolved.warnings.empty());
  CHECK(std::ranges::count_if(resolved.notes, [](const std::string& note) {
          return note.find("a real step is shorter (enable_async_tensor_parallel)") != std::string::npos;
        }) == 1);
  const ResolvedExperiment plain = resolved_job(written(folder));
  CHECK(std::ranges::none_of(
      plain.notes, [](const std::string& note) { return note.find("not modelled") != std::string::npos; }));
}

TEST_CASE("a job that names no machine is asked for one") {
  const TemporaryFolder folder;
  std::string hint;
  try {
    InputFiles files;
    resolve_with_totals(testing::shipped_catalogue(), written(folder), {}, files);
  } catch (const InputError& error) {
    hint = error.diagnostics().front().hint;
  }
  CHECK(hint.starts_with("the job names no machine: add --platform"));
}

TEST_CASE("a job of fewer tokens than a step is refused with the tokens of a step") {
  // 8 replicas x 2 samples x 8,192 tokens
  const auto error = [](const char* tokens) {
    const auto errors = errors_of([&] {
      InputFiles files;
      resolve_with_totals(testing::shipped_catalogue(), no_file,
                          {{"platform", "dgx_h100"},
                           {"model", "llama3_8b"},
                           {"stack", "megatron_lm"},
                           {"precision", "bf16"},
                           {"batch_per_gpu", "2"},
                           {"sequence_length", "8192"},
                           {"job.tokens", tokens}},
                          files);
    });
    return errors.empty() ? Diagnostic{} : errors.front();
  };
  for (const char* const few : {"1", "131071"}) {
    CHECK(error(few).key_path == "job.tokens");
    CHECK(error(few).hint.find("131072") != std::string::npos);
  }
  CHECK(error("131072").message.empty());
}
