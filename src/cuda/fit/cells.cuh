/* corrections of closed cells: the functions of the kernel table */
#pragma once
#include "base/plan.cuh"

namespace patchfd
{

template <typename T>
struct Cells {
  static PetscErrorCode create(const PatchFDCellsDesc *, void *pointsplan, void **);
  static PetscErrorCode sides(void *, PetscInt number, PetscBool add, double *);
  static PetscErrorCode count(void *, double *);
  static PetscErrorCode finish(void *, const double *, const void *, PetscBool *);
  static PetscErrorCode apply(void *, PetscReal, const void *, void *);
  static PetscErrorCode noise(const PatchFDBox *, void *);
  static PetscErrorCode destroy(void **);
};

} // namespace patchfd
