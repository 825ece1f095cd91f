static char help
  [] = "Steps of the heat equation with linear elements: matrix-free operators of a DMBOX against assembled matrices of PETSc, set-up and \
assembly included.\n\
Crank-Nicolson on n^3 cubes of the unit cube, capacity and conductivity from fields, a flux into z = 0; each solve to the same tolerance, \
relative to the right-hand side.\n\
  -n <n>         : number of cubes in each direction (default 100)\n\
  -steps <n>     : number of steps, at least 2 (default 10); the first one includes all set-up\n\
  -dt <dt>       : length of a step (default 1e-3)\n\
  -rtol <rtol>   : tolerance in the natural norm (default 1e-8)\n\
  -aij 0         : without assembled matrices\n\
  -solvers <...> : which of jacobi, mg, auto, aij_jacobi, aij_guess, aij_gamg (default all)\n\
  -cpu           : time of the processor, for machines that others use, too; on one rank\n\
  -products      : products and copies instead: bytes in the time of a copy\n\n";

#include <petscpatchfd.h>
#include <petsctime.h>
#include <time.h>
#include <petsc/private/petscimpl.h>

typedef struct {
  PetscInt  n, steps;
  PetscReal dt, rtol;
} Problem;

typedef struct {
  PetscLogDouble setup, step; /* s: to the end of the first step, of a step after it */
  PetscReal      its;         /* of a step */
  PetscReal      probe;       /* the temperature at the heated side, to compare solutions: its norm */
} Result;

static PetscErrorCode Capacity(PETSC_UNUSED PetscInt dim, PETSC_UNUSED PetscReal t, const PetscReal x[], PETSC_UNUSED PetscInt Nc,
                               PetscScalar u[], PETSC_UNUSED void *ctx)
{
  PetscFunctionBeginUser;
  u[0] = 1 + x[0] + x[1] * x[2];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Conductivity(PETSC_UNUSED PetscInt dim, PETSC_UNUSED PetscReal t, const PetscReal x[], PETSC_UNUSED PetscInt Nc,
                                   PetscScalar u[], PETSC_UNUSED void *ctx)
{
  PetscFunctionBeginUser;
  u[0] = 1 + x[0] * x[0] - 0.2 * x[1] * x[1] + x[2];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Flux(PETSC_UNUSED PetscInt dim, PETSC_UNUSED PetscReal t, PETSC_UNUSED const PetscReal x[], PETSC_UNUSED PetscInt Nc,
                           PetscScalar u[], PETSC_UNUSED void *ctx)
{
  PetscFunctionBeginUser;
  u[0] = 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscBool cpu = PETSC_FALSE;

static PetscErrorCode Now(PetscLogDouble *t)
{
  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  if (cpu) *t = (PetscLogDouble)clock() / CLOCKS_PER_SEC;
  else PetscCall(PetscTime(t));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateBox(const Problem *p, DM *dm)
{
  const PetscInt          cells[3] = {p->n, p->n, p->n};
  const DMBoxBoundaryType type[6]  = {DMBOX_BOUNDARY_NEUMANN, DMBOX_BOUNDARY_NEUMANN, DMBOX_BOUNDARY_NEUMANN,
                                      DMBOX_BOUNDARY_NEUMANN, DMBOX_BOUNDARY_NEUMANN, DMBOX_BOUNDARY_NEUMANN};

  PetscFunctionBeginUser;
  PetscCall(DMBoxCreate(PETSC_COMM_WORLD, 3, cells, 1, dm));
  PetscCall(DMBoxSetSpace(*dm, DMBOX_SPACE_P1));
  PetscCall(DMBoxSetOperator(*dm, "heat"));
  PetscCall(DMBoxSetBoundary(*dm, type));
  PetscCall(DMSetFromOptions(*dm));
  PetscCall(DMSetUp(*dm));
  PetscCall(DMBoxSetHeatFunctions(*dm, 0, Capacity, Conductivity, NULL));
  PetscCall(DMBoxSetHeatFlux(*dm, 4, Flux, NULL));
  PetscCall(DMBoxSetHeatSteady(*dm, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- with a DMBOX ---- */

/* the time after the first step, in which solvers are set up */
static PetscErrorCode FirstStep(PETSC_UNUSED TS ts, PetscInt step, PETSC_UNUSED PetscReal time, Vec u, void *ctx)
{
  PetscReal norm;

  PetscFunctionBeginUser;
  if (step != 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecNorm(u, NORM_2, &norm)); /* waits for a GPU, too */
  PetscCall(Now((PetscLogDouble *)ctx));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatrixFree(const Problem *p, DMBoxHeatSolver solver, Result *r)
{
  PetscLogDouble t[3];
  PetscInt       its, step;
  DM             dm;
  TS             ts;
  SNES           snes;
  KSP            ksp;
  Vec            u;
  Mat            A;
  PetscBool      shell;

  PetscFunctionBeginUser;
  PetscCall(Now(&t[0]));
  PetscCall(CreateBox(p, &dm));
  PetscCall(DMCreateGlobalVector(dm, &u));
  PetscCall(VecSet(u, 0));
  PetscCall(TSCreate(PETSC_COMM_WORLD, &ts));
  PetscCall(TSSetDM(ts, dm));
  PetscCall(DMBoxTSSetHeat(ts));
  PetscCall(DMBoxTSSetHeatSolver(ts, solver));
  PetscCall(TSGetSNES(ts, &snes));
  PetscCall(SNESGetKSP(snes, &ksp));
  PetscCall(KSPSetTolerances(ksp, p->rtol, PETSC_CURRENT, PETSC_CURRENT, 10000));
  PetscCall(TSSetTimeStep(ts, p->dt));
  PetscCall(TSSetMaxSteps(ts, p->steps));
  PetscCall(TSSetMaxTime(ts, PETSC_MAX_REAL));
  PetscCall(TSSetExactFinalTime(ts, TS_EXACTFINALTIME_STEPOVER));
  PetscCall(TSSetFromOptions(ts));
  PetscCall(TSMonitorSet(ts, FirstStep, &t[1], NULL));
  PetscCall(TSSolve(ts, u));
  PetscCall(VecNorm(u, NORM_2, &r->probe));
  PetscCall(Now(&t[2]));
  PetscCall(TSGetKSPIterations(ts, &its));
  PetscCall(TSGetStepNumber(ts, &step));
  PetscCall(SNESGetJacobian(snes, &A, NULL, NULL, NULL));
  PetscCall(PetscObjectTypeCompare((PetscObject)A, MATSHELL, &shell));
  PetscCheck(shell && step == p->steps, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "Ended after %" PetscInt_FMT " steps", step);
  r->setup = t[1] - t[0];
  r->step  = (t[2] - t[1]) / (PetscReal)(p->steps - 1);
  r->its   = (PetscReal)its / (PetscReal)p->steps;
  PetscCall(TSDestroy(&ts));
  PetscCall(VecDestroy(&u));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- as a program with PETSc alone does it: elements into MATAIJ, numbered with x fastest, slabs of z on the ranks ---- */

static PetscErrorCode ElementMatrices(const Problem *p, const PetscInt cube[3], const int corner[4], const PetscReal Me[16],
                                      const PetscReal Ke[16], Mat M, Mat K)
{
  const PetscReal h = 1 / (PetscReal)p->n;
  PetscReal       c = 0, k = 0;
  PetscScalar     value[16];
  PetscInt        row[4];

  PetscFunctionBeginUser;
  for (int s = 0; s < 4; s++) {
    const PetscInt  i = cube[0] + (corner[s] & 1), j = cube[1] + (corner[s] >> 1 & 1), l = cube[2] + (corner[s] >> 2);
    const PetscReal x = (PetscReal)i * h, y = (PetscReal)j * h, z = (PetscReal)l * h;

    row[s] = i + (p->n + 1) * (j + (p->n + 1) * l);
    c += 0.25 * (1 + x + y * z);
    k += 0.25 * (1 + x * x - 0.2 * y * y + z);
  }
  for (int i = 0; i < 16; i++) value[i] = c * Me[i];
  PetscCall(MatSetValues(M, 4, row, 4, row, value, ADD_VALUES));
  for (int i = 0; i < 16; i++) value[i] = k * Ke[i];
  PetscCall(MatSetValues(K, 4, row, 4, row, value, ADD_VALUES));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A = M + dt / 2 K, B = M - dt / 2 K, dt N */
static PetscErrorCode Assemble(const Problem *p, Mat *A, Mat *B, Vec *N)
{
  static const int corners[6][4]   = {{0, 1, 3, 7}, {0, 1, 5, 7}, {0, 4, 5, 7}, {0, 2, 3, 7}, {0, 4, 6, 7}, {0, 2, 6, 7}},
                   triangles[2][3] = {{0, 1, 3}, {0, 2, 3}};
  const PetscReal h = 1 / (PetscReal)p->n, V = h * h * h / 6;
  const PetscInt  n = p->n + 1;
  PetscReal       Me[16], Ke[16] = {1, -1, 0, 0, -1, 2, -1, 0, 0, -1, 2, -1, 0, 0, -1, 1};
  PetscInt        layers = PETSC_DECIDE, all = n, first, end;
  Mat             M, K;

  PetscFunctionBeginUser;
  for (int i = 0; i < 16; i++) {
    Me[i] = V / 20 * (i % 5 ? 1 : 2);
    Ke[i] *= h / 6;
  }
  PetscCall(PetscSplitOwnership(PETSC_COMM_WORLD, &layers, &all));
  PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, layers * n * n, layers * n * n, PETSC_DETERMINE, PETSC_DETERMINE, 15, NULL, 8, NULL, &M));
  PetscCall(MatDuplicate(M, MAT_DO_NOT_COPY_VALUES, &K));
  PetscCall(MatGetOwnershipRange(M, &first, &end));
  first /= n * n;
  end /= n * n;
  for (PetscInt c = first * p->n * p->n; c < PetscMin(end, p->n) * p->n * p->n; c++) {
    const PetscInt cube[3] = {c % p->n, c / p->n % p->n, c / p->n / p->n};

    for (int t = 0; t < 6; t++) PetscCall(ElementMatrices(p, cube, corners[t], Me, Ke, M, K));
  }
  PetscCall(MatAssemblyBegin(M, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(M, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyBegin(K, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(K, MAT_FINAL_ASSEMBLY));
  PetscCall(MatCreateVecs(M, N, NULL));
  for (PetscInt c = 0; c < p->n * p->n && !first; c++) {
    for (int t = 0; t < 2; t++) {
      for (int s = 0; s < 3; s++)
        PetscCall(
          VecSetValue(*N, c % p->n + (triangles[t][s] & 1) + n * (c / p->n + (triangles[t][s] >> 1)), p->dt * h * h / 6, ADD_VALUES));
    }
  }
  PetscCall(VecAssemblyBegin(*N));
  PetscCall(VecAssemblyEnd(*N));
  PetscCall(MatDuplicate(M, MAT_COPY_VALUES, A));
  PetscCall(MatAXPY(*A, p->dt / 2, K, SAME_NONZERO_PATTERN));
  PetscCall(MatSetOption(*A, MAT_SPD, PETSC_TRUE));
  *B = M;
  PetscCall(MatAXPY(*B, -p->dt / 2, K, SAME_NONZERO_PATTERN));
  PetscCall(MatDestroy(&K));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Assembled(const Problem *p, PCType type, PetscBool extrapolate, Result *r)
{
  PetscLogDouble t[3];
  PetscInt       total;
  Mat            A, B;
  Vec            N, u, old, b;
  KSP            ksp;
  PC             pc;

  PetscFunctionBeginUser;
  PetscCall(Now(&t[0]));
  PetscCall(Assemble(p, &A, &B, &N));
  PetscCall(VecDuplicate(N, &u));
  PetscCall(VecDuplicate(N, &old));
  PetscCall(VecDuplicate(N, &b));
  PetscCall(VecSet(u, 0));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOptionsPrefix(ksp, "aij_"));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPCG));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_NATURAL));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, type));
  PetscCall(KSPSetTolerances(ksp, p->rtol, PETSC_CURRENT, PETSC_CURRENT, 10000));
  PetscCall(KSPSetInitialGuessNonzero(ksp, PETSC_TRUE));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSetErrorIfNotConverged(ksp, PETSC_TRUE));
  PetscCall(KSPSetUp(ksp));
  for (PetscInt i = 0; i < p->steps; i++) {
    if (i == 1) PetscCall(Now(&t[1]));
    PetscCall(MatMultAdd(B, u, N, b));
    if (extrapolate && i) PetscCall(VecAXPBY(old, 2, -1, u)); /* the guess */
    else PetscCall(VecCopy(u, old));
    PetscCall(VecSwap(u, old));
    PetscCall(KSPSolve(ksp, b, u));
  }
  PetscCall(VecNorm(u, NORM_2, &r->probe));
  PetscCall(Now(&t[2]));
  PetscCall(KSPGetTotalIterations(ksp, &total));
  r->setup = t[1] - t[0];
  r->step  = (t[2] - t[1]) / (PetscReal)(p->steps - 1);
  r->its   = (PetscReal)total / (PetscReal)p->steps;
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(VecDestroy(&N));
  PetscCall(VecDestroy(&u));
  PetscCall(VecDestroy(&old));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- products ---- */

/* s of the fastest of some repetitions; copies with products of nothing */
static PetscErrorCode TimeProduct(Mat A, Vec x, Vec y, PetscLogDouble *best)
{
  PetscLogDouble t[2];
  PetscReal      norm;

  PetscFunctionBeginUser;
  *best = PETSC_MAX_REAL;
  for (int i = 0; i < 8; i++) {
    PetscCall(VecNorm(y, NORM_2, &norm)); /* waits */
    PetscCall(Now(&t[0]));
    for (int j = 0; j < 5; j++) {
      if (A) PetscCall(MatMult(A, x, y));
      else PetscCall(VecCopy(x, y));
    }
    PetscCall(PetscObjectStateIncrease((PetscObject)y));
    PetscCall(VecNorm(y, NORM_2, &norm));
    PetscCall(Now(&t[1]));
    *best = PetscMin(*best, (t[1] - t[0]) / 5);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Products(const Problem *p)
{
  const PetscReal one[3] = {1, 1, 1};
  PetscLogDouble  copy, product;
  PetscInt        size;
  DM              dm;
  Mat             A;
  Vec             x, y;

  PetscFunctionBeginUser;
  PetscCall(CreateBox(p, &dm));
  for (int fields = 1; fields >= 0; fields--) {
    if (!fields) PetscCall(DMBoxSetHeatFields(dm, NULL, 0, NULL));
    PetscCall(DMBoxSetHeat(dm, 1, one, 1 / p->dt));
    PetscCall(DMCreateMatrix(dm, &A));
    PetscCall(MatCreateVecs(A, &x, &y));
    PetscCall(VecSet(x, 1));
    PetscCall(VecSet(y, 1));
    PetscCall(VecGetSize(x, &size));
    PetscCall(TimeProduct(NULL, x, y, &copy));
    PetscCall(TimeProduct(A, x, y, &product));
    PetscCall(
      PetscPrintf(PETSC_COMM_WORLD,
                  "%-10s  product %8.3f ns a node, copy %8.3f ns, %4.1f words; a copy of as many words takes %5.2f of the product's time\n",
                  fields ? "fields" : "constants", 1e9 * product / (PetscReal)size, 1e9 * copy / (PetscReal)size, fields ? 4. : 2.,
                  (fields ? 2 : 1) * copy / product));
    PetscCall(MatDestroy(&A));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&y));
  }
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- the program ---- */

static PetscErrorCode Print(const Problem *p, const char name[], const Result *r, const Result *reference)
{
  const PetscLogDouble total = r->setup + (PetscReal)(p->steps - 1) * r->step,
                       t0    = reference->setup + (PetscReal)(p->steps - 1) * reference->step;

  PetscFunctionBeginUser;
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%-36s %8.3f s  %9.4f s  %6.1f  %8.3f s  %6.2f  %6.2f  %.8e\n", name, r->setup, r->step,
                        (double)r->its, total, r->step / reference->step, total / t0, (double)r->probe));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* is the solver in the list of -solvers, or is there no list? */
static PetscErrorCode Wanted(const char solver[], PetscBool *wanted)
{
  char     *name[6];
  PetscInt  n = 6;
  PetscBool list, same;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsGetStringArray(NULL, NULL, "-solvers", name, &n, &list));
  *wanted = (PetscBool)!list;
  for (PetscInt i = 0; i < n && list; i++) {
    PetscCall(PetscStrcmp(name[i], solver, &same));
    *wanted = (PetscBool)(*wanted || same);
    PetscCall(PetscFree(name[i]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const struct {
    DMBoxHeatSolver type;
    const char     *name;
  } solvers[] = {{DMBOX_HEAT_SOLVER_JACOBI, "DMBOX, Jacobi"},
                 {DMBOX_HEAT_SOLVER_MG, "DMBOX, multigrid in single precision"},
                 {DMBOX_HEAT_SOLVER_AUTO, "DMBOX, what the library chooses"}};
  static const struct {
    PCType      type;
    PetscBool   extrapolate;
    const char *option, *name;
  } assembled[]   = {{PCJACOBI, PETSC_FALSE, "aij_jacobi", "MATAIJ, Jacobi, last solution"},
                     {PCJACOBI, PETSC_TRUE, "aij_guess", "MATAIJ, Jacobi, extrapolation"},
                     {PCGAMG, PETSC_FALSE, "aij_gamg", "MATAIJ, GAMG, last solution"}};
  Problem       p = {.n = 100, .steps = 10, .dt = 1e-3, .rtol = 1e-8};
  Result        r[6];
  const Result *first = NULL;
  PetscBool     aij = PETSC_TRUE, products = PETSC_FALSE, wanted = PETSC_TRUE;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PatchFDInitializePackage());
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &p.n, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-steps", &p.steps, NULL));
  PetscCheck(p.steps > 1, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-steps is %" PetscInt_FMT "; it must be at least 2", p.steps);
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-dt", &p.dt, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-rtol", &p.rtol, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-aij", &aij, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-products", &products, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-cpu", &cpu, NULL));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT "^3 cubes, %g unknowns, dt k / (c h^2) = %g\n", p.n, pow((double)(p.n + 1), 3),
                        (double)(p.dt * (PetscReal)p.n * (PetscReal)p.n)));
  if (products) {
    PetscCall(Products(&p));
    PetscCall(PetscFinalize());
    return 0;
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%-36s %10s  %11s  %6s  %10s  %6s  %6s  %s\n", "", "first step", "a step", "its", "all", "step",
                        "all", "|u|"));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%-36s %10s  %11s  %6s  %10s  %14s\n", "", "", "", "a step", "", "over the first"));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(solvers); i++) {
    PetscCall(Wanted(DMBoxHeatSolvers[solvers[i].type], &wanted));
    if (!wanted) continue;
    PetscCall(MatrixFree(&p, solvers[i].type, &r[i]));
    if (!first) first = &r[i];
    PetscCall(Print(&p, solvers[i].name, &r[i], first));
  }
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(assembled) && aij; i++) {
    PetscCall(Wanted(assembled[i].option, &wanted));
    if (!wanted) continue;
    PetscCall(Assembled(&p, assembled[i].type, assembled[i].extrapolate, &r[3 + i]));
    if (!first) first = &r[3 + i];
    PetscCall(Print(&p, assembled[i].name, &r[3 + i], first));
  }
  PetscCall(PetscFinalize());
  return 0;
}
