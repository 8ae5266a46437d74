// CSV files. Each column finds its own type: whole numbers are int64, other numbers float64, true and false
// bool, texts their index among the column's texts.
#include <locale.h>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

#include "frontend/src/io/file.h"
#include "frontend/src/tensor/impl.h"
#include "frontend/src/tensor/text.h"
#include "ir/base/fork.h"
#include "tenon/creation.h"

namespace tenon::io {
namespace {

enum class Kind { Missing, Bool, Integer, Real, Text };

struct Field {
  Kind kind = Kind::Missing;
  union {
    int64_t integer = 0;  // of Bool and Integer; of Text its number in the order of appearance
    double real;          // of Real
  };
};

using ir::kNan;

// A magnitude beyond double's: 0 or an infinity, whatever the decimal point of the program's locale.
double out_of_range(const char* number) {
  static const locale_t classic = newlocale(LC_ALL_MASK, "C", nullptr);
  return strtod_l(number, nullptr, classic);
}
[[maybe_unused]] const bool made_before_fork = ir::make_before_fork([] { out_of_range("1e999"); });

bool is_missing(std::string_view field) {
  constexpr std::string_view known[] = {"",    "nan", "NaN",  "NAN",  "-nan", "-NaN", "NA",
                                        "N/A", "n/a", "#N/A", "<NA>", "null", "NULL", "None"};
  return std::ranges::find(known, field) != std::end(known);
}

Field whole(Kind kind, int64_t value) {
  Field field;
  field.kind = kind;
  field.integer = value;
  return field;
}
Field real(double value) {
  Field field;
  field.kind = Kind::Real;
  field.real = value;
  return field;
}

Field classify(const std::string& text) {
  if (is_missing(text)) return {};
  for (const char* word : {"true", "True", "TRUE"}) {
    if (text == word) return whole(Kind::Bool, 1);
  }
  for (const char* word : {"false", "False", "FALSE"}) {
    if (text == word) return whole(Kind::Bool, 0);
  }
  const bool plus = text[0] == '+' && text.size() > 1 && text[1] != '-';
  const char* first = text.data() + plus;
  const char* last = text.data() + text.size();
  int64_t integer = 0;
  if (const auto [end, error] = std::from_chars(first, last, integer); error == std::errc() && end == last)
    return whole(Kind::Integer, integer);
  double value = 0;
  const auto [end, error] = std::from_chars(first, last, value);
  if (error == std::errc::invalid_argument || end != last) return whole(Kind::Text, 0);
  return real(error == std::errc::result_out_of_range ? out_of_range(first) : value);
}

// What a column may hold.
enum class Content { Any, Numbers, Texts };

// A column while it is read. Its kind is that of the fields so far; Integer widens to Real.
class Column {
 public:
  explicit Column(Content content) : content_(content) {}

  // Null, or why the field does not belong to this column.
  const char* add(std::string text) {
    Field field = classify(text);
    if (content_ == Content::Texts && field.kind != Kind::Missing) field = whole(Kind::Text, 0);
    if (const char* reason = join(field.kind)) return reason;
    if (field.kind == Kind::Text) field.integer = texts_.try_emplace(std::move(text), std::ssize(texts_)).first->second;
    fields_.push_back(field);
    return nullptr;
  }

  Tensor tensor() const {
    const bool exact = kind_ == Kind::Text || (!missing_ && (kind_ == Kind::Integer || kind_ == Kind::Bool));
    if (exact) return tenon::tensor(integers(), kind_ == Kind::Bool ? kBool : kInt64);
    std::vector<double> values;
    for (const Field& f : fields_) {
      const bool has_value = f.kind != Kind::Missing;
      values.push_back(f.kind == Kind::Real ? f.real : has_value ? static_cast<double>(f.integer) : kNan);
    }
    return tenon::tensor(values, kFloat64);
  }

  std::vector<std::string> categories() const {
    std::vector<std::string> result;
    for (const auto& [text, number] : texts_) result.push_back(text);
    return result;
  }

 private:
  const char* join(Kind kind) {
    if (kind == Kind::Missing) {
      missing_ = true;
      return nullptr;
    }
    if (content_ == Content::Numbers && kind == Kind::Text) return "is not a number";
    const auto is_number = [](Kind k) { return k == Kind::Integer || k == Kind::Real; };
    if (kind_ == Kind::Missing) {
      kind_ = kind;
    } else if (is_number(kind_)) {
      if (!is_number(kind)) return "is not a number";
      kind_ = std::max(kind_, kind);
    } else if (kind_ != kind) {
      return kind_ == Kind::Bool ? "is neither true nor false" : "is not a text, as those before it";
    }
    return nullptr;
  }

  // Bools, whole numbers, or the ranks of texts in their sorted order.
  std::vector<int64_t> integers() const {
    std::vector<int64_t> rank(texts_.size()), result;
    int64_t next = 0;
    for (const auto& [text, number] : texts_) rank[number] = next++;
    for (const Field& f : fields_) {
      result.push_back(f.kind == Kind::Missing ? -1 : f.kind == Kind::Text ? rank[f.integer] : f.integer);
    }
    return result;
  }

  Content content_;
  Kind kind_ = Kind::Missing;
  bool missing_ = false;
  std::vector<Field> fields_;
  std::map<std::string, int64_t> texts_;  // numbered as they appear
};

// Cuts a text into lines and fields.
class Reader {
 public:
  Reader(const std::string& name, std::string_view text, char delimiter) : name_(name), text_(text), delimiter_(delimiter) {
    if (text_.starts_with("\xef\xbb\xbf")) text_.remove_prefix(3);
  }

  // The fields of the next line that is not empty; false at the end. A quoted field may hold line ends.
  bool next(std::vector<std::string>& fields) {
    fields.clear();
    while (at_ < text_.size() && skip_line_end()) {
    }
    if (at_ >= text_.size()) return false;
    first_line_ = line_;
    while (true) {
      fields.push_back(at_ < text_.size() && text_[at_] == '"' ? quoted_field() : plain_field());
      if (at_ >= text_.size() || skip_line_end()) return true;
      if (text_[at_] != delimiter_) fail("unexpected '" + shown(text_.substr(at_, 1)) + "' after a quoted field");
      ++at_;
    }
  }

  [[noreturn]] void fail(const std::string& reason) const { throw Error(text(name_, ":", first_line_, ": ", reason)); }

 private:
  static bool ends_line(char c) { return c == '\n' || c == '\r'; }

  bool skip_line_end() {  // LF, CRLF or CR
    if (!ends_line(text_[at_])) return false;
    if (text_.substr(at_).starts_with("\r\n")) ++at_;
    ++at_;
    ++line_;
    return true;
  }

  std::string plain_field() {
    const size_t start = at_;
    while (at_ < text_.size() && text_[at_] != delimiter_ && !ends_line(text_[at_])) ++at_;
    return std::string(text_.substr(start, at_ - start));
  }

  // Two quotes within stand for one.
  std::string quoted_field() {
    std::string field;
    for (++at_; at_ < text_.size();) {
      if (text_[at_] == '"') {
        if (++at_ >= text_.size() || text_[at_] != '"') return field;
        field += text_[at_++];
      } else {
        const size_t start = at_;
        if (!skip_line_end()) ++at_;
        field += text_.substr(start, at_ - start);
      }
    }
    fail("a quoted field does not end");
  }

  const std::string& name_;
  std::string_view text_;
  char delimiter_;
  size_t at_ = 0;
  int64_t line_ = 1, first_line_ = 1;
};

std::string trimmed(const std::string& field) {
  const size_t first = field.find_first_not_of(" \t");
  if (first == std::string::npos) return "";
  return field.substr(first, field.find_last_not_of(" \t") - first + 1);
}

std::vector<Column> make_columns(const std::string& file, const Csv& csv, const CsvOptions& options) {
  for (const std::string& name : options.categories) {
    check<IndexError>(std::ranges::find(csv.names, name) != csv.names.end(), file, ": no column '", shown(name), "'");
  }
  std::vector<Column> columns;
  for (const std::string& name : csv.names) {
    const bool texts = std::ranges::find(options.categories, name) != options.categories.end();
    columns.emplace_back(texts ? Content::Texts : options.dtype ? Content::Numbers : Content::Any);
  }
  return columns;
}

}  // namespace

Csv parse_csv(const std::string& name, std::string_view text, const CsvOptions& options) {
  Reader reader(name, text, options.delimiter);
  std::vector<std::string> fields;
  Csv csv;
  check(reader.next(fields), name, ": the file is empty");
  for (size_t i = 0; i < fields.size(); ++i) csv.names.push_back(options.header ? trimmed(fields[i]) : std::to_string(i));
  std::vector<Column> columns = make_columns(name, csv, options);
  bool more = options.header ? reader.next(fields) : true;
  for (; more; more = reader.next(fields)) {
    if (fields.size() != columns.size()) reader.fail(tenon::text("expected ", columns.size(), " fields, got ", fields.size()));
    for (size_t i = 0; i < fields.size(); ++i) {
      const std::string field = trimmed(fields[i]);
      if (const char* reason = columns[i].add(field))
        reader.fail(tenon::text("column '", shown(csv.names[i]), "': '", shown(field), "' ", reason));
    }
  }
  for (const Column& column : columns) {
    csv.categories.push_back(column.categories());
    const bool cast = options.dtype && csv.categories.back().empty();
    csv.columns.push_back(cast ? column.tensor().to(*options.dtype) : column.tensor());
  }
  return csv;
}

Csv read_csv(const std::string& path, const CsvOptions& options) {
  FileSource in(path);
  return parse_csv(path, in.read_text(in.size(), "text"), options);
}

int64_t Csv::rows() const { return columns.empty() ? 0 : columns[0].size(0); }

size_t Csv::position(const std::string& name) const {
  const auto found = std::ranges::find(names, name);
  check<IndexError>(found != names.end(), "no column '", shown(name), "'");
  check<IndexError>(std::find(found + 1, names.end(), name) == names.end(), "several columns are named '", shown(name), "'");
  return static_cast<size_t>(found - names.begin());
}

const Tensor& Csv::operator[](const std::string& name) const { return columns[position(name)]; }
const std::vector<std::string>& Csv::categories_of(const std::string& name) const { return categories[position(name)]; }

Csv Csv::select(const std::vector<std::string>& which) const {
  Csv result;
  for (const std::string& name : which) {
    const size_t i = position(name);
    result.names.push_back(names[i]);
    result.columns.push_back(columns[i]);
    result.categories.push_back(categories[i]);
  }
  return result;
}

Csv Csv::drop(const std::vector<std::string>& which) const {
  std::vector<size_t> dropped;
  for (const std::string& name : which) dropped.push_back(position(name));
  Csv result;
  for (size_t i = 0; i < names.size(); ++i) {
    if (std::ranges::find(dropped, i) != dropped.end()) continue;
    result.names.push_back(names[i]);
    result.columns.push_back(columns[i]);
    result.categories.push_back(categories[i]);
  }
  return result;
}

Tensor Csv::matrix(const std::vector<std::string>& which) const {
  return stack(which.empty() ? TensorList(columns) : TensorList(select(which).columns), 1);
}

}  // namespace tenon::io
