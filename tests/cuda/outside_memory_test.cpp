// Memory of a GPU that somebody else owns, here that of other tensors: from_blob and DLPack take it over without a copy.
#include <tenon/dlpack.h>
#include <tenon/tenon.h>

#include <doctest/doctest.h>

#include <functional>
#include <string>
#include <vector>

#include "cuda/simulator.h"

using namespace tenon;

namespace {

const Device kGpu("cuda:0");
const TensorOptions kThere = TensorOptions(kFloat).device(kGpu);

std::string what_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& e) {
    return e.msg();
  }
  return "no error";
}

}  // namespace

TEST_CASE("outside memory: from_blob on a device reads and writes the owner's memory") {
  Tensor owner = arange(24, kThere);
  void* const address = owner.data_ptr();
  {
    Tensor x = from_blob(address, {4, 6}, kThere);
    CHECK(x.device() == kGpu);
    CHECK(x.data_ptr() == address);
    CHECK(equal((x * 2 + 1).cpu(), arange(24, kFloat).view({4, 6}) * 2 + 1));
    const Tensor before = x + 0;
    x.add_(100);
    x[0].zero_();
    CHECK(equal(owner.cpu().slice(0, 0, 6), zeros({6})));
    CHECK(owner[23].item<float>() == 123);
    CHECK(x.data_ptr() == address);
    CHECK(equal(before.cpu(), arange(24, kFloat).view({4, 6})));
    owner.mul_(2);  // the other way round
    CHECK(x[3][5].item<float>() == 246);
  }
  CHECK(owner[23].item<float>() == 246);  // nobody freed it
  const Tensor turned = from_blob(address, {6, 4}, {1, 6}, kThere);
  CHECK(equal(turned.cpu(), owner.cpu().view({4, 6}).t()));
  const Tensor leaf = from_blob(address, {24}, kThere.requires_grad(true));
  (leaf * leaf).sum().backward();
  CHECK(equal(leaf.grad().cpu(), owner.cpu() * 2));
}

TEST_CASE("outside memory: the deleter of a device's memory runs once, after the work that reads it") {
  const Tensor owner = ones({64, 64}, kThere);
  int deleted = 0;
  Tensor sum;
  {
    const Tensor x = from_blob(
        owner.data_ptr(), {64, 64}, [&](void* p) { deleted += p == owner.data_ptr(); }, kThere);
    sum = x.matmul(x).sum();
    CHECK(deleted == 0);
  }
  CHECK(deleted == 0);  // the pending sum reads it
  CHECK(sum.item<float>() == 64 * 64 * 64);
  sum = Tensor();
  cuda::synchronize();
  CHECK(deleted == 1);
}

TEST_CASE("outside memory: a plan that repeats goes on with memory that is written beneath it") {
  Tensor owner = zeros({1000}, kThere);
  const Tensor x = from_blob(owner.data_ptr(), {1000}, kThere), w = full({1000}, 0.5f, kThere);
  for (int step = 1; step < 8; ++step) {
    owner.fill_(step);
    CHECK(((x * w).sum() + 1).item<float>() == doctest::Approx(500 * step + 1));
  }
}

TEST_CASE("outside memory: what is no memory of the device is refused at the call") {
  std::vector<float> host(8);
  const Tensor owner = zeros({8}, kThere);
  const auto adopted = [](void* data, const TensorOptions& options) { return what_of([&] { from_blob(data, {4}, options); }); };
  CHECK(adopted(host.data(), kThere) == "The specified pointer resides on host memory and is not registered with any CUDA device.");
  CHECK(adopted(nullptr, kThere) == "from_blob: data is null");
  CHECK(adopted(static_cast<float*>(owner.data_ptr()) + 1, kThere) ==
        "from_blob: data of a device is not aligned to 16 bytes, which its kernels read at once");
  if (cuda::device_count() > 1)
    CHECK(adopted(owner.data_ptr(), kThere.device(Device("cuda:1"))) == "Specified device cuda:1 does not match device of data cuda:0");
  CHECK(from_blob(nullptr, {0}, kThere).device() == kGpu);
}

TEST_CASE("outside memory: DLPack goes to a device and back") {
  Tensor owner = arange(12, kThere).view({3, 4});
  DLManagedTensor* const given = toDLPack(owner.t());
  CHECK(given->dl_tensor.device.device_type == kDLCUDA);
  CHECK(given->dl_tensor.device.device_id == 0);
  {
    Tensor taken = fromDLPack(given);
    CHECK(taken.device() == kGpu);
    CHECK(taken.data_ptr() == owner.data_ptr());
    CHECK(equal(taken.cpu(), owner.cpu().t()));
    taken.neg_();
  }
  CHECK(owner[2][3].item<float>() == -11);

  DLManagedTensor* const wrong = toDLPack(owner);
  wrong->dl_tensor.device.device_id = 99;
  CHECK(what_of([&] { fromDLPack(wrong); }) == "DLPack: field 'device': there is no cuda:99");
  wrong->deleter(wrong);
}
