// The tests on a CUDA device: on the simulator where TENON_CUDA_DRIVER, TENON_NVRTC and TENON_CUBLAS name it. Without a device they
// are skipped (77).
#define DOCTEST_CONFIG_IMPLEMENT
#include <tenon/tenon.h>

#include <doctest/doctest.h>

#include <cstdio>

int main(int argc, char** argv) {
  if (!tenon::cuda::is_available()) {
    std::printf("skipped: there is no CUDA device\n%s\n", tenon::info().c_str());
    return 77;
  }
  return doctest::Context(argc, argv).run();
}
