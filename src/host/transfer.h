/*
  fine += P coarse and coarse += P' fine with P = P2 (x) P1 (x) P0.  A fine node that several coarse cells share belongs to the last of
  them in a box, to the first of them in a mesh: each fine node is visited once.  A box goes by bands (bands.h), a mesh coarse cell by
  coarse cell.
*/
#pragma once
#include "bands.h"

typedef struct {
  BandsPlan     *bands[2]; /* of a box: P and P' */
  PetscInt       nf[3], nc[3], ncomp;
  REAL          *P[3], *Pt[3]; /* of a mesh: [nf][nc] and the transpose */
  V             *block[2];
  void          *base;
  Index          node[2]; /* coarse and fine */
  PetscInt64     ncells;
  PetscLogDouble flops;
} TransferPlan;

static PetscErrorCode TransferDestroy(void **plan)
{
  TransferPlan *p = (TransferPlan *)*plan;

  PetscFunctionBegin;
  if (!p) PetscFunctionReturn(PETSC_SUCCESS);
  for (int d = 0; d < 3; d++) PetscCall(PetscFree2(p->P[d], p->Pt[d]));
  PetscCall(PetscFree(p->base));
  for (int i = 0; i < 2; i++) {
    PetscCall(IndexDestroy(&p->node[i]));
    PetscCall(BandsDestroy(&p->bands[i]));
  }
  PetscCall(PetscFree(*plan));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TransferCreateMesh(const PatchFDTransferDesc *desc, TransferPlan *p)
{
  const PatchFDMeshTransfer *mesh = desc->mesh;
  size_t                     size = 1;
  V                         *v    = NULL;

  PetscFunctionBegin;
  for (int d = 0; d < 3; d++) {
    const PatchFDEmbedding *e = desc->dir[d];

    p->nf[d] = e->nf;
    p->nc[d] = e->nc;
    PetscCall(PetscMalloc2(e->nf * e->nc, &p->P[d], e->nf * e->nc, &p->Pt[d]));
    for (PetscInt i = 0; i < e->nf; i++)
      for (PetscInt j = 0; j < e->nc; j++) p->P[d][i * e->nc + j] = p->Pt[d][j * e->nf + i] = (REAL)e->P[i * e->nc + j];
    size *= (size_t)PetscMax(e->nf, e->nc);
  }
  PetscCall(VMalloc(2 * size, &v, &p->base));
  for (int i = 0; i < 2; i++, v += size) p->block[i] = v;
  p->ncomp  = mesh->ncomp;
  p->ncells = mesh->ncells;
  PetscCall(IndexCreate(mesh->ncells, p->nc[0] * p->nc[1] * p->nc[2], mesh->coarse, &p->node[0]));
  PetscCall(IndexCreate(mesh->ncells, p->nf[0] * p->nf[1] * p->nf[2], mesh->fine, &p->node[1]));
  p->flops = 2.0 * PetscMax(1, p->ncomp) * p->ncells *
             (p->nf[0] * p->nc[0] * p->nc[1] * p->nc[2] + p->nf[0] * p->nf[1] * p->nc[1] * p->nc[2] +
              p->nf[0] * p->nf[1] * p->nf[2] * p->nc[2]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TransferCreateBands(const PatchFDTransferDesc *desc, PetscBool restriction, BandsPlan **bands)
{
  BandCells m[3];

  PetscFunctionBegin;
  for (int d = 0; d < 3; d++) {
    const PatchFDEmbedding *e = desc->dir[d];

    if (restriction)
      m[d] = (BandCells){.nrow      = e->nc,
                         .ncol      = e->nf,
                         .rowstride = e->cstride,
                         .colstride = e->fstride,
                         .own       = {e->nc, PetscMin(e->nf, e->fstride)}};
    else
      m[d] = (BandCells){.nrow      = e->nf,
                         .ncol      = e->nc,
                         .rowstride = e->fstride,
                         .colstride = e->cstride,
                         .own       = {PetscMin(e->nf, e->fstride), e->nc}};
    m[d].last      = e->ncells - 1;
    m[d].cls       = e->cls;
    m[d].X[0]      = e->P;
    m[d].transpose = restriction;
  }
  if (restriction) PetscCall(BandsCreate(m, desc->cells, &desc->fbox, desc->fine, &desc->cbox, desc->coarse, bands));
  else PetscCall(BandsCreate(m, desc->cells, &desc->cbox, desc->coarse, &desc->fbox, desc->fine, bands));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TransferCreate(const PatchFDTransferDesc *desc, void **plan)
{
  TransferPlan *p;

  PetscFunctionBegin;
  PetscCall(PetscNew(&p));
  *plan = p;
  if (desc->mesh) PetscCall(TransferCreateMesh(desc, p));
  else
    for (int i = 0; i < 2; i++) PetscCall(TransferCreateBands(desc, (PetscBool)i, &p->bands[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* P, or its transpose, on the lanes of block 0: a block with n nodes */
static V *TransferContract(const TransferPlan *p, PetscBool restriction)
{
  V       *in = p->block[0], *out = p->block[1], *swap;
  PetscInt n[3];

  for (int d = 0; d < 3; d++) n[d] = restriction ? p->nf[d] : p->nc[d];
  for (int d = 0; d < 3; d++) {
    const PetscInt nto = restriction ? p->nc[d] : p->nf[d];

    Contract(d, n, nto, (Coef){restriction ? p->Pt[d] : p->P[d], NULL}, in, out, PETSC_FALSE);
    n[d] = nto;
    swap = in;
    in   = out;
    out  = swap;
  }
  return in;
}

static PetscErrorCode TransferApply(TransferPlan *p, PetscBool restriction, const REAL *from, REAL *to)
{
  const Index *nfrom = &p->node[restriction ? 1 : 0], *nto = &p->node[restriction ? 0 : 1];

  PetscFunctionBegin;
  if (p->bands[0]) {
    PetscCall(BandsApply(p->bands[restriction ? 1 : 0], 1, from, to, to));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (PetscCount batch = 0; batch * VL < p->ncells; batch++) {
    for (PetscInt c = 0; c < p->ncomp; c++) {
      IndexGather(nfrom, batch, p->ncomp, from + c, p->block[0]);
      IndexScatter(nto, batch, p->ncomp, 1, TransferContract(p, restriction), to + c);
    }
  }
  PetscCall(PetscLogFlops(p->flops));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TransferProlong(void *plan, const void *coarse, void *fine)
{
  PetscFunctionBegin;
  PetscCall(TransferApply((TransferPlan *)plan, PETSC_FALSE, (const REAL *)coarse, (REAL *)fine));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TransferRestrict(void *plan, const void *fine, void *coarse)
{
  PetscFunctionBegin;
  PetscCall(TransferApply((TransferPlan *)plan, PETSC_TRUE, (const REAL *)fine, (REAL *)coarse));
  PetscFunctionReturn(PETSC_SUCCESS);
}
