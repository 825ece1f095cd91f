/*
  The direct solve of assembled matrices of a DMDA that are sums of Kronecker products: differences on lattices of random spacings,
  assembled here from their formula, with right-hand sides of known solutions; and matrices that are refused, by the row that does not fit.

    kroneckersum -n 14,9,11 -sides pdw -volumes -shift 0.3

  Both sides of a direction are one letter:
    d, n   cells, with Dirichlet or Neumann conditions          p   cells of a ring
    u   cells of a ring, of equal lengths
    m      cells, with a Dirichlet condition below and a Neumann one above
    w, e   nodes, with Dirichlet conditions: rows with a diagonal entry alone, for whose unknowns other rows have entries (w) or not (e)
*/
#include <petscpatchfd.h>
#include <petscvecsingle.h>
#include <petscdmda.h>
#include <petscksp.h>
#include "catch.h"
#include "runtest.h"

static char help[] = "The direct solve of matrices of a DMDA that are sums of Kronecker products.\n";

enum {
  MAX_N = 128
};

typedef struct {
  PetscInt  dim, n[3];
  char      sides[4];
  PetscBool volumes;               /* rows are divided by volumes */
  PetscReal sign, shift, contrast; /* contrast: couplings vary between 1 and this factor, without a pattern; 0: they do not */
  MatType   mat;
  VecType   vec;
} Case;

/* lengths of cells, and inverse distances of neighbours, or zero */
typedef struct {
  PetscReal h[MAX_N], near[2][MAX_N];
} Line;

/* ---- matrices ---- */

static PetscBool IsRing(const Case *c, int d)
{
  return (PetscBool)(c->sides[d] == 'p' || c->sides[d] == 'u');
}

static PetscBool IsFixed(const Case *c, int d, PetscInt i)
{
  return (PetscBool)((c->sides[d] == 'w' || c->sides[d] == 'e') && (i == 0 || i == c->n[d] - 1));
}

static PetscErrorCode LineCreate(const Case *c, int d, PetscRandom random, Line *l)
{
  const PetscInt n    = c->n[d];
  const char     side = c->sides[d];

  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < n; i++) {
    PetscCall(PetscRandomGetValueReal(random, &l->h[i]));
    l->h[i] = d < c->dim ? (0.3 + (side == 'u' ? 0.5 : l->h[i])) / (PetscReal)n : 1;
  }
  for (PetscInt i = 0; i < n; i++) {
    l->near[0][i] = 2 / (l->h[(i + n - 1) % n] + l->h[i]);
    l->near[1][i] = 2 / (l->h[(i + 1) % n] + l->h[i]);
  }
  if (d >= c->dim || side == 'n' || side == 'm') l->near[1][n - 1] = 0;
  if (d >= c->dim || side == 'n') l->near[0][0] = 0;
  if (side == 'd' || side == 'm') l->near[0][0] = 2 / l->h[0];
  if (side == 'd') l->near[1][n - 1] = 2 / l->h[n - 1];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscReal Coefficient(const Case *c, const PetscInt at[3])
{
  PetscInt i[3];

  for (int d = 0; d < 3; d++) i[d] = (at[d] + c->n[d]) % c->n[d];
  return c->contrast == 0 ? 1 : PetscPowReal(c->contrast, 0.5 + 0.5 * PetscSinReal((PetscReal)(i[0] * i[0] + 2 * i[1] + 5 * i[2] * i[1])));
}

static PetscErrorCode SetRow(const Case *c, const Line l[3], const PetscInt at[3], Mat A)
{
  MatStencil  row = {.i = at[0], .j = at[1], .k = at[2]}, column[7];
  PetscScalar value[7], volume = l[0].h[at[0]] * l[1].h[at[1]] * l[2].h[at[2]];
  PetscInt    n = 1;

  PetscFunctionBeginUser;
  column[0] = row;
  value[0]  = c->shift * volume;
  for (int d = 0; d < c->dim; d++) {
    for (int end = 0; end < 2; end++) {
      PetscReal a       = volume / l[d].h[at[d]] * l[d].near[end][at[d]];
      PetscInt  next[3] = {at[0], at[1], at[2]};

      next[d] += end ? 1 : -1;
      a *= 0.5 * (Coefficient(c, at) + Coefficient(c, next));
      value[0] += a;
      if (!IsRing(c, d) && (next[d] < 0 || next[d] >= c->n[d])) continue;
      if (c->sides[d] == 'e' && IsFixed(c, d, next[d])) continue;
      column[n]  = (MatStencil){.i = next[0], .j = next[1], .k = next[2]};
      value[n++] = -a;
    }
  }
  for (PetscInt e = 0; e < n; e++) value[e] *= c->sign / (c->volumes ? volume : 1);
  if (IsFixed(c, 0, at[0]) || IsFixed(c, 1, at[1]) || IsFixed(c, 2, at[2])) {
    n        = 1;
    value[0] = 2.5;
  }
  PetscCall(MatSetValuesStencil(A, 1, &row, n, column, value, ADD_VALUES));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateMatrix(const Case *c, PetscRandom random, DM *da, Mat *A)
{
  DMBoundaryType boundary[3];
  Line           l[3];
  PetscInt       own[3], n[3], at[3];

  PetscFunctionBeginUser;
  for (int d = 0; d < 3; d++) {
    boundary[d] = IsRing(c, d) ? DM_BOUNDARY_PERIODIC : DM_BOUNDARY_NONE;
    PetscCall(LineCreate(c, d, random, &l[d]));
  }
  PetscCall(DMDACreate(PETSC_COMM_WORLD, da));
  PetscCall(DMSetDimension(*da, c->dim));
  PetscCall(DMDASetSizes(*da, c->n[0], c->n[1], c->n[2]));
  PetscCall(DMDASetBoundaryType(*da, boundary[0], boundary[1], boundary[2]));
  PetscCall(DMDASetStencilType(*da, DMDA_STENCIL_STAR));
  PetscCall(DMDASetDof(*da, 1));
  PetscCall(DMDASetStencilWidth(*da, 1));
  PetscCall(DMSetMatType(*da, c->mat));
  PetscCall(DMSetFromOptions(*da)); /* -da_processors_x */
  PetscCall(DMSetVecType(*da, c->vec));
  PetscCall(DMSetUp(*da));
  PetscCall(DMCreateMatrix(*da, A));
  PetscCall(MatSetOption(*A, MAT_IGNORE_LOWER_TRIANGULAR, PETSC_TRUE));
  PetscCall(DMDAGetCorners(*da, &own[0], &own[1], &own[2], &n[0], &n[1], &n[2]));
  for (at[2] = own[2]; at[2] < own[2] + n[2]; at[2]++)
    for (at[1] = own[1]; at[1] < own[1] + n[1]; at[1]++)
      for (at[0] = own[0]; at[0] < own[0] + n[0]; at[0]++) PetscCall(SetRow(c, l, at, *A));
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the same matrix from its lines, without nodes of Dirichlet conditions and volumes */
static PetscErrorCode CreateShell(const Case *c, PetscRandom random, DM da, Mat *A)
{
  PetscReal mass[3 * MAX_N], coupling[3 * MAX_N], rest[3 * MAX_N];
  PetscInt  at = 0;

  PetscFunctionBeginUser;
  for (int d = 0; d < c->dim; d++) {
    Line l;

    PetscCall(LineCreate(c, d, random, &l));
    for (PetscInt i = 0; i < c->n[d]; i++, at++) {
      mass[at]     = l.h[i];
      coupling[at] = c->sign * l.near[1][i];
      rest[at]     = d == 0 ? c->sign * c->shift * l.h[i] : 0;
      if (!IsRing(c, d) && i == 0) rest[at] += c->sign * l.near[0][i];
      if (!IsRing(c, d) && i == c->n[d] - 1) rest[at] += c->sign * l.near[1][i];
    }
  }
  PetscCall(MatCreateKroneckerSum(da, mass, coupling, rest, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreatePC(Mat A, PC *pc)
{
  PetscFunctionBeginUser;
  PetscCall(PCCreate(PETSC_COMM_WORLD, pc));
  PetscCall(PCSetOperators(*pc, A, A));
  PetscCall(PCSetType(*pc, PCPATCHFD));
  PetscCall(PCPatchFDSetPatch(*pc, PC_PATCHFD_PATCH_BOX));
  PetscCall(PCSetFromOptions(*pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- solves ---- */

static PetscBool IsSingular(const Case *c)
{
  PetscBool is = (PetscBool)(c->shift == 0);

  for (int d = 0; d < c->dim; d++) is = (PetscBool)(is && (c->sides[d] == 'n' || IsRing(c, d)));
  return is;
}

/* x = PC b for a double b and x, with the Vecs of the matrix */
static PetscErrorCode Apply(PC pc, Mat A, PetscBool transpose, Vec b, Vec x)
{
  VecType   type;
  PetscBool single;
  Vec       bs, xs;

  PetscFunctionBeginUser;
  PetscCall(MatGetVecType(A, &type));
  PetscCall(PetscStrcmpAny(type, &single, VECSINGLE, VECSINGLECUDA, ""));
  if (single) {
    PetscCall(MatCreateVecs(A, &xs, &bs));
    PetscCall(VecSingleConvert(b, 1, bs));
    PetscCall(VecSet(xs, PETSC_INFINITY)); /* whatever is in it */
    if (transpose) PetscCall(PCApplyTranspose(pc, bs, xs));
    else PetscCall(PCApply(pc, bs, xs));
    PetscCall(VecSingleConvert(xs, 1, x));
    PetscCall(VecDestroy(&bs));
    PetscCall(VecDestroy(&xs));
  } else {
    if (transpose) PetscCall(PCApplyTranspose(pc, b, x));
    else PetscCall(PCApply(pc, b, x));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckSmall(const char what[], PetscReal error, PetscReal tolerance)
{
  PetscFunctionBeginUser;
  PetscCheck(error <= tolerance, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: %g, allowed is %g", what, (double)error, (double)tolerance);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* |x - y| / |y|, but for a constant if the matrix is singular */
static PetscErrorCode Difference(const Case *c, Vec x, Vec y, PetscReal *difference)
{
  PetscReal norm;
  Vec       z;

  PetscFunctionBeginUser;
  PetscCall(VecDuplicate(x, &z));
  PetscCall(VecWAXPY(z, -1, y, x));
  if (IsSingular(c)) {
    PetscScalar mean;

    PetscCall(VecMean(z, &mean));
    PetscCall(VecShift(z, -mean));
  }
  PetscCall(VecNorm(z, NORM_2, difference));
  PetscCall(VecNorm(y, NORM_2, &norm));
  *difference /= norm;
  PetscCall(VecDestroy(&z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* what a singular matrix cannot reach is of one kind, which a solve drops; and many solves in turn do not drift */
static PetscErrorCode CheckNullSpace(const Case *c, PC pc, Mat A, Vec x, Vec y, Vec b)
{
  PetscReal norm, rest, difference;

  PetscFunctionBeginUser;
  PetscCall(VecSetRandom(b, NULL));
  PetscCall(PCApply(pc, b, x));
  PetscCall(VecNorm(x, NORM_2, &norm));
  PetscCall(MatResidual(A, b, x, y));
  PetscCall(PCApply(pc, y, b));
  PetscCall(VecNorm(b, NORM_2, &rest));
  PetscCall(CheckSmall("A solve of what a singular matrix cannot reach", rest / norm, 1e-9));
  PetscCall(VecCopy(x, y));
  for (int i = 0; i < 1000; i++) {
    PetscCall(MatMult(A, x, b));
    PetscCall(PCApply(pc, b, x));
  }
  PetscCall(Difference(c, x, y, &difference));
  PetscCall(CheckSmall("1000 solves in turn", difference, 1e-8));
  PetscCall(VecAXPY(y, -1, x));
  PetscCall(VecNorm(y, NORM_2, &rest));
  PetscCall(CheckSmall("The constant after 1000 solves", rest / norm, 1e-8));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestCase(const Case *c, PetscRandom random)
{
  PetscBool single;
  PetscReal difference;
  DM        da;
  Mat       A;
  PC        pc;
  Vec       x, y, b;

  PetscFunctionBeginUser;
  PetscCall(CreateMatrix(c, random, &da, &A));
  PetscCall(PetscStrcmpAny(c->vec, &single, VECSINGLE, VECSINGLECUDA, ""));
  PetscCall(CreatePC(A, &pc));
  if (single) PetscCall(DMSetVecType(da, VECSTANDARD));
  PetscCall(DMCreateGlobalVector(da, &x));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(VecDuplicate(x, &b));
  PetscCall(VecSetRandom(y, NULL));
  PetscCall(MatMult(A, y, b));
  PetscCall(PCSetUp(pc));
  PetscCall(Apply(pc, A, PETSC_FALSE, b, x));
  PetscCall(Difference(c, x, y, &difference));
  PetscCall(CheckSmall("A solve", difference, single ? 2e-3 : 1e-9));
  if (!c->volumes && !strchr(c->sides, 'w')) {
    PetscCall(Apply(pc, A, PETSC_TRUE, b, x));
    PetscCall(Difference(c, x, y, &difference));
    PetscCall(CheckSmall("A transposed solve", difference, single ? 2e-3 : 1e-9));
  }
  if (IsSingular(c) && !single) PetscCall(CheckNullSpace(c, pc, A, x, y, b));
  if (!single) { /* numbers of the matrix as it was, and as it is */
    PetscCall(VecSetRandom(y, NULL));
    PetscCall(MatMult(A, y, b));
    PetscCall(MatScale(A, 2));
    PetscCall(PCSetReusePreconditioner(pc, PETSC_TRUE));
    PetscCall(PCSetUp(pc));
    PetscCall(PCApply(pc, b, x));
    PetscCall(Difference(c, x, y, &difference));
    PetscCall(CheckSmall("A solve with a matrix that has been changed since", difference, 1e-9));
    PetscCall(PCSetReusePreconditioner(pc, PETSC_FALSE));
    PetscCall(PCSetUp(pc));
    PetscCall(PCApply(pc, b, x));
    PetscCall(VecScale(y, 0.5));
    PetscCall(Difference(c, x, y, &difference));
    PetscCall(CheckSmall("A solve with a changed matrix", difference, 1e-9));
  }
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&b));
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* conjugate gradients for varying couplings, with the solve of constant ones: sqrt(contrast) decides, not the size */
static PetscErrorCode CheckNearby(const Case *c, Mat A, Mat S, Vec b, Vec x)
{
  const PetscReal q = (PetscSqrtReal(c->contrast) - 1) / (PetscSqrtReal(c->contrast) + 1), most = 1 + PetscLogReal(2e8) / -PetscLogReal(q);
  PetscInt        its;
  KSP             ksp;
  PC              pc;

  PetscFunctionBeginUser;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, S));
  PetscCall(KSPSetType(ksp, KSPCG));
  PetscCall(KSPSetTolerances(ksp, 1e-8, PETSC_CURRENT, PETSC_CURRENT, 200));
  PetscCall(KSPSetErrorIfNotConverged(ksp, PETSC_TRUE));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCPATCHFD));
  PetscCall(PCPatchFDSetPatch(pc, PC_PATCHFD_PATCH_BOX));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(CheckSmall("Iterations with the solve of constant couplings", (PetscReal)its, most));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* products and solves of a matrix from its lines are those of the assembled one */
static PetscErrorCode TestShell(const Case *c, PetscInt seed, PetscRandom random)
{
  PetscReal difference;
  DM        da;
  Mat       A, S;
  PC        pc;
  Vec       x, y, b;

  PetscFunctionBeginUser;
  PetscCall(PetscRandomSetSeed(random, (unsigned long)seed));
  PetscCall(PetscRandomSeed(random));
  PetscCall(CreateMatrix(c, random, &da, &A));
  PetscCall(PetscRandomSeed(random));
  PetscCall(CreateShell(c, random, da, &S));
  PetscCall(CreatePC(S, &pc));
  PetscCall(DMCreateGlobalVector(da, &x));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(VecDuplicate(x, &b));
  PetscCall(VecSetRandom(y, NULL));
  PetscCall(MatMult(A, y, b));
  if (c->contrast == 0) {
    PetscCall(MatMult(S, y, x));
    PetscCall(VecAXPY(x, -1, b));
    PetscCall(VecNorm(x, NORM_INFINITY, &difference));
    PetscCall(CheckSmall("A product", difference, 1e-10));
    PetscCall(PCApply(pc, b, x));
  } else PetscCall(CheckNearby(c, A, S, b, x));
  PetscCall(Difference(c, x, y, &difference));
  PetscCall(CheckSmall("A solve without a matrix", difference, c->contrast == 0 ? 1e-9 : 1e-4));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&b));
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&S));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* draws sizes, sides and the rest; the DMDA may be too small for the ranks */
static PetscErrorCode TestRandom(PetscInt count, PetscInt most, PetscRandom random, const Case *given)
{
  static const char kinds[] = "dnpmweu";
  PetscMPIInt       ranks;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &ranks));
  for (PetscInt i = 0; i < count; i++) {
    Case      c = *given;
    PetscReal r[9];

    for (int l = 0; l < 9; l++) PetscCall(PetscRandomGetValueReal(random, &r[l]));
    c.dim = 1 + i % 3;
    for (int d = 0; d < c.dim; d++) {
      c.n[d]     = PetscMax(ranks + 2, 2 + (PetscInt)(r[d] * (PetscReal)(c.dim == 1 ? MAX_N - 3 : most)));
      c.sides[d] = kinds[(int)(r[3 + d] * 7) % 7];
      if (c.sides[d] == 'w' || c.sides[d] == 'e') c.n[d] = PetscMax(4, c.n[d]);
    }
    c.sign    = r[6] < 0.5 ? 1 : -1;
    c.volumes = (PetscBool)(r[7] < 0.5);
    c.shift   = r[8] < 0.5 ? 0 : 3 * r[8];
    PetscCall(PetscInfo(random, "%" PetscInt_FMT " x %" PetscInt_FMT " x %" PetscInt_FMT " sides %s sign %g volumes %d shift %g\n", c.n[0],
                        c.n[1], c.n[2], c.sides, (double)c.sign, (int)c.volumes, (double)c.shift));
    PetscCall(TestCase(&c, random));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- what is refused ---- */

/* the entry of a row for a column, both in the natural order, is multiplied */
static PetscErrorCode Spoil(Mat A, DM da, PetscInt row, PetscInt column, PetscReal factor)
{
  PetscInt    index[2] = {row, column}, first, end;
  PetscScalar v;
  AO          ao;

  PetscFunctionBeginUser;
  PetscCall(DMDAGetAO(da, &ao));
  PetscCall(AOApplicationToPetsc(ao, 2, index));
  PetscCall(MatGetOwnershipRange(A, &first, &end));
  if (index[0] >= first && index[0] < end) {
    PetscCall(MatGetValues(A, 1, &index[0], 1, &index[1], &v));
    v *= factor;
    PetscCall(MatSetValues(A, 1, &index[0], 1, &index[1], &v, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Refused(Mat A, const char message[])
{
  PC pc;

  PetscFunctionBeginUser;
  PetscCall(CreatePC(A, &pc));
  FAILS(PCSetUp(pc), 0, message);
  PetscCall(PCDestroy(&pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Fails(Mat A)
{
  PetscErrorCode ierr;
  PCFailedReason reason;
  PC             pc;

  PetscFunctionBeginUser;
  PetscCall(CreatePC(A, &pc));
  CATCH(ierr, PCSetUp(pc));
  PetscCheck(!ierr, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "An error where a failed PC was expected: %s", lastmessage);
  PetscCall(PCGetFailedReason(pc, &reason));
  PetscCheck(reason, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "No failure");
  PetscCall(PCDestroy(&pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* message: NULL where set-up fails without an error */
static const struct {
  PetscInt    dim, n[3];
  const char *sides;
  PetscInt    row[2], column[2]; /* entries that are spoiled */
  PetscReal   factor;
  const char *message;
} wrong[] = {
  {3, {7, 6, 5}, "ndp", {115, 115}, {115, 115}, 1 + 1e-9, "row (3, 4, 2) of the DMDA has "},
  {3, {7, 6, 5}, "ndp", {115, 115}, {116, 115}, 1 + 1e-6, "row (3, 4, 2) of the DMDA has "},
  {3, {7, 6, 5}, "ndp", {115, 115}, {116, 115}, 0, "for the unknown at (+1, +0, +0) from it, expected -"},
  {3, {7, 6, 5}, "ndp", {115, 115}, {115, 115}, NAN, NULL},
  {1,
   {9, 1, 1},
   "nnn",
   {3, 3},
   {4, 3},
   0,
   "the rows with index 3 in direction 0 of the DMDA have entries for those with index 4 that add up to 0."},
  {1, {9, 1, 1}, "pnn", {8, 8}, {0, 8}, 2, "the rows with index 8 in direction 0 of the DMDA have entries for those with index 0 that "},
  {1, {9, 1, 1}, "enn", {0, 0}, {0, 0}, 0, NULL},
  {2, {5, 2, 1}, "nnn", {3, 8}, {8, 3}, 0, "the rows with index 3 in direction 0 of the DMDA have no entries"},
};

static PetscErrorCode TestErrors(PetscRandom random, const Case *given)
{
  const PetscInt    one[4] = {0, 1};
  const PetscScalar ones[] = {1, 1, 1, 1};
  Case              c      = *given;
  DM                da;
  Mat               A;

  PetscFunctionBeginUser;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(wrong); i++) {
    c.dim = wrong[i].dim;
    PetscCall(PetscArraycpy(c.n, wrong[i].n, 3));
    PetscCall(PetscStrncpy(c.sides, wrong[i].sides, sizeof(c.sides)));
    PetscCall(CreateMatrix(&c, random, &da, &A));
    for (int e = 0; e < 2; e++)
      if (e == 0 || wrong[i].row[1] != wrong[i].row[0]) PetscCall(Spoil(A, da, wrong[i].row[e], wrong[i].column[e], wrong[i].factor));
    if (wrong[i].message) PetscCall(Refused(A, wrong[i].message));
    else PetscCall(Fails(A));
    PetscCall(MatDestroy(&A));
    PetscCall(DMDestroy(&da));
  }
  /* a null space that is not that of constants */
  c.dim  = 1;
  c.n[0] = 2;
  PetscCall(PetscStrncpy(c.sides, "nnn", sizeof(c.sides)));
  PetscCall(CreateMatrix(&c, random, &da, &A));
  PetscCall(MatSetValues(A, 2, one, 2, one, ones, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(Fails(A));
  PetscCall(PetscOptionsSetValue(NULL, "-pc_patchfd_brick_size", "4"));
  PetscCall(Refused(A, "-pc_patchfd_brick_size"));
  for (int bad = 0; bad < 2; bad++) {
    const PetscReal one[] = {1, 1}, wrong[] = {1, bad ? NAN : 0};
    PetscErrorCode  ierr;
    char           *found;
    Mat             S;

    CATCH(ierr, MatCreateKroneckerSum(da, bad ? one : wrong, one, bad ? wrong : NULL, &S));
    PetscCall(PetscStrstr(lastmessage, bad ? "at index 1 of direction 0" : "positive mass[], found 0. at index 1 of direction 0", &found));
    PetscCheck(ierr == PETSC_ERR_ARG_OUTOFRANGE && found, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "Found \"%s\"", lastmessage);
  }
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Tests(void)
{
  Case        c = {.dim = 3, .n = {1, 1, 1}, .sides = "nnn", .sign = 1, .mat = MATAIJ, .vec = VECSTANDARD};
  PetscInt    n = 3, count = 0, most = 20, seed = 1;
  PetscBool   given, errors = PETSC_FALSE, shell = PETSC_FALSE;
  PetscRandom random;
  char        mat[64] = MATAIJ, vec[64] = VECSTANDARD;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-n", c.n, &n, &given));
  if (given) c.dim = n;
  PetscCall(PetscOptionsGetString(NULL, NULL, "-sides", c.sides, sizeof(c.sides), NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-volumes", &c.volumes, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-sign", &c.sign, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-shift", &c.shift, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-contrast", &c.contrast, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-mat", mat, sizeof(mat), NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-vec", vec, sizeof(vec), NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-random", &count, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-most", &most, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-seed", &seed, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-errors", &errors, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-shell", &shell, NULL));
  c.mat = mat;
  c.vec = vec;
  PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &random));
  PetscCall(PetscRandomSetSeed(random, (unsigned long)seed));
  PetscCall(PetscRandomSeed(random));
  if (errors) PetscCall(TestErrors(random, &c));
  else if (shell) PetscCall(TestShell(&c, seed, random));
  else if (count) PetscCall(TestRandom(count, most, random, &c));
  else PetscCall(TestCase(&c, random));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "ok\n"));
  PetscCall(PetscRandomDestroy(&random));
  PetscFunctionReturn(PETSC_SUCCESS);
}

TEST_MAIN("all", {"all", Tests})

/*TEST
  testset:
    output_file: output/kroneckersum_ok.out

    test:
      suffix: random
      nsize: {{1 2 3 5}}
      args: -random 45 -each_seed 1:2
    test:
      suffix: single
      nsize: {{1 4}}
      args: -random 30 -seed 3 -vec single
    test:
      suffix: shared
      nsize: {{2 5}}
      args: -n 20,24,18 -each_sides npn:dnp:mwe:ppp -each_volumes 0:1
    test:
      suffix: shared_2d
      nsize: 3
      args: -n 70,80 -each_sides np:wm:pp
    test:
      suffix: slabs
      nsize: 4
      args: -n 18,12,27 -each_sides nnn:pwd:pem -da_processors_x 1 -da_processors_y 1
    test:
      suffix: indefinite
      nsize: {{1 4}}
      args: -n 20,24,18 -sides nmp -shift -7.3
    test:
      suffix: waves
      nsize: {{1 2}}
      args: -each_n 16,20,30:49,23,26:88,37:65,34,17 -each_sides uun:nuu:uuu -each_shell 0:1
    test:
      suffix: sbaij
      nsize: {{1 3}}
      args: -n 20,24,18 -sides npd -mat sbaij
    test:
      suffix: lines
      nsize: {{1 2 5}}
      args: -shell -each_n 20,24,18:9,8,7 -each_sides npn:dnp:mdn:ppp -each_shift 0:2
    test:
      suffix: nearby
      nsize: {{1 3}}
      args: -shell -each_n 20,24,18:40,48 -each_sides npn:dpm -each_contrast 3:10
    test:
      suffix: lines_small
      args: -shell -each_n 2,2,2:2,3:40:1,2 -each_sides ppp:dnm -sign -1
    test:
      suffix: tiny
      args: -each_sides ppp:nnn:dpn -each_n 2,2,2:1,1,5:2,1,3
    test:
      suffix: errors
      nsize: {{1 2}}
      args: -errors
    test:
      suffix: cuda
      requires: cuda gpu
      nsize: {{1 2}}
      args: -n {{20,24,18 70,64,48}} -sides {{npn dwp}} -volumes {{0 1}} -mat aijcusparse -vec cuda
    test:
      suffix: cuda_single
      requires: cuda gpu
      nsize: {{1 2}}
      args: -n {{20,24,18 70,64,48}} -sides {{npn dwp}} -vec singlecuda
    test:
      suffix: cuda_lines
      requires: cuda gpu
      args: -shell -n {{20,24,18 70,64}} -sides {{npn dpp}} -mat aijcusparse -vec cuda
TEST*/
