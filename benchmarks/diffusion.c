static char
  help[] = "Times of the operator diffusion: a product, a smoothing step (patchfd), a V-cycle (patchmg), a solve to 1e-9, f = 1,\n\
and set-up: of mesh and matrix, of the solver, and of both once more after the coefficients have changed, in seconds and in products.\n\
  -degrees <k,...>, -cells <n,...> : polynomial degrees and cells in a direction (default 2,4,7 and 32,16,8)\n\
  -problem <kind:number,...>       : coefficients and map, see tests/variable.h (default smooth:0.5); const for K = 1; poisson for the \
operator of that name on the box as it is\n\
  -vec <points|cells>              : K of the problem mix by a Vec in place of a function\n\
  -solve                           : nothing but the solve, for other preconditioners (-dm_mat_type aij -pc_type gamg)\n\
  -once                            : nothing but set-up and one solve, a line of a table each\n\
  -dm_box_*, -dm_vec_type <type>   : as for any solve; dimension 3 unless -dm_box_dim says otherwise\n\n";

#include <patchfd/private/boximpl.h>
#include "../tests/variable.h"
#include <petsctime.h>

typedef struct {
  Mat A;
  PC  pc; /* or NULL for the product */
  Vec b, x;
} Work;

/* seconds, of the slowest rank: all ranks repeat as often.  A norm waits for the device */
static PetscErrorCode Time(const Work *w, PetscLogDouble *seconds)
{
  PetscLogDouble t[2] = {0, 0}, all = 0;
  PetscReal      norm;
  PetscInt       n = 1;

  PetscFunctionBeginUser;
  for (PetscInt repeat = 0; all < 0.1; repeat++) {
    if (repeat) n *= 2;
    for (PetscInt i = repeat ? 0 : -3; i < n; i++) {
      if (i == 0) {
        PetscCall(VecNorm(w->x, NORM_2, &norm));
        PetscCall(PetscTime(&t[0]));
      }
      if (w->pc) PetscCall(PCApply(w->pc, w->b, w->x));
      else PetscCall(MatMult(w->A, w->b, w->x));
    }
    PetscCall(VecNorm(w->x, NORM_2, &norm));
    PetscCall(PetscTime(&t[1]));
    all = t[1] - t[0];
    PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &all, 1, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD));
  }
  *seconds = all / n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* a product, a step, a V-cycle */
static PetscErrorCode Parts(Work w[], PetscInt N)
{
  PetscLogDouble seconds[3];

  PetscFunctionBeginUser;
  PetscCall(PCCreate(PETSC_COMM_WORLD, &w[1].pc));
  PetscCall(PCSetOperators(w[1].pc, w[0].A, w[0].A));
  PetscCall(PCSetType(w[1].pc, PCPATCHFD));
  PetscCall(PCSetOptionsPrefix(w[1].pc, "mg_levels_")); /* that of the finest level */
  PetscCall(PCSetFromOptions(w[1].pc));
  PetscCall(PCSetUp(w[1].pc));
  for (int i = 0; i < 3; i++) PetscCall(Time(&w[i], &seconds[i]));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  ns an unknown: product %.4f, step %.4f, V-cycle %.4f\n", 1e9 * seconds[0] / N,
                        1e9 * seconds[1] / N, 1e9 * seconds[2] / N));
  PetscCall(PCDestroy(&w[1].pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* sin(2 pi x) at the points of a direction's cells, or in their middle */
static PetscErrorCode Wave(DM dm, PetscInt d, PetscInt points, PetscReal **wave)
{
  const DM_Box *box = (const DM_Box *)dm->data;
  PatchFDRule   rule;

  PetscFunctionBeginUser;
  PetscCall(PatchFDRuleCreate(box->degree, DMBoxNumGauss(dm), &rule));
  PetscCall(PetscMalloc1(points * box->cells[d], wave));
  for (PetscInt i = 0; i < points * box->cells[d]; i++)
    (*wave)[i] = PetscSinReal(2 * PETSC_PI * ((PetscReal)(i / points) + (points == 1 ? 0.5 : rule.x[i % points])) /
                              (PetscReal)box->cells[d]);
  PetscCall(PatchFDRuleDestroy(&rule));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* K of the problem mix: a product of functions of the box's coordinates, and what is done with all of its values, on a GPU if the DM's
   vectors are there */
static PetscErrorCode CreateConductivity(DM dm, const Problem *p, PetscBool points, Vec *K)
{
  const DM_Box   *box = (const DM_Box *)dm->data;
  const PetscInt  c = points ? DMBoxNumGauss(dm) : 1, (*cells)[2] = box->owncells;
  const PetscReal half = 0.5 * PetscLogReal(p->value);
  PetscScalar    *v, *at;
  PetscReal      *wave[3];

  PetscFunctionBeginUser;
  for (PetscInt d = 0; d < 3; d++) PetscCall(Wave(dm, d, c, &wave[d]));
  PetscCall(DMBoxCreateDiffusionVec(dm, points, 1, K));
  PetscCall(VecGetArrayWrite(*K, &v));
  at = v;
  for (PetscInt z = cells[2][0]; z < cells[2][1]; z++)
    for (PetscInt y = cells[1][0]; y < cells[1][1]; y++)
      for (PetscInt x = cells[0][0]; x < cells[0][1]; x++)
        for (PetscInt k = 0; k < c; k++)
          for (PetscInt j = 0; j < c; j++)
            for (PetscInt i = 0; i < c; i++) *at++ = wave[2][z * c + k] * wave[1][y * c + j] * wave[0][x * c + i];
  PetscCall(VecRestoreArrayWrite(*K, &v));
  PetscCall(VecScale(*K, half));
  PetscCall(VecShift(*K, half));
  PetscCall(VecExp(*K));
  for (PetscInt d = 0; d < 3; d++) PetscCall(PetscFree(wave[d]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateMesh(PetscInt degree, PetscInt n, Problem *p, DM *dm)
{
  const PetscInt cells[3] = {n, n, n};

  PetscFunctionBeginUser;
  if (strcmp(p->name, "poisson")) {
    PetscCall(CreateDM(3, n, degree, p, dm));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(DMBoxCreate(PETSC_COMM_WORLD, 3, cells, degree, dm));
  PetscCall(DMSetFromOptions(*dm));
  PetscCall(DMSetUp(*dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* as if it were another */
static PetscErrorCode ChangeConductivity(DM dm, Problem *p, Vec K)
{
  PetscFunctionBeginUser;
  if (K) PetscCall(DMBoxSetDiffusionVec(dm, 1, K, NULL));
  else if (strcmp(p->name, "poisson")) PetscCall(SetConductivity(3, p, dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* set-up and a solve */
static PetscErrorCode Once(KSP ksp, PetscInt degree, PetscInt n, const Problem *p, const Work *w)
{
  PetscLogDouble     t[3];
  PetscInt           its, N;
  KSPConvergedReason reason;

  PetscFunctionBeginUser;
  PetscCall(PetscTime(&t[0]));
  PetscCall(KSPSetUp(ksp));
  PetscCall(PetscTime(&t[1]));
  PetscCall(KSPSolve(ksp, w->b, w->x));
  PetscCall(PetscTime(&t[2]));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(VecGetSize(w->b, &N));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                        "| %s:%g | Q%" PetscInt_FMT " | %" PetscInt_FMT "^3 | %" PetscInt_FMT " | %" PetscInt_FMT "%s | %.2f | %.2f |\n",
                        p->name, (double)p->value, degree, n, N, its, reason > 0 ? "" : " (no)", t[1] - t[0], t[2] - t[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Case(PetscInt degree, PetscInt n, PetscBool solve, PetscBool once, const char vec[], Problem *p)
{
  DM             dm;
  KSP            ksp;
  Work           w[3] = {{0}};
  Vec            K    = NULL;
  PetscLogDouble t[6], setup, product, first = 0;
  PetscInt       N, its;

  PetscFunctionBeginUser;
  PetscCall(PetscTime(&t[0]));
  PetscCall(CreateMesh(degree, n, p, &dm));
  if (vec[0]) {
    PetscCall(CreateConductivity(dm, p, (PetscBool)(vec[0] == 'p'), &K));
    PetscCall(PetscTime(&t[0]));
    PetscCall(ChangeConductivity(dm, p, K));
  }
  PetscCall(DMCreateMatrix(dm, &w[0].A));
  PetscCall(DMCreateGlobalVector(dm, &w[0].b));
  PetscCall(VecDuplicate(w[0].b, &w[0].x));
  PetscCall(VecGetSize(w[0].b, &N));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetDM(ksp, dm));
  PetscCall(KSPSetOperators(ksp, w[0].A, w[0].A));
  PetscCall(KSPSetType(ksp, KSPFGMRES));
  PetscCall(KSPSetTolerances(ksp, 1e-9, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
  w[2] = w[1] = w[0];
  PetscCall(KSPGetPC(ksp, &w[2].pc));
  PetscCall(PCSetType(w[2].pc, PCPATCHMG));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(VecSet(w[0].x, 1));
  PetscCall(DMBoxAddLoadVec(dm, w[0].x, w[0].b));
  if (once) {
    PetscCall(Once(ksp, degree, n, p, w));
    goto end;
  }
  PetscCall(PetscTime(&setup));
  PetscCall(KSPSetUp(ksp));
  PetscCall(PetscTime(&t[1]));
  PetscCall(KSPSolve(ksp, w[0].b, w[0].x)); /* records, and finds room */
  PetscCall(PetscTime(&t[2]));
  PetscCall(ChangeConductivity(dm, p, K));
  PetscCall(MatBoxUpdate(w[0].A));
  PetscCall(KSPSetUp(ksp));
  PetscCall(PetscTime(&t[3]));
  for (int i = 0; i < 3; i++) { /* what is left of set-up, a recording, and one by itself */
    PetscCall(PetscTime(&t[4]));
    PetscCall(KSPSolve(ksp, w[0].b, w[0].x));
    PetscCall(PetscTime(&t[5]));
    if (i == 0) first = t[5] - t[4];
  }
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(Time(&w[0], &product));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                        "degree %" PetscInt_FMT ", %" PetscInt_FMT " unknowns: %" PetscInt_FMT
                        " iterations, solve %.2f ns an unknown, %.4f s; ",
                        degree, N, its, 1e9 * (t[5] - t[4]) / N, t[5] - t[4]));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "set-up %s %.3f s, solver %.3f s, all to the first solution %.3f s; ",
                        K ? "of matrix" : "of mesh and matrix", setup - t[0], t[1] - setup, t[2] - t[0]));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "again both %.3f s, %.0f products, and %.3f s more in the first solve\n", t[3] - t[2],
                        (t[3] - t[2]) / product, first - (t[5] - t[4])));
  if (!solve) PetscCall(Parts(w, N));
end:
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&K));
  PetscCall(VecDestroy(&w[0].x));
  PetscCall(VecDestroy(&w[0].b));
  PetscCall(MatDestroy(&w[0].A));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt  degrees[16] = {2, 4, 7}, cells[16] = {32, 16, 8}, n = 16, m = 16;
  PetscBool set, solve = PETSC_FALSE, once = PETSC_FALSE;
  char      names[512] = "smooth:0.5", vec[16] = "", **name;
  int       nname;
  Problem   p;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PatchFDInitializePackage());
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-degrees", degrees, &n, &set));
  if (!set) n = 3;
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-cells", cells, &m, &set));
  if (!set) m = 3;
  PetscCheck(n == m, PETSC_COMM_WORLD, PETSC_ERR_ARG_INCOMP, "-degrees has %" PetscInt_FMT " numbers and -cells %" PetscInt_FMT, n, m);
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-solve", &solve, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-once", &once, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-problem", names, sizeof(names), NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-vec", vec, sizeof(vec), &set));
  PetscCall(PetscStrToArray(names, ',', &nname, &name));
  for (int j = 0; j < nname; j++) {
    PetscCall(SetProblem(name[j], &p));
    PetscCheck(!set || (!strcmp(p.name, "mix") && (!strcmp(vec, "points") || !strcmp(vec, "cells"))), PETSC_COMM_WORLD,
               PETSC_ERR_ARG_INCOMP, "-vec %s, -problem %s: it takes points or cells, and the problem mix", vec, p.name);
    for (PetscInt i = 0; i < n; i++) PetscCall(Case(degrees[i], cells[i], solve, once, vec, &p));
  }
  PetscCall(PetscStrToArrayDestroy(nname, name));
  PetscCall(PetscFinalize());
  return 0;
}
