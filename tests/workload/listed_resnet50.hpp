#pragma once
// ResNet-50 v1.5 as a list of layers, for comparison with the family's model.

#include <fmt/format.h>
#include <string>

namespace trainyard::testing {

/// The bottlenecks of a stage; the first one changes the shape.
inline std::string listed_stage(int channels, int blocks, int stride) {
  return fmt::format(R"(
  - layers:
      - {{conv: {{out: {0}, kernel: 1}}, then: [batch_norm, relu]}}
      - {{conv: {{out: {0}, kernel: 3, stride: {3}, padding: 1}}, then: [batch_norm, relu]}}
      - {{name: main, conv: {{out: {1}, kernel: 1}}, then: [batch_norm]}}
      - {{from: input, conv: {{out: {1}, kernel: 1, stride: {3}}}, then: [batch_norm]}}
      - {{add: [main, previous], then: [relu]}}
  - repeat: {2}
    layers:
      - {{conv: {{out: {0}, kernel: 1}}, then: [batch_norm, relu]}}
      - {{conv: {{out: {0}, kernel: 3, padding: 1}}, then: [batch_norm, relu]}}
      - {{conv: {{out: {1}, kernel: 1}}, then: [batch_norm]}}
      - {{add: [previous, input], then: [relu]}})",
                     channels, 4 * channels, blocks - 1, stride);
}

/// The text of listed.yaml.
inline std::string listed_resnet50() {
  return R"(name: listed
samples_per_epoch: 1281167
layers:
  - input: [3, 224, 224]
  - {conv: {out: 64, kernel: 7, stride: 2, padding: 3}, then: [batch_norm, relu]}
  - max_pool: {kernel: 3, stride: 2, padding: 1})" +
         listed_stage(64, 3, 1) + listed_stage(128, 4, 2) + listed_stage(256, 6, 2) +
         listed_stage(512, 3, 2) + R"(
  - global_pool
  - linear: 1000
  - softmax_cross_entropy
)";
}

}  // namespace trainyard::testing
