#include "jobs/recompute_meaning.hpp"

#include "config/fields.hpp"
#include "jobs/words.hpp"
#include "strategy/parallelism.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard::jobs {
namespace {

/// Methods of full recomputation: "block" repeats the first layers of each stage alone, "uniform" keeps one
/// input for each group of layers (transformer_config.py, recompute_num_layers).
void take_recomputed_layers(JobDraft& draft) {
  const auto layers = draft.number("@recomputed_layers");
  const auto all = draft.number("model.decoder.layers");
  const long long chunks = std::max(1LL, draft.number("parallelism.pipeline").value_or(1)) *
                           std::max(1LL, draft.number("parallelism.virtual_stages").value_or(1));
  const bool is_block = small_letters(draft.text("@recompute_method").value_or("")) == "block";
  if (draft.text("parallelism.recompute") == "full" && layers && *layers > 0 && is_block &&
      (!all || *layers < *all / chunks))
    draft.become("@recomputed_layers", "parallelism.recompute_layers", std::to_string(*layers));
  else if (draft.text("parallelism.recompute") == "full" && layers && !is_block && *layers > 1)
    draft.differ("@recomputed_layers", "the input of each layer is kept here: a real step needs less memory");
  draft.ignore("@recomputed_layers");
  draft.ignore("@recompute_method");
}

/// torchtitan recomputes one layer in so many, or with the option "op" keeps the attention's outputs and
/// every second product.
void take_selective(JobDraft& draft) {
  if (const auto every = draft.number("@selective_option"); every && *every > 0) {
    draft.become("@checkpoint_mode", "parallelism.recompute", "full");
    draft.become("@selective_option", "parallelism.recompute_every", std::to_string(*every));
    return;
  }
  draft.become("@checkpoint_mode", "parallelism.recompute", "alternate");
}

/// The words of a list, in whatever form it is written.
std::vector<std::string> words_of(std::string text) {
  std::ranges::replace_if(
      text, [](char letter) { return std::string_view(",[]'\"").find(letter) < 5; }, ' ');
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), {}};
}

/// Parts of a block that Megatron-Core computes again: simulated ones are taken.
void take_recomputed_modules(JobDraft& draft) {
  const auto modules = draft.text("@recomputed_modules");
  if (!modules) return;
  std::vector<std::string> words = words_of(*modules);
  const auto is_other = [](const std::string& word) {
    return !config::value_named<RecomputedModule>(word).has_value();
  };
  const bool has_unknown = std::erase_if(words, is_other) > 0;
  const bool is_usual = words == std::vector<std::string>{"core_attn"};
  if (draft.text("parallelism.recompute") != "selective" || (is_usual && !has_unknown)) {
    draft.ignore("@recomputed_modules");
    return;
  }
  if (words.empty()) {
    draft.differ("@recomputed_modules",
                 "nothing is computed again here: a real step is longer and needs less memory");
    draft.drop("parallelism.recompute");
    return;
  }
  const std::string list = fmt::format("[{}]", fmt::join(words, ", "));
  if (!has_unknown) {
    draft.become("@recomputed_modules", "parallelism.recompute_modules", list);
    return;
  }
  draft.differ("@recomputed_modules",
               fmt::format("{} alone are computed again here: a real step is longer and needs less memory",
                           fmt::join(words, ", ")));
  draft.set("parallelism.recompute_modules", list);
}

}  // namespace

void take_recomputation(JobDraft& draft) {
  take_recomputed_layers(draft);
  take_recomputed_modules(draft);
  if (const auto text = draft.text("@recompute_selective"))
    draft.become("@recompute_selective", "parallelism.recompute", "selective");
  if (const auto mode = draft.text("@checkpoint_mode")) {
    if (*mode == "full")
      draft.become("@checkpoint_mode", "parallelism.recompute", "full");
    else if (*mode == "none")
      draft.ignore("@checkpoint_mode");
    else if (*mode == "selective")
      take_selective(draft);
    else
      draft.differ("@checkpoint_mode",
                   "nothing is recomputed here: a real step is longer and needs less memory");
  }
  draft.ignore("@selective_option");  // of another mode, or "op"
  if (const auto policy = draft.text("@remat")) {
    if (*policy == "full")
      draft.become("@remat", "parallelism.recompute", "full");
    else
      draft.differ("@remat", "nothing is recomputed here: a real step is longer and needs less memory");
  }
}

}  // namespace trainyard::jobs
