/* products on patches of operators by quadrature, in double precision */
#include "points_product.cuh"

template PetscErrorCode patchfd::PointsProducts(PetscInt, bool, const PointsArguments<double> &, const PointsProductArguments<double> &,
                                                cudaStream_t);
template PetscErrorCode patchfd::PointsProductsAllow(PetscInt, PoolMemory *, PointsRoom<double> *);
