// Threads on memory of the host whose address is known outside.
#include <tenon/tenon.h>

#include <doctest/doctest.h>

#include <atomic>
#include <thread>
#include <vector>

// Both find one node for the operation, since its memory may be written from outside: one computes it while the other looks what
// of that memory it reads.
TEST_CASE("threads that record one operation on memory known outside get its values") {
  const tenon::Tensor x = tenon::arange(8192, tenon::kFloat);
  static_cast<void>(x.data_ptr());
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      for (int round = 0; round < 400; ++round) {
        const float k = static_cast<float>(round / 50 + 2);
        const tenon::Tensor wide = round % 2 ? x.expand({2, 8192}) : x.reshape({1, 8192});  // reads less than it gives, or not
        if ((wide * k)[0][3].item<float>() != 3 * k) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}
