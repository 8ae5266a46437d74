// Sources of bytes (memory, files) and the file that writers write.
#include "frontend/src/io/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

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
  check(descriptor >= 0, path, ": cannot open: ", error_text(errno));
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
    check(errno == EINTR, name(), ": cannot read: ", error_text(errno));
  }
}

namespace {

// Where a path leads, symbolic links followed; the path itself if there is nothing.
std::string behind_links(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> real(::realpath(path.c_str(), nullptr), std::free);
  return real ? real.get() : path;
}

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

// A name of this process's own beside the target, ".NAME.PID.NUMBER"; what another process of that number left is passed over.
int open_beside(const std::string& target, std::string& name) {
  static std::atomic<unsigned> number{0};
  const size_t slash = target.rfind('/') + 1;  // 0 without one
  while (true) {
    name = text(target.substr(0, slash), '.', target.substr(slash), '.', ::getpid(), '.', number++);
    const int descriptor = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor >= 0 || errno != EEXIST) return descriptor;
  }
}

}  // namespace

OutputFile::OutputFile(const std::string& path) : path_(path), target_(behind_links(path)), place_(target_) {
  struct stat old {};
  const bool there = ::stat(target_.c_str(), &old) == 0;
  if (there && !S_ISREG(old.st_mode)) {
    descriptor_ = ::open(target_.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor_ < 0) fail();
    return;
  }
  descriptor_ = open_beside(target_, place_);
  if (descriptor_ < 0) fail();
  if (there) ::fchmod(descriptor_, old.st_mode & 07777);  // where a file system has no rights it keeps its own
}
OutputFile::~OutputFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  if (place_ != target_) ::unlink(place_.c_str());
}
void OutputFile::fail() const { throw Error(path_ + ": cannot write: " + error_text(errno)); }

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
  if (place_ == target_) {
    if (::close(std::exchange(descriptor_, -1)) != 0) fail();
    return;
  }
  if (::fsync(descriptor_) != 0) fail();  // before the name: else a crash could leave the name without the bytes
  if (::rename(place_.c_str(), target_.c_str()) != 0) fail();
  const int closed = ::close(std::exchange(descriptor_, -1));
  const int folder = ::open(folder_of(target_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0) {
    ::fsync(folder);  // not every file system has it for folders
    ::close(folder);
  }
  if (closed != 0) fail();
}

std::string shown(std::string_view text) {
  constexpr size_t kMost = 80;
  std::string result;
  for (const char c : text.substr(0, kMost)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= ' ') result += c;
    else result += tenon::text("\\x", "0123456789abcdef"[byte >> 4], "0123456789abcdef"[byte & 15]);
  }
  return text.size() > kMost ? result + "..." : result;
}

}  // namespace tenon::io
