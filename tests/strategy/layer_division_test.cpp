#include "strategy/layer_division.hpp"

#include "errors_of.hpp"
#include "units/ids.hpp"
#include "workload/alexnet.hpp"
#include "workload/decoder.hpp"
#include "workload/feature_tables.hpp"
#include "workload/transformer_layers.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <numeric>

using namespace trainyard;

namespace {

constexpr int replicas = 8;

ShardedModel divided(const std::vector<Layer>& layers, const std::vector<LayerRule>& rules,
                     int ranks = replicas) {
  return divide_among_replicas({.layers = layers, .transfers = {}}, rules, {ranks});
}

/// AlexNet as torchvision has it.
std::vector<Layer> alexnet() {
  return alexnet_layers({.convs = {64, 192, 384, 256, 256}, .first_padding = 2});
}

/// The head of face recognition: embeddings of 512 values, a million classes.
std::vector<Layer> face_head() {
  constexpr int classes = 1'000'000;
  return {linear_layer("embedding", 512, 512), linear_layer("fc", {1, 512, classes}, false),
          softmax_cross_entropy_layer("loss", classes)};
}

const Layer& named(const ShardedModel& model, const std::string& name) {
  return *std::ranges::find(model.layers, name, &Layer::name);
}

/// Bytes of a transfer for `batch` samples per rank.
double bytes(const Transfer& transfer, int batch) {
  return 4 * batch * transfer.elements;  // all of these models run in fp32
}

double bytes_of(const ShardedModel& model, Phase phase, Operation operation, int batch) {
  double sum = 0;
  for (const Transfer& transfer : model.transfers) {
    if (transfer.phase == phase && transfer.operation == operation) sum += bytes(transfer, batch);
  }
  return sum;
}

double parameters(const ShardedModel& model, bool are_divided) {
  double sum = 0;
  for (const Layer& layer : model.layers) {
    if (layer.summed_over.has_value() != are_divided) sum += parameter_elements(layer);
  }
  return sum;
}

std::string refusal_of(const std::vector<Layer>& layers, const std::vector<LayerRule>& rules,
                       int ranks = replicas) {
  const auto errors = errors_of([&] { static_cast<void>(divided(layers, rules, ranks)); });
  if (errors.empty()) return "";
  return errors.front().key_path + " " + facts_in(errors.front().message) + " | " + errors.front().hint;
}

}  // namespace

TEST_CASE(
    "one weird trick: the fully connected layers of AlexNet gather their inputs and reduce no gradient") {
  const ShardedModel model = divided(alexnet(), {{.match = "fc*"}});
  CHECK(parameters(model, false) == 2'469'696);
  CHECK(parameters(model, true) * replicas == 58'631'144);
  constexpr double all_inputs = 71.3e6;  // bytes
  constexpr int batch = 128;
  CHECK(bytes_of(model, Phase::forward, Operation::all_gather, batch) ==
        doctest::Approx(all_inputs).epsilon(1e-3));
  CHECK(bytes_of(model, Phase::forward, Operation::all_gather, batch) ==
        replicas * batch * ((9216 + 4096 + 4096) * 4.0 + 8));  // and the labels
  CHECK(bytes_of(model, Phase::backward, Operation::reduce_scatter, batch) ==
        replicas * batch * (9216 + 4096 + 4096) * 4.0);
  CHECK(bytes_of(model, Phase::forward, Operation::all_reduce, batch) == 3 * replicas * batch * 4.0);
  CHECK(model.transfers.size() == 10);
}

TEST_CASE("a rank computes an equal share of a divided layer for the samples of all replicas") {
  const std::vector<Layer> whole = alexnet();
  const ShardedModel model = divided(whole, {{.match = "fc*"}});
  for (const Layer& layer : whole) {
    const Layer& part = named(model, layer.name);
    CHECK(part.forward_macs == layer.forward_macs);
    CHECK(part.forward_flops == layer.forward_flops);
    CHECK(part.backward_flops == layer.backward_flops);
    CHECK(part.out_elements == layer.out_elements);
  }
  CHECK(named(model, "fc6").gemm == LayerGemm{1, replicas, 4096 / replicas, 9216, true});
  CHECK(named(model, "fc6").saved_elements == replicas * 9216);
}

TEST_CASE("face recognition gathers embeddings and labels, and three values per sample of its loss") {
  const ShardedModel model = divided(face_head(), {{.match = "fc"}});
  constexpr int batch = 128;
  std::vector<double> gathered;
  for (const Transfer& transfer : model.transfers) {
    if (transfer.operation == Operation::all_gather) gathered.push_back(bytes(transfer, batch));
    if (transfer.operation == Operation::all_reduce) CHECK(bytes(transfer, batch) == replicas * batch * 4.0);
  }
  CHECK(gathered == std::vector<double>{2'097'152, replicas * batch * 8.0});
  CHECK(std::ranges::count(model.transfers, Operation::all_reduce, &Transfer::operation) == 3);
  CHECK(4 * batch * named(model, "fc").out_elements == 512e6);  // logits
  CHECK(parameter_elements(named(model, "fc")) * replicas == 512e6);
  CHECK_FALSE(named(model, "fc").summed_over);
  CHECK(named(model, "embedding").summed_over == Axis::data);
}

TEST_CASE("drawn classes: products, logits and softmax of a tenth, parameters of all") {
  const ShardedModel model = divided(face_head(), {{.match = "fc", .sample = 0.1}});
  constexpr int batch = 128;
  constexpr int classes = 1'000'000;
  const Layer& fc = named(model, "fc");
  CHECK(fc.gemm == LayerGemm{1, replicas, classes / replicas / 10, 512, true});
  CHECK(4 * batch * fc.out_elements == 51.2e6);  // logits
  CHECK(4 * batch * named(model, "loss").saved_elements == 51.2e6);
  CHECK(named(model, "loss").in_shape.back() == classes / replicas / 10);
  CHECK(parameter_elements(fc) * replicas == 512e6);
  CHECK(fc.drawn == 0.1);
  const ShardedModel all = divided(face_head(), {{.match = "fc"}});
  for (const Operation operation :
       {Operation::all_gather, Operation::reduce_scatter, Operation::all_reduce, Operation::all_to_all}) {
    for (const Phase phase : {Phase::forward, Phase::backward})
      CHECK(bytes_of(model, phase, operation, batch) == bytes_of(all, phase, operation, batch));
  }
  CHECK(divided(face_head(), {{.match = "fc", .sample = 1}}).transfers == all.transfers);
}

TEST_CASE("ranks normalise and shift their share of the classes") {
  std::vector<Layer> head = face_head();
  head[1].normalises_weights = true;
  head.insert(head.end() - 1, margin_layer("margin", {1'000'000}));
  const ShardedModel model = divided(head, {{.match = "fc"}});
  CHECK(named(model, "fc").normalises_weights);
  CHECK(named(model, "margin").in_elements ==
        1'000'000);  // of the samples of 8 ranks an eighth of the classes
  CHECK(named(model, "margin").in_shape.back() == 1'000'000 / replicas);
  CHECK(model.transfers.size() == divided(face_head(), {{.match = "fc"}}).transfers.size());
}

TEST_CASE("a number of drawn classes that is no whole one is rounded down") {
  const ShardedModel model = divided({linear_layer("fc", 512, 1000)}, {{.match = "fc", .sample = 0.1}}, 3);
  CHECK(named(model, "fc").gemm.n == 33);  // of 334
  CHECK(parameter_elements(named(model, "fc")) == 334 * 513);
}

TEST_CASE("the loss behind a divided layer works on a rank's columns of all samples") {
  const ShardedModel model = divided(face_head(), {{.match = "fc"}});
  const Layer whole = face_head().back();
  const Layer& loss = named(model, "loss");
  CHECK(loss.in_elements == whole.in_elements);
  CHECK(loss.saved_elements == whole.saved_elements);
  CHECK(loss.backward_rw_elements == whole.backward_rw_elements);
  CHECK(loss.in_shape.back() == whole.in_shape.back() / replicas);
}

TEST_CASE("in turns layers have the samples of one replica, and no exchange of the first one's inputs") {
  const ShardedModel model = divided(alexnet(), {{.match = "fc*", .turns = LayerTurns::by_slice}});
  CHECK(named(model, "fc6").gemm == LayerGemm{1, 1, 4096 / replicas, 9216, true});
  CHECK(named(model, "fc6").saved_elements == 4 * 9216);
  CHECK(named(model, "fc7").saved_elements == 4096);
  CHECK(bytes_of(model, Phase::forward, Operation::all_gather, 1) == (4096 + 4096) * 4);
  CHECK(bytes_of(model, Phase::backward, Operation::reduce_scatter, 1) == (4096 + 4096) * 4);
  CHECK(bytes_of(model, Phase::forward, Operation::all_reduce, 1) == 3 * 4);
  CHECK(parameters(model, true) * replicas == 58'631'144);
}

TEST_CASE("the tables of DLRM: every rank gets the vectors of its own samples from all others") {
  constexpr int tables = 26;
  constexpr int features = 128;
  std::vector<Layer> layers;
  for (int i = 0; i < tables; ++i)
    layers.push_back(embedding_layer("table" + std::to_string(i), {1, 1'000'000, features}));
  layers.push_back(linear_layer("top", tables * features, 512));
  const ShardedModel model = divided(layers, {{.match = "table*"}});
  constexpr double global_batch = 65536;
  constexpr double fp16 = 2;
  double vectors = 0;
  for (const Transfer& transfer : model.transfers) {
    if (transfer.operation == Operation::all_to_all && transfer.phase == Phase::forward)
      vectors += fp16 * global_batch * transfer.elements;
  }
  CHECK(vectors == 436'207'616);
  CHECK(bytes_of(model, Phase::forward, Operation::all_to_all, 1) ==
        bytes_of(model, Phase::backward, Operation::all_to_all, 1));
  CHECK(parameter_elements(model.layers.front()) == 1'000'000 * features / replicas);
  CHECK(model.layers.front().out_elements == features);
  CHECK(named(model, "top").summed_over == Axis::data);
}

TEST_CASE("a table divided by rows sums the vectors of all ranks") {
  const std::vector<Layer> layers{embedding_layer("table", {1, 1001, 64}), linear_layer("top", 64, 8)};
  const ShardedModel model = divided(layers, {{.match = "table", .split = LayerSplit::rows}});
  CHECK(parameter_elements(model.layers.front()) == 126 * 64);  // 1001 rows, padded to 1008
  CHECK(bytes_of(model, Phase::forward, Operation::reduce_scatter, 1) == 4 * replicas * 64);
  CHECK(bytes_of(model, Phase::backward, Operation::all_gather, 1) == 4 * replicas * 64);
  CHECK(bytes_of(model, Phase::forward, Operation::all_gather, 1) == replicas * 8);
}

TEST_CASE("several tables with sparse gradients are divided by features or by rows") {
  const std::vector<Layer> layers{
      tables_layer(
          "tables",
          {.entries = {1001, 40}, .features = 64, .lookups = 3, .is_summed = true, .is_sparse = true}),
      linear_layer("top", 128, 8)};
  const ShardedModel columns = divided(layers, {{.match = "tables"}});
  const Layer& share = columns.layers.front();
  CHECK(share.in_shape == std::vector<int>{replicas * 2 * 3});
  CHECK(share.out_shape == std::vector<int>{replicas * 2, 8});
  CHECK(parameter_elements(share) == 1041 * 8);
  CHECK(share.parameters.size() == 2);
  CHECK(share.sparse_elements == replicas * 3 * 8);
  CHECK(gradient_elements(share, 2) == 2 * replicas * 3 * 8 + 40 * 8);
  CHECK(bytes_of(columns, Phase::forward, Operation::all_gather, 1) == replicas * 2 * 3 * 8);
  CHECK(bytes_of(columns, Phase::forward, Operation::all_to_all, 1) == 4 * 2 * 64);
  CHECK(bytes_of(columns, Phase::backward, Operation::all_to_all, 1) == 4 * 2 * 64);
  const ShardedModel rows = divided(layers, {{.match = "tables", .split = LayerSplit::rows}});
  CHECK(parameter_elements(rows.layers.front()) == (126 + 5) * 64);
  CHECK(rows.layers.front().sparse_elements == 3 * 64);  // a share of the rows of all samples
}

TEST_CASE("ranks with hash tables have all rows each, a part of the keys, and no indices to exchange") {
  const std::vector<Layer> layers{
      tables_layer(
          "tables",
          {.entries = {1001}, .features = 64, .lookups = 3, .is_sparse = true, .most_frequent = 0.5}),
      linear_layer("top", 192, 8)};
  const ShardedModel rows = divided(layers, {{.match = "tables", .split = LayerSplit::rows}});
  const ShardedModel hash = divided(layers, {{.match = "tables", .split = LayerSplit::hash}});
  const Layer& share = hash.layers.front();
  CHECK(parameter_elements(share) == 1001 * 64);
  CHECK_FALSE(share.summed_over.has_value());
  CHECK(share.in_elements == 3);
  CHECK(share.sparse_elements == rows.layers.front().sparse_elements);
  CHECK(share.repeated_rows == 0.5 * replicas);  // of the samples of all
  CHECK(bytes_of(hash, Phase::forward, Operation::all_gather, 1) == 0);
  CHECK(bytes_of(hash, Phase::forward, Operation::reduce_scatter, 1) ==
        bytes_of(rows, Phase::forward, Operation::reduce_scatter, 1));
  CHECK(bytes_of(hash, Phase::backward, Operation::all_gather, 1) == 4 * replicas * 3 * 64);
}

TEST_CASE("a whole layer behind a divided one gets its own samples back") {
  const ShardedModel model = divided(alexnet(), {{.match = "fc6"}});
  std::vector<std::string> found;
  for (const Transfer& transfer : model.transfers) {
    if (transfer.operation == Operation::all_to_all)
      found.push_back(model.layers[at(transfer.layer)].name + " " + std::to_string(transfer.elements));
  }
  CHECK(found == std::vector<std::string>{"fc7 4096.000000", "fc7 4096.000000"});
}

TEST_CASE("one replica divides nothing") {
  const ShardedModel model = divided(alexnet(), {{.match = "fc*"}}, 1);
  CHECK(model.transfers.empty());
  CHECK(parameters(model, true) == 0);
}

TEST_CASE("one replica draws, and exchanges nothing") {
  const std::vector<LayerRule> rules{{.match = "fc8", .sample = 0.1}};
  const ShardedModel model = divided(alexnet(), rules, 1);
  CHECK(model.transfers.empty());
  CHECK(parameters(model, true) == 0);
  CHECK(named(model, "fc8").drawn == 0.1);
  CHECK(named(model, "fc8").gemm.n == 100);
  CHECK(parameter_elements(named(model, "fc8")) == 1000 * 4097);
  CHECK(refusal_of(alexnet(), {{.match = "fc7", .sample = 0.1}}, 1) ==
        refusal_of(alexnet(), {{.match = "fc7", .sample = 0.1}}));
}

TEST_CASE("the least sample that a hint names draws one output") {
  constexpr int ranks = 9;  // 112 columns of 1000 each: 1/112 = 0.00893
  CHECK(refusal_of(alexnet(), {{.match = "fc8", .sample = 0.001}}, ranks).ends_with("sample: 0.009 or more"));
  CHECK(named(divided(alexnet(), {{.match = "fc8", .sample = 0.009}}, ranks), "fc8").gemm.n == 1);
}

TEST_CASE("a rule that counts for no layer is refused") {
  CHECK(refusal_of(alexnet(), {{.match = "fc*"}, {.match = "fc8", .sample = 0.5}}) ==
        "parallelism.layers[1].match 'fc8' 'fc*' 'fc8' | leave it out, or put it before 'fc*'");
  CHECK(refusal_of(alexnet(), {{.match = "fc8", .sample = 0.5}, {.match = "fc*"}}).empty());
}

TEST_CASE("groups that hold copies sum the gradients of their parts") {
  ShardedModel model = divide_among_replicas({.layers = alexnet(), .transfers = {}}, {{.match = "fc*"}},
                                             {.count = replicas, .has_copies = true});
  for (const Transfer& transfer : model.transfers) CHECK(transfer.axis == Axis::layer);
  for (const char* layer : {"fc6", "fc7", "fc8"}) CHECK(named(model, layer).summed_over == Axis::layer_data);
  CHECK(named(model, "conv0").summed_over == Axis::data);
  const ShardedModel alone = divided(alexnet(), {{.match = "fc*"}});
  for (std::size_t i = 0; i < model.transfers.size(); ++i) {
    model.transfers[i].axis = Axis::data;
    CHECK(model.transfers[i] == alone.transfers[i]);
  }
}

TEST_CASE("rules that cannot hold are refused at their key") {
  CHECK(refusal_of(alexnet(), {{.match = "dense*"}}) ==
        "parallelism.layers[0].match 'dense*' | such as match: fc8");
  CHECK(refusal_of(alexnet(), {{.match = "conv1"}}) == "parallelism.layers[0].match 'conv1' | split: space");
  CHECK(refusal_of(alexnet(), {{.match = "fc6", .split = LayerSplit::rows}}) ==
        "parallelism.layers[0].split 'fc6' | split: columns");
  CHECK(refusal_of(face_head(), {{.match = "*", .sample = 0.1}}) ==
        "parallelism.layers[0].match 'loss' softmax_xent | match linear layers and embedding tables");
  CHECK(refusal_of(alexnet(), {{.match = "fc*", .sample = 0.1}}) ==
        "parallelism.layers[0].sample 'fc7' | sample: only for the last linear layer, in a rule of its own");
  CHECK(refusal_of(alexnet(), {{.match = "fc7", .sample = 0.1}}) ==
        "parallelism.layers[0].sample 'fc8' | sample: only for the last linear layer before the loss");
  CHECK(refusal_of(alexnet(), {{.match = "fc8", .sample = 0.001}}) ==
        "parallelism.layers[0].sample 'fc8' rank's 125 | sample: 0.008 or more");
  const std::vector<Layer> look_up{embedding_layer("table", {1, 1000, 64}), linear_layer("top", 64, 8)};
  CHECK(refusal_of(look_up, {{.match = "table", .turns = LayerTurns::by_replica}}) ==
        "parallelism.layers[0].turns 'table' | turns: none, in a rule of its own");
  CHECK(refusal_of(look_up, {{.match = "table", .sample = 0.1}}) ==
        "parallelism.layers[0].sample 'table' | sample: 1, in a rule of its own");
  Layer positions = added_embedding_layer("positions", {16, 16, 64});
  positions.split = TensorSplit::none;  // as in a list of layers
  CHECK(refusal_of({positions, linear_layer("top", {16, 64, 8})}, {{.match = "positions"}}) ==
        "parallelism.layers[0].match 'positions' | match linear layers and embedding tables");
  DecoderHyperparameters gpt;
  gpt.layers = 1;
  gpt.hidden = 64;
  gpt.heads = 4;
  gpt.vocabulary = 128;
  gpt.sequence_length = 16;
  for (const char* table : {"lm_head", "wte"}) {
    CHECK(refusal_of(decoder_layers(gpt), {{.match = table}}) ==
          fmt::format(
              "parallelism.layers[0].match '{}' | use a model whose last projection has weights of its own",
              table));
  }
  CHECK(refusal_of(decoder_layers(gpt), {{.match = "h0.attn.proj"}}).starts_with("parallelism.layers"));
}
