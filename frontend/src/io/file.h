// Where the readers of files take their bytes from, and where the writers put them. A source knows how many
// bytes are left, so that a reader can hold the sizes that a file claims against it before it allocates
// anything.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "tenon/io.h"

namespace tenon::runtime {
class Buffer;
}

namespace tenon::io {

class Source {
 public:
  // `name` opens every message. `size` is checked against what is there while reading.
  Source(std::string name, uint64_t size) : name_(std::move(name)), size_(size), remaining_(size) {}
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;
  virtual ~Source() = default;

  const std::string& name() const { return name_; }
  uint64_t size() const { return size_; }
  uint64_t remaining() const { return remaining_; }
  void read(void* out, size_t bytes, const char* what);   // Error "NAME: ends within its WHAT"
  std::string read_text(size_t bytes, const char* what);  // as read
  // The elements of a tensor, as they lie in the source; bools are made 0 or 1.
  std::shared_ptr<runtime::Buffer> read_elements(ScalarType type, size_t bytes, const char* what);

 private:
  virtual size_t read_some(void* out, size_t bytes) = 0;  // 0 at the end
  const std::string name_;
  const uint64_t size_;
  uint64_t remaining_;
};

class MemorySource final : public Source {  // shows `bytes`, which must outlive it
 public:
  MemorySource(std::string name, std::string_view bytes) : Source(std::move(name), bytes.size()), bytes_(bytes) {}

 private:
  size_t read_some(void* out, size_t bytes) override;
  std::string_view bytes_;
};

class FileSource final : public Source {  // Error if the path is not a readable regular file
 public:
  explicit FileSource(const std::string& path);
  ~FileSource() override;

 private:
  struct Opened {
    int descriptor;
    uint64_t size;
  };
  FileSource(const std::string& path, Opened opened) : Source(path, opened.size), descriptor_(opened.descriptor) {}
  static Opened open(const std::string& path);
  size_t read_some(void* out, size_t bytes) override;
  int descriptor_;
};

// A file that is written whole or not at all: under a name of its own in the same folder, ".NAME.PID.NUMBER", then it is on the disk and
// takes the name. Who stops or dies before leaves the old file as it was. What is no regular file (/dev/null, a pipe) is
// written as it is. Every failure is an Error "PATH: cannot write: reason".
class OutputFile {
 public:
  explicit OutputFile(const std::string& path);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();  // without close() nothing is left
  void write(const void* data, size_t bytes);
  void write(std::string_view text) { write(text.data(), text.size()); }
  void close();  // the file is there now

  // Where the bytes go meanwhile, for who opens files by name.
  const std::string& place() const { return place_; }

 private:
  [[noreturn]] void fail() const;
  const std::string path_;
  std::string target_;  // the path behind symbolic links
  std::string place_;   // the private name, or target_ if it is no regular file
  int descriptor_ = -1;
};

// Text from a file as part of a message: control characters as in C++, cut after 80 bytes.
std::string shown(std::string_view text);

// The readers on any source, as the fuzzer calls them.
Tensor read_npy(Source& source);
NamedTensors parse_npz(const std::string& name, std::string_view bytes);
NamedTensors read_safetensors(Source& source, Metadata* metadata);
Csv parse_csv(const std::string& name, std::string_view text, const CsvOptions& options);

// What stands before the elements in an .npy file; TypeError after "WHERE: " if NumPy has no such type.
std::string npy_header(const std::string& where, const Tensor& tensor);

}  // namespace tenon::io
