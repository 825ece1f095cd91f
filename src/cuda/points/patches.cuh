/* An operator by quadrature on the cells of patches, from one on a mesh: each patch has its unknowns, x fastest, by themselves */
#pragma once
#include "base/plan.cuh"
#include "points/points.cuh"

namespace patchfd
{

/* patches of up to two cells in each direction, numbers of each in GPU memory; cells and nodes are numbered in the whole mesh */
struct PointsPatches {
  int        count, low[3], cells[3]; /* patches; the cells that the operator has on the mesh, x fastest */
  const int *cell, *first, *n;        /* [count][3]: the first cell and node, unknowns */
  size_t     at, volume;              /* where the first one's unknowns begin, and those of others after it */
};

static constexpr int points_corners = 8; /* cells of a patch */

/* what has a lane in packed factors: a cell, a plane of points normal to z, a line of points in x */
enum PointsPacking {
  POINTS_PACKED_CELLS,
  POINTS_PACKED_PLANES,
  POINTS_PACKED_LINES
};

/* Factors of all cells in half precision (packed.cuh): words[block of cells][level][word][lane].  A level is one of the points of a
   lane */
static constexpr int points_packed_cells = 32; /* of a block */

struct PointsPacked {
  const unsigned *words; /* or NULL */
  const float    *scale; /* [cells] */
  int             c;     /* points in a direction */
  PointsPacking   packing;
  bool            shift, swapped; /* swapped: z first in the order of a cell's lines */

  __host__ __device__ int lanes() const
  {
    return points_packed_cells * (packing == POINTS_PACKED_CELLS ? 1 : (packing == POINTS_PACKED_PLANES ? c : c * c));
  }
  __host__ __device__ int    numbers() const { return shift ? 4 : 3; } /* words of a point */
  __host__ __device__ size_t block() const { return (size_t)numbers() * points_packed_cells * (c * c * c); }
  __host__ __device__ size_t size(size_t cells) const { return (cells + points_packed_cells - 1) / points_packed_cells * block(); }
  __host__ __device__ size_t at(int cell, int point) const
  {
    const int in = cell % points_packed_cells, x = point % c, y = point / c % c, z = point / c / c;
    int       level = point, lane = in;

    if (packing == POINTS_PACKED_PLANES) {
      level = y * c + x;
      lane  = in * c + z;
    } else if (packing == POINTS_PACKED_LINES) {
      level = x;
      lane  = (in * c + (swapped ? y : z)) * c + (swapped ? z : y);
    }
    return cell / points_packed_cells * block() + (size_t)(level * numbers() * lanes() + lane);
  }
};

/* global memory that stands in for the shared memory of so many blocks of threads; none: it is not needed */
template <typename T>
struct PointsRoom {
  T  *numbers;
  int blocks;
};

template <typename T>
struct PointsProductArguments {
  PointsPatches patches;
  PointsPacked  packed;
  /* x, too, has each patch's unknowns by themselves, and nothing beside them; y -= A x in place of y = A x */
  bool          compact, subtract;
  T            *y;
  PointsRoom<T> room;
};

/* of inner patches with factors in half precision */
PetscErrorCode PointsPackedProducts(PetscInt degree, const PointsArguments<float> &, const PointsProductArguments<float> &, cudaStream_t);

template <typename T>
PetscErrorCode PointsPickPatches(void *pointsplan, const PointsPatches &, void **picked);

/* before the first PointsPatchProducts() */
template <typename T>
PetscErrorCode PointsProductsPrepare(void *pointsplan);

/* makes factors in half precision, for inner patches, if there are none */
PetscErrorCode PointsPack(void *pointsplan);

/*
  y = A x, or y -= A x, at the unknowns of patches that are the inner nodes of eight cells (inner), or of others, from x on the mesh or, as
  y, at these unknowns alone (compact); an operator that PatchFDFitTakesResiduals().  packed: of inner ones with these factors
*/
template <typename T>
PetscErrorCode PointsPatchProducts(void *pointsplan, const PointsPatches &, bool inner, bool packed, bool compact, bool subtract,
                                   const T *x, T *y);

} // namespace patchfd
