/* products on patches of operators by quadrature */
#include "points/product.cuh"

template PetscErrorCode patchfd::PointsProducts(PetscInt, bool, const PointsArguments<INSTANCE_T> &,
                                                const PointsProductArguments<INSTANCE_T> &, cudaStream_t);
template PetscErrorCode patchfd::PointsProductsAllow(PetscInt, PoolMemory *, PointsRoom<INSTANCE_T> *);
