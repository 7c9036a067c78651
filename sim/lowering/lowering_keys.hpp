#pragma once
// The keys and names of a file of lowering rules.

#include "config/keys.hpp"
#include "lowering/lowering_rules.hpp"

namespace trainyard {

namespace config {

template <>
struct Names<KernelValues> {
  static constexpr std::string_view what = "values of a kernel";
  static constexpr std::array table{
      Name{"input", KernelValues::input, "the layer's input"},
      Name{"output", KernelValues::output, "the layer's output"},
      Name{"one_output", KernelValues::one_output, "the output of one sample"},
      Name{"weights", KernelValues::weights, "the matrix of the layer, or its table"},
      Name{"bias", KernelValues::bias, "the layer's bias"},
      Name{"parameters", KernelValues::parameters, "all parameters of the layer"},
      Name{"rows", KernelValues::rows, "one value per row of the output"},
      Name{"queries", KernelValues::queries, "the queries of attention"},
      Name{"keys", KernelValues::keys, "the keys of attention"},
      Name{"operands", KernelValues::operands, "queries and keys of attention"},
      Name{"ends", KernelValues::ends, "input and output of the layer"},
      Name{"scores", KernelValues::scores, "the scores of attention"},
      Name{"statistics", KernelValues::statistics, "one value per query and head"},
      Name{"saved", KernelValues::saved, "those that the layer keeps for backward at least"},
      Name{"moved", KernelValues::moved, "those that the layer reads and writes in forward"},
      Name{"nothing", KernelValues::nothing, "one value"}};
};

template <>
struct Names<PassType> {
  static constexpr std::string_view what = "type of values";
  static constexpr std::array table{
      Name{"result", PassType::result, "that the layer writes"},
      Name{"input", PassType::input, "that the layer reads"},
      Name{"compute", PassType::compute, "of matrix products"},
      Name{"parameter", PassType::parameter, "of parameters"},
      Name{"single", PassType::single, "4 bytes"},
      Name{"wide", PassType::wide, "4 bytes under autocast, otherwise that of products"}};
};

template <>
struct Names<ResultType> {
  static constexpr std::string_view what = "type of a layer's output";
  static constexpr std::array table{
      Name{"input", ResultType::input, "that of its input"},
      Name{"compute", ResultType::compute, "that of matrix products"},
      Name{"parameter", ResultType::parameter, "that of parameters"},
      Name{"probabilities", ResultType::probabilities,
           "fp32 under autocast, unless the model predicts next tokens"},
      Name{"wide", ResultType::wide, "fp32 under autocast, otherwise that of its input"}};
};

template <>
struct Names<LaunchCondition> {
  using C = LaunchCondition;
  static constexpr std::string_view what = "condition of a kernel";
  static constexpr std::array table{
      Name{"autocast", C::autocast, "precision amp or amp_bf16"},
      Name{"half", C::half, "products in 16 bits"},
      Name{"single", C::single, "products in 32 bits"},
      Name{"wide_input", C::wide_input, "the input has 4 bytes per value, products have 2"},
      Name{"narrow_input", C::narrow_input, "the input has 2 bytes per value"},
      Name{"single_input", C::single_input, "the input has 4 bytes per value"},
      Name{"mixed", C::mixed, "a sum of tensors of 2 and of 4 bytes per value"},
      Name{"same", C::same, "a sum of tensors of one type"},
      Name{"bias", C::bias, "the layer has a bias"},
      Name{"input_gradient", C::input_gradient, "a layer with parameters precedes"},
      Name{"grouped_heads", C::grouped_heads, "fewer heads of keys than of queries"},
      Name{"dropout", C::dropout, "dropout inside fused attention"},
      Name{"adds_rows", C::adds_rows, "an embedding whose rows are added"},
      Name{"replaces_rows", C::replaces_rows, "an embedding that begins the values"},
      Name{"of_positions", C::of_positions, "an embedding of positions"},
      Name{"of_words", C::of_words, "an embedding of each token's own row"},
      Name{"tied", C::tied, "a table that the last layer multiplies by"},
      Name{"next_token", C::next_token, "the model predicts every next token"},
      Name{"any_token", C::any_token, "the model does not"},
      Name{"depthwise", C::depthwise, "a convolution in groups"},
      Name{"dense", C::dense, "a convolution that is not in groups"},
      Name{"reads_images", C::reads_images, "the convolution that reads the image"},
      Name{"reads_maps", C::reads_maps, "any other convolution"},
      Name{"nhwc", C::nhwc, "layout nhwc"},
      Name{"nchw", C::nchw, "layout nchw"},
      Name{"joined", C::joined, "a product of queries, keys and values in one"},
      Name{"rotary", C::rotary, "the model rotates queries and keys"},
      Name{"of_scores", C::of_scores, "a product of queries and keys"},
      Name{"of_context", C::of_context, "a product of probabilities and values"},
      Name{"packed", C::packed,
           "torch.nn.MultiheadAttention: joined projections, and no next token is predicted"},
      Name{"new_input", C::new_input, "no earlier layer keeps the input in the type of products"},
      Name{"clamped", C::clamped, "a rectified linear unit with an upper limit, or gpt-oss's gated unit"},
      Name{"windowed", C::windowed, "a pooling of windows"},
      Name{"whole_map", C::whole_map, "a pooling of the whole map"},
      Name{"converted", C::converted,
           "a convolution that is no product of single pixels of maps of 784 or more"},
      Name{"untied", C::untied, "a table that no other layer multiplies by"},
      Name{"no_autocast", C::no_autocast, "any other precision"},
      Name{"unaligned", C::unaligned, "a product of more than 64 columns that are no multiple of 8"},
      Name{"after_product", C::after_product, "the layer before is a product or a convolution"},
      Name{"sum_follows", C::sum_follows, "the layer after is a sum"},
      Name{"no_sum_follows", C::no_sum_follows, "it is not"},
      Name{"in_8_bits", C::in_8_bits, "products of the layer are in 8 bits"},
      Name{"in_4_bits", C::in_4_bits, "they are in 4 bits (precision nvfp4)"},
      Name{"not_in_8_bits", C::not_in_8_bits, "they are neither"},
      Name{"scales_blocks", C::scales_blocks, "in_8_bits, with fp8_scaling: block or precision mxfp8"},
      Name{"scales_tensors", C::scales_tensors, "in_8_bits, with another fp8_scaling"},
      Name{"casts_input", C::casts_input,
           "products in 8 or 4 bits, whose input the layer before does not write so"},
      Name{"no_writer", C::no_writer, "the layer before is no norm and no activation"},
      Name{"scales_now", C::scales_now, "fp8_scaling: current"},
      Name{"trained", C::trained, "the layer has parameters"},
      Name{"constant", C::constant, "the layer has no parameters"},
      Name{"computed", C::computed, "a bias of scores that a network computes"},
      Name{"per_channel", C::per_channel,
           "a sum or product whose second operand has one value for each channel of a sample"},
      Name{"per_value", C::per_value, "a sum or product of operands of one shape"},
      Name{"of_maps", C::of_maps, "the layer reads [channels, height, width]"},
      Name{"of_tokens", C::of_tokens, "the layer reads [tokens, features]"},
      Name{"reorders", C::reorders, "copies into another order of the same shape"},
      Name{"merges", C::merges, "copies that make one token of a square of them"},
      Name{"of_results", C::of_results, "the last product of experts"},
      Name{"wide_shares", C::wide_shares,
           "dispatcher: deepep, which sends the router's probabilities in fp32"},
      Name{"narrow_shares", C::narrow_shares, "any other: they have the type of the activations"},
      Name{"pads_rows", C::pads_rows,
           "products of experts in 8 or 4 bits, with another dispatcher, or without any: HybridEP pads rows "
           "where it copies them"}};
};

template <>
struct Names<LayerVariant> {
  static constexpr std::string_view what = "variant of a layer";
  static constexpr std::array table{
      Name{"none", LayerVariant::none, "all others of the kind"},
      Name{"biased_scores", LayerVariant::biased_scores, "of attention with a trained bias of its scores"},
      Name{"heads", LayerVariant::heads, "a norm of heads"},
      Name{"inner", LayerVariant::inner, "a dropout between the linear layers of the feed-forward half"},
      Name{"router", LayerVariant::router, "the product that scores the experts of every token"},
      Name{"to_experts", LayerVariant::to_experts, "copies of tokens in the order of their experts"},
      Name{"from_experts", LayerVariant::from_experts, "the sum of the experts' results of each token"}};
};

template <>
struct Names<MatrixKernel> {
  static constexpr std::string_view what = "work of matrix units";
  static constexpr std::array table{
      Name{"none", MatrixKernel::none, "none"},
      Name{"product", MatrixKernel::product, "the layer's product, convolution or fused attention"},
      Name{"input_gradient", MatrixKernel::input_gradient, "the gradient of its input"},
      Name{"weight_gradient", MatrixKernel::weight_gradient, "that of its weights, or of a second operand"}};
};

template <>
struct Keys<KernelRule> {
  static auto table() {
    return keys(
        optional("kernel", &KernelRule::kernel, "class of the kernel"),
        optional("matrix", &KernelRule::matrix, "work of matrix units, in place of a class"),
        optional("of", &KernelRule::of, "values that it reads or writes"),
        optional("passes", &KernelRule::passes, "times that it reads or writes them")
            .at_least(0)
            .at_most(100),
        optional("type", &KernelRule::type, "type of the passes"),
        optional("bytes", &KernelRule::bytes, "bytes per value besides the passes").at_least(0).at_most(1000),
        optional("fixed_bytes", &KernelRule::fixed_bytes, "further bytes in all").at_least(0).at_most(1e9),
        optional("above", &KernelRule::above, "number of values from which it is launched")
            .at_least(0)
            .at_most(1e12),
        optional("synchronises", &KernelRule::synchronises, "true: the host waits for its end"),
        optional("per_tensor", &KernelRule::per_tensor,
                 "true: one for each tensor that a concatenation joins, of its part"),
        optional("pads", &KernelRule::pads, "of a product: its columns become a multiple of this")
            .between(1, 1024),
        optional("count", &KernelRule::count, "such kernels in a row").between(1, 100),
        optional("when", &KernelRule::when, "conditions of the launch, all of which must hold"));
  }
};

template <>
struct Keys<TensorRule> {
  static auto table() {
    return keys(
        optional("of", &TensorRule::of, "values that it has"),
        optional("passes", &TensorRule::passes, "times that it has them").at_least(0).at_most(100),
        optional("type", &TensorRule::type, "type of the values"),
        optional("bytes", &TensorRule::bytes, "bytes per value in addition").at_least(0).at_most(1000),
        optional("when", &TensorRule::when, "conditions, all of which must hold"));
  }
};

template <>
struct Keys<PassRules> {
  static auto table() {
    return keys(optional("forward", &PassRules::forward, "kernels in forward, in order"),
                optional("backward", &PassRules::backward, "kernels in backward, in order"),
                optional("kept", &PassRules::kept, "tensors kept from forward until backward has used them"),
                optional("held", &PassRules::held, "tensors besides, while forward is in the layer"),
                optional("held_backward", &PassRules::held_backward, "the same in backward"));
  }
};

template <>
struct Keys<LayerRules> {
  static auto table() {
    return keys(required("layer", &LayerRules::layer, "kind of layer"),
                optional("variant", &LayerRules::variant, "layers of the kind that these rules are for"),
                optional("result", &LayerRules::result, "type of its output"),
                optional("forward", &LayerRules::forward, "kernels in forward, in order"),
                optional("backward", &LayerRules::backward, "kernels in backward, in order"),
                optional("compiled", &LayerRules::compiled, "the same by a compiler; default: no other"),
                optional("kept", &LayerRules::kept, "tensors kept from forward for backward"),
                optional("held", &LayerRules::held, "further tensors while forward is in the layer"),
                optional("held_backward", &LayerRules::held_backward,
                         "further tensors while backward is in the layer"),
                optional("source", &LayerRules::source, "where the rules were read"));
  }
};

template <>
struct Keys<AttentionShares> {
  static auto table() {
    return keys(
        required("head_dim", &AttentionShares::head_dim, "largest number of features per head")
            .at_least(1)
            .at_most(1e6),
        required("forward", &AttentionShares::forward, "share of the peak in forward").positive(2),
        required("backward", &AttentionShares::backward, "share of the peak in backward").positive(2),
        optional("masked_forward", &AttentionShares::masked_forward, "factor on it with a mask that is read")
            .positive(1),
        optional("masked_backward", &AttentionShares::masked_backward, "the same in backward").positive(1));
  }
};

template <>
struct Keys<FusedAttention> {
  static auto table() {
    using F = FusedAttention;
    return keys(
        required("name", &F::name, "library"),
        optional("half", &F::half,
                 "true: of 16-bit values, at a share of their peak; false: of 32-bit ones, at one of fp32's"),
        required("fixed", &F::fixed, "time of a kernel without products").at_least(0).at_most(1e-3),
        optional("tile", &F::tile, "tokens of a tile").between(1, 4096),
        optional("causal_extra", &F::causal_extra,
                 "keys besides half of them that a causal mask leaves, twice")
            .between(0, 4096),
        optional("smallest_head", &F::smallest_head, "features per head below which it gets no faster")
            .between(1, 4096),
        optional("forward_start", &F::forward_start, "keys' worth of time before a tile of queries")
            .at_least(0)
            .at_most(4096),
        optional("backward_start", &F::backward_start, "the same in backward").at_least(0).at_most(4096),
        optional("forward_dropout", &F::forward_dropout, "factor of dropout on the share").positive(1),
        optional("backward_dropout", &F::backward_dropout, "the same in backward").positive(1),
        required("shares", &F::shares, "shares of the peak by size of the heads, ascending"),
        optional("source", &F::source, "measurement"));
  }
};

template <>
struct Keys<ProductRate> {
  static auto table() {
    using P = ProductRate;
    return keys(
        required("share", &P::share, "share of the peak that the best tiles reach").positive(1),
        optional("backward", &P::backward, "factor on it in backward").positive(1),
        optional("k_half", &P::k_half,
                 "k at which a product takes twice as long per FLOP as with an endless one")
            .at_least(0)
            .at_most(1e5),
        optional("fixed", &P::fixed, "time of a product without FLOPs").at_least(0).at_most(1e-3),
        optional("odd", &P::odd, "share of the peak with odd rows or columns").positive(1),
        optional("odd_backward", &P::odd_backward, "the same in backward").positive(1),
        optional("unaligned", &P::unaligned, "the same with dimensions that are no multiple of 16 bytes")
            .positive(1));
  }
};

template <>
struct Keys<Products> {
  static auto table() {
    return keys(required("precisions", &Products::precisions, "precisions of the step"),
                required("rate", &Products::rate, "time of products that were not measured"));
  }
};

template <>
struct Keys<TensorPass> {
  static auto table() {
    return keys(
        required("kernel", &TensorPass::kernel, "class of the kernels"),
        optional("tensors", &TensorPass::tensors, "most tensors of a kernel").between(1, 10'000),
        optional("passes", &TensorPass::passes, "passes over the parameters").at_least(0).at_most(100),
        optional("bytes", &TensorPass::bytes, "bytes per tensor in place of passes")
            .at_least(0)
            .at_most(1000));
  }
};

template <>
struct Keys<OptimizerRules> {
  static auto table() {
    return keys(required("optimizers", &OptimizerRules::optimizers, "update rules"),
                required("kernels", &OptimizerRules::kernels, "how tensors share kernels"),
                optional("held", &OptimizerRules::held, "values of temporary tensors per parameter")
                    .at_least(0)
                    .at_most(100),
                required("passes", &OptimizerRules::passes, "kernels of an update, in order"));
  }
};

template <>
struct Keys<HostCosts> {
  static auto table() {
    using H = HostCosts;
    const auto time = [](auto key) { return key.at_least(0).at_most(1); };
    return keys(
        time(required("forward", &H::forward, "time of a launch in forward")),
        time(required("backward", &H::backward, "time of a launch in backward")),
        time(optional("repeat", &H::repeat,
                      "time of each further kernel of one call, which launches one for each expert")),
        time(required("tensor", &H::tensor, "time of a tensor in an update of adam by foreach kernels")),
        time(required("fused_tensor", &H::fused_tensor, "time of a tensor in any other update")),
        time(optional("update", &H::update, "time of a launch in an update tensor by tensor")),
        time(required("step", &H::step, "time between steps")),
        time(required("gap", &H::gap, "time of the GPU between two kernels")),
        time(optional("graph", &H::graph, "time of the launch of a graph")),
        time(
            optional("latency", &H::latency, "time from a launch to the start of its kernel on an idle GPU")),
        time(optional("synchronise", &H::synchronise, "host time after each wait for the GPU")),
        time(optional("collective", &H::collective, "time of the launch of a collective")),
        optional("queue", &H::queue, "launches that wait for the GPU at most; default: any number")
            .between(1, 1'000'000),
        optional("source", &H::source, "measurement"));
  }
};

template <>
struct Keys<CompilerRules> {
  static auto table() {
    using C = CompilerRules;
    const auto time = [](auto key) { return key.at_least(0).at_most(1); };
    return keys(
        time(required("forward", &C::forward, "time of a launch in forward")),
        time(required("backward", &C::backward, "time of a launch in backward")),
        optional("masks_causal", &C::masks_causal,
                 "true: a causal mask is a tensor, and attention computes all scores"),
        optional("separate_attention", &C::separate_attention, "families whose attention is not fused"),
        optional("source", &C::source, "measurement"));
  }
};

template <>
struct Keys<Lowering> {
  static auto table() {
    return keys(
        required("name", &Lowering::name, "the file's name without .yaml"),
        optional("title", &Lowering::title, "name for reports"),
        optional("like", &Lowering::like,
                 "lowering whose kernels, layers, updates and other keys hold where this one says nothing"),
        optional("activations_cast", &Lowering::activations_cast,
                 "true: an activation in front of a product in 8 or 4 bits writes its values so; false: the "
                 "product casts them itself"),
        optional("joined_projections", &Lowering::joined_projections,
                 "true: projections of one input, as of queries, keys and values, are one product"),
        optional("kernels", &Lowering::kernels, "classes of kernels"),
        optional("layers", &Lowering::layers, "kernels of each kind of layer"),
        optional("attention", &Lowering::attention, "fused attention"),
        optional("products", &Lowering::products, "matrix products; default: as the GPU profile has them"),
        optional("host", &Lowering::host, "costs of the host that launches"),
        optional("gradient_sum", &Lowering::gradient_sum,
                 "sum of the gradients of two layers that read a tensor; a compiler fuses it"),
        optional("slice_zeros", &Lowering::slice_zeros,
                 "zeros for the gradient of a tensor that comes from a slice; a compiler fuses it"),
        optional("slice_copy", &Lowering::slice_copy, "copy of a slice's gradient into these zeros"),
        optional("slice_join", &Lowering::slice_join,
                 "concatenation of the gradients of slices that make up a tensor"),
        optional("weight_cast", &Lowering::weight_cast,
                 "cast of all weights whose products are in 8 bits, once in a step; default: the rules of "
                 "layers cast them in each micro-batch"),
        optional("compiler", &Lowering::compiler, "what a compiler does; default: it has none"),
        optional("clear", &Lowering::clear, "class of kernels before products of many tiles"),
        optional("largest_kernel", &Lowering::largest_kernel,
                 "bytes of a kernel from which on it is split in halves")
            .at_least(0)
            .at_most(1e15),
        optional("optimizers", &Lowering::optimizers, "kernels of the update"),
        optional("scaler", &Lowering::scaler, "kernels that scale gradients and look for overflow, in amp"),
        optional("workspace", &Lowering::workspace, "scratch space of the libraries of products")
            .at_least(0)
            .at_most(1e12),
        optional("source", &Lowering::source, "library versions and measurements"));
  }
};

}  // namespace config
}  // namespace trainyard
