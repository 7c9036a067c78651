#include "experiment/read_factors.hpp"

#include "temporary_folder.hpp"

#include <doctest/doctest.h>
#include <fstream>

using namespace trainyard;

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
  read_factor_files(randomness, folder.path / "experiment.yaml");
  CHECK(randomness.step->seen == std::vector<double>{1, 3});
  randomness.step->file = "none.csv";
  CHECK_THROWS_AS(read_factor_files(randomness, folder.path / "experiment.yaml"), FileError);
}
