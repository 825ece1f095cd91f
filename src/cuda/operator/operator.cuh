/*
  y = y0 + alpha A x,  A = A0 (x) M1 (x) M2 + M0 (x) A1 (x) M2 + M0 (x) M1 (x) A2  summed over cells (direction 0 is x).

    operator.cu  what is chosen when; the generic kernel (any degrees, split cells, 1D)
    march.cu     the kernel for cells of one degree in 3D that are equal (every uniform mesh), or by place: whose matrices are
                 those of one cell times numbers (every graded mesh)
    plane.cu     the same in 2D

  The fast kernels are templates of the precision and the degree.  The last template of their header is their entry: it has the degree as an
  argument, and ForDegree() (base/dispatch.cuh) chooses.
*/
#pragma once
#include "base/march.cuh"
#include "base/plan.cuh"

namespace patchfd
{

/* the operator on equal cells of one degree */
struct OperatorFast {
  virtual ~OperatorFast() { }
  virtual PetscErrorCode apply(PetscReal alpha, const void *x, const void *y0, void *y, cudaStream_t) const = 0;
};

static constexpr int operator_march_degrees = 12, operator_plane_degrees = 16; /* from 1 on */

/* the matrices of a cell are m M and a A + s M, M and A those of the first class */
template <typename T>
struct CellScale {
  T m, a, s;
};

/* those of the classes of direction d; empty if they are not all so */
std::vector<CellScale<PetscReal>> ClassScales(const SumDesc *, int d);

/* those of `count` cells from `first` on, zeros for cells that are not to be visited */
template <typename T>
static std::vector<CellScale<T>> CellScales(const SumDesc *desc, int d, int first, int count)
{
  const std::vector<CellScale<PetscReal>> classes = ClassScales(desc, d);
  std::vector<CellScale<T>>               s((size_t)count, {0, 0, 0});

  for (int c = PetscMax(first, (int)desc->cells[d][0]); c < PetscMin(first + count, (int)desc->cells[d][1]); c++) {
    const CellScale<PetscReal> &from = classes[desc->dir[d].cls[c]];

    s[c - first] = {(T)from.m, (T)from.a, (T)from.s};
  }
  return s;
}

/* BY_PLACE: the cells are not equal, but have such numbers in all directions */
template <typename T, bool BY_PLACE>
PetscErrorCode OperatorMarchCreate(const SumDesc *, PlanMemory *, OperatorFast **);
template <typename T, bool BY_PLACE>
PetscErrorCode OperatorPlaneCreate(const SumDesc *, PlanMemory *, OperatorFast **);

} // namespace patchfd
