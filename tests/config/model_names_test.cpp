#include "config/model_names.hpp"

#include "config/catalogue.hpp"
#include "errors_of.hpp"
#include "shipped_catalogue.hpp"
#include "temporary_folder.hpp"

#include <doctest/doctest.h>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

using namespace trainyard;

TEST_CASE("public names of models mean shipped ones") {
  const std::pair<const char*, const char*> names[] = {
      {"Qwen/Qwen2.5-7B-Instruct", "qwen25_7b"},
      {"Qwen/Qwen3-8B-Base", "qwen3_8b"},
      {"Qwen/Qwen3-30B-A3B-Instruct-2507", "qwen3_30b_a3b"},
      {"Qwen/Qwen2-0.5B", "qwen25_0_5b"},
      {"meta-llama/Llama-3.2-1B", "llama32_1b"},
      {"meta-llama/Meta-Llama-3-8B", "llama3_8b"},
      {"unsloth/Meta-Llama-3.1-8B-Instruct-bnb-4bit", "llama3_8b"},
      {"meta-llama/Llama-3.3-70B-Instruct", "llama3_70b"},
      {"meta-llama/Llama-4-Scout-17B-16E-Instruct", "llama4_scout"},
      {"google/gemma-2-9b-it", "gemma2_9b"},
      {"google/gemma-3-1b-pt", "gemma3_1b"},
      {"microsoft/Phi-3-mini-4k-instruct", "phi3_mini"},
      {"microsoft/phi-4", "phi4"},
      {"mistralai/Mistral-7B-v0.1", "mistral_7b"},
      {"mistralai/Mistral-7B-Instruct-v0.3", "mistral_7b_v03"},
      {"mistralai/Mistral-Nemo-Instruct-2407", "mistral_nemo"},
      {"mistralai/Mixtral-8x22B-Instruct-v0.1", "mixtral_8x22b"},
      {"openai/gpt-oss-20b", "gpt_oss_20b"},
      {"HuggingFaceTB/SmolLM2-1.7B-Instruct", "smollm2_1_7b"},
      {"TinyLlama/TinyLlama-1.1B-Chat-v1.0", "tinyllama_1_1b"},
      {"01-ai/Yi-1.5-9B-Chat", "yi_9b"},
      {"EleutherAI/pythia-1.4b-deduped", "pythia_1_4b"},
      {"tiiuae/falcon-7b-instruct", "falcon_7b"},
      {"allenai/OLMo-2-1124-13B-Instruct", "olmo2_13b"},
      {"zai-org/GLM-4-9B-0414", "glm4_9b_0414"},
      {"THUDM/glm-4-9b-chat-hf", "glm4_9b"},
      {"facebook/opt-1.3b", "opt_1_3b"},
      {"deepseek-ai/DeepSeek-R1-Distill-Qwen-7B", "qwen25_7b"},
      {"deepseek-ai/DeepSeek-V3-0324", "deepseek_v3"},
      {"torchtune.models.llama3_1.lora_llama3_1_8b", "llama3_8b"},
      {"nemo.collections.llm.gpt.model.llama.Llama3Config8B", "llama3_8b"},
      {"gpt2", "gpt2_small"},
      {"openai-community/gpt2-xl", "gpt2_xl"},
      {"google/nothing-of-ours-7b", ""}};
  for (const auto& [name, model] : names) {
    CAPTURE(name);
    CHECK(config::model_meant(testing::shipped_catalogue(), name) == model);
  }
}

TEST_CASE("the public repository of a shipped model is its name, unless a folder of the owner is there") {
  const auto found = [](const char* text, const std::filesystem::path& named_in = {}) {
    return config::find(testing::shipped_catalogue(), config::Kind::model, text, named_in);
  };
  const std::filesystem::path qwen = found("Qwen/Qwen3-8B");
  CHECK(qwen.stem() == "qwen3_8b");
  CHECK(config::is_public_name("Qwen/Qwen3-8B", qwen));
  CHECK_FALSE(config::is_public_name("qwen3_8b", qwen));
  CHECK_FALSE(config::is_public_name(qwen.string(), qwen));
  CHECK(found("Qwen/Qwen2.5-7B-Instruct").stem() == "qwen25_7b");

  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.path / "Qwen");
  for (const auto& [text, named_in] :
       {std::pair("Qwen/Qwen3-8B", folder.path / "experiment.yaml"), std::pair("./Qwen3-8B", folder.path),
        std::pair("my/models/qwen3-8b", folder.path), std::pair("Qwen/Qwen3-8B.yaml", folder.path)}) {
    CAPTURE(text);
    const auto errors = errors_of([&, text = text, named_in = named_in] { found(text, named_in); });
    REQUIRE(errors.size() == 1);
    if (std::string_view(text) != "Qwen/Qwen3-8B.yaml")
      CHECK(errors.front().hint == "the shipped model of this name is qwen3_8b");
  }
  CHECK(errors_of([&] { found("google/nothing-of-ours-7b"); }).size() == 1);
}
