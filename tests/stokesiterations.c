static char help[] = "Iteration counts of multigrid with vertex patches for Stokes' equations, level by level: a table.\n\
The flow u = curl of products of s(x) = x^2 (1 - x)^2 times a Gaussian bell, p = cos 2 pi x cos 2 pi y ..., no slip on all sides, 2^L \
cells a direction, FGMRES to\n\
1e-8 of the true residual, the same colour order before and after the coarse correction.  Solvers: patches with exact matrices (options \
with the prefix exact_), with single\n\
ones (single_), and these with the V-cycle in single precision (float_).  nu = -8 / log10(mean reduction of the residual an iteration).\n\
  -dim <d>, -degrees <k,...>, -levels <first,last>, -max_unknowns <n>\n\
  -divergence <t> : allowed divergence of the solution, of exact_ and single_; the default is for local solvers that are exact\n\
  -reference : compare with the values of the NumPy reference (nu to 0.1), rows that it has\n\n";

#include <petscpatchfd.h>
#include <petsc/private/dmimpl.h>
#include "lines.h"

enum {
  EXACT,
  SINGLE,
  FLOAT,
  SOLVERS
};
static const char *const prefixes[] = {"exact_", "single_", "float_"};

/* d, k, L, then iterations and nu of exact and of single matrices, 0 where the reference has none; single precision changes nothing */
static const struct {
  PetscInt  d, k, L, its;
  PetscReal nu;
  PetscInt  singleits;
  PetscReal singlenu;
} reference[] = {
  {2, 1, 3, 8, 7.51, 0, 0},    {2, 1, 4, 10, 9.10, 10, 9.75}, {2, 1, 5, 11, 10.18, 11, 10.63}, {2, 1, 6, 11, 10.96, 0, 0},
  {2, 2, 3, 5, 4.73, 0, 0},    {2, 2, 4, 6, 5.29, 6, 5.28},   {2, 2, 5, 6, 5.66, 0, 0},        {2, 2, 6, 7, 5.94, 0, 0},
  {2, 3, 2, 3, 2.78, 0, 0},    {2, 3, 3, 4, 3.47, 0, 0},      {2, 3, 4, 4, 3.70, 4, 3.76},     {2, 3, 5, 4, 3.76, 0, 0},
  {2, 3, 6, 4, 3.88, 0, 0},    {2, 4, 2, 3, 2.49, 0, 0},      {2, 4, 3, 3, 2.73, 3, 2.75},     {2, 4, 4, 3, 2.86, 0, 0},
  {2, 4, 5, 3, 2.93, 0, 0},    {2, 5, 2, 3, 2.17, 0, 0},      {2, 5, 3, 3, 2.64, 0, 0},        {2, 5, 4, 3, 2.81, 0, 0},
  {2, 6, 2, 3, 2.40, 0, 0},    {2, 6, 3, 3, 2.64, 0, 0},      {2, 6, 4, 3, 2.72, 0, 0},        {3, 1, 2, 6, 5.16, 6, 5.38},
  {3, 1, 3, 7, 6.58, 7, 6.67}, {3, 1, 4, 8, 7.56, 0, 0},      {3, 2, 2, 4, 3.36, 4, 3.46},     {3, 2, 3, 4, 3.98, 4, 3.91},
  {3, 3, 2, 3, 2.44, 3, 2.44}, {3, 3, 3, 3, 2.80, 0, 0},
};

/* ---- the right-hand side, by quadrature: sums of products of these functions of one coordinate ---- */

enum {
  S0, /* s and its derivatives */
  S1,
  S2,
  S3,
  COS,
  SIN,
  FUNCTIONS
};

static void Functions(PetscReal x, PetscReal f[FUNCTIONS])
{
  const PetscReal var = 1. / 3, t = x - 0.65, bell = PetscExpReal(-t * t / (2 * var)) / PetscSqrtReal(2 * PETSC_PI * var);
  const PetscReal p[] = {x * x * (1 - x) * (1 - x), 2 * x - 6 * x * x + 4 * x * x * x, 2 - 12 * x + 12 * x * x, 24 * x - 12};
  const PetscReal g[] = {bell, -t / var * bell, (t * t / (var * var) - 1 / var) * bell,
                         (3 * t / (var * var) - t * t * t / (var * var * var)) * bell};

  f[S0]  = p[0] * g[0];
  f[S1]  = p[1] * g[0] + p[0] * g[1];
  f[S2]  = p[2] * g[0] + 2 * p[1] * g[1] + p[0] * g[2];
  f[S3]  = p[3] * g[0] + 3 * p[2] * g[1] + 3 * p[1] * g[2] + p[0] * g[3];
  f[COS] = PetscCosReal(2 * PETSC_PI * x);
  f[SIN] = PetscSinReal(2 * PETSC_PI * x);
}

/* load[f][i] = integral of function f times basis function i */
static PetscErrorCode LineLoad(const Line *l, PetscReal *load[FUNCTIONS])
{
  const PetscInt nq = l->k + 7;
  PetscReal     *q, *w;

  PetscFunctionBeginUser;
  PetscCall(PetscCalloc6(l->n, &load[S0], l->n, &load[S1], l->n, &load[S2], l->n, &load[S3], l->n, &load[COS], l->n, &load[SIN]));
  PetscCall(PetscMalloc2(nq, &q, nq, &w));
  for (PetscInt c = 0; c < l->cells; c++) {
    PetscCall(PetscDTGaussQuadrature(nq, l->v[c], l->v[c + 1], q, w));
    for (PetscInt p = 0; p < nq; p++) {
      PetscReal f[FUNCTIONS];

      Functions(q[p], f);
      for (PetscInt i = 0; i <= l->k; i++) {
        PetscReal phi[3];

        Lagrange(l->k, l->x + c * l->stride, i, q[p], phi);
        for (int j = 0; j < FUNCTIONS; j++) load[j][c * l->stride + i] += w[p] * f[j] * phi[0];
      }
    }
  }
  PetscCall(PetscFree2(q, w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  PetscReal coef;
  int       function[3];
} Product;

/*
  Component c of -laplace u + grad p: u is a sum of one (2D) or two products of s and, in direction j, s'.  In 3D the reference counts its
  colours with z fastest, the library with x fastest: directions and components are those of the reference in reverse.
*/
static int Force(PetscInt dim, PetscInt component, Product f[7])
{
  const PetscInt c = dim == 3 ? 2 - component : component;
  int            n = 0;

  for (PetscInt j = 0; j < dim; j++) {
    const PetscReal sign = c == 0 || (c == 2 && j == 1)
                           ? 1
                           : -1; /* u = (s s' s + s s s', -s' s s - s s s', -s' s s + s s' s): its divergence is zero */

    for (PetscInt d = 0; d < dim && j != c; d++, n++) {
      f[n] = (Product){.coef = -sign};
      f[n].function[j] += 1;
      f[n].function[d] += 2;
    }
  }
  f[n].coef = -2 * PETSC_PI;
  for (PetscInt d = 0; d < dim; d++) f[n].function[d] = d == c ? SIN : COS;
  n++;
  for (int i = 0; i < n && dim == 3; i++) {
    const int first = f[i].function[0];

    f[i].function[0] = f[i].function[2];
    f[i].function[2] = first;
  }
  return n;
}

/* The lines of a uniform mesh, and what this rank has of each field */
typedef struct {
  PetscInt dim, first[3], end[3];
  Line     C[3], D[3];
} Mesh;

static PetscErrorCode MeshCreate(DM dm, PetscInt dim, PetscInt k, PetscInt n, Mesh *m)
{
  const PetscBool dirichlet[2] = {PETSC_TRUE, PETSC_TRUE};
  const PetscReal penalty[2]   = {1, 1};
  PetscReal       lower[3], upper[3], *v;

  PetscFunctionBeginUser;
  *m = (Mesh){.dim = dim, .end = {1, 1, 1}};
  PetscUseTypeMethod(dm, getlocalboundingbox, lower, upper, m->first, m->end);
  PetscCall(PetscMalloc1(n + 1, &v));
  for (PetscInt i = 0; i <= n; i++) v[i] = (PetscReal)i / n;
  for (PetscInt d = 0; d < dim; d++) {
    PetscCall(LineCreate(k + 1, PETSC_TRUE, n, v, dirichlet, NULL, penalty, &m->C[d]));
    PetscCall(LineCreate(k, PETSC_FALSE, n, v, dirichlet, NULL, penalty, &m->D[d]));
  }
  PetscCall(PetscFree(v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MeshDestroy(Mesh *m)
{
  PetscFunctionBeginUser;
  for (PetscInt d = 0; d < m->dim; d++) {
    PetscCall(LineDestroy(&m->C[d]));
    PetscCall(LineDestroy(&m->D[d]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the nodes of a field that the rank owns: from lo[] to hi[] - 1, x fastest; returns their number */
static PetscInt Owned(const Mesh *m, PetscInt field, PetscInt lo[3], PetscInt hi[3])
{
  PetscInt n = 1;

  for (PetscInt d = 0; d < 3; d++) {
    const Line *l = d == field ? &m->C[d] : &m->D[d];

    lo[d] = d < m->dim ? m->first[d] * l->stride : 0;
    hi[d] = d < m->dim ? (m->end[d] == l->cells ? l->n : m->end[d] * l->stride) : 1;
    n *= hi[d] - lo[d];
  }
  return n;
}

static PetscErrorCode AddLoad(const Mesh *m, Vec b)
{
  PetscReal   *C[3][FUNCTIONS], *D[3][FUNCTIONS];
  PetscScalar *a;
  PetscInt     at = 0;

  PetscFunctionBeginUser;
  for (PetscInt d = 0; d < m->dim; d++) {
    PetscCall(LineLoad(&m->C[d], C[d]));
    PetscCall(LineLoad(&m->D[d], D[d]));
  }
  PetscCall(VecGetArray(b, &a));
  for (PetscInt c = 0; c < m->dim; c++) {
    Product   f[7];
    const int nf = Force(m->dim, c, f);
    PetscInt  lo[3], hi[3], i[3];

    Owned(m, c, lo, hi);
    for (i[2] = lo[2]; i[2] < hi[2]; i[2]++)
      for (i[1] = lo[1]; i[1] < hi[1]; i[1]++)
        for (i[0] = lo[0]; i[0] < hi[0]; i[0]++, at++) {
          if (i[c] == 0 || i[c] == m->C[c].n - 1) continue;
          for (int t = 0; t < nf; t++) {
            PetscReal product = f[t].coef;

            for (PetscInt d = 0; d < m->dim; d++) product *= (d == c ? C : D)[d][f[t].function[d]][i[d]];
            a[at] += product;
          }
        }
  }
  PetscCall(VecRestoreArray(b, &a));
  for (PetscInt d = 0; d < m->dim; d++) {
    PetscCall(PetscFree6(C[d][S0], C[d][S1], C[d][S2], C[d][S3], C[d][COS], C[d][SIN]));
    PetscCall(PetscFree6(D[d][S0], D[d][S1], D[d][S2], D[d][S3], D[d][COS], D[d][SIN]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the largest |int q div u| of a basis function q of the pressure, over the volume of a cell and the largest |u|: y = A x */
static PetscErrorCode Divergence(const Mesh *m, Vec x, Vec y, PetscReal *div)
{
  const PetscScalar *a;
  PetscInt           lo[3], hi[3], n, N;
  PetscReal          norm;

  PetscFunctionBeginUser;
  *div = 0;
  n    = Owned(m, m->dim, lo, hi);
  PetscCall(VecGetLocalSize(y, &N));
  PetscCall(VecGetArrayRead(y, &a));
  for (PetscInt i = N - n; i < N; i++) *div = PetscMax(*div, PetscAbsScalar(a[i]));
  PetscCall(VecRestoreArrayRead(y, &a));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, div, 1, MPIU_REAL, MPIU_MAX, PETSC_COMM_WORLD));
  PetscCall(VecGetLocalSize(x, &N));
  PetscCall(VecGetArrayRead(x, &a));
  norm = 0;
  for (PetscInt i = 0; i < N - n; i++) norm = PetscMax(norm, PetscAbsScalar(a[i]));
  PetscCall(VecRestoreArrayRead(x, &a));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &norm, 1, MPIU_REAL, MPIU_MAX, PETSC_COMM_WORLD));
  *div *= PetscPowReal((PetscReal)m->D[0].cells, (PetscReal)m->dim) / norm;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Solve(DM dm, const Mesh *m, Mat A, Vec b, int solver, PetscReal divergence, PetscInt *its, PetscReal *nu)
{
  KSP       ksp;
  PC        pc;
  Vec       x, r;
  PetscReal r0, rn, div;

  PetscFunctionBeginUser;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOptionsPrefix(ksp, prefixes[solver]));
  PetscCall(KSPSetDM(ksp, dm));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPFGMRES));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, solver == FLOAT ? "single" : PCPATCHMG));
  PetscCall(KSPSetTolerances(ksp, 1e-8, PETSC_CURRENT, PETSC_CURRENT, 100));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, its));
  PetscCall(KSPGetResidualNorm(ksp, &rn));
  PetscCall(VecNorm(b, NORM_2, &r0));
  *nu = -8 * *its / PetscLog10Real(rn / r0);
  /* what the solver believes must be true */
  PetscCall(MatMult(A, x, r));
  PetscCall(Divergence(m, x, r, &div));
  PetscCall(VecAYPX(r, -1, b));
  PetscCall(VecNorm(r, NORM_2, &rn));
  if (!(rn <= 1.001e-8 * r0)) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "    true relative residual %g\n", (double)(rn / r0)));
  /* every correction is free of divergence, as far as patches are solved exactly, whatever the residual */
  if (!(div <= (solver == FLOAT ? 1e-6 : divergence))) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "    divergence %g\n", (double)div));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&r));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscBool Agrees(PetscInt its, PetscReal nu, PetscInt refits, PetscReal refnu)
{
  return (PetscBool)(!refits || (its == refits && PetscAbsReal(nu - refnu) <= 0.1));
}

/* Print the row of the table; or compare it, if there is a reference for it, and count */
static PetscErrorCode Row(PetscInt d, PetscInt k, PetscInt L, PetscInt N, const PetscInt its[], const PetscReal nu[], PetscBool compare,
                          PetscInt *compared, PetscInt *deviations)
{
  PetscBool print = (PetscBool)!compare;

  PetscFunctionBeginUser;
  for (size_t r = 0; r < PETSC_STATIC_ARRAY_LENGTH(reference) && compare; r++) {
    if (reference[r].d != d || reference[r].k != k || reference[r].L != L) continue;
    (*compared)++;
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%3" PetscInt_FMT " %3" PetscInt_FMT " %11" PetscInt_FMT " |", k, L, N));
    for (int s = 0; s < SOLVERS; s++) PetscCall(PetscPrintf(PETSC_COMM_WORLD, " %7" PetscInt_FMT "       |", its[s]));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "\n"));
    if (Agrees(its[EXACT], nu[EXACT], reference[r].its, reference[r].nu) &&
        Agrees(its[SINGLE], nu[SINGLE], reference[r].singleits, reference[r].singlenu) &&
        Agrees(its[FLOAT], nu[FLOAT], its[SINGLE], nu[SINGLE]))
      continue;
    (*deviations)++;
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "    DEVIATES from exact %" PetscInt_FMT " %.2f, single %" PetscInt_FMT " %.2f:\n",
                          reference[r].its, (double)reference[r].nu, reference[r].singleits, (double)reference[r].singlenu));
    print = PETSC_TRUE;
  }
  if (!print) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%3" PetscInt_FMT " %3" PetscInt_FMT " %11" PetscInt_FMT " |", k, L, N));
  for (int s = 0; s < SOLVERS; s++) PetscCall(PetscPrintf(PETSC_COMM_WORLD, " %7" PetscInt_FMT " %5.2f |", its[s], (double)nu[s]));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const char *const types[] = {"-exact_pc_mg_type", "-single_pc_mg_type", "-float_single_pc_mg_type"};
  PetscInt          dim = 2, degrees[16] = {1, 2, 3, 4}, nd = 16, levels[2] = {2, 4}, nl = 2, deviations = 0, compared = 0;
  PetscReal         max = 2.e5, divergence = 1e-13;
  PetscBool         set, compare           = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PatchFDInitializePackage());
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-dim", &dim, NULL));
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-degrees", degrees, &nd, &set));
  if (!set) nd = 4;
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-levels", levels, &nl, &set));
  PetscCheck(!set || (nl == 2 && levels[0] >= 1 && levels[0] <= levels[1]), PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT,
             "-levels takes two numbers, first and last level, 1 <= first <= last");
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-max_unknowns", &max, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-divergence", &divergence, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-reference", &compare, NULL));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-exact_mg_levels_pc_patchfd_classes", &set));
  if (!set) PetscCall(PetscOptionsSetValue(NULL, "-exact_mg_levels_pc_patchfd_classes", "exact"));
  PetscCall(PetscOptionsSetValue(NULL, "-float_single_pc_type", PCPATCHMG));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(types); i++) { /* the references have V-cycles */
    PetscCall(PetscOptionsHasName(NULL, NULL, types[i], &set));
    if (!set) PetscCall(PetscOptionsSetValue(NULL, types[i], "multiplicative"));
  }

  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  k   L    unknowns |   exact    nu |  single    nu |   float    nu |\n"));
  for (PetscInt i = 0; i < nd; i++) {
    for (PetscInt L = levels[0]; L <= levels[1]; L++) {
      const PetscInt n = (PetscInt)1 << L, cells[] = {n, n, n}, k = degrees[i];
      DM             dm;
      Mat            A;
      Vec            b;
      Mesh           mesh;
      PetscInt       N, its[SOLVERS];
      PetscReal      nu[SOLVERS];

      if ((dim + 1) * PetscPowReal((PetscReal)((k + 1) * n), (PetscReal)dim) > max) continue;
      PetscCall(DMBoxCreate(PETSC_COMM_WORLD, dim, cells, k, &dm));
      PetscCall(DMBoxSetSpace(dm, DMBOX_SPACE_RT));
      PetscCall(DMBoxSetOperator(dm, "stokes"));
      PetscCall(DMSetFromOptions(dm));
      PetscCall(DMSetUp(dm));
      PetscCall(DMCreateMatrix(dm, &A));
      PetscCall(DMCreateGlobalVector(dm, &b));
      PetscCall(MeshCreate(dm, dim, k, n, &mesh));
      PetscCall(AddLoad(&mesh, b));
      PetscCall(VecGetSize(b, &N));
      for (int s = 0; s < SOLVERS; s++) PetscCall(Solve(dm, &mesh, A, b, s, divergence, &its[s], &nu[s]));
      PetscCall(Row(dim, k, L, N, its, nu, compare, &compared, &deviations));
      PetscCall(MeshDestroy(&mesh));
      PetscCall(VecDestroy(&b));
      PetscCall(MatDestroy(&A));
      PetscCall(DMDestroy(&dm));
    }
  }
  if (compare)
    PetscCall(
      PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " compared with the reference, %" PetscInt_FMT " deviate\n", compared, deviations));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
     args: -reference
     test:
       suffix: 2d
       args: -levels 2,5 -degrees 1,2,3,4,5,6 -max_unknowns 8000
     test:
       suffix: 3d
       args: -dim 3 -levels 2,3 -degrees 1,2,3 -max_unknowns 20000
     test:
       suffix: ranks
       nsize: {{2 3 4}}
       output_file: output/stokesiterations_ranks.out
       args: -levels 3,4 -degrees 1,2 -max_unknowns 4000
     test:
       suffix: ranks_3d
       nsize: {{2 4 8}}
       output_file: output/stokesiterations_ranks_3d.out
       args: -dim 3 -levels 2,2 -degrees 1
     # twice as many colours, and pressures by iterations: nearly the same
     test:
       suffix: fused
       args: -levels 4,4 -degrees 1,2,3 -max_unknowns 20000 -exact_mg_levels_pc_patchfd_variant fused
     test:
       suffix: schur
       args: -levels 3,4 -degrees 1,2,3,4 -max_unknowns 8000 -exact_mg_levels_pc_patchfd_local schur -single_mg_levels_pc_patchfd_local schur -float_single_mg_levels_pc_patchfd_local schur -divergence 1e-6

TEST*/
