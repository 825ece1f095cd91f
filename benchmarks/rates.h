#pragma once
/* the two ceilings of a GPU, measured: see rates.cu */
#include <petscsys.h>

/* a gigabyte copied from one array to another, bytes read and written a second */
PETSC_INTERN PetscErrorCode RateCopy(PetscLogDouble *bytes);
/* multiply-adds that wait for nothing else, flops a second */
PETSC_INTERN PetscErrorCode RateFMA(PetscBool single, PetscLogDouble *flops);
