#include "published/model_numbers.hpp"

#include <doctest/doctest.h>

using namespace trainyard;

TEST_CASE("a number follows its word, not a longer one that ends in it") {
  const std::string model = "wide_deep,deep_vocab=3200000,nhidden=7,hidden=1024";
  CHECK(number_after(model, "deep_vocab=") == "3200000");
  CHECK(number_after(model, "hidden=") == "1024");
  CHECK(number_after(model, "vocab=").empty());
  CHECK(number_after(model, "layers=").empty());
  CHECK(number_after("bert-", "bert-").empty());
  CHECK(number_after("hidden=x,hidden=5", "hidden=") == "5");
}

TEST_CASE("braces are replaced one after the other, with the alternative beside the word") {
  const auto in_quotes = [](const std::string& word, const std::string& otherwise) {
    return "'" + word + "', '" + otherwise + "'";
  };
  CHECK(with_model_numbers("a {model x=} b {model y|16}", in_quotes) == "a 'x=', '' b 'y', '16'");
  CHECK(with_model_numbers("{gpus} {model }", in_quotes) == "{gpus} {model }");
}
