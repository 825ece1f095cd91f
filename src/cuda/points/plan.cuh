/* plans of operators by quadrature (points.cuh): points.cu makes them from a description, pick.cu from others */
#pragma once
#include "points/packed.cuh"
#include "points/sides.cuh"

namespace patchfd
{

template <typename T>
struct PointsPlan : Plan {
  PointsArguments<T> arg      = {};
  PointsKernel<T>    fast     = {}; /* or no kernel: the generic one */
  PointsGeneric<T>   generic  = {};
  Team<T>            diagonal = {};
  PointsSides<T>     sides    = {};
  PointsPacked       packed   = {}; /* factors for products on inner patches, if anybody has asked for them */
  PointsRoom<T>      room     = {}; /* for these products, if a block of threads has too little */
  /* numbers of y, and how many of the first ones are written by one cell: the interior nodes of a DMPLEX come first */
  size_t         size = 0, alone = 0;
  bool           square = false;          /* are the boxes of x and y the same? */
  int            nrest = 0, *rest = NULL; /* nodes that no row has */
  PetscLogDouble flops = 0;
  PoolMemory     memory, setup; /* setup: what factors are made from */
};

/* all but the factors */
template <typename T>
PetscErrorCode PointsPlanBegin(const PatchFDOperatorDesc *, const PatchFDRule *, bool computed, PointsPlan<T> *);

/* maps and coefficients go to the device, if they are not there; the arrays are those of `setup` */
PetscErrorCode PointsMapCreate(const PatchFDPoints *, const PatchFDRule *, const PointsNodes &, int cells, PoolMemory *setup, PointsMap *);

/* the factors of cells, of which a map has maps and coefficients, lying as `layout` says; factors NULL: nothing but the check, for
   PointsCheckBad() */
template <typename T>
PetscErrorCode PointsFactorsLaunch(const PointsMap &, const PointsLayout &, bool given, int cells, T *factors, PointsBad *);
/* an error with the number of a bad cell, counted from that of the first one, if there is one */
PetscErrorCode PointsCheckBad(PetscInt dim, PetscInt nkappa, int first, const PointsBad &);

} // namespace patchfd
