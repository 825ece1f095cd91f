/*
  What the kernel tables call: each function hands a description to the kernels for its kind of field, the continuous or the discontinuous ones
  (dg.cuh), and remembers which.
*/
#pragma once
#include "cuda.cuh"
#include "dg.cuh"
#include "terms.cuh"

namespace patchfd
{

struct DoorPlan {
  bool  dg;
  void *plan;
};

static PetscErrorCode DoorCreate(bool dg, void **plan, DoorPlan **p)
{
  PetscFunctionBegin;
  PetscCall(PetscNew(p));
  (*p)->dg = dg;
  *plan    = *p;
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename Continuous, typename Discontinuous>
static PetscErrorCode DoorDestroy(void **plan)
{
  DoorPlan *p = (DoorPlan *)*plan;

  PetscFunctionBegin;
  if (!p) PetscFunctionReturn(PETSC_SUCCESS);
  if (p->dg) PetscCall(Discontinuous::destroy(&p->plan));
  else PetscCall(Continuous::destroy(&p->plan));
  PetscCall(PetscFree(*plan));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- operators ---- */

static SumDesc DescribeSum(const PatchFDOperatorDesc *desc, const PatchFDBand *const A[3], const PatchFDBand *const M[3])
{
  const PatchFDField *f = desc->field;
  SumDesc             s;

  for (int d = 0; d < 3; d++) {
    s.dir[d] = {M[d]->nloc, M[d]->ncells, M[d]->nclass, M[d]->cls, M[d]->X, A[d]->X};
    for (int e = 0; e < 2; e++) {
      s.read[d][e]  = f->read[d][e];
      s.write[d][e] = f->write[d][e];
      s.cells[d][e] = desc->cells[d][e];
    }
  }
  s.xbox = f->xbox;
  s.ybox = f->ybox;
  return s;
}

/* do cells have nodes of their own?  Those of the one point of a direction that does not exist count as neither */
static bool IsDiscontinuous(const PatchFDBand *const M[3])
{
  bool own = false;

  for (int d = 0; d < 3; d++) own = own || (M[d]->nloc > 1 && M[d]->stride == M[d]->nloc);
  return own;
}

template <typename T>
struct OperatorDoor {
  static PetscErrorCode create(const PatchFDOperatorDesc *desc, void **plan)
  {
    const PatchFDBand *A[3], *M[3];
    DoorPlan          *p;

    PetscFunctionBegin;
    PetscCheck(PatchFDKroneckerSum(desc, A, M), PETSC_COMM_SELF, PETSC_ERR_SUP,
               "The GPU has no kernel for an operator of %" PetscInt_FMT " terms in %" PetscInt_FMT " fields that is not a Kronecker sum: use -dm_vec_type standard", desc->nterm, desc->nfield);
    PetscCall(DoorCreate(IsDiscontinuous(M), plan, &p));
    for (int d = 0; d < 3 && !p->dg; d++) {
      PetscCheck(PatchFDBandsMatch(A[d], M[d]), PETSC_COMM_SELF, PETSC_ERR_SUP, "The GPU has no kernel for matrices of a direction that have different classes of cells or couple cells: use -dm_vec_type standard");
    }
    if (p->dg) PetscCall(DGOperator<T>::create(desc, &p->plan));
    else {
      const SumDesc sum = DescribeSum(desc, A, M);

      PetscCall(Operator<T>::create(&sum, &p->plan));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  static PetscErrorCode apply(void *plan, PetscReal alpha, const void *x, const void *y0, void *y)
  {
    DoorPlan *p = (DoorPlan *)plan;

    return p->dg ? DGOperator<T>::apply(p->plan, alpha, x, y0, y) : Operator<T>::apply(p->plan, alpha, x, y0, y);
  }
  static PetscErrorCode destroy(void **plan) { return DoorDestroy<Operator<T>, DGOperator<T>>(plan); }
};

/* ---- local solvers ---- */

/* of three kinds: patches that are diagonalized, of continuous and of discontinuous fields, and those with terms (terms.cuh) */
struct LocalDoorPlan {
  PetscErrorCode (*apply)(void *, PatchFDPatchOp, PetscInt, const PatchFDColor[], const PatchFDRange, PetscReal, PetscBool, void *, const void *, void *);
  PetscErrorCode (*destroy)(void **);
  void *plan;
};

template <typename T>
struct LocalDoor {
  template <class Kernels>
  static PetscErrorCode createKind(const PatchFDLocalDesc *desc, LocalDoorPlan *p)
  {
    PetscFunctionBegin;
    p->apply   = Kernels::apply;
    p->destroy = Kernels::destroy;
    PetscCall(Kernels::create(desc, &p->plan));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  static PetscErrorCode create(const PatchFDLocalDesc *desc, void **plan)
  {
    LocalDoorPlan *p;

    PetscFunctionBegin;
    PetscCall(PetscNew(&p));
    *plan = p;
    if (desc->nterm) PetscCall(createKind<TermsSmoother<T>>(desc, p));
    else if (desc->nphase > 1) PetscCall(createKind<DGSmoother<T>>(desc, p));
    else PetscCall(createKind<Smoother<T>>(desc, p));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  static PetscErrorCode apply(void *plan, PatchFDPatchOp op, PetscInt ncolors, const PatchFDColor colors[], const PatchFDRange patches, PetscReal omega, PetscBool zero, void *x, const void *b, void *r)
  {
    LocalDoorPlan *p = (LocalDoorPlan *)plan;

    return p->apply(p->plan, op, ncolors, colors, patches, omega, zero, x, b, r);
  }
  static PetscErrorCode destroy(void **plan)
  {
    LocalDoorPlan *p = (LocalDoorPlan *)*plan;

    PetscFunctionBegin;
    if (!p) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(p->destroy(&p->plan));
    PetscCall(PetscFree(*plan));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
};

/* ---- transfers ---- */

template <typename T>
struct TransferDoor {
  /* cells that share no nodes */
  static PetscErrorCode create(const PatchFDTransferDesc *desc, void **plan)
  {
    DoorPlan *p;
    bool      dg = false;

    PetscFunctionBegin;
    for (int d = 0; d < 3; d++) dg = dg || (desc->dir[d]->cstride == desc->dir[d]->nc && desc->dir[d]->fstride == desc->dir[d]->nf);
    PetscCall(DoorCreate(dg, plan, &p));
    if (p->dg) PetscCall(DGTransfer<T>::create(desc, &p->plan));
    else PetscCall(Transfer<T>::create(desc, &p->plan));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  static PetscErrorCode prolong(void *plan, const void *coarse, void *fine)
  {
    DoorPlan *p = (DoorPlan *)plan;

    return p->dg ? DGTransfer<T>::prolong(p->plan, coarse, fine) : Transfer<T>::prolong(p->plan, coarse, fine);
  }
  static PetscErrorCode restrict_(void *plan, const void *fine, void *coarse)
  {
    DoorPlan *p = (DoorPlan *)plan;

    return p->dg ? DGTransfer<T>::restrict_(p->plan, fine, coarse) : Transfer<T>::restrict_(p->plan, fine, coarse);
  }
  static PetscErrorCode destroy(void **plan) { return DoorDestroy<Transfer<T>, DGTransfer<T>>(plan); }
};

} // namespace patchfd
