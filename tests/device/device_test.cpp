// Tensors on a device whose memory the host cannot touch and whose work is late: see late_device.h.
#include <tenon/tenon.h>

#include <doctest/doctest.h>

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "device/late_tensors.h"
#include "runtime/device/device.h"

using tenon::Device;
using tenon::Tensor;
using tenon::test::DeviceCall;
using tenon::test::late;
using tenon::test::LateDevice;
using tenon::test::same_bits;

namespace {

std::string printed(const Tensor& x) {
  std::ostringstream out;
  out << x;
  return out.str();
}

}  // namespace

TEST_CASE("a tensor moves to a device and back") {
  const Tensor x = tenon::arange(12, tenon::kFloat).reshape({3, 4});
  const Tensor there = x.to(late());
  CHECK(there.device() == late());
  CHECK(there.get_device() == 0);
  CHECK_FALSE(there.is_cpu());
  CHECK(x.device() == Device("cpu"));
  CHECK(there.to(late()).is_same(there));
  CHECK(same_bits(there, x));
  CHECK(there.cpu().is_cpu());
  CHECK(same_bits(there.to(late(1)), x));
  CHECK(there.to(late(1)).device() == late(1));
  CHECK(same_bits(x.t().to(late()), x.t()));
  CHECK(x.t().to(late()).strides() == x.t().strides());
  CHECK(same_bits(tenon::ones({2, 3}, late()), tenon::ones({2, 3})));
  CHECK(same_bits(tenon::tensor({1, 2, 3}, late()), tenon::tensor({1, 2, 3})));
}

TEST_CASE("operations run where their tensors are, as late as may be") {
  LateDevice& device = LateDevice::get();
  const Tensor x = tenon::randn({64, 33}), y = tenon::randn({64, 33});
  const Tensor a = x.to(late()), b = y.to(late());
  device.synchronise();
  const auto before = device.calls();
  const Tensor c = (a * b + 1.5).sum(1).softmax(0);
  CHECK(c.device() == late());
  CHECK(device.calls()[static_cast<size_t>(DeviceCall::Launch)] == before[static_cast<size_t>(DeviceCall::Launch)]);
  tenon::eval({c});
  CHECK(device.waiting() > 0);  // submitted, not run
  CHECK(device.calls()[static_cast<size_t>(DeviceCall::Launch)] > before[static_cast<size_t>(DeviceCall::Launch)]);
  CHECK(same_bits(c, (x * y + 1.5).sum(1).softmax(0)));
  CHECK(same_bits(a.matmul(b.t()), x.matmul(y.t())));
}

TEST_CASE("devices do not mix in one operation") {
  const Tensor x = tenon::ones({3}), y = tenon::ones({3}, late());
  CHECK_THROWS_WITH_AS(x + y,
                       doctest::Contains("Expected all tensors to be on the same device, but found at least two devices, "
                                         "privateuseone:0 and cpu!"),
                       tenon::Error);
  CHECK_THROWS_AS(tenon::cat({x, y}), tenon::Error);
  CHECK_THROWS_AS(tenon::where(x > 0, y, y), tenon::Error);
  CHECK_THROWS_AS(x.to(Device("privateuseone:7")), tenon::Error);
  CHECK(same_bits(tenon::tensor(2.f) * y + tenon::tensor(1.f), tenon::full({3}, 3.f)));  // but for one number of the host
}

TEST_CASE("one graph may go to a device and back") {
  const Tensor x = tenon::randn({100});
  const Tensor y = ((x * 2).to(late()).exp() + 1).cpu().log().to(late(1)) - 3;
  CHECK(same_bits(y, ((x * 2).exp() + 1).log() - 3));
}

TEST_CASE("the key of a graph tells devices apart, and one plan serves each") {
  const Tensor x = tenon::randn({40}), a = x.to(late(0)), b = x.to(late(1));
  tenon::eval({a, b});
  const auto run = [](const Tensor& t) {
    const int64_t before = tenon::counters().plans_built;
    tenon::eval({t * 3 - 1});
    return tenon::counters().plans_built - before;
  };
  CHECK(run(a) == 1);
  CHECK(run(b) == 1);
  CHECK(run(x) == 1);
  for (int round = 0; round < 3; ++round) {
    CHECK(run(a) + run(b) + run(x) == 0);
    CHECK(same_bits(b * 3 - 1, x * 3 - 1));
  }
}

TEST_CASE("dump shows the forms of code that a device has, and sketches or names the others") {
  const Tensor x = tenon::randn({40}).to(late());
  tenon::eval({x});
  const Tensor y = x * 2 + 1;
  CHECK(tenon::dump({y}, tenon::Stage::LLVM).find("define") != std::string::npos);
  CHECK(tenon::dump({y}, tenon::Stage::CUDA).find("TENON_KERNEL") != std::string::npos);
  CHECK(tenon::dump({y}, tenon::Stage::PTX).find(" is for privateuseone:0: the stages LLVM and Assembly have its code.") !=
        std::string::npos);
}

TEST_CASE("reports name the copies between devices") {
  const Tensor x = tenon::randn({40}), y = (x * 2).to(late()) + 1;
  const std::string plan = tenon::explain({y});
  CHECK(plan.find("@copy") != std::string::npos);
  CHECK(tenon::dump({y}, tenon::Stage::Graph).find("device=64 : f32[40]@64") != std::string::npos);
  CHECK(tenon::dump({y}, tenon::Stage::LLVM).find("define") != std::string::npos);
  tenon::clear_kernel_history();
  CHECK(same_bits(y, x * 2 + 1));
  bool copied = false;
  for (const tenon::KernelRecord& r : tenon::kernel_history()) copied |= r.name == "copy" && r.schedule == "copy";
  CHECK(copied);
  CHECK(tenon::explain({y}).find("already computed") == 0);
}

TEST_CASE("elements are read on the host through a copy") {
  const Tensor x = tenon::arange(6, tenon::kFloat).reshape({2, 3}), there = x.to(late());
  CHECK(there[1][2].item<float>() == 5);
  CHECK(there.sum().item<double>() == 15);
  CHECK(printed(there) == "tensor([[0., 1., 2.],\n        [3., 4., 5.]], device='privateuseone:0')");
  CHECK(static_cast<bool>((there >= 0).all().item<bool>()));
  CHECK(there.equal(x.to(late())));
  CHECK_THROWS_AS((there.accessor<float, 2>()), tenon::Error);
  CHECK_THROWS_AS(tenon::toDLPack(there), tenon::Error);
}

TEST_CASE("an address on a device is given away, and stays") {
  const Tensor there = tenon::arange(6, tenon::kFloat).to(late()), twice = there * 2;
  void* address = there.data_ptr();
  there.add_(1);
  CHECK(there.data_ptr() == address);
  CHECK(same_bits(there, tenon::arange(6, tenon::kFloat) + 1));
  CHECK(same_bits(twice, tenon::arange(6, tenon::kFloat) * 2));
}

TEST_CASE("views and writes in place") {
  const Tensor x = tenon::zeros({4, 5}), there = tenon::zeros({4, 5}, late());
  for (const Tensor& t : {x, there}) {
    const Tensor row = t[1];
    row.fill_(2);
    t.slice(1, 1, 5, 2).add_(3);
    t.t()[4].copy_(tenon::arange(4, tenon::kFloat));
    t.index_put_({tenon::tensor({0, 2}, t.device()), 3}, tenon::full({2}, 9.f, t.device()));
    t.masked_fill_(t == 3, -1);
  }
  CHECK(same_bits(x, there));
  const Tensor index = tenon::tensor({2, 0, 3});  // of the host: as in PyTorch
  CHECK(same_bits(there.index({index}), x.index({index})));
  there.index_put_({index}, tenon::tensor(7.f));
  there[1] = tenon::arange(5, tenon::kFloat);
  x.index_put_({index}, tenon::tensor(7.f));
  x[1] = tenon::arange(5, tenon::kFloat);
  CHECK(same_bits(x, there));
  CHECK_THROWS_AS(there.index_put_({index}, tenon::ones({3, 5})), tenon::Error);
  CHECK_THROWS_WITH_AS(x.index({index.to(late())}),
                       doctest::Contains("indices should be either on cpu or on the same device as the indexed tensor (cpu)"),
                       tenon::Error);
}

TEST_CASE("sort, select, scatter, masks and joins are routines of the device too") {
  const Tensor x = tenon::randn({7, 40}), there = x.to(late());
  CHECK(same_bits(std::get<0>(there.sort(1)), std::get<0>(x.sort(1))));
  CHECK(same_bits(std::get<1>(there.topk(3, 1)), std::get<1>(x.topk(3, 1))));
  CHECK(same_bits(there.masked_select(there > 0), x.masked_select(x > 0)));
  CHECK(same_bits(tenon::cat({there, there * 2, tenon::zeros({2, 40}, late())}), tenon::cat({x, x * 2, tenon::zeros({2, 40})})));
  CHECK(same_bits(there.nonzero(), x.nonzero()));
  const Tensor index = (x.abs() * 100).to(tenon::kLong).remainder(7);
  CHECK(same_bits(there.scatter_add(0, index.to(late()), there), x.scatter_add(0, index, x)));
}

TEST_CASE("files are written from a device") {
  const std::string folder = std::getenv("TMPDIR") ? std::getenv("TMPDIR") : "/tmp";
  const std::string path = folder + "/tenon_device_test." + std::to_string(getpid());
  const Tensor x = tenon::randn({4, 9}), there = x.to(late());
  tenon::io::save_npy(path, there.t());
  CHECK(same_bits(tenon::io::load_npy(path), x.t()));
  tenon::io::save_npz(path, {{"a", there}, {"b", there.sum(0)}}, true);
  CHECK(same_bits(tenon::io::load_npz(path)["b"], x.sum(0)));
  tenon::io::save_safetensors(path, {{"a", there[2]}});
  CHECK(same_bits(tenon::io::load_safetensors(path)["a"], x[2]));
  std::remove(path.c_str());
}

TEST_CASE("a network gives the same numbers") {
  struct Net : tenon::nn::Module {
    tenon::nn::Linear one = register_module("one", tenon::nn::Linear(5, 8)), two = register_module("two", tenon::nn::Linear(8, 3));
    Tensor forward(const Tensor& x) { return two->forward(tenon::relu(one->forward(x))); }
  };
  tenon::manual_seed(3);
  Net here;
  tenon::manual_seed(3);
  Net there;
  there.to(late());
  const Tensor x = tenon::randn({16, 5});
  CHECK(there.parameters()[0].device() == late());
  CHECK(same_bits(tenon::cross_entropy_loss(there.forward(x.to(late())), tenon::arange(16, tenon::kLong).remainder(3).to(late())),
                  tenon::cross_entropy_loss(here.forward(x), tenon::arange(16, tenon::kLong).remainder(3))));
}

TEST_CASE("random numbers are the CPU's") {
  tenon::manual_seed(7);
  const Tensor x = tenon::randn({10});
  const Tensor u = tenon::empty({5}).uniform_();
  tenon::manual_seed(7);
  CHECK(same_bits(tenon::randn({10}, late()), x));
  CHECK(same_bits(tenon::empty({5}, late()).uniform_(), u));
}

TEST_CASE("no order of streams and no delay changes a number") {
  const Tensor x = tenon::randn({50, 20});
  const Tensor expected = ((x + 1) * x).sum(0);
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    LateDevice::get(0).shuffle(seed);
    LateDevice::get(1).shuffle(seed + 100);
    Tensor a = x.to(late());
    for (int i = 0; i < 3; ++i) a = a.to(late(i % 2 ? 0 : 1)) + 0;
    const Tensor b = x.to(a.device());
    CHECK(same_bits(((a + 1) * b).sum(0), expected));
  }
}

TEST_CASE("memory is not given away while another device copies from it") {
  const Tensor x = tenon::randn({60});
  Tensor a = x.to(late(0)) * 2;
  tenon::eval({a});
  const Tensor b = a.to(late(1));
  tenon::eval({b});
  a = Tensor();
  LateDevice::get(0).synchronise();  // the release of a has run
  CHECK(same_bits(b, x * 2));
}

TEST_CASE("memory known outside is not written while another device copies from it") {
  const Tensor x = tenon::randn({60});
  const Tensor a = x.to(late(0)) * 2;
  const void* address = a.data_ptr();
  const Tensor b = a.to(late(1));
  tenon::eval({b});
  a.add_(1);
  CHECK(a.data_ptr() == address);
  LateDevice::get(0).synchronise();  // it is written
  CHECK(same_bits(b, x * 2));
  CHECK(same_bits(a, x * 2 + 1));
}

TEST_CASE("a fault at any call is an exception, and nothing is lost") {
  LateDevice& device = LateDevice::get();
  const tenon::Config config = tenon::get_config();
  tenon::Config without = config;
  without.disk_cache = false;
  tenon::set_config(without);
  const Tensor x = tenon::randn({31, 17});
  {
    const Tensor keep = x.to(late());
    tenon::eval({keep});
    const auto program = [&](const Tensor& t, double k) {
      const Tensor scaled = t * k;
      return tenon::cat({std::get<0>(scaled.sort(1)), scaled.exp().sum(1, true)}, 1);
    };
    for (const bool late_fault : {false, true}) {
      for (int call = 0; call < tenon::test::kDeviceCalls; ++call) {
        CAPTURE(call);
        CAPTURE(late_fault);
        for (int64_t nth = 0;; ++nth) {
          REQUIRE(nth < 50);
          tenon::clear_caches();
          device.synchronise();
          const int64_t live = device.memory_stats().live_buffers, bytes = device.memory_stats().allocated;
          std::string failure;
          {
            const Tensor start = x.to(late()), y = program(start, 1.25 + static_cast<double>(nth));
            device.fail(static_cast<DeviceCall>(call), nth, late_fault);
            Tensor got;
            try {
              got = y.cpu();
              tenon::eval({got});
            } catch (const tenon::Error& e) {
              failure = e.what();
            }
            device.heal();
            if (failure.empty()) {
              CHECK(same_bits(got, program(x, 1.25 + static_cast<double>(nth))));
            } else if (!late_fault) {
              CAPTURE(failure);
              const bool named = failure.find("kernel '") != std::string::npos || failure.find("the copy from") == 0;
              CHECK((named || static_cast<DeviceCall>(call) == DeviceCall::Allocate));
              CHECK(same_bits(y, program(x, 1.25 + static_cast<double>(nth))));  // still pending: computed now
            } else {
              CHECK(failure.find("kernel '") != std::string::npos);
              CHECK(same_bits(program(keep, 2), program(x, 2)));  // the device works on
            }
          }
          device.synchronise();
          CHECK(device.memory_stats().live_buffers == live);
          CHECK(device.memory_stats().allocated == bytes);
          if (failure.empty()) break;  // there is no such call any more
        }
      }
    }
  }
  tenon::set_config(config);
}
