/* the CUDA kernel tables of both precisions */
#include "door/door.cuh"
#include <patchfd/private/fit.h>
#include <patchfd/private/vecimpl.h>

namespace patchfd
{

static MPI_Datatype TypeDouble(void)
{
  return MPI_DOUBLE;
}

static MPI_Datatype TypeFloat(void)
{
  return MPI_FLOAT;
}

/* PetscSF adds nothing but PetscScalars on the GPU */
static PetscErrorCode Widen(size_t n, const void *from, void *to)
{
  return (*VecSingleKernelsCUDA.todouble)((PetscInt)n, 1.0, (const float *)from, (double *)to);
}

static PetscErrorCode Narrow(size_t n, const void *from, void *to)
{
  return (*VecSingleKernelsCUDA.fromdouble)((PetscInt)n, 1.0, (const double *)from, (float *)to);
}

} // namespace patchfd

#define TABLE(T, TYPE, WIDE, WIDEN, NARROW) \
  { \
    .name = patchfd::Scalar<T>::name, .size = sizeof(T), .memtype = PETSC_MEMTYPE_CUDA, .datatype = TYPE, .id = patchfd::Scalar<T>::id, \
    .wide = WIDE, .widen = WIDEN, .narrow = NARROW, .malloc = patchfd::Grid<T>::malloc, .free = patchfd::Grid<T>::free, \
    .zero = patchfd::Grid<T>::zero, .multiply = patchfd::Grid<T>::multiply, .copy = patchfd::Grid<T>::copy, \
    .fixed = patchfd::Grid<T>::fixed, .operatorrings = patchfd::OperatorDoor<T>::rings, \
    .operatorcreate = patchfd::OperatorDoor<T>::create, .operatorapply = patchfd::OperatorDoor<T>::apply, \
    .operatorresidual = patchfd::OperatorDoor<T>::residual, .operatordiagonal = patchfd::OperatorDoor<T>::diagonal, \
    .operatorsweep = patchfd::OperatorDoor<T>::sweep, .operatorpick = patchfd::OperatorDoor<T>::pick, \
    .operatordestroy = patchfd::OperatorDoor<T>::destroy, .latticecreate = patchfd::Lattice<T>::create, \
    .latticeapply = patchfd::Lattice<T>::apply, .latticediagonal = patchfd::Lattice<T>::diagonal, \
    .latticesweep = patchfd::Lattice<T>::sweep, .latticedestroy = patchfd::Lattice<T>::destroy, \
    .transfercreate = patchfd::TransferDoor<T>::create, .transferprolong = patchfd::TransferDoor<T>::apply<false>, \
    .transferrestrict = patchfd::TransferDoor<T>::apply<true>, .transferdestroy = patchfd::TransferDoor<T>::destroy, \
    .localrings = patchfd::LocalDoor<T>::rings, .localcreate = patchfd::LocalDoor<T>::create, .localapply = patchfd::LocalDoor<T>::apply, \
    .localdestroy = patchfd::LocalDoor<T>::destroy, .pointsrestrict = patchfd::PointsRestrict, .pointscontrast = patchfd::PointsContrast, \
    .pointsmetric = patchfd::PointsMetric, .cellmatrices = patchfd::PointsCellMatrices, .stresses = NULL, .invert = patchfd::Invert, \
    .fitcreate = patchfd::OperatorDoor<T>::fit, .fitgroups = patchfd::Fit<T>::groups, .fitapply = patchfd::Fit<T>::apply, \
    .fitwork = patchfd::Fit<T>::work, .fitcg = patchfd::Fit<T>::cg, .fitsteps = patchfd::Fit<T>::steps, .fitexact = NULL, \
    .fitfused = NULL, .fitdestroy = patchfd::Fit<T>::destroy, .cellscreate = patchfd::OperatorDoor<T>::cells, \
    .cellssides = patchfd::Cells<T>::sides, .cellscount = patchfd::Cells<T>::count, .cellsfinish = patchfd::Cells<T>::finish, \
    .cellsapply = patchfd::Cells<T>::apply, .cellsdestroy = patchfd::Cells<T>::destroy, .operatorname = patchfd::OperatorDoor<T>::name, \
    .transfername = patchfd::TransferDoor<T>::name, .localname = patchfd::LocalDoor<T>::name, \
    .boxsolvecreate = patchfd::BoxSolve<T>::create, .boxsolveapply = patchfd::BoxSolve<T>::apply, \
    .boxsolvedestroy = patchfd::BoxSolve<T>::destroy, .cgcreate = patchfd::CG<T>::create, .cgdestroy = patchfd::CG<T>::destroy, \
    .cgstate = patchfd::CG<T>::state, .cgput = patchfd::CG<T>::put, .cgget = patchfd::CG<T>::get, \
    .cgdirection = patchfd::CG<T>::direction, .cgproduct = patchfd::CG<T>::product, .cgadvance = patchfd::CG<T>::advance, \
    .cgsums = patchfd::CG<T>::sums, .cgrecordbegin = patchfd::CG<T>::recordbegin, .cgrecordend = patchfd::CG<T>::recordend, \
    .recordbegin = patchfd::RecordBegin, .recordend = patchfd::RecordEnd, .recordreplay = patchfd::RecordReplay, \
    .recorddestroy = patchfd::RecordDestroy, \
  }

const struct _PatchFDKernels PatchFDKernelsCUDADouble = TABLE(double, patchfd::TypeDouble, NULL, NULL, NULL);
const struct _PatchFDKernels PatchFDKernelsCUDAFloat  = TABLE(float, patchfd::TypeFloat, &PatchFDKernelsCUDADouble, patchfd::Widen,
                                                              patchfd::Narrow);

#define FIT_TABLE(T) \
  { \
    .pick = patchfd::OperatorDoor<T>::fitpick, .product = patchfd::OperatorDoor<T>::fitproduct, \
    .inner = patchfd::OperatorDoor<T>::fitinner, .correct = patchfd::Fit<T>::correct, \
  }

const struct _PatchFDFitKernels PatchFDFitKernelsCUDADouble = FIT_TABLE(double);
const struct _PatchFDFitKernels PatchFDFitKernelsCUDAFloat  = FIT_TABLE(float);
