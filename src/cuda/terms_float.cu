/* local solvers with terms: the fast kernels in single precision */
#include "terms_fast.cuh"

template PetscErrorCode patchfd::TermsFastCreate<float>(const patchfd::TermsForm &, const PatchFDLocalDesc *, patchfd::TermsFast **);
