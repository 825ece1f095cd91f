/*
  From a DMPLEX with a PetscFE of Q_N to lists of nodes: DMPlexSetClosurePermutationTensor() knows in which order the points of a cell's
  closure give its nodes lexicographically, and the symmetries of the section know how neighbours are turned.  Sections are copied, since
  that order would be seen by everybody.
*/
#include <patchfd/private/compat.h>
#include <patchfd/private/plexcells.h>
#include <petsc/private/petscimpl.h>
#include <petscfe.h>
#include <petscsf.h>

static PetscInt Nodes(PetscInt degree, PetscInt dim)
{
  const PetscInt n = degree + 1;

  return dim == 3 ? n * n * n : n * n;
}

/* NULL, or what is wrong with a dual space; a sum of several, for vectors, has to be all right and of one degree in each */
static PetscErrorCode CheckDual(PetscDualSpace dual, PetscInt degree, const char **wrong)
{
  PetscDTNodeType node;
  PetscBool       lagrange, sum, tensor, continuous, ends;
  PetscReal       exponent;
  PetscInt        order, n = 0;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)dual, PETSCDUALSPACELAGRANGE, &lagrange));
  PetscCall(PetscObjectTypeCompare((PetscObject)dual, PETSCDUALSPACESUM, &sum));
  if (sum) PetscCall(PetscDualSpaceSumGetNumSubspaces(dual, &n));
  for (PetscInt i = 0; i < n && !*wrong; i++) {
    PetscDualSpace one;

    PetscCall(PetscDualSpaceSumGetSubspace(dual, i, &one));
    PetscCall(CheckDual(one, degree, wrong));
  }
  if (sum || *wrong) PetscFunctionReturn(PETSC_SUCCESS);
  if (!lagrange) {
    *wrong = "is not of Lagrange type";
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscDualSpaceGetOrder(dual, &order));
  PetscCall(PetscDualSpaceLagrangeGetTensor(dual, &tensor));
  PetscCall(PetscDualSpaceLagrangeGetContinuity(dual, &continuous));
  PetscCall(PetscDualSpaceLagrangeGetNodeType(dual, &node, &ends, &exponent));
  /* the default are Gauss-Lobatto nodes on products of lines; up to degree 2 all with ends are */
  if (!tensor) *wrong = "is for simplices";
  else if (!continuous) *wrong = "is discontinuous";
  else if (order != degree) *wrong = "has components of several degrees";
  else if (degree > 2 && node != PETSCDTNODES_DEFAULT && (node != PETSCDTNODES_GAUSSJACOBI || !ends || exponent != 0))
    *wrong = "has other nodes";
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PlexCellsGetTensorDegree(PetscFE fe, const char *what, PetscInt *degree, PetscInt *ncomp)
{
  PetscDualSpace dual;
  const char    *wrong = NULL;

  PetscFunctionBegin;
  PetscCall(PetscFEGetNumComponents(fe, ncomp));
  PetscCall(PetscFEGetDualSpace(fe, &dual));
  PetscCall(PetscDualSpaceGetOrder(dual, degree));
  PetscCall(CheckDual(dual, *degree, &wrong));
  PetscCheck(!wrong, PetscObjectComm((PetscObject)fe), PETSC_ERR_ARG_INCOMP,
             "The %s of the DMPLEX %s; it has to be a continuous PetscFE with Gauss-Lobatto nodes on quadrilaterals or hexahedra, as "
             "PetscFECreateLagrange() makes it without simplices",
             what, wrong);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetSpace(DM dm, PlexCells *p)
{
  PetscObject  obj;
  PetscClassId id;
  PetscInt     nfield, cdim;
  PetscBool    plex;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)dm, DMPLEX, &plex));
  PetscCheck(plex, PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_WRONG, "The DM is of type %s; it has to be a DMPLEX",
             ((PetscObject)dm)->type_name);
  PetscCall(DMGetDimension(dm, &p->dim));
  PetscCall(DMGetCoordinateDim(dm, &cdim));
  PetscCheck((p->dim == 2 || p->dim == 3) && cdim == p->dim, PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_OUTOFRANGE,
             "The DMPLEX has cells of dimension %" PetscInt_FMT " and %" PetscInt_FMT " coordinates; both have to be 2 or 3", p->dim, cdim);
  PetscCall(DMGetNumFields(dm, &nfield));
  PetscCheck(nfield == 1, PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_OUTOFRANGE,
             "The DMPLEX has %" PetscInt_FMT " fields; it has to have 1, a PetscFE: DMSetField(), DMCreateDS()", nfield);
  PetscCall(DMGetField(dm, 0, NULL, &obj));
  PetscCall(PetscObjectGetClassId(obj, &id));
  PetscCheck(id == PETSCFE_CLASSID, PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_WRONG, "The field of the DMPLEX is no PetscFE");
  PetscCall(PlexCellsGetTensorDegree((PetscFE)obj, "field", &p->degree, &p->ncomp));
  PetscCheck(p->degree >= 1 && p->degree <= 15, PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_OUTOFRANGE,
             "The PetscFE of the DMPLEX has degree %" PetscInt_FMT "; it has to be 1 to 15", p->degree);
  p->size = Nodes(p->degree, p->dim);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the cells of this rank that are not owned by another one */
static PetscErrorCode GetCells(DM dm, PetscInt dim, PetscCount *ncells, PetscInt **cells)
{
  const DMPolytopeType wanted = dim == 3 ? DM_POLYTOPE_HEXAHEDRON : DM_POLYTOPE_QUADRILATERAL;
  const PetscInt      *leaf;
  PetscInt             first, end, nleaf;
  PetscSF              sf;

  PetscFunctionBegin;
  *ncells = 0;
  PetscCall(DMPlexGetHeightStratum(dm, 0, &first, &end));
  PetscCall(DMGetPointSF(dm, &sf));
  PetscCall(PetscSFGetGraph(sf, NULL, &nleaf, &leaf, NULL));
  PetscCall(PetscMalloc1(end - first, cells));
  for (PetscInt c = first; c < end; c++) {
    DMPolytopeType type;
    PetscInt       at = -1;

    PetscCall(DMPlexGetCellType(dm, c, &type));
    PetscCheck(type == wanted, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG,
               "Cell %" PetscInt_FMT " of the DMPLEX is a %s; all cells have to be of type %s", c, DMPolytopeTypes[type],
               DMPolytopeTypes[wanted]);
    if (nleaf > 0 && leaf) PetscCall(PetscFindInt(c, nleaf, leaf, &at));
    else if (nleaf > 0 && c < nleaf) at = c;
    if (at < 0) (*cells)[(*ncells)++] = c;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PlexCellsCreateSection(DM dm, PetscSection from, PetscSection *section)
{
  PetscFunctionBegin;
  PetscCall(PetscSectionClone(from, section));
  PetscCall(DMPlexSetClosurePermutationTensor(dm, PETSC_DETERMINE, *section));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* nodes of other ranks, in increasing order, and their places in the arrays of this rank */
static PetscErrorCode NumberGhosts(PlexCells *p)
{
  const PetscCount n     = p->ncells * p->size;
  PetscInt         first = p->nodes->rstart, end = p->nodes->rend, at;

  PetscFunctionBegin;
  for (PetscCount i = 0; i < n; i++)
    if (p->index[i] >= 0 && (p->index[i] < first || p->index[i] >= end)) p->nghost++;
  PetscCall(PetscMalloc1(p->nghost, &p->ghost));
  p->nghost = 0;
  for (PetscCount i = 0; i < n; i++)
    if (p->index[i] >= 0 && (p->index[i] < first || p->index[i] >= end)) p->ghost[p->nghost++] = p->index[i];
  PetscCall(PetscSortRemoveDupsInt(&p->nghost, p->ghost));
  for (PetscCount i = 0; i < n; i++) {
    if (p->index[i] < 0) continue;
    if (p->index[i] >= first && p->index[i] < end) p->index[i] -= first;
    else {
      PetscCall(PetscFindInt(p->index[i], p->nghost, p->ghost, &at));
      p->index[i] = end - first + at;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* index: of the first component of each node of cells in local vectors; partial: do Dirichlet conditions leave components of a node? */
static PetscErrorCode GetUnknowns(DM dm, PetscSection local, PlexCells *p, PetscBool *partial)
{
  PetscSection section;

  PetscFunctionBegin;
  *partial = PETSC_FALSE;
  PetscCall(PlexCellsCreateSection(dm, local, &section));
  for (PetscCount c = 0; c < p->ncells; c++) {
    const PetscInt cell = p->cell[c];
    PetscInt       n, *closure;

    PetscCall(DMPlexGetClosureIndices(dm, section, section, cell, PETSC_TRUE, &n, &closure, NULL, NULL));
    PetscCheck(n == p->size * p->ncomp, PETSC_COMM_SELF, PETSC_ERR_ARG_INCOMP,
               "Cell %" PetscInt_FMT " has %" PetscInt_FMT " unknowns in the section of the DMPLEX; degree %" PetscInt_FMT
               " has %" PetscInt_FMT,
               cell, n, p->degree, p->size * p->ncomp);
    for (PetscInt i = 0; i < n; i++) { /* negative with Dirichlet conditions */
      const PetscInt unknown = closure[i] < 0 ? -(closure[i] + 1) : closure[i], component = i % p->ncomp;
      PetscInt      *first = &p->index[c * p->size + i / p->ncomp];

      if (component == 0) *first = unknown;
      PetscCheck(unknown == *first + component, PETSC_COMM_SELF, PETSC_ERR_SUP,
                 "The components of a node of cell %" PetscInt_FMT " are not one after another in the section of the DMPLEX", cell);
      *partial = (PetscBool)(*partial || (closure[i] < 0) != (closure[i - component] < 0));
    }
    PetscCall(DMPlexRestoreClosureIndices(dm, section, section, cell, PETSC_TRUE, &n, &closure, NULL, NULL));
  }
  PetscCall(PetscSectionDestroy(&section));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, partial, 1, PATCHFD_MPI_BOOL, MPI_LOR, PetscObjectComm((PetscObject)dm)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* number[local unknown] among all components of all nodes; n: how many this rank owns */
static PetscErrorCode NumberAll(DM dm, PetscSection local, PetscInt number[], PetscInt *n)
{
  PetscSection all;
  PetscSF      sf;
  PetscInt     first, end, size, from, to;

  PetscFunctionBegin;
  PetscCall(DMGetPointSF(dm, &sf));
  PetscCall(PetscSectionCreateGlobalSection(local, sf, PETSC_TRUE, PETSC_TRUE, PETSC_FALSE, &all));
  PetscCall(PetscSectionGetConstrainedStorageSize(all, n));
  PetscCall(PetscSectionGetChart(local, &first, &end));
  for (PetscInt q = first; q < end; q++) {
    PetscCall(PetscSectionGetDof(local, q, &size));
    PetscCall(PetscSectionGetOffset(local, q, &from));
    PetscCall(PetscSectionGetOffset(all, q, &to));
    for (PetscInt i = 0; i < size; i++) number[from + i] = (to < 0 ? -(to + 1) : to) + i;
  }
  PetscCall(PetscSectionDestroy(&all));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* which components of nodes are not in vectors; n local unknowns have the numbers `all` among all, and `number` in vectors, or negative
   ones.  Vectors have those of this rank in the same order */
static PetscErrorCode GetDirichlet(PlexCells *p, PetscInt n, const PetscInt all[], const PetscInt number[])
{
  const PetscInt nowned = p->nodes->n * p->ncomp;
  PetscInt      *own, next = -1;

  PetscFunctionBegin;
  PetscCall(PetscCalloc1((p->nodes->n + p->nghost) * p->ncomp, &p->dirichlet));
  PetscCall(PetscMalloc1(nowned, &own));
  for (PetscInt i = 0; i < n; i++) {
    const PetscInt node = all[i] / p->ncomp, component = all[i] % p->ncomp;
    PetscInt       at = node - p->nodes->rstart;

    if (at < 0 || at >= p->nodes->n) {
      PetscCall(PetscFindInt(node, p->nghost, p->ghost, &at));
      if (at < 0) continue; /* of the overlap */
      at += p->nodes->n;
    } else own[at * p->ncomp + component] = number[i];
    p->dirichlet[at * p->ncomp + component] = (PetscBool)(number[i] < 0);
  }
  for (PetscInt i = 0; i < nowned; i++) {
    if (own[i] < 0) continue;
    PetscCheck(next < 0 || own[i] == next, PETSC_COMM_SELF, PETSC_ERR_SUP,
               "Nodes of the DMPLEX have Dirichlet conditions for some of their components, and its global section is not in the order of "
               "the local one, as on meshes whose periodic sides have nodes in common");
    next = own[i] + 1;
  }
  PetscCall(PetscFree(own));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetNodes(DM dm, PlexCells *p)
{
  PetscSection           local, global;
  ISLocalToGlobalMapping map;
  const PetscInt        *number, *first;
  PetscInt              *all = NULL, n, nowned;
  PetscBool              partial;

  PetscFunctionBegin;
  PetscCall(DMGetLocalSection(dm, &local));
  PetscCall(DMGetGlobalSection(dm, &global));
  PetscCall(DMGetLocalToGlobalMapping(dm, &map));
  PetscCall(ISLocalToGlobalMappingGetIndices(map, &number));
  PetscCall(PetscMalloc1(p->ncells * p->size, &p->index));
  PetscCall(GetUnknowns(dm, local, p, &partial));
  PetscCall(PetscSectionGetConstrainedStorageSize(global, &nowned));
  PetscCall(PetscSectionGetStorageSize(local, &n));
  if (partial) {
    PetscCall(PetscMalloc1(n, &all));
    PetscCall(NumberAll(dm, local, all, &nowned));
  }
  PetscCall(PetscLayoutCreateFromSizes(PetscObjectComm((PetscObject)dm), nowned / p->ncomp, PETSC_DETERMINE, 1, &p->nodes));
  first = partial ? all : number;
  for (PetscCount i = 0; i < p->ncells * p->size; i++) p->index[i] = first[p->index[i]] < 0 ? -1 : first[p->index[i]] / p->ncomp;
  PetscCall(NumberGhosts(p));
  if (partial) PetscCall(GetDirichlet(p, n, all, number));
  PetscCall(PetscFree(all));
  PetscCall(ISLocalToGlobalMappingRestoreIndices(map, &number));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* which corner of a cell's closure is corner i, x fastest */
static const PetscInt *CornersOfClosure(PetscInt dim)
{
  static const PetscInt quad[4] = {0, 1, 3, 2}, hex[8] = {0, 3, 1, 2, 4, 5, 7, 6};

  return dim == 3 ? hex : quad;
}

/* cells that have coordinates of their own: on periodic meshes */
static PetscErrorCode GetOwnCoordinates(DM dm, const PetscInt cells[], PlexCells *p)
{
  const PetscInt *corner = CornersOfClosure(p->dim), size = Nodes(1, p->dim);

  PetscFunctionBegin;
  PetscCheck(p->geodegree == 1, PetscObjectComm((PetscObject)dm), PETSC_ERR_SUP,
             "The cells of the DMPLEX have coordinates of their own, as on periodic meshes, and these are of degree %" PetscInt_FMT
             "; there it has to be 1",
             p->geodegree);
  PetscCall(PetscMalloc2(p->ncells * size, &p->geoindex, p->ncells * size * p->dim, &p->coordinate));
  for (PetscCount c = 0; c < p->ncells; c++) {
    const PetscScalar *array;
    PetscScalar       *x;
    PetscInt           n;
    PetscBool          own;

    PetscCall(DMPlexGetCellCoordinates(dm, cells[c], &own, &n, &array, &x));
    PetscCheck(n == size * p->dim, PETSC_COMM_SELF, PETSC_ERR_ARG_INCOMP,
               "Cell %" PetscInt_FMT " has %" PetscInt_FMT " coordinates; there have to be %" PetscInt_FMT, cells[c], n, size * p->dim);
    for (PetscInt i = 0; i < size; i++) {
      p->geoindex[c * size + i] = (PetscInt)(c * size + i);
      for (PetscInt d = 0; d < p->dim; d++) p->coordinate[(c * size + i) * p->dim + d] = PetscRealPart(x[corner[i] * p->dim + d]);
    }
    PetscCall(DMPlexRestoreCellCoordinates(dm, cells[c], &own, &n, &array, &x));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Coordinates that cells share.  The closure's own order serves for corners, whose section may have no other points, which the tensor order
   would ask for */
static PetscErrorCode GetSharedCoordinates(DM cdm, Vec coordinates, const PetscInt cells[], PlexCells *p)
{
  const PetscInt     size = Nodes(p->geodegree, p->dim), *corner = CornersOfClosure(p->dim);
  const PetscBool    tensor = (PetscBool)(p->geodegree > 1);
  const PetscScalar *x;
  PetscSection       local, section;
  PetscInt           n;

  PetscFunctionBegin;
  PetscCall(DMGetLocalSection(cdm, &local));
  if (tensor) PetscCall(PlexCellsCreateSection(cdm, local, &section));
  else PetscCall(PetscObjectReference((PetscObject)(section = local)));
  PetscCall(VecGetLocalSize(coordinates, &n));
  PetscCall(PetscMalloc2(p->ncells * size, &p->geoindex, n, &p->coordinate));
  PetscCall(VecGetArrayRead(coordinates, &x));
  for (PetscInt i = 0; i < n; i++) p->coordinate[i] = PetscRealPart(x[i]);
  PetscCall(VecRestoreArrayRead(coordinates, &x));
  for (PetscCount c = 0; c < p->ncells; c++) {
    PetscInt *closure;

    PetscCall(DMPlexGetClosureIndices(cdm, section, section, cells[c], tensor, &n, &closure, NULL, NULL));
    PetscCheck(n == size * p->dim, PETSC_COMM_SELF, PETSC_ERR_ARG_INCOMP,
               "Cell %" PetscInt_FMT " has %" PetscInt_FMT " coordinates; degree %" PetscInt_FMT " has %" PetscInt_FMT, cells[c], n,
               p->geodegree, size * p->dim);
    for (PetscInt i = 0; i < size; i++) p->geoindex[c * size + i] = closure[(tensor ? i : corner[i]) * p->dim] / p->dim;
    PetscCall(DMPlexRestoreClosureIndices(cdm, section, section, cells[c], tensor, &n, &closure, NULL, NULL));
  }
  PetscCall(PetscSectionDestroy(&section));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* do coordinates belong to vertices alone? */
static PetscErrorCode GetGeometryDegree(DM cdm, PetscInt *degree)
{
  PetscSection section;
  PetscObject  fe;
  PetscClassId id;
  PetscInt     first, end, lo, hi, n, ncomp, corners = 1;

  PetscFunctionBegin;
  *degree = 1;
  PetscCall(DMGetLocalSection(cdm, &section));
  PetscCall(DMPlexGetDepthStratum(cdm, 0, &lo, &hi));
  PetscCall(PetscSectionGetChart(section, &first, &end));
  for (PetscInt q = first; q < end && corners; q++) {
    PetscCall(PetscSectionGetDof(section, q, &n));
    corners = n == 0 || (q >= lo && q < hi);
  }
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &corners, 1, MPIU_INT, MPI_MIN, PetscObjectComm((PetscObject)cdm)));
  if (corners) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DMGetField(cdm, 0, NULL, &fe));
  PetscCall(PetscObjectGetClassId(fe, &id));
  PetscCheck(id == PETSCFE_CLASSID, PetscObjectComm((PetscObject)cdm), PETSC_ERR_SUP,
             "The coordinates of the DMPLEX are of more points than vertices, but have no PetscFE");
  PetscCall(PlexCellsGetTensorDegree((PetscFE)fe, "coordinate field", degree, &ncomp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetGeometry(DM dm, const PetscInt cells[], PlexCells *p)
{
  DM  cdm;
  Vec coordinates, own;

  PetscFunctionBegin;
  PetscCall(DMGetCoordinatesLocal(dm, &coordinates));
  PetscCheck(coordinates, PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_WRONGSTATE, "The DMPLEX has no coordinates");
  PetscCall(DMGetCoordinateDM(dm, &cdm));
  PetscCall(GetGeometryDegree(cdm, &p->geodegree));
  PetscCall(DMGetCellCoordinatesLocal(dm, &own));
  if (own) PetscCall(GetOwnCoordinates(dm, cells, p));
  else PetscCall(GetSharedCoordinates(cdm, coordinates, cells, p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PlexCellsCreate(DM dm, PlexCells *p)
{
  PetscFunctionBegin;
  PetscCall(PetscMemzero(p, sizeof(*p)));
  PetscCall(GetSpace(dm, p));
  PetscCall(GetCells(dm, p->dim, &p->ncells, &p->cell));
  PetscCall(GetNodes(dm, p));
  PetscCall(GetGeometry(dm, p->cell, p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PlexCellsGetLocalNodes(DM dm, const PlexCells *cells, PetscInt ncomp, PetscInt index[])
{
  PlexCells    own = *cells;
  PetscSection local;
  PetscBool    partial;

  PetscFunctionBegin;
  own.ncomp = ncomp;
  own.index = index;
  PetscCall(DMGetLocalSection(dm, &local));
  PetscCall(GetUnknowns(dm, local, &own, &partial));
  for (PetscCount i = 0; i < cells->ncells * cells->size; i++) index[i] /= ncomp;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PlexCellsDestroy(PlexCells *p)
{
  PetscFunctionBegin;
  PetscCall(PetscLayoutDestroy(&p->nodes));
  PetscCall(PetscFree(p->cell));
  PetscCall(PetscFree(p->index));
  PetscCall(PetscFree(p->ghost));
  PetscCall(PetscFree(p->dirichlet));
  PetscCall(PetscFree2(p->geoindex, p->coordinate));
  PetscCall(PetscMemzero(p, sizeof(*p)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- spaces of a lower degree: each of their nodes has a namesake among those that there are ---- */

static PetscInt NumberOf(const PlexCells *p, PetscInt node)
{
  return node < p->nodes->n ? p->nodes->rstart + node : p->ghost[node - p->nodes->n];
}

/* As far from the nearest end, or in the middle.  Where there is none in the middle it is the one of least number around it: all cells that
   have the node find the same, however they are turned */
static PetscInt Namesake(const PlexCells *p, PetscInt cell, PetscInt degree, PetscInt node)
{
  const PetscInt n = degree + 1, N = p->degree, at[3] = {node % n, node / n % n, node / n / n};
  PetscInt       found = -1, pairs = 0;

  for (PetscInt d = 0; d < p->dim; d++)
    if (2 * at[d] == degree && N % 2) pairs |= 1 << d;
  for (PetscInt c = 0; c < 1 << p->dim; c++) {
    PetscInt i = 0;

    if (c & ~pairs) continue;
    for (PetscInt d = p->dim - 1; d >= 0; d--)
      i = i * (N + 1) + (2 * at[d] == degree ? N / 2 + (c >> d & 1) : at[d] + (2 * at[d] > degree ? N - degree : 0));
    i = p->index[(PetscCount)cell * p->size + i];
    if (i < 0) return -1;
    if (found < 0 || NumberOf(p, i) < NumberOf(p, found)) found = i;
  }
  return found;
}

/* number: in, 1 for nodes of `fine` that have a namesake here; out, where that is in arrays of this rank, or negative */
static PetscErrorCode NumberNamesakes(MPI_Comm comm, const PlexCells *fine, PlexCells *p, PetscInt number[])
{
  const PetscInt n    = fine->nodes->n;
  PetscInt       mine = 0, *ghost;
  PetscSF        sf;

  PetscFunctionBegin;
  PetscCall(PetscSFCreate(comm, &sf));
  PetscCall(PetscSFSetGraphLayout(sf, fine->nodes, fine->nghost, NULL, PETSC_COPY_VALUES, fine->ghost));
  PetscCall(PetscSFReduceBegin(sf, MPIU_INT, number + n, number, MPI_MAX));
  PetscCall(PetscSFReduceEnd(sf, MPIU_INT, number + n, number, MPI_MAX));
  for (PetscInt i = 0; i < n; i++) mine += number[i];
  PetscCall(PetscLayoutCreateFromSizes(comm, mine, PETSC_DETERMINE, 1, &p->nodes));
  mine = p->nodes->rstart;
  for (PetscInt i = 0; i < n; i++) number[i] = number[i] ? mine++ : -1;
  PetscCall(PetscMalloc1(fine->nghost, &ghost));
  PetscCall(PetscSFBcastBegin(sf, MPIU_INT, number, ghost, MPI_REPLACE));
  PetscCall(PetscSFBcastEnd(sf, MPIU_INT, number, ghost, MPI_REPLACE));
  PetscCall(PetscSFDestroy(&sf));
  for (PetscInt i = 0; i < n; i++) number[i] -= p->nodes->rstart; /* those of nobody are not asked for */
  for (PetscInt i = 0; i < fine->nghost; i++) {
    const PetscBool has = (PetscBool)number[n + i];

    number[n + i] = has ? p->nodes->n + p->nghost : -1;
    if (has) ghost[p->nghost++] = ghost[i];
  }
  p->ghost = ghost;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PlexCellsCreateDegree(MPI_Comm comm, const PlexCells *fine, PetscInt degree, PlexCells *p)
{
  const PetscCount n = fine->ncells * Nodes(degree, fine->dim), ngeo = fine->ncells * Nodes(fine->geodegree, fine->dim);
  PetscInt        *number, most                                      = -1;

  PetscFunctionBegin;
  *p = (PlexCells){.dim       = fine->dim,
                   .degree    = degree,
                   .ncomp     = fine->ncomp,
                   .ncells    = fine->ncells,
                   .size      = Nodes(degree, fine->dim),
                   .geodegree = fine->geodegree};
  PetscCall(PetscMalloc1(fine->ncells, &p->cell));
  PetscCall(PetscMalloc1(n, &p->index));
  PetscCall(PetscArraycpy(p->cell, fine->cell, fine->ncells));
  PetscCall(PetscCalloc1(fine->nodes->n + fine->nghost, &number));
  for (PetscCount i = 0; i < n; i++) {
    p->index[i] = Namesake(fine, (PetscInt)(i / p->size), degree, (PetscInt)(i % p->size));
    if (p->index[i] >= 0) number[p->index[i]] = 1;
  }
  PetscCall(NumberNamesakes(comm, fine, p, number));
  for (PetscCount i = 0; i < n; i++)
    if (p->index[i] >= 0) p->index[i] = number[p->index[i]];
  if (fine->dirichlet) PetscCall(PetscMalloc1((p->nodes->n + p->nghost) * p->ncomp, &p->dirichlet));
  for (PetscInt i = 0; i < fine->nodes->n + fine->nghost && fine->dirichlet; i++)
    if (number[i] >= 0) PetscCall(PetscArraycpy(p->dirichlet + number[i] * p->ncomp, fine->dirichlet + i * p->ncomp, p->ncomp));
  PetscCall(PetscFree(number));
  for (PetscCount i = 0; i < ngeo; i++) most = PetscMax(most, fine->geoindex[i]);
  PetscCall(PetscMalloc2(ngeo, &p->geoindex, (most + 1) * p->dim, &p->coordinate));
  PetscCall(PetscArraycpy(p->geoindex, fine->geoindex, ngeo));
  PetscCall(PetscArraycpy(p->coordinate, fine->coordinate, (most + 1) * p->dim));
  PetscFunctionReturn(PETSC_SUCCESS);
}
