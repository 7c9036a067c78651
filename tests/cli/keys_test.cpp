// Asking without an experiment's file: options of keys, `trainyard keys`, what --set completes.

#include "process.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace trainyard;
using Json = nlohmann::json;

TEST_CASE("model and machine are enough, and the options are short for --set") {
  const Ended asked = run_program({"run", "--model", "vgg16", "--platform", "minsky", "--nodes", "4"});
  CHECK(asked.code == 0);
  CHECK(asked.out.starts_with("VGG-16 on 4 nodes of minsky, training step\n"));
  CHECK(has(asked.err, "note: batch 64 per GPU"));
  const Ended with_keys =
      run_program({"run", "--json", "--model", "vgg16", "--platform", "minsky", "--batch", "16",
                   "--precision", "fp16", "--optimizer", "sgd", "--gpus", "2", "--stack", "horovod"});
  REQUIRE(with_keys.code == 0);
  const Json summary = Json::parse(with_keys.out);
  CHECK(summary["experiment"] == "vgg16 on minsky");
  CHECK(summary["batch_per_gpu"] == 16);
  CHECK(summary["precision"] == "fp16");
  CHECK(summary["optimizer"] == "sgd");
  CHECK(summary["ranks"] == 2);
  CHECK(summary["stack"] == "horovod");
  const Ended by_set =
      run_program({"run", "--set", "model=vgg16", "--set", "platform=minsky", "--set", "nodes=4"});
  CHECK(by_set.out == asked.out);
}

TEST_CASE("titles say what ran: the experiment's name only where it runs as its file says") {
  CHECK(run_program({"run", "resnet50_dgx2"}).out.starts_with("resnet50_dgx2: ResNet-50"));
  CHECK(
      run_program({"run", "resnet50_dgx2", "--model", "vgg16"}).out.starts_with("VGG-16 on 1 node of dgx2,"));
}

TEST_CASE("a name of another kind is answered with what was probably meant") {
  const Ended ended = run_program({"run", "minsky"});
  CHECK(ended.code == 3);
  CHECK(has(ended.err, "minsky is a platform: --platform minsky --model resnet50"));
  CHECK(has(run_program({"run", "vgg16"}).err, "vgg16 is a model: --model vgg16 --platform dgx2"));
  const Ended nothing = run_program({"run"});
  CHECK(nothing.code == 2);
  CHECK(has(nothing.err, "EXPERIMENT is required, or --platform and --model"));
  CHECK(has(run_program({"run", "--platform", "dgx2"}).err, "--model NAME is required without EXPERIMENT"));
  CHECK(run_program({"run", "resnet50_dgx2", "--nodes", "2", "--set", "nodes=3"}).code == 2);
}

TEST_CASE("every command that takes an experiment takes the keys") {
  const std::vector<std::string> what{"--model", "resnet50", "--platform", "dgx2", "--batch", "16"};
  const auto with_words = [&](std::vector<std::string> words) {
    words.insert(words.end(), what.begin(), what.end());
    return run_program(words);
  };
  const Scratch scratch;
  CHECK(with_words({"memory"}).out.starts_with("ResNet-50 v1.5 on 1 node of dgx2: memory"));
  CHECK(with_words({"explain", "-j", "1"}).code == 0);
  CHECK(with_words({"trace", "-o", scratch / "t.csv"}).code == 0);
  const Ended sweep = with_words({"sweep", "--nodes", "1", "--gpus", "1,2,4"});
  CHECK(sweep.code == 0);
  CHECK(sweep.out.starts_with("sweep: 3 points\n"));
  const Ended compared = run_program({"compare", "resnet50_dgx2", "--batch", "64", "--precision", "amp"});
  CHECK(compared.code == 0);
}

TEST_CASE("a misspelt key in a sweep is one error") {
  const Ended ended = run_program({"sweep", "resnet50_dgx2", "--set", "btach_per_gpu=1,2,3"});
  CHECK(ended.code == 3);
  CHECK(ended.out.empty());
  CHECK(has(ended.err, "unknown key 'btach_per_gpu'"));
  CHECK(has(ended.err, "did you mean 'batch_per_gpu'?"));
}

TEST_CASE("keys prints keys with values, defaults and effects, by a part or a pattern") {
  const Ended nics = run_program({"keys", "node.nics"});
  CHECK(nics.code == 0);
  CHECK(has(nics.out, "keys of its platform\n\nplatform.node.nics\n"));
  CHECK(has(nics.out, "default: all"));
  CHECK(has(run_program({"keys", "sync.k*"}).out, "sync.keep\n"));
  CHECK(!has(run_program({"keys", "sync.k*"}).out, "sync.update\n"));
  CHECK(run_program({"keys", "no_such_key"}).code == 3);
  CHECK(has(run_program({"keys", "accum_freq"}).out, "also called"));
  const Json all = Json::parse(run_program({"keys", "--json"}).out).at("keys");
  CHECK(all.size() > 300);
  for (const Json& key : all) {
    CAPTURE(key.dump());
    CHECK(key["effect"].get<std::string>().size() > 5);
    CHECK(key["other_words"].is_array());
  }
}

TEST_CASE("--set completes keys, then the names that a key's value may be") {
  const auto completed = [](const std::vector<std::string>& words) {
    std::vector<std::string> all{"__complete"};
    all.insert(all.end(), words.begin(), words.end());
    return run_program(all).out;
  };
  CHECK(has(completed({"run", "resnet50_dgx2", "--set", "platform.node.ni"}), "platform.node.nics=\t"));
  CHECK(has(completed({"run", "resnet50_dgx2", "--set", "sync.kind=p"}), "sync.kind=parameter_server\n"));
  CHECK(has(completed({"run", "resnet50_dgx2", "--set", "sync.kind", "=", "p"}), "\nparameter_server\n"));
  CHECK(has(completed({"run", "--set", "model=vg"}), "model=vgg16\n"));
  CHECK(has(completed({"run", "--model", "vg"}), "vgg16\n"));
  CHECK(has(completed({"run", "--precision", "amp"}), "amp_bf16\n"));
}

TEST_CASE("topology and collective take keys of the platform") {
  const Ended one = run_program({"topology", "dgx_a100", "--set", "platform.node.nics=1"});
  CHECK(one.code == 0);
  CHECK(!has(one.out, "nic1"));
  CHECK(run_program({"topology", "dgx_a100", "--set", "nodes=1"}).code == 2);
  const auto rate = [](const char* nics) {
    const std::string key = std::string("platform.node.nics=") + nics;
    const Ended ended = run_program({"collective", "all_reduce", "--platform", "dgx_a100", "--nodes", "2",
                                     "-b", "1G", "-e", "1G", "--set", key, "--json"});
    return Json::parse(ended.out)["rows"][0]["time_s"].get<double>();
  };
  CHECK(rate("1") > 4 * rate("8"));
}
