// Seeing a training go on: a progress bar, and a curve as a picture.
//
//   ProgressBar bar("training", 100);
//   for (int epoch = 0; epoch < 100; ++epoch) bar.advance({{"loss", loss}});
//   io::save_curve("loss.svg", {{"train", losses}, {"test", test_losses}}, io::CurveOptions("loss"));
#pragma once

#include <iosfwd>
#include <string>
#include <utility>
#include <vector>

#include "tenon/nn/arg.h"

namespace tenon {

// One line that is drawn over itself on a terminal, at most ten times a second, with rate and time left; where the output is no
// terminal a plain line for each tenth of the way. Nothing is evaluated.
class ProgressBar {
 public:
  using Values = std::vector<std::pair<std::string, double>>;
  ProgressBar(std::string title, int64_t total);  // to standard error
  ProgressBar(std::string title, int64_t total, std::ostream& out, bool terminal, int width = 80);
  ~ProgressBar();  // ends the line
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void advance(const Values& values = {}) { advance(1, values); }
  void advance(int64_t steps, const Values& values = {});
  void finish();
  int64_t done() const { return done_; }
  // The line as it stands `seconds` after the start.
  std::string line(double seconds, const Values& values = {}) const;

 private:
  void draw(const Values& values);

  std::string title_;
  int64_t total_, done_ = 0, tenths_ = 0;
  std::ostream& out_;
  bool terminal_, finished_ = false;
  int width_;
  double start_, drawn_ = -1;  // seconds of the steady clock
  Values last_;
};

namespace io {

struct CurveOptions {
  CurveOptions(std::string title = {}) : title_(std::move(title)) {}
  TENON_ARG(std::string, title);
  TENON_ARG(std::string, x_label) = "step";
  TENON_ARG(bool, log_y) = false;
  TENON_ARG(int64_t, width) = 640;
  TENON_ARG(int64_t, height) = 400;
};
struct Curve {
  std::string name;
  std::vector<double> y;
  std::vector<double> x = {};  // 0, 1, ... if it is empty
};
// An SVG file with these curves; what is not finite is left out. Error if there is nothing to draw.
void save_curve(const std::string& path, const std::vector<Curve>& curves, const CurveOptions& options = {});
std::string draw_curve(const std::vector<Curve>& curves, const CurveOptions& options = {});  // the text of the file

}  // namespace io
}  // namespace tenon
