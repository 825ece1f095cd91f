/*
  From a degree known at run time to one known to the compiler.  Kernels are templates of the degree; this is the one place where a
  number becomes a template argument.  What a file instantiates is what its calls name: f is compiled for each degree from lo to hi.
*/
#pragma once
#include <petscsys.h>
#include <type_traits>

namespace patchfd
{

/* f(std::integral_constant<int, k>()), f a generic lambda that returns a PetscErrorCode */
template <int lo, int hi, class F>
PetscErrorCode ForDegree(PetscInt k, F &&f)
{
  static_assert(lo <= hi, "no degrees");
  PetscFunctionBegin;
  if (k == lo) PetscCall(f(std::integral_constant<int, lo>()));
  else if constexpr (lo < hi) PetscCall((ForDegree<lo + 1, hi>(k, f)));
  else SETERRQ(PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "There is no kernel for degree %" PetscInt_FMT, k);
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace patchfd
