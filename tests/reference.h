#pragma once
/* What programs that compare with dense references share: meshes of cells of random lengths, random data, one degree after another */
#include <petscpatchfd.h>

static PetscErrorCode Random(PetscRandom rnd, PetscInt n, PetscReal **a)
{
  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(n, a));
  for (PetscInt i = 0; i < n; i++) {
    PetscCall(PetscRandomGetValueReal(rnd, &(*a)[i]));
    (*a)[i] = 2 * (*a)[i] - 1;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* a box of the options and of a degree, for stokes or for what the options say */
static PetscErrorCode BoxCreate(PetscBool stokes, PetscInt degree, DM *dm)
{
  PetscFunctionBeginUser;
  PetscCall(DMCreate(PETSC_COMM_WORLD, dm));
  PetscCall(DMSetType(*dm, DMBOX));
  if (stokes) {
    PetscCall(DMBoxSetSpace(*dm, DMBOX_SPACE_RT));
    PetscCall(DMBoxSetOperator(*dm, "stokes"));
  }
  PetscCall(DMSetFromOptions(*dm));
  PetscCall(DMBoxSetDegree(*dm, degree));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the vertices of a box and of its refinement; graded: cells are up to 1 + spread times as long as others.  Free2() them */
static PetscErrorCode VerticesCreate(DM dm, PetscBool graded, PetscReal spread, PetscRandom rnd, PetscReal *v[3], PetscReal *vf[3])
{
  PetscReal lower[3], upper[3];
  PetscInt  dim, cells[3];

  PetscFunctionBeginUser;
  PetscCall(DMGetDimension(dm, &dim));
  PetscCall(DMBoxGetCells(dm, cells));
  PetscCall(DMBoxGetBounds(dm, lower, upper));
  for (PetscInt d = 0; d < dim; d++) {
    PetscReal span;

    PetscCall(PetscMalloc2(cells[d] + 1, &v[d], 2 * cells[d] + 1, &vf[d]));
    v[d][0] = 0;
    for (PetscInt c = 0; c < cells[d]; c++) {
      PetscReal h = 0;

      if (graded) PetscCall(PetscRandomGetValueReal(rnd, &h));
      v[d][c + 1] = v[d][c] + 1 + spread * h;
    }
    span = v[d][cells[d]];
    for (PetscInt c = 0; c <= cells[d]; c++) v[d][c] = lower[d] + v[d][c] * (upper[d] - lower[d]) / span;
    for (PetscInt c = 0; c <= 2 * cells[d]; c++) vf[d][c] = (v[d][c / 2] + v[d][(c + 1) / 2]) / 2;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* a set-up box of a degree with these vertices */
static PetscErrorCode BoxCreateOf(PetscBool stokes, PetscInt degree, PetscBool graded, PetscReal *const v[3], DM *dm)
{
  PetscInt dim, cells[3];

  PetscFunctionBeginUser;
  PetscCall(BoxCreate(stokes, degree, dm));
  PetscCall(DMGetDimension(*dm, &dim));
  PetscCall(DMBoxGetCells(*dm, cells));
  for (PetscInt d = 0; d < dim && graded; d++) PetscCall(DMBoxSetVertices(*dm, d, cells[d] + 1, v[d]));
  PetscCall(DMSetUp(*dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SmootherCreate(Mat A, KSPType type, KSP *ksp, PC *pc)
{
  PetscFunctionBeginUser;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
  PetscCall(KSPSetOperators(*ksp, A, A));
  PetscCall(KSPSetType(*ksp, type));
  PetscCall(KSPSetNormType(*ksp, KSP_NORM_NONE));
  PetscCall(KSPSetConvergenceTest(*ksp, KSPConvergedSkip, NULL, NULL));
  PetscCall(KSPSetTolerances(*ksp, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT, 1));
  PetscCall(KSPGetPC(*ksp, pc));
  PetscCall(PCSetType(*pc, PCPATCHFD));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* a smoothing step; `reverse` is the order of its transpose */
typedef struct {
  PCPatchFDType    type;
  PCPatchFDOrder   order, reverse;
  PCPatchFDVariant variant;
  PetscReal        omega;
} Step;

/* `name` says what was set */
PETSC_UNUSED static PetscErrorCode StepSet(PC pc, const Step *s, char name[256])
{
  PCPatchFDLocal       local;
  PCPatchFDClassesType classes;

  PetscFunctionBeginUser;
  PetscCall(PCPatchFDSetType(pc, s->type));
  PetscCall(PCPatchFDSetOrder(pc, s->order));
  PetscCall(PCPatchFDSetDamping(pc, s->omega));
  PetscCall(PCPatchFDSetVariant(pc, s->variant));
  PetscCall(PCPatchFDGetLocal(pc, &local));
  PetscCall(PCPatchFDGetClasses(pc, &classes));
  PetscCall(PetscSNPrintf(name, 256, "smoother %s %s %s %s %s %g", PCPatchFDLocals[local], PCPatchFDClassesTypes[classes],
                          PCPatchFDTypes[s->type], PCPatchFDOrders[s->order], PCPatchFDVariants[s->variant], (double)s->omega));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* a step as KSP and PC offer it; STEP_APPLY does what STEP_ZERO does, the first three are different */
enum {
  STEP_GUESS,
  STEP_ZERO,
  STEP_TRANSPOSE,
  STEP_APPLY,
  STEP_WAYS
};

/* x is the guess; the end of `name` says which way */
PETSC_UNUSED static PetscErrorCode StepApply(KSP ksp, int way, Vec b, Vec x, char name[256])
{
  static const char *const names[] = {", guess", ", zero guess", ", PCApplyTranspose", ", PCApply"};
  PC                       pc;

  PetscFunctionBeginUser;
  PetscCall(PetscStrlcat(name, names[way], 256));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(KSPSetInitialGuessNonzero(ksp, (PetscBool)(way == STEP_GUESS)));
  if (way == STEP_APPLY) PetscCall(PCApply(pc, b, x));
  else if (way == STEP_TRANSPOSE) PetscCall(PCApplyTranspose(pc, b, x));
  else PetscCall(KSPSolve(ksp, b, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* one degree of -degrees, which has to be given, after another */
static PetscErrorCode RunDegrees(PetscErrorCode (*test)(PetscInt degree, PetscBool graded, PetscReal tol, PetscRandom, PetscInt *failures))
{
  PetscInt    degrees[16], nd = 16, failures = 0;
  PetscBool   graded = PETSC_FALSE, set;
  PetscReal   tol    = 1e-12;
  PetscRandom rnd;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-degrees", degrees, &nd, &set));
  PetscCheck(set, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-degrees is needed: a list of degrees");
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-graded", &graded, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-tolerance", &tol, NULL));
  PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &rnd)); /* the same numbers on every rank */
  for (PetscInt i = 0; i < nd; i++) {
    const PetscInt before = failures;

    PetscCall((*test)(degrees[i], graded, tol, rnd, &failures));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "degree %" PetscInt_FMT ": %s\n", degrees[i], failures == before ? "agrees" : "DEVIATES"));
  }
  PetscCall(PetscRandomDestroy(&rnd));
  PetscFunctionReturn(PETSC_SUCCESS);
}
