// TensorBoard's event files: records (length, its checksum, data, its checksum) of protocol buffers. The few messages that are needed are
// written field by field; their numbers are those of tensorflow/core/util/event.proto and framework/{summary,graph}.proto.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace tenon::io {

// A message of protocol buffers, growing.
class Message {
 public:
  Message& integer(int field, int64_t value);
  Message& real(int field, double value);
  Message& single(int field, float value);
  Message& bytes(int field, std::string_view value);
  Message& message(int field, const Message& value) { return bytes(field, value.text_); }
  const std::string& text() const { return text_; }

 private:
  void varint(uint64_t value);
  void tag(int field, int wire) { varint(static_cast<uint64_t>(field) << 3 | static_cast<uint64_t>(wire)); }
  std::string text_;
};

uint32_t crc32c(std::string_view bytes);
std::string record(std::string_view data);  // as it stands in the file

// A log: what is written is in the file after at most two seconds and one more event, or after flush().
class EventFile {
 public:
  explicit EventFile(const std::string& folder);  // made if it is not there
  EventFile(const EventFile&) = delete;
  EventFile& operator=(const EventFile&) = delete;
  ~EventFile();
  // The time and, where it is not 0, the step come first.
  void write(int64_t step, int field, const Message& message);
  void flush();
  void close();
  const std::string& path() const { return path_; }

 private:
  void append(const Message& event);
  void write_out();
  [[noreturn]] void fail() const;
  std::string path_, pending_;
  int descriptor_ = -1;
  std::chrono::steady_clock::time_point written_;
};

}  // namespace tenon::io
