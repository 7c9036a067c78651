#pragma once
// The reader of ONNX models, which the build embeds into the program.

#include <string_view>

namespace trainyard {

extern const std::string_view onnx_layers_py;

}  // namespace trainyard
