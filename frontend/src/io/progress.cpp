// The progress bar.
#include "tenon/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iostream>

#include "frontend/src/tensor/text.h"
#include "ir/base/text.h"

namespace tenon {
namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

int terminal_width() {
  winsize size{};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

// "0:07", "12:34", "1:02:03"
std::string clock_text(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0 || seconds > 1e7) return "?";
  const int64_t all = std::llround(seconds);
  const auto two = [](int64_t n) { return (n < 10 ? "0" : "") + std::to_string(n); };
  if (all < 3600) return text(all / 60, ':', two(all % 60));
  return text(all / 3600, ':', two(all / 60 % 60), ':', two(all % 60));
}

}  // namespace

ProgressBar::ProgressBar(std::string title, int64_t total)
    : ProgressBar(std::move(title), total, std::cerr, ::isatty(STDERR_FILENO) != 0, terminal_width()) {}
ProgressBar::ProgressBar(std::string title, int64_t total, std::ostream& out, bool terminal, int width)
    : title_(std::move(title)), total_(std::max<int64_t>(total, 0)), out_(out), terminal_(terminal), width_(width), start_(now()) {}
ProgressBar::~ProgressBar() {
  try {
    finish();
  } catch (...) {  // a stream that throws
  }
}

std::string ProgressBar::line(double seconds, const Values& values) const {
  const double part = total_ > 0 ? std::min(1.0, static_cast<double>(done_) / static_cast<double>(total_)) : 1;
  const double rate = seconds > 0 ? static_cast<double>(done_) / seconds : 0;
  const double left = rate > 0 ? static_cast<double>(total_ - done_) / rate : INFINITY;
  std::string tail = text(" ", done_, "/", total_, " [", clock_text(seconds), "<", clock_text(std::max(left, 0.0)), ", ",
                          rate >= 1 || rate == 0 ? ir::fixed_text(rate, 1) + "/s" : ir::fixed_text(1 / rate, 1) + " s each", "]");
  for (const auto& [name, value] : values) tail += " " + name + " " + ir::general_text(value, 4);
  const std::string head = text(title_, title_.empty() ? "" : " ", ir::right_aligned(ir::fixed_text(std::floor(part * 100), 0), 3), "%");
  const int room = std::min(30, width_ - 1 - static_cast<int>(head.size() + tail.size()) - 3);
  if (!terminal_ || room < 3) return (head + tail).substr(0, static_cast<size_t>(terminal_ ? std::max(width_ - 1, 0) : 10000));
  const int full = static_cast<int>(part * room);
  return head + " [" + std::string(static_cast<size_t>(full), '#') + std::string(static_cast<size_t>(room - full), '.') + "]" + tail;
}

void ProgressBar::draw(const Values& values) {
  const double time = now() - start_;
  const bool end = done_ >= total_;
  if (terminal_) {
    constexpr double kPause = 0.1;
    if (!end && drawn_ >= 0 && time - drawn_ < kPause) return;
    out_ << '\r' << line(time, values) << "\x1b[K" << std::flush;
  } else {
    const int64_t tenths = total_ > 0 ? done_ * 10 / total_ : 10;
    if (tenths <= tenths_) return;
    tenths_ = tenths;
    out_ << line(time, values) << std::endl;
  }
  drawn_ = time;
}

void ProgressBar::advance(int64_t steps, const Values& values) {
  if (finished_) return;
  done_ += steps;
  last_ = values;
  draw(values);
}

void ProgressBar::finish() {
  if (finished_) return;
  finished_ = true;
  if (!terminal_ || drawn_ < 0) return;
  out_ << '\r' << line(now() - start_, last_) << "\x1b[K\n" << std::flush;
}

}  // namespace tenon
