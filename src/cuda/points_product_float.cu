/* products on patches of operators by quadrature, in single precision */
#include "points_product.cuh"

template PetscErrorCode patchfd::PointsProducts(PetscInt, bool, const PointsArguments<float> &, const PointsProductArguments<float> &,
                                                cudaStream_t);
template PetscErrorCode patchfd::PointsProductsAllow(PetscInt, PoolMemory *, PointsRoom<float> *);
