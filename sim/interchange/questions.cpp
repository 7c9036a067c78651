#include "interchange/questions.hpp"

#include "config/fields.hpp"
#include "config/suggest.hpp"
#include "platform/names.hpp"
#include "units/text.hpp"
#include "units/trimmed.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace trainyard {
namespace {

constexpr std::array<std::string_view, 5> data_types{"fp32", "tf32", "fp16", "bf16", "fp8"};

class Asker {
public:
  Asker(std::istream& in, std::ostream& out) : in_(in), out_(out) {}

  /// Asks until `take` accepts the answer: it returns what is wrong, or an empty text.
  template <class Take>
  void ask(const std::string& question, const std::string& otherwise, const Take& take) {
    while (true) {
      out_ << question << (otherwise.empty() ? std::string() : " [" + otherwise + "]") << ": " << std::flush;
      std::string line;
      if (!std::getline(in_, line)) {
        throw InputError("the answers end before the last question",
                         "the options of 'trainyard init platform --help' take the same answers");
      }
      const std::string answer(trimmed(line));
      const std::string problem = take(answer.empty() ? otherwise : answer);
      if (problem.empty()) return;
      out_ << "  " << problem << '\n';
    }
  }

  void number(const std::string& question, int otherwise, int least, int most, std::optional<int>& value) {
    if (value) return;
    ask(question, std::to_string(otherwise), [&](const std::string& text) -> std::string {
      const auto parsed = parse_integer(text);
      if (!parsed || *parsed < least || *parsed > most)
        return fmt::format("a whole number from {} to {}", least, most);
      value = static_cast<int>(*parsed);
      return {};
    });
  }

  template <class Q>
  void quantity(const std::string& question, const std::string& otherwise, std::optional<Q>& value) {
    if (value) return;
    ask(question, otherwise, [&](const std::string& text) -> std::string {
      const auto parsed = parse_quantity<Q>(text);
      if (!parsed) return parsed.error().message + "; " + parsed.error().hint;
      if (parsed->si() <= 0) return "above 0";
      value = *parsed;
      return {};
    });
  }

private:
  std::istream& in_;
  std::ostream& out_;
};

void ask_gpu(Asker& asker, const std::function<bool(const std::string&)>& is_profile,
             PlatformAnswers& answers, GpuAnswers& gpu) {
  if (!answers.gpu.empty() || gpu.is_data_sheet()) return;
  asker.ask("GPU: a profile of 'trainyard list gpus', or the name of another", {},
            [&](const std::string& text) -> std::string {
              if (file_name_of(text).empty()) return "a name, such as h100_sxm_80gb or RTX 4090";
              (is_profile(text) ? answers.gpu : gpu.profile) = text;
              return {};
            });
  if (!answers.gpu.empty()) return;
  asker.quantity<Bytes>("memory, as on its data sheet", "24 GB", gpu.memory);
  asker.ask("peak rate in 16 bits, dense, with sums in fp32", "165 TFLOP/s",
            [&](const std::string& text) -> std::string {
              try {
                gpu.peaks.push_back(peak_in(text));
              } catch (const InputError& error) {
                return error.diagnostics().front().message;
              }
              return {};
            });
  asker.ask("memory bandwidth (empty: in proportion to the peak)", {},
            [&](const std::string& text) -> std::string {
              if (text.empty()) return {};
              const auto parsed = parse_quantity<Bandwidth>(text);
              if (!parsed) return parsed.error().message + "; " + parsed.error().hint;
              gpu.bandwidth = *parsed;
              return {};
            });
}

}  // namespace

std::pair<std::string, FlopRate> peak_in(std::string_view text) {
  const std::size_t equals = text.find('=');
  const std::string_view dtype = equals == std::string_view::npos ? "fp16" : trimmed(text.substr(0, equals));
  if (std::ranges::find(data_types, dtype) == data_types.end()) {
    throw InputError(fmt::format("{} is not a data type of peaks", shown(dtype)),
                     "fp32, tf32, fp16, bf16 or fp8: fp32=82.6 TFLOP/s");
  }
  const auto rate =
      parse_quantity<FlopRate>(equals == std::string_view::npos ? text : text.substr(equals + 1));
  if (!rate) throw InputError(rate.error().message, rate.error().hint);
  constexpr double least = 1e9, most = 1e17;  // as in GPU profiles
  if (rate->si() < least || rate->si() > most) {
    throw InputError(fmt::format("a peak of {} is not that of a GPU", human(*rate)),
                     "82.6 TFLOP/s, for example");
  }
  return {std::string(dtype), *rate};
}

void ask(std::istream& in, std::ostream& out, bool has_layout,
         const std::function<bool(const std::string&)>& is_profile, PlatformAnswers& answers,
         GpuAnswers& gpu) {
  Asker asker(in, out);
  if (!has_layout) asker.number("GPUs of a node", 8, 1, 256, answers.gpus);
  ask_gpu(asker, is_profile, answers, gpu);
  if (has_layout) return;
  if (answers.gpus.value_or(1) > 1)
    asker.number("NVLinks of a GPU, 0 for PCIe alone", 0, 0, 256, answers.nvlink);
  const bool needs_kind = answers.nvlink.value_or(0) > 0 && !answers.nvlink_kind && answers.gpu.empty();
  if (needs_kind) {
    asker.ask("their generation", "nvlink4", [&](const std::string& text) -> std::string {
      const auto kind = config::value_named<LinkKind>(text);
      if (!kind || !is_nvlink(*kind)) return "nvlink1 (P100) to nvlink5 (B200)";
      answers.nvlink_kind = *kind;
      return {};
    });
  }
  std::optional<int> nodes;
  if (answers.nodes > 1) nodes = answers.nodes;
  asker.number("nodes", 1, 1, 1'000'000, nodes);
  answers.nodes = *nodes;
  asker.number("network cards of a node", answers.nodes > 1 ? 1 : 0, answers.nodes > 1 ? 1 : 0, 256,
               answers.nics);
  if (*answers.nics > 0) asker.quantity<Bandwidth>("rate of a card", "100 Gbps", answers.nic_rate);
}

}  // namespace trainyard
