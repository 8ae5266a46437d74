// Work that comes again.
#include "ir/graph/memo.h"

#include <doctest/doctest.h>

namespace tenon::ir {
namespace {

struct Key {
  uint64_t number, group = 0;
  bool operator==(const Key&) const = default;
  uint64_t hash() const { return group != 0 ? group : number; }
};
using Numbers = Memo<Key, uint64_t>;

void note(Numbers& memo, const Key& key) {
  memo.find(key);
  REQUIRE(memo.find(key).again);
  memo.note(key, std::make_shared<const uint64_t>(key.number));
}

}  // namespace

TEST_CASE("memo: the first time leaves a trace, the second is to be noted, the third finds it") {
  Numbers memo;
  const Numbers::Found first = memo.find({7});
  CHECK_FALSE(first.kept);
  CHECK_FALSE(first.again);
  const Numbers::Found second = memo.find({7});
  CHECK_FALSE(second.kept);
  CHECK(second.again);
  memo.note({7}, std::make_shared<const uint64_t>(49));
  const Numbers::Found third = memo.find({7});
  REQUIRE(third.kept);
  CHECK(*third.kept == 49);
  CHECK_FALSE(third.again);
}

TEST_CASE("memo: work that cannot be kept is done each time, and asked for once") {
  Numbers memo;
  memo.find({7});
  REQUIRE(memo.find({7}).again);
  memo.note({7}, nullptr);
  CHECK_FALSE(memo.find({7}).kept);
  CHECK_FALSE(memo.find({7}).again);
}

TEST_CASE("memo: keys of one hash are told apart, and the later one stays") {
  Numbers memo;
  note(memo, {1, 5});
  CHECK_FALSE(memo.find({2, 5}).kept);
  note(memo, {2, 5});
  CHECK(*memo.find({2, 5}).kept == 2);
  CHECK_FALSE(memo.find({1, 5}).kept);
}

TEST_CASE("memo: it is bounded, and what was found stays") {
  Numbers memo;
  note(memo, {1});
  const auto kept = memo.find({1}).kept;
  size_t most = 0;
  for (uint64_t i = 2; memo.find({1}).kept; ++i) {
    note(memo, {i});
    most = i;
  }
  CHECK(most <= 5000);
  CHECK(*kept == 1);
}

}  // namespace tenon::ir
