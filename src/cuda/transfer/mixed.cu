/* grid transfers of components of a velocity (mixed.cuh): plans */
#include "transfer/mixed.cuh"
#include "base/products.cuh"
#include <algorithm>

namespace patchfd
{

template <typename T>
struct MixedTransferPlan {
  Products<T>        prolongation, restriction;
  MixedTransferFast *fast  = NULL; /* or NULL */
  PetscLogDouble     flops = 0;

  PetscErrorCode free()
  {
    PetscFunctionBegin;
    delete fast;
    PetscCall(prolongation.free());
    PetscCall(restriction.free());
    PetscFunctionReturn(PETSC_SUCCESS);
  }
};

/* a grid function on `from` becomes one on `to` */
static PatchFDField TransferField(const PatchFDBox &from, const PatchFDRange read, const PatchFDBox &to, const PatchFDRange write)
{
  PatchFDField f = {};

  f.xbox = from;
  f.ybox = to;
  for (int d = 0; d < 3; d++) {
    for (int e = 0; e < 2; e++) {
      f.read[d][e]  = read[d][e];
      f.write[d][e] = write[d][e];
    }
  }
  return f;
}

template <typename T>
bool MixedTransfer<T>::fast(const PatchFDTransferDesc *desc, PetscInt *k, int *shared)
{
  const PatchFDEmbedding *own = NULL; /* of a direction without shared nodes */

  *shared = -1;
  for (int d = 0; d < 3; d++) {
    const PatchFDEmbedding *e = desc->dir[d];

    if (e->nf == 1 && d == 2) continue;
    if (e->ratio != 2 || e->nclass != 1) return false;
    if (e->nc > e->cstride) {
      if (*shared >= 0) return false;
      *shared = d;
    } else if (!own) own = e;
    else if (e->nf != own->nf || e->nc != own->nc || !std::equal(e->P, e->P + e->nf * e->nc, own->P)) return false;
  }
  *k = own ? own->nc - 1 : 0;
  if (*k < 1 || *k > mixed_fast_degrees || own->nf != 2 * own->nc) return false;
  return *shared < 0 || (desc->dir[*shared]->nc == *k + 2 && desc->dir[*shared]->nf == 2 * *k + 3);
}

template <typename T>
PetscErrorCode MixedTransfer<T>::create(const PatchFDTransferDesc *desc, void **plan)
{
  MixedTransferPlan<T> *p  = new MixedTransferPlan<T>;
  const PatchFDField    up = TransferField(desc->cbox, desc->coarse, desc->fbox, desc->fine),
                     down  = TransferField(desc->fbox, desc->fine, desc->cbox, desc->coarse);
  ProductTerm    P = {0, 0, 1, {}}, transpose = {0, 0, 1, {}};
  PetscInt       k;
  int            shared;
  PetscLogDouble nf[3], nc[3];
  cudaStream_t   stream;

  PetscFunctionBegin;
  *plan = p;
  PetscCall(Stream(&stream));
  p->flops = 2;
  for (int d = 0; d < 3; d++) {
    nf[d] = (PetscLogDouble)desc->dir[d]->nf;
    nc[d] = (PetscLogDouble)desc->dir[d]->nc;
    p->flops *= (PetscLogDouble)PetscMax(0, desc->cells[d][1] - desc->cells[d][0]);
  }
  p->flops *= nf[0] * nc[0] * nc[1] * nc[2] + nf[0] * nf[1] * nc[1] * nc[2] + nf[0] * nf[1] * nf[2] * nc[2];
  if (fast(desc, &k, &shared)) {
    if (desc->dir[2]->nf == 1) PetscCall((MixedTransferFastCreate<T, 2>(desc, k, shared, &p->fast)));
    else PetscCall((MixedTransferFastCreate<T, 3>(desc, k, shared, &p->fast)));
  }
  if (p->fast) PetscFunctionReturn(PETSC_SUCCESS);
  for (int d = 0; d < 3; d++) {
    P.dir[d]         = OwnerLine::prolongation(desc->dir[d], desc->cells[d]);
    transpose.dir[d] = OwnerLine::restriction(desc->dir[d], desc->cells[d]);
  }
  PetscCall(p->prolongation.create(1, &up, {P}, desc->cells));
  PetscCall(p->restriction.create(1, &down, {transpose}, desc->cells));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
PetscErrorCode MixedTransfer<T>::destroy(void **plan)
{
  return DestroyPlan<MixedTransferPlan<T>>(plan);
}

template <typename T>
PetscErrorCode MixedTransfer<T>::apply(void *plan, bool restriction, const void *from, void *to)
{
  MixedTransferPlan<T> *p        = (MixedTransferPlan<T> *)plan;
  const Products<T>    &products = restriction ? p->restriction : p->prolongation;
  cudaStream_t          stream;

  PetscFunctionBegin;
  PetscCall(Stream(&stream));
  PetscCall(PetscLogGpuTimeBegin());
  if (!p->fast) PetscCall(products.add(1, (const T *)from, (T *)to, stream));
  else if (restriction) PetscCall(p->fast->restrict_(from, to, stream));
  else PetscCall(p->fast->prolong(from, to, stream));
  PetscCall(PetscLogGpuTimeEnd());
  PetscCall(PetscLogGpuFlops(p->flops));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template struct MixedTransfer<double>;
template struct MixedTransfer<float>;

} // namespace patchfd
