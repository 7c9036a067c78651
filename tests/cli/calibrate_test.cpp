// `trainyard calibrate gpu` from the outside: from recordings, with a stand-in for the program that measures,
// and what `run` and `list` then make of the profile.

#include "process.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <system_error>

using namespace trainyard;
using Json = nlohmann::json;

namespace {

namespace fs = std::filesystem;

const std::string facts_and_header =
    "# gpu: NVIDIA H100 80GB HBM3\n# compute_capability: 9.0\n# sm_count: 132\n# sm_clock: 1980 MHz\n"
    "# memory_capacity: 81559 MiB\n# memory_bandwidth: 3352 GB/s\n# power_limit: 700 W\n# cuda: 13.0\n"
    "op,variant,dtype,shape,bytes,time_us,spread_us,repetitions,error,power_w,clock_mhz\n";

/// Products in fp32 at 30 TFLOP/s after 5 us.
std::string product_rows(const std::string& transposes) {
  std::string rows;
  for (const double m : {256, 1024, 4096}) {
    for (const double n : {256, 1024, 4096}) {
      for (const double k : {256, 1024, 4096}) {
        rows += fmt::format("gemm,-,fp32,m{} n{} k{} {},{},{:.6g},0.1,100,1e-07,,\n", m, n, k, transposes,
                            4 * (m * k + k * n + m * n), 2 * m * n * k / 30e6 + 5);
      }
    }
  }
  return rows;
}

std::string small_recording() { return facts_and_header + product_rows("nt"); }

/// A trainyard in a folder of its own, beside which a stand-in for the program that measures can lie.
class Installed {
public:
  Installed() {
    fs::create_directories(scratch_.path() / "bin");
    for (const char* program : {"trainyard", "trainyard-lab"})
      link_program(fs::path(TRAINYARD_PROGRAM).parent_path() / program, scratch_ / "bin");
    installation_.program = scratch_ / "bin/trainyard";
  }

  /// A shell script; PLAN is $1, RECORDING $2. Notes how it was called.
  void put_kernel_program(const std::string& script) const {
    const std::string file = scratch_.put(
        "bin/trainyard_gpu_kernels", "#!/bin/sh\necho \"$@\" >> '" + (scratch_ / "calls") + "'\n" + script);
    fs::permissions(file, fs::perms::owner_all);
  }

  /// Takes a copy of the shipped platforms, so that what is written there is the test's own.
  void copy_data() {
    fs::create_directories(scratch_.path() / "data");
    fs::copy(TRAINYARD_SOURCE_DIR "/platforms", scratch_ / "data/platforms", fs::copy_options::recursive);
    fs::create_directory_symlink(TRAINYARD_SOURCE_DIR "/workloads", scratch_ / "data/workloads");
    installation_.data = scratch_ / "data";
  }

  [[nodiscard]] Ended run(const std::vector<std::string>& arguments) const {
    return Process(arguments, {}, installation_).wait();
  }
  /// `calibrate gpu --name my_gpu --out OUT ...`, measuring with the stand-in.
  [[nodiscard]] Ended measure(std::vector<std::string> more = {"--quick"}) const {
    std::vector<std::string> arguments{"calibrate", "gpu", "--name", "my_gpu", "--out", scratch_ / "out"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments);
  }
  [[nodiscard]] bool has(const std::string& file) const { return fs::exists(scratch_ / file); }
  [[nodiscard]] std::set<std::string> left_in_out() const {
    return has("out") ? scratch_.names("out") : std::set<std::string>();
  }
  [[nodiscard]] const Scratch& folder() const { return scratch_; }

private:
  Scratch scratch_;
  Installation installation_;
};

/// The step time of an experiment on another GPU.
double step_time_on(const std::string& profile, const Installed& installed) {
  const Ended ended = installed.run(
      {"run", "resnet50_p3_2xlarge", "--json", "--set", "platform.node.gpus.profile=" + profile});
  CAPTURE(ended.err);
  REQUIRE(ended.code == 0);
  return Json::parse(ended.out)["step_time_s"];
}

std::string line_with(const std::string& text, const std::string& part) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (contains(line, part)) return line;
  }
  return {};
}

/// The entry of a listing that begins with a name, in one line.
std::string listed(const std::string& text, const std::string& name) {
  std::istringstream rest(text.substr(("\n" + text).find("\n" + name + " ")));
  std::string entry;
  std::getline(rest, entry);
  for (std::string line; std::getline(rest, line) && line.starts_with(' ');)
    entry += line.substr(line.find_first_not_of(' ') - 1);
  return entry;
}

}  // namespace

TEST_CASE("a profile made from a recording is used at once by its path") {
  const Installed installed;
  const Scratch& folder = installed.folder();
  const std::string recording = folder.put("my_kernels.csv", small_recording());
  const Ended ended =
      installed.run({"calibrate", "gpu", recording, "--name", "my_gpu", "--out", folder / "new/gpus"});
  CAPTURE(ended.err);
  REQUIRE(ended.code == 0);
  CHECK(ended.err.empty());
  CHECK(line_with(ended.out, "gemm fp32").find("27") != std::string::npos);
  CHECK(contains(ended.out, "wrote " + (folder / "new/gpus/my_gpu.yaml") + "\n"));
  CHECK(contains(ended.out, "--set platform.node.gpus.profile=" + (folder / "new/gpus/my_gpu.yaml")));
  CHECK(folder.names("new/gpus") == std::set<std::string>{"my_gpu.yaml", "my_kernels.csv"});
  CHECK(content(folder / "new/gpus/my_kernels.csv") == small_recording());
  CHECK(installed.run({"check", folder / "new/gpus/my_gpu.yaml"}).code == 0);
  const double shipped = step_time_on("v100_sxm2_16gb", installed);
  const double measured = step_time_on(folder / "new/gpus/my_gpu.yaml", installed);
  CHECK(measured < 0.5 * shipped);  // an H100's peaks and bandwidth
}

TEST_CASE("a profile made in the folder of profiles is used by its name and listed with its errors") {
  Installed installed;
  installed.copy_data();
  const std::string recording = installed.folder().put("my_kernels.csv", small_recording());
  const Ended ended = installed.run({"calibrate", "gpu", recording, "--name", "my_gpu"});
  CAPTURE(ended.err);
  REQUIRE(ended.code == 0);
  CHECK(installed.has("data/platforms/gpus/my_gpu.yaml"));
  CHECK(installed.has("data/platforms/gpus/my_kernels.csv"));
  CHECK(contains(ended.out, "--set platform.node.gpus.profile=my_gpu\n"));
  CHECK(step_time_on("my_gpu", installed) > 0);

  fs::remove(installed.folder() / "data/platforms/gpus/t4_kernels.csv");
  const Ended list = installed.run({"list", "gpus"});
  REQUIRE(list.code == 0);
  CHECK(contains(listed(list.out, "my_gpu"), "fitted: gemm 0 %"));
  CHECK(contains(listed(list.out, "v100_sxm2_16gb"), "fitted: gemm "));
  const std::string scaled = listed(list.out, "v100s_pcie_32gb");
  CHECK(contains(scaled, "scaled from v100_sxm2_16gb: gemm "));
  CHECK_FALSE(contains(scaled, "fitted"));
  CHECK(contains(listed(list.out, "t4"), "(not a valid file)"));
  CHECK(contains(list.out, "held out of the fit"));
}

TEST_CASE("a file that exists is not replaced without --force, and nothing is lost") {
  const Installed installed;
  const Scratch& folder = installed.folder();
  const std::string recording = folder.put("my_kernels.csv", small_recording());
  fs::create_directories(folder.path() / "out");
  const std::string profile = folder.put("out/my_gpu.yaml", "mine");
  const std::vector<std::string> command{"calibrate", "gpu",   recording,     "--name",
                                         "my_gpu",    "--out", folder / "out"};
  const Ended refused = installed.run(command);
  CHECK(refused.code == 5);
  CHECK(contains(refused.err, "--force"));
  CHECK(content(profile) == "mine");
  CHECK(folder.names("out") == std::set<std::string>{"my_gpu.yaml"});

  fs::remove(profile);
  const std::string other = folder.put("out/my_kernels.csv", "another recording");
  CHECK(installed.run(command).code == 5);
  CHECK(content(other) == "another recording");
  CHECK(folder.names("out") == std::set<std::string>{"my_kernels.csv"});

  // --force is for the profile: others may rest on the other recording
  std::vector<std::string> forced = command;
  forced.emplace_back("--force");
  const Ended another = installed.run(forced);
  CHECK(another.code == 5);
  CHECK(contains(another.err, "out/my_kernels.csv' exists"));
  CHECK(content(other) == "another recording");

  fs::remove(other);
  REQUIRE(folder.put("out/my_gpu.yaml", "mine") == profile);
  CHECK(installed.run(forced).code == 0);
  CHECK(contains(content(profile), "name: my_gpu"));
  CHECK(content(other) == small_recording());
}

TEST_CASE("a recording that lies beside the profile already stays as it is") {
  const Installed installed;
  const Scratch& folder = installed.folder();
  fs::create_directories(folder.path() / "out");
  const std::string recording = folder.put("out/my_kernels.csv", small_recording());
  CHECK(installed.measure({recording}).code == 0);
  CHECK(folder.names("out") == std::set<std::string>{"my_gpu.yaml", "my_kernels.csv"});
}

TEST_CASE("a wrong recording is an error with its line, one that is not there an error of the file") {
  const Installed installed;
  const std::string wrong =
      installed.folder().put("wrong.csv", facts_and_header + "gem,-,fp32,m1 n1 k1 nn,12,1,0,10,,,\n");
  const Ended ended = installed.measure({wrong});
  CHECK(ended.code == 3);
  CHECK(contains(ended.err, wrong + ":10:1: error: unknown op 'gem'"));
  CHECK(installed.measure({installed.folder() / "none.csv"}).code == 5);
  const Ended few = installed.measure({installed.folder().put("few.csv", facts_and_header)});
  CHECK(few.code == 3);
  CHECK(contains(few.err, "too few kernels"));
  CHECK(installed.left_in_out().empty());
}

TEST_CASE("where the kernels were not built, measuring says so and leaves nothing") {
  const Installed installed;
  const Ended ended = installed.measure();
  CHECK(ended.code == 4);
  CHECK(ended.out.empty());
  CHECK(ended.err ==
        "trainyard: error: this trainyard was built without CUDA and cannot measure kernels\n"
        "  build it where nvcc is found, or give a recording: trainyard calibrate gpu FILE.csv\n");
  CHECK(installed.left_in_out().empty());
}

TEST_CASE("a GPU is measured in chunks until the plan is done, and its profile made") {
  const Installed installed;
  const Scratch& folder = installed.folder();
  const std::string first = folder.put("first", small_recording());
  const std::string second = folder.put("second", product_rows("nn"));
  installed.put_kernel_program("cp \"$1\" '" + (folder / "plan") + "'\nif [ -e \"$2\" ]; then cat '" +
                               second + "' >> \"$2\"; exit 0; fi\ncat '" + first + "' > \"$2\"; exit 75\n");
  const Ended ended = installed.measure();
  CAPTURE(ended.err);
  REQUIRE(ended.code == 0);
  CHECK(contains(line_with(ended.out, "gemm fp32"), " 54 "));
  CHECK(folder.names("out") == std::set<std::string>{"my_gpu.csv", "my_gpu.yaml"});
  const std::string call = (folder / "out/my_gpu.plan.csv") + " " + (folder / "out/my_gpu.csv") + "\n";
  CHECK(content(folder / "calls") == call + call);
  CHECK(content(folder / "plan").starts_with("op,variant,dtype,shape,bytes\nlaunch,"));
  const std::string profile = content(folder / "out/my_gpu.yaml");
  CHECK(contains(profile, "kernels: my_gpu.csv"));
  CHECK(contains(profile, "my_gpu.csv: NVIDIA H100 80GB HBM3, CUDA 13.0"));
  CHECK(step_time_on(folder / "out/my_gpu.yaml", installed) > 0);
}

TEST_CASE("with --seconds one chunk is measured, and the same command goes on") {
  const Installed installed;
  const Scratch& folder = installed.folder();
  const std::string rows = folder.put("rows", small_recording());
  installed.put_kernel_program("[ -e \"$2\" ] && exit 0\ncat '" + rows + "' > \"$2\"; exit 75\n");
  const Ended first = installed.measure({"--quick", "--seconds", "60"});
  CHECK(first.code == 0);
  CHECK(first.out.empty());
  CHECK(contains(first.err, "'trainyard calibrate gpu " + (folder / "out/my_gpu.csv") +
                                " --name my_gpu --out " + (folder / "out") + "'"));
  CHECK(contains(content(folder / "calls"), "my_gpu.csv --seconds 60\n"));
  CHECK_FALSE(installed.has("out/my_gpu.yaml"));
  CHECK(installed.measure({folder / "out/my_gpu.csv"}).code == 0);  // what it says can be done
  CHECK(installed.has("out/my_gpu.yaml"));
  fs::remove(folder / "out/my_gpu.yaml");
  CHECK(installed.measure({"--quick", "--seconds", "60"}).code == 0);
  CHECK(installed.has("out/my_gpu.yaml"));
}

TEST_CASE("how measuring ends is how the command ends") {
  const Installed installed;
  const auto end_with = [&](const std::string& script) {
    installed.put_kernel_program(script);
    return installed.measure();
  };
  const Ended interrupted = end_with("exit 130\n");
  CHECK(interrupted.code == 130);
  CHECK(interrupted.err == "trainyard: interrupted\n");
  CHECK(end_with("exit 3\n").code == 3);
  const Ended no_gpu = end_with("echo 'no GPU here' >&2; exit 4\n");
  CHECK(no_gpu.code == 4);
  CHECK(no_gpu.err == "no GPU here\ntrainyard: error: no kernel was measured: see above\n");
  CHECK(end_with("exit 5\n").code == 5);
  const Ended unknown = end_with("exit 99\n");
  CHECK(unknown.code == 4);
  CHECK(contains(unknown.err, "ended with code 99; "));
  const Ended killed = end_with("kill -KILL $$\n");
  CHECK(killed.code == 4);
  CHECK(contains(killed.err, "ended with code 137"));
  CHECK_FALSE(installed.has("out/my_gpu.yaml"));
  // rows with wrong results are not recorded; the others make a profile
  const std::string rows = installed.folder().put("rows", small_recording());
  CHECK(end_with("cat '" + rows + "' > \"$2\"; exit 70\n").code == 0);
  CHECK(installed.has("out/my_gpu.yaml"));
}

TEST_CASE("a profile that exists is noticed before anything is measured") {
  const Installed installed;
  fs::create_directories(installed.folder().path() / "out");
  const std::string profile = installed.folder().put("out/my_gpu.yaml", "mine");
  installed.put_kernel_program("exit 0\n");
  CHECK(installed.measure().code == 5);
  CHECK_FALSE(installed.has("calls"));
  CHECK(content(profile) == "mine");
}

TEST_CASE("--plan writes what would be measured, for another computer") {
  const Installed installed;
  const Scratch& folder = installed.folder();
  const auto plan = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments{"calibrate", "gpu", "--plan"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return installed.run(arguments).code;
  };
  REQUIRE(plan({folder / "plan.csv", "--quick"}) == 0);
  const std::string quick = content(folder / "plan.csv");
  CHECK(plan({folder / "plan.csv"}) == 5);
  CHECK(content(folder / "plan.csv") == quick);
  REQUIRE(plan({folder / "plan.csv", "--force"}) == 0);
  const std::string full = content(folder / "plan.csv");
  CHECK(full.starts_with(quick));
  CHECK(full.size() > 10 * quick.size());
  CHECK(std::count(quick.begin(), quick.end(), '\n') > 100);
  CHECK(folder.names() == std::set<std::string>{"bin", "plan.csv"});
}

TEST_CASE("the profiles of measured GPUs come out of the command, to the byte") {
  const Installed installed;
  for (const std::string name : {"h100_measured", "h200_measured"}) {
    const Ended ended = installed.run({"calibrate", "gpu", name + ".csv", name + "_pytorch.csv",
                                       "--specification", name, "--out", installed.folder() / "out"});
    CAPTURE(ended.err);
    REQUIRE(ended.code == 0);
    const bool is_same = content(installed.folder() / ("out/" + name + ".yaml")) ==
                         content(TRAINYARD_SOURCE_DIR "/platforms/gpus/" + name + ".yaml");
    CHECK(is_same);  // a text of 500 kB is not for the log
  }
}

TEST_CASE("a shipped recording is found by its name and copied beside the profile") {
  const Installed installed;
  const Scratch& folder = installed.folder();
  const Ended ended = installed.run(
      {"calibrate", "gpu", "a100_vector.csv", "--specification", "a100_sxm4_40gb", "--out", folder / "out"});
  CAPTURE(ended.err);
  REQUIRE(ended.code == 0);
  for (const std::string file : {"a100_sxm4_40gb.yaml", "a100_vector.csv"}) {
    CAPTURE(file);
    CHECK(content(folder / ("out/" + file)) == content(TRAINYARD_SOURCE_DIR "/platforms/gpus/" + file));
  }
}

TEST_CASE("a framework's vector ops get a table of their own, which a new profile keeps") {
  const Installed installed;
  const Scratch& folder = installed.folder();
  const std::string kernels = folder.put("kernels.csv", small_recording());
  std::string rows = "op,variant,dtype,shape,bytes,time_us\n";
  for (int size = 1 << 16; size < 1 << 26; size *= 2) {
    rows += fmt::format("layer_norm,forward w1024,fp32,e{},{},{}\n", size, 8 * size, size / 2.5e5 + 4);
  }
  const std::string vectors = folder.put("vectors.csv", rows);
  const Ended both = installed.measure({kernels, vectors});
  CAPTURE(both.err);
  REQUIRE(both.code == 0);
  CHECK(contains(line_with(both.out, "layer_norm"), " 10 "));
  CHECK(folder.names("out") == std::set<std::string>{"kernels.csv", "my_gpu.yaml", "vectors.csv"});
  const std::string profile = content(folder / "out/my_gpu.yaml");
  CHECK(contains(profile, "\nkernels: kernels.csv\nvector_kernels: vectors.csv\n"));

  // both tables go with a profile that starts from this one and has neither of its own
  const Ended scaled =
      installed.run({"calibrate", "gpu", "v100_vector.csv", "--specification", folder / "out/my_gpu.yaml",
                     "--name", "other", "--out", folder / "more"});
  CAPTURE(scaled.err);
  REQUIRE(scaled.code == 0);
  CHECK(folder.names("more") ==
        std::set<std::string>{"kernels.csv", "other.yaml", "v100_vector.csv", "vectors.csv"});
  CHECK(step_time_on(folder / "more/other.yaml", installed) > 0);
}

TEST_CASE("a profile is scaled from another GPU's, with the errors of those that can be checked") {
  const Installed installed;
  const Scratch& folder = installed.folder();
  const Ended ended = installed.run({"calibrate", "gpu", "--scale-from", "v100_sxm2_16gb", "--specification",
                                     "v100s_pcie_32gb", "--out", folder / "out"});
  CAPTURE(ended.err);
  REQUIRE(ended.code == 0);
  CHECK(contains(ended.out, "scaling from v100_sxm2_16gb"));
  CHECK_FALSE(line_with(ended.out, "gemm fp32 of p100_sxm2_16gb").empty());
  CHECK_FALSE(line_with(ended.out, "gemm fp16 of t4").empty());
  CHECK(content(folder / "out/v100s_pcie_32gb.yaml") ==
        content(TRAINYARD_SOURCE_DIR "/platforms/gpus/v100s_pcie_32gb.yaml"));
}

TEST_CASE("a calibration whose profile has no name, or nothing to start from, is a wrong command line") {
  const Installed installed;
  const std::string recording = installed.folder().put("r.csv", small_recording());
  const Ended nameless = installed.run({"calibrate", "gpu", recording});
  CHECK(nameless.code == 2);
  CHECK(contains(nameless.err, "--name NAME (or --specification GPU)"));
  const Ended scaled = installed.measure({"--scale-from", "t4"});
  CHECK(scaled.code == 2);
  CHECK(contains(scaled.err, "--specification"));
  CHECK(installed.run({"calibrate"}).code == 2);
  const Ended wrong_name = installed.run({"calibrate", "gpu", recording, "--name", "my/gpu.v1"});
  CHECK(wrong_name.code == 2);
  CHECK(contains(wrong_name.err, "'my/gpu.v1' is not a name"));
  CHECK(installed.measure({recording, "--specification", "v100"}).code == 3);
  CHECK(installed.left_in_out().empty());
  installed.put_kernel_program("exit 0\n");
  const Ended seconds = installed.measure({"--seconds", "5"});
  CHECK(seconds.code != 0);
  CHECK(contains(seconds.err, "--seconds"));
  CHECK_FALSE(installed.has("calls"));
}

TEST_CASE("--keep limits the products that stay beside the profile") {
  const Installed installed;
  const Scratch& folder = installed.folder();
  const std::string recording = folder.put("my.csv", small_recording());
  std::vector<std::string> command{"calibrate", "gpu", recording, "--name",      "my_gpu",
                                   "--keep",    "10",  "--out",   folder / "out"};
  REQUIRE(installed.run(command).code == 0);
  CHECK(folder.names("out") == std::set<std::string>{"my_gpu.yaml", "my_kernels.csv"});
  CHECK(contains(content(folder / "out/my_gpu.yaml"), "kernels: my_kernels.csv"));
  const auto products_beside = [&] {
    const std::string table = content(folder / "out/my_kernels.csv");
    std::size_t count = 0;
    for (std::size_t at = table.find("\ngemm,"); at != std::string::npos; at = table.find("\ngemm,", at + 1))
      ++count;
    return count;
  };
  CHECK(products_beside() == 10);
  CHECK(step_time_on(folder / "out/my_gpu.yaml", installed) > 0);

  command[6] = "12";
  CHECK(installed.run(command).code == 5);
  CHECK(products_beside() == 10);
  command.emplace_back("--force");
  CHECK(installed.run(command).code == 0);
  CHECK(products_beside() == 12);
  command[6] = "0";
  CHECK(installed.run(command).code == 2);
  CHECK(installed
            .run({"calibrate", "gpu", "--specification", "t4", "--scale-from", "v100_sxm2_16gb", "--keep",
                  "10", "--out", folder / "out2"})
            .code == 2);
}

TEST_CASE("the shipped constants of NCCL come out of the shipped curves, to the byte") {
  const Scratch scratch;
  const std::string out = scratch / "nccl.yaml";
  REQUIRE(run_program({"calibrate", "collectives", "--skip-left-out", "-o", out}).code == 0);
  CHECK(content(out) == content(std::string(TRAINYARD_SOURCE_DIR) + "/platforms/protocols/nccl.yaml"));
}

TEST_CASE("the program that measures a host is printed or written, and costs become a key of the platform") {
  const Scratch scratch;
  const Ended printed = run_program({"calibrate", "host"});
  CHECK(printed.code == 0);
  CHECK(contains(printed.out, "REFERENCE_US = {\"add_\": 10.71, "));
  REQUIRE(run_program({"calibrate", "host", "-o", scratch / "host_costs.py"}).code == 0);
  CHECK(content(scratch / "host_costs.py") == printed.out);
  CHECK(run_program({"calibrate", "host", "-o", scratch / "host_costs.py"}).code == 5);
  const std::string costs = scratch.put(
      "costs.csv",
      "name,seconds\nadd_,21.42e-6\nmul,24.40e-6\nmm,39.14e-6\ncopy_dtype,25.82e-6\nview,5.20e-6\n"
      "transpose,4.78e-6\nlinear_grad,77.64e-6\nlayer_norm_grad,45.24e-6\n");
  CHECK(run_program({"calibrate", "host", costs}).out ==
        "host: {launch: {value: 2, measured: \"costs.csv, 8 operations\"}}\n");
  CHECK(run_program({"calibrate", "host", costs, "-o", scratch / "other.py"}).code == 2);
}
