/* Fits of local solvers to each patch (patchfd/private/fit.h): which patches there are, and their order by groups, in GPU memory */
#pragma once
#include "base/plan.cuh"
#include <patchfd/private/fit.h>

namespace patchfd
{

static constexpr int fit_line = sizeof(PatchFDFitLine) / sizeof(PetscInt);

/* the patches of all directions */
struct FitGrid {
  int            count[3];
  PetscInt       nkind[3];
  PatchFDFitKind kind[3][PATCHFD_FIT_MAX_KINDS];
  const int     *line[3]; /* [count][fit_line]: first cell and node, kind, colour */

  __device__ void get(int number, const int *of[3]) const
  {
    const int rows = number / count[0];

    of[0] = line[0] + fit_line * (number - rows * count[0]);
    of[1] = line[1] + fit_line * (rows % count[1]);
    of[2] = line[2] + fit_line * (rows / count[1]);
  }
};

/* patches in the order of groups */
struct FitOrder {
  int *number;           /* [patches] */
  int *cell, *first, *n; /* [patches][3] */
};

PetscErrorCode FitGridCreate(const PatchFDFit *, PoolMemory *, FitGrid *);

/* groups from the steps that patches take, by their numbers, and all that PatchFDHostFitSetGroups() makes; the steps go to the description
   */
PetscErrorCode FitSort(PatchFDFit *, const FitGrid &, const char *take, PoolMemory *, FitOrder *);

} // namespace patchfd
