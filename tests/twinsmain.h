/* The main() of programs that compare CUDA kernels with their host twins: Run() is the program, `help` stands before this file is included
   */
#pragma once
#include <patchfd/private/kernels.h>

#if defined(PETSC_HAVE_CUDA)
/* host and GPU, in double and in single precision */
static const PatchFDKernels tables[2][2] = {{&PatchFDKernelsHostDouble, &PatchFDKernelsCUDADouble},
                                            {&PatchFDKernelsHostFloat, &PatchFDKernelsCUDAFloat}};

static PetscErrorCode Run(void);

/* -dim and -degrees, which has to be given */
static PETSC_UNUSED PetscErrorCode GetDegrees(PetscInt *dim, PetscInt *n, PetscInt degrees[16])
{
  PetscBool set;

  PetscFunctionBeginUser;
  *n = 16;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-dim", dim, NULL));
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-degrees", degrees, n, &set));
  PetscCheck(set, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-degrees is needed: a list of degrees");
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PETSC_UNUSED PetscErrorCode PrintDegree(PetscInt degree, PetscBool agrees)
{
  PetscFunctionBeginUser;
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "degree %" PetscInt_FMT ": %s\n", degree, agrees ? "agrees" : "DEVIATES"));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
#if defined(PETSC_HAVE_CUDA)
  PetscCall(Run());
#else
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "This PETSc has no CUDA\n"));
#endif
  PetscCall(PetscFinalize());
  return 0;
}
