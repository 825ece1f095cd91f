static char
  help[] = "Time to a relative residual of 1e-9 for Poisson's equation in 3D: this library, with multigrid and with the direct solver\n\
of the whole box, against PETSc's own preconditioners on the assembled matrix.  Assembly, set-up and solve, and their sum; the\n\
ratio is to the first line.  Or, with -dm_box_operator stokes -dm_box_space rt, for Stokes' equations, against PETSc's PCFIELDSPLIT and a \
factorization.\n\
Or, with -dm_box_operator elasticity -dm_box_space vq, for a solid, against PETSc's PCGAMG with the rigid motions as its near null space, \
on the matrix\n\
with the components of each node together.\n\
  -dm_box_* : the mesh and the element (default degree 3 on 16 x 16 x 16 cells)\n\
  -solvers <i,...> : only these lines of the table, from 0 on (default all)\n\n";

#include <patchfd/private/compat.h>
#include <petscpatchfd.h>
#include <petsctime.h>

/* 1; or a force that is no gradient, and no sources */
static PetscErrorCode Load(PETSC_UNUSED PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PetscInt Nc, PetscScalar u[],
                           PETSC_UNUSED void *ctx)
{
  PetscFunctionBeginUser;
  for (PetscInt c = 0; c < Nc; c++) u[c] = 0;
  u[0] = Nc == 1 ? 1 : x[1] * x[1];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the options in full: all measure the true residual; the direct solver needs no Krylov method */
#define CG "-s_ksp_type cg -s_ksp_norm_type unpreconditioned"
typedef struct {
  const char *name, *options;
  PetscBool   assembled;
} Solver; /* PCMG has the meshes that PCPATCHMG has */
static const Solver poisson[] = {
  {"patchmg, mixed precision", "-s_ksp_type fgmres -s_pc_type single -s_single_pc_type patchmg -s_single_pc_mg_cycle_type v", PETSC_FALSE},
  {"patchmg, double precision", "-s_ksp_type fgmres -s_pc_type patchmg -s_pc_mg_cycle_type v", PETSC_FALSE},
  {"patchfd, whole box", "-s_ksp_type preonly -s_pc_type patchfd -s_pc_patchfd_patch box", PETSC_FALSE},
  {"cg, jacobi", CG " -s_pc_type jacobi", PETSC_TRUE},
  {"cg, bjacobi/icc", CG " -s_pc_type bjacobi -s_sub_pc_type icc", PETSC_TRUE},
  {"cg, gamg", CG " -s_pc_type gamg", PETSC_TRUE},
  {"cg, gamg, threshold 0.02", CG " -s_pc_type gamg -s_pc_gamg_threshold 0.02", PETSC_TRUE},
  {"cg, gamg, sor smoother", CG " -s_pc_type gamg -s_mg_levels_ksp_type richardson -s_mg_levels_pc_type sor", PETSC_TRUE},
  {"cg, mg, 2 sor sweeps", CG " -s_pc_type mg -s_mg_levels_ksp_type richardson -s_mg_levels_pc_type sor", PETSC_TRUE},
  {"cg, mg, 1 sor sweep", CG " -s_pc_type mg -s_mg_levels_ksp_type richardson -s_mg_levels_ksp_max_it 1 -s_mg_levels_pc_type sor",
   PETSC_TRUE},
  {"gmres, asm/ilu", "-s_ksp_type gmres -s_ksp_norm_type unpreconditioned -s_pc_type asm -s_sub_pc_type ilu", PETSC_TRUE},
};

/* the Schur complement by the mass matrix of the pressure, blocks of cells, which ILU factors exactly; the velocity as in each line */
#define SCHUR \
  "-s_ksp_type fgmres -s_pc_type fieldsplit -s_pc_fieldsplit_type schur -s_pc_fieldsplit_schur_fact_type upper " \
  "-s_fieldsplit_pressure_ksp_type preonly -s_fieldsplit_pressure_pc_type ilu "
#define INNER "-s_fieldsplit_velocity_ksp_type cg -s_fieldsplit_velocity_ksp_rtol 1e-2 "
static const Solver stokes[] = {
  {"patchmg, mixed precision", "-s_ksp_type fgmres -s_pc_type single -s_single_pc_type patchmg", PETSC_FALSE},
  {"patchmg, double precision", "-s_ksp_type fgmres -s_pc_type patchmg", PETSC_FALSE},
  {"fieldsplit, gamg", SCHUR "-s_fieldsplit_velocity_ksp_type preonly -s_fieldsplit_velocity_pc_type gamg", PETSC_TRUE},
  {"fieldsplit, cg with gamg", SCHUR INNER "-s_fieldsplit_velocity_pc_type gamg", PETSC_TRUE},
  {"fieldsplit, cg with gamg/sor",
   SCHUR INNER
   "-s_fieldsplit_velocity_pc_type gamg -s_fieldsplit_velocity_mg_levels_ksp_type richardson -s_fieldsplit_velocity_mg_levels_pc_type sor",
   PETSC_TRUE},
  {"fieldsplit, cg with icc", SCHUR INNER "-s_fieldsplit_velocity_pc_type icc", PETSC_TRUE},
  {"fieldsplit, cholesky", SCHUR "-s_fieldsplit_velocity_ksp_type preonly -s_fieldsplit_velocity_pc_type cholesky", PETSC_TRUE},
  {"lu", "-s_ksp_type fgmres -s_pc_type lu -s_pc_factor_nonzeros_along_diagonal -s_pc_factor_shift_type nonzero", PETSC_TRUE},
};

#define SOLID "-s_ksp_type cg -s_ksp_norm_type unpreconditioned -s_pc_type gamg"
static const Solver elasticity[] = {
  {"patchmg, mixed precision", "-s_ksp_type fgmres -s_pc_type single -s_single_pc_type patchmg -s_single_pc_mg_cycle_type v", PETSC_FALSE},
  {"patchmg, double precision", "-s_ksp_type fgmres -s_pc_type patchmg -s_pc_mg_cycle_type v", PETSC_FALSE},
  {"patchmg, cg", "-s_ksp_type cg -s_ksp_norm_type unpreconditioned -s_pc_type patchmg -s_pc_mg_cycle_type v -s_pc_patchmg_symmetric",
   PETSC_FALSE},
  {"cg, gamg", SOLID, PETSC_TRUE},
  {"cg, gamg, threshold 0.02", SOLID " -s_pc_gamg_threshold 0.02", PETSC_TRUE},
  {"cg, gamg, sor smoother", SOLID " -s_mg_levels_ksp_type richardson -s_mg_levels_pc_type sor", PETSC_TRUE},
  {"cg, gamg, pbjacobi smoother", SOLID " -s_mg_levels_pc_type pbjacobi", PETSC_TRUE},
};

/* the components of each node together, as PETSc's solvers like them: the matrix in that order, with its near null space, and the order */
static PetscErrorCode Interleave(DM dm, Mat *B, IS *order)
{
  PetscInt     dim, n, start, *index;
  Mat          C;
  Vec          x;
  MatNullSpace motions;

  PetscFunctionBeginUser;
  PetscCall(DMGetDimension(dm, &dim));
  PetscCall(MatGetLocalSize(*B, &n, NULL));
  PetscCall(MatGetOwnershipRange(*B, &start, NULL));
  PetscCall(PetscMalloc1(n, &index));
  for (PetscInt i = 0; i < n; i++) index[i] = start + i % dim * (n / dim) + i / dim;
  PetscCall(ISCreateGeneral(PetscObjectComm((PetscObject)dm), n, index, PETSC_OWN_POINTER, order));
  PetscCall(ISSetPermutation(*order));
  PetscCall(MatPermute(*B, *order, *order, &C));
  PetscCall(MatDestroy(B));
  *B = C;
  PetscCall(MatSetBlockSize(C, dim));
  PetscCall(DMGetCoordinates(dm, &x));
  PetscCall(MatNullSpaceCreateRigidBody(x, &motions));
  PetscCall(MatSetNearNullSpace(C, motions));
  PetscCall(MatNullSpaceDestroy(&motions));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* minus the mass matrix of a DGQ space, in the order of the pressures: what a Poisson matrix has beside a diffusion of nothing */
static PetscErrorCode PressureMass(DM flow, Mat *M)
{
  const PetscReal D[3] = {1e-300, 1e-300, 1e-300};
  PetscInt        dim, degree, cells[3];
  PetscReal       lower[3], upper[3];
  DM              dm;

  PetscFunctionBeginUser;
  PetscCall(DMGetDimension(flow, &dim));
  PetscCall(DMBoxGetCells(flow, cells));
  PetscCall(DMBoxGetDegree(flow, &degree));
  PetscCall(DMBoxGetBounds(flow, lower, upper));
  PetscCall(DMBoxCreate(PetscObjectComm((PetscObject)flow), dim, cells, degree, &dm));
  PetscCall(DMBoxSetSpace(dm, DMBOX_SPACE_DGQ));
  PetscCall(DMBoxSetBounds(dm, lower, upper));
  PetscCall(DMBoxSetPoisson(dm, D, 1));
  PetscCall(DMSetMatType(dm, MATAIJ));
  PetscCall(DMCreateMatrix(dm, M));
  PetscCall(MatScale(*M, -1));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the assembled matrix's preconditioner; PCMG needs meshes, whose matrices are assembled as well */
static PetscErrorCode SetMeshes(PC pc, DM dm)
{
  PetscBool mg;
  PetscInt  n;
  DM        assembled;

  PetscFunctionBeginUser;
  PetscCall(PetscObjectTypeCompare((PetscObject)pc, PCMG, &mg));
  if (!mg) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DMBoxGetNumCoarsenings(dm, &n));
  PetscCall(DMClone(dm, &assembled));
  PetscCall(DMSetMatType(assembled, MATAIJ));
  PetscCall(PCSetDM(pc, assembled));
  PetscCall(DMDestroy(&assembled));
  PetscCall(PCMGSetLevels(pc, n + 1, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the lines of the table that -solvers names, or all; *n of them, at first as many as there is room for */
static PetscErrorCode GetLines(PetscInt nlines, PetscInt *n, PetscInt lines[])
{
  PetscBool some;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-solvers", lines, n, &some));
  if (!some)
    for (*n = 0; *n < nlines; (*n)++) lines[*n] = *n;
  for (PetscInt l = 0; l < *n; l++)
    PetscCheck(lines[l] >= 0 && lines[l] < nlines, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT,
               "-solvers has %" PetscInt_FMT "; the table has lines from 0 to %" PetscInt_FMT, lines[l], nlines - 1);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the problem, and its matrix as it is and assembled */
typedef struct {
  PetscBool      flow, solid;
  Mat            A, B, mass; /* of pressures */
  IS             order;      /* of B, of a solid */
  Vec            b, u, r;
  PetscReal      bnorm;
  PetscLogDouble assembly; /* s */
} Problem;

static PetscErrorCode ProblemCreate(DM dm, Problem *p)
{
  PetscLogDouble t[2];

  PetscFunctionBeginUser;
  if (p->flow) PetscCall(PressureMass(dm, &p->mass));
  PetscCall(DMCreateMatrix(dm, &p->A));
  PetscCall(PetscTime(&t[0]));
  PetscCall(MatConvert(p->A, MATAIJ, MAT_INITIAL_MATRIX, &p->B));
  PetscCall(PetscTime(&t[1]));
  p->assembly = t[1] - t[0];
  if (p->solid) PetscCall(Interleave(dm, &p->B, &p->order));
  PetscCall(DMCreateGlobalVector(dm, &p->b));
  PetscCall(VecDuplicate(p->b, &p->u));
  PetscCall(VecDuplicate(p->b, &p->r));
  PetscCall(DMBoxAddLoad(dm, 0, Load, NULL, p->b));
  PetscCall(VecSet(p->u, 0));
  PetscCall(DMBoxLiftDirichlet(dm, p->u, p->b));
  PetscCall(VecNorm(p->b, NORM_2, &p->bnorm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ProblemDestroy(Problem *p)
{
  PetscFunctionBeginUser;
  PetscCall(VecDestroy(&p->b));
  PetscCall(VecDestroy(&p->u));
  PetscCall(VecDestroy(&p->r));
  PetscCall(MatDestroy(&p->A));
  PetscCall(MatDestroy(&p->B));
  PetscCall(MatDestroy(&p->mass));
  PetscCall(ISDestroy(&p->order));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* first: s of the first solver, or 0 */
static PetscErrorCode Solve(DM dm, const Problem *p, const Solver *s, double *first)
{
  KSP            ksp;
  PC             pc;
  PetscInt       its;
  PetscReal      rnorm;
  PetscLogDouble t[3], total;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsInsertString(NULL, s->options));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOptionsPrefix(ksp, "s_"));
  if (!s->assembled || p->flow) PetscCall(KSPSetDM(ksp, dm));
  if (s->assembled) PetscCall(KSPSetDMActive(ksp, KSP_DMACTIVE_ALL, PETSC_FALSE));
  PetscCall(KSPSetOperators(ksp, s->assembled ? p->B : p->A, s->assembled ? p->B : p->A));
  PetscCall(KSPSetTolerances(ksp, 1e-9, PETSC_CURRENT, PETSC_CURRENT, 2000));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPGetPC(ksp, &pc));
  if (s->assembled && !p->flow && !p->solid) PetscCall(SetMeshes(pc, dm));
  if (p->flow) PetscCall(PCFieldSplitSetSchurPre(pc, PC_FIELDSPLIT_SCHUR_PRE_USER, p->mass));
  if (s->assembled && p->solid) PetscCall(VecPermute(p->b, p->order, PETSC_FALSE));
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  PetscCall(PetscTime(&t[0]));
  PetscCall(KSPSetUp(ksp));
  PetscCall(PetscTime(&t[1]));
  PetscCall(KSPSolve(ksp, p->b, p->u));
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  PetscCall(PetscTime(&t[2]));
  for (int v = 0; v < 2 && s->assembled && p->solid; v++) PetscCall(VecPermute(v ? p->u : p->b, p->order, PETSC_TRUE));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(MatResidual(p->A, p->b, p->u, p->r));
  PetscCall(VecNorm(p->r, NORM_2, &rnorm));
  total = t[2] - t[0] + (s->assembled ? p->assembly : 0);
  if (*first == 0) *first = total;
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%-29s %5" PetscInt_FMT " %10.1e %10.3f %9.3f %9.3f %9.3f %7.1f\n", s->name, its,
                        (double)(rnorm / p->bnorm), s->assembled ? p->assembly : 0, t[1] - t[0], t[2] - t[1], total, total / *first));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(PetscOptionsClear(NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscInt cells[] = {16, 16, 16};
  const char    *operator;
  const Solver  *solvers = poisson;
  PetscInt       lines[16], nlines = PETSC_STATIC_ARRAY_LENGTH(poisson), n = 16, N;
  Problem        p = {.flow = PETSC_FALSE};
  DM             dm;
  double         first = 0;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PatchFDInitializePackage());
  PetscCall(DMBoxCreate(PETSC_COMM_WORLD, 3, cells, 3, &dm));
  PetscCall(DMSetFromOptions(dm));
  PetscCall(DMSetUp(dm));
  PetscCall(DMBoxGetOperator(dm, &operator));
  PetscCall(PetscStrcmp(operator, "stokes", &p.flow));
  PetscCall(PetscStrcmp(operator, "elasticity", &p.solid));
  if (p.flow) {
    solvers = stokes;
    nlines  = PETSC_STATIC_ARRAY_LENGTH(stokes);
  } else if (p.solid) {
    solvers = elasticity;
    nlines  = PETSC_STATIC_ARRAY_LENGTH(elasticity);
  }
  PetscCall(GetLines(nlines, &n, lines));
  PetscCall(ProblemCreate(dm, &p));
  PetscCall(VecGetSize(p.b, &N));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " unknowns\n%-29s %5s %10s %10s %9s %9s %9s %7s\n", N, "solver", "its",
                        "residual", "assembly s", "set-up s", "solve s", "total s", "ratio"));
  for (PetscInt l = 0; l < n; l++) PetscCall(Solve(dm, &p, &solvers[lines[l]], &first));
  PetscCall(ProblemDestroy(&p));
  PetscCall(DMDestroy(&dm));
  PetscCall(PetscFinalize());
  return 0;
}
