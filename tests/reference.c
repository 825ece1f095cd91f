static char help[] = "Operators, transfers and smoothing steps against dense Kronecker references that share no code with the library.\n\
  -dm_box_*       : the mesh (see DMBOX); -graded : random cell lengths\n\
  -tolerance <t>  : allowed relative deviation in the maximum norm\n\n";

#include <petscpatchfd.h>
#include <patchfd/private/matimpl.h> /* to take terms out of an operator */
#include "reference.h"
#include "bendingload.h"
#include "layout.h"
#include "runtest.h"

/* every way to apply the operator, its diagonal, its conversion */
static PetscErrorCode TestOperator(const Layout *l, Mat A, const PetscReal x[], const PetscReal b[], PetscReal tol, PetscInt *failures)
{
  const Problem *p = l->p;
  PetscReal     *y, *z;
  Vec            vx, vb, vy;
  Mat            B;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc2(p->N, &y, p->N, &z));
  PetscCall(MatCreateVecs(A, &vx, &vy));
  PetscCall(VecDuplicate(vx, &vb));
  PetscCall(ToVec(l, x, vx));
  PetscCall(ToVec(l, b, vb));
  Multiply(p, x, y);
  PetscCall(MatMult(A, vx, vy));
  PetscCall(Compare(l, "MatMult", vy, y, tol, failures));
  PetscCall(MatMultTranspose(A, vx, vy));
  PetscCall(Compare(l, "MatMultTranspose", vy, y, tol, failures));
  for (PetscInt i = 0; i < p->N; i++) z[i] = b[i] + y[i];
  PetscCall(MatMultAdd(A, vx, vb, vy));
  PetscCall(Compare(l, "MatMultAdd", vy, z, tol, failures));
  PetscCall(VecCopy(vb, vy));
  PetscCall(MatMultAdd(A, vx, vy, vy));
  PetscCall(Compare(l, "MatMultAdd in place", vy, z, tol, failures));
  for (PetscInt i = 0; i < p->N; i++) z[i] = b[i] - y[i];
  PetscCall(MatResidual(A, vb, vx, vy));
  PetscCall(Compare(l, "MatResidual", vy, z, tol, failures));
  PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &B));
  {
    Vec wx, wy;

    PetscCall(MatCreateVecs(B, &wx, &wy));
    PetscCall(ToVec(l, x, wx));
    PetscCall(MatMult(B, wx, wy));
    PetscCall(Compare(l, "MatConvert", wy, y, PetscMin(tol, 1e-12), failures));
    PetscCall(VecDestroy(&wx));
    PetscCall(VecDestroy(&wy));
  }
  PetscCall(MatDestroy(&B));
  for (PetscInt i = 0; i < p->N; i++) {
    PetscInt at[3];

    Node(p, i, at);
    z[i] = Entry(p, at, at);
  }
  PetscCall(MatGetDiagonal(A, vy));
  PetscCall(Compare(l, "MatGetDiagonal", vy, z, tol, failures));
  PetscCall(VecDestroy(&vx));
  PetscCall(VecDestroy(&vy));
  PetscCall(VecDestroy(&vb));
  PetscCall(PetscFree2(y, z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* a row of what weak data bring into the right-hand side: integrals over the sides of the row's cell */
static PetscReal WeakLift(const Problem *p, const PetscInt i[3], const PetscReal g[])
{
  PetscInt  j[3], lo[3];
  PetscReal M[3], G[3], sum = 0;

  for (int d = 0; d < 3; d++) lo[d] = i[d] - (d < p->dim ? i[d] % p->line[d].stride : 0);
  for (j[2] = lo[2]; j[2] <= lo[2] + p->line[2].k; j[2]++)
    for (j[1] = lo[1]; j[1] <= lo[1] + p->line[1].k; j[1]++)
      for (j[0] = lo[0]; j[0] <= lo[0] + p->line[0].k; j[0]++) {
        for (int d = 0; d < 3; d++) {
          M[d] = p->line[d].M[i[d] * p->line[d].n + j[d]];
          G[d] = p->D[d] * p->line[d].G[i[d] * p->line[d].n + j[d]];
        }
        sum += (G[0] * M[1] * M[2] + M[0] * G[1] * M[2] + M[0] * M[1] * G[2]) * g[(j[2] * p->line[1].n + j[1]) * p->line[0].n + j[0]];
      }
  return sum;
}

/* lifting of Dirichlet data: the operator without boundary conditions acts on them */
static PetscErrorCode TestLift(const Layout *l, Mat A, const PetscReal g[], const PetscReal b[], PetscReal tol, PetscInt *failures)
{
  Problem    natural = *l->p;
  PetscReal *gd, *z;
  Vec        vg, vb;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc2(natural.N, &gd, natural.N, &z));
  for (int d = 0; d < 3; d++) natural.line[d].fixed[0] = natural.line[d].fixed[1] = PETSC_FALSE;
  for (PetscInt i = 0; i < natural.N; i++) {
    PetscInt at[3];

    Node(l->p, i, at);
    gd[i] = Fixed(l->p, at) ? g[i] : 0;
  }
  Multiply(&natural, gd, z);
  for (PetscInt i = 0; i < natural.N; i++) {
    PetscInt at[3];

    Node(l->p, i, at);
    z[i] = Fixed(l->p, at) ? g[i] : b[i] - z[i];
    if (l->p->line[0].stride > l->p->line[0].k) z[i] += WeakLift(l->p, at, g); /* without continuity */
  }
  PetscCall(MatCreateVecs(A, &vg, &vb));
  PetscCall(ToVec(l, g, vg));
  PetscCall(ToVec(l, b, vb));
  PetscCall(DMBoxLiftDirichlet(l->dm, vg, vb));
  PetscCall(Compare(l, "DMBoxLiftDirichlet", vb, z, tol, failures));
  PetscCall(VecDestroy(&vg));
  PetscCall(VecDestroy(&vb));
  PetscCall(PetscFree2(gd, z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* one term of a plate's operator alone: the others have the coefficient zero.  The first one has the shift */
static PetscErrorCode TestTerms(const Layout *l, const PetscReal x[], const PetscReal b[], PetscReal tol, PetscInt *failures)
{
  const PetscInt dim = l->p->dim, nterm = dim + dim * (dim - 1) / 2;

  PetscFunctionBeginUser;
  if (!l->p->bending) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt i = 0; i < nterm; i++) {
    Problem  alone = *l->p;
    Layout   la    = *l;
    Mat      A;
    Mat_Box *m;

    PetscCall(DMCreateMatrix(l->dm, &A));
    PetscCall(MatBoxGet(A, "reference", &m));
    PetscCheck(m->form.nterm == nterm, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " terms, not %" PetscInt_FMT, m->form.nterm,
               nterm);
    for (PetscInt j = 0; j < nterm; j++) {
      if (j == i) continue;
      m->form.term[j].coef = 0;
      if (j < dim) alone.D[j] = 0;
      else alone.twist[j - dim] = 0;
    }
    if (i > 0) alone.shift = 0;
    la.p = &alone;
    PetscCall(TestOperator(&la, A, x, b, tol, failures));
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the whole box as one patch solves exactly */
static PetscErrorCode TestBox(const Layout *l, Mat A, const PetscReal x[], PetscReal tol, PetscInt *failures)
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
  Multiply(l->p, x, y);
  PetscCall(ToVec(l, y, vb));
  PetscCall(KSPSolve(ksp, vb, vx));
  PetscCall(Compare(l, "whole box", vx, x, tol, failures));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&vx));
  PetscCall(VecDestroy(&vb));
  PetscCall(PetscFree(y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* one smoothing step of every kind, from a given and from the zero guess, and as a preconditioner */
static PetscErrorCode TestSmoother(const Layout *l, Mat A, PCPatchFDLocal local, PCPatchFDClassesType classes, const PetscReal x[],
                                   const PetscReal b[], PetscReal tol, PetscInt *failures)
{
  static const struct {
    Step     step;
    PetscInt variants;
  } kinds[] = {
    {{PC_PATCHFD_TYPE_MULTIPLICATIVE, PC_PATCHFD_ORDER_FORWARD, PC_PATCHFD_ORDER_BACKWARD, PC_PATCHFD_VARIANT_AUTO, 1}, 4},
    {{PC_PATCHFD_TYPE_MULTIPLICATIVE, PC_PATCHFD_ORDER_BACKWARD, PC_PATCHFD_ORDER_FORWARD, PC_PATCHFD_VARIANT_AUTO, 0.8}, 4},
    {{PC_PATCHFD_TYPE_MULTIPLICATIVE, PC_PATCHFD_ORDER_SYMMETRIC, PC_PATCHFD_ORDER_SYMMETRIC, PC_PATCHFD_VARIANT_AUTO, 1}, 1},
    {{PC_PATCHFD_TYPE_MULTIPLICATIVE, PC_PATCHFD_ORDER_SYMMETRIC, PC_PATCHFD_ORDER_SYMMETRIC, PC_PATCHFD_VARIANT_AUTO, 1.1}, 1},
    {{PC_PATCHFD_TYPE_ADDITIVE, PC_PATCHFD_ORDER_FORWARD, PC_PATCHFD_ORDER_BACKWARD, PC_PATCHFD_VARIANT_AUTO, 0.25}, 1},
  };
  const Problem  *p     = l->p;
  const PetscBool terms = (PetscBool)(local != PC_PATCHFD_LOCAL_AUTO), single = (PetscBool)(classes == PC_PATCHFD_CLASSES_SINGLE),
                  exact             = (PetscBool)(local != PC_PATCHFD_LOCAL_FD_INEXACT && !single);
  const PCPatchFDVariant variants[] = {terms ? PC_PATCHFD_VARIANT_AUTO : PC_PATCHFD_VARIANT_BOUNDARY, PC_PATCHFD_VARIANT_FUSED,
                                       PC_PATCHFD_VARIANT_SEPARATE, PC_PATCHFD_VARIANT_GLOBAL};
  Problem                solved     = *p; /* what the patches' matrices are of */
  PetscReal             *y[STEP_APPLY];
  PetscBool              known = PETSC_FALSE;
  PetscInt               np    = 0;
  Patch                 *q;
  Vec                    vx, vb;
  KSP                    ksp;
  PC                     pc;

  PetscFunctionBeginUser;
  for (int i = 0; i < 3 && local == PC_PATCHFD_LOCAL_FD_INEXACT; i++) solved.twist[i] = 0;
  PetscCall(PatchesCreate(&solved, single, &np, &q));
  PetscCall(PetscMalloc3(p->N, &y[0], p->N, &y[1], p->N, &y[2]));
  PetscCall(MatCreateVecs(A, &vx, &vb));
  PetscCall(ToVec(l, b, vb));
  PetscCall(SmootherCreate(A, KSPRICHARDSON, &ksp, &pc));
  PetscCall(PCPatchFDSetLocal(pc, local));
  PetscCall(PCPatchFDSetClasses(pc, classes));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(kinds); i++) {
    Step s = kinds[i].step;

    for (PetscInt v = 0; v < kinds[i].variants; v++) {
      const PetscBool phases  = (PetscBool)(!terms || variants[v] == PC_PATCHFD_VARIANT_FUSED),
                      repeats = (PetscBool)(exact && (phases || !p->bending));
      char name[256];

      if (s.type != PC_PATCHFD_TYPE_ADDITIVE) s.variant = variants[v];
      PetscCall(StepSet(pc, &s, name));
      for (int way = 0; way < STEP_WAYS; way++) {
        if (way < STEP_APPLY && (v == 0 || phases != known)) { /* the other variants give the same */
          if (way == STEP_GUESS) PetscCall(PetscArraycpy(y[way], x, p->N));
          else PetscCall(PetscArrayzero(y[way], p->N));
          PetscCall(ReferenceStep(p, np, q, phases, repeats, s.type, way == STEP_TRANSPOSE ? s.reverse : s.order, s.omega, b, y[way]));
        }
        PetscCall(ToVec(l, x, vx));
        PetscCall(StepApply(ksp, way, vb, vx, name));
        PetscCall(Compare(l, name, vx, y[way == STEP_APPLY ? STEP_ZERO : way], tol, failures));
      }
      known = phases;
    }
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&vx));
  PetscCall(VecDestroy(&vb));
  for (PetscInt i = 0; i < np; i++) PetscCall(PetscFree2(q[i].node, q[i].L));
  PetscCall(PetscFree(q));
  PetscCall(PetscFree3(y[0], y[1], y[2]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* coefficients changed after the matrices were made, and changed back; the assembled matrix only where it does not take most of the test's
   time */
static PetscErrorCode TestUpdate(const Layout *l, Mat A, const PetscReal x[], PetscReal tol, PetscInt *failures)
{
  Problem         p       = *l->p;
  const PetscReal D[2][3] = {{2, 0.5, 3}, {p.D[0], p.D[1], p.D[2]}}, shift[2] = {p.shift + 4, p.shift};
  const PetscBool assembled = (PetscBool)(p.N <= 4000);
  PetscReal      *y;
  Mat             B = NULL;
  Vec             vx, vy, wx = NULL, wy = NULL;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(p.N, &y));
  PetscCall(MatCreateVecs(A, &vx, &vy));
  PetscCall(ToVec(l, x, vx));
  if (assembled) {
    PetscCall(DMSetMatType(l->dm, MATAIJ));
    PetscCall(DMCreateMatrix(l->dm, &B));
    PetscCall(DMSetMatType(l->dm, MATSHELL));
    PetscCall(MatCreateVecs(B, &wx, &wy));
    PetscCall(ToVec(l, x, wx));
  }
  for (int i = 0; i < 2; i++) {
    if (p.bending) PetscCall(DMBoxSetBiharmonic(l->dm, D[i][0], shift[i]));
    else PetscCall(DMBoxSetPoisson(l->dm, D[i], shift[i]));
    PetscCall(ProblemGetCoefficients(l->dm, &p));
    PetscCall(MatBoxUpdate(A));
    Multiply(&p, x, y);
    PetscCall(MatMult(A, vx, vy));
    PetscCall(Compare(l, "MatBoxUpdate", vy, y, tol, failures));
    if (!assembled) continue;
    PetscCall(MatBoxUpdate(B));
    PetscCall(MatMult(B, wx, wy));
    PetscCall(Compare(l, "MatBoxUpdate of the assembled matrix", wy, y, tol, failures));
  }
  PetscCall(VecDestroy(&vx));
  PetscCall(VecDestroy(&vy));
  PetscCall(VecDestroy(&wx));
  PetscCall(VecDestroy(&wy));
  PetscCall(MatDestroy(&B));
  PetscCall(PetscFree(y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* P from the coarse to the fine problem and its transpose */
static PetscErrorCode TestTransfer(const Layout *lc, const Layout *lf, const PetscReal xc[], const PetscReal xf[], PetscReal tol,
                                   PetscInt *failures)
{
  const Problem *c = lc->p, *f = lf->p;
  PetscReal     *P[3], *yf, *yc;
  Vec            vc, vf, vs;
  Mat            interp;

  PetscFunctionBeginUser;
  PetscCall(DMCreateInterpolation(lc->dm, lf->dm, &interp, &vs));
  PetscCall(VecDestroy(&vs));
  PetscCall(MatCreateVecs(interp, &vc, &vf));
  PetscCall(PetscCalloc2(f->N, &yf, c->N, &yc));
  for (int d = 0; d < 3; d++) PetscCall(LineInterpolation(&c->line[d], &f->line[d], &P[d]));
  for (PetscInt i = 0; i < f->N; i++) {
    PetscInt af[3], ac[3];

    Node(f, i, af);
    if (Fixed(f, af)) continue;
    for (ac[2] = 0; ac[2] < c->line[2].n; ac[2]++) {
      const PetscReal w2 = P[2][af[2] * c->line[2].n + ac[2]];

      for (ac[1] = 0; ac[1] < c->line[1].n && w2 != 0; ac[1]++) {
        const PetscReal w1 = w2 * P[1][af[1] * c->line[1].n + ac[1]];

        for (ac[0] = 0; ac[0] < c->line[0].n && w1 != 0; ac[0]++) {
          const PetscReal w = w1 * P[0][af[0] * c->line[0].n + ac[0]];
          const PetscInt  j = (ac[2] * c->line[1].n + ac[1]) * c->line[0].n + ac[0];

          if (w == 0 || Fixed(c, ac)) continue;
          yf[i] += w * xc[j];
          yc[j] += w * xf[i];
        }
      }
    }
  }
  PetscCall(ToVec(lc, xc, vc));
  PetscCall(MatInterpolate(interp, vc, vf));
  PetscCall(Compare(lf, "MatInterpolate", vf, yf, tol, failures));
  PetscCall(ToVec(lf, xf, vf));
  PetscCall(MatRestrict(interp, vf, vc));
  PetscCall(Compare(lc, "MatRestrict", vc, yc, tol, failures));
  PetscCall(ToVec(lc, xc, vc));
  PetscCall(MatMultTransposeAdd(interp, vf, vc, vc));
  for (PetscInt i = 0; i < c->N; i++) yc[i] += xc[i];
  PetscCall(Compare(lc, "MatMultTransposeAdd", vc, yc, tol, failures));
  PetscCall(ToVec(lc, xc, vc));
  PetscCall(MatInterpolateAdd(interp, vc, vf, vf));
  for (PetscInt i = 0; i < f->N; i++) yf[i] += xf[i];
  PetscCall(Compare(lf, "MatInterpolateAdd", vf, yf, tol, failures));
  for (int d = 0; d < 3; d++) PetscCall(PetscFree(P[d]));
  PetscCall(PetscFree2(yf, yc));
  PetscCall(VecDestroy(&vc));
  PetscCall(VecDestroy(&vf));
  PetscCall(MatDestroy(&interp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* transfers from meshes that have half the cells in some directions only, those that diffusion makes strong; v and vf: the vertices of the
   mesh with half the cells in all, and of the fine one */
static PetscErrorCode TestSemicoarsening(const Layout *lf, PetscReal *v[3], PetscReal *vf[3], const PetscReal xf[], PetscReal tol,
                                         PetscRandom rnd, PetscInt *failures)
{
  PetscInt dim, cells[3], semicells[3], again[3];

  PetscFunctionBeginUser;
  PetscCall(DMGetDimension(lf->dm, &dim));
  PetscCall(DMBoxGetCells(lf->dm, cells));
  for (PetscInt strong = 1; strong < (1 << dim) - 1; strong++) {
    PetscReal diffusion[3], *vs[3], *x;
    PetscBool can = PETSC_TRUE, same = PETSC_TRUE;
    DM        semi, fine;
    Problem   p;
    Layout    l;

    for (PetscInt d = 0; d < dim; d++) {
      const PetscBool halved = (PetscBool)(strong >> d & 1);

      diffusion[d] = halved ? 1 : 1e-9;
      vs[d]        = halved ? v[d] : vf[d];
      can          = (PetscBool)(can && (!halved || cells[d] >= 4));
    }
    if (!can) continue;
    PetscCall(DMBoxSetPoisson(lf->dm, diffusion, 0));
    PetscCall(DMBoxSetSemicoarsening(lf->dm, 1e-5));
    PetscCall(DMCoarsen(lf->dm, PETSC_COMM_WORLD, &semi));
    PetscCall(DMBoxGetCells(semi, semicells));
    PetscCall(DMRefine(semi, PETSC_COMM_WORLD, &fine));
    PetscCall(DMBoxGetCells(fine, again));
    for (PetscInt d = 0; d < dim; d++)
      same = (PetscBool)(same && semicells[d] == cells[d] / (strong >> d & 1 ? 2 : 1) && again[d] == cells[d]);
    if (!same) {
      (*failures)++;
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "directions %" PetscInt_FMT " (bits) are strong, but not those that were halved\n", strong));
    } else {
      PetscCall(ProblemCreate(semi, vs, &p));
      PetscCall(LayoutCreate(semi, &p, &l));
      PetscCall(Random(rnd, p.N, &x));
      PetscCall(TestTransfer(&l, lf, x, xf, tol, failures));
      PetscCall(PetscFree(x));
      PetscCall(LayoutDestroy(&l));
      PetscCall(ProblemDestroy(&p));
    }
    PetscCall(DMDestroy(&fine));
    PetscCall(DMDestroy(&semi));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* one degree: the operator and smoothers on the mesh, the transfers to the twice refined mesh and to a higher degree */
/* to a mesh with these vertices; coarse: halved by semicoarsening, too */
static PetscErrorCode TestTransferTo(const Layout *l, DM fine, PetscReal *v[3], PetscReal *coarse[3], const PetscReal x[], PetscReal tol,
                                     PetscRandom rnd, PetscInt *failures)
{
  PetscReal *xf;
  Problem    p;
  Layout     lf;

  PetscFunctionBeginUser;
  PetscCall(ProblemCreate(fine, v, &p));
  PetscCall(LayoutCreate(fine, &p, &lf));
  PetscCall(Random(rnd, p.N, &xf));
  PetscCall(TestTransfer(l, &lf, x, xf, tol, failures));
  if (coarse) PetscCall(TestSemicoarsening(&lf, coarse, v, xf, tol, rnd, failures));
  PetscCall(LayoutDestroy(&lf));
  PetscCall(ProblemDestroy(&p));
  PetscCall(PetscFree(xf));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestDegree(PetscInt k, PetscBool graded, PetscReal tol, PetscRandom rnd, PetscInt *failures)
{
  DM         dm, fine, higher;
  Mat        A;
  PetscReal *v[3] = {NULL, NULL, NULL}, *vf[3], *x, *b;
  Problem    p;
  Layout     l;

  PetscFunctionBeginUser;
  PetscCall(BoxCreate(PETSC_FALSE, k, &higher));
  PetscCall(VerticesCreate(higher, graded, 0.5, rnd, v, vf));
  PetscCall(DMDestroy(&higher));
  PetscCall(BoxCreateOf(PETSC_FALSE, k, graded, v, &dm));
  PetscCall(BoxCreateOf(PETSC_FALSE, k + 1, graded, v, &higher));
  PetscCall(ProblemCreate(dm, v, &p));
  PetscCall(LayoutCreate(dm, &p, &l));
  PetscCall(Random(rnd, p.N, &x));
  PetscCall(Random(rnd, p.N, &b));
  PetscCall(DMCreateMatrix(dm, &A));
  PetscCall(TestOperator(&l, A, x, b, tol, failures));
  PetscCall(TestTerms(&l, x, b, tol, failures));
  PetscCall(TestLift(&l, A, x, b, tol, failures));
  PetscCall(TestBendingLoad(&l, b, tol, failures));
  PetscCall(TestUpdate(&l, A, x, tol, failures));
  PetscCall(TestBox(&l, A, x, (p.bending ? 1e4 : 1e3) * tol, failures));
  if (p.bending) {
    for (int s = 0; s < 4; s++)
      PetscCall(TestSmoother(&l, A, s / 2 ? PC_PATCHFD_LOCAL_DENSE : PC_PATCHFD_LOCAL_FD_INEXACT,
                             s % 2 ? PC_PATCHFD_CLASSES_SINGLE : PC_PATCHFD_CLASSES_EXACT, x, b, 100 * tol, failures));
  } else {
    PetscCall(TestSmoother(&l, A, PC_PATCHFD_LOCAL_AUTO, PC_PATCHFD_CLASSES_AUTO, x, b, 10 * tol, failures));
    PetscCall(TestSmoother(&l, A, PC_PATCHFD_LOCAL_DENSE, PC_PATCHFD_CLASSES_EXACT, x, b, 10 * tol, failures));
  }
  PetscCall(DMRefine(dm, PETSC_COMM_WORLD, &fine));
  PetscCall(TestTransferTo(&l, fine, vf, p.bending ? NULL : v, x, tol, rnd, failures));
  PetscCall(TestTransferTo(&l, higher, v, NULL, x, tol, rnd, failures));
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
       suffix: 1d
       nsize: {{1 3}}
       output_file: output/reference_1d.out
       args: -dm_box_dim 1 -dm_box_cells 6 -degrees 1,2,3,4,5,6,7,8,9,10
     test:
       suffix: 2d
       args: -dm_box_dim 2 -dm_box_cells 5,4 -degrees 1,2,3,4,5,6,7,8,9,10
     test:
       suffix: 2d_graded
       args: -dm_box_dim 2 -dm_box_cells 19,4 -degrees 1,2,3,4 -graded -dm_box_boundary dirichlet,neumann,neumann,dirichlet -dm_box_lower 0.3,-1 -dm_box_upper 2,7 -dm_box_diffusion 1,3 -dm_box_shift 2
     test:
       suffix: 3d
       args: -dm_box_cells 3,4,5 -degrees 1,2,3,4
     test:
       suffix: 3d_high
       args: -dm_box_cells 2,3,2 -degrees 5,6,7
     test:
       suffix: 3d_8
       args: -dm_box_cells 2,2,3 -degrees 8
     # so many patches of a colour that host kernels go layer by layer
     test:
       suffix: 3d_layers
       nsize: {{1 2}}
       output_file: output/reference_3d_layers.out
       args: -dm_box_cells 26,25,5 -degrees 2
     test:
       suffix: 3d_wide
       args: -dm_box_cells 18,5,4 -degrees 1,2
     test:
       suffix: 3d_graded
       args: -dm_box_cells 3,4,5 -degrees 1,2,3 -graded -dm_box_boundary dirichlet,neumann,neumann,dirichlet,neumann,neumann -dm_box_lower 0.3,-1,5 -dm_box_upper 2,7,6 -dm_box_diffusion 1,3,0.1
     test:
       suffix: 3d_neumann
       args: -dm_box_cells 5,4,3 -degrees 1,2,3 -dm_box_boundary neumann -dm_box_shift 1.5
     test:
       suffix: 3d_mixed
       args: -dm_box_cells 5,4,7 -degrees 1,2,3 -dm_box_boundary neumann,neumann,neumann,dirichlet,neumann,neumann
     test:
       suffix: robin
       nsize: {{1 3}}
       args: -dm_box_cells 5,1,4 -degrees 1,2,3 -dm_box_boundary neumann,neumann,neumann,neumann,neumann,dirichlet -dm_box_robin 1,2,0,3,0.5,0 -dm_box_diffusion 1,3,0.1
       output_file: output/reference_robin.out
     test:
       suffix: robin_2d
       nsize: {{1 2}}
       args: -dm_box_dim 2 -dm_box_cells 19,4 -degrees 1,2,3,4,7 -dm_box_boundary neumann,neumann,periodic,periodic -dm_box_robin 5 -graded -dm_box_diffusion 2
       output_file: output/reference_robin_2d.out
     test:
       suffix: 3d_thin
       args: -dm_box_cells 1,4,2 -degrees 2,3
     test:
       suffix: 3d_few
       args: -dm_box_cells 1,1,2 -degrees 1,2,3 -dm_box_boundary neumann,dirichlet,dirichlet,neumann,dirichlet,dirichlet

   test:
     suffix: ranks
     nsize: {{3 4 8}}
     output_file: output/reference_ranks.out
     args: -dm_box_cells 6,5,4 -degrees 1,2,3

   test:
     suffix: ranks_graded
     nsize: {{3 4 8}}
     output_file: output/reference_ranks_graded.out
     args: -dm_box_dim 2 -dm_box_cells 9,5 -degrees 1,3 -graded -dm_box_boundary neumann,dirichlet,dirichlet,neumann

   testset:
     args: -dm_vec_type single -tolerance 1e-5
     test:
       suffix: single_2d
       args: -dm_box_dim 2 -dm_box_cells 36,4 -degrees 1,2,3,4,5,6,7,8
     test:
       suffix: single_3d_layers
       output_file: output/reference_3d_layers.out
       args: -dm_box_cells 34,33,3 -degrees 2
     test:
       suffix: single_3d
       nsize: {{1 4}}
       output_file: output/reference_single_3d.out
       args: -dm_box_cells 5,4,4 -degrees 1,2,3,4
     test:
       suffix: single_graded
       args: -dm_box_cells 3,4,5 -degrees 1,2,3 -graded -dm_box_boundary dirichlet,neumann,neumann,dirichlet,neumann,neumann

   # periodic sides: two cells, and lengths of cells that begin anew
   testset:
     output_file: output/reference_periodic.out
     nsize: {{1 2 3 4}}
     test:
       suffix: periodic_1d
       args: -dm_box_dim 1 -dm_box_cells 4 -degrees 1,2,3 -dm_box_boundary periodic -dm_box_shift 1
     test:
       suffix: periodic_2d
       args: -dm_box_dim 2 -dm_box_cells 6,2 -degrees 1,2,3 -dm_box_boundary dirichlet,neumann,periodic,periodic
     test:
       suffix: periodic_graded
       args: -dm_box_dim 2 -dm_box_cells 8,4 -degrees 1,2,3 -graded -dm_box_boundary periodic -dm_box_shift 2 -dm_box_diffusion 1,3 -dm_box_lower 0.3,-1 -dm_box_upper 2,7
     test:
       suffix: periodic_direct
       args: -dm_box_dim 2 -dm_box_cells 8,6 -degrees 1,2,3 -dm_box_boundary periodic -dm_box_shift 1
     test:
       suffix: periodic_odd
       args: -dm_box_dim 2 -dm_box_cells 7,5 -degrees 1,2,3 -dm_box_boundary periodic -dm_box_shift 1 -graded
     test:
       suffix: periodic_odd_1d
       args: -dm_box_dim 1 -dm_box_cells 9 -degrees 1,2,3 -dm_box_boundary periodic -dm_box_shift 1
     test:
       suffix: periodic_odd_3d
       args: -dm_box_cells 5,4,3 -degrees 1,2,3 -dm_box_boundary periodic,periodic,dirichlet,neumann,periodic,periodic -dm_box_shift 2
     test:
       suffix: periodic_3d
       args: -dm_box_cells 4,3,2 -degrees 1,2,3 -dm_box_boundary periodic,periodic,dirichlet,neumann,periodic,periodic -dm_box_shift 2
   testset:
     output_file: output/reference_periodic_plates.out
     nsize: {{1 2 4}}
     args: -dm_box_dim 2 -dm_box_operator biharmonic -degrees 2,3 -tolerance 1e-11
     test:
       suffix: periodic_plates
       args: -dm_box_cells 4,3 -dm_box_boundary periodic,periodic,dirichlet,supported
     test:
       suffix: periodic_plates_odd
       args: -each_dm_box_cells 5:6:7,3 -dm_box_boundary periodic,periodic,dirichlet,supported
     test:
       suffix: periodic_plates_odd_rings
       args: -dm_box_cells 7,6 -dm_box_boundary periodic -dm_box_shift 100 -graded
     test:
       suffix: periodic_plates_graded
       args: -dm_box_cells 4,8 -dm_box_boundary periodic -dm_box_shift 100 -graded

   # interior penalties
   testset:
     args: -dm_box_space dgq
     test:
       suffix: dgq_1d
       nsize: {{1 3}}
       output_file: output/reference_dgq_1d.out
       args: -dm_box_dim 1 -dm_box_cells 6 -degrees 1,2,3,4,5,6,7,8
     test:
       suffix: dgq_periodic_odd
       nsize: {{1 2 4}}
       output_file: output/reference_periodic.out
       args: -dm_box_dim 2 -dm_box_cells 7,6 -degrees 1,2,3 -graded -dm_box_boundary periodic -dm_box_shift 2
     test:
       suffix: dgq_periodic
       nsize: {{1 2 4}}
       output_file: output/reference_periodic.out
       args: -dm_box_dim 2 -dm_box_cells 8,4 -degrees 1,2,3 -graded -dm_box_boundary periodic -dm_box_shift 2
     test:
       suffix: dgq_robin
       nsize: {{1 2}}
       output_file: output/reference_robin.out
       args: -dm_box_dim 2 -dm_box_cells 5,1 -degrees 1,2,3 -dm_box_boundary neumann,neumann,dirichlet,neumann -dm_box_robin 1,3,0,2 -dm_box_diffusion 1,3
     test:
       suffix: dgq_2d
       args: -dm_box_dim 2 -dm_box_cells 4,3 -degrees 1,2,3,4,5,6,7,8
     test:
       suffix: dgq_2d_graded
       args: -dm_box_dim 2 -dm_box_cells 9,4 -degrees 1,2,3,4 -graded -dm_box_boundary dirichlet,neumann,neumann,dirichlet -dm_box_lower 0.3,-1 -dm_box_upper 2,7 -dm_box_diffusion 1,3 -dm_box_shift 2 -dm_box_penalty 1.5,2
     test:
       suffix: dgq_3d
       args: -dm_box_cells 3,4,3 -degrees 1,2
     test:
       suffix: dgq_3d_high
       args: -dm_box_cells 2,2,1 -degrees 3,4,5
     test:
       suffix: dgq_3d_higher
       args: -dm_box_cells 3,1,1 -degrees 6,7
     test:
       suffix: dgq_3d_8
       args: -dm_box_cells 1,2,1 -degrees 8
     test:
       suffix: dgq_3d_graded
       args: -dm_box_cells 3,4,3 -degrees 1,2 -graded -dm_box_boundary dirichlet,neumann,neumann,dirichlet,neumann,neumann -dm_box_lower 0.3,-1,5 -dm_box_upper 2,7,6 -dm_box_diffusion 1,3,0.1
     test:
       suffix: dgq_3d_neumann
       args: -dm_box_cells 4,3,3 -degrees 1,2 -dm_box_boundary neumann -dm_box_shift 1.5 -dm_box_penalty 3
     test:
       suffix: dgq_3d_thin
       args: -dm_box_cells 1,3,2 -degrees 1,2,3
     test:
       suffix: dgq_3d_few
       args: -dm_box_cells 1,1,2 -degrees 1,2,3 -dm_box_boundary neumann,dirichlet,dirichlet,neumann,dirichlet,dirichlet
     test:
       suffix: dgq_3d_one
       args: -dm_box_cells 1 -degrees 1,2,3
     test:
       suffix: dgq_ranks
       nsize: {{3 4 8}}
       output_file: output/reference_dgq_ranks.out
       args: -dm_box_cells 5,4,3 -degrees 1
     test:
       suffix: dgq_ranks_graded
       nsize: {{3 4 8}}
       output_file: output/reference_dgq_ranks_graded.out
       args: -dm_box_dim 2 -dm_box_cells 7,5 -degrees 1,3 -graded -dm_box_boundary neumann,dirichlet,dirichlet,neumann
   testset:
     args: -dm_box_space dgq -dm_vec_type single -tolerance 1e-5
     test:
       suffix: dgq_single_2d
       args: -dm_box_dim 2 -dm_box_cells 5,3 -degrees 1,2,3,4,5,6,7,8
     test:
       suffix: dgq_single_3d
       nsize: {{1 4}}
       output_file: output/reference_dgq_single_3d.out
       args: -dm_box_cells 3,4,3 -degrees 1,2
     test:
       suffix: dgq_single_graded
       args: -dm_box_cells 3,2,4 -degrees 1,2 -graded -dm_box_boundary dirichlet,neumann,neumann,dirichlet,neumann,neumann -dm_box_lower 0.3,-1,5 -dm_box_upper 2,7,6 -dm_box_diffusion 1,3,0.1

   # C0 interior penalties
   testset:
     args: -dm_box_operator biharmonic
     test:
       suffix: biharmonic_1d
       nsize: {{1 3}}
       output_file: output/reference_biharmonic_1d.out
       args: -dm_box_dim 1 -dm_box_cells 6 -degrees 2,3,4,5,6,7,8 -each_dm_box_boundary dirichlet:supported:dirichlet,supported:supported,dirichlet -dm_box_shift 1000 -dm_box_bending 0.3 -each_graded false:true
     test:
       suffix: biharmonic_2d
       output_file: output/reference_biharmonic_2d.out
       args: -dm_box_dim 2 -dm_box_cells 5,4 -degrees 2,3,4,5,6 -each_dm_box_boundary dirichlet:supported:dirichlet,supported,dirichlet,dirichlet:supported,supported,dirichlet,dirichlet
     test:
       suffix: biharmonic_2d_graded
       args: -dm_box_dim 2 -dm_box_cells 9,4 -degrees 2,3,4 -graded -dm_box_boundary dirichlet,supported,supported,dirichlet -dm_box_lower 0.3,-1 -dm_box_upper 2,7 -dm_box_bending 3 -dm_box_shift 2 -dm_box_penalty 1.5,2
     test:
       suffix: biharmonic_3d
       args: -dm_box_cells 3,4,2 -degrees 2,3
     test:
       suffix: biharmonic_3d_high
       args: -dm_box_cells 2,1,1 -degrees 4,5,6 -dm_box_boundary dirichlet,dirichlet,dirichlet,supported,supported,supported
     test:
       suffix: biharmonic_3d_graded
       args: -dm_box_cells 3,4,2 -degrees 2,3 -graded -dm_box_boundary dirichlet,supported,supported,dirichlet,supported,supported -dm_box_lower 0.3,-1,5 -dm_box_upper 2,7,6 -dm_box_bending 0.2 -dm_box_shift 3 -dm_box_penalty 3,1.2
     test:
       suffix: biharmonic_ranks
       nsize: {{2 3 4 8}}
       output_file: output/reference_biharmonic_ranks.out
       args: -dm_box_cells 5,4,3 -degrees 2 -dm_box_boundary dirichlet,supported,dirichlet,dirichlet,supported,dirichlet
     test:
       suffix: biharmonic_ranks_graded
       nsize: {{2 3 4 8}}
       output_file: output/reference_biharmonic_ranks_graded.out
       args: -dm_box_dim 2 -dm_box_cells 9,5 -degrees 2,4 -graded -dm_box_boundary supported,dirichlet,dirichlet,supported
     test:
       suffix: biharmonic_single
       nsize: {{1 4}}
       output_file: output/reference_biharmonic_single.out
       args: -dm_vec_type single -tolerance 1e-5 -dm_box_cells 3,4,2 -degrees 2,3,4 -graded -dm_box_boundary dirichlet,supported,supported,dirichlet,dirichlet,dirichlet

   # the same on a GPU
   testset:
     requires: cuda gpu
     args: -dm_vec_type cuda
     test:
       suffix: cuda_1d
       nsize: {{1 3}}
       output_file: output/reference_1d.out
       args: -dm_box_dim 1 -dm_box_cells 6 -degrees 1,2,3,4,5,6,7,8,9,10 -use_gpu_aware_mpi 0
     test:
       suffix: cuda_2d
       output_file: output/reference_2d.out
       args: -dm_box_dim 2 -dm_box_cells 5,4 -degrees 1,2,3,4,5,6,7,8,9,10
     test:
       suffix: cuda_2d_graded
       output_file: output/reference_2d_graded.out
       args: -dm_box_dim 2 -dm_box_cells 19,4 -degrees 1,2,3,4 -graded -dm_box_boundary dirichlet,neumann,neumann,dirichlet -dm_box_lower 0.3,-1 -dm_box_upper 2,7 -dm_box_diffusion 1,3 -dm_box_shift 2
     test:
       suffix: cuda_3d
       output_file: output/reference_3d.out
       args: -dm_box_cells 3,4,5 -degrees 1,2,3,4
     test:
       suffix: cuda_3d_high
       output_file: output/reference_3d_high.out
       args: -dm_box_cells 2,3,2 -degrees 5,6,7
     test:
       suffix: cuda_3d_8
       output_file: output/reference_3d_8.out
       args: -dm_box_cells 2,2,3 -degrees 8
     test:
       suffix: cuda_3d_wide
       output_file: output/reference_3d_wide.out
       args: -dm_box_cells 18,5,4 -degrees 1,2
     test:
       suffix: cuda_3d_graded
       output_file: output/reference_3d_graded.out
       args: -dm_box_cells 3,4,5 -degrees 1,2,3 -graded -dm_box_boundary dirichlet,neumann,neumann,dirichlet,neumann,neumann -dm_box_lower 0.3,-1,5 -dm_box_upper 2,7,6 -dm_box_diffusion 1,3,0.1
     test:
       suffix: cuda_3d_neumann
       output_file: output/reference_3d_neumann.out
       args: -dm_box_cells 5,4,3 -degrees 1,2,3 -dm_box_boundary neumann -dm_box_shift 1.5
     test:
       suffix: cuda_3d_mixed
       output_file: output/reference_3d_mixed.out
       args: -dm_box_cells 5,4,7 -degrees 1,2,3 -dm_box_boundary neumann,neumann,neumann,dirichlet,neumann,neumann
     test:
       suffix: cuda_robin
       output_file: output/reference_robin.out
       args: -dm_box_cells 5,1,4 -degrees 1,2,3 -dm_box_boundary neumann,neumann,neumann,neumann,neumann,dirichlet -dm_box_robin 1,2,0,3,0.5,0 -dm_box_diffusion 1,3,0.1
     test:
       suffix: cuda_robin_2d
       output_file: output/reference_robin_2d.out
       args: -dm_box_dim 2 -dm_box_cells 19,4 -degrees 1,2,3,4,7 -dm_box_boundary neumann,neumann,periodic,periodic -dm_box_robin 5 -graded -dm_box_diffusion 2
     test:
       suffix: cuda_3d_thin
       output_file: output/reference_3d_thin.out
       args: -dm_box_cells 1,4,2 -degrees 2,3
     test:
       suffix: cuda_3d_few
       output_file: output/reference_3d_few.out
       args: -dm_box_cells 1,1,2 -degrees 1,2,3 -dm_box_boundary neumann,dirichlet,dirichlet,neumann,dirichlet,dirichlet
     test:
       suffix: cuda_ranks
       nsize: {{2 3}}
       output_file: output/reference_ranks.out
       args: -dm_box_cells 6,5,4 -degrees 1,2,3 -use_gpu_aware_mpi 0
     test:
       suffix: cuda_ranks_4
       nsize: 4
       output_file: output/reference_ranks.out
       args: -dm_box_cells 6,5,4 -degrees 1,2,3 -use_gpu_aware_mpi 0
     test:
       suffix: cuda_ranks_8
       nsize: 8
       output_file: output/reference_ranks.out
       args: -dm_box_cells 6,5,4 -degrees 1,2,3 -use_gpu_aware_mpi 0
     test:
       suffix: cuda_ranks_graded
       nsize: {{2 6}}
       output_file: output/reference_ranks_graded.out
       args: -dm_box_dim 2 -dm_box_cells 9,5 -degrees 1,3 -graded -dm_box_boundary neumann,dirichlet,dirichlet,neumann -use_gpu_aware_mpi 0

   testset:
     requires: cuda gpu
     args: -dm_box_space dgq -dm_vec_type cuda
     test:
       suffix: dgq_cuda_1d
       nsize: {{1 3}}
       output_file: output/reference_dgq_1d.out
       args: -dm_box_dim 1 -dm_box_cells 6 -degrees 1,2,3,4,5,6,7,8 -use_gpu_aware_mpi 0
     test:
       suffix: dgq_cuda_2d
       output_file: output/reference_dgq_2d.out
       args: -dm_box_dim 2 -dm_box_cells 4,3 -degrees 1,2,3,4,5,6,7,8
     test:
       suffix: dgq_cuda_2d_graded
       output_file: output/reference_dgq_2d_graded.out
       args: -dm_box_dim 2 -dm_box_cells 9,4 -degrees 1,2,3,4 -graded -dm_box_boundary dirichlet,neumann,neumann,dirichlet -dm_box_lower 0.3,-1 -dm_box_upper 2,7 -dm_box_diffusion 1,3 -dm_box_shift 2 -dm_box_penalty 1.5,2
     test:
       suffix: dgq_cuda_3d
       output_file: output/reference_dgq_3d.out
       args: -dm_box_cells 3,4,3 -degrees 1,2
     test:
       suffix: dgq_cuda_3d_high
       output_file: output/reference_dgq_3d_high.out
       args: -dm_box_cells 2,2,1 -degrees 3,4,5
     test:
       suffix: dgq_cuda_3d_higher
       output_file: output/reference_dgq_3d_higher.out
       args: -dm_box_cells 3,1,1 -degrees 6,7
     test:
       suffix: dgq_cuda_3d_8
       output_file: output/reference_dgq_3d_8.out
       args: -dm_box_cells 3,1,1 -degrees 8
     test:
       suffix: dgq_cuda_3d_graded
       output_file: output/reference_dgq_3d_graded.out
       args: -dm_box_cells 3,4,3 -degrees 1,2 -graded -dm_box_boundary dirichlet,neumann,neumann,dirichlet,neumann,neumann -dm_box_lower 0.3,-1,5 -dm_box_upper 2,7,6 -dm_box_diffusion 1,3,0.1
     test:
       suffix: dgq_cuda_3d_neumann
       output_file: output/reference_dgq_3d_neumann.out
       args: -dm_box_cells 4,3,3 -degrees 1,2 -dm_box_boundary neumann -dm_box_shift 1.5 -dm_box_penalty 3
     test:
       suffix: dgq_cuda_3d_thin
       output_file: output/reference_dgq_3d_thin.out
       args: -dm_box_cells 1,3,2 -degrees 1,2,3
     test:
       suffix: dgq_cuda_3d_few
       output_file: output/reference_dgq_3d_few.out
       args: -dm_box_cells 1,1,2 -degrees 1,2,3 -dm_box_boundary neumann,dirichlet,dirichlet,neumann,dirichlet,dirichlet
     test:
       suffix: dgq_cuda_3d_one
       output_file: output/reference_dgq_3d_one.out
       args: -dm_box_cells 1 -degrees 1,2,3
     test:
       suffix: dgq_cuda_ranks
       nsize: {{2 3}}
       output_file: output/reference_dgq_ranks.out
       args: -dm_box_cells 5,4,3 -degrees 1 -use_gpu_aware_mpi 0
     test:
       suffix: dgq_cuda_ranks_4
       nsize: 4
       output_file: output/reference_dgq_ranks.out
       args: -dm_box_cells 5,4,3 -degrees 1 -use_gpu_aware_mpi 0
     test:
       suffix: dgq_cuda_ranks_8
       nsize: 8
       output_file: output/reference_dgq_ranks.out
       args: -dm_box_cells 5,4,3 -degrees 1 -use_gpu_aware_mpi 0
     test:
       suffix: dgq_cuda_ranks_graded
       nsize: {{2 6}}
       output_file: output/reference_dgq_ranks_graded.out
       args: -dm_box_dim 2 -dm_box_cells 7,5 -degrees 1,3 -graded -dm_box_boundary neumann,dirichlet,dirichlet,neumann -use_gpu_aware_mpi 0
   testset:
     requires: cuda gpu
     args: -dm_box_space dgq -dm_vec_type singlecuda -tolerance 1e-5
     test:
       suffix: dgq_cuda_single_2d
       output_file: output/reference_dgq_single_2d.out
       args: -dm_box_dim 2 -dm_box_cells 5,3 -degrees 1,2,3,4,5,6,7,8
     test:
       suffix: dgq_cuda_single_3d
       nsize: {{1 4}}
       output_file: output/reference_dgq_single_3d.out
       args: -dm_box_cells 3,4,3 -degrees 1,2 -use_gpu_aware_mpi 0
     test:
       suffix: dgq_cuda_single_graded
       output_file: output/reference_dgq_single_graded.out
       args: -dm_box_cells 3,2,4 -degrees 1,2 -graded -dm_box_boundary dirichlet,neumann,neumann,dirichlet,neumann,neumann -dm_box_lower 0.3,-1,5 -dm_box_upper 2,7,6 -dm_box_diffusion 1,3,0.1
   testset:
     requires: cuda gpu
     args: -dm_vec_type cuda -use_gpu_aware_mpi 0
     output_file: output/reference_periodic.out
     test:
       suffix: cuda_periodic_2d
       nsize: {{1 2 3}}
       args: -dm_box_dim 2 -dm_box_cells 6,2 -degrees 1,2,3 -dm_box_boundary dirichlet,neumann,periodic,periodic
     test:
       suffix: cuda_periodic_direct
       nsize: {{1 2}}
       args: -dm_box_dim 2 -dm_box_cells 8,6 -degrees 1,2,3 -dm_box_boundary periodic -dm_box_shift 1
     test:
       suffix: cuda_periodic_3d
       nsize: {{1 2 4}}
       args: -dm_box_cells 4,3,2 -degrees 1,2,3 -dm_box_boundary periodic,periodic,dirichlet,neumann,periodic,periodic -dm_box_shift 2
     test:
       suffix: cuda_periodic_odd
       nsize: {{1 2}}
       args: -dm_box_dim 2 -dm_box_cells 7,5 -degrees 1,2,3 -dm_box_boundary periodic -dm_box_shift 1 -graded
     test:
       suffix: cuda_periodic_odd_3d
       nsize: {{1 2}}
       args: -dm_box_cells 5,4,3 -degrees 1,2,3 -dm_box_boundary periodic,periodic,dirichlet,neumann,periodic,periodic -dm_box_shift 2
     test:
       suffix: cuda_periodic_odd_uniform
       args: -dm_box_cells 9,7,5 -degrees 1,2,3 -dm_box_boundary periodic -dm_box_shift 2
     test:
       suffix: cuda_periodic_odd_dgq
       nsize: {{1 2}}
       args: -dm_box_space dgq -dm_box_dim 2 -dm_box_cells 7,6 -degrees 1,2,3 -graded -dm_box_boundary periodic -dm_box_shift 2
     test:
       suffix: cuda_periodic_uniform
       args: -dm_box_cells 8,8,8 -degrees 1,2,3 -dm_box_boundary periodic -dm_box_shift 2
     test:
       suffix: cuda_periodic_halo
       args: -dm_box_cells 4,6,4 -degrees 1,2,3 -dm_box_boundary periodic -dm_box_shift 2 -dm_box_halo {{host nccl peer}}
     test:
       suffix: cuda_periodic_dgq
       nsize: {{1 2}}
       args: -dm_box_space dgq -dm_box_dim 2 -dm_box_cells 8,4 -degrees 1,2,3 -graded -dm_box_boundary periodic -dm_box_shift 2
   test:
     requires: cuda gpu
     suffix: cuda_periodic_plates_odd
     nsize: {{1 2}}
     output_file: output/reference_periodic_plates.out
     args: -dm_vec_type cuda -use_gpu_aware_mpi 0 -dm_box_dim 2 -dm_box_operator biharmonic -degrees 2,3 -tolerance 1e-11
     args: -dm_box_cells 7,6 -dm_box_boundary periodic -dm_box_shift 100 -graded
   test:
     requires: cuda gpu
     suffix: cuda_periodic_plates
     nsize: {{1 2}}
     output_file: output/reference_periodic_plates.out
     args: -dm_vec_type cuda -use_gpu_aware_mpi 0 -dm_box_dim 2 -dm_box_operator biharmonic -degrees 2,3 -tolerance 1e-11
     args: -dm_box_cells 4,3 -dm_box_boundary periodic,periodic,dirichlet,supported
   test:
     requires: cuda gpu
     suffix: cuda_periodic_single
     nsize: {{1 2}}
     output_file: output/reference_periodic.out
     args: -dm_vec_type singlecuda -tolerance 1e-5 -use_gpu_aware_mpi 0
     args: -dm_box_cells 4,3,6 -degrees 1,2,3 -dm_box_boundary periodic,periodic,dirichlet,neumann,periodic,periodic -dm_box_shift 2

TEST*/
