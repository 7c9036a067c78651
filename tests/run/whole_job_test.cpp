#include "run/whole_job.hpp"

#include "errors_of.hpp"
#include "experiment/collective_software.hpp"
#include "figure_of.hpp"
#include "run/collective_sweep.hpp"
#include "run/energy.hpp"
#include "run/simulate.hpp"
#include "shipped_experiment.hpp"

#include <doctest/doctest.h>
#include <string>

using namespace trainyard;

namespace {

/// Two boxes of eight V100.
constexpr const char* two_boxes = "resnet50_p3_16xlarge_x2";
constexpr double imagenet = 1281167;

ResolvedExperiment experiment_with(const Overrides& overrides, const char* experiment = two_boxes) {
  return testing::shipped_experiment(experiment, overrides);
}

/// The power of a box besides its GPUs.
const Overrides::value_type node_power{"platform.node.power.overhead", "1 kW"};

Run job_run(Overrides overrides, const char* experiment = two_boxes) {
  overrides.insert(overrides.begin(), node_power);
  return simulate(experiment_with(overrides, experiment), {.fidelity = Fidelity::closed});
}

const JobPart& phase_of(const Run& run, JobPhase phase) {
  const auto found = std::ranges::find(run.job->parts, phase, &JobPart::phase);
  REQUIRE(found != run.job->parts.end());
  return *found;
}

/// Forward kernels of a step, one after the other.
double forward_sum(const Run& run) {
  double sum = 0;
  for (const OpRow& op : slowest_class(step_of(run)).ops) {
    if (op.phase == Phase::forward) sum += op.duration.si();
  }
  return sum;
}

/// Of all GPUs and nodes, in W.
double power_of_waiting(const Run& run) {
  const GpuProfile& gpu = run.experiment.gpu;
  return run.ranks * gpu.tdp.value.si() * gpu.power->idle.value +
         run.nodes * node_overhead(run.experiment.platform, gpu)->value.si();
}

/// The sums of all parts.
void check_adds_up(const WholeJob& job) {
  double time = 0;
  double energy = 0;
  double rent = 0;
  for (const JobPart& part : job.parts) {
    time += part.time.si();
    energy += part.energy->si();
    rent += part.rent->si();
  }
  CHECK(job.time.si() == time);
  CHECK(job.energy->si() == energy);
  CHECK(job.rent->si() == rent);
}

/// The key of the only error, and its message.
std::string job_error(const Overrides& overrides, const char* experiment = two_boxes) {
  const auto errors = errors_of([&] { experiment_with(overrides, experiment); });
  if (errors.size() != 1) return std::to_string(errors.size()) + " errors";
  return errors.front().key_path + ": " + errors.front().message;
}

bool job_has_note(const Run& run, const std::string& part) {
  return std::ranges::any_of(run.notes,
                             [&](const std::string& note) { return note.find(part) != std::string::npos; });
}

bool has_text(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a job without a start-up, evaluations and checkpoints is its epochs") {
  const Run run = job_run({{"job.epochs", "90"}});
  REQUIRE(run.job->parts.size() == 1);
  CHECK(run.job->time.si() == doctest::Approx(90 * imagenet / run.pace.throughput).epsilon(1e-12));
  CHECK(run.job->time.si() == doctest::Approx(90 * epoch_time(run)->si()).epsilon(1e-12));
  CHECK(run.job->rent->si() == doctest::Approx(90 * run.cost->per_epoch.si()).epsilon(1e-12));
  CHECK(run.job->energy->si() ==
        doctest::Approx(run.energy->average.si() * run.job->time.si()).epsilon(1e-12));
  CHECK(run.job->steps == doctest::Approx(90 * imagenet / (16 * 256)).epsilon(1e-12));
  CHECK_FALSE(job_run({}).job);
}

TEST_CASE("time, energy and rent of a job are those of a calculation by hand") {
  const Run run = job_run({{"job.epochs", "2"},
                           {"job.launch", "30 s"},
                           {"job.load", "{bytes: 700 MB, rate: 1 MB/s}"},
                           {"job.evaluation", "{samples: 50000}"},
                           {"job.checkpoint", "{every: 100 steps, size: 205 MB, bandwidth: 100 MB/s}"}});
  const double step = run.pace.time.si();
  const double training = 2 * imagenet / 4096 * step;  // 16 GPUs x 256 imagenet
  // 50,000 imagenet in batches of 4,096: 13 passes
  const double evaluation = 2 * 13 * forward_sum(run);
  const double checkpoints = 6 * 2.05;  // 625.6 steps
  CHECK(run.job->steps == doctest::Approx(2 * imagenet / 4096).epsilon(1e-12));
  CHECK(phase_of(run, JobPhase::launch).time == Seconds(30));
  CHECK(phase_of(run, JobPhase::load).time == Seconds(700));
  CHECK(phase_of(run, JobPhase::training).time.si() == doctest::Approx(training).epsilon(1e-12));
  CHECK(phase_of(run, JobPhase::evaluation).times == 2);
  CHECK(phase_of(run, JobPhase::evaluation).time.si() == doctest::Approx(evaluation).epsilon(1e-9));
  CHECK(phase_of(run, JobPhase::checkpoint).times == 6);
  CHECK(phase_of(run, JobPhase::checkpoint).time.si() == doctest::Approx(checkpoints).epsilon(1e-12));
  const double total = 30 + 700 + training + evaluation + checkpoints;
  CHECK(run.job->time.si() == doctest::Approx(total).epsilon(1e-9));
  const double price = run.experiment.platform.price.hour->value.si();
  CHECK(run.job->rent->si() == doctest::Approx(2 * price * total / 3600).epsilon(1e-9));

  const GpuProfile& gpu = run.experiment.gpu;
  double pass = 0;  // of a GPU above idle, in J
  for (const OpRow& op : slowest_class(step_of(run)).ops) {
    if (op.phase != Phase::forward) continue;
    const double share = is_matrix(op.kind) ? gpu.power->matrix.value : gpu.power->vector.value;
    pass += op.duration.si() * (share - gpu.power->idle.value) * gpu.tdp.value.si();
  }
  const double energy = power_of_waiting(run) * (730 + checkpoints + evaluation) + 2 * 13 * 16 * pass +
                        run.energy->per_step.si() * training / step;
  CHECK(run.job->energy->si() == doctest::Approx(energy).epsilon(1e-9));
  check_adds_up(*run.job);
  CHECK(figure_of(run, "job_time_s") == run.job->time.si());
  CHECK(figure_of(run, "job_energy_j") == run.job->energy->si());
  CHECK(figure_of(run, "job_cost_usd") == run.job->rent->si());
}

TEST_CASE("a job in tokens is that of their number over the tokens of a sample") {
  CHECK(tokens_in("15T") == 15e12);
  CHECK(tokens_in("15 T tokens") == 15e12);
  CHECK(tokens_in("300b") == 300e9);
  CHECK(tokens_in("1.5e13") == 1.5e13);
  CHECK(tokens_in("2.5 M") == 2.5e6);
  CHECK(tokens_in("3k") == 3e3);
  CHECK(tokens_in("7") == 7);
  for (const char* const text :
       {"", "T", "15 TB", "15 T samples", "-1T", "0", "0.5", "1e19", "1e7T", "15TT"}) {
    CAPTURE(std::string(text));
    CHECK_FALSE(tokens_in(text));
  }
  CHECK(tokens_in_words(15e12) == "15 T tokens");
  CHECK(tokens_in_words(2.5e9) == "2.5 B tokens");
  CHECK(tokens_in_words(12) == "12 tokens");

  const Run run = job_run({{"job.tokens", "300B"}}, "gpt2_small_dgx2");
  const double length = *run.experiment.model->sequence_length;
  CHECK(run.job->tokens == 300e9);
  CHECK(run.job->steps == doctest::Approx(300e9 / length / (16 * 8)).epsilon(1e-12));
  CHECK(run.job->time.si() == doctest::Approx(300e9 / *tokens_per_second(run)).epsilon(1e-12));
  // the same job in steps
  const Run in_steps = job_run({{"job.steps", std::to_string(run.job->steps)}}, "gpt2_small_dgx2");
  CHECK(in_steps.job->tokens.value() == doctest::Approx(300e9).epsilon(1e-9));
  CHECK_FALSE(job_run({{"job.epochs", "1"}}).job->tokens);
  CHECK(job_error({{"job.tokens", "1T"}}) ==
        "job.tokens: resnet50 does not read tokens: its samples are no sequences");
  CHECK(job_error({{"job.tokens", "1T"}}, "gpt2_small_h100_trace") ==
        "job.tokens: the tokens of a trace are not known");
  CHECK(job_error({{"job.tokens", "1 TB"}}, "gpt2_small_dgx2") ==
        "job.tokens: '1 TB' is no number of tokens");
  CHECK(job_error({{"job.tokens", "1T"}, {"job.epochs", "2"}}, "gpt2_small_dgx2") ==
        "job.tokens: 'tokens' and 'epochs' or 'steps' are both the length of the job");
}

TEST_CASE("with replicated data every replica trains on, and evaluates, all samples") {
  const Overrides nt3{
      {"model.samples_per_epoch", "1120"},  {"batch_per_gpu", "20"},    {"job.epochs", "1"},
      {"job.evaluation", "{samples: 280}"}, {"job.data", "replicated"}, {"stack.step_overhead", "0 s"}};
  const Run run = job_run(nt3);
  CHECK(run.job->steps == doctest::Approx(56).epsilon(1e-12));
  CHECK(phase_of(run, JobPhase::training).time.si() ==
        doctest::Approx(56 * run.pace.time.si()).epsilon(1e-12));
  CHECK(phase_of(run, JobPhase::evaluation).time.si() ==
        doctest::Approx(14 * forward_sum(run)).epsilon(1e-9));
  CHECK(epoch_time(run)->si() == doctest::Approx(56 * run.pace.time.si()).epsilon(1e-12));

  Overrides divided = nt3;
  divided.emplace_back("job.evaluation.data", "sharded");
  CHECK(phase_of(job_run(divided), JobPhase::evaluation).time.si() ==
        doctest::Approx(forward_sum(job_run({{"batch_per_gpu", "18"}}))).epsilon(1e-9));  // of 280 / 16
  divided.emplace_back("job.data", "sharded");
  CHECK(job_run(divided).job->steps == doctest::Approx(56.0 / 16).epsilon(1e-12));
}

TEST_CASE("an evaluation has a batch of its own") {
  const Run run = job_run({{"job.epochs", "1"}, {"job.evaluation", "{samples: 6400, batch_per_gpu: 100}"}});
  const Run other = job_run({{"batch_per_gpu", "100"}});
  CHECK(phase_of(run, JobPhase::evaluation).time.si() ==
        doctest::Approx(4 * forward_sum(other)).epsilon(1e-9));
  // 160 samples are 10 for each of 16 ranks
  const Run few = job_run({{"job.epochs", "1"}, {"job.evaluation", "{samples: 160, batch_per_gpu: 100}"}});
  CHECK(phase_of(few, JobPhase::evaluation).time.si() ==
        doctest::Approx(forward_sum(job_run({{"batch_per_gpu", "10"}}))).epsilon(1e-9));
}

TEST_CASE("an evaluation waits for samples as training does") {
  const Run run =
      job_run({{"input", "{data: real}"}, {"job.epochs", "1"}, {"job.evaluation", "{samples: 4096}"}});
  REQUIRE(run.input);
  // The preparation of samples, not the forward pass, limits both.
  REQUIRE(run.input->loading.time.si() > forward_sum(run));
  CHECK(phase_of(run, JobPhase::evaluation).time.si() ==
        doctest::Approx(run.input->loading.time.si()).epsilon(1e-12));
}

TEST_CASE("intervals count steps or epochs that have ended, loading those that have begun") {
  const Run run = job_run({{"job.epochs", "2.5"},
                           {"job.load", "{when: per_epoch, bytes: 1 GB, rate: 1 GB/s}"},
                           {"job.evaluation", "{every: 2 epochs, samples: 1}"},
                           {"job.checkpoint", "{every: 0.5 epochs, size: 1 GB, bandwidth: 1 GB/s}"}});
  CHECK(phase_of(run, JobPhase::load).time == Seconds(3));
  CHECK(phase_of(run, JobPhase::evaluation).times == 1);
  CHECK(phase_of(run, JobPhase::checkpoint).times == 5);

  const Run steps = job_run({{"job.steps", "1000"}, {"job.evaluation", "{every: 300 steps, samples: 1}"}});
  CHECK(steps.job->steps == 1000);
  CHECK(phase_of(steps, JobPhase::evaluation).times == 3);
  CHECK(phase_of(steps, JobPhase::training).time.si() ==
        doctest::Approx(1000 * steps.pace.time.si()).epsilon(1e-12));
  CHECK(*steps.job->epochs == doctest::Approx(1000 * 4096 / imagenet).epsilon(1e-12));
}

TEST_CASE("data comes through the storage, which the ranks of a node share") {
  const Overrides load{{"job.epochs", "1"},
                       {"job.load", "{bytes: 1 GB}"},
                       {"job.checkpoint", "{size: 1 GB}"},
                       {"platform.node.storage", "{bandwidth: 2 GB/s}"}};
  const Run run = job_run(load);
  CHECK(phase_of(run, JobPhase::load).time.si() == doctest::Approx(8.0 / 2).epsilon(1e-12));
  CHECK(phase_of(run, JobPhase::checkpoint).time.si() == doctest::Approx(1.0 / 2).epsilon(1e-12));
}

TEST_CASE("notes name the rates of storage that loads and checkpoints have") {
  const Overrides storage{
      {"job.epochs", "1"},
      {"job.load", "{bytes: 1 GB}"},
      {"job.checkpoint", "{size: 1 GB}"},
      {"platform.node.storage", "{bandwidth: {value: 2 GB/s, assumed: x}, shared: 1 GB/s}"}};
  CHECK(job_has_note(job_run(storage),
                     "load: at the rate of the storage, 2 GB/s per node (assumed) and at most 1 GB/s "
                     "for all nodes together"));
  CHECK(job_has_note(job_run(storage),
                     "writes at 1 GB/s, the rate at which all nodes together read from shared storage"));
  CHECK(job_has_note(job_run(storage), "assumed for writing"));
  Overrides stated = storage;
  stated.emplace_back("job.load.rate", "1 GB/s");
  stated.emplace_back("job.checkpoint.bandwidth", "1 GB/s");
  CHECK_FALSE(job_has_note(job_run(stated), "storage"));
}

TEST_CASE("the note on a checkpoint counts the values of the optimizer's state") {
  const auto has = [](const char* optimizer, const std::string& text) {
    return job_has_note(
        job_run({{"optimizer", optimizer}, {"job", "{epochs: 1, checkpoint: {bandwidth: 1 GB/s}}"}}), text);
  };
  CHECK(has("momentum", "parameters and 1 value of optimizer state"));
  CHECK(has("adam", "parameters and 2 values of optimizer state"));
  CHECK(has("sgd", "holds the parameters, 4 bytes each"));
}

TEST_CASE("a length on the command line replaces the one in the experiment's file") {
  const config::Document file = config::parse(
      "job.yaml",
      "platform: dgx1v\nmodel: resnet50\nstack: pytorch_ddp\nprecision: fp32\nbatch_per_gpu: 64\n"
      "job: {steps: 1000, launch: 30 s}\n");
  const auto job_with = [&](const Overrides& overrides) {
    InputFiles files;
    return *resolve({{TRAINYARD_SOURCE_DIR}}, file, "job.yaml", overrides, files).settings.job;
  };
  CHECK(job_with({}).steps == 1000);
  const JobSettings epochs = job_with({{"job.epochs", "90"}});
  CHECK(epochs.epochs == 90);
  CHECK_FALSE(epochs.steps);
  CHECK(epochs.launch == Seconds(30));
  CHECK(job_with({{"job.steps", "7"}}).steps == 7);
  CHECK(errors_of([&] { job_with({{"job.epochs", "90"}, {"job.steps", "7"}}); }).size() == 1);
}

TEST_CASE("a checkpoint holds the parameters and the state of the optimizer") {
  const Run run = job_run({{"job.epochs", "1"}, {"job.checkpoint", "{bandwidth: 1 GB/s}"}});
  const double bytes = 2 * 4 * 25557032.0;  // ResNet-50 with momentum
  CHECK(phase_of(run, JobPhase::checkpoint).time.si() == doctest::Approx(bytes / 1e9).epsilon(1e-12));
  // Each of two stages holds 1e8 parameters, on two ranks.
  const Run stages =
      job_run({{"job.steps", "1"}, {"job.checkpoint", "{every: 1 step, size: 2.4 GB, bandwidth: 1 GB/s}"}},
              "gpipe_traces_dgx2");
  const Run counted = job_run({{"job.steps", "1"}, {"job.checkpoint", "{every: 1 step, bandwidth: 1 GB/s}"}},
                              "gpipe_traces_dgx2");
  CHECK(phase_of(counted, JobPhase::checkpoint).time.si() ==
        doctest::Approx(phase_of(stages, JobPhase::checkpoint).time.si()).epsilon(1e-12));
}

TEST_CASE("the broadcast is one collective with all parameters, alone on the network") {
  const Run run = job_run({{"job.epochs", "1"}, {"job.broadcast", "true"}});
  const ResolvedExperiment& experiment = run.experiment;
  const CollectiveReport report = time_collective(*experiment.cluster, {.operation = Operation::broadcast,
                                                                        .groups = {},
                                                                        .sizes = {Bytes(4 * 25557032.0)},
                                                                        .software = experiment.library,
                                                                        .fidelity = Fidelity::closed});
  const Seconds time = phase_of(run, JobPhase::broadcast).time;
  CHECK(with_launches(time, experiment.library.overheads.launch).si() ==
        doctest::Approx(report.rows.front().closed_form.si()).epsilon(1e-12));
  CHECK(phase_of(run, JobPhase::broadcast).energy->si() ==
        doctest::Approx(power_of_waiting(run) * time.si()).epsilon(1e-12));
  CHECK(phase_of(job_run({{"gpus", "1"}, {"nodes", "1"}, {"job", "{epochs: 1, broadcast: true}"}}),
                 JobPhase::broadcast)
            .time == Seconds{});
}

TEST_CASE("faults cost their share of a job, also of its start") {
  const char* const faulty = "bert_large_dgx_a100_faults";
  const Overrides work{{"job", "{steps: 1000, launch: 10 min}"}, {"faults.runs", "20"}};
  const Run run = job_run(work, faulty);
  const double useful = 600 + 1000 * run.pace.time.si();
  CHECK(run.job->time.si() == doctest::Approx(useful / run.faults->share).epsilon(1e-9));
  CHECK(phase_of(run, JobPhase::lost_work).time.si() ==
        doctest::Approx(useful * (run.faults->lost / run.faults->work)).epsilon(1e-9));
  CHECK(phase_of(run, JobPhase::restart).energy->si() ==
        doctest::Approx(power_of_waiting(run) * phase_of(run, JobPhase::restart).time.si()).epsilon(1e-9));
  double time = 0;
  for (const JobPart& part : run.job->parts) time += part.time.si();
  CHECK(time == run.job->time.si());

  Overrides twice = work;
  twice.emplace_back("job.checkpoint", "{every: 1 step, bandwidth: 1 GB/s}");
  CHECK(has_text(job_error(twice, faulty), "job.checkpoint: "));
}

TEST_CASE("runs of many updates and stages of a pipeline have jobs, too") {
  const Run updates =
      job_run({{"random.step", "{kind: normal, sd: 0.1}"}, {"steps", "{repeats: 1}"}, {"job.steps", "1000"}});
  REQUIRE(updates_of(updates) != nullptr);
  CHECK(updates.job->time.si() == doctest::Approx(1000 * updates.pace.time.si()).epsilon(1e-12));
  const Run stages = job_run({{"parallelism", "{pipeline: 2}"}, {"accumulation", "4"}, {"job.steps", "1000"}},
                             "bert_large_dgx_a100");
  CHECK(stages.job->time.si() == doctest::Approx(1000 * stages.pace.time.si()).epsilon(1e-12));
}

TEST_CASE("energy and rent of a job are unknown where those of a step are, with the reason") {
  const Run run =
      simulate(experiment_with({{"platform", "dss8440"}, {"nodes", "1"}, {"job", "{epochs: 1, launch: 1 s}"}},
                               "resnet50_dlperf"),
               {.fidelity = Fidelity::closed});
  REQUIRE_FALSE(run.job->energy);
  CHECK(run.job->energy.error() == run.energy.error());
  CHECK_FALSE(run.job->rent);
  CHECK(unmodelled(run).at("job_cost_usd") == unmodelled(run).at("cost_per_epoch_usd"));
  CHECK(job_run({{"job.epochs", "1"}}).job->rent);
}

TEST_CASE("an error in the job of a file points at its line") {
  const auto errors = errors_of([] {
    load_experiment(config::parse("two.yaml", R"(platform: dgx2
model: resnet50
stack: pytorch_ddp
batch_per_gpu: 8
job:
  epochs: 3
  steps: 7
  evaluation: {samples: 10, every: 3 days}
)"));
  });
  REQUIRE(errors.size() == 2);
  CHECK(errors[0].key_path == "job.steps");
  CHECK(errors[0].line == 7);
  CHECK(errors[1].key_path == "job.evaluation.every");
  CHECK(errors[1].line == 8);
  CHECK(errors[1].column == 36);
}

TEST_CASE("an error in a job names its key and place") {
  CHECK(has_text(job_error({{"job.launch", "1 s"}}),
                 "job: 'job' needs 'epochs', 'steps', 'tokens' or 'target'"));
  CHECK(has_text(job_error({{"job.epochs", "1"}, {"job.steps", "1"}}), "job.steps: "));
  CHECK(has_text(job_error({{"job.epochs", "-1"}}), "job.epochs: "));
  for (const char* every : {"1", "epoch", "0 epochs", "1 hour", "-1 steps", "1  epoch", "x steps",
                            "0.5 steps", "1e-308 epochs", "1e13 steps"}) {
    CAPTURE(every);
    CHECK(has_text(job_error({{"job.epochs", "1"},
                              {"job.evaluation", "{samples: 1, every: '" + std::string(every) + "'}"}}),
                   "job.evaluation.every: "));
  }
  CHECK(has_text(job_error({{"job.steps", "1"}}, "gpt2_small_dgx2"),
                 " errors"));  // none: steps need no data set
  CHECK(has_text(job_error({{"job.epochs", "1"}}, "gpt2_small_dgx2"), "job.epochs: the number of samples"));
  CHECK(has_text(job_error({{"job", "{epochs: 1, load: {bytes: 1 GB}}"}, {"platform.node.storage", "none"}},
                           "resnet50_dlperf"),
                 "job.load: dlperf states no storage"));
  CHECK(has_text(job_error({{"job", "{epochs: 1, checkpoint: {}}"}, {"platform.node.storage", "none"}},
                           "resnet50_dlperf"),
                 "job.checkpoint: dlperf states no storage"));
  const std::string evaluation = "{epochs: 1, evaluation: {samples: 1}}";
  CHECK(has_text(job_error({{"job", evaluation}, {"sync.kind", "parameter_server"}}), "job.evaluation: "));
  CHECK(has_text(job_error({{"job", evaluation}, {"sync.kind", "dataparallel_gpu0"}, {"nodes", "1"}}),
                 "job.evaluation: "));
  CHECK(has_text(job_error({{"job", "{steps: 1, evaluation: {samples: 1, every: 1 step}}"},
                            {"parallelism", "{tensor: 2}"}},
                           "bert_large_dgx_a100"),
                 "job.evaluation: "));
  CHECK(has_text(job_error({{"job", "{epochs: 1, broadcast: true}"}, {"sync.kind", "parameter_server"}}),
                 "job.broadcast: "));
}
