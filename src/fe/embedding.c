/*
  Embedding of a coarse line in a finer one: halved cells, a higher degree, or both; or in itself, where a direction is not coarsened.
*/
#include <patchfd/private/fe.h>

static PetscErrorCode CheckShapes(const PatchFDLine *coarse, const PatchFDLine *fine)
{
  PetscFunctionBegin;
  PetscCheck(fine->ncells == coarse->ncells || (fine->ncells + 1) / 2 == coarse->ncells, PETSC_COMM_SELF, PETSC_ERR_ARG_INCOMP,
             "The lines are not nested: %" PetscInt_FMT " fine and %" PetscInt_FMT
             " coarse cells; there have to be one or two fine cells a coarse cell",
             fine->ncells, coarse->ncells);
  PetscCheck(fine->degree >= coarse->degree, PETSC_COMM_SELF, PETSC_ERR_ARG_INCOMP,
             "The lines are not nested: the fine degree %" PetscInt_FMT " is less than the coarse degree %" PetscInt_FMT, fine->degree,
             coarse->degree);
  PetscCheck(fine->continuity == coarse->continuity, PETSC_COMM_SELF, PETSC_ERR_ARG_INCOMP,
             "The lines are not nested: the coarse one is %s, the fine one %s", coarse->continuity ? "discontinuous" : "continuous",
             fine->continuity ? "discontinuous" : "continuous");
  PetscCheck((fine->degree == 0) == (coarse->degree == 0), PETSC_COMM_SELF, PETSC_ERR_ARG_INCOMP,
             "The lines are not nested: the coarse one is a point, the fine one has degree %" PetscInt_FMT, fine->degree);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode UnionCreate(const PatchFDLine *coarse, const PatchFDLine *fine, PatchFDUnion *u)
{
  const PetscReal *vc = coarse->vertices, *vf = fine->vertices;
  const PetscReal  tol = 1e-10 * (vc[coarse->ncells] - vc[0]);

  PetscFunctionBegin;
  *u        = (PatchFDUnion){.ratio = fine->ncells == coarse->ncells ? 1 : 2, .fine = fine};
  u->before = fine->ncells % u->ratio && PetscAbsReal(vf[1] - vc[1]) <= tol;
  for (PetscInt i = 0; i <= (coarse->degree ? coarse->ncells : 0); i++) {
    const PetscInt j = PatchFDUnionFirst(u, i);

    PetscCheck(PetscAbsReal(vf[j] - vc[i]) <= tol, PETSC_COMM_SELF, PETSC_ERR_ARG_INCOMP,
               "The lines are not nested: coarse vertex %" PetscInt_FMT " is at %.17g, fine vertex %" PetscInt_FMT " at %.17g", i,
               (double)vc[i], j, (double)vf[j]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  split[c]: where on [0, 1] the fine vertex inside coarse cell c lies, or at which end there is no other cell.  Neighbouring cells with
  equal splits are one class, and a split that is 1/2 but for rounding is exactly 1/2, so that nodes that coincide do so exactly.
*/
static void FindSplits(const PatchFDUnion *u, PetscInt ncoarse, PetscInt cls[], PetscReal split[], PetscInt *nclass)
{
  const PetscInt   n        = u->fine->ncells;
  const PetscReal *v        = u->fine->vertices;
  const PetscReal  rounding = 4.0 * PETSC_MACHINE_EPSILON * PetscMax(PetscAbsReal(v[0]), PetscAbsReal(v[n]));

  *nclass = 0;
  for (PetscInt c = 0; c < ncoarse; c++) {
    const PetscReal lo = v[PatchFDUnionFirst(u, c)], length = v[PatchFDUnionFirst(u, c + 1)] - lo, tol = 1e-12 + rounding / length;
    PetscReal       s = (v[PetscMin(PetscMax(2 * c + 1 - u->before, 0), n)] - lo) / length;

    if (PetscAbsReal(s - 0.5) <= tol) s = 0.5;
    if (c == 0 || PetscAbsReal(s - split[*nclass - 1]) > tol) split[(*nclass)++] = s;
    cls[c] = *nclass - 1;
  }
}

/* The fine nodes in the reference coarse cell [0, 1] that is split at s, or undivided with s = 1 */
static PetscErrorCode FineNodes(const PatchFDLine *fine, PetscInt ratio, PetscReal s, PetscReal x[])
{
  PetscReal         vertices[] = {0.0, s, 1.0};
  const PatchFDLine ref        = {.continuity = fine->continuity,
                                  .degree     = fine->degree,
                                  .stride     = fine->stride,
                                  .ncells     = ratio,
                                  .vertices   = vertices};

  PetscFunctionBegin;
  PetscCall(PatchFDLineNodes(&ref, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A coarse function is known at the fine nodes: P_ij = coarse basis function j at fine node i */
PetscErrorCode PatchFDEmbeddingCreate(const PatchFDLine *coarse, const PatchFDLine *fine, PatchFDEmbedding *e)
{
  PatchFDUnion u;
  PetscReal   *split, *x;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(e, sizeof(*e)));
  PetscCall(CheckShapes(coarse, fine));
  PetscCall(UnionCreate(coarse, fine, &u));
  e->ratio  = u.ratio;
  e->before = u.before;
  e->ncells = coarse->ncells;
  e->nc     = coarse->degree + 1;

  e->fstride = e->ratio * fine->stride;
  e->cstride = coarse->stride;
  e->nf      = (e->ratio - 1) * fine->stride + fine->degree + 1;
  e->nclass  = 1;
  PetscCall(PetscCalloc1(e->ncells, &e->cls));
  PetscCall(PetscMalloc2(e->ncells, &split, e->nf, &x));
  split[0] = 1.0;
  if (e->ratio == 2) FindSplits(&u, e->ncells, e->cls, split, &e->nclass);
  PetscCall(PetscMalloc1(e->nclass * e->nf * e->nc, &e->P));
  for (PetscInt r = 0; r < e->nclass; r++) {
    PetscCall(FineNodes(fine, e->ratio, split[r], x));
    PetscCall(PatchFDBasis(coarse->degree, e->nf, x, e->P + r * e->nf * e->nc, NULL, NULL));
  }
  if (e->ratio == 1 && fine->degree == coarse->degree) { /* a line in itself: exactly, so that kernels find no other entries */
    PetscCall(PetscArrayzero(e->P, e->nf * e->nc));
    for (PetscInt i = 0; i < e->nf; i++) e->P[i * e->nc + i] = 1;
  }
  PetscCall(PetscFree2(split, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDEmbeddingDestroy(PatchFDEmbedding *e)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(e->cls));
  PetscCall(PetscFree(e->P));
  PetscCall(PetscMemzero(e, sizeof(*e)));
  PetscFunctionReturn(PETSC_SUCCESS);
}
