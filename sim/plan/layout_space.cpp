#include "plan/layout_space.hpp"

#include "config/fields.hpp"
#include "strategy/stages.hpp"
#include "units/ids.hpp"
#include "units/text.hpp"
#include "workload/transformer_layers.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <iterator>
#include <numeric>

namespace trainyard {

namespace {

constexpr std::string_view micro_batch_key = "batch_per_gpu";
constexpr int most_virtual_stages = 16;
constexpr double most_uneven = 1.25;  // blocks of the largest chunk, over the mean
constexpr int largest_number = 1'000'000;
constexpr int least_tokens = 2048;  // of a rank of a context group

int whole_number(std::string_view key, const std::string& text) {
  const Parsed<long long> number = parse_integer(text);
  if (!number || *number < 1 || *number > largest_number)
    throw InputError(fmt::format("{} is {}, not a whole number from 1 to a million", key, in_quotes(text)));
  return static_cast<int>(*number);
}

template <class E>
E named(std::string_view key, const std::string& text) {
  if (const auto value = config::value_named<E>(text)) return *value;
  throw InputError(fmt::format("{} is {}", key, in_quotes(text)),
                   fmt::format("{}", fmt::join(config::texts_of<E>(), ", ")));
}

/// One key of a layout: how its value is set and written.
struct LayoutKey {
  std::string_view key;
  std::function<void(PlanLayout&, const std::string&)> set;
  std::function<std::string(const PlanLayout&)> text;
};

LayoutKey count_key(std::string_view key, int Parallelism::*member) {
  return {key,
          [=](PlanLayout& layout, const std::string& text) {
            layout.parallelism.*member = whole_number(key, text);
          },
          [=](const PlanLayout& layout) { return std::to_string(layout.parallelism.*member); }};
}

template <class E>
LayoutKey name_key(std::string_view key, E Parallelism::*member) {
  return {
      key,
      [=](PlanLayout& layout, const std::string& text) { layout.parallelism.*member = named<E>(key, text); },
      [=](const PlanLayout& layout) { return std::string(config::name_of(layout.parallelism.*member)); }};
}

const std::vector<LayoutKey>& all_keys() {
  static const std::vector<LayoutKey> keys{
      count_key("parallelism.tensor", &Parallelism::tensor),
      count_key("parallelism.pipeline", &Parallelism::pipeline),
      count_key("parallelism.virtual_stages", &Parallelism::virtual_stages),
      {"parallelism.schedule",
       [](PlanLayout& layout, const std::string& text) {
         layout.parallelism.schedule = named<PipelineSchedule>("parallelism.schedule", text);
       },
       [](const PlanLayout& layout) {
         return std::string(config::name_of(schedule_of(layout.parallelism)));
       }},
      count_key("parallelism.context", &Parallelism::context),
      count_key("parallelism.expert", &Parallelism::expert),
      {"parallelism.sequence",
       [](PlanLayout& layout, const std::string& text) {
         if (text != "true" && text != "false")
           throw InputError("parallelism.sequence is " + in_quotes(text), "true or false");
         layout.parallelism.sequence = text == "true";
       },
       [](const PlanLayout& layout) { return std::string(layout.parallelism.sequence ? "true" : "false"); }},
      name_key("parallelism.recompute", &Parallelism::recompute),
      name_key("parallelism.shard", &Parallelism::shard),
      {micro_batch_key,
       [](PlanLayout& layout, const std::string& text) {
         layout.micro_batch = whole_number(micro_batch_key, text);
       },
       [](const PlanLayout& layout) { return std::to_string(layout.micro_batch); }},
  };
  return keys;
}

/// Follows from the axes, if these have pipelines.
constexpr std::string_view unequal_key = "parallelism.unequal_stages";

bool have_pipelines(const std::vector<LayoutAxis>& axes) {
  return std::ranges::find(axes, "parallelism.pipeline", &LayoutAxis::key) != axes.end();
}

const LayoutKey& key_named(std::string_view key) {
  return *std::ranges::find(all_keys(), key, &LayoutKey::key);
}

std::vector<std::string> texts(const std::vector<int>& numbers) {
  std::vector<std::string> all;
  for (const int number : numbers) all.push_back(std::to_string(number));
  return all;
}

/// In ascending order.
std::vector<int> divisors(int number, int most) {
  std::vector<int> all;
  for (int small = 1; small <= number / small; ++small) {
    if (number % small != 0) continue;
    all.push_back(small);
    if (small != number / small) all.push_back(number / small);
  }
  std::erase_if(all, [=](int divisor) { return divisor > most; });
  std::ranges::sort(all);
  return all;
}

std::vector<int> powers_of_two(int most) {
  std::vector<int> all;
  for (int power = 1; power <= std::max(1, most); power *= 2) all.push_back(power);
  return all;
}

/// Numbers that divide the blocks; also powers of two if stages cannot be equal for some number of them.
std::vector<int> virtual_stages(int blocks, const std::vector<int>& pipelines) {
  std::vector<int> all = divisors(blocks, most_virtual_stages);
  if (std::ranges::any_of(pipelines, [&](int stages) { return blocks % stages != 0; }))
    std::ranges::copy(powers_of_two(most_virtual_stages), std::back_inserter(all));
  std::ranges::sort(all);
  const auto repeated = std::ranges::unique(all);
  all.erase(repeated.begin(), repeated.end());
  return all;
}

template <class E>
std::vector<std::string> all_names() {
  std::vector<std::string> all;
  for (const std::string_view name : config::texts_of<E>()) all.emplace_back(name);
  return all;
}

int experts_of(const Model& model) {
  int experts = 1;
  for (const Layer& layer : model.layers) experts = std::max(experts, layer.experts);
  return experts;
}

/// The numbers of stages of the axes so far; none: 1.
std::vector<int> pipelines(const std::vector<LayoutAxis>& axes) {
  const auto axis = std::ranges::find(axes, "parallelism.pipeline", &LayoutAxis::key);
  if (axis == axes.end()) return {1};
  std::vector<int> stages;
  for (const std::string& value : axis->values) stages.push_back(whole_number(axis->key, value));
  return stages;
}

/// The default values of a key, given the axes so far. Empty: the key is not varied.
std::vector<std::string> usual_values(const ResolvedExperiment& base, std::string_view key,
                                      const std::vector<LayoutAxis>& axes, int global_batch) {
  const Model& model = *base.model;
  const int ranks = base.cluster->ranks();
  const int blocks = block_count(model.layers);
  if (key == micro_batch_key) return texts(divisors(global_batch, largest_number));
  if (key == "parallelism.shard") return all_names<Sharded>();
  const bool has_tokens = model.sequence_length.has_value();
  const bool divides_tokens =
      key == "parallelism.tensor" || key == "parallelism.sequence" || key == "parallelism.context";
  if (blocks == 0 || (divides_tokens && !has_tokens)) return {};
  if (key == "parallelism.tensor")
    return texts(divisors(std::ranges::min(base.cluster->gpus_on_node), ranks));
  if (key == "parallelism.pipeline") return texts(divisors(ranks, blocks));
  if (key == "parallelism.virtual_stages") return texts(virtual_stages(blocks, pipelines(axes)));
  if (key == "parallelism.context")
    return texts(powers_of_two(std::min(model.sequence_length.value_or(1) / least_tokens, ranks)));
  if (key == "parallelism.expert") {
    const int experts = experts_of(model);
    return experts > 1 ? texts(divisors(experts, ranks)) : std::vector<std::string>{};
  }
  if (key == "parallelism.sequence") return {"false", "true"};
  if (key != "parallelism.recompute") return {};
  if (std::ranges::any_of(model.layers, is_attention_core)) return {"none", "selective", "full"};
  return {"none", "full"};
}

/// Whether the blocks can be cut into the layout's chunks; fills in whether into unequal ones.
bool cut_blocks(int blocks, Parallelism& degrees) {
  const int chunks = degrees.pipeline * degrees.virtual_stages;
  degrees.unequal_stages = false;
  if (chunks == 1 || !degrees.stages.empty() || !degrees.first_layers.empty()) return true;
  if (blocks == 0) return false;
  if (blocks % chunks == 0) return true;
  degrees.unequal_stages = true;
  const int largest = blocks / chunks + 1;
  const bool may_be_equal = blocks % degrees.pipeline == 0;
  return !may_be_equal && chunks <= blocks + chunks_without_blocks &&
         largest * chunks <= most_uneven * blocks;
}

/// The value of `shard` for layouts in which it changes nothing: their other values would count them twice.
Sharded shard_without_copies(const std::vector<LayoutAxis>& axes, const Parallelism& own) {
  const auto axis = std::ranges::find(axes, "parallelism.shard", &LayoutAxis::key);
  if (axis == axes.end()) return own.shard;
  const std::string none(config::name_of(Sharded::none));
  const bool has_none = std::ranges::find(axis->values, none) != axis->values.end();
  return named<Sharded>(axis->key, has_none ? none : axis->values.front());
}

/// Whether the numbers divide each other; fills in the number of micro-batches and unequal stages.
bool divides(const ResolvedExperiment& base, int blocks, int experts, int global_batch, PlanLayout& layout) {
  Parallelism& degrees = layout.parallelism;
  const long long of_replica = ranks_of_replica(degrees);
  const int ranks = base.cluster->ranks();
  if (of_replica > ranks || ranks % of_replica != 0) return false;
  const long long replicas = ranks / of_replica;
  const long long at_once = replicas * layout.micro_batch;
  if (global_batch % at_once != 0) return false;
  layout.micro_batches = static_cast<int>(global_batch / at_once);
  if (degrees.virtual_stages > 1 && (degrees.pipeline == 1 || layout.micro_batches % degrees.pipeline != 0))
    return false;
  if (degrees.sequence && degrees.tensor == 1) return false;
  if (experts % degrees.expert != 0 || (replicas * degrees.context) % degrees.expert != 0) return false;
  return cut_blocks(blocks, degrees);
}

}  // namespace

bool is_layout_key(std::string_view key) {
  return std::ranges::find(all_keys(), key, &LayoutKey::key) != all_keys().end();
}

std::vector<LayoutAxis> layout_axes(const ResolvedExperiment& base, const std::vector<LayoutAxis>& given,
                                    int global_batch) {
  std::vector<LayoutAxis> axes;
  for (const LayoutKey& key : all_keys()) {
    const auto own = std::ranges::find(given, key.key, &LayoutAxis::key);
    std::vector<std::string> values =
        own != given.end() ? own->values : usual_values(base, key.key, axes, global_batch);
    if (values.empty()) continue;
    LayoutAxis axis{.key = std::string(key.key), .values = {}};
    PlanLayout probe;
    for (const std::string& value : values) {
      key.set(probe, value);
      std::string text = key.text(probe);
      if (std::ranges::find(axis.values, text) == axis.values.end()) axis.values.push_back(std::move(text));
    }
    axes.push_back(std::move(axis));
  }
  return axes;
}

std::vector<PlanLayout> layouts(const ResolvedExperiment& base, const Parallelism& own,
                                const std::vector<LayoutAxis>& axes, int global_batch) {
  const int blocks = block_count(base.model->layers);
  const int experts = experts_of(*base.model);
  const Sharded without_copies = shard_without_copies(axes, own);
  std::vector<PlanLayout> all{{.parallelism = own}};
  const auto keep_possible = [&] {
    std::erase_if(all, [&](PlanLayout& layout) {
      const Parallelism& degrees = layout.parallelism;
      return !divides(base, blocks, experts, global_batch, layout) ||
             (degrees.shard != without_copies && !has_copies(degrees, base.cluster->ranks()));
    });
  };
  for (const LayoutAxis& axis : axes) {
    const LayoutKey& key = key_named(axis.key);
    if (axis.key == micro_batch_key)
      keep_possible();  // a batch that micro-batches of one sample do not divide, larger ones do not divide
                        // either
    std::vector<PlanLayout> longer;
    for (const PlanLayout& layout : all) {
      for (const std::string& value : axis.values) key.set(longer.emplace_back(layout), value);
    }
    all = std::move(longer);
  }
  keep_possible();
  return all;
}

std::vector<std::string> layout_keys(const std::vector<LayoutAxis>& axes) {
  std::vector<std::string> keys;
  for (const LayoutAxis& axis : axes) keys.push_back(axis.key);
  if (have_pipelines(axes)) keys.emplace_back(unequal_key);
  keys.emplace_back("accumulation");
  return keys;
}

std::vector<std::string> layout_values(const std::vector<LayoutAxis>& axes, const PlanLayout& layout) {
  std::vector<std::string> values;
  for (const LayoutAxis& axis : axes) values.push_back(key_named(axis.key).text(layout));
  if (have_pipelines(axes)) values.emplace_back(layout.parallelism.unequal_stages ? "true" : "false");
  values.push_back(std::to_string(layout.micro_batches));
  return values;
}

}  // namespace trainyard
