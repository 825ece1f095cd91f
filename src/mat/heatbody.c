/*
  What a body is made of: voxels that say which cubes exist, fields of the capacity and the conductivity at the nodes, and their averages on
  coarser meshes.
*/
#include <patchfd/private/heatimpl.h> /*I "petscpatchfd.h" I*/
#include <patchfd/private/vecimpl.h>

PetscErrorCode DMBoxGetHeatData(DM dm, const char who[], DMBox_Heat **heat)
{
  DMBoxOperator op;

  PetscFunctionBegin;
  PetscCall(DMBoxGetOperatorOfType(dm, "heat", who, &op));
  *heat = (DMBox_Heat *)op->data;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HeatBodyReference(HeatBody body)
{
  PetscFunctionBegin;
  if (body) body->refct++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HeatBodyDestroy(HeatBody *b)
{
  HeatBody body = *b;

  PetscFunctionBegin;
  *b = NULL;
  if (!body || --body->refct > 0) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt i = 0; i < 4; i++) {
    PetscCall(VecDestroy(&body->field[i]));
    for (int k = 0; k < PATCHFD_NUM_KERNELS; k++) {
      PetscBool shared = PETSC_FALSE;

      for (PetscInt j = 0; j < i; j++) shared = (PetscBool)(shared || body->local[k][j] == body->local[k][i]);
      if (body->local[k][i] && !shared) PetscCall((*body->kernels[k]->free)(body->local[k][i]));
    }
  }
  PetscCall(PetscFree(body->voxel));
  PetscCall(PetscFree(body));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static size_t HeatBodyCubes(HeatBody body)
{
  return (size_t)body->cells[0] * (size_t)body->cells[1] * (size_t)body->cells[2];
}

PetscErrorCode HeatBodyCreate(DM dm, HeatBody from, HeatBody *b)
{
  static PetscInt64 number = 0;
  HeatBody          body;

  PetscFunctionBegin;
  PetscCall(PetscNew(&body));
  body->refct = 1;
  body->made  = ++number;
  PetscCall(PetscArraycpy(body->cells, ((const DM_Box *)dm->data)->cells, 3));
  for (PetscInt i = 0; from && i < 4; i++) PetscCall(HeatBodySetField(body, i, from->field[i]));
  if (from && from->voxel) {
    PetscCall(PetscMalloc1(HeatBodyCubes(body), &body->voxel));
    PetscCall(PetscArraycpy(body->voxel, from->voxel, HeatBodyCubes(body)));
  }
  *b = body;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HeatBodySetField(HeatBody body, PetscInt i, Vec v)
{
  PetscFunctionBegin;
  if (v) PetscCall(PetscObjectReference((PetscObject)v));
  PetscCall(VecDestroy(&body->field[i]));
  body->field[i] = v;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- arrays for kernels ---- */

/* a Vec of the kernels' own kind with the values of v */
static PetscErrorCode VecCreateForKernels(Vec v, PatchFDKernels kern, Vec *w)
{
  static const char *const types[PATCHFD_NUM_KERNELS] = {[PATCHFD_KERNELS_HOST_DOUBLE] = VECSTANDARD,
                                                         [PATCHFD_KERNELS_HOST_FLOAT]  = VECSINGLE,
                                                         [PATCHFD_KERNELS_CUDA_DOUBLE] = VECCUDA,
                                                         [PATCHFD_KERNELS_CUDA_FLOAT]  = VECSINGLECUDA};

  PetscFunctionBegin;
  PetscCall(VecCreate(PetscObjectComm((PetscObject)v), w));
  PetscCall(VecSetSizes(*w, v->map->n, v->map->N));
  PetscCall(VecSetType(*w, types[kern->id]));
  PetscCall(VecSingleConvert(v, 1, *w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HeatBodyGetArrays(HeatBody body, DM dm, PatchFDKernels kern, const void *field[4])
{
  const DM_Box *box = (const DM_Box *)dm->data;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < 4; i++) {
    void      **local = &body->local[kern->id][i];
    const void *a;
    Vec         w;

    if (body->field[i] && !*local && i > 1 && body->field[i] == body->field[1]) *local = body->local[kern->id][1];
    if (body->field[i] && !*local) {
      PetscCall(VecCreateForKernels(body->field[i], kern, &w));
      PetscCall((*kern->malloc)(PetscMax(box->nlocal, 1), local));
      PetscCall((*kern->zero)(PetscMax(box->nlocal, 1), *local));
      body->kernels[kern->id] = kern;
      PetscCall(PatchFDVecGetArrayRead(w, kern, &a));
      PetscCall(DMBoxCopyOwned(dm, kern, PETSC_FALSE, a, PETSC_TRUE, *local));
      PetscCall(PatchFDVecRestoreArrayRead(w, kern, &a));
      PetscCall(DMBoxHaloBegin(dm, kern, 1, local));
      PetscCall(DMBoxHaloEnd(dm, kern, 1, local));
      PetscCall(VecDestroy(&w));
    }
    field[i] = *local;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- coarser meshes ---- */

PetscErrorCode HeatBodyInside(DM dm, HeatBody body, Vec inside)
{
  const DM_Box *box = (const DM_Box *)dm->data;
  PetscReal     table[256];
  PetscScalar  *a;

  PetscFunctionBegin;
  for (int i = 0; i < 256; i++) table[i] = i > 0;
  PetscCall(VecGetArrayWrite(inside, &a));
  PatchFDHostVoxelMean(dm->dim, body->cells, body->voxel, table, &box->field[0].global, a);
  PetscCall(VecRestoreArrayWrite(inside, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the mean of fine nodes with these weights; restricted: their sums */
static PetscErrorCode HeatBodyAverage(Mat P, Vec weight, Vec restricted, Vec fine, Vec *coarse)
{
  Vec w, c;

  PetscFunctionBegin;
  PetscCall(VecDuplicate(weight, &w));
  PetscCall(VecDuplicate(restricted, &c));
  PetscCall(VecSingleConvert(fine, 1, w));
  PetscCall(VecPointwiseMult(w, w, weight));
  PetscCall(MatMultTranspose(P, w, c));
  PetscCall(VecPointwiseDivide(c, c, restricted));
  PetscCall(VecCreateForKernels(c, &PatchFDKernelsHostDouble, coarse));
  PetscCall(VecDestroy(&w));
  PetscCall(VecDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* a DM on the same mesh with Vecs in double precision, in the same memory, and without fixed nodes, so that interpolation from it reaches
   all nodes */
static PetscErrorCode DMBoxCloneFree(DM dm, DM *clone)
{
  const DMBoxBoundaryType neumann[6] = {DMBOX_BOUNDARY_NEUMANN, DMBOX_BOUNDARY_NEUMANN, DMBOX_BOUNDARY_NEUMANN,
                                        DMBOX_BOUNDARY_NEUMANN, DMBOX_BOUNDARY_NEUMANN, DMBOX_BOUNDARY_NEUMANN};
  const DM_Box           *box        = (const DM_Box *)dm->data;
  DM_Box                 *c;
  PetscBool               cuda;

  PetscFunctionBegin;
  PetscCall(DMBoxCreate(PetscObjectComm((PetscObject)dm), dm->dim, box->cells, 1, clone));
  PetscCall(DMBoxSetBounds(*clone, box->lower, box->upper));
  PetscCall(DMBoxSetBoundary(*clone, neumann));
  PetscCall(PetscStrcmpAny(dm->vectype, &cuda, VECCUDA, VECSEQCUDA, VECMPICUDA, VECSINGLECUDA, ""));
  PetscCall(DMSetVecType(*clone, cuda ? VECCUDA : VECSTANDARD));
  c = (DM_Box *)(*clone)->data;
  for (PetscInt d = 0; d < 3; d++) { /* the ranks' parts */
    c->processes[d] = box->processes[d];
    PetscCall(PetscMalloc1(box->processes[d] + 1, &c->splits[d]));
    PetscCall(PetscArraycpy(c->splits[d], box->splits[d], box->processes[d] + 1));
  }
  PetscCall(DMSetUp(*clone));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HeatBodyCoarsen(DM fine, HeatBody body, DM coarse, HeatBody *result)
{
  HeatBody b;
  DM       f, c;
  Mat      P;
  Vec      weight, restricted, average;

  PetscFunctionBegin;
  PetscCall(HeatBodyCreate(coarse, NULL, &b));
  b->made = body->made;
  if (body->voxel) {
    PetscCall(PetscMalloc1(HeatBodyCubes(b), &b->voxel));
    PatchFDHostVoxelCoarsen(fine->dim, body->cells, body->voxel, b->voxel);
  }
  PetscCall(DMBoxCloneFree(fine, &f));
  PetscCall(DMBoxCloneFree(coarse, &c));
  PetscCall(DMCreateInterpolation(c, f, &P, NULL));
  PetscCall(DMCreateGlobalVector(f, &weight));
  PetscCall(DMCreateGlobalVector(c, &restricted));
  if (body->voxel) PetscCall(HeatBodyInside(f, body, weight));
  else PetscCall(VecSet(weight, 1));
  PetscCall(VecShift(weight, 1e-6)); /* materials of nodes outside do not matter, but have to be there */
  PetscCall(MatMultTranspose(P, weight, restricted));
  for (PetscInt i = 0; i < 4; i++) {
    if (!body->field[i]) continue;
    if (i > 1 && body->field[i] == body->field[1]) PetscCall(HeatBodySetField(b, i, b->field[1]));
    else {
      PetscCall(HeatBodyAverage(P, weight, restricted, body->field[i], &average));
      PetscCall(HeatBodySetField(b, i, average));
      PetscCall(VecDestroy(&average));
    }
  }
  PetscCall(VecDestroy(&weight));
  PetscCall(VecDestroy(&restricted));
  PetscCall(MatDestroy(&P));
  PetscCall(DMDestroy(&f));
  PetscCall(DMDestroy(&c));
  *result = b;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- voxels ---- */

/* at the nodes the mean of the materials of the voxels around */
static PetscErrorCode HeatVoxelField(DM dm, HeatBody body, PetscInt n, const PetscReal material[], PetscInt i)
{
  const DM_Box *box        = (const DM_Box *)dm->data;
  PetscReal     table[256] = {0};
  PetscScalar  *a;
  Vec           v;

  PetscFunctionBegin;
  for (PetscInt m = 0; m <= n; m++) table[m] = material[PetscMax(m - 1, 0)]; /* nodes outside have some number that is allowed */
  PetscCall(VecCreate(PetscObjectComm((PetscObject)dm), &v));
  PetscCall(VecSetSizes(v, (PetscInt)box->nglobal, PETSC_DETERMINE));
  PetscCall(VecSetType(v, VECSTANDARD));
  PetscCall(VecGetArrayWrite(v, &a));
  PatchFDHostVoxelMean(dm->dim, body->cells, body->voxel, table, &box->field[0].global, a);
  PetscCall(VecRestoreArrayWrite(v, &a));
  PetscCall(HeatBodySetField(body, i, v));
  PetscCall(VecDestroy(&v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  DMBoxSetHeatVoxels - Sets the body of the operator `heat` and its materials, from an image with a number for each cell

  Collective

  Input Parameters:
+ dm           - the `DM` of type `DMBOX`, set up
. voxel        - for each cell of the whole mesh, x fastest, 0 if it is not part of the body, otherwise the number of its material, from 1;
                 the same image on all processes
. n            - number of materials; 0 if other routines set the materials: all numbers except 0 then mean the body
. capacity     - heat capacity of a volume of each material, n positive numbers
- conductivity - conductivity of each material, n numbers, not negative

  Level: beginner

  Notes:
  A node has the mean of the materials of the cells of the body around it. Nodes that touch no cell of the body have rows of the
  identity in matrices and keep their values in time steps. Surfaces of the body inside the box are insulated. Conditions of the
  sides of the box hold where cells of the body touch them.

  Each process copies the whole image. `DMBoxLoadVoxels()` reads one from a file.

.seealso: `DMBOX`, `DMBoxLoadVoxels()`, `DMBoxSetHeat()`, `DMBoxSetHeatFields()`
@*/
PetscErrorCode DMBoxSetHeatVoxels(DM dm, const unsigned char voxel[], PetscInt n, const PetscReal capacity[],
                                  const PetscReal conductivity[])
{
  DMBox_Heat *heat = NULL;
  DM_Box     *box;
  HeatBody    body;
  size_t      cubes, inside = 0;
  int         largest = 0;

  PetscFunctionBegin;
  PetscCall(DMBoxGetHeatData(dm, "DMBoxSetHeatVoxels()", &heat));
  PetscCall(DMBoxGetContextSetUp(dm, &box));
  PetscAssertPointer(voxel, 2);
  PetscValidLogicalCollectiveInt(dm, n, 3);
  PetscCheck(n >= 0 && n <= 255, PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_OUTOFRANGE,
             "DMBoxSetHeatVoxels() has %" PetscInt_FMT " materials; there may be 0 to 255", n);
  for (PetscInt i = 0; i < 2 * dm->dim; i++)
    PetscCheck(box->boundary[i] != DMBOX_BOUNDARY_PERIODIC, PetscObjectComm((PetscObject)dm), PETSC_ERR_SUP,
               "DMBoxSetHeatVoxels() was called for a DMBOX that is periodic in direction %" PetscInt_FMT
               " (-dm_box_boundary, DMBoxSetBoundary()); bodies of voxels have no periodic sides",
               i / 2);
  cubes = (size_t)box->cells[0] * (size_t)box->cells[1] * (size_t)box->cells[2];
  for (size_t i = 0; i < cubes; i++) {
    inside += voxel[i] > 0;
    largest = PetscMax(largest, voxel[i]);
  }
  PetscCheck(inside, PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_WRONG, "No voxel is part of the body: all are zero");
  PetscCheck(!n || largest <= n, PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_OUTOFRANGE,
             "The voxels have material %d, but DMBoxSetHeatVoxels() was given %" PetscInt_FMT " materials", largest, n);
  for (PetscInt m = 0; m < n; m++)
    PetscCheck(capacity[m] > 0 && conductivity[m] >= 0 && !PetscIsInfOrNanReal(capacity[m] + conductivity[m]),
               PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_OUTOFRANGE,
               "Material %" PetscInt_FMT " has capacity %g and conductivity %g; they must be finite, positive and not negative", m + 1,
               (double)capacity[m], (double)conductivity[m]);
  PetscCall(HeatBodyCreate(dm, heat->body, &body));
  if (!body->voxel) PetscCall(PetscMalloc1(cubes, &body->voxel));
  PetscCall(PetscArraycpy(body->voxel, voxel, cubes));
  if (n) {
    PetscCall(HeatVoxelField(dm, body, n, capacity, 0));
    PetscCall(HeatVoxelField(dm, body, n, conductivity, 1));
    for (PetscInt i = 2; i < 4; i++) PetscCall(HeatBodySetField(body, i, body->field[1]));
  }
  PetscCall(HeatBodyDestroy(&heat->body));
  heat->body = body;
  PetscCall(DMBoxChanged(dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}
