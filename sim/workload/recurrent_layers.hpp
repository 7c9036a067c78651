#pragma once
// Layers of recurrent networks for sequences, per sample: long short-term memory, and additive attention to
// the tokens of another sequence. Cost rules as in layer.hpp.

#include "workload/layer.hpp"

#include <string>
#include <vector>

namespace trainyard {

/// One direction of an LSTM (Hochreiter and Schmidhuber 1997) over `tokens` tokens, as cuDNN and PyTorch
/// compute it: the product of all inputs with their weights ("name.input"), then the steps ("name.steps"),
/// each a product of the last output with its weights for every sample, and the cell. The four gates have a
/// bias in both. Source: PyTorch, torch.nn.LSTM (shapes of the parameters, equations).
///
/// A step of the cell has 4 `hidden` gates. FLOPs per value of `hidden`: forward 32 (two sums for each gate,
/// three sigmoids of 4, two hyperbolic tangents of 4, two products and a sum for the cell, a product for the
/// output), backward as many. It reads both products and the last cell, and writes cell, output and gates;
/// backward reads gates, both cells and the gradients of output and cell, and writes those of the gates and
/// of the last cell. The weights are read anew in every step: Appleyard et al. 2016, arXiv 1604.01946,
/// section 3.1 (persistent kernels, which keep them on the chip, are not modelled). Backward computes the
/// weights' gradient in one product of all steps (the same, section 3.1.4). Keeps gates, cells and outputs of
/// all steps.
std::vector<Layer> lstm_layers(const std::string& name, int tokens, int inputs, int hidden);

/// Scores of additive attention, v . tanh(q + k + b) for each query and each key of `features` values, with
/// the vector v scaled to a learned length (Bahdanau et al. 2014, arXiv 1409.0473, appendix A.1.2; Salimans
/// and Kingma 2016, arXiv 1602.07868, equation 2). Forward: 8 FLOPs (three sums, a hyperbolic tangent of 4, a
/// product) for each query, key and feature; backward computes the tangents again and has twice as many. One
/// fused kernel is assumed each way, which moves queries, keys and scores only. Keeps queries and keys.
/// Parameters: v, b and the length. Source: NVIDIA DeepLearningExamples, PyTorch/Translation/GNMT,
/// seq2seq/models/attention.py.
Layer additive_scores_layer(std::string name, int queries, int keys, int features);

/// Weighted sums of the keys' tokens of `features` values: scores times tokens. Keeps nothing: the softmax
/// keeps the scores and the projection of the keys their tokens.
Layer weighted_tokens_layer(std::string name, int queries, int keys, int features);

}  // namespace trainyard
