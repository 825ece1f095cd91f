static char help[] = "The operator diffusion of a DMBOX: -div(K grad u) + s u by quadrature on mapped boxes.\n\
  -test action   : products, diagonals and assembled matrices against dense matrices of the cells, made here from the definition\n\
  -test poisson  : constants on the box as it is, times -scale, are the operator poisson\n\
  -test order    : L2 and H1 errors on two meshes\n\
  -test jump     : the same for a K that jumps along faces of cells\n\
  -test solve    : iterations\n\
  -test vecs     : coefficients as Vecs\n\
  -test update   : coefficients and coordinates that change\n\
  -test hierarchy: coordinates on finer and coarser meshes\n\
  -test errors   : bad input\n\
  -map <name>    : one of -dm_box_mapping, or function\n\
  -medium <name> : constant, scalar, tensor, or high\n\
  -single        : VECSINGLE in test action\n\n";

#include "catch.h"
#include "diffusionproblem.h"

static PetscErrorCode TestAction(Problem *p)
{
  DM         dm;
  DM_Box    *box;
  Mat        A, B;
  Vec        x, y;
  PetscReal *nx, *ny, *nd, error, tolerance;
  PetscInt   N, geo;
  PetscBool  single, linear;

  PetscFunctionBeginUser;
  PetscCall(CreateDM(3, 3, 2, p, &dm));
  box = (DM_Box *)dm->data;
  PetscCall(DMCreateMatrix(dm, &A));
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecGetSize(x, &N));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)x, &single, VECSINGLE, VECSINGLECUDA, ""));
  linear    = (PetscBool)(box->mapdegree == 1);
  geo       = linear ? 1 : box->degree;
  tolerance = single ? 3e-6 : 1e-12;
  PetscCall(PetscMalloc3(N, &nx, N, &ny, N, &nd));
  for (PetscInt i = 0; i < N; i++) nx[i] = Number(i);
  PetscCall(Reference(dm, p, Map, NULL, geo, nx, ny, nd));
  PetscCall(Natural(dm, x, nx, NULL));
  PetscCall(MatMult(A, x, y));
  PetscCall(Natural(dm, y, ny, &error));
  PetscCall(Say("product", error, tolerance));
  PetscCall(MatGetDiagonal(A, y));
  PetscCall(Natural(dm, y, nd, &error));
  PetscCall(Say("diagonal", error, tolerance));
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &B));
  PetscCall(MatScale(B, 3));
  PetscCall(MatAXPY(B, -2, A, SAME_NONZERO_PATTERN));
  PetscCall(MatMult(B, x, y));
  PetscCall(Natural(dm, y, ny, &error));
  PetscCall(Say("scaled and added", error, 10 * tolerance));
  PetscCall(MatDestroy(&B));
  if (!single) {
    PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &B));
    PetscCall(MatMult(B, x, y));
    PetscCall(Natural(dm, y, ny, &error));
    PetscCall(Say("assembled", error, tolerance));
    PetscCall(MatDestroy(&B));
  }
  PetscCall(PetscFree3(nx, ny, nd));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- solutions ---- */

static PetscErrorCode RightHandSide(DM dm, Problem *p, DMBoxFunctionFn *solution, DMBoxFunctionFn *load, DMBoxFunctionFn *flux, Vec b)
{
  Vec g;

  PetscFunctionBeginUser;
  PetscCall(VecDuplicate(b, &g));
  PetscCall(DMBoxAddLoad(dm, 0, load, p, b));
  PetscCall(DMBoxAddNeumannLoad(dm, 0, flux, p, b));
  PetscCall(DMBoxInterpolateFunction(dm, 0, solution, p, g));
  PetscCall(DMBoxLiftDirichlet(dm, g, b));
  PetscCall(VecDestroy(&g));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* CG with the diagonal unless options say otherwise */
static PetscErrorCode Solve(DM dm, Vec b, PetscReal rtol, KSPType type, PCType pctype, Vec u, PetscInt *its)
{
  KSP                ksp;
  PC                 pc;
  KSPConvergedReason reason;

  PetscFunctionBeginUser;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetDM(ksp, dm));
  PetscCall(KSPSetType(ksp, type));
  PetscCall(KSPSetTolerances(ksp, rtol, 1e-50, PETSC_CURRENT, 5000));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, pctype));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSolve(ksp, b, u));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPGetIterationNumber(ksp, its));
  if (reason < 0) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "NOT converged: %s\n", KSPConvergedReasons[reason]));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestOrder(Problem *p)
{
  PetscReal l2[2], h1[2];
  PetscInt  cells = 4, degree = 2, dim = 2, its;
  char      map[64] = "", what[128];

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-cells", &cells, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-dim", &dim, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-dm_box_robin", &p->robin, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-dm_box_mapping", map, sizeof(map), NULL));
  p->annulus = (PetscBool)!strcmp(map, "annulus");
  for (PetscInt level = 0; level < 2; level++) {
    DM  dm;
    Vec b, u;

    PetscCall(CreateDM(dim, cells << level, degree, p, &dm));
    PetscCall(DMBoxGetDegree(dm, &degree));
    PetscCall(DMCreateGlobalVector(dm, &b));
    PetscCall(VecDuplicate(b, &u));
    PetscCall(RightHandSide(dm, p, Solution, Load, Flux, b));
    PetscCall(Solve(dm, b, 1e-12, KSPCG, PCJACOBI, u, &its));
    PetscCall(DMBoxComputeError(dm, 0, Solution, NULL, u, &l2[level], NULL));
    PetscCall(DMBoxComputeGradientError(dm, 0, Gradient, NULL, u, &h1[level]));
    PetscCall(VecDestroy(&b));
    PetscCall(VecDestroy(&u));
    PetscCall(DMDestroy(&dm));
  }
  PetscCall(PetscInfo(NULL, "errors %g %g, %g %g\n", (double)l2[0], (double)l2[1], (double)h1[0], (double)h1[1]));
  PetscCall(PetscSNPrintf(what, sizeof(what), "degree %" PetscInt_FMT ", L2 error of order %" PetscInt_FMT, degree, degree + 1));
  PetscCall(Say(what, (PetscReal)(degree + 1) - PetscLog2Real(l2[0] / l2[1]), 0.25));
  PetscCall(PetscSNPrintf(what, sizeof(what), "degree %" PetscInt_FMT ", H1 error of order %" PetscInt_FMT, degree, degree));
  PetscCall(Say(what, (PetscReal)degree - PetscLog2Real(h1[0] / h1[1]), 0.25));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- a jump ---- */

/* K is 1 below x = 1/2 and `contrast` above; u = a((x - 1/2) / K) b(y) c(z) has a continuous flux */
static PetscReal JumpK(const Problem *p, const PetscReal x[])
{
  return x[0] < 0.5 ? 1 : p->contrast;
}

static void JumpPoint(const Problem *p, const PetscReal x[], PetscReal y[])
{
  y[0] = (x[0] - 0.5) / JumpK(p, x);
  y[1] = x[1];
  y[2] = p->dim == 3 ? x[2] : 0;
}

static PetscErrorCode JumpConductivity(PETSC_UNUSED PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[],
                                       PETSC_UNUSED PetscInt Nc, PetscScalar K[], void *ctx)
{
  PetscFunctionBeginUser;
  K[0] = JumpK((Problem *)ctx, x);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode JumpSolution(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PETSC_UNUSED PetscInt Nc,
                                   PetscScalar u[], void *ctx)
{
  const PetscInt value[3] = {0, 0, 0};
  PetscReal      y[3];

  PetscFunctionBeginUser;
  JumpPoint((Problem *)ctx, x, y);
  u[0] = Product(dim, y, value);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode JumpLoad(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PETSC_UNUSED PetscInt Nc, PetscScalar f[],
                               void *ctx)
{
  const PetscReal K = JumpK((Problem *)ctx, x);
  PetscReal       y[3];

  PetscFunctionBeginUser;
  JumpPoint((Problem *)ctx, x, y);
  f[0] = 0;
  for (PetscInt d = 0; d < dim; d++) {
    const PetscInt second[3] = {2 * (d == 0), 2 * (d == 1), 2 * (d == 2)};

    f[0] -= (d == 0 ? 1 / K : K) * Product(dim, y, second);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* on sides y, z = 0, 1 */
static PetscErrorCode JumpFlux(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PETSC_UNUSED PetscInt Nc, PetscScalar flux[],
                               void *ctx)
{
  PetscReal y[3];

  PetscFunctionBeginUser;
  JumpPoint((Problem *)ctx, x, y);
  flux[0] = 0;
  for (PetscInt d = 1; d < dim; d++) {
    const PetscInt  first[3] = {0, d == 1, d == 2};
    const PetscReal n        = PetscAbsReal(x[d]) < 1e-10 ? -1 : (PetscAbsReal(x[d] - 1) < 1e-10 ? 1 : 0);

    flux[0] += n * JumpK((Problem *)ctx, x) * Product(dim, y, first);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestJump(Problem *p)
{
  PetscReal l2[2];
  PetscInt  degree = 2, dim = 2, its;
  char      what[128];

  PetscFunctionBeginUser;
  p->medium   = "constant";
  p->contrast = 1000;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-dim", &dim, NULL));
  for (PetscInt level = 0; level < 2; level++) {
    DM  dm;
    Vec b, u;

    PetscCall(CreateDM(dim, 6 << level, degree, p, &dm));
    PetscCall(DMBoxGetDegree(dm, &degree));
    PetscCall(DMBoxSetDiffusionFunction(dm, 1, JumpConductivity, NULL, p));
    PetscCall(DMCreateGlobalVector(dm, &b));
    PetscCall(VecDuplicate(b, &u));
    PetscCall(RightHandSide(dm, p, JumpSolution, JumpLoad, JumpFlux, b));
    PetscCall(Solve(dm, b, 1e-12, KSPCG, PCJACOBI, u, &its));
    PetscCall(DMBoxComputeError(dm, 0, JumpSolution, p, u, &l2[level], NULL));
    PetscCall(VecDestroy(&b));
    PetscCall(VecDestroy(&u));
    PetscCall(DMDestroy(&dm));
  }
  PetscCall(PetscSNPrintf(what, sizeof(what), "jump, degree %" PetscInt_FMT ", L2 error of order %" PetscInt_FMT, degree, degree + 1));
  PetscCall(Say(what, (PetscReal)(degree + 1) - PetscLog2Real(l2[0] / l2[1]), 0.3));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- multigrid ---- */

/* f = 1, or the load of a solution; iterations and a sum over the solution */
static PetscErrorCode One(PETSC_UNUSED PetscInt dim, PETSC_UNUSED PetscReal time, PETSC_UNUSED const PetscReal x[],
                          PETSC_UNUSED PetscInt Nc, PetscScalar u[], PETSC_UNUSED void *ctx)
{
  PetscFunctionBeginUser;
  u[0] = 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestSolve(Problem *p)
{
  DM        dm;
  Vec       b, u;
  PetscReal norm;
  PetscInt  its;

  PetscFunctionBeginUser;
  PetscCall(CreateDM(2, 8, 3, p, &dm));
  PetscCall(DMCreateGlobalVector(dm, &b));
  PetscCall(VecDuplicate(b, &u));
  PetscCall(DMBoxAddLoad(dm, 0, One, NULL, b));
  PetscCall(Solve(dm, b, 1e-9, KSPFGMRES, PCPATCHMG, u, &its));
  PetscCall(DMBoxComputeError(dm, 0, One, NULL, u, &norm, NULL));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "iterations %" PetscInt_FMT ", |u - 1| = %.6f\n", its, (double)norm));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&u));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- poisson ---- */

static PetscErrorCode TestPoisson(Problem *p)
{
  const PetscInt cells[3] = {3, 4, 2};
  PetscReal      D[3] = {1, 2.5, 0.5}, scale = 1, largest, error;
  DM             dm[2];
  Mat            A[2];
  Vec            x, y[2];

  PetscFunctionBeginUser;
  (void)p;
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-scale", &scale, NULL));
  for (int d = 0; d < 3; d++) D[d] *= scale;
  for (int i = 0; i < 2; i++) {
    PetscCall(DMBoxCreate(PETSC_COMM_WORLD, 3, cells, 3, &dm[i]));
    if (i) PetscCall(DMBoxSetOperator(dm[i], "diffusion"));
    PetscCall(DMSetFromOptions(dm[i]));
    if (i) PetscCall(DMBoxSetDiffusion(dm[i], dm[i]->dim, D, 0.75 * scale));
    else PetscCall(DMBoxSetPoisson(dm[i], D, 0.75 * scale));
    PetscCall(DMSetUp(dm[i]));
    PetscCall(DMCreateMatrix(dm[i], &A[i]));
    PetscCall(DMCreateGlobalVector(dm[i], &y[i]));
  }
  PetscCall(VecDuplicate(y[0], &x));
  PetscCall(DMBoxInterpolateFunction(dm[0], 0, Solution, NULL, x));
  for (int i = 0; i < 2; i++) PetscCall(MatMult(A[i], x, y[i]));
  PetscCall(VecNorm(y[0], NORM_INFINITY, &largest));
  PetscCall(VecAXPY(y[0], -1, y[1]));
  PetscCall(VecNorm(y[0], NORM_INFINITY, &error));
  PetscCall(Say("product", error / largest, 1e-12));
  for (int i = 0; i < 2; i++) PetscCall(MatGetDiagonal(A[i], y[i]));
  PetscCall(VecAXPY(y[0], -1, y[1]));
  PetscCall(VecNorm(y[0], NORM_INFINITY, &error));
  PetscCall(Say("diagonal", error / largest, 1e-12));
  for (int i = 0; i < 2; i++) {
    PetscCall(VecSet(y[i], 0));
    PetscCall(DMBoxLiftDirichlet(dm[i], x, y[i]));
  }
  PetscCall(VecAXPY(y[0], -1, y[1]));
  PetscCall(VecNorm(y[0], NORM_INFINITY, &error));
  PetscCall(Say("lift", error / largest, 1e-12));
  PetscCall(VecDestroy(&x));
  for (int i = 0; i < 2; i++) {
    PetscCall(VecDestroy(&y[i]));
    PetscCall(MatDestroy(&A[i]));
    PetscCall(DMDestroy(&dm[i]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- changes, hierarchies ---- */

/* polynomials of degree 2 in each coordinate */
static PetscErrorCode Quadratic(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PETSC_UNUSED PetscInt Nc, PetscScalar y[],
                                PETSC_UNUSED void *ctx)
{
  PetscFunctionBeginUser;
  y[0] = 2 * x[0] + 0.3 * x[1] * x[1];
  y[1] = x[1] + 0.2 * x[0] * x[1] * x[0];
  if (dim == 3) y[2] = 1.5 * x[2] + 0.2 * x[0] * x[1] - 0.1 * x[1] * x[2] * x[2];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CoordinateDifference(DM a, DM b, PetscReal tolerance, const char what[])
{
  Vec       x, y, d;
  PetscReal error;

  PetscFunctionBeginUser;
  PetscCall(DMGetCoordinates(a, &x));
  PetscCall(DMGetCoordinates(b, &y));
  PetscCall(VecDuplicate(x, &d));
  PetscCall(VecCopy(x, d));
  PetscCall(VecAXPY(d, -1, y));
  PetscCall(VecNorm(d, NORM_INFINITY, &error));
  PetscCall(Say(what, error, tolerance));
  PetscCall(VecDestroy(&d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* a shell that closes around the third direction */
static PetscErrorCode Shell(PETSC_UNUSED PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PETSC_UNUSED PetscInt Nc,
                            PetscScalar y[], PETSC_UNUSED void *ctx)
{
  const PetscReal turn = 2 * PETSC_PI * x[2], r = 1 + x[0];

  PetscFunctionBeginUser;
  y[0] = r * PetscCosReal(turn);
  y[1] = x[1] + 0.1 * x[0] * x[0];
  y[2] = r * PetscSinReal(turn);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the whole box as one patch, which every rank solves */
static PetscErrorCode TestWhole(DM dm)
{
  PetscReal norm[2];
  PC        pc;
  Mat       A;
  Vec       x, b, u;

  PetscFunctionBeginUser;
  PetscCall(DMCreateMatrix(dm, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(x, &u));
  PetscCall(DMBoxInterpolateFunction(dm, 0, Solution, NULL, u));
  PetscCall(MatMult(A, u, b));
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(PCSetType(pc, PCPATCHFD));
  PetscCall(PCPatchFDSetPatch(pc, PC_PATCHFD_PATCH_BOX));
  PetscCall(PCApply(pc, b, x));
  PetscCall(VecNorm(u, NORM_2, &norm[0]));
  PetscCall(VecAXPY(x, -1, u));
  PetscCall(VecNorm(x, NORM_2, &norm[1]));
  PetscCall(Say("the whole box", norm[1] / norm[0], 1e-9));
  PetscCall(PCDestroy(&pc));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&u));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestHierarchy(PETSC_UNUSED Problem *p)
{
  const PetscInt cells[3] = {8, 4, 4};
  PetscBool      ring     = PETSC_FALSE;
  PetscReal      finer;
  DM             dm[2], fine[2], coarse[2], coarser[2], clone[2];
  Vec            x;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-ring", &ring, NULL));
  finer = ring ? 0.1 : 1e-12; /* the images of cells are polynomials of degree 2 */
  for (int i = 0; i < 2; i++) {
    PetscCall(DMBoxCreate(PETSC_COMM_WORLD, 3, cells, 2, &dm[i]));
    PetscCall(DMBoxSetOperator(dm[i], "diffusion"));
    PetscCall(DMSetFromOptions(dm[i]));
    if (i == 0) PetscCall(DMBoxSetMapping(dm[i], ring ? Shell : Quadratic, NULL));
    PetscCall(DMSetUp(dm[i]));
  }
  PetscCall(DMGetCoordinates(dm[0], &x));
  PetscCall(DMBoxSetMappingCoordinates(dm[1], x));
  for (int i = 0; i < 2; i++) {
    PetscCall(DMClone(dm[i], &clone[i]));
    PetscCall(DMRefine(dm[i], MPI_COMM_NULL, &fine[i]));
    PetscCall(DMCoarsen(dm[i], MPI_COMM_NULL, &coarse[i]));
    PetscCall(DMCoarsen(fine[i], MPI_COMM_NULL, &coarser[i]));
  }
  PetscCall(CoordinateDifference(dm[0], dm[1], 1e-12, "coordinates"));
  PetscCall(CoordinateDifference(clone[0], clone[1], 1e-12, "those of clones"));
  PetscCall(CoordinateDifference(fine[0], fine[1], finer, "those of finer meshes"));
  PetscCall(CoordinateDifference(coarse[0], coarse[1], 1e-12, "those of coarser meshes"));
  PetscCall(CoordinateDifference(coarser[0], coarser[1], finer, "there and back"));
  for (int i = 0; i < 2; i++) {
    PetscCall(TestWhole(dm[i]));
    PetscCall(DMDestroy(&clone[i]));
    PetscCall(DMDestroy(&fine[i]));
    PetscCall(DMDestroy(&coarse[i]));
    PetscCall(DMDestroy(&coarser[i]));
    PetscCall(DMDestroy(&dm[i]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A u on the coarser mesh */
static PetscErrorCode CoarseProduct(DM dm, Vec *y)
{
  DM  coarse;
  Mat A;
  Vec u;

  PetscFunctionBeginUser;
  PetscCall(DMCoarsen(dm, MPI_COMM_NULL, &coarse));
  PetscCall(DMCreateMatrix(coarse, &A));
  PetscCall(MatCreateVecs(A, &u, y));
  PetscCall(DMBoxInterpolateFunction(coarse, 0, Solution, NULL, u));
  PetscCall(MatMult(A, u, *y));
  PetscCall(VecDestroy(&u));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&coarse));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* coefficients as Vecs, for points and for cells, against functions */
static PetscErrorCode TestVecs(Problem *p)
{
  DM                 dm;
  DM_Box            *box;
  Mat                A;
  Vec                K, s, x, u, y[2], coarse[2];
  PetscScalar       *aK, *as;
  const PetscScalar *ax;
  PetscReal          error, norm;
  PetscInt           n, size, its;

  PetscFunctionBeginUser;
  PetscCall(CreateDM(3, 4, 2, p, &dm));
  box = (DM_Box *)dm->data;
  n   = !strcmp(p->medium, "tensor") ? dm->dim * (dm->dim + 1) / 2 : 1;
  PetscCall(DMCreateMatrix(dm, &A));
  PetscCall(MatCreateVecs(A, &u, &y[0]));
  PetscCall(VecDuplicate(u, &y[1]));
  PetscCall(DMBoxInterpolateFunction(dm, 0, Solution, NULL, u));
  PetscCall(MatMult(A, u, y[0]));
  PetscCall(CoarseProduct(dm, &coarse[0]));
  PetscCall(DMBoxCreateDiffusionVec(dm, PETSC_TRUE, dm->dim, &x));
  PetscCall(DMBoxCreateDiffusionVec(dm, PETSC_TRUE, n, &K));
  PetscCall(DMBoxCreateDiffusionVec(dm, PETSC_TRUE, 1, &s));
  PetscCall(DMBoxComputeDiffusionPoints(dm, x));
  PetscCall(VecGetLocalSize(s, &size));
  PetscCall(VecGetArrayRead(x, &ax));
  PetscCall(VecGetArrayWrite(K, &aK));
  PetscCall(VecGetArrayWrite(s, &as));
  for (PetscInt i = 0; i < size; i++) {
    PetscCall(Conductivity(dm->dim, 0, &ax[dm->dim * i], n, &aK[n * i], p));
    PetscCall(ShiftFunction(dm->dim, 0, &ax[dm->dim * i], 1, &as[i], p));
  }
  PetscCall(VecRestoreArrayWrite(s, &as));
  PetscCall(VecRestoreArrayWrite(K, &aK));
  PetscCall(VecRestoreArrayRead(x, &ax));
  PetscCall(DMBoxSetDiffusionVec(dm, n, K, s));
  PetscCall(MatBoxUpdate(A));
  PetscCall(MatMult(A, u, y[1]));
  PetscCall(VecNorm(y[0], NORM_INFINITY, &norm));
  PetscCall(VecAXPY(y[1], -1, y[0]));
  PetscCall(VecNorm(y[1], NORM_INFINITY, &error));
  PetscCall(Say("numbers of points", error / norm, 1e-12));
  PetscCall(CoarseProduct(dm, &coarse[1]));
  PetscCall(VecNorm(coarse[0], NORM_2, &norm));
  PetscCall(VecAXPY(coarse[1], -1, coarse[0]));
  PetscCall(VecNorm(coarse[1], NORM_2, &error));
  PetscCall(Say("on a coarser mesh", error / norm, 0.02));
  for (int i = 0; i < 2; i++) PetscCall(VecDestroy(&coarse[i]));
  PetscCall(Solve(dm, y[0], 1e-9, KSPFGMRES, PCPATCHMG, y[1], &its));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "iterations %" PetscInt_FMT "\n", its));
  PetscCall(VecDestroy(&K));
  PetscCall(DMBoxCreateDiffusionVec(dm, PETSC_FALSE, 1, &K));
  PetscCall(VecGetArrayWrite(K, &aK));
  size = 0;
  for (PetscInt k = box->owncells[2][0]; k < box->owncells[2][1]; k++)
    for (PetscInt j = box->owncells[1][0]; j < box->owncells[1][1]; j++)
      for (PetscInt i = box->owncells[0][0]; i < box->owncells[0][1]; i++) aK[size++] = (i + j + k) % 2 ? 10 : 1;
  PetscCall(VecRestoreArrayWrite(K, &aK));
  PetscCall(DMBoxSetDiffusionVec(dm, 1, K, NULL));
  PetscCall(Solve(dm, y[0], 1e-9, KSPFGMRES, PCPATCHMG, y[1], &its));
  PetscCall(VecNorm(y[1], NORM_2, &norm));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "numbers of cells: iterations %" PetscInt_FMT ", |u| = %.8g\n", its, (double)norm));
  PetscCall(VecDestroy(&K));
  PetscCall(VecDestroy(&s));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&u));
  for (int i = 0; i < 2; i++) PetscCall(VecDestroy(&y[i]));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* other functions, constants, and coordinates: the box, or what the map made of it, is stretched */
static PetscErrorCode Change(DM dm, int i, Problem *p)
{
  const PetscReal K[2] = {3, 0.5};
  Vec             x, y;

  PetscFunctionBeginUser;
  p->medium = i == 0 ? "scalar" : "constant";
  if (i == 0) PetscCall(DMBoxSetDiffusionFunction(dm, 1, Conductivity, ShiftFunction, p));
  else if (i == 1) PetscCall(DMBoxSetDiffusion(dm, 2, K, 0.25));
  else {
    PetscCall(DMGetCoordinates(dm, &x));
    PetscCall(VecDuplicate(x, &y));
    PetscCall(VecCopy(x, y));
    PetscCall(VecScale(y, 1.5));
    PetscCall(DMBoxSetMappingCoordinates(dm, y));
    PetscCall(VecDestroy(&y));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Compare(const char what[], Vec u, Vec v)
{
  PetscReal error, norm;

  PetscFunctionBeginUser;
  PetscCall(VecNorm(v, NORM_INFINITY, &norm));
  PetscCall(VecAXPY(u, -1, v));
  PetscCall(VecNorm(u, NORM_INFINITY, &error));
  PetscCall(Say(what, error / norm, 1e-7));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* a KSP and a SNES, whose problems change, against new solvers; each has a DM of its own, as PETSc wants it */
static PetscErrorCode TestUpdate(Problem *p)
{
  const char *what[] = {"functions", "constants", "coordinates"};
  DM          dm[2], other;
  KSP         ksp[2];
  SNES        snes;
  Mat         A, P;
  Vec         b, u, v;
  PetscInt    its;

  PetscFunctionBeginUser;
  p->medium = "constant";
  for (int i = 0; i < 2; i++) PetscCall(CreateDM(2, 8, 2, p, &dm[i]));
  PetscCall(DMCreateGlobalVector(dm[0], &b));
  PetscCall(VecDuplicate(b, &u));
  PetscCall(VecDuplicate(b, &v));
  PetscCall(DMBoxAddLoad(dm[0], 0, One, NULL, b));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp[0]));
  PetscCall(KSPSetDM(ksp[0], dm[0]));
  PetscCall(SNESCreate(PETSC_COMM_WORLD, &snes));
  PetscCall(SNESSetDM(snes, dm[1]));
  PetscCall(SNESSetTolerances(snes, PETSC_CURRENT, 1e-11, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
  PetscCall(SNESGetKSP(snes, &ksp[1]));
  for (int i = 0; i < 2; i++) {
    PC pc;

    PetscCall(KSPSetType(ksp[i], KSPFGMRES));
    PetscCall(KSPSetTolerances(ksp[i], 1e-11, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
    PetscCall(KSPGetPC(ksp[i], &pc));
    PetscCall(PCSetType(pc, PCPATCHMG));
  }
  PetscCall(KSPSetFromOptions(ksp[0]));
  PetscCall(SNESSetFromOptions(snes));
  PetscCall(KSPSolve(ksp[0], b, u));
  for (int i = 0; i < 3; i++) {
    for (int j = 0; j < 2; j++) PetscCall(Change(dm[j], i, p));
    PetscCall(DMClone(dm[0], &other));
    PetscCall(Solve(other, b, 1e-11, KSPFGMRES, PCPATCHMG, v, &its));
    PetscCall(KSPGetOperators(ksp[0], &A, &P));
    PetscCall(KSPSetOperators(ksp[0], A, P));
    PetscCall(KSPSolve(ksp[0], b, u));
    PetscCall(Compare(what[i], u, v));
    PetscCall(VecSet(u, 0));
    PetscCall(SNESSolve(snes, b, u));
    PetscCall(Compare("SNES", u, v));
    PetscCall(DMDestroy(&other));
  }
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&u));
  PetscCall(VecDestroy(&v));
  PetscCall(KSPDestroy(&ksp[0]));
  PetscCall(SNESDestroy(&snes));
  for (int i = 0; i < 2; i++) PetscCall(DMDestroy(&dm[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- bad input ---- */

static PetscErrorCode Folded(PETSC_UNUSED PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PETSC_UNUSED PetscInt Nc,
                             PetscScalar y[], PETSC_UNUSED void *ctx)
{
  PetscFunctionBeginUser;
  y[0] = x[0] < 0.7 ? x[0] : 1.4 - x[0];
  y[1] = x[1];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* not positive, or negative, in the last cell of the first row */
static PetscErrorCode Bad(PETSC_UNUSED PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PetscInt Nc, PetscScalar u[],
                          void *ctx)
{
  const PetscReal value = x[0] > 0.75 && x[1] < 0.25 ? *(PetscReal *)ctx : 1;

  PetscFunctionBeginUser;
  u[0] = value;
  if (Nc == 3) { /* [1 value; value 1] */
    u[0] = u[2] = 1;
    u[1]        = x[0] > 0.75 && x[1] < 0.25 ? *(PetscReal *)ctx : 0;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Expect(PetscErrorCode ierr, const char what[])
{
  PetscFunctionBeginUser;
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %s\n", what, ierr ? lastmessage : "NO error"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BadMatrix(const char what[], PetscInt n, PetscBool shift, PetscReal value)
{
  const PetscInt cells[2] = {4, 4};
  DM             dm;
  Mat            A;
  PetscErrorCode ierr;

  PetscFunctionBeginUser;
  PetscCall(DMBoxCreate(PETSC_COMM_WORLD, 2, cells, 2, &dm));
  PetscCall(DMBoxSetOperator(dm, "diffusion"));
  PetscCall(DMBoxSetDiffusionFunction(dm, n, shift ? NULL : Bad, shift ? Bad : NULL, &value));
  PetscCall(DMSetUp(dm));
  CATCH(ierr, DMCreateMatrix(dm, &A));
  PetscCall(Expect(ierr, what));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BadDM(const char what[], const char operator[], PetscInt dim, DMBoxFunctionFn *map, DMBoxMappingType type,
                            PetscReal parameter)
{
  const PetscInt cells[3] = {4, 4, 4};
  DM             dm;
  PetscErrorCode ierr;

  PetscFunctionBeginUser;
  PetscCall(DMBoxCreate(PETSC_COMM_WORLD, dim, cells, 2, &dm));
  PetscCall(DMBoxSetOperator(dm, operator));
  if (type != DMBOX_MAPPING_NONE) {
    CATCH(ierr, DMBoxSetMappingType(dm, type, parameter));
    if (ierr) {
      PetscCall(Expect(ierr, what));
      PetscFunctionReturn(PETSC_SUCCESS);
    }
  }
  if (map) PetscCall(DMBoxSetMapping(dm, map, NULL));
  CATCH(ierr, DMSetUp(dm));
  PetscCall(Expect(ierr, what));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BadSmoother(PCPatchFDLocal local, PCPatchFDVariant variant)
{
  const PetscInt cells[2] = {4, 4};
  DM             dm;
  Mat            A;
  PC             pc;
  PetscErrorCode ierr;

  PetscFunctionBeginUser;
  PetscCall(DMBoxCreate(PETSC_COMM_WORLD, 2, cells, 2, &dm));
  PetscCall(DMBoxSetOperator(dm, "diffusion"));
  PetscCall(DMCreateMatrix(dm, &A));
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetType(pc, PCPATCHFD));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(PCPatchFDSetLocal(pc, local));
  PetscCall(PCPatchFDSetVariant(pc, variant));
  CATCH(ierr, PCSetUp(pc));
  PetscCall(Expect(ierr, "wrong smoother"));
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestErrors(Problem *p)
{
  const PetscReal K[4]     = {1, 1, 1, 1};
  const PetscInt  cells[2] = {4, 4};
  DM              dm;
  PetscErrorCode  ierr;

  PetscFunctionBeginUser;
  (void)p;
  PetscCall(BadDM("folded map", "diffusion", 2, Folded, DMBOX_MAPPING_NONE, 0));
  PetscCall(BadDM("folded sine", "diffusion", 2, NULL, DMBOX_MAPPING_SINE2, 0.3));
  PetscCall(BadDM("annulus without a hole", "diffusion", 2, NULL, DMBOX_MAPPING_ANNULUS, 0));
  PetscCall(BadDM("wrong operator", "poisson", 2, Folded, DMBOX_MAPPING_NONE, 0));
  PetscCall(BadDM("one dimension", "diffusion", 1, NULL, DMBOX_MAPPING_NONE, 0));
  PetscCall(BadMatrix("K negative", 1, PETSC_FALSE, -1));
  PetscCall(BadMatrix("K zero", 1, PETSC_FALSE, 0));
  PetscCall(BadMatrix("K not a number", 1, PETSC_FALSE, NAN));
  PetscCall(BadMatrix("K indefinite", 3, PETSC_FALSE, 1.5));
  PetscCall(BadMatrix("s negative", 1, PETSC_TRUE, -0.1));
  PetscCall(DMBoxCreate(PETSC_COMM_WORLD, 2, cells, 2, &dm));
  PetscCall(DMBoxSetOperator(dm, "diffusion"));
  CATCH(ierr, DMBoxSetDiffusion(dm, 4, K, 0));
  PetscCall(Expect(ierr, "wrong count"));
  CATCH(ierr, DMBoxSetMappingDegree(dm, 3));
  PetscCall(Expect(ierr, "wrong degree"));
  CATCH(ierr, DMBoxSetExtraPoints(dm, 1, 3));
  PetscCall(Expect(ierr, "wrong points"));
  PetscCall(DMSetOptionsPrefix(dm, "bad_"));
  PetscCall(PetscOptionsSetValue(NULL, "-bad_dm_box_mapping_parameter", "0.2"));
  CATCH(ierr, DMSetFromOptions(dm));
  PetscCall(Expect(ierr, "a parameter without a map"));
  PetscCall(BadSmoother(PC_PATCHFD_LOCAL_SCHUR, PC_PATCHFD_VARIANT_AUTO));
  PetscCall(BadSmoother(PC_PATCHFD_LOCAL_AUTO, PC_PATCHFD_VARIANT_FUSED));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Problem p        = {.medium = "scalar", .contrast = 100};
  char    test[32] = "action", medium[32] = "";
  size_t  i = 0;
  const struct {
    const char *name;
    PetscErrorCode (*run)(Problem *);
  } tests[] = {{"action", TestAction}, {"poisson", TestPoisson}, {"order", TestOrder},         {"jump", TestJump},    {"solve", TestSolve},
               {"vecs", TestVecs},     {"update", TestUpdate},   {"hierarchy", TestHierarchy}, {"errors", TestErrors}};

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PatchFDInitializePackage());
  PetscCall(PetscOptionsGetString(NULL, NULL, "-test", test, sizeof(test), NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-medium", medium, sizeof(medium), NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-contrast", &p.contrast, NULL));
  if (medium[0]) p.medium = medium;
  while (i < PETSC_STATIC_ARRAY_LENGTH(tests) && strcmp(test, tests[i].name)) i++;
  PetscCheck(i < PETSC_STATIC_ARRAY_LENGTH(tests), PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-test %s does not exist", test);
  PetscCall((*tests[i].run)(&p));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    nsize: {{1 4}}
    args: -test action -map function
    output_file: output/diffusion_action.out
    test:
      suffix: action
    test:
      suffix: action_tensor
      args: -medium tensor -dm_box_boundary neumann,dirichlet,neumann,neumann,dirichlet,neumann -dm_box_cells 2,3,4
    test:
      suffix: action_linear
      args: -medium constant -dm_box_mapping_degree 1 -dm_box_degree 3 -dm_box_cells 2
    test:
      suffix: action_2d
      args: -medium tensor -dm_box_dim 2 -dm_box_degree {{1 4 9}}
  testset:
    nsize: {{1 3}}
    args: -test action -map function -medium tensor -dm_box_boundary neumann,dirichlet,neumann,neumann,dirichlet,neumann
    output_file: output/diffusion_action.out
    test:
      suffix: action_robin
      args: -dm_box_cells 2,3,4 -dm_box_robin 0.7,0,2,3,0,1.5
    test:
      suffix: action_robin_2d
      args: -dm_box_dim 2 -dm_box_degree {{1 4}} -dm_box_robin 2,2,0.5,0 -dm_box_boundary neumann
  testset:
    args: -test action -map function -medium tensor -dm_vec_type single
    output_file: output/diffusion_single.out
    test:
      suffix: action_single
    test:
      suffix: action_single_2d
      nsize: 2
      args: -dm_box_dim 2 -dm_box_degree 5
    test:
      suffix: action_single_robin
      nsize: 2
      args: -dm_box_boundary neumann -dm_box_robin 2

  testset:
    args: -test poisson
    output_file: output/diffusion_poisson.out
    test:
      suffix: poisson
      nsize: {{1 3}}
    test:
      suffix: poisson_tiny
      args: -scale 1e-120
    test:
      suffix: poisson_2d
      args: -dm_box_dim 2 -dm_box_boundary neumann -dm_box_degree 6
    test:
      suffix: poisson_robin
      nsize: {{1 3}}
      args: -dm_box_boundary neumann -dm_box_robin 1,2,0,4,5,6

  testset:
    args: -test order
    test:
      suffix: order_2
      output_file: output/diffusion_order_2.out
      args: -dm_box_degree 2 -dm_box_mapping {{sine sine1 annulus}} -medium tensor -cells 8 -dm_box_boundary neumann,dirichlet,neumann,dirichlet
    test:
      suffix: order_2_robin
      output_file: output/diffusion_order_2.out
      args: -dm_box_degree 2 -dm_box_mapping {{sine sine1 annulus}} -medium tensor -cells 8 -dm_box_boundary neumann,dirichlet,neumann,neumann -dm_box_robin 3
    test:
      suffix: order_3d_robin
      nsize: 2
      output_file: output/diffusion_order_2.out
      args: -dm_box_degree 2 -dim 3 -dm_box_mapping sine -medium tensor -dm_box_boundary neumann -dm_box_robin 3
    test:
      suffix: order_3
      output_file: output/diffusion_order_3.out
      args: -dm_box_degree 3 -dm_box_mapping {{sine sine2 annulus}} -cells 8
    test:
      suffix: order_kershaw
      output_file: output/diffusion_order_2.out
      args: -dm_box_degree 2 -dm_box_mapping kershaw -cells 12 -medium tensor
    test:
      suffix: order_3d
      nsize: 2
      output_file: output/diffusion_order_2.out
      args: -dm_box_degree 2 -dim 3 -dm_box_mapping sine -medium tensor -dm_box_boundary neumann,dirichlet,neumann,dirichlet,dirichlet,neumann
    test:
      suffix: order_3d_annulus
      nsize: 2
      output_file: output/diffusion_order_2.out
      args: -dm_box_degree 2 -dim 3 -dm_box_mapping annulus -dm_box_boundary neumann,dirichlet,neumann,dirichlet,dirichlet,neumann

  testset:
    args: -test jump
    output_file: output/diffusion_jump.out
    test:
      suffix: jump
      args: -dm_box_mapping {{none kershaw}}
    test:
      suffix: jump_3d
      args: -dim 3 -dm_box_mapping kershaw -dm_box_mapping_parameter 0.6 -dm_box_boundary dirichlet,dirichlet,neumann,dirichlet,dirichlet,neumann

  testset:
    nsize: {{1 2 3 4 8}}
    args: -test solve
    test:
      suffix: solve
      args: -dm_box_mapping kershaw_smooth -dm_box_mapping_parameter 0.6 -medium tensor -dm_box_degree 2 -dm_box_cells 12
    test:
      suffix: solve_3d
      args: -dm_box_dim 3 -dm_box_cells 8 -dm_box_mapping sine -medium high -contrast 1e4 -dm_box_degree 2
    test:
      suffix: solve_robin
      nsize: {{1 2 3}}
      args: -dm_box_mapping annulus -medium tensor -dm_box_boundary neumann -dm_box_robin 300
    test:
      suffix: solve_robin_vertex
      nsize: {{1 3}}
      args: -dm_box_mapping annulus -medium tensor -dm_box_boundary neumann -dm_box_robin 300 -mg_levels_pc_patchfd_patch vertex
    test:
      suffix: solve_robin_3d
      nsize: {{1 3}}
      args: -dm_box_dim 3 -dm_box_cells 8 -dm_box_mapping sine -medium high -contrast 1e4 -dm_box_degree 2 -dm_box_boundary neumann -dm_box_robin 2
    test:
      suffix: solve_robin_ring
      nsize: {{1 2}}
      args: -dm_box_boundary periodic,periodic,neumann,neumann -dm_box_robin 0,0,1,5
    test:
      suffix: solve_neumann
      args: -dm_box_mapping annulus -medium tensor -dm_box_boundary neumann -dm_box_semicoarsening 0
  testset:
    args: -test solve -dm_box_dim 3 -dm_box_mapping sine -medium high -contrast 100 -dm_box_degree 2 -dm_box_cells 4
    output_file: output/diffusion_solve_types.out
    test:
      suffix: solve_types
    test:
      suffix: solve_single
      args: -pc_type single -single_pc_type patchmg
    test:
      suffix: solve_aij
      args: -dm_mat_type aij -pc_type lu
      filter: sed "s/iterations 1,/iterations 5,/"

  test:
    suffix: vecs
    nsize: {{1 3 4}}
    args: -test vecs -map function -dm_box_galerkin false -dm_box_extra_points 2 -dm_box_semicoarsening 0
  testset:
    args: -test update
    nsize: {{1 3}}
    output_file: output/diffusion_update.out
    test:
      suffix: update
    test:
      suffix: update_single
      args: -pc_type single -single_pc_type patchmg
  testset:
    nsize: {{1 3}}
    args: -test hierarchy
    output_file: output/diffusion_hierarchy.out
    test:
      suffix: hierarchy
    test:
      suffix: hierarchy_ring
      args: -ring -dm_box_boundary dirichlet,dirichlet,dirichlet,dirichlet,periodic,periodic
  test:
    suffix: errors
    nsize: {{1 2}}
    args: -test errors -malloc_dump 0

  testset:
    requires: cuda gpu
    args: -dm_vec_type cuda
    test:
      suffix: action_cuda
      output_file: output/diffusion_action.out
      args: -test action -map function -medium tensor -dm_box_degree {{2 4}}
    test:
      suffix: action_cuda_high
      output_file: output/diffusion_action.out
      args: -test action -map function -medium tensor -dm_box_degree 7 -dm_box_cells 2,1,1
    test:
      suffix: action_cuda_robin
      nsize: {{1 3}}
      output_file: output/diffusion_action.out
      args: -test action -map function -medium tensor -dm_box_degree {{1 2 4}} -dm_box_boundary neumann,dirichlet,neumann,neumann,dirichlet,neumann -dm_box_cells 2,3,4 -dm_box_robin 0.7,0,2,3,0,1.5 -use_gpu_aware_mpi 0
    test:
      suffix: action_cuda_robin_2d
      output_file: output/diffusion_action.out
      args: -test action -map function -medium tensor -dm_box_dim 2 -dm_box_degree {{1 4}} -dm_box_boundary neumann -dm_box_robin 2,2,0.5,0
    test:
      suffix: solve_cuda_robin
      filter: sed "s/iterations [0-9]*, //"
      args: -test solve -dm_box_dim 3 -dm_box_cells 8 -dm_box_mapping sine -medium high -contrast 1e4 -dm_box_degree 2 -dm_box_boundary neumann -dm_box_robin 2 -dm_box_semicoarsening 0.5 -mg_levels_pc_patchfd_patch {{vertex auto}}
    test:
      suffix: solve_cuda
      output_file: output/diffusion_solve_types.out
      args: -test solve -dm_box_dim 3 -dm_box_mapping sine -medium high -contrast 100 -dm_box_degree 2 -dm_box_cells 4 -mg_levels_pc_patchfd_patch vertex
    test:
      suffix: update_cuda
      output_file: output/diffusion_update.out
      args: -test update
    test:
      suffix: vecs_cuda
      output_file: output/diffusion_vecs.out
      args: -test vecs -map function -dm_box_galerkin false -dm_box_extra_points 2 -dm_box_semicoarsening 0 -mg_levels_pc_patchfd_patch vertex
  test:
    suffix: action_singlecuda
    requires: cuda gpu
    output_file: output/diffusion_single.out
    args: -test action -map function -medium tensor -dm_vec_type singlecuda

TEST*/
