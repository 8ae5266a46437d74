// Sources of bytes (memory, files) and the file that writers write.
#include "frontend/src/io/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "frontend/src/tensor/impl.h"
#include "frontend/src/tensor/text.h"

namespace tenon::io {
namespace {

constexpr size_t kMostAtOnce = size_t{1} << 30;  // the system calls take at most 2 GiB

}  // namespace

void Source::read(void* out, size_t bytes, const char* what) {
  check(bytes <= remaining_, name_, ": ends within its ", what);
  auto* at = static_cast<unsigned char*>(out);
  while (bytes > 0) {
    const size_t count = read_some(at, std::min(bytes, kMostAtOnce));
    check(count > 0, name_, ": ends within its ", what);  // it shrank, or its size was not true
    at += count;
    bytes -= count;
    remaining_ -= count;
  }
}

std::string Source::read_text(size_t bytes, const char* what) {
  check(bytes <= remaining_, name_, ": ends within its ", what);
  std::string text(bytes, '\0');
  read(text.data(), bytes, what);
  return text;
}

std::shared_ptr<runtime::Buffer> Source::read_elements(ScalarType type, size_t bytes, const char* what) {
  check(bytes <= remaining_, name_, ": ends within its ", what);
  auto buffer = allocate_buffer(bytes);
  auto* data = static_cast<unsigned char*>(buffer->data());
  read(data, bytes, what);
  if (type == kBool) {  // any other byte would be an invalid bool
    for (size_t i = 0; i < bytes; ++i) data[i] = data[i] != 0;
  }
  return buffer;
}

size_t MemorySource::read_some(void* out, size_t bytes) {
  bytes = std::min(bytes, bytes_.size());
  if (bytes > 0) std::memcpy(out, bytes_.data(), bytes);
  bytes_.remove_prefix(bytes);
  return bytes;
}

FileSource::FileSource(const std::string& path) : FileSource(path, open(path)) {}
FileSource::~FileSource() { ::close(descriptor_); }

FileSource::Opened FileSource::open(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  check(descriptor >= 0, path, ": cannot open: ", std::strerror(errno));
  struct stat status {};
  const bool known = ::fstat(descriptor, &status) == 0;
  if (known && S_ISREG(status.st_mode)) return {descriptor, static_cast<uint64_t>(status.st_size)};
  ::close(descriptor);
  throw Error(path + ": cannot read: not a regular file");
}

size_t FileSource::read_some(void* out, size_t bytes) {
  while (true) {
    const ssize_t count = ::read(descriptor_, out, bytes);
    if (count >= 0) return static_cast<size_t>(count);
    check(errno == EINTR, name(), ": cannot read: ", std::strerror(errno));
  }
}

OutputFile::OutputFile(const std::string& path)
    : path_(path), descriptor_(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)) {
  if (descriptor_ < 0) fail();
}
OutputFile::~OutputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}
void OutputFile::fail() const { throw Error(path_ + ": cannot write: " + std::strerror(errno)); }

void OutputFile::write(const void* data, size_t bytes) {
  const auto* at = static_cast<const unsigned char*>(data);
  while (bytes > 0) {
    const ssize_t count = ::write(descriptor_, at, std::min(bytes, kMostAtOnce));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail();
    at += count;
    bytes -= static_cast<size_t>(count);
  }
}

void OutputFile::close() {
  if (::close(std::exchange(descriptor_, -1)) != 0) fail();
}

std::string shown(std::string_view text) {
  constexpr size_t kMost = 80;
  std::string result;
  for (const char c : text.substr(0, kMost)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= ' ')
      result += c;
    else
      result += tenon::text("\\x", "0123456789abcdef"[byte >> 4], "0123456789abcdef"[byte & 15]);
  }
  return text.size() > kMost ? result + "..." : result;
}

}  // namespace tenon::io
