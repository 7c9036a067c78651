#include "report/figure_text.hpp"

#include "document/page.hpp"
#include "units/text.hpp"
#include "units/text_layout.hpp"

#include <cmath>
#include <fmt/format.h>

namespace trainyard {

namespace {

std::string_view suffix_of(FigureUnit unit) {
  switch (unit) {
    case FigureUnit::samples_per_s:
      return " samples/s";
    case FigureUnit::tokens_per_s:
      return " tokens/s";
    case FigureUnit::per_second:
      return " /s";
    case FigureUnit::times:
      return " x";
    case FigureUnit::usd:
      return " USD";
    default:
      return "";
  }
}

}  // namespace

std::string in_unit(const FigureValue& value, FigureUnit unit) {
  if (const auto* const words = std::get_if<std::string>(&value)) return *words;
  const double number = std::get<double>(value);
  switch (unit) {
    case FigureUnit::count:
      return grouped(std::llround(number));
    case FigureUnit::samples:
      return grouped(std::llround(number)) + (number == 1 ? " sample" : " samples");
    case FigureUnit::gpus:
      return grouped(std::llround(number)) + (number == 1 ? " GPU" : " GPUs");
    case FigureUnit::time:
      return estimate(Seconds{number});
    case FigureUnit::share:
      return percent(number);
    case FigureUnit::bytes:
      return gpu_memory(Bytes{number});
    case FigureUnit::flops:
      return human(Flops{number});
    case FigureUnit::flop_rate:
      return estimate(FlopRate{number});
    case FigureUnit::energy:
      return estimate(Joules{number});
    case FigureUnit::power:
      return estimate(Watts{number});
    case FigureUnit::usd_per_h:
      return digits12(number) + " USD/h";
    default:
      break;
  }
  return rounded(number).append(suffix_of(unit));
}

std::string cost_in_words(double usd, bool is_assumed) {
  return rounded(usd) + (is_assumed ? " USD (assumed price)" : " USD");
}

std::string in_unit_like(double number, double largest, FigureUnit unit) {
  switch (unit) {
    case FigureUnit::time:
      return human_like(Seconds{number}, Seconds{largest});
    case FigureUnit::bytes:
      return gpu_memory_in_column(Bytes{number});
    case FigureUnit::flops:
      return human_like(Flops{number}, Flops{largest});
    case FigureUnit::flop_rate:
      return human_like(FlopRate{number}, FlopRate{largest});
    case FigureUnit::energy:
      return human_like(Joules{number}, Joules{largest});
    case FigureUnit::power:
      return human_like(Watts{number}, Watts{largest});
    case FigureUnit::times:
      return fmt::format("{:.1f} x", number);
    case FigureUnit::number:
    case FigureUnit::samples_per_s:
    case FigureUnit::tokens_per_s:
    case FigureUnit::per_second:
    case FigureUnit::usd:
      return rounded_like(number, largest).append(suffix_of(unit));
    default:
      return in_unit(number, unit);
  }
}

}  // namespace trainyard
