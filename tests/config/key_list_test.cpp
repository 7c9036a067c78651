#include "config/key_list.hpp"

#include "config/samples.hpp"

#include <algorithm>
#include <doctest/doctest.h>

using namespace trainyard;
using namespace trainyard::config;

namespace {

ListedKey listed(const std::string& path) {
  const std::vector<ListedKey> keys = list_keys(shape_of<Yard>({}), "yard.");
  const auto found = std::ranges::find(keys, path, &ListedKey::path);
  return found == keys.end() ? ListedKey{} : *found;
}

}  // namespace

TEST_CASE("every key is listed with its form, and what lies in lists with N") {
  CHECK(listed("yard.title").form == "text");
  CHECK(listed("yard.links[N].bandwidth").form.starts_with("bandwidth ("));
  CHECK(listed("yard.power.NAME").path.empty());  // a mapping of values has no keys of its own
  CHECK(listed("yard.colour").names.size() >= 2);
  CHECK(listed("yard.open").form == "true | false");
}

TEST_CASE("a path is a key, or is answered like a key in a file") {
  const Shape shape = shape_of<Yard>({});
  for (const char* const known :
       {"title", "links[3].bandwidth", "links", "power.idle", "links[0].bandwidth.value"}) {
    CAPTURE(known);
    CHECK(unknown_key(shape, known).message.empty());
  }
  CHECK(unknown_key(shape, "titel").message == "unknown key 'titel'");
  CHECK(unknown_key(shape, "titel").hint == "did you mean 'title'?");
  CHECK(unknown_key(shape, "links[0].bandwith").hint == "did you mean 'bandwidth'?");
  CHECK(!unknown_key(shape, "title.a").message.empty());
  CHECK(!unknown_key(shape, "links[").message.empty());
}
