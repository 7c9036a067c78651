#include "published/row_numbers.hpp"

#include "rules/rule_settings.hpp"

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

TEST_CASE("a word follows another one in the notes, up to the next sign") {
  const std::string notes = "grad_accum=1; attention=flash; pre_layout=x; layout=nhwc";
  CHECK(word_after(notes, "attention=") == "flash");
  CHECK(word_after(notes, "layout=") == "nhwc");
  CHECK(word_after(notes, "recompute=").empty());
}

TEST_CASE("braces are replaced one after the other, with the alternative given after the word") {
  const auto in_quotes = [](const std::string& word, const std::string& otherwise) {
    return "'" + word + "', '" + otherwise + "'";
  };
  CHECK(with_numbers("a {model x=} b {model y|16}", in_quotes) == "a 'model x=', '' b 'model y', '16'");
  CHECK(with_numbers("{gpus} {model }", in_quotes) == "'gpus', '' {model }");
  CHECK(with_numbers("{cpus} {other}", in_quotes) == "{cpus} {other}");
}

TEST_CASE("words in braces stand for the row's numbers, and a number that is not stated is an error") {
  PublishedRow row;
  row.model = "GPT-2 layers=8";
  row.gpus_total = 16;
  row.gpus_per_node = 8;
  row.nodes = 2;
  row.global_batch = "64";
  row.layout = LayoutColumns{.hidden = 1024, .data = 4};
  CHECK(with_row_numbers("{gpus} {nodes} {gpus_per_node}", row) == "16 2 8");
  CHECK(with_row_numbers("{servers}", row) == "2");
  CHECK(with_row_numbers("{hidden} {replica_batch} {model layers=}", row) == "1024 16 8");
  CHECK(with_row_numbers("{heads|12}", row) == "12");
  CHECK(with_row_numbers("{heads}", row).error() == "the row does not state {heads}");
  CHECK(with_row_numbers("{model heads=}", row).error() ==
        "no number follows 'heads=' in the model 'GPT-2 layers=8'");
  row.notes = "attention=flash";
  CHECK(with_row_numbers("{notes attention=|unfused} {notes layout=|nchw}", row) == "flash nchw");
  CHECK(with_row_numbers("{notes layout=}", row).error() == "no word follows 'layout=' in the notes");
  row.servers = 3;
  CHECK(with_row_numbers("{servers}", row) == "3");
  row.global_batch = "66";  // four replicas do not share it
  CHECK_FALSE(with_row_numbers("{replica_batch}", row));
}
