#pragma once
/*
  What PETSc 3.22 to 3.26 name differently.  The sources are written for the newest; this header is all that an older one needs, with a few
  words that stand for what has another form in each: PatchFDOptionItems, PATCHFD_MPI_BOOL, PATCHFD_DESTROY_CTX(), PATCHFD_KSP_HOOKS(),
  PATCHFD_REUSE_INNER().  Functions are passed as PetscVoidFn *, which every version takes.
*/
#include <petscdevicetypes.h>

/* ---- 3.23: PetscOptionItems is a pointer; functions that destroy a context get its address ---- */
#if PETSC_VERSION_LT(3, 23, 0)
typedef PetscOptionItems *PatchFDOptionItems;
  #define PATCHFD_DESTROY_CTX(type, ctx) ((type *)(ctx))
  #define PetscContainerSetCtxDestroy    PetscContainerSetUserDestroy
#else
typedef PetscOptionItems PatchFDOptionItems;
  #define PATCHFD_DESTROY_CTX(type, ctx) (*(type **)(ctx))
#endif

/* ---- 3.24: PetscBool is bool, no enum; PCs hear of KSPSetReusePreconditioner(); three values on the command line ---- */
#if PETSC_VERSION_LT(3, 24, 0)
  #define PATCHFD_REUSE_INNER(pc, inner) PCSetReusePreconditioner(inner, (pc)->reusepreconditioner)
  #define PATCHFD_MPI_BOOL               MPIU_BOOL
  #define PetscOptionsBool3(opt, text, man, current, value, set) \
    PatchFDOptionsBool3(PetscOptionsObject, opt, text, man, current, value, set)
static inline PetscErrorCode PatchFDOptionsBool3(PatchFDOptionItems PetscOptionsObject, const char opt[], const char text[],
                                                 const char man[], PetscBool3 current, PetscBool3 *value, PetscBool *set)
{
  char      word[8]; /* "unknown" */
  PetscBool given, unknown = PETSC_FALSE, known = PETSC_FALSE;

  PetscFunctionBegin;
  *set = PETSC_FALSE;
  PetscCall(PetscOptionsGetString(PetscOptionsObject->options, PetscOptionsObject->prefix, opt, word, sizeof(word), &given));
  if (given) PetscCall(PetscStrcasecmp(word, "unknown", &unknown));
  if (unknown) {
    *value = PETSC_BOOL3_UNKNOWN;
    *set   = PETSC_TRUE;
  } else {
    PetscCall(PetscOptionsBool(opt, text, man, current == PETSC_BOOL3_TRUE ? PETSC_TRUE : PETSC_FALSE, &known, set));
    if (*set) *value = PetscBoolToBool3(known);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
#else
  #define PATCHFD_REUSE_INNER(pc, inner) PETSC_SUCCESS
  #define PATCHFD_MPI_BOOL               MPI_C_BOOL
#endif

/* ---- 3.25: names of contexts; what a KSP takes from its DM one by one; energy of a GPU ---- */
#if PETSC_VERSION_LT(3, 25, 0)
  #include <petscksp.h>
typedef void *PetscCtx;
  #if PETSC_VERSION_LT(3, 23, 0)
typedef void *PetscCtxRt;
  #else
typedef void **PetscCtxRt; /* the argument of a PetscCtxDestroyFn */
  #endif
  #define KSP_DMACTIVE_OPERATOR           1 /* dmActive is PETSC_TRUE for all of them */
  #define KSP_DMACTIVE_RHS                1
  #define KSP_DMACTIVE_ALL                1
  #define KSPSetDMActive(ksp, what, flag) KSPSetDMActive(ksp, flag)
  #define PetscLogGpuEnergyFlag           PETSC_FALSE
  #define PetscLogGpuEnergyMeterFlag      PETSC_FALSE
#endif

/* ---- 3.26: the hooks of SNES's Eisenstat-Walker tolerances are apart from the user's; KSPIDR ---- */
#if PETSC_VERSION_LT(3, 26, 0)
  #define PATCHFD_KSP_HOOKS(ksp) ((ksp)->presolve || (ksp)->postsolve)
  #define KSPIDR                 "idr"
#else
  #define PATCHFD_KSP_HOOKS(ksp) ((ksp)->presolve || (ksp)->postsolve || (ksp)->presolve_ew || (ksp)->postsolve_ew)
#endif
