/* the operator on a lattice in 3D in single precision */
#include "lattice_march.cuh"

template PetscErrorCode patchfd::LatticeMarchCut<float>(LatticeKind, LatticeMode, const LatticeGeometry &, LatticeCut *);
template PetscErrorCode patchfd::LatticeMarchApply<float>(LatticeKind, LatticeMode, const LatticeCut &, const LatticeGeometry &,
                                                          const LatticeMaterial<float> &, const LatticeVectors<float> &, cudaStream_t);
