#include "published/training_rows.hpp"

#include "published/own_rules.hpp"

#include <doctest/doctest.h>

using namespace trainyard;

namespace {

TrainingMeasurement measured_in(const Cells& cells) {
  return std::get<TrainingMeasurement>(training_measurement(rows_of(run_line(cells)).front()));
}

std::string no_measurement(const Cells& cells) {
  const auto read = training_measurement(rows_of(run_line(cells)).front());
  const auto* reason = std::get_if<std::string>(&read);
  return reason == nullptr ? "" : *reason;
}

SeriesKey series_with(const Cells& cells) {
  return series_of(rows_of(run_line(cells)).front(),
                   {.options = {"XLA", "real", "worker="}, .not_of_systems = {"NVLink"}});
}

}  // namespace

TEST_CASE("a row's throughput is in samples per second of all GPUs, whatever it was printed in") {
  CHECK(measured_in({}).throughput == 1000.0);
  CHECK(measured_in({{"unit", "sequences/s"}}).throughput == 1000.0);
  CHECK(measured_in({{"unit", "tokens/s"}, {"seq_len", "128"}}).throughput == 1000.0 / 128);
  CHECK(measured_in({{"seq_len", "128"}}).sequence_length == 128);
  const Cells step{{"metric", "iteration_time_median"}, {"gpus_total", "4"}, {"batch_per_gpu", "32"}};
  Cells in_seconds = step;
  in_seconds.insert({{"value", "0.2"}, {"unit", "s"}});
  CHECK(measured_in(in_seconds).throughput.value() == doctest::Approx(32 * 4 / 0.2));
  Cells in_milliseconds = step;
  in_milliseconds.insert({{"value", "200"}, {"unit", "ms"}, {"notes", "grad_accum=3"}});
  CHECK(measured_in(in_milliseconds).throughput.value() == doctest::Approx(3 * 32 * 4 / 0.2));
  const TrainingMeasurement epoch =
      measured_in({{"metric", "time_per_epoch"}, {"value", "16"}, {"unit", "min"}});
  CHECK_FALSE(epoch.throughput);
  CHECK(epoch.epoch_time == 960.0);
}

TEST_CASE("a row that says too little is none, with the reason") {
  CHECK(no_measurement({{"unit", "tokens/s"}}).find("'tokens/s'") != std::string::npos);
  CHECK(no_measurement({{"metric", "iteration_time"}, {"unit", "%"}}) == not_a_throughput);
  CHECK(no_measurement({{"metric", "top1_accuracy"}}) == not_a_throughput);
  CHECK(no_measurement({{"value", "0"}}) == "no value above 0");
  CHECK(no_measurement({{"batch_per_gpu", "?"}}) == "no batch per GPU");
  CHECK(no_measurement({{"precision", "bf8"}}) == "unknown precision");
  CHECK(no_measurement({{"nodes", "2"}, {"gpus_total", "12"}}).starts_with("contradictory numbers of GPUs"));
  CHECK(no_measurement({{"gpus_per_node", "4"}, {"gpus_total", "8"}}).starts_with("contradictory numbers"));
}

TEST_CASE("micro-batches of a step are those of the notes, otherwise what the whole batch leaves over") {
  CHECK(measured_in({}).accumulation == 1);
  CHECK(measured_in({{"notes", "amp; grad_accum=16; eager"}}).accumulation == 16);
  const auto from_batches = [](const std::string& global, const std::string& notes) {
    return measured_in({{"gpus_total", "8"}, {"global_batch", global}, {"notes", notes}}).accumulation;
  };
  CHECK(from_batches("2048", "") == 4);
  CHECK(from_batches("2048", "grad_accum=2") == 2);
  CHECK(from_batches("512", "") == 1);
  CHECK(from_batches("700", "") == 1);
  CHECK(from_batches("about 2048", "") == 1);
}

TEST_CASE("rounding is half a unit of the last digit printed, as a part of the value") {
  CHECK(measured_in({{"value", "4"}}).rounding == doctest::Approx(0.125));
  CHECK(measured_in({{"value", "12.5"}}).rounding == doctest::Approx(0.05 / 12.5));
  CHECK(measured_in({{"value", "148.74"}}).rounding == doctest::Approx(0.005 / 148.74));
  CHECK(measured_in({{"value", "20"}}).rounding == doctest::Approx(0.025));
  CHECK(measured_in({{"value", "20.0"}}).rounding == doctest::Approx(0.0025));
  CHECK(measured_in({{"value", "2.0e1"}}).rounding == doctest::Approx(0.025));
  CHECK(measured_in({{"value", "2e-1"}}).rounding == doctest::Approx(0.25));
}

TEST_CASE("runs of one series differ in GPUs and micro-batches alone") {
  const SeriesKey one = series_with({{"system", "DGX-2"}});
  CHECK(one == series_with({{"system", "4x DGX-2"}, {"nodes", "4"}, {"gpus_total", "32"}}));
  CHECK(one == series_with({{"system", "DGX-2"}, {"global_batch", "512"}, {"notes", "grad_accum=8"}}));
  CHECK(series_with({{"system", "dgx2h_n32_ngc19.05"}}) == series_with({{"system", "dgx2h_ngc19.05"}}));
  const SeriesKey workstation = series_with({{"system", "1x RTX 8000 workstation"}});
  for (const std::string system : {"2x RTX 8000 NVLink workstation", "2x RTX 8000 workstation NVLink"})
    CHECK(series_with({{"system", system}}) == workstation);
  CHECK_FALSE(series_with({{"system", "2x RTX 8000 NVLink2 workstation"}}) == workstation);
  for (const std::string column : {"system", "framework", "gpu", "model", "precision", "batch_per_gpu"}) {
    CAPTURE(column);
    Cells other{{"system", "DGX-2"}};
    other[column] = "128";
    CHECK_FALSE(one == series_with(other));
  }
}

TEST_CASE("words that tell series apart are said, denied or not there") {
  const auto options = [](const std::string& framework, const std::string& notes) {
    return series_with({{"framework", framework}, {"notes", notes}}).options;
  };
  using Said = std::vector<std::string>;
  CHECK(options("torch", "") == Said{"", "", ""});
  CHECK(options("torch", "with XLA") == Said{"with", "", ""});
  CHECK(options("TensorFlow XLA", "") == Said{"with", "", ""});
  CHECK(options("torch", "without xla; real data") == Said{"without", "with", ""});
  CHECK(options("torch", "no xla") == options("torch", "w/o XLA"));
  CHECK(options("torch", "batch 128; worker=8; median") == Said{"", "", "=8"});
  CHECK(options("torch", "worker=48") == Said{"", "", "=48"});
  CHECK(options("torch", "worker=") == Said{"", "", "="});
}
