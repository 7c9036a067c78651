#include "jobs/model_words.hpp"

#include "jobs/tool_defaults.hpp"
#include "jobs/words.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <string>

namespace trainyard::jobs {
namespace {

/// A function of the feed-forward half.
struct Activation {
  std::string_view word;
  bool is_gated;
  std::string_view function;  ///< of model.decoder.activation; empty: the family's for such a half
  std::string_view difference = {};
};

constexpr std::string_view like_silu = "the gate is SiLU here, whose kernels read and write the same bytes";
constexpr std::array activations{
    Activation{"swiglu", true, ""},
    Activation{"fast-swiglu", true, ""},
    Activation{"geglu", true, "gelu"},
    Activation{"fast-geglu", true, "gelu"},
    Activation{"quick_geglu", true, "gelu"},
    Activation{"reglu", true, "", like_silu},
    Activation{"fast-reglu", true, "", like_silu},
    Activation{"gelu", false, ""},
    Activation{"openai-gelu", false, ""},
    Activation{"fast-gelu", false, ""},
    Activation{"relu", false, "relu"},
    Activation{"silu", false, "silu"},
    Activation{"squared-relu", false, "relu", "ReLU here: a real step is longer by the squares"},
    Activation{"squared_relu", false, "relu", "ReLU here: a real step is longer by the squares"}};

class ModelWords {
public:
  ModelWords(JobDraft& draft, Tool tool) : draft_(draft), tool_(tool) {}

  void complete() {
    if (tool_ == Tool::maxtext) take_maxtext();
    take_groups();
    take_activation();
    take_position();
    take_dropouts();
    take_local_attention();
  }

private:
  /// The switch alone is one group: transformer_config.py, num_query_groups, argparse's default.
  void take_groups() {
    if (tool_ == Tool::megatron && draft_.has("@grouped"))
      draft_.assume_setting("@query_groups", "num_query_groups", "1",
                            "Megatron-LM's default (transformer_config.py)");
  }

  void take_activation() {
    const auto text = draft_.text("@activation");
    if (!text) return;
    const auto found = std::ranges::find(activations, small_letters(*text), &Activation::word);
    if (found == activations.end()) {
      draft_.unknown("@activation",
                     fmt::format("has the value {}, which is not known: GELU is taken", in_quotes(*text)));
      return;
    }
    draft_.become("@activation", "model.decoder.gated", found->is_gated ? "true" : "false");
    if (!found->function.empty())
      draft_.become("@activation", "model.decoder.activation", std::string(found->function));
    if (!found->difference.empty()) draft_.differ("@activation", std::string(found->difference));
    draft_.drop("@activation");
  }

  void take_position() {
    if (draft_.has("@no_position")) {
      if (!draft_.has("@position"))
        draft_.become("@no_position", "model.decoder.position", "none");
      else
        draft_.ignore("@no_position");
    }
    const auto text = draft_.text("@position");
    if (!text) return;
    constexpr std::array words{Meaning{"rope", "rope"},
                               Meaning{"yarn", "rope"},
                               Meaning{"mrope", "rope"},
                               Meaning{"none", "none"},
                               Meaning{"alibi", "alibi"},
                               Meaning{"learned", "learned"},
                               Meaning{"learned_absolute", "learned"},
                               Meaning{"learned_parameters", "learned"}};
    if (const auto position = meaning_of(words, *text)) {
      draft_.become("@position", "model.decoder.position", std::string(*position));
      draft_.drop("@position");
    } else {
      draft_.unknown(
          "@position",
          fmt::format("has the value {}, which is not known: learned positions are taken", in_quotes(*text)));
    }
  }

  /// Rates of 0 leave the layers out. Rates that a job does not state are 0.1 in Megatron-LM and NeMo, where
  /// the family has its dropouts.
  void take_dropouts() {
    const auto is_zero = [&](std::string_view name) {
      const auto text = draft_.text(name);
      const Parsed<double> rate = parse_number(text.value_or("0.1"));
      return rate && *rate == 0;
    };
    for (const std::string_view name : {"@hidden_dropout", "@attention_dropout"}) {
      const auto text = draft_.text(name);
      const Parsed<double> rate = parse_number(text.value_or("0"));
      if (!rate || *rate < 0 || *rate > 1)
        draft_.fail(name, fmt::format("a rate of dropout is a number from 0 to 1, not {}", in_quotes(*text)));
    }
    const bool no_hidden = is_zero("@hidden_dropout"), no_attention = is_zero("@attention_dropout");
    if (no_hidden != no_attention)
      draft_.become("@attention_dropout", "model.decoder.attention_dropout", no_attention ? "false" : "true");
    if (no_hidden) draft_.become("@hidden_dropout", "model.decoder.dropout", "false");
    if (no_hidden && no_attention) draft_.become("@attention_dropout", "model.decoder.dropout", "false");
    draft_.ignore("@hidden_dropout");
    draft_.ignore("@attention_dropout");
    draft_.drop("@hidden_dropout");
    draft_.drop("@attention_dropout");
  }

  /// The layers of Megatron-Core without Transformer Engine compute scores one by one.
  void take_local_attention() {
    const bool is_local =
        tool_ == Tool::megatron && small_letters(draft_.text("@implementation").value_or("")) == "local";
    if (is_local && !draft_.has("@attention_backend"))
      draft_.assume("model.decoder.attention", "unfused",
                    "local layers of Megatron-Core have flash attention with --use-flash-attn alone");
  }

  void take_maxtext() {
    // the name in base.yml of a model that is given by its sizes
    if (draft_.text("@model") == "default") {
      draft_.ignore("@model");
      draft_.drop("@model");
    }
    assume_default_model(draft_, tool_);
    if (const auto block = draft_.text("@decoder_block"); block && !draft_.has("@model")) {
      constexpr std::array<std::string_view, 5> like_llama{"llama2", "mistral", "mixtral", "default",
                                                           "simple"};
      if (std::ranges::find(like_llama, std::string_view(*block)) != like_llama.end())
        for (const auto& [key, value] :
             {Meaning{"norm", "rms_norm"}, Meaning{"position", "rope"}, Meaning{"bias", "false"}})
          draft_.become("@decoder_block", fmt::format("model.decoder.{}", key), std::string(value));
      else
        draft_.unknown(
            "@decoder_block",
            fmt::format("has the value {}, whose blocks are not known here: add --model", in_quotes(*block)));
    }
    draft_.ignore("@decoder_block");
    if (const auto functions = draft_.text("@activations"); functions && !draft_.has("@model"))
      draft_.become("@activations", "model.decoder.gated", contains(*functions, ",") ? "true" : "false");
    draft_.ignore("@activations");
    const Parsed<double> rate = parse_number(draft_.text("@dropout_rate").value_or("0"));
    if (draft_.has("@dropout_rate") && !draft_.has("@model"))
      draft_.become("@dropout_rate", "model.decoder.dropout", rate && *rate == 0 ? "false" : "true");
    draft_.ignore("@dropout_rate");
    for (const char* const name : {"@decoder_block", "@activations", "@dropout_rate"}) draft_.drop(name);
  }

  JobDraft& draft_;
  Tool tool_;
};

}  // namespace

void complete_model_words(JobDraft& draft, Tool tool) {
  if (tool != Tool::maxtext) assume_default_model(draft, tool);
  ModelWords(draft, tool).complete();
}

}  // namespace trainyard::jobs
