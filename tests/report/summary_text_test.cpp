#include "experiment/resolve.hpp"
#include "has_all.hpp"
#include "report/limits.hpp"
#include "report/run_page.hpp"
#include "report/timeline_chart.hpp"
#include "run/simulate.hpp"
#include "run_forms.hpp"
#include "sample.hpp"
#include "temporary_folder.hpp"
#include "units/text_layout.hpp"

#include <doctest/doctest.h>
#include <fstream>
#include <sstream>
#include <string>

using namespace trainyard;

namespace {

std::size_t widest_line(const std::string& text) {
  std::istringstream in(text);
  std::size_t widest = 0;
  for (std::string line; std::getline(in, line);) widest = std::max(widest, columns(line));
  return widest;
}

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("the summary of a small step reads as it should") {
  CHECK(summary_text(sample_result()) == R"(tiny: toy on 1 node of two, training step
  2 GPUs of 1 x Two GPUs; pytorch_ddp, fp32, momentum, batch 64 per GPU

  step time       13.0 ms           one optimizer update with 128 samples
  throughput      9,850 samples/s   630,000 tokens/s, 315,000 per GPU; an epoch takes 2 min 10 s
  expected error  -12 to +8 %       measured relative to predicted in 80 % of comparable published
                                    runs (12 runs); nearest: 8 GPUs of toy, toy in fp32, toy_ddp,
                                    batch 64 (toy.csv:2), 900 samples/s measured, 1,000 predicted
                                    for that run
  one GPU alone   11.0 ms           5,820 samples/s with the same batch per GPU
  speedup         1.69 x            of 2 (84.6 %); 2.00 ms longer than one GPU alone

where the time goes  rank 0, share of the step
  forward         4.00 ms      30.8 % #################
  backward        6.00 ms      46.2 % ##########################
  optimizer       1.00 ms       7.7 % ####
  exposed comm.   2.00 ms      15.4 % #########
  communication   4.00 ms           in total, 50.0 % of it overlaps with compute; 1 collective
  kernels         11.0 ms in total: conv_forward 36.4 %, gemm 36.4 %, conv_wgrad 18.2 %, optimizer
                  9.1 %

timeline of rank 0  f forward, b backward, o optimizer, . waiting; = communication
  compute         |fffffffffffffffffffffffbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb............oooooo|
  communication   |                                              -=======================-     |
                   0                                                                    13.0 ms

what limits it
  Communication: 2.00 ms is exposed, 15.4 % of the step. The last collective ends 2.00 ms after the
  last gradient is ready. A faster network would gain at most 18.2 % more samples/s.
  busiest link    node0.gpu0->node0.gpu1, busy for 30.0 % of the step (100 MB at 25.0 GB/s)
  lower bound     12.5 ms           all collectives at their bound; the step takes 4.0 % longer
  matrix FLOPs    3.38 TFLOP/s per GPU, 21.0 % of the fp32 peak (model FLOPs utilization)

resources
  memory          4.99 GB           of 14.9 GB per GPU (33.5 %), 3.89 GB to 6.39 GB expected:
                                    activations 2.79 GB, optimizer state 0.75 GB, parameters
                                    0.37 GB; largest batch that fits: 290
  energy          6.50 J            per step; 500 W on average for all GPUs and nodes; 4.59 J to
                                    8.81 J expected
  cost            0.111 USD         per epoch, at 3.06 USD per node and hour (2020-09); 0.102 USD to
                                    0.126 USD expected

basis of the numbers
  compute times   75.0 % measured kernels, 0.0 % curves fitted to kernels, 25.0 % roofline
  calibrated on   no training run (kernel data only)
  fidelity        flow (42 events)
  network         none: nothing is sent over links
  not modelled    host CPUs and data loading, storage (reasons with --json)
)");
}

TEST_CASE("the summary stays within 100 columns whatever the names are") {
  Run run = sample_result();
  run.experiment.name = std::string(150, 'x');
  run.experiment.platform.title =
      "A machine with a rather long title that somebody wrote to say everything about it at once";
  run.links.busiest = "node1023.gpu15->" + std::string(120, 'n');
  run.notes = {std::string(130, 'w') +
               " and more words that follow after the very long one, to make it wrap again"};
  run.calibrated_on = {std::string(90, 'c'), std::string(90, 'd')};
  run.ranks = 8192;
  run.nodes = 512;
  CHECK(widest_line(summary_text(run)) <= 100);
  CHECK(widest_line(summary_text(sample_result())) <= 100);
}

TEST_CASE("no line of the summary ends in a blank") {
  CHECK_FALSE(contains(summary_text(sample_result()), " \n"));
}

TEST_CASE("colour adds escapes and changes no text") {
  const std::string coloured = summary_text(sample_result(), {.colour = true});
  std::string plain;
  for (std::size_t i = 0; i < coloured.size(); ++i) {
    if (coloured[i] == '\x1b') {
      i = coloured.find('m', i);
    } else {
      plain += coloured[i];
    }
  }
  CHECK(coloured != plain);
  CHECK(plain == summary_text(sample_result()));
}

TEST_CASE("one GPU has no speedup and no communication to report") {
  Run run = sample_result();
  run.ranks = 1;
  step_in(run).collectives.clear();
  run.links.busiest.clear();
  step_in(run).classes.front().communication = step_in(run).classes.front().exposed = Seconds(0);
  const std::string text = summary_text(run);
  CHECK_FALSE(contains(text, "speedup"));
  CHECK_FALSE(contains(text, "exposed"));
  CHECK_FALSE(contains(text, "lower bound"));
  CHECK(contains(text, "Compute: "));
}

TEST_CASE("what a run could not tell about memory, energy and cost is named once each") {
  Run run = sample_result();
  run.memory = unknown("a reason");
  run.energy = unknown("a reason");
  run.cost = unknown("a reason");
  const std::string text = summary_text(run);
  CHECK_FALSE(contains(text, "\nresources\n"));
  CHECK(contains(text, "not modelled    energy, cost, host CPUs and data loading, memory, storage ("));
}

TEST_CASE("little exposed communication means compute limits the step") {
  Run run = sample_result();
  step_in(run).classes.front().exposed = step_in(run).network_gain = Seconds(0.0001);
  CHECK(has_all(limit_in_words(run), "Compute: ", "84.6 % of the step", "100 us of 4.00 ms", "0.8 %"));
  step_in(run).classes.front().communication = Seconds(0.00011);
  CHECK(has_all(limit_in_words(run), "Nearly all communication", "100 us of 110 us"));
  step_in(run).classes.front().communication = step_in(run).classes.front().exposed;
  CHECK(has_all(limit_in_words(run), "All communication (100 us)"));
}

TEST_CASE("what waits for the framework's cycle is the framework's, not the network's") {
  Run run = sample_result();
  step_in(run).network_gain = Seconds(0.0005);
  CHECK(has_all(limit_in_words(run), "Framework: ", " 2.00 ms", " 1.50 ms", " 4.0 %"));
}

TEST_CASE("a host that keeps the GPU waiting is said to limit the step") {
  Run run = sample_result();
  const std::string without = limit_in_words(run);
  OpRow& host = step_in(run).classes.front().ops.emplace_back();
  host.kind = OpKind::host;
  host.duration = 0.25 * run.pace.time;
  host.duration = 0.1 * run.pace.time;  // less than the exposed communication
  CHECK(limit_in_words(run) == without + " The GPU waits for the host during 10.0 % of the step.");
  host.duration = 0.25 * run.pace.time;
  CHECK(has_all(limit_in_words(run), "Host: the GPU waits for the host during 25.0 % of the step"));
}

TEST_CASE("the gain of a faster network is relative to the throughput, as explain states gains") {
  Run run = sample_result();
  step_in(run).network_gain = 0.2 * run.pace.time;
  CHECK(has_all(limit_in_words(run), "Communication: ", "gain at most 25.0 % more samples/s"));
}

TEST_CASE("workers of many updates are limited by compute only if little else takes their time") {
  Run run = sample_result();
  Updates& updates = updates_in(run);
  updates.measured = Seconds(1);
  updates.servers = {{.name = "memory of node0.cpu1", .utilization = 0.99}};
  const auto limit = [&](double computing, double communicating, double waiting) {
    updates.workers = {{.rank = Rank{0},
                        .node = NodeId{0},
                        .computing = Seconds(computing),
                        .communicating = Seconds(communicating),
                        .waiting = Seconds(waiting),
                        .loading = {},
                        .wasted = {},
                        .gradients = 5}};
    return limit_in_words(run);
  };
  CHECK(has_all(limit(0.96, 0.03, 0.01), "Compute: it fills 96.0 %", "3.0 %", "1.0 %"));
  CHECK(has_all(limit(0.46, 0.44, 0.1), "Communication: ", "44.0 %", "compute 46.0 %",
                "the memory of node0.cpu1, busy for 99.0 %"));
  CHECK(has_all(limit(0.6, 0.1, 0.3), "Waiting: ranks spend 30.0 %", "60.0 %", "10.0 %"));
}

TEST_CASE("accumulated micro-batches are told in the title and count for one GPU alone") {
  Run run = sample_result();
  run.experiment.settings.accumulation = 4;
  run.pace.global_batch *= 4;
  const std::string text = summary_text(run);
  CHECK(contains(text, "batch 4 x 64 per GPU"));
  CHECK(contains(text, "23,300 samples/s with the same batch per GPU"));
}

TEST_CASE("the chart shows each phase where it ran and communication below it") {
  const Run run = sample_result();
  const TimelineChart chart = timeline_chart(run, step_of(run).classes.front(), 26);
  CHECK(chart.compute == "ffffffffbbbbbbbbbbbb....oo");
  CHECK(chart.communication == "                ========  ");
}

TEST_CASE("a collective too short for half a column is still seen") {
  Run run = sample_result();
  step_in(run).collectives[0].end = Seconds(0.0081);
  CHECK(timeline_chart(run, step_of(run).classes.front(), 26).communication == "                -         ");
}

TEST_CASE(
    "every class of ranks has its times and its memory; figures are those of the class that ends last") {
  const Run run = two_class_result();
  const std::string text = summary_text(run);
  for (const char* part : {"rank 0 (stage 0), share of the step", "rank 1 (stage 1), share of the step",
                           "timeline of rank 1 (stage 1)", "stage 0: of", "stage 1: of"}) {
    CAPTURE(part);
    CHECK(contains(text, part));
  }
  CHECK(compute_time(run) == Seconds(0.011));
  CHECK(fullest(*run.memory).ranks == "stage 0");
}

TEST_CASE("ranks of traces without a pipeline wait for other ranks: no advice about micro-batches") {
  const TemporaryFolder folder;
  const std::string head =
      "phase,layer,duration_s,parameter_bytes,communication,communication_bytes,group,waits,launch,peer\n";
  std::ofstream(folder.path / "first.csv") << head << "forward,f,0.010,,recv,8,all,,,1\n";
  std::ofstream(folder.path / "second.csv") << head << "forward,f,0.050,,send,8,all,,end,0\n";
  std::ofstream(folder.path / "job.yaml")
      << "platform: dgx2\nstack: pytorch_ddp\nbatch_per_gpu: 1\ngpus: 2\n"
         "traces: [{trace: first.csv, ranks: 0}, {trace: second.csv, ranks: 1}]\n";
  const Run run = simulate(resolve({{TRAINYARD_SOURCE_DIR}}, (folder.path / "job.yaml").string(), {}),
                           {.fidelity = Fidelity::closed});
  CHECK(contains(limit_in_words(run), "Waiting for other ranks takes 83"));
  CHECK_FALSE(contains(limit_in_words(run), "micro-batches"));
}
