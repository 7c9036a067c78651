// Learning in the order of a simulated job, as users ask for it.

#include "process.hpp"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

using namespace trainyard;
using Json = nlohmann::json;

namespace {

/// Four workers whose steps vary, and servers without a network.
constexpr const char* job_of_four = R"(platform: dgx2
gpus: 4
model: resnet50
stack: tf_parameter_server
software: ideal
batch_per_gpu: 32
sync: {kind: parameter_server, update: async, placement: free}
random: {seed: 1, step: {kind: exponential}}
steps: {warmup: 5, measured: 40, repeats: 3}
)";

constexpr const char* learner = R"(learn:
  model: softmax
  data: {name: digits, label_noise: 0.1}
  batch: 8
  rate: {base: 0.2}
  target: {loss: 1.5}
)";

/// `text` in a job of two lines more: where errors point to.
std::string learner_on(const std::string& data, const std::string& model = "softmax") {
  return std::string(job_of_four) + "learn:\n  model: " + model + "\n  data: " + data +
         "\n  batch: 4\n  rate: 0.1\n";
}

void write(const Scratch& folder, const std::string& name, const std::string& text) {
  std::ofstream(folder.path() / name, std::ios::binary) << text;
}

std::string big_endian(std::uint32_t number) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>((number >> shift) & 0xffU);
  return bytes;
}

/// IDX files of two classes, whose pictures of 4 pixels are dark or bright.
void put_idx(const Scratch& folder, const std::string& part, int count) {
  std::string images =
      big_endian(0x803) + big_endian(static_cast<std::uint32_t>(count)) + big_endian(2) + big_endian(2);
  std::string labels = big_endian(0x801) + big_endian(static_cast<std::uint32_t>(count));
  for (int i = 0; i < count; ++i) {
    images += std::string(4, static_cast<char>(i % 2 == 0 ? 20 + i % 7 : 120 + i % 5));
    labels += static_cast<char>(i % 2);
  }
  write(folder, part + "-images-idx3-ubyte", images);
  write(folder, part + "-labels-idx1-ubyte", labels);
}

Json json_of(const std::vector<std::string>& arguments) {
  const Ended ended = run_program(arguments);
  CAPTURE(ended.err);
  REQUIRE(ended.code == 0);
  return Json::parse(ended.out);
}

}  // namespace

TEST_CASE("learn in a file adds what was learnt to a run, and changes none of its times") {
  const Scratch folder;
  const std::string plain = folder.put("plain.yaml", job_of_four);
  const std::string learns = folder.put("learns.yaml", std::string(job_of_four) + learner);
  Json without = json_of({"run", plain, "--json"});
  Json with = json_of({"run", learns, "--json", "--out", folder / "out"});
  for (const char* field :
       {"step_time_s", "update_time_low_s", "update_time_high_s", "staleness_mean", "staleness_max",
        "throughput_samples_per_s", "gpu_utilization", "updates_measured"})
    CHECK(with[field] == without[field]);
  CHECK(with["step_parts_s"] == without["step_parts_s"]);
  CHECK(!without.contains("time_to_target_s"));
  CHECK(with["time_to_target_s"].get<double>() > 0);
  CHECK(with["time_to_target_low_s"] <= with["time_to_target_s"]);
  CHECK(with["updates_to_target"].get<double>() > 1);
  CHECK(with["final_loss"].get<double>() < 1.5);
  CHECK(with["diverged"] == 0);
  CHECK(with["learning_repeats"] == 3);
  CHECK(with["learning"]["learner"].get<std::string>().find("softmax on digits") != std::string::npos);
  CHECK(with["learning"]["clock"]["model"] == "resnet50");
  CHECK(with["learning"]["clock"]["platform"] == "dgx2");
  const std::string csv = content(folder / "out/learning.csv");
  CHECK(csv.starts_with(
      "repeat,time_s,updates,samples,epochs,train_loss,train_error,test_loss,test_error,"
      "staleness_mean,rate_mean,gradients_per_update,noise_scale_samples\n0,0,0,0,0,2.30258509299"));
  CHECK(csv.find("nan") == std::string::npos);
  const std::string page = content(folder / "out/report.html");
  CHECK(page.find("Training loss over simulated time") != std::string::npos);
  CHECK(page.find("Training loss over samples") != std::string::npos);
  CHECK(run_program({"run", learns}).out.find("softmax on digits") != std::string::npos);
  // the same input gives the same bytes
  json_of({"run", learns, "--json", "--out", folder / "again"});
  CHECK(content(folder / "again/learning.csv") == csv);
}

TEST_CASE("learning may last longer than the measurement, which stays as it is") {
  const Scratch folder;
  const std::string file = folder.put("learns.yaml", std::string(job_of_four) + learner);
  const Json usual = json_of({"run", file, "--json"});
  const Json longer = json_of({"run", file, "--json", "--set", "learn.until.updates=1000"});
  CHECK(longer["step_time_s"] == usual["step_time_s"]);
  CHECK(longer["updates_measured"] == usual["updates_measured"]);
  CHECK(longer["learning"]["repeats"][0]["end"] == "updates");
  CHECK(longer["final_loss"] < usual["final_loss"]);
}

TEST_CASE("a synchronous job learns too, whether its steps vary or not") {
  const Scratch folder;
  const std::string file = folder.put("learns.yaml", std::string(R"(platform: dgx2
gpus: 4
model: resnet50
stack: pytorch_ddp
batch_per_gpu: 32
steps: {warmup: 5, measured: 40, repeats: 3}
)") + learner);
  const Json steady = json_of({"run", file, "--json"});
  CHECK(steady["updates_per_s"].is_null());
  CHECK(steady["final_loss"].get<double>() < 2.0);
  CHECK(steady["learning"]["staleness_mean"] == 1.0);
  CHECK(steady["learning"]["repeats"].size() == 3);
  const Json varying = json_of({"run", file, "--json", "--set", "random.step.kind=exponential"});
  CHECK(varying["step_time_s"] > steady["step_time_s"]);
  CHECK(varying["learning"]["staleness_mean"] == 1.0);
}

TEST_CASE("a rate that is too high is a verdict, not a number") {
  const Scratch folder;
  const std::string file = folder.put("learns.yaml", std::string(job_of_four) + learner);
  const Json json = json_of({"run", file, "--json", "--set", "learn.rate=1000"});
  CHECK(json["not_learnt"] == 3);
  CHECK(json["diverged"] == 0);
  CHECK(json["final_loss"].is_null());
  CHECK(json["time_to_target_s"].is_null());
  CHECK(json["unmodelled"]["final_loss"].get<std::string>().find("above its start") != std::string::npos);
  CHECK(json["learning"]["repeats"][0]["verdict"] == "not_learnt");
  CHECK(json["learning"]["repeats"][0]["diverged"] == false);
  const Ended text = run_program({"learn", file, "--set", "learn.rate=1000", "--out", folder / "out"});
  CHECK(text.code == 0);
  CHECK(text.out.find("does not learn") != std::string::npos);
  CHECK(content(folder / "out/report.html").find("not learnt: the loss") != std::string::npos);
  CHECK(text.out.find("nan") == std::string::npos);
}

TEST_CASE("a loss that grows without bound is called divergence") {
  const Scratch folder;
  const std::string file =
      folder.put("learns.yaml", std::string(job_of_four) + "learn: {model: quadratic, rate: 1.5}\n");
  const Json json = json_of({"run", file, "--json"});
  CHECK(json["diverged"] == 3);
  CHECK(json["not_learnt"] == 0);
  CHECK(json["unmodelled"]["final_loss"].get<std::string>().find("diverged") != std::string::npos);
  CHECK(json["learning"]["repeats"][0]["verdict"] == "diverged");
}

TEST_CASE("a missed target is not called learnt") {
  const Scratch folder;
  const std::string file = folder.put("learns.yaml", std::string(job_of_four) + learner);
  const Json json =
      json_of({"run", file, "--json", "--set", "learn.target.loss=0.001", "--out", folder / "out"});
  CHECK(json["learning"]["repeats"][0]["verdict"] == "target_missed");
  CHECK(json["time_to_target_s"].is_null());
  CHECK(json["to_target_interval_share"] == 0.5);
  CHECK(content(folder / "out/report.html").find("target missed") != std::string::npos);
}

TEST_CASE("what was learnt is printed as Markdown") {
  const Scratch folder;
  const std::string file = folder.put("plain.yaml", job_of_four);
  const Ended learnt = run_program({"learn", file, "--markdown"});
  CHECK(learnt.code == 0);
  CHECK(learnt.out.starts_with("### "));
  CHECK(learnt.out.find("\n#### ") != std::string::npos);
  CHECK(run_program({"learn", file, "--markdown", "--json"}).code == 2);
}

TEST_CASE("learn gives a learner to an experiment without one, and lets the command line change it") {
  const Scratch folder;
  const std::string file = folder.put("plain.yaml", job_of_four);
  const Ended usual = run_program({"learn", file});
  CHECK(usual.code == 0);
  for (const char* added : {"learn.model.kind=softmax", "learn.data.name=digits", "learn.rate.base=0.1"})
    CHECK(usual.err.find(added) != std::string::npos);
  CHECK(usual.out.find("resnet50 on dgx2") != std::string::npos);
  CHECK(run_program({"learn", file, "--set", "learn.rate.rule=by_staleness"}).code == 0);
  const Ended mlp = run_program({"learn", file, "--set", "learn.model=mlp"});
  CHECK(mlp.code == 0);
  CHECK(mlp.err.find("learn.model") == std::string::npos);  // what was given is not named again
  CHECK(mlp.err.find("learn.data.name=digits") != std::string::npos);
  const Json json = json_of({"learn", file, "--json", "--set", "learn.model=quadratic"});
  CHECK(json["learning"]["learner"] == "quadratic");
  CHECK(json["error_floor"].is_null());
}

TEST_CASE("learning in the order of a trace that names no model names the trace") {
  const Scratch scratch;
  const std::string steps =
      scratch.put("steps.csv",
                  "# trainyard trace: 1\n# batch_per_gpu: 32\n# precision: fp32\n"
                  "phase,layer,kind,gradients,duration_s,duration_source\n"
                  "forward,fc,gemm,,0.01,measured\nbackward,fc,gemm,fc.weight:4000,0.02,measured\n");
  const std::string file = scratch.put(
      "replayed.yaml",
      "platform: p2_16xlarge\ngpus: 8\nbatch_per_gpu: 32\ntrace: " + steps +
          "\n"
          "stack: tf_parameter_server\n"
          "learn: {model: softmax, data: digits, batch: 8, rate: {base: 0.5}, until: {updates: 20}}\n");
  const Ended done = run_program({"learn", file});
  CAPTURE(done.err);
  CHECK(done.code == 0);
  CHECK(contains(done.out, "in the order of the trace of replayed on p2_16xlarge"));
}

TEST_CASE("what cannot be learnt from is an error at its key") {
  const Scratch folder;
  const std::string file = folder.put("learns.yaml", std::string(job_of_four) + learner);
  const auto error = [&](const std::string& set) {
    const Ended ended = run_program({"run", file, "--set", set});
    CHECK(ended.code == 3);
    return ended.err;
  };
  CHECK(error("learn.data.file=missing.csv").find("learn.data") != std::string::npos);
  CHECK(error("learn.data={file: missing.csv}").find("learn.data.file") != std::string::npos);
  CHECK(error("learn.data={idx: nowhere}").find("learn.data.idx") != std::string::npos);
  CHECK(error("learn.rate.rule=by_distance").find("distance") != std::string::npos);
  const std::string many = error("learn.until.updates=1000000000");
  CHECK(many.find("gradients") != std::string::npos);
  CHECK(many.find("learn.until.updates") != std::string::npos);
  CHECK(error("learn.until.time=10000000000 s").find("learn.until.time") != std::string::npos);
  CHECK(error("learn.modle=mlp").find("learn.modle") != std::string::npos);
}

TEST_CASE("a sweep over update rules names those that are fast or good") {
  const Scratch folder;
  const std::string file = folder.put("learns.yaml", std::string(job_of_four) + learner);
  const Ended text = run_program(
      {"sweep", file, "--set", "sync.update=sync,async", "--set", "learn.rate.base=0.1,1000000", "-j", "1"});
  CHECK(text.code == 0);
  CHECK(text.out.find("to target") != std::string::npos);
  CHECK(text.out.find("final loss") != std::string::npos);
  const Json json = json_of({"sweep", file, "--set", "sync.update=sync,async", "--set",
                             "learn.rate.base=0.1,1000000", "-j", "1", "--json"});
  CHECK(json["rows"].size() == 4);
  CHECK(json["rows"][1]["final_loss"].is_null());
  CHECK(json["rows"][1]["diverged"] == 3);
  CHECK(json["learning_front"].size() >= 1);
}

TEST_CASE("compare tells two ways of learning apart") {
  const Scratch folder;
  const std::string file = folder.put("learns.yaml", std::string(job_of_four) + learner);
  json_of({"run", file, "--json", "--out", folder / "async"});
  json_of({"run", file, "--json", "--set", "sync.update=sync", "--out", folder / "sync"});
  const Ended ended = run_program({"compare", folder / "async", folder / "sync"});
  CHECK(ended.code == 0);
  CHECK(ended.out.find("final loss") != std::string::npos);
  CHECK(ended.out.find("time to target") != std::string::npos);
}

TEST_CASE("learn reads samples from CSV and IDX files, and says what is wrong in them and where") {
  const Scratch folder;
  std::string csv = "x,label,y\n";
  for (int i = 0; i < 40; ++i) csv += i % 2 == 0 ? "0.1,0,0.9\n" : "0.9,1,0.2\n";
  write(folder, "samples.csv", csv);
  const std::string file = folder.put("csv.yaml", learner_on("{file: samples.csv, test: 0.25}"));
  const Json json = json_of({"learn", file, "--json"});
  CHECK(json["learning"]["train_samples"] == 30);
  CHECK(json["learning"]["parameters"] == 6);
  CHECK(json["error_floor"] == 0);

  write(folder, "samples.csv", "x,label\n1,0\nhigh,1\n2,0.5\n");
  const Ended wrong = run_program({"learn", file});
  CHECK(wrong.code == 3);
  CHECK(wrong.err.find("samples.csv:3:1") != std::string::npos);
  CHECK(wrong.err.find("samples.csv:4:3") != std::string::npos);
  write(folder, "samples.csv", "x,y\n1,0\n");
  CHECK(run_program({"learn", file}).err.find("label") != std::string::npos);

  put_idx(folder, "train", 60);
  put_idx(folder, "t10k", 20);
  const std::string idx = folder.put("idx.yaml", learner_on("{idx: .}"));
  const Json pictures = json_of({"learn", idx, "--json"});
  CHECK(pictures["learning"]["train_samples"] == 60);
  CHECK(pictures["learning"]["test_samples"] == 20);
  CHECK(pictures["final_loss"] < 0.69);
  write(folder, "t10k-labels-idx1-ubyte", big_endian(0x801) + big_endian(20) + std::string(7, '\0'));
  const Ended shorter = run_program({"learn", idx});
  CHECK(shorter.code == 3);
  CHECK(shorter.err.find("t10k-labels-idx1-ubyte") != std::string::npos);
  write(folder, "t10k-labels-idx1-ubyte", "no IDX");
  CHECK(run_program({"learn", idx}).code == 3);
}

TEST_CASE("a conv1d model learns, in the short form of its data as well, or says what it needs") {
  const Scratch folder;
  const std::string conv = "{kind: conv1d, filters: [4], kernels: [5], pools: [2], hidden: [8]}";
  const Json json = json_of({"learn", folder.put("conv.yaml", learner_on("digits", conv)), "--json"});
  CHECK(json["final_loss"] < 2.3);
  CHECK(json["learning"]["parameters"] == 5 * 4 + 4 + 30 * 4 * 8 + 8 + 8 * 10 + 10);
  const auto error = [&](const std::string& model) {
    const Ended ended = run_program({"learn", folder.put("wrong.yaml", learner_on("digits", model))});
    CHECK(ended.code == 3);
    return ended.err;
  };
  CHECK(error("{kind: conv1d, filters: [4]}").find("kernels") != std::string::npos);
  CHECK(error("{kind: conv1d, filters: [4], kernels: [100]}").find("learn.model") != std::string::npos);
  CHECK(error("{kind: softmax, filters: [4]}").find("learn.model.filters") != std::string::npos);
}

TEST_CASE("workers without samples are an error at the key that divides them") {
  const Scratch folder;
  write(folder, "samples.csv", "x,label\n0,0\n1,1\n0,0\n");
  const std::string file =
      folder.put("few.yaml", learner_on("{file: samples.csv, test: 0}\n  data_per_worker: sharded"));
  const Ended ended = run_program({"learn", file});
  CHECK(ended.code == 3);
  CHECK(ended.err.find("few.yaml:13:") != std::string::npos);
  CHECK(ended.err.find("data_per_worker") != std::string::npos);
}

TEST_CASE("a dead replica changes the data that is seen, not the job") {
  const Scratch folder;
  constexpr const char* faults =
      "faults: {work: 1 h, restart: 2 s, dates: [{of: rank, number: 1, at: 1 s}]}\n";
  const std::string file =
      folder.put("faults.yaml", std::string(job_of_four) + learner + "  until: {time: 10 s}\n" + faults);
  const std::string whole =
      folder.put("whole.yaml", std::string(job_of_four) + learner + "  until: {time: 10 s}\n");
  const Json with = json_of({"run", file, "--json", "--out", folder / "with"});
  const Json without = json_of({"run", whole, "--json", "--out", folder / "without"});
  CHECK(with["step_time_s"] == without["step_time_s"]);
  CHECK(with["final_loss"] < 2.0);
  CHECK(with["final_loss"] != without["final_loss"]);
  const auto error = [&](const std::string& set) {
    const Ended ended = run_program({"run", file, "--set", set});
    CHECK(ended.code == 3);
    return ended.err;
  };
  CHECK(error("sync.update=sync").find("faults") != std::string::npos);
  CHECK(error("faults.rates=[{of: rank, every: 1 h}]").find("faults.rates") != std::string::npos);
  CHECK(error("faults.dates=[{of: server, at: 1 s}]").find("faults.dates[0].of") != std::string::npos);
  const Ended of_parameters =
      run_program({"run", file, "--set", "sync.placement=hosts", "--set",
                   "faults.dates=[{of: rank, number: 1, at: 1 s}, {of: node, at: 1 s}]"});
  CHECK(of_parameters.code == 3);
  CHECK(of_parameters.err.find("node 0 holds parameters") != std::string::npos);
  CHECK(of_parameters.err.find("faults.dates[1]") != std::string::npos);
}

TEST_CASE("k follows the loss while the job runs, and needs something that learns") {
  const Scratch folder;
  const std::string file = folder.put("learns.yaml", std::string(job_of_four) + learner);
  const std::vector<std::string> adaptive{"--set", "sync.update=k_async",    "--set", "sync.k=1",
                                          "--set", "learn.until.updates=300"};
  const auto arguments = [&](std::vector<std::string> more) {
    more.insert(more.end(), adaptive.begin(), adaptive.end());
    return more;
  };
  const Json fixed = json_of(arguments({"run", file, "--json"}));
  const Json grown =
      json_of(arguments({"run", file, "--json", "--set", "sync.adaptive_k=20", "--out", folder / "one"}));
  CHECK(fixed["gradients_per_update"] == 1);
  CHECK(grown["gradients_per_update"] > 1);
  json_of(arguments({"run", file, "--json", "--set", "sync.adaptive_k=20", "--out", folder / "two"}));
  CHECK(content(folder / "one/learning.csv") == content(folder / "two/learning.csv"));
  const std::string plain = folder.put("plain.yaml", job_of_four);
  const Ended nothing = run_program(arguments({"run", plain, "--set", "sync.adaptive_k=20"}));
  CHECK(nothing.code == 3);
  const Ended other = run_program({"run", file, "--set", "sync.adaptive_k=20"});
  CHECK(other.code == 3);
  CHECK(other.err.find("k_*") != std::string::npos);
  const Ended too_many = run_program(arguments({"run", file, "--set", "sync.adaptive_k={most: 9}"}));
  CHECK(too_many.code == 3);
}
