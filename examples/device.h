// The device that a program is asked for: --device cpu, --device cuda, --device=cuda:1.
#pragma once
#include <tenon/tenon.h>

#include <string>

namespace examples {

// The device of this name; Error with the reason if the machine has none.
inline tenon::Device device_named(const std::string& name) {
  const tenon::Device device(name);
  if (device.is_cuda() && !tenon::cuda::is_available())
    throw tenon::Error("no CUDA device can be used here (tenon::info() says what was looked for)");
  return device;
}

// Takes the option out of the arguments; without it, the CPU.
inline tenon::Device take_device(int& argc, char** argv) {
  std::string name = "cpu";
  int kept = 1;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--device" && i + 1 < argc) name = argv[++i];
    else if (word.starts_with("--device=")) name = word.substr(9);
    else argv[kept++] = argv[i];
  }
  argc = kept;
  return device_named(name);
}

}  // namespace examples
