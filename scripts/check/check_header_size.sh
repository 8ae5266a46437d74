#!/usr/bin/env bash
# What #include <tenon/tenon.h> brings beyond eight usual headers of the standard library, after preprocessing: at most LIMIT bytes
# (default 200,000). A count, since time depends on the machine; scripts/check/check_header_time.sh measures that, by hand.
# Usage: check_header_size.sh [LIMIT]
set -euo pipefail
cd "$(dirname "$0")/../.."
limit=${1:-200000}
size() { "${CXX:-g++}" -std=c++20 -E -P -Ifrontend/include -x c++ - | wc -c; }

all=$(size <<<'#include <tenon/tenon.h>')
standard=$(printf '#include <%s>\n' algorithm functional iostream map memory string unordered_map vector | size)
echo "<tenon/tenon.h> brings $((all - standard)) bytes beyond the standard library's headers, which have $standard (limit $limit)"
[ $((all - standard)) -le "$limit" ]
