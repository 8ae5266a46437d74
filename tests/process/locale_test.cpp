// What the library prints, writes and reads is the same under every locale of C and C++. Takes all its texts in the classic
// locales and once more after setlocale and std::locale::global. A locale of C with a decimal comma is made with localedef in a
// folder of its own; where that does not work, that part is skipped, and says so.
#include <tenon/tenon.h>

#include <clocale>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <locale>
#include <sstream>

using namespace tenon;
namespace fs = std::filesystem;

namespace {

struct German : std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
  std::string do_truename() const override { return "wahr"; }
  std::string do_falsename() const override { return "falsch"; }
};

std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error\n";
}

std::string content(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

void print_values(std::ostream& out) {
  const Tensor x = tensor({{1.5, 2000.25}, {-0.001, 1e6}});
  for (const PrintStyle style : {PrintStyle::Python, PrintStyle::LibTorch}) {
    set_print_style(style);
    out << x << "\n" << x * 1e-6 << "\n" << arange(0, 5000, 1234) << "\n" << full({2, 1234}, 0.5).sizes() << "\n";
    out << nn::Sequential(nn::Linear(1024, 4096), nn::Dropout(0.25), nn::Conv2d(nn::Conv2dOptions(1200, 2400, 3).padding(1234)),
                          nn::BatchNorm1d(1500), nn::LSTM(1024, 2048))
        << "\n"
        << optim::Adam({x.clone().requires_grad_()}, optim::AdamOptions(0.0015)) << "\n";
  }
  set_print_style(PrintStyle::Python);
  out << Scalar(1234.5) << Scalar(1234567) << Scalar(true) << indexing::Slice(1000, 20000) << indexing::TensorIndex(123456)
      << tenon::TensorOptions(kFloat) << detail::TensorDataContainer({1.5, 1234.0}) << ExpandingArray<1>(12345) << "\n"
      << repr(Scalar(1234.5)) << format(tensor(1234567.891), ",.2f") << format(tensor(0.1), "#.3g") << format(tensor(1e-7), "g") << "\n"
      << Counters{1000, 2000, 3000, 4000, 5000, 6000} << MemoryStats{1 << 20, 1 << 21, 1 << 22, 1} << "\n";
  std::ostringstream bar_text;
  ProgressBar bar("bar", 123456, bar_text, false);
  out << bar.line(12345.6, {{"loss", 0.125}, {"rate", 1234.5}}) << "\n";
}

void print_reports(std::ostream& out) {
  const Tensor a = ones({1200, 40}), y = ((a * 0.3 + 1.5).softmax(1).mm(full({40, 1300}, 0.25)) * 1e-3).sum(0);
  out << draw_dot(y) << explain(y);
  for (const Stage stage : {Stage::Graph, Stage::Fused, Stage::Kernel, Stage::LoopTree, Stage::CUDA})
    out << message_of([&] { out << dump(y, stage); });
  out << io::draw_curve({{"a", {0.5, 1.25, 1234.5}}, {"b", {1e-7, 2e-7, 123456}}}, io::CurveOptions("x").log_y(true));
}

void print_errors(std::ostream& out) {
  out << message_of([] {
    ones({1500, 1001}).add(ones({2000, 1001}));
  }) << message_of([] { ones({1234}).index({123456}); })
      << message_of([] { io::save_npy("/nowhere/x.npy", ones({1})); }) << message_of([] { io::load_npy("/nowhere"); })
      << message_of([] { nn::Dropout(1.5); }) << message_of([] { io::draw_curve({}, io::CurveOptions()); })
      << message_of([] { optim::SGD({ones({1}, requires_grad())}, optim::SGDOptions(-1.5)); });
}

void write_files(std::ostream& out, const std::string& folder) {
  const Tensor x = tensor({{0.5, 1234.25}, {-1e-3, 1e9}});
  io::save_npy(folder + "/x.npy", x);
  io::save_npz(folder + "/x.npz", {{"x", x}});
  io::save_safetensors(folder + "/x.safetensors", {{"x", x}}, {{"lr", "0.001"}});
  io::save_curve(folder + "/x.svg", {{"a", {0.5, 1.25, 1234.5}}});
  double rate = 0.0015, read = 0;
  io::Checkpoint(folder + "/x.checkpoint").add("rate", rate).save();
  io::Checkpoint(folder + "/x.checkpoint").add("rate", read).load();
  out << (read == rate) << equal(io::load_npy(folder + "/x.npy"), x) << equal(io::load_npz(folder + "/x.npz").at("x"), x)
      << equal(io::load_safetensors(folder + "/x.safetensors").at("x"), x);
  std::ofstream table(folder + "/x.csv", std::ios::binary);
  table.imbue(std::locale::classic());
  table << "a,b\n1.5,2000.25\n-1e3,1e6\n";
  table.close();
  out << io::read_csv(folder + "/x.csv").matrix() << content(folder + "/x.svg") << content(folder + "/x.safetensors")
      << content(folder + "/x.checkpoint") << content(folder + "/x.npy") << "\n";
}

std::string all_texts(const std::string& folder) {
  manual_seed(0);
  std::ostringstream out;  // in the program's locale of C++, as a program's own streams are
  print_values(out);
  print_reports(out);
  print_errors(out);
  out.imbue(std::locale::classic());
  write_files(out, folder);
  return out.str();
}

int failures = 0;
void compare(const std::string& where, const std::string& before, const std::string& after) {
  if (before == after) {
    std::cout << where << ": " << after.size() << " bytes are the same\n";
    return;
  }
  ++failures;
  const auto at = static_cast<size_t>(std::mismatch(before.begin(), before.end(), after.begin(), after.end()).first - before.begin());
  const size_t begin = at > 60 ? at - 60 : 0;
  std::cout << where << " changes the text:\n" << before.substr(begin, 160) << "\n--- becomes ---\n" << after.substr(begin, 160) << "\n";
}

}  // namespace

int main() {
  std::string folder = (fs::temp_directory_path() / "tenon-locale-XXXXXX").string();
  if (!mkdtemp(folder.data())) return 1;
  all_texts(folder);  // what compiles, compiles
  const std::string before = all_texts(folder);

  const std::locale german(std::locale::classic(), new German);
  std::locale::global(german);
  compare("std::locale::global with a decimal comma", before, all_texts(folder));
  std::locale::global(std::locale::classic());

  setenv("LC_ALL", "xx_NOWHERE.UTF-8", 1);
  if (std::setlocale(LC_ALL, "")) return 1;
  compare("a locale that does not exist", before, all_texts(folder));

  const std::string made = "localedef -i de_DE -f UTF-8 " + folder + "/de_DE.UTF-8 >/dev/null 2>&1";
  if (std::system(made.c_str()) == 0) setenv("LOCPATH", folder.c_str(), 1);
  if (std::setlocale(LC_ALL, "de_DE.UTF-8")) {
    compare("setlocale(LC_ALL, \"de_DE.UTF-8\")", before, all_texts(folder));
    std::locale::global(german);
    compare("both", before, all_texts(folder));
  } else {
    std::cout << "part skipped: no locale of C with a decimal comma is here, and localedef makes none\n";
  }
  std::error_code ignored;
  fs::remove_all(folder, ignored);
  return failures;
}
