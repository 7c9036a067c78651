#pragma once
// The graph of an ONNX model as its file has it (onnx.proto3): nodes, shapes of weights, inputs. Only small
// tensors of whole numbers keep their values: shapes and axes.

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace trainyard {

using OnnxSizes = std::vector<std::int64_t>;

struct OnnxTensor {
  OnnxSizes dims = {};
  std::optional<OnnxSizes> values = {};  ///< of a small tensor of whole numbers
};

struct OnnxAttribute {
  std::optional<std::int64_t> number = {};
  std::string text = {};
  OnnxSizes numbers = {};
  std::optional<OnnxTensor> tensor = {};
};

struct OnnxNode {
  std::string name = {}, kind = {}, domain = {};
  std::vector<std::string> inputs = {}, outputs = {};
  std::map<std::string, OnnxAttribute> attributes = {};
};

/// A size of an input: a number, or the name of a dynamic size.
struct OnnxDim {
  std::optional<std::int64_t> size = {};
  std::string symbol = {};
};

struct OnnxInput {
  std::string name = {};
  std::vector<OnnxDim> dims = {};
};

struct OnnxGraph {
  std::string file = {};                       ///< as the user named it
  std::optional<std::int64_t> operators = {};  ///< version of the standard operators
  std::vector<OnnxNode> nodes = {};            ///< in the order of the file, which is one of execution
  std::map<std::string, OnnxTensor> weights = {};
  std::vector<OnnxInput> inputs = {};  ///< without weights
  std::vector<std::string> outputs = {};
};

/// Reads a model of up to 4 GiB; weights in separate files are not needed. Throws FileError, or InputError
/// with the byte if the file is no such model or is cut off.
OnnxGraph read_onnx(const std::filesystem::path& file);

}  // namespace trainyard
