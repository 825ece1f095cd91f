#!/bin/bash
set -eu

case $target_platform in
linux-64) levels="avx2 avx512" ;;
*) levels= ;;
esac
arguments=(PREFIX="$PREFIX" PETSC_DIR="$PREFIX" PETSC_ARCH= VECTOR_FLAGS= VECTOR_LEVELS="$levels" V=1)
make -j"$CPU_COUNT" "${arguments[@]}" all
make "${arguments[@]}" install
# two ranks on one core; where the build machine cannot run this code there is no check
if [[ $build_platform == "$target_platform" ]]; then make "${arguments[@]}" check; fi
