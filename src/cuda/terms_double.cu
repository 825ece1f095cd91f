/* local solvers with terms: the fast kernels in double precision */
#include "terms_fast.cuh"

template PetscErrorCode patchfd::TermsFastCreate<double>(const patchfd::TermsForm &, const PatchFDLocalDesc *, patchfd::TermsFast **);
