#include "experiment/read_factors.hpp"

#include "experiment/resolve.hpp"
#include "random/functions.hpp"
#include "random/generator.hpp"
#include "temporary_folder.hpp"

#include <doctest/doctest.h>
#include <fstream>

using namespace trainyard;
namespace fs = std::filesystem;

namespace {

/// The keys of `random` that take a distribution.
std::vector<std::string> factor_keys() {
  std::vector<std::string> names;
  const auto add = [&](const auto& key) {
    if constexpr (requires { (Randomness{}.*key.member)->seen; }) names.emplace_back(key.name);
  };
  config::Keys<Randomness>::table()([&](const auto&... key) { (add(key), ...); });
  return names;
}

}  // namespace

TEST_CASE("factors of a CSV come sorted, and what is none is named with its line") {
  CHECK(read_factors("f.csv", "step,factor\n1,2\n2,0.5\n") == std::vector<double>{0.5, 2});
  CHECK_THROWS_WITH_AS(read_factors("f.csv", "factor\n1\n-1\n"), doctest::Contains("f.csv:3"), InputError);
  CHECK_THROWS_AS(read_factors("f.csv", "factor\n"), InputError);
  CHECK_THROWS_AS(read_factors("f.csv", "time\n1\n"), InputError);
}

TEST_CASE("a file of factors is found beside its experiment, and one that is not there is an error") {
  const TemporaryFolder folder;
  std::ofstream(folder.path / "seen.csv") << "factor\n1\n3\n";
  Randomness randomness;
  randomness.step = random::Distribution{};
  randomness.step->kind = random::Kind::empirical;
  randomness.step->file = "seen.csv";
  std::set<std::string> paths;
  read_factor_files(randomness, folder.path / "experiment.yaml", paths);
  CHECK(paths == std::set<std::string>{(folder.path / "seen.csv").string()});
  CHECK(randomness.step->seen == std::vector<double>{1, 3});
  randomness.step->file = "none.csv";
  CHECK_THROWS_AS(read_factor_files(randomness, folder.path / "experiment.yaml", paths), FileError);
}

TEST_CASE("every factor can be what a file holds, is drawn from it, and its file is recorded") {
  const TemporaryFolder folder;
  const std::string seen = (folder.path / "seen.csv").string();
  std::ofstream(seen) << "factor\n3\n";
  const std::vector<std::string> keys = factor_keys();
  REQUIRE(keys.size() >= 4);
  for (const std::string& key : keys) {
    CAPTURE(key);
    const fs::path file = folder.path / (key + ".yaml");
    std::ofstream(file) << "platform: dgx2\nmodel: alexnet\nstack: pytorch_ddp\nbatch_per_gpu: 8\n"
                           "random: {" +
                               key + ": {kind: empirical, file: seen.csv}}\n";
    InputFiles files;
    const ResolvedExperiment job = resolve({{TRAINYARD_SOURCE_DIR}}, file.string(), {}, files);
    CHECK(files.paths.contains(seen));
    int factors = 0;
    for_each_factor(job.settings.random, [&](std::string_view, const random::Distribution& distribution) {
      random::Generator generator(1, {});
      CHECK(random::draw(distribution, generator) == 3);
      ++factors;
    });
    CHECK(factors == 1);
  }
}

TEST_CASE("whatever keeps a trace or a file of factors from being looked at is an error of files") {
  const TemporaryFolder folder;
  std::ofstream(folder.path / "file") << "factor\n1\n";
  fs::create_symlink("loop.csv", folder.path / "loop.csv");
  const std::string experiment = (folder.path / "e.yaml").string();
  for (const std::string& name :
       {std::string("missing.csv"), std::string(300, 'x') + ".csv", std::string("loop.csv"),
        std::string("file/below.csv"), std::string("."), (folder.path / "loop.csv" / "below.csv").string()}) {
    CAPTURE(name);
    for (const std::string& what :
         {"trace: " + name, "model: alexnet\nrandom: {step: {kind: empirical, file: " + name + "}}"}) {
      std::ofstream(experiment) << "platform: dgx2\nstack: pytorch_ddp\nbatch_per_gpu: 8\n" << what << '\n';
      CHECK_THROWS_AS(resolve({{TRAINYARD_SOURCE_DIR}}, experiment, {}), FileError);
    }
  }
}
