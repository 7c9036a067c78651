#include "rules/run_rules.hpp"

#include "errors_of.hpp"
#include "published/case.hpp"
#include "published/match_rules.hpp"
#include "published/own_rules.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

using namespace trainyard;

TEST_CASE("systems that nobody here has seen meet the shipped rules by their columns") {
  const auto& [machines, rules] = rules_shipped_as("published");
  const auto experiment_of = [&](const Cells& cells) {
    const auto data = data_of(rows_of(run_line(cells)), machines, rules);
    const auto run = case_of(data, data->rows.front());
    if (const auto* reason = std::get_if<std::string>(&run)) return *reason;
    const auto& known = std::get<Case>(run);
    CHECK(first_match(rules.families, *known.row) != nullptr);
    InputFiles files;
    const ResolvedExperiment resolved = inputs_of(testing::shipped_catalogue(), known, known.machine, files);
    return fmt::format("{} {} {} {}", known.machine->platform, resolved.model->name, resolved.stack.name,
                       resolved.cluster->ranks());
  };
  CHECK(experiment_of({{"system", "the box of an institute"},
                       {"gpu", "Tesla V100-SXM2-32GB"},
                       {"framework", "PyTorch 2.1 DDP"},
                       {"model", "ResNet-50 v1.5"},
                       {"gpus_total", "8"},
                       {"year", "2024"}}) == "dgx1v resnet50 pytorch_ddp 8");
  CHECK(experiment_of({{"system", "another"},
                       {"gpu", "A100-SXM4-80GB"},
                       {"interconnect_intra", "NVSwitch"},
                       {"framework", "Horovod 0.27"},
                       {"model", "BERT-large pretrain"},
                       {"seq_len", "512"},
                       {"precision", "amp"},
                       {"batch_per_gpu", "8"},
                       {"unit", "sequences/s"},
                       {"gpus_total", "4"},
                       {"year", "2024"}}) == "dgx_a100 bert_large horovod 4");
  CHECK(
      experiment_of({{"gpu", "MI250X"}, {"model", "ResNet-50"}, {"interconnect_intra", "Infinity Fabric"}}) ==
      "no rule matches the machine");
}

TEST_CASE("keys that rules set must exist, in the experiment and in the files that it names") {
  const auto diagnostics = errors_of([&] {
    load_run_rules(config::parse("own.yaml", R"(name: own
models:
  - {when: {}, model: bert_base, set: {model.bert.sequence_length: "128", model.bert.sequence_lenght: "128"}}
stacks:
  - {when: {}, stack: pytorch_ddp, set: {sync.kind: all_reduce, sync.shard: "{servers}"}}
  - {when: {}, stack: pytorch_ddp, set: {stack.overlap: maybe}}
  - {when: {}, stack: tf_parameter_server, set: {platform.fabric.transprt: tcp}}
families: []
)"),
                   testing::shipped_catalogue());
  });
  REQUIRE(diagnostics.size() == 4);
  CHECK(diagnostics[0].line == 3);
  CHECK(diagnostics[0].column == 103);
  CHECK(diagnostics[0].message.find("sequence_lenght") != std::string::npos);
  CHECK(diagnostics[1].line == 5);
  CHECK(diagnostics[1].message.find("shard") != std::string::npos);
  CHECK(diagnostics[2].line == 6);
  CHECK(diagnostics[3].line == 7);
  CHECK(diagnostics[3].message.find("transprt") != std::string::npos);
}

TEST_CASE("rules set keys to numbers that follow words of the row's model") {
  const RunRules rules = load_run_rules(config::parse("own.yaml", R"(name: own
models:
  - {when: {model: [VGG]}, model: vgg16, set: {model.vgg.classes: "{model classes=}", model.vgg.image_size: "{model image=|96}"}}
stacks:
  - {when: {}, stack: pytorch_ddp}
families: []
)"),
                                        testing::shipped_catalogue());
  const auto run_of = [&](const std::string& model) {
    const auto data = data_of(rows_of(run_line({{"model", model}})), own_machines(), rules);
    return case_of(data, data->rows.front());
  };
  const auto resolved = [&](const std::string& model) {
    const Case run = std::get<Case>(run_of(model));
    InputFiles files;
    return inputs_of(testing::shipped_catalogue(), run, run.machine, files);
  };
  const ResolvedExperiment given = resolved("VGG-16 image=160 classes=77");
  CHECK(given.model->layers.front().in_shape == std::vector<int>{3, 160, 160});
  CHECK(given.model->layers.back().out_shape.back() == 77);
  CHECK(resolved("VGG-16 classes=5").model->layers.front().in_shape == std::vector<int>{3, 96, 96});
  CHECK(std::get<std::string>(run_of("VGG-16 classes=many")) ==
        "no number follows 'classes=' in the model 'VGG-16 classes=many'");
}
