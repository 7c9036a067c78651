// `trainyard list`: what it says of machines, GPUs and models besides their names.

#include "process.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

using namespace trainyard;
using Json = nlohmann::json;

namespace {

Json listed_file(const std::string& kind, const std::string& name) {
  const Ended ended = run_program({"list", kind, "--json"});
  REQUIRE(ended.code == 0);
  const Json files = Json::parse(ended.out).at(kind);
  for (const Json& file : files) {
    if (file.at("name") == name) return file;
  }
  FAIL("not listed: ", name);
  return {};
}

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream rest(line);
  for (std::string cell; std::getline(rest, cell, ',');) cells.push_back(cell);
  return cells;
}

struct Mean {
  int runs = 0;
  double error = 0;
};

/// The scored rows of the tables of errors whose cell in a column is `wanted`, up to an '@'. Their first
/// cells hold no commas.
Mean mean_error(const std::string& column, const std::string& wanted) {
  Mean mean;
  for (const std::string table : {"software", "layouts_software"}) {
    std::istringstream text(
        content(std::string(TRAINYARD_SOURCE_DIR) + "/workloads/published/errors/" + table + ".csv"));
    std::map<std::string, std::size_t> places;
    for (std::string line; std::getline(text, line);) {
      if (line.starts_with('#')) continue;
      const std::vector<std::string> cells = cells_of(line);
      if (places.empty()) {
        for (std::size_t i = 0; i < cells.size(); ++i) places[cells[i]] = i;
        continue;
      }
      const std::string cell = cells.at(places.at(column));
      if (cells.at(places.at("scored")) != "1" || cell.substr(0, cell.find('@')) != wanted) continue;
      const double measured = std::stod(cells.at(places.at("measured")));
      mean.error += std::abs(std::stod(cells.at(places.at("predicted"))) / measured - 1);
      ++mean.runs;
    }
  }
  mean.error /= std::max(mean.runs, 1);
  return mean;
}

}  // namespace

TEST_CASE("list gives the year, the GPUs and the origin of kernel rates of a machine") {
  const Json rack = listed_file("platforms", "azure_nd_gb200_v6");
  CHECK(rack["year"] == 2025);
  CHECK(rack["gpus_per_node"] == 72);
  CHECK(rack["gpu"] == "gb200_186gb");
  CHECK(rack["kernels"] == "measured");
  CHECK(rack["published_runs"] == 0);
  CHECK(rack["published_error"].is_null());
  CHECK(listed_file("platforms", "dgx1v")["kernels"] == "measured");
  CHECK(listed_file("platforms", "tianshu")["kernels"] == "scaled");
}

TEST_CASE("listed errors are means over the published runs on a machine, or of a model") {
  for (const std::string name : {"dlperf", "dgx_a100", "dgx2"}) {
    CAPTURE(name);
    const Json machine = listed_file("platforms", name);
    const Mean expected = mean_error("platform", name);
    REQUIRE(expected.runs > 0);
    CHECK(machine["published_runs"] == expected.runs);
    CHECK(machine["published_error"].get<double>() == doctest::Approx(expected.error).epsilon(1e-9));
  }
  const Json model = listed_file("models", "bert_base");
  const Mean expected = mean_error("model", "bert_base");
  CHECK(model["published_runs"] == expected.runs);
  CHECK(model["published_error"].get<double>() == doctest::Approx(expected.error).epsilon(1e-9));
}

TEST_CASE("list gives the family and the size of a model, and the year of a GPU") {
  const Json resnet = listed_file("models", "resnet50");
  CHECK(resnet["family"] == "resnet");
  CHECK(resnet["parameters"] == 25557032);
  CHECK(listed_file("models", "unet")["family"] == "layers");
  const Json dies = listed_file("gpus", "mi250x_gcd_64gb");
  CHECK(dies["year"] == 2021);
  CHECK(dies["kernels"] == "scaled");
  CHECK(listed_file("gpus", "v100_sxm2_16gb")["kernels"] == "measured");
  CHECK(listed_file("gpus", "h200_sxm_141gb")["kernels"] == "measured");
  CHECK(listed_file("gpus", "l40s_48gb")["kernels"] == "fitted");
}

TEST_CASE("a listing of platforms names their GPUs and says what its columns and signs mean") {
  const Ended platforms = run_program({"list", "platforms"});
  const auto at = [](const std::string& text, const std::string& part) { return text.find(part); };
  REQUIRE(at(platforms.out, "\ndgx2 ") != std::string::npos);
  const std::string line = platforms.out.substr(at(platforms.out, "\ndgx2 ") + 1);
  CHECK(line.substr(0, line.find('\n')).ends_with("NVIDIA DGX-2 (v100_sxm3_32gb)"));
  const std::string all = run_program({"list"}).out;
  for (const std::string word :
       {"GPUs: ", "kernels: ", "measured", "fitted", "scaled", "assumed", "-: none"}) {
    CAPTURE(word);
    CHECK(contains(platforms.out.substr(platforms.out.find("\n\n")), word));
    CHECK(contains(all, word));
  }
  CHECK(contains(run_program({"list", "gpus"}).out, "\n\nfitted: "));
}

TEST_CASE("listings fit into 100 columns and name their columns") {
  for (const std::string kind : {"platforms", "gpus", "models"}) {
    CAPTURE(kind);
    const Ended ended = run_program({"list", kind});
    CHECK(ended.code == 0);
    CHECK(ended.out.starts_with("name  "));
    std::istringstream lines(ended.out);
    for (std::string line; std::getline(lines, line);) {
      CAPTURE(line);
      CHECK(line.size() <= 100);
      CHECK((line.empty() || line.back() != ' '));
    }
  }
}
