#include "report/figure_text.hpp"

#include "report/page.hpp"
#include "report/text_layout.hpp"
#include "units/text.hpp"

#include <cmath>
#include <fmt/format.h>

namespace trainyard {

std::string in_unit(const FigureValue& value, FigureUnit unit) {
  if (const auto* const words = std::get_if<std::string>(&value)) return *words;
  const double number = std::get<double>(value);
  switch (unit) {
    case FigureUnit::text:
      break;
    case FigureUnit::count:
      return grouped(std::llround(number));
    case FigureUnit::number:
      return rounded(number);
    case FigureUnit::samples:
      return grouped(std::llround(number)) + (number == 1 ? " sample" : " samples");
    case FigureUnit::gpus:
      return grouped(std::llround(number)) + (number == 1 ? " GPU" : " GPUs");
    case FigureUnit::time:
      return estimate(Seconds{number});
    case FigureUnit::samples_per_s:
      return rounded(number) + " samples/s";
    case FigureUnit::tokens_per_s:
      return rounded(number) + " tokens/s";
    case FigureUnit::per_second:
      return rounded(number) + " /s";
    case FigureUnit::times:
      return rounded(number) + " x";
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
    case FigureUnit::usd:
      return rounded(number) + " USD";
    case FigureUnit::usd_per_h:
      return digits12(number) + " USD/h";
  }
  return rounded(number);
}

}  // namespace trainyard
