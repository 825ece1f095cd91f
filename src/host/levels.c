/*
  A library for several kinds of processors (make VECTOR_LEVELS="avx2 avx512"): double.c and float.c are compiled for each, and when the
  library is loaded the tables become those of the best one that the processor has.  To all other files they are constants.
*/
#if defined(PATCHFD_LEVEL_avx2) || defined(PATCHFD_LEVEL_avx512)
  #define PatchFDKernelsHostDouble KernelsDoubleConstant
  #define PatchFDKernelsHostFloat  KernelsFloatConstant
  #define PatchFDHaloHostDouble    HaloDoubleConstant
  #define PatchFDHaloHostFloat     HaloFloatConstant
  #define PatchFDBoxHostDouble     BoxDoubleConstant
  #define PatchFDBoxHostFloat      BoxFloatConstant
  #define PatchFDBricksDouble      BricksDoubleConstant
  #define PatchFDBricksFloat       BricksFloatConstant
  #include <patchfd/private/boxsolve.h>
  #include <patchfd/private/bricks.h>
  #include <patchfd/private/halo.h>
  #include <patchfd/private/kernels.h>
  #undef PatchFDKernelsHostDouble
  #undef PatchFDKernelsHostFloat
  #undef PatchFDHaloHostDouble
  #undef PatchFDHaloHostFloat
  #undef PatchFDBoxHostDouble
  #undef PatchFDBoxHostFloat
  #undef PatchFDBricksDouble
  #undef PatchFDBricksFloat

  #define TABLES(DO, level) \
    DO(struct _PatchFDKernels, PatchFDKernelsHostDouble, level) \
    DO(struct _PatchFDKernels, PatchFDKernelsHostFloat, level) \
    DO(struct _PatchFDHaloKernels, PatchFDHaloHostDouble, level) \
    DO(struct _PatchFDHaloKernels, PatchFDHaloHostFloat, level) \
    DO(struct _PatchFDBoxKernels, PatchFDBoxHostDouble, level) \
    DO(struct _PatchFDBoxKernels, PatchFDBoxHostFloat, level) \
    DO(PatchFDBricksKernels, PatchFDBricksDouble, level) \
    DO(PatchFDBricksKernels, PatchFDBricksFloat, level)
  #define DEFINE(Kind, table, level) \
    PETSC_INTERN Kind table; \
    Kind              table;
  #define DECLARE(Kind, table, level) PETSC_INTERN const Kind table##_##level;
  #define COPY(Kind, table, level)    table = table##_##level;
  #define TAKE(level) \
    do { \
      TABLES(DECLARE, level) \
      TABLES(COPY, level) \
    } while (0)

TABLES(DEFINE, )

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
