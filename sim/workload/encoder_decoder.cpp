#include "workload/encoder_decoder.hpp"

#include "workload/transformer_layers.hpp"

#include <string>
#include <utility>

namespace trainyard {
namespace {

constexpr int t5_buckets = 32;

/// Gives each of several projections in one product tensors of its own, as the frameworks have.
Layer with_tensors(Layer layer, const std::vector<std::string>& names) {
  const auto count = static_cast<double>(names.size());
  const std::vector<Parameter> whole = std::exchange(layer.parameters, {});
  for (const std::string& name : names) {
    layer.parameters.push_back({layer.name + "." + name + ".weight", whole[0].elements / count});
    if (whole.size() > 1)
      layer.parameters.push_back({layer.name + "." + name + ".bias", whole[1].elements / count});
  }
  return layer;
}

class Stacks {
public:
  explicit Stacks(const EncoderDecoderHyperparameters& parameters)
      : parameters_(parameters),
        encoder_{.sequence = parameters.sequence_length,
                 .hidden = parameters.hidden,
                 .heads = parameters.heads,
                 .intermediate = parameters.ffn.value_or(4 * parameters.hidden),
                 .head_dim = parameters.head_dim},
        decoder_(encoder_),
        entries_(padded_vocabulary(parameters.vocabulary, parameters.pad_vocabulary)) {
    decoder_.sequence = parameters.decoder_sequence_length.value_or(parameters.sequence_length);
  }

  std::vector<Layer> layers() {
    const int encoder_blocks = parameters_.layers;
    layers_.push_back(embedding_layer("shared", {encoder_.sequence, entries_, encoder_.hidden}));
    append_positions("encoder.positions", encoder_);
    append_dropout("encoder.drop", encoder_);
    for (int i = 0; i < encoder_blocks; ++i) append_block("encoder.h", i, i, encoder_, false);
    append_end("encoder", encoder_);
    layers_.back().saved_elements += layers_.back().out_elements;  // read by all blocks of the decoder
    layers_.push_back(
        tied_embedding_layer("decoder.embedding", {decoder_.sequence, entries_, decoder_.hidden}));
    append_positions("decoder.positions", decoder_);
    append_dropout("decoder.drop", decoder_);
    const int decoder_blocks = parameters_.decoder_layers.value_or(encoder_blocks);
    for (int i = 0; i < decoder_blocks; ++i) append_block("decoder.h", i, encoder_blocks + i, decoder_, true);
    append_end("decoder", decoder_);
    const LinearSize projection{decoder_.sequence, decoder_.hidden, entries_};
    layers_.push_back(parameters_.tied ? tied_linear_layer("lm_head", projection, false)
                                       : linear_layer("lm_head", projection, false));
    layers_.back().split = TensorSplit::columns;
    layers_.push_back(softmax_cross_entropy_layer("loss", decoder_.sequence, entries_));
    return std::move(layers_);
  }

private:
  void append_tokens(Layer layer) {
    layer.split = TensorSplit::tokens;
    layers_.push_back(std::move(layer));
  }

  [[nodiscard]] bool is_t5() const { return parameters_.style == EncoderDecoderStyle::t5; }

  void append_norm(std::string name, const TransformerSize& size) {
    append_tokens(is_t5() ? rms_norm_layer(std::move(name), size.sequence, size.hidden)
                          : layer_norm_layer(std::move(name), size.sequence, size.hidden));
  }

  /// A norm of T5, in front of a part of a block.
  void append_norm_before(std::string name, const TransformerSize& size) {
    if (!is_t5()) return;
    append_norm(std::move(name), size);
    set_shares_input(layers_.back());  // with the residual sum
  }

  /// A norm of the original Transformer, behind a part of a block.
  void append_norm_after(std::string name, const TransformerSize& size) {
    if (!is_t5()) append_norm(std::move(name), size);
  }

  /// Sinusoids, which have no parameters and no gradient.
  void append_positions(std::string name, const TransformerSize& size) {
    if (is_t5()) return;
    Layer layer = added_embedding_layer(std::move(name), {size.sequence, 1, size.hidden});
    layer.parameters.clear();
    layer.backward_flops = Flops();
    layer.backward_rw_elements = 0;
    layers_.push_back(std::move(layer));
  }

  void append_dropout(std::string name, const TransformerSize& size) {
    if (parameters_.dropout) append_tokens(dropout_layer(std::move(name), {size.sequence, size.hidden}));
  }

  void append_end(const std::string& half, const TransformerSize& size) {
    if (!is_t5()) return;
    append_norm(half + ".norm", size);
    append_dropout(half + ".drop2", size);
  }

  /// `block`: its number in the model.
  void append_block(const std::string& half, int number, int block, const TransformerSize& size,
                    bool reads_encoder) {
    const std::string prefix = half + std::to_string(number);
    const int buckets = parameters_.position_buckets.value_or(t5_buckets);
    BlockParts parts{.bias = !is_t5(),
                     .dropout = parameters_.dropout,
                     .activation = parameters_.gated ? Activation::gelu_product : Activation::relu,
                     .attention = is_t5() ? AttentionKernel::unfused : parameters_.attention,
                     .probability_dropout = is_t5() && parameters_.dropout,
                     .inner_dropout = is_t5(),
                     .position_bias = is_t5(),
                     .bias_buckets = number == 0 && is_t5() ? buckets : 0};
    const std::string last_norm = prefix + (reads_encoder ? ".ln3" : ".ln2");
    const std::size_t first = layers_.size();
    append_norm_before(prefix + ".ln1", size);
    const LinearSize qkv{size.sequence, size.hidden, qkv_columns(size)};
    append_attention(layers_, prefix, size,
                     with_tensors(linear_layer(prefix + ".attn.qkv", qkv, parts.bias), {"q", "k", "v"}),
                     parts);
    if (!is_t5()) set_shares_input(layers_[first]);  // with the residual sum
    append_norm_after(prefix + ".ln1", size);
    if (reads_encoder) append_cross(prefix, size, parts);
    append_norm_before(last_norm, size);
    const std::size_t up = layers_.size();
    append_mlp(layers_, prefix + ".mlp", size, size.intermediate, parts);
    if (!is_t5()) set_shares_input(layers_[up]);
    if (parameters_.gated) layers_[up] = with_tensors(std::move(layers_[up]), {"wi_0", "wi_1"});
    append_residual(layers_, prefix, reads_encoder ? "3" : "2", size, parts);
    append_norm_after(last_norm, size);
    set_block(layers_, first, block);
  }

  void append_cross(const std::string& prefix, TransformerSize size, BlockParts parts) {
    append_norm_before(prefix + ".ln2", size);
    size.kv_sequence = encoder_.sequence;
    parts.position_bias = false;
    parts.masks_keys = is_t5();
    parts.attention = parameters_.attention;
    const std::size_t keys = layers_.size() + 1;  // behind the queries
    append_cross_attention(layers_, prefix, size, parts);
    layers_[keys] = with_tensors(std::move(layers_[keys]), {"k", "v"});
    append_norm_after(prefix + ".ln2", size);
  }

  const EncoderDecoderHyperparameters& parameters_;
  TransformerSize encoder_, decoder_;
  int entries_;
  std::vector<Layer> layers_;
};

}  // namespace

std::vector<Layer> encoder_decoder_layers(const EncoderDecoderHyperparameters& parameters) {
  return Stacks(parameters).layers();
}

}  // namespace trainyard
