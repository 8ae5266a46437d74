// Curves as SVG.
#include <algorithm>
#include <array>
#include <cmath>

#include "frontend/src/io/file.h"
#include "frontend/src/tensor/text.h"
#include "ir/base/text.h"
#include "tenon/progress.h"

namespace tenon::io {
namespace {

constexpr const char* kColors[] = {"#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b", "#17becf", "#7f7f7f"};
constexpr double kLeft = 64, kRight = 16, kTop = 36, kBottom = 44;

struct Point {
  double x, y;
};

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '<') result += "&lt;";
    else if (c == '&') result += "&amp;";
    else if (static_cast<unsigned char>(c) >= ' ') result += c;
  }
  return result;
}

// A range of values and round numbers within it.
struct Axis {
  double low = INFINITY, high = -INFINITY;
  std::vector<double> ticks;

  void take(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  void round() {
    if (low == high) {
      const double around = low == 0 ? 1 : std::abs(low) / 2;
      low -= around;
      high += around;
    }
    const double rough = (high - low) / 5, power = std::pow(10, std::floor(std::log10(rough)));
    const double step = power * (rough / power < 1.5 ? 1 : rough / power < 3.5 ? 2 : rough / power < 7.5 ? 5 : 10);
    for (double tick = std::ceil(low / step) * step; tick <= high + step * 1e-9; tick += step)
      ticks.push_back(std::abs(tick) < step * 1e-9 ? 0 : tick);
  }
  double part(double value) const { return (value - low) / (high - low); }
};

std::vector<Point> points_of(const Curve& curve, bool log_y) {
  check<ValueError>(curve.x.empty() || curve.x.size() == curve.y.size(), "curve '", curve.name, "' has ", curve.y.size(), " values and ",
                    curve.x.size(), " places");
  std::vector<Point> points;
  for (size_t i = 0; i < curve.y.size(); ++i) {
    const Point p{curve.x.empty() ? static_cast<double>(i) : curve.x[i], log_y ? std::log10(curve.y[i]) : curve.y[i]};
    if (std::isfinite(p.x) && std::isfinite(p.y)) points.push_back(p);
  }
  return points;
}

// A long curve is thinned: the lowest and the highest of the points in one column of pixels are kept.
std::vector<Point> thinned(const std::vector<Point>& points, const Axis& x, double columns) {
  if (static_cast<double>(points.size()) <= 4 * columns) return points;
  std::vector<Point> result;
  for (size_t i = 0; i < points.size();) {
    const auto column = [&](size_t k) { return std::floor(x.part(points[k].x) * columns); };
    size_t end = i, low = i, high = i;
    for (; end < points.size() && column(end) == column(i); ++end) {
      if (points[end].y < points[low].y) low = end;
      if (points[end].y > points[high].y) high = end;
    }
    result.push_back(points[std::min(low, high)]);
    if (low != high) result.push_back(points[std::max(low, high)]);
    i = end;
  }
  return result;
}

}  // namespace

std::string draw_curve(const std::vector<Curve>& curves, const CurveOptions& options) {
  Axis x, y;
  std::vector<std::vector<Point>> all;
  for (const Curve& curve : curves) {
    for (const Point& p : all.emplace_back(points_of(curve, options.log_y()))) {
      x.take(p.x);
      y.take(p.y);
    }
  }
  check<ValueError>(x.low <= x.high, "there is nothing to draw: no curve has a finite value");
  x.round();
  y.round();
  const double width = static_cast<double>(options.width()), height = static_cast<double>(options.height());
  const double inner_width = width - kLeft - kRight, inner_height = height - kTop - kBottom;
  check<ValueError>(inner_width > 0 && inner_height > 0, "a picture of ", width, " x ", height, " is too small for a curve");
  const auto at_x = [&](double value) { return ir::fixed_text(kLeft + x.part(value) * inner_width, 1); };
  const auto at_y = [&](double value) { return ir::fixed_text(kTop + (1 - y.part(value)) * inner_height, 1); };

  std::string svg = text("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"", width, "\" height=\"", height,
                         "\" font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n");
  for (const double tick : x.ticks)
    svg += text("<path d=\"M", at_x(tick), ' ', kTop, 'V', height - kBottom, "\" stroke=\"#ddd\"/><text x=\"", at_x(tick), "\" y=\"",
                height - kBottom + 16, "\" text-anchor=\"middle\">", ir::general_text(tick, 6), "</text>\n");
  for (const double tick : y.ticks)
    svg +=
        text("<path d=\"M", kLeft, ' ', at_y(tick), 'H', width - kRight, "\" stroke=\"#ddd\"/><text x=\"", kLeft - 6, "\" y=\"", at_y(tick),
             "\" dy=\"4\" text-anchor=\"end\">", ir::general_text(options.log_y() ? std::pow(10, tick) : tick, 4), "</text>\n");
  svg += text("<text x=\"", kLeft + inner_width / 2, "\" y=\"", height - 8, "\" text-anchor=\"middle\">", escaped(options.x_label()),
              "</text>\n<text x=\"", kLeft, "\" y=\"20\" font-size=\"15\">", escaped(options.title()), "</text>\n");
  for (size_t i = 0; i < curves.size(); ++i) {
    const char* color = kColors[i % std::size(kColors)];
    svg += text("<polyline fill=\"none\" stroke-width=\"1.5\" stroke=\"", color, "\" points=\"");
    for (const Point& p : thinned(all[i], x, inner_width)) svg += at_x(p.x) + "," + at_y(p.y) + " ";
    svg += text("\"/>\n<text x=\"", width - kRight - 4, "\" y=\"", kTop + 16 + 16 * static_cast<double>(i),
                "\" text-anchor=\"end\" fill=\"", color, "\">", escaped(curves[i].name), "</text>\n");
  }
  return svg + "</svg>\n";
}

void save_curve(const std::string& path, const std::vector<Curve>& curves, const CurveOptions& options) {
  const std::string svg = draw_curve(curves, options);
  OutputFile out(path);
  out.write(svg);
  out.close();
}

}  // namespace tenon::io
