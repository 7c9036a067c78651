#include "published/model_numbers.hpp"

#include <doctest/doctest.h>

using namespace trainyard;

TEST_CASE("a number stands behind its word, not behind a longer one that ends in it") {
  const std::string model = "wide_deep,deep_vocab=3200000,nhidden=7,hidden=1024";
  CHECK(number_behind(model, "deep_vocab=") == "3200000");
  CHECK(number_behind(model, "hidden=") == "1024");
  CHECK(number_behind(model, "vocab=").empty());
  CHECK(number_behind(model, "layers=").empty());
  CHECK(number_behind("bert-", "bert-").empty());
}

TEST_CASE("braces are replaced one after the other, with what holds otherwise beside the word") {
  const auto in_quotes = [](const std::string& word, const std::string& otherwise) {
    return "'" + word + "', '" + otherwise + "'";
  };
  CHECK(with_model_numbers("a {model x=} b {model y|16}", in_quotes) == "a 'x=', '' b 'y', '16'");
  CHECK(with_model_numbers("{gpus} {model }", in_quotes) == "{gpus} {model }");
}
