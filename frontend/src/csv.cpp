// CSV files of numbers. Each column finds its own type: whole numbers are int64, anything else numeric
// float64.
#include <locale.h>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>

#include "impl.h"
#include "tenon/creation.h"
#include "tenon/io.h"
#include "text.h"

namespace tenon::io {
namespace {

// A column while it is read: integers until a field is not one, then doubles.
struct Column {
  std::vector<int64_t> integers;
  std::vector<double> reals;
  bool real = false;

  void add(double value) {
    if (!real) reals.assign(integers.begin(), integers.end());
    real = true;
    reals.push_back(value);
  }
  void add(int64_t value) {
    if (real)
      reals.push_back(static_cast<double>(value));
    else
      integers.push_back(value);
  }
};

class Reader {
 public:
  Reader(const std::string& path, char delimiter)
      : path_(path), delimiter_(delimiter), in_(path, std::ios::binary) {
    check(in_.good(), path, ": cannot open: ", std::strerror(errno));
  }

  // The fields of the next line that is not empty; false at the end. A quoted field may hold line ends.
  bool next(std::vector<std::string>& fields) {
    fields.clear();
    while (read_line()) {
      first_line_ = line_;
      if (text_.empty()) continue;
      split(fields);
      return true;
    }
    return false;
  }

  [[noreturn]] void fail(const std::string& reason) const {
    throw Error(text(path_, ":", first_line_, ": ", reason));
  }

 private:
  bool read_line() {
    if (!std::getline(in_, text_)) {
      check(!in_.bad(), path_, ": cannot read after line ", line_);  // a directory, a damaged disk
      return false;
    }
    ++line_;
    if (line_ == 1 && text_.starts_with("\xef\xbb\xbf")) text_.erase(0, 3);
    if (!text_.empty() && text_.back() == '\r') text_.pop_back();
    return true;
  }

  void split(std::vector<std::string>& fields) {
    size_t at = 0;
    while (true) {
      fields.push_back(at < text_.size() && text_[at] == '"' ? quoted_field(at) : plain_field(at));
      if (at >= text_.size()) return;
      if (text_[at] != delimiter_) fail(text("unexpected '", text_[at], "' after a quoted field"));
      ++at;
    }
  }

  std::string plain_field(size_t& at) {
    const size_t end = std::min(text_.find(delimiter_, at), text_.size());
    std::string field = text_.substr(at, end - at);
    at = end;
    return field;
  }

  // Two quotes within stand for one.
  std::string quoted_field(size_t& at) {
    std::string field;
    ++at;
    while (true) {
      if (at == text_.size()) {
        if (!read_line()) fail("a quoted field does not end");
        field += '\n';
        at = 0;
        continue;
      }
      const char c = text_[at++];
      if (c != '"')
        field += c;
      else if (at < text_.size() && text_[at] == '"')
        field += text_[at++];
      else
        return field;
    }
  }

  const std::string& path_;
  char delimiter_;
  std::ifstream in_;
  std::string text_;
  int64_t line_ = 0, first_line_ = 0;
};

std::string trimmed(const std::string& field) {
  const size_t first = field.find_first_not_of(" \t");
  if (first == std::string::npos) return "";
  return field.substr(first, field.find_last_not_of(" \t") - first + 1);
}

// Control characters as in C++, so that a message is one line of text without an end in its middle.
std::string shown(const std::string& field) {
  constexpr size_t kMost = 80;
  std::string result;
  for (const char c : field.substr(0, kMost)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= ' ')
      result += c;
    else
      result += text("\\x", "0123456789abcdef"[byte >> 4], "0123456789abcdef"[byte & 15]);
  }
  return field.size() > kMost ? result + "..." : result;
}

// A magnitude beyond double's: 0 or an infinity, whatever the decimal point of the program's locale.
double out_of_range(const char* number) {
  static const locale_t classic = newlocale(LC_ALL_MASK, "C", nullptr);
  return strtod_l(number, nullptr, classic);
}

void add_field(Reader& reader, Column& column, const std::string& name, const std::string& raw) {
  const std::string field = trimmed(raw);
  if (field.empty() || field == "nan" || field == "NaN" || field == "NA") {
    return column.add(std::numeric_limits<double>::quiet_NaN());
  }
  const bool plus = field[0] == '+' && field.size() > 1 && field[1] != '-';
  const char* first = field.data() + plus;
  const char* last = field.data() + field.size();
  int64_t integer = 0;
  if (const auto [end, error] = std::from_chars(first, last, integer); error == std::errc() && end == last) {
    return column.add(integer);
  }
  double real = 0;
  const auto [end, error] = std::from_chars(first, last, real);
  if (end != last || (error != std::errc() && error != std::errc::result_out_of_range)) {
    reader.fail("column '" + shown(name) + "': '" + shown(field) + "' is not a number");
  }
  if (error == std::errc::result_out_of_range) real = out_of_range(first);
  column.add(real);
}

Tensor column_tensor(const Column& column, const CsvOptions& options) {
  const Tensor result = column.real ? tensor(column.reals, kFloat64) : tensor(column.integers, kInt64);
  return options.dtype ? result.to(*options.dtype) : result;
}

}  // namespace

Csv read_csv(const std::string& path, const CsvOptions& options) {
  Reader reader(path, options.delimiter);
  std::vector<std::string> fields;
  Csv csv;
  std::vector<Column> columns;
  bool first = true;
  while (reader.next(fields)) {
    if (first) {
      for (size_t i = 0; i < fields.size(); ++i)
        csv.names.push_back(options.header ? trimmed(fields[i]) : std::to_string(i));
      columns.resize(fields.size());
    }
    if (std::exchange(first, false) && options.header) continue;
    if (fields.size() != columns.size())
      reader.fail(text("expected ", columns.size(), " fields, got ", fields.size()));
    for (size_t i = 0; i < fields.size(); ++i) add_field(reader, columns[i], csv.names[i], fields[i]);
  }
  check(!first, path, ": the file is empty");
  for (const Column& column : columns) csv.columns.push_back(column_tensor(column, options));
  return csv;
}

int64_t Csv::rows() const { return columns.empty() ? 0 : columns[0].size(0); }

const Tensor& Csv::operator[](const std::string& name) const {
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return columns[i];
  }
  throw IndexError("no column '" + name + "'");
}

Tensor Csv::matrix(const std::vector<std::string>& which) const {
  std::vector<Tensor> chosen;
  for (const std::string& name : which) chosen.push_back((*this)[name]);
  return stack(which.empty() ? TensorList(columns) : TensorList(chosen), 1);
}

}  // namespace tenon::io
