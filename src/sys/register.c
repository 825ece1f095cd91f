/*
  What the package offers: every kernel table, class and log event is registered here, and here are the entry points for
  -dll_append.
*/
#include <petsc/private/petscimpl.h>
#include <patchfd/private/aijsingle.h>
#include <patchfd/private/matimpl.h> /*I "petscpatchfd.h" I*/
#include <patchfd/private/sysimpl.h>
#include <patchfd/private/vecimpl.h>

#if defined(PETSC_USE_COMPLEX) || !defined(PETSC_USE_REAL_DOUBLE)
  #error "libpatchfd needs a PETSc with real, double precision scalars"
#endif

PetscLogEvent PATCHFD_SetUp, PATCHFD_Mult, PATCHFD_Smooth, PATCHFD_BoxSolve, PATCHFD_Prolong, PATCHFD_Restrict, PATCHFD_Halo,
  PATCHFD_Function, PATCHFD_Replay;

const PatchFDKernels PatchFDKernelTables[PATCHFD_NUM_KERNELS] = {
  [PATCHFD_KERNELS_HOST_DOUBLE] = &PatchFDKernelsHostDouble,
  [PATCHFD_KERNELS_HOST_FLOAT]  = &PatchFDKernelsHostFloat,
#if defined(PETSC_HAVE_CUDA)
  [PATCHFD_KERNELS_CUDA_DOUBLE] = &PatchFDKernelsCUDADouble,
  [PATCHFD_KERNELS_CUDA_FLOAT]  = &PatchFDKernelsCUDAFloat,
#endif
};

static PetscBool initialized = PETSC_FALSE;

/*MC
  PATCHFD_VERSION - The version of the library, as three numbers: `PATCHFD_VERSION_MAJOR`, `PATCHFD_VERSION_MINOR`,
  `PATCHFD_VERSION_SUBMINOR`

  Level: beginner

  Note:
  A library with another major or minor number needs programs to be compiled again.

.seealso: `PatchFDInitializePackage()`
M*/

/*@C
  PatchFDFinalizePackage - Undoes `PatchFDInitializePackage()`; `PetscFinalize()` calls it

  Not Collective

  Level: developer

.seealso: `PatchFDInitializePackage()`
@*/
PetscErrorCode PatchFDFinalizePackage(void)
{
  PetscFunctionBegin;
  initialized = PETSC_FALSE;
  PetscCall(PetscFunctionListDestroy(&DMBoxOperatorList));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  -dll_append may bring this library into a program whose PETSc is another one than it was built with.  The structs of PETSc's private
  headers, which it reads, change with the minor version and in development versions, as the name of PETSc's shared library does, not with
  patch releases.
*/
static PetscErrorCode PatchFDCheckPetsc(void)
{
  PetscInt      major, minor, subminor, release;
  PetscDataType scalar;
  size_t        index;
  PetscBool     found;

  PetscFunctionBegin;
  PetscCall(PetscDataTypeGetSize(PETSC_INT, &index)); /* first: the others have arguments of this type */
  PetscCheck(index == sizeof(PetscInt), PETSC_COMM_SELF, PETSC_ERR_SUP,
             "This libpatchfd was built with %d bit indices; this program's PETSc has %d bit indices", 8 * (int)sizeof(PetscInt),
             8 * (int)index);
  PetscCall(PetscGetVersionNumber(&major, &minor, &subminor, &release));
  PetscCheck(major == PETSC_VERSION_MAJOR && minor == PETSC_VERSION_MINOR && release == PETSC_VERSION_RELEASE, PETSC_COMM_SELF,
             PETSC_ERR_SUP,
             "This libpatchfd was built with PETSc %d.%d%s; this program's PETSc is %d.%d.%d%s. Build libpatchfd with the PETSc of the "
             "program",
             PETSC_VERSION_MAJOR, PETSC_VERSION_MINOR, PETSC_VERSION_RELEASE ? "" : " (development)", (int)major, (int)minor, (int)subminor,
             release ? "" : " (development)");
  PetscCall(PetscDataTypeFromString("scalar", &scalar, &found));
  PetscCheck(scalar == PETSC_DOUBLE, PETSC_COMM_SELF, PETSC_ERR_SUP,
             "libpatchfd needs a PETSc with real, double precision scalars; this program's PETSc has %s scalars", PetscDataTypes[scalar]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  PatchFDInitializePackage - Registers the types of libpatchfd with PETSc: `DMBOX`, `PCPATCHFD`, `PCPATCHMG`, `VECSINGLE`, `VECSINGLECUDA`,
  `MATAIJSINGLE`, `PCSINGLE`, `KSPFUSEDCG`, `KSPREFINE`

  Logically Collective

  Level: beginner

  Notes:
  Call it after `PetscInitialize()` in a program that is linked with libpatchfd. It is not needed with `-dll_append`, which calls it.
  Calling it again does nothing.

.seealso: `DMBOX`, `PCPATCHFD`, `PCPATCHMG`, `VECSINGLE`, `VECSINGLECUDA`, `MATAIJSINGLE`, `PCSINGLE`, `KSPFUSEDCG`, `KSPREFINE`
@*/
PetscErrorCode PatchFDInitializePackage(void)
{
  PetscFunctionBegin;
  if (initialized) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PatchFDCheckPetsc());
  initialized = PETSC_TRUE;
  PetscCall(VecRegister(VECSINGLE, VecCreate_Single));
#if defined(PETSC_HAVE_CUDA)
  PetscCall(VecRegister(VECSINGLECUDA, VecCreate_SingleCUDA));
#endif
  PetscCall(MatRegister(MATAIJSINGLE, MatCreate_AIJSingle));
  for (int type = MAT_FACTOR_NONE + 1; type <= MAT_FACTOR_ICC; type++)
    PetscCall(MatSolverTypeRegister(MATSOLVERPETSC, MATAIJSINGLE, (MatFactorType)type, MatGetFactor_AIJSingle));
  PetscCall(DMRegister(DMBOX, DMCreate_Box));
  PetscCall(DMPlexRegister_PatchFD());
  PetscCall(DMBoxOperatorRegister("poisson", DMBoxOperatorCreate_Poisson));
  PetscCall(DMBoxOperatorRegister("biharmonic", DMBoxOperatorCreate_Biharmonic));
  PetscCall(DMBoxOperatorRegister("stokes", DMBoxOperatorCreate_Stokes));
  PetscCall(DMBoxOperatorRegister("elasticity", DMBoxOperatorCreate_Elasticity));
  PetscCall(DMBoxOperatorRegister("heat", DMBoxOperatorCreate_Heat));
  PetscCall(DMBoxOperatorRegister("diffusion", DMBoxOperatorCreate_Diffusion));
  PetscCall(PCRegister(PCPATCHFD, PCCreate_PatchFD));
  PetscCall(PCRegister(PCPATCHMG, PCCreate_PatchMG));
  PetscCall(PCRegister(PCSINGLE, PCCreate_Single));
  PetscCall(KSPRegister(KSPFUSEDCG, KSPCreate_FusedCG));
  PetscCall(KSPRegister(KSPREFINE, KSPCreate_Refine));
  PetscCall(PetscLogEventRegister("PatchFDSetUp", PC_CLASSID, &PATCHFD_SetUp));
  PetscCall(PetscLogEventRegister("PatchFDMult", MAT_CLASSID, &PATCHFD_Mult));
  PetscCall(PetscLogEventRegister("PatchFDSmooth", PC_CLASSID, &PATCHFD_Smooth));
  PetscCall(PetscLogEventRegister("PatchFDBoxSolve", PC_CLASSID, &PATCHFD_BoxSolve));
  PetscCall(PetscLogEventRegister("PatchFDProlong", MAT_CLASSID, &PATCHFD_Prolong));
  PetscCall(PetscLogEventRegister("PatchFDRestrict", MAT_CLASSID, &PATCHFD_Restrict));
  PetscCall(PetscLogEventRegister("PatchFDHalo", DM_CLASSID, &PATCHFD_Halo));
  PetscCall(PetscLogEventRegister("PatchFDFunction", DM_CLASSID, &PATCHFD_Function));
  PetscCall(PetscLogEventRegister("PatchFDReplay", PC_CLASSID, &PATCHFD_Replay));
  PetscCall(PetscRegisterFinalize(PatchFDFinalizePackage));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* -dll_append libpatchfd.so */
PETSC_EXTERN PetscErrorCode PetscDLLibraryRegister_patchfd(void)
{
  PetscFunctionBegin;
  PetscCall(PatchFDInitializePackage());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the name under which PETSc's own --download- packages are loaded */
PETSC_EXTERN PetscErrorCode PetscDLLibraryRegister_petscpatchfd(void)
{
  PetscFunctionBegin;
  PetscCall(PatchFDInitializePackage());
  PetscFunctionReturn(PETSC_SUCCESS);
}
