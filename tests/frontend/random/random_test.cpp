// Random numbers of the CPU against PyTorch's, bit for bit, and what generators promise.
#include <doctest/doctest.h>
#include <tenon/tenon.h>

#include <cmath>
#include <cstring>
#include <numeric>
#include <random>
#include <thread>

#include "frontend/golden.h"
#include "frontend/python/python.h"
#include "support/same_bits.h"

using tenon::Generator;
using tenon::kDouble;
using tenon::Tensor;
using tenon::test::same_bits;

namespace {

const std::vector<std::string> kDtypes = {"bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64"};

// As same_bits, but float64 may differ by a unit in the last place, as libm's of other versions do.
bool same_numbers(const Tensor& a, const Tensor& b) {
  if (a.scalar_type() != kDouble || b.scalar_type() != kDouble) return same_bits(a, b);
  if (!(a.sizes() == b.sizes())) return false;
  const Tensor x = a.contiguous(), y = b.contiguous();
  for (int64_t i = 0; i < x.numel(); ++i) {
    const double p = x.data_ptr<double>()[i], q = y.data_ptr<double>()[i];
    if (p != q && std::nextafter(p, q) != q) return false;
  }
  return true;
}

Generator seeded(uint64_t seed) { return tenon::make_generator<tenon::CPUGeneratorImpl>(seed); }

std::string message(const std::function<void()>& call) {
  try {
    call();
  } catch (const tenon::Error& e) {
    return e.msg();
  }
  return "no error";
}

// The next two draws show how much of the stream was used.
std::vector<int64_t> next_draws() {
  const Tensor draws = tenon::empty({2}, tenon::kLong).random_();
  return {draws[0].item<int64_t>(), draws[1].item<int64_t>()};
}

double mean_of(const Tensor& x) { return x.to(kDouble).mean().item<double>(); }
double deviation_of(const Tensor& x) { return x.to(kDouble).std().item<double>(); }

}  // namespace

TEST_CASE("every stream is PyTorch's, bit for bit, and uses as many words") {
  const std::string blob = golden::read("rng.bin");
  int checked = 0;
  for (const auto& record : golden::load("rng.json")) {
    const std::string code = record["code"];
    CAPTURE(code);
    tenon::manual_seed(static_cast<uint64_t>(record["seed"].get<int64_t>()));
    CAPTURE(record["seed"].get<int64_t>());
    try {
      const Tensor got = python::run(code).as<Tensor>();
      const std::vector<int64_t> shape = record["shape"];
      const auto type = std::ranges::find(kDtypes, record["dtype"].get<std::string>()) - kDtypes.begin();
      const Tensor want = tenon::empty(shape, static_cast<tenon::ScalarType>(type));
      std::memcpy(want.data_ptr(), blob.data() + record["at"].get<size_t>(), static_cast<size_t>(want.nbytes()));
      CHECK_MESSAGE(same_numbers(got, want), tenon::repr(got), "\nexpected ", tenon::repr(want));
      CHECK(next_draws() == record["after"].get<std::vector<int64_t>>());
      ++checked;
    } catch (const std::exception& e) {
      FAIL_CHECK(std::string(e.what()));
    }
  }
  CHECK(checked == 186);
}

TEST_CASE("the words are mt19937's, however they are fetched") {
  const Generator g = seeded(7);
  std::mt19937 reference(7);
  // Odd counts, so that draws of every size cross the block of 624 words.
  for (int64_t n : {1, 3, 620, 1, 5, 623, 624, 625, 1999, 7}) {
    const Tensor words = tenon::randint(0, int64_t{1} << 32, {n}, g, tenon::kInt64);
    const Tensor small = tenon::randint(0, 1000003, {n}, g);
    for (int64_t i = 0; i < n; ++i) {
      const uint64_t high = reference();
      REQUIRE(static_cast<uint64_t>(words.data_ptr<int64_t>()[i]) == ((high << 32 | reference()) & 0xffffffffu));
    }
    for (int64_t i = 0; i < n; ++i) REQUIRE(small.data_ptr<int64_t>()[i] == static_cast<int64_t>(reference() % 1000003));
  }
}

TEST_CASE("a call draws at once: the order of calls is the order of the stream, whatever is observed first") {
  tenon::manual_seed(1);
  const Tensor a = tenon::rand({5}), b = tenon::randn({20}), c = tenon::dropout(tenon::ones({30}), 0.5, true);
  const Tensor last = tenon::rand({5});
  tenon::manual_seed(1);
  const Tensor a2 = tenon::rand({5});
  tenon::eval({a2});
  const Tensor b2 = tenon::randn({20}), c2 = tenon::dropout(tenon::ones({30}), 0.5, true);
  tenon::eval({c2});
  CHECK(same_bits(tenon::rand({5}), last));
  CHECK(same_bits(c, c2));
  CHECK(same_bits(b, b2));
  CHECK(same_bits(a, a2));
}

TEST_CASE("generators: seeds, copies, clones and states") {
  Generator g = seeded(5);
  CHECK(g.current_seed() == 5);
  CHECK(tenon::make_generator<tenon::CPUGeneratorImpl>().current_seed() == 67280421310721u);
  g.set_current_seed(static_cast<uint64_t>(-1));
  CHECK(g.initial_seed() == ~uint64_t{0});
  const Tensor from_minus_one = tenon::rand({3}, g);
  CHECK(same_bits(from_minus_one, tenon::rand({3}, seeded(0xffffffff))));  // the low 32 bits count

  const Generator handle = g, twin = g.clone();
  CHECK(handle == g);
  CHECK_FALSE(twin == g);
  const Tensor first = tenon::rand({4}, handle), second = tenon::rand({4}, g);
  CHECK_FALSE(same_bits(first, second));
  CHECK(same_bits(tenon::rand({8}, twin), tenon::cat({first, second})));
  const uint64_t unforeseen = g.seed();
  CHECK(g.current_seed() == unforeseen);
  CHECK(message([] { Generator().current_seed(); }) == "Generator is undefined");
  CHECK(same_bits((tenon::manual_seed(3), tenon::rand({2}, Generator())), tenon::rand({2}, seeded(3))));
}

TEST_CASE("a state goes on where it was taken, with the normal sample that was held back") {
  Generator g = seeded(11);
  for (int64_t used : {0, 1, 7, 623, 624, 700}) {
    tenon::randint(10, {used}, g);
    tenon::randn({1}, g);  // leaves its twin behind
    const Tensor state = g.get_state();
    CHECK((state.scalar_type() == tenon::kByte));
    CHECK(state.numel() == 5056);
    const Tensor normals = tenon::randn({3}, g), uniforms = tenon::rand({1000}, g);
    Generator other = seeded(99);
    other.set_state(state);
    CHECK(same_bits(other.get_state(), state));
    CHECK(same_bits(tenon::randn({3}, other), normals));
    CHECK(same_bits(tenon::rand({1000}, other), uniforms));
    CHECK(other.current_seed() == 11);
  }
  CHECK(message([&] { g.set_state(tenon::zeros({5056})); }) == "RNG state must be a torch.ByteTensor");
  CHECK(message([&] { g.set_state(tenon::zeros({3}, tenon::kByte)); }) ==
        "Expected a CPUGeneratorImplState of size 5056 but found the input RNG state size to be 3");
  CHECK(message([&] { g.set_state(tenon::zeros({5056}, tenon::kByte)); }) == "Invalid mt19937 state");
  Tensor wild = g.get_state().clone();
  wild.data_ptr<uint8_t>()[16] = 200;  // next, left: together past the end
  wild.data_ptr<uint8_t>()[17] = 2;
  CHECK(message([&] { g.set_state(wild); }) == "Invalid mt19937 state");
}

TEST_CASE("a view is filled in the order of its memory, and only the view") {
  const Tensor base = tenon::zeros({6, 8});
  base.slice(1, 0, 8, 2).t().uniform_(0, 1, seeded(2));
  const Tensor want = tenon::rand({6, 4}, seeded(2));
  CHECK(same_bits(base.slice(1, 0, 8, 2), want));
  CHECK(tenon::equal(base.slice(1, 1, 8, 2), tenon::zeros({6, 4})));

  const Tensor cube = tenon::zeros({2, 3, 4});
  cube.permute({2, 0, 1}).random_(1000, seeded(3));
  CHECK(same_bits(cube, tenon::randint(1000, {2, 3, 4}, seeded(3), tenon::kFloat)));
  const Tensor before = cube * 2, copy = cube.clone();
  cube.normal_(0, 1, seeded(4));
  CHECK(same_bits(before, copy * 2));  // a pending reader keeps what it read
  const Tensor row = tenon::zeros({3});
  CHECK_THROWS_AS(row.expand({2, 3}).uniform_(), tenon::Error);
}

TEST_CASE("moments and ranges") {
  const Generator g = seeded(123);
  const int64_t n = 200000;
  const double sigmas = 5 / std::sqrt(static_cast<double>(n));
  for (tenon::ScalarType type : {tenon::kFloat, kDouble, tenon::kHalf, tenon::kBFloat16}) {
    CAPTURE(tenon::repr(type));
    const double rounding = type == tenon::kBFloat16 ? 0.01 : type == tenon::kHalf ? 0.002 : 0;
    const Tensor u = tenon::rand({n}, g, type);
    CHECK(std::abs(mean_of(u) - 0.5) < 0.2887 * sigmas + rounding);
    CHECK(u.min().item<double>() >= 0);
    CHECK(u.max().item<double>() <= 1);
    const Tensor x = tenon::normal(3, 2, {n}, g, type);
    CHECK(std::abs(mean_of(x) - 3) < 2 * sigmas + 3 * rounding);
    CHECK(std::abs(deviation_of(x) - 2) < 2 * sigmas + 3 * rounding);
    CHECK(std::abs(mean_of(tenon::empty({n}, type).exponential_(2, g)) - 0.5) < 0.5 * sigmas + rounding);
  }
  CHECK(std::abs(mean_of(tenon::empty({n}).log_normal_(0, 0.5, g)) - std::exp(0.125)) < 0.61 * sigmas);
  CHECK(std::abs(mean_of(tenon::empty({n}, tenon::kLong).geometric_(0.25, g)) - 4) < 3.47 * sigmas);
  const Tensor cauchy = std::get<0>(tenon::empty({n}, kDouble).cauchy_(1, 2, g).sort());
  CHECK(std::abs(cauchy[n / 2].item<double>() - 1) < 3.2 * sigmas);
  CHECK(std::abs(cauchy[n / 4 * 3].item<double>() - 3) < 6 * sigmas);
  for (double rate : {0.0, 0.3, 9.5, 10.0, 250.0}) {
    CAPTURE(rate);
    const Tensor counts = tenon::poisson(tenon::full({n}, rate), g);
    CHECK(std::abs(mean_of(counts) - rate) <= std::sqrt(rate) * sigmas);
    CHECK(std::abs(deviation_of(counts) - std::sqrt(rate)) <= (std::sqrt(rate) + 0.5) * sigmas);
  }
  CHECK(std::abs(mean_of(tenon::empty({n}, tenon::kBool).bernoulli_(0.3, g)) - 0.3) < 0.46 * sigmas);
}

TEST_CASE("a permutation has every number once; multinomial follows its weights") {
  const Generator g = seeded(8);
  const Tensor order = tenon::randperm(5000, g, tenon::kInt);
  CHECK(tenon::equal(std::get<0>(order.sort()), tenon::arange(5000, tenon::kInt)));
  const Tensor weights = tenon::tensor({{1.0, 0.0, 3.0}, {5.0, 5.0, 0.0}});
  const Tensor drawn = tenon::multinomial(weights, 20000, true, g);
  CHECK(drawn.sizes() == tenon::IntArrayRef({2, 20000}));
  CHECK(std::abs(mean_of(drawn[0] == 2) - 0.75) < 0.02);
  CHECK(mean_of(drawn[0] == 1) == 0);
  CHECK(std::abs(mean_of(drawn[1] == 1) - 0.5) < 0.02);
  CHECK(mean_of(drawn[1] == 2) == 0);
  const Tensor both = tenon::multinomial(weights, 2, false, g);
  CHECK(tenon::equal(std::get<0>(both.sort(1)), tenon::tensor({{0, 2}, {0, 1}})));
  CHECK(tenon::multinomial(tenon::zeros({0, 3}), 2).sizes() == tenon::IntArrayRef({0, 2}));
}

TEST_CASE("dropout keeps and scales, whole channels where asked, and is the input itself where it does nothing") {
  tenon::manual_seed(1);
  const Tensor x = tenon::ones({64, 100});
  const Tensor y = tenon::dropout(x, 0.25, true);
  CHECK(tenon::equal((y == 0).logical_or(y == tenon::scalar_tensor(1.0f / 0.75f)), x.to(tenon::kBool)));
  CHECK(std::abs(mean_of(y) - 1) < 0.05);
  CHECK(tenon::dropout(x, 0.25, false).is_same(x));
  CHECK(tenon::dropout(x, 0, true).is_same(x));
  CHECK(tenon::equal(tenon::dropout(x, 1, true), tenon::zeros({64, 100})));
  const Tensor z = tenon::feature_dropout(tenon::ones({8, 16, 3, 3}), 0.5, true);
  CHECK(tenon::equal(std::get<0>(z.flatten(2).max(2)), std::get<0>(z.flatten(2).min(2))));
  const Tensor normal = tenon::randn({100000});
  const Tensor alpha = tenon::alpha_dropout(normal, 0.3, true);
  CHECK(std::abs(mean_of(alpha)) < 0.02);
  CHECK(std::abs(deviation_of(alpha) - 1) < 0.02);
  CHECK_THROWS_AS(tenon::dropout(x, 1.5, true), tenon::ValueError);
  CHECK(message([&] { tenon::dropout(x.to(tenon::kLong), 0.5, true); }) ==
        "result type Float can't be cast to the desired output type Long");
}

TEST_CASE("random integers of the extremes") {
  const Generator g = seeded(4);
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min(), kMost = std::numeric_limits<int64_t>::max();
  const Tensor all = tenon::empty({1000}, tenon::kLong).random_(kLeast, tenon::nullopt, g);
  CHECK((all < 0).any().item<bool>());
  CHECK((all > 0).any().item<bool>());
  CHECK((tenon::randint(kLeast, kMost, {1000}, g) < 0).any().item<bool>());
  CHECK(tenon::equal(tenon::randint(kMost - 1, kMost, {3}, g), tenon::full({3}, kMost - 1)));
  const Tensor half = tenon::empty({5000}, tenon::kHalf).random_(0, 65504, g);
  CHECK(half.max().item<double>() < 65504);
  CHECK(message([&] { tenon::empty({1}, tenon::kHalf).random_(0, 70000, g); }) == "to - 1 is out of bounds for c10::Half");
  CHECK(message([&] { tenon::empty({1}, tenon::kInt).random_(kLeast, tenon::nullopt, g); }) ==
        "random_full_64_bits_range_kernel_cpu handles only int64, double, float and bfloat16");
  CHECK(message([&] { tenon::randint(0, 300, {2}, tenon::kByte); }) == "to - 1 is out of bounds for unsigned char");
  CHECK(message([&] { tenon::randint(5, 5, {2}); }) == "random_ expects 'from' to be less than 'to', but got from=5 >= to=5");
  CHECK(message([&] { tenon::randperm(-1); }) == "Trying to create tensor with negative dimension -1: [-1]");
  CHECK(message([&] { tenon::randperm(3000, tenon::kHalf); }) == "n cannot be greater than 2049 for Half type.");
}

TEST_CASE("mistakes are found at the call, before anything is drawn") {
  tenon::manual_seed(6);
  const Tensor x = tenon::rand({4}), integers = tenon::ones({4}, tenon::kLong);
  CHECK(message([] { tenon::rand({2}, tenon::kLong); }) == "\"check_uniform_bounds\" not implemented for 'Long'");
  CHECK(message([&] { integers.normal_(); }) == "\"normal_kernel_cpu\" not implemented for 'Long'");
  CHECK(message([&] { x.uniform_(1, 0); }) == "uniform_ expects to return a [from, to) range, but found from=1 > to=0");
  CHECK(message([&] { x.uniform_(0, std::nan("")); }) == "to is out of bounds for float");
  CHECK(message([&] { x.normal_(0, -1); }) == "normal expects std >= 0.0, but found std -1");
  CHECK(message([&] { tenon::normal(x, -x); }) == "normal expects all elements of std >= 0.0");
  CHECK(message([&] { x.bernoulli_(1.5); }) == "bernoulli_ expects p to be in [0, 1], but got p=1.5");
  CHECK(message([&] { tenon::bernoulli(x + 1); }).starts_with("Expected p_in >= 0 && p_in <= 1 to be true"));
  CHECK(message([&] { tenon::bernoulli(integers); }) == "\"bernoulli_tensor_cpu_p_\" not implemented for 'Long'");
  CHECK(message([&] { x.exponential_(0); }) == "exponential_ expects lambda > 0.0, but found lambda=0");
  CHECK(message([&] { x.geometric_(1); }) == "geometric_ expects p to be in (0, 1), but got p=1");
  CHECK(message([&] { tenon::poisson(-x); }) == "invalid Poisson rate, expected rate to be non-negative");
  CHECK(message([&] { tenon::multinomial(x, 5); }) == "cannot sample n_sample > prob_dist.size(-1) samples without replacement");
  CHECK(message([&] { tenon::multinomial(-x, 1); }) == "probability tensor contains either `inf`, `nan` or element < 0");
  CHECK(message([&] { tenon::multinomial(x * 0, 1, true); }) == "invalid multinomial distribution (sum of probabilities <= 0)");
  CHECK_THROWS_AS(tenon::rand({-1}), tenon::Error);
  const std::vector<int64_t> after = next_draws();
  tenon::manual_seed(6);
  tenon::rand({4});
  CHECK(after == next_draws());
}

TEST_CASE("threads share a generator: together they draw the stream, each block whole") {
  const Generator g = seeded(77);
  std::vector<Tensor> parts(40);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (size_t i = t; i < parts.size(); i += 4) parts[i] = tenon::rand({1000}, g, kDouble);
    });
  }
  for (std::thread& thread : threads) thread.join();
  const Tensor together = std::get<0>(tenon::cat(parts).sort());
  CHECK(same_bits(together, std::get<0>(tenon::rand({40000}, seeded(77), kDouble).sort())));
}
