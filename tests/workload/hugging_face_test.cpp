#include "workload/hugging_face.hpp"

#include "hugging_face_models.hpp"
#include "shipped_hugging_face_models.hpp"
#include "shipped_model.hpp"
#include "workload/hugging_face_kinds.hpp"
#include "workload/model_file.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <set>
#include <string>
#include <vector>

using namespace trainyard;

namespace {

config::Document converted(std::string_view keys, const std::string& file = "models/tiny/config.json") {
  const std::string text = fmt::format("{{\"architectures\": [\"X\"], {}}}", keys);
  return from_hugging_face(config::parse(file, text, {config::FileFormat::hugging_face_model}));
}

/// With line ends between keys, so that places can be told apart.
config::Document on_lines(std::vector<std::string> keys) {
  std::string text = "{\n";
  for (const std::string& key : keys) text += "  " + key + ",\n";
  return from_hugging_face(config::parse("models/tiny/config.json",
                                         text + "  \"transformers_version\": \"4\"\n}",
                                         {config::FileFormat::hugging_face_model}));
}

double parameters_of(const config::Document& document) {
  return totals(load_model(document).layers).parameters;
}

std::vector<std::string> keys_of(const std::vector<Diagnostic>& diagnostics) {
  std::vector<std::string> keys;
  for (const Diagnostic& diagnostic : diagnostics) keys.push_back(diagnostic.key_path);
  return keys;
}

Diagnostic error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const InputError& error) {
    return error.diagnostics().front();
  }
  FAIL("no error");
  return {};
}

const std::string small_llama =
    R"("model_type": "llama", "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 6, )"
    R"("num_attention_heads": 4, "vocab_size": 100)";

}  // namespace

TEST_CASE("models of Hugging Face have the parameters that others publish, to the last one") {
  CHECK(testing::hugging_face_models.size() >= 80);
  for (const testing::HuggingFaceModel& model : testing::hugging_face_models) {
    INFO(model.name, " (", model.source, ")");
    CHECK(parameters_of(converted(model.keys)) == model.parameters);
  }
}

TEST_CASE("shipped models are those of their configurations on the hub") {
  std::vector<testing::HuggingFaceModel> published(testing::hugging_face_models.begin(),
                                                   testing::hugging_face_models.end());
  published.insert(published.end(), testing::more_hugging_face_models.begin(),
                   testing::more_hugging_face_models.end());
  for (const auto& [name, on_hub] : testing::shipped_hugging_face_models) {
    INFO(name, " (", on_hub, ")");
    const auto found = std::ranges::find(published, on_hub, &testing::HuggingFaceModel::name);
    REQUIRE(found != published.end());
    const Model shipped = testing::shipped_model(std::string(name));
    CHECK(totals(shipped.layers).parameters == found->parameters);
    config::Document document = converted(found->keys);
    config::set(document, "decoder.sequence_length", fmt::format("{}", *shipped.sequence_length));
    const Model model = load_model(document);
    REQUIRE(model.layers.size() == shipped.layers.size());
    for (std::size_t i = 0; i < model.layers.size(); ++i) {
      INFO(model.layers[i].name);
      CHECK(do_the_same(model.layers[i], shipped.layers[i]));
    }
  }
}

TEST_CASE("the table of published models has every kind that can be read") {
  std::set<std::string> missing;
  for (const HuggingFaceKind& kind : hugging_face_kinds()) {
    const std::string key = fmt::format("\": \"{}\"", kind.model_type);
    const auto has = [&](const testing::HuggingFaceModel& model) {
      return model.keys.find(key) != std::string::npos;
    };
    if (std::ranges::none_of(testing::hugging_face_models, has) &&
        std::ranges::none_of(testing::more_hugging_face_models, has))
      missing.emplace(kind.model_type);
  }
  CHECK(missing == std::set<std::string>{});
}

TEST_CASE("a key that is not known is a warning with its name and place, one without effect is none") {
  const config::Document document =
      on_lines({small_llama, R"("rope_theta": 1e4)", R"("experts_of_light": 8)"});
  std::vector<Diagnostic> warnings;
  load_model(document, &warnings);
  REQUIRE(keys_of(warnings) == std::vector<std::string>{"experts_of_light"});
  CHECK(warnings.front().severity == Severity::warning);
  CHECK(warnings.front().file == "models/tiny/config.json");
  CHECK(warnings.front().line == 4);
  CHECK(warnings.front().hint.find("larger") != std::string::npos);
  CHECK(keys_of(converted(small_llama + R"(, "of_nothing": null)").warnings).empty());
}

TEST_CASE("errors of a configuration point at its keys") {
  const Diagnostic unknown = error_of([] { converted(R"("model_type": "lama", "hidden_size": 64)"); });
  CHECK(unknown.message.find("'lama'") != std::string::npos);
  CHECK(unknown.hint == "did you mean 'llama'?");
  const Diagnostic type = error_of([] {
    on_lines({small_llama, R"("num_key_value_heads": 4)", R"("attention_bias": 7)"});
  });
  CHECK(type.key_path == "attention_bias");
  CHECK(type.line == 4);
  const Diagnostic heads = error_of([] {
    load_model(on_lines({small_llama, R"("num_key_value_heads": 3)"}));
  });
  CHECK(heads.key_path == "decoder.kv_heads");
  CHECK(heads.line == 3);
  CHECK(error_of([] { converted(R"("hidden_size": 64)"); }).message == "'model_type' is missing");
}

TEST_CASE("a model is called as on the hub, as its folder, or as its file") {
  CHECK(load_model(converted(small_llama)).name == "tiny");
  CHECK(load_model(converted(small_llama, "my_net.json")).name == "my_net");
  CHECK(load_model(converted(small_llama + R"(, "_name_or_path": "some/Net-1B")")).name == "Net-1B");
}

TEST_CASE("samples have 4096 tokens at most, which is assumed unless it is set") {
  const std::string keys = small_llama + R"(, "max_position_embeddings": 131072)";
  config::Document document = converted(keys);
  std::vector<Diagnostic> warnings;
  CHECK(load_model(document, &warnings).sequence_length == 4096);
  CHECK(keys_of(warnings) == std::vector<std::string>{"decoder.sequence_length"});
  config::set(document, "decoder.sequence_length", "8192");
  warnings.clear();
  CHECK(load_model(document, &warnings).sequence_length == 8192);
  CHECK(warnings.empty());
  CHECK(load_model(converted(small_llama + R"(, "max_position_embeddings": 1024)")).sequence_length == 1024);
}

namespace {

std::vector<int> blocks_with_window(const std::string& keys, int tokens) {
  config::Document document = converted(keys);
  config::set(document, "decoder.sequence_length", std::to_string(tokens));
  std::vector<int> blocks;
  double all = 0;
  for (const Layer& layer : load_model(document).layers) {
    if (layer.kind != LayerKind::flash_attention) continue;
    if (all == 0) all = 2.0 * layer.in_shape[0] * tokens * tokens * layer.in_shape[2] / 2;
    if (layer.forward_macs < all) blocks.push_back(*layer.block);
  }
  return blocks;
}

}  // namespace

TEST_CASE("windows are those of the blocks that the configuration names") {
  const std::string sizes =
      R"("hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 6, "num_attention_heads": 4, )"
      R"("num_key_value_heads": 2, "vocab_size": 100, "sliding_window": 32, )";
  CHECK(blocks_with_window(sizes + R"("model_type": "mistral")", 128) == std::vector{0, 1, 2, 3, 4, 5});
  CHECK(blocks_with_window(sizes + R"("model_type": "gemma2")", 128) == std::vector{0, 2, 4});
  CHECK(blocks_with_window(sizes + R"("model_type": "gemma3_text")", 128) == std::vector{0, 1, 2, 3, 4});
  CHECK(blocks_with_window(
            sizes + R"("model_type": "qwen2", "use_sliding_window": true, "max_window_layers": 4)", 128) ==
        std::vector{4, 5});
  CHECK(blocks_with_window(sizes + R"("model_type": "qwen2")", 128).empty());
  CHECK(blocks_with_window(sizes + R"("model_type": "mistral")", 32).empty());
  const std::string s = R"("sliding_attention")";
  const std::string f = R"("full_attention")";
  const auto listed = [&](const std::vector<std::string>& types) {
    return blocks_with_window(
        fmt::format(R"({}"model_type": "mistral", "layer_types": [{}])", sizes, fmt::join(types, ", ")), 128);
  };
  CHECK(listed({s, f, s, f, s, f}) == std::vector{0, 2, 4});
  CHECK(listed({f, s, s, s, s, f}) == std::vector{1, 2, 3, 4});
  CHECK(listed({f, f, f, f, f, f}).empty());
}

TEST_CASE("what a model has besides its decoder of texts is named") {
  const config::Document document = converted(
      R"("model_type": "gemma3", "text_config": {"model_type": "gemma3_text", "num_hidden_layers": 2}, )"
      R"("vision_config": {"hidden_size": 1152})");
  CHECK(std::ranges::count(keys_of(document.warnings), "text_config") == 1);
  const config::Document predicts =
      converted(R"("model_type": "deepseek_v3", "hidden_size": 7168, "num_nextn_predict_layers": 1)");
  CHECK(std::ranges::count(keys_of(predicts.warnings), "num_nextn_predict_layers") == 1);
}

TEST_CASE("the head of an encoder is that of its class") {
  const std::string bert = R"({"model_type": "bert", "architectures": ["Bert)";
  const auto of_class = [&](const std::string& task) {
    return from_hugging_face(
        config::parse("bert/config.json", bert + task + "\"]}", {config::FileFormat::hugging_face_model}));
  };
  CHECK(parameters_of(of_class("ForMaskedLM")) == 109'514'298);  // bert-base-uncased's own class
  CHECK(parameters_of(of_class("ForPreTraining")) == 110'106'428);
  CHECK(of_class("ForMaskedLM").warnings.empty());
  CHECK(of_class("Model").warnings.empty());
  CHECK(keys_of(of_class("ForSequenceClassification").warnings) == std::vector<std::string>{"architectures"});
}

TEST_CASE("keys that ask for work that is not simulated are named where they ask for it") {
  const auto warned = [](const std::string& key) {
    return keys_of(converted(small_llama + ", " + key).warnings);
  };
  using Keys = std::vector<std::string>;
  CHECK(warned(R"("quantization_config": {"load_in_4bit": true})") == Keys{"quantization_config"});
  CHECK(warned(R"("add_cross_attention": true)") == Keys{"add_cross_attention"});
  CHECK(warned(R"("tie_encoder_decoder": true)") == Keys{"tie_encoder_decoder"});
  CHECK(warned(R"("pruned_heads": {"1": [0]})") == Keys{"pruned_heads"});
  CHECK(warned(R"("add_cross_attention": false, "tie_encoder_decoder": false, "pruned_heads": {})").empty());
  const std::string bert = R"("model_type": "bert", "hidden_dropout_prob": )";
  CHECK(keys_of(converted(bert + "0.0").warnings) == Keys{"hidden_dropout_prob"});
  CHECK(converted(bert + "0.1").warnings.empty());
  CHECK(keys_of(converted(R"("model_type": "bert", "position_embedding_type": "relative_key")").warnings) ==
        Keys{"position_embedding_type"});
}

TEST_CASE("eager attention has kernels of its own, all other names those of flash attention") {
  const auto softmaxes = [](const std::string& key) {
    const Model model = load_model(converted(small_llama + key));
    return std::ranges::count(model.layers, LayerKind::softmax, &Layer::kind);
  };
  CHECK(softmaxes(R"(, "_attn_implementation": "eager")") == 6);
  CHECK(softmaxes(R"(, "_attn_implementation": "sdpa")") == 0);
  CHECK(softmaxes("") == 0);
}

TEST_CASE("what a kind leaves out has the usual name of a key") {
  for (const HuggingFaceKind& kind : hugging_face_kinds()) {
    INFO(kind.model_type);
    for (std::string_view rest = kind.names; !rest.empty();) {
      const std::string_view entry = rest.substr(0, rest.find(", "));
      rest.remove_prefix(std::min(entry.size() + 2, rest.size()));
      const std::string theirs = fmt::format(", {}: ", entry.substr(0, entry.find(": ")));
      const bool is_usual_too =
          kind.names.find(": " + std::string(entry.substr(0, entry.find(": ")))) != std::string_view::npos;
      INFO(theirs);
      CHECK((is_usual_too || kind.defaults.find(theirs) == std::string_view::npos));
    }
  }
  CHECK(parameters_of(converted(R"("model_type": "mixtral")")) == 46'702'792'704);
}

TEST_CASE("two names of one key may not have different numbers") {
  const Diagnostic error = error_of([] {
    on_lines({R"("model_type": "gpt2")", R"("n_embd": 768)", R"("hidden_size": 512)"});
  });
  CHECK(error.message.find("'n_embd' and 'hidden_size'") != std::string::npos);
  CHECK(error.line == 4);
  CHECK_NOTHROW(on_lines({R"("model_type": "gpt2")", R"("n_embd": 768)", R"("hidden_size": 768)"}));
}

TEST_CASE("a decoder of texts without a kind has that of the whole model") {
  const config::Document document =
      on_lines({R"("model_type": "llama")",
                R"("text_config": {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4})"});
  CHECK(load_model(document).name == "tiny");
}

TEST_CASE("an activation that is not known is a warning, not an error") {
  const config::Document document = converted(small_llama + R"(, "hidden_act": "sine")");
  CHECK(keys_of(document.warnings) == std::vector<std::string>{"hidden_act"});
  CHECK_NOTHROW(load_model(document));
}

TEST_CASE("classes of images are those that a configuration names") {
  const std::string vit = R"("model_type": "vit", "hidden_size": 192, "num_attention_heads": 3)";
  const auto classes = [](const config::Document& document) {
    return load_model(document).layers.back().in_shape.front();
  };
  CHECK(classes(converted(vit + R"(, "id2label": {"0": "cat", "1": "dog", "2": "cow"})")) == 3);
  CHECK(classes(converted(vit + R"(, "num_labels": 10)")) == 10);
  const config::Document assumed = converted(vit);
  CHECK(classes(assumed) == 2);
  CHECK(keys_of(assumed.warnings) == std::vector<std::string>{"vit.classes"});
}

TEST_CASE("parts of models of images that are not modelled are errors at their keys") {
  const auto key = [](const std::string& keys) {
    return error_of([&] { converted(keys + R"(, "transformers_version": "4")"); }).key_path;
  };
  CHECK(key(R"("model_type": "swin", "mlp_ratio": 3.0)") == "mlp_ratio");
  CHECK(key(R"("model_type": "swin", "use_absolute_embeddings": true)") == "use_absolute_embeddings");
  CHECK(key(R"("model_type": "dinov2", "use_swiglu_ffn": true)") == "use_swiglu_ffn");
  CHECK(key(R"("model_type": "vit", "num_channels": 4)") == "num_channels");
  CHECK(key(R"("model_type": "resnet", "hidden_sizes": [64, 64, 64, 64])") == "hidden_sizes");
  CHECK(key(R"("model_type": "convnext", "layer_scale_init_value": 0.0)") == "layer_scale_init_value");
  CHECK(key(R"("model_type": "convnext", "depths": [3, "many"])") == "depths");
  CHECK(key(R"("_class_name": "UNet2DConditionModel", "down_block_types": ["AttnDownBlock2D"])") ==
        "down_block_types");
  CHECK(key(R"("_class_name": "UNet2DConditionModel", "in_channels": 9)") == "in_channels");
}

TEST_CASE("the middle block and the time of a U-Net count as in diffusers") {
  constexpr double width = 1280, text = 768, time = 1280;
  const std::string unet = R"("_class_name": "UNet2DConditionModel", "cross_attention_dim": 768)";
  const double whole = 859'520'964;  // Stable Diffusion 1.5
  const double residual = 2 * (9 * width * width + width) + time * width + width + 4 * width;
  const double layer = 6 * width + 6 * width * width + 2 * text * width + 2 * width +  // norms and attention
                       width * 8 * width + 8 * width + 4 * width * width + width;
  const double transformer = 2 * width + 2 * (width * width + width) + layer;
  CHECK(parameters_of(converted(unet + R"(, "mid_block_type": "UNetMidBlock2DCrossAttn")")) == whole);
  CHECK(parameters_of(converted(unet + R"(, "mid_block_type": null)")) == whole - 2 * residual - transformer);
  CHECK(parameters_of(converted(unet + R"(, "mid_block_type": "UNetMidBlock2D")")) ==
        whole - residual - transformer);
  const double shifted = 2 * (320 + 640 + 1280 + 1280) + 2 * 1280 + 3 * (1280 + 1280 + 640 + 320);
  CHECK(parameters_of(converted(unet + R"(, "resnet_time_scale_shift": "scale_shift")")) ==
        whole + shifted * (time + 1));
  CHECK(parameters_of(converted(unet + R"(, "norm_num_groups": 16)")) == whole);
  CHECK(parameters_of(converted(unet + R"(, "projection_class_embeddings_input_dim": 2816)")) == whole);
  const double condition = 2816 * time + time + time * time + time;
  const std::string with_condition = unet + R"(, "projection_class_embeddings_input_dim": 2816)";
  CHECK(parameters_of(converted(with_condition + R"(, "class_embed_type": "projection")")) ==
        whole + condition);
}

TEST_CASE("keys of a U-Net that do not fit together, or whose parts are not modelled, are errors at them") {
  const auto key = [](const std::string& keys) {
    return error_of([&] {
             load_model(converted(R"("_class_name": "UNet2DConditionModel", "sample_size": 64, )" + keys));
           })
        .key_path;
  };
  CHECK(key(R"("block_out_channels": [320, 640, 1280])") == "down_block_types");
  CHECK(key(R"("down_block_types": ["CrossAttnDownBlock2D", "DownBlock2D"])") == "down_block_types");
  CHECK(key(R"("up_block_types": ["UpBlock2D", "UpBlock2D", "UpBlock2D", "UpBlock2D"])") == "up_block_types");
  CHECK(key(R"("up_block_types": ["UpBlock2D"])") == "up_block_types");
  CHECK(key(R"("attention_head_dim": [5, 10, 20])") == "attention_head_dim");
  CHECK(key(R"("mid_block_type": "UNetMidBlock2DSimpleCrossAttn")") == "mid_block_type");
  CHECK(key(R"("resnet_time_scale_shift": "spatial")") == "resnet_time_scale_shift");
  CHECK(key(R"("norm_num_groups": null)") == "norm_num_groups");
  CHECK(key(R"("norm_num_groups": 48)") == "diffusion_unet.norm_groups");  // at the place of their key
  CHECK(key(R"("addition_embed_type": "text")") == "addition_embed_type");
  CHECK(key(R"("class_embed_type": "timestep")") == "class_embed_type");
  CHECK(key(R"("time_embedding_type": "fourier")") == "time_embedding_type");
  CHECK(key(R"("encoder_hid_dim": 1024)") == "encoder_hid_dim");
  CHECK(key(R"("conv_in_kernel": 5)") == "conv_in_kernel");
  CHECK(key(R"("only_cross_attention": true)") == "only_cross_attention");
}

TEST_CASE("sizes of images and latent maps that a configuration does not give are assumed in words") {
  const auto keys = [](const std::string& text) { return keys_of(converted(text).warnings); };
  const std::vector<std::string> resnet{"resnet.classes", "resnet.image_size"};
  CHECK(keys(R"("model_type": "resnet")") == resnet);
  CHECK(keys(R"("model_type": "regnet", "num_labels": 10)") == std::vector<std::string>{"regnet.image_size"});
  CHECK(keys(R"("_class_name": "UNet2DConditionModel")") ==
        std::vector<std::string>{"diffusion_unet.latent_size"});
  const config::Document given = converted(R"("model_type": "resnet", "num_labels": 10, "image_size": 96)");
  CHECK(given.warnings.empty());
  CHECK(load_model(given).layers.front().in_shape == std::vector<int>{3, 96, 96});
}
