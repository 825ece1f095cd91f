/* local solvers that are fitted to each patch (patchfd/private/fit.h): the functions of the kernel table */
#pragma once
#include "points/patches.cuh"

namespace patchfd
{

template <typename T>
struct Fit {
  static PetscErrorCode create(PatchFDFit *, const PatchFDFitRule *, void *pointsplan, void **);
  static PetscErrorCode groups(void *, const PatchFDFitRule *);
  static PetscErrorCode apply(void *, PetscInt, PetscInt, PetscReal, const void *, const void *, void *);
  static PetscErrorCode work(void *, void **, void **);
  static PetscErrorCode cg(void *, PetscInt, PetscInt, PetscInt, const void *, const void *, void *, void *);
  static PetscErrorCode steps(void *, const PatchFDFitRule *, PetscInt group, PetscInt last);
  static PointsPatches  patches(void *, PetscInt group); /* for their operator */
  static PetscErrorCode product(void *, PetscInt, void *pointsplan, const void *);
  static PetscErrorCode inner(void *, PetscInt, void *pointsplan, PetscBool, const void *, void *);
  static PetscErrorCode correct(void *, PetscInt, PetscReal, const void *, const void *, void *);
  static PetscErrorCode destroy(void **);
};

} // namespace patchfd
