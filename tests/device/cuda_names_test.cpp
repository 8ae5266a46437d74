// What a program sees of a device called "cuda": names, the current device, guards, texts. Seen on late devices of that name.
#include <tenon/dlpack.h>
#include <tenon/tenon.h>

#include <doctest/doctest.h>

#include <functional>
#include <sstream>
#include <string>

#include "device/late_tensors.h"

using tenon::Device;
using tenon::kCUDA;
using tenon::Tensor;
using tenon::test::late_cuda;
using tenon::test::same_bits;

namespace {

std::string printed(const Tensor& x) {
  std::ostringstream out;
  out << x;
  return out.str();
}
std::string what_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const tenon::Error& e) {
    return e.msg();
  }
  return "no error";
}

}  // namespace

TEST_CASE("cuda: a tensor says where it is, as in PyTorch") {
  late_cuda();
  const Tensor x = tenon::tensor({1, 2, 3}), there = x.to("cuda");
  CHECK(printed(there) == "tensor([1, 2, 3], device='cuda:0')");
  CHECK(printed(there.to(tenon::kFloat).requires_grad_()) == "tensor([1., 2., 3.], device='cuda:0', requires_grad=True)");
  CHECK(there.is_cuda());
  CHECK(there.get_device() == 0);
  CHECK(there.device() == Device("cuda:0"));
  CHECK(there.toString() == "CUDALongType");
  CHECK(x.cuda(1).device() == Device(kCUDA, 1));
  CHECK(there.cuda().is_same(there));
  CHECK(same_bits(there.cpu(), x));
  CHECK(same_bits(x, tenon::tensor({1, 2, 3})));
  const Tensor f = x.to(Device("cuda"), tenon::kFloat, true, true);
  CHECK((f.scalar_type() == tenon::kFloat));
  CHECK(f.is_cuda());
  CHECK(tenon::zeros({2}, tenon::TensorOptions().device(kCUDA, 1)).get_device() == 1);
  CHECK(tenon::zeros({2}, tenon::dtype(tenon::kHalf).device_index(1)).get_device() == 1);
  CHECK(tenon::ones_like(there).is_cuda());
  CHECK(tenon::arange(3, kCUDA).is_cuda());
  CHECK(tenon::full({2}, 7, Device("cuda:1")).get_device() == 1);
}

TEST_CASE("cuda: without an index a device is the thread's current one") {
  late_cuda();
  const auto where = [] { return tenon::ones({1}, kCUDA).get_device(); };
  CHECK(where() == 0);
  CHECK(tenon::cuda::current_device() == 0);
  {
    const tenon::DeviceGuard guard(Device(kCUDA, 1));
    CHECK(where() == 1);
    CHECK(guard.original_device() == Device(kCUDA, 0));
    CHECK(guard.current_device() == Device(kCUDA, 1));
    const tenon::DeviceGuard host(tenon::kCPU);
    CHECK(where() == 1);
  }
  CHECK(where() == 0);
  {
    tenon::cuda::OptionalCUDAGuard guard;
    CHECK_FALSE(guard.current_device());
    guard.set_index(1);
    CHECK(where() == 1);
    const tenon::cuda::CUDAStream stream = tenon::cuda::getStreamFromPool(false, 0);
    const tenon::cuda::CUDAStreamGuard on(stream);
    CHECK(where() == 0);
    CHECK(tenon::cuda::getCurrentCUDAStream() == stream);
  }
  CHECK(tenon::cuda::getCurrentCUDAStream() == tenon::cuda::getDefaultCUDAStream());
  CHECK(where() == 0);
  tenon::cuda::set_device(1);
  CHECK(where() == 1);
  tenon::cuda::set_device(-1);
  CHECK(tenon::cuda::current_device() == 1);
  tenon::cuda::set_device(0);
  CHECK_THROWS_WITH_AS(tenon::cuda::CUDAGuard(Device("cpu")), "Expected a CUDA device, but got cpu", tenon::Error);
}

TEST_CASE("cuda: streams wait for the device, and know when it is done") {
  const Device cuda = late_cuda();
  const Tensor y = tenon::ones({10}, cuda) + 1;
  tenon::eval({y});
  const tenon::cuda::CUDAStream stream = tenon::cuda::getCurrentCUDAStream();
  CHECK_FALSE(stream.query());
  stream.synchronize();
  CHECK(stream.query());
  tenon::eval({y * 2});
  tenon::cuda::synchronize();
  CHECK(stream.query());
  std::ostringstream out;
  out << stream;
  CHECK(out.str() == "stream 0 on device cuda:0");
}

TEST_CASE("cuda: memory figures") {
  const Device cuda = late_cuda();
  tenon::cuda::synchronize();
  const int64_t before = tenon::cuda::memory_allocated();
  const Tensor x = tenon::randn({1000}).exp().to(cuda);  // what the host has is copied at the call, and computed if need be
  const int64_t copied = tenon::cuda::memory_allocated();
  CHECK(copied >= before + 4000);
  const Tensor y = x + 1;
  CHECK(tenon::cuda::memory_allocated() == copied);  // of a pending value nothing is there
  tenon::eval({y});
  CHECK(tenon::cuda::memory_allocated() >= copied + 4000);
  CHECK(tenon::cuda::max_memory_allocated() >= tenon::cuda::memory_allocated());
  CHECK_THROWS_AS(tenon::cuda::memory_allocated(99), tenon::Error);
}

TEST_CASE("cuda: values of two devices are refused with PyTorch's words") {
  const Device cuda = late_cuda();
  const Tensor c = tenon::ones({3, 3}, cuda), h = tenon::ones({3, 3});
  const std::string both = "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!";
  CHECK(what_of([&] { c + h; }) == both);
  CHECK(what_of([&] { h + c; }) == both);
  CHECK(what_of([&] { c.add_(h); }) == both);
  CHECK(what_of([&] { tenon::where(c > 0, h, c); }) == both);
  CHECK(what_of([&] { tenon::mse_loss(c, h); }) == both);
  CHECK(what_of([&] { c + h.to(Device(kCUDA, 1)); }) ==
        "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cuda:1!");
  const auto argument = [](const char* name, const char* where, const char* others, const char* method) {
    return std::string("Expected all tensors to be on the same device, but got ") + name + " is on " + where +
           ", different from other tensors on " + others + " (when checking argument in method wrapper_CUDA_" + method + ")";
  };
  CHECK(what_of([&] { c.mm(h); }) == argument("mat2", "cpu", "cuda:0", "mm"));
  CHECK(what_of([&] { h.mm(c); }) == argument("mat2", "cuda:0", "cpu", "mm"));
  CHECK(what_of([&] { tenon::bmm(c.unsqueeze(0), h.unsqueeze(0)); }) == argument("mat2", "cpu", "cuda:0", "bmm"));
  CHECK(what_of([&] { tenon::cat({c, h}); }) == argument("tensors", "cpu", "cuda:0", "cat"));
  tenon::nn::Linear linear(3, 3);
  linear->to(cuda);
  CHECK(what_of([&] { linear->forward(h); }) == argument("mat1", "cpu", "cuda:0", "addmm"));
  const Tensor index = tenon::tensor({0, 1, 2});
  CHECK(what_of([&] { c.index_select(0, index); }) == argument("index", "cpu", "cuda:0", "_index_select"));
  CHECK(what_of([&] { c.gather(0, index.unsqueeze(0)); }) == argument("index", "cpu", "cuda:0", "gather"));
  CHECK(what_of([&] { tenon::embedding(c, index); }) == argument("index", "cpu", "cuda:0", "_index_select"));
  CHECK(what_of([&] { tenon::cross_entropy_loss(c, index); }) == argument("target", "cpu", "cuda:0", "nll_loss_forward"));
  tenon::nn::Conv2d conv(3, 4, 3);
  conv->to(cuda);
  CHECK(what_of([&] { conv->forward(tenon::ones({1, 3, 8, 8})); }).find("Input type (CPUFloatType) and ") == 0);
  CHECK(what_of([&] {
          tenon::conv2d(tenon::ones({1, 3, 8, 8}, cuda), tenon::ones({4, 3, 3, 3}));
        }) == "Input type (CUDAFloatType) and weight type (CPUFloatType) should be the same");
}

TEST_CASE("cuda: one number of the host goes with tensors of any device") {
  const Device cuda = late_cuda();
  const Tensor c = tenon::ones({3}, cuda);
  CHECK(same_bits(c * tenon::tensor(2.f), tenon::full({3}, 2.f)));
  CHECK(same_bits(tenon::tensor(2.f) - c, tenon::ones({3})));
  CHECK((c * tenon::tensor(2.0)).device() == cuda);
  CHECK(((c * tenon::tensor(2.0, tenon::kDouble)).scalar_type() == tenon::kFloat));
  CHECK(what_of([&] { tenon::tensor(2.f).add_(c.sum()); }) ==  // but takes none in
        "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!");
}

TEST_CASE("cuda: what reads the host's memory says to copy first") {
  const Device cuda = late_cuda();
  const Tensor c = tenon::arange(4, tenon::kFloat).to(cuda);
  CHECK(what_of([&] { c.accessor<float, 1>(); }).find("cpu()") != std::string::npos);
  DLManagedTensor* const given = tenon::toDLPack(c);  // an address too
  CHECK(given->dl_tensor.device.device_type == kDLCUDA);
  given->deleter(given);
  CHECK(c[3].item<float>() == 3);
  CHECK(c.data_ptr() != nullptr);  // an address of the device
}

TEST_CASE("cuda: modules and optimizers move") {
  const Device cuda = late_cuda();
  tenon::manual_seed(5);
  tenon::nn::Sequential here{tenon::nn::Linear(4, 8), tenon::nn::ReLU(), tenon::nn::Linear(8, 2)};
  tenon::manual_seed(5);
  tenon::nn::Sequential there{tenon::nn::Linear(4, 8), tenon::nn::ReLU(), tenon::nn::Linear(8, 2)};
  there->to(cuda);
  for (const Tensor& p : there->parameters()) {
    CHECK(p.device() == cuda);
    CHECK(p.requires_grad());
    CHECK(p.is_leaf());
  }
  const Tensor x = tenon::randn({16, 4}), target = tenon::randn({16, 2});
  const auto trained = [&](tenon::nn::Sequential& net, const Tensor& in, const Tensor& want) {
    tenon::optim::Adam optimizer(net->parameters(), tenon::optim::AdamOptions(0.05));
    Tensor loss;
    for (int step = 0; step < 5; ++step) {
      optimizer.zero_grad();
      loss = tenon::mse_loss(net->forward(in), want);
      loss.backward();
      optimizer.step();
    }
    return loss;
  };
  CHECK(same_bits(trained(here, x, target), trained(there, x.to(cuda), target.to(cuda))));
  CHECK(there->parameters()[0].grad().device() == cuda);
}

TEST_CASE("cuda: dropout trains, and its gradient has the same mask") {
  const Device cuda = late_cuda();
  tenon::cuda::manual_seed(2);
  const Tensor x = tenon::ones({200}, tenon::TensorOptions(cuda).requires_grad(true));
  const Tensor y = tenon::dropout(x, 0.5, true);
  y.sum().backward();
  CHECK(same_bits(x.grad(), y));  // 0 or 2, both times
  const float sum = x.grad().sum().item<float>();
  CHECK(sum > 100);
  CHECK(sum < 300);
}

TEST_CASE("cuda: an index that came from the host is checked without waiting for the device") {
  const Device cuda = late_cuda();
  tenon::test::LateDevice& device = tenon::test::LateDevice::cuda();
  const Tensor table = tenon::randn({10, 4}), rows = tenon::tensor({3, 9, 0});
  const Tensor there = table.to(cuda) * 1.5, index = rows.to(cuda);
  tenon::eval({there});
  const auto copies = [&] { return device.calls()[static_cast<size_t>(tenon::test::DeviceCall::CopyOut)]; };
  const int64_t before = copies();
  const Tensor picked = tenon::embedding(there, index);
  const Tensor loss = tenon::cross_entropy_loss(there, tenon::arange(10).remainder(4).clone().to(cuda));
  CHECK(copies() == before);
  CHECK(same_bits(picked, table.index_select(0, rows) * 1.5));
  CHECK_THROWS_AS(tenon::embedding(there, tenon::tensor({3, 10}).to(cuda)), tenon::IndexError);
  CHECK_THROWS_AS(tenon::embedding(there, tenon::tensor({-1, 2}).to(cuda)), tenon::IndexError);
  index.add_(1);  // 10 is among them now
  tenon::eval({index});
  CHECK_THROWS_AS(tenon::embedding(there, index), tenon::IndexError);
  index.sub_(1);
  CHECK(same_bits(tenon::embedding(there, index), picked));
}

TEST_CASE("cuda: options print, and tell what is pinned") {
  std::ostringstream out;
  out << tenon::TensorOptions().device(kCUDA, 1).pinned_memory(true);
  CHECK(out.str() ==
        "TensorOptions(dtype=float (default), device=cuda:1, layout=Strided (default), requires_grad=false (default), "
        "pinned_memory=true, memory_format=(nullopt))");
  CHECK_FALSE(tenon::ones({2}).is_pinned());
  CHECK(std::hash<Device>()(Device("cuda:1")) != std::hash<Device>()(Device("cuda:0")));
}

TEST_CASE("cuda: switches and streams that LibTorch's programs name") {
  tenon::Context& context = tenon::globalContext();
  context.setAllowTF32CuBLAS(true);
  CHECK(tenon::cuda::allows_tf32());
  context.setAllowTF32CuBLAS(false);
  CHECK(!tenon::cuda::allows_tf32());
  context.setBenchmarkCuDNN(true);
  CHECK(context.benchmarkCuDNN());
  const tenon::cuda::CUDAStream stream(0, 3);
  tenon::ones({2}).to(late_cuda()).record_stream(stream);
  CHECK_THROWS_AS(tenon::ones({2}).record_stream(stream), tenon::NotImplementedError);
}

TEST_CASE("cuda: index_put_ takes a number of another device beside index tensors") {
  const Tensor x = tenon::ones({3});
  x.index_put_({tenon::tensor({1})}, tenon::tensor(7.f).to(late_cuda()));
  CHECK(x.equal(tenon::tensor({1.f, 7.f, 1.f})));
  CHECK(what_of([&] {
          x.index_put_({tenon::tensor({1})}, tenon::ones({1}).to(late_cuda()));
        }).starts_with("Expected all tensors to be on the same device"));
}
