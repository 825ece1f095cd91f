/* the operator in 2D, degrees 1 to 10, in double precision */
#include "operator_plane.cuh"

template <typename T>
PetscErrorCode patchfd::OperatorPlaneCreate(const PatchFDOperatorDesc *desc, OperatorMarch **march)
{
  return OperatorPlaneCreateDegrees<T, 10>(desc, march);
}
template PetscErrorCode patchfd::OperatorPlaneCreate<double>(const PatchFDOperatorDesc *, OperatorMarch **);
