#pragma once
/* Model problems on lattices, assembled in matrices of a DMDA: finite volumes for -div(K grad u) = 1 with coefficients that vary, and
   finite elements */
#include <petscdmda.h>
#include <petscksp.h>

/* ---- rows, as stencils w[dz + 1][dy + 1][dx + 1] ---- */

typedef enum {
  DIRICHLET, /* boundary values are eliminated */
  IDENTITY,  /* boundary unknowns have rows of their own, without couplings, and others are coupled to them */
  NEUMANN,   /* and a reaction */
  CORNERS,   /* finite elements: rows of 3^dim entries */
  NUM_KINDS
} Kind;
static const char *const kinds[] = {"dirichlet", "identity", "neumann", "corners", "Kind", "", NULL};

typedef struct {
  char      name[32];
  PetscReal value;
  Kind      kind;
  PetscInt  dim, n[3];
} Problem;

typedef PetscReal Stencil[3][3][3];

static PetscReal Coefficient(const Problem *p, const PetscReal x[3])
{
  PetscReal waves = 1, distance = 0;
  PetscInt  block = 0;

  for (PetscInt d = 0; d < p->dim; d++) {
    const PetscReal center[] = {0.46, 0.53, 0.49};

    waves *= PetscSinReal(2 * PETSC_PI * x[d]);
    block += (PetscInt)PetscFloorReal(4 * x[d]);
    distance += PetscSqr(x[d] - center[d]);
  }
  if (!strcmp(p->name, "smooth")) return 1 + p->value * waves;
  if (!strcmp(p->name, "contrast")) return PetscPowReal(p->value, 0.5 * (1 + waves));
  if (!strcmp(p->name, "check")) return block % 2 ? p->value : 1;
  if (!strcmp(p->name, "sphere")) return distance < 0.31 * 0.31 ? p->value : 1;
  return 1;
}

/* a coordinate of unknown i, or of i + 1/2: between 0 and 1, which are boundary unknowns, or those that a matrix does not have */
static PetscReal Coordinate(const Problem *p, PetscInt d, PetscReal i)
{
  const PetscReal s = p->kind == IDENTITY ? i / (PetscReal)(p->n[d] - 1) : (i + 1) / (PetscReal)(p->n[d] + 1);

  return !strcmp(p->name, "graded") && d == p->dim - 1 ? (PetscPowReal(p->value, s) - 1) / (p->value - 1) : s;
}

/* finite volumes: the coefficient of a face, times its area over the distance of the unknowns */
static PetscReal Face(const Problem *p, const PetscInt at[3], PetscInt d, PetscInt side)
{
  PetscReal x[3] = {0}, c;

  for (PetscInt e = 0; e < p->dim; e++) x[e] = Coordinate(p, e, at[e] + (e == d ? side - 0.5 : 0));
  if (!strcmp(p->name, "graded")) c = 1;
  else c = Coefficient(p, x) * (!strcmp(p->name, "aniso") && d == p->dim - 1 ? p->value : 1);
  for (PetscInt e = 0; e < p->dim; e++) {
    if (e == d) c /= Coordinate(p, e, at[e] + side) - Coordinate(p, e, at[e] + side - 1);
    else c *= 0.5 * (Coordinate(p, e, at[e] + 1) - Coordinate(p, e, at[e] - 1));
  }
  return c;
}

static void Volumes(const Problem *p, const PetscInt at[3], Stencil w)
{
  PetscBool boundary = PETSC_FALSE;

  for (PetscInt d = 0; d < p->dim; d++) boundary = (PetscBool)(boundary || at[d] == 0 || at[d] == p->n[d] - 1);
  if (p->kind == IDENTITY && boundary) {
    w[1][1][1] = 2;
    return;
  }
  for (PetscInt d = 0; d < p->dim; d++) {
    for (PetscInt side = 0; side < 2; side++) {
      const PetscBool end = (PetscBool)(at[d] == (side ? p->n[d] - 1 : 0));
      const PetscReal c   = Face(p, at, d, side);
      PetscInt        o[] = {1, 1, 1};

      o[d] += side ? 1 : -1;
      if (p->kind == NEUMANN && end) continue;
      w[1][1][1] += c;
      if (!end) w[o[2]][o[1]][o[0]] -= c;
    }
  }
  if (p->kind == NEUMANN) w[1][1][1] *= 1.01;
}

static void Elements(const Problem *p, const PetscInt at[3], Stencil w)
{
  const PetscReal A[] = {-1, 2, -1}, M[] = {1. / 6, 4. / 6, 1. / 6};

  for (PetscInt i = 0; i < 27; i++) {
    const PetscInt o[] = {i % 3, i / 3 % 3, i / 9};
    PetscBool      in  = PETSC_TRUE;
    PetscReal      x[3], sum = 0;

    for (PetscInt d = 0; d < 3; d++) {
      in   = (PetscBool)(in && (d < p->dim ? at[d] + o[d] - 1 >= 0 && at[d] + o[d] - 1 < p->n[d] : o[d] == 1));
      x[d] = Coordinate(p, d, at[d] + 0.5 * (PetscReal)(o[d] - 1));
    }
    if (!in) continue;
    for (PetscInt d = 0; d < p->dim; d++) {
      PetscReal product = 1;

      for (PetscInt e = 0; e < p->dim; e++) product *= e == d ? A[o[e]] : M[o[e]];
      sum += product;
    }
    w[o[2]][o[1]][o[0]] = sum * (1 + 0.5 * PetscSinReal(3 * x[0]) * PetscSinReal(5 * x[1] + 1));
  }
}

static void Row(const Problem *p, const PetscInt at[3], Stencil w)
{
  for (PetscInt i = 0; i < 27; i++) w[i / 9][i / 3 % 3][i % 3] = 0;
  if (p->kind == CORNERS) Elements(p, at, w);
  else Volumes(p, at, w);
}

static PetscErrorCode CreateDMDA(const Problem *p, PetscInt dof, PetscInt width, DMBoundaryType boundary, DM *da)
{
  PetscFunctionBeginUser;
  PetscCall(DMDACreate(PETSC_COMM_WORLD, da));
  PetscCall(DMSetDimension(*da, p->dim));
  PetscCall(DMDASetSizes(*da, p->n[0], p->n[1], p->n[2]));
  PetscCall(DMDASetBoundaryType(*da, boundary, boundary, boundary));
  PetscCall(DMDASetDof(*da, dof));
  PetscCall(DMDASetStencilWidth(*da, width));
  PetscCall(DMDASetStencilType(*da, p->kind == CORNERS ? DMDA_STENCIL_BOX : DMDA_STENCIL_STAR));
  PetscCall(DMSetUp(*da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateMatrix(const Problem *p, DM da, Mat *A)
{
  PetscInt lo[3], n[3], at[3];

  PetscFunctionBeginUser;
  PetscCall(DMCreateMatrix(da, A));
  PetscCall(DMDAGetCorners(da, &lo[0], &lo[1], &lo[2], &n[0], &n[1], &n[2]));
  for (at[2] = lo[2]; at[2] < lo[2] + n[2]; at[2]++) {
    for (at[1] = lo[1]; at[1] < lo[1] + n[1]; at[1]++) {
      for (at[0] = lo[0]; at[0] < lo[0] + n[0]; at[0]++) {
        const MatStencil row = {.i = at[0], .j = at[1], .k = at[2]};
        MatStencil       col[27];
        PetscScalar      v[27];
        PetscInt         m = 0;
        Stencil          w;

        Row(p, at, w);
        for (PetscInt i = 0; i < 27; i++) {
          if (w[i / 9][i / 3 % 3][i % 3] == 0) continue;
          v[m]     = w[i / 9][i / 3 % 3][i % 3];
          col[m++] = (MatStencil){.i = at[0] + i % 3 - 1, .j = at[1] + i / 3 % 3 - 1, .k = at[2] + i / 9 - 1};
        }
        PetscCall(MatSetValuesStencil(*A, 1, &row, m, col, v, INSERT_VALUES));
      }
    }
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- hierarchies ---- */

static PetscInt Number(const Problem *p, const PetscInt at[3])
{
  return (at[2] * p->n[1] + at[1]) * p->n[0] + at[0];
}

/* linear interpolation between lattices without boundary unknowns, every second of which is coarse */
static PetscErrorCode CreateInterpolation(const Problem *p, DM fine, const Problem *q, DM coarse, Mat *P)
{
  PetscInt lo[3], n[3], at[3], mine, cmine, row;
  AO       ao;

  PetscFunctionBeginUser;
  PetscCall(DMDAGetCorners(fine, &lo[0], &lo[1], &lo[2], &n[0], &n[1], &n[2]));
  PetscCall(DMDAGetAO(coarse, &ao));
  PetscCall(DMDAGetCorners(coarse, NULL, NULL, NULL, &at[0], &at[1], &at[2]));
  mine  = n[0] * n[1] * n[2];
  cmine = at[0] * at[1] * at[2];
  PetscCall(MatCreateAIJ(PetscObjectComm((PetscObject)coarse), mine, cmine, PETSC_DETERMINE, PETSC_DETERMINE, 8, NULL, 8, NULL, P));
  PetscCall(MatGetOwnershipRange(*P, &row, NULL));
  for (at[2] = lo[2]; at[2] < lo[2] + n[2]; at[2]++) {
    for (at[1] = lo[1]; at[1] < lo[1] + n[1]; at[1]++) {
      for (at[0] = lo[0]; at[0] < lo[0] + n[0]; at[0]++, row++) {
        for (PetscInt corner = 0; corner < 1 << p->dim; corner++) {
          PetscReal weight = 1;
          PetscInt  to[3]  = {0, 0, 0}, col;

          for (PetscInt d = 0; d < p->dim; d++) {
            const PetscInt odd = at[d] % 2, up = corner >> d & 1; /* fine 2 j + 1 is coarse j */

            to[d] = odd ? (at[d] - 1) / 2 : at[d] / 2 - 1 + up;
            weight *= odd ? (up ? 0 : 1) : 0.5;
            if (to[d] < 0 || to[d] >= q->n[d]) weight = 0;
          }
          if (weight == 0) continue;
          col = Number(q, to);
          PetscCall(AOApplicationToPetsc(ao, 1, &col));
          PetscCall(MatSetValue(*P, row, col, weight, INSERT_VALUES));
        }
      }
    }
  }
  PetscCall(MatAssemblyBegin(*P, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*P, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  PCMG under KSPFGMRES with the matrices of all levels made anew, down to 3^dim unknowns, and no smoother yet: options with this prefix
  choose it.  The residual is measured on `b`, of ones
*/
static PetscErrorCode CreateHierarchy(const Problem *finest, const char *prefix, KSP *ksp, Vec *b, Vec *x)
{
  Problem  p      = *finest;
  PetscInt levels = 1;
  PC       pc;
  DM       da;

  PetscFunctionBeginUser;
  for (PetscInt n = p.n[0]; n > 3; n = (n - 1) / 2) levels++;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
  PetscCall(KSPSetOptionsPrefix(*ksp, prefix));
  PetscCall(KSPSetType(*ksp, KSPFGMRES));
  PetscCall(KSPGMRESSetRestart(*ksp, 60));
  PetscCall(KSPGetPC(*ksp, &pc));
  PetscCall(PCSetType(pc, PCMG));
  PetscCall(PCMGSetLevels(pc, levels, NULL));
  PetscCall(CreateDMDA(&p, 1, 1, DM_BOUNDARY_NONE, &da));
  for (PetscInt l = levels - 1; l >= 0; l--) {
    Problem q = p;
    KSP     smoother;
    DM      coarse;
    Mat     A, P;

    PetscCall(CreateMatrix(&p, da, &A));
    PetscCall(PCMGGetSmoother(pc, l, &smoother));
    PetscCall(KSPSetOperators(smoother, A, A));
    if (l == levels - 1) {
      PetscCall(KSPSetOperators(*ksp, A, A));
      PetscCall(MatCreateVecs(A, x, b));
    }
    PetscCall(MatDestroy(&A));
    if (l == 0) break;
    for (PetscInt d = 0; d < p.dim; d++) q.n[d] = (p.n[d] - 1) / 2;
    PetscCall(CreateDMDA(&q, 1, 1, DM_BOUNDARY_NONE, &coarse));
    PetscCall(CreateInterpolation(&p, da, &q, coarse, &P));
    PetscCall(PCMGSetInterpolation(pc, l, P));
    PetscCall(MatDestroy(&P));
    PetscCall(DMDestroy(&da));
    da = coarse;
    p  = q;
  }
  PetscCall(DMDestroy(&da));
  PetscCall(VecSet(*b, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}
