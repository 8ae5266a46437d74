// The tutorials on devices: which there are, how tensors move between them, what mistakes say, how much memory is in use, writing in
// place against a new tensor, and the time of a matrix product by size on each device.
//
//   devices [--device cpu|cuda] [--plot FILE.svg] [--largest N]
//
//   --device     where tensors move to (default: a GPU if there is one)
//   --plot FILE  where the times of the products are drawn (default: devices.svg)
//   --largest N  the largest product is N x N (default 512)
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <vector>

#include "device.h"

using namespace tenon;

namespace {

void section(const char* title) { std::cout << "\n== " << title << '\n'; }

std::string first_line(const Error& error) {
  const std::string text = error.what();
  return text.substr(0, text.find('\n'));
}

// What a call throws.
template <typename F>
void show_error(const char* what, F f) {
  try {
    f();
    std::cout << what << " -> works here\n";
  } catch (const Error& error) {
    std::cout << what << " -> " << first_line(error) << '\n';
  }
}

void which_devices() {
  section("Devices");
  std::cout << "cuda::is_available() -> " << (cuda::is_available() ? "true" : "false") << '\n'
            << "cuda::device_count() -> " << cuda::device_count() << '\n';
  for (int64_t i = 0; i < cuda::device_count(); ++i) std::cout << "cuda:" << i << " -> " << cuda::get_device_properties(i) << '\n';
  if (!cuda::is_available()) return;
  const auto [free, total] = cuda::mem_get_info();
  std::cout << "current device -> " << cuda::current_device() << ", " << (free >> 20) << " of " << (total >> 20) << " MB free\n";
}

void moving(Device device) {
  section("Moving tensors");
  const Tensor x = tensor({1, 2, 3});
  std::cout << "x -> " << x << ", get_device() " << x.get_device() << '\n';
  const Tensor there = x.to(device);  // a copy if it is another device
  std::cout << "x.to(device) -> " << there << ", get_device() " << there.get_device() << '\n';
  const Tensor back = (there * 10).cpu();
  std::cout << "(there * 10).cpu() -> " << back << '\n' << "x is as it was -> " << x << '\n';
  std::cout << "back.data_ptr<int64_t>()[2] -> " << back.const_data_ptr<int64_t>()[2] << '\n';  // memory of the host
  std::cout << "ones on the device -> " << ones({2}, device) << '\n';
}

void mistakes() {
  section("Mistakes");
  const Tensor x = ones({2});
  show_error("Device(\"cuda0\")", [] { Device("cuda0"); });
  show_error("x.to(\"random\")", [&] { x.to("random"); });
  show_error("x.to(\"cuda:0\")", [&] { x.to("cuda:0"); });
  if (!cuda::is_available()) return;
  show_error("x + x.cuda()", [&] { x + x.cuda(); });
  show_error("x.to(\"cuda:62\")", [&] { x.to("cuda:62"); });
  show_error("an accessor of x.cuda()", [&] {
    const Tensor there = x.cuda();
    there.accessor<float, 1>();
  });
}

void wait(Device device) {
  if (device.is_cuda()) cuda::synchronize(device.index());
}

// Bytes in use when all work is done.
int64_t allocated(Device device) {
  wait(device);
  return device.is_cuda() ? cuda::memory_allocated(device.index()) : memory_stats().allocated;
}

// A sum in place is written where x was; any other needs memory of its own.
void memory(Device device) {
  section("Memory");
  if (device.is_cuda()) {
    const int64_t before = allocated(device);
    const Tensor two = tensor({1.f, 2.f}).to(device);
    std::cout << "two floats take " << allocated(device) - before << " bytes of the device\n";
    std::cout << "reserved: " << cuda::memory_reserved() << ", the most in use so far: " << cuda::max_memory_allocated() << '\n';
  }
  constexpr int64_t kElements = 1 << 20;
  const Tensor x = rand({kElements}, device), y = rand({kElements}, device);
  eval({x, y});
  const int64_t start = allocated(device);
  x.add_(y);
  eval({x});
  std::cout << "x.add_(y) takes " << (allocated(device) - start) / 1024 << " KB more\n";
  const Tensor sum = x + y;
  eval({sum});
  std::cout << "x + y takes " << (allocated(device) - start) / 1024 << " KB more\n";
}

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// The time of one product, the best of several; the first compiles and is not counted.
double milliseconds(Device device, int64_t n) {
  const Tensor a = rand({n, n}).to(device), b = rand({n, n}).to(device);
  double best = 1e9;
  for (int round = 0; round < 6; ++round) {
    const double start = seconds();
    eval({a.matmul(b)});  // hands the work in
    wait(device);         // and on a GPU that is all it does
    if (round > 0) best = std::min(best, seconds() - start);
  }
  return 1e3 * best;
}

void products(Device device, int64_t largest, const std::string& plot) {
  section("Time of a matrix product");
  std::vector<Device> devices{Device(kCPU)};
  if (device.is_cuda()) devices.push_back(device);
  std::vector<io::Curve> curves;
  for (const Device& d : devices) {
    io::Curve curve{d.str(), {}, {}};
    for (int64_t n = 32; n <= largest; n *= 2) {
      const double ms = milliseconds(d, n), gflops = 2e-6 * static_cast<double>(n * n * n) / ms;
      std::printf("%-6s %5lld x %-5lld %9.3f ms %9.1f GFLOP/s\n", d.str().c_str(), static_cast<long long>(n), static_cast<long long>(n), ms,
                  gflops);
      curve.x.push_back(static_cast<double>(n));
      curve.y.push_back(ms);
    }
    curves.push_back(std::move(curve));
  }
  if (plot.empty()) return;
  io::save_curve(plot, curves, io::CurveOptions("milliseconds of an n x n product").x_label("n").log_y(true));
  std::cout << "look at " << std::filesystem::absolute(plot).string() << ": the time of a product by its size\n";
}

constexpr const char* kUsage = "usage: devices [--device cpu|cuda] [--plot FILE.svg] [--largest N]\n";

void run(int argc, char** argv) {
  bool asked = false;
  for (int i = 1; i < argc; ++i) asked = asked || std::string(argv[i]).starts_with("--device");
  Device device = examples::take_device(argc, argv);
  if (!asked && cuda::is_available()) device = Device(kCUDA, 0);
  std::string plot = "devices.svg";
  int64_t largest = 512;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--plot" && i + 1 < argc) plot = argv[++i];
    else if (word == "--largest" && i + 1 < argc) largest = std::stoll(argv[++i]);
    else throw ValueError("no such option: " + word + "\n" + kUsage);
  }
  std::cout << "devices: which devices there are, how tensors move, what mistakes say, memory, and the time "
               "of matrix products\n"
            << "DEVICE: " << device << '\n';
  which_devices();
  moving(device);
  mistakes();
  memory(device);
  products(device, largest, plot);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "devices: " << error.what() << "\n";
    return 1;
  }
}
