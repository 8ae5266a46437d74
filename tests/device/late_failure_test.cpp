// Work on a device that fails when the evaluation that submitted it is over: values are computed again, or are lost with an
// error that names the kernel; never wrong.
#include <tenon/tenon.h>

#include <doctest/doctest.h>

#include <atomic>
#include <cstring>
#include <random>
#include <sstream>
#include <thread>

#include "device/late_tensors.h"
#include "runtime/run/async_work.h"

using tenon::Device;
using tenon::Tensor;
using tenon::test::DeviceCall;
using tenon::test::late;
using tenon::test::LateDevice;
using tenon::test::same_bits;

namespace {

// A tensor of the device that nothing can happen to any more.
Tensor settled(Tensor x) {
  tenon::eval({x});
  tenon::runtime::synchronise();
  return x;
}
std::string error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const tenon::Error& e) {
    return e.what();
  }
  return {};
}
void read(const Tensor& x) { static_cast<void>(x.cpu().const_data_ptr()); }
bool contains(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

// Nothing of it is held but the result: inputs give their memory away.
Tensor program(const Tensor& x, double k) {
  const Tensor scaled = x * k;
  return tenon::cat({std::get<0>(scaled.sort(1)), scaled.exp().sum(1, true)}, 1);
}

// Every fault in turn: `body` does its work with the fault planted, and says whether it met it.
void with_each_late_fault(const std::function<bool()>& body) {
  LateDevice& device = LateDevice::get();
  for (int call = 0; call < tenon::test::kDeviceCalls; ++call) {
    CAPTURE(call);
    for (int64_t nth = 0;; ++nth) {
      REQUIRE(nth < 50);
      CAPTURE(nth);
      tenon::runtime::synchronise();
      tenon::clear_caches();  // plans have nodes of routines
      const auto before = device.memory_stats();
      const int64_t nodes = tenon::ir::live_node_count();
      device.shuffle(static_cast<uint64_t>(call * 100 + nth));
      device.fail(static_cast<DeviceCall>(call), nth, true);
      const bool met = body();
      device.heal();
      tenon::runtime::synchronise();
      tenon::clear_caches();
      CHECK(tenon::ir::live_node_count() == nodes);
      CHECK(device.memory_stats().live_buffers == before.live_buffers);
      CHECK(device.memory_stats().allocated == before.allocated);
      if (!met) break;
    }
  }
}

}  // namespace

TEST_CASE("what fails after its evaluation is computed again") {
  const Tensor x = tenon::randn({31, 17}), want = program(x, 1.25), twice = want * 2;
  tenon::eval({x, want, twice});
  int met = 0;
  for (const bool look : {false, true}) {
    with_each_late_fault([&] {
      const Tensor y = program(x.to(late()), 1.25), z = y * 2;
      tenon::eval({y});
      if (look) tenon::eval({z});  // of what has failed
      const std::string error = error_of([&] { read(z); });
      CHECK((error.empty() || contains(error, "kernel '")));
      LateDevice::get().heal();
      CHECK(same_bits(y, want));
      CHECK(same_bits(z, twice));
      met += !error.empty();
      return !error.empty();
    });
  }
  CHECK(met >= 10);
}

TEST_CASE("a failure is found by the next evaluation, and by waiting for the devices") {
  LateDevice &device = LateDevice::get(), &other_device = LateDevice::get(1);
  const Tensor x = tenon::randn({40});
  const Tensor there = settled(x.to(late())), elsewhere = settled(x.to(late(1)));
  for (const bool wait : {false, true}) {
    device.fail(DeviceCall::Launch, 0, true);
    const Tensor y = there * (wait ? 3 : 5), other = there - 1;
    tenon::eval({y});
    device.heal();
    if (wait) {
      CHECK_THROWS_AS(tenon::runtime::synchronise(), tenon::runtime::AsyncFailure);
    } else {
      for (int i = 0; i < 100 && device.waiting() > 0; ++i) {  // while another device works, this one does, too
        other_device.copy_from_host(tenon::Tensor(elsewhere).data_ptr(), x.const_data_ptr(), 4, tenon::runtime::Stream::Main);
        other_device.synchronise();
      }
      REQUIRE(device.waiting() == 0);
      CHECK(contains(error_of([&] { tenon::eval({other}); }), "a planted late fault"));
    }
    CHECK(same_bits(y, x * (wait ? 3 : 5)));
    CHECK(same_bits(other, x - 1));
  }
}

TEST_CASE("an input whose memory was taken over is computed again if it can be, else it is lost with a word") {
  LateDevice& device = LateDevice::get();
  const Tensor x = tenon::randn({50});
  for (const bool is_settled : {false, true}) {
    Tensor a = x.to(late()) * 2;
    tenon::eval({a});
    if (is_settled) tenon::runtime::synchronise();
    const int64_t live = device.memory_stats().live_buffers;
    Tensor b = a.exp();
    a = Tensor();
    device.fail(DeviceCall::Launch, 0, true);
    tenon::eval({b});
    device.heal();
    CHECK(device.memory_stats().live_buffers == live);  // it took it over
    CHECK(contains(error_of([&] { read(b); }), "a planted late fault"));
    if (!is_settled) {
      CHECK(same_bits(b, (x * 2).exp()));
      continue;
    }
    for (int i = 0; i < 3; ++i) {
      const std::string error = error_of([&] { read(b + i); });
      CHECK(contains(error, "a value that is read here is lost: kernel 'exp"));
      CHECK(contains(error, "failed on privateuseone:0: a planted late fault"));
    }
    b.fill_(3);
    CHECK(same_bits(b, tenon::full({50}, 3.f)));
  }
}

TEST_CASE("memory whose address is known outside keeps it, and is lost until all of it is written") {
  LateDevice& device = LateDevice::get();
  const Tensor x = tenon::randn({50}), there = settled(x.to(late()));
  device.fail(DeviceCall::Launch, 0, true);
  const Tensor y = there * 7;
  tenon::eval({y});
  const void* address = y.data_ptr();
  device.heal();
  std::ostringstream out;
  CHECK(contains(error_of([&] { out << y; }), "a planted late fault"));
  CHECK(contains(error_of([&] { out << y; }), "is lost: kernel '"));
  CHECK(contains(error_of([&] { read(y); }), "is lost: kernel '"));
  CHECK(contains(error_of([&] { read(y + 1); }), "is lost: kernel '"));
  CHECK(contains(error_of([&] { y.add_(1); }), "is lost: kernel '"));
  CHECK(y.data_ptr() == address);
  y.copy_(there);
  CHECK(y.data_ptr() == address);
  CHECK(same_bits(y, x));
  device.fail(DeviceCall::Copy, 0, true);
  y.copy_(settled(there + 1));
  device.heal();
  CHECK(contains(error_of([&] { read(y); }), "a planted late fault"));
  CHECK(contains(error_of([&] { read(y); }), "is lost: "));
  y.copy_(there);
  CHECK(same_bits(y, x));
}

TEST_CASE("the host gets nothing that comes from a failure on a third device") {
  LateDevice& first = LateDevice::get(0);
  const Tensor x = tenon::randn({50});
  const Tensor there = settled(x.to(late(0)));
  first.fail(DeviceCall::Launch, 0, true);
  const Tensor y = there + 2, moved = y.to(late(1)), z = moved * 3;
  tenon::eval({y});
  tenon::eval({z});
  first.heal();
  CHECK(contains(error_of([&] { read(z); }), "failed on privateuseone:0"));
  CHECK(same_bits(z, (x + 2) * 3));
  CHECK(same_bits(y, x + 2));
}

TEST_CASE("who finds no memory waits for the devices first") {
  LateDevice& device = LateDevice::get();
  const Tensor x = tenon::randn({50}), there = settled(x.to(late()));
  const Tensor y = there + 1;
  tenon::eval({y});
  const int64_t of_one = device.waiting();
  CHECK(of_one > 0);
  device.fail(DeviceCall::Allocate, 0);
  const Tensor z = there + 2;
  tenon::eval({z});
  CHECK(device.waiting() <= of_one);  // the first has run
  device.heal();
  CHECK(same_bits(z, x + 2));
  device.fail(DeviceCall::Allocate, 0);
  tenon::runtime::synchronise();
  CHECK_THROWS_AS(tenon::eval({there + 3}), tenon::OutOfMemoryError);  // nothing to wait for
  device.heal();
}

TEST_CASE("a long chain that no one waits for ends without recursion") {
  LateDevice& device = LateDevice::get();
  const int64_t before = device.memory_stats().live_buffers;
  {
    Tensor x = settled(tenon::arange(3, tenon::kFloat).to(late()));
    const int64_t live = device.memory_stats().live_buffers;
    for (int i = 0; i < 20000; ++i) {
      x = x + 1;
      tenon::eval({x});
    }
    CHECK(device.memory_stats().live_buffers == live);  // each took over its operand's memory
  }
  CHECK(device.memory_stats().live_buffers == before);
}

// A training step by hand, on a device that is steps behind: gradient, moment and parameter are results of one evaluation, and the
// latter are computed from the former. `seen`: values that are read at the end, some of which are pending until then.
TEST_CASE("steps that run ahead find their memory where it was, and what fails in one of them is computed again or lost") {
  LateDevice& device = LateDevice::get();
  constexpr int kSteps = 6;
  enum Reader { None, OfGradient, OfMoment, View, kReaders };
  const Tensor x = tenon::rand({60});
  const auto train = [&](const Device& where, int reader, const std::function<void(int)>& after_step) {
    Tensor p = x.to(where) * 1, moment = tenon::zeros({60}).to(where), gradient;
    const Tensor data = x.to(where) * 3;
    std::vector<Tensor> seen;
    for (int step = 0; step < kSteps; ++step) {
      gradient = Tensor();
      gradient = (p * data).tanh();
      moment = moment * 0.5 + gradient;
      p = p - moment * 0.1 / (moment.abs() + 1);
      tenon::eval({gradient, moment, p});
      if (reader == OfGradient) seen.push_back(gradient * 2);
      if (reader == OfMoment) seen.push_back(moment.exp());
      if (reader == View) seen.push_back(gradient.slice(0, 5, 50).t());
      after_step(step);
    }
    seen.insert(seen.end(), {gradient, moment, p});
    return seen;
  };
  const auto wait_for_work = [] {
    try {
      tenon::runtime::synchronise();
    } catch (const tenon::runtime::AsyncFailure&) {
    }
  };
  for (int reader = 0; reader < kReaders; ++reader) {
    CAPTURE(reader);
    const std::vector<Tensor> want = train(tenon::kCPU, reader, [](int) {});
    std::vector<int64_t> live(kSteps);
    const std::vector<Tensor> got =
        train(late(), reader, [&](int step) { live[static_cast<size_t>(step)] = device.memory_stats().live_buffers; });
    CHECK(device.waiting() >= kSteps);
    for (int step = 3; step < kSteps; ++step)
      CHECK(live[static_cast<size_t>(step)] - live[static_cast<size_t>(step) - 1] == (reader == None ? 0 : 1));
    for (size_t i = 0; i < want.size(); ++i) CHECK(same_bits(got[i], want[i]));
    int errors = 0, right = 0;
    for (int64_t nth = 0; nth < kSteps + 2; ++nth) {
      CAPTURE(nth);
      for (const bool wait : {false, true}) {
        wait_for_work();
        device.fail(DeviceCall::Launch, nth, true);
        const std::vector<Tensor> values = train(late(), reader, [&](int step) {
          if (wait && step == 2) wait_for_work();
        });
        for (size_t i = 0; i < values.size(); ++i) {
          bool is_right = false;
          const std::string error = error_of([&] { is_right = same_bits(values[i], want[i]); });
          CHECK((is_right || contains(error, "a planted late fault")));
          ++(is_right ? right : errors);
        }
        device.heal();
      }
    }
    CHECK(right > 0);
    CHECK(errors > 0);
  }
}

// Threads compute on shared tensors of the device while faults are planted: each read gives the right bits or an error.
TEST_CASE("threads on a device that fails now and then read the right bits or an error") {
  LateDevice& device = LateDevice::get();
  const Tensor x = tenon::arange(200, tenon::kFloat);
  const Tensor there = settled(x.to(late()));
  constexpr int kThreads = 3, kRounds = 150;
  std::atomic<int> wrong{0}, right{0}, errors{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937_64 random(static_cast<uint64_t>(t) + 1);
      for (int round = 0; round < kRounds; ++round) {
        const auto k = static_cast<double>(random() % 5 + 2);
        if (random() % 4 == 0) device.fail(DeviceCall::Launch, static_cast<int64_t>(random() % 3), true);
        try {
          const Tensor y = there * k;
          tenon::eval({y});
          const Tensor z = y + 1;
          if (random() % 2) tenon::eval({z});
          const Tensor got = z.cpu();
          const auto* data = static_cast<const float*>(got.const_data_ptr());
          bool same = true;
          for (int i = 0; i < 200; ++i) same &= data[i] == static_cast<float>(i) * static_cast<float>(k) + 1;
          ++(same ? right : wrong);
        } catch (const tenon::Error&) {
          ++errors;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  device.heal();
  try {
    tenon::runtime::synchronise();
  } catch (const tenon::runtime::AsyncFailure&) {  // of what nobody read
  }
  CHECK(wrong == 0);
  CHECK(right > 0);
  CHECK(errors > 0);
  CHECK(same_bits(there, x));
}
