/*
  The bake-off problems of CEED on a DMPLEX of hexahedra, as a MATSHELL.

  Layout global: the vectors of the DM.  The kernels take nodes by their numbers: on one rank out of the vector itself, on several out of an
  array [owned | ghosts],
  which the matrix's own Vecs have, and what is made from them; others are copied.
  Where nodes have Dirichlet conditions for some of their components, arrays have all components, with zeros in these: `expand` takes a
  rank's unknowns there and back.
  Layout element: vectors of all nodes of cell after cell.  With Z the scatter to cells, S the square root of the inverse multiplicity of
  each node and Q = S Z,
  Q'Q = 1: the operator is Q A Q' = S Z Z' A_E S^{-1} on vectors Q x, A_E the kernels' product cell by cell, Z Z' one PetscSF with a root
  for each node.
*/
#include <patchfd/private/assembly.h>
#include <patchfd/private/bakeoffimpl.h> /*I "petscpatchfd.h" I*/
#include <patchfd/private/patches.h>
#include <patchfd/private/sysimpl.h>

/* ---- products: y = y0 + alpha A x; y0 may be NULL for zero, or y ---- */

/* on the kernels' arrays, all nodes of the rank's cells */
static PetscErrorCode BakeoffApplyCells(const Mat_Bakeoff *m, PatchFDKernels kern, PetscReal alpha, const void *x, const void *y0, void *y)
{
  const BakeoffKernels *k = &m->kern[kern->id];

  PetscFunctionBegin;
  PetscCall((*kern->operatorapply)(k->plan, alpha, x, y0, y));
  if (k->sides) PetscCall((*kern->operatorapply)(k->sides, alpha, x, y, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* on arrays of the layout global */
static PetscErrorCode BakeoffApply(void *ctx, PatchFDKernels kern, PetscReal alpha, const void *x, const void *y0, void *y)
{
  Mat_Bakeoff    *m = (Mat_Bakeoff *)ctx;
  BakeoffKernels *k;
  const void     *local;
  void           *sum;

  PetscFunctionBegin;
  PetscCall(BakeoffGetKernels(m, kern, &k));
  if (!m->sf && !m->expand) {
    PetscCall(BakeoffApplyCells(m, kern, alpha, x, y0, y));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatBakeoffGlobalToLocal(m, kern, x, &local));
  if (y0 && y0 != y) PetscCall(BakeoffAXPBY(m, kern, 0, y, 1, y0));
  if (y0) {
    PetscCall(MatBakeoffSumBegin(m, kern, y, &sum));
    PetscCall(BakeoffApplyCells(m, kern, alpha, local, sum, sum));
    PetscCall(MatBakeoffSumEnd(m, kern, y, &sum));
  } else {
    PetscCall(BakeoffGetLocal(m, kern, y, &k->y, &sum));
    PetscCall(BakeoffApplyCells(m, kern, alpha, local, NULL, sum));
    if (m->sf) PetscCall(BakeoffSum(m, kern, BakeoffGhosts(m, kern, sum), sum));
    PetscCall(BakeoffFromNodes(m, kern, PETSC_FALSE, sum, y));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the leaves of each node get their sum */
static PetscErrorCode BakeoffSumLeaves(Mat_Bakeoff *m, PatchFDKernels kern, void *leaf)
{
  BakeoffKernels *k = &m->kern[kern->id];

  PetscFunctionBegin;
  PetscCall((*kern->zero)(m->nowned, k->x));
  PetscCall(BakeoffSum(m, kern, leaf, k->x));
  PetscCall(BakeoffBroadcast(m, kern, k->x, leaf));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatApplyElement(Mat_Bakeoff *m, PatchFDKernels kern, PetscReal alpha, Vec x, Vec y0, Vec y)
{
  BakeoffKernels *k;
  Vec             scale, inverse, w, sum = y;
  const void     *aw;
  void           *as;

  PetscFunctionBegin;
  PetscCall(BakeoffGetKernels(m, kern, &k));
  PetscCall(BakeoffGetScale(m, kern, x, &scale, &inverse));
  PetscCall(BakeoffGetWork(k, 0, x));
  w = k->work[0];
  if (y0 == y) {
    PetscCall(BakeoffGetWork(k, 1, x));
    sum = k->work[1];
  }
  PetscCall(VecPointwiseMult(w, inverse, x));
  PetscCall(PatchFDVecGetArrayRead(w, kern, &aw));
  PetscCall(PatchFDVecGetArrayWrite(sum, kern, &as));
  PetscCall((*kern->operatorapply)(k->plan, alpha, aw, NULL, as));
  PetscCall(BakeoffSumLeaves(m, kern, as));
  PetscCall(PatchFDVecRestoreArrayWrite(sum, kern, &as));
  PetscCall(PatchFDVecRestoreArrayRead(w, kern, &aw));
  PetscCall(VecPointwiseMult(sum, scale, sum));
  if (y0) PetscCall(VecAXPY(y, 1, sum == y ? y0 : sum));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatApply_Bakeoff(Mat A, PetscReal alpha, Vec x, Vec y0, Vec y)
{
  Mat_Bakeoff   *m;
  PatchFDKernels kern;

  PetscFunctionBegin;
  PetscCall(MatShellGetContext(A, &m));
  PetscCall(PatchFDVecGetKernels(x, &kern));
  PetscCall(PetscLogEventBegin(PATCHFD_Mult, m->dm, 0, 0, 0));
  if (m->layout == MAT_BAKEOFF_LAYOUT_ELEMENT) PetscCall(MatApplyElement(m, kern, alpha, x, y0, y));
  else PetscCall(MatApplyArrays(BakeoffApply, m, alpha, x, y0, y));
  PetscCall(PetscLogEventEnd(PATCHFD_Mult, m->dm, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

MAT_PRODUCTS(Bakeoff)

static PetscErrorCode MatCanRecord_Bakeoff(Mat A, PatchFDKernels kern, PetscBool *can)
{
  PetscVoidFn *mult;
  Mat_Bakeoff *m;

  PetscFunctionBegin;
  PetscCall(MatShellGetContext(A, &m));
  PetscCall(MatShellGetOperation(A, MATOP_MULT, &mult));
  *can = (PetscBool)(m->layout == MAT_BAKEOFF_LAYOUT_GLOBAL && mult == (PetscVoidFn *)MatMult_Bakeoff &&
                     (!m->halo || PatchFDHaloIsOnDevice(PatchFDHaloGetType(m->halo, kern))) &&
                     (!m->expand || PatchFDHaloIsOnDevice(PatchFDHaloGetType(m->expand, kern))));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The first sweep of KSPFUSEDCG, where the kernels' arrays are the vectors themselves.  Between GPUs with the ghosts of the residual, and
  of d, which a rank cannot tell from that of the solve before: then all ranks of a node find the same direction there, and what cells give
  to p'w is that of the rank's cells
*/
static PetscErrorCode MatFusedCGSweep_Bakeoff(Mat A, PatchFDKernels kern, const void *d, const void *r, const void *q, void *p, void *w,
                                              PatchFDSweep *sweep, PetscBool *can)
{
  Mat_Bakeoff    *m;
  BakeoffKernels *k;

  PetscFunctionBegin;
  PetscCall(MatShellGetContext(A, &m));
  *can = (PetscBool)(m->layout == MAT_BAKEOFF_LAYOUT_GLOBAL && kern->operatorsweep && !m->sides.any && !m->values.solid &&
                     (!m->sf || !PetscMemTypeHost(kern->memtype)) && BakeoffHasRoom(m, p));
  if (!sweep || !*can) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscLogEventBegin(PATCHFD_Mult, m->dm, 0, 0, 0));
  PetscCall(BakeoffGetKernels(m, kern, &k));
  if (m->halo) {
    const void *const from[2] = {r, d};
    void *const       to[2]   = {BakeoffGhosts(m, kern, r), d ? BakeoffGhosts(m, kern, d) : NULL};

    PetscCall(PetscLogEventBegin(PATCHFD_Halo, m->dm, 0, 0, 0));
    PetscCall(PatchFDHaloBegin(m->halo, kern, 0, d ? 2 : 1, from));
    PetscCall(PatchFDHaloEnd(m->halo, kern, 0, d ? 2 : 1, to));
    PetscCall(PetscLogEventEnd(PATCHFD_Halo, m->dm, 0, 0, 0));
  }
  PetscCall((*kern->operatorsweep)(k->plan, d, r, q, p, w, sweep));
  if (m->halo) PetscCall(BakeoffSum(m, kern, BakeoffGhosts(m, kern, w), w));
  PetscCall(PetscLogEventEnd(PATCHFD_Mult, m->dm, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- other operations ---- */

/* of the cells, or of the sides: their plan.
   In the layout element the diagonal of A at each node, not that of Q A Q': the same for all leaves of a node, so that Jacobi's method is
   that of A */
static PetscErrorCode BakeoffGetDiagonal(Mat_Bakeoff *m, PatchFDKernels kern, void *plan, Vec d)
{
  BakeoffKernels *k = &m->kern[kern->id];
  void           *a, *sum;

  PetscFunctionBegin;
  PetscCall(PatchFDVecGetArrayWrite(d, kern, &a));
  if (!m->sf && !m->expand) PetscCall((*kern->operatordiagonal)(plan, a));
  else if (m->layout == MAT_BAKEOFF_LAYOUT_GLOBAL) {
    PetscCall(BakeoffGetLocal(m, kern, a, &k->y, &sum));
    if (plan) PetscCall((*kern->operatordiagonal)(plan, sum));
    else PetscCall((*kern->zero)(m->nlocal, sum)); /* this rank has no sides */
    if (m->sf) PetscCall(BakeoffSum(m, kern, BakeoffGhosts(m, kern, sum), sum));
    PetscCall(BakeoffFromNodes(m, kern, PETSC_FALSE, sum, a));
  } else {
    PetscCall((*kern->operatordiagonal)(plan, a));
    PetscCall((*kern->zero)(m->nowned, k->x));
    PetscCall(BakeoffSum(m, kern, a, k->x));
    PetscCall(PatchFDVecRestoreArrayWrite(d, kern, &a));
    PetscCall(VecSet(d, 1)); /* for nodes without a root */
    PetscCall(PatchFDVecGetArray(d, kern, &a));
    PetscCall(BakeoffBroadcast(m, kern, k->x, a));
  }
  PetscCall(PatchFDVecRestoreArrayWrite(d, kern, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatGetDiagonal_Bakeoff(Mat A, Vec d)
{
  Mat_Bakeoff    *m;
  PatchFDKernels  kern;
  BakeoffKernels *k;
  Vec             sides;

  PetscFunctionBegin;
  PetscCall(MatShellGetContext(A, &m));
  PetscCall(PatchFDVecGetKernels(d, &kern));
  PetscCall(BakeoffGetKernels(m, kern, &k));
  PetscCall(BakeoffGetDiagonal(m, kern, k->plan, d));
  if (!m->sides.any) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecDuplicate(d, &sides));
  PetscCall(BakeoffGetDiagonal(m, kern, k->sides, sides));
  PetscCall(VecAXPY(d, 1, sides));
  PetscCall(VecDestroy(&sides));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the global numbers of the unknowns of this rank's nodes and ghosts, or -1 */
static PetscErrorCode BakeoffGetNumbers(Mat A, const Mat_Bakeoff *m, PetscInt **number)
{
  PetscInt next = A->rmap->rstart;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(m->nlocal, number));
  for (size_t i = 0; i < m->nowned; i++) (*number)[i] = m->cells.dirichlet && m->cells.dirichlet[i] ? -1 : next++;
  if (m->sf) {
    PetscCall(PetscSFBcastBegin(m->sf, MPIU_INT, *number, *number + m->nowned, MPI_REPLACE));
    PetscCall(PetscSFBcastEnd(m->sf, MPIU_INT, *number, *number + m->nowned, MPI_REPLACE));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatConvert_Bakeoff(Mat A, MatType type, MatReuse reuse, Mat *B)
{
  Mat_Bakeoff    *m;
  PatchFDPoints   points, sides;
  PetscCount      count, nodes, more = 0;
  PetscInt       *own = NULL, *number, *i, *j;
  const PetscInt *local;
  PetscReal      *E = NULL;
  PetscScalar    *v;

  PetscFunctionBegin;
  PetscCall(MatShellGetContext(A, &m));
  PetscCheck(reuse != MAT_INPLACE_MATRIX, PetscObjectComm((PetscObject)A), PETSC_ERR_SUP,
             "A matrix of MatCreateBakeoff() cannot be converted in place");
  PetscCheck(m->layout == MAT_BAKEOFF_LAYOUT_GLOBAL, PetscObjectComm((PetscObject)A), PETSC_ERR_SUP,
             "Only in the layout global can a matrix of MatCreateBakeoff() be converted to %s", type);
  BakeoffDescribe(m, &points);
  BakeoffDescribeSides(m, &sides);
  nodes = points.ncells * m->cells.size;
  local = points.index;
  if (points.solid) { /* numbers for each component */
    PetscCall(PetscMalloc1(points.ncomp * nodes, &own));
    for (PetscCount k = 0; k < points.ncomp * nodes; k++)
      own[k] = local[k % nodes] < 0 ? -1 : local[k % nodes] * points.ncomp + (PetscInt)(k / nodes);
    local = own;
    PetscCall(PetscMalloc1(points.ncells * PetscSqr(PatchFDPointsCellSize(&points)), &E));
    PetscCall(PatchFDKernelTables[PATCHFD_KERNELS_HOST_DOUBLE]->cellmatrices(&points, E));
  }
  PetscCall(PatchFDHostPointsTriples(&points, E, local, local, &count, NULL, NULL, NULL));
  if (m->sides.n) PetscCall(PatchFDHostPointsTriples(&sides, NULL, sides.index, sides.index, &more, NULL, NULL, NULL));
  PetscCall(PetscMalloc3(count + more, &i, count + more, &j, count + more, &v));
  PetscCall(PatchFDHostPointsTriples(&points, E, local, local, &count, i, j, v));
  if (m->sides.n) PetscCall(PatchFDHostPointsTriples(&sides, NULL, sides.index, sides.index, &more, i + count, j + count, v + count));
  PetscCall(PetscFree(E));
  PetscCall(PetscFree(own));
  PetscCall(BakeoffGetNumbers(A, m, &number));
  for (PetscCount k = 0; k < count + more; k++) {
    i[k] = i[k] < 0 ? -1 : number[i[k]];
    j[k] = j[k] < 0 ? -1 : number[j[k]];
  }
  PetscCall(PetscFree(number));
  PetscCall(MatConvertTriples(A, count + more, i, j, v, type, reuse, B));
  PetscCall(PetscFree3(i, j, v));
  if (points.solid) {
    MatNullSpace motions;

    PetscCall(BakeoffMotions(A, m, &motions));
    if (!m->expand) PetscCall(MatSetBlockSize(*B, points.ncomp));
    PetscCall(MatSetNearNullSpace(*B, motions));
    PetscCall(MatNullSpaceDestroy(&motions));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDestroy_Bakeoff(Mat A)
{
  Mat_Bakeoff *m;

  PetscFunctionBegin;
  PetscCall(MatShellGetContext(A, &m));
  PetscCall(BakeoffReset(m));
  PetscCall(PlexCoefficientsDestroy(&m->from));
  PetscCall(PlexPointValuesDestroy(&m->values));
  PetscCall(PlexRobinDestroy(&m->robin));
  PetscCall(PlexSidesDestroy(&m->sides));
  PetscCall(PatchFDHaloDestroy(&m->halo));
  PetscCall(PatchFDHaloDestroy(&m->expand));
  PetscCall(PetscSFDestroy(&m->sf));
  PetscCall(PlexCellsDestroy(&m->cells));
  PetscCall(DMDestroy(&m->dm));
  PetscCall(PetscFree(m));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatFusedCGSweep_C", NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatCanRecord_C", NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatCreatePatches_C", NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- creation ---- */

/* from the nodes of this and other ranks to ghosts, or to all nodes of cells; a leaf for each component */
static PetscErrorCode BakeoffCreateSF(Mat_Bakeoff *m)
{
  const PlexCells *c       = &m->cells;
  const PetscInt   ncomp   = c->ncomp;
  const PetscBool  element = (PetscBool)(m->layout == MAT_BAKEOFF_LAYOUT_ELEMENT);
  MPI_Comm         comm    = PetscObjectComm((PetscObject)m->dm);
  PetscCount       n = element ? c->ncells * c->size : c->nghost, nleaf = 0;
  PetscInt        *local, *remote, nleaves;
  PetscLayout      layout;

  PetscFunctionBegin;
  PetscCall(PetscIntCast(n * ncomp, &nleaves)); /* they are numbered */
  PetscCall(PetscMalloc2(nleaves, &local, nleaves, &remote));
  for (PetscCount i = 0; i < n; i++) {
    const PetscInt at   = element ? c->index[i] : c->nodes->n + (PetscInt)i;
    const PetscInt node = at < c->nodes->n ? (at < 0 ? -1 : c->nodes->rstart + at) : c->ghost[at - c->nodes->n];

    for (PetscInt k = 0; k < ncomp && node >= 0; k++, nleaf++) {
      local[nleaf]  = (PetscInt)(i * ncomp + k);
      remote[nleaf] = node * ncomp + k;
    }
  }
  PetscCall(PetscLayoutCreateFromSizes(comm, c->nodes->n * ncomp, PETSC_DETERMINE, 1, &layout));
  PetscCall(PetscSFCreate(comm, &m->sf));
  PetscCall(PetscSFSetGraphLayout(m->sf, layout, (PetscInt)nleaf, local, PETSC_COPY_VALUES, remote));
  PetscCall(PetscSFSetUp(m->sf));
  PetscCall(PetscLayoutDestroy(&layout));
  PetscCall(PetscFree2(local, remote));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* within the rank: from its unknowns to the components of its nodes that have no Dirichlet conditions */
static PetscErrorCode BakeoffCreateExpand(Mat_Bakeoff *m)
{
  PetscInt    *first[2], *index[2], n = 0;
  PetscMPIInt *self;

  PetscFunctionBegin;
  PetscCall(PetscCalloc1(1, &self));
  for (int side = 0; side < 2; side++) {
    PetscCall(PetscCalloc1(2, &first[side]));
    PetscCall(PetscMalloc1(m->nowned, &index[side]));
  }
  for (size_t i = 0; i < m->nowned; i++) {
    if (m->cells.dirichlet[i]) continue;
    index[0][n]   = n;
    index[1][n++] = (PetscInt)i;
  }
  m->nfree    = (size_t)n;
  first[0][1] = first[1][1] = n;
  PetscCall(PatchFDHaloCreateFromLists(PETSC_COMM_SELF, PATCHFD_HALO_AUTO, 1, self, first, index, &m->expand));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* takes the cells */
static PetscErrorCode BakeoffCreate(DM dm, const PlexCells *cells, PetscBool diffusion, MatBakeoffProblem problem, MatBakeoffLayout layout,
                                    Mat_Bakeoff **bakeoff)
{
  const PetscBool scalar = (PetscBool)(problem == MAT_BAKEOFF_BP1 || problem == MAT_BAKEOFF_BP3 || problem == MAT_BAKEOFF_BP5);
  PetscMPIInt     size;
  Mat_Bakeoff    *m;

  PetscFunctionBegin;
  PetscCall(PetscNew(&m));
  *bakeoff     = m;
  m->dm        = dm;
  m->diffusion = diffusion;
  m->problem   = problem;
  m->layout    = layout;
  m->cells     = *cells;
  PetscCheck(m->diffusion || m->cells.ncomp == (scalar ? 1 : m->cells.dim), PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_INCOMP,
             "The PetscFE of the DMPLEX has %" PetscInt_FMT " components; %s has %" PetscInt_FMT, m->cells.ncomp,
             MatBakeoffProblems[problem], scalar ? 1 : m->cells.dim);
  PetscCheck(!m->cells.dirichlet || layout == MAT_BAKEOFF_LAYOUT_GLOBAL, PetscObjectComm((PetscObject)dm), PETSC_ERR_SUP,
             "Nodes of the DMPLEX have Dirichlet conditions for some of their %" PetscInt_FMT
             " components; in the layout element they have to be for none or all",
             m->cells.ncomp);
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)dm), &size));
  if (size > 1 || layout == MAT_BAKEOFF_LAYOUT_ELEMENT) PetscCall(BakeoffCreateSF(m));
  if (size > 1 && layout == MAT_BAKEOFF_LAYOUT_GLOBAL) PetscCall(PatchFDHaloCreate(m->sf, m->halotype, &m->halo));
  m->nowned = (size_t)(m->cells.nodes->n * m->cells.ncomp);
  m->nleaf  = (size_t)((layout == MAT_BAKEOFF_LAYOUT_ELEMENT ? m->cells.ncells * m->cells.size : m->cells.nghost) * m->cells.ncomp);
  m->nlocal = layout == MAT_BAKEOFF_LAYOUT_ELEMENT ? m->nleaf : m->nowned + m->nleaf;
  m->nfree  = m->nowned;
  if (m->cells.dirichlet) PetscCall(BakeoffCreateExpand(m));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateOfCells(DM dm, VecType type, const PlexCells *cells, PetscBool diffusion, MatBakeoffProblem problem,
                                    MatBakeoffLayout layout, Mat *A)
{
  static const MatShellOperation operations[] = {MAT_PRODUCT_OPERATIONS(Bakeoff),
                                                 {MATOP_CREATE_VECS, (PetscVoidFn *)MatCreateVecs_Bakeoff},
                                                 {MATOP_GET_DIAGONAL, (PetscVoidFn *)MatGetDiagonal_Bakeoff},
                                                 {MATOP_VIEW, (PetscVoidFn *)MatView_Bakeoff},
                                                 {MATOP_DESTROY, (PetscVoidFn *)MatDestroy_Bakeoff}};
  /* MATSHELL's are for matrices whose scaling it keeps */
  static const MatOperation none[] = {MATOP_DUPLICATE, MATOP_COPY, MATOP_ZERO_ROWS, MATOP_ZERO_ROWS_COLUMNS};
  Mat_Bakeoff              *m;
  PetscInt                  n;

  PetscFunctionBegin;
  PetscCall(BakeoffCreate(dm, cells, diffusion, problem, layout, &m));
  PetscCall(PetscObjectReference((PetscObject)dm));
  PetscCall(PetscIntCast((PetscCount)(layout == MAT_BAKEOFF_LAYOUT_ELEMENT ? m->nleaf : m->nfree), &n));
  PetscCall(MatCreateShell(PetscObjectComm((PetscObject)dm), n, n, PETSC_DETERMINE, PETSC_DETERMINE, m, A));
  PetscCall(MatShellSetManageScalingShifts(*A));
  PetscCall(MatShellSetVecType(*A, type));
  PetscCall(MatShellSetOperations(*A, PETSC_STATIC_ARRAY_LENGTH(operations), operations));
  PetscCall(PetscObjectComposeFunction((PetscObject)*A, "MatFusedCGSweep_C", MatFusedCGSweep_Bakeoff));
  PetscCall(PetscObjectComposeFunction((PetscObject)*A, "MatCanRecord_C", MatCanRecord_Bakeoff));
  PetscCall(PetscObjectComposeFunction((PetscObject)*A, "MatCreatePatches_C", MatCreatePatches_Cells));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(none); i++) PetscCall(MatSetOperation(*A, none[i], NULL));
  PetscCall(MatSetOperation(*A, MATOP_CONVERT, (PetscVoidFn *)MatConvert_Bakeoff));
  (*A)->ops->setfromoptions = MatSetFromOptions_Bakeoff;
  PetscCall(PetscLayoutSetBlockSize((*A)->rmap, m->expand ? 1 : m->cells.ncomp));
  PetscCall(PetscLayoutSetBlockSize((*A)->cmap, m->expand ? 1 : m->cells.ncomp));
  PetscCall(MatSetNullSpace_Bakeoff(*A, m));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatCreateBakeoff_Private(DM dm, PetscBool diffusion, MatBakeoffProblem problem, MatBakeoffLayout layout, Mat *A)
{
  PlexCells       cells;
  Mat_Bakeoff    *m;
  PatchFDKernels  kern;
  BakeoffKernels *own;

  PetscFunctionBegin;
  PetscCall(PlexCellsCreate(dm, &cells));
  PetscCall(CreateOfCells(dm, dm->vectype, &cells, diffusion, problem, layout, A));
  PetscCall(MatShellGetContext(*A, &m));
  PetscCall(PatchFDVecTypeGetKernels(dm->vectype, &kern));
  PetscCall(BakeoffGetKernels(m, kern, &own)); /* bad cells are found now */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatCreateBakeoff - Creates the matrix-free operator of one of CEED's bake-off problems on a `DMPLEX` of hexahedra or quadrilaterals

  Collective

  Input Parameters:
+ dm      - a `DMPLEX` with one field, a continuous Lagrange `PetscFE` of degree 1 to 15 without simplices
. problem - bp1 to bp6
- layout  - of the vectors: `MAT_BAKEOFF_LAYOUT_GLOBAL`, those of `dm`, or `MAT_BAKEOFF_LAYOUT_ELEMENT`

  Output Parameter:
. A - the matrix, a `MATSHELL`

  Options Database Keys:
+ -mat_bakeoff_lambda <0>     - coefficient of the mass term of bp3 to bp6, with `MatSetFromOptions()`; see `MatBakeoffSetLambda()`
. -mat_bakeoff_factors <auto> - where geometric factors come from, with `MatSetFromOptions()`; see `MatBakeoffSetFactors()`
- -mat_bakeoff_halo <auto>    - how MPI processes exchange values, with `MatSetFromOptions()`; see `MatBakeoffSetHaloType()`

  Level: intermediate

  Notes:
  With N the degree of the space, the problems are

.vb
  bp1, bp2   mass, N + 2 Gauss points in a direction
  bp3, bp4   stiffness + lambda mass, N + 2 Gauss points in a direction
  bp5, bp6   stiffness + lambda mass, the N + 1 Gauss-Lobatto points, which are the nodes (bp5 is also called bp3.5)
.ve
  with one component in bp1, bp3 and bp5, and as many as there are dimensions in bp2, bp4 and bp6.

  Cells may have any orientation. Their geometry is that of the coordinates of `dm`: multilinear, or polynomials of higher degree.
  The vectors do not have nodes with Dirichlet conditions (`DMAddBoundary()`), or, where these are for some of the components, not these
  components; they count as zero. With lambda 0 the constants of each component on each connected part of the mesh without such conditions
  for it are the null space of the matrix.

  The types of vectors are those of `dm` (`-dm_vec_type`), also `VECSINGLE` and `VECSINGLECUDA`. `MatGetDiagonal()` returns the
  exact diagonal; `MatConvert()` to `MATAIJ`, in the layout global, the assembled matrix.

  In GPU memory the vectors of `MatCreateVecs()` and their duplicates have operations of their own for Krylov methods, with one pass over
  memory each. With the vectors of the `DM`, which have PETSc's, an iteration of `KSPCG` takes up to 8 per cent longer.

  In the layout `MAT_BAKEOFF_LAYOUT_ELEMENT` a vector has all nodes of one cell after another, x fastest, and a whole `KSP` runs on
  such vectors. Their values are the nodal values divided by the square root of the number of cells that have the node. So scalar
  products, norms and iterations are those of global vectors. `MatBakeoffGlobalToElement()` and `MatBakeoffElementToGlobal()`
  convert. The matrix is symmetric, and zero on vectors that do not come from nodal values. Right-hand side and initial guess must
  come from global vectors, and the preconditioner must keep this property, as `PCJACOBI` does: `MatGetDiagonal()` returns the
  diagonal of the global operator at each node.

  Source: K. Swirydowicz, N. Chalmers, A. Karakus, T. Warburton, Acceleration of tensor-product operations for high-order finite
  element methods, equations (3) to (9).

.seealso: `MatBakeoffProblem`, `MatBakeoffLayout`, `MatBakeoffSetLambda()`, `MatBakeoffSetFactors()`, `MatBakeoffSetHaloType()`,
`MatBakeoffGlobalToElement()`, `MatBakeoffElementToGlobal()`
@*/
PetscErrorCode MatCreateBakeoff(DM dm, MatBakeoffProblem problem, MatBakeoffLayout layout, Mat *A)
{
  static PetscBool cite = PETSC_FALSE;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(dm, DM_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(dm, problem, 2);
  PetscValidLogicalCollectiveEnum(dm, layout, 3);
  PetscAssertPointer(A, 4);
  PetscCheck(problem >= MAT_BAKEOFF_BP1 && problem <= MAT_BAKEOFF_BP6, PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_OUTOFRANGE,
             "Bake-off problem %d; it has to be 0 to 5, bp1 to bp6", (int)problem);
  PetscCall(PatchFDInitializePackage());
  PetscCall(PetscCitationsRegister("@article{SwirydowiczChalmersKarakusWarburton2017,\n"
                                   "  title  = {Acceleration of tensor-product operations for high-order finite element methods},\n"
                                   "  author = {Kasia {\\'S}wirydowicz and Noel Chalmers and Ali Karakus and Timothy Warburton},\n"
                                   "  year   = {2017}\n}\n",
                                   &cite));
  PetscCall(MatCreateBakeoff_Private(dm, PETSC_FALSE, problem, layout, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatBakeoffCreateDegree(Mat A, PetscInt degree, Mat *B)
{
  Mat_Bakeoff *m;
  PlexCells    cells;

  PetscFunctionBegin;
  PetscCall(MatShellGetContext(A, &m));
  PetscCall(PlexCellsCreateDegree(PetscObjectComm((PetscObject)A), &m->cells, degree, &cells));
  PetscCall(CreateOfCells(m->dm, A->defaultvectype, &cells, m->diffusion, m->problem, m->layout, B));
  PetscCall(MatBakeoffFollow(*B, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatBakeoffFollow(Mat B, Mat A)
{
  Mat_Bakeoff *m, *n;

  PetscFunctionBegin;
  PetscCall(MatShellGetContext(A, &m));
  PetscCall(MatShellGetContext(B, &n));
  PetscCall(MatBakeoffSetHaloType(B, m->halotype));
  if (n->lambda != m->lambda) PetscCall(MatBakeoffSetLambda(B, m->lambda));
  PetscCall(MatBakeoffSetFactors(B, m->factors));
  if (m->version != n->version) {
    PetscCall(MatDiffusionPlexSetSides_Private(B, &m->robin));
    if (m->from.dm) PetscCall(MatDiffusionPlexSet_Private(B, &m->from));
  }
  n->version = m->version;
  PetscFunctionReturn(PETSC_SUCCESS);
}
