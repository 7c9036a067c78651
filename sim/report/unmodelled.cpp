#include "report/unmodelled.hpp"

#include <algorithm>
#include <array>

namespace trainyard {

namespace {

struct Topic {
  const char* name;  ///< for the summary; empty where nothing is missing, there is just nothing to tell
  const char* reason;
};

constexpr Topic host{"host CPUs and input pipeline", "input is synthetic: no samples are read and decoded"};
constexpr Topic updates{
    "", "every rank applies every update and nothing fails, so there is nothing to tell apart"};

struct Field {
  const char* name;
  const Topic* topic;
};

/// Fields that a result with synthetic input does not have.
constexpr std::array of_input{Field{"cpu_utilization", &host}, Field{"storage_utilization", &host}};
/// Fields that one steady step does not have.
constexpr std::array of_training{
    Field{"updates_per_s", &updates},   Field{"staleness_mean", &updates},
    Field{"staleness_max", &updates},   Field{"wasted_compute_s", &updates},
    Field{"wasted_energy_j", &updates}, Field{"goodput_samples_per_s", &updates}};

/// What to call a field that the study left out; several fields of one matter have one name.
std::string topic_of(const std::string& field) {
  if (field.starts_with("memory")) return "memory";
  if (field == "energy_per_step_j" || field == "average_power_w" || field == "wasted_energy_j")
    return "energy";
  if (field == "cost_per_epoch_usd") return "cost";
  if (field == "cpu_utilization") return "CPUs";
  if (field == "storage_utilization") return "storage";
  return field;
}

}  // namespace

std::map<std::string, std::string> unmodelled(const Result& result) {
  std::map<std::string, std::string> reasons;
  if (!result.input) {
    for (const Field& field : of_input) reasons[field.name] = field.topic->reason;
  }
  if (!result.training) {
    for (const Field& field : of_training) reasons[field.name] = field.topic->reason;
  }
  if (result.faults) reasons.erase("goodput_samples_per_s");
  if (!result.epoch_time) reasons["epoch_time_s"] = "the model does not state the samples of an epoch";
  if (!result.model_flops_utilization) {
    reasons["model_flops_utilization"] = "the GPU profile does not state a peak for this precision";
  }
  if (!result.tokens_per_second) reasons["throughput_tokens_per_s"] = "the model does not read sequences";
  if (result.busiest_link.empty()) reasons["busiest_link"] = "nothing was sent";
  for (const auto& [field, reason] : result.unmodelled) reasons[field] = reason;
  return reasons;
}

std::vector<std::string> unmodelled_topics(const Result& result) {
  std::vector<std::string> topics;
  const auto add = [&](const std::string& name) {
    if (!name.empty() && std::find(topics.begin(), topics.end(), name) == topics.end())
      topics.push_back(name);
  };
  for (const auto& [field, reason] : result.unmodelled) add(topic_of(field));
  if (!result.input) {
    for (const Field& field : of_input) add(field.topic->name);
  }
  return topics;
}

}  // namespace trainyard
