// Steps in which classes of ranks replay traces of their own.

#include "config/read_file.hpp"
#include "errors_of.hpp"
#include "experiment/class_traces.hpp"
#include "run/child_processes.hpp"
#include "run/simulate.hpp"
#include "schedule/layout_plan.hpp"
#include "schedule/trace_plan.hpp"
#include "shipped_layout.hpp"
#include "strategy/pipeline_order.hpp"
#include "temporary_folder.hpp"
#include "workload/trace_csv.hpp"

#include <algorithm>
#include <cmath>
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fstream>
#include <numeric>
#include <string>
#include <vector>

using namespace trainyard;
using namespace trainyard::testing;

namespace {

const std::string header =
    "phase,layer,duration_s,parameter_bytes,communication,communication_bytes,group,waits,launch,peer\n";

/// A job whose traces and experiment are files of a folder of its own.
class TraceJob {
public:
  /// `traces`: "{trace: a.csv, ranks: 0}, ..."
  TraceJob(const std::vector<std::pair<std::string, std::string>>& files, const std::string& traces,
           const std::string& more) {
    for (const auto& [name, text] : files) std::ofstream(folder_.path / name) << text;
    std::ofstream(folder_.path / "job.yaml") << "platform: dgx2\nstack: pytorch_ddp\nbatch_per_gpu: 1\n"
                                             << "traces: [" << traces << "]\n"
                                             << more;
  }

  [[nodiscard]] ResolvedExperiment resolved(const Overrides& overrides = {}) const {
    static InputFiles files;  // the folder of each job has a name of its own
    return resolve({{TRAINYARD_SOURCE_DIR}}, (folder_.path / "job.yaml").string(), overrides, files);
  }

  [[nodiscard]] Run closed() const { return simulate(resolved(), {.fidelity = Fidelity::closed}); }

  [[nodiscard]] std::vector<Diagnostic> errors() const {
    return errors_of([&] { (void)plan_traces_step(resolved()); });
  }

private:
  TemporaryFolder folder_;
};

struct StageTimes {
  double forward = 0, backward = 0;
  int bytes = 0;  ///< of a message; 0: none is sent, so that a stage does not wait for another
};

/// The trace of a GPipe stage.
std::string gpipe_stage(int stage, int stages, int passes, const StageTimes& times) {
  std::string text = fmt::format("# accumulation: {}\n", passes) + header;
  const auto add = [&](const char* phase, double duration, bool receives, bool sends, int peer) {
    const char* what = receives && sends ? "recv;send" : receives ? "recv" : sends ? "send" : "";
    const bool has_any = receives || sends;
    const std::string peers = receives && sends ? fmt::format("{:+};{:+}", -peer, peer)
                                                : fmt::format("{:+}", receives ? -peer : peer);
    const std::string bytes =
        receives && sends ? fmt::format("{};{}", times.bytes, times.bytes) : std::to_string(times.bytes);
    text += fmt::format("{},pass,{},,{},{},{},,,{}\n", phase, duration, what, has_any ? bytes : "",
                        has_any ? "pipeline" : "", has_any ? peers : "");
  };
  for (int i = 0; i < passes; ++i) add("forward", times.forward, stage > 0, stage + 1 < stages, 1);
  for (int i = 0; i < passes; ++i) add("backward", times.backward, stage + 1 < stages, stage > 0, -1);
  return text;
}

TraceJob gpipe(int stages, int passes, const StageTimes& times, int replicas = 1) {
  std::vector<std::pair<std::string, std::string>> files;
  std::string traces;
  for (int stage = 0; stage < stages; ++stage) {
    files.emplace_back(fmt::format("stage{}.csv", stage), gpipe_stage(stage, stages, passes, times));
    traces += fmt::format("{}{{trace: stage{}.csv, pipeline: {}}}", stage > 0 ? ", " : "", stage, stage);
  }
  return TraceJob(files, traces,
                  fmt::format("gpus: {}\naccumulation: {}\nparallelism: {{pipeline: {}}}\n",
                              stages * replicas, passes, stages));
}

/// Two ranks with a trace each.
TraceJob two_ranks(const std::string& first, const std::string& second, const std::string& more = "") {
  return TraceJob({{"a.csv", header + first}, {"b.csv", header + second}},
                  "{trace: a.csv, ranks: 0}, {trace: b.csv, ranks: 1}", "gpus: 2\n" + more);
}

/// In a child: SimGrid simulates once per process.
std::vector<double> figures_of(const ResolvedExperiment& resolved, const SimulateOptions& options) {
  const auto figures = [&](int) {
    const Run run = simulate(resolved, options);
    const Step& step = step_of(run);
    std::vector<double> all{step.time.si(), step.lower_bound.si()};
    const std::vector<double> bytes = step.timeline.link_bytes.listed();
    all.push_back(std::accumulate(bytes.begin(), bytes.end(), 0.0));
    for (const ClassStep& one : step.classes) {
      for (const Seconds time : {one.compute, one.communication, one.exposed, one.end})
        all.push_back(time.si());
    }
    return packed(all);
  };
  return unpacked(in_children(1, 1, figures).front());
}

double message_time(const Run& run) {
  const CollectiveRow& row = step_of(run).collectives.front();
  return (row.end - row.start).si();
}

/// The trace of a stage of a layout, pass by pass in the order of its schedule.
std::string as_trace(const RankClass& one, const RankLayout& layout, const std::vector<OpTime>& times) {
  Trace trace{
      .model = "stage", .batch_per_gpu = 1, .precision = {}, .accumulation = layout.micro_batches, .ops = {}};
  const int p = layout.grid.pipeline;
  const auto end_of = [&](bool sends, int peer, int boundary) {
    OpCommunication end{.operation = Operation::send_recv,
                        .size = layout.boundaries[at(boundary)],
                        .axis = Axis::pipeline,
                        .waits = 0,
                        .message = MessageEnd{.sends = sends, .peer = {.is_relative = true, .place = peer}}};
    end.at = usual_launch(end.message);
    return end;
  };
  const auto add = [&](int first, int end, bool has_gradients) {
    for (int op = first; op < end; ++op) {
      trace.ops.push_back(one.trace.ops[at(op)]);
      Op& added = trace.ops.back();
      added.duration = times[at(op)].duration;
      added.role = OpRole::layer;
      if (!has_gradients) added.gradients.clear();
    }
  };
  for (const Pass& pass : pass_order(layout.schedule, p, 1, layout.micro_batches, one.stage)) {
    const PassOps& ops = one.passes[pass.kind == PassKind::forward ? 0 : 1];
    const std::size_t first = trace.ops.size();
    add(ops.first, ops.end, pass.micro_batch == layout.micro_batches - 1);
    const bool is_forward = pass.kind == PassKind::forward;
    const bool has_previous = one.stage > 0;
    const bool has_next = one.stage + 1 < p;
    if (is_forward ? has_previous : has_next)
      trace.ops[first].communications.push_back(is_forward ? end_of(false, -1, one.stage - 1)
                                                           : end_of(false, 1, one.stage));
    if (is_forward ? has_next : has_previous)
      trace.ops.back().communications.push_back(is_forward ? end_of(true, 1, one.stage)
                                                           : end_of(true, -1, one.stage - 1));
  }
  add(one.passes.back().end, static_cast<int>(one.trace.ops.size()), false);
  return write_trace(trace);
}

}  // namespace

TEST_CASE("a GPipe of equal stages written as traces takes (m + k - 1) passes each way, and its messages") {
  constexpr double f = 10e-3;
  constexpr double b = 20e-3;
  for (const auto& [k, m] : {std::pair(2, 1), {2, 4}, {4, 4}, {4, 7}, {8, 3}}) {
    CAPTURE(k);
    CAPTURE(m);
    const Run run = gpipe(k, m, {f, b, 1 << 20}).closed();
    const double message = message_time(run);
    REQUIRE(message > 1e-6);
    // The first micro-batch passes k - 1 cuts. For each further one a stage in the middle receives and sends;
    // the first and the last one have one message.
    const int messages = (k - 1) + (m - 1) * (k > 2 ? 2 : 1);
    CHECK(step_of(run).time.si() ==
          doctest::Approx((m + k - 1) * (f + b) + 2 * messages * message).epsilon(1e-12));
  }
}

TEST_CASE("a pipeline of a model is the same one written as traces") {
  for (const int stages : {2, 4}) {
    const ResolvedExperiment layout = small_decoder("dgx2", 1,
                                                    {{"gpus", std::to_string(stages)},
                                                     {"stack.clip_gradients", "false"},
                                                     {"parallelism.pipeline", std::to_string(stages)},
                                                     {"parallelism.schedule", "gpipe"}});
    const StepPlan plan = plan_layout_step(layout);
    std::vector<std::pair<std::string, std::string>> files;
    std::string traces;
    for (std::size_t i = 0; i < layout.classes.size(); ++i) {
      files.emplace_back(fmt::format("stage{}.csv", i),
                         as_trace(layout.classes[i], *layout.layout, plan.op_times[i]));
      traces += fmt::format("{}{{trace: stage{}.csv, pipeline: {}}}", i > 0 ? ", " : "", i, i);
    }
    const TraceJob job(
        files, traces,
        fmt::format("gpus: {}\naccumulation: 8\nparallelism: {{pipeline: {}}}\n", stages, stages));
    const ResolvedExperiment replay = job.resolved({{"stack", "megatron"}, {"precision", "fp16"}});
    for (const Fidelity fidelity : {Fidelity::closed, Fidelity::flow}) {
      const std::vector<double> replayed = figures_of(replay, {.fidelity = fidelity});
      const std::vector<double> planned = figures_of(layout, {.fidelity = fidelity});
      CHECK(replayed[0] == doctest::Approx(planned[0]).epsilon(1e-13));
      CHECK(replayed[2] == doctest::Approx(planned[2]).epsilon(1e-13));
    }
  }
}

TEST_CASE("classes with different compute meet in an all-reduce when the slower one is there") {
  const std::string reduce = ",4000000,all_reduce,4000000,all,,,\n";
  const TraceJob job =
      two_ranks("forward,f,0.010,,,,,,,\nbackward,b,0.020" + reduce + "optimizer,o,0.001,,,,,,,\n",
                "forward,f,0.030,,,,,,,\nbackward,b,0.050" + reduce + "optimizer,o,0.003,,,,,,,\n");
  const Run run = job.closed();
  const Step& step = step_of(run);
  REQUIRE(step.collectives.size() == 1);
  const double reduction = message_time(run);
  CHECK(reduction > 10e-6);
  CHECK(step.time.si() == doctest::Approx(0.080 + reduction + 0.003).epsilon(1e-12));
  CHECK(step.collectives[0].start.si() == doctest::Approx(0.080).epsilon(1e-12));
  CHECK(step.classes[0].end.si() == doctest::Approx(0.080 + reduction + 0.001).epsilon(1e-12));
  CHECK(step.classes[1].compute.si() == doctest::Approx(0.083).epsilon(1e-12));
  CHECK(run.pace.global_batch == 2);
}

TEST_CASE("gradients of classes with messages only are reduced among replicas of a stage") {
  const std::string gradients = "# accumulation: 2\n" + header;
  const auto stage = [&](const std::string& forward, const std::string& backward, int bytes) {
    return gradients + "forward,f,0.01,," + forward + "\nforward,f,0.01,," + forward + "\nbackward,b,0.02,," +
           backward + "\nbackward,b,0.02," + std::to_string(bytes) + "," + backward +
           "\noptimizer,o,0.001,,,,,,,\n";
  };
  const TraceJob job({{"a.csv", stage("send,8000,pipeline,,,+1", "recv,8000,pipeline,,,+1", 4'000'000)},
                      {"b.csv", stage("recv,8000,pipeline,,,-1", "send,8000,pipeline,,,-1", 8'000'000)}},
                     "{trace: a.csv, pipeline: 0}, {trace: b.csv, pipeline: 1}",
                     "gpus: 8\naccumulation: 2\nparallelism: {pipeline: 2}\n");
  const StepPlan plan = plan_traces_step(job.resolved());
  std::map<double, int> reduced;
  int messages = 0;
  for (const Collective& collective : plan.graph.collectives) {
    if (collective.one_way) {
      ++messages;
      CHECK(collective.participants == 8);
      CHECK(collective.size == Bytes(8000));
      continue;
    }
    CHECK(collective.group_size == 4);
    CHECK(collective.participants == 4);
    ++reduced[collective.size.si()];
  }
  CHECK(messages == 4);
  CHECK(reduced == std::map<double, int>{{4e6, 1}, {8e6, 1}});
}

TEST_CASE("a folded replay of several traces is the unfolded one") {
  constexpr double rounding = 1e-12;
  const TraceJob replicas = gpipe(2, 4, {10e-3, 20e-3, 1 << 20}, 4);
  const TraceJob deep = gpipe(4, 5, {10e-3, 20e-3, 1 << 20}, 2);
  // rank 0 gathers from ranks that send one after the other; the rest are alike
  const TraceJob star(
      {{"a.csv",
        header + "forward,f,0.01,,recv;recv,1000;2000,all,,,1;2\nbackward,b,0.01,,all_reduce,4000,all,,,\n"},
       {"b.csv", header + "forward,f,0.02,,send,1000,all,,,0\nbackward,b,0.01,,all_reduce,4000,all,,,\n"},
       {"c.csv", header + "forward,f,0.03,,send,2000,all,,,0\nbackward,b,0.01,,all_reduce,4000,all,,,\n"},
       {"d.csv", header + "backward,b,0.01,,all_reduce,4000,all,,,\n"}},
      "{trace: a.csv, ranks: 0}, {trace: b.csv, ranks: 1}, {trace: c.csv, ranks: 2}, {trace: d.csv, ranks: "
      "3-7}",
      "gpus: 8\n");
  // every rank sends to the next and receives from the one before, in groups of four
  const TraceJob ring(
      {{"a.csv", header + "forward,f,0.01,,send;recv,65536;65536,context,,end;end,+1;-1\nbackward,"
                          "b,0.01,,all_reduce,4000,all,,,\n"}},
      "{trace: a.csv}", "gpus: 8\nparallelism: {context: 4}\n");
  for (const TraceJob* job : {&replicas, &deep, &star, &ring}) {
    const ResolvedExperiment resolved = job->resolved();
    for (const Fidelity fidelity : {Fidelity::closed, Fidelity::flow, Fidelity::messages}) {
      CAPTURE(config::name_of(fidelity));
      const std::vector<double> folded = figures_of(resolved, {.fidelity = fidelity});
      const std::vector<double> unfolded = figures_of(resolved, {.fidelity = fidelity, .fold = false});
      REQUIRE(folded.size() == unfolded.size());
      for (std::size_t i = 0; i < folded.size(); ++i)
        CHECK(std::abs(folded[i] - unfolded[i]) <= rounding * std::max(folded[i], folded.front()));
    }
  }
}

TEST_CASE("a message beside an op holds up the one after it") {
  // 1 GB takes more than 2 ms
  const std::string sender =
      "forward,f,0.010,,send,1000000000,all,1,,1\nforward,g,0.001,,,,,,,\nforward,h,0.010,,,,,,,\n";
  const TraceJob job =
      two_ranks(sender, "forward,f,0.010,,,,,,,\nforward,g,0.001,,recv,1000000000,all,,,0\n");
  const Run run = job.closed();
  const double message = message_time(run);
  REQUIRE(message > 2e-3);
  CHECK(step_of(run).classes[0].end.si() == doctest::Approx(0.010 + message + 0.010).epsilon(1e-12));
  CHECK(step_of(run).classes[1].end.si() == doctest::Approx(0.010 + message + 0.001).epsilon(1e-12));
}

TEST_CASE("ends of messages that do not fit are errors at their lines") {
  const auto one = [](const TraceJob& job) {
    const auto errors = job.errors();
    REQUIRE(errors.size() == 1);
    return errors[0];
  };
  const std::string idle = "forward,f,0.01,,,,,,,\n";
  const std::string send = "forward,f,0.01,,send,1000,all,,,1\n";
  const Diagnostic unmatched = one(two_ranks(idle + send, idle));
  CHECK(unmatched.file.ends_with("a.csv"));
  CHECK(unmatched.line == 3);
  CHECK(unmatched.message.find("rank 0 sends 1 message to rank 1, which receives 0 messages") !=
        std::string::npos);
  const Diagnostic unsent = one(two_ranks(idle, idle + idle + "forward,f,0.01,,recv,1000,all,,,-1\n"));
  CHECK(unsent.file.ends_with("b.csv"));
  CHECK(unsent.line == 4);
  const Diagnostic bytes = one(two_ranks(send, "forward,f,0.01,,recv,2000,all,,,0\n"));
  CHECK(bytes.file.ends_with("a.csv"));
  CHECK(bytes.line == 2);
  CHECK(bytes.message.find("1000 B") != std::string::npos);
  CHECK(bytes.message.find("2000 B") != std::string::npos);
  CHECK(bytes.message.find("b.csv:2") != std::string::npos);
  CHECK(one(two_ranks("forward,f,0.01,,send,1000,all,,,0\n", idle)).message.find("rank itself") !=
        std::string::npos);
  CHECK(one(two_ranks("forward,f,0.01,,send,1000,all,,,2\n", idle)).line == 2);
}

TEST_CASE("collectives that not all ranks of a group call alike are errors at their lines") {
  const std::string first = "backward,b,0.01,,all_reduce;all_gather,1000;2000,all,,,\n";
  const auto message_of = [&](const std::string& second) {
    const auto errors = two_ranks(first, second).errors();
    REQUIRE(errors.size() == 1);
    CHECK(errors[0].line == 2);
    return errors[0].message;
  };
  CHECK(message_of("backward,b,0.01,,all_reduce,1000,all,,,\n").find("calls only 1") != std::string::npos);
  CHECK(message_of("backward,b,0.01,,all_gather;all_reduce,2000;1000,all,,,\n").find("b.csv:2") !=
        std::string::npos);
  CHECK(message_of("backward,b,0.01,,all_reduce;all_gather,1000;2001,all,,,\n").find("2001 B") !=
        std::string::npos);
}

TEST_CASE("ranks that would wait for each other for ever are errors, not a hang") {
  const std::string receive_first =
      "forward,f,0.01,,recv,1000,all,,,{}\nforward,g,0.01,,send,1000,all,,,{}\n";
  const auto text = [&](int peer) { return fmt::format(fmt::runtime(receive_first), peer, peer); };
  const auto errors = two_ranks(text(1), text(0)).errors();
  REQUIRE(errors.size() == 2);
  CHECK(errors[0].file.ends_with("a.csv"));
  CHECK(errors[0].line == 2);
  CHECK(errors[0].message.find("rank 1 does not reach") != std::string::npos);
  CHECK(errors[0].message.find("b.csv:2") != std::string::npos);
  CHECK(errors[1].file.ends_with("b.csv"));
  // a message and a collective in different orders
  const std::string reduce = "backward,b,0.01,,all_reduce,1000,all,0,,\n";
  CHECK(!two_ranks("forward,f,0.01,,send,8,all,,,1\n" + reduce,
                   "backward,b,0.01,,all_reduce,1000,all,0,,\nbackward,c,0.01,,recv,8,all,,,0\n")
             .errors()
             .empty());
  // beside ops, or as one batch, the same messages pass
  CHECK(two_ranks("forward,f,0.01,,send;recv,1000;1000,all,,end;end,1\n",
                  "forward,f,0.01,,send;recv,1000;1000,all,,end;end,0\n")
            .errors()
            .empty());
}

TEST_CASE("every rank replays one trace") {
  const std::string idle = "forward,f,0.01,,,,,,,\n";
  const auto error_with = [&](const std::string& traces, const std::string& more) {
    const TraceJob job({{"a.csv", header + idle}, {"b.csv", header + idle}}, traces, more);
    const auto errors = errors_of([&] { (void)job.resolved(); });
    REQUIRE(errors.size() == 1);
    return errors[0];
  };
  const std::string two = "gpus: 2\n";
  CHECK(error_with("{trace: a.csv, ranks: 0}", two).message.find("rank 1 has no trace") != std::string::npos);
  CHECK(error_with("{trace: a.csv}, {trace: b.csv, ranks: 1}", two).key_path == "traces[1].trace");
  CHECK(error_with("{trace: a.csv, ranks: 0-2}", two).key_path == "traces[0].ranks");
  CHECK(error_with("{trace: a.csv, ranks: 0-x}", two).key_path == "traces[0].ranks");
  CHECK(error_with("{trace: a.csv, pipeline: 0}, {trace: b.csv, pipeline: 1}", two).key_path ==
        "traces[1].pipeline");
  CHECK(error_with("{trace: a.csv, ranks: 0, data: 0}, {trace: b.csv, data: 1}", two).key_path ==
        "traces[0].ranks");
  CHECK(error_with("{trace: a.csv}", two + "model: resnet50\n").key_path == "traces");
  CHECK(error_with("{trace: a.csv}", two + "parallelism: {pipeline: 2, schedule: gpipe}\n").key_path ==
        "parallelism.schedule");
}

TEST_CASE("a message in the trace of a job of one GPU is an error at its line") {
  const TraceJob job({{"a.csv", header + "forward,f,0.01,,send,1000,all,,,+1\n"}}, "{trace: a.csv, ranks: 0}",
                     "gpus: 1\n");
  const auto errors = job.errors();
  REQUIRE(errors.size() == 1);
  CHECK(errors[0].line == 2);
  CHECK(errors[0].message == "the peer of rank 0 is the rank itself");
  CHECK(errors[0].hint == "gpus: 2 or more, or a trace without messages");
}

TEST_CASE("a product in 8 bits is an error in a step of another precision, at its line") {
  const std::string columns = "phase,layer,kind,flops,bytes,dtype\n";
  const auto job = [&](const std::string& dtype, const std::string& more) {
    return TraceJob({{"a.csv", columns + "forward,a,gemm,100,10,\nforward,b,gemm,100,10," + dtype + "\n"}},
                    "{trace: a.csv}", "gpus: 2\n" + more);
  };
  const auto errors = errors_of([&] { (void)job("fp8", "precision: fp16\n").resolved(); });
  REQUIRE(std::ranges::count(errors, "dtype", &Diagnostic::key_path) == 1);
  CHECK(errors[0].key_path == "dtype");
  CHECK(errors[0].line == 3);
  CHECK(errors[0].message == "op 'b' is a product in 8 bits, but the step is in fp16");
  const std::string fp8 = "platform: dgx_h100\nprecision: fp8\n";
  const auto warnings = [&](const std::string& dtype) {
    const std::string text =
        fmt::format("{}stack: pytorch_ddp\nbatch_per_gpu: 1\ngpus: 2\ntraces: [{{trace: a.csv}}]\n", fp8);
    const TemporaryFolder folder;
    std::ofstream(folder.path / "a.csv") << columns << "forward,a,gemm,100,10," << dtype << "\n";
    std::ofstream(folder.path / "job.yaml") << text;
    const ResolvedExperiment resolved =
        resolve({{TRAINYARD_SOURCE_DIR}}, (folder.path / "job.yaml").string(), Overrides());
    return std::ranges::count(resolved.warnings, "dtype", &Diagnostic::key_path);
  };
  CHECK(warnings("") == 1);
  CHECK(warnings("fp8") == 0);
}

TEST_CASE("classes whose traces have one name are told apart by their first ranks") {
  const std::string idle = header + "forward,f,0.01,,,,,,,\n";
  const TraceJob job({{"a.csv", idle}, {"b.csv", idle}},
                     "{trace: a.csv, ranks: 1-2}, {trace: b.csv, ranks: 3}, {trace: a.csv, ranks: 0}",
                     "gpus: 4\n");
  std::vector<std::string> names;
  for (const RankClass& one : job.resolved().classes) names.push_back(one.name);
  CHECK(names == std::vector<std::string>{"a_rank0", "a_rank1", "b"});
}

TEST_CASE("a trace names any rank that a job can have") {
  const Grid grid{.data = 20'000, .order = {Axis::tensor, Axis::context, Axis::data, Axis::pipeline}};
  std::vector<ClassTrace> traces(2);
  traces[0].ranks = "0-9999";
  traces[1].ranks = "10000-19999";
  const auto ranks = ranks_of_traces(traces, grid);
  CHECK(ranks[1].front() == Rank{10'000});
  CHECK(ranks[1].back() == Rank{19'999});
  traces[1].ranks = "10000-1048576";
  CHECK_THROWS_AS((void)ranks_of_traces(traces, grid), InputError);
}
