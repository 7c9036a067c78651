#pragma once
// The graph of an ONNX model as its file has it (onnx.proto3): nodes, weights by their shapes, inputs. Values
// are kept of small whole-number tensors alone, which are shapes and axes.

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace trainyard {

/// A size of a tensor; nothing if it is dynamic.
using OnnxDim = std::optional<std::int64_t>;

struct OnnxTensor {
  std::vector<std::int64_t> dims;
  std::vector<std::int64_t> values;  ///< of a small tensor of whole numbers
  bool is_external = false;          ///< its values lie in another file
  [[nodiscard]] double elements() const;
};

struct OnnxAttribute {
  std::optional<std::int64_t> number = {};
  std::optional<float> real = {};
  std::string text = {};
  std::vector<std::int64_t> numbers = {};
  std::optional<OnnxTensor> tensor = {};
  bool has_graph = false;  ///< a body of If, Loop or Scan
};

struct OnnxNode {
  std::string name, kind, domain;
  std::vector<std::string> inputs, outputs;
  std::map<std::string, OnnxAttribute> attributes;
};

struct OnnxInput {
  std::string name;
  std::vector<OnnxDim> dims;
  std::vector<std::string> symbols;  ///< the names of dynamic sizes, beside `dims`
};

struct OnnxGraph {
  std::string file;  ///< as the user named it
  std::string name;
  std::int64_t version = 0;               ///< of the format
  std::optional<std::int64_t> operators;  ///< version of the standard operators
  std::vector<OnnxNode> nodes;            ///< in the order of the file, which is one of execution
  std::map<std::string, OnnxTensor> weights;
  std::vector<OnnxInput> inputs;  ///< that are no weights
  std::vector<std::string> outputs;
};

/// Reads a model of up to 4 GiB; weights in files beside it are not needed. Throws FileError, or InputError
/// with the byte if the file is no such model or is cut off.
OnnxGraph read_onnx(const std::filesystem::path& file);

}  // namespace trainyard
