// Published runs whose ranks share a model: which rows count, what each is fitted to, memory, and pairs.

#include "published/case_intervals.hpp"
#include "published/layout_pairs.hpp"
#include "published/layout_rows.hpp"
#include "published/layout_text.hpp"
#include "published/scores.hpp"
#include "published/validation.hpp"
#include "sanitized.hpp"
#include "shipped_catalogue.hpp"

#include <cmath>
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <utility>

namespace trainyard {
namespace {

Validation validated_layouts(const std::string& lines) {
  return validate_rows(testing::shipped_catalogue(), RowKind::layouts, layouts_of(lines), 1,
                       {.fits = fits_of(RowKind::layouts)});
}

TEST_CASE("errors of layouts leave out families that do not count, and number the others") {
  const auto data =
      layouts_of(layout_line(four_by_two, "step_time,0.5,s") + layout_line(four_by_two, "step_time,0.6,s") +
                 layout_line(four_by_two, "step_time,0.7,s") + layout_line(four_by_two, "step_time,0.8,s"));
  Validation validation{.kind = RowKind::layouts, .data = data};
  for (const auto& [name, not_in_totals] :
       {std::pair("left out", "not measured"), std::pair("one", ""), std::pair("another", "")})
    validation.families.push_back(std::make_unique<const Family>(Family{name, not_in_totals}));
  const std::size_t families[] = {0, 1, 2, 1};
  for (std::size_t i = 0; i < data->rows.size(); ++i) {
    ScoredCase& scored =
        validation.cases.emplace_back(ScoredCase{.of = std::get<Case>(case_of(data, data->rows[i]))});
    scored.family = validation.families[families[i]].get();
    scored.predicted.of = Circumstances{.layout = LayoutUse{}};
    scored.predicted.measured = scored.of.measured;
    scored.predicted.by_fit[Fit::software].value = 40;
    scored.verdicts[Fit::software].is_asked = true;
  }
  const PublishedErrors errors = error_table(validation, Fit::software);
  REQUIRE(errors.runs.size() == 3);
  CHECK(errors.fit == "software");
  CHECK(errors.runs.front().place == "rows.csv:3");
  CHECK(errors.runs.front().predicted == 40);
  CHECK(errors.runs[0].series == errors.runs[2].series);
  CHECK(errors.runs[0].series != errors.runs[1].series);
  CHECK(error_table(validation, Fit::nothing).runs.empty());
  CHECK_FALSE(interval_coverage(validation, Fit::software).all);  // no errors are shipped with it
}

TEST_CASE("coverage counts rows of known sizes, whatever else they lack; of all: the others too") {
  const auto line = [](const std::string& model, const std::string& sizes) {
    return "a1,a test," + model + "," + sizes + ",an unknown GPU,8,1,," + four_by_two +
           ",4,32,fp16,Megatron-LM,step_time,0.5,s,\n";
  };
  const std::string predicted = layout_line(four_by_two, "step_time,0.5,s");
  const Validation found = validated_layouts(
      predicted + line("another", "8,1024,16,1024,50257") + line("LLAMA2-7B (LoRA)", ",,,,") +
      line("Unheard-of 8B", ",,,,") + layout_line(four_by_two, "hidden_units,5,s") +
      layout_line("2,3,,2,,,,,full", "step_time,0.5,s"));
  const CaseErrors errors = errors_of(found, Fit::software);
  CHECK(errors.rows == 1);
  CHECK(errors.coverage.value_or(0) == doctest::Approx(1.0 / 3));  // stated sizes, a shipped name
  CHECK(errors.coverage_of_all.value_or(0) ==
        doctest::Approx(0.2));  // and the unknown model and the contradicting layout; no speed, no row
}

TEST_CASE("a run is predicted with the scale of other runs, and not at all if it is alone") {
  const std::string one = layout_line("1,1,,8,,,,,full", "step_time,0.5,s");
  const std::string other = layout_line("8,1,,1,,,,,full", "step_time,0.9,s");
  const Validation alone = validated_layouts(one);
  REQUIRE(alone.cases.size() == 1);
  CHECK_FALSE(alone.cases[0].verdicts[Fit::one_layout].is_asked);
  CHECK_FALSE(alone.cases[0].verdicts[Fit::one_layout].excluded.empty());
  CHECK_FALSE(alone.cases[0].is_scored(Fit::one_layout));
  CHECK(alone.cases[0].is_scored(Fit::software));

  const Validation both = validated_layouts(one + other);
  REQUIRE(both.cases.size() == 2);
  REQUIRE(both.cases[0].is_scored(Fit::one_layout));
  REQUIRE(both.cases[1].is_scored(Fit::one_layout));
  // each would be matched with the scale that the other one has
  CHECK(both.cases[0].predicted.by_fit[Fit::one_layout].compute_scale !=
        both.cases[1].predicted.by_fit[Fit::one_layout].compute_scale);
  CHECK(std::abs(both.cases[0].error(Fit::one_layout)) > 0.01);
}

TEST_CASE("of several scales the median counts, however wrong one of them is" *
          doctest::skip(testing::is_sanitized)) {
  const auto scale = [](const std::string& third) {
    const Validation found = validated_layouts(layout_line("1,1,,8,,,,,full", "step_time,0.5,s") +
                                               layout_line("2,1,,4,,,,,full", "step_time,0.6,s") +
                                               layout_line("8,1,,1,,,,,full", "step_time," + third + ",s") +
                                               layout_line("4,1,,2,,,,,full", "step_time,0.7,s"));
    REQUIRE(found.cases.size() == 4);
    REQUIRE(found.cases[0].is_scored(Fit::one_layout));
    return found.cases[0].predicted.by_fit[Fit::one_layout].compute_scale;
  };
  CHECK(scale("1.2") == scale("1.5"));
  // no factor makes kernels as slow as that: the median of the other two
  CHECK(scale("90") == scale("9000"));
  CHECK(scale("90") < scale("1.2"));
}

TEST_CASE("a throughput counts only where no row gives the time of the same run") {
  const Validation validation = validated_layouts(layout_line(four_by_two, "step_time,0.5,s") +
                                                  layout_line(four_by_two, "throughput,64,samples/s"));
  CHECK(validation.cases.size() == 1);
  CHECK(validation.excluded.at(std::string(given_as_time)) == 1);
}

TEST_CASE("FLOP/s count only where no row gives the time of the same run") {
  const Validation validation = validated_layouts(layout_line(four_by_two, "step_time,0.5,s") +
                                                  layout_line(four_by_two, "hardware_flops,70,TFLOP/s/GPU"));
  CHECK(validation.cases.size() == 1);
  CHECK(validation.excluded.at(std::string(given_as_time)) == 1);
}

TEST_CASE("runs of one experiment are predicted alike and judged once") {
  const Validation validation = validated_layouts(layout_line(four_by_two, "step_time,0.5,s") +
                                                  layout_line(four_by_two, "step_time,0.6,s"));
  REQUIRE(validation.cases.size() == 2);
  CHECK_FALSE(validation.cases[0].is_repeated);
  CHECK(validation.cases[1].is_repeated);
  CHECK(validation.cases[0].predicted.by_fit[Fit::software].value.value() ==
        validation.cases[1].predicted.by_fit[Fit::software].value.value());
  CHECK(verdicts_of(validation).ran == 1);
}

TEST_CASE("figures of memory are compared with the memory of the run, and failed runs with its verdict") {
  const Validation validation = validated_layouts(layout_line(four_by_two, "peak_memory,4,GiB") +
                                                  layout_line(four_by_two, "out_of_memory,1,bool"));
  REQUIRE(validation.cases.size() == 2);
  const ScoredCase& peak = validation.cases[0];
  CHECK(peak.of.figure == CaseFigure::memory_allocated);
  CHECK(peak.of.measured == 4.0 * (1 << 30));
  const CaseMemory& its = peak.predicted.memory.value();
  CHECK(its.allocated < its.in_use);
  CHECK(its.state + its.activations <= its.allocated);
  const CaseErrors errors = errors_of(validation, Fit::nothing, {.figure = CaseFigure::memory_allocated});
  CHECK(errors.rows == 1);
  CHECK(errors.bias.value() == doctest::Approx(its.allocated.si() / peak.of.measured - 1));
  CHECK(validation.cases[1].of.figure == CaseFigure::out_of_memory);
  CHECK(verdicts_of(validation).failed == 1);
  CHECK(verdicts_of(validation).refused == 0);
  // neither is an error of a speed
  CHECK(errors_of(validation, Fit::nothing).rows == 0);
}

TEST_CASE(
    "runs of MLPerf that name their launch file have gradients of 2 bytes, fit, and are met within 15 %") {
  const auto line = [](const std::string& gpu, int gpus, int replicas, int batch, const std::string& time,
                       const std::string& framework) {
    return fmt::format(
        "m,a log,Llama 3.1 405B,,,,8192,,{},{},{},8x ConnectX-7,4,8,8,{},2,,distributed_optimizer,"
        ",,1,{},fp8,{},step_time,{},s,config config_DGX_8.sh\n",
        gpu, gpus, gpus / 8, replicas, batch, framework, time);
  };
  const Validation validation =
      validated_layouts(line("H200-141GB", 1024, 16, 1152, "25.36", "NVIDIA NeMo Framework Release 25.01") +
                        line("B200", 256, 4, 576, "27.64", "PyTorch NVIDIA Release 25.09"));
  REQUIRE(validation.cases.size() == 2);
  for (const ScoredCase& scored : validation.cases) {
    CHECK(scored.of.stack->set.at("stack.gradient_dtype") == "bf16");
    CHECK(scored.predicted.by_fit[Fit::software].value.value() ==
          doctest::Approx(scored.of.measured).epsilon(0.15));
  }
  const MemoryVerdicts verdicts = verdicts_of(validation);
  CHECK(verdicts.ran == 2);
  CHECK(verdicts.accepted == 2);
}

TEST_CASE("pairs differ in one setting, and a common error of both runs cancels") {
  const auto line = [](const std::string& recompute, const std::string& rest) {
    return "a1,a test,GPT 22B (Korthikanti),48,6144,64,2048,51200,A100-80GB,8,1,,8,1,,1,,,,0," + recompute +
           ",4," + rest + ",s,\n";
  };
  Validation validation = validated_layouts(line("none", "4,fp16,Megatron-LM,step_time,1.0") +
                                            line("full", "4,fp16,Megatron-LM,step_time,1.3") +
                                            line("full", "8,fp16,Megatron-LM,step_time,2.0"));
  REQUIRE(validation.cases.size() == 3);
  const auto predict = [](ScoredCase& scored, double factor) {
    scored.predicted.by_fit[Fit::nothing].value = factor * scored.of.measured;
  };
  for (ScoredCase& scored : validation.cases) predict(scored, 1.5);
  const std::vector<LayoutPair> pairs = layout_pairs(validation);
  REQUIRE(pairs.size() == 2);
  const PairErrors recomputing = errors_of(pairs, PairSetting::activations, Fit::nothing);
  CHECK(recomputing.pairs == 1);
  CHECK(recomputing.error == doctest::Approx(0));
  CHECK(errors_of(pairs, PairSetting::micro_batches, Fit::nothing).pairs == 1);
  CHECK(errors_of(pairs, PairSetting::schedule, Fit::nothing).pairs == 0);
  predict(validation.cases[1], 1);
  CHECK(errors_of(layout_pairs(validation), PairSetting::activations, Fit::nothing).error ==
        doctest::Approx(1 / 1.3 * (1 - 1 / 1.5)));
}

}  // namespace
}  // namespace trainyard
