#!/bin/sh
# ccache for every compilation but that of a precompiled header: a kept one is found again when only comments have changed, and GCC does not
# know its headers by their content then ("multiple definition"). Called as ccache.sh CCACHE COMPILER ARGUMENT...
ccache=$1
shift
for argument; do
  case $argument in *.gch) exec "$@" ;; esac
done
export CCACHE_SLOPPINESS=pch_defines,time_macros
exec "$ccache" "$@"
