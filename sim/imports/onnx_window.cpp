#include "imports/onnx_window.hpp"

#include <algorithm>
#include <string>

namespace trainyard {

std::pair<OnnxWindowSide, OnnxWindowSide> window_of(const OnnxNodeAtHand& at, const OnnxSizes& map,
                                                    const OnnxSizes& kernel) {
  if (kernel.size() != 2) at.refuse("its window is not two-dimensional");
  const OnnxSizes strides = at.numbers("strides", {1, 1});
  const OnnxSizes pads = at.numbers("pads", {0, 0, 0, 0});
  const OnnxSizes dilations = at.numbers("dilations", {1, 1});
  if (strides.size() != 2 || pads.size() != 4) at.refuse("its window is not two-dimensional");
  if (std::ranges::any_of(dilations, [](auto one) { return one != 1; }))
    at.refuse("it is dilated", "a list of layers has no dilated windows");
  if (strides[0] != strides[1]) at.refuse("its strides differ by direction");
  OnnxWindowSide height{
      .size = map[1], .kernel = kernel[0], .stride = strides[0], .before = pads[0], .after = pads[2]};
  OnnxWindowSide width{
      .size = map[2], .kernel = kernel[1], .stride = strides[1], .before = pads[1], .after = pads[3]};
  const std::string automatic = at.attribute_text("auto_pad");
  for (OnnxWindowSide* const side : {&height, &width}) {
    const auto is_odd = [](std::int64_t value) { return value < 0 || value > 65'536; };
    if (side->kernel < 1 || side->stride < 1 || is_odd(side->kernel) || is_odd(side->stride) ||
        is_odd(side->before) || is_odd(side->after))
      at.refuse("its window is impossible");
    if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER") {
      const std::int64_t out = (side->size + side->stride - 1) / side->stride;
      const std::int64_t all =
          std::max<std::int64_t>((out - 1) * side->stride + side->kernel - side->size, 0);
      side->before = all / 2;
      side->after = all - side->before;
    } else if (automatic == "VALID") {
      side->before = side->after = 0;
    }
    if (side->size + side->before + side->after < side->kernel)
      at.refuse("its window is larger than the map");
  }
  return {height, width};
}

}  // namespace trainyard
