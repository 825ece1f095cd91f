#pragma once
/* The meshes of tests/cuda.c, the descriptions of their operators, and local solvers of plates on them */
#include "twins.h"

typedef struct {
  PetscBool graded, neumann, dg, biharmonic;
  PetscInt  fixed; /* a direction that has no free side with `neumann` either */
} Kind;

typedef struct {
  PetscInt       dim, degree, cells[3];
  PetscBool      biharmonic;
  PatchFDLine    line[3];
  PatchFDBand    A[3], M[3], K[3]; /* K: stiffness, of the fourth-order operator only */
  PetscInt       stride[3], nphase;
  PetscBool      plates;
  PatchFDPatches patch[3];
  PatchFDEigen   whole[3];
  PatchFDBox     box;
  PatchFDRange   all, free;
} Mesh;

/* bands of direction d of the fourth-order operator: penalty, mass and stiffness matrix */
static PetscErrorCode PlateBands(const PatchFDLine *line, int d, PatchFDBand *A, PatchFDBand *M, PatchFDBand *K)
{
  const PetscReal penalty = (PetscReal)(line->degree * (line->degree + 1));

  PetscFunctionBeginUser;
  PetscCall(PatchFDBandBilaplace(line, 1 + 0.1 * d, d ? 0 : 100, penalty, 2 * penalty, A));
  PetscCall(PatchFDBandMass(line, M));
  PetscCall(PatchFDBandLaplace(line, 1 + 0.1 * d, 0, 0, 0, K));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MeshCreate(PetscInt dim, PetscInt degree, const PetscInt cells[3], const Kind *kind, PetscInt ratio, Mesh *m)
{
  PetscFunctionBeginUser;
  PetscCall(PetscMemzero(m, sizeof(*m)));
  m->dim        = dim;
  m->degree     = degree;
  m->biharmonic = kind->biharmonic;
  m->nphase     = kind->dg || kind->biharmonic ? 2 : 1;
  m->plates     = kind->biharmonic;
  for (int d = 0; d < 3; d++) {
    const PetscInt  k = d < dim ? degree : 0, refine = d < dim ? ratio : 1, n = d < dim ? cells[d] * refine : 1;
    const PetscBool open     = (PetscBool)(kind->neumann && d != kind->fixed),
                    given[2] = {(PetscBool)(d < dim && !(open && d != 1)), (PetscBool)(d < dim && !(open && d == 1))},
                    all      = (PetscBool)(kind->biharmonic && d < dim);
    const PetscBool fixed[2] = {(PetscBool)(given[0] || all), (PetscBool)(given[1] || all)};
    PetscReal      *v;

    PetscCall(PetscMalloc1(n + 1, &v));
    for (PetscInt i = 0; i <= n; i++) {
      const PetscReal s = (PetscReal)(i / refine) / (n / refine), t = (PetscReal)(i / refine + 1) / (n / refine);
      const PetscReal a = kind->graded ? s + 0.3 * s * s : s * (1 + d), b = kind->graded ? t + 0.3 * t * t : t * (1 + d);

      v[i] = a + (b - a) * (i % refine) * (kind->graded ? 0.4 + 0.15 * s : 1. / refine);
    }
    m->cells[d] = n;
    PetscCall(PatchFDLineCreate(kind->dg && k ? PATCHFD_DISCONTINUOUS : PATCHFD_CONTINUOUS, k, n, v, fixed, &m->line[d]));
    if (kind->biharmonic) {
      for (int e = 0; e < 2; e++) m->line[d].clamped[e] = given[e];
      PetscCall(PlateBands(&m->line[d], d, &m->A[d], &m->M[d], &m->K[d]));
    } else {
      PetscCall(PatchFDBandMass(&m->line[d], &m->M[d]));
      PetscCall(PatchFDBandLaplace(&m->line[d], 1 + 0.1 * d, d ? 0 : 0.5, k * (k + 1), 2 * k * (k + 1), &m->A[d]));
      if (n <= 64) PetscCall(PatchFDLineEigenCreate(&m->line[d], &m->M[d], &m->A[d], &m->whole[d])); /* for the box solve only */
    }
    PetscCall(PatchFDPatchesCreate(&m->line[d], &m->M[d], &m->A[d], &m->patch[d]));
    m->stride[d] = m->line[d].stride;
    PetscCall(PetscFree(v));
    m->box.lo[d] = m->all[d][0] = 0;
    m->box.n[d] = m->all[d][1] = m->line[d].nnodes;
    PatchFDLineFree(&m->line[d], &m->free[d][0], &m->free[d][1]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MeshDestroy(Mesh *m)
{
  PetscFunctionBeginUser;
  for (int d = 0; d < 3; d++) {
    PetscCall(PatchFDEigenDestroy(&m->whole[d]));
    PetscCall(PatchFDPatchesDestroy(&m->patch[d]));
    PetscCall(PatchFDBandDestroy(&m->M[d]));
    PetscCall(PatchFDBandDestroy(&m->A[d]));
    PetscCall(PatchFDBandDestroy(&m->K[d]));
    PetscCall(PatchFDLineDestroy(&m->line[d]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* of the stiffness matrices of two directions: other numbers than a plate's, so that it is seen which one is where */
static PetscReal PlateCoefficient(PetscInt d, PetscInt e)
{
  return 2 + 0.5 * d + 0.25 * e;
}

/* the Kronecker sum of the mesh's bands, and products of two stiffnesses in the fourth-order operator */
static void Describe(const Mesh *m, PatchFDField *field, PatchFDTerm term[6], PatchFDOperatorDesc *desc)
{
  *desc = (PatchFDOperatorDesc){.nfield = 1, .field = field, .term = term};
  for (PetscInt d = 0; d < (m->biharmonic ? m->dim : 3); d++) {
    PatchFDTerm *t = &term[desc->nterm++];

    *t        = (PatchFDTerm){.coef = 1, .dir = {&m->M[0], &m->M[1], &m->M[2]}};
    t->dir[d] = &m->A[d];
  }
  for (PetscInt d = 0; d < m->dim && m->biharmonic; d++) {
    for (PetscInt e = 0; e < d; e++) {
      PatchFDTerm *t = &term[desc->nterm++];

      *t        = (PatchFDTerm){.coef = PlateCoefficient(d, e), .dir = {&m->M[0], &m->M[1], &m->M[2]}};
      t->dir[d] = &m->K[d];
      t->dir[e] = &m->K[e];
    }
  }
  for (int d = 0; d < 3; d++) {
    desc->cells[d][0] = 0;
    desc->cells[d][1] = m->cells[d];
    for (int e = 0; e < 2; e++) field->read[d][e] = field->write[d][e] = m->free[d][e];
  }
  field->xbox = field->ybox = m->box;
  field->x0 = field->y0 = 0;
}

/* ---- local solvers of plates: by terms in the residual ---- */

typedef struct {
  const char    *name;
  PatchFDPatches patch[3];
  PatchFDRows    rows[3][3]; /* of direction d: penalty, mass, stiffness */
  PetscInt       nterm, ndense;
  PatchFDRowTerm term[6];
  PatchFDDense  *dense;
} Plate;

/* the terms that Describe() has, as numbers of bands: matrix[t][d] of term t */
static PetscInt PlateTerms(PetscInt dim, PetscReal coef[6], int matrix[6][3])
{
  PetscInt n = 0;

  for (PetscInt d = 0; d < dim; d++) {
    for (PetscInt e = 0; e <= d; e++, n++) {
      for (int i = 0; i < 3; i++) matrix[n][i] = i != d && i != e ? 1 : (d == e ? 0 : 2);
      coef[n] = d == e ? 1 : PlateCoefficient(d, e);
    }
  }
  return n;
}

/* X[class][matrix][n n]: the patches' own nodes, from the rows of the first patch of each class */
static PetscErrorCode PlateBlocks(const PatchFDRows rows[3], const PatchFDPatches *cover, PetscInt patch, PetscReal *X)
{
  const PetscInt n = cover->n[patch];

  PetscFunctionBeginUser;
  for (int i = 0; i < 3; i++) PetscCall(PatchFDRowsBlock(&rows[i], n, n, patch, X + i * n * n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PlateRows(const PatchFDLine *line, const PatchFDBand *const band[3], const PatchFDPatches *cover, PatchFDRows rows[3])
{
  PetscFunctionBeginUser;
  for (int i = 0; i < 3; i++) PetscCall(PatchFDRowsCreate(band[i], line, cover, line, cover, &rows[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the cover of direction d with patches that are meshes of their own, and their matrices */
static PetscErrorCode PlateAlone(const Mesh *m, int d, PatchFDPatches *patch, PetscReal **X)
{
  PatchFDLinesAlone alone;
  PatchFDEigen     *eigen;

  PetscFunctionBeginUser;
  PetscCall(PatchFDLinesAloneCreate(&m->line[d], &m->M[d], &alone));
  PetscCall(PetscCalloc1(alone.nclass, &eigen));
  PetscCall(PatchFDPatchesCreateAlone(&m->line[d], &alone, eigen, patch));
  PetscCall(PetscMalloc1(alone.nclass * 3 * patch->n[0] * patch->n[0], X));
  for (PetscInt c = 0; c < alone.nclass; c++) {
    PatchFDBand              B, M, L;
    const PatchFDBand *const band[3] = {&B, &M, &L};
    PatchFDPatches           one;
    PatchFDRows              rows[3];

    PetscCall(PlateBands(&alone.line[c], d, &B, &M, &L));
    PetscCall(PatchFDPatchesCreate(&alone.line[c], &M, &B, &one));
    PetscCall(PlateRows(&alone.line[c], band, &one, rows));
    PetscCall(PlateBlocks(rows, &one, 0, *X + c * 3 * one.n[0] * one.n[0]));
    patch->eigen[c] = one.eigen[0];
    PetscCall(PetscMemzero(&one.eigen[0], sizeof(one.eigen[0])));
    PetscCall(PatchFDPatchesDestroy(&one));
    for (int i = 0; i < 3; i++) PetscCall(PatchFDRowsDestroy(&rows[i]));
    PetscCall(PatchFDBandDestroy(&B));
    PetscCall(PatchFDBandDestroy(&M));
    PetscCall(PatchFDBandDestroy(&L));
  }
  PetscCall(PetscFree(eigen));
  PetscCall(PatchFDLinesAloneDestroy(&alone));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PlateCreate(const Mesh *m, PetscInt dim, PetscBool dense, PetscBool alone, Plate *p)
{
  PetscReal *X[3], coef[6];
  int        matrix[6][3];

  PetscFunctionBeginUser;
  PetscCall(PetscMemzero(p, sizeof(*p)));
  p->name  = dense ? (alone ? "dense single" : "dense") : (alone ? "fd single" : "fd");
  p->nterm = PlateTerms(dim, coef, matrix);
  for (int d = 0; d < 3; d++) {
    const PatchFDBand *const band[3] = {&m->A[d], &m->M[d], &m->K[d]};
    PatchFDPatches          *patch   = &p->patch[d];

    if (alone) PetscCall(PlateAlone(m, d, patch, &X[d]));
    else PetscCall(PatchFDPatchesCreate(&m->line[d], &m->M[d], &m->A[d], patch));
    PetscCall(PlateRows(&m->line[d], band, patch, p->rows[d]));
    if (alone) continue;
    PetscCall(PetscMalloc1(patch->nclass * 3 * patch->n[0] * patch->n[0], &X[d]));
    for (PetscInt i = 0; i < patch->npatch; i++)
      if (i == 0 || patch->cls[i] != patch->cls[i - 1])
        PetscCall(PlateBlocks(p->rows[d], patch, i, X[d] + patch->cls[i] * 3 * patch->n[0] * patch->n[0]));
  }
  for (PetscInt t = 0; t < p->nterm; t++)
    p->term[t] = (PatchFDRowTerm){.coef = coef[t],
                                  .dir  = {&p->rows[0][matrix[t][0]], &p->rows[1][matrix[t][1]], &p->rows[2][matrix[t][2]]}};
  if (dense) {
    const PetscInt nclass[3] = {p->patch[0].nclass, p->patch[1].nclass, p->patch[2].nclass},
                   n[3]      = {p->patch[0].n[0], p->patch[1].n[0], p->patch[2].n[0]};

    p->ndense = nclass[0] * nclass[1] * nclass[2];
    PetscCall(PetscCalloc1(p->ndense, &p->dense));
    for (PetscInt i = 0; i < p->ndense; i++) {
      const PetscInt    c[3] = {i % nclass[0], i / nclass[0] % nclass[1], i / nclass[0] / nclass[1]};
      PatchFDMatrixTerm own[6];
      PetscBool         definite;

      p->dense[i].nfield = 1;
      for (int d = 0; d < 3; d++) p->dense[i].n[0][d] = n[d];
      for (PetscInt t = 0; t < p->nterm; t++) {
        own[t] = (PatchFDMatrixTerm){.coef = coef[t]};
        for (int d = 0; d < 3; d++) own[t].X[d] = X[d] + (c[d] * 3 + matrix[t][d]) * n[d] * n[d];
      }
      PetscCall(PatchFDHostDenseParity(p->nterm, own, &p->dense[i]));
      PetscCall(PatchFDHostDenseCreate(p->nterm, own, PETSC_TRUE, -1, &p->dense[i], &definite));
      PetscCheck(definite, PETSC_COMM_SELF, PETSC_ERR_PLIB, "A patch is not positive definite");
    }
  }
  for (int d = 0; d < 3; d++) PetscCall(PetscFree(X[d]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PlateDestroy(Plate *p)
{
  PetscFunctionBeginUser;
  for (int d = 0; d < 3; d++) {
    PetscCall(PatchFDPatchesDestroy(&p->patch[d]));
    for (int i = 0; i < 3; i++) PetscCall(PatchFDRowsDestroy(&p->rows[d][i]));
  }
  for (PetscInt i = 0; i < p->ndense; i++) PetscCall(PatchFDHostDenseDestroy(&p->dense[i]));
  PetscCall(PetscFree(p->dense));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void PlateDescribe(const Plate *p, PatchFDLocalDesc *desc)
{
  desc->kind  = p->dense ? PATCHFD_LOCAL_DENSE : PATCHFD_LOCAL_FD;
  desc->dense = p->dense;
  desc->nterm = p->nterm;
  desc->term  = p->term;
}
