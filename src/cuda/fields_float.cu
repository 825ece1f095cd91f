/* local solvers of several fields: the fast kernels in single precision */
#include "fields_fast.cuh"

template PetscErrorCode patchfd::FieldsFastCreate<float>(const patchfd::FieldsForm &, const PatchFDLocalDesc *, patchfd::FieldsFast **);
