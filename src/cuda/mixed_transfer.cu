/* grid transfers of components of a velocity (mixed_transfer.cuh): plans */
#include "mixed_transfer.cuh"
#include "products.cuh"

namespace patchfd
{

template <typename T>
struct MixedTransferPlan {
  Products<T> prolongation, restriction;

  PetscErrorCode free()
  {
    PetscFunctionBegin;
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
PetscErrorCode MixedTransfer<T>::create(const PatchFDTransferDesc *desc, void **plan)
{
  MixedTransferPlan<T> *p = new MixedTransferPlan<T>;
  const PatchFDField    up = TransferField(desc->cbox, desc->coarse, desc->fbox, desc->fine), down = TransferField(desc->fbox, desc->fine, desc->cbox, desc->coarse);
  ProductTerm           P = {0, 0, 1, {}}, transpose = {0, 0, 1, {}};
  cudaStream_t          stream;

  PetscFunctionBegin;
  *plan = p;
  PetscCall(Stream(&stream));
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
static PetscErrorCode MixedApply(const Products<T> &products, const void *from, void *to)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(Stream(&stream));
  PetscCall(PetscLogGpuTimeBegin());
  PetscCall(products.add(1, (const T *)from, (T *)to, stream));
  PetscCall(PetscLogGpuTimeEnd());
  PetscCall(PetscLogGpuFlops(products.flops));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
PetscErrorCode MixedTransfer<T>::prolong(void *plan, const void *coarse, void *fine)
{
  return MixedApply<T>(((MixedTransferPlan<T> *)plan)->prolongation, coarse, fine);
}

template <typename T>
PetscErrorCode MixedTransfer<T>::restrict_(void *plan, const void *fine, void *coarse)
{
  return MixedApply<T>(((MixedTransferPlan<T> *)plan)->restriction, fine, coarse);
}

template struct MixedTransfer<double>;
template struct MixedTransfer<float>;

} // namespace patchfd
