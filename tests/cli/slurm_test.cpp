#include "process.hpp"

namespace trainyard {
namespace {

/// A name with characters that a shell or Slurm would interpret.
constexpr const char* odd = R"(it's "50%a" $x)";

/// A folder with programs that stand for Slurm's: `sbatch` notes where it was called and with what, and says
/// that it took job 7.
class NoSlurm {
public:
  explicit NoSlurm(const std::string& sbatch = "echo '7;cluster'") {
    put("sbatch", "printf '%s\\n' \"$PWD\" \"$@\" >>\"$0.log\"\n" + sbatch + "\n");
    put("scancel", "printf '%s\\n' \"$@\" >>\"$0.log\"\n");
  }
  [[nodiscard]] Ended run(const std::vector<std::string>& words) const {
    std::vector<std::string> all{"PATH=" + files_.path().string() + ":/usr/bin:/bin"};
    all.insert(all.end(), words.begin(), words.end());
    return Process(all, {}, {"/usr/bin/env", TRAINYARD_SOURCE_DIR}).wait();
  }
  [[nodiscard]] Ended sweep(const std::vector<std::string>& more) const {
    std::vector<std::string> words{TRAINYARD_PROGRAM, "sweep", "resnet50_dgx2", "--set", "gpus=1,2,99"};
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
  }
  [[nodiscard]] std::string log_of(const std::string& name) const {
    return content(files_ / (name + ".log"));
  }

private:
  void put(const std::string& name, const std::string& text) const {
    std::filesystem::permissions(files_.put(name, "#!/bin/sh\n" + text), std::filesystem::perms::owner_all);
  }
  Scratch files_;
};

}  // namespace

TEST_CASE("--slurm writes an array of shards that is requeued, and a merge behind it") {
  const Scratch files;
  const std::string dir = files / "out";
  const NoSlurm slurm;
  const Ended ended = slurm.sweep({"--out", dir, "--slurm", "--shards", "2"});
  CHECK(ended.code == 0);
  CHECK(contains(ended.out, "bash '" + dir + "/slurm/submit.sh'"));
  CHECK(slurm.log_of("sbatch").empty());
  CHECK(files.names("out/slurm") == std::set<std::string>{"array.sh", "merge.sh", "submit.sh"});
  const std::string here = "cd '" + std::filesystem::current_path().string() + "' || exit\n";
  const std::string command = here +
                              "TRAINYARD_DATA='" TRAINYARD_SOURCE_DIR "' '" TRAINYARD_PROGRAM
                              "' sweep 'resnet50_dgx2' '--set' 'gpus=1,2,99' '--out' '" +
                              dir + "'";
  CHECK(content(dir + "/slurm/array.sh") ==
        "#!/bin/bash\n"
        "#SBATCH --open-mode=append\n"
        "#SBATCH --requeue\n"
        "#SBATCH --array=1-2\n" +
            command +
            " \\\n"
            "  --shard \"$SLURM_ARRAY_TASK_ID/2\" --resume -j \"${SLURM_CPUS_ON_NODE:-1}\"\n"
            "status=$?\n"
            "# 4: some points failed; the shard holds their reasons\n"
            "[ \"$status\" -eq 4 ] || exit \"$status\"\n");
  CHECK(content(dir + "/slurm/merge.sh") ==
        "#!/bin/bash\n"
        "#SBATCH --open-mode=append\n"
        "#SBATCH --requeue\n" +
            command + " --merge --force\n");
  CHECK(contains(content(dir + "/slurm/submit.sh"), "--dependency=\"afterany:$array\" \"$@\" merge.sh"));

  SUBCASE("-j: that many processors for each task") {
    CHECK(slurm.sweep({"--out", dir, "--slurm", "-j", "8"}).code == 0);
    CHECK(
        contains(content(dir + "/slurm/array.sh"), "\n#SBATCH --array=1-1\n#SBATCH --cpus-per-task=8\ncd "));
  }
  SUBCASE("--by: the merge groups, shards do not") {
    CHECK(slurm.sweep({"--out", dir, "--slurm", "--shards", "2", "--by", "gpus"}).code == 0);
    CHECK(contains(content(dir + "/slurm/merge.sh"), command + " --merge --force --by 'gpus'\n"));
    CHECK_FALSE(contains(content(dir + "/slurm/array.sh"), "--by"));
  }
  SUBCASE("rows are printed by the merge alone") {
    CHECK(slurm.sweep({"--out", dir, "--slurm", "--json"}).code == 2);
  }
}

TEST_CASE("--slurm asks before it touches what the folder holds of another sweep") {
  const Scratch files;
  const std::string shard = files.put("shard-3-of-4.db", "kept");
  const std::vector<std::string> words{"--out", files.path().string(), "--slurm"};
  const auto with = [&](const std::string& option) {
    std::vector<std::string> all = words;
    all.push_back(option);
    return NoSlurm().sweep(all).code;
  };
  const Ended refused = NoSlurm().sweep(words);
  CHECK(refused.code == 5);
  CHECK(contains(refused.err, "'" + shard + "' exists: "));
  CHECK(with("--resume") == 0);
  CHECK(content(shard) == "kept");
  CHECK(with("--force") == 0);
  CHECK_FALSE(std::filesystem::exists(shard));
}

TEST_CASE("what --submit hands to Slurm runs, whatever the folder is called") {
  const Scratch files;
  const std::string one = files / "one";
  const std::string dir = files / odd;
  const NoSlurm slurm;
  const Ended single = slurm.sweep({"--out", one});
  CHECK(single.code == 4);
  const Ended submitted = slurm.sweep({"--out", dir, "--slurm", "--submit", "--shards", "2"});
  CHECK(submitted.code == 0);
  CHECK(submitted.out == "array 7, merge 7\n");
  const std::string logs = "--output=" + (files / R"(it's "50%%a" $x)") + "/slurm/";  // as Slurm reads it
  CHECK(slurm.log_of("sbatch") == dir + "/slurm\n--parsable\n--job-name=trainyard-resnet50_dgx2-shard\n" +
                                      logs + "shard-%a.log\narray.sh\n" + dir +
                                      "/slurm\n--parsable\n--job-name=trainyard-resnet50_dgx2-merge\n" +
                                      logs + "merge.log\n--dependency=afterany:7\nmerge.sh\n");
  for (const char* const task : {"1", "2"}) {
    CHECK(slurm.run({std::string("SLURM_ARRAY_TASK_ID=") + task, "bash", dir + "/slurm/array.sh"}).code == 0);
  }
  CHECK(slurm.run({"bash", dir + "/slurm/merge.sh"}).code == single.code);
  for (const char* const name : {"/sweep.csv", "/failures.csv", "/report.html"})
    CHECK(content(dir + name) == content(one + name));
}

TEST_CASE("a folder that Slurm cannot name is refused") {
  const Scratch files;
  const Ended ended = NoSlurm().sweep({"--out", files / "a\\b", "--slurm"});
  CHECK(ended.code == 3);
  CHECK(contains(ended.err, "a\\b/slurm' contains a backslash"));
  CHECK(files.names().empty());
}

TEST_CASE("an array whose merge is refused does not stay behind") {
  const Scratch files;
  const std::string dir = files / "out";
  const NoSlurm slurm("case $* in *afterany*) exit 1;; esac; echo 7");
  const Ended ended = slurm.sweep({"--out", dir, "--slurm", "--submit"});
  CHECK(ended.code == 5);
  CHECK(contains(ended.err, "sbatch rejected the jobs of '" + dir + "/slurm/submit.sh'"));
  CHECK(slurm.log_of("scancel") == "7\n");
}

}  // namespace trainyard
