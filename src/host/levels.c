/*
  A library for several kinds of processors (make VECTOR_LEVELS="avx2 avx512"): double.c and float.c are compiled for each, and when the
  library is loaded the tables become those of the best one that the processor has.  To everybody else they are constants.
*/
#if defined(PATCHFD_LEVEL_avx2) || defined(PATCHFD_LEVEL_avx512)
  #define PatchFDKernelsHostDouble PatchFDKernelsHostDoubleConstant
  #define PatchFDKernelsHostFloat  PatchFDKernelsHostFloatConstant
  #include <patchfd/private/kernels.h>
  #undef PatchFDKernelsHostDouble
  #undef PatchFDKernelsHostFloat

PETSC_INTERN struct _PatchFDKernels PatchFDKernelsHostDouble, PatchFDKernelsHostFloat;
struct _PatchFDKernels              PatchFDKernelsHostDouble, PatchFDKernelsHostFloat;

  #define TAKE(level) \
    do { \
      PETSC_INTERN const struct _PatchFDKernels PatchFDKernelsHostDouble_##level, PatchFDKernelsHostFloat_##level; \
\
      PatchFDKernelsHostDouble = PatchFDKernelsHostDouble_##level; \
      PatchFDKernelsHostFloat  = PatchFDKernelsHostFloat_##level; \
    } while (0)
static __attribute__((constructor)) void ChooseLevel(void)
{
  __builtin_cpu_init();
  TAKE(plain);
  #if defined(PATCHFD_LEVEL_avx2)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2")) TAKE(avx2);
  #endif
  #if defined(PATCHFD_LEVEL_avx512)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512cd"))
    TAKE(avx512);
  #endif
}
#endif
