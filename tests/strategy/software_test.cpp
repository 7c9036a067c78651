// Factors on kernel times: how a table is read and which lines hold for a job.

#include "strategy/software.hpp"

#include "errors_of.hpp"

#include <doctest/doctest.h>
#include <string>

using namespace trainyard;

namespace {

const SoftwareUse resnet_on_v100{.framework = "pytorch",
                                 .stack = "apex_ddp",
                                 .generation = "volta",
                                 .gpu = "v100_sxm2_16gb",
                                 .model = "resnet50",
                                 .precision = "16bit"};

Software software_of(const std::string& lines) {
  Software software;
  software.launch = Sourced<Seconds>{.value = Seconds{5e-6}};
  software.table = read_software_factors("t.csv", lines);
  return software;
}

}  // namespace

TEST_CASE("factors of all lines that hold for a job are multiplied; an empty cell holds for any") {
  const Software software = software_of(
      "framework,gpu,precision,ops,factor\n"
      ",,16bit,convolution,2\n"
      ",,fp32,convolution,7\n"
      "pytorch,,,kernels,1.5\n"
      "tensorflow,,,kernels,11\n"
      ",v100_sxm2_16gb,16bit,other,0.5\n");
  const OpSlowdown slowdown = slowdown_of(software, resnet_on_v100);
  CHECK(slowdown.factor[OpGroup::convolution] == 3);
  CHECK(slowdown.factor[OpGroup::matrix_product] == 1.5);
  CHECK(slowdown.factor[OpGroup::batch_norm] == 1.5);
  CHECK(slowdown.factor[OpGroup::other] == 0.75);
  CHECK(slowdown.launch == Seconds{5e-6});
}

TEST_CASE("a factor for launches changes their cost and no kernel") {
  const OpSlowdown slowdown =
      slowdown_of(software_of("framework,ops,factor\npytorch,launch,3\n"), resnet_on_v100);
  CHECK(slowdown.launch.si() == doctest::Approx(15e-6));
  for (const OpGroup group : all_op_groups) CHECK(slowdown.factor[group] == 1);
}

TEST_CASE("without a table nothing is slower than its kernels") {
  const OpSlowdown slowdown = slowdown_of(Software{}, resnet_on_v100);
  for (const OpGroup group : all_op_groups) CHECK(slowdown.factor[group] == 1);
  CHECK(slowdown.launch == Seconds{});
}

TEST_CASE("a table is written in the form in which it is read") {
  const std::string lines =
      "framework,stack,generation,gpu,model,precision,ops,factor,sd,runs,rows\n"
      "pytorch,,volta,,bert_large@384,16bit,matrix_product,1.25,0.1,12,\"a.csv 2-4, 7; b.csv 9\"\n";
  const std::vector<SoftwareFactor> table = read_software_factors("t.csv", lines);
  REQUIRE(table.size() == 1);
  CHECK(table[0].use.model == "bert_large@384");
  CHECK(table[0].rows == "a.csv 2-4, 7; b.csv 9");
  CHECK(software_factors_text(table) == lines);
}

TEST_CASE("every mistake in a table is reported with its place") {
  const auto errors = errors_of([] {
    read_software_factors("t.csv",
                          "ops,factor\n"
                          "convolutions,1\n"
                          "other,fast\n"
                          "other,0\n");
  });
  REQUIRE(errors.size() == 3);
  CHECK(errors[0].line == 2);
  CHECK(errors[0].hint.find("convolution") != std::string::npos);
  CHECK(errors[1].line == 3);
  CHECK(errors[2].line == 4);
  CHECK(errors[2].column == 7);
}

TEST_CASE("unknown, repeated and missing columns are errors") {
  const auto errors = errors_of([] { read_software_factors("t.csv", "ops,ops,speed\nother,other,1\n"); });
  REQUIRE(errors.size() == 5);  // ops twice, speed, and ops and factor are not there once
  CHECK(errors.back().message.find("factor") != std::string::npos);
}

TEST_CASE("the shipped software: kernels alone, and factors that name their rows") {
  const auto shipped = [](const std::string& name) {
    return load_software(config::load(TRAINYARD_SOURCE_DIR "/workloads/software/" + name + ".yaml"));
  };
  CHECK(shipped("ideal").table.empty());
  const Software published = shipped("published");
  REQUIRE(published.table.size() > 100);
  for (const SoftwareFactor& line : published.table) {
    CHECK(line.factor > 0.25);
    CHECK(line.factor < 15);
    CHECK((line.runs == 0) == line.rows.empty());
  }
  REQUIRE(published.left_out.size() >= 3);
  CHECK(published.left_out.front().left_out == "series");
  CHECK(published.left_out.front().mape < 0.12);
}
