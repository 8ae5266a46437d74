// Event files: checksums, protocol buffers, the file.
#include "frontend/src/io/event_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "frontend/src/tensor/text.h"

namespace tenon::io {

static_assert(std::endian::native == std::endian::little, "numbers are written in memory order");

namespace {

constexpr std::array<uint32_t, 256> kCrcTable = [] {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = value >> 1 ^ (value & 1 ? 0x82f63b78u : 0);
    table[i] = value;
  }
  return table;
}();

template <typename T>
std::string_view raw(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

// As the format has it, so that a checksum of data with checksums in it is no accident.
uint32_t masked(uint32_t crc) { return std::rotr(crc, 15) + 0xa282ead8u; }

double wall_time() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

}  // namespace

uint32_t crc32c(std::string_view bytes) {
  uint32_t crc = ~0u;
  for (const char c : bytes) crc = kCrcTable[(crc ^ static_cast<unsigned char>(c)) & 255] ^ crc >> 8;
  return ~crc;
}

std::string record(std::string_view data) {
  const uint64_t length = data.size();
  std::string out(raw(length));
  const uint32_t of_length = masked(crc32c(out)), of_data = masked(crc32c(data));
  return (out += raw(of_length)).append(data).append(raw(of_data));
}

// --- messages

void Message::varint(uint64_t value) {
  for (; value >= 128; value >>= 7) text_ += static_cast<char>((value & 127) | 128);
  text_ += static_cast<char>(value);
}
Message& Message::integer(int field, int64_t value) {
  tag(field, 0);
  varint(static_cast<uint64_t>(value));
  return *this;
}
Message& Message::real(int field, double value) {
  tag(field, 1);
  text_ += raw(value);
  return *this;
}
Message& Message::single(int field, float value) {
  tag(field, 5);
  text_ += raw(value);
  return *this;
}
Message& Message::bytes(int field, std::string_view value) {
  tag(field, 2);
  varint(value.size());
  text_ += value;
  return *this;
}

// --- the file

EventFile::EventFile(const std::string& folder) : written_(std::chrono::steady_clock::now()) {
  static std::atomic<int> number{0};
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  check(!error, folder, ": cannot make the folder: ", error_text(error.value()));
  char host[256] = "host";
  ::gethostname(host, sizeof host - 1);
  path_ = text(folder, "/events.out.tfevents.", static_cast<int64_t>(wall_time()), '.', host, '.', ::getpid(), '.', number++);
  descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
  if (descriptor_ < 0) fail();
  append(Message().real(1, wall_time()).bytes(3, "brain.Event:2"));
  write_out();
}
EventFile::~EventFile() {
  if (descriptor_ < 0) return;
  try {
    write_out();
  } catch (const Error&) {  // close() tells
  }
  if (descriptor_ >= 0) ::close(descriptor_);
}
void EventFile::fail() const { throw Error(path_ + ": cannot write: " + error_text(errno)); }

void EventFile::append(const Message& event) { pending_ += record(event.text()); }

void EventFile::write(int64_t step, int field, const Message& message) {
  check(descriptor_ >= 0, path_, ": the writer is closed");
  Message event;
  event.real(1, wall_time());
  if (step != 0) event.integer(2, step);
  append(event.message(field, message));
  constexpr size_t kMostPending = 1 << 16;
  if (pending_.size() >= kMostPending || std::chrono::steady_clock::now() - written_ > std::chrono::seconds(2)) write_out();
}

void EventFile::write_out() {
  while (!pending_.empty()) {
    const ssize_t count = ::write(descriptor_, pending_.data(), pending_.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail();
    pending_.erase(0, static_cast<size_t>(count));
  }
  written_ = std::chrono::steady_clock::now();
}
void EventFile::flush() {
  if (descriptor_ < 0) return;
  write_out();
  if (::fsync(descriptor_) != 0) fail();
}
void EventFile::close() {
  flush();
  if (descriptor_ >= 0 && ::close(std::exchange(descriptor_, -1)) != 0) fail();
}

}  // namespace tenon::io
