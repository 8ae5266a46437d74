// Packs and unpacks the images that stand for cubins and PTX.
#include "cuda_sim/image.h"

#include <elf.h>
#include <zlib.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

namespace tenon::cuda_sim {

namespace {

constexpr size_t kHeader = 64, kLargest = 64 << 20;

uint64_t checksum(const std::string& text) {  // FNV-1a
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

// The image that stands for a real cubin: in the folder TENON_SIM_CUBINS, by two checksums of all that comes before the table of
// sections, whose place the header tells.
std::optional<Image> stand_in(const char* bytes) {
  const char* const folder = std::getenv("TENON_SIM_CUBINS");
  Elf64_Ehdr header;
  if (!folder || strnlen(bytes, SELFMAG + 1) <= SELFMAG) return {};
  std::memcpy(&header, bytes, sizeof header);
  const auto* const begin = reinterpret_cast<const unsigned char*>(bytes);
  const auto size = static_cast<unsigned>(header.e_shoff);
  char name[24];
  std::snprintf(name, sizeof name, "%08lx%08lx", crc32(0, begin, size), adler32(1, begin, size));
  std::ifstream file(std::string(folder) + "/" + name, std::ios::binary);
  const std::string image((std::istreambuf_iterator<char>(file)), {});
  return image.empty() ? std::nullopt : unpack(image.c_str());
}

}  // namespace

std::string pack(const Image& image) {
  char header[128];
  std::snprintf(header, sizeof header, "TENON-SIM %s %d %zu %016llx\n", image.ptx ? "ptx" : "cubin", image.arch, image.text.size(),
                static_cast<unsigned long long>(checksum(image.text)));
  return header + image.text;
}

// Reads no further than the first null byte: an image has none, and one that was cut off ends at one.
std::optional<Image> unpack(const char* bytes) {
  if (std::strncmp(bytes, ELFMAG, SELFMAG) == 0) return stand_in(bytes);
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
