// Packs and unpacks the images that stand for cubins and PTX.
#include "cuda_sim/image.h"

#include <cstdio>
#include <cstring>

namespace tenon::cuda_sim {

namespace {

constexpr size_t kHeader = 64, kLargest = 64 << 20;

uint64_t checksum(const std::string& text) {  // FNV-1a
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

}  // namespace

std::string pack(const Image& image) {
  char header[128];
  std::snprintf(header, sizeof header, "TENON-SIM %s %d %zu %016llx\n", image.ptx ? "ptx" : "cubin", image.arch,
                image.text.size(), static_cast<unsigned long long>(checksum(image.text)));
  return header + image.text;
}

// Reads no further than the first null byte: an image has none, and one that was cut off ends at one.
std::optional<Image> unpack(const char* bytes) {
  const char* const line_end = static_cast<const char*>(memchr(bytes, '\n', strnlen(bytes, kHeader)));
  if (!line_end) return {};
  char kind[8] = {};
  int arch = 0;
  size_t size = 0;
  unsigned long long sum = 0;
  if (std::sscanf(std::string(bytes, line_end).c_str(), "TENON-SIM %5s %d %zu %llx", kind, &arch, &size, &sum) != 4) return {};
  if (size > kLargest || strnlen(line_end + 1, size) != size) return {};
  Image image{std::strcmp(kind, "ptx") == 0, arch, std::string(line_end + 1, size)};
  if ((!image.ptx && std::strcmp(kind, "cubin") != 0) || checksum(image.text) != sum) return {};
  return image;
}

}  // namespace tenon::cuda_sim
