// Building a tree beside known ones: whatever prefix they share, the tree is what it is without them, and one of them where it is that.
#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <random>

#include "ir/looptree/looptree.h"

using namespace tenon::ir;

namespace {

// What a schedule might do, drawn by numbers: the same numbers make the same tree.
class Drawn {
 public:
  Drawn(LoopTree& tree, KnownTrees known) : b_(tree, known) {
    b_.add_buffer({"x", DType::F32, Space::In, -1, 0});
    b_.add_buffer({"y", DType::F32, Space::Out, -1, 0});
    tree.size_count = 3;
  }

  std::shared_ptr<const LoopTree> run(std::span<const uint32_t> numbers) {
    for (const uint32_t number : numbers) draw(number);
    while (open_ != "") end();
    return b_.finish();
  }

 private:
  void draw(uint32_t number) {
    if (open_ == "") return begin_phase();
    const uint32_t which = number % 12, detail = number / 12;
    if (which == 0) position_ = b_.size(static_cast<int32_t>(detail % 3));
    if (which == 1) position_ = b_.index_constant(detail % 3);
    if (which <= 3) position_ = b_.op(detail % 2 ? Op::Add : Op::Mul, {position_, b_.index_constant(detail % 2)});
    if (which == 4) b_.store(1, position_, b_.load(0, position_, 1));
    if (which == 5 && open_.size() < 5) begin("f", [&] { position_ = b_.begin_for(position_, b_.size(0), 1 + detail % 2); });
    if (which == 6 && open_.size() < 5) begin("i", [&] { b_.begin_if(b_.op(Op::Lt, {position_, b_.size(1)})); });
    if (which == 7 && open_.back() == 'i') {
      open_.back() = 'e';
      position_ = positions_.back();
      b_.begin_else();
    }
    if (which >= 10) end();
  }
  void begin_phase() {
    begin("p", [&] { b_.begin_phase("phase", 0); });
    position_ = b_.phase_index();
  }
  template <typename Begin>
  void begin(const char* what, const Begin& begin) {
    begin();
    open_ += what;
    positions_.push_back(open_ == "p" ? b_.phase_index() : before());
  }
  ValueId before() const { return positions_.back(); }  // a position that is known outside the block too
  void end() {
    const char block = open_.back();
    open_.pop_back();
    position_ = positions_.back();
    positions_.pop_back();
    block == 'p' ? b_.end_phase() : block == 'f' ? b_.end_for() : b_.end_if();
  }

  TreeBuilder b_;
  std::string open_;  // the blocks: phase, for, if, else
  std::vector<ValueId> positions_;
  ValueId position_ = -1;
};

LoopTree alone(std::span<const uint32_t> numbers) {
  LoopTree tree;
  Drawn drawn(tree, {});
  CHECK(drawn.run(numbers) == nullptr);
  return tree;
}

}  // namespace

TEST_CASE("known trees: a tree is the same beside them, and one of them where it is equal") {
  std::mt19937 random(7);
  size_t found = 0, made = 0;
  for (int round = 0; round < 400; ++round) {
    const auto draws = [&](size_t count) {
      std::vector<uint32_t> numbers(count);
      for (uint32_t& number : numbers) number = random() >> 4;
      return numbers;
    };
    // Programs that begin alike.
    std::vector<std::vector<uint32_t>> programs{draws(40)};
    for (int p = 0; p < 5; ++p) {
      std::vector<uint32_t> numbers = programs[random() % programs.size()];
      numbers.resize(random() % (numbers.size() + 1));
      const std::vector<uint32_t> more = draws(random() % 20);
      numbers.insert(numbers.end(), more.begin(), more.end());
      programs.push_back(numbers);
    }
    std::vector<std::shared_ptr<const LoopTree>> known;
    for (int p = 0; p < 4; ++p) known.push_back(std::make_shared<const LoopTree>(alone(programs[p])));
    for (const std::vector<uint32_t>& numbers : programs) {
      const LoopTree wanted = alone(numbers);
      verify(wanted);
      LoopTree tree;
      Drawn drawn(tree, known);
      const std::shared_ptr<const LoopTree> same = drawn.run(numbers);
      const bool is_known = std::any_of(known.begin(), known.end(), [&](const auto& k) { return same_code(*k, wanted); });
      REQUIRE((same != nullptr) == is_known);
      const std::string text = print(same ? *same : tree, false);
      REQUIRE(text == print(wanted, false));
      ++(same ? found : made);
    }
  }
  CHECK(found > 1000);
  CHECK(made > 300);
}

TEST_CASE("known trees: other buffers, sizes or types are another tree") {
  const auto build = [](auto change, KnownTrees known, LoopTree& tree) {
    TreeBuilder b(tree, known);
    b.add_buffer({"y", DType::F32, Space::Out, -1, 0});
    tree.size_count = 2;
    change(tree);
    b.begin_phase("p", 0);
    b.store(0, b.phase_index(), b.constant(constant(DType::F32, 1.0)));
    b.end_phase();
    return b.finish();
  };
  const auto as_is = [](LoopTree&) {};
  auto first = std::make_shared<LoopTree>();
  CHECK(build(as_is, {}, *first) == nullptr);
  const std::vector<std::shared_ptr<const LoopTree>> known{first};
  LoopTree again;
  CHECK(build(as_is, known, again) == first);
  const auto differs = [&](auto change) {
    LoopTree tree, wanted;
    CHECK(build(change, known, tree) == nullptr);
    CHECK(build(change, {}, wanted) == nullptr);
    CHECK(same_code(tree, wanted));
    CHECK_FALSE(same_code(tree, *first));
  };
  differs([](LoopTree& tree) { tree.buffers[0].aliased = true; });
  differs([](LoopTree& tree) { tree.buffers[0].dtype = DType::F64; });
  differs([](LoopTree& tree) { tree.size_count = 3; });
  differs([](LoopTree& tree) { tree.lanes = 4; });
  differs([](LoopTree& tree) { tree.scalars.push_back(DType::F32); });
}
