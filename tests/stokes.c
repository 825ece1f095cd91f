static char help[] =
  "The operator stokes, its smoothers and transfers against references that share no code with the library: sums of Kronecker products of\n\
one-dimensional matrices by quadrature, and the pseudo-inverses of the patches' parts of them.\n\
  -dm_box_*       : the mesh (see DMBOX); -graded : random cell lengths\n\
  -degrees <k,..> : of the pressure\n\
  -smoothers <b>  : with smoothing steps; -box <b>: with the whole box as one patch\n\
  -tolerance <t>  : allowed deviation of each field, relative to its maximum\n\n";

#include <petscpatchfd.h>
#include <patchfd/private/matimpl.h> /* to take terms out of an operator */
#include "reference.h"
#include "stokesproblem.h"
#include "runtest.h"

/* ---- between the library's numbering and the natural one ---- */

typedef struct {
  DM        dm;
  Problem  *p;
  PetscInt  n, *number; /* natural numbers of the rank's entries */
  PetscReal tol;
  PetscInt *failures;
} Layout;

/* as the manual page says: the fields one after another, the rank's cells with x fastest; a node that cells of two ranks share belongs to
   the upper one */
static PetscErrorCode LayoutCreate(DM dm, Problem *p, PetscReal tol, PetscInt *failures, Layout *l)
{
  PetscReal lower[3], upper[3];
  PetscInt  first[3] = {0, 0, 0}, end[3] = {1, 1, 1};
  PetscBool empty = PETSC_FALSE;

  PetscFunctionBeginUser;
  *l = (Layout){.dm = dm, .p = p, .tol = tol, .failures = failures};
  PetscUseTypeMethod(dm, getlocalboundingbox, lower, upper, first, end);
  for (PetscInt d = 0; d < p->dim; d++) empty = (PetscBool)(empty || first[d] >= end[d]);
  PetscCall(PetscMalloc1(p->N, &l->number));
  for (PetscInt f = 0; f <= p->dim && !empty; f++) {
    PetscInt lo[3], hi[3];

    for (PetscInt d = 0; d < p->dim; d++) {
      const Line *line = FieldLine(p, f, d);

      lo[d] = first[d] * line->stride;
      hi[d] = end[d] == line->cells ? line->n : end[d] * line->stride;
    }
    l->n += FieldNodes(p, f, lo, hi, l->number + l->n);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode LayoutDestroy(Layout *l)
{
  PetscFunctionBeginUser;
  PetscCall(PetscFree(l->number));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ToVec(const Layout *l, const PetscReal a[], Vec v)
{
  PetscScalar *x;
  PetscInt     n;

  PetscFunctionBeginUser;
  PetscCall(VecGetLocalSize(v, &n));
  PetscCheck(n == l->n, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " entries, not %" PetscInt_FMT, n, l->n);
  PetscCall(VecGetArrayWrite(v, &x));
  for (PetscInt j = 0; j < n; j++) x[j] = a[l->number[j]];
  PetscCall(VecRestoreArrayWrite(v, &x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* each field by itself; up to constant pressures if `constants` */
static PetscErrorCode CompareTo(const Layout *l, const char *name, Vec v, const PetscReal a[], PetscReal tol, PetscBool constants)
{
  const Problem     *p = l->p;
  const PetscScalar *x;
  PetscReal          err[4] = {0, 0, 0, 0}, shift = 0;

  PetscFunctionBeginUser;
  PetscCall(VecGetArrayRead(v, &x));
  for (PetscInt j = 0; j < l->n && constants; j++)
    if (l->number[j] >= p->first[p->dim]) shift += (x[j] - a[l->number[j]]) / (p->first[p->dim + 1] - p->first[p->dim]);
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &shift, 1, MPIU_REAL, MPIU_SUM, PETSC_COMM_WORLD));
  for (PetscInt j = 0, f = 0; j < l->n; j++) {
    PetscReal e;

    while (l->number[j] >= p->first[f + 1]) f++;
    e      = PetscAbsScalar(x[j] - a[l->number[j]] - (f == p->dim ? shift : 0));
    err[f] = e > err[f] || PetscIsNanReal(e) ? e : err[f];
  }
  PetscCall(VecRestoreArrayRead(v, &x));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, err, 4, MPIU_REAL, MPIU_MAX, PETSC_COMM_WORLD));
  for (PetscInt f = 0; f <= p->dim; f++) {
    PetscReal max = 0;

    for (PetscInt i = p->first[f]; i < p->first[f + 1]; i++) max = PetscMax(max, PetscAbsReal(a[i]));
    if (err[f] <= tol * max) continue;
    PetscCall(
      PetscPrintf(PETSC_COMM_WORLD, "%s: field %" PetscInt_FMT " deviates by %g, maximum %g\n", name, f, (double)err[f], (double)max));
    (*l->failures)++;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Compare(const Layout *l, const char *name, Vec v, const PetscReal a[])
{
  PetscFunctionBeginUser;
  PetscCall(CompareTo(l, name, v, a, l->tol, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* of a mesh with these vertices, whose coefficients and conditions are those of the DM */
static PetscErrorCode ProblemCreateOfDM(DM dm, PetscReal *const vertices[3], Problem *p)
{
  PetscReal         penalty[2], viscosity, shift;
  PetscInt          dim, cells[3], k;
  PetscBool         given[3][2], slip[3][2], ring[3];
  DMBoxBoundaryType bc[6];

  PetscFunctionBeginUser;
  PetscCall(DMGetDimension(dm, &dim));
  PetscCall(DMBoxGetCells(dm, cells));
  PetscCall(DMBoxGetDegree(dm, &k));
  PetscCall(DMBoxGetBoundary(dm, bc));
  PetscCall(DMBoxGetStokes(dm, &viscosity, &shift));
  PetscCall(DMBoxGetPenalty(dm, &penalty[0], &penalty[1]));
  for (PetscInt i = 0; i < 2 * dim; i++) {
    slip[i / 2][i % 2]  = (PetscBool)(bc[i] == DMBOX_BOUNDARY_SYMMETRY);
    given[i / 2][i % 2] = (PetscBool)(slip[i / 2][i % 2] || bc[i] == DMBOX_BOUNDARY_DIRICHLET);
  }
  for (PetscInt d = 0; d < dim; d++) ring[d] = (PetscBool)(bc[2 * d] == DMBOX_BOUNDARY_PERIODIC);
  PetscCall(ProblemCreate(dim, k, viscosity, shift, penalty, cells, vertices, given, slip, ring, p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- the operator ---- */

/* every way to apply it, its diagonal, its conversion */
static PetscErrorCode TestOperator(const Layout *l, Mat A, const PetscReal x[], const PetscReal b[])
{
  const Problem *p = l->p;
  PetscReal     *y, *z;
  Vec            vx, vb, vy, wx, wy;
  Mat            B;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc2(p->N, &y, p->N, &z));
  PetscCall(MatCreateVecs(A, &vx, &vy));
  PetscCall(VecDuplicate(vx, &vb));
  PetscCall(ToVec(l, x, vx));
  PetscCall(ToVec(l, b, vb));
  PetscCall(Multiply(p->K, x, y));
  PetscCall(MatMult(A, vx, vy));
  PetscCall(Compare(l, "MatMult", vy, y));
  PetscCall(MatMultTranspose(A, vx, vy));
  PetscCall(Compare(l, "MatMultTranspose", vy, y));
  for (PetscInt i = 0; i < p->N; i++) z[i] = b[i] + y[i];
  PetscCall(MatMultAdd(A, vx, vb, vy));
  PetscCall(Compare(l, "MatMultAdd", vy, z));
  for (PetscInt i = 0; i < p->N; i++) z[i] = b[i] - y[i];
  PetscCall(MatResidual(A, vb, vx, vy));
  PetscCall(Compare(l, "MatResidual", vy, z));
  PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &B));
  PetscCall(MatCreateVecs(B, &wx, &wy));
  PetscCall(ToVec(l, x, wx));
  PetscCall(MatMult(B, wx, wy));
  PetscCall(CompareTo(l, "MatConvert", wy, y, 1e-12, PETSC_FALSE));
  PetscCall(VecDestroy(&wx));
  PetscCall(VecDestroy(&wy));
  PetscCall(MatDestroy(&B));
  for (PetscInt i = 0; i < p->N; i++) PetscCall(MatGetValues(p->K, 1, &i, 1, &i, &z[i]));
  PetscCall(MatGetDiagonal(A, vy));
  PetscCall(Compare(l, "MatGetDiagonal", vy, z));
  PetscCall(VecDestroy(&vx));
  PetscCall(VecDestroy(&vy));
  PetscCall(VecDestroy(&vb));
  PetscCall(PetscFree2(y, z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* each term by itself; the rows of fixed unknowns stay */
static PetscErrorCode TestTerms(const Layout *l, const PetscReal x[])
{
  const Problem *p = l->p;
  PetscReal     *y, *free;
  Vec            vx, vy;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc2(p->N, &y, p->N, &free));
  for (PetscInt i = 0; i < p->N; i++) free[i] = p->fixed[i] ? 0 : x[i];
  PetscCall(DMCreateGlobalVector(l->dm, &vx));
  PetscCall(VecDuplicate(vx, &vy));
  PetscCall(ToVec(l, x, vx));
  for (PetscInt t = 0; t < p->nterm; t++) {
    char     name[64];
    Mat      A;
    Mat_Box *m;

    PetscCall(DMCreateMatrix(l->dm, &A));
    PetscCall(MatBoxGet(A, "stokes", &m));
    PetscCheck(m->form.nterm == p->nterm, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " terms, not %" PetscInt_FMT, m->form.nterm,
               p->nterm);
    for (PetscInt j = 0; j < p->nterm; j++)
      if (j != t) m->form.term[j].coef = 0;
    PetscCall(PetscArrayzero(y, p->N));
    PetscCall(MultiplyAdd(p->term[t].A, PETSC_FALSE, free + p->first[p->term[t].col], y + p->first[p->term[t].row]));
    for (PetscInt i = 0; i < p->N; i++) y[i] = p->fixed[i] ? x[i] : y[i];
    PetscCall(MatMult(A, vx, vy));
    PetscCall(PetscSNPrintf(name, sizeof(name), "term %" PetscInt_FMT, t));
    PetscCall(Compare(l, name, vy, y));
    PetscCall(MatDestroy(&A));
  }
  PetscCall(VecDestroy(&vx));
  PetscCall(VecDestroy(&vy));
  PetscCall(PetscFree2(y, free));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscBool Closed(const Problem *p)
{
  PetscBool closed = PETSC_TRUE;

  for (PetscInt d = 0; d < p->dim; d++) closed = (PetscBool)(closed && (p->C[d].ring || (p->C[d].fixed[0] && p->C[d].fixed[1])));
  return closed;
}

/* constant pressures are the null space if there is no open side, and there is no other */
static PetscErrorCode TestNullSpace(const Layout *l, Mat A)
{
  const Problem *p  = l->p;
  PetscBool      is = PETSC_TRUE, constant;
  PetscInt       n  = 0;
  PetscReal     *z, norm = 0;
  const Vec     *v = NULL;
  MatNullSpace   nullspace;

  PetscFunctionBeginUser;
  PetscCall(PetscCalloc1(p->N, &z));
  for (PetscInt i = p->first[p->dim]; i < p->N; i++) z[i] = 1 / PetscSqrtReal((PetscReal)(p->N - p->first[p->dim]));
  PetscCall(MatGetNullSpace(A, &nullspace));
  if (nullspace) PetscCall(MatNullSpaceGetVecs(nullspace, &constant, &n, &v));
  if (n != (Closed(p) ? 1 : 0)) {
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "null space of dimension %" PetscInt_FMT "\n", n));
    (*l->failures)++;
  }
  if (n) {
    Vec w;

    PetscCall(Compare(l, "null space", v[0], z));
    PetscCall(VecDuplicate(v[0], &w));
    PetscCall(MatMult(A, v[0], w));
    PetscCall(VecNorm(w, NORM_INFINITY, &norm));
    is = (PetscBool)(norm < l->tol);
    PetscCall(VecDestroy(&w));
    if (!is || constant) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "that is no null space: %g\n", (double)norm));
    if (!is || constant) (*l->failures)++;
  }
  PetscCall(PetscFree(z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* given normal velocities strongly, tangential ones by penalties; without open sides the divergence that is asked for is what flows out */
static PetscErrorCode TestLift(const Layout *l, Mat A, const PetscReal g[], PetscReal b[])
{
  Problem   *p = l->p;
  PetscReal *z, *gd, sum = 0;
  Vec        vg, vb;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc2(p->N, &z, p->N, &gd));
  for (PetscInt i = 0; i < p->N; i++) gd[i] = p->fixed[i] ? -g[i] : 0;
  PetscCall(Multiply(p->natural, gd, z));
  for (PetscInt i = p->first[p->dim]; i < p->N; i++) sum += b[i] + z[i];
  for (PetscInt i = p->first[p->dim]; i < p->N && Closed(p); i++) b[i] -= sum / (p->N - p->first[p->dim]);
  for (PetscInt i = 0; i < p->dim; i++) {
    for (PetscInt d = 0; d < p->dim; d++) {
      if (d == i) continue;
      PetscCall(AddTerm(p, i, i, p->viscosity, d, p->D[d].G));
      p->nterm--;
      PetscCall(MultiplyAdd(p->term[p->nterm].A, PETSC_FALSE, g + p->first[i], z + p->first[i]));
      PetscCall(MatDestroy(&p->term[p->nterm].A));
    }
  }
  for (PetscInt i = 0; i < p->N; i++) z[i] = p->fixed[i] ? g[i] : b[i] + z[i];
  PetscCall(MatCreateVecs(A, &vg, &vb));
  PetscCall(ToVec(l, g, vg));
  PetscCall(ToVec(l, b, vb));
  PetscCall(DMBoxLiftDirichlet(l->dm, vg, vb));
  PetscCall(Compare(l, "DMBoxLiftDirichlet", vb, z));
  PetscCall(VecDestroy(&vg));
  PetscCall(VecDestroy(&vb));
  PetscCall(PetscFree2(z, gd));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* coefficients changed after the matrices were made, and changed back */
static PetscErrorCode TestUpdate(const Layout *l, Mat A, const PetscReal x[])
{
  const Problem *p = l->p;
  PetscBool      given[3][2], ring[3];
  PetscInt       cells[3];
  PetscReal     *v[3], *y;
  Vec            vx, vy;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(p->N, &y));
  PetscCall(MatCreateVecs(A, &vx, &vy));
  PetscCall(ToVec(l, x, vx));
  for (PetscInt d = 0; d < p->dim; d++) {
    for (int e = 0; e < 2; e++) given[d][e] = p->C[d].fixed[e];
    cells[d] = p->C[d].cells;
    ring[d]  = p->C[d].ring;
    v[d]     = p->C[d].v;
  }
  for (int i = 0; i < 2; i++) {
    const PetscReal viscosity = i ? p->viscosity : 0.3, shift = i ? p->shift : p->shift + 7;
    Problem         changed;

    PetscCall(ProblemCreate(p->dim, p->k, viscosity, shift, p->penalty, cells, v, given, p->slip, ring, &changed));
    PetscCall(DMBoxSetStokes(l->dm, viscosity, shift));
    PetscCall(MatBoxUpdate(A));
    PetscCall(MatMult(A, vx, vy));
    PetscCall(Multiply(changed.K, x, y));
    PetscCall(Compare(l, "MatBoxUpdate", vy, y));
    PetscCall(ProblemDestroy(&changed));
  }
  PetscCall(VecDestroy(&vx));
  PetscCall(VecDestroy(&vy));
  PetscCall(PetscFree(y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- smoothers ---- */

static PetscErrorCode VecGetMemory(Vec v, PetscMemType *memory)
{
  const PetscScalar *a;

  PetscFunctionBeginUser;
  PetscCall(VecGetArrayReadAndMemType(v, &a, memory));
  PetscCall(VecRestoreArrayReadAndMemType(v, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* one smoothing step of every kind, from a given and from the zero guess, and as a preconditioner */
static PetscErrorCode TestSmoother(const Layout *l, Mat A, PCPatchFDLocal local, PCPatchFDClassesType classes, const PetscReal x[],
                                   const PetscReal b[])
{
  static const struct {
    Step      step;
    PetscBool schur; /* the iterations take long */
  } kinds[] = {
    {{PC_PATCHFD_TYPE_MULTIPLICATIVE, PC_PATCHFD_ORDER_FORWARD, PC_PATCHFD_ORDER_BACKWARD, PC_PATCHFD_VARIANT_SEPARATE, 1}, PETSC_TRUE},
    {{PC_PATCHFD_TYPE_MULTIPLICATIVE, PC_PATCHFD_ORDER_FORWARD, PC_PATCHFD_ORDER_BACKWARD, PC_PATCHFD_VARIANT_GLOBAL, 1}, PETSC_FALSE},
    {{PC_PATCHFD_TYPE_MULTIPLICATIVE, PC_PATCHFD_ORDER_FORWARD, PC_PATCHFD_ORDER_BACKWARD, PC_PATCHFD_VARIANT_FUSED, 1}, PETSC_FALSE},
    {{PC_PATCHFD_TYPE_MULTIPLICATIVE, PC_PATCHFD_ORDER_BACKWARD, PC_PATCHFD_ORDER_FORWARD, PC_PATCHFD_VARIANT_AUTO, 0.8}, PETSC_FALSE},
    {{PC_PATCHFD_TYPE_MULTIPLICATIVE, PC_PATCHFD_ORDER_BACKWARD, PC_PATCHFD_ORDER_FORWARD, PC_PATCHFD_VARIANT_FUSED, 0.8}, PETSC_TRUE},
    {{PC_PATCHFD_TYPE_MULTIPLICATIVE, PC_PATCHFD_ORDER_SYMMETRIC, PC_PATCHFD_ORDER_SYMMETRIC, PC_PATCHFD_VARIANT_SEPARATE, 1}, PETSC_FALSE},
    {{PC_PATCHFD_TYPE_MULTIPLICATIVE, PC_PATCHFD_ORDER_SYMMETRIC, PC_PATCHFD_ORDER_SYMMETRIC, PC_PATCHFD_VARIANT_FUSED, 1}, PETSC_TRUE},
    {{PC_PATCHFD_TYPE_MULTIPLICATIVE, PC_PATCHFD_ORDER_SYMMETRIC, PC_PATCHFD_ORDER_SYMMETRIC, PC_PATCHFD_VARIANT_FUSED, 1.1}, PETSC_FALSE},
    {{PC_PATCHFD_TYPE_ADDITIVE, PC_PATCHFD_ORDER_FORWARD, PC_PATCHFD_ORDER_BACKWARD, PC_PATCHFD_VARIANT_AUTO, 0.25}, PETSC_TRUE},
  };
  const Problem  *p   = l->p;
  const PetscReal tol = (local == PC_PATCHFD_LOCAL_SCHUR ? 1e5 : 100) * l->tol;
  PetscReal      *y;
  PetscInt        np;
  Patch          *q;
  Vec             vx, vb;
  KSP             ksp;
  PC              pc;
  PetscMemType    memory; /* on a GPU residuals are those of the whole mesh */

  PetscFunctionBeginUser;
  PetscCall(PatchesCreate(p, (PetscBool)(classes == PC_PATCHFD_CLASSES_SINGLE), &np, &q));
  PetscCall(PetscMalloc1(p->N, &y));
  PetscCall(MatCreateVecs(A, &vx, &vb));
  PetscCall(ToVec(l, b, vb));
  PetscCall(VecGetMemory(vb, &memory));
  PetscCall(SmootherCreate(A, KSPRICHARDSON, &ksp, &pc));
  PetscCall(PCPatchFDSetLocal(pc, local));
  PetscCall(PCPatchFDSetPrecision(pc, PC_PATCHFD_PRECISION_SAME));
  PetscCall(PCPatchFDSetSchurTolerances(pc, l->tol, 1000));
  PetscCall(PCPatchFDSetClasses(pc, classes));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(kinds); i++) {
    const Step     *s      = &kinds[i].step;
    const PetscBool phases = (PetscBool)(s->variant == PC_PATCHFD_VARIANT_FUSED);
    char            name[256];

    if (PetscMemTypeHost(memory) ? local == PC_PATCHFD_LOCAL_SCHUR && !kinds[i].schur : phases || s->variant == PC_PATCHFD_VARIANT_SEPARATE)
      continue;
    PetscCall(StepSet(pc, s, name));
    for (int way = 0; way < STEP_WAYS; way++) {
      if (way == STEP_GUESS) PetscCall(PetscArraycpy(y, x, p->N));
      else PetscCall(PetscArrayzero(y, p->N));
      PetscCall(ReferenceStep(p, np, q, phases, s->type, way == STEP_TRANSPOSE ? s->reverse : s->order, s->omega, b, y));
      PetscCall(ToVec(l, x, vx));
      PetscCall(StepApply(ksp, way, vb, vx, name));
      PetscCall(CompareTo(l, name, vx, y, tol, PETSC_FALSE));
    }
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(PatchesDestroy(np, &q));
  PetscCall(VecDestroy(&vx));
  PetscCall(VecDestroy(&vb));
  PetscCall(PetscFree(y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the whole box as one patch solves, up to constant pressures where they are a null space */
static PetscErrorCode TestBox(const Layout *l, Mat A, const PetscReal x[])
{
  PetscReal *y;
  Vec        vx, vb;
  KSP        ksp;
  PC         pc;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(l->p->N, &y));
  PetscCall(MatCreateVecs(A, &vx, &vb));
  PetscCall(SmootherCreate(A, KSPPREONLY, &ksp, &pc));
  PetscCall(PCPatchFDSetPatch(pc, PC_PATCHFD_PATCH_BOX));
  PetscCall(Multiply(l->p->K, x, y));
  PetscCall(ToVec(l, y, vb));
  PetscCall(KSPSolve(ksp, vb, vx));
  PetscCall(CompareTo(l, "whole box", vx, x, 1000 * l->tol, PETSC_TRUE));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&vx));
  PetscCall(VecDestroy(&vb));
  PetscCall(PetscFree(y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- transfers ---- */

/* values of the coarse polynomials at the fine nodes, field by field */
static PetscErrorCode Interpolate(const Problem *c, const Problem *f, PetscBool transpose, const PetscReal x[], PetscReal y[])
{
  const Problem *from = transpose ? f : c, *to = transpose ? c : f;
  PetscReal     *free;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(from->N, &free));
  for (PetscInt i = 0; i < from->N; i++) free[i] = from->fixed[i] ? 0 : x[i];
  PetscCall(PetscArrayzero(y, to->N));
  for (PetscInt i = 0; i <= c->dim; i++) {
    PetscReal *X[3];
    PetscInt   n[3], m[3];
    Mat        P;

    for (PetscInt d = 0; d < c->dim; d++) {
      PetscCall(LineInterpolation(FieldLine(c, i, d), FieldLine(f, i, d), &X[d]));
      n[d] = FieldLine(f, i, d)->n;
      m[d] = FieldLine(c, i, d)->n;
    }
    PetscCall(Kronecker(c->dim, n, m, (const PetscReal *const *)X, &P));
    PetscCall(MultiplyAdd(P, transpose, free + from->first[i], y + to->first[i]));
    PetscCall(MatDestroy(&P));
    for (PetscInt d = 0; d < c->dim; d++) PetscCall(PetscFree(X[d]));
  }
  for (PetscInt i = 0; i < to->N; i++) y[i] = to->fixed[i] ? 0 : y[i];
  PetscCall(PetscFree(free));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  u = curl A, at the nodes: A_k is continuous in all directions but its own, and vanishes on the sides without slip that it is parallel to,
  so that u has no normal component there.  In 2D there is A_2 alone.
*/
static PetscErrorCode RandomCurl(const Problem *p, PetscRandom rnd, PetscReal u[])
{
  PetscFunctionBeginUser;
  PetscCall(PetscArrayzero(u, p->N));
  for (PetscInt k = p->dim == 2 ? 2 : 0; k < 3; k++) {
    PetscInt   n[3] = {1, 1, 1}, N = 1;
    PetscReal *A;

    for (PetscInt d = 0; d < p->dim; d++) N *= n[d] = d == k ? p->D[d].n : p->C[d].n;
    PetscCall(Random(rnd, N, &A));
    for (PetscInt i = 0; i < N; i++) {
      const PetscInt at[3] = {i % n[0], i / n[0] % n[1], i / n[0] / n[1]};

      for (PetscInt d = 0; d < p->dim; d++)
        if (d != k && ((at[d] == 0 && p->C[d].fixed[0]) || (at[d] == n[d] - 1 && p->C[d].fixed[1]))) A[i] = 0;
    }
    for (PetscInt s = 1; s <= 2; s++) { /* u_i += dA_k / dx_j for (i, j, k) a rotation of (0, 1, 2), and -= for the others */
      const PetscInt i = (k + s) % 3, j = 3 - i - k;
      PetscReal     *X[3];
      PetscInt       row[3];
      Mat            E;

      for (PetscInt d = 0; d < p->dim; d++) {
        const Line *to = FieldLine(p, i, d), *from = d == k ? &p->D[d] : &p->C[d];

        row[d] = to->n;
        PetscCall(PetscCalloc1(row[d] * n[d], &X[d]));
        for (PetscInt r = 0; r < row[d]; r++) {
          const PetscInt c = PetscMin(r / to->stride, to->cells - 1);

          for (PetscInt m = 0; m <= from->k; m++) {
            PetscReal phi[3];

            Lagrange(from->k, from->x + c * from->stride, m, to->x[r], phi);
            X[d][r * n[d] + (c * from->stride + m) % n[d]] = d == j ? phi[1] : (c * from->stride + m == r ? 1 : 0);
          }
        }
      }
      PetscCall(Kronecker(p->dim, row, n, (const PetscReal *const *)X, &E));
      PetscCall(MatScale(E, s == 1 ? 1 : -1));
      PetscCall(MultiplyAdd(E, PETSC_FALSE, A, u + p->first[i]));
      PetscCall(MatDestroy(&E));
      for (PetscInt d = 0; d < p->dim; d++) PetscCall(PetscFree(X[d]));
    }
    PetscCall(PetscFree(A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* what is orthogonal to all pressures in the space of the divergence is zero at every point */
static PetscErrorCode TestDivergence(const Layout *l, const char *name, Vec v)
{
  const Problem     *p = l->p;
  const PetscScalar *x;
  PetscReal          max[2] = {0, 0}, norm;
  Mat                A;
  Vec                y;

  PetscFunctionBeginUser;
  PetscCall(DMCreateMatrix(l->dm, &A));
  PetscCall(VecDuplicate(v, &y));
  PetscCall(MatMult(A, v, y));
  PetscCall(VecNorm(v, NORM_INFINITY, &norm));
  PetscCall(VecGetArrayRead(y, &x));
  for (PetscInt j = 0; j < l->n; j++) {
    PetscReal *m = &max[l->number[j] >= p->first[p->dim] ? 1 : 0];

    *m = PetscMax(*m, PetscAbsScalar(x[j]));
  }
  PetscCall(VecRestoreArrayRead(y, &x));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, max, 2, MPIU_REAL, MPIU_MAX, PETSC_COMM_WORLD));
  if (!(norm > 0 && max[0] > 0 && max[1] <= 10 * l->tol * norm)) {
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: divergence %g of a velocity up to %g\n", name, (double)max[1], (double)norm));
    (*l->failures)++;
  }
  PetscCall(VecDestroy(&y));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* P from the coarse to the fine problem and its transpose */
static PetscErrorCode TestTransfer(const Layout *lc, const Layout *lf, PetscRandom rnd, const PetscReal xc[], const PetscReal xf[])
{
  const Problem *c = lc->p, *f = lf->p;
  PetscReal     *yf, *yc, *u;
  Vec            vc, vf, scale;
  Mat            interp;

  PetscFunctionBeginUser;
  PetscCall(DMCreateInterpolation(lc->dm, lf->dm, &interp, &scale));
  PetscCall(VecDestroy(&scale));
  PetscCall(MatCreateVecs(interp, &vc, &vf));
  PetscCall(PetscMalloc3(f->N, &yf, c->N, &yc, c->N, &u));
  PetscCall(Interpolate(c, f, PETSC_FALSE, xc, yf));
  PetscCall(Interpolate(c, f, PETSC_TRUE, xf, yc));
  PetscCall(ToVec(lc, xc, vc));
  PetscCall(MatInterpolate(interp, vc, vf));
  PetscCall(Compare(lf, "MatInterpolate", vf, yf));
  PetscCall(ToVec(lf, xf, vf));
  PetscCall(MatRestrict(interp, vf, vc));
  PetscCall(Compare(lc, "MatRestrict", vc, yc));
  for (PetscInt i = 0; i < c->N; i++) yc[i] += xc[i];
  PetscCall(ToVec(lc, xc, vc));
  PetscCall(MatMultTransposeAdd(interp, vf, vc, vc));
  PetscCall(Compare(lc, "MatMultTransposeAdd", vc, yc));
  for (PetscInt i = 0; i < f->N; i++) yf[i] += xf[i];
  PetscCall(ToVec(lc, xc, vc));
  PetscCall(MatInterpolateAdd(interp, vc, vf, vf));
  PetscCall(Compare(lf, "MatInterpolateAdd", vf, yf));
  PetscCall(RandomCurl(c, rnd, u));
  PetscCall(ToVec(lc, u, vc));
  PetscCall(TestDivergence(lc, "coarse curl", vc));
  PetscCall(MatInterpolate(interp, vc, vf));
  PetscCall(TestDivergence(lf, "interpolated curl", vf));
  PetscCall(PetscFree3(yf, yc, u));
  PetscCall(VecDestroy(&vc));
  PetscCall(VecDestroy(&vf));
  PetscCall(MatDestroy(&interp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* to the twice refined mesh, or to the next degree */
static PetscErrorCode TestTransferTo(const Layout *l, DM fine, PetscReal *const v[3], PetscRandom rnd, const PetscReal x[])
{
  PetscReal *xf;
  Problem    p;
  Layout     lf;

  PetscFunctionBeginUser;
  PetscCall(ProblemCreateOfDM(fine, v, &p));
  PetscCall(LayoutCreate(fine, &p, l->tol, l->failures, &lf));
  PetscCall(Random(rnd, p.N, &xf));
  PetscCall(TestTransfer(l, &lf, rnd, x, xf));
  PetscCall(LayoutDestroy(&lf));
  PetscCall(ProblemDestroy(&p));
  PetscCall(PetscFree(xf));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- all of it ---- */

static PetscErrorCode TestDegree(PetscInt k, PetscBool graded, PetscReal tol, PetscRandom rnd, PetscInt *failures)
{
  PetscBool  smoothers = PETSC_TRUE, whole = PETSC_TRUE;
  DM         dm, fine, higher;
  Mat        A;
  PetscReal *v[3] = {NULL, NULL, NULL}, *vf[3], *x, *b;
  Problem    p;
  Layout     l;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-smoothers", &smoothers, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-box", &whole, NULL));
  PetscCall(BoxCreate(PETSC_TRUE, k, &higher));
  PetscCall(VerticesCreate(higher, graded, 1, rnd, v, vf));
  PetscCall(DMDestroy(&higher));
  PetscCall(BoxCreateOf(PETSC_TRUE, k, graded, v, &dm));
  PetscCall(BoxCreateOf(PETSC_TRUE, k + 1, graded, v, &higher));
  PetscCall(ProblemCreateOfDM(dm, v, &p));
  PetscCall(LayoutCreate(dm, &p, tol, failures, &l));
  PetscCall(Random(rnd, p.N, &x));
  PetscCall(Random(rnd, p.N, &b));
  PetscCall(DMCreateMatrix(dm, &A));
  PetscCall(TestOperator(&l, A, x, b));
  PetscCall(TestTerms(&l, x));
  PetscCall(TestNullSpace(&l, A));
  PetscCall(TestLift(&l, A, x, b));
  PetscCall(TestUpdate(&l, A, x));
  if (smoothers) {
    for (int i = 0; i < 4; i++)
      PetscCall(TestSmoother(&l, A, i / 2 ? PC_PATCHFD_LOCAL_SCHUR : PC_PATCHFD_LOCAL_DENSE,
                             i % 2 ? PC_PATCHFD_CLASSES_EXACT : PC_PATCHFD_CLASSES_SINGLE, x, b));
  }
  if (whole) PetscCall(TestBox(&l, A, x));
  PetscCall(DMRefine(dm, PETSC_COMM_WORLD, &fine));
  PetscCall(TestTransferTo(&l, fine, vf, rnd, x));
  PetscCall(TestTransferTo(&l, higher, v, rnd, x));
  PetscCall(LayoutDestroy(&l));
  PetscCall(ProblemDestroy(&p));
  for (PetscInt d = 0; d < p.dim; d++) PetscCall(PetscFree2(v[d], vf[d]));
  PetscCall(PetscFree(x));
  PetscCall(PetscFree(b));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&fine));
  PetscCall(DMDestroy(&higher));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Tests(void)
{
  PetscFunctionBeginUser;
  PetscCall(RunDegrees(TestDegree));
  PetscFunctionReturn(PETSC_SUCCESS);
}

TEST_MAIN("all", {"all", Tests})

/*TEST

   testset:
     test:
       suffix: 2d
       args: -dm_box_dim 2 -dm_box_cells 5,4 -degrees 1,2,3,4
     test:
       suffix: 2d_graded
       args: -dm_box_dim 2 -dm_box_cells 4,7 -degrees 1,2,3 -graded -dm_box_lower 0.3,-1 -dm_box_upper 2,7 -dm_box_viscosity 0.01 -dm_box_shift 2 -dm_box_penalty 1.5,2
     test:
       suffix: 2d_open
       output_file: output/stokes_ranks.out
       args: -dm_box_dim 2 -dm_box_cells 5,4 -degrees 1,2 -each_graded false:true -dm_box_boundary dirichlet,neumann,neumann,dirichlet -dm_box_penalty 1.5,2
     test:
       suffix: 3d
       args: -dm_box_cells 3,4,3 -degrees 1
     test:
       suffix: 3d_2
       args: -dm_box_cells 3,2,2 -degrees 2
     test:
       suffix: 3d_graded
       args: -dm_box_cells 3,4,2 -degrees 1 -graded -dm_box_boundary dirichlet,neumann,neumann,dirichlet,neumann,neumann -dm_box_lower 0.3,-1,5 -dm_box_upper 2,7,6 -dm_box_viscosity 0.1 -dm_box_shift 3 -dm_box_penalty 2,1.5
     test:
       suffix: periodic
       nsize: {{1 2 4}}
       output_file: output/stokes_ranks.out
       args: -dm_box_dim 2 -dm_box_cells 4,3 -degrees 1,2 -each_dm_box_boundary periodic,periodic,dirichlet,dirichlet:periodic,periodic,dirichlet,neumann
     test:
       suffix: periodic_graded
       nsize: {{1 2 4}}
       output_file: output/stokes_ranks.out
       args: -dm_box_dim 2 -dm_box_cells 4,8 -degrees 1,2 -dm_box_boundary periodic -dm_box_shift 2 -graded
     test:
       suffix: periodic_3d
       output_file: output/stokes_3d.out
       args: -dm_box_cells 3,4,2 -degrees 1 -dm_box_boundary dirichlet,dirichlet,periodic,periodic,dirichlet,dirichlet
     test:
       suffix: slip
       nsize: {{1 3}}
       output_file: output/stokes_ranks.out
       args: -dm_box_dim 2 -dm_box_cells 5,4 -degrees 1,2 -each_graded false:true -each_dm_box_boundary symmetry:dirichlet,symmetry,neumann,symmetry -dm_box_shift 1
     test:
       suffix: slip_3d
       output_file: output/stokes_3d.out
       args: -dm_box_cells 3,4,2 -degrees 1 -dm_box_boundary symmetry,dirichlet,periodic,periodic,symmetry,symmetry
     # lines of one and of two cells
     test:
       suffix: thin
       output_file: output/stokes_2d_graded.out
       args: -dm_box_dim 2 -each_dm_box_cells 1,1:2,1:1,3:2,2 -degrees 1,2,3 -each_dm_box_boundary dirichlet:neumann:dirichlet,dirichlet,neumann,neumann -dm_box_shift 0.5
     test:
       suffix: thin_3d
       args: -each_dm_box_cells 1,1,2:2,2,2 -degrees 1,2 -dm_box_boundary neumann,dirichlet,dirichlet,neumann,dirichlet,dirichlet -smoothers 0
       output_file: output/stokes_thin_3d.out
     test:
       suffix: ranks
       nsize: {{2 3 4}}
       output_file: output/stokes_ranks.out
       args: -dm_box_dim 2 -dm_box_cells 7,5 -degrees 1,2
     test:
       suffix: ranks_3d
       nsize: {{2 4}}
       output_file: output/stokes_3d.out
       args: -dm_box_cells 3,4,3 -degrees 1
     test:
       suffix: ranks_8
       nsize: 8
       output_file: output/stokes_3d.out
       args: -dm_box_cells 4,4,3 -degrees 1 -smoothers 0
     test:
       suffix: ranks_open
       nsize: {{2 3 4}}
       output_file: output/stokes_ranks.out
       args: -dm_box_dim 2 -dm_box_cells 7,5 -degrees 1,2 -graded -dm_box_boundary neumann,dirichlet,dirichlet,neumann

   testset:
     args: -dm_vec_type single -tolerance 1e-5
     test:
       suffix: single_2d
       output_file: output/stokes_2d.out
       args: -dm_box_dim 2 -dm_box_cells 5,4 -degrees 1,2,3,4
     test:
       suffix: single_3d
       nsize: {{1 4}}
       output_file: output/stokes_3d.out
       args: -dm_box_cells 3,3,3 -degrees 1 -dm_box_boundary dirichlet,dirichlet,dirichlet,neumann,dirichlet,dirichlet -graded

   testset:
     requires: cuda gpu
     args: -dm_vec_type cuda
     test:
       suffix: cuda_2d
       output_file: output/stokes_2d.out
       args: -dm_box_dim 2 -dm_box_cells 5,4 -degrees 1,2,3,4
     test:
       suffix: cuda_2d_open
       output_file: output/stokes_ranks.out
       args: -dm_box_dim 2 -dm_box_cells 5,4 -degrees 1,2 -graded {{false true}} -dm_box_boundary dirichlet,neumann,neumann,dirichlet -dm_box_penalty 1.5,2
     test:
       suffix: cuda_slip
       output_file: output/stokes_ranks.out
       args: -dm_box_dim 2 -dm_box_cells 5,4 -degrees 1,2 -graded {{false true}} -dm_box_boundary dirichlet,symmetry,neumann,symmetry
     test:
       suffix: cuda_3d
       nsize: {{1 2}}
       output_file: output/stokes_3d.out
       args: -dm_box_cells 3,4,3 -degrees 1
     test:
       suffix: cuda_3d_2
       output_file: output/stokes_3d_2.out
       args: -dm_box_cells 3,2,2 -degrees 2
   test:
     requires: cuda gpu
     suffix: cuda_periodic
     nsize: {{1 2}}
     output_file: output/stokes_ranks.out
     args: -dm_vec_type cuda -use_gpu_aware_mpi 0 -dm_box_dim 2 -dm_box_cells 4,3 -degrees 1,2
     args: -dm_box_boundary periodic,periodic,dirichlet,dirichlet

TEST*/
