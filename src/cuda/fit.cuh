/* local solvers that are fitted to each patch (patchfd/private/fit.h): the functions of the kernel table */
#pragma once
#include "points_patches.cuh"

namespace patchfd
{

template <typename T>
struct Fit {
  static PetscErrorCode create(const PatchFDFit *, const PatchFDFitRule *, void *pointsplan, char[], void **);
  static PetscErrorCode groups(void *);
  static PetscErrorCode apply(void *, PetscInt, PetscInt, PetscReal, const void *, const void *, void *);
  static PetscErrorCode work(void *, void **, void **);
  static PetscErrorCode cg(void *, PetscInt, PetscInt, PetscInt, const void *, const void *, void *, void *, PetscReal[], PetscReal[]);
  static PointsPatches  patches(void *, PetscInt group); /* for their operator */
  static PetscErrorCode residual(void *, PetscInt, void *pointsplan, PetscBool, const void *, const void *);
  static PetscErrorCode bounds(void *, PetscInt, PetscInt, PetscReal[]); /* after the last step of cg() */
  static PetscErrorCode destroy(void **);
};

} // namespace patchfd
