static char help[] = "PCPATCHFD on assembled matrices of a DMDA (PCPatchFDSetBrickSize()).\n\
  -test step       : a smoothing step against one with dense matrices, made here from the definition\n\
  -test iterations : nu = -9 / log10(mean reduction of the residual an iteration) of FGMRES with V-cycles\n\
  -test table      : compares these with the values of a reference implementation\n\
  -test update     : the transpose, and a matrix that changes\n\
  -test errors     : bad input\n\
  -test failure    : matrices that bricks cannot have, and those that they can\n\
  -problem <name:number>, -n, -size, -dim : of the iterations\n\n";

#include <petscpatchfd.h>
#include <lapacke.h>
#include "bricks.h"
#include "catch.h"

/* ---- a step with dense matrices, on all unknowns numbered with x fastest ---- */

static PetscReal Noise(PetscInt i)
{
  return PetscSinReal(1.7 * (PetscReal)i + 0.3 * (PetscReal)(i % 7));
}

static PetscBool IsAlone(const Problem *p, const PetscInt at[3])
{
  Stencil w;

  Row(p, at, w);
  for (PetscInt i = 0; i < 27; i++)
    if (i != 13 && w[i / 9][i / 3 % 3][i % 3] != 0) return PETSC_FALSE;
  return PETSC_TRUE;
}

static PetscReal Residual(const Problem *p, const PetscInt at[3], const PetscReal x[])
{
  PetscReal r = Noise(Number(p, at) + 5);
  Stencil   w;

  Row(p, at, w);
  for (PetscInt i = 0; i < 27; i++) {
    const PetscInt to[] = {at[0] + i % 3 - 1, at[1] + i / 3 % 3 - 1, at[2] + i / 9 - 1};

    if (w[i / 9][i / 3 % 3][i % 3] != 0) r -= w[i / 9][i / 3 % 3][i % 3] * x[Number(p, to)];
  }
  return r;
}

/* couplings to the planes before and after; what the sum of the row has is shared by those that are missing */
static void Couplings(const Problem *p, const PetscInt at[3], PetscReal c[3][2])
{
  PetscReal rest = 0, want = 0;
  Stencil   w;

  Row(p, at, w);
  for (PetscInt d = 0; d < 3; d++) c[d][0] = c[d][1] = 0;
  for (PetscInt i = 0; i < 27; i++) {
    const PetscInt  o[]   = {i % 3 - 1, i / 3 % 3 - 1, i / 9 - 1};
    const PetscReal entry = w[i / 9][i / 3 % 3][i % 3];

    rest += entry;
    for (PetscInt d = 0; d < 3; d++)
      if (o[d]) c[d][o[d] > 0] -= entry;
  }
  for (PetscInt d = 0; d < p->dim; d++) want += c[d][0] > 0 && c[d][1] > 0 ? 0 : c[d][0] + c[d][1];
  for (PetscInt d = 0; d < p->dim && want > 0; d++) {
    const PetscReal part = PetscMax(0, PetscMin(1, rest / want)), before = c[d][0], after = c[d][1];

    if (before == 0) c[d][0] = part * after;
    if (after == 0) c[d][1] = part * before;
  }
}

typedef struct {
  PetscInt  m[3], first[3], size;
  PetscBool in[4096];
  PetscReal A[3][16][16], M[3][16]; /* of a direction */
} Brick;

static void BrickUnknown(const Brick *b, PetscInt i, PetscInt at[3])
{
  at[0] = b->first[0] + i % b->m[0];
  at[1] = b->first[1] + i / b->m[0] % b->m[1];
  at[2] = b->first[2] + i / b->m[0] / b->m[1];
}

/* one-dimensional matrices by the definition, with logarithms */
static void BrickLines(const Problem *p, Brick *b)
{
  PetscReal log1[3][16][2] = {{{0}}}, mean[3][3][16] = {{{0}}}, total[3] = {0}, cells[3] = {0};
  PetscInt  count[3][16] = {{0}}, some[3][16][2] = {{{0}}}, of[3][3][16] = {{{0}}};

  for (PetscInt i = 0; i < b->size; i++) {
    PetscReal c[3][2];
    PetscInt  at[3];

    BrickUnknown(b, i, at);
    if (!b->in[i]) continue;
    Couplings(p, at, c);
    for (PetscInt d = 0; d < p->dim; d++) {
      const PetscInt  q    = at[d] - b->first[d];
      const PetscReal cell = c[d][0] > 0 && c[d][1] > 0 ? 0.5 * (c[d][0] + c[d][1]) : c[d][0] + c[d][1];

      count[d][q]++;
      for (PetscInt s = 0; s < 2; s++) {
        if (c[d][s] <= 0) continue;
        log1[d][q][s] += PetscLogReal(c[d][s]);
        some[d][q][s]++;
      }
      if (cell <= 0) continue;
      total[d] += PetscLogReal(cell);
      cells[d]++;
      for (PetscInt e = 0; e < p->dim; e++) {
        mean[d][e][at[e] - b->first[e]] += PetscLogReal(cell);
        of[d][e][at[e] - b->first[e]]++;
      }
    }
  }
  for (PetscInt d = 0; d < 3; d++) {
    for (PetscInt q = 0; q < b->m[d]; q++) {
      PetscReal c[2] = {0, 0};

      for (PetscInt s = 0; s < 2; s++)
        if (some[d][q][s])
          c[s] = PetscExpReal(log1[d][q][s] / (PetscReal)some[d][q][s]) * (PetscReal)some[d][q][s] / (PetscReal)count[d][q];
      b->A[d][q][q] = d >= p->dim ? 0 : (count[d][q] ? c[0] + c[1] : 1);
      if (q + 1 < b->m[d]) b->A[d][q][q + 1] = b->A[d][q + 1][q] = count[d][q] && count[d][q + 1] ? -c[1] : 0;
      b->M[d][q] = 0;
      for (PetscInt e = 0; e < p->dim; e++)
        if (e != d && of[e][d][q]) b->M[d][q] += (mean[e][d][q] / (PetscReal)of[e][d][q] - total[e] / cells[e]) / (PetscReal)(p->dim - 1);
      b->M[d][q] = PetscExpReal(b->M[d][q]);
    }
  }
}

/* z = C T^{-1} C r, T the Kronecker sum and C its scaling to the diagonal of the matrix */
static PetscErrorCode BrickSolve(const Problem *p, const Brick *b, PetscReal r[])
{
  const PetscInt n = b->size;
  PetscReal     *T, *C;

  PetscFunctionBeginUser;
  PetscCall(PetscCalloc2(n * n, &T, n, &C));
  for (PetscInt i = 0; i < n; i++) {
    PetscInt at[3];
    Stencil  w;

    BrickUnknown(b, i, at);
    for (PetscInt j = 0; j < n; j++) {
      PetscInt to[3];

      BrickUnknown(b, j, to);
      for (PetscInt d = 0; d < 3; d++) {
        PetscReal product = 1;

        for (PetscInt e = 0; e < 3; e++) {
          const PetscInt x = at[e] - b->first[e], y = to[e] - b->first[e];

          product *= e == d ? (PetscAbsInt(x - y) <= 1 ? b->A[e][x][y] : 0) : (x == y ? b->M[e][x] : 0);
        }
        T[i * n + j] += product;
      }
    }
    if (!b->in[i]) continue;
    Row(p, at, w);
    C[i] = PetscSqrtReal(T[i * n + i] / w[1][1][1]);
  }
  for (PetscInt i = 0; i < n; i++) r[i] *= C[i];
  PetscCheck(LAPACKE_dposv(LAPACK_ROW_MAJOR, 'U', (lapack_int)n, 1, T, (lapack_int)n, r, 1) == 0, PETSC_COMM_SELF, PETSC_ERR_LIB, "dposv");
  for (PetscInt i = 0; i < n; i++) r[i] *= C[i];
  PetscCall(PetscFree2(T, C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* x += the corrections of all bricks of a colour, from the residual of x, or of `from` */
static PetscErrorCode DenseColor(const Problem *p, PetscInt size, PetscInt color, PetscReal omega, const PetscReal from[], PetscReal x[])
{
  PetscInt   lo[3], hi[3], m[3], number[3];
  Brick     *b;
  PetscReal *r;

  PetscFunctionBeginUser;
  PetscCall(PetscNew(&b));
  PetscCall(PetscMalloc1(4096, &r));
  for (PetscInt d = 0; d < 3; d++) {
    lo[d] = d < p->dim && p->kind == IDENTITY ? 1 : 0;
    hi[d] = p->n[d] - lo[d];
    m[d]  = d < p->dim ? PetscMin(size, hi[d] - lo[d]) : 1;
  }
  for (number[2] = 0; lo[2] + number[2] * m[2] < hi[2]; number[2]++) {
    for (number[1] = 0; lo[1] + number[1] * m[1] < hi[1]; number[1]++) {
      for (number[0] = 0; lo[0] + number[0] * m[0] < hi[0]; number[0]++) {
        PetscInt at[3];

        if (color !=
            (p->kind == CORNERS ? number[0] % 2 + 2 * (number[1] % 2) + 4 * (number[2] % 2) : (number[0] + number[1] + number[2]) % 2))
          continue;
        b->size = m[0] * m[1] * m[2];
        for (PetscInt d = 0; d < 3; d++) {
          b->m[d]     = m[d];
          b->first[d] = lo[d] + number[d] * m[d];
        }
        for (PetscInt i = 0; i < b->size; i++) {
          BrickUnknown(b, i, at);
          b->in[i] = (PetscBool)(at[0] < hi[0] && at[1] < hi[1] && at[2] < hi[2] && !IsAlone(p, at));
          r[i]     = b->in[i] ? Residual(p, at, from) : 0;
        }
        BrickLines(p, b);
        PetscCall(BrickSolve(p, b, r));
        for (PetscInt i = 0; i < b->size; i++) {
          BrickUnknown(b, i, at);
          if (b->in[i]) x[Number(p, at)] += omega * r[i];
        }
      }
    }
  }
  PetscCall(PetscFree(b));
  PetscCall(PetscFree(r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DenseStep(const Problem *p, PetscInt size, PCPatchFDType type, PCPatchFDOrder order, PetscReal omega, PetscReal x[])
{
  const PetscInt N = p->n[0] * p->n[1] * p->n[2], ncolor = p->kind == CORNERS ? 1 << p->dim : 2,
                 n = order == PC_PATCHFD_ORDER_SYMMETRIC ? 2 * ncolor - 1 : ncolor;
  PetscReal *from;
  PetscInt   at[3];

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(N, &from));
  PetscCall(PetscArraycpy(from, x, N));
  for (at[2] = 0; at[2] < p->n[2]; at[2]++)
    for (at[1] = 0; at[1] < p->n[1]; at[1]++)
      for (at[0] = 0; at[0] < p->n[0]; at[0]++)
        if (IsAlone(p, at)) x[Number(p, at)] = Noise(Number(p, at) + 5) / 2;
  for (PetscInt i = 0; i < n; i++) {
    PetscInt c = order == PC_PATCHFD_ORDER_BACKWARD ? n - 1 - i : i;

    if (c >= ncolor) c = n - 1 - c;
    PetscCall(DenseColor(p, size, c, omega, type == PC_PATCHFD_TYPE_ADDITIVE ? from : x, x));
  }
  PetscCall(PetscFree(from));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* v[unknown] from or to a Vec of the DMDA */
static PetscErrorCode Move(const Problem *p, DM da, PetscBool to, PetscReal v[], Vec x)
{
  PetscInt     lo[3], n[3], at[3], i = 0;
  PetscScalar *a;

  PetscFunctionBeginUser;
  PetscCall(DMDAGetCorners(da, &lo[0], &lo[1], &lo[2], &n[0], &n[1], &n[2]));
  PetscCall(VecGetArray(x, &a));
  for (at[2] = lo[2]; at[2] < lo[2] + n[2]; at[2]++)
    for (at[1] = lo[1]; at[1] < lo[1] + n[1]; at[1]++)
      for (at[0] = lo[0]; at[0] < lo[0] + n[0]; at[0]++, i++) {
        if (to) a[i] = v[Number(p, at)];
        else v[Number(p, at)] = PetscRealPart(a[i]);
      }
  PetscCall(VecRestoreArray(x, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* a Richardson step on a given or zero guess */
static PetscErrorCode TestStep(const Problem *p, PetscInt size, PCPatchFDType type, PCPatchFDOrder order, PetscBool zero)
{
  const PetscInt N = p->n[0] * p->n[1] * p->n[2];
  DM             da;
  Mat            A;
  Vec            b, x, y;
  KSP            ksp;
  PC             pc;
  PetscReal     *v, omega, error, norm;

  PetscFunctionBeginUser;
  PetscCall(CreateDMDA(p, 1, 1, DM_BOUNDARY_NONE, &da));
  PetscCall(CreateMatrix(p, da, &A));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPRICHARDSON));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_NONE));
  PetscCall(KSPSetTolerances(ksp, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT, 1));
  PetscCall(KSPSetInitialGuessNonzero(ksp, (PetscBool)!zero));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCPATCHFD));
  PetscCall(PCPatchFDSetType(pc, type));
  PetscCall(PCPatchFDSetOrder(pc, order));
  PetscCall(PCPatchFDSetBrickSize(pc, size));
  PetscCall(PCPatchFDSetFitSteps(pc, 1, 0.7, 1.8, 0));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSetUp(ksp));
  PetscCall(PCPatchFDGetDamping(pc, &omega));
  PetscCall(DMCreateGlobalVector(da, &b));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(VecDuplicate(b, &y));
  PetscCall(PetscMalloc1(N, &v));
  for (PetscInt i = 0; i < N; i++) v[i] = Noise(i + 5);
  PetscCall(Move(p, da, PETSC_TRUE, v, b));
  for (PetscInt i = 0; i < N; i++) v[i] = zero ? 0 : Noise(3 * i);
  PetscCall(Move(p, da, PETSC_TRUE, v, x));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(DenseStep(p, size, type, order, omega, v));
  PetscCall(Move(p, da, PETSC_TRUE, v, y));
  PetscCall(VecNorm(y, NORM_2, &norm));
  PetscCall(VecAXPY(y, -1, x));
  PetscCall(VecNorm(y, NORM_2, &error));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                        "%s %" PetscInt_FMT "D %" PetscInt_FMT " x %" PetscInt_FMT " x %" PetscInt_FMT ", bricks of %" PetscInt_FMT
                        ", %s, %s, %s guess: %s\n",
                        kinds[p->kind], p->dim, p->n[0], p->n[1], p->n[2], size, PCPatchFDTypes[type], PCPatchFDOrders[order],
                        zero ? "zero" : "given", error <= 1e-11 * norm ? "ok" : "WRONG"));
  if (!(error <= 1e-11 * norm)) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  error %g of %g\n", (double)error, (double)norm));
  PetscCall(PetscFree(v));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestSteps(void)
{
  const Problem all[] = {
    {"contrast", 100, DIRICHLET, 3, {11, 9, 7}}, {"smooth", 0.9, DIRICHLET, 2, {19, 13, 1}}, {"check", 5, IDENTITY, 3, {8, 11, 9}},
    {"contrast", 10, IDENTITY, 2, {14, 9, 1}},   {"graded", 10, NEUMANN, 3, {9, 10, 8}},     {"contrast", 10, NEUMANN, 1, {29, 1, 1}},
    {"const", 1, CORNERS, 3, {9, 8, 11}},        {"const", 1, CORNERS, 2, {13, 17, 1}},
  };

  PetscFunctionBeginUser;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(all); i++) {
    const PetscInt size = i % 3 == 2 ? 3 : 4;

    PetscCall(TestStep(&all[i], size, PC_PATCHFD_TYPE_MULTIPLICATIVE, PC_PATCHFD_ORDER_FORWARD, PETSC_FALSE));
    PetscCall(TestStep(&all[i], size, PC_PATCHFD_TYPE_MULTIPLICATIVE, PC_PATCHFD_ORDER_BACKWARD, PETSC_TRUE));
    PetscCall(TestStep(&all[i], 8, PC_PATCHFD_TYPE_MULTIPLICATIVE, PC_PATCHFD_ORDER_SYMMETRIC, PETSC_TRUE));
    PetscCall(TestStep(&all[i], 1, PC_PATCHFD_TYPE_MULTIPLICATIVE, PC_PATCHFD_ORDER_FORWARD, PETSC_FALSE));
    PetscCall(TestStep(&all[i], size, PC_PATCHFD_TYPE_ADDITIVE, PC_PATCHFD_ORDER_FORWARD, PETSC_FALSE));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- iterations ---- */

/* V(1,1) under FGMRES to 1e-9, the coarsest level exact; -1 if 40 iterations are not enough */
static PetscErrorCode Iterations(const Problem *p, PetscInt size, PetscReal *nu)
{
  char               options[256];
  KSP                ksp;
  Vec                b, x;
  PetscReal          rn, r0;
  PetscInt           its;
  KSPConvergedReason reason;

  PetscFunctionBeginUser;
  PetscCall(PetscSNPrintf(options, sizeof(options),
                          "-ksp_rtol 1e-9 -ksp_max_it 40 -mg_levels_ksp_type richardson -mg_levels_ksp_max_it 1 -mg_levels_pc_type patchfd "
                          "-mg_levels_pc_patchfd_brick_size %" PetscInt_FMT,
                          size));
  PetscCall(PetscOptionsInsertString(NULL, options));
  PetscCall(CreateHierarchy(p, NULL, &ksp, &b, &x));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(VecNorm(b, NORM_2, &r0));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(KSPGetResidualNorm(ksp, &rn));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  *nu = reason > 0 ? -9 * (PetscReal)its / PetscLog10Real(rn / r0) : -1;
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestIterations(void)
{
  Problem   p        = {"const", 1, DIRICHLET, 3, {31, 31, 31}};
  char      name[64] = "const:1", *colon;
  PetscInt  size     = 4;
  PetscReal nu;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsGetString(NULL, NULL, "-problem", name, sizeof(name), NULL));
  colon = strchr(name, ':');
  if (colon) {
    *colon  = 0;
    p.value = atof(colon + 1);
  }
  PetscCall(PetscStrncpy(p.name, name, sizeof(p.name)));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-dim", &p.dim, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &p.n[0], NULL));
  for (PetscInt d = 1; d < 3; d++) p.n[d] = d < p.dim ? p.n[0] : 1;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-size", &size, NULL));
  PetscCall(Iterations(&p, size, &nu));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                        "%s:%g, %" PetscInt_FMT "D, %" PetscInt_FMT " unknowns in a direction, bricks of %" PetscInt_FMT ": nu %.2f\n",
                        p.name, (double)p.value, p.dim, p.n[0], size, (double)nu));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  31^3 unknowns; -1: more than 40 iterations.  The reference takes the couplings to boundary values for those on the other side of an
  unknown, and so needs 8.65 for the contrast of 1e4 with bricks of 4; here they are read off the sum of the row
*/
static PetscErrorCode TestTable(void)
{
  const struct {
    Problem   p;
    PetscReal nu[2]; /* bricks of 4 and of 8 */
  } table[] = {
    {{"const", 1, DIRICHLET, 3, {31, 31, 31}}, {5.94, 5.49}},      {{"smooth", 0.9, DIRICHLET, 3, {31, 31, 31}}, {6.02, 5.68}},
    {{"contrast", 1e4, DIRICHLET, 3, {31, 31, 31}}, {8.10, 7.27}}, {{"check", 1e3, DIRICHLET, 3, {31, 31, 31}}, {20.89, 15.52}},
    {{"sphere", 1e3, DIRICHLET, 3, {31, 31, 31}}, {-1, -1}},       {{"aniso", 10, DIRICHLET, 3, {31, 31, 31}}, {9.28, 7.86}},
    {{"aniso", 100, DIRICHLET, 3, {31, 31, 31}}, {21.74, 16.32}},  {{"graded", 10, DIRICHLET, 3, {31, 31, 31}}, {8.82, 7.56}},
    {{"graded", 100, DIRICHLET, 3, {31, 31, 31}}, {13.43, 10.59}},
  };

  PetscFunctionBeginUser;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(table); i++) {
    for (PetscInt s = 0; s < 2; s++) {
      const PetscReal expected = table[i].nu[s], tolerance = expected > 10 ? 0.02 * expected : 0.1;
      PetscReal       nu = 0;
      PetscBool       ok;

      PetscCall(Iterations(&table[i].p, s ? 8 : 4, &nu));
      ok = (PetscBool)(expected < 0 ? nu < 0 : nu > 0 && PetscAbsReal(nu - expected) <= tolerance + 0.005);
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s:%g, bricks of %d: %s\n", table[i].p.name, (double)table[i].p.value, s ? 8 : 4,
                            ok ? "ok" : "WRONG"));
      if (!ok) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  nu %.2f, expected %.2f\n", (double)nu, (double)expected));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- bad input ---- */

/* what PCSetUp() says of a matrix with these settings */
static PetscErrorCode Report(const char *what, Mat A, DM dm, PetscErrorCode (*set)(PC))
{
  PC             pc;
  PetscErrorCode ierr;

  PetscFunctionBeginUser;
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetOperators(pc, A, A));
  if (dm) PetscCall(PCSetDM(pc, dm));
  PetscCall(PCSetType(pc, PCPATCHFD));
  if (set) PetscCall((*set)(pc));
  CATCH(ierr, PCSetUp(pc));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %s\n  %s\n", what, ierr ? "refused" : "ACCEPTED", ierr ? lastmessage : ""));
  PetscCall(PCDestroy(&pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetCell(PC pc)
{
  PetscFunctionBeginUser;
  PetscCall(PCPatchFDSetPatch(pc, PC_PATCHFD_PATCH_CELL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetShared(PC pc)
{
  PetscFunctionBeginUser;
  PetscCall(PCPatchFDSetFit(pc, PC_PATCHFD_FIT_SHARED));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetSeparate(PC pc)
{
  PetscFunctionBeginUser;
  PetscCall(PCPatchFDSetVariant(pc, PC_PATCHFD_VARIANT_SEPARATE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetBackwardSum(PC pc)
{
  PetscFunctionBeginUser;
  PetscCall(PCPatchFDSetType(pc, PC_PATCHFD_TYPE_ADDITIVE));
  PetscCall(PCPatchFDSetOrder(pc, PC_PATCHFD_ORDER_BACKWARD));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetSize(PC pc)
{
  PetscFunctionBeginUser;
  PetscCall(PCPatchFDSetBrickSize(pc, 4));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DMDAs that are none for bricks, with matrices that hold the identity */
static PetscErrorCode ReportDMDA(const char *what, const Problem *p, PetscInt dof, DMBoundaryType boundary)
{
  DM  da;
  Mat A;

  PetscFunctionBeginUser;
  PetscCall(CreateDMDA(p, dof, 1, boundary, &da));
  PetscCall(DMCreateMatrix(da, &A));
  PetscCall(MatShift(A, 1));
  PetscCall(Report(what, A, NULL, NULL));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* a multiple of the identity, as an assembled matrix */
static PetscErrorCode CreateIdentity(PetscInt n, PetscInt N, PetscReal value, Mat *B)
{
  PetscInt first, end;

  PetscFunctionBeginUser;
  PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, n, n, N, N, 1, NULL, 0, NULL, B));
  PetscCall(MatGetOwnershipRange(*B, &first, &end));
  for (PetscInt i = first; i < end; i++) PetscCall(MatSetValue(*B, i, i, value, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(*B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*B, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ReportMatrices(const Problem *p, DM da, Mat A)
{
  const MPI_Comm comm = PETSC_COMM_WORLD;
  PetscInt       n, N, first, two = 2;
  Problem        wider = *p;
  DM             wide;
  Mat            B;

  PetscFunctionBeginUser;
  PetscCall(MatGetLocalSize(A, &n, NULL));
  PetscCall(MatGetSize(A, &N, NULL));
  PetscCall(CreateIdentity(n, N, 1, &B));
  PetscCall(Report("no DM", B, NULL, NULL));
  PetscCall(MatDestroy(&B));
  PetscCall(MatCreateShell(comm, n, n, N, N, NULL, &B));
  PetscCall(Report("no rows", B, da, NULL));
  PetscCall(MatDestroy(&B));
  PetscCall(CreateIdentity(PETSC_DECIDE, N + 1, 1, &B));
  PetscCall(Report("size", B, da, NULL));
  PetscCall(MatDestroy(&B));
  PetscCall(CreateDMDA(&wider, 1, 2, DM_BOUNDARY_NONE, &wide));
  PetscCall(DMCreateMatrix(wide, &B));
  PetscCall(MatShift(B, 1));
  PetscCall(MatGetOwnershipRange(B, &first, NULL));
  if (!first) PetscCall(MatSetValue(B, 0, two, -0.5, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(B, MAT_FINAL_ASSEMBLY));
  PetscCall(Report("wide stencil", B, NULL, NULL));
  PetscCall(MatDestroy(&B));
  PetscCall(DMDestroy(&wide));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestErrors(void)
{
  const PetscInt cells[] = {4, 4};
  Problem        p       = {"smooth", 0.5, DIRICHLET, 2, {9, 7, 1}};
  DM             da, box;
  Mat            A;
  Vec            b, x;
  PC             pc;
  PetscErrorCode ierr;

  PetscFunctionBeginUser;
  PetscCall(CreateDMDA(&p, 1, 1, DM_BOUNDARY_NONE, &da));
  PetscCall(CreateMatrix(&p, da, &A));
  PetscCall(Report("patch", A, NULL, SetCell));
  PetscCall(Report("fit", A, NULL, SetShared));
  PetscCall(Report("variant", A, NULL, SetSeparate));
  PetscCall(Report("additive order", A, NULL, SetBackwardSum));
  PetscCall(ReportDMDA("dof", &p, 2, DM_BOUNDARY_NONE));
  PetscCall(ReportDMDA("periodic", &p, 1, DM_BOUNDARY_PERIODIC));
  PetscCall(ReportMatrices(&p, da, A));
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetType(pc, PCPATCHFD));
  CATCH(ierr, PCPatchFDSetBrickSize(pc, 0));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "size 0: %s\n  %s\n", ierr ? "refused" : "ACCEPTED", lastmessage));
  CATCH(ierr, PCPatchFDSetBrickSize(pc, 17));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "size 17: %s\n  %s\n", ierr ? "refused" : "ACCEPTED", lastmessage));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 1));
  CATCH(ierr, PCApplyTranspose(pc, b, x));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "transpose: %s\n  %s\n", ierr ? "refused" : "ACCEPTED", lastmessage));
  PetscCall(PCDestroy(&pc));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscCall(DMBoxCreate(PETSC_COMM_WORLD, 2, cells, 1, &box));
  PetscCall(DMSetUp(box));
  PetscCall(DMCreateMatrix(box, &A));
  PetscCall(Report("bricks of a DMBOX", A, NULL, SetSize));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&box));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the transpose of a step where the matrix is known to be symmetric, and operators that change */
static PetscErrorCode TestUpdate(void)
{
  Problem   p = {"contrast", 50, DIRICHLET, 2, {17, 15, 1}};
  DM        da;
  Mat       A;
  Vec       b, c, x, y;
  PC        pc;
  PetscReal forward, backward, norm, error;
  PetscInt  size;

  PetscFunctionBeginUser;
  PetscCall(CreateDMDA(&p, 1, 1, DM_BOUNDARY_NONE, &da));
  PetscCall(CreateMatrix(&p, da, &A));
  PetscCall(MatSetOption(A, MAT_SYMMETRIC, PETSC_TRUE));
  PetscCall(MatCreateVecs(A, &b, &c));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(VecDuplicate(b, &y));
  PetscCall(VecSetRandom(b, NULL));
  PetscCall(VecSetRandom(c, NULL));
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(PCSetType(pc, PCPATCHFD));
  PetscCall(PCPatchFDSetBrickSize(pc, 5));
  PetscCall(PCPatchFDGetBrickSize(pc, &size));
  PetscCall(PCApply(pc, b, x));
  PetscCall(PCApplyTranspose(pc, c, y));
  PetscCall(VecDot(x, c, &forward));
  PetscCall(VecDot(y, b, &backward));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "bricks of %" PetscInt_FMT ", transpose: %s\n", size,
                        PetscAbsReal(forward - backward) <= 1e-12 * PetscAbsReal(forward) ? "ok" : "WRONG"));
  PetscCall(MatScale(A, 4));
  PetscCall(PCApply(pc, b, y));
  PetscCall(VecAXPY(y, -0.25, x));
  PetscCall(VecNorm(x, NORM_2, &norm));
  PetscCall(VecNorm(y, NORM_2, &error));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "scaled matrix: %s\n", error <= 1e-12 * norm ? "ok" : "WRONG"));
  PetscCall(PCDestroy(&pc));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&c));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* numbers of A at the same places: those of one row, or all */
typedef enum {
  SAME,
  NEGATIVE,   /* a diagonal entry */
  NONFINITE,  /* an entry */
  INDEFINITE, /* bricks with positive diagonals */
  POSITIVE,   /* couplings: the matrix has the same eigenvalues, since couplings go from red to black unknowns */
  BALANCED,   /* rows whose sum is zero */
  NUM_CHANGES
} Change;

static PetscErrorCode ChangeMatrix(Mat A, Change change, Mat B)
{
  PetscInt first, end, N;
  Vec      one, sum;

  PetscFunctionBeginUser;
  PetscCall(MatCopy(A, B, SAME_NONZERO_PATTERN));
  PetscCall(MatGetOwnershipRange(A, &first, &end));
  PetscCall(MatGetSize(A, &N, NULL));
  if (change == INDEFINITE) PetscCall(MatShift(B, -3));
  for (PetscInt i = first; i < end && change == POSITIVE; i++) {
    const PetscInt    *column;
    const PetscScalar *value;
    PetscInt           n;

    PetscCall(MatGetRow(A, i, &n, &column, &value));
    for (PetscInt t = 0; t < n; t++) PetscCall(MatSetValue(B, i, column[t], PetscAbsScalar(value[t]), INSERT_VALUES));
    PetscCall(MatRestoreRow(A, i, &n, &column, &value));
  }
  if (end == N && (change == NEGATIVE || change == NONFINITE)) /* a row of one rank, of which all must hear */
    PetscCall(MatSetValue(B, N - 1, N - 1 - (change == NONFINITE), change == NEGATIVE ? -1 : NAN, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(B, MAT_FINAL_ASSEMBLY));
  if (change != BALANCED) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatCreateVecs(A, &one, &sum));
  PetscCall(VecSet(one, -1));
  PetscCall(MatMult(A, one, sum));
  PetscCall(MatDiagonalSet(B, sum, ADD_VALUES));
  PetscCall(VecDestroy(&one));
  PetscCall(VecDestroy(&sum));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* one solver for all: one that has failed goes on with the next matrix.  On one rank there is a brick of all unknowns */
static PetscErrorCode TestFailure(void)
{
  const char *const names[NUM_CHANGES] = {"as it is", "negative diagonal", "not finite", "indefinite", "positive couplings", "singular"};
  Problem           p                  = {"smooth", 0.5, DIRICHLET, 2, {14, 12, 1}};
  DM                da;
  Mat               A, B;
  Vec               b, x, r;
  KSP               ksp;
  PC                pc;
  MatNullSpace      constants;
  PetscErrorCode    ierr;

  PetscFunctionBeginUser;
  PetscCall(CreateDMDA(&p, 1, 1, DM_BOUNDARY_NONE, &da));
  PetscCall(CreateMatrix(&p, da, &A));
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &B));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, B, B));
  PetscCall(KSPSetTolerances(ksp, 1e-8, PETSC_CURRENT, PETSC_CURRENT, 60));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCPATCHFD));
  PetscCall(PCPatchFDSetBrickSize(pc, 16));
  PetscCall(KSPSetFromOptions(ksp));
  for (PetscInt i = 0; i <= 2 * NUM_CHANGES; i++) {
    const Change       change = i % 2 ? (Change)(i / 2) : SAME;
    KSPConvergedReason reason;
    PetscReal          norm;

    PetscCall(ChangeMatrix(A, change, B));
    PetscCall(VecSetRandom(b, NULL));
    PetscCall(MatNullSpaceCreate(PETSC_COMM_WORLD, PETSC_TRUE, 0, NULL, &constants));
    PetscCall(MatSetNullSpace(B, change == BALANCED ? constants : NULL));
    if (change == BALANCED) PetscCall(MatNullSpaceRemove(constants, b));
    PetscCall(MatNullSpaceDestroy(&constants));
    if (PETSC_VERSION_LT(3, 26, 0)) PetscCall(KSPSetOperators(ksp, B, B)); /* it looks for changes in matrices only then */
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(MatResidual(B, b, x, r));
    PetscCall(VecNorm(r, NORM_2, &norm));
    if (i % 2)
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %s%s\n", names[change], KSPConvergedReasons[reason],
                            reason > 0 && !(norm < 1e-5) ? ", WRONG" : ""));
    else if (reason <= 0 || !(norm < 1e-5))
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "then as it is: %s, residual %g\n", KSPConvergedReasons[reason], (double)norm));
  }
  PetscCall(ChangeMatrix(A, INDEFINITE, B));
  if (PETSC_VERSION_LT(3, 26, 0)) PetscCall(KSPSetOperators(ksp, B, B));
  PetscCall(KSPSetErrorIfNotConverged(ksp, PETSC_TRUE));
  CATCH(ierr, KSPSetUp(ksp));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "-ksp_error_if_not_converged: %s\n  %s\n", ierr ? "refused" : "ACCEPTED", lastmessage));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&r));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char test[32] = "step";

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PatchFDInitializePackage());
  PetscCall(PetscOptionsGetString(NULL, NULL, "-test", test, sizeof(test), NULL));
  if (!strcmp(test, "step")) PetscCall(TestSteps());
  else if (!strcmp(test, "iterations")) PetscCall(TestIterations());
  else if (!strcmp(test, "table")) PetscCall(TestTable());
  else if (!strcmp(test, "update")) PetscCall(TestUpdate());
  else if (!strcmp(test, "errors")) PetscCall(TestErrors());
  else if (!strcmp(test, "failure")) PetscCall(TestFailure());
  else SETERRQ(PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-test %s does not exist", test);
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   test:
     suffix: step
     nsize: {{1 2 3 4}}
     output_file: output/bricks_step.out
     args: -test step -malloc_dump 0

   test:
     suffix: table
     args: -test table

   test:
     suffix: iterations
     nsize: {{1 4}}
     output_file: output/bricks_iterations.out
     args: -test iterations -problem contrast:1e4 -dim 2 -n 63 -size 8

   test:
     suffix: update
     nsize: {{1 3}}
     output_file: output/bricks_update.out
     args: -test update

   test:
     suffix: errors
     nsize: {{1 2}}
     output_file: output/bricks_errors.out
     args: -test errors
     filter: sed -e "s/type seqaij/type aij/" -e "s/type mpiaij/type aij/"

   test:
     suffix: failure
     nsize: {{1 3}}
     output_file: output/bricks_failure.out
     args: -test failure

TEST*/
