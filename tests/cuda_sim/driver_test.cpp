// The stand-ins as the runtime meets them: memory, modules, launches, streams and events, and what each kind of mistake
// brings. The process pretends two devices (tests/cuda_sim/CMakeLists.txt).
#include <elf.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <thread>

#include "cuda_sim/gpu.h"

namespace {

const std::string kScale = R"(
TENON_KERNEL void TENON_LAUNCH(256) k(const float* TENON_RESTRICT x, float* TENON_RESTRICT y, int n, float scale) {
  const int i = (int)TENON_BLOCK * 256 + (int)TENON_THREAD;
  if (i < n) {
    y[i] = x[i] * scale;
  }
}
)";

std::vector<float> count_up(size_t n) {
  std::vector<float> values(n);
  std::iota(values.begin(), values.end(), 0.0f);
  return values;
}

std::vector<float> scaled(std::vector<float> values, float by) {
  for (float& value : values) value *= by;
  return values;
}

// The status of this program with another environment.
int again(const std::string& setting, const std::string& test_case) {
  char self[512] = {};
  REQUIRE(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
  return std::system((setting + " '" + self + "' --test-case='" + test_case + "' >/dev/null").c_str());
}

}  // namespace

TEST_CASE("driver: nothing before cuInit, nothing without a context") {
  Handle context = nullptr;
  REQUIRE(cuInit(0) == 0);
  CHECK(cuCtxGetCurrent(&context) == 0);
  CHECK(context == nullptr);
  Address address = 0;
  CHECK(cuMemAlloc_v2(&address, 16) == 201);
  CHECK(cuCtxSetCurrent(&address) == 201);
  CHECK(cuInit(1) == 1);
  const char* text = nullptr;
  CHECK(cuGetErrorName(700, &text) == 0);
  CHECK(std::string(text) == "CUDA_ERROR_ILLEGAL_ADDRESS");
  CHECK(cuGetErrorString(2, &text) == 0);
  CHECK(std::string(text) == "out of memory");
  CHECK(cuGetErrorName(12345, &text) == 1);
}

TEST_CASE("driver: functions by name and version") {
  void* function = nullptr;
  CHECK(cuGetProcAddress_v2("cuMemAlloc", &function, 3020, 0, nullptr) == 0);
  CHECK(function == reinterpret_cast<void*>(&cuMemAlloc_v2));
  CHECK(cuGetProcAddress_v2("cuInit", &function, 2000, 0, nullptr) == 0);
  CHECK(function == reinterpret_cast<void*>(&cuInit));
  int status = 0;
  CHECK(cuGetProcAddress_v2("cuMemAlloc", &function, 2000, 0, &status) == 500);  // the 32-bit one is gone
  CHECK(status == 1);
  const void* table = &status;
  CHECK(cuGetExportTable(&table, nullptr) == 500);
  CHECK(table == nullptr);
}

TEST_CASE("driver: a kernel on copied data, in every order of work") {
  const Context context;
  const Kernel scale(kScale);
  for (const size_t n : {1, 255, 256, 257, 10000}) {
    for (const bool strict : {false, true}) {
      tenon_sim_set("strict", strict);
      const std::vector<float> values = count_up(n);
      const Buffer x(values), y(n);
      CHECK(scale.launch(nullptr, static_cast<unsigned>((n + 255) / 256), 256, x.address, y.address, static_cast<int>(n), 3.0f) == 0);
      CHECK(y.read() == scaled(values, 3));
    }
  }
}

TEST_CASE("driver: new memory is nan, fills and copies on the device") {
  const Context context;
  Buffer a(100), b(100);
  for (const float value : a.read()) CHECK(std::isnan(value));
  CHECK(cuMemsetD32Async(a.address, 0x3f800000u, 50, nullptr) == 0);
  CHECK(cuMemsetD8Async(a.address + 200, 0, 200, nullptr) == 0);
  CHECK(cuMemcpyDtoDAsync_v2(b.address, a.address, 400, nullptr) == 0);
  const std::vector<float> values = b.read();
  for (size_t i = 0; i < 100; ++i) CHECK(values[i] == (i < 50 ? 1.0f : 0.0f));
  CHECK(cuMemsetD32Async(a.address + 2, 0, 1, nullptr) == 1);
  CHECK(cuMemcpyDtoDAsync_v2(b.address, a.address, 404, nullptr) == 1);
}

TEST_CASE("driver: a pointer's attributes are its kind and its device") {
  const Context context;
  const Buffer a(std::vector<float>(10));
  void* pinned = nullptr;
  REQUIRE(cuMemHostAlloc(&pinned, 16, 0) == 0);
  unsigned kind = 0;
  int device = -1;
  float pageable = 0;
  CHECK(cuPointerGetAttribute(&kind, 2, a.address + 36) == 0);
  CHECK(kind == 2);
  CHECK(cuPointerGetAttribute(&device, 9, a.address) == 0);
  CHECK(device == 0);
  CHECK(cuPointerGetAttribute(&kind, 2, reinterpret_cast<uintptr_t>(pinned)) == 0);
  CHECK(kind == 1);
  CHECK(cuPointerGetAttribute(&kind, 2, reinterpret_cast<uintptr_t>(&pageable)) == 1);
  CHECK(cuPointerGetAttribute(&kind, 1, a.address) == 1);  // not one that is simulated
  CHECK(cuMemFreeHost(pinned) == 0);
}

TEST_CASE("driver: pinned memory is read and written late, pageable memory at once") {
  const Context context;
  void* pinned = nullptr;
  REQUIRE(cuMemHostAlloc(&pinned, 4, 0) == 0);
  auto* const staging = static_cast<float*>(pinned);
  bool late_in = false, late_out = false;
  for (unsigned seed = 0; seed < 8; ++seed) {
    tenon_sim_seed(seed);
    Buffer x(std::vector<float>{0});
    const Stream stream;
    float pageable = 1;
    REQUIRE(cuMemcpyHtoDAsync_v2(x.address, &pageable, 4, stream.handle) == 0);
    pageable = 2;
    CHECK(x.read(stream.handle)[0] == 1);

    *staging = 3;
    REQUIRE(cuMemcpyHtoDAsync_v2(x.address, staging, 4, stream.handle) == 0);
    *staging = 4;  // too early
    late_in |= x.read(stream.handle)[0] == 4;

    *staging = 5;
    REQUIRE(cuMemcpyDtoHAsync_v2(staging, x.address, 4, stream.handle) == 0);
    late_out |= *staging == 5;
    CHECK(cuStreamSynchronize(stream.handle) == 0);
    CHECK(*staging == 4);
  }
  CHECK(late_in);
  CHECK(late_out);
  CHECK(cuMemFreeHost(pinned) == 0);
  CHECK(cuMemFreeHost(pinned) == 1);

  std::vector<float> mine(10);
  CHECK(cuMemHostRegister_v2(mine.data(), 40, 0) == 0);
  CHECK(cuMemHostRegister_v2(mine.data() + 9, 4, 0) == 712);
  CHECK(cuMemHostUnregister(mine.data()) == 0);
  CHECK(cuMemHostUnregister(mine.data()) == 713);
}

TEST_CASE("driver: a missing event is found over the seeds, with the event never") {
  const Context context;
  const Kernel scale(kScale);
  const std::vector<float> values = count_up(300);
  const auto wrong_results = [&](bool with_event) {
    int wrong = 0;
    for (unsigned seed = 0; seed < 40; ++seed) {
      tenon_sim_seed(seed);
      const Buffer x(values), y(300), z(300);
      const Stream producer, consumer;
      const Event made;
      REQUIRE(scale.launch(producer.handle, 2, 256, x.address, y.address, 300, 2.0f) == 0);
      REQUIRE(cuEventRecord(made.handle, producer.handle) == 0);
      if (with_event) REQUIRE(cuStreamWaitEvent(consumer.handle, made.handle, 0) == 0);
      REQUIRE(scale.launch(consumer.handle, 2, 256, y.address, z.address, 300, 2.0f) == 0);
      wrong += z.read(consumer.handle) != scaled(values, 4);
    }
    return wrong;
  };
  CHECK(wrong_results(false) >= 15);
  CHECK(wrong_results(true) == 0);
  tenon_sim_set("eager", 1);
  CHECK(wrong_results(false) == 0);  // nothing is late then
}

TEST_CASE("driver: the legacy stream and blocking streams wait for one another") {
  const Context context;
  const Kernel scale(kScale);
  const std::vector<float> values = count_up(300);
  for (const unsigned flags : {0u, 1u}) {
    int wrong = 0;
    for (unsigned seed = 0; seed < 20; ++seed) {
      tenon_sim_seed(seed);
      const Buffer x(values), y(300), z(300);
      const Stream stream(flags);
      REQUIRE(scale.launch(stream.handle, 2, 256, x.address, y.address, 300, 2.0f) == 0);
      REQUIRE(scale.launch(nullptr, 2, 256, y.address, z.address, 300, 2.0f) == 0);
      wrong += z.read() != scaled(values, 4);
    }
    CHECK((wrong > 0) == (flags == 1));
  }
}

TEST_CASE("driver: events are done when their work is, and queries get there") {
  const Context context;
  const Kernel scale(kScale);
  const Buffer x(count_up(256)), y(256);
  const Stream stream;
  const Event begin(0), end(0), untimed;
  float milliseconds = -1;
  CHECK(cuEventQuery(begin.handle) == 0);  // never recorded
  CHECK(cuEventElapsedTime(&milliseconds, begin.handle, end.handle) == 400);
  REQUIRE(cuEventRecord(begin.handle, stream.handle) == 0);
  REQUIRE(scale.launch(stream.handle, 1, 256, x.address, y.address, 256, 2.0f) == 0);
  REQUIRE(cuEventRecord(end.handle, stream.handle) == 0);
  REQUIRE(cuEventRecord(untimed.handle, stream.handle) == 0);
  CHECK(cuEventElapsedTime(&milliseconds, begin.handle, end.handle) == 600);
  int polls = 0;
  while (cuEventQuery(end.handle) == 600) ++polls;
  CHECK(polls < 1000);
  CHECK(cuEventElapsedTime(&milliseconds, begin.handle, end.handle) == 0);
  CHECK(milliseconds >= 0);
  CHECK(cuEventElapsedTime(&milliseconds, begin.handle, untimed.handle) == 400);
  CHECK(cuEventSynchronize(untimed.handle) == 0);
  CHECK(cuStreamQuery(stream.handle) == 0);
}

TEST_CASE("driver: a destroyed stream's work is still done") {
  const Context context;
  const Kernel scale(kScale);
  const Buffer x(count_up(256)), y(256);
  const Event done;
  {
    const Stream stream;
    REQUIRE(scale.launch(stream.handle, 1, 256, x.address, y.address, 256, 2.0f) == 0);
    REQUIRE(cuEventRecord(done.handle, stream.handle) == 0);
  }
  CHECK(cuEventSynchronize(done.handle) == 0);
  CHECK(y.read()[255] == 510);
}

TEST_CASE("driver: one element out of bounds is error 700, and stays") {
  for (const bool strict : {true, false}) {
    const Context context;
    tenon_sim_set("strict", strict);
    const Kernel scale(kScale);
    const Buffer x(count_up(260)), y(256);
    const Stream stream;
    REQUIRE(scale.launch(stream.handle, 2, 256, x.address, y.address, 257, 2.0f) == 0);
    CHECK(cuStreamSynchronize(stream.handle) == 700);
    CHECK(contains(finding(), "kernel k: "));
    CHECK(contains(finding(), strict ? "block 1, thread 0" : "beside a block of 1024 bytes"));
    Address more = 0;
    CHECK(cuMemAlloc_v2(&more, 16) == 700);
    CHECK(cuCtxSynchronize() == 700);
    tenon_sim_heal();
    CHECK(cuCtxSynchronize() == 0);
  }
}

TEST_CASE("driver: what the engine finds is error 719") {
  const Context context;
  const Kernel divergent("TENON_KERNEL void TENON_LAUNCH(64) k(int n) {\n  if ((int)TENON_THREAD < n) TENON_BARRIER();\n}\n");
  REQUIRE(divergent.launch(nullptr, 1, 64, 64) == 0);
  CHECK(cuCtxSynchronize() == 0);
  REQUIRE(divergent.launch(nullptr, 1, 64, 63) == 0);
  CHECK(cuCtxSynchronize() == 719);
  CHECK(contains(finding(), "thread 63 has ended"));
  tenon_sim_heal();
}

TEST_CASE("driver: memory that was freed is nobody's") {
  const Context context;
  const Kernel scale(kScale);
  const Buffer x(count_up(256));
  Address y = 0;
  REQUIRE(cuMemAlloc_v2(&y, 1024) == 0);
  REQUIRE(scale.launch(nullptr, 1, 256, x.address, y, 256, 2.0f) == 0);
  CHECK(cuMemFree_v2(y) == 0);  // waits
  CHECK(cuMemFree_v2(y) == 1);
  REQUIRE(scale.launch(nullptr, 1, 256, x.address, y, 256, 2.0f) == 0);
  CHECK(cuCtxSynchronize() == 700);
  tenon_sim_heal();
}

TEST_CASE("driver: the host cannot touch device memory") {
  const Context context;
  const Buffer x(count_up(4));
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    for (const int number : {SIGSEGV, SIGBUS}) std::signal(number, SIG_DFL);
    _exit(*reinterpret_cast<volatile int*>(x.address) == 0 ? 0 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFSIGNALED(status));
}

TEST_CASE("driver: memory runs out at the device's size") {
  const Context context;
  tenon_sim_set("memory_mb", 2);
  size_t free = 0, total = 0;
  {
    const Buffer most(1 << 18);  // 1 MB
    REQUIRE(cuMemGetInfo_v2(&free, &total) == 0);
    CHECK(total == 2 << 20);
    CHECK(free == 1 << 20);
    Address more = 0;
    CHECK(cuMemAlloc_v2(&more, (1 << 20) + 1) == 2);
    CHECK(cuMemAlloc_v2(&more, 1 << 20) == 0);
    CHECK(cuMemFree_v2(more) == 0);
  }
  REQUIRE(cuMemGetInfo_v2(&free, &total) == 0);
  CHECK(free == 2 << 20);
}

TEST_CASE("driver: what lives is counted, and what is left over shows") {
  const Context context;
  const char* kinds[] = {"allocations", "pinned", "streams", "events", "modules"};
  for (const char* kind : kinds) CHECK(tenon_sim_live(kind) == 0);
  {
    const Kernel scale(kScale);
    const Buffer x(1);
    const Stream stream;
    const Event event;
    void* pinned = nullptr;
    REQUIRE(cuMemHostAlloc(&pinned, 16, 0) == 0);
    for (const char* kind : kinds) CHECK(tenon_sim_live(kind) == 1);
    CHECK(tenon_sim_live("bytes") == 4);
    CHECK(tenon_sim_live("contexts") == 1);
    cuMemFreeHost(pinned);
  }
  for (const char* kind : kinds) CHECK(tenon_sim_live(kind) == 0);
  CHECK(tenon_sim_live("shoes") == -1);
}

TEST_CASE("driver: the nth call fails when a test asks for it") {
  const Context context;
  const long before = tenon_sim_calls("cuMemAlloc_v2");
  tenon_sim_fault("cuMemAlloc_v2", 2, 2);
  Address a = 0, b = 0;
  CHECK(cuMemAlloc_v2(&a, 16) == 0);
  CHECK(cuMemAlloc_v2(&b, 16) == 2);
  CHECK(cuMemAlloc_v2(&b, 16) == 0);
  CHECK(tenon_sim_calls("cuMemAlloc_v2") == before + 3);
  cuMemFree_v2(a);
  cuMemFree_v2(b);

  const Kernel scale(kScale);
  const Buffer x(count_up(256)), y(256);
  const long launches = tenon_sim_launches();
  tenon_sim_fault("kernel", 2, 716);
  for (int i = 0; i < 2; ++i) REQUIRE(scale.launch(nullptr, 1, 256, x.address, y.address, 256, 2.0f) == 0);
  CHECK(cuCtxSynchronize() == 716);
  CHECK(tenon_sim_launches() == launches + 2);
  tenon_sim_heal();
}

TEST_CASE("driver: functions of the host run in their place, and may not call the driver") {
  const Context context;
  const Kernel scale(kScale);
  const Buffer x(count_up(256)), y(256);
  const Stream stream;
  void* pinned = nullptr;
  REQUIRE(cuMemHostAlloc(&pinned, 1024, 0) == 0);
  struct Seen {
    float* memory;
    float value = 0;
    int code = 0;
  } seen{static_cast<float*>(pinned)};
  REQUIRE(scale.launch(stream.handle, 1, 256, x.address, y.address, 256, 2.0f) == 0);
  REQUIRE(cuMemcpyDtoHAsync_v2(pinned, y.address, 1024, stream.handle) == 0);
  REQUIRE(cuLaunchHostFunc(
              stream.handle,
              [](void* data) {
                auto* const s = static_cast<Seen*>(data);
                s->value = s->memory[255];
                s->code = cuStreamSynchronize(nullptr);
              },
              &seen) == 0);
  CHECK(cuStreamSynchronize(stream.handle) == 0);
  CHECK(seen.value == 510);
  CHECK(seen.code == 800);
  cuMemFreeHost(pinned);
}

TEST_CASE("driver: a misaligned vector is error 716") {
  const Context context;
  const Kernel kernel("TENON_KERNEL void k(const float* x, float* y) {\n  y[0] = tenon_load_f32x4(x).lane[0];\n}\n");
  const Buffer x(8), y(1);
  REQUIRE(kernel.launch(nullptr, 1, 1, x.address + 4, y.address) == 0);
  CHECK(cuCtxSynchronize() == 716);
  tenon_sim_heal();
}

TEST_CASE("driver: threads of the host, each with a stream") {
  const Context context;
  const Kernel scale(kScale);
  const std::vector<float> values = count_up(600);
  std::atomic<int> wrong = 0, called = 0;
  const auto work = [&](unsigned seed) {
    cuCtxSetCurrent(context.handle);
    for (int round = 0; round < 20; ++round) {
      Handle stream = nullptr, done = nullptr;
      Address x = 0, y = 0;
      bool fine = cuStreamCreate(&stream, 1) == 0 && cuEventCreate(&done, 2) == 0 && cuMemAlloc_v2(&x, 2400) == 0;
      fine = fine && cuMemAlloc_v2(&y, 2400) == 0 && cuMemcpyHtoDAsync_v2(x, values.data(), 2400, stream) == 0;
      fine = fine && scale.launch(stream, 3, 256, x, y, 600, static_cast<float>(seed)) == 0;
      fine = fine && cuLaunchHostFunc(
                         stream, [](void* count) { ++*static_cast<std::atomic<int>*>(count); }, &called) == 0;
      fine = fine && cuEventRecord(done, stream) == 0 && cuEventSynchronize(done) == 0;
      std::vector<float> got(600);
      fine = fine && cuMemcpyDtoHAsync_v2(got.data(), y, 2400, stream) == 0 && got == scaled(values, static_cast<float>(seed));
      wrong += !fine;
      cuMemFree_v2(x);
      cuMemFree_v2(y);
      cuEventDestroy_v2(done);
      cuStreamDestroy_v2(stream);
    }
    cuCtxSetCurrent(nullptr);
  };
  std::vector<std::thread> threads;
  for (unsigned t = 1; t <= 4; ++t) threads.emplace_back(work, t);
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
  CHECK(called == 80);
  CHECK(tenon_sim_live("allocations") == 0);
}

TEST_CASE("driver: images that are cut, forged or for another device are refused") {
  const Context context;
  const Compiled good(kScale);
  Handle module = nullptr;
  const auto load = [&](const std::string& image) { return cuModuleLoadDataEx(&module, image.c_str(), 0, nullptr, nullptr); };
  CHECK(load(good.image) == 0);
  Handle function = nullptr;
  CHECK(cuModuleGetFunction(&function, module, "no_such_kernel") == 500);
  CHECK(cuModuleUnload(module) == 0);
  CHECK(cuModuleUnload(module) == 400);
  CHECK(load(good.image.substr(0, good.image.size() / 2)) == 200);
  std::string forged = good.image;
  forged[forged.size() / 2] ^= 1;
  CHECK(load(forged) == 200);
  CHECK(load("") == 200);
  CHECK(load("\x7f"
             "ELF no such thing") == 200);
  tenon_sim_set("arch", 75);
  CHECK(load(good.image) == 209);
  CHECK(load(good.ptx) == 218);
  CHECK(load(Compiled(kScale, "compute_75").ptx) == 0);
  cuModuleUnload(module);
}

TEST_CASE("driver: a real cubin is the image that a folder has for it") {
  const Context context;
  const Compiled good(kScale);
  std::string cubin(300, '\1');  // a header, code, a table of sections
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[SELFMAG] = ELFCLASS64;
  header.e_shoff = 200;
  std::memcpy(cubin.data(), &header, sizeof header);
  Handle module = nullptr;
  const auto load = [&] { return cuModuleLoadDataEx(&module, cubin.c_str(), 0, nullptr, nullptr); };
  CHECK(load() == 200);

  char folder[] = "/tmp/tenon_cubins_XXXXXX";
  REQUIRE(mkdtemp(folder));
  setenv("TENON_SIM_CUBINS", folder, 1);
  CHECK(load() == 200);
  const auto* bytes = reinterpret_cast<const unsigned char*>(cubin.data());
  char name[24];
  std::snprintf(name, sizeof name, "%08lx%08lx", crc32(0, bytes, 200), adler32(1, bytes, 200));
  const std::filesystem::path file = std::filesystem::path(folder) / name;
  std::ofstream(file) << good.image;
  CHECK(load() == 0);
  Handle function = nullptr;
  CHECK(cuModuleGetFunction(&function, module, "k") == 0);
  CHECK(cuModuleUnload(module) == 0);
  std::ofstream(file) << good.image.substr(0, good.image.size() / 2);
  CHECK(load() == 200);
  unsetenv("TENON_SIM_CUBINS");
  std::filesystem::remove_all(folder);
}

TEST_CASE("driver: a module may not go before its work is done") {
  const Context context;
  const Buffer x(count_up(256)), y(256);
  {
    const Kernel scale(kScale);
    REQUIRE(scale.launch(nullptr, 1, 256, x.address, y.address, 256, 2.0f) == 0);
  }
  CHECK(cuCtxSynchronize() == 719);
  CHECK(contains(finding(), "its module was unloaded"));
  tenon_sim_heal();
}

TEST_CASE("driver: launches beyond the limits are refused at the call") {
  const Context context;
  const Kernel scale(kScale),
      tile("TENON_KERNEL void k(float* x) {\n  TENON_DYNAMIC_SHARED(float, big, 20000, 0);\n  big[TENON_THREAD] = x[0];\n}\n"),
      declared("TENON_KERNEL void k(float* x) {\n  TENON_SHARED(float, big, 20000, 0);\n  big[TENON_THREAD] = x[0];\n}\n");
  const Buffer x(256);
  CHECK(scale.launch(nullptr, 0, 256, x.address, x.address, 0, 1.0f) == 1);
  CHECK(scale.launch(nullptr, 1, 257, x.address, x.address, 0, 1.0f) == 701);
  CHECK(cuLaunchKernel(scale.function, 1, 1, 1, 256, 1, 1, 0, scale.module, nullptr, nullptr) == 400);
  CHECK(cuLaunchKernel(scale.function, 1, 1, 1, 256, 1, 1, 0, nullptr, nullptr, nullptr) == 1);
  // 80000 bytes of shared memory: only as dynamic memory that was opted into
  void* parameters[] = {const_cast<Address*>(&x.address)};
  const auto launch = [&](unsigned shared) {
    return cuLaunchKernel(tile.function, 1, 1, 1, 64, 1, 1, shared, nullptr, parameters, nullptr);
  };
  CHECK(launch(0) == 701);
  CHECK(launch(80000) == 1);
  CHECK(cuFuncSetAttribute(tile.function, 8, 80000) == 0);
  CHECK(launch(79999) == 701);
  CHECK(launch(80000) == 0);
  CHECK(cuCtxSynchronize() == 0);
  CHECK(cuFuncSetAttribute(declared.function, 8, 80000) == 0);
  CHECK(cuLaunchKernel(declared.function, 1, 1, 1, 64, 1, 1, 80000, nullptr, parameters, nullptr) == 701);
  CHECK(cuFuncSetAttribute(tile.function, 8, 228 << 10) == 1);
  int value = 0;
  CHECK(cuFuncGetAttribute(&value, 0, scale.function) == 0);
  CHECK(value == 256);
  CHECK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&value, scale.function, 256, 0) == 0);
  CHECK(value == 8);
}

TEST_CASE("driver: registers of a kernel, as they are estimated, and what they leave of a launch" *
          doctest::skip(std::getenv("TENON_SIM_REAL_NVRTC") != nullptr)) {
  const Context context;
  const auto text = [](const std::string& bounds, const std::string& arrays) {
    return "TENON_KERNEL void " + bounds + "k(float* x) {\n" + arrays + "  x[0] = 1;\n}\n";
  };
  const auto attribute = [](const Kernel& kernel, int number) {
    int value = -1;
    CHECK(cuFuncGetAttribute(&value, number, kernel.function) == 0);
    return value;
  };
  const auto blocks = [](const Kernel& kernel, int threads) {
    int value = -1;
    CHECK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&value, kernel.function, threads, 0) == 0);
    return value;
  };
  const Buffer x(1);
  const Kernel few(text("", "")), many(text("", "  float a[60];\n  double b[20];\n  unsigned char c[10];\n"));
  CHECK(attribute(few, 4) == 24);
  CHECK(attribute(few, 0) == 1024);
  CHECK(blocks(few, 1024) == 2);
  CHECK(few.launch(nullptr, 1, 1024, x.address) == 0);
  CHECK(attribute(many, 4) == 24 + 60 + 40 + 10);
  CHECK(attribute(many, 3) == 0);
  CHECK(attribute(many, 0) == 384);  // 4352 registers a warp, 15 warps, in fours
  CHECK(blocks(many, 256) == 1);
  CHECK(blocks(many, 32) == 12);
  CHECK(many.launch(nullptr, 1, 384, x.address) == 0);
  CHECK(many.launch(nullptr, 1, 416, x.address) == 701);
  // The bounds of a launch leave a thread no more.
  const Kernel bound(text("TENON_LAUNCH(512, 2) ", "  float a[200];\n")), one(text("TENON_LAUNCH(256, 1) ", "  float a[400];\n"));
  CHECK(attribute(bound, 4) == 64);
  CHECK(attribute(bound, 0) == 512);
  CHECK(blocks(bound, 512) == 2);
  CHECK(bound.launch(nullptr, 1, 512, x.address) == 0);
  CHECK(attribute(one, 4) == 255);
  CHECK(one.launch(nullptr, 1, 256, x.address) == 0);
  CHECK(cuCtxSynchronize() == 0);
}

TEST_CASE("nvrtc: a text that is wrong, with its messages; archs") {
  const Compiled wrong("TENON_KERNEL void k(int n) {\n  undeclared = n;\n}\n");
  CHECK(wrong.code == 6);
  CHECK(contains(wrong.log, "undeclared"));
  CHECK(Compiled(kScale, "sm_70").code == 5);
  CHECK(Compiled(kScale, "compute_90").image.empty());
  tenon_sim_fault("nvrtcCompileProgram", 1, 11);
  CHECK(Compiled(kScale).code == 11);
  CHECK(Compiled(kScale).code == 0);
  int major = 0, minor = 0;
  CHECK(nvrtcVersion(&major, &minor) == 0);
  CHECK(major == 13);
}

// Where the real one is: it compiles the text first, and its words are the log.
TEST_CASE("nvrtc: the real one, if asked for, has its say") {
  const char* const real = std::getenv("TENON_SIM_REAL_NVRTC");
  if (!real) {  // once more in a child
    const char* const installed = "/usr/local/cuda/lib64/libnvrtc.so";
    if (access(installed, R_OK) == 0) CHECK(again("TENON_SIM_REAL_NVRTC=" + std::string(installed), "nvrtc: the real one*") == 0);
    return;
  }
  const Compiled good(kScale);
  CHECK(good.code == 0);
  CHECK(contains(good.log, "Used "));  // registers
  const Context context;
  const auto attribute = [](const Kernel& kernel, int number) {
    int value = -1;
    CHECK(cuFuncGetAttribute(&value, number, kernel.function) == 0);
    return value;
  };
  const Kernel scale(kScale), local(
                                  "TENON_KERNEL void k(float* x) {\n  float y[2000];\n  for (int i = 0; i < 2000; ++i) y[i] = x[i];\n"
                                  "  for (int i = 0; i < 2000; ++i) x[i] = y[(int)x[i]];\n}\n");
  CHECK(contains(good.log, "Used " + std::to_string(attribute(scale, 4)) + " registers"));
  CHECK(attribute(scale, 3) == 0);
  CHECK(attribute(local, 3) == 8000);
  CHECK(Compiled("TENON_KERNEL void k(float* x) {\n  float y[2000];\n  for (int i = 0; i < 2000; ++i) y[i] = x[i];\n"
                 "  for (int i = 0; i < 2000; ++i) x[i] = y[(int)x[i]];\n}\n")
            .code == 0);                                                                     // local memory, but no spill
  const Compiled wrong("TENON_KERNEL void k(int* p) {\n  float* q = p;\n  q[0] = 0;\n}\n");  // C allows this
  CHECK(wrong.code == 6);
  CHECK(contains(wrong.log, "cannot be used to initialize"));
}

TEST_CASE("driver: two devices: copies between them, and access only to a peer" *
          doctest::skip(std::getenv("TENON_SIM_DEVICES") == nullptr)) {
  const Context first(0);
  const Buffer x(count_up(256));
  const Context second(1);
  const Kernel scale(kScale);
  const Buffer y(256), z(256);
  int can = 0;
  CHECK(cuDeviceCanAccessPeer(&can, 1, 0) == 0);
  CHECK(can == 1);
  CHECK(cuMemcpyPeerAsync(z.address, second.handle, x.address, first.handle, 1024, nullptr) == 0);
  CHECK(z.read() == count_up(256));
  CHECK(cuMemcpyPeerAsync(z.address, first.handle, x.address, second.handle, 1024, nullptr) == 1);

  CHECK(cuCtxEnablePeerAccess(first.handle, 0) == 0);
  CHECK(cuCtxEnablePeerAccess(first.handle, 0) == 704);
  REQUIRE(scale.launch(nullptr, 1, 256, x.address, y.address, 256, 2.0f) == 0);
  CHECK(y.read() == scaled(count_up(256), 2));
  CHECK(cuCtxDisablePeerAccess(first.handle) == 0);
  REQUIRE(scale.launch(nullptr, 1, 256, x.address, y.address, 256, 2.0f) == 0);
  CHECK(cuCtxSynchronize() == 700);
  REQUIRE(cuCtxPushCurrent_v2(first.handle) == 0);
  CHECK(cuCtxSynchronize() == 0);  // the other device goes on
  cuCtxPopCurrent_v2(nullptr);
  tenon_sim_heal();
}

TEST_CASE("driver: without a device" * doctest::skip(std::getenv("TENON_SIM_DEVICES") == nullptr)) {
  if (std::string(std::getenv("TENON_SIM_DEVICES")) == "0") {  // the child of the other case
    CHECK(cuInit(0) == 100);
    int count = -1;
    CHECK(cuDeviceGetCount(&count) == 3);
    return;
  }
  CHECK(again("TENON_SIM_DEVICES=0", "driver: without a device") == 0);
}

TEST_CASE("driver: how long elementwise work takes") {
  const Context context;
  const Kernel scale(kScale);
  const size_t n = 100000;
  const Buffer x(count_up(n)), y(n);
  const auto begin = std::chrono::steady_clock::now();
  REQUIRE(scale.launch(nullptr, 391, 256, x.address, y.address, static_cast<int>(n), 2.0f) == 0);
  REQUIRE(cuCtxSynchronize() == 0);
  const auto took = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  MESSAGE("1e5 elements: " << took << " ms");
  CHECK(took < 500);  // a few milliseconds on a free machine
}
