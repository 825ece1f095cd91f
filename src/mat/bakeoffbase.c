/* The bake-off problems, what all their files stand on: data, plans, the way of numbers between ranks, nodes and cells, vectors */
#include <patchfd/private/bakeoffimpl.h> /*I "petscpatchfd.h" I*/
#include <patchfd/private/sysimpl.h>

const char *const MatBakeoffProblems[]     = {"bp1", "bp2", "bp3", "bp4", "bp5", "bp6", "MatBakeoffProblem", "MAT_BAKEOFF_", NULL};
const char *const MatBakeoffLayouts[]      = {"global", "element", "MatBakeoffLayout", "MAT_BAKEOFF_LAYOUT_", NULL};
const char *const MatBakeoffFactorsTypes[] = {"auto", "stored", "computed", "MatBakeoffFactorsType", "MAT_BAKEOFF_FACTORS_", NULL};

static const PetscReal one = 1;

PetscErrorCode MatView_Bakeoff(Mat A, PetscViewer viewer)
{
  Mat_Bakeoff *m;
  PetscBool    ascii;
  PetscInt     ncells;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  PetscCheck(ascii, PetscObjectComm((PetscObject)A), PETSC_ERR_SUP,
             "A matrix of MatCreateBakeoff() has no entries for a viewer of type %s: MatConvert() it to MATAIJ",
             ((PetscObject)viewer)->type_name);
  PetscCall(MatShellGetContext(A, &m));
  ncells = (PetscInt)m->cells.ncells;
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &ncells, 1, MPIU_INT, MPI_SUM, PetscObjectComm((PetscObject)A)));
  PetscCall(PetscViewerASCIIPushTab(viewer));
  PetscCall(PetscViewerASCIIPrintf(viewer,
                                   "%s%s: degree %" PetscInt_FMT ", %" PetscInt_FMT " cells of dimension %" PetscInt_FMT
                                   " and geometry of degree %" PetscInt_FMT "\n",
                                   m->diffusion ? "" : "bake-off problem ",
                                   m->values.solid ? "elasticity"
                                   : m->diffusion  ? "diffusion"
                                                   : MatBakeoffProblems[m->problem],
                                   m->cells.degree, ncells, m->cells.dim, m->cells.geodegree));
  if (m->diffusion)
    PetscCall(PetscViewerASCIIPrintf(viewer, "coefficients: %s%s, %s%s\n", m->values.kappaconstant || !m->values.kappa ? "constant " : "",
                                     m->values.solid && m->values.nkappa == 2 ? "moduli"
                                     : m->values.nkappa > 1                   ? "tensor"
                                                                              : "number",
                                     !m->values.shift ? "no shift" : (m->values.shiftconstant ? "constant shift" : "shift"),
                                     m->sides.any ? ", sides with h u" : ""));
  else if (!BakeoffIsMass(m)) PetscCall(PetscViewerASCIIPrintf(viewer, "lambda %g\n", (double)m->lambda));
  PetscCall(PetscViewerASCIIPrintf(viewer, "layout %s, factors %s%s\n", MatBakeoffLayouts[m->layout], MatBakeoffFactorsTypes[m->factors],
                                   m->expand ? ", Dirichlet conditions for some of the components" : ""));
  PetscCall(PetscViewerASCIIPopTab(viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* NULL for other matrices */
static PetscBool IsBakeoff(Mat A)
{
  return (PetscBool)(A->ops->view == MatView_Bakeoff);
}

PetscErrorCode BakeoffGet(Mat A, Mat_Bakeoff **m)
{
  PetscFunctionBegin;
  PetscCheck(IsBakeoff(A), PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_WRONG,
             "The matrix, of type %s, was not made by MatCreateBakeoff()", ((PetscObject)A)->type_name);
  PetscCall(MatShellGetContext(A, m));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatBakeoffFind(Mat A, Mat_Bakeoff **m)
{
  PetscFunctionBegin;
  *m = NULL;
  if (IsBakeoff(A)) PetscCall(MatShellGetContext(A, m));
  if (*m && (*m)->layout != MAT_BAKEOFF_LAYOUT_GLOBAL) *m = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BakeoffCheckCellVec(const Mat_Bakeoff *m, PetscInt n, const char *what, Vec v)
{
  PetscInt size;

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(v, &size));
  PetscCheck(size == n * m->cells.ncells, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ,
             "The vector with %s has %" PetscInt_FMT " entries on this process, which owns %" PetscCount_FMT
             " cells of the DMPLEX; there have to be %" PetscInt_FMT " for each",
             what, size, m->cells.ncells, n);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- plans ---- */

void BakeoffDescribe(const Mat_Bakeoff *m, PatchFDPoints *p)
{
  const PlexCells *c       = &m->cells;
  const PetscBool  element = (PetscBool)(m->layout == MAT_BAKEOFF_LAYOUT_ELEMENT);

  *p       = (PatchFDPoints){.nodes  = element ? PATCHFD_NODES_CELL : PATCHFD_NODES_INDEX,
                             .dim    = c->dim,
                             .degree = c->degree,
                             .ncomp  = c->ncomp,
                             .ncells = c->ncells,
                             .index  = c->index};
  p->gauss = m->problem < MAT_BAKEOFF_BP5 ? p->degree + 2 : 0;
  if (m->diffusion) p->gauss = p->degree + 1; /* as PetscFECreateLagrange() has them */
  p->nnodes     = (PetscCount)(m->nlocal / (size_t)c->ncomp);
  p->geodegree  = c->geodegree;
  p->geoindex   = c->geoindex;
  p->coordinate = c->coordinate;
  p->factors    = (PatchFDFactors)m->factors;
  if (!BakeoffIsMass(m)) {
    p->kappa         = &one;
    p->nkappa        = 1;
    p->kappaconstant = PETSC_TRUE;
  }
  if (m->values.kappa) {
    p->kappa         = m->values.kappa;
    p->nkappa        = m->values.nkappa;
    p->kappaconstant = m->values.kappaconstant;
    p->solid         = m->values.solid;
    p->projection    = -1;
  }
  if (m->values.shift) {
    p->shift         = m->values.shift;
    p->shiftconstant = m->values.shiftconstant;
  } else if (BakeoffIsMass(m) || m->lambda > 0) {
    p->shift         = BakeoffIsMass(m) ? &one : &m->lambda;
    p->shiftconstant = PETSC_TRUE;
  }
}

void BakeoffDescribeSides(const Mat_Bakeoff *m, PatchFDPoints *p)
{
  BakeoffDescribe(m, p);
  p->ncells        = m->sides.n;
  p->index         = m->sides.index;
  p->kappa         = NULL;
  p->nkappa        = 0;
  p->kappaconstant = PETSC_FALSE;
  p->solid         = PETSC_FALSE;
  p->shift         = m->sides.value;
  p->shiftconstant = PETSC_FALSE;
  p->given         = PETSC_TRUE;
  p->factors       = PATCHFD_FACTORS_STORED;
}

PetscErrorCode BakeoffReset(Mat_Bakeoff *m)
{
  PetscFunctionBegin;
  for (int i = 0; i < PATCHFD_NUM_KERNELS; i++) {
    BakeoffKernels *k = &m->kern[i];

    if (!PatchFDKernelTables[i]) continue;
    PetscCall(PatchFDKernelTables[i]->operatordestroy(&k->plan));
    PetscCall(PatchFDKernelTables[i]->operatordestroy(&k->sides));
    PetscCall(PatchFDKernelTables[i]->free(k->x));
    PetscCall(PatchFDKernelTables[i]->free(k->y));
    if (PatchFDKernelTables[i]->wide) {
      PetscCall(PatchFDKernelTables[i]->wide->free(k->leaf));
      PetscCall(PatchFDKernelTables[i]->wide->free(k->root));
    }
    PetscCall(VecDestroy(&k->scale));
    PetscCall(VecDestroy(&k->inverse));
    for (int j = 0; j < 2; j++) PetscCall(VecDestroy(&k->work[j]));
    PetscCall(PetscMemzero(k, sizeof(*k)));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BakeoffGetKernels(Mat_Bakeoff *m, PatchFDKernels kern, BakeoffKernels **own)
{
  BakeoffKernels *k = *own = &m->kern[kern->id];

  PetscFunctionBegin;
  if (!k->plan) {
    PatchFDPoints       points;
    PatchFDOperatorDesc desc = {.points = &points};

    PetscCall(PetscLogEventBegin(PATCHFD_SetUp, m->dm, 0, 0, 0));
    BakeoffDescribe(m, &points);
    PetscCall((*kern->operatorcreate)(&desc, &k->plan));
    PetscCall(PetscLogEventEnd(PATCHFD_SetUp, m->dm, 0, 0, 0));
  }
  if (!k->sides && m->sides.n) {
    PatchFDPoints       points;
    PatchFDOperatorDesc desc = {.points = &points};

    BakeoffDescribeSides(m, &points);
    PetscCall((*kern->operatorcreate)(&desc, &k->sides));
  }
  if (!k->x && m->layout == MAT_BAKEOFF_LAYOUT_ELEMENT) PetscCall((*kern->malloc)(m->nowned, &k->x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscBool BakeoffHasRoom(const Mat_Bakeoff *m, const void *global)
{
  const size_t room[2] = {0, m->nleaf};

  return (PetscBool)(!m->expand && (!m->sf || !m->nlocal || PatchFDRoomHas(global, room)));
}

PetscErrorCode BakeoffGetLocal(const Mat_Bakeoff *m, PatchFDKernels kern, const void *global, void **kept, void **local)
{
  PetscFunctionBegin;
  *local = (void *)global;
  if (BakeoffHasRoom(m, global)) PetscFunctionReturn(PETSC_SUCCESS);
  if (!*kept) {
    PetscCall((*kern->malloc)(m->nlocal, kept));
    PetscCall((*kern->zero)(m->nlocal, *kept));
  }
  *local = *kept;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- between ranks, and between nodes and cells ---- */

PetscErrorCode BakeoffBroadcast(Mat_Bakeoff *m, PatchFDKernels kern, const void *root, void *leaf)
{
  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(PATCHFD_Halo, m->dm, 0, 0, 0));
  if (m->halo) {
    PetscCall(PatchFDHaloBegin(m->halo, kern, 0, 1, &root));
    PetscCall(PatchFDHaloEnd(m->halo, kern, 0, 1, &leaf));
  } else {
    PetscCall(PetscSFBcastWithMemTypeBegin(m->sf, (*kern->datatype)(), kern->memtype, root, kern->memtype, leaf, MPI_REPLACE));
    PetscCall(PetscSFBcastEnd(m->sf, (*kern->datatype)(), root, leaf, MPI_REPLACE));
  }
  PetscCall(PetscLogEventEnd(PATCHFD_Halo, m->dm, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BakeoffSum(Mat_Bakeoff *m, PatchFDKernels kern, const void *leaf, void *root)
{
  BakeoffKernels *k = &m->kern[kern->id];

  PetscFunctionBegin;
  if (!m->halo && kern->widen) { /* PetscSF adds nothing but PetscScalars in this memory */
    if (!k->leaf) PetscCall((*kern->wide->malloc)(m->nleaf, &k->leaf));
    if (!k->root) PetscCall((*kern->wide->malloc)(m->nowned, &k->root));
    PetscCall((*kern->widen)(m->nleaf, leaf, k->leaf));
    PetscCall((*kern->widen)(m->nowned, root, k->root));
    PetscCall(BakeoffSum(m, kern->wide, k->leaf, k->root));
    PetscCall((*kern->narrow)(m->nowned, k->root, root));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscLogEventBegin(PATCHFD_Halo, m->dm, 0, 0, 0));
  if (m->halo) {
    PetscCall(PatchFDHaloBegin(m->halo, kern, 1, 1, &leaf));
    PetscCall(PatchFDHaloEnd(m->halo, kern, 1, 1, &root));
  } else {
    PetscCall(PetscSFReduceWithMemTypeBegin(m->sf, (*kern->datatype)(), kern->memtype, leaf, kern->memtype, root, MPI_SUM));
    PetscCall(PetscSFReduceEnd(m->sf, (*kern->datatype)(), leaf, root, MPI_SUM));
  }
  PetscCall(PetscLogEventEnd(PATCHFD_Halo, m->dm, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BakeoffGetScale(Mat_Bakeoff *m, PatchFDKernels kern, Vec like, Vec *scale, Vec *inverse)
{
  BakeoffKernels *k;

  PetscFunctionBegin;
  PetscCall(BakeoffGetKernels(m, kern, &k));
  if (!k->scale) {
    void *a;

    PetscCall(VecDuplicate(like, &k->inverse));
    PetscCall(VecSet(k->inverse, 1));
    PetscCall(PatchFDVecGetArray(k->inverse, kern, &a));
    PetscCall((*kern->zero)(m->nowned, k->x));
    PetscCall(BakeoffSum(m, kern, a, k->x));
    PetscCall((*kern->zero)(m->nleaf, a)); /* the nodes without a root */
    PetscCall(BakeoffBroadcast(m, kern, k->x, a));
    PetscCall(PatchFDVecRestoreArray(k->inverse, kern, &a));
    PetscCall(VecSqrtAbs(k->inverse));
    PetscCall(VecDuplicate(like, &k->scale));
    PetscCall(VecCopy(k->inverse, k->scale));
    PetscCall(VecReciprocal(k->scale)); /* zeros stay */
  }
  *scale   = k->scale;
  *inverse = k->inverse;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BakeoffAXPBY(const Mat_Bakeoff *m, PatchFDKernels kern, PetscReal a, void *y, PetscReal b, const void *x)
{
  const PatchFDBox   box   = {{0, 0, 0}, {(PetscInt)m->nfree, 1, 1}};
  const PatchFDRange range = {{0, (PetscInt)m->nfree}, {0, 1}, {0, 1}}, none = {{0, 0}, {0, 0}, {0, 0}};

  PetscFunctionBegin;
  if (a == 0 && b == 1) PetscCall((*kern->copy)(range, &box, x, &box, y));
  else PetscCall((*kern->fixed)(range, none, a, &box, y, b, &box, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BakeoffToNodes(const Mat_Bakeoff *m, PatchFDKernels kern, const void *global, void *nodes)
{
  PetscFunctionBegin;
  if (m->expand) {
    PetscCall(PatchFDHaloBegin(m->expand, kern, 0, 1, &global));
    PetscCall(PatchFDHaloEnd(m->expand, kern, 0, 1, &nodes));
  } else if (nodes != global) PetscCall(BakeoffAXPBY(m, kern, 0, nodes, 1, global));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BakeoffFromNodes(const Mat_Bakeoff *m, PatchFDKernels kern, PetscBool add, const void *nodes, void *global)
{
  PetscFunctionBegin;
  if (m->expand) {
    if (!add) PetscCall((*kern->zero)(m->nfree, global));
    PetscCall(PatchFDHaloBegin(m->expand, kern, 1, 1, &nodes));
    PetscCall(PatchFDHaloEnd(m->expand, kern, 1, 1, &global));
  } else if (nodes != global) PetscCall(BakeoffAXPBY(m, kern, add, global, 1, nodes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BakeoffGetUnknowns(const Mat_Bakeoff *m, Vec nodes, Vec unknowns)
{
  const PetscScalar *from;
  PetscScalar       *to;
  Vec                own;

  PetscFunctionBegin;
  PetscCall(VecCreateMPI(PetscObjectComm((PetscObject)nodes), (PetscInt)m->nfree, PETSC_DETERMINE, &own));
  PetscCall(VecGetArrayRead(nodes, &from));
  PetscCall(VecGetArrayWrite(own, &to));
  PetscCall(BakeoffFromNodes(m, PatchFDKernelTables[PATCHFD_KERNELS_HOST_DOUBLE], PETSC_FALSE, from, to));
  PetscCall(VecRestoreArrayWrite(own, &to));
  PetscCall(VecRestoreArrayRead(nodes, &from));
  PetscCall(VecSingleConvert(own, 1, unknowns));
  PetscCall(VecDestroy(&own));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatBakeoffGlobalToLocal(Mat_Bakeoff *m, PatchFDKernels kern, const void *global, const void **local)
{
  void *x;

  PetscFunctionBegin;
  PetscCall(BakeoffGetLocal(m, kern, global, &m->kern[kern->id].x, &x));
  PetscCall(BakeoffToNodes(m, kern, global, x));
  if (m->sf) PetscCall(BakeoffBroadcast(m, kern, x, BakeoffGhosts(m, kern, x)));
  *local = x;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatBakeoffSumBegin(Mat_Bakeoff *m, PatchFDKernels kern, void *global, void **local)
{
  PetscFunctionBegin;
  PetscCall(BakeoffGetLocal(m, kern, global, &m->kern[kern->id].y, local));
  if (*local != global) PetscCall((*kern->zero)(m->nlocal, *local));
  else if (m->sf) PetscCall((*kern->zero)(m->nleaf, BakeoffGhosts(m, kern, *local)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatBakeoffSumEnd(Mat_Bakeoff *m, PatchFDKernels kern, void *global, void **local)
{
  PetscFunctionBegin;
  if (m->sf) PetscCall(BakeoffSum(m, kern, BakeoffGhosts(m, kern, *local), *local));
  PetscCall(BakeoffFromNodes(m, kern, PETSC_TRUE, *local, global));
  *local = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BakeoffGetWork(BakeoffKernels *k, int i, Vec like)
{
  PetscFunctionBegin;
  if (!k->work[i]) PetscCall(VecDuplicate(like, &k->work[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- vectors, and what the matrix says of them ---- */

PetscErrorCode MatCreateVecs_Bakeoff(Mat A, Vec *right, Vec *left)
{
  Mat_Bakeoff *m;
  Vec         *v[2] = {right, left};

  PetscFunctionBegin;
  PetscCall(MatShellGetContext(A, &m));
  for (int i = 0; i < 2; i++) {
    const size_t room[2] = {0, m->nleaf};

    if (!v[i]) continue;
    PetscCall(PatchFDVecCreate(PetscObjectComm((PetscObject)A), A->defaultvectype, A->rmap->n, m->halo && !m->expand ? room : NULL, v[i]));
    PetscCall(VecSetBlockSize(*v[i], m->expand ? 1 : m->cells.ncomp));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* checks the sizes of vectors, and what the layout is; kernels of the element vector */
static PetscErrorCode BakeoffCheckVecs(Mat A, Vec global, Vec element, Mat_Bakeoff **m, PatchFDKernels *kern)
{
  PetscInt ng, ne;

  PetscFunctionBegin;
  PetscCall(BakeoffGet(A, m));
  PetscCheck((*m)->layout == MAT_BAKEOFF_LAYOUT_ELEMENT, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_WRONGSTATE,
             "The matrix has the layout global: its vectors are global ones");
  PetscCall(VecGetLocalSize(global, &ng));
  PetscCall(VecGetLocalSize(element, &ne));
  PetscCheck((size_t)ng == (*m)->nowned && (size_t)ne == (*m)->nleaf, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ,
             "The vectors have local sizes %" PetscInt_FMT " and %" PetscInt_FMT "; a global one has %" PetscInt_FMT
             ", one of elements %" PetscInt_FMT,
             ng, ne, (PetscInt)(*m)->nowned, (PetscInt)(*m)->nleaf);
  PetscCall(PatchFDVecGetKernels(element, kern));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatBakeoffGlobalToElement - Makes a vector of elements from a global vector, for a matrix with the layout `MAT_BAKEOFF_LAYOUT_ELEMENT`

  Collective

  Input Parameters:
+ A      - a matrix of `MatCreateBakeoff()`
- global - a vector of the `DM`

  Output Parameter:
. element - a vector of `MatCreateVecs()`: each nodal value, divided by the square root of the number of cells that have the node

  Level: intermediate

  Note:
  Scalar products and norms are those of the global vectors. `MatBakeoffElementToGlobal()` is the transpose and the inverse. Nodes
  with Dirichlet conditions get zero.

.seealso: `MatCreateBakeoff()`, `MatBakeoffElementToGlobal()`
@*/
PetscErrorCode MatBakeoffGlobalToElement(Mat A, Vec global, Vec element)
{
  Mat_Bakeoff   *m;
  PatchFDKernels kern;
  Vec            scale, inverse;
  const void    *ag;
  void          *ae;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscValidHeaderSpecific(global, VEC_CLASSID, 2);
  PetscValidHeaderSpecific(element, VEC_CLASSID, 3);
  PetscCall(BakeoffCheckVecs(A, global, element, &m, &kern));
  PetscCall(BakeoffGetScale(m, kern, element, &scale, &inverse));
  PetscCall(VecSet(element, 0));
  PetscCall(PatchFDVecGetArrayRead(global, kern, &ag));
  PetscCall(PatchFDVecGetArray(element, kern, &ae));
  PetscCall(BakeoffBroadcast(m, kern, ag, ae));
  PetscCall(PatchFDVecRestoreArray(element, kern, &ae));
  PetscCall(PatchFDVecRestoreArrayRead(global, kern, &ag));
  PetscCall(VecPointwiseMult(element, scale, element));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatBakeoffElementToGlobal - Makes a global vector from a vector of elements, for a matrix with the layout `MAT_BAKEOFF_LAYOUT_ELEMENT`

  Collective

  Input Parameters:
+ A       - a matrix of `MatCreateBakeoff()`
- element - a vector of `MatCreateVecs()`

  Output Parameter:
. global - a vector of the `DM`: for each node the sum of its values, divided by the square root of their number

  Level: intermediate

.seealso: `MatCreateBakeoff()`, `MatBakeoffGlobalToElement()`
@*/
PetscErrorCode MatBakeoffElementToGlobal(Mat A, Vec element, Vec global)
{
  Mat_Bakeoff    *m;
  PatchFDKernels  kern;
  BakeoffKernels *k;
  Vec             scale, inverse, w;
  const void     *aw;
  void           *ag;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscValidHeaderSpecific(element, VEC_CLASSID, 2);
  PetscValidHeaderSpecific(global, VEC_CLASSID, 3);
  PetscCall(BakeoffCheckVecs(A, global, element, &m, &kern));
  PetscCall(BakeoffGetKernels(m, kern, &k));
  PetscCall(BakeoffGetScale(m, kern, element, &scale, &inverse));
  PetscCall(BakeoffGetWork(k, 0, element));
  w = k->work[0];
  PetscCall(VecPointwiseMult(w, scale, element));
  PetscCall(PatchFDVecGetArrayRead(w, kern, &aw));
  PetscCall(PatchFDVecGetArrayWrite(global, kern, &ag));
  PetscCall((*kern->zero)(m->nowned, ag));
  PetscCall(BakeoffSum(m, kern, aw, ag));
  PetscCall(PatchFDVecRestoreArrayWrite(global, kern, &ag));
  PetscCall(PatchFDVecRestoreArrayRead(w, kern, &aw));
  PetscFunctionReturn(PETSC_SUCCESS);
}
