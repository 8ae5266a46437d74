// What the engine makes of kernels: values of barriers, shuffles and shared memory, and each kind of finding.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "codegen/cuda/emit.h"
#include "cuda_sim/engine.h"
#include "cuda_sim/program.h"

using namespace tenon;
using cuda_sim::Engine;
using cuda_sim::Order;
using cuda_sim::Outcome;

namespace {

constexpr Order kOrders[] = {Order::Forward, Order::Backward, Order::Random};

// Runs one block (or more) of the one kernel in a text on two arrays.
Outcome run(const std::string& text, float* x, float* y, unsigned threads, Order order = Order::Forward, unsigned blocks = 1,
            cuda_sim::Compiler compiler = cuda_sim::fastest_compiler()) {
  static Engine engine;
  const auto program = cuda_sim::Program::load(codegen::cuda::prelude() + text, compiler);
  const cuda_sim::Kernel& kernel = program->kernels().at(0);
  void* arguments[] = {&x, &y};
  return engine.run({.kernel = kernel.call,
                     .machine = program->machine(),
                     .arguments = arguments,
                     .blocks = blocks,
                     .threads = threads,
                     .shared_bytes = kernel.shared_bytes,
                     .order = order,
                     .seed = 7});
}

std::string kernel(const std::string& body) { return "TENON_KERNEL void TENON_LAUNCH(256) k(float* x, float* y) {\n" + body + "}\n"; }

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("engine: threads without a barrier, in every order and with both compilers") {
  const std::string text = kernel("  const int i = TENON_BLOCK * 64 + TENON_THREAD;\n  y[i] = 2.0f * x[i];\n");
  for (const auto compiler : {cuda_sim::Compiler::Tcc, cuda_sim::Compiler::Cc}) {
    if (!cuda_sim::available(compiler)) continue;
    for (const Order order : kOrders) {
      std::vector<float> x(192), y(192, -1);
      std::iota(x.begin(), x.end(), 0.0f);
      CHECK(run(text, x.data(), y.data(), 64, order, 3, compiler).kind == Outcome::Fine);
      for (size_t i = 0; i < y.size(); ++i) CHECK(y[i] == 2 * x[i]);
    }
  }
}

TEST_CASE("engine: each block runs once, in every order, so what counts on their order shows") {
  const std::string text = kernel("  x[0] += 1.0f;\n  y[TENON_BLOCK] = x[0];\n");  // what place this block has
  for (const unsigned blocks : {1u, 2u, 12u, 97u}) {
    for (const Order order : kOrders) {
      float x = 0;
      std::vector<float> y(blocks);
      CHECK(run(text, &x, y.data(), 1, order, blocks).kind == Outcome::Fine);
      std::vector<float> places(blocks);
      std::iota(places.begin(), places.end(), 1.0f);
      if (order == Order::Forward || blocks == 1) CHECK(y == places);
      if (order == Order::Backward && blocks > 1) CHECK(y != places);
      if (order == Order::Random && blocks > 2) CHECK(y != places);
      std::sort(y.begin(), y.end());
      CHECK(y == places);
    }
  }
}

TEST_CASE("engine: a barrier between writes and reads of shared memory") {
  const std::string begin = "  TENON_SHARED(float, tile, 100, 0);\n  const int i = TENON_THREAD;\n  tile[i] = x[i];\n";
  const std::string end = "  y[i] = tile[99 - i];\n";
  std::vector<float> x(100), y(100);
  std::iota(x.begin(), x.end(), 0.0f);
  for (const Order order : kOrders) {
    CHECK(run(kernel(begin + "  TENON_BARRIER();\n" + end), x.data(), y.data(), 100, order).kind == Outcome::Fine);
    for (size_t i = 0; i < 100; ++i) CHECK(y[i] == x[99 - i]);
    // Forgotten, it reads nan somewhere in every order.
    CHECK(run(kernel(begin + end), x.data(), y.data(), 100, order).kind == Outcome::Fine);
    CHECK(std::any_of(y.begin(), y.end(), [](float v) { return std::isnan(v); }));
  }
}

TEST_CASE("engine: shuffles within each warp, also one of few threads") {
  const std::string text = kernel(
      "  const int i = TENON_THREAD;\n  float v = x[i];\n"
      "  for (int d = 16; d > 0; d /= 2) v += tenon_shuffle_down_f32(v, d);\n  y[i] = tenon_shuffle_f32(v, 0);\n");
  for (const Order order : kOrders) {
    std::vector<float> x(256), y(256);
    std::iota(x.begin(), x.end(), 0.0f);
    CHECK(run(text, x.data(), y.data(), 256, order).kind == Outcome::Fine);
    for (size_t i = 0; i < 256; ++i) CHECK(y[i] == static_cast<float>(i / 32 * 1024 + 496));
  }
  std::vector<float> x(8, 1), y(8);
  const Outcome outcome = run(kernel("  y[TENON_THREAD] = tenon_shuffle_f32(1.0f, 9);\n"), x.data(), y.data(), 8);
  CHECK(contains(outcome.text, "a lane that does not exist"));
}

TEST_CASE("engine: at random a warp runs ahead of the others, up to the next barrier") {
  const std::string text = kernel(
      "  TENON_SHARED(float, word, 1, 0);\n  const int i = TENON_THREAD;\n  word[0] = 0.0f;\n"
      "  int overtaken = 0;\n"
      "  for (int round = 1; round <= 8; ++round) {\n"
      "    TENON_BARRIER();\n    overtaken += word[0] >= (float)round;\n"  // by one that has left the loop below already
      "    for (int k = 0; k < 9; ++k) tenon_shuffle_f32(1.0f, 0);\n    word[0] = (float)round;\n"
      "  }\n  y[i] = (float)overtaken;\n");
  for (const Order order : kOrders) {
    std::vector<float> x(256), y(256);
    CHECK(run(text, x.data(), y.data(), 256, order).kind == Outcome::Fine);
    CHECK(std::any_of(y.begin(), y.end(), [](float v) { return v > 0; }) == (order == Order::Random));
  }
}

TEST_CASE("engine: a ballot gives each lane a bit, and lanes may not mix warp operations") {
  std::vector<float> x(64), y(64);
  Outcome outcome = run(kernel("  y[TENON_THREAD] = (float)(tenon_machine.ballot(TENON_THREAD % 4 == 0) >> 8);\n"), x.data(), y.data(), 40);
  CHECK(outcome.kind == Outcome::Fine);
  CHECK(y[0] == static_cast<float>(0x111111));
  CHECK(y[39] == 0);  // the last warp has eight lanes
  outcome =
      run(kernel("  y[0] = TENON_THREAD < 9 ? (float)tenon_machine.ballot(1) : tenon_shuffle_f32(1.0f, 0);\n"), x.data(), y.data(), 32);
  CHECK(contains(outcome.text, "different warp operations"));
}

TEST_CASE("engine: a product of tiles by a warp, sums in either order; all its lanes come to it together") {
  const std::string begin =
      "  TENON_SHARED(unsigned short, a, 384, 0);\n  TENON_SHARED(unsigned short, b, 384, 768);\n  const int t = TENON_THREAD;\n"
      "  for (int i = t % 32; i < 256; i += 32) a[i / 16 * 24 + i % 16] = tenon_f32_to_f16(x[i]), b[i / 16 * 24 + i % 16] = "
      "tenon_f32_to_f16(x[256 + i]);\n  TENON_BARRIER();\n";
  const std::string product =
      "tenon_mma_f16(tenon_load_tile(a + t % 16 * 24 + t % 32 / 16 * 8), "
      "tenon_load_turned_tile(b + t % 16 * 24 + t % 32 / 16 * 8), tenon_splat_f32x8(1.0f))";
  const std::string end = ";\n  for (int e = 0; e < 8; ++e) y[(t / 4 + e / 2 % 2 * 8) * 16 + t % 4 * 2 + e % 2 + e / 4 * 8] = c.lane[e];\n";
  const std::string text = kernel(begin + "  const tenon_f32x8 c = " + product + end);
  std::vector<float> x(512), y(256);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(static_cast<int>(i * 37 % 101) - 50) / 8;
  for (const Order order : kOrders) {
    CHECK(run(text, x.data(), y.data(), 32, order).kind == Outcome::Fine);
    for (size_t i = 0; i < 256; ++i) {
      float sum = 1;
      for (size_t k = 0; k < 16; ++k) sum += x[i / 16 * 16 + k] * x[256 + k * 16 + i % 16];
      CHECK(y[i] == sum);
    }
  }
  const auto finding = [&](const std::string& statement, unsigned threads) {
    return run(kernel(begin + statement), x.data(), y.data(), threads).text;
  };
  CHECK(contains(finding("  if (t < 31) { const tenon_f32x8 c = " + product + "; y[t] = c.lane[0]; }\n", 32),
                 "thread 0 waits at the load of a tile"));
  CHECK(contains(finding("  const tenon_f32x8 c = " + product + ";\n  y[t] = c.lane[0];\n", 16), "needs all 32 lanes"));
  CHECK(contains(
      finding("  const tenon_u16x8 v = tenon_load_tile(a);\n  if (t < 31) y[t] = tenon_mma_f16(v, v, tenon_splat_f32x8(0.0f)).lane[0];\n",
              32),
      "thread 0 waits at a product of tiles"));
  CHECK(contains(finding("  y[t] = (float)(t < 9 ? tenon_load_tile(a) : tenon_load_turned_tile(a)).pair[0];\n", 32),
                 "a tile and a turned tile"));
  CHECK(contains(finding("  y[t] = (float)tenon_load_tile(a + 4).pair[0];\n", 32), "not aligned"));
}

TEST_CASE("engine: asynchronous copies happen at the wait, in whole groups, and until then what is there is nan") {
  const std::string begin =
      "  TENON_SHARED(float, ring, 768, 0);\n  const int t = TENON_THREAD;\n  float* const mine = ring + 8 * t;\n"
      "  tenon_copy_async(mine, x + 4 * t, 1);\n  TENON_COMMIT();\n  tenon_copy_async(mine + 4, x + 4 * t, t % 2 == 0);\n  "
      "TENON_COMMIT();\n";
  std::vector<float> x(256), y(64);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
  const auto read = [&](const std::string& statements, Order order = Order::Forward) {
    CHECK(
        run(kernel(begin + statements + "  TENON_BARRIER();\n  TENON_COMMIT();\n  TENON_WAIT(0);\n"), x.data(), y.data(), 64, order).kind ==
        Outcome::Fine);
  };
  read("  y[t] = mine[0];\n");  // no wait
  for (const float v : y) CHECK(std::isnan(v));
  read("  TENON_WAIT(1);\n  y[t] = mine[4];\n");  // the second group may be under way
  for (const float v : y) CHECK(std::isnan(v));
  read("  TENON_WAIT(1);\n  y[t] = mine[1];\n");
  for (size_t i = 0; i < 64; ++i) CHECK(y[i] == static_cast<float>(4 * i + 1));
  read("  TENON_WAIT(0);\n  y[t] = mine[5];\n");
  for (size_t i = 0; i < 64; ++i) CHECK(y[i] == (i % 2 == 0 ? static_cast<float>(4 * i + 1) : 0.0F));
  for (const Order order : kOrders) {  // another thread's are there after a barrier
    read("  TENON_WAIT(1);\n  TENON_BARRIER();\n  y[t] = ring[8 * ((t + 1) % 64)];\n", order);
    for (size_t i = 0; i < 64; ++i) CHECK(y[i] == static_cast<float>((i + 1) % 64 * 4));
  }
  read("  y[0] = 0.0f;\n  TENON_BARRIER();\n  if (t == 1) TENON_WAIT(1);\n  TENON_BARRIER();\n  y[t] = ring[16];\n",
       Order::Backward);  // each waits for its own
  for (const float v : y) CHECK(std::isnan(v));
  read("  tenon_copy_async(ring + 512 + 4 * t, x, 1);\n  TENON_WAIT(0);\n  y[t] = ring[512 + 4 * t];\n");  // no commit
  for (const float v : y) CHECK(std::isnan(v));
  CHECK(contains(run(kernel(begin + "  y[t] = 0.0f;\n"), x.data(), y.data(), 64).text, "before its asynchronous copies have happened"));
  const Outcome outcome =
      run(kernel("  TENON_SHARED(float, s, 8, 0);\n  tenon_copy_async(s + 4, x + 1, 1);\n  y[0] = 0.0f;\n"), x.data(), y.data(), 32);
  CHECK(outcome.kind == Outcome::Misaligned);
}

TEST_CASE("engine: what not every thread reaches is a finding, with block and thread") {
  std::vector<float> x(256, 0), y(256);
  Outcome outcome = run(kernel("  if (TENON_THREAD < 40) TENON_BARRIER();\n"), x.data(), y.data(), 64);
  CHECK(outcome.kind == Outcome::Finding);
  CHECK(contains(outcome.text, "thread 0 waits at a barrier"));
  CHECK(contains(outcome.text, "thread 40 has ended"));
  CHECK(contains(outcome.text, "block 0"));

  outcome =
      run(kernel("  if (TENON_THREAD < 40) {\n    TENON_BARRIER();\n  } else {\n    TENON_BARRIER();\n  }\n"), x.data(), y.data(), 64);
  CHECK(contains(outcome.text, "wait at the barriers of lines"));

  outcome = run(kernel("  if (TENON_THREAD % 2 == 0) y[0] = tenon_shuffle_f32(1.0f, 0);\n"), x.data(), y.data(), 64);
  CHECK(contains(outcome.text, "waits at a shuffle"));

  outcome = run(kernel("  if (TENON_THREAD < 32) y[0] = tenon_shuffle_f32(1.0f, 0);\n  TENON_BARRIER();\n"), x.data(), y.data(), 64);
  CHECK(outcome.kind == Outcome::Fine);  // a whole warp may go its own way
}

TEST_CASE("engine: a misaligned vector, and addresses that are nobody's") {
  alignas(16) float x[64] = {};
  float y[64] = {};
  Outcome outcome = run(kernel("  y[0] = tenon_load_f32x4(x + 1).lane[0];\n"), x, y, 3);
  CHECK(outcome.kind == Outcome::Misaligned);
  CHECK(contains(outcome.text, "not aligned, block 0, thread 0"));

  outcome = run(kernel("  if (TENON_THREAD == 2) x[1000000000] = y[0];\n"), x, y, 3);
  CHECK(outcome.kind == Outcome::IllegalAddress);
  CHECK(contains(outcome.text, "thread 2"));

  const std::string beyond = "  TENON_SHARED(float, a, 16, 0);\n  TENON_SHARED(float, b, 16, 64);\n  b[TENON_THREAD + %] = x[0];\n";
  const auto with = [&](const char* offset) { return kernel(std::string(beyond).replace(beyond.find('%'), 1, offset)); };
  CHECK(run(with("13"), x, y, 3).kind == Outcome::Fine);
  CHECK(run(with("14"), x, y, 3).kind == Outcome::IllegalAddress);  // thread 2 writes element 16
  CHECK(run(with("13"), x, y, 3).kind == Outcome::Fine);            // and the engine is as it was
}

TEST_CASE("engine: a text that does not compile says why") {
  const std::string undeclared = kernel("  y[0] = no_such_function(x[0]);\n");
  for (const auto compiler : {cuda_sim::Compiler::Tcc, cuda_sim::Compiler::Cc}) {
    if (!cuda_sim::available(compiler)) continue;
    std::string messages;
    try {
      cuda_sim::Program::load(codegen::cuda::prelude() + undeclared, compiler);
    } catch (const std::exception& error) {
      messages = error.what();
    }
    CHECK(contains(messages, "no_such_function"));
    CHECK_THROWS(cuda_sim::Program::load(codegen::cuda::prelude() + kernel("  y[0] = ;\n"), compiler));
  }
}
