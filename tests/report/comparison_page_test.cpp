#include "report/comparison_page.hpp"

#include "document/json_text.hpp"
#include "document/writers.hpp"
#include "errors_of.hpp"
#include "has_all.hpp"
#include "report/comparison_heads.hpp"
#include "report/ratio_error.hpp"
#include "report/summary_json.hpp"
#include "sample.hpp"
#include "units/lines.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace trainyard;
using OrderedJson = nlohmann::ordered_json;

namespace {

RunSummary read_back(const Run& run) {
  return read_summary("summary.json", json_text(summary_json(run, {})));
}

/// The sample with a backward pass that is 1 ms shorter, which leaves 3 ms of its all-reduce exposed, and an
/// optimizer twice as fast.
Run other_sample() {
  Run other = sample_result();
  other.pace.time = step_in(other).time = Seconds(0.0125);
  other.pace.throughput = 128 / 0.0125;
  other.experiment.settings.batch_per_gpu = 32;
  other.cost = unknown("nobody says");
  const auto move = [](auto& row) {
    if (row.end == Seconds(0.010)) row.end = Seconds(0.009);
    if (row.end == Seconds(0.013)) row.end = Seconds(0.0125);
  };
  for (OpRow& row : step_in(other).classes.front().ops) move(row);
  for (TimelineEvent& bar : step_in(other).bars) move(bar);
  for (OpRow& row : step_in(other).classes.front().ops) row.duration = row.end - row.start;
  return other;
}

std::string error_of(std::string_view text) {
  const auto errors = errors_of([&] { read_summary("x.json", text); });
  return errors.empty() ? "" : errors.front().message;
}

}  // namespace

TEST_CASE("what a step exposes is told collective by collective in its summary") {
  const OrderedJson json = summary_json(sample_result(), {});
  CHECK(json["step_parts_s"]["forward"] == doctest::Approx(0.004));
  CHECK(json["step_parts_s"]["backward"] == doctest::Approx(0.006));
  CHECK(json["step_parts_s"]["optimizer"] == doctest::Approx(0.001));
  CHECK(json["step_parts_s"]["communication"] == doctest::Approx(0.002));
  CHECK(json["step_parts_s"]["waiting"] == doctest::Approx(0));
  REQUIRE(json["exposed_collectives"].size() == 1);
  CHECK(json["exposed_collectives"][0]["collective"] == "bucket 0");
  CHECK(json["exposed_collectives"][0]["operation"] == "all_reduce");
  CHECK(json["exposed_collectives"][0]["purpose"] == "gradients");
  CHECK(json["exposed_collectives"][0]["exposed_s"] == doctest::Approx(0.002));
  CHECK(json["resolved_experiment"]["batch_per_gpu"] == "64");
}

TEST_CASE("a comparison names the changed parts of the step time in a sentence") {
  const Comparison comparison = compare(read_back(sample_result()), read_back(other_sample()));
  CHECK(has_all(comparison_in_words(comparison), "takes 3.8 % less time per sample than A", "500 us less",
                "compute -1.00 ms", "exposed collectives +1.00 ms", "all_reduce", "gradients +1.00 ms",
                "optimizer -500 us"));
  const std::string same =
      comparison_in_words(compare(read_back(sample_result()), read_back(sample_result())));
  CHECK(same.find_first_of("0123456789") == std::string::npos);
}

TEST_CASE("the page shows both runs, what differs and every number with its unit") {
  const Comparison comparison = compare(read_back(sample_result()), read_back(other_sample()));
  const std::string page = doc::text(comparison_document({&comparison, 1}));
  CAPTURE(page);
  CHECK(page.find("  batch_per_gpu: 64 -> 32\n") != std::string::npos);
  CHECK(page.find("step time                         13.00 ms          12.50 ms           -0.50 ms       "
                  "0.962 x\n") != std::string::npos);
  CHECK(page.find("exposed collectives                2.00 ms           3.00 ms           +1.00 ms        "
                  "+7.7 %\n") != std::string::npos);
  CHECK(page.find("cost per epoch                   0.111 USD                 -                  -"
                  "             -\n") != std::string::npos);
}

TEST_CASE("heads have the letter and the most telling values that fit") {
  std::vector<Comparison> two(1);
  const auto heads = [&](std::vector<ComparedKey> keys, std::size_t width = 17) {
    two.front().keys = std::move(keys);
    return run_heads(two, width);
  };
  using Heads = std::vector<std::string>;
  CHECK(heads({}) == Heads{"A", "B"});
  CHECK(heads({{"platform.fabric.nic", "10 Gbps", "25 Gbps"}}) == Heads{"A: 10 Gbps", "B: 25 Gbps"});
  CHECK(heads({{"gpus", "16", "32"}, {"nodes", "1", "2"}}) == Heads{"A: 1 node", "B: 2 nodes"});
  CHECK(heads({{"sync.bound", "2", "4"}, {"precision", "fp32", "amp"}}) ==
        Heads{"A: fp32, bound 2", "B: amp, bound 4"});
  CHECK(heads({{"sync.algorithm", "auto", "tree"}}) == Heads{"A: algorithm auto", "B: algorithm tree"});
  CHECK(heads({{"one_gpu", std::nullopt, "803 samples/s"}}) == Heads{"A", "B"});
  CHECK(heads({{"platform", "dgx2", "/data/my.yaml"}}) == Heads{"A: dgx2", "B: my.yaml"});
  CHECK(columns(heads({{"model", "bert_large_squad_of_2018", "bert"}}).front()) == 17);
  CHECK(heads({{"stack.title", "a long text that fits nowhere", "b"}}) == Heads{"A", "B"});
}

TEST_CASE("more runs have columns relative to the first, and those that do not fit go on below") {
  const RunSummary a = read_back(sample_result());
  const RunSummary b = read_back(other_sample());
  const std::vector<Comparison> four = compare_with_first({a, b, a, b});
  REQUIRE(four.size() == 3);
  CHECK(four.back().letter == "D");
  const OrderedJson form = doc::json(comparison_document(four));
  CHECK(form["sections"][5]["parts"][0]["items"][0]["text"].get<std::string>().starts_with("B: batch 32: "));
  CHECK(form["sections"][2]["parts"][0]["columns"] == OrderedJson{"side_by_side", "A:_batch_64",
                                                                  "B:_batch_32", "B_/_A", "C:_batch_64",
                                                                  "C_/_A", "D:_batch_32", "D_/_A"});
  const std::string page = doc::text(comparison_document(four));
  CAPTURE(page);
  CHECK(has_all(page, "side by side", "B: batch 32", "C: batch 64", "side by side", "D: batch 32"));
  CHECK(has_all(page, "C: none: the same as A"));
  const OrderedJson json = comparisons_json(four);
  CHECK(json["ranking"] == OrderedJson{"B", "D", "A", "C"});
  CHECK(json["comparisons"][0]["step_time"] == comparison_json(compare(a, b))["step_time"]);
}

TEST_CASE("Markdown has the conclusion first, a table per list, and no markup from names") {
  Comparison comparison = compare(read_back(sample_result()), read_back(other_sample()));
  comparison.keys = {{"stack", "a|b", "<b>"}};
  const std::string text = doc::markdown(comparison_document({&comparison, 1}));
  CAPTURE(text);
  CHECK(text.starts_with("### Comparison of 2 runs\n\n**B takes "));
  CHECK(has_all(text, "- stack: a\\|b -> \\<b>\n", "|  | A: a\\|b | B: \\<b> | B - A | B / A |\n",
                "| step time | 13.00 ms | 12.50 ms | -0.50 ms | 0.962 x |\n"));
}

TEST_CASE("as JSON a comparison has null where there is nothing to compare with") {
  const OrderedJson json = comparison_json(compare(read_back(sample_result()), read_back(other_sample())));
  CHECK(json["step_time"]["difference_s"] == doctest::Approx(-0.0005));
  CHECK(json["figures"]["cost_per_epoch_usd"]["a"] == 0.1107);
  CHECK(json["figures"]["cost_per_epoch_usd"]["b"].is_null());
  CHECK(json["figures"]["cost_per_epoch_usd"]["ratio"].is_null());
  CHECK(json["experiment_differences"][0]["key"] == "batch_per_gpu");
  CHECK(json["exposed_collectives"][0]["collectives"][0]["collective"] == "bucket 0");
}

TEST_CASE("a summary says to which published runs a run is comparable, or why that is unknown") {
  OrderedJson json = summary_json(sample_result(), {});
  CHECK(json["comparable_by"]["fit"] == "software");
  const auto read = [&] { return read_summary("x.json", json_text(json)).predicted_job; };
  REQUIRE(read());
  CHECK(read()->of == sample::published_run().of);
  CHECK(read()->software_fit == "software");
  json["comparable_by"]["gpus"] = 0;
  CHECK(error_of(json_text(json)).starts_with("'gpus' is not a whole number"));
  json["comparable_by"] = nullptr;
  json["unmodelled"]["comparable_by"] = "a trace";
  CHECK(read().error() == "a trace");
  json.erase("comparable_by");
  CHECK(has_all(read().error(), "older trainyard"));
  json["comparable_by"] = 3;
  CHECK(error_of(json_text(json)) == "'comparable_by' is not an object");
}

TEST_CASE("a comparison has its expected error and verdict on the page, in words and as JSON") {
  Comparison comparison = compare(read_back(sample_result()), read_back(other_sample()));
  CHECK(has_all(doc::text(comparison_document({&comparison, 1})),
                "expected error of the comparison\n  unknown"));
  CHECK(comparison_json(comparison)["ratio_error"]["verdict"].is_null());
  CHECK(comparison_json(comparison)["ratio_error"]["reason"] == "no published runs were read");
  CHECK(comparison_in_words(comparison).find("expected error") == std::string::npos);

  PublishedError more = sample::published_run();
  more.of.batch_per_gpu = 32;
  more.measured = 850;
  comparison.ratio_error = RatioError{.changes = {RunChange::batch},
                                      .low = -0.06,
                                      .high = 0.05,
                                      .pairs = 12,
                                      .nearest_a = sample::published_run(),
                                      .nearest_b = more};
  const OrderedJson within = comparison_json(comparison)["ratio_error"];
  CHECK(within["verdict"] == "within");
  CHECK(within["low"] == -0.06);
  CHECK(within["share"] == 0.8);
  CHECK(within["pairs"] == 12);
  CHECK(within["kind"] == "batch");
  CHECK(within["differ"] == OrderedJson{"batch"});
  CHECK(within["throughput_ratio_high"] == doctest::Approx(1.05 * comparison.throughput_ratio));
  CHECK(within["nearest"]["b"]["batch_per_gpu"] == 32);
  CHECK(within["reason"].is_null());
  CHECK(has_all(doc::text(comparison_document({&comparison, 1})),
                "B is faster within the expected error of the comparison: both may be equally fast\n",
                "1.04 predicted; 0.98 to 1.09 (-6 to +5 %) expected\n", "12 pairs", "batch per GPU",
                "toy.csv:2", "-6 %"));
  CHECK(has_all(comparison_in_words(comparison),
                "takes 3.8 % less time per sample than A, within the expected error"));

  comparison.ratio_error->low = -0.02;
  CHECK(comparison_json(comparison)["ratio_error"]["verdict"] == "beyond");
  CHECK(verdict_in_words(comparison) == "B is faster beyond the expected error of the comparison");
  comparison.throughput_ratio = 0.9;
  CHECK(verdict_in_words(comparison) == "B is slower beyond the expected error of the comparison");
  comparison.throughput_ratio = 0.99;
  comparison.ratio_error->low = 0.02;
  CHECK(comparison_json(comparison)["ratio_error"]["verdict"] == "within");
  CHECK(has_all(verdict_in_words(comparison), "within", "other direction"));
  comparison.throughput_ratio = 1;
  CHECK(verdict_in_words(comparison).find("slower") == std::string::npos);
}

TEST_CASE("the source of an interval says which pairs it comes from if no property or several differ") {
  RatioError error{
      .changes = {}, .pairs = 12, .nearest_a = sample::published_run(), .nearest_b = sample::published_run()};
  CHECK(has_all(ratio_source_in_words(error), "12 pairs", "number of GPUs, for lack of pairs"));
  error.changes = {RunChange::gpus, RunChange::batch, RunChange::machine};
  CHECK(has_all(ratio_source_in_words(error), "one of these: number of GPUs, batch per GPU and machine"));
}

TEST_CASE("a summary that is not one is refused with what is wrong") {
  OrderedJson json = summary_json(sample_result(), {});
  CHECK(error_of(json_text(json)).empty());
  CHECK(error_of("{\n \"a\": ") == "this is not JSON, or the file is incomplete");
  CHECK(error_of("[1]") == "'' is not an object");
  CHECK(error_of("{}").starts_with("field 'schema_version' is missing"));
  json["schema_version"] = 7;
  CHECK(error_of(json_text(json)) == "schema_version is 7, this trainyard reads 2 to 3");
  json["schema_version"] = 3;
  json["step_parts_s"]["thinking"] = 1;
  CHECK(error_of(json_text(json)) == "unknown part of a step 'thinking'");
  json["step_parts_s"].erase("thinking");
  json["speedup"] = "fast";
  CHECK(error_of(json_text(json)) == "'speedup' is not a number");
  json["speedup"] = 1;
  json["step_time_s"] = 0;
  CHECK(error_of(json_text(json)) == "'step_time_s' is not a number above 0");
  json.erase("step_time_s");
  CHECK(error_of(json_text(json)).starts_with("field 'step_time_s' is missing"));
}

TEST_CASE("a summary of version 2 is read with its former names of parts") {
  OrderedJson json = summary_json(sample_result(), {});
  OrderedJson& parts = json["step_parts_s"];
  parts["kernel_slowdown"] = 0.002;
  const std::vector<PartTime> now = read_summary("now.json", json_text(json)).parts;
  json["schema_version"] = 2;
  for (const auto& [former, name] :
       {std::pair("update", "optimizer"), {"slowed_kernels", "kernel_slowdown"}}) {
    parts[former] = parts.at(name);
    parts.erase(name);
  }
  const std::vector<PartTime> then = read_summary("then.json", json_text(json)).parts;
  for (const StepPart part : {StepPart::optimizer, StepPart::kernel_slowdown}) {
    const auto time = [&](const std::vector<PartTime>& all) {
      const auto found = std::ranges::find(all, part, &PartTime::part);
      REQUIRE(found != all.end());
      return found->time.si();
    };
    CHECK(time(then) > 0);
    CHECK(time(then) == time(now));
  }
}

TEST_CASE("exposed communication of many updates is per update in summaries of version 2 as well") {
  OrderedJson json = summary_json(sample_result(), {});
  json["step_parts_s"]["communication"] = 0.003;
  json["exposed_communication_s"] = 0.05;
  json["schema_version"] = 2;
  const auto exposed = [&] {
    return number_of(read_summary("summary.json", json_text(json)), "exposed_communication_s");
  };
  CHECK(exposed() == 0.05);  // one steady step
  json["updates_per_s"] = 20;
  CHECK(exposed() == 0.003);
  json["schema_version"] = 3;
  CHECK(exposed() == 0.05);
}

TEST_CASE("What ranks of a layout wait for is named apart from computing in a comparison") {
  RunSummary a = read_back(sample_result());
  RunSummary b = a;
  const auto part = [](RunSummary& run, StepPart which, double of_step) {
    run.parts.push_back({which, of_step * step_time(run)});
  };
  a.parts.clear();
  b.parts.clear();
  a.collectives.clear();
  b.collectives.clear();
  part(a, StepPart::forward, 1);
  part(b, StepPart::forward, 0.4);
  part(b, StepPart::recompute, 0.3);
  part(b, StepPart::layers, 0.15);
  part(b, StepPart::messages, 0.05);
  part(b, StepPart::bubble, 0.1);
  std::vector<std::string_view> words;
  for (const PartChange& change : part_changes(compare(a, b))) words.push_back(change.what);
  CHECK(words == std::vector<std::string_view>{"compute", "recomputation",
                                               "exposed tensor-parallel collectives", "bubble",
                                               "exposed stage messages"});
}
