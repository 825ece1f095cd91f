/* local solvers of several fields: the fast kernels in double precision */
#include "fields_fast.cuh"

template PetscErrorCode patchfd::FieldsFastCreate<double>(const patchfd::FieldsForm &, const PatchFDLocalDesc *, patchfd::FieldsFast **);
