/* the operator on a lattice in 3D in double precision */
#include "lattice_march.cuh"

template PetscErrorCode patchfd::LatticeMarchCut<double>(LatticeKind, LatticeMode, const LatticeGeometry &, LatticeCut *);
template PetscErrorCode patchfd::LatticeMarchApply<double>(LatticeKind, LatticeMode, const LatticeCut &, const LatticeGeometry &,
                                                           const LatticeMaterial<double> &, const LatticeVectors<double> &, cudaStream_t);
