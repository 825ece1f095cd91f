static char
  help[] = "Periodic sides: iteration counts against the reference implementation, orders of convergence, local Vecs, null space.\n\
  -test counts : counts, to 0.1, also of meshes that end with odd numbers of cells, which are solved directly\n\
  -test third  : the same for meshes with patches on odd numbers of cells\n\
  -test orders : the L2 error falls by 2^(k+1) when cells are halved\n\
  -test local  : ghosts are the values at the other end, and contributions to ghosts go there\n\
  -test drift  : many solves in turn with the solution before as guess leave a singular problem's mean where it is\n\
  -test flows, -test diffusion : orders, and iterations, of other operators; coefficients of which nobody asks beyond the sides\n\n";

#include <petscpatchfd.h>
#include "runtest.h"

static PetscErrorCode Create(PetscInt dim, PetscInt p, const PetscInt cells[], PetscInt k, DM *dm)
{
  DMBoxBoundaryType boundary[6];

  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < 6; i++) boundary[i] = i / 2 < p ? DMBOX_BOUNDARY_PERIODIC : DMBOX_BOUNDARY_DIRICHLET;
  PetscCall(DMBoxCreate(PETSC_COMM_WORLD, dim, cells, k, dm));
  PetscCall(DMBoxSetBoundary(*dm, boundary));
  PetscCall(DMSetFromOptions(*dm));
  PetscCall(DMSetUp(*dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Wave(PetscInt dim, PetscReal mean, const PetscReal x[], PETSC_UNUSED PetscInt Nc, PetscScalar f[],
                           PETSC_UNUSED void *ctx)
{
  PetscReal s = 0;

  PetscFunctionBeginUser;
  for (PetscInt d = 0; d < dim; d++) s += PetscSinReal(2 * PETSC_PI * (x[d] + 0.1 * d + 0.13));
  f[0] = PetscExpReal(s) + mean;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPCreate_Cycles(DM dm, Mat A, PetscBool cg, PetscReal rtol, KSP *ksp)
{
  PC pc;

  PetscFunctionBeginUser;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
  PetscCall(KSPSetOptionsPrefix(*ksp, cg ? "cg_" : "gmres_"));
  PetscCall(KSPSetDM(*ksp, dm));
  PetscCall(KSPSetOperators(*ksp, A, A));
  PetscCall(KSPSetType(*ksp, cg ? KSPCG : KSPFGMRES));
  if (cg) PetscCall(KSPSetNormType(*ksp, KSP_NORM_UNPRECONDITIONED));
  PetscCall(KSPGetPC(*ksp, &pc));
  PetscCall(PCSetType(pc, PCPATCHMG));
  PetscCall(PCPatchMGSetSymmetric(pc, cg));
  PetscCall(PCPatchMGSetCoarseEqLim(pc, 0));
  PetscCall(KSPSetTolerances(*ksp, rtol, PETSC_CURRENT, PETSC_CURRENT, 100));
  PetscCall(KSPSetErrorIfNotConverged(*ksp, PETSC_TRUE));
  PetscCall(KSPSetFromOptions(*ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- counts ---- */

/* dimension, periodic directions, degree, cells; fractional iterations to 1e-9 of FGMRES and of CG, from the NumPy reference */
static const struct {
  PetscInt  dim, p, k, n[3];
  PetscReal nu[2];
} counts[] =
  {
    {2, 1, 1, {16, 16, 1}, {5.44, 7.73}}, {2, 2, 1, {16, 16, 1}, {5.62, 7.98}}, {2, 1, 2, {16, 16, 1}, {3.84, 5.35}},
    {2, 2, 2, {16, 16, 1}, {3.87, 5.51}}, {2, 1, 3, {16, 16, 1}, {3.37, 5.39}}, {2, 2, 3, {16, 16, 1}, {3.50, 5.41}},
    {2, 1, 7, {8, 8, 1}, {2.17, 4.35}},   {2, 2, 7, {8, 8, 1}, {2.24, 4.31}},   {3, 1, 1, {8, 8, 8}, {4.94, 6.98}},
    {3, 2, 1, {8, 8, 8}, {5.24, 7.44}},   {3, 3, 1, {8, 8, 8}, {5.61, 7.42}},   {3, 1, 2, {8, 8, 8}, {4.54, 5.80}},
    {3, 2, 2, {8, 8, 8}, {4.80, 6.00}},   {3, 3, 2, {8, 8, 8}, {4.60, 5.77}},   {3, 1, 3, {4, 4, 4}, {3.06, 4.33}},
    {3, 2, 3, {4, 4, 4}, {3.43, 4.72}},   {3, 3, 3, {4, 4, 4}, {3.61, 4.80}},   {3, 1, 7, {4, 4, 4}, {2.36, 3.73}},
    {3, 2, 7, {4, 4, 4}, {2.54, 3.94}},   {3, 3, 7, {4, 4, 4}, {2.44, 4.06}},
},
  odd[] = {
    {2, 2, 1, {10, 10, 1}, {5.21, 0}}, {2, 2, 1, {12, 12, 1}, {5.51, 0}}, {2, 2, 1, {20, 12, 1}, {7.94, 0}},
    {2, 2, 1, {24, 24, 1}, {5.60, 0}}, {2, 2, 2, {10, 10, 1}, {3.75, 0}}, {2, 2, 2, {12, 12, 1}, {3.82, 0}},
    {2, 2, 2, {20, 12, 1}, {4.04, 0}}, {2, 2, 2, {24, 24, 1}, {3.96, 0}}, {2, 2, 3, {10, 10, 1}, {3.20, 0}},
    {2, 2, 3, {12, 12, 1}, {3.44, 0}}, {2, 2, 3, {20, 12, 1}, {3.79, 0}}, {2, 2, 3, {24, 24, 1}, {3.63, 0}},
};

/* the first direction is not halved, and has a colour more where its number of cells is odd; two levels */
static const struct {
  PetscInt  k, n[3];
  PetscReal nu[2];
} third[] = {{1, {14, 16, 1}, {5.12, 7.14}}, {1, {15, 16, 1}, {5.40, 7.22}}, {2, {14, 16, 1}, {3.41, 5.20}},
             {2, {15, 16, 1}, {3.52, 5.21}}, {3, {14, 16, 1}, {2.93, 5.29}}, {3, {15, 16, 1}, {2.96, 5.30}}};

static PetscErrorCode Count(PetscInt dim, PetscInt p, PetscInt k, const PetscInt n[], const PetscReal nu[2], PetscInt *deviations)
{
  const PetscReal bessel = 1.2660658777520084; /* I_0(1), the mean of exp(sin) */
  DM              dm;
  Mat             A;
  Vec             b, x, r;
  MatNullSpace    nullspace;

  PetscFunctionBeginUser;
  PetscCall(Create(dim, p, n, k, &dm));
  PetscCall(DMCreateMatrix(dm, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(DMBoxAddLoad(dm, p == dim ? -PetscPowRealInt(bessel, dim) : 0.3, Wave, NULL, b));
  PetscCall(MatGetNullSpace(A, &nullspace));
  PetscCheck(!nullspace == (p < dim), PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%" PetscInt_FMT " directions are periodic, null space: %d", p,
             !!nullspace);
  if (nullspace) PetscCall(MatNullSpaceRemove(nullspace, b));
  for (int cg = 0; cg < 2; cg++) {
    KSP       ksp;
    PetscInt  its;
    PetscReal r0, rn, found;

    if (nu[cg] == 0) continue;
    PetscCall(KSPCreate_Cycles(dm, A, (PetscBool)cg, 1e-9, &ksp));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetIterationNumber(ksp, &its));
    PetscCall(MatResidual(A, b, x, r));
    PetscCall(VecNorm(b, NORM_2, &r0));
    PetscCall(VecNorm(r, NORM_2, &rn));
    found = -9 * its / PetscLog10Real(rn / r0);
    if (!(rn <= 1.001e-9 * r0 && PetscAbsReal(found - nu[cg]) <= 0.1)) {
      (*deviations)++;
      PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                            "%" PetscInt_FMT "D, %" PetscInt_FMT " periodic, degree %" PetscInt_FMT
                            ", %s: %.2f, reference %.2f, residual %g\n",
                            dim, p, k, cg ? "CG" : "FGMRES", (double)found, (double)nu[cg], (double)(rn / r0)));
    }
    PetscCall(KSPDestroy(&ksp));
  }
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&r));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- orders ---- */

/* u = cos(2 pi x_0) exp(sin(2 pi x_1)) sin(2 pi x_2 + 1), periodic with derivatives; -laplace u */
static PetscErrorCode Exact(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PETSC_UNUSED PetscInt Nc, PetscScalar u[],
                            PETSC_UNUSED void *ctx)
{
  PetscFunctionBeginUser;
  u[0] = PetscCosReal(2 * PETSC_PI * x[0]);
  if (dim > 1) u[0] *= PetscExpReal(PetscSinReal(2 * PETSC_PI * x[1]));
  if (dim > 2) u[0] *= PetscSinReal(2 * PETSC_PI * x[2] + 1);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Force(PetscInt dim, PetscReal time, const PetscReal x[], PetscInt Nc, PetscScalar f[], void *ctx)
{
  const PetscReal s = dim > 1 ? PetscSinReal(2 * PETSC_PI * x[1]) : 0, c = dim > 1 ? PetscCosReal(2 * PETSC_PI * x[1]) : 0;

  PetscFunctionBeginUser;
  for (PetscInt d = 0; d < dim; d++)
    PetscCheck(x[d] >= 0 && x[d] <= 1, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The function is asked for x[%" PetscInt_FMT "] = %g", d,
               (double)x[d]);
  PetscCall(Exact(dim, time, x, Nc, f, ctx));
  f[0] *= PetscSqr(2 * PETSC_PI) * ((dim > 2 ? 2 : 1) + (dim > 1 ? s - c * c : 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Order(PetscInt dim, PetscInt k, PetscInt n)
{
  PetscReal error[2], order;

  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < 2; i++) {
    const PetscInt cells[3] = {n << i, n << i, n << i};
    DM             dm;
    Mat            A;
    Vec            b, x;
    KSP            ksp;
    MatNullSpace   nullspace;

    PetscCall(Create(dim, dim, cells, k, &dm));
    PetscCall(DMCreateMatrix(dm, &A));
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(DMBoxAddLoad(dm, 0, Force, NULL, b));
    PetscCall(MatGetNullSpace(A, &nullspace));
    PetscCall(MatNullSpaceRemove(nullspace, b));
    PetscCall(KSPCreate_Cycles(dm, A, PETSC_FALSE, 1e-11, &ksp));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(MatNullSpaceRemove(nullspace, x)); /* the solution has no mean, and nodes of equal cells have equal weights, cell by cell */
    PetscCall(DMBoxComputeError(dm, 0, Exact, NULL, x, &error[i], NULL));
    PetscCall(KSPDestroy(&ksp));
    PetscCall(VecDestroy(&b));
    PetscCall(VecDestroy(&x));
    PetscCall(MatDestroy(&A));
    PetscCall(DMDestroy(&dm));
  }
  order = PetscLog2Real(error[0] / error[1]);
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT "D, degree %" PetscInt_FMT ": order", dim, k));
  if (order > k + 0.7 && order < k + 2) PetscCall(PetscPrintf(PETSC_COMM_WORLD, " degree + 1\n"));
  else PetscCall(PetscPrintf(PETSC_COMM_WORLD, " %.2f\n", (double)order));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- flows ---- */

/* u = (psi_y, -psi_x), psi = cos(2 pi x) sin(w y), p = sin(2 pi x) cos(w y); ctx is w */
static PetscErrorCode Flow(PETSC_UNUSED PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PETSC_UNUSED PetscInt Nc,
                           PetscScalar u[], void *ctx)
{
  const PetscReal v = 2 * PETSC_PI, w = *(PetscReal *)ctx;

  PetscFunctionBeginUser;
  u[0] = w * PetscCosReal(v * x[0]) * PetscCosReal(w * x[1]);
  u[1] = v * PetscSinReal(v * x[0]) * PetscSinReal(w * x[1]);
  u[2] = PetscSinReal(v * x[0]) * PetscCosReal(w * x[1]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FlowForce(PetscInt dim, PetscReal time, const PetscReal x[], PetscInt Nc, PetscScalar f[], void *ctx)
{
  const PetscReal v = 2 * PETSC_PI, w = *(PetscReal *)ctx;

  PetscFunctionBeginUser;
  PetscCall(Flow(dim, time, x, Nc, f, ctx));
  for (int i = 0; i < 2; i++) f[i] *= v * v + w * w + 1; /* the shift is 1 */
  f[0] += v * PetscCosReal(v * x[0]) * PetscCosReal(w * x[1]);
  f[1] -= w * PetscSinReal(v * x[0]) * PetscSinReal(w * x[1]);
  f[2] = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FlowErrors(PetscInt n, PetscInt k, DMBoxBoundaryType walls, PetscReal error[2], PetscInt *its)
{
  const PetscInt    cells[3] = {n, n, 1};
  PetscReal         w        = walls == DMBOX_BOUNDARY_DIRICHLET ? 1 : 2 * PETSC_PI;
  DMBoxBoundaryType boundary[4];
  DM                dm;
  Mat               A;
  Vec               b, x, g;
  KSP               ksp;

  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < 4; i++) boundary[i] = i < 2 ? DMBOX_BOUNDARY_PERIODIC : walls;
  PetscCall(DMBoxCreate(PETSC_COMM_WORLD, 2, cells, k, &dm));
  PetscCall(DMBoxSetSpace(dm, DMBOX_SPACE_RT));
  PetscCall(DMBoxSetOperator(dm, "stokes"));
  PetscCall(DMBoxSetStokes(dm, 1, 1));
  PetscCall(DMBoxSetBoundary(dm, boundary));
  PetscCall(DMSetFromOptions(dm));
  PetscCall(DMSetUp(dm));
  PetscCall(DMCreateMatrix(dm, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(b, &g));
  PetscCall(DMBoxAddLoad(dm, 0, FlowForce, &w, b));
  PetscCall(DMBoxInterpolateFunction(dm, 0, Flow, &w, g));
  PetscCall(DMBoxLiftDirichlet(dm, g, b));
  PetscCall(KSPCreate_Cycles(dm, A, PETSC_FALSE, 1e-9, &ksp));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, its));
  PetscCall(DMBoxComputeStokesError(dm, 0, Flow, NULL, &w, x, &error[0], NULL, &error[1], NULL));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&g));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Flows(DMBoxBoundaryType walls, PetscInt k)
{
  PetscReal error[2][2], order[2];
  PetscInt  its[2];

  PetscFunctionBeginUser;
  for (int i = 0; i < 2; i++) PetscCall(FlowErrors(16 << i, k, walls, error[i], &its[i]));
  for (int i = 0; i < 2; i++) order[i] = PetscLog2Real(error[0][i] / error[1][i]);
  PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                        "flow, periodic and %s, degree %" PetscInt_FMT ": iterations %" PetscInt_FMT " %" PetscInt_FMT ", orders",
                        DMBoxBoundaryTypes[walls], k, its[0], its[1]));
  if (order[0] > k + 0.8 && order[1] > k + 0.4) PetscCall(PetscPrintf(PETSC_COMM_WORLD, " as they should be\n"));
  else PetscCall(PetscPrintf(PETSC_COMM_WORLD, " %.2f %.2f\n", (double)order[0], (double)order[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- diffusion ---- */

/* the unit square, the same distorted, and one where x_1 is the angle */
typedef enum {
  STRAIGHT,
  WAVES,
  ANNULUS
} Shape;

static PetscErrorCode Map(PETSC_UNUSED PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PETSC_UNUSED PetscInt Nc,
                          PetscScalar y[], void *ctx)
{
  const PetscReal r = 0.5 + 0.5 * x[0], w = 2 * PETSC_PI;

  PetscFunctionBeginUser;
  for (int d = 0; d < 2; d++)
    PetscCheck(x[d] >= 0 && x[d] <= 1, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The map is asked for x[%d] = %g", d, (double)x[d]);
  y[0] = *(Shape *)ctx == WAVES ? x[0] + 0.05 * PetscSinReal(w * (x[0] + x[1])) : r * PetscCosReal(w * x[1]);
  y[1] = *(Shape *)ctx == WAVES ? x[1] + 0.05 * PetscSinReal(w * x[0]) : r * PetscSinReal(w * x[1]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* periodic with the unit square; in an annulus zero on its sides */
static PetscErrorCode Value(PETSC_UNUSED PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PETSC_UNUSED PetscInt Nc,
                            PetscScalar u[], void *ctx)
{
  const PetscReal w = 2 * PETSC_PI, r2 = x[0] * x[0] + x[1] * x[1];

  PetscFunctionBeginUser;
  u[0] = *(Shape *)ctx == ANNULUS ? (1 - r2) * (r2 - 0.25) * x[0] : PetscSinReal(w * x[0]) * PetscCosReal(w * x[1]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* -laplace u: in the plane laplace(r^m cos) = (m^2 - 1) r^(m - 2) cos; with u = (-r^5 + 1.25 r^3 - r / 4) cos */
static PetscErrorCode Source(PetscInt dim, PetscReal time, const PetscReal x[], PetscInt Nc, PetscScalar f[], void *ctx)
{
  const PetscReal r2 = x[0] * x[0] + x[1] * x[1];

  PetscFunctionBeginUser;
  PetscCall(Value(dim, time, x, Nc, f, ctx));
  if (*(Shape *)ctx == ANNULUS) f[0] = (24 * r2 - 10) * x[0];
  else f[0] *= 8 * PETSC_PI * PETSC_PI;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Conductivity(PETSC_UNUSED PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PETSC_UNUSED PetscInt Nc,
                                   PetscScalar K[], PETSC_UNUSED void *ctx)
{
  PetscFunctionBeginUser;
  K[0] = 2 + x[0] * (1 + x[1]); /* not periodic: it is asked for no points beyond the sides */
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DiffusionCreate(Shape *shape, PetscInt n, PetscInt k, DM *dm)
{
  const PetscInt          cells[3]    = {n, *shape == ANNULUS ? 4 * n : n, 1};
  const DMBoxBoundaryType boundary[4] = {*shape == ANNULUS ? DMBOX_BOUNDARY_DIRICHLET : DMBOX_BOUNDARY_PERIODIC,
                                         *shape == ANNULUS ? DMBOX_BOUNDARY_DIRICHLET : DMBOX_BOUNDARY_PERIODIC, DMBOX_BOUNDARY_PERIODIC,
                                         DMBOX_BOUNDARY_PERIODIC};

  PetscFunctionBeginUser;
  PetscCall(DMBoxCreate(PETSC_COMM_WORLD, 2, cells, k, dm));
  PetscCall(DMBoxSetOperator(*dm, "diffusion"));
  PetscCall(DMBoxSetBoundary(*dm, boundary));
  if (*shape != STRAIGHT) PetscCall(DMBoxSetMapping(*dm, Map, shape));
  PetscCall(DMSetFromOptions(*dm));
  PetscCall(DMSetUp(*dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DiffusionOrder(Shape shape, PetscInt k)
{
  PetscReal error[2], order;
  PetscInt  its[2];

  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < 2; i++) {
    DM           dm;
    Mat          A;
    Vec          b, x, one;
    KSP          ksp;
    MatNullSpace nullspace;

    PetscCall(DiffusionCreate(&shape, 8 << i, k, &dm));
    PetscCall(DMCreateMatrix(dm, &A));
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(DMBoxAddLoad(dm, 0, Source, &shape, b));
    PetscCall(MatGetNullSpace(A, &nullspace));
    if (nullspace) PetscCall(MatNullSpaceRemove(nullspace, b));
    PetscCall(KSPCreate_Cycles(dm, A, PETSC_FALSE, 1e-10, &ksp));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetIterationNumber(ksp, &its[i]));
    if (nullspace) { /* the solution's mean is zero */
      PetscScalar mean, area;

      PetscCall(VecDuplicate(x, &one));
      PetscCall(VecSet(one, 1));
      PetscCall(VecSet(b, 0));
      PetscCall(DMBoxAddLoadVec(dm, one, b));
      PetscCall(VecDot(b, x, &mean));
      PetscCall(VecSum(b, &area));
      PetscCall(VecShift(x, -mean / area));
      PetscCall(VecDestroy(&one));
    }
    PetscCall(DMBoxComputeError(dm, 0, Value, &shape, x, &error[i], NULL));
    PetscCall(KSPDestroy(&ksp));
    PetscCall(VecDestroy(&b));
    PetscCall(VecDestroy(&x));
    PetscCall(MatDestroy(&A));
    PetscCall(DMDestroy(&dm));
  }
  order = PetscLog2Real(error[0] / error[1]);
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s, degree %" PetscInt_FMT ": %" PetscInt_FMT " and %" PetscInt_FMT " iterations, order",
                        shape == STRAIGHT ? "square" : (shape == WAVES ? "waves" : "annulus"), k, its[0], its[1]));
  if (order > k + 0.7 && order < k + 2) PetscCall(PetscPrintf(PETSC_COMM_WORLD, " degree + 1\n"));
  else PetscCall(PetscPrintf(PETSC_COMM_WORLD, " %.2f\n", (double)order));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* K as a function and as data are the same operator */
static PetscErrorCode DiffusionData(PetscInt k)
{
  Shape            shape = STRAIGHT;
  DM               dm;
  Mat              A;
  Vec              x, y[2], X, K;
  PetscReal        norm, scale;
  PetscInt         n;
  const PetscReal *at;
  PetscScalar     *a;

  PetscFunctionBeginUser;
  PetscCall(DiffusionCreate(&shape, 4, k, &dm));
  PetscCall(DMCreateMatrix(dm, &A));
  PetscCall(MatCreateVecs(A, &x, &y[0]));
  PetscCall(VecDuplicate(x, &y[1]));
  PetscCall(DMBoxInterpolateFunction(dm, 0, Value, &shape, x));
  PetscCall(DMBoxSetDiffusionFunction(dm, 1, Conductivity, NULL, NULL));
  PetscCall(MatMult(A, x, y[0]));
  PetscCall(DMBoxCreateDiffusionVec(dm, PETSC_TRUE, 2, &X));
  PetscCall(DMBoxCreateDiffusionVec(dm, PETSC_TRUE, 1, &K));
  PetscCall(DMBoxComputeDiffusionPoints(dm, X));
  PetscCall(VecGetLocalSize(K, &n));
  PetscCall(VecGetArrayRead(X, &at));
  PetscCall(VecGetArrayWrite(K, &a));
  for (PetscInt i = 0; i < n; i++) PetscCall(Conductivity(2, 0, &at[2 * i], 1, &a[i], NULL));
  PetscCall(VecRestoreArrayWrite(K, &a));
  PetscCall(VecRestoreArrayRead(X, &at));
  PetscCall(DMBoxSetDiffusionVec(dm, 1, K, NULL));
  PetscCall(MatMult(A, x, y[1]));
  PetscCall(VecNorm(y[0], NORM_INFINITY, &scale));
  PetscCall(VecAXPY(y[0], -1, y[1]));
  PetscCall(VecNorm(y[0], NORM_INFINITY, &norm));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "degree %" PetscInt_FMT ": data %s\n", k, norm <= 1e-12 * scale ? "agree" : "DEVIATE"));
  for (int i = 0; i < 2; i++) PetscCall(VecDestroy(&y[i]));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&X));
  PetscCall(VecDestroy(&K));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- local Vecs ---- */

/* the numbers of nodes of the first direction and, times a thousand, of the second one, which differ between the ends of a ring */
static PetscErrorCode Local(void)
{
  const PetscInt cells[3] = {4, 2, 1};
  DM             dm;
  Vec            v, l, sum;
  PetscScalar  **a;
  PetscInt       M, N, x, y, m, n, wrong = 0;
  PetscScalar    total;

  PetscFunctionBeginUser;
  PetscCall(Create(2, 2, cells, 3, &dm));
  PetscCall(DMBoxGetGlobalSizes(dm, 0, &M, &N, NULL));
  PetscCheck(M == 12 && N == 6, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%" PetscInt_FMT " x %" PetscInt_FMT " nodes", M, N);
  PetscCall(DMCreateGlobalVector(dm, &v));
  PetscCall(VecDuplicate(v, &sum));
  PetscCall(DMCreateLocalVector(dm, &l));
  PetscCall(DMBoxGetCorners(dm, 0, &x, &y, NULL, &m, &n, NULL));
  PetscCall(DMBoxVecGetArray(dm, v, 0, &a));
  for (PetscInt j = y; j < y + n; j++)
    for (PetscInt i = x; i < x + m; i++) a[j][i] = i + 1000 * j;
  PetscCall(DMBoxVecRestoreArray(dm, v, 0, &a));
  PetscCall(DMGlobalToLocal(dm, v, INSERT_VALUES, l));
  PetscCall(DMBoxGetGhostCorners(dm, 0, &x, &y, NULL, &m, &n, NULL));
  PetscCall(DMBoxVecGetArray(dm, l, 0, &a));
  for (PetscInt j = y; j < y + n; j++) {
    for (PetscInt i = x; i < x + m; i++) {
      wrong += a[j][i] != (i + M) % M + 1000 * ((j + N) % N);
      a[j][i] = 1;
    }
  }
  PetscCall(DMBoxVecRestoreArray(dm, l, 0, &a));
  PetscCall(VecSet(sum, 0));
  PetscCall(DMLocalToGlobal(dm, l, ADD_VALUES, sum));
  PetscCall(VecSum(sum, &total));
  PetscCall(VecGetSize(l, &m));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &m, 1, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &wrong, 1, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "local Vecs: %" PetscInt_FMT " wrong, sums are%s those of all local nodes\n", wrong,
                        total == (PetscReal)m ? "" : " not"));
  PetscCall(VecView(v, PETSC_VIEWER_STDOUT_WORLD)); /* in natural order */
  PetscCall(VecDestroy(&v));
  PetscCall(VecDestroy(&sum));
  PetscCall(VecDestroy(&l));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- null space ---- */

static PetscErrorCode Drift(void)
{
  const PetscInt solves   = 1000;
  const PetscInt cells[3] = {8, 8, 8};
  DM             dm;
  Mat            A;
  Vec            b, x;
  KSP            ksp;
  MatNullSpace   nullspace;
  PetscReal      norm;
  PetscScalar    mean;
  PetscInt       N;

  PetscFunctionBeginUser;
  PetscCall(Create(2, 2, cells, 2, &dm));
  PetscCall(DMCreateMatrix(dm, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(MatGetNullSpace(A, &nullspace));
  PetscCall(KSPCreate_Cycles(dm, A, PETSC_FALSE, 1e-8, &ksp));
  PetscCall(KSPSetInitialGuessNonzero(ksp, PETSC_TRUE));
  for (PetscInt i = 0; i < solves; i++) {
    PetscCall(VecSet(b, 0));
    PetscCall(DMBoxAddLoad(dm, 0.01 * (PetscReal)i, Wave, NULL, b));
    PetscCall(MatNullSpaceRemove(nullspace, b));
    PetscCall(KSPSolve(ksp, b, x));
  }
  PetscCall(VecGetSize(x, &N));
  PetscCall(VecSum(x, &mean));
  PetscCall(VecNorm(x, NORM_INFINITY, &norm));
  mean /= (PetscReal)N;
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " solves: the mean is%s zero\n", solves,
                        PetscAbsScalar(mean) <= 1e-12 * norm ? "" : " not"));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- tests ---- */

static PetscErrorCode TestCounts(void)
{
  PetscInt deviations = 0;

  PetscFunctionBeginUser;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(counts); i++)
    PetscCall(Count(counts[i].dim, counts[i].p, counts[i].k, counts[i].n, counts[i].nu, &deviations));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(odd); i++)
    PetscCall(Count(odd[i].dim, odd[i].p, odd[i].k, odd[i].n, odd[i].nu, &deviations));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " counts deviate\n", deviations));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestThird(void)
{
  PetscInt deviations = 0;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsInsertString(NULL, "-dm_box_semicoarsening 1 -gmres_pc_mg_levels 2 -cg_pc_mg_levels 2"));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(third); i++) PetscCall(Count(2, 1, third[i].k, third[i].n, third[i].nu, &deviations));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " counts deviate\n", deviations));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestOrders(void)
{
  PetscFunctionBeginUser;
  for (PetscInt dim = 1; dim <= 3; dim++)
    for (PetscInt k = 1; k <= 4; k++) PetscCall(Order(dim, k, 8));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestFlows(void)
{
  const DMBoxBoundaryType walls[] = {DMBOX_BOUNDARY_DIRICHLET, DMBOX_BOUNDARY_SYMMETRY, DMBOX_BOUNDARY_PERIODIC};

  PetscFunctionBeginUser;
  for (int i = 0; i < 3; i++)
    for (PetscInt k = 1; k <= 2; k++) PetscCall(Flows(walls[i], k));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestDiffusion(void)
{
  PetscFunctionBeginUser;
  for (PetscInt k = 1; k <= 3; k++) {
    for (int shape = STRAIGHT; shape <= ANNULUS; shape++) PetscCall(DiffusionOrder((Shape)shape, k));
    PetscCall(DiffusionData(k));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

TEST_MAIN("counts", {"counts", TestCounts}, {"third", TestThird}, {"orders", TestOrders}, {"local", Local}, {"drift", Drift},
          {"flows", TestFlows}, {"diffusion", TestDiffusion})

/*TEST

   # the reference goes forward before the coarse correction
   test:
     suffix: counts
     nsize: {{1 2 3 4}}
     output_file: output/periodic_counts.out
     args: -test counts -cg_mg_levels_pc_patchfd_order forward
   test:
     suffix: third
     nsize: {{1 2 3 4}}
     output_file: output/periodic_counts.out
     args: -test third -cg_mg_levels_pc_patchfd_order forward
   # where K is constant, fits are exact
   test:
     suffix: third_diffusion
     nsize: {{1 2 3}}
     output_file: output/periodic_counts.out
     args: -test third -cg_mg_levels_pc_patchfd_order forward -dm_box_operator diffusion -gmres_mg_levels_pc_patchfd_patch vertex -cg_mg_levels_pc_patchfd_patch vertex
   test:
     suffix: single
     output_file: output/periodic_counts.out
     args: -test counts -gmres_pc_type single -gmres_single_pc_type patchmg -gmres_single_pc_patchmg_coarse_eq_limit 0
     args: -cg_pc_type single -cg_single_pc_type patchmg -cg_single_pc_patchmg_coarse_eq_limit 0 -cg_single_pc_patchmg_symmetric
     args: -cg_single_mg_levels_pc_patchfd_order forward
   test:
     suffix: orders
     args: -test orders
   test:
     suffix: orders_dgq
     output_file: output/periodic_orders.out
     nsize: 2
     args: -test orders -dm_box_space dgq
   test:
     suffix: local
     nsize: {{1 2 3 8}}
     output_file: output/periodic_local.out
     filter: grep -v -i -e process -e type
     args: -test local
   test:
     suffix: flows
     nsize: {{1 2 4}}
     output_file: output/periodic_flows.out
     args: -test flows
   test:
     suffix: diffusion
     nsize: {{1 2 4}}
     output_file: output/periodic_diffusion.out
     args: -test diffusion
   test:
     suffix: drift
     nsize: {{1 2}}
     output_file: output/periodic_drift.out
     args: -test drift
   testset:
     requires: cuda gpu
     nsize: {{1 2}}
     args: -dm_vec_type cuda -use_gpu_aware_mpi 0
     test:
       suffix: cuda_counts
       output_file: output/periodic_counts.out
       args: -test counts -cg_mg_levels_pc_patchfd_order forward
     test:
       suffix: cuda_third
       output_file: output/periodic_counts.out
       args: -test third -cg_mg_levels_pc_patchfd_order forward
     test:
       suffix: cuda_third_diffusion
       output_file: output/periodic_counts.out
       args: -test third -cg_mg_levels_pc_patchfd_order forward -dm_box_operator diffusion -gmres_mg_levels_pc_patchfd_patch vertex -cg_mg_levels_pc_patchfd_patch vertex
     test:
       suffix: cuda_flows
       output_file: output/periodic_flows.out
       args: -test flows
     test:
       suffix: cuda_diffusion
       filter: sed "s/: [0-9]* and [0-9]* iterations//"
       args: -test diffusion
     test:
       suffix: cuda_drift
       output_file: output/periodic_drift.out
       args: -test drift

TEST*/
